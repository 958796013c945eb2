"""AReaL's console: ``… Train step 3/1000 done.``, and below it tables of names and values in boxes.

From inclusionAI/AReaL 0.3 to 1.0.4: ``StatsLogger.commit`` in ``areal/utils/stats_logger.py`` prints the
step, then ``Stats (1/1):`` and a table by ``tabulate_stats`` in ``areal/utils/printing.py`` (up to 0.3 in
``realhf/api/core/data_api.py``): ``tabulate``'s ``fancy_grid``, up to four names and values a row, values
with five digits. Up to 0.3, every minibatch of the step has a table, and the first one's holds the step's own
values, such as the reward. Other tables, such as those of an evaluation on its own, follow no step.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from entropylaw.errors import InputError
from entropylaw.ingest.content import Content
from entropylaw.ingest.gather import Records
from entropylaw.ingest.table import Table
from entropylaw.ingest.values import is_missing, parse_number
from entropylaw.ingest.wording import shown_path

_STEP = re.compile(r"(?<!\w)Train step (\d{1,9})/\d{1,9} done\.", re.ASCII)
_STATS = re.compile(r"(?<!\w)Stats \(\d{1,9}/\d{1,9}\):", re.ASCII)
_BAR = "│"
_ENDS = "╘"
# A table's row has four pairs; a line with far more is no row.
_MOST_CELLS = 256
# To recognise it, so many steps are looked at, each in so many characters.
_MOST_TRIED = 100
_WINDOW = 1 << 17

BAD_PAIR = "unreadable key:value pair"
LATER_TABLE = "table of a later minibatch of the same step"


class ArealConsoleReader:
    """Reads the tables that AReaL prints for every step."""

    name = "areal"
    suffixes = (".log", ".out", ".txt")
    about = "the tables that it prints for every step"

    def recognises(self, content: Content) -> bool:
        """Whether a step with a table is printed anywhere."""
        opening = content.opening
        if _BAR not in opening:
            return False
        starts = islice((found.start() for found in _STEP.finditer(opening)), _MOST_TRIED)
        return any(
            next(_steps(opening[start : start + _WINDOW].split("\n"), _Counts()), None) for start in starts
        )

    def read(self, content: Content) -> Table:
        """Read it, line by line.

        Raises
        ------
        InputError
            ``no-records`` where no step has a table.

        """
        records = Records(content.wanted)
        counts = _Counts()
        for record in _steps(content.lines(), counts):
            records.add(record)
        if not records.rows:
            raise InputError(
                "no-records",
                f"{shown_path(content.path)} holds no table of AReaL's console below a line "
                "'Train step 1/100 done.'",
                "check the file, or leave the format out and let the content decide",
            )
        columns, notes = records.columns(content.extent)
        kept = "a step has a table for every minibatch: the first one's values are kept"
        return Table(
            columns=columns,
            rows=records.rows,
            dropped=counts.dropped,
            notes=(*content.text_notes, *([kept] if counts.later else []), *notes),
            unread=tuple(records.unread),
        )


class _Counts:
    """What was left out."""

    def __init__(self) -> None:
        self.bad = self.later = 0

    @property
    def dropped(self) -> dict[str, int]:
        """By reason."""
        found = {BAD_PAIR: self.bad, LATER_TABLE: self.later}
        return {reason: number for reason, number in found.items() if number}


def _steps(lines: Iterable[str], counts: _Counts) -> Iterator[dict[str, float]]:
    """Yield every step that has a table, with its number from 1 as it is printed."""
    step = 0.0
    values: dict[str, float] = {}
    # Whether a table would be the step's: there may be one below each "Stats" line.
    expected = False
    for line in lines:
        if "Train step " in line and (found := _STEP.search(line)):
            if values:
                yield {"step": step, **values}
            step, values, expected = float(found[1]), {}, True
        elif _ENDS in line:
            expected = False
        elif step and not expected and "Stats (" in line and _STATS.search(line):
            expected = True
            counts.later += bool(values)
        elif expected and _BAR in line:
            pairs, bad = _pairs(line)
            counts.bad += bad
            values = {**pairs, **values}
    if values:
        yield {"step": step, **values}


def _pairs(line: str) -> tuple[dict[str, float], int]:
    """Return the numbers of a table's row, and how many could not be read; a last column may be empty."""
    _, *cells = (cell.strip() for cell in line.split(_BAR, _MOST_CELLS))
    pairs: dict[str, float] = {}
    # Behind the last bar is nothing, unless the row was cut off: then its last value may be half a number.
    bad = int(len(cells) % 2 == 0)
    for name, value in zip(cells[:-1:2], cells[1:-1:2], strict=False):
        number = parse_number(value)
        if name and (number == number or is_missing(value)):
            pairs[name] = number
        elif name or value:
            bad += 1
    return pairs, bad
