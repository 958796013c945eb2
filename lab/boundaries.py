"""Rises of the lab's entropies, and token classes by entropy against the true classes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

import entropylaw
from entropylaw import FitError
from entropylaw.report.numbers import format_number
from entropylaw.results.phases import CurvePhases
from lab.comparisons import Groups
from lab.findings import Made
from lab.markdown import MISSING, listed, table

TOP = 0.2
"""Share of a step's tokens with the highest entropy, classed as planning in arXiv:2506.01939."""

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


def turns(by_arm: Groups) -> str:
    """The arms in which an entropy rises in any run, with how many, and what the other curves would show."""
    rising = []
    for arm, runs in by_arm.items():
        counts = []
        for name in CURVES:
            curves = [curves_of(run)[name] for run in runs if name in curves_of(run)]
            if rises := sum(curve.rises is True for curve in curves):
                counts.append(f"{name} in {rises} of {len(curves)}")
        if counts:
            rising.append(f"`{arm}` ({', '.join(counts)})")
    return f"Entropies rise in {listed(rising)}. {power(by_arm)}" if rising else power(by_arm)


def power(by_arm: Groups) -> str:
    """What the other curves would have shown."""
    every = [curve for runs in by_arm.values() for run in runs for curve in curves_of(run).values()]
    flat = [curve.detectable for curve in every if curve.rises is False and curve.detectable is not None]
    text = f"{len(flat)} curves do not rise"
    if flat:
        low, middle, high = (format_number(float(x), 2) for x in np.quantile(flat, (0.1, 0.5, 0.9)))
        text += (
            f": there a rise of {middle} nats would have been found (median; 10 % to 90 %: {low} to {high})"
        )
    return f"{text}. {sum(curve.rises is None for curve in every)} cannot tell."


def classes(folders: Sequence[Path]) -> str:
    """Tokens by true class and by whether they are in the :data:`TOP` of their step by entropy."""
    rows = []
    for which in ("first", "last"):
        counts = np.zeros((2, 2))
        for folder in folders:
            read = pq.read_table(folder / "tokens.parquet", columns=["step", "entropy", "is_planning"])
            step = read["step"].to_numpy()
            at = step == (step.min() if which == "first" else step.max())
            entropy, planning = read["entropy"].to_numpy()[at], read["is_planning"].to_numpy()[at]
            high = entropy >= np.quantile(entropy, 1.0 - TOP)
            for true, top in ((True, True), (True, False), (False, True), (False, False)):
                counts[int(not true), int(not top)] += np.sum((planning == true) & (high == top))
        (hit, missed), (wrong, _) = counts
        rows.append(
            (
                f"{which} step",
                f"{100 * hit / (hit + missed):.0f} % of {int(hit + missed):,}",
                f"{100 * hit / (hit + wrong):.0f} % of {int(hit + wrong):,}",
            )
        )
    head = ("tokens of", "of planning, in the top", f"of the top {100 * TOP:.0f} %, planning")
    return table(head, rows)
