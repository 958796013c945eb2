"""slime's console: ``rollout 3: {'rollout/raw_reward': 0.4, …}``, ``step 9: {'train/entropy_loss': 0.3, …}``.

From THUDM/slime 0.3.1, and forks such as miles: ``gather_log_data`` in ``backends/megatron_utils/data.py``,
``train`` in ``backends/megatron_utils/model.py``, ``_log_eval_rollout_data`` in ``ray/rollout.py``. Behind
Ray's and a logger's prefix stand a word, a number and a dict as Python prints it. There are two counts: of
rollouts, and of training steps, of which a rollout may have several. A rollout's data are printed before its
training steps, so that the order of the lines tells which steps belong to which rollout. ``train.py``
evaluates behind the training on a rollout and under its number, and once before the first of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from entropylaw.errors import InputError
from entropylaw.ingest.content import Content
from entropylaw.ingest.gather import Records
from entropylaw.ingest.table import Table
from entropylaw.ingest.values import is_missing, parse_number
from entropylaw.ingest.wording import counted, shown_path

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_OPENS = re.compile(
    r"(?<![\w/-])(?P<kind>rollout|passrate|multi_turn|perf|eval|(?:critic-)?step)"
    r" (?P<number>\d{1,9}): \{(?=')",
    re.ASCII,
)
_TELLS = re.compile(r"(?<![\w/-])(?:rollout \d{1,9}: \{'rollout/|step \d{1,9}: \{'train/)", re.ASCII)
_ROLLOUT = re.compile(r"(?<![\w/-])rollout \d{1,9}: \{'", re.ASCII)
# No part gives back what it took, and each is bounded, so that a dict that is none costs little.
_PAIR = re.compile(
    r"""'(?P<key>[^'\\]{1,300}+)':[ ]
    (?P<value> [+-]?+[\w.]{1,400}+(?:[+-][0-9]{1,9}+)?+(?:\([^(){}]{0,400}+\))?+
      | '(?:[^'\\]|\\.){0,400}+' | "(?:[^"\\]|\\.){0,400}+"
      | \[[^\[\]{}]{0,4000}+\] | \{[^{}]{0,4000}+\}
    )(?P<end>\}|,[ ])""",
    re.VERBOSE | re.ASCII,
)
_NEXT_PAIR = re.compile(r", (?='[^'\\]{1,300}+': )")
# These are the numbers that stand before the dict.
_AXES = ("rollout/step", "train/step", "eval/step")

BAD_PAIR = "unreadable key:value pair"
LATER_STEP = "later training step of the same rollout"
EARLY_STEP = "training step before the first rollout that the file shows"


class SlimeConsoleReader:
    """Reads what slime prints, one row a rollout."""

    name = "slime"
    suffixes = (".log", ".out", ".txt")
    about = "`step 12: {…}`, `rollout 12: {…}` and `eval 12: {…}`, brought to the rollout's number"

    def recognises(self, content: Content) -> bool:
        """Whether a rollout or a training step is printed anywhere, with slime's keys."""
        return ": {'" in content.opening and _TELLS.search(content.opening) is not None

    def read(self, content: Content) -> Table:
        """Read it, line by line.

        Raises
        ------
        InputError
            ``no-records`` where no line holds a rollout, a training step or an evaluation.

        """
        log = _Log(Records(content.wanted), shows_rollouts=_ROLLOUT.search(content.opening) is not None)
        for line in content.lines():
            if ": {'" in line:
                for entry in _entries(_ANSI.sub("", line) if "\x1b" in line else line):
                    log.take(entry)
        if not log.records.rows:
            raise InputError(
                "no-records",
                f"{shown_path(content.path)} holds no line of slime's console "
                "(\"rollout 1: {'rollout/raw_reward': 0.35, …}\")",
                "check the file, or leave the format out and let the content decide",
            )
        columns, notes = log.records.columns(content.extent)
        return Table(
            columns=columns,
            rows=log.lines,
            dropped={reason: number for reason, number in log.dropped.items() if number},
            notes=(*content.text_notes, *log.notes, *notes),
            unread=tuple(log.records.unread),
        )


