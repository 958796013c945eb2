"""Lists the quantities of a comparison of arms that a gate compares. Nothing here imports numpy."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from entropylaw.gates.quantity import CHANGE, LEVELS_APART, NATS, REWARD, Quantity, Unit, Unknown, Value
from entropylaw.results.result import replace
from entropylaw.units import MOST_NATS

if TYPE_CHECKING:
    from entropylaw.documents.comparison import ComparisonDocument

DIFFERENCE = "difference"


@cache
def differences() -> dict[str, Quantity]:
    """Quantities of a comparison of arms, by the name behind the point: their types take time to import."""
    from entropylaw.results import arms

    units = {"reward": LEVELS_APART, "nats": NATS, "share": CHANGE}
    quantities = {}
    for name, (words, unit) in arms.QUANTITIES.items():
        quantities[name] = Quantity(
            f"{DIFFERENCE}(ARM, BASELINE).{name}",
            f"{words}: that of ARM minus that of BASELINE",
            _OTHER_UNITS.get(name, units[unit]),
            reads=("comparison",),
        )
    return quantities


_OTHER_UNITS = {
    "shift": REWARD,
    "movement": REWARD,
    "a": REWARD,
    "b": REWARD,
    "last_entropy": Unit("nats", -MOST_NATS, MOST_NATS),
}
"""Units of differences that are no difference of two levels of the reward, or are bounded otherwise."""


def _missing_run(document: ComparisonDocument, arm: str, baseline: str) -> str:
    """Why a difference of two arms does not show all their runs; empty where it does."""
    for run in document.missing:
        if run.arm in ("", arm, baseline):
            whose = f"of {run.arm}" if run.arm else "in no arm"
            return f"{run.run} {whose} has no result: {run.why}"
    return ""


def difference(arm: str, baseline: str, name: str) -> Quantity:
    """A quantity of :func:`differences` for two arms."""
    arms_compared = f"{arm} against {baseline}"

    def read(document: ComparisonDocument) -> Value:
        comparison = document.comparison
        straight = comparison.pair(arm, baseline)
        pair = straight or comparison.pair(baseline, arm)
        if pair is None:
            again = "`entropylaw compare --baseline` names another baseline, or all"
            return Unknown(reason=f"{arms_compared} is not in the comparison; {again}")
        if missing := _missing_run(document, arm, baseline):
            return Unknown(reason=f"{arms_compared}: {missing}")
        compared = next((row for row in pair.differences if row.quantity == name), None)
        if compared is None:
            return Unknown(reason=f"{arms_compared} was not compared in {name}")
        estimate = compared.estimate
        if estimate.value is None:
            return Unknown(reason=f"{arms_compared}: {estimate.note or 'the difference is not known'}")
        if straight is not None:
            return estimate
        # In the other direction the low end is the high one.
        low, high = (None if end is None else -end for end in (estimate.high, estimate.low))
        return replace(estimate, value=-estimate.value, low=low, high=high)

    return replace(differences()[name], name=f"{DIFFERENCE}({arm}, {baseline}).{name}", accessor=read)
