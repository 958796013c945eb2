"""Jupyter notebooks whose outputs hold a training log: a console's text, or a Trainer's table.

A notebook is one JSON object: ``cells`` with ``outputs`` (nbformat 4), or ``worksheets`` of cells (nbformat
3), as in jupyter/nbformat's nbformat.v4.schema.json and nbformat.v3.schema.json. Source code is not read.

In a notebook, a Hugging Face ``Trainer`` shows its log as an HTML table with six decimals
(``text_to_html_table`` and ``NotebookProgressCallback`` in transformers/utils/notebook.py, the same in 4.x
and in 5.23): losses, and what an evaluation measured, ``eval_reward`` as ``Reward``. Unsloth adds what the
trainer logs, with `` / `` for ``/`` (unsloth_zoo/logging_utils.py); its newer versions leave the entropy out,
its older ones fill the first row with ``0`` where nothing was logged.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from entropylaw.errors import InputError
from entropylaw.escaping import counted
from entropylaw.ingest import catalog
from entropylaw.ingest.readers import jsonl
from entropylaw.ingest.readers.console import trl as trl_console
from entropylaw.ingest.readers.delimited import TOO_LONG
from entropylaw.ingest.runs import Table, unique_names
from entropylaw.ingest.runs.number_parsing import JSON_DECODER, parse_number
from entropylaw.ingest.runs.step_column import STEP_NAMES, folded
from entropylaw.ingest.sources.content import Content
from entropylaw.ingest.sources.gather import Records
from entropylaw.ingest.sources.registry import READERS

_OPENS = re.compile(rb"\s*\{\s*\"")
_MARK = re.compile(r'"nbformat"\s{0,9}:\s{0,9}\d|"cell_type"\s{0,9}:\s{0,9}"(?:code|markdown|raw|heading)"')
# Pictures are most of a notebook's bytes, and hold no log.
_PICTURE = re.compile(r'("(?:image/(?:png|jpeg|gif)|png|jpeg)"\s{0,9}:\s{0,9})"[A-Za-z0-9+/=\\]++"')

# Not html.parser: its time grew with the square of some malformed text up to Python 3.13.5.
_HTML = re.compile(r"<(tr|th|td)\b[^<>]{0,400}+>([^<]{0,400}+)", re.IGNORECASE)
_NAMES = {"Step": "step", "Epoch": "epoch", "Training Loss": "loss", "Validation Loss": "eval_loss"}
_NOTHING = ("no log", "")


def recognises(content: Content) -> bool:
    """Whether it is a JSON object with cells and the format's version, in whatever order."""
    text = content.opening if content.is_text and _OPENS.match(content.head) else ""
    if '"cells"' not in text and '"worksheets"' not in text:
        return False
    # The version may be at the end, beyond the part that is searched, or have been cut off.
    return _MARK.search(text) is not None


def read(content: Content) -> Table:
    """Read it; raises ``file-corrupt`` where it breaks off, ``no-records`` where no output holds a log."""
    notebook = _notebook(content)
    sheets = [notebook, *_objects(notebook.get("worksheets"))]
    cells = [cell for sheet in sheets for cell in _listed(sheet.get("cells"))]
    outputs = [_objects(cell.get("outputs")) if isinstance(cell, dict) else [] for cell in cells]
    logs = [log for at, some in enumerate(outputs, start=1) for log in _logs(some, at, content.path)]
    if not logs:
        some = f"{counted(sum(map(bool, outputs)), 'cell')} with outputs of {counted(len(cells), 'cell')}"
        what = f"is a notebook without a training log in its outputs: {some} looked at"
        hint = "outputs may have been cleared when it was saved: run it again and save it with its outputs, "
        hint += "or name the trainer's own log, such as trainer_state.json"
        raise content.error("no-records", what, hint)
    return _merged(logs, content)


class _Log(NamedTuple):
    """A log in the outputs of the cell at ``position``, and what kind of log it is."""

    kind: str
    position: int
    table: Table


def _notebook(content: Content) -> dict[str, Any]:
    text = "".join(_PICTURE.sub(r'\1""', block) for block in content.blocks())
    quotes = text.count('"') - text.count('\\"')
    # Python needs 64 bytes for an empty list or object, and 28 for half a short text.
    if max(1 << 26, 8 * len(text)) < 64 * (text.count("[") + text.count("{")) + 28 * quotes:
        raise _corrupt(content, "holds little but empty lists and texts, which no notebook does")
    try:
        value = JSON_DECODER.decode(text)
    except RecursionError:
        raise _corrupt(content, "is nested deeper than any notebook") from None
    except ValueError as problem:
        where = f"breaks off or is damaged in line {getattr(problem, 'lineno', 1)}"
        raise _corrupt(content, f"is no complete notebook: its JSON {where}") from None
    if not isinstance(value, dict):
        raise _corrupt(content, "is JSON and no notebook: an object with cells is expected")
    return value


def _logs(outputs: Sequence[Mapping[str, Any]], position: int, path: str) -> Iterator[_Log]:
    """Yield every log in the outputs of one cell."""
    printed = "".join(_text(one.get("text")) for one in outputs if one.get("output_type") == "stream")
    if printed.strip():
        yield from _console(printed, position, path)
    lists = [line for line in printed.splitlines() if line.startswith("[{'")]
    for output in outputs:
        if output.get("output_type") in ("display_data", "execute_result", "pyout"):
            # In nbformat 3, the representations are in the output itself, under short names.
            data = output["data"] if isinstance(output.get("data"), dict) else output
            tables = _html_tables(_text(data.get("text/html", data.get("html"))))
            yield from (_Log("the Trainer's table", position, table) for table in tables)
            lists.append(_text(data.get("text/plain", data.get("text"))))
    for shown in lists:
        if shown.lstrip().startswith("[{'"):
            # The log_history as a notebook shows it, each dict put on a line of its own.
            entries = " ".join(shown.split()).removeprefix("[").replace("}, {", "}\n{")
            content = _in_memory(path, entries + "\n")
            with suppress(InputError):
                yield _Log("a list of log entries", position, trl_console.read(content))


