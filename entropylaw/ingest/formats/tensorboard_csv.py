"""A curve downloaded from TensorBoard's web page: one metric of one run, as CSV or as JSON.

It holds, by plugins/scalar/scalars_plugin.py in tensorboard 2.21, the header ``Wall time,Step,Value``, or a
list of such triples, whose nan and infinities backend/json_util.py makes text. Its name is, by the page's
tf_dashboard_common/tf-downloader.ts, ``run-RUN-tag-TAG``, in which browsers make ``/`` a ``_``; older pages
wrote ``run_RUN-tag-TAG`` and ``run_RUN,tag_TAG``. The time series dashboard calls it ``RUN`` alone.
"""

from __future__ import annotations

import codecs
import csv
import re
from copy import copy
from dataclasses import replace
from pathlib import PurePath

import numpy as np

from entropylaw.errors import InputError
from entropylaw.ingest import packed
from entropylaw.ingest.content import Content
from entropylaw.ingest.formats import delimited
from entropylaw.ingest.formats.jsonl import UNPARSEABLE
from entropylaw.ingest.table import Table, unique_names
from entropylaw.ingest.values import Column, classify, parse_number
from entropylaw.ingest.wording import shown_path

_NUMBER = r"-?[0-9]{1,20}(?:\.[0-9]{1,40})?(?:[eE][-+]?[0-9]{1,4})?"
_POINT = re.compile(
    rf'\[\s*({_NUMBER})\s*,\s*(-?[0-9]{{1,18}})\s*,\s*({_NUMBER}|"?-?(?:NaN|Infinity)"?)\s*\]'
)
_LIST = re.compile(r"\s*\[\s*(?=\[)")
_NAMED = re.compile(r"run[-_](?P<run>.*)(?:-tag-|,tag_)(?P<tag>.+)", re.DOTALL)
# What browsers and Windows add to the name of a further copy.
_COPY = re.compile(r"(?: - Copy)?(?: ?\([0-9]{1,4}\))?\Z")


def recognises(content: Content) -> bool:
    """Whether it has that header, or opens with a wall time, a step and a value."""
    head = _head(content) if content.is_text else ""
    opening = _LIST.match(head)
    point = _POINT.match(head, opening.end()) if opening else None
    # Wall times are seconds since 1970. Without one, a list of triples may be anything.
    return _has_header(head) or (point is not None and 1e8 < float(point[1]) < 1e11)


def read(content: Content) -> Table:
    """Read a single curve, which its name tells, as a part of its run's log.

    Raises ``metric-unnamed`` where the name does not tell the metric, ``no-records`` where there is no point.
    """
    (run, tag), head = _named(content), _head(content)
    table = Table(columns={}, rows=0)
    if _has_header(head):
        whole = copy(content)
        whole.useful = None  # in a large file, neither of these columns would be known
        table = delimited.read(whole)
    elif _LIST.match(head):
        text = content.text  # of a list that was cut off as well
        points = [(int(point[2]), parse_number(point[3])) for point in _POINT.finditer(text)]
        bad = text.count("[") - 1 - len(points)
        values = np.array(points, dtype=np.float64).reshape(-1, 2)
        given: dict[str, Column] = {"step": values[:, 0], "value": values[:, 1]} if points else {}
        dropped = {UNPARSEABLE: bad} if bad > 0 else {}
        table = Table(columns=given, rows=len(points) + bad, dropped=dropped, notes=content.text_notes)
    if not table.columns:
        what = "holds no point of a curve as TensorBoard's page gives it ('Wall time,Step,Value')"
        hint = "download it again once the run has logged something, or leave the format out"
        raise InputError("no-records", f"{shown_path(content.path)} {what}", hint)
    cells = {name.strip().casefold(): column for name, column in table.columns.items()}
    (step, label, metric), notes = unique_names(("step", "run", tag))
    columns: dict[str, Column] = {step: cells["step"], metric: cells["value"]}
    if run:
        columns[label] = [run] * len(cells["step"])
    if table.rows == 1000:  # by default, drawn from all that were logged
        notes += ("1000 points, as many as TensorBoard's page gives: steps between may be missing",)
    return replace(table, columns=columns, notes=(*table.notes, *notes), partial=True, unreadable=None)


def _head(content: Content) -> str:
    start = content.head[: 1 << 12]
    wide = start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return start.decode("utf-16" if wide else "utf-8-sig", "replace").lstrip()


def _has_header(head: str) -> bool:
    cells = [next(csv.reader(head.splitlines()[:1], delimiter=mark), []) for mark in ",;\t"]
    return any([cell.strip().casefold() for cell in row] == ["wall time", "step", "value"] for row in cells)


def _named(content: Content) -> tuple[str, str]:
    """Return the run, empty where the name has none or TensorBoard's ``.``, and the tag."""
    stem = PurePath(content.path).name
    for suffixes in (tuple(packed.SUFFIXES) if content.packed else (), (".csv", ".json")):
        if stem.casefold().endswith(suffixes):
            stem = stem.rpartition(".")[0]
    found = _NAMED.fullmatch(_COPY.sub("", stem, count=1).strip())
    if found is None:
        what = "standard input" if content.path == "-" else shown_path(content.path)
        what += " is a curve downloaded from TensorBoard, which holds steps and values of one metric and "
        what += "does not say which; its name should, as in 'run-NAME-tag-actor_entropy.csv'"
        hint = "rename it to run-NAME-tag-TAG.csv, with the metric's name as TAG, beside the run's other"
        raise InputError("metric-unnamed", what, f"{hint} curves")
    run, tag = found["run"].strip(), found["tag"].strip()
    if classify(run)[1]:
        return "" if run == "." else run, tag
    return f"run {run}" if run else "", tag  # a number alone would pass for a metric
