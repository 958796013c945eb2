"""The kinds of values that options take: their words, what they are read from, and an example of each."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from entropylaw.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """The values of an option.

    ``expected`` describes the texts that ``read`` converts; it raises ValueError for any other text.
    ``example`` is such a text, ``types`` are those of a settings file;
    ``may_be_empty`` says whether an empty text is a value.
    """

    expected: str
    metavar: str = ""
    example: str = "NAME"
    read: Callable[[str], Any] = str
    types: tuple[type, ...] = (str,)
    choices: tuple[str, ...] = ()
    may_be_empty: bool = False

    def choices_from(self, incomplete: str) -> list[str]:
        """The choices that begin so."""
        return [choice for choice in self.choices if choice.startswith(incomplete)]


def whole_number(text: str) -> int:
    """A whole number above 0."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def finite_number(text: str) -> float:
    """A finite number."""
    if not math.isfinite(number := float(text)):
        raise ValueError(text)
    return number


def positive_number(text: str) -> float:
    """A finite number above 0."""
    if not 0 < (value := float(text)) < math.inf:
        raise ValueError(text)
    return value


def largest_reward(text: str) -> float | str:
    """A number, or ``none``."""
    return text if text == NO_LARGEST else finite_number(text)


NO_LARGEST = "none"
"""Says that no largest reward is possible, where a column's name says that there is one."""


def written_reward(text: str) -> str:
    """A number, or a percentage, as it is written; its unit is that of a column."""
    text = "".join(text.split())
    finite_number(text.removesuffix("%"))
    return text


def coverage(text: str) -> float:
    """A number between 0 and 1."""
    number = float(text)
    if not 0 < number < 1:
        raise UsageError(
            "bad-level",
            f"--level {number:g}, expected a coverage between 0 and 1",
            "for 95 % give 0.95",
        )
    return number


def one_of(*choices: str) -> Kind:
    """The values of an option that takes one of some words."""

    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(text)
        return text

    expected = f"{', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}"
    metavar = f"<{'|'.join(choices)}>"
    return Kind(expected=expected, metavar=metavar, example=choices[0], read=read, choices=choices)


TEXT = Kind(expected="a text")
COLUMN = Kind(expected="a column's name", metavar="COLUMN")
COLUMN_OR_NONE = Kind(expected="a column's name, or ''", metavar="COLUMN", may_be_empty=True)
PATH = Kind(expected="a path", metavar="FILE")


def numeric(expected: str, read: Callable[[str], Any], example: str, **more: Any) -> Kind:
    """The values of an option that takes a number."""
    return Kind(expected=expected, example=example, read=read, types=(int, float), **more)


NUMBER = numeric("a number", finite_number, "100")
STEP = numeric("a step above 0", positive_number, "400")
GAIN = numeric("a reward above 0", positive_number, "0.01", metavar="X")
COST = numeric("a cost above 0", positive_number, "0.8", metavar="C")
LEVEL = numeric("a number between 0 and 1", coverage, "0.95", metavar="LEVEL")
COUNT = Kind(expected="a whole number above 0", metavar="N", example="4", read=whole_number, types=(int,))
MOST = Kind(
    expected=f"a number, or '{NO_LARGEST}'",
    metavar="X",
    example="1",
    read=largest_reward,
    types=(int, float, str),
)
WRITTEN_REWARD = Kind(
    expected="a number, or a percentage",
    metavar="R",
    example="60%",
    read=written_reward,
    types=(int, float, str),
)
GATE = Kind(expected="a gate such as 'now<0.62'", metavar="EXPR")
SWITCH = Kind(expected="true or false", types=(bool,))

SUFFIXES = {"text": ".txt", "json": ".json", "csv": ".csv", "markdown": ".md", "latex": ".tex"}
"""The formats of every result → how the names of files in it end."""

ALL = "all"
TOPICS = (ALL, "state", "forecast", "law", "reading")
"""What of a run is shown on request: everything, or one part."""

DETAILS = {topic: f"details of {topic}" for topic in TOPICS} | {ALL: "details"}
"""What is shown on request → the format of a text that has it."""

PAGES = (".html", ".htm")
"""Suffixes of a page."""
