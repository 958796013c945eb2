"""Turns to rise in the lab's entropies, and token classes by entropy against the true classes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from entropylaw import FitError, PhaseFit, combine_phases, fit_phases
from entropylaw.analysis.turning_point import FEWEST
from entropylaw.report.describe.phases import does, is_long, p_value, percent_words
from entropylaw.report.numbers import format_number
from entropylaw.results.phases import CurvePhases
from lab.comparisons import PLAIN, Groups
from lab.findings import Made
from lab.markdown import MISSING, table

TOP = 0.2
"""Share of a step's tokens with the highest entropy, classed as planning in arXiv:2506.01939."""


@dataclass(frozen=True)
class _Fitted:
    """A run's phases in token entropies, and in the semantic entropy of its strategies.

    Either may be missing: a policy that breaks down early has too few plans.
    """

    run: str
    tokens: PhaseFit | None
    semantic: PhaseFit | None

    @property
    def curves(self) -> dict[str, CurvePhases | None]:
        """The three curves by name."""
        tokens, semantic = self.tokens, self.semantic
        return {
            "planning": tokens.planning if tokens is not None else None,
            "execution": tokens.execution if tokens is not None else None,
            "the semantic entropy": semantic.planning if semantic is not None else None,
        }


def fitted(by_group: Groups) -> list[_Fitted]:
    """The phases of every run, those of plain GRPO first."""
    names = [PLAIN, *(name for name in by_group if name != PLAIN)]
    return [_of(_Key(run)) for name in names for run in by_group.get(name, ())]


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
    tokens = semantic = None
    with suppress(FitError):
        tokens = fit_phases(
            columns["step"],
            columns["entropy_planning"],
            columns["entropy_execution"],
            aggregate=columns["entropy"],
            length=columns["response_length"],
            run=key.run.name,
        )
    with suppress(FitError):
        semantic = fit_phases(columns["step"], columns["entropy_semantic"], run=key.run.name)
    return _Fitted(run=key.run.name, tokens=tokens, semantic=semantic)


def boundaries(by_group: Groups) -> str:
    """One row per run: the verdict on its token entropies, each curve, and planning's share at the end."""
    rows = []
    for each in fitted(by_group):
        verdict = share = None
        if each.tokens is not None:
            verdict, share = each.tokens.verdict, each.tokens.share_planning
        now = MISSING if share is None else percent_words(share)
        rows.append((f"`{each.run}`", verdict or MISSING, *map(_in_words, each.curves.values()), now))
    head = (
        "run",
        "order, token entropies",
        "planning",
        "execution",
        "semantic entropy",
        "planning's share of entropy now",
    )
    return table(head, rows)


def _in_words(curve: CurvePhases | None) -> str:
    if curve is None:
        return f"{MISSING} fewer than {FEWEST} steps"
    if curve.rises:
        return does(curve)
    said = f"no ({p_value(curve.p_rise, curve.least_p)}{', long drift' * is_long(curve)})"
    if curve.detectable is None:
        return f"{said}; the test has no power"
    return f"{said}; {format_number(curve.detectable, 2)} would show"


def boundary_counts(by_group: Groups) -> str:
    """The number of runs that turn to rise."""
    runs = fitted(by_group)
    across = combine_phases([each.tokens for each in runs if each.tokens is not None])
    curves = [(name, curve) for each in runs for name, curve in each.curves.items() if curve is not None]
    counts = []
    for kind in ("execution", "planning", "the semantic entropy"):
        rises = [curve.rises for name, curve in curves if name == kind]
        counts.append(f"{kind} in {sum(rises)} of {len(rises)}")
    long, again = sum(is_long(curve) for _, curve in curves), sum(curve.falls_again for _, curve in curves)
    turned = [
        each.run for each in runs if any(curve is not None and curve.rises for curve in each.curves.values())
    ]
    which = f" ({', '.join(turned)})" if turned else ""
    return (
        f"Curves that turn to rise after their fall: {', '.join(counts)}{which}; both token entropies in "
        f"{across.both}; planning after execution's fall in {across.rises_after}. {again} of {len(curves)} "
        f"curves fall a second time, and the drift of {long} may be long"
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
