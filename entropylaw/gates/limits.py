"""Computes the limit of a gate in the unit of what it is compared with, and whether a run can pass it.

Nothing here imports numpy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from entropylaw.errors import InputError
from entropylaw.escaping import shown
from entropylaw.gates.expression import Gate, never_or_always
from entropylaw.gates.quantity import Unknown
from entropylaw.gates.runs import RunEntries
from entropylaw.kinds import NO_LARGEST
from entropylaw.results.columns import limit_in
from entropylaw.units import LARGEST, UNIT_WORDS, range_words


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


def limit_of(gate: Gate, run: RunEntries) -> Limit | Unknown | None:
    """The limit of a gate for a run, or for a comparison.

    It is None where the gate compares a word. It is Unknown where a percentage does not convert into the unit
    of the reward, and where no value of the reward trips the gate, or every one does.
    """
    if gate.limit is None:
        return None
    unit = gate.quantity.unit
    limit = Limit(number=gate.limit, text=gate.limit_text, unit=unit.name)
    reward_unit, largest = _unit_of(run)
    if unit.name == "reward":
        try:
            number = limit_in(reward_unit, gate.limit_text, run.column)
        except InputError as error:
            return Unknown(reason=f"{error.message}: {error.hint}")
        limit = replace(limit, number=number, unit=reward_unit, column=run.column, of_reward=True)
    if limit.of_reward and reward_unit == "percent":
        limit = replace(limit, text=gate.limit_text.removesuffix("%") + "%", suffix="%")
    elif gate.percent:
        limit = replace(limit, shift=2, suffix="%")
    if unit.of_reward:
        low, high = unit.range_in(reward_unit, largest)
        if when := never_or_always(gate.operator, limit.number, low, high):
            name = shown(run.column) if run.column else "the reward"
            return Unknown(reason=f"the gate {when} trips: {name} {_range_of(gate, reward_unit, low, high)}")
    return limit


def _unit_of(run: RunEntries) -> tuple[str, float | None]:
    """The unit of a reward, and the largest that is possible; empty and None where that is not known."""
    if "comparison" not in run.entries:
        unit = "" if run.rewarded is None else run.rewarded.unit
        return unit, None if run.judged is None else run.judged.max_reward
    document: Any = run.entries["comparison"].result
    unit = document.comparison.reward_unit
    largest = document.settings.max_reward
    if largest is None:
        largest = LARGEST.get(unit)
    return unit, None if largest == NO_LARGEST else largest


def _range_of(gate: Gate, unit: str, low: float, high: float) -> str:
    """The unit of a reward and the range of what a gate compares, in words, and what to type."""
    assert gate.limit is not None
    text = f"is {UNIT_WORDS.get(unit, UNIT_WORDS[''])}, and {gate.label} is {range_words(low, high)}"
    is_share = unit == "rate" and gate.quantity.unit.name == "reward" and not gate.percent
    if is_share and 1 < abs(gate.limit) <= 100:
        return f"{text}; type {gate.limit_text}%, or {gate.limit / 100:g}"
    return f"{text}; type a limit inside of that"
