"""What a gate can ask about: every quantity, how it is read from a typed document, and what must hold before.

A quantity is one entry of :data:`QUANTITIES`: expressions on the command line and in the settings file, every
format of a check and the table of ``docs/ci.md`` come from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from entropylaw.results import VERDICTS, Estimate, Validity

if TYPE_CHECKING:
    from entropylaw.documents.phases import RunPhases
    from entropylaw.documents.prediction import RunPrediction
    from entropylaw.documents.report import RunReport
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
    """How a quantity is compared."""

    estimate = "estimate"
    number = "number"
    word = "word"
    flag = "flag"


@dataclass(frozen=True, slots=True)
class Quantity:
    """Something that a gate can ask about.

    Attributes
    ----------
    name
        What an expression calls it.
    meaning
        A few words for lists.
    unit
        Of the number; empty where it has none.
    accessor
        Reads it: of a :class:`~entropylaw.documents.fit.RunFit` with a law for the law, of a run of a report
        or a prediction for what is ahead, of a :class:`~entropylaw.documents.phases.RunPhases` or None for
        the phases. None where the document has no value. Flags and regressions have no accessor.
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
    unit: str = ""
    accessor: Callable[[Any], Value | None] | None = None
    kind: Kind = Kind.estimate
    part: Part = Part.law
    of_law: bool = False
    words: tuple[str, ...] = ()

    def read(self, holder: Any) -> Value:
        """The value that the part of a run's documents has, or why it has none."""
        assert self.accessor is not None
        found = self.accessor(holder)
        return Unknown(reason=f"the document has no {self.name} for this run") if found is None else found


VALID, FAILS, UNDECIDED = "valid", "law fails", "undecided"


def _since(name: str) -> Callable[[Any], Value]:
    """An estimate beside the law that the first documents do not have."""
    older = Unknown(reason=f"the document is older than {name}; fit the log again")
    return lambda run: getattr(run, name) or older


def _verdict(validity: Validity) -> str:
    return VALID if validity.ok else FAILS if validity.contradicted else UNDECIDED


def _ahead(name: str, read: Callable[[Any], Value]) -> Callable[[Any], Value]:
    """What the forecast or the ``spending`` of a run says, or why there is none."""

    def accessor(run: RunReport | RunPrediction) -> Value:
        found = getattr(run, name)
        return read(found) if found else Unknown(reason=run.no_forecast or "no forecast was asked for")

    return accessor


def _phases(read: Callable[[PhaseFit], Value | None], missing: str) -> Callable[[Any], Value]:
    """What is told of the phases; where it is not, the phases' notes say why, or else ``missing``."""

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
        if curve is None:
            return None
        if curve.found:
            return curve.boundary.step
        return Unknown(reason=f"no boundary was found in {name} (p = {curve.p_value:.2g})")

    return _phases(read, f"there is no curve of {name}")


_ALL = (
    Quantity("a", "coefficient of R = −a·exp(H) + b", "reward", lambda run: run.law.a, of_law=True),
    Quantity("b", "coefficient of R = −a·exp(H) + b", "reward", lambda run: run.law.b, of_law=True),
    Quantity("ceiling", "b − a, the reward at H = 0", "reward", lambda run: run.law.ceiling, of_law=True),
    Quantity("headroom", "ceiling − reward_now", "reward", lambda run: run.law.headroom, of_law=True),
    Quantity(
        "reward_now",
        "reward at the last evaluation, noise taken out",
        "reward",
        lambda run: run.law.reward_now,
        of_law=True,
    ),
    Quantity(
        "used", "share of the reward that entropy can buy, had by now", "share", _since("used"), of_law=True
    ),
    Quantity("drop_per_100_steps", "entropy lost per 100 steps lately", "nats", _since("drop_per_100_steps")),
    Quantity(
        "entropy_now",
        "entropy at the last evaluation",
        "nats",
        lambda run: run.law.entropy_now,
        kind=Kind.number,
    ),
    Quantity(
        "entropy_noise",
        "noise of a logged entropy",
        "nats",
        lambda run: run.law.entropy_noise,
        kind=Kind.number,
    ),
    Quantity(
        "law_weight",
        "probability of the law among the forms",
        "probability",
        lambda run: run.law.law_weight,
        kind=Kind.number,
    ),
    Quantity(
        "r_squared",
        "share of the reward's variance explained",
        "share",
        lambda run: run.law.r_squared,
        kind=Kind.number,
    ),
    Quantity(
        "n", "evaluations that were fitted", "evaluations", lambda run: float(run.law.n), kind=Kind.number
    ),
    Quantity(
        "lag1",
        "lag-1 autocorrelation of the residuals",
        "",
        lambda run: run.law.residuals.lag1,
        kind=Kind.number,
    ),
    Quantity(
        "effective_n",
        "independent evaluations they are worth",
        "evaluations",
        lambda run: run.law.residuals.effective_n,
        kind=Kind.number,
    ),
    Quantity(
        "cautions", "number of cautions", "", lambda run: float(len(run.validity.cautions)), kind=Kind.number
    ),
    Quantity(
        "verdict",
        "what is said of the law",
        "",
        lambda run: _verdict(run.validity),
        kind=Kind.word,
        words=(VALID, FAILS, UNDECIDED),
    ),
    Quantity(
        "forecast_reward",
        "reward at the last step forecast",
        "reward",
        _ahead("forecast", lambda forecast: forecast.reward[-1]),
        part=Part.ahead,
    ),
    Quantity(
        "saturation_step",
        "step at which the entropy is spent",
        "steps",
        _ahead("spending", lambda spending: spending.step),
        part=Part.ahead,
        of_law=True,
    ),
    Quantity(
        "saturation_reward",
        "reward at that step",
        "reward",
        _ahead("spending", lambda spending: spending.reward),
        part=Part.ahead,
        of_law=True,
    ),
    Quantity(
        "phases",
        "the order of the two phases",
        "",
        _phases(lambda phases: phases.verdict, "one curve only has no order"),
        kind=Kind.word,
        part=Part.phases,
        words=VERDICTS,
    ),
    Quantity(
        "boundary_planning", "step of planning's boundary", "steps", _boundary("planning"), part=Part.phases
    ),
    Quantity(
        "boundary_execution",
        "step of execution's boundary",
        "steps",
        _boundary("execution"),
        part=Part.phases,
    ),
    Quantity(
        "delta",
        "planning's boundary less execution's",
        "steps",
        _phases(lambda phases: phases.delta, "no difference is told"),
        part=Part.phases,
    ),
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
