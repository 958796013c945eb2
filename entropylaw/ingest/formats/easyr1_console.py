"""EasyR1's console: ``Step 3``, and below it the step's metrics as nested YAML.

From hiyouga/EasyR1 0.3.2: ``ConsoleLogger.log`` in ``verl/utils/logger/logger.py`` prints both with an empty
line behind them; ``verl/utils/py_functional.py`` splits keys at ``/`` and rounds numbers to three decimals.
Ray puts its ``(Runner pid=123)`` before every line, and other processes' lines between them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from entropylaw.errors import InputError
from entropylaw.ingest.content import Content
from entropylaw.ingest.gather import Records
from entropylaw.ingest.table import Table
from entropylaw.ingest.values import is_missing, parse_number
from entropylaw.ingest.wording import shown_path

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_RAY = re.compile(r"\([^()]{1,200}pid=\d{1,10}[^()]{0,80}\) ?", re.ASCII)
# A progress bar may have been left open before it.
_STEP = re.compile(r"(?:^|[\]\r])Step (\d{1,9})$", re.ASCII)
_STEP_LINE = re.compile(r"(?<![\w/])Step \d{1,9}[\r ]{0,2}(?:\x1b\[0m)?\r?\n", re.ASCII)
# What the trainer itself logs, so that other lists of steps are not taken for its own.
_FAMILIES = ("actor/", "critic/", "reward/", "val/", "response_length/", "global_seqlen/")
_FLOATS = re.compile(r"!!(?:float|int) '([^']{0,400})'")
_SPECIAL = {".nan": math.nan, ".inf": math.inf, "-.inf": -math.inf, "true": None, "false": None}
_DEEPEST = 8
_LONGEST = 1000
# To recognise it, so many steps are looked at, each in so many characters.
_MOST_TRIED = 100
_WINDOW = 1 << 17

BAD_PAIR = "unreadable key:value pair"


class EasyR1ConsoleReader:
    """Reads the blocks of metrics that EasyR1 prints."""

    name = "easyr1"
    suffixes = (".log", ".out", ".txt")
    about = "`Step 12` and the block of metrics below it"

    def recognises(self, content: Content) -> bool:
        """Whether a step with metrics of the trainer is printed anywhere."""
        text = content.opening
        found = _STEP_LINE.finditer(text) if "Step " in text else iter(())
        starts = (text.rfind("\n", 0, step.start()) + 1 for step in islice(found, _MOST_TRIED))
        return any(
            _is_the_trainers(block)
            for start in starts
            for block in islice(_blocks(text[start : start + _WINDOW].split("\n")), 1)
        )

    def read(self, content: Content) -> Table:
        """Read it, line by line.

        Raises
        ------
        InputError
            ``no-records`` where no step has metrics.

        """
        records = Records(content.wanted)
        bad = 0
        for block in _blocks(content.lines()):
            if _is_the_trainers(block):
                records.add({"step": block.step, **block.values})
                bad += block.bad
        if not records.rows:
            raise InputError(
                "no-records",
                f"{shown_path(content.path)} holds no metrics of EasyR1's console below a line 'Step 1'",
                "check the file, or leave the format out and let the content decide",
            )
        columns, notes = records.columns(content.extent)
        rounded = "EasyR1 prints three decimals; its experiment_log.jsonl has all of them"
        return Table(
            columns=columns,
            rows=records.rows,
            dropped={BAD_PAIR: bad} if bad else {},
            notes=(*content.text_notes, rounded, *notes),
            unread=tuple(records.unread),
        )


@dataclass(slots=True)
class _Block:
    """The metrics below one ``Step`` line, as its lines come; ``prefix`` is that of the process."""

    step: float
    prefix: str
    values: dict[str, float] = field(default_factory=dict)
    bad: int = 0
    parents: list[tuple[int, str]] = field(default_factory=list)
    # Of what is no number, everything that is indented deeper is a part.
    foreign: int | None = None

    def take(self, line: str) -> bool:
        """Take a line without its prefix; False where the block ends before it."""
        body = line.lstrip(" ")
        indent = len(line) - len(body)
        if "%|" in line:
            return True
        if self.foreign is not None and (indent > self.foreign or body.startswith("-")):
            return True
        self.foreign = None
        if body.startswith(("- ", "? ", ": ")):
            self.bad += not body.startswith("- ")
            return True
        pair = _pair(body.rstrip())
        if pair is None:
            return False
        while self.parents and self.parents[-1][0] >= indent:
            self.parents.pop()
        # Indented without a parent: the start of this part is lost.
        return bool(indent == 0 or self.parents) and self._put(indent, *pair)

    def _put(self, indent: int, key: str, value: str) -> bool:
        if not value and len(self.parents) < _DEEPEST:
            self.parents.append((indent, key))
            return True
        number = _number(value)
        if number is None:
            self.foreign = indent
            self.bad += value.startswith("!!") or not value
        else:
            self.values["/".join([*(name for _, name in self.parents), key])] = number
        return True


def _blocks(lines: Iterable[str]) -> Iterator[_Block]:
    """Yield the blocks, each when it ends: at an empty line, at other text, at the next step."""
    block: _Block | None = None
    for raw in lines:
        if block is None and "Step " not in raw:
            continue
        line = _ANSI.sub("", raw).rstrip("\r") if "\x1b" in raw else raw.rstrip("\r")
        ray = _RAY.match(line)
        prefix = ray[0].rstrip() if ray else ""
        text = line[ray.end() :] if ray else line
        if len(text) <= _LONGEST and (found := _STEP.search(text)):
            if block:
                yield block
            block = _Block(float(found[1]), prefix)
        elif block and prefix == block.prefix and not (len(text) <= _LONGEST and block.take(text)):
            yield block
            block = None
    if block:
        yield block


def _is_the_trainers(block: _Block) -> bool:
    return any(name.startswith(_FAMILIES) for name in block.values)


def _pair(body: str) -> tuple[str, str] | None:
    """Return key and value of a line of YAML, the value empty where it stands below; None for other text."""
    if body.startswith("'"):
        end = body.find("':", 1)
        key, rest = body[1:end].replace("''", "'"), body[end + 2 :]
        return (key, rest.strip()) if end > 0 and (not rest or rest[0] == " ") else None
    if body.endswith(":"):
        return body[:-1], ""
    key, colon, value = body.partition(": ")
    return (key, value.strip()) if colon and key else None


def _number(value: str) -> float | None:
    """Return the number that YAML writes so, nan for none; None where it is something else."""
    if value in _SPECIAL:
        return _SPECIAL[value]
    plain = _FLOATS.fullmatch(value)
    number = parse_number(plain[1] if plain else value)
    return number if number == number or is_missing(plain[1] if plain else value) else None
