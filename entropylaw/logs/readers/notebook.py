"""Jupyter notebooks: what their cells printed and showed, handed to the readers of consoles and tables.

A notebook is one JSON object: ``cells`` with ``outputs``, as in jupyter/nbformat's nbformat.v4.schema.json.
Source code is not read.

In a notebook, a Hugging Face ``Trainer`` shows its log as an HTML table with six decimals
(``text_to_html_table`` and ``NotebookProgressCallback`` in transformers/utils/notebook.py, the same in 4.x
and in 5.23): losses, and what an evaluation measured, ``eval_reward`` as ``Reward``. Unsloth adds what the
trainer logs, with `` / `` for ``/`` (unsloth_zoo/logging_utils.py); its newer versions leave the entropy out,
its older ones fill the first row with ``0`` where nothing was logged.
"""

from __future__ import annotations

import csv
import html
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain

import numpy as np

from entropylaw.errors import InputError
from entropylaw.escaping import counted
from entropylaw.logs import catalog
from entropylaw.logs.readers import delimited
from entropylaw.logs.readers.console import trl
from entropylaw.logs.runs import Table
from entropylaw.logs.runs.number_parsing import JSON_DECODER, parse_number
from entropylaw.logs.runs.step_column import STEP_NAMES, folded
from entropylaw.logs.sources.assemble import FEWEST_EVALUATIONS
from entropylaw.logs.sources.content import Content
from entropylaw.logs.sources.gather import Records
from entropylaw.logs.sources.registry import READERS
from entropylaw.logs.suggest import measured_numbers

_OPENS = re.compile(r"\s*\{\s*\"")
_MARK = re.compile(r'"nbformat"\s{0,9}:\s{0,9}\d|"cell_type"\s{0,9}:\s{0,9}"(?:code|markdown|raw|heading)"')
# Not html.parser: its time grew with the square of some malformed text up to Python 3.13.5.
_HTML = re.compile(r"<(tr|th|td)\b[^<>]{0,400}+>([^<]{0,400}+)", re.IGNORECASE)
_NAMES = {"Step": "step", "Epoch": "epoch", "Training Loss": "loss", "Validation Loss": "eval_loss"}
_ROUNDED = "the Trainer's table shows six decimals, to which its values are rounded"


def recognises(content: Content) -> bool:
    """Whether it is a JSON object with cells and the format's version, in whatever order."""
    text = content.opening if content.is_text and _OPENS.match(content.head_text) else ""
    # The version may be at the end, beyond the part that is searched, or have been cut off.
    return '"cells"' in text and _MARK.search(text) is not None


def read(content: Content) -> Table:
    """Read it.

    Raises ``file-corrupt`` where it breaks off, ``notebook-without-log``, and ``no-records`` where its cells
    printed what may be a log, and is not read.
    """
    outputs = _cell_outputs(content)
    tables: dict[str, list[Table]] = {}
    for kind, table in chain.from_iterable(map(_logs_of_cell, outputs)):
        tables.setdefault(kind, []).append(table)
    if not tables:
        raise _without_log(content, outputs)
    best = max(tables, key=lambda kind: _rank(tables[kind]))
    notes = [f"read from the outputs of the notebook ({best})"]
    notes += (f"another log in them ({kind}) was left out" for kind in tables if kind != best)
    return _behind_each_other(tables[best], content, notes)


def _without_log(content: Content, outputs: Sequence[Sequence[Mapping[str, object]]]) -> InputError:
    """Make the error of a notebook without a log that is read."""
    printed = 0
    for output in chain.from_iterable(outputs):
        data = output.get("data")
        plain = data.get("text/plain") if isinstance(data, dict) else None
        printed += len(measured_numbers(_text(output.get("text")) + _text(plain)))
    own_log = "or name the trainer's own log, such as trainer_state.json"
    if printed >= FEWEST_EVALUATIONS:
        return content.error(
            "no-records",
            f"is a notebook whose cells printed {printed} values of metrics without a step that is read",
            f"print lines such as `step=1 reward=0.1`, {own_log}",
        )
    with_outputs = counted(sum(map(bool, outputs)), "cell")
    return content.error(
        "notebook-without-log",
        f"is a notebook without a training log in its outputs: {with_outputs} with outputs of "
        f"{counted(len(outputs), 'cell')} looked at",
        f"run it again and save it with its outputs, {own_log}",
    )


def _behind_each_other(tables: Sequence[Table], content: Content, notes: Sequence[str]) -> Table:
    """Put the logs of one kind behind each other, in the order of their cells."""
    records = Records()
    dropped = Counter[str]()
    settings: dict[str, object] = {}
    table_notes: dict[str, None] = {}
    for table in tables:
        for row in zip(*table.columns.values(), strict=True):
            records.add(dict(zip(table.columns, row, strict=True)))
        dropped.update(table.dropped)
        settings |= table.settings
        table_notes |= dict.fromkeys(table.notes)
    rows = sum(table.rows for table in tables)
    return records.table(content, dropped, (*notes, *table_notes), rows=rows, settings=settings)


