"""Delimited text: comma, semicolon or tab, a header line, quoted cells that may hold all of these."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import dropwhile, islice

from entropylaw.errors import InputError
from entropylaw.escaping import counted
from entropylaw.logs.runs import Table, unique_names
from entropylaw.logs.runs.number_parsing import is_missing, parse_step
from entropylaw.logs.runs.splitting import RUN_NAMES
from entropylaw.logs.runs.step_column import folded
from entropylaw.logs.sources.content import Content
from entropylaw.logs.sources.gather import Records

_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab"}
# Of a table that has one column otherwise, by its name.
_OTHERS = {"|": "bar", " ": "blank"}
_HEAD = 1 << 16
# Up to so many bytes are read faster than Arrow is imported.
_SMALL = 1 << 20
# A table with more columns is read in part: those that are used. One with many more is no log.
_MANY_COLUMNS = 1 << 12
_MOST_COLUMNS = 1 << 17
_LONGEST_ROW = 1 << 26
_COMMENT = re.compile(r"#[^,;\t]*")
_COMMA = re.compile(r"-?[0-9]+,[0-9]+")
# A number whose points separate thousands where there are decimal commas.
_POINTED = re.compile(r"[1-9][0-9]{0,2}(\.[0-9]{3})+")

TOO_LONG = "row with more cells than the header"
SWALLOWED = "row within the quotes of another one's cell"


def recognises(content: Content) -> bool:
    """Whether it is text with a header, by its name or because rows and header have the same length."""
    if not content.is_text or content.suffix in (".csv", ".tsv"):
        return content.is_text
    header, *rows = sample(content, 21, _HEAD)
    same = sum(len(row) == len(header) for row in rows)
    numeric = any(parse_step(cell) == parse_step(cell) for row in rows for cell in row)
    return len(header) > 1 and same * 5 >= len(rows) * 4 and numeric


def sample(content: Content, most: int, size: int) -> list[list[str]]:
    """Return the header and the first rows within so many characters; an empty header if there is no row."""
    head = content.opening[:size]
    mark = _sniff(content)
    with _long_cells():
        split = csv.reader(io.StringIO(head, newline=""), delimiter=mark, skipinitialspace=mark == " ")
        rows = list(islice(_below_comments(split), most)) or [[]]
    # The end of the sample may have cut the last row.
    return rows[:-1] if len(rows) > 1 and len(head) < len(content.opening) else rows


def read(content: Content) -> Table:
    """Read it; raises ``no-records`` where there is a header and nothing below it."""
    delimiter = _sniff(content)

    def lines() -> Iterator[str]:
        """Yield the lines with their ends, except those of blocks that hold nothing but numbers."""
        quoted = delimiter != "," or content.size <= _SMALL
        for block in filter(None, content.blocks()):
            # A block is longer only for a single line's sake.
            if len(block) > _LONGEST_ROW:
                raise _no_table(content, f"has a line of {counted(len(block), 'character')}")
            # Without quotes a line is a row, and all before this block were taken.
            quoted |= '"' in block
            if quoted or shape is None or not shape.take(block):
                yield from io.StringIO(block, newline="")

    shape: _Rectangle | None = None
    with _long_cells():
        split = csv.reader(lines(), delimiter=delimiter, skipinitialspace=delimiter == " ")
        rows = _below_comments(split)
        header, notes = unique_names(next(rows, []))
        if len(header) > _MOST_COLUMNS:
            raise _no_table(content, f"has a header of {counted(len(header), 'column')}")
        keep = content.column_filter if len(header) <= _MANY_COLUMNS else content.useful
        shape = _Rectangle(Records(keep), header, delimiter)
        for row in rows:
            shape.add(row)
        half_written = shape.put_short(complete=content.ended)
    if not shape.rows.rows:
        raise content.error(
            "no-records",
            f"has a header of {counted(len(header), 'column')} and no rows below it",
            "check that the run has logged something",
        )
    if shape.pointed:
        raise content.error(
            "two-decimal-marks",
            f"has numbers with decimal commas, and {shape.pointed}, whose point may separate thousands",
            "write steps without a separator, as 1000",
        )
    columns, reduced = shape.rows.columns(len(content.text))
    # Below the header, as many lines as records.
    whole = split.line_num + shape.taken - 1 == shape.rows.rows
    if delimiter != ",":
        notes = (*notes, f"columns are separated by {(_DELIMITERS | _OTHERS)[delimiter]}s")
    return Table(
        columns=columns,
        rows=shape.seen,
        dropped=dict(shape.dropped),
        notes=(*content.text_notes, *notes, *shape.notes, *reduced),
        unread=tuple(shape.rows.unread),
        broken=shape.dropped.total(),
        first_line=2 if whole else None,
        half_written=split.line_num + shape.taken if half_written else None,
    )


def _below_comments(rows: Iterable[list[str]]) -> Iterator[list[str]]:
    """The rows that are not empty, without lines of comments above the header."""
    return dropwhile(lambda row: len(row) == 1 and row[0].startswith("#"), filter(None, rows))


def _no_table(content: Content, why: str) -> InputError:
    return content.error(
        "file-corrupt",
        f"{why}; the table of a log has some hundreds of columns",
        "check how the file was made",
    )


class _Rectangle:
    """Brings rows to the header's length, and counts those that cannot be.

    A short row is filled up with missing cells, except a last row without its line end: there a killed job
    may have left half a number. Surplus cells without a value are removed. A job that continues in the same
    file may write its header again, with other columns or in another order: the rows below are read by it.
    """

    def __init__(self, rows: Records, header: list[str], delimiter: str) -> None:
        self.rows = rows
        self.seen = 0
        #: The number of lines in what was taken at once.
        self.taken = 0
        self.dropped = Counter[str]()
        self.notes: tuple[str, ...] = ()
        self._delimiter = delimiter
        self._known = frozenset[str]()
        self._again: list[int] = []
        self._short: list[str] | None = None
        #: The first number with points after one with a decimal comma.
        self.pointed = ""
        self._has_commas = False
        self._read_by(header)

    def add(self, row: list[str]) -> None:
        """Take the next row."""
        self.put_short(complete=True)
        if self._restarts(row):
            return
        self.seen += 1
        # A quote without its partner has made rows the text of one cell.
        for cell in row:
            for line in islice(io.StringIO(cell), 1, None) if "\n" in cell else ():
                swallowed = line.split(self._delimiter)
                if len(swallowed) == self._width > 1:
                    self.seen += 1
                    self.dropped[SWALLOWED] += 1
        if len(row) == self._width:
            self._put(row)
        elif len(row) < self._width:
            self._short = row
        elif all(map(is_missing, row[self._width :])):
            self._put(row[: self._width])
        else:
            self.dropped[TOO_LONG] += 1

    def take(self, lines: str) -> bool:
        """Take whole lines without quotes at once; nothing, and False, where that is not safe."""
        if self._width < 2 or "\r" in lines:
            return False
        from entropylaw.logs.readers.plain_lines import columns_of

        self.put_short(complete=True)
        columns = columns_of(lines, self._names, self.rows.kept(self._names))
        if columns is None:
            return False
        rows = len(next(iter(columns.values())))
        self.rows.add_rows(rows, columns)
        self.seen += rows
        self.taken += lines.count("\n") + (not lines.endswith("\n"))
        return True

    def put_short(self, *, complete: bool) -> bool:
        """Put a short row that was held back, if it is ``complete``; whether there was one that is not."""
        short = self._short
        if short is None:
            return False
        self._short = None
        if complete:
            self._put(short + [""] * (self._width - len(short)))
        return not complete

    def _put(self, row: list[str]) -> None:
        """Add a row of the current header's length."""
        if self._delimiter != "," and not self.pointed:
            self._has_commas = self._has_commas or any("," in cell and _COMMA.fullmatch(cell) for cell in row)
            if self._has_commas:
                self.pointed = next(filter(_POINTED.fullmatch, row), "")
        self.rows.add_row(self._names, row)

    def _read_by(self, header: Sequence[str]) -> None:
        """Read the rows below by this header."""
        self._names = tuple(header)
        self._known |= frozenset(header)
        self._width = len(header)
        # Where the cells are that name a run.
        self._labels = frozenset(column for column, name in enumerate(header) if folded(name) in RUN_NAMES)

    def _restarts(self, row: list[str]) -> bool:
        """Read the rows below by this one if it is a header: two known names at least, and no number."""
        if row[0].strip()[:1].isdecimal() or sum(cell.strip() in self._known for cell in row) < 2:
            return False
        if any(parse_step(cell) == parse_step(cell) for cell in row):
            return False
        self._read_by(unique_names(row)[0])
        self._again.append(self.seen)
        note = f"the header is written again below row {self._again[0]}; the rows below are read by it"
        if len(self._again) > 1:
            note += f"; {counted(len(self._again), 'header')} in all below the first"
        self.notes = (note,)
        return True


def _sniff(content: Content) -> str:
    """Return the delimiter that gives the header most cells; a comma where none gives two."""
    header = next((line for line in content.lines() if line and not _COMMENT.fullmatch(line)), "")[:_HEAD]
    header = next(iter(header.splitlines()), "")
    for marks in (_DELIMITERS, _OTHERS) if content.suffix in (".csv", ".tsv") else (_DELIMITERS,):
        with _long_cells():
            cells = {mark: len(next(csv.reader([header], delimiter=mark), [])) for mark in marks}
        if max(cells.values()) > 1:
            return max(cells, key=cells.__getitem__)
    return ","


@contextmanager
def _long_cells() -> Iterator[None]:
    """Let a cell be as long as a logged generation; the csv module's limit is one for the process."""
    before = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        yield
    finally:
        csv.field_size_limit(before)
