"""What was said of simulated runs, and of finished ones, at their end and at cuts."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.finished import Finished
from benchmarks.state_peers import Answers, answers_of
from benchmarks.state_worlds import (
    FLAT,
    OTHERS,
    VISIBLE,
    VISIBLE_LONG,
    Draw,
    half_lost,
    half_of_share_lost,
    line,
    sparse_line,
    sudden,
)
from entropylaw.analysis.state import FEWEST
from entropylaw.arrays import FloatArray
from entropylaw.engine.levels import blocks_of

SEEDS = {"tuned on": 1, "set aside": 4711}

SIZES = (12, 40, 120, 500)

LOST: dict[str, Draw] = {
    "ten noise sds to a tenth of the best": sudden,
    "more than half of the gain": half_lost,
    "more than half of the gain, share of 64": half_of_share_lost,
}

SEEN: dict[str, tuple[Draw, int]] = {
    "a line of ten noise sds, n 40": (line, 40),
    "share .01 → .06 of 16, n 500": (sparse_line, 500),
}

MOST_PAIRS = 15
"""Pairs of neighbouring evaluations at which the word of a longer run is compared."""

CUTS = (1.0 / 3.0, 1.0 / 2.0, 2.0 / 3.0)
"""Shares of a run after which it is cut, to see what came half as many steps later."""

AROUND = 3
"""Evaluations whose mean is the outcome."""


# -- simulated runs ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Simulated runs of one kind, of ``n`` evaluations."""

    kind: str
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What was said of a simulated run, and what its level gained, where that is known.

    Of a long run the level is that of the last block less that of the first. ``changes`` are those of the
    level over the last half and third, along a line, and ``gain`` is the gain that counts.
    """

    answers: Answers
    gained: float | None
    changes: tuple[float, float] | None
    gain: float
    is_lost: bool


KINDS: dict[str, Draw] = {
    **FLAT,
    **OTHERS,
    **VISIBLE,
    **VISIBLE_LONG,
    **LOST,
    **{kind: draw for kind, (draw, _) in SEEN.items()},
}


def cells() -> list[Cell]:
    """Every cell."""
    found = [Cell(kind=kind, n=n) for kind in (*FLAT, *OTHERS) for n in SIZES]
    found += [Cell(kind=kind, n=n) for kind in VISIBLE for n in (120, 500)]
    found += [Cell(kind=kind, n=500) for kind in VISIBLE_LONG]
    for kind in LOST:
        sizes = SIZES if KINDS[kind] is sudden else (120, 500)
        found += [Cell(kind=kind, n=n) for n in sizes]
    found += [Cell(kind=kind, n=n) for kind, (_, n) in SEEN.items()]
    return found


def results_of(cell: Cell, seeds: str, numbers: Iterable[int]) -> list[Result]:
    """What was said of some runs of a cell."""
    step = np.arange(float(cell.n))
    found = []
    with threadpool_limits(1):
        for number in numbers:
            rng = np.random.default_rng([SEEDS[seeds], zlib.crc32(cell.kind.encode()), cell.n, number])
            run = KINDS[cell.kind](cell.n, rng)
            gained = None
            changes = None
            if run.level is not None:
                levels = blocks_of(step, run.level).value
                gained = float(levels[-1] - levels[0])
                changes = (line_over(run.level, 1.0 / 2.0), line_over(run.level, 1.0 / 3.0))
            answers, state = answers_of(step, run.reward, run.most)
            result = Result(
                answers=answers,
                gained=gained,
                changes=changes,
                gain=state.gain,
                is_lost=cell.kind in LOST,
            )
            found.append(result)
    return found


def line_over(level: FloatArray, share: float) -> float:
    """The change of a level (n,) over its last share, along the straight line through it."""
    last = level[-max(3, round(share * level.size)) :]
    slope, _ = np.polyfit(np.arange(last.size), last, 1)
    return float(slope * (last.size - 1))


# -- finished runs -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What was said of a finished run, at its end and at its cuts.

    ``changes`` are those of the word per 10 evaluations, and ``came`` the word at a cut and whether a gain
    came after it.
    """

    run: Finished
    end: Answers
    changes: dict[str, float]
    came: tuple[tuple[Answers, bool], ...]


def looked_at(run: Finished, *, is_public: bool) -> Looked:
    """What was said of a finished run; changes of the word are counted of public ones."""
    with threadpool_limits(1):
        return Looked(
            run=run,
            end=answers_of(run.step, run.reward, run.most, run.end)[0],
            changes=changes_of(run) if is_public else {},
            came=tuple(came_after(run)),
        )


def changes_of(run: Finished) -> dict[str, float]:
    """Changes of the word per 10 evaluations, from the eighth on, at some neighbouring evaluations."""
    until = np.arange(FEWEST, run.step.size)
    if until.size > MOST_PAIRS:
        until = until[np.linspace(0, until.size - 1, MOST_PAIRS).astype(int)]
    said: dict[int, Answers] = {}
    for n in np.union1d(until, until + 1).tolist():
        said[n], _ = answers_of(run.step[:n], run.reward[:n], run.most)
    changed: Counter[str] = Counter()
    for n in until.tolist():
        for name, now in said[n + 1].items():
            changed[name] += now.word != said[n][name].word
    return {name: 10.0 * changed[name] / until.size for name in said[FEWEST]}


def came_after(run: Finished) -> Iterable[tuple[Answers, bool]]:
    """At each cut, what was said, and whether three evaluations around half a run later are a gain higher."""
    length = run.step[-1] - run.step[0]
    for share in CUTS:
        until = int(np.searchsorted(run.step, run.step[0] + share * length * (1.0 + 1e-9), side="right"))
        if until < FEWEST or run.step.size - until < AROUND:
            continue
        step = run.step[:until]
        reward = run.reward[:until]
        answers, state = answers_of(step, reward, run.most)
        target = step[-1] + 0.5 * (step[-1] - step[0])
        distance = np.abs(run.step[until:] - target)
        nearest = until + np.argsort(distance, kind="stable")[:AROUND]
        gained = float(run.reward[nearest].mean()) >= float(state.now) + state.gain
        yield answers, gained
