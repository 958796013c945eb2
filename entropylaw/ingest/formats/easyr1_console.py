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

from entropylaw.ingest.formats.console import BAD_PAIR, Console, Printout, Row, openings, plain
from entropylaw.ingest.values import is_missing, parse_number

_RAY = re.compile(r"\([^()]{1,200}pid=\d{1,10}[^()]{0,80}\) ?", re.ASCII)
# A progress bar may have been left open before it.
_STEP = re.compile(r"(?:^|[\]\r])Step (\d{1,9})$", re.ASCII)
_STEP_LINE = re.compile(r"(?<![\w/])Step \d{1,9}[\r ]{0,2}(?:\x1b\[0m)?\r?\n", re.ASCII)
# What the trainer itself logs, so that other lists of steps are not taken for its own.
_FAMILIES = ("actor/", "critic/", "reward/", "val/", "response_length/", "global_seqlen/")
_FLOATS = re.compile(r"!!(?:float|int) '([^']{0,400})'")
_SPECIAL = {".nan": math.nan, ".inf": math.inf, "-.inf": -math.inf, "true": None, "false": None}


def rows(_: Iterable[str], printout: Printout) -> Iterator[Row]:
    """Yield the blocks of the trainer; an empty line ends one, and a carriage return within a line none."""
    for block in _blocks(printout.content.lines()):
        if block.is_the_trainers:
            printout.dropped[BAD_PAIR] += block.bad
            yield {"step": block.step, **block.values}
    printout.notes.append("EasyR1 prints three decimals; its experiment_log.jsonl has all of them")


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

    @property
    def is_the_trainers(self) -> bool:
        """Whether one of the metrics is the trainer's own."""
        return any(name.startswith(_FAMILIES) for name in self.values)

    def take(self, line: str) -> bool:
        """Take a line without its prefix; False where the block ends before it."""
        indent = len(line) - len(body := line.lstrip(" "))
        if "%|" in line or (self.foreign is not None and (indent > self.foreign or body.startswith("-"))):
            return True
        self.foreign = None
        if body.startswith(("- ", "? ", ": ")):
            self.bad += not body.startswith("- ")
            return True
        key, value = _pair(body.rstrip())
        self.parents = [(place, name) for place, name in self.parents if place < indent]
        # Indented without a parent: the start of this part is lost.
        if value is None or (indent and not self.parents):
            return False
        if not value and len(self.parents) < 8:
            self.parents.append((indent, key))
            return True
        plain = found[1] if (found := _FLOATS.fullmatch(value)) else value
        number = _SPECIAL.get(value, parse_number(plain))
        if number is None or not (number == number or value in _SPECIAL or is_missing(plain)):
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
        line = plain(raw).rstrip("\r")
        ray = _RAY.match(line)
        prefix, text = (ray[0].rstrip(), line[ray.end() :]) if ray else ("", line)
        short = len(text) <= 1000
        if short and (found := _STEP.search(text)):
            if block:
                yield block
            block = _Block(float(found[1]), prefix)
        elif block and prefix == block.prefix and not (short and block.take(text)):
            yield block
            block = None
    if block:
        yield block


def _pair(body: str) -> tuple[str, str | None]:
    """Return key and value of a line of YAML, the value empty where it stands below; None for other text."""
    if body.startswith("'"):
        end = body.find("':", 1)
        key, rest = body[1:end].replace("''", "'"), body[end + 2 :]
        return key, rest.strip() if end > 0 and rest[:1] in ("", " ") else None
    if body.endswith(":"):
        return body[:-1], ""
    key, colon, value = body.partition(": ")
    return key, value.strip() if colon and key else None


CONSOLE = Console(
    rows=rows,
    # A step has metrics of the trainer.
    matches=lambda text: any(
        block.is_the_trainers for lines in openings(text, _STEP_LINE) for block in islice(_blocks(lines), 1)
    ),
    needles=("Step ",),
    form="metrics of EasyR1's console below a line 'Step 1'",
)
