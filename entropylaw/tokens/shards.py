"""The files of a token table as one set: columns of one type, and missing files."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from entropylaw.errors import InputError
from entropylaw.escaping import counted, listing, shown
from entropylaw.tokens.files import TokenFile

_OF = re.compile(r"(?P<stem>.*?)(?P<number>\d+)-of-(?P<count>\d+)(?P<rest>\D.*)?$")
_RANK = re.compile(r"rank_(\d+)\..+$")
_STEP_FOLDER = re.compile(r"step_(\d+)$")


def check_alike(files: Sequence[TokenFile], columns: Sequence[str]) -> None:
    """Refuse a file whose types differ from the first file's in the ``columns`` (``shards-differ``)."""
    for column in columns:
        first, *others = ("partition" if column in file.hive else file.types.get(column) for file in files)
        for file, kind in zip(files[1:], others, strict=True):
            if kind == first or (file.kind == "jsonl" and alike_in_json(kind, first)):
                continue
            here, there = (f"as {stored}" if stored else "not at all" for stored in (kind, first))
            message = f"{shown(file.name)} has column {shown(column)} {here}, "
            message += f"{shown(files[0].name)} has it {there}"
            hint = "write all files with the same columns and types, or name only those that belong "
            hint += f"together; the file's columns are {listing(list(file.types))}"
            raise InputError("shards-differ", message, hint)


def alike_in_json(first: pa.DataType | None, other: pa.DataType | None) -> bool:
    """Whether types of two JSON files can be one: 0 and 0.5 are both numbers, and null may be anything."""
    if first is None or other is None:
        return False
    if pa.types.is_list(first) and pa.types.is_list(other):
        first, other = first.value_type, other.value_type
    return pa.null() in (first, other) or {first, other} <= {pa.int64(), pa.float64()}


def check_gaps(files: Sequence[TokenFile], *, allow_missing: bool) -> list[str]:
    """A note on missing files, which the names of the others imply; or InputError ``shard-missing``."""
    paths = [file.path for file in files]
    gaps = [*missing_in_sets(paths), *missing_in_steps(paths)]
    if gaps and not allow_missing:
        name, reason = gaps[0]
        hint = "copy it as well, or go on without it: --allow-missing"
        raise InputError("shard-missing", f"{shown(name)} is missing{reason}", hint)
    names = listing([name for name, _ in gaps])
    return [f"went on without {counted(len(gaps), 'missing file')}: {names}"] if gaps else []


def missing_in_sets(paths: Iterable[Path]) -> Iterator[tuple[str, str]]:
    """Each gap in ``part-00000-of-00008``: the name of the missing file, and the reason."""
    numbered: dict[tuple[str, str, int, str, str], set[int]] = defaultdict(set)
    for path in paths:
        if match := _OF.match(path.name):
            key = (str(path.parent), match["stem"], len(match["number"]), match["count"], match["rest"] or "")
            numbered[key].add(int(match["number"]))
    for (_, stem, width, count, rest), numbers in sorted(numbered.items()):
        first = 0 if 0 in numbers or int(count) not in numbers else 1
        for number in sorted(set(range(first, first + int(count))) - numbers):
            name = f"{stem}{number:0{width}d}-of-{count}{rest}"
            yield name, f": {counted(len(numbers), 'file')} of {count} are there"


def missing_in_steps(paths: Iterable[Path]) -> Iterator[tuple[str, str]]:
    """Each rank or marker that the folders of other steps have, as :func:`missing_in_sets`."""
    ranks: dict[Path, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for path in paths:
        rank = _RANK.match(path.name)
        if rank and _STEP_FOLDER.match(path.parent.name):
            ranks[path.parent.parent][path.parent.name].add(int(rank[1]))
    for folder, steps in sorted(ranks.items()):
        every = set().union(*steps.values())
        order = sorted(steps, key=lambda name: int(name.removeprefix("step_")))
        for step in order:
            for number in sorted(every - steps[step]):
                yield f"{step}/rank_{number}.jsonl", ", and other steps have this rank"
        unmarked = [step for step in order if not (folder / step / "STABLE").exists()]
        for step in unmarked if len(unmarked) < len(order) else ():
            yield f"{step}/STABLE", ", and other steps have it: this step was not finished"
