"""Which files of a sharded token table are missing, and which are there twice."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from entropylaw.ingest.wording import counted, listing, shown

_OF = re.compile(r"(?P<stem>.*?)(?P<number>\d+)-of-(?P<count>\d+)(?P<rest>\D.*)?$")
_NUMBERED = re.compile(
    r"(?P<stem>(?:.*[-_.])?(?:part|shard|chunk|split|rank)[-_.]?)(?P<number>\d+)(?P<rest>\D.*)$",
    re.IGNORECASE,
)
_RANK = re.compile(r"rank_(?P<rank>\d+)\..+$")
_STEP_FOLDER = re.compile(r"step_(?P<step>\d+)$")
_FEWEST_STEPS = 4
_BLOCK, _END = 1 << 20, 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A file that the others say should be there: its name, and a sentence."""

    name: str
    sentence: str


def gaps(paths: Iterable[Path]) -> Iterator[Gap]:
    """Each gap in ``part-00000-of-00008``, each rank or marker that other steps' folders have."""
    numbered: dict[tuple[str, str, int, str, str], set[int]] = defaultdict(set)
    ranks: dict[Path, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for path in paths:
        part = _OF.match(path.name)
        if part:
            key = (str(path.parent), part["stem"], len(part["number"]), part["count"], part["rest"] or "")
            numbered[key].add(int(part["number"]))
        rank = _RANK.match(path.name)
        if rank and _STEP_FOLDER.match(path.parent.name):
            ranks[path.parent.parent][path.parent.name].add(int(rank["rank"]))
    for (_, stem, width, count, rest), numbers in sorted(numbered.items()):
        first = 0 if 0 in numbers or int(count) not in numbers else 1
        for number in sorted(set(range(first, first + int(count))) - numbers):
            name = f"{stem}{number:0{width}d}-of-{count}{rest}"
            there = f"{counted(len(numbers), 'file')} of {count} are there"
            yield Gap(name=name, sentence=f"{shown(name)} is missing: {there}")
    for folder, steps in sorted(ranks.items()):
        yield from _gaps_of_steps(folder, steps)


def _gaps_of_steps(folder: Path, steps: dict[str, set[int]]) -> Iterator[Gap]:
    every = set().union(*steps.values())
    order = sorted(steps, key=lambda name: int(name.removeprefix("step_")))
    for step in order:
        for rank in sorted(every - steps[step]):
            name = f"{step}/rank_{rank}.jsonl"
            yield Gap(name=name, sentence=f"{shown(name)} is missing, and other steps have this rank")
    marked = {step for step in steps if (folder / step / "STABLE").exists()}
    if marked:
        for step in order:
            if step not in marked:
                name = f"{step}/STABLE"
                yield Gap(
                    name=name,
                    sentence=f"{shown(name)} is missing, and other steps have it: this one was not finished",
                )


def suspicions(paths: Iterable[Path]) -> Iterator[str]:
    """A sentence for each gap in numbers that say no total: the files may never have been there."""
    numbered: dict[tuple[str, str, str], dict[int, str]] = defaultdict(dict)
    steps: dict[Path, set[int]] = defaultdict(set)
    for path in paths:
        match = None if _OF.match(path.name) else _NUMBERED.match(path.name)
        if match:
            numbered[(str(path.parent), match["stem"], match["rest"])][int(match["number"])] = match["number"]
        folder = _STEP_FOLDER.match(path.parent.name)
        if folder:
            steps[path.parent.parent].add(int(folder["step"]))
    for (_, stem, rest), found in sorted(numbered.items()):
        absent = sorted(set(range(max(found))) - set(found) - {0})
        if len(found) > 1 and absent:
            names = [f"{stem}{number:0{len(found[max(found)])}d}{rest}" for number in absent[:3]]
            more = f" and {len(absent) - 3} more" if len(absent) > 3 else ""
            yield (
                f"{listing(names)}{more} would stand between files that are there: "
                "were they written, and not copied?"
            )
    for _, numbers in sorted(steps.items()):
        yield from _absent_steps(sorted(numbers))


def _absent_steps(steps: Sequence[int]) -> Iterator[str]:
    """Steps left out of an even row of folders."""
    if len(steps) < _FEWEST_STEPS:
        return
    apart = [after - before for before, after in pairwise(steps)]
    usual = min(apart)
    if 2 * apart.count(usual) <= len(apart):
        return
    absent = [
        step
        for before, after in pairwise(steps)
        if (after - before) % usual == 0
        for step in range(before + usual, after, usual)
    ]
    if absent:
        names = listing([f"step_{step}" for step in absent[:3]])
        more = f" and {len(absent) - 3} more" if len(absent) > 3 else ""
        yield f"no folder {names}{more}, and the others are {usual} apart: were they written, and not copied?"


def copies(files: Sequence[tuple[str, Path]]) -> list[tuple[str, str]]:
    """Pairs of files (name of the later, name of the earlier) that hold the same bytes."""
    sizes: dict[int, list[tuple[str, Path]]] = defaultdict(list)
    for name, path in files:
        sizes[path.stat().st_size].append((name, path))
    found = []
    for size, alike in sizes.items():
        # The ends tell most files apart; only those of equal ends are read as a whole.
        ends = [_digest(path, 0, size) for _, path in alike] if len(alike) > 1 else []
        seen: dict[bytes, str] = {}
        for (name, path), end in zip(alike, ends, strict=False):
            digest = _digest(path) if ends.count(end) > 1 else end
            if digest in seen:
                found.append((name, seen[digest]))
            else:
                seen[digest] = name
    return found


def _digest(path: Path, *ends: int) -> bytes:
    """A hash of a file, or of the blocks before and after its ``ends``."""
    digest = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        for end in ends:
            file.seek(max(0, end - _END))
            digest.update(file.read(_END))
        while not ends and (block := file.read(_BLOCK)):
            digest.update(block)
    return digest.digest()
