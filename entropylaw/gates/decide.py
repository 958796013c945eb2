"""Whether a gate trips: the interval decides, on full floats; what is not known fails.

A gate names what must not be. It trips where the data establish that: the expression holds for the whole
interval. Where it holds for a part only, the data neither establish nor exclude it; that is said, and trips
with ``strict``. Where the quantity is not known, or the law that it belongs to does not hold, the gate fails.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from itertools import product
from typing import NamedTuple

from entropylaw.gates.baseline import regression
from entropylaw.gates.expression import Gate
from entropylaw.gates.quantities import WRITTEN_BY, Kind, Unknown, Value
from entropylaw.gates.subjects import Subject
from entropylaw.results import Estimate
from entropylaw.results.check import GateCase


class Outcome(StrEnum):
    """What a gate says of a run."""

    passed = "passed"
    open = "not excluded"
    tripped = "tripped"
    unknown = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How to decide.

    ``strict``: what is not excluded trips, too. ``point``: the point decides, not the interval.
    ``even_if_invalid``: numbers of laws that do not hold are compared as well.
    """

    strict: bool = False
    point: bool = False
    even_if_invalid: bool = False


Baselines = Mapping[str, Sequence[Subject]]
"""Path as written in a gate → the runs of that document."""

_COMPARE: dict[str, tuple[Callable[[float, float], bool], str]] = {
    "<": (operator.lt, "below"),
    "<=": (operator.le, "at or below"),
    ">": (operator.gt, "above"),
    ">=": (operator.ge, "at or above"),
    "==": (operator.eq, "equal to"),
    "!=": (operator.ne, "different from"),
}
"""Operator → how it compares, and in words."""
_MOST_DECIMALS = 12  # beyond these a number is written out in full


def decide(
    gates: Sequence[Gate], subjects: Sequence[Subject], baselines: Baselines, rules: Rules
) -> tuple[GateCase, ...]:
    """Every gate on every run, run by run."""
    counts = Counter(subject.run for subject in subjects)
    failing = {Outcome.tripped, Outcome.unknown, *([Outcome.open] if rules.strict else [])}
    cases = []
    for subject, gate in product(subjects, gates):
        found = _found(gate, subject, baselines, rules)
        outcome, sentence = _judged(gate, found, rules)
        case = GateCase(
            run=subject.run + (f" ({', '.join(subject.sources)})" if counts[subject.run] > 1 else ""),
            sources=subject.sources,
            gate=gate.shown,
            outcome=outcome.value,
            failed=outcome in failing,
            sentence=sentence,
            value=found if isinstance(found, float) else getattr(found, "value", None),
            **{key: getattr(found, key, None) for key in ("low", "high", "level", "method")},
            word=found if isinstance(found, str) else None,
            limit=gate.limit,
        )
        cases.append(case)
    return tuple(cases)


class _Flag(NamedTuple):
    """Whether a run is what a flag names, in a word and in words."""

    up: bool
    sentence: str


def _found(gate: Gate, subject: Subject, baselines: Baselines, rules: Rules) -> Value | _Flag:
    """What a run has for a gate: validity first, then the value."""
    quantity, refusal = gate.quantity, subject.refusal
    if quantity.name == "refused":
        said = f"the run was refused: {refusal.message}" if refusal else "the run was not refused"
        return _Flag(refusal is not None, said)
    if quantity.kind is Kind.flag and subject.reasons is None:
        why = refusal.message if refusal else "no document given for it holds its law"
        return Unknown(reason=f"whether the law holds is not known: {why}")
    if quantity.kind is Kind.flag:
        return _Flag(bool(subject.invalid), subject.invalid or "the law is valid for this run")
    if quantity.name not in subject.values and (refusal or quantity.part not in subject.parts):
        written = f"{WRITTEN_BY[quantity.part]} writes one"
        missing = f"no document given for this run holds {quantity.name}; {written}"
        return Unknown(reason=f"the run was refused: {refusal.message}" if refusal else missing)
    if quantity.of_law and subject.invalid and not rules.even_if_invalid:
        return Unknown(reason=subject.invalid)
    if gate.baseline is not None:
        assert gate.measured is not None
        return regression(subject, gate.measured, baselines[gate.baseline], any_law=rules.even_if_invalid)
    return subject.values.get(quantity.name, Unknown(reason=f"the run has no {quantity.name}"))


