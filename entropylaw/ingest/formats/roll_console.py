"""ROLL's console: ``metrics_tag: {"step": 3, "metrics": {"critic/entropy/mean": 0.4, …}}`` behind a prefix.

From alibaba/ROLL 0.3.0: ``StdoutTracker.log`` in ``roll/utils/tracking.py`` prints that line. With another
tracker, ``run`` in ``roll/pipeline/rlvr/rlvr_pipeline.py`` and ``roll/pipeline/agentic/agentic_pipeline.py``
still prints the bare metrics as JSON on every ``logging_steps``-th step, between ``pipeline step 3 start...``
(agentic: ``pipeline rollout global step 3 start...``) and ``pipeline step 3 finished``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from entropylaw.ingest.formats.console import Console, Printout, Row, lines
from entropylaw.ingest.formats.records import leaves
from entropylaw.ingest.values import json_at, parse_number

_TAG = "metrics_tag: {"
_STARTS = re.compile(r"pipeline (?:rollout global )?step (\d{1,9}) start", re.ASCII)
# Metrics alone: some of these keys are in every step's, whatever is trained.
_BARE = re.compile(r'(?:^|\s)(?=\{")')
_FAMILIES = ("time/step_", "critic/", "system/", "val_correct/")
_SHOWN_BARE = re.compile(rf'"(?:{"|".join(_FAMILIES)})[^\n]*')
# A step's metrics are some hundreds; JSON may take 30 times its length in memory.
_LONGEST = 1 << 20

BAD_METRICS = "unreadable metrics of a step"


def matches(text: str) -> bool:
    """Whether the tracker's line is there, or a line of bare metrics behind the start of a step."""
    if _TAG in text and re.search(r'metrics_tag: \{"step": (?:\d|null)', text):
        return True
    started = _STARTS.search(text)
    found = _SHOWN_BARE.finditer(text, started.end()) if started else ()
    # So many lines are looked at.
    return any(_bare(text[text.rfind("\n", 0, one.start()) + 1 : one.end()]) for one in islice(found, 1000))


def rows(tagged: Iterable[str], printout: Printout) -> Iterator[Row]:
    """Yield the records of the tracker's lines, or where none can be read, those of bare metrics."""
    found, step = False, None
    for line in tagged:
        entry = _decoded(line, line.index(_TAG) + len(_TAG) - 1)
        if values := _numbers(entry.get("metrics")):
            found = True
            yield {"step": entry.get("step"), **values}
        else:
            printout.lost += 1
            printout.dropped[BAD_METRICS] += 1
    if not found:
        what = "no line of ROLL's stdout tracker: metrics are those that the pipeline itself prints"
        printout.notes.append(what)
        for line in lines(printout.content):
            if _TAG not in line and (started := _STARTS.search(line)):
                step = float(started[1])
            elif _TAG not in line and step is not None and (values := _bare(line)):
                yield {"step": step, **values}


def _bare(line: str) -> dict[str, float]:
    """Return the metrics that are all that the logger was given; none where the line holds no such."""
    found = _BARE.search(line) if '{"' in line and _SHOWN_BARE.search(line) else None
    value = _decoded(line, found.end()) if found else {}
    return _numbers(value) if any(name.startswith(_FAMILIES) for name in value) else {}


def _decoded(line: str, position: int) -> dict[str, Any]:
    """Return the object that opens here, empty where it is none or does not end."""
    value, _ = json_at(line, position) if len(line) <= _LONGEST else (None, 0)
    return value if isinstance(value, dict) else {}


def _numbers(value: object) -> dict[str, float]:
    found = leaves(value, _LONGEST) if isinstance(value, dict) else ()
    numbers = ((path, cell, parse_number(cell)) for path, cell in found if not isinstance(cell, bool))
    return {path: number for path, cell, number in numbers if number == number or not isinstance(cell, str)}


CONSOLE = Console(
    rows=rows,
    matches=matches,
    needle=_TAG,
    form='readable metrics of ROLL\'s console (metrics_tag: {"step": 1, "metrics": {…}})',
)
