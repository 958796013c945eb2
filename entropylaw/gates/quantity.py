"""What a gate compares: a quantity with its unit, or why it has no value. Nothing here imports numpy."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

from entropylaw.results import Estimate
from entropylaw.units import MOST_NATS, reward_range

if TYPE_CHECKING:
    from entropylaw.documents.document import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """The reason why a quantity has no value."""

    reason: str


Value = Estimate | float | str | Unknown
"""An estimate, a number without an interval, a word, or the reason why there is no value."""

Accessor = Callable[[Any], Value | None]
"""Reads a value from a result; None where it has none."""

ResultKind = Literal["fit", "prediction", "phases", "comparison", "samples"]
"""The kinds of results that entries of documents have."""

JUDGED: tuple[ResultKind, ...] = ("fit", "prediction")
"""The kinds of results with a verdict and a forecast."""

Kind = Literal["estimate", "number", "word", "flag"]
"""How a quantity is compared: an estimate by its interval, a number, which has none, directly."""

FEWEST_FITTED = 8
"""Evaluations below which a fitted number is unknown to a gate: its interval is one of a few values that
follow one another, and a gate that passes by it passes because nothing is known."""

LEAST_EFFECTIVE = 3.0
"""Effective sample size below which a fitted number is unknown, for the same reason."""

OfReward = Literal["", "level", "gain", "difference", "fall"]
"""How the range of a reward bounds a number: as a level of it, a gain, a difference of two levels, or a fall
as a share of an earlier level; empty where it does not."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit, and the range that a quantity in it can have; an end may be infinite.

    ``whole`` says that it has whole numbers only. ``of_reward`` says how the range in which a reward is
    possible bounds it.
    """

    name: str = ""
    low: float = -math.inf
    high: float = math.inf
    whole: bool = False
    of_reward: OfReward = ""

    def range_in(self, unit: str, largest: float | None) -> tuple[float, float]:
        """The same range for a reward in a ``unit``; its ``largest`` possible value is None where unknown."""
        least, most = reward_range(unit, largest)
        span = most - least
        ranges = {
            "level": (least, most),
            "gain": (0.0, span),
            "difference": (-span, span),
            "fall": (-math.inf, math.inf if least < 0 else 1.0),
        }
        return ranges.get(self.of_reward, (self.low, self.high))


NONE = Unit()
STEPS = Unit("steps")
LASTING = Unit("steps", 0.0)
NATS = Unit("nats")
REWARD = Unit("reward")
"""A coefficient, or a difference along a curve, which may have any size."""
LEVEL = Unit("reward", of_reward="level")
GAIN = Unit("reward", 0.0, of_reward="gain")
LEVELS_APART = Unit("reward", of_reward="difference")
ENTROPY = Unit("nats", 0.0, MOST_NATS)
SPREAD = Unit("nats", 0.0)
# Documents of fits with fewer than two are damaged.
EVALUATIONS = Unit("evaluations", 2, whole=True)
EFFECTIVE = Unit("evaluations", 0.0)
COUNT = Unit("", 0.0, whole=True)
MEAN_COUNT = Unit("", 0.0)
ODDS = Unit("", 0.0)
PROBABILITY = Unit("probability", 0.0, 1.0)
R_SQUARED = Unit("share", 0.0, 1.0)
CORRELATION = Unit("", -1.0, 1.0)
CHANGE = Unit("share", -1.0, 1.0)
SHARE = Unit("share", -5.0, 5.0, of_reward="fall")
"""An estimated share may be beyond 0 and 1; far beyond, a percentage was meant."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity that a gate can compare: its name in expressions, its meaning and unit for lists.

    ``reads`` are the kinds of results that have it; the first of them that a run has is read. ``accessor``
    is the path of an attribute, by default the one of its name, or a function that returns None where the
    result has no value. A comparison's result is its document, that of samples also a row. Flags have no
    accessor. ``words`` are the values of a word, and ``otherwise`` is what it means that it has none of them.
    ``detail`` is what a sentence adds to the number: of which gain, at which step. ``fitted`` says that a
    number is estimated from the evaluations, of which some are needed, and neither counted nor logged.
    ``of_law`` says that it is of the law, and unknown of a run without one; ``by_law`` that it is true only
    as far as the law is, and unknown where that fails.
    """

    name: str
    meaning: str
    unit: Unit = NONE
    accessor: str | Accessor = ""
    kind: Kind = "estimate"
    reads: tuple[ResultKind, ...] = ("fit",)
    by_law: bool = False
    words: tuple[str, ...] = ()
    otherwise: str = ""
    detail: Callable[[Any], str] | None = None
    fitted: bool = True
    of_law: bool = False

    def read(self, entry: Entry[Any]) -> Value | None:
        """The value in an entry, or the reason why there is none; None where the run was refused."""
        if entry.result is None and self.reads == ("phases",):
            reason = "the log has no curves of planning, execution or plans"
            if entry.refusal is not None:
                reason = f"no phases: {entry.refusal.message}"
            return Unknown(reason=reason)
        if entry.result is None:
            return None
        if self.reads == ("samples",) and (incomplete := entry.result[0].incomplete):
            return Unknown(reason=incomplete)
        read = self.accessor or self.name
        if isinstance(read, str):
            read = attrgetter(read)
        value = read(entry.result)
        if value is None:
            return Unknown(reason=f"the document has no {self.name} for this run")
        if isinstance(value, int):
            return float(value)
        return value
