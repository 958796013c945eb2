"""Metrics in a table or a panel, as the package rich draws them: tinker-cookbook, rLLM, open-instruct.

tinker-cookbook and rLLM print a table with the columns ``Metric`` and ``Value`` below the title ``Step 12``
(``PrettyPrintLogger`` in ``tinker_cookbook/utils/ml_log.py`` of thinking-machines-lab/tinker-cookbook,
``print_metrics_table`` in ``rllm/trainer/tinker/tinker_metrics_utils.py`` of rllm-org/rllm).
open-instruct prints a panel ``Metrics``, one group of keys per row, ``name: value`` between bars
(``print_rich_single_line_metrics`` in ``open_instruct/model_utils.py`` of allenai/open-instruct).
A name that is too long for its column ends in ``…``, and is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from entropylaw.ingest.formats.console import CUT_OFF, MOST_PAIRS, Console, Printout, Row, plain
from entropylaw.ingest.values import classify

_TITLE = re.compile(r"(?:\([^()]{1,120}\))? {0,400}Step (\d{1,9}) {0,400}", re.ASCII)
_TABLE_HEAD = re.compile(r"┃ Metric {1,400}┃ {1,400}Value {1,400}┃")
_PANEL_HEAD = re.compile(r"╭─{1,400} Metrics ─{1,400}╮")
_GROUP = re.compile(r" {0,3}(?P<group>[^\s│]{1,100}) {2,100}(?P<values>\S.*)")

CUT_NAME = "metric whose name the table cuts off"


def shows_table(text: str) -> bool:
    """Whether a table stands below a step."""
    titled = 0
    for line in map(plain, text.split("\n")):
        if titled and _TABLE_HEAD.search(line):
            return True
        titled = 2 if _TITLE.fullmatch(line.rstrip("\r")) else max(titled - 1, 0)
    return False


def tables(lines: Iterable[str], printout: Printout) -> Iterator[Row]:
    """Yield a row for each table with a step above it."""
    step: float | None = None
    values: dict[str, float] | None = None
    dropped = printout.dropped
    for line in lines:
        if title := _TITLE.fullmatch(line):
            dropped[CUT_OFF] += values is not None
            step, values = float(title[1]), None
        elif step is not None and _TABLE_HEAD.search(line):
            values = {}
        elif values is not None and line.rstrip().endswith("┘"):
            yield {"step": step, **values}
            step = values = None
        elif values is not None and len(cells := line.split("│")) == 4:
            dropped[CUT_NAME] += _put(values, cells[1].strip(), cells[2])
    dropped[CUT_OFF] += values is not None


def panels(lines: Iterable[str], printout: Printout) -> Iterator[Row]:
    """Yield a row for each panel. An evaluation has no step: it is that of the training before it."""
    rows: list[list[str]] | None = None
    step: float | None = None
    evaluations = 0
    for line in lines:
        if _PANEL_HEAD.search(line):
            printout.dropped[CUT_OFF] += rows is not None
            rows = []
        elif rows is not None and line.rstrip().endswith("╯"):
            values = _grouped(rows, printout)
            evaluations += "training_step" not in values
            step = values.pop("training_step", step)
            yield {"training_step": step, **values}
            rows = None
        elif rows is not None and len(cells := line.split("│")) == 3:
            # A row holds a group, or more of the group above.
            if group := _GROUP.fullmatch(cells[1].rstrip()):
                rows.append([group["group"], group["values"]])
            elif rows:
                rows[-1].append(cells[1].strip())
    printout.dropped[CUT_OFF] += rows is not None
    printout.notes.append("open-instruct prints two decimals")
    if evaluations:
        printout.notes.append("evaluations are printed without a step: theirs is that of the training before")


def _grouped(rows: list[list[str]], printout: Printout) -> dict[str, float]:
    """Return the numbers of a panel by their whole names, and count the names that are cut off."""
    values: dict[str, float] = {}
    for group, *parts in rows:
        for pair in " ".join(parts).split(" | "):
            name, colon, cell = pair.strip().removesuffix("|").rpartition(": ")
            if colon:
                _put(values, name if group == "other" else f"{group}/{name}", cell)
            else:
                printout.dropped[CUT_NAME] += "…" in pair
    return values


def _put(values: dict[str, float], name: str, cell: str) -> bool:
    """Keep a number under its name; return whether the name is cut off."""
    cut = name.endswith("…")
    number, is_text = classify(cell)
    if name and cell.strip() and not (cut or is_text) and len(values) < MOST_PAIRS:
        values[name] = number
    return cut


TINKER = Console(
    rows=tables,
    matches=shows_table,
    needles=("┃ Metric", "Step "),
    reasons=(CUT_OFF, CUT_NAME),
    form="metrics as tinker-cookbook prints them (a table 'Step 12' with the columns Metric and Value)",
)
OPEN_INSTRUCT = Console(
    rows=panels,
    matches=_PANEL_HEAD.search,
    needles=("training_step: ",),
    reasons=(CUT_OFF, CUT_NAME),
    form="metrics as open-instruct prints them (a panel 'Metrics' with training_step in it)",
)
