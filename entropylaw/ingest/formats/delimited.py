"""Delimited text: comma, semicolon or tab, a header line, quoted cells that may hold all of these."""

from __future__ import annotations

import csv
import io
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

from entropylaw.errors import InputError
from entropylaw.ingest.content import Content
from entropylaw.ingest.table import Table, unique_names
from entropylaw.ingest.values import is_missing, parse_step
from entropylaw.ingest.wording import counted, shown_path

_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab"}
_SAMPLE = 20
_HEAD = 1 << 16

TOO_LONG = "row with more cells than the header"
CUT_OFF = "last row cut off"


class DelimitedReader:
    """Wide tables and long ones; which of them it is, assembly finds out."""

    name = "csv"
    suffixes = (".csv", ".tsv")

    def recognises(self, content: Content) -> bool:
        """Whether it is text with a header, by its name or because rows and header have the same length."""
        if not content.is_text:
            return False
        header, *rows = _sample(content.text)
        if content.suffix in self.suffixes:
            return True
        same = sum(len(row) == len(header) for row in rows)
        numeric = any(parse_step(cell) == parse_step(cell) for row in rows for cell in row)
        return len(header) > 1 and len(rows) > 0 and same * 5 >= len(rows) * 4 and numeric

    def read(self, content: Content) -> Table:
        """Read it.

        Raises
        ------
        InputError
            ``no-records`` where there is a header and nothing below it.

        """
        text = content.text
        delimiter = _sniff(text)
        with _long_cells():
            rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
        header, notes = unique_names(rows[0])
        kept, dropped = _rectangular(rows[1:], len(header), cut_off=not text.endswith(("\n", "\r")))
        if not kept:
            raise InputError(
                "no-records",
                f"{shown_path(content.path)} has a header of {counted(len(header), 'column')} "
                "and no rows below it",
                "check that the run has logged something",
            )
        columns = dict(zip(header, map(list, zip(*kept, strict=True)), strict=True))
        if delimiter != ",":
            notes = (*notes, f"columns are separated by {_DELIMITERS[delimiter]}s")
        return Table(
            columns=columns, rows=len(rows) - 1, dropped=dropped, notes=(*content.text_notes, *notes)
        )


def _sniff(text: str) -> str:
    """Return the delimiter that gives the header most cells; a comma where none gives two."""
    first = next(iter(text[:_HEAD].lstrip("\r\n").splitlines()), "")
    with _long_cells():
        widths = {mark: len(next(csv.reader([first], delimiter=mark), [])) for mark in _DELIMITERS}
    return max(widths, key=lambda mark: widths[mark])


def _sample(text: str) -> list[list[str]]:
    """Split the first rows; a last one that the sample may have cut is left out."""
    head = text[:_HEAD]
    whole = len(head) == len(text)
    with _long_cells():
        rows = csv.reader(io.StringIO(head, newline=""), delimiter=_sniff(head))
        found = list(islice((row for row in rows if row), _SAMPLE + 1)) or [[]]
    return found if whole or len(found) == 1 else found[:-1]


def _rectangular(
    rows: list[list[str]], width: int, *, cut_off: bool
) -> tuple[list[list[str]], dict[str, int]]:
    """Keep rows of the header's length, and how many could not be brought to it.

    A short row is filled up with missing cells, save a last row without its line end: there a killed job
    may have left half a number. Surplus cells without a value are cut away.
    """
    kept: list[list[str]] = []
    dropped: Counter[str] = Counter()
    for index, row in enumerate(rows):
        if len(row) == width:
            kept.append(row)
        elif len(row) > width:
            if all(map(is_missing, row[width:])):
                kept.append(row[:width])
            else:
                dropped[TOO_LONG] += 1
        elif cut_off and index == len(rows) - 1:
            dropped[CUT_OFF] += 1
        else:
            kept.append(row + [""] * (width - len(row)))
    return kept, dict(dropped)


@contextmanager
def _long_cells() -> Iterator[None]:
    """Let a cell be as long as a logged generation; the csv module's limit is one for the process."""
    before = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        yield
    finally:
        csv.field_size_limit(before)
