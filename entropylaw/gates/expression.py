"""Reads gates: ``state==broken``, ``now<0.62``, ``regression(F)>1%``, ``fails``."""

from __future__ import annotations

import difflib
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NoReturn

from entropylaw.errors import UsageError
from entropylaw.gates.differences import DIFFERENCE, difference, differences
from entropylaw.gates.quantities import MEASURED, QUANTITIES, REGRESSION, SAMPLED, sampled
from entropylaw.gates.quantity import SHARE, Quantity
from entropylaw.paths import shown_path
from entropylaw.units import range_words, written_number

GRAMMAR = (
    "write QUANTITY OP NUMBER (now<0.62, p_gain<10%), REWARD:QUANTITY OP NUMBER (gsm8k*:now<0.6), "
    "QUANTITY==WORD (state==broken), regression(BASELINE.fit.json)>1%, difference(ARM, "
    "BASELINE).reward_at_entropy<0, fails, undecided or refused; OP is one of < <= > >= == !="
)

HOLDS = "a gate trips on what is bad: type --fail-if \"verdict!='holds'\""
"""What to write in place of the gate ``holds``."""

COMPARE: Mapping[str, tuple[Callable[[float, float], bool], str]] = {
    "<": (operator.lt, "below"),
    "<=": (operator.le, "at or below"),
    ">": (operator.gt, "above"),
    ">=": (operator.ge, "at or above"),
    "==": (operator.eq, "equal to"),
    "!=": (operator.ne, "different from"),
}
"""Operator → how it compares, and in words."""


