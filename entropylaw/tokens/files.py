"""Finding the files of a token table, and noticing that one of them is missing or unlike the others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from entropylaw.errors import InputError
from entropylaw.ingest.wording import counted, listing, shown, shown_path
from entropylaw.paths import is_utf8
from entropylaw.tokens import shards
from entropylaw.tokens.columntypes import PACKED, parquet_types, record_types

Kind = Literal["parquet", "jsonl"]

_SUFFIXES: dict[str, Kind] = {".parquet": "parquet", ".pq": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_HIVE = re.compile(r"(?P<name>[^=/\\]+)=(?P<value>[^/\\]*)$")
_HINT = "copy it as well, or go on without it: --allow-missing"
SUMMARY_SUFFIX = ".hist.parquet"
"""How the files end that :mod:`entropylaw.tokens.sums` writes; a folder's are none of its token logs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenFile:
    """A file of a token table: where it is, what it is called in documents, what its columns are.

    ``types`` maps columns to the name of their type, nested ones as ``list of …``; ``hive`` are the columns
    that its folders name. ``rows`` is None where the format does not say. ``ours`` is the format of a file
    that ``entropylaw tokens`` wrote, which holds no tokens.
    """

    path: Path
    name: str
    kind: Kind
    size: int
    types: dict[str, str]
    hive: tuple[str, ...] = ()
    rows: int | None = None
    ours: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The files of a table by name, and what to tell the user about them."""

    files: tuple[TokenFile, ...]
    notes: tuple[str, ...]


def find(
    tables: Sequence[str],
    *,
    allow_missing: bool = False,
    looked_for: Mapping[str, Sequence[str]] | None = None,
) -> Found:
    """Every file of ``tables`` (files, folders, patterns), by name, each once.

    ``looked_for`` are names of columns by role: for them it is worth to read more than a few JSON lines.

    Raises
    ------
    InputError
        ``file-not-found``, ``no-token-files``, ``mixed-formats``, ``shard-missing``, ``file-corrupt``,
        ``file-empty``, ``already-summarised``.

    """
    found: dict[Path, tuple[str, Path, bool]] = {}
    for table in tables:
        for path, root, by_name in _expanded(table):
            key = path.resolve()
            before = found.get(key, (_name(path, root), path, False))
            found[key] = (before[0], before[1], before[2] or by_name)
    ordered = sorted(found.values(), key=lambda one: (_natural(one[0]), str(one[1])))
    kinds = {kind_of(path) for _, path, _ in ordered}
    if len(kinds) > 1:
        one = next(name for name, path, _ in ordered if kind_of(path) == "jsonl")
        raise InputError(
            "mixed-formats",
            f"the table has Parquet files and {shown(one)}, one format is needed",
            "name the files of one format, or summarise each and join them: entropylaw tokens *.hist.parquet",
        )
    opened = [(_opened(path, name, looked_for or {}), by_name) for name, path, by_name in ordered]
    for file, by_name in opened:
        if file.ours and by_name:
            raise _summarised(file)
    files = tuple(file for file, _ in opened if not file.ours)
    passed = [file.name for file, _ in opened if file.ours]
    if not files:
        raise InputError(
            "no-token-files",
            f"all that is there is what entropylaw tokens wrote: {listing(passed)}",
            "name the folder with the tokens themselves",
        )
    notes = [f"skipped {listing(passed)}: what entropylaw tokens wrote, no tokens"] if passed else []
    notes += _absent([file.path for file in files], allow_missing=allow_missing)
    return Found(files=files, notes=(*notes, *_copies(files)))


def _summarised(file: TokenFile) -> InputError:
    return InputError(
        "already-summarised",
        f"{shown(file.name)} holds {shown(file.ours)}, which entropylaw tokens wrote: no tokens",
        "leave it out; sums of shards are joined from their .hist.parquet",
    )


def _absent(paths: Sequence[Path], *, allow_missing: bool) -> list[str]:
    """Notes on files that are not there; an error where their names say that they should be."""
    notes = []
    gaps = list(shards.gaps(paths))
    if gaps and not allow_missing:
        raise InputError(
            "shard-missing", gaps[0].sentence, "copy it as well, or go on without it: --allow-missing"
        )
    if gaps:
        missing = counted(len(gaps), "missing file")
        notes.append(f"went on without {missing}: {listing([gap.name for gap in gaps])}")
    return [*notes, *shards.suspicions(paths)]


def _copies(files: Sequence[TokenFile]) -> list[str]:
    """A note for each file that repeats another's bytes; files without rows may do so."""
    pairs = shards.copies([(file.name, file.path) for file in files if file.rows != 0])
    return [
        f"{shown(later)} holds the same bytes as {shown(earlier)}: if it is a copy, its tokens count twice"
        for later, earlier in pairs
    ]


def kind_of(path: Path) -> Kind | None:
    """The format that a file's suffix stands for; None for what is no token log."""
    name = path.name.lower().removesuffix(PACKED)
    return _SUFFIXES.get(Path(name).suffix)


def _expanded(table: str) -> Iterator[tuple[Path, Path, bool]]:
    """Files behind one argument: each with its root, and whether it was named itself."""
    if not table:
        raise InputError("file-not-found", "a table is named '', and no file is", "name a file or a folder")
    path = Path(table)
    if path.is_dir():
        files = sorted(each for each in path.rglob("*") if _is_log(each, path))
        if not files:
            raise InputError(
                "no-token-files",
                f"{shown_path(table)} holds no token logs, expected .parquet, .jsonl or .ndjson",
                "name the folder with the files, or the files",
            )
        yield from ((each, path, False) for each in files)
    elif path.is_file():
        if kind_of(path) is None:
            raise InputError(
                "no-token-files",
                f"{shown_path(table)} is no token log by its suffix, expected .parquet, .jsonl or .ndjson",
                "a table of tokens has one row a token, or one sequence of tokens a line",
            )
        yield path, path.parent, True
    elif any(c in table for c in "*?["):
        # A shell that found nothing, or none that expands at all, leaves the pattern to us.
        anchor = Path(path.anchor or ".")
        files = sorted(each for each in anchor.glob(str(path.relative_to(path.anchor))) if kind_of(each))
        if not files:
            raise InputError("file-not-found", f"no file is named {shown_path(table)}", "check the pattern")
        yield from ((each, each.parent, False) for each in files)
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


def _opened(path: Path, name: str, looked_for: Mapping[str, Sequence[str]]) -> TokenFile:
    if not is_utf8(str(path)):
        raise InputError(
            "name-not-utf8",
            f"the name {shown(name)} is not UTF-8, which the engines for token tables do not open",
            "rename the file",
        )
    size = path.stat().st_size
    if not size:
        raise InputError("file-empty", f"{shown(name)} has 0 bytes", "write it again")
    if kind_of(path) == "jsonl":
        types = record_types(path, name, looked_for)
        return TokenFile(path=path, name=name, kind="jsonl", size=size, types=types)
    types, rows, ours = parquet_types(path, name)
    hive = tuple(match["name"] for part in Path(name).parts[:-1] if (match := _HIVE.match(part)))
    return TokenFile(
        path=path, name=name, kind="parquet", size=size, types=types, hive=hive, rows=rows, ours=ours
    )


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
