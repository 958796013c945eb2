"""The prediction document: what a fit says of targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from entropylaw._version import __version__
from entropylaw.documents.codec import encode
from entropylaw.documents.fit import FitDocument, InputFile
from entropylaw.results import EntropySet, Prediction, Saturation, Validity

SCHEMA = "entropylaw/prediction/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPrediction:
    """Predictions for one run; ``validity`` is the fit's, to be read first."""

    run: str
    path: str
    validity: Validity
    entropy_range: tuple[float, float]
    predictions: tuple[Prediction, ...]
    entropies: tuple[EntropySet, ...]
    saturation: Saturation | None


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
        Whether to add the entropy at which 95 % of the remaining promise is spent.
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
        )
        for entry in fits.runs
        if entry.law is not None
    )
    return PredictionDocument(inputs=fits.inputs, runs=runs)
