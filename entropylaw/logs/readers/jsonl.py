"""JSON: an object per line, an array of objects, objects over several lines, or an object of columns.

Nested objects are flattened with ``/``; verl's ``{"step": …, "data": {…}}`` loses its ``data``. Media
(``{"_type": "histogram", …}``) and lists are no metrics and are left out.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import MsgspecError
from msgspec.json import Decoder

from entropylaw.errors import InputError
from entropylaw.escaping import counted
from entropylaw.logs.catalog import is_evaluation
from entropylaw.logs.runs import Table
from entropylaw.logs.sources.content import Content
from entropylaw.logs.sources.gather import Records
from entropylaw.logs.sources.kinds import KIND
from entropylaw.logs.suggest import measured, measured_numbers, names_an_entropy

_OPENS = re.compile(r"\s*(?:\{\s*[\"}]|\[\s*[\[{\]])")
_RECORD_LINE = re.compile(r"\s*\{\s*\"")
# A key and a text or a number, anywhere in a line that is no JSON.
_PAIR = re.compile(r"\"([^\"\\]{1,80})\"\s*:\s*(\"(?:[^\"\\]|\\.){0,400}\"|-?\d[\d.eE+-]{0,40})")
# A text of a logger that names a metric.
_TEXT = r"(?:[^\"\\\n]|\\.){0,400}"
_MESSAGE = re.compile(rf"\"(?:message|msg|event)\"\s*:\s*\"{_TEXT}(?:entrop|reward){_TEXT}\"", re.IGNORECASE)
_ARRAY = re.compile(r"\[\s*\{")
_GAP = re.compile(r"[ \t\r\n,\0]*")
_BETWEEN = re.compile(r"\}\s*,?\s*(?=\{)")
_HEAD = 1 << 16
# Names below one another add up; a longer one is no metric's.
_LONGEST_PATH = 1000
# Fewer records beside those of a run are not another run.
_SHORTEST_RUN = 5
_SCALARS = {str, int, float, bool, type(None)}

UNPARSEABLE = "unparseable line"


def recognises(content: Content) -> bool:
    """Whether it opens like JSON, or half of its first lines are objects."""
    if not content.is_text and b'{"' not in content.head:
        return False
    text = content.opening[:_HEAD]
    if _MESSAGE.search(text) and not measured_numbers(_MESSAGE.sub("", text)):
        return False  # lines of a logger, with the metrics in a text
    if _OPENS.match(text):
        return True
    lines = [line for line in text.splitlines() if line.strip()][:50]
    return sum(_RECORD_LINE.match(line) is not None for line in lines) * 2 > len(lines)


def read(content: Content) -> Table:
    """Read it; raises ``no-records`` where nothing in the file is an object."""
    values = _Values(content, _lines(content))
    if values.bad > values.good:
        streamed = _Values(content, _stream(content.text))
        values = streamed if not streamed.bad or streamed.good > values.good else values
    values.finish()
    rows = values.records.rows
    if not rows:
        raise _no_records(content)
    half_written = None
    broken = values.bad
    lost_bytes = values.lost_bytes
    if isinstance(values.last, _Broken) and not content.ended and values.last.number is not None:
        half_written = values.last.number
        broken -= 1
        lost_bytes -= values.last.size
    return values.records.table(
        content,
        {UNPARSEABLE: broken},
        rows=rows + values.bad,
        hidden=values.hidden,
        broken=broken,
        lost_bytes=lost_bytes,
        half_written=half_written,
    )


def leaves(
    value: Mapping[str, Any], longest: int, separator: str = "/", left_out: list[object] | None = None
) -> Iterator[tuple[str, object]]:
    """Yield what is no list and no medium (``{"_type": "histogram", …}``) by its path, in order.

    A path with more than ``longest`` characters is left out. What is, is added to ``left_out``.
    """
    # No recursion, for a file decides how deep it goes.
    stack = list(value.items())[::-1]
    while stack:
        path, node = stack.pop()
        if len(path) > longest or isinstance(node, list) or (isinstance(node, Mapping) and "_type" in node):
            if left_out is not None:
                left_out.append({path: node})
        elif not isinstance(node, Mapping):
            yield path, node
        else:
            stack += [(f"{path}{separator}{key}", child) for key, child in node.items()][::-1]


def numbers_of_metrics(values: Sequence[object]) -> int:
    """How many numbers stand in parts of a record, if their keys or a list of names have a metric's name."""
    names = set[str]()
    count = 0
    stack = list(values)
    while stack:
        node = stack.pop()
        if isinstance(node, Mapping):
            names.update(map(str, node))
            stack += node.values()
        elif isinstance(node, list):
            stack += node
        elif isinstance(node, str):
            names.add(node)
        else:
            count += isinstance(node, int | float)
    return count if measured(names) else 0