_OPERATOR = re.compile(r"<=|>=|==|!=|<|>")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?")
_NAME = re.compile(SAMPLED.pattern + r"|[A-Za-z_][A-Za-z_0-9]*(?:\.[A-Za-z_][A-Za-z_0-9]*)?")
_QUOTED = re.compile(r"""(?P<quote>['"])(?P<word>((?!(?P=quote)).)*)(?P=quote)""", re.DOTALL)
_LAST_WORD = re.compile(r"(?P<word>[A-Za-z]+)\s*$")
_REWARD = re.compile(r"""\s*(?:(?P<quote>['"])(?P<quoted>.*?)(?P=quote)|(?P<plain>[^'"<>=!(),:]+))\s*:""")
_CALL_END = re.compile(r"\)\s*(?=[<>=!]|$)")
_COMPARED_END = re.compile(r"\)\s*\.\s*(?=[A-Za-z_])")
_ARM = r"""\s*("[^"]*"|'[^']*'|[^,'"\s](?:[^,]*[^,\s])?)\s*"""
_ARMS = re.compile(f"{_ARM},{_ARM}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A parsed gate: the expression as given, and the quantity that it compares.

    ``reward`` is a shell pattern of the rewards that it is for, by label or column; without one all are.
    ``operator`` is one of ``< <= > >= == !=``, empty for a flag. The quantity is compared with a ``word``, or
    with the number ``limit``, as written ``limit_text``; a percentage is a share. The limit of a reward is in
    the unit of a column, which :func:`~entropylaw.gates.limits.limit_of` knows. A regression is of the
    quantity ``measured``, against the document ``baseline``; a difference is between two ``arms``.
    """

    text: str
    quantity: Quantity
    operator: str = ""
    limit: float | None = None
    limit_text: str = ""
    word: str | None = None
    baseline: str | None = None
    measured: str | None = None
    arms: tuple[str, ...] = ()
    reward: str = ""

    @property
    def shown(self) -> str:
        """The expression as documents hold it: no absolute path in it."""
        if self.baseline is None:
            return self.text
        before, _, after = self.text.rpartition(self.baseline)
        return before + shown_path(self.baseline) + after

    @property
    def label(self) -> str:
        """What is compared, in sentences."""
        return f"fall of {self.measured}" if self.measured else self.quantity.name

    @property
    def percent(self) -> bool:
        """Whether the limit was written as a percentage; then everything is shown as one."""
        return self.limit_text.endswith("%")


def parse(text: str) -> Gate:
    """An expression as a gate; a UsageError ``unknown-quantity``, or else ``bad-gate`` with the place."""
    return _Reader(text).gate()


def worse_than(baseline: str) -> Gate:
    """The gate that trips where the reward now has fallen since the run of a baseline's document."""
    return Gate(
        text=f"regression({baseline})>0%",
        quantity=REGRESSION,
        operator=">",
        limit=0.0,
        limit_text="0%",
        baseline=baseline,
        measured=MEASURED[0],
    )


class _Reader:
    """One pass over an expression, from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.move(0)

    def gate(self) -> Gate:
        """The whole expression."""
        reward = self.reward()
        start = self.place
        name = self.take(_NAME)
        if name is None:
            self.fail("a quantity was expected")
        arms: tuple[str, ...] = ()
        if name == DIFFERENCE:
            quantity, arms = self.difference()
        else:
            quantity = self.quantity(name, start)
        gate = Gate(text=self.text.strip(), quantity=quantity, arms=arms, reward=reward)
        if quantity is REGRESSION:
            measured, baseline = self.call()
            gate = replace(gate, measured=measured, baseline=baseline)
        if quantity.kind == "flag":
            self.end(f"; {name} stands alone")
            return gate
        sign_at = self.place
        operator = self.operator(name)
        if quantity.kind == "word":
            gate = replace(gate, operator=operator, word=self.word(quantity, operator, sign_at))
        else:
            number = self.number(quantity)
            gate = replace(gate, operator=operator, limit=written_number(number), limit_text=number)
            self._check_range(gate)
        self.end("; a gate is one comparison, and --fail-if can be repeated")
        return gate

    def operator(self, name: str) -> str:
        """The operator after a name."""
        operator = self.take(_OPERATOR)
        if operator is None:
            if self.text.startswith("=", self.place):
                self.fail("'==' was expected")
            self.fail(f"one of < <= > >= == != was expected after {name}")
        return operator

    def reward(self) -> str:
        """The pattern of rewards before a colon; empty where there is none."""
        if (prefix := _REWARD.match(self.text)) is None:
            return ""
        self.move(prefix.end())
        return prefix["quoted"] or prefix["plain"].strip()

    def quantity(self, name: str, start: int) -> Quantity:
        """The quantity of a name that begins at a character; UsageError ``unknown-quantity``."""
        if name == REGRESSION.name:
            return REGRESSION
        if SAMPLED.fullmatch(name):
            return sampled(name)
        if name in QUANTITIES:
            return QUANTITIES[name]
        names = [*QUANTITIES, "pass@K", REGRESSION.name, f"{DIFFERENCE}(ARM, BASELINE).NAME"]
        message = f"--fail-if {self.text!r}: no quantity is called {name!r} (character {start + 1})"
        message += _meant(name, names)
        raise UsageError(
            "unknown-quantity",
            message,
            HOLDS if name == "holds" else f"the quantities are {', '.join(names)}",
        )

    def inside(self, end: re.Pattern[str], content: str, closed: str, hint: str = GRAMMAR) -> str:
        """The text in brackets, up to the last place where they can end: it may have brackets itself."""
        if not self.text.startswith("(", self.place):
            self.fail(f"'(' and {content} were expected", hint=hint)
        begin = self.place + 1
        ends = list(end.finditer(self.text, begin))
        if not ends:
            self.fail(f"{closed} expected", at=len(self.text), hint=hint)
        self.move(ends[-1].end())
        return self.text[begin : ends[-1].start()]

    def call(self) -> tuple[str, str]:
        """``(BASELINE)`` or ``(QUANTITY, BASELINE)``; a path with any characters needs no quotes."""
        begin = self.place + 1
        path = self.inside(
            _CALL_END, "the baseline's document", "a closing ')' after the baseline's document was"
        )
        name, comma, rest = path.partition(",")
        measured = MEASURED[0]
        if comma and _NAME.fullmatch(name.strip()):
            measured = name.strip()
            path = rest
            if measured not in MEASURED:
                self.fail(f"{' or '.join(MEASURED)} was expected", begin, "; a regression is of these")
        path = path.strip()
        if quoted := _QUOTED.fullmatch(path):
            path = quoted["word"]
        if not path:
            self.fail("the baseline's document was expected", at=begin)
        return measured, path

    def difference(self) -> tuple[Quantity, tuple[str, ...]]:
        """``(ARM, BASELINE).QUANTITY``; an arm with a comma in its name has quotes."""
        hint = f"write {DIFFERENCE}(ARM, BASELINE).{next(iter(differences()))}<0"
        begin = self.place + 1
        end = "').' and a quantity after the two arms were"
        pair = _ARMS.fullmatch(self.inside(_COMPARED_END, "two arms", end, hint))
        names = () if pair is None else pair.groups()
        arms = tuple(name[1:-1] if name[0] in "'\"" else name for name in names)
        if len(set(filter(None, arms))) < 2:
            self.fail("two different arms were expected, with a comma between them", begin, hint=hint)
        start = self.place
        name = self.take(_NAME)
        if name is None or name not in differences():
            near = _meant(name or "", list(differences()))
            self.fail(f"one of {', '.join(differences())} was expected", at=start, more=near, hint=hint)
        return difference(arms[0], arms[1], name), arms

    def number(self, quantity: Quantity) -> str:
        """The number after an operator, as written, with its percent sign."""
        start = self.place
        number = self.take(_NUMBER)
        if number is None:
            self.fail(f"a number was expected for {quantity.name}")
        percent = self.text.startswith("%", self.place)
        if percent and quantity.unit.name not in ("share", "probability", "reward"):
            unit = f"is in {quantity.unit.name}" if quantity.unit.name else "is no share"
            self.fail(f"a number without % was expected, as {quantity.name} {unit},")
        self.move(self.place + percent)
        if abs(written_number(number)) == float("inf"):
            self.fail("a finite number was expected", at=start)
        return number + "%" * percent

    def _check_range(self, gate: Gate) -> None:
        """Refuse a gate that no value of the quantity trips, or that every one does."""
        unit = gate.quantity.unit
        limit = gate.limit
        assert limit is not None
        when = never_or_always(gate.operator, limit, unit.low, unit.high, whole=unit.whole)
        if not when:
            return
        ends = f"{gate.label} is {range_words(unit.low, unit.high, whole=unit.whole)}"
        message = f"--fail-if {self.text!r} {when} trips: {ends}"
        if unit is SHARE:
            ends = f"{gate.label} is a share, of which 1 is 100%"
            message = f"--fail-if {self.text!r} compares with {gate.limit_text}, and {ends}"
        hint = "give a limit inside the range, which a run can be above or below"
        if unit.whole and not limit.is_integer() and unit.low <= limit:
            hint = f"give a whole number, as {math.floor(limit)} or {math.ceil(limit)}"
        if unit.name in ("probability", "share") and 1 < limit <= 100 and not gate.percent:
            quote = '"' if "'" in gate.text else "'"
            hint = f"type --fail-if {quote}{gate.text}%{quote}, or the number {limit / 100:g}"
        raise UsageError("bad-gate", message, hint)

    def word(self, quantity: Quantity, operator: str, before: int) -> str:
        """The word after an operator, which begins at ``before``."""
        words = ", ".join(f"'{word}'" for word in quantity.words)
        written = self.text[self.place :].strip("'\" ")
        near = difflib.get_close_matches(written.casefold(), quantity.words, n=1)
        meant = near[0] if near else quantity.words[0]
        sign = operator if operator in ("==", "!=") else "=="
        hint = f"type --fail-if \"{quantity.name}{sign}'{meant}'\", with both kinds of quotes"
        if operator not in ("==", "!="):
            self.fail(f"== or != was expected before the word for {quantity.name}", at=before, hint=hint)
        match = _QUOTED.match(self.text, self.place) or _LAST_WORD.match(self.text, self.place)
        if match is None:
            self.fail(f"one of {words} was expected, with its quotes", hint=hint)
        word = match["word"]
        if word not in quantity.words:
            self.fail(f"one of {words} was expected", more=_meant(word, quantity.words), hint=hint)
        self.move(match.end())
        return word

    def end(self, more: str) -> None:
        """Refuse what follows a whole expression."""
        if self.place < len(self.text):
            self.fail("the end was expected", more=more)

    def take(self, pattern: re.Pattern[str]) -> str | None:
        """The text at this place that a pattern matches, behind which the pass continues."""
        match = pattern.match(self.text, self.place)
        if match is None:
            return None
        self.move(match.end())
        return match[0]

    def move(self, place: int) -> None:
        """Continue at a position, or after the white space there."""
        self.place = len(self.text) - len(self.text[place:].lstrip())

    def fail(self, expected: str, at: int | None = None, more: str = "", hint: str = GRAMMAR) -> NoReturn:
        """Raise the error with what was expected, the position and the text there; ``more`` follows it."""
        position = self.place if at is None else at
        rest = self.text[position:].strip()
        present = repr(rest[:40]) if rest else "its end"
        raise UsageError(
            "bad-gate",
            f"--fail-if {self.text!r}: {expected} at character {position + 1}, found {present}{more}",
            hint,
        )


def holds_for(sign: str, low: float, high: float, limit: float) -> tuple[bool, bool]:
    """Whether ``x sign limit`` holds for all x from ``low`` to ``high``, and whether for any."""
    if sign == "==":
        return low == high == limit, low <= limit <= high
    if sign == "!=":
        return not low <= limit <= high, not low == high == limit
    compare, _ = COMPARE[sign]
    ends = compare(low, limit), compare(high, limit)
    return all(ends), any(ends)


def never_or_always(
    sign: str, limit: float, low: float, high: float, *, whole: bool = False
) -> Literal["never", "always", ""]:
    """Whether ``x sign limit`` holds for no x from ``low`` to ``high``, or for every one; empty for neither.

    An end may be infinite. With ``whole`` the x are whole numbers, and so are finite ends.
    """
    if whole and not limit.is_integer() and sign in ("==", "!="):
        return "never" if sign == "==" else "always"
    for_all, for_any = holds_for(sign, low, high, limit)
    if for_all:
        return "always"
    if for_any:
        return ""
    return "never"


def _meant(name: str, names: Sequence[str]) -> str:
    """A question that names what is spelled like a name; empty where nothing is."""
    near = difflib.get_close_matches(name.casefold(), names, n=2, cutoff=0.6)
    if not near:
        return ""
    return f"; did you mean {' or '.join(repr(str(name)) for name in near)}?"