def _judged(gate: Gate, found: Value | _Flag, rules: Rules) -> tuple[Outcome, str]:
    name = gate.quantity.name
    if isinstance(found, Unknown):
        return Outcome.unknown, found.reason
    if isinstance(found, _Flag):
        return (Outcome.tripped if found.up else Outcome.passed), found.sentence
    if isinstance(found, str):
        holds = (found == gate.word) is (gate.operator == "==")
        return (Outcome.tripped if holds else Outcome.passed), f"{name} is {found!r}"
    assert gate.limit is not None and gate.operator is not None  # noqa: PT018
    compare, side = _COMPARE[gate.operator]
    called = f"fall of {gate.measured}" if gate.measured else name
    if isinstance(found, Estimate) and not rules.point:
        return _by_interval(gate, found, called, side)
    value, note = (found.value, found.note) if isinstance(found, Estimate) else (found, None)
    if value is None:
        return Outcome.unknown, f"{name} has no value{f': {note}' if note else ''}"
    holds = compare(value, gate.limit)
    (text,) = beside([value], gate.limit, percent=gate.percent)
    sentence = f"{called} {text} {'is' if holds else 'is not'} {side} {gate.limit_text}"
    return (Outcome.tripped if holds else Outcome.passed), sentence


def _by_interval(gate: Gate, found: Estimate, called: str, side: str) -> tuple[Outcome, str]:
    """All of the interval, none of it, or a part; an open end is open to anything."""
    assert gate.limit is not None and gate.operator is not None  # noqa: PT018
    if found.low is None and found.high is None:
        note = f": {found.note}" if found.note else ""
        return Outcome.unknown, f"{gate.quantity.name} has no interval{note}"
    low = -math.inf if found.low is None else found.low
    high = math.inf if found.high is None else found.high
    all_of_it, some_of_it = holds_for(gate.operator, low, high, gate.limit)
    value, left, right = beside([found.value, found.low, found.high], gate.limit, percent=gate.percent)
    outcome = Outcome.tripped if all_of_it else Outcome.open if some_of_it else Outcome.passed
    extent = {Outcome.tripped: "all", Outcome.open: "a part", Outcome.passed: "none"}[outcome]
    number = "" if found.value is None else f"{value} "
    note = f" ({found.note})" if found.note else ""
    interval = f"{extent} of the {100 * found.level:g} % interval"
    return outcome, f"{called} {number}[{left}, {right}]: {interval} is {side} {gate.limit_text}{note}"


def holds_for(sign: str, low: float, high: float, limit: float) -> tuple[bool, bool]:
    """Whether ``x sign limit`` holds for all x from ``low`` to ``high``, and whether for any."""
    if sign == "==":
        return low == high == limit, low <= limit <= high
    if sign == "!=":
        return not low <= limit <= high, not low == high == limit
    compare, _ = _COMPARE[sign]
    ends = compare(low, limit), compare(high, limit)
    return all(ends), any(ends)


def beside(numbers: Sequence[float | None], limit: float, *, percent: bool = False) -> list[str]:
    """Texts of some numbers, with common decimals, each on the same side of ``limit`` as its number.

    The interval's half-width gets two significant digits, a number alone four; where that hides a
    difference from the limit, all get the decimals that show it. None is ``open``. With ``percent`` they
    are percentages.
    """
    exact = [None if x is None else _exact(x, percent) for x in numbers]
    bound = _exact(limit, percent)
    known = [x for x in exact if x is not None]
    decimals = 0
    if any(x != x.to_integral_value() for x in known):
        half, largest = (max(known) - min(known)) / 2, max(map(abs, known))
        wide = half > largest * Decimal("1e-12")
        decimals = max(1 - half.adjusted() if wide else 3 - largest.adjusted(), 0)
    while decimals <= _MOST_DECIMALS and any(
        Decimal(_text(x, decimals)).compare(bound) != x.compare(bound) for x in known
    ):
        decimals += 1
    return ["open" if x is None else _text(x, decimals) + "%" * percent for x in exact]


def _exact(x: float, percent: bool) -> Decimal:
    """The shortest decimal that reads back as ``x``: it keeps the order of floats."""
    shortest = Decimal(repr(float(x)))
    return shortest.scaleb(2) if percent else shortest


def _text(x: Decimal, decimals: int) -> str:
    """Fixed decimals; in full, with an exponent, where that would be long or the number is huge."""
    if decimals > _MOST_DECIMALS or x.adjusted() > _MOST_DECIMALS:
        return str(x)
    text = f"{x:.{decimals}f}"
    return text.removeprefix("-") if not text.strip("-0.") else text
