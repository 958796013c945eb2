"""Finding the files of a token table, and noticing that one of them is missing or unlike the others."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from entropylaw.errors import InputError
from entropylaw.ingest.wording import counted, listing, shown, shown_path

Kind = Literal["parquet", "jsonl"]

_SUFFIXES: dict[str, Kind] = {".parquet": "parquet", ".pq": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_PACKED = ".gz"
_PART = re.compile(r"(?P<stem>.*?)(?P<number>\d+)-of-(?P<count>\d+)(?P<rest>\D.*)?$")
_RANK = re.compile(r"rank_(?P<rank>\d+)\..+$")
_STEP_FOLDER = re.compile(r"step_(?P<step>\d+)$")
_HIVE = re.compile(r"(?P<name>[^=/\\]+)=(?P<value>[^/\\]*)$")
_HINT = "copy it as well, or go on without it: --allow-missing"
SUMMARY_SUFFIX = ".hist.parquet"
"""How the files end that :mod:`entropylaw.tokens.sums` writes; a folder's are none of its token logs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenFile:
    """A file of a token table: where it is, what it is called in documents, what its columns are.

    ``types`` maps columns to the name of their type, nested ones as ``list of …``; ``hive`` are the columns
    that its folders name. ``rows`` is None where the format does not say.
    """

    path: Path
    name: str
    kind: Kind
    size: int
    types: dict[str, str]
    hive: tuple[str, ...] = ()
    rows: int | None = None


def find(tables: Sequence[str], *, allow_missing: bool = False) -> list[TokenFile]:
    """Every file of ``tables`` (files, folders, patterns), by name, each once.

    Raises
    ------
    InputError
        ``file-not-found``, ``no-token-files``, ``mixed-formats``, ``shard-missing``, ``file-corrupt``,
        ``file-empty``.

    """
    found: dict[Path, tuple[str, Path]] = {}
    for table in tables:
        for path, root in _expanded(table):
            found.setdefault(path.resolve(), (_name(path, root), path))
    named = sorted(found.values(), key=lambda pair: (_natural(pair[0]), str(pair[1])))
    kinds = {kind_of(path) for _, path in named}
    if len(kinds) > 1:
        one = next(name for name, path in named if kind_of(path) == "jsonl")
        raise InputError(
            "mixed-formats",
            f"the table has Parquet files and {shown(one)}, one format is needed",
            "name the files of one format, or summarise each and join them: entropylaw tokens *.hist.parquet",
        )
    if not allow_missing:
        check_complete([path for _, path in named])
    return [_opened(path, name) for name, path in named]


def kind_of(path: Path) -> Kind | None:
    """The format that a file's suffix stands for; None for what is no token log."""
    name = path.name.lower().removesuffix(_PACKED)
    return _SUFFIXES.get(Path(name).suffix)


def _expanded(table: str) -> Iterator[tuple[Path, Path]]:
    """Files behind one argument, each with the folder that its name starts from."""
    path = Path(table)
    if path.is_dir():
        files = sorted(each for each in path.rglob("*") if _is_log(each, path))
        if not files:
            raise InputError(
                "no-token-files",
                f"{shown_path(table)} holds no token logs, expected .parquet, .jsonl or .ndjson",
                "name the folder with the files, or the files",
            )
        yield from ((each, path) for each in files)
    elif path.is_file():
        if kind_of(path) is None:
            raise InputError(
                "no-token-files",
                f"{shown_path(table)} is no token log by its suffix, expected .parquet, .jsonl or .ndjson",
                "a table of tokens has one row a token, or one sequence of tokens a line",
            )
        yield path, path.parent
    elif any(c in table for c in "*?["):
        # A shell that found nothing, or none that expands at all, leaves the pattern to us.
        anchor = Path(path.anchor or ".")
        files = sorted(each for each in anchor.glob(str(path.relative_to(path.anchor))) if kind_of(each))
        if not files:
            raise InputError("file-not-found", f"no file is named {shown_path(table)}", "check the pattern")
        yield from ((each, each.parent) for each in files)
    else:
        raise InputError("file-not-found", f"{shown_path(table)} does not exist", "check the path")


def _is_log(path: Path, root: Path) -> bool:
    """Whether a file in a folder is one of its logs: no marker, no hidden file, no summary of ours."""
    inside = path.relative_to(root).parts
    hidden = any(part.startswith((".", "_")) and "=" not in part for part in inside)
    return (
        not hidden and not path.name.endswith(SUMMARY_SUFFIX) and kind_of(path) is not None and path.is_file()
    )


