"""Rises of the lab's entropies."""

from __future__ import annotations

from functools import cache

import entropylaw
from entropylaw import FitError
from entropylaw.results.phases import CurvePhases
from lab.comparisons import Groups
from lab.findings import Made


@cache
def curves_of(run: Made) -> dict[str, CurvePhases]:
    """The phases of a run's entropies by name: planning, execution, and that of its strategies.

    Some may be missing: a policy that fails early has too few plans, one with one right plan no strategies.
    """
    columns = run.columns
    try:
        fitted = entropylaw.phases(
            step=columns["step"],
            planning=columns["entropy_planning"],
            execution=columns["entropy_execution"],
            semantic=columns["entropy_semantic"],
            name=run.name,
        )
    except FitError:
        return {}
    return {curve.name: curve for curve in fitted.curves}


def groups_of(by_arm: Groups) -> dict[str, list[Made]]:
    """Healthy runs of one stage, runs of several stages, and runs that are made to fail."""
    words = ("healthy, one stage", "several stages", "made to fail")
    grouped: dict[str, list[Made]] = {word: [] for word in words}
    for runs in by_arm.values():
        config = runs[0].config
        grouped[words[2 if config.failure else len(config.stages) > 1]] += runs
    return {word: runs for word, runs in grouped.items() if runs}
