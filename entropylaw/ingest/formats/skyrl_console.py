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
from itertools import islice

from entropylaw.ingest.content import Content
from entropylaw.ingest.formats.printed import CUT_OFF, MOST_PAIRS, console_table, dict_pairs, lines, plain
from entropylaw.ingest.gather import Records
from entropylaw.ingest.table import Table

_ANNOUNCED = re.compile(r"(?<!\w)Step \d{1,9}: {0,2}(?:\x1b\[0m)?\r?\n", re.ASCII)
_HEADING = re.compile(r"(?<!\w)Step (\d{1,9}): {0,2}\Z", re.ASCII)
_BEFORE = re.compile(r"(?:\([^()]{1,120}\) ?)?")
# So many lines of others may stand between two lines of a dict.
_PATIENCE = 200
# To recognise it, so many headings are looked at, each with so much of what follows.
_MOST_TRIED = 100
_WINDOW = 1 << 16


class SkyRlConsoleReader:
    """Reads the metrics that SkyRL prints with ``trainer.logger=console``."""

    name = "skyrl"
    suffixes = (".log", ".out", ".txt")
    about = "the metrics that its console logger prints"

    def recognises(self, content: Content) -> bool:
        """Whether a step with a dict below it is printed anywhere."""
        text = content.opening
        headings = _ANNOUNCED.finditer(text) if "{'" in text else iter(())
        return any(_opens_dict(text, heading.start()) for heading in islice(headings, _MOST_TRIED))

    def read(self, content: Content) -> Table:
        """Read it, line by line.

        Raises
        ------
        InputError
            ``no-records`` where no whole dict is there.

        """
        walk = _Walk(Records(content.wanted))
        for line in lines(content):
            walk.take(line)
        walk.give_up()
        form = "SkyRL prints them ('Step 12:', and below it {'policy/policy_entropy': '0.3512', …})"
        return console_table(content, walk.records, form, dropped={CUT_OFF: walk.cut_off})


def _opens_dict(text: str, heading: int) -> bool:
    """Whether a dict opens below a heading, with a key such as SkyRL's."""
    walk = _Walk(Records())
    for line in text[heading : heading + _WINDOW].split("\n"):
        walk.take(plain(line.rstrip("\r")))
        if walk.begun:
            return any("/" in name for name in walk.begun)
    return False


class _Walk:
    """Goes through the lines, and puts a dict together until its brace closes: as far as it is ``begun``."""

    def __init__(self, records: Records) -> None:
        self.records = records
        self.cut_off = 0
        self._step: float | None = None
        self.begun: dict[str, float] = {}
        self._opened = False
        self._others = 0

    def take(self, line: str) -> None:
        """Take the next line."""
        if heading := _HEADING.search(line):
            self.give_up()
            self._step, self.begun, self._opened = float(heading[1]), {}, False
        elif self._step is not None:
            self._inside(line, self._step)

    def give_up(self) -> None:
        """Leave what has begun and not ended. Below many a heading, such as a model's, there is no dict."""
        self.cut_off += self._step is not None and bool(self.begun)
        self._step, self._others = None, 0

    def _inside(self, line: str, step: float) -> None:
        start = self._start(line)
        if not start:
            self._others += 1
            if self._others > _PATIENCE:
                self.give_up()
            return
        self._opened, self._others = True, 0
        values, ended, _ = dict_pairs(line, start)
        self.begun.update(values)
        if len(self.begun) > MOST_PAIRS:
            self.give_up()
        elif ended:
            self.records.add({"step": step, **self.begun})
            self._step = None

    def _start(self, line: str) -> int:
        """Return where the pairs of a line of the dict begin, 0 where the line is none."""
        before = _BEFORE.match(line)
        place = before.end() if before else 0
        # The first line opens the dict, all others are indented by one.
        return place + 1 if line.startswith(" '" if self._opened else "{'", place) else 0
