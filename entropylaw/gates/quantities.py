"""What a gate can ask about: every quantity, how it is read from a typed document, and what must hold before.

A quantity is one entry of :data:`QUANTITIES`: expressions on the command line and in the settings file, every
format of a check and the table of ``docs/ci.md`` come from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from entropylaw.results import VERDICTS, Estimate

if TYPE_CHECKING:
    from entropylaw.documents.fit import RunFit
    from entropylaw.documents.phases import RunPhases
    from entropylaw.documents.prediction import RunPrediction
    from entropylaw.results.phases import CurvePhases, PhaseFit


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """What takes a value's place where there is none: the reason."""

    reason: str


Value = Estimate | float | str | Unknown
"""An estimate, a number without an interval, a word, or why there is nothing."""


class Part(StrEnum):
    """The part of a run's documents that holds a quantity."""

    law = "law"
    ahead = "ahead"
    phases = "phases"


class Kind(StrEnum):
    """How a quantity is compared: an estimate by its interval, a number, which has none, as it stands."""

    estimate = "estimate"
    number = "number"
    word = "word"
    flag = "flag"


@dataclass(frozen=True, slots=True)
class Quantity:
    """Something that a gate can ask about: what an expression calls it, and a few words and a unit for lists.

    ``accessor`` reads it from the ``part`` of the documents that holds it: of a
    :class:`~entropylaw.documents.fit.RunFit` with a law for the law, of a run of a report or a prediction for
    what is ahead, of a :class:`~entropylaw.documents.phases.RunPhases` or None for the phases. It is the path
    of an attribute, by default the one of its name in the law, or a function that returns None where the
    document has no value. Flags have none.
    ``of_law`` says that it means something only where the law holds; ``words`` are the values of a word.
    """

    name: str
    meaning: str
    unit: str = ""
    accessor: str | Callable[[Any], Value | None] = ""
    kind: Kind = Kind.estimate
    part: Part = Part.law
    of_law: bool = False
    words: tuple[str, ...] = ()

    def read(self, holder: Any) -> Value:
        """The value that the part of a run's documents has, or why it has none."""
        path = self.accessor or f"law.{self.name}"
        found = attrgetter(path)(holder) if isinstance(path, str) else path(holder)
        if found is None:
            return Unknown(reason=f"the document has no {self.name} for this run")
        return float(found) if isinstance(found, int) else found


VALID, FAILS, UNDECIDED = "valid", "law fails", "undecided"


def _since(name: str) -> Callable[[Any], Value]:
    """An estimate beside the law that the first documents do not have."""
    older = Unknown(reason=f"the document is older than {name}; fit the log again")
    return lambda run: getattr(run, name) or older


def _verdict(run: RunFit | RunPrediction) -> str:
    assert run.validity is not None
    return VALID if run.validity.ok else FAILS if run.validity.contradicted else UNDECIDED


def _ahead(read: Callable[[Any], Value | None]) -> Callable[[Any], Value]:
    """What a run says of later steps, or why it says nothing."""
    return lambda run: read(run) or Unknown(reason=run.no_forecast or "no forecast was asked for")


def _phases(read: Callable[[PhaseFit], Value | None], missing: str) -> Callable[[Any], Value]:
    """What is known of the phases; where it is not, the phases' notes say why, or else ``missing``."""

    def accessor(run: RunPhases | None) -> Value:
        if run is None:
            return Unknown(reason="the log has no curves of planning or execution")
        if run.phases is None:
            return Unknown(reason=f"no phases: {run.refusal.message if run.refusal else missing}")
        return read(run.phases) or Unknown(reason="; ".join(run.phases.notes) or missing)

    return accessor


