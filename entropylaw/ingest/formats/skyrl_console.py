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

from entropylaw.ingest.formats import console
from entropylaw.ingest.formats.console import CUT_OFF, MOST_PAIRS, Console, Printout, Row, openings

_ANNOUNCED = re.compile(r"(?<!\w)Step \d{1,9}: {0,2}(?:\x1b\[0m)?\r?\n", re.ASCII)
_HEADING = re.compile(r"(?<!\w)Step (\d{1,9}): {0,2}\Z", re.ASCII)
_BEFORE = re.compile(r"(?:\([^()]{1,120}\) ?)?")


def matches(text: str) -> bool:
    """Whether a dict opens below a heading, with a key such as SkyRL's."""
    firsts = (next((one for one, *_ in _parts(lines) if one), {}) for lines in openings(text, _ANNOUNCED))
    return any("/" in name for first in firsts for name in first)


def rows(lines: Iterable[str], printout: Printout) -> Iterator[Row]:
    """Yield the dicts, each when its brace closes. Below many a heading, such as a model's, there is none."""
    begun: dict[str, float] = {}
    for values, step, opens, ends in _parts(lines):
        if opens:
            printout.dropped[CUT_OFF] += bool(begun)
            begun = {}
        if len(begun) <= MOST_PAIRS:
            begun.update(values)
        if ends and len(begun) <= MOST_PAIRS:
            yield {"step": step, **begun}
            begun = {}
    printout.dropped[CUT_OFF] += bool(begun)


def _parts(lines: Iterable[str]) -> Iterator[tuple[dict[str, float], float, bool, bool]]:
    """Yield the numbers of each line of a dict below a heading, its step, and whether it opens and ends."""
    step: float | None = None
    opened, others = False, 0
    for line in lines:
        if heading := _HEADING.search(line):
            step, opened, others = float(heading[1]), False, 0
            continue
        before = _BEFORE.match(line)
        place = before.end() if before else 0
        # The first line opens the dict, all others are indented by one.
        if step is None or not line.startswith(" '" if opened else "{'", place):
            others += 1
            step = None if others > 200 else step  # so many may stand between two lines of a dict
            continue
        values, ends, _ = console.dict_pairs(line, place + 1)
        yield values, step, not opened, ends
        step, opened, others = None if ends else step, True, 0


CONSOLE = Console(
    rows=rows,
    matches=matches,
    needles=("{'",),
    form="metrics as SkyRL prints them ('Step 12:', and below it {'policy/policy_entropy': '0.3512', …})",
)
