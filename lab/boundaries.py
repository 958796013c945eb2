"""Rises of the lab's entropies."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

import entropylaw
from entropylaw import FitError
from entropylaw.results.phases import CurvePhases
from lab.comparisons import Groups
from lab.findings import Made
from lab.markdown import MISSING, table

CURVES = ("planning", "execution", "semantic")


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


def phases(by_arm: Groups) -> str:
    """Per group of runs and entropy: curves that rise, do not, cannot tell; and where a fall ends."""
    rows = []
    for words, runs in groups_of(by_arm).items():
        for name in CURVES:
            curves = [curves_of(run)[name] for run in runs if name in curves_of(run)]
            settled = [curve.settled.value for curve in curves if curve.settled and curve.settled.value]
            step = f"{np.median(settled):.0f}" if settled else MISSING
            rows.append((words, name, _ends(curves), step, *_turns(curves)))
    head = ("runs", "entropy", "H", "settled at step (median)", "rises", "does not", "cannot tell")
    return table(head, rows)


def groups_of(by_arm: Groups) -> dict[str, list[Made]]:
    """Healthy runs of one stage, runs of several stages, and runs that are made to fail."""
    words = ("healthy, one stage", "several stages", "made to fail")
    grouped: dict[str, list[Made]] = {word: [] for word in words}
    for runs in by_arm.values():
        config = runs[0].config
        grouped[words[2 if config.failure else len(config.stages) > 1]] += runs
    return {word: runs for word, runs in grouped.items() if runs}


def _ends(curves: Sequence[CurvePhases]) -> str:
    """Means over runs of the first point, which may be a block of steps, and of the level at the last."""
    if not curves:
        return MISSING
    first = float(np.mean([curve.entropy[0] for curve in curves]))
    last = float(np.mean([curve.last.value or 0.0 for curve in curves]))
    return f"{first:.2f}→{last:.3f}"


def _turns(curves: Sequence[CurvePhases]) -> list[str]:
    """How many curves rise, do not, and cannot tell."""
    return [str(sum(curve.rises is word for curve in curves)) for word in (True, False, None)]
