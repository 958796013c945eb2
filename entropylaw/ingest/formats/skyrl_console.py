"""SkyRL's console tracker: ``Step 12:`` and below it a dict over many lines, its floats in quotes.

::

    2025-08-21 12:00:00.000 | INFO     | skyrl.train.utils.tracking:log:190 - Step 12:
    {'policy/policy_entropy': '0.3512',
     'reward/avg_raw_reward': '0.5300',
     'trainer/global_step': 12}

From ``ConsoleLogger`` in ``skyrl/train/utils/tracking.py`` of github.com/NovaSky-AI/SkyRL (before, in
``skyrl-train/skyrl_train/utils/tracking.py``); numbers have four decimals. Ray puts
``(skyrl_entrypoint pid=123)`` before every line, and lines of other workers in between.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from entropylaw.ingest.formats.console import (
    CUT_OFF,
    MOST_PAIRS,
    Console,
    Printout,
    Row,
    dict_pairs,
    openings,
)

_ANNOUNCED = re.compile(r"(?<!\w)Step \d{1,9}: {0,2}(?:\x1b\[0m)?\r?\n", re.ASCII)
_HEADING = re.compile(r"(?<!\w)Step (\d{1,9}): {0,2}\Z", re.ASCII)
_BEFORE = re.compile(r"(?:\([^()]{1,120}\) ?)?")
# So many lines of others may stand between two lines of a dict.
_PATIENCE = 200


def matches(text: str) -> bool:
    """Whether a dict opens below a heading, with a key such as SkyRL's."""
    for lines in openings(text, _ANNOUNCED):
        walk = _Walk()
        for line in lines:
            walk.take(line)
            if walk.begun:
                break
        if any("/" in name for name in walk.begun):
            return True
    return False


def rows(lines: Iterable[str], printout: Printout) -> Iterator[Row]:
    """Yield the dicts, each when its brace closes."""
    walk = _Walk()
    for line in lines:
        if row := walk.take(line):
            yield row
    walk.give_up()
    printout.dropped[CUT_OFF] = walk.cut_off


class _Walk:
    """Goes through the lines, and puts a dict together until its brace closes: as far as it is ``begun``."""

    def __init__(self) -> None:
        self.cut_off = self._others = 0
        self.begun: dict[str, float] = {}
        self._step: float | None = None
        self._opened = False

    def take(self, line: str) -> Row | None:
        """Take the next line; return the row of a dict that ends in it."""
        if heading := _HEADING.search(line):
            self.give_up()
            self._step, self.begun, self._opened = float(heading[1]), {}, False
            return None
        if self._step is None:
            return None
        before = _BEFORE.match(line)
        place = before.end() if before else 0
        # The first line opens the dict, all others are indented by one.
        if not line.startswith(" '" if self._opened else "{'", place):
            self._others += 1
            if self._others > _PATIENCE:
                self.give_up()
            return None
        self._opened, self._others = True, 0
        values, ended, _ = dict_pairs(line, place + 1)
        self.begun.update(values)
        if len(self.begun) > MOST_PAIRS:
            self.give_up()
        elif ended:
            row = {"step": self._step, **self.begun}
            self._step = None
            return row
        return None

    def give_up(self) -> None:
        """Leave what has begun and not ended. Below many a heading, such as a model's, there is no dict."""
        self.cut_off += self._step is not None and bool(self.begun)
        self._step, self._others = None, 0


CONSOLE = Console(
    rows=rows,
    matches=matches,
    needles=("{'",),
    form="metrics as SkyRL prints them ('Step 12:', and below it {'policy/policy_entropy': '0.3512', …})",
)
