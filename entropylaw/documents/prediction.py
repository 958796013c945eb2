"""The prediction document: what a fit says of targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from entropylaw.documents.codec import as_stored
from entropylaw.documents.document import Document
from entropylaw.documents.kinds import KINDS
from entropylaw.errors import FitError
from entropylaw.results import EntropySet, Prediction, Saturation, Validity
from entropylaw.results.forecast import Forecast, SaturationForecast
from entropylaw.results.law import LawFit

if TYPE_CHECKING:
    from entropylaw.documents.fit import FitDocument


class RunPrediction(Struct, frozen=True, kw_only=True):
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


def predict_runs(
    fits: FitDocument,
    *,
    entropies: Sequence[float] = (),
    rewards: Sequence[float] = (),
    saturation: bool = False,
    at_step: Sequence[float] = (),
    gains: Sequence[float] = (),
    level: float | None = None,
) -> PredictionDocument:
    """Ask every fitted run of ``fits`` for the same targets.

    Parameters
    ----------
    fits
        A fresh or a stored fit document.
    entropies, rewards
        Target entropies (nats) and target rewards.
    saturation
        Whether to add the entropy at which 95 % of the remaining promise is spent, and when.
    at_step, gains
        Later steps to forecast; points of reward whose probability is asked for.
    level
        Coverage; each fit's own where not given.
    """
    runs = tuple(
        RunPrediction(
            run=entry.run,
            path=entry.path,
            validity=entry.law.validity,
            entropy_range=(float(entry.law.entropy.min()), float(entry.law.entropy.max())),
            predictions=entry.law.predict(list(entropies), level=level) if entropies else (),
            entropies=tuple(entry.law.entropy_for(reward, level=level) for reward in rewards),
            saturation=entry.law.saturation(level=level) if saturation else None,
            **_ahead(entry.run, entry.law, at_step, gains, level, saturation=saturation),
        )
        for entry in fits.runs
        if entry.law is not None
    )
    return as_stored(PredictionDocument(inputs=fits.inputs, runs=runs))


def _ahead(
    run: str,
    law: LawFit,
    at_step: Sequence[float],
    gains: Sequence[float],
    level: float | None,
    *,
    saturation: bool,
) -> dict[str, Any]:
    """Forecast later steps, and when the entropy is spent; where a run is too short for it, say why."""
    from entropylaw.analysis.forecast import forecast, saturation_forecast

    found: dict[str, Any] = {}
    series = (law.step, law.entropy, law.reward)
    level = law.ceiling.level if level is None else level
    try:
        if at_step:
            found["forecast"] = forecast(*series, at_step=list(at_step), level=level, run=run)
        if saturation or gains:
            last = max(at_step) if at_step else None
            found["spending"] = saturation_forecast(
                *series, gains=list(gains), at_step=last, level=level, run=run
            )
    except FitError as error:
        found["no_forecast"] = error.message
    return found