class _Broken(NamedTuple):
    """A text of so many characters that is no JSON; its number where it is a line alone."""

    size: int = 0
    number: int | None = None


class _Values:
    """Takes JSON values one by one. The first waits for a second: alone, it may hold all records."""

    def __init__(self, content: Content, values: Iterable[object]) -> None:
        self.records = Records(content.column_filter)
        self.good = 0
        #: How many values are no record.
        self.bad = 0
        #: Row of a record → the numbers of metrics in its parts that are not read.
        self.hidden: dict[int, int] = {}
        #: Characters of what is no JSON.
        self.lost_bytes = 0
        self._first: object = None
        self.last: object = None
        for value in values:
            self.last = value
            good = not isinstance(value, _Broken)
            self.good += good
            if good and self.good == 1:
                self._first = value
                continue
            if good and self.good == 2:
                self._add(self._first)
            self._add(value)

    def finish(self) -> None:
        """Add the first value where it is the only one."""
        if self.good != 1:
            return
        only = self._first
        if points := _of_curves(only):
            only = points
        elif isinstance(only, dict) and not _columns(only):
            only = _whole_log(only) or only
        values = only if isinstance(only, list) else [only]
        for value in values:
            self._add(value, alone=len(values) == 1)

    def _add(self, value: object, *, alone: bool = True) -> None:
        """Add a value; one that is ``alone`` may be an object of columns."""
        if isinstance(value, _Broken):
            self.lost_bytes += value.size
        if not isinstance(value, dict):
            self.bad += 1
            return
        if alone and (columns := _columns(value)):
            for row in zip(*columns.values(), strict=True):
                self._put(dict(zip(columns, row, strict=True)))
            return
        data = value.get("data")
        if isinstance(data, dict) and "step" in value and "_type" not in data:
            value.update(value.pop("data"))
        self._put(value)

    def _put(self, value: dict[str, Any]) -> None:
        """Add a record, flattened."""
        longest = max(map(len, value), default=0)
        if longest > _LONGEST_PATH or not _SCALARS.issuperset(map(type, value.values())):
            left_out = list[object]()
            value = dict(leaves(value, _LONGEST_PATH, left_out=left_out))
            if numbers := numbers_of_metrics(left_out):
                self.hidden[self.records.rows] = numbers
        self.records.add(value)


def _lines(content: Content) -> Iterator[object]:
    """Yield the values of the lines that are JSON, and a ``_Broken`` for each that is not."""
    decode = Decoder().decode
    for number, line in enumerate(content.lines(), start=1):
        line = line.strip()
        if not line:
            continue
        text = line.strip("\0")
        # So many NULs within a file are more than one record that was not written.
        if len(line) - len(text) >= 256:
            yield from (_Broken(), _Broken())
        if _ARRAY.match(text) or _BETWEEN.search(text):
            # Several records on a line are read one by one, so that they are never in memory together.
            yield from _stream(text)
            continue
        try:
            yield decode(text)
        except (MsgspecError, RecursionError):
            # It refuses NaN, infinite numbers and single surrogates, which Python writes.
            try:
                yield json.loads(text)
            except (ValueError, RecursionError):
                yield _Broken(len(line), number)


def _stream(text: str) -> Iterator[object]:
    """Yield the values of a text, those of an array (even an open one) one by one, then what is no JSON."""
    decoder = json.JSONDecoder()
    position = 0
    inside = False
    while (position := _GAP.match(text, position).end()) < len(text):  # type: ignore[union-attr]
        if text[position] == ("]" if inside else "["):
            inside = not inside
            position += 1
            continue
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            yield from (_Broken(len(piece)) for piece in _BETWEEN.split(text[position:]) if piece)
            return
        yield value


