"""slime's console: ``rollout 3: {'rollout/raw_reward': 0.4, …}``, ``step 9: {'train/entropy_loss': 0.3, …}``.

From THUDM/slime 0.3.1, and forks such as miles: ``gather_log_data`` in ``backends/megatron_utils/data.py``,
``train`` in ``backends/megatron_utils/model.py``, ``_log_eval_rollout_data`` in ``ray/rollout.py``. Behind
Ray's and a logger's prefix stand a word, a number and a dict as Python prints it. A rollout's data are
printed before its training steps, of which it may have several, with a count of their own. ``train.py``
evaluates behind the training on a rollout and under its number, and once before the first of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from entropylaw.ingest.formats.console import BAD_PAIR, Console, Printout, Row
from entropylaw.ingest.values import classify
from entropylaw.ingest.wording import counted

_OPENS = re.compile(
    r"(?<![\w/-])(?P<kind>rollout|passrate|multi_turn|perf|eval|(?:critic-)?step)"
    r" (?P<number>\d{1,9}): \{(?=')",
    re.ASCII,
)
_FIRST = re.compile(r"(?<![\w/-])(?:rollout \d{1,9}: \{'rollout/|step \d{1,9}: \{'train/)", re.ASCII)

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

LATER_STEP = "later training step of the same rollout"
EARLY_STEP = "training step before the first rollout that the file shows"


def rows(lines: Iterable[str], printout: Printout) -> Iterator[Row]:
    """Yield each entry on the step of its rollout."""
    log = _Log(printout)
    for line in lines:
        opened = _OPENS.search(line)
        while opened:  # two processes may have written into one line
            following = _OPENS.search(line, opened.end())
            values = _values(line, opened.end(), following.start() if following else len(line), printout)
            step = log.step(opened["kind"], int(opened["number"]))
            # Durations are left out, too: two processes print them, neither in time with the other.
            names = [name for name in values if opened["kind"] != "perf" or not name.startswith("perf/")]
            axes = ("rollout/step", "train/step", "eval/step")  # the numbers that stand before the dict
            metrics = {name: values[name] for name in names if name not in axes}
            if step is not None and metrics:
                yield {"step": float(step), **metrics}
            else:
                printout.lost += 1
            opened = following
    log.describe()


class _Log:
    """Finds the rollout that each entry belongs to."""

    def __init__(self, printout: Printout) -> None:
        self._printout = printout
        shown = re.search(r"(?<![\w/-])rollout \d{1,9}: \{'", printout.content.opening, re.ASCII)
        self._shows_rollouts = shown is not None
        self._rollout, self._trained, self._initial = -1, False, 0
        # Of the actor and of the critic: the training step that was printed first for this rollout.
        self._first: dict[str, int] = {}

    def step(self, kind: str, number: int) -> int | None:
        """Return the rollout of the next entry of the file; None where the entry is left out."""
        if kind.endswith("step"):
            self._trained = True
            if not self._shows_rollouts:
                return number
            if self._rollout >= 0 and self._first.setdefault(kind, number) == number:
                return self._rollout
            self._printout.dropped[EARLY_STEP if self._rollout < 0 else LATER_STEP] += 1
            return None
        if kind == "eval":
            before = number == 0 and not (self._rollout == 0 and self._trained)
            self._initial += before
            return -1 if before else number
        if kind == "rollout":
            self._shows_rollouts = True
            self._first = self._first if number == self._rollout else {}
            self._rollout, self._trained = number, False
        elif kind == "perf" and not self._shows_rollouts:
            self._rollout = number
        return number

    def describe(self) -> None:
        """Note how steps of different kinds were brought together."""
        unknown = "no line shows a rollout's data: each training step is taken for one rollout"
        known = "steps are rollouts, counted from 0 as slime prints them"
        notes = [known if self._shows_rollouts else unknown]
        if self._printout.dropped[LATER_STEP]:
            kept = "its first one's values are kept, which are of the policy that made the rollout"
            notes.append(f"a rollout has several training steps: {kept}, on a part of its responses")
        if self._initial:
            notes.append(f"{counted(self._initial, 'evaluation')} from before training: at step -1")
        self._printout.notes += notes


def _values(line: str, position: int, end: int, printout: Printout) -> dict[str, float]:
    """Return the numbers of the dict that opens here and ends before ``end``; count unreadable pairs."""
    values: dict[str, float] = {}
    while True:
        pair = _PAIR.match(line, position, end)
        number, is_text = classify(pair["value"] if pair else None)
        if pair and not is_text:
            values[pair["key"]] = number
        printout.dropped[BAD_PAIR] += pair is None
        following = pair or _NEXT_PAIR.search(line, position, end)
        if following is None or (pair and pair["end"] == "}"):
            return values
        position = following.end()


CONSOLE = Console(
    rows=rows,
    matches=_FIRST.search,
    needles=(": {'",),
    needle=": {'",
    reasons=(BAD_PAIR, LATER_STEP, EARLY_STEP),
    form="line of slime's console (\"rollout 1: {'rollout/raw_reward': 0.35, …}\")",
)
