"""What readers of consoles share: lines without colour, the numbers of a dict, and the table at the end.

A job prints its metrics among everything else: behind Ray's ``(TaskRunner pid=123)``, a logger's time stamp
or a progress bar that ends in a carriage return, with escape sequences for colour in between.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from entropylaw.errors import InputError
from entropylaw.ingest.content import Content
from entropylaw.ingest.gather import Records
from entropylaw.ingest.table import Table
from entropylaw.ingest.values import is_missing, parse_number
from entropylaw.ingest.wording import shown_path

_LINE_END = re.compile(r"[\r\n]+")
_ANSI = re.compile(r"\x1b\[[0-9;?]{0,40}[A-Za-z]")
# No part gives back what it took, and each is bounded, so that a dict that is none costs little.
_PAIR = re.compile(
    r"""'(?P<key>[^'\\{}]{1,200}+)':[ ]
    (?: (?P<number>[+-]?+(?:inf|nan|(?:\d{1,400}+(?:\.\d{0,400}+)?+|\.\d{1,400}+)(?:e[+-]?+\d{1,9}+)?+))
      | (?P<other>'(?:[^'\\]|\\.){0,4000}+' | "(?:[^"\\]|\\.){0,4000}+"
          | [a-z][\w.]{0,40}+\([^(){}]{0,200}+\) | None | True | False | \[[^\[\]{}]{0,4000}+\])
    )(?P<end>\}(?!,)|,(?:[ ]|$))""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)

#: No trainer logs so many metrics at once.
MOST_PAIRS = 1 << 13

#: Reason for entries whose end is missing.
CUT_OFF = "log entry that breaks off"


class Pairs(NamedTuple):
    """The numbers of a dict, as far as it could be read, whether it ended there, and where reading ended."""

    values: dict[str, float]
    ended: bool
    position: int


def plain(line: str) -> str:
    """Return a line without escape sequences."""
    return _ANSI.sub("", line) if "\x1b" in line else line


def lines(content: Content, needle: str = "") -> Iterator[str]:
    """Yield the lines that hold some text, without escape sequences; a carriage return ends a line, too."""
    for block in content.blocks():
        if needle in block:
            for line in _LINE_END.split(block):
                if needle in line:
                    yield plain(line)


def dict_pairs(line: str, position: int) -> Pairs:
    """Read ``'key': value`` pairs of a dict as Python prints it, from behind its brace to its end.

    Cells that are no numbers, such as texts and lists, are left out. A pair counts only with the comma or
    the brace behind it: the number of one that breaks off may lack digits.
    """
    values: dict[str, float] = {}
    while len(values) < MOST_PAIRS and (pair := _PAIR.match(line, position)):
        position = pair.end()
        number = float(pair["number"]) if pair["number"] else parse_number(pair["other"])
        if number == number or pair["number"] or is_missing(pair["other"]):
            values[pair["key"]] = number
        if pair["end"] == "}":
            return Pairs(values, True, position)
    return Pairs(values, False, position)


def console_table(
    content: Content,
    records: Records,
    form: str,
    *,
    dropped: Mapping[str, int],
    notes: tuple[str, ...] = (),
) -> Table:
    """Make the table of what a console's lines gave.

    Parameters
    ----------
    content, records
        The file, and the records that were read from it.
    form
        Whose console it is and what it looks like, for the error.
    dropped, notes
        As in :class:`~entropylaw.ingest.table.Table`; reasons with 0 are left out.

    Raises
    ------
    InputError
        ``no-records`` where there is no record.

    """
    columns, more = records.columns(content.extent) if records.rows else ({}, ())
    if not columns:
        raise InputError(
            "no-records",
            f"{shown_path(content.path)} holds no metrics as {form}",
            "check the file, or leave the format out and let the content decide",
        )
    return Table(
        columns=columns,
        rows=records.rows,
        dropped={reason: number for reason, number in dropped.items() if number},
        notes=(*content.text_notes, *notes, *more),
        unread=tuple(records.unread),
    )
