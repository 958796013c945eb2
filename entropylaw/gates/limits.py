"""Computes the limit of a gate in the unit of what it is compared with, and whether a run can pass it.

Nothing here imports numpy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from entropylaw.errors import InputError
from entropylaw.escaping import shown
from entropylaw.gates.expression import Gate, never_or_always
from entropylaw.gates.quantities import Unknown
from entropylaw.gates.subjects import Subject
from entropylaw.results.columns import limit_in
from entropylaw.units import UNIT_WORDS, range_words


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The limit of a gate, ``number``, in the unit of what it is compared with, and how both are shown.

    ``text`` is the limit as it is shown. Numbers are shown with the point moved by ``shift`` places to the
    right, and with a ``suffix``. ``unit`` is that of the number, and ``column`` that of the reward, both
    empty where there is none. ``of_reward`` says that it is the limit of a reward.
    """

    number: float
    text: str
    shift: int = 0
    suffix: str = ""
    unit: str = ""
    column: str = ""

    of_reward: bool = False

    @property
    def unit_words(self) -> str:
        """The unit of a reward in sentences, where the numbers do not show it; empty for other quantities."""
        if not self.of_reward or self.suffix:
            return ""
        words = {"rate": "rate", "raw": "own unit"}
        return f" ({words.get(self.unit, 'unit not known')})"


def limit_of(gate: Gate, subject: Subject) -> Limit | Unknown | None:
    """The limit of a gate for a run, or for a comparison.

    It is None where the gate compares a word. It is Unknown where a percentage does not convert into the unit
    of the reward, and where no value of the reward trips the gate, or every one does.
    """
    if gate.limit is None:
        return None
    unit = gate.quantity.unit
    limit = _limit_of_share(gate)
    if unit.name == "reward":
        try:
            limit = _limit_of_reward(gate, subject)
        except InputError as error:
            return Unknown(reason=f"{error.message}: {error.hint}")
    if unit.of_reward:
        low, high = unit.range_in(subject.unit, subject.max_reward)
        if when := never_or_always(gate.operator or "", limit.number, low, high):
            return Unknown(reason=_unreachable(gate, subject, when, low, high))
    return limit


def _limit_of_share(gate: Gate) -> Limit:
    """The limit of a gate on a number that is no reward; with % it is a share, and shown as a percentage."""
    assert gate.limit is not None
    unit = gate.quantity.unit.name
    if gate.percent:
        return Limit(number=gate.limit, text=gate.limit_text, shift=2, suffix="%", unit=unit)
    return Limit(number=gate.limit, text=gate.limit_text, unit=unit)


def _limit_of_reward(gate: Gate, subject: Subject) -> Limit:
    """The limit of a gate on a reward, in its unit.

    Raises InputError: as :func:`~entropylaw.results.columns.limit_in`.
    """
    unit = subject.unit
    column = subject.column
    number = limit_in(unit, gate.limit_text, column)
    limit = Limit(number=number, text=gate.limit_text, unit=unit, column=column, of_reward=True)
    if unit == "percent":
        return replace(limit, text=gate.limit_text.removesuffix("%") + "%", suffix="%")
    return replace(limit, shift=2, suffix="%") if gate.percent else limit


def _unreachable(gate: Gate, subject: Subject, when: str, low: float, high: float) -> str:
    """That a limit is never, or always, passed in the unit of a reward, and what to type."""
    assert gate.limit is not None
    name = shown(subject.column) if subject.column else "the reward"
    unit = UNIT_WORDS.get(subject.unit, UNIT_WORDS[""])
    reason = f"the gate {when} trips: {name} is {unit}, and {gate.label} is {range_words(low, high)}"
    is_share = subject.unit == "rate" and gate.quantity.unit.name == "reward" and not gate.percent
    if is_share and 1 < abs(gate.limit) <= 100:
        return f"{reason}; type {gate.limit_text}%, or {gate.limit / 100:g}"
    return f"{reason}; type a limit inside of that"
