"""Turns to rise in the lab's entropies, and token classes by entropy against the true classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from entropylaw import PhaseFit, combine_phases, fit_phases
from entropylaw.report.describe.phases import does, is_long, percent_words
from entropylaw.report.numbers import format_number
from entropylaw.results.phases import CurvePhases
from lab.findings import Made
from lab.markdown import MISSING, table
from lab.page import PLAIN, Groups

TESTED = (PLAIN, "clean_start")
"""Groups whose runs are tested."""

TOP = 0.2
"""Share of a step's tokens with the highest entropy, classed as planning in arXiv:2506.01939."""


@dataclass(frozen=True)
class _Fitted:
    """A run's phases in token entropies, and in the semantic entropy of its strategies."""

    run: str
    tokens: PhaseFit
    semantic: PhaseFit


def fitted(by_group: Groups) -> list[_Fitted]:
    """The phases of every tested run."""
    return [_of(_Key(run)) for name in TESTED if name in by_group for run in by_group[name]]


class _Key:
    """A run by its name, so that its phases are fitted once."""

    def __init__(self, run: Made) -> None:
        self.run = run

    def __hash__(self) -> int:
        return hash(self.run.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.run.name == self.run.name


@lru_cache
def _of(key: _Key) -> _Fitted:
    columns = key.run.columns
    tokens = fit_phases(
        columns["step"],
        columns["entropy_planning"],
        columns["entropy_execution"],
        aggregate=columns["entropy"],
        length=columns["response_length"],
        run=key.run.name,
    )
    semantic = fit_phases(columns["step"], columns["entropy_semantic"], run=key.run.name)
    return _Fitted(run=key.run.name, tokens=tokens, semantic=semantic)


def boundaries(by_group: Groups) -> str:
    """One row per run: the verdict on its token entropies, each curve, and planning's share at the end."""
    rows = []
    for each in fitted(by_group):
        curves = (each.tokens.planning, each.tokens.execution, each.semantic.planning)
        curves_in_words = [_in_words(curve) for curve in curves if curve is not None]
        share = each.tokens.share_planning
        now = MISSING if share is None else percent_words(share)
        rows.append((f"`{each.run}`", each.tokens.verdict or MISSING, *curves_in_words, now))
    head = (
        "run",
        "order, token entropies",
        "planning",
        "execution",
        "semantic entropy",
        "planning's share of entropy now",
    )
    return table(head, rows)


def _in_words(curve: CurvePhases) -> str:
    if curve.rises:
        return does(curve)
    if curve.detectable is None:
        return f"{does(curve)}; the test has no power"
    return f"{does(curve)}; a rise of {format_number(curve.detectable, 2)} would show"


def boundary_counts(by_group: Groups) -> str:
    """The number of runs that turn to rise."""
    runs = fitted(by_group)
    across = combine_phases([each.tokens for each in runs])
    curves = {
        "execution": [each.tokens.execution for each in runs],
        "planning": [each.tokens.planning for each in runs],
        "the semantic entropy": [each.semantic.planning for each in runs],
    }
    shares = ", ".join(
        f"{name} in {sum(curve is not None and curve.rises for curve in each)} of {len(runs)}"
        for name, each in curves.items()
    )
    long = sum(is_long(curve) for each in curves.values() for curve in each if curve is not None)
    again = sum(curve.falls_again for each in curves.values() for curve in each if curve is not None)
    return (
        f"After its fall turns to rise: {shares}; both token entropies in {across.both}; planning after "
        f"execution's fall in {across.rises_after}. {again} of {3 * len(runs)} curves fall a second time, "
        f"and the drift of {long} may be long"
    )


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
