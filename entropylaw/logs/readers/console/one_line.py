"""Consoles that print a record per line: verl and slime."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from entropylaw.escaping import counted
from entropylaw.logs.readers.console import BAD_PAIR, Printout, Row, dict_pairs, read_lines
from entropylaw.logs.runs.number_parsing import classify
from entropylaw.logs.runs.step_column import ROLLOUT_AXES
from entropylaw.logs.sources.registry import FormatFunctions

# --- verl -------------------------------------------------------------------------------------------------

# Not after a word or a slash: "training/global_step:3 - " is a pair inside such a line, not its start.
_VERL_STEP = re.compile(r"(?<![\w/])step:(\d+) - ")
# What stands before and behind the number of a pair.
_VERL_PAIR = re.compile(r"(.+:(?:np\.float64\()?)[-+.0-9e]+(\)?)")
# The pattern of a line with more pairs takes longer to make than it saves.
_MOST_ALIKE = 512
_CALL_PAIR = re.compile(r"([^:]+)(:)((?:\w+\.)?\w+\(.*\))", re.DOTALL)


def _verl_rows(lines: Iterable[str], printout: Printout) -> Iterator[Row]:
    """verl: ``step:12 - actor/entropy:0.354 - critic/score/mean:0.433`` anywhere in a line."""
    keys: tuple[str, ...] = ()
    alike: re.Pattern[str] | None = None
    for heading in filter(None, map(_VERL_STEP.search, lines)):
        line = heading.string[heading.start() :]
        if alike and (numbers := alike.fullmatch(line)):
            with suppress(ValueError):
                yield dict(zip(keys, map(float, numbers.groups()), strict=True))
                continue
        record: dict[str, float] = {}
        pairs = line.split(" - ")
        for pair in pairs:
            called = _CALL_PAIR.fullmatch(pair.strip())
            key, _, value = called.groups() if called else pair.rpartition(":")
            number, is_text = classify(value)
            if is_text or not key.strip():
                printout.dropped[BAD_PAIR] += 1
            else:
                record[key.strip()] = number
        keys = tuple(record)
        alike = _lines_like(pairs) if len(keys) == len(pairs) <= _MOST_ALIKE else None
        yield record


def _lines_like(pairs: Sequence[str]) -> re.Pattern[str] | None:
    """The pattern of lines that differ from one by its numbers alone, as most do from the line before."""
    shapes = [shape.groups() for shape in map(_VERL_PAIR.fullmatch, pairs) if shape]
    if len(shapes) < len(pairs):
        return None
    return re.compile(" - ".join(f"{re.escape(a)}([-+.0-9e]{{1,60}}){re.escape(b)}" for a, b in shapes))


# --- slime ------------------------------------------------------------------------------------------------

_SLIME_OPENS = re.compile(
    r"(?<![\w/-])(?P<kind>rollout|passrate|multi_turn|perf|eval|(?:critic-)?step)"
    r" (?P<number>\d{1,9}): \{(?=')",
    re.ASCII,
)
_SLIME_FIRST = re.compile(r"(?<![\w/-])(?:rollout \d{1,9}: \{'rollout/|step \d{1,9}: \{'train/)", re.ASCII)
_SLIME_ROLLOUT = re.compile(r"(?<![\w/-])rollout \d{1,9}: \{'", re.ASCII)
_NEXT_PAIR = re.compile(r", (?='[^'\\]{1,300}+': )")

LATER_STEP = "later training step of the same rollout"
EARLY_STEP = "training step before the first rollout that the file shows"


def _slime_rows(lines: Iterable[str], printout: Printout) -> Iterator[Row]:
    """slime: ``rollout 3: {'rollout/raw_reward': 0.4, …}``, ``step 9: {'train/entropy_loss': 0.3, …}``.

    From THUDM/slime 0.3.1, and forks such as miles: ``gather_log_data`` in
    ``backends/megatron_utils/data.py``, ``train`` in ``backends/megatron_utils/model.py``,
    ``_log_eval_rollout_data`` in ``ray/rollout.py``. Each entry is put on the step of its rollout.
    """
    printout.dropped.update({BAD_PAIR: 0, LATER_STEP: 0, EARLY_STEP: 0})  # reported in this order
    rollouts = _Rollouts(printout)
    for line in lines:
        openings = list(_SLIME_OPENS.finditer(line))
        # Two processes may have written into one line: an entry ends where the next one opens.
        ends = [*map(re.Match.start, openings), len(line)][1:]
        for opened, stop in zip(openings, ends, strict=True):
            entry = line[:stop]
            values, ended, end = dict_pairs(entry, opened.end())
            while not ended:
                printout.dropped[BAD_PAIR] += 1
                if (pair := _NEXT_PAIR.search(entry, end)) is None:
                    break
                further, ended, end = dict_pairs(entry, pair.end())
                values |= further
            step = rollouts.step(opened["kind"], int(opened["number"]))
            # Durations are left out, too: two processes print them at different times.
            metrics = {
                name: value
                for name, value in values.items()
                if name not in ROLLOUT_AXES and not (opened["kind"] == "perf" and name.startswith("perf/"))
            }
            if step is not None and metrics:
                yield {"step": float(step), **metrics}
            else:
                printout.lost += 1
    printout.notes += rollouts.notes()


class _Rollouts:
    """Finds the rollout that each entry of slime's console belongs to.

    A rollout's data are printed before its training steps, of which it may have several, with a count of
    their own. ``train.py`` evaluates after the training on a rollout and under its number, and once before
    the first of them.
    """

    def __init__(self, printout: Printout) -> None:
        self._dropped = printout.dropped
        self._shown = _SLIME_ROLLOUT.search(printout.content.opening) is not None
        self._rollout = -1
        self._trained = False
        self._initial = 0
        # For the actor and for the critic: the training step that was printed first for this rollout.
        self._first: dict[str, int] = {}

    def step(self, kind: str, number: int) -> int | None:
        """Return the rollout of the next entry of the file; None where the entry is left out.

        Of the training steps of a rollout, those after the first are left out.
        """
        if kind.endswith("step"):
            self._trained = True
            if not self._shown:
                return number
            if self._rollout >= 0 and self._first.setdefault(kind, number) == number:
                return self._rollout
            self._dropped[EARLY_STEP if self._rollout < 0 else LATER_STEP] += 1
            return None
        if kind == "eval" and number == 0 and not (self._rollout == 0 and self._trained):
            self._initial += 1
            return -1
        if kind == "rollout":
            self._shown = True
            if number != self._rollout:
                self._first = {}
            self._rollout = number
            self._trained = False
        elif kind == "perf" and not self._shown:
            self._rollout = number
        return number

    def notes(self) -> Iterator[str]:
        """Note how steps of different kinds were brought together."""
        if self._shown:
            yield "steps are rollouts, counted from 0 as slime prints them"
        else:
            yield "no line shows a rollout's data: each training step is taken for one rollout"
        if self._dropped[LATER_STEP]:
            yield (
                "a rollout has several training steps: those of the first are kept, of the policy "
                "that made the rollout"
            )
        if self._initial:
            yield f"{counted(self._initial, 'evaluation')} from before training: at step -1"


_VERL = "line of verl's console ('step:1 - actor/entropy:0.35 - …')"
_SLIME = "line of slime's console (\"rollout 1: {'rollout/raw_reward': 0.35, …}\")"

verl = FormatFunctions(
    lambda content: "step:" in content.opening and _VERL_STEP.search(content.opening) is not None,
    lambda content: read_lines(content, "step:", _verl_rows, _VERL),
)
slime = FormatFunctions(
    lambda content: ": {'" in content.opening and _SLIME_FIRST.search(content.opening) is not None,
    lambda content: read_lines(content, ": {'", _slime_rows, _SLIME),
)