def _rank(tables: Sequence[Table]) -> tuple[bool, int]:
    """With an entropy before without, then by the number of cells."""
    names = tuple(dict.fromkeys(chain.from_iterable(table.columns for table in tables)))
    entropy = bool(catalog.matches("entropy", names, catalog.detect(names).trainer))
    return entropy, sum(table.rows * len(table.columns) for table in tables)


def _cell_outputs(content: Content) -> list[list[dict[str, object]]]:
    """The outputs of each cell."""
    text = content.text
    try:
        # Python needs 64 bytes for an empty list or object, and 28 for half a short text.
        size = 64 * (text.count("[") + text.count("{")) + 28 * (text.count('"') - text.count('\\"'))
        if size > max(1 << 26, 8 * len(text)):
            raise ValueError(size)
        notebook = JSON_DECODER.decode(text)
    except (ValueError, RecursionError) as problem:
        raise content.error(
            "file-corrupt",
            "is not a complete notebook: its JSON breaks off, is damaged or holds little but empty "
            f"lists, near line {getattr(problem, 'lineno', 1)}",
            "copy the notebook again, save it in Jupyter, or paste what a cell printed into a text file",
        ) from None
    cells = _listed(notebook.get("cells")) if isinstance(notebook, dict) else []
    listed = [_listed(cell.get("outputs")) if isinstance(cell, dict) else [] for cell in cells]
    return [[output for output in outputs if isinstance(output, dict)] for outputs in listed]


def _logs_of_cell(outputs: Sequence[Mapping[str, object]]) -> Iterator[tuple[str, Table]]:
    """Yield the kind and the table of every log in the outputs of one cell."""
    streams = (output for output in outputs if output.get("output_type") == "stream")
    printed = "".join(_text(stream.get("text")) for stream in streams)
    yield from _printed_logs(printed)
    texts = printed.splitlines()
    for output in outputs:
        data = output.get("data")
        if output.get("output_type") in ("display_data", "execute_result") and isinstance(data, dict):
            for text in _text(data.get("text/html")).split("</table")[:-1]:
                if (table := trainer_table(text.partition("<table")[2])) is not None:
                    yield "the Trainer's table", table
            texts.append(_text(data.get("text/plain")))
    for text in texts:
        if text.lstrip().startswith("[{'"):
            # The log_history as a notebook shows it, each dict put on a line of its own.
            entries = " ".join(text.split()).removeprefix("[").replace("}, {", "}\n{")
            with suppress(InputError):
                yield "a list of log entries", trl.read(_in_memory(entries + "\n"))


def _printed_logs(text: str) -> Iterator[tuple[str, Table]]:
    """Read a cell's text by the first console reader that can, or as JSON with metrics."""
    content = _in_memory(text)
    for reader in READERS:
        if (".log" in reader.suffixes or reader.name == "jsonl") and reader.recognises(content):
            with suppress(InputError):
                table = reader.read(content)
                stepped = not {*map(folded, STEP_NAMES)}.isdisjoint(map(folded, table.columns))
                # A cell prints much: one line with a step and numbers, or JSON, is no log of a training.
                general = reader.name == "jsonl" or (reader.name == "text" and table.rows == 1)
                if not general or (stepped and any(map(catalog.is_metric, table.columns))):
                    yield reader.name, table
                    return


def trainer_table(markup: str) -> Table | None:
    """Read an HTML table as CSV, if its first column is the step or the epoch, as a Trainer's is."""
    header, *below = _html_rows(markup) or [[]]
    steps = [parse_number(row[0]) for row in below if row and header[:1] in (["Step"], ["Epoch"])]
    if len(header) < 2 or np.isnan(steps).all():
        return None
    values = [["" if cell.casefold() == "no log" else cell for cell in row] for row in below]
    _empty_fillers(values)
    # Names as a Trainer logs them: ``eval_reward_std`` of ``Reward Std``.
    names: list[str] = []
    for title in header:
        name = title.replace(" / ", "/")
        if title[:1].isupper():
            name = "eval_" + title.lower().replace(" ", "_")
        names.append(_NAMES.get(title, name))
    text = io.StringIO()
    csv.writer(text).writerows([names, *values])
    table = delimited.read(_in_memory(text.getvalue()))
    return replace(table, notes=(_ROUNDED, *table.notes))


def _html_rows(markup: str) -> list[list[str]]:
    """The cells of an HTML table."""
    rows: list[list[str]] = []
    for tag, cell in _HTML.findall(markup):
        if tag.lower() == "tr":
            rows.append([])
        elif rows:
            rows[-1].append(html.unescape(cell).strip())
    return rows


def _empty_fillers(rows: list[list[str]]) -> None:
    """Empty a bare 0 in the first row of a column of floats: a float has decimals, it is not measured."""
    for column, cell in enumerate(rows[0]):
        below = [row[column] for row in rows[1:] if column < len(row)]
        if column and cell == "0" and all("." in number or not number for number in below):
            rows[0][column] = ""


def _in_memory(text: str) -> Content:
    return Content("notebook", text.encode(errors="replace"))


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    """Return a text of a notebook, which may be a list of its lines."""
    return "".join(line for line in _listed(value) or [value] if isinstance(line, str))
