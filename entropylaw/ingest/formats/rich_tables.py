"""Metrics in a table or a panel, as the package rich draws them: tinker-cookbook, rLLM, open-instruct.

tinker-cookbook and rLLM print a table with the columns ``Metric`` and ``Value`` below the title ``Step 12``
(``PrettyPrintLogger`` in ``tinker_cookbook/utils/ml_log.py`` of
github.com/thinking-machines-lab/tinker-cookbook, ``print_metrics_table`` in
``rllm/trainer/tinker/tinker_metrics_utils.py`` of github.com/rllm-org/rllm).
open-instruct prints a panel ``Metrics``, one group of keys a row, ``name: value`` between bars
(``print_rich_single_line_metrics`` in ``open_instruct/model_utils.py`` of github.com/allenai/open-instruct).
A name that is too long for its column ends in ``…``: nobody can tell what it was, so it is left out.
"""

from __future__ import annotations

import re

from entropylaw.ingest.content import Content
from entropylaw.ingest.formats.printed import CUT_OFF, MOST_PAIRS, console_table, lines, plain
from entropylaw.ingest.gather import Records
from entropylaw.ingest.table import Table
from entropylaw.ingest.values import is_missing, parse_number

_TITLE = re.compile(r"(?:\([^()]{1,120}\))? {0,400}Step (\d{1,9}) {0,400}", re.ASCII)
_TABLE_HEAD = re.compile(r"┃ Metric {1,400}┃ {1,400}Value {1,400}┃")
_PANEL_HEAD = re.compile(r"╭─{1,400} Metrics ─{1,400}╮")
_GROUP = re.compile(r" {0,3}(?P<group>[^\s│]{1,100}) {2,100}(?P<values>\S.*)")

CUT_NAME = "metric whose name the table cuts off"


class TinkerConsoleReader:
    """Reads the tables that tinker-cookbook prints into its ``logs.log``, and rLLM to its console."""

    name = "tinker"
    suffixes = (".log", ".out", ".txt")
    about = (
        "the tables of tinker-cookbook's `logs.log` and rLLM's console; names that the table cut are left out"
    )

    def recognises(self, content: Content) -> bool:
        """Whether such a table stands below a step."""
        text = content.opening
        if "┃ Metric" not in text or "Step " not in text:
            return False
        titled = 0
        for line in map(plain, text.split("\n")):
            if _TITLE.fullmatch(line.rstrip("\r")):
                titled = 3
            elif titled and _TABLE_HEAD.search(line):
                return True
            titled -= titled > 0
        return False

    def read(self, content: Content) -> Table:
        """Read it, line by line.

        Raises
        ------
        InputError
            ``no-records`` where no table with a step is there.

        """
        records = Records(content.wanted)
        step: float | None = None
        values: dict[str, float] | None = None
        cut_off = cut_names = 0
        for line in lines(content):
            if title := _TITLE.fullmatch(line):
                cut_off += values is not None
                step, values = float(title[1]), None
            elif step is not None and _TABLE_HEAD.search(line):
                values = {}
            elif values is not None and line.rstrip().endswith("┘"):
                records.add({"step": step, **values})
                step = values = None
            elif values is not None and len(cells := line.split("│")) == 4:
                cut_names += _put(values, cells[1].strip(), cells[2])
        cut_off += values is not None
        form = "tinker-cookbook prints them (a table 'Step 12' with the columns Metric and Value)"
        return console_table(content, records, form, dropped={CUT_OFF: cut_off, CUT_NAME: cut_names})


class OpenInstructConsoleReader:
    """Reads the panels that open-instruct's GRPO prints."""

    name = "open-instruct"
    suffixes = (".log", ".out", ".txt")
    about = "the panels that its GRPO prints, with two decimals"

    def recognises(self, content: Content) -> bool:
        """Whether such a panel is printed, and the step in one."""
        text = content.opening
        return "training_step: " in text and _PANEL_HEAD.search(text) is not None

    def read(self, content: Content) -> Table:
        """Read it, line by line. An evaluation has no step: it is that of the training before it.

        Raises
        ------
        InputError
            ``no-records`` where no whole panel is there.

        """
        records = Records(content.wanted)
        rows: list[list[str]] | None = None
        step: float | None = None
        cut_off = cut_names = evaluations = 0
        for line in lines(content):
            if _PANEL_HEAD.search(line):
                cut_off += rows is not None
                rows = []
            elif rows is not None and line.rstrip().endswith("╯"):
                values, cut = _grouped(rows)
                evaluations += "training_step" not in values
                step = values.pop("training_step", step)
                records.add({"training_step": step, **values})
                rows, cut_names = None, cut_names + cut
            elif rows is not None and len(cells := line.split("│")) == 3:
                _take_row(rows, cells[1])
        cut_off += rows is not None
        notes = ["open-instruct prints two decimals"]
        if evaluations:
            notes.append("evaluations are printed without a step: theirs is that of the training before")
        return console_table(
            content,
            records,
            "open-instruct prints them (a panel 'Metrics' with training_step in it)",
            dropped={CUT_OFF: cut_off, CUT_NAME: cut_names},
            notes=tuple(notes),
        )


def _put(values: dict[str, float], name: str, cell: str) -> bool:
    """Keep a number under its name; return whether the name is cut off."""
    if name.endswith("…"):
        return True
    number = parse_number(cell)
    if name and cell.strip() and (number == number or is_missing(cell)) and len(values) < MOST_PAIRS:
        values[name] = number
    return False


def _take_row(rows: list[list[str]], row: str) -> None:
    """Add a row of a panel: a group, or more of the group above."""
    group = _GROUP.fullmatch(row.rstrip())
    if group:
        rows.append([group["group"], group["values"]])
    elif rows:
        rows[-1].append(row.strip())


def _grouped(rows: list[list[str]]) -> tuple[dict[str, float], int]:
    """Return the numbers of a panel by their whole names, and how many names are cut off."""
    values: dict[str, float] = {}
    cut = 0
    for group, *parts in rows:
        for pair in " ".join(parts).split(" | "):
            name, colon, cell = pair.strip().removesuffix("|").rpartition(": ")
            if colon:
                _put(values, name if group == "other" else f"{group}/{name}", cell)
            else:
                cut += "…" in pair
    return values, cut
