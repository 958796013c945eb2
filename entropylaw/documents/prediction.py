"""The prediction document: what a fit says of targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from entropylaw.documents.codec import as_stored
from entropylaw.documents.document import Document
from entropylaw.documents.kinds import KINDS
from entropylaw.errors import FitError
from entropylaw.results import EntropySet, Prediction, Saturation, Validity
from entropylaw.results.fields import replace
from entropylaw.results.forecast import Forecast, SaturationForecast
from entropylaw.results.result import Result

if TYPE_CHECKING:
    from entropylaw.documents.fit import FitDocument


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
    from entropylaw.analysis.forecast import forecast, saturation_forecast

    runs = []
    for entry in fits.runs:
        law = entry.law
        if law is None:
            continue
        found = RunPrediction(
            run=entry.run,
            path=entry.path,
            validity=law.validity,
            entropy_range=(float(law.entropy.min()), float(law.entropy.max())),
            predictions=law.predict(list(entropies), level=level) if entropies else (),
            entropies=tuple(law.entropy_for(reward, level=level) for reward in rewards),
            saturation=law.saturation(level=level) if saturation else None,
        )
        series = (law.step, law.entropy, law.reward)
        where: dict[str, Any] = {"level": law.ceiling.level if level is None else level, "run": entry.run}
        ahead: dict[str, Any] = {}
        try:
            if at_step:
                ahead["forecast"] = forecast(*series, at_step=list(at_step), **where)
            if saturation or gains:
                last = max(at_step, default=None)
                ahead["spending"] = saturation_forecast(*series, gains=list(gains), at_step=last, **where)
        except FitError as error:
            # The run is too short for it.
            ahead["no_forecast"] = error.message
        runs.append(replace(found, **ahead))
    return as_stored(PredictionDocument(inputs=fits.inputs, runs=tuple(runs)))
