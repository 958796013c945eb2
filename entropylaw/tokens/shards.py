"""Which files of a sharded token table are missing, and which are there twice."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from entropylaw.errors import InputError
from entropylaw.ingest.wording import counted, listing, shown

_OF = re.compile(r"(?P<stem>.*?)(?P<number>\d+)-of-(?P<count>\d+)(?P<rest>\D.*)?$")
_KINDS = "(?i:part|shard|chunk|split|rank)"
_NUMBERED = re.compile(rf"(?P<stem>(?:.*[-_.])?{_KINDS}[-_.]?)(?P<number>\d+)(?P<rest>\D.*)$")
_STEP_FOLDER = re.compile(r"step_(?P<step>\d+)$")
_NEVER_THERE = "were they written, and not copied?"
_END = 1 << 16


def absent(paths: Sequence[Path], *, allow_missing: bool) -> list[str]:
    """Notes on files that, by the others' names, should be there; else an InputError ``shard-missing``."""
    gaps = [*_gaps_of_sets(paths), *_gaps_of_steps(paths)]
    if gaps and not allow_missing:
        name, why = gaps[0]
        hint = "copy it as well, or go on without it: --allow-missing"
        raise InputError("shard-missing", f"{shown(name)} is missing{why}", hint)
    names = listing([name for name, _ in gaps])
    missing = [f"went on without {counted(len(gaps), 'missing file')}: {names}"] if gaps else []
    return [*missing, *_absent_numbers(paths), *_absent_steps(paths)]


def _gaps_of_sets(paths: Iterable[Path]) -> Iterator[tuple[str, str]]:
    """Each gap in ``part-00000-of-00008``: the name of the file that should be there, and why."""
    numbered: dict[tuple[str, str, int, str, str], set[int]] = defaultdict(set)
    for path in paths:
        if part := _OF.match(path.name):
            key = (str(path.parent), part["stem"], len(part["number"]), part["count"], part["rest"] or "")
            numbered[key].add(int(part["number"]))
    for (_, stem, width, count, rest), numbers in sorted(numbered.items()):
        first = 0 if 0 in numbers or int(count) not in numbers else 1
        for number in sorted(set(range(first, first + int(count))) - numbers):
            name = f"{stem}{number:0{width}d}-of-{count}{rest}"
            yield name, f": {counted(len(numbers), 'file')} of {count} are there"


def _gaps_of_steps(paths: Iterable[Path]) -> Iterator[tuple[str, str]]:
    """Each rank or marker that other steps' folders have, as :func:`_gaps_of_sets`."""
    ranks: dict[Path, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for path in paths:
        rank = re.match(r"rank_(?P<rank>\d+)\..+$", path.name)
        if rank and _STEP_FOLDER.match(path.parent.name):
            ranks[path.parent.parent][path.parent.name].add(int(rank["rank"]))
    for folder, steps in sorted(ranks.items()):
        every = set().union(*steps.values())
        order = sorted(steps, key=lambda name: int(name.removeprefix("step_")))
        for step in order:
            for number in sorted(every - steps[step]):
                yield f"{step}/rank_{number}.jsonl", ", and other steps have this rank"
        unmarked = [step for step in order if not (folder / step / "STABLE").exists()]
        for step in unmarked if len(unmarked) < len(order) else ():
            yield f"{step}/STABLE", ", and other steps have it: this one was not finished"


def _absent_numbers(paths: Iterable[Path]) -> Iterator[str]:
    """A sentence for each gap in numbers that say no total: the files may never have been there."""
    numbered: dict[tuple[str, str, str], dict[int, str]] = defaultdict(dict)
    for path in paths:
        if not _OF.match(path.name) and (match := _NUMBERED.match(path.name)):
            numbered[(str(path.parent), match["stem"], match["rest"])][int(match["number"])] = match["number"]
    for (_, stem, rest), found in sorted(numbered.items()):
        width, absent = len(found[max(found)]), sorted(set(range(max(found))) - set(found) - {0})
        if len(found) > 1 and absent:
            names = listing([f"{stem}{number:0{width}d}{rest}" for number in absent], 3)
            yield f"{names} would stand between files that are there: {_NEVER_THERE}"


def _absent_steps(paths: Iterable[Path]) -> Iterator[str]:
    """A sentence for each even row of ``step_N`` folders that leaves steps out."""
    folders: dict[Path, set[int]] = defaultdict(set)
    for path in paths:
        if folder := _STEP_FOLDER.match(path.parent.name):
            folders[path.parent.parent].add(int(folder["step"]))
    for _, steps in sorted(folders.items()):
        pairs = list(pairwise(sorted(steps)))
        usual = min(apart := [after - before for before, after in pairs], default=0)
        if len(steps) < 4 or 2 * apart.count(usual) <= len(apart):
            continue
        gaps = [f"step_{s}" for a, b in pairs if (b - a) % usual == 0 for s in range(a + usual, b, usual)]
        if gaps:
            yield f"no folder {listing(gaps, 3)}, and the others are {usual} apart: {_NEVER_THERE}"


def copies(files: Sequence[tuple[str, Path]]) -> list[tuple[str, str]]:
    """Pairs of files (name of the later, name of the earlier) that hold the same bytes."""
    groups = [list(files)]
    # Most files differ in size or at their ends; only those that do not are read as a whole.
    for look in (lambda path: path.stat().st_size, _ends, _whole):
        alike: dict[tuple[int, Any], list[tuple[str, Path]]] = defaultdict(list)
        for number, name, path in [(i, *file) for i, group in enumerate(groups) for file in group]:
            alike[number, look(path)].append((name, path))
        groups = [group for group in alike.values() if len(group) > 1]
    return [(later, group[0][0]) for group in groups for later, _ in group[1:]]


def _ends(path: Path) -> bytes:
    with path.open("rb") as file:
        first = file.read(_END)
        file.seek(max(0, path.stat().st_size - _END))
        return hashlib.blake2b(first + file.read(_END)).digest()


def _whole(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").digest()
