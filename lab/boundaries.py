"""Rises of the lab's entropies, and token classes by entropy against the true classes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import accumulate
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from entropylaw import FitError, fit_phases
from entropylaw.report.describe.phases import does
from entropylaw.report.numbers import format_number
from entropylaw.results.phases import CurvePhases
from lab.comparisons import Groups
from lab.findings import Made
from lab.markdown import MISSING, span, table

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
        fitted = fit_phases(
            columns["step"],
            columns["entropy_planning"],
            columns["entropy_execution"],
            semantic=columns["entropy_semantic"],
            length=columns["response_length"],
            run=run.name,
        )
    except FitError:
        return {}
    return {curve.name: curve for curve in fitted.curves}


def phases(by_arm: Groups) -> str:
    """Per arm: both ends of every entropy, the step at which its fall is over, and how many rise."""
    rows = []
    for arm, runs in by_arm.items():
        cells = [f"`{arm}`", str(len(runs))]
        for name in CURVES:
            curves = [curves_of(run)[name] for run in runs if name in curves_of(run)]
            cells += [_ends(curves), span([_settled(curve) for curve in curves]), _turns(curves)]
        rows.append(cells)
    head = ["arm", "runs"]
    for name in CURVES:
        head += [f"{name} H", "settled", "rises · does not · cannot tell"]
    return table(head, rows)


def _ends(curves: Sequence[CurvePhases]) -> str:
    """Means over seeds of the first point, which may be a block of steps, and of the level at the last."""
    if not curves:
        return MISSING
    first = float(np.mean([curve.entropy[0] for curve in curves]))
    last = float(np.mean([curve.last.value or 0.0 for curve in curves]))
    return f"{first:.2f} → {last:.3f}"


def _settled(curve: CurvePhases) -> int | None:
    """The step by which the fall is over; None of a curve that rises."""
    return None if curve.settled is None or curve.settled.value is None else round(curve.settled.value)


def _turns(curves: Sequence[CurvePhases]) -> str:
    counts = [sum(curve.rises is word for curve in curves) for word in (True, False, None)]
    return " · ".join(map(str, counts)) if curves else MISSING


def turns(by_arm: Groups) -> str:
    """One row per curve that rises or erupts, with the steps at which stages begin."""
    rows = [
        (f"`{run.name}`", name, does(curve), _begins(run))
        for runs in by_arm.values()
        for run in runs
        for name, curve in curves_of(run).items()
        if curve.rises or curve.eruptions
    ]
    head = ("run", "entropy", "what it does", "new stage or cause at step")
    return f"{table(head, rows)}\n\n{power(by_arm)}" if rows else power(by_arm)


def _begins(run: Made) -> str:
    """The steps at which a stage begins, but for the first."""
    ends = list(accumulate(stage.steps for stage in run.config.stages))[:-1]
    return ", ".join(map(str, ends)) or MISSING


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


def turn_counts(runs: Iterable[Made]) -> str:
    """``planning 2 · 39 · 1, execution …``: rises, does not, cannot tell."""
    every = [curves_of(run) for run in runs]
    return ", ".join(f"{name} {_turns([each[name] for each in every if name in each])}" for name in CURVES)


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
        (hit, missed), (wrong, rest) = counts
        rows.append(
            (
                f"{which} step",
                *(f"{int(count):,}" for count in (hit, missed, wrong, rest)),
                f"{100 * hit / (hit + missed):.0f} %",
                f"{100 * hit / (hit + wrong):.0f} %",
            )
        )
    head = (
        "tokens of",
        f"planning, in the top {100 * TOP:.0f} %",
        "planning, not",
        f"execution, in the top {100 * TOP:.0f} %",
        "execution, not",
        "of planning in the top",
        "of the top planning",
    )
    return table(head, rows)
