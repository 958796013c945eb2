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

from entropylaw.ingest.content import Content
from entropylaw.ingest.formats.console import BAD_PAIR, Console, Printout, Row, openings
from entropylaw.ingest.values import classify

_STEP = re.compile(r"(?<!\w)Train step (\d{1,9})/\d{1,9} done\.", re.ASCII)
_STATS = re.compile(r"(?<!\w)Stats \(\d{1,9}/\d{1,9}\):", re.ASCII)
_BAR = "│"

LATER_TABLE = "table of a later minibatch of the same step"


def rows(lines: Iterable[str], printout: Printout) -> Iterator[Row]:
    """Yield every step that has a table, with its number from 1 as it is printed."""
    step, values = 0.0, dict[str, float]()
    # Whether a table would be the step's: there may be one below each "Stats" line.
    expected = False
    for line in lines:
        if "Train step " in line and (found := _STEP.search(line)):
            if values:
                yield {"step": step, **values}
            step, values, expected = float(found[1]), {}, True
        elif "╘" in line:  # where a table ends
            expected = False
        elif step and not expected and "Stats (" in line and _STATS.search(line):
            expected = True
            printout.dropped[LATER_TABLE] += bool(values)
        elif expected and _BAR in line:
            values = {**_pairs(line, printout), **values}
    if values:
        yield {"step": step, **values}
    if printout.dropped[LATER_TABLE]:
        printout.notes.append("a step has a table for every minibatch: the first one's values are kept")


def _pairs(line: str, printout: Printout) -> dict[str, float]:
    """Return the numbers of a table's row, of which the last columns may be empty."""
    # A row has four pairs; a line with far more cells is no row.
    _, *cells = (cell.strip() for cell in line.split(_BAR, 256))
    pairs: dict[str, float] = {}
    # Behind the last bar is nothing, unless the row was cut off: then its last value may be half a number.
    printout.dropped[BAD_PAIR] += len(cells) % 2 == 0
    for name, value in zip(cells[:-1:2], cells[1:-1:2], strict=False):
        number, is_text = classify(value)
        if name and not is_text:
            pairs[name] = number
        else:
            printout.dropped[BAD_PAIR] += bool(name or value)
    return pairs


CONSOLE = Console(
    rows=rows,
    # A step that has a table.
    matches=lambda text: any(
        next(rows(lines, Printout(Content("-"))), None) for lines in openings(text, _STEP)
    ),
    needles=(_BAR,),
    reasons=(BAD_PAIR, LATER_TABLE),
    form="table of AReaL's console below a line 'Train step 1/100 done.'",
)
