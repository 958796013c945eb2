"""The prediction document: what a fit says of targets."""

from __future__ import annotations

from entropylaw.documents.document import Document
from entropylaw.documents.kinds import KINDS
from entropylaw.results import EntropySet, Prediction, Saturation, Validity
from entropylaw.results.forecast import Forecast, SaturationForecast
from entropylaw.results.result import Result


class RunPrediction(Result, frozen=True, kw_only=True):
    """Predictions for one run; ``validity`` is the fit's, to be read first.

    ``forecast`` is of later steps, ``spending`` says when the entropy will be spent; where these were asked
    for and are None, ``no_forecast`` says why.
    """

    run: str
    path: str
    validity: Validity
    entropy_range: tuple[float, float]
    predictions: tuple[Prediction, ...]
    entropies: tuple[EntropySet, ...]
    saturation: Saturation | None
    forecast: Forecast | None = None
    spending: SaturationForecast | None = None
    no_forecast: str | None = None


class PredictionDocument(Document[RunPrediction], frozen=True, kw_only=True):
    """Predictions of every fitted run of a fit document."""

    schema: str = KINDS["prediction"].schema
