"""The rule by which a claim is confirmed or contradicted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, t

FloatArray = NDArray[np.float64]

LEVEL = 0.95


class Answer(StrEnum):
    """What the data say of a claim."""

    confirmed = "confirmed"
    contradicted = "contradicted"
    not_decided = "not decided"
    not_in_logs = "cannot be tested with logs"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Made:
    """A run that claims are tested on: its columns, and the counts of its answers.

    ``columns`` maps a name to values (n,), nan where missing. ``counts`` has one entry per distinct answer:
    ``step``, ``prompt``, ``n``, ``correct``.
    """

    seed: int
    columns: Mapping[str, FloatArray]
    counts: Mapping[str, FloatArray] = field(default_factory=dict)


Runs = Mapping[str, Sequence[Made]]
"""Arm → its runs."""


@dataclass(frozen=True, slots=True)
class Number:
    """The effect that a claim is about, its interval, and the number of units that it is from."""

    value: float | None
    low: float
    high: float
    units: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A statement, its source and published number, and how it is tested.

    ``effect`` gives one number per unit of a set of runs; a claim without it cannot be tested, or has no data
    yet, and ``missing`` says what it would take. The claim is confirmed if the interval of the mean effect is
    above ``margin``, contradicted if it is below; of a claim that nothing differs, if the interval is inside,
    or outside, ± ``within``. ``quantity`` names the effect with its unit.
    """

    statement: str
    source: str
    published: str
    quantity: str = ""
    effect: Callable[[Runs], FloatArray] | None = None
    margin: float = 0.0
    within: float | None = None
    missing: str = ""
    in_logs: bool = True


def mean_of(effects: FloatArray, level: float = LEVEL) -> Number:
    """The mean over units with its interval by Student's t; an open interval for fewer than two units."""
    values = effects[np.isfinite(effects)]
    if values.size < 2:
        value = float(values[0]) if values.size else None
        return Number(value, -np.inf, np.inf, values.size)
    half = t.ppf(0.5 + level / 2, values.size - 1) * values.std(ddof=1) / np.sqrt(values.size)
    return Number(float(values.mean()), float(values.mean() - half), float(values.mean() + half), values.size)


def share_of(hits: int, units: int, level: float = LEVEL) -> Number:
    """A share with its interval by Clopper and Pearson (1934, doi:10.1093/biomet/26.4.404)."""
    if not units:
        return Number(None, 0.0, 1.0, 0)
    tail = (1 - level) / 2
    low = beta.ppf(tail, hits, units - hits + 1) if hits else 0.0
    high = beta.ppf(1 - tail, hits + 1, units - hits) if hits < units else 1.0
    return Number(hits / units, float(low), float(high), units)


def decide(claim: Claim, number: Number) -> Answer:
    """Confirmed or contradicted by the whole interval of the effect.

    A true effect at the margin is called confirmed in (1 − level)/2 of all data, and contradicted as often.
    """
    if claim.within is not None:
        is_true = -claim.within < number.low and number.high < claim.within
        is_false = number.low > claim.within or number.high < -claim.within
    else:
        is_true, is_false = number.low > claim.margin, number.high < claim.margin
    if is_true:
        return Answer.confirmed
    return Answer.contradicted if is_false else Answer.not_decided


def ask(claim: Claim, runs: Runs) -> tuple[Answer, Number | None]:
    """The answer of some runs to a claim, and the number that it follows from."""
    if not claim.in_logs:
        return Answer.not_in_logs, None
    if claim.effect is None:
        return Answer.not_decided, None
    try:
        number = mean_of(claim.effect(runs))
    except (KeyError, IndexError):
        # An arm or a step that the claim needs is not there.
        return Answer.not_decided, None
    return decide(claim, number), number