def _boundary(name: str) -> Callable[[Any], Value]:
    """The step of a boundary, if there is one: its place without that would be a place of nothing."""

    def read(phases: PhaseFit) -> Value | None:
        curve: CurvePhases | None = getattr(phases, name)
        if curve is None or curve.found:
            return curve.boundary.step if curve else None
        return Unknown(reason=f"no boundary was found in {name} (p = {curve.p_value:.2g})")

    return _phases(read, f"there is no curve of {name}")


_step = _ahead(lambda run: run.spending.step if run.spending else None)
_reward = _ahead(lambda run: run.spending.reward if run.spending else None)
_forecast = _ahead(lambda run: run.forecast.reward[-1] if run.forecast else None)
_order = _phases(lambda phases: phases.verdict, "one curve only has no order")
_delta = _phases(lambda phases: phases.delta, "no difference is told")
_valid = partial(Quantity, of_law=True)
_number = partial(Quantity, kind=Kind.number)
_later = partial(Quantity, part=Part.ahead)
_ordered = partial(Quantity, part=Part.phases)

_ALL = (
    _valid("a", "coefficient of R = −a·exp(H) + b", "reward"),
    _valid("b", "coefficient of R = −a·exp(H) + b", "reward"),
    _valid("ceiling", "b − a, the reward at H = 0", "reward"),
    _valid("headroom", "ceiling − reward_now", "reward"),
    _valid("reward_now", "reward at the last evaluation, noise taken out", "reward"),
    _valid("used", "share of the reward that entropy can buy, had by now", "share", _since("used")),
    Quantity("drop_per_100_steps", "entropy lost per 100 steps lately", "nats", _since("drop_per_100_steps")),
    _number("entropy_now", "entropy at the last evaluation", "nats"),
    _number("entropy_noise", "noise of a logged entropy", "nats"),
    _number("law_weight", "probability of the law among the forms", "probability"),
    _number("r_squared", "share of the reward's variance explained", "share"),
    _number("n", "evaluations that were fitted", "evaluations"),
    _number("lag1", "lag-1 autocorrelation of the residuals", "", "law.residuals.lag1"),
    _number(
        "effective_n", "independent evaluations they are worth", "evaluations", "law.residuals.effective_n"
    ),
    _number("cautions", "number of cautions", "", lambda run: len(run.validity.cautions)),
    Quantity("verdict", "what is said of the law", "", _verdict, Kind.word, words=(VALID, FAILS, UNDECIDED)),
    _later("forecast_reward", "reward at the last step forecast", "reward", _forecast),
    _later("saturation_step", "step at which the entropy is spent", "steps", _step, of_law=True),
    _later("saturation_reward", "reward at that step", "reward", _reward, of_law=True),
    _ordered("phases", "the order of the two phases", "", _order, Kind.word, words=VERDICTS),
    _ordered("boundary_planning", "step of planning's boundary", "steps", _boundary("planning")),
    _ordered("boundary_execution", "step of execution's boundary", "steps", _boundary("execution")),
    _ordered("delta", "planning's boundary less execution's", "steps", _delta),
    Quantity("invalid", "the law does not hold, or cannot be told", kind=Kind.flag),
    Quantity("refused", "the run could not be fitted", kind=Kind.flag),
)

QUANTITIES: Mapping[str, Quantity] = {quantity.name: quantity for quantity in _ALL}
"""Name → quantity, in the order in which they are listed."""

OF_VALIDITY = ("cautions", "verdict")
"""Quantities of the law that a prediction holds, too: beside its numbers it has the law's validity."""

REGRESSION = Quantity("regression", "share by which it fell against the baseline's run", "share", of_law=True)
"""Made from a quantity of two documents; its expression names them."""

MEASURED = ("ceiling", "reward_now")
"""What a regression can be of; the first where none is named."""

WRITTEN_BY = {
    Part.law: "`entropylaw fit` or `entropylaw report`",
    Part.ahead: "`entropylaw report` or `entropylaw predict --saturation --at-step N`",
    Part.phases: "`entropylaw phases` or `entropylaw report`",
}
"""The commands whose documents hold a part."""
