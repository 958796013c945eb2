"""What fitted runs say of targets: fits to a prediction document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from entropylaw.analysis.forecast import forecast, saturation_forecast
from entropylaw.documents.codec import as_stored
from entropylaw.documents.fit import FitDocument
from entropylaw.documents.prediction import PredictionDocument, RunPrediction
from entropylaw.errors import FitError
from entropylaw.results.fields import replace


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

    ``fits`` may be fresh or stored. Targets are ``entropies`` (nats), ``rewards``, later steps (``at_step``)
    and ``gains`` of reward whose probability is wanted; ``saturation`` adds the entropy at which 95 % of the
    remaining promise is spent, and when. ``level`` is by default that of each fit.
    """
    runs = []
    for entry, law in ((entry, entry.law) for entry in fits.runs):
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
