"""verl's console: ``step:12 - actor/entropy:0.354 - critic/score/mean:0.433`` somewhere in a line.

Before it may stand colour, Ray's ``(TaskRunner pid=123)`` or a progress bar that ends in a carriage return;
around it, all the rest that a job prints.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

from entropylaw.ingest.formats.console import BAD_PAIR, Console, Printout, Row
from entropylaw.ingest.values import classify

# Not after a word or a slash: "training/global_step:3 - " is a pair inside such a line, not its start.
_STEP = re.compile(r"(?<![\w/])step:(\d+) - ")
_CALL_PAIR = re.compile(r"([^:]+)(:)((?:\w+\.)?\w+\(.*\))", re.DOTALL)


def rows(lines: Iterable[str], printout: Printout) -> Iterator[Row]:
    """Yield the pairs of each line with a step."""
    for found in filter(None, map(_STEP.search, lines)):
        record: dict[str, float] = {}
        for pair in found.string[found.start() :].split(" - "):
            key, _, value = pair.rpartition(":")
            try:  # nearly all values are plain numbers; all else is looked at closely
                number = float(value) if value.isascii() and "_" not in value else math.nan
            except ValueError:
                number = math.nan
            is_text = False
            if number != number:
                called = _CALL_PAIR.fullmatch(pair.strip())
                key, _, value = called.groups() if called else (key, "", value)
                number, is_text = classify(value)
            if is_text or not key.strip():
                printout.dropped[BAD_PAIR] += 1
            else:
                record[key.strip()] = number
        yield record


CONSOLE = Console(
    rows=rows,
    matches=_STEP.search,
    needles=("step:",),
    needle="step:",
    form="line of verl's console ('step:1 - actor/entropy:0.35 - …')",
)
