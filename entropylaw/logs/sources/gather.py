"""Building columns from records and rows as they are read.

Numbers are stored as numbers from the start; of text, each distinct cell once, up to a bound: of a column of
prose, one cell represents all.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from entropylaw.arrays import FloatArray
from entropylaw.logs.runs import Table, number_parsing
from entropylaw.logs.runs.number_parsing import Column, MixedColumn, classify, parse_column
from entropylaw.logs.runs.splitting import RUN_NAMES
from entropylaw.logs.runs.step_column import folded
from entropylaw.logs.sources.content import Content

# A column with more text than this is prose, and no label.
_MOST_TEXT = 1 << 22
_LONGEST_CELL = 1000
# No log of metrics exceeds these. They bound the memory that a hostile file can take per byte.
_MOST_COLUMNS = 1 << 16
_FEWEST_CELLS = 1 << 21
# So many cells wait to be put into their columns together, fewer of a column are put one by one.
_MOST_PENDING = 1 << 16
_FEWEST_AT_ONCE = 8

Keep = Callable[[str], bool]


class _Cells:
    """The cells of a column by row, as they are read; where a row has one already, the later one replaces it.

    Each distinct text is kept once, up to a bound: beyond it, one represents all.
    """

    def __init__(self, *, label: bool) -> None:
        self._label = label
        self._rows, self._values = array("q"), array("d")
        self._text_rows, self._codes = array("q"), array("i")
        self._words: list[str] = []
        self._known: dict[str, int] = {}
        self._size = 0

    def __len__(self) -> int:
        return len(self._rows) + len(self._text_rows)

    @property
    def is_of_text(self) -> bool:
        """Whether a cell is text, or written as a nan, or would be kept as text."""
        return self._label or len(self._text_rows) > 0

    def put(self, row: int, cell: object) -> None:
        """Put a cell into a row."""
        # Most cells of a log.
        if type(cell) is float and cell == cell:
            self._rows.append(row)
            self._values.append(cell)
            return
        value, is_text = classify(cell)
        # Labels of digits only may be longer than a float is exact.
        if is_text or (self._label and type(cell) in (int, str) and value == value):
            self._put_text(row, str(cell))
        elif value == value:
            self._rows.append(row)
            self._values.append(value)
        elif type(cell) is float or number_parsing.is_nan(cell):
            self._put_text(row, None)

    def put_all(self, first: int, cells: Sequence[object]) -> None:
        """Put cells into consecutive rows, as :meth:`put` does; many of one type at once."""
        types = set(map(type, cells)) if len(cells) >= _FEWEST_AT_ONCE else set[type]()
        if types == {str}:
            self._put_texts(first, cells)  # type: ignore[arg-type]
        elif self._label or not types or not types <= {float, int} or not self._put_numbers(first, cells):
            for row, cell in enumerate(cells, first):
                self.put(row, cell)

    def put_floats(self, first: int, values: FloatArray) -> None:
        """Put numbers (n,) into consecutive rows, nan where there is none."""
        filled = np.flatnonzero(~np.isnan(values))
        self._rows.frombytes((first + filled).astype(np.int64).tobytes())
        self._values.frombytes(values[filled].tobytes())

    def _put_numbers(self, first: int, cells: Sequence[object]) -> bool:
        """Put numbers into consecutive rows; nothing, and False, where one is nan or no double."""
        with suppress(OverflowError):
            values = np.array(cells, dtype=np.float64)
            if not np.isnan(values).any():
                self.put_floats(first, values)
                return True
        return False

    def _put_texts(self, first: int, cells: Sequence[str]) -> None:
        parsed = parse_column(cells)
        # How texts are written as numbers is decided for the whole column.
        for row, cell in enumerate(cells if parsed.texts or parsed.written or self._label else ()):
            value, is_text = classify(cell)
            if is_text:
                parsed.values[row] = np.nan
            if is_text or (self._label and value == value):
                self._put_text(first + row, cell)
        for row in parsed.nans:
            self._put_text(first + row, None)
        self.put_floats(first, parsed.values)

    def _put_text(self, row: int, text: str | None) -> None:
        """Put a text into a row; None for a nan that was written as a value."""
        self._text_rows.append(row)
        if text is None:
            self._codes.append(number_parsing.NOT_A_NUMBER)
            return
        text = text[:_LONGEST_CELL]
        if text not in self._known and self._size <= _MOST_TEXT:
            self._size += len(text) + 64
            # What represents all that follow is not a number, however numbers are written.
            text = text if self._size <= _MOST_TEXT else "…"
            self._known[text] = len(self._words)
            self._words.append(text)
        self._codes.append(self._known.get(text, len(self._words) - 1))

    def filled(self, rows: int) -> FloatArray | MixedColumn:
        """Return the column with so many rows."""
        values = np.full(rows, np.nan)
        values[np.frombuffer(self._rows, dtype=np.int64)] = np.frombuffer(self._values)
        if not self._text_rows:
            return values
        codes = np.full(rows, number_parsing.NO_TEXT, dtype=np.int32)
        codes[np.frombuffer(self._text_rows, dtype=np.int64)] = np.frombuffer(self._codes, dtype=np.int32)
        return MixedColumn(values, codes, self._words)


class Records:
    """Records with keys of their own, or rows below a header, such as those of a CSV file.

    ``keep`` decides which columns are kept; None keeps all. Names of the others are in :attr:`unread`.
    """

    def __init__(self, keep: Keep | None = None) -> None:
        self.rows = 0
        self.unread: dict[str, None] = {}
        self._keep = keep
        self._columns: dict[str, _Cells] = {}
        # The last rows, which have the same columns: they are put into these together.
        self._pending: list[Collection[object]] = []
        self._names: tuple[str, ...] = ()

    def add(self, record: Mapping[str, object]) -> None:
        """Add one record; a key with an empty cell counts as a column."""
        self.add_row(tuple(record), record.values())

    def add_row(self, names: tuple[str, ...], cells: Collection[object]) -> None:
        """Add one row, with a cell for each of the names."""
        if names != self._names or len(self._pending) * (len(names) + 1) >= _MOST_PENDING:
            self._flush()
            self._names = names
        self._pending.append(cells)
        self.rows += 1

    def kept(self, names: Iterable[str]) -> dict[str, bool]:
        """The columns of these names that are kept, from now on there → whether they are of text so far."""
        self._flush()
        columns = ((name, self._column(name)) for name in names)
        return {name: column.is_of_text for name, column in columns if column is not None}

    def add_rows(self, rows: int, columns: Mapping[str, FloatArray | list[str]]) -> None:
        """Add so many rows by the columns of :meth:`kept`: numbers, nan where there is none, or text."""
        for name, cells in columns.items():
            if isinstance(cells, list):
                self._columns[name].put_all(self.rows, cells)
            else:
                self._columns[name].put_floats(self.rows, cells)
        self.rows += rows

    def put(self, name: str, cell: object, row: int) -> None:
        """Put a cell into a row; not after :meth:`add`."""
        if (column := self._column(name)) is not None:
            column.put(row, cell)

    def _flush(self) -> None:
        first = self.rows - len(self._pending)
        for name, cells in zip(self._names, zip(*self._pending, strict=True), strict=False):
            if (column := self._column(name)) is not None:
                column.put_all(first, cells)
        self._pending = []

    def _column(self, name: str) -> _Cells | None:
        """The column of this name, from now on there; None where it is not kept."""
        column = self._columns.get(name)
        if column is None and name not in self.unread:
            if self._keep is not None and not self._keep(name):
                if len(self.unread) < _MOST_COLUMNS:
                    self.unread[name] = None
            elif len(self._columns) < _MOST_COLUMNS:
                column = self._columns[name] = _Cells(label=folded(name) in RUN_NAMES)
        return column

    def columns(self, size: int) -> tuple[dict[str, Column], tuple[str, ...]]:
        """Return whole columns in the order of their first cell, and notes.

        Where all of them would need many times the file's ``size`` in bytes, those with most values, and a
        note.
        """
        self._flush()
        most = min(max(size, _FEWEST_CELLS) // max(self.rows, 1), _MOST_COLUMNS - 1)
        names = list(self._columns)
        notes: tuple[str, ...] = ()
        if len(names) > most:
            fullest = set(sorted(names, key=lambda name: -len(self._columns[name]))[:most])
            names = [name for name in names if name in fullest]
            notes = (
                f"far more columns than values: only the {len(names)} columns with most values are read",
            )
        return {name: self._columns[name].filled(self.rows) for name in names}, notes

    def table(
        self, content: Content, dropped: Mapping[str, int], notes: Sequence[str] = (), **more: Any
    ) -> Table:
        """Make the table of a text's records.

        ``dropped`` counts records that are not in it, ``notes`` follow those on the text, ``more`` are other
        fields.
        """
        columns, notes_on_columns = self.columns(content.extent)
        losses = Counter(dropped)
        table = Table(
            columns=columns,
            rows=self.rows + losses.total(),
            dropped=dict(+losses),
            notes=(*content.text_notes, *notes, *notes_on_columns),
            unread=tuple(self.unread),
        )
        return replace(table, **more)
