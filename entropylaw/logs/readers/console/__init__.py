"""What readers of consoles share: recognition, lines without colour, the numbers of a dict, the table.

A job prints its metrics among other text: after Ray's ``(TaskRunner pid=123)``, a logger's time stamp or a
progress bar that ends in a carriage return, with escape sequences for colour in between. A trainer's
function has its grammar alone: lines in, rows out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from entropylaw.logs.runs import Table
from entropylaw.logs.runs.number_parsing import classify
from entropylaw.logs.sources.content import Content
from entropylaw.logs.sources.gather import Records

#: Escape sequences, such as those of colours.
ANSI = re.compile(r"\x1b\[[0-9;?]*+[A-Za-z]")
# Possessive and bounded, so that a dict that does not match costs little.
_ENTRY = r"""'(?P<key>[^'\\{}]{1,300}+)':[ ]
    (?: (?P<number>[+-]?+(?:inf|nan|(?:\d{1,400}+(?:\.\d{0,400}+)?+|\.\d{1,400}+)(?:e[+-]?+\d{1,9}+)?+))
      | (?P<other>'(?:[^'\\]|\\.){0,4000}+' | "(?:[^"\\]|\\.){0,4000}+"
          | [a-z][\w.]{0,40}+\([^(){}]{0,400}+\) | None | True | False
          | \[[^\[\]{}]{0,4000}+\]%s)
    )(?P<end>\}|,(?:[ ]|$))"""
#: Pairs of a dict that may be in a list, and of one that may hold dicts, which are left out.
LISTED_PAIR, NESTING_PAIR = (
    re.compile(_ENTRY % parts, re.VERBOSE | re.IGNORECASE | re.ASCII)
    for parts in ("", r" | \{[^{}]{0,4000}+\}")
)

# A line of a box.
_RULE = re.compile(r"[^\w'\"{}()]{3,}")
#: No trainer logs so many metrics at once.
MOST_PAIRS = 1 << 13

#: Reasons: an entry whose end is missing, a pair that cannot be read.
CUT_ENTRY = "log entry that breaks off"
BAD_PAIR = "unreadable key:value pair"

Row = Mapping[str, object]


@dataclass(slots=True)
class Printout:
    """The file that a grammar reads, and where the grammar records what it left out.

    ``dropped`` and ``notes`` are as in ``Table``, ``lost`` is the number of records that gave no row.
    """

    content: Content
    dropped: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    lost: int = 0


def read_lines(
    content: Content, needle: str, rows: Callable[[Iterable[str], Printout], Iterator[Row]], what: str
) -> Table:
    """Read one trainer's console line by line; raises ``no-records`` where no line holds a record.

    ``rows`` is the grammar: it yields the records that the lines hold, each with its step; lines without
    ``needle`` are skipped. ``what`` completes the error ``holds no …``.
    """
    printout = Printout(content)
    records = Records(content.column_filter)
    # A carriage return ends a line, too.
    blocks = (block.replace("\r", "\n") for block in content.blocks() if needle in block)
    lines = chain.from_iterable(block.split("\n") for block in blocks)
    for row in rows((plain(line) for line in lines if needle in line), printout):
        records.add(row)
    table = records.table(content, printout.dropped, printout.notes, rows=records.rows + printout.lost)
    if table.columns:
        return table
    raise content.error(
        "no-records",
        f"holds no {what}",
        "check the file, or leave the format out and let the content decide",
    )


def plain(line: str) -> str:
    """Return a line without escape sequences."""
    return ANSI.sub("", line) if "\x1b" in line else line


def dict_pairs(
    line: str, position: int, grammar: re.Pattern[str] = NESTING_PAIR
) -> tuple[dict[str, float], bool, int]:
    """Read ``'key': value`` pairs of a dict as Python prints it, from behind its brace to its end.

    Returns the numbers, whether the dict ended there, and where reading ended; other values are left out.
    A pair counts only with the comma or the brace behind it, for without one its number may lack digits.
    """
    values: dict[str, float] = {}
    while len(values) < MOST_PAIRS and (pair := grammar.match(line, position)):
        position = pair.end()
        number, is_text = (float(pair["number"]), False) if pair["number"] else classify(pair["other"])
        if not is_text:
            values[pair["key"]] = number
        if pair["end"] == "}":
            return values, True, position
    return values, False, position


def box_cells(line: str) -> list[str] | None:
    """The cells of a row of a table in a box, without what is behind the last bar; None for other lines."""
    if _RULE.fullmatch(line):
        return [] if "|" in line or "+" in line or not line.isascii() else None
    bars = "[│┃║]" if re.search("[│┃║]", line) else r"\|" if line.lstrip().startswith("|") else ""
    cells = re.split(bars, line)[1:-1] if bars else []
    return cells or ([] if line.lstrip()[:1] in tuple("│┃║") else None)