def _console(text: str, position: int, path: str) -> Iterator[_Log]:
    """Try the readers of consoles, which have a console's suffix, and then look for JSON lines."""
    content = _in_memory(path, text)
    for reader in READERS:
        if ".log" in reader.suffixes and reader.name not in ("csv", "jsonl") and reader.recognises(content):
            with suppress(InputError):
                yield _Log(reader.name, position, reader.read(content))
                return
    lines = list(filter(re.compile(r"\s*\{\".*\}\s*").fullmatch, text.splitlines()))
    if len(lines) > 1:
        with suppress(InputError):
            table = jsonl.read(_in_memory(path, "\n".join(lines) + "\n"))
            has_step = not {folded(name) for name in table.columns}.isdisjoint(map(folded, STEP_NAMES))
            if has_step and any(map(catalog.is_metric, table.columns)):
                yield _Log("jsonl", position, table)


def _html_tables(text: str) -> Iterator[Table]:
    """Yield the tables that a Trainer shows: those whose first column is the step, or the epoch."""
    for ended in text.split("</table")[:-1]:
        rows: list[list[str]] = []
        for tag, cell in _HTML.findall(ended.partition("<table")[2]):
            if tag.lower() == "tr":
                rows.append([])
            elif rows:
                rows[-1].append(html.unescape(cell).strip())
        header, *below = rows or [[]]
        steps = [parse_number(row[0]) for row in below if row and header[:1] in (["Step"], ["Epoch"])]
        if len(header) < 2 or np.isnan(steps).all():
            continue
        # A column that the table renames gets the name under which a Trainer logs it.
        names, notes = unique_names(
            _NAMES.get(name)
            or ("eval_" + name.lower().replace(" ", "_") if name[:1].isupper() else name.replace(" / ", "/"))
            for name in header
        )
        fitting = [row for row in below if len(row) <= len(names)]
        # Fillers in the first row: a float has decimals, a bare 0 is no measurement.
        fillers = 0
        for column in range(1, len(fitting[0]) if fitting else 0):
            others = [row[column].casefold() for row in fitting[1:] if column < len(row)]
            if fitting[0][column] == "0" and all("." in cell or cell in _NOTHING for cell in others):
                fitting[0][column] = ""
                fillers += 1
        records = Records()
        for row in fitting:
            cells = (None if cell.casefold() in _NOTHING else cell for cell in row)
            records.add(dict(zip(names, cells, strict=False)))
        columns, more = records.columns(sum(map(len, below)) * 8)
        said = ["the Trainer's table shows six decimals, to which its values are rounded"]
        if fillers:
            said.append(f"{counted(fillers, 'cell')} of its first row with a bare 0, which means no value")
        too_long = len(below) - len(fitting)
        dropped = {TOO_LONG: too_long} if too_long else {}
        yield Table(columns=columns, rows=len(below), dropped=dropped, notes=(*said, *notes, *more))


def _merged(logs: Sequence[_Log], content: Content) -> Table:
    """Put the logs of one kind behind each other, in the order of their cells."""
    kinds: dict[str, list[_Log]] = {}
    for log in logs:
        kinds.setdefault(log.kind, []).append(log)

    def rank(kind: str) -> tuple[bool, int]:  # with an entropy before without, then by the number of cells
        names = tuple(dict.fromkeys(name for log in kinds[kind] for name in log.table.columns))
        entropy = bool(catalog.matches("entropy", names, catalog.detect(names).trainer))
        return entropy, sum(log.table.rows * len(log.table.columns) for log in kinds[kind])

    best = max(kinds, key=rank)
    chosen = kinds.pop(best)
    records, rows, dropped, settings = Records(), 0, Counter[str](), dict[str, object]()
    said: dict[str, None] = {}
    for _, _, table in chosen:
        for row in zip(*table.columns.values(), strict=True):
            records.add(dict(zip(table.columns, row, strict=True)))
        rows += table.rows
        dropped.update(table.dropped)
        settings |= table.settings
        said |= dict.fromkeys(table.notes)
    left = (f"what {_where(logs)} hold of another log ({kind}) was left out" for kind, logs in kinds.items())
    notes = (f"read from {_where(chosen)} of the notebook ({best})", *left, *said)
    return records.table(content, dropped, notes, rows=rows, settings=settings)


def _where(logs: Sequence[_Log]) -> str:
    positions = list(dict.fromkeys(log.position for log in logs))
    listed = ", ".join(map(str, positions[:12]))
    more = f" and {len(positions) - 12} more" if len(positions) > 12 else ""
    return f"the outputs of cell{'s' if len(positions) > 1 else ''} {listed}{more}"


def _in_memory(path: str, text: str) -> Content:
    return Content(path, text.encode(errors="replace"))


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _objects(value: object) -> list[dict[str, Any]]:
    return [item for item in _listed(value) if isinstance(item, dict)]


def _text(value: object) -> str:
    """Return a text of a notebook, which may be a list of its lines."""
    parts = value if isinstance(value, list) else [value]
    return "".join(part for part in parts if isinstance(part, str))


def _corrupt(content: Content, what: str) -> InputError:
    hint = "copy the notebook again, or open it in Jupyter and save it; what a cell printed can also be "
    return content.error("file-corrupt", what, f"{hint}pasted into a text file")
