"""verl's console: ``step:12 - actor/entropy:0.354 - critic/score/mean:0.433`` somewhere in a line.

Before it may stand colour, Ray's ``(TaskRunner pid=123)`` or a progress bar that ends in a carriage return;
around it, all the rest that a job prints.
"""

from __future__ import annotations

import math
import re

from entropylaw.errors import InputError
from entropylaw.ingest.content import Content
from entropylaw.ingest.gather import Records
from entropylaw.ingest.table import Table
from entropylaw.ingest.values import is_missing, parse_number
from entropylaw.ingest.wording import shown_path

# Not after a word or a slash: "training/global_step:3 - " is a pair inside such a line, not its start.
_STEP = re.compile(r"(?<![\w/])step:(\d+) - ")
_LINE_END = re.compile(r"[\r\n]+")
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_CALL_PAIR = re.compile(r"([^:]+)(:)((?:\w+\.)?\w+\(.*\))", re.DOTALL)

BAD_PAIR = "unreadable key:value pair"


class VerlConsoleReader:
    """Reads what verl prints, from any of its versions."""

    name = "verl"
    suffixes = (".log", ".out", ".txt")
    about = (
        "`step:12 - actor/entropy:0.354 - …` anywhere in a line, with colour, Ray's prefix or a "
        "progress bar before it; so DAPO, PRIME, rLLM"
    )

    def recognises(self, content: Content) -> bool:
        """Whether a step is printed anywhere; a job may print for minutes before its first."""
        return "step:" in content.opening and _STEP.search(content.opening) is not None

    def read(self, content: Content) -> Table:
        """Read it, line by line.

        Raises
        ------
        InputError
            ``no-records`` where no line holds a step.

        """
        records = Records(content.wanted)
        bad = 0
        for block in content.blocks():
            for line in _LINE_END.split(block) if "step:" in block else ():
                if "step:" in line:
                    found = _STEP.search(line := _ANSI.sub("", line))
                    if found:
                        record, unreadable = _pairs(line[found.start() :])
                        records.add(record)
                        bad += unreadable
        if not records.rows:
            raise InputError(
                "no-records",
                f"{shown_path(content.path)} holds no line of verl's console "
                "('step:1 - actor/entropy:0.35 - …')",
                "check the file, or leave the format out and let the content decide",
            )
        columns, notes = records.columns(content.extent)
        return Table(
            columns=columns,
            rows=records.rows,
            dropped={BAD_PAIR: bad} if bad else {},
            notes=(*content.text_notes, *notes),
            unread=tuple(records.unread),
        )


def _number(text: str) -> float:
    """Read what nearly all values are; nan for all else, which is looked at closely."""
    if not text.isascii() or "_" in text:
        return math.nan
    try:
        return float(text)
    except ValueError:
        return math.nan


def _pairs(line: str) -> tuple[dict[str, object], int]:
    """Return the pairs of one line, and the number of those that are none."""
    record: dict[str, object] = {}
    bad = 0
    for pair in line.split(" - "):
        key, _, value = pair.rpartition(":")
        number = _number(value)
        if number != number:
            called = _CALL_PAIR.fullmatch(pair.strip())
            key, _, value = called.groups() if called else (key, "", value)
            number = parse_number(value)
        if not key.strip() or (math.isnan(number) and not is_missing(value)):
            bad += 1
        else:
            record[key.strip()] = number
    return record, bad