def _columns(value: object) -> dict[str, list[object]]:
    """Return the columns of an object whose every value is a list of the same length, else nothing."""
    if not isinstance(value, dict) or not all(isinstance(cells, list) for cells in value.values()):
        return {}
    lengths = {len(cells) for cells in value.values()}
    # Lists of records are tables, not columns.
    tables = all(isinstance(next(iter(cells), None), dict) for cells in value.values())
    return dict(value) if len(lengths) == 1 and lengths != {0} and not tables else {}


def _of_curves(value: object) -> list[dict[str, object]]:
    """The points of ClearML's scalars, in the order of their curves; none of anything else.

    They are ``{title: {series: {"x": […], "y": […]}}}``, as ``Task.get_reported_scalars`` in clearml returns
    them, or ``{"data": [{"name": series, "x": […], "y": […]}], "layout": {"title": …}}`` from its page.
    """
    titles = value if isinstance(value, dict) else {}
    if isinstance(traces := titles.get("data"), list) and isinstance(layout := titles.get("layout"), dict):
        named = {trace.get("name"): trace for trace in traces if isinstance(trace, dict)}
        titles = {layout.get("title"): named}
    points: list[dict[str, object]] = []
    for title, curves in titles.items():
        for series, curve in curves.items() if isinstance(curves, dict) else [("", None)]:
            steps, values = (curve.get("x"), curve.get("y")) if isinstance(curve, dict) else (None, None)
            if not isinstance(steps, list) or not isinstance(values, list) or len(steps) != len(values):
                return []
            row = {"title": title, "series": series}
            points += [{**row, "step": x, "value": y} for x, y in zip(steps, values, strict=True)]
    return points


def _whole_log(value: Mapping[str, Any]) -> list[dict[str, object]]:
    """The records in an object that is none itself, as in ``{"config": …, "history": […]}``.

    They are in it, or one level below, and one of them has an entropy. Evaluations beside them are marked;
    other records with an entropy are those of another run.
    """
    if names_an_entropy(name for name, cell in value.items() if not isinstance(cell, list | dict)):
        return []
    tables = {name: _records_in(node) for name, node in {"": value, **value}.items()}
    runs = list[str]()
    for name, rows in tables.items():
        paths = (path for row in rows[:100] for path, _ in leaves(row, _LONGEST_PATH))
        if (not runs or len(rows) >= _SHORTEST_RUN) and not is_evaluation(name) and names_an_entropy(paths):
            runs.append(name)
    if "" in runs:
        runs = [""]
    if len(runs) == 1:
        kinds = {name: name for name in tables if is_evaluation(name)} | {runs[0]: "train"}
        return [{KIND: kind, **row} for name, kind in kinds.items() for row in tables[name]]
    return [{"run": name, **row} for name in runs for row in tables[name]]


def _records_in(node: object) -> list[dict[str, object]]:
    """The records in a list, or in an object that numbers them by their steps or has columns of them."""
    if isinstance(node, list):
        return node if all(isinstance(row, dict) for row in node) else []
    if not isinstance(node, dict):
        return []
    if all(name.isdecimal() and isinstance(row, dict) for name, row in node.items()):
        return [{"step": float(name), **row} for name, row in node.items()]
    return _records_of_columns(node)


def _records_of_columns(node: Mapping[str, object]) -> list[dict[str, object]]:
    """The records of the columns in an object: lists, or objects as of pandas, joined by their keys.

    Columns of another length than most are left out; nothing where one of them is a metric.
    """
    columns = dict[str, dict[str, object]]()
    for name, cells in node.items():
        by_key = {str(row): cell for row, cell in enumerate(cells)} if isinstance(cells, list) else cells
        if isinstance(by_key, dict) and not isinstance(next(iter(by_key.values()), None), list | dict):
            columns[name] = by_key
    (length, _), *_ = [*Counter(map(len, columns.values())).most_common(1), (0, 0)]
    if measured([name for name, cells in columns.items() if len(cells) not in (0, length)]):
        return []
    columns = {name: cells for name, cells in columns.items() if len(cells) == length}
    keys = list(dict.fromkeys(key for cells in columns.values() for key in cells))
    if all(map(str.isdecimal, keys)):
        keys.sort(key=int)
    return [{name: cells.get(key) for name, cells in columns.items()} for key in keys]


def _no_records(content: Content) -> InputError:
    return content.error(
        "no-records",
        f"holds no JSON object in its {counted(content.size, 'byte')}",
        'one object per line is expected, e.g. {"step": 1, "entropy": 0.5, "reward": 0.2}',
    )
