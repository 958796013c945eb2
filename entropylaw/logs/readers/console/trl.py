"""What TRL prints: ``{'loss': 0.0, 'reward': 0.3, 'entropy': 0.5, 'epoch': 0.01}``, with a progress bar.

From ``ProgressCallback`` and ``PrinterCallback`` in ``transformers/trainer_callback.py``; since version 5,
numbers are in quotes and have four digits. No entry holds its step, but tqdm's bar does, which is erased to
print an entry and drawn again behind it. Entries and bar go to different streams: in a file, entries come
late and several at a time, and the traces of the bar show when each was printed.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from entropylaw.arrays import FloatArray
from entropylaw.escaping import counted, shown
from entropylaw.logs.readers.console import ANSI, LISTED_PAIR, dict_pairs
from entropylaw.logs.readers.trainer_state import log_table
from entropylaw.logs.runs import Table
from entropylaw.logs.runs.number_parsing import parse_step
from entropylaw.logs.sources.content import Content

# A line, and whether the cursor goes up behind it: an evaluation may draw its own bar below the trainer's.
_LINE = re.compile(r"([^\r\n]+)((?:[\r\n]+\x1b\[A)?)")
# A bar with a name ("Map: 12%|…") is not the trainer's either.
_BAR = re.compile(
    r"(?P<name>: {0,4})?(?<!\d)\d{1,3}%\|[^|]{0,400}\| {0,8}(?P<step>\d{1,9})/(?P<total>\d{1,9})"
    r" \[[^\]{]{0,200}\](?P<below> {0,400}\x1b)?",
    re.ASCII,
)
# Not inside a list: some scripts print the whole log_history at the end.
_OPENS = re.compile(r"\{(?<!\[\{)(?<!\}, \{)(?=')")
_KEY = re.compile(r"'([^'\\{}]{1,200}+)'")
# What ms-swift adds, as "10/438".
_FRACTION = re.compile(r"'global_step/max_steps': ['\"]?([^'\",}]{1,400})")

# With fewer entries, missing ones do not show.
_FEWEST_ON_A_LINE = 5
# A summary has the steps per second with three digits.
_ROUNDED = 0.05


def recognises(content: Content) -> bool:
    """Whether an entry is printed anywhere; loading a model can print for long before the first."""
    if not content.is_text or "'epoch': " not in content.opening:
        return False
    return any(isinstance(mark, _Entry) and mark.values for mark in _marks([content.opening]))


def read(content: Content) -> Table:
    """Read the entries, and find their steps; raises as :func:`log_table`."""
    marks = list(_marks(content.blocks()))
    entries = [mark for mark in marks if isinstance(mark, _Entry)]
    totals = _bar_totals(marks)
    starts = _starts_of_run(marks, totals)
    steps: Sequence[float] = list(chain.from_iterable(map(_steps_on_bar, starts)))
    axis = "step"
    note = "steps are those that the progress bar showed when each entry was printed"
    if all("step" in entry.values for entry in entries if entry.values):
        steps = [entry.values.get("step", 0.0) for entry in entries]
        note = "steps are those in the entries"
    elif len(steps) != len(entries):
        total = max(totals, default=0)
        known = len(starts) == 1 and starts[0][-1].before == total
        if not known:
            summary = next((e.values for e in reversed(entries) if e.opening == "train_runtime"), {})
            total = round(summary.get("train_runtime", 0.0) * summary.get("train_steps_per_second", 0.0))
        axis, steps, note = _counted(entries, total)
    good = [{axis: step, **entry.values} for step, entry in zip(steps, entries, strict=True) if entry.values]
    return log_table(content, good, len(entries) - len(good), (note,))


class _Bar(NamedTuple):
    """The progress bar, drawn."""

    step: int
    total: int


class _Entry(NamedTuple):
    """A dict that was printed: its first key, and its numbers, none where it breaks off."""

    opening: str
    values: dict[str, float]

    @property
    def training(self) -> bool:
        """Whether it is of a training step: neither of an evaluation nor a summary."""
        return not self.opening.startswith(("eval_", "train_runtime"))


# None: the bar was overwritten with blanks, to make room for a line of text.
_Mark = _Bar | _Entry | None


def _marks(blocks: Iterable[str]) -> Iterator[_Mark]:
    """Yield entries, drawings of the bar and erasures, in the order of the file."""
    openings = set[str]()
    width = 0
    for match in chain.from_iterable(map(_LINE.finditer, blocks)):
        line, below = match.groups()
        if not line.strip(" "):
            # As many blanks as the bar was long, unlike a blank line of other text.
            if len(line) == width and not below:
                yield None
            continue
        if "\x1b" in line:
            line = ANSI.sub(lambda code: "\x1b" if code.group() == "\x1b[A" else "", line)
        marks: list[tuple[int, _Mark]] = list(_log_entries(line, openings))
        for bar in _BAR.finditer(line) if "%|" in line else ():
            # The trainer's bar has no name, and no line below it is drawn at once.
            if not (bar["name"] or bar["below"]):
                marks.append((bar.start(), _Bar(int(bar["step"]), int(bar["total"]))))
                width = bar.end()
        yield from (mark for _, mark in sorted(marks, key=itemgetter(0)))


def _log_entries(line: str, openings: set[str]) -> Iterator[tuple[int, _Entry]]:
    """Yield the entries of a line with their places; ``openings`` are the first keys of whole ones."""
    position = 0
    while opened := _OPENS.search(line, position):
        key = _KEY.match(line, opened.end())
        values, ended, position = dict_pairs(line, opened.end(), LISTED_PAIR)
        if fraction := _FRACTION.search(line, opened.end(), position):
            values.pop("global_step/max_steps", None)
            values["step"] = parse_step(fraction[1])
        # Dicts that have an epoch, and those that break off and open like such a one.
        if ended and key and "epoch" in values:
            openings.add(key[1])
            yield opened.start(), _Entry(key[1], values)
        elif not ended and key and key[1] in openings:
            yield opened.start(), _Entry(key[1], {})


def _bar_totals(marks: list[_Mark]) -> set[int]:
    """Return the totals of the bars next to training entries; a run that was resumed can have two."""
    votes = Counter[int]()
    nearest = None
    for mark in (*marks, *reversed(marks)):
        if isinstance(mark, _Bar):
            nearest = mark.total
        elif mark and mark.training and nearest is not None:
            votes[nearest] += 1
    most = max(votes.values(), default=0)
    return {total for total, number in votes.items() if number * 4 >= most}


class _Stretch(NamedTuple):
    """What is between two drawings of the bar, -1 for none: how often it was erased, and the entries."""

    before: int
    erased: int
    entries: list[_Entry]
    after: int

    def near(self, *, redrawn: bool) -> int:
        """The bar next to it: where it is drawn again, that behind; the one before may be some steps old."""
        return self.after if self.after >= 0 and (redrawn or self.before < 0) else self.before


def _starts_of_run(marks: list[_Mark], totals: set[int]) -> list[list[_Stretch]]:
    """List the stretches of every start of the run, where the bar falls; other totals are of other bars."""
    starts: list[list[_Stretch]] = [[]]
    before, erased, entries = -1, 0, list[_Entry]()
    for mark in marks:
        if isinstance(mark, _Bar):
            if mark.total not in totals:
                continue
            falls = mark.step < before
            if erased or entries:
                starts[-1].append(_Stretch(before, erased, entries, -1 if falls else mark.step))
            starts += [[]] if falls else []
            before, erased, entries = mark.step, 0, []
        elif mark is None:
            # Before the trainer draws its bar, that was another one.
            erased += before >= 0
        else:
            entries.append(mark)
    starts[-1].append(_Stretch(before, erased, entries, -1))
    return starts


def _steps_on_bar(stretches: list[_Stretch]) -> list[int]:
    """Give the nth entry the step of the bar that was drawn after the nth erasing, or next to the entry.

    Gives nothing where that is unsafe: where entries share a bar, or something else was printed in the same
    way. Where entries come late, those at the end may be missing.
    """
    erasing = any(stretch.erased for stretch in stretches)
    steps: list[int] = []
    entries = 0
    for stretch, (near, room) in zip(
        stretches, (_by_erasing if erasing else _by_bar)(stretches), strict=True
    ):
        steps += [near] * room
        entries += len(stretch.entries)
        if entries > len(steps):
            return []
    late = any(len(stretch.entries) > 1 for stretch in stretches)
    return steps[:entries] if late or len(steps) == entries else []


def _by_erasing(stretches: Iterable[_Stretch]) -> Iterator[tuple[int, int]]:
    """Yield the bar next to each stretch, and for how many entries it was erased."""
    for stretch in stretches:
        # At the end, a bar may have been erased for an entry that never came.
        most = len(stretch.entries) if stretch.after < 0 else stretch.erased
        yield stretch.near(redrawn=True), min(stretch.erased, most)


def _by_bar(stretches: Iterable[_Stretch]) -> Iterator[tuple[int, int]]:
    """Yield the bar next to each stretch, and how many entries are at its step; none where two share it."""
    groups = [stretch for stretch in stretches if stretch.entries]
    redrawn = 2 * sum(group.before == group.after for group in groups) >= len(groups)
    last = -1
    for stretch in stretches:
        near = stretch.near(redrawn=redrawn)
        trainings = sum(entry.training for entry in stretch.entries)
        shared = trainings > 1 or (trainings == 1 and near == last)
        yield near, 0 if near < 0 or shared else len(stretch.entries)
        last = near if trainings else last


def _counted(entries: list[_Entry], total: float) -> tuple[str, list[float], str]:
    """The name of the axis of entries, their places on it, and a note; ``total`` steps are 0 if not known.

    An evaluation belongs to the training entry before.
    """
    epochs: list[float] = []
    places: list[int] = []
    falls = ""
    for entry in entries:
        if entry.training:
            last = epochs[-1] if epochs else 0.0
            epoch = entry.values.get("epoch", last)
            if epoch < last:
                del epochs[bisect_left(epochs, epoch) :]
                falls = "; where the epoch falls, the count goes back with it"
            epochs.append(epoch)
        places.append(len(epochs))
    numbers = np.arange(1.0, max(places, default=0) + 1)
    gaps = ""
    if not falls and len(epochs) >= _FEWEST_ON_A_LINE:
        trained = [entry.values for entry in entries if entry.training]
        numbers, gaps = _numbers_of_entries(trained, np.array(epochs), numbers)
    at = [float(numbers[place - 1]) if place else 0.0 for place in places]
    every = total / numbers[-1] if total and numbers.size and not falls else 0.0
    if not every or abs(every - round(every)) > _ROUNDED * every:
        return "entry", at, f"the log does not number its entries: they are counted{falls}{gaps}"
    note = f"{len(numbers)} entries in {total:.0f} steps, so that logging_steps is {round(every)}"
    return "step", [round(every) * place for place in at], f"steps are counted: {note}{gaps}"


def _numbers_of_entries(
    entries: Sequence[Mapping[str, float]], epochs: FloatArray, unbroken: FloatArray
) -> tuple[FloatArray, str]:
    """The numbers of entries (n,) of which some may be missing, and a note where some are.

    The epochs (n,) are on one line over the numbers, but for their rounding.
    """
    if _is_on_a_line(unbroken, epochs):
        return unbroken, ""
    for name in ("epoch", "num_tokens", "learning_rate"):
        values = np.array([entry.get(name, np.nan) for entry in entries])
        spacing = float(np.median(np.diff(values))) if np.isfinite(values).all() else 0.0
        if spacing:
            numbers = 1.0 + np.append(0.0, np.cumsum(np.rint(np.diff(values) / spacing)))
            if (np.diff(numbers) >= 1).all() and _is_on_a_line(numbers, epochs):
                missing = int(numbers[-1] - len(numbers))
                return numbers, f"; by {shown(name)}, {counted(missing, 'entry', 'entries')} are missing"
    return unbroken, "; some may be missing"


def _is_on_a_line(numbers: FloatArray, epochs: FloatArray) -> bool:
    """Whether epochs (n,) follow a line over the numbers of their entries, up to their rounding."""
    digits = max(len(f"{epoch:g}".partition(".")[2]) for epoch in epochs)
    slope, start = np.polyfit(numbers, epochs, 1)
    return bool((np.abs(epochs - start - slope * numbers) <= 10.0**-digits).all())
