"""ROLL's console: ``metrics_tag: {"step": 3, "metrics": {"critic/entropy/mean": 0.4, …}}`` behind a prefix.

From alibaba/ROLL 0.3.0: ``StdoutTracker.log`` in ``roll/utils/tracking.py`` prints that line. With another
tracker, ``run`` in ``roll/pipeline/rlvr/rlvr_pipeline.py`` and ``roll/pipeline/agentic/agentic_pipeline.py``
still prints the bare metrics as JSON on every ``logging_steps``-th step, between ``pipeline step 3 start...``
(agentic: ``pipeline rollout global step 3 start...``) and ``pipeline step 3 finished``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from entropylaw.errors import InputError
from entropylaw.ingest.content import Content
from entropylaw.ingest.gather import Records
from entropylaw.ingest.table import Table
from entropylaw.ingest.values import parse_number
from entropylaw.ingest.wording import shown_path

_TAG = "metrics_tag: {"
_TELLS_TAG = re.compile(r'metrics_tag: \{"step": (?:\d|null)')
_STARTS = re.compile(r"pipeline (?:rollout global )?step (\d{1,9}) start", re.ASCII)
# Metrics alone: some of these keys are in every step's, whatever is trained.
_BARE = re.compile(r'(?:^|\s)(?=\{")')
_FAMILIES = ("time/step_", "critic/", "system/", "val_correct/")
_TELLS_BARE = re.compile(rf'"(?:{"|".join(_FAMILIES)})')
# int() refuses more than 4300 digits; float() makes them infinite, which pairing counts.
_DECODER = json.JSONDecoder(parse_int=float)
# A step's metrics are some hundreds; JSON may take 30 times its length in memory.
_LONGEST = 1 << 20
# To recognise it, so many lines are looked at.
_MOST_TRIED = 1000

BAD_METRICS = "unreadable metrics of a step"


class RollConsoleReader:
    """Reads what ROLL prints, with its stdout tracker or without."""

    name = "roll"
    suffixes = (".log", ".out", ".txt")
    about = "`metrics_tag: {…}`, or the metrics that its pipelines log"

    def recognises(self, content: Content) -> bool:
        """Whether the metrics of a step are printed anywhere."""
        opening = content.opening
        if _TAG in opening and _TELLS_TAG.search(opening):
            return True
        started = _STARTS.search(opening) if "pipeline " in opening else None
        return started is not None and _shows_metrics(opening, started.end())

    def read(self, content: Content) -> Table:
        """Read it, line by line; lines of the tracker are preferred to bare metrics.

        Raises
        ------
        InputError
            ``no-records`` where no line holds the metrics of a step.

        """
        tagged, bare = _Kind(content), _Kind(content)
        step: float | None = None
        for line in content.lines():
            if _TAG in line:
                entry = _decoded(line, line.index(_TAG) + len(_TAG) - 1)
                metrics = entry.get("metrics") if entry else None
                tagged.take(metrics, entry.get("step") if entry else None)
            elif "pipeline " in line and (started := _STARTS.search(line)):
                step = float(started[1])
            elif step is not None and not tagged.records.rows and (found := _bare(line)):
                bare.take(found, step)
        best = tagged if tagged.records.rows else bare
        if not best.records.rows:
            raise InputError(
                "no-records",
                f"{shown_path(content.path)} holds no readable metrics of ROLL's console "
                '(metrics_tag: {"step": 1, "metrics": {…}})',
                "check the file, or leave the format out and let the content decide",
            )
        columns, notes = best.records.columns(content.extent)
        how = "no line of ROLL's stdout tracker: metrics are those that the pipeline itself prints"
        return Table(
            columns=columns,
            rows=best.records.rows + tagged.bad,
            dropped={BAD_METRICS: tagged.bad} if tagged.bad else {},
            notes=(*content.text_notes, *([how] if best is bare else []), *notes),
            unread=tuple(best.records.unread),
        )


class _Kind:
    """The records of one kind of line, and how many were unreadable."""

    def __init__(self, content: Content) -> None:
        self.records = Records(content.wanted)
        self.bad = 0

    def take(self, metrics: object, step: object) -> None:
        """Take the metrics of a step, anything but a mapping for unreadable ones."""
        values = _numbers(metrics) if isinstance(metrics, dict) else {}
        if values:
            self.records.add({"step": step, **values})
        else:
            self.bad += 1


def _shows_metrics(text: str, position: int) -> bool:
    """Whether there is a line of bare metrics behind this place."""
    for _ in range(_MOST_TRIED):
        found = _TELLS_BARE.search(text, position)
        if found is None:
            return False
        end = text.find("\n", found.end())
        position = len(text) if end < 0 else end
        if _bare(text[text.rfind("\n", 0, found.start()) + 1 : position]):
            return True
    return False


def _bare(line: str) -> dict[str, Any] | None:
    """Return the metrics that are all that the logger was given, None where the line holds no such."""
    found = _BARE.search(line) if '{"' in line and _TELLS_BARE.search(line) else None
    value = _decoded(line, found.end()) if found else None
    known = value is not None and any(name.startswith(_FAMILIES) for name in value)
    return value if value and known and _numbers(value) else None


def _decoded(line: str, position: int) -> dict[str, Any] | None:
    """Return the object that opens here, None where it is none or does not end."""
    if len(line) > _LONGEST:
        return None
    try:
        value, _ = _DECODER.raw_decode(line, position)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _numbers(value: Mapping[str, Any]) -> dict[str, float]:
    """Collect numbers by path; a stack of our own, for a file decides how deep it goes."""
    flat: dict[str, float] = {}
    stack: list[tuple[str, Any]] = list(value.items())[::-1]
    while stack:
        path, node = stack.pop()
        if isinstance(node, Mapping):
            stack.extend((f"{path}/{key}", child) for key, child in list(node.items())[::-1])
        elif node is None or (isinstance(node, (int, float, str)) and not isinstance(node, bool)):
            number = parse_number(node)
            if number == number or not isinstance(node, str):
                flat[path] = number
    return flat
