"""The prediction document: what a fit says of targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from entropylaw._version import __version__
from entropylaw.analysis.forecast import forecast, saturation_forecast
from entropylaw.documents.codec import as_stored, encode
from entropylaw.documents.fit import FitDocument, InputFile
from entropylaw.errors import FitError
from entropylaw.results import EntropySet, Prediction, Saturation, Validity
from entropylaw.results.forecast import Forecast, SaturationForecast
from entropylaw.results.law import LawFit

SCHEMA = "entropylaw/prediction/1"


class _Ahead(TypedDict):
    forecast: Forecast | None
    spending: SaturationForecast | None
    no_forecast: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPrediction:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionDocument:
    """Predictions of every fitted run of a fit document."""

    inputs: tuple[InputFile, ...]
    runs: tuple[RunPrediction, ...]
    version: str = __version__
    schema: str = SCHEMA
    seed: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return encode(self)  # type: ignore[no-any-return]


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
) -> _Ahead:
    """Forecast later steps, and when the entropy is spent; where a run is too short for it, say why."""
    told: _Ahead = {"forecast": None, "spending": None, "no_forecast": None}
    series = (law.step, law.entropy, law.reward)
    asked = law.ceiling.level if level is None else level
    try:
        if at_step:
            told["forecast"] = forecast(*series, at_step=list(at_step), level=asked, run=run)
        if saturation or gains:
            last = max(at_step) if at_step else None
            told["spending"] = saturation_forecast(
                *series, gains=list(gains), at_step=last, level=asked, run=run
            )
    except FitError as error:
        told["no_forecast"] = error.message
    return told
