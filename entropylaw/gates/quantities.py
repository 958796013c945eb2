"""What a gate can ask about: every quantity, where it comes from, and what must hold before it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Part(StrEnum):
    """The part of a run's documents that holds a quantity."""

    law = "law"
    ahead = "ahead"
    phases = "phases"


class Kind(StrEnum):
    """How a quantity is compared."""

    estimate = "estimate"
    number = "number"
    word = "word"
    flag = "flag"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """Something that a gate can ask about.

    Attributes
    ----------
    name
        What an expression calls it.
    meaning
        A few words for lists.
    kind
        An estimate has an interval; a number has none by its nature, and is compared as it stands.
    part
        The part of the documents that holds it.
    of_law
        Whether it means something only where the law holds.
    words
        The values of a word.
    """

    name: str
    meaning: str
    kind: Kind = Kind.estimate
    part: Part = Part.law
    of_law: bool = False
    words: tuple[str, ...] = ()


VALID, FAILS, UNDECIDED = "valid", "law fails", "undecided"

ORDERS = ("execution first", "planning first", "overlapping", "one boundary", "no boundary")
"""What phases can be; the same words as :data:`entropylaw.results.phases.VERDICTS`."""

_ALL = (
    Quantity(name="a", meaning="coefficient of R = −a·exp(H) + b", of_law=True),
    Quantity(name="b", meaning="coefficient of R = −a·exp(H) + b", of_law=True),
    Quantity(name="ceiling", meaning="b − a, the reward at H = 0", of_law=True),
    Quantity(name="headroom", meaning="ceiling − reward_now", of_law=True),
    Quantity(name="reward_now", meaning="reward at the last evaluation, noise taken out", of_law=True),
    Quantity(name="used", meaning="share of the reward that entropy can buy, had by now", of_law=True),
    Quantity(name="drop_per_100_steps", meaning="entropy lost per 100 steps lately, nats"),
    Quantity(name="entropy_now", meaning="entropy at the last evaluation, nats", kind=Kind.number),
    Quantity(name="entropy_noise", meaning="noise of a logged entropy, nats", kind=Kind.number),
    Quantity(name="law_weight", meaning="probability of the law among the forms", kind=Kind.number),
    Quantity(name="r_squared", meaning="share of the reward's variance explained", kind=Kind.number),
    Quantity(name="n", meaning="evaluations that were fitted", kind=Kind.number),
    Quantity(name="lag1", meaning="lag-1 autocorrelation of the residuals", kind=Kind.number),
    Quantity(name="effective_n", meaning="independent evaluations they are worth", kind=Kind.number),
    Quantity(name="cautions", meaning="number of cautions", kind=Kind.number),
    Quantity(
        name="verdict",
        meaning="what is said of the law",
        kind=Kind.word,
        words=(VALID, FAILS, UNDECIDED),
    ),
    Quantity(name="forecast_reward", meaning="reward at the last step forecast", part=Part.ahead),
    Quantity(
        name="saturation_step", meaning="step at which the entropy is spent", part=Part.ahead, of_law=True
    ),
    Quantity(name="saturation_reward", meaning="reward at that step", part=Part.ahead, of_law=True),
    Quantity(
        name="phases",
        meaning="the order of the two phases",
        kind=Kind.word,
        part=Part.phases,
        words=ORDERS,
    ),
    Quantity(name="boundary_planning", meaning="step of planning's boundary", part=Part.phases),
    Quantity(name="boundary_execution", meaning="step of execution's boundary", part=Part.phases),
    Quantity(name="delta", meaning="planning's boundary less execution's, steps", part=Part.phases),
    Quantity(name="invalid", meaning="the law does not hold, or cannot be told", kind=Kind.flag),
    Quantity(name="refused", meaning="the run could not be fitted", kind=Kind.flag),
)

QUANTITIES: Mapping[str, Quantity] = {quantity.name: quantity for quantity in _ALL}
"""Name → quantity, in the order in which they are listed."""

REGRESSION = Quantity(
    name="regression", meaning="share by which it fell against the baseline's run", of_law=True
)
"""Made from a quantity of two documents; its expression names them."""

MEASURED = ("ceiling", "reward_now")
"""What a regression can be of; the first where none is named."""

WRITTEN_BY = {
    Part.law: "`entropylaw fit` or `entropylaw report`",
    Part.ahead: "`entropylaw report` or `entropylaw predict --saturation --at-step N`",
    Part.phases: "`entropylaw phases` or `entropylaw report`",
}
"""The commands whose documents hold a part."""