def _name(path: Path, root: Path) -> str:
    """A file's name in documents: never absolute, so that a document does not tell whose machine it was."""
    return path.relative_to(root).as_posix()


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def check_complete(paths: Iterable[Path]) -> None:
    """Notice a gap in ``part-00000-of-00008`` and a rank or a marker that other steps' folders have.

    Raises
    ------
    InputError
        ``shard-missing``, which names the first one.

    """
    numbered: dict[tuple[str, ...], set[int]] = defaultdict(set)
    ranks: dict[Path, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for path in paths:
        part = _PART.match(path.name)
        if part:
            key = (str(path.parent), part["stem"], part["number"], part["count"], part["rest"] or "")
            numbered[(key[0], key[1], str(len(key[2])), key[3], key[4])].add(int(part["number"]))
        rank = _RANK.match(path.name)
        if rank and _STEP_FOLDER.match(path.parent.name):
            ranks[path.parent.parent][path.parent.name].add(int(rank["rank"]))
    for (_, stem, width, count, rest), numbers in sorted(numbered.items()):
        first = 0 if 0 in numbers or int(count) not in numbers else 1
        gaps = sorted(set(range(first, first + int(count))) - numbers)
        if gaps:
            name = f"{stem}{gaps[0]:0{int(width)}d}-of-{count}{rest}"
            raise InputError(
                "shard-missing",
                f"{shown(name)} is missing: {counted(len(numbers), 'file')} of {count} are there",
                _HINT,
            )
    for folder, steps in sorted(ranks.items()):
        _check_ranks(folder, steps)


def _check_ranks(folder: Path, steps: dict[str, set[int]]) -> None:
    every = set().union(*steps.values())
    for step in sorted(steps, key=_natural):
        if steps[step] != every:
            name = f"{step}/rank_{min(every - steps[step])}.jsonl"
            raise InputError(
                "shard-missing",
                f"{shown(name)} is missing, and other steps have this rank",
                _HINT,
            )
    marked = {step for step in steps if (folder / step / "STABLE").exists()}
    if marked and marked != set(steps):
        step = min(set(steps) - marked, key=_natural)
        raise InputError(
            "shard-missing",
            f"{shown(f'{step}/STABLE')} is missing, and other steps have it: this one was not finished",
            _HINT,
        )


def _opened(path: Path, name: str) -> TokenFile:
    size = path.stat().st_size
    if not size:
        raise InputError("file-empty", f"{shown(name)} has 0 bytes", "write it again")
    if kind_of(path) == "jsonl":
        return TokenFile(path=path, name=name, kind="jsonl", size=size, types=_record_types(path, name))
    types, rows = _schema(path, name)
    hive = tuple(match["name"] for part in Path(name).parts[:-1] if (match := _HIVE.match(part)))
    return TokenFile(path=path, name=name, kind="parquet", size=size, types=types, hive=hive, rows=rows)


def _schema(path: Path, name: str) -> tuple[dict[str, str], int]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
    except (pa.ArrowException, OSError, ValueError) as problem:
        raise InputError(
            "file-corrupt",
            f"{shown(name)} cannot be read as Parquet: {shown(str(problem).splitlines()[0])}",
            "copy the file again, or write it again: a killed job leaves Parquet without its footer",
        ) from None
    return {field.name: _arrow_type(field.type) for field in schema}, rows


def _arrow_type(kind: Any) -> str:
    """A type's name, the same for what differs only in how it is stored."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"list of {_arrow_type(kind.value_type)}"
    return str(kind).removeprefix("large_").replace("string_view", "string")


_PLAIN = {bool: "bool", int: "int64", float: "double", str: "string"}


def _record_types(path: Path, name: str) -> dict[str, str]:
    """Types of the first record's fields; ``null`` for what has no value in it."""
    import gzip

    try:
        with gzip.open(path, "rb") if path.name.lower().endswith(_PACKED) else path.open("rb") as file:
            line = next((text for text in file if text.strip()), b"")
        record = json.loads(line) if line else None
    except (OSError, ValueError, EOFError) as problem:
        raise InputError(
            "file-corrupt",
            f"the first line of {shown(name)} is no JSON ({shown(str(problem))})",
            "one JSON object a line is needed",
        ) from None
    if not isinstance(record, dict):
        found = "no line" if record is None else type(record).__name__
        raise InputError(
            "file-corrupt", f"{shown(name)} starts with {found}", "one JSON object a line is needed"
        )
    return {key: _json_type(value) for key, value in record.items()}


def _json_type(value: object) -> str:
    if isinstance(value, list):
        known = [_json_type(each) for each in value if each is not None]
        inner = "double" if "double" in known else next(iter(known), "null")
        return f"list of {inner}"
    return _PLAIN.get(type(value), "null" if value is None else "struct")


def check_alike(files: Sequence[TokenFile], columns: Sequence[str]) -> None:
    """Notice a shard whose columns differ from those of the first in what is used.

    Raises
    ------
    InputError
        ``shards-differ``, which names the file and the column.

    """
    first = files[0]
    for column in columns:
        wanted = _type_of(first, column)
        for file in files:
            got = _type_of(file, column)
            if got == wanted or (file.kind == "jsonl" and _same_json(got, wanted)):
                continue
            there = f"column {shown(column)} as {got}" if got else f"no column {shown(column)}"
            raise InputError(
                "shards-differ",
                f"{shown(file.name)} has {there}, {shown(first.name)} has it as {wanted or 'no column'}",
                "write all files with the same columns and types, or name only those that belong together; "
                f"the file's columns are {listing(list(file.types))}",
            )


def _type_of(file: TokenFile, column: str) -> str | None:
    return "partition" if column in file.hive else file.types.get(column)


def _same_json(one: str | None, other: str | None) -> bool:
    """Whether two JSON types are one: 0 and 0.5 are both numbers, and null may be anything."""
    if one is None or other is None:
        return False
    plain = (one.removeprefix("list of "), other.removeprefix("list of "))
    if one.startswith("list") != other.startswith("list"):
        return "null" in (one, other)
    return "null" in plain or set(plain) <= {"int64", "double"}