class _Entry(NamedTuple):
    """A dict that was printed, the word and the number before it, and how many of its pairs are lost."""

    kind: str
    number: int
    values: dict[str, float]
    bad: int


class _Log:
    """Puts every entry on the row of its rollout."""

    def __init__(self, records: Records, *, shows_rollouts: bool) -> None:
        self.records = records
        self.lines = self._initial = 0
        self.dropped = {BAD_PAIR: 0, LATER_STEP: 0, EARLY_STEP: 0}
        self._shows_rollouts = shows_rollouts
        self._rollout = -1
        self._trained = False
        # Of the actor and of the critic: the training step that was printed first for this rollout.
        self._first: dict[str, int] = {}

    def take(self, entry: _Entry) -> None:
        """Take the next entry of the file."""
        self.lines += 1
        self.dropped[BAD_PAIR] += entry.bad
        if entry.kind.endswith("step"):
            self._take_step(entry)
        elif entry.kind == "eval":
            self._take_evaluation(entry)
        elif entry.kind == "perf":
            if not self._shows_rollouts:
                self._rollout = entry.number
            # Durations are left out: two processes print them, neither in time with the other.
            kept = {name: value for name, value in entry.values.items() if not name.startswith("perf/")}
            self._add(entry.number, kept)
        else:
            if entry.kind == "rollout":
                self._shows_rollouts = True
                self._first = self._first if entry.number == self._rollout else {}
                self._rollout, self._trained = entry.number, False
            self._add(entry.number, entry.values)

    @property
    def notes(self) -> tuple[str, ...]:
        """Say how steps of different kinds were brought together."""
        found = ["steps are rollouts, counted from 0 as slime prints them"]
        if not self._shows_rollouts:
            found = ["no line shows a rollout's data: each training step is taken for one rollout"]
        if self.dropped[LATER_STEP]:
            found.append(
                "a rollout has several training steps: its first one's values are kept, which are of the "
                "policy that made the rollout, on a part of its responses"
            )
        if self._initial:
            found.append(f"{counted(self._initial, 'evaluation')} from before training: at step -1")
        return tuple(found)

    def _take_step(self, entry: _Entry) -> None:
        self._trained = True
        if not self._shows_rollouts:
            self._add(entry.number, entry.values)
        elif self._rollout < 0:
            self.dropped[EARLY_STEP] += 1
        elif self._first.setdefault(entry.kind, entry.number) == entry.number:
            self._add(self._rollout, entry.values)
        else:
            self.dropped[LATER_STEP] += 1

    def _take_evaluation(self, entry: _Entry) -> None:
        before = entry.number == 0 and not (self._rollout == 0 and self._trained)
        self._initial += before
        self._add(-1 if before else entry.number, entry.values)

    def _add(self, step: int, values: dict[str, float]) -> None:
        metrics = {name: value for name, value in values.items() if name not in _AXES}
        if metrics:
            self.records.add({"step": float(step), **metrics})


def _entries(line: str) -> Iterator[_Entry]:
    """Yield the entries of a line; two processes may have written into it."""
    opened = _OPENS.search(line)
    while opened:
        following = _OPENS.search(line, opened.end())
        end = following.start() if following else len(line)
        yield _Entry(opened["kind"], int(opened["number"]), *_values(line, opened.end(), end))
        opened = following


def _values(line: str, position: int, end: int) -> tuple[dict[str, float], int]:
    """Return the numbers of the dict that opens here and ends before ``end``, and how many pairs are lost.

    What is no number by its nature, such as a list or a text, is no loss.
    """
    values: dict[str, float] = {}
    bad = 0
    while True:
        if pair := _PAIR.match(line, position, end):
            number = parse_number(pair["value"])
            if number == number or is_missing(pair["value"]):
                values[pair["key"]] = number
            position = pair.end()
            if pair["end"] == "}":
                return values, bad
            continue
        bad += 1
        following = _NEXT_PAIR.search(line, position, end)
        if following is None:
            return values, bad
        position = following.end()
