"""The files of a token table: found, each with what its columns hold by its own word or its first records."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from entropylaw.errors import InputError
from entropylaw.ingest.wording import listing, shown, shown_path
from entropylaw.paths import is_utf8
from entropylaw.tokens import shards
from entropylaw.walk import walk

Kind = Literal["parquet", "jsonl"]

METADATA = b"entropylaw"
"""Key of what our own files say about themselves."""
SUMMARY_SUFFIX = ".hist.parquet"
"""How the files end that :mod:`entropylaw.tokens.sums` writes; a folder's are none of its token logs."""

_SUFFIXES: dict[str, Kind] = {".parquet": "parquet", ".pq": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_HIVE = re.compile(r"([^=/\\]+)=[^/\\]*$")
_SEEN = re.compile(r"[^_].*|_.*=.*", re.DOTALL)
_PLAIN = {bool: "bool", int: "int64", float: "double", str: "string"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenFile:
    """A file of a token table: where it is, what it is called in documents, what its columns are.

    ``types`` maps columns to the name of their type, nested ones as ``list of …``; ``hive`` are the columns
    that its folders name, ``rows`` None where the format does not say, ``ours`` the format of a file that
    ``entropylaw tokens`` wrote, which holds no tokens.
    """

    path: Path
    name: str
    kind: Kind
    size: int
    types: dict[str, str]
    hive: tuple[str, ...] = ()
    rows: int | None = None
    ours: str = ""


def find(
    tables: Sequence[str], *, allow_missing: bool, looked_for: Mapping[str, set[str]]
) -> tuple[list[TokenFile], list[str]]:
    """Every file of ``tables`` (files, folders, patterns), by name, each once, and notes on them.

    ``looked_for`` are lower-case names of columns by role: to find them more than a few JSON lines are read.
    What is no table is an InputError ``file-not-found``, ``no-token-files``, ``mixed-formats``,
    ``shard-missing``, ``file-corrupt``, ``file-empty``, ``name-not-utf8`` or ``already-summarised``.
    """
    found: dict[Path, tuple[str, Path]] = {}
    for name, path in [file for table in tables for file in _expanded(table)]:
        found.setdefault(path.resolve(), (name, path))
    lines = [one for one in found.values() if kind_of(one[1]) == "jsonl"]
    if 0 < len(lines) < len(found):
        one = shown(min(lines, key=_natural)[0])
        message = f"the table has Parquet files and {one}, one format is needed"
        hint = "name the files of one format, or summarise each and join them: "
        hint += "entropylaw tokens *.hist.parquet"
        raise InputError("mixed-formats", message, hint)
    opened = [_opened(path, name, looked_for) for name, path in sorted(found.values(), key=_natural)]
    ours = [file for file in opened if file.ours]
    named = {path.resolve() for path in map(Path, tables) if path.is_file()}
    for file in ours:
        if file.path.resolve() in named:
            message = f"{shown(file.name)} holds {shown(file.ours)}, which entropylaw tokens wrote: no tokens"
            hint = "leave it out; sums of shards are joined from their .hist.parquet"
            raise InputError("already-summarised", message, hint)
    skipped = listing(list(dict.fromkeys(file.name for file in ours)))
    files = [file for file in opened if not file.ours]
    if not files:
        message = f"all that is there is what entropylaw tokens wrote: {skipped}"
        raise InputError("no-token-files", message, "name the folder with the tokens themselves")
    notes = [f"skipped {skipped}: what entropylaw tokens wrote, no tokens"] if ours else []
    notes += shards.absent([file.path for file in files], allow_missing=allow_missing)
    # Files without rows may repeat each other's bytes.
    for later, earlier in shards.copies([(file.name, file.path) for file in files if file.rows != 0]):
        twice = f"{shown(later)} holds the same bytes as {shown(earlier)}"
        notes.append(f"{twice}: if it is a copy, its tokens count twice")
    return files, notes


def _natural(file: tuple[str, Path]) -> tuple[list[tuple[int, str]], str]:
    """Numbers in names in their own order."""
    parts = re.split(r"(\d+)", file[0])
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts], str(file[1])


def kind_of(path: Path) -> Kind | None:
    """The format that a file's suffix stands for; None for what is no token log."""
    return _SUFFIXES.get(Path(path.name.lower().removesuffix(".gz")).suffix)


def matching(pattern: str) -> list[Path] | None:
    """The files of a pattern that no shell has expanded, in order; None for what is no pattern."""
    if not any(c in pattern for c in "*?["):
        return None
    path = Path(pattern)
    return sorted(Path(path.anchor or ".").glob(str(path.relative_to(path.anchor))))


def _expanded(table: str) -> list[tuple[str, Path]]:
    """Files behind one argument, each with its name relative to it: it does not show a machine."""
    if not table:
        raise InputError("file-not-found", "a table is named '', and no file is", "name a file or a folder")
    path, expected = Path(table), "expected .parquet, .jsonl or .ndjson"
    if path.is_dir():
        if files := sorted(_logs_in(table)):
            return [(file.relative_to(path).as_posix(), file) for file in files]
        message = f"{shown_path(table)} holds no token logs, {expected}"
        raise InputError("no-token-files", message, "name the folder with the files, or the files")
    if path.is_file():
        if kind_of(path) is None:
            message = f"{shown_path(table)} is no token log by its suffix, {expected}"
            hint = "a table of tokens has one row a token, or one sequence of tokens a line"
            raise InputError("no-token-files", message, hint)
        return [(path.name, path)]
    found = matching(table)
    if found is None:
        raise InputError("file-not-found", f"{shown_path(table)} does not exist", "check the path")
    if not any(map(kind_of, found)):
        raise InputError("file-not-found", f"no file is named {shown_path(table)}", "check the pattern")
    return [(each.name, each) for each in found if kind_of(each)]


def _logs_in(folder: str) -> Iterator[Path]:
    """The logs in a folder: no marker, no hidden file, no summary of ours."""
    for where, inner, names in (visit for visit in walk(folder) if not isinstance(visit, OSError)):
        inner[:] = filter(_SEEN.fullmatch, inner)
        for path in (Path(where, name) for name in filter(_SEEN.fullmatch, names)):
            if not path.name.endswith(SUMMARY_SUFFIX) and kind_of(path) and path.is_file():
                yield path


def _opened(path: Path, name: str, looked_for: Mapping[str, set[str]]) -> TokenFile:
    if not is_utf8(str(path)):
        message = f"the name {shown(name)} is not UTF-8, which the engines for token tables do not open"
        raise InputError("name-not-utf8", message, "rename the file")
    size = path.stat().st_size
    if not size:
        raise InputError("file-empty", f"{shown(name)} has 0 bytes", "write it again")
    if kind_of(path) == "jsonl":
        types = _record_types(path, name, looked_for)
        return TokenFile(path=path, name=name, kind="jsonl", size=size, types=types)
    try:
        with pq.ParquetFile(path) as opened:
            schema, rows = opened.schema_arrow, opened.metadata.num_rows
    except (pa.ArrowException, OSError, ValueError) as problem:
        message = f"{shown(name)} cannot be read as Parquet: {shown(str(problem).splitlines()[0])}"
        hint = "copy the file again, or write it again: a killed job leaves Parquet without its footer"
        raise InputError("file-corrupt", message, hint) from None
    types = {field.name: _arrow_type(field.type) for field in schema}
    file = TokenFile(path=path, name=name, kind="parquet", size=size, types=types, rows=rows)
    hive = tuple(match[1] for part in Path(name).parts[:-1] if (match := _HIVE.match(part)))
    ours = str(facts_of(schema.metadata).get("format"))
    return replace(file, hive=hive, ours=ours if ours.startswith("entropylaw ") else "")


def facts_of(metadata: Mapping[bytes, bytes] | None) -> dict[str, Any]:
    """What a Parquet file of ours says about itself, from its schema's metadata; nothing for any other."""
    facts = None
    with suppress(ValueError, RecursionError):
        facts = json.loads((metadata or {}).get(METADATA, b"null"))
    return facts if isinstance(facts, dict) else {}


def histogram_of(summary: Path) -> tuple[Path | None, str]:
    """The histograms beside a summary, and a warning where a file of that name is of other tokens."""
    beside = summary.with_suffix(SUMMARY_SUFFIX)
    if not beside.is_file():
        return None, ""
    with suppress(pa.ArrowException, OSError, ValueError):
        sums = [facts_of(pq.read_schema(path).metadata).get("sums") for path in (summary, beside)]
        if None not in sums and sums[0] != sums[1]:
            return None, f"{beside.name} is of other tokens than {summary.name}: it is not drawn"
    return beside, ""


def _arrow_type(kind: Any) -> str:
    """A type's name, the same for what differs only in how it is stored."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"list of {_arrow_type(kind.value_type)}"
    return str(kind).removeprefix("large_").replace("string_view", "string")


def _record_types(path: Path, name: str, roles: Mapping[str, set[str]]) -> dict[str, str]:
    """Types of the fields in the first records of JSON lines; ``null`` for what has no value in them.

    More are read while a field of ``roles`` (names by role) has none, or the step or entropy is missing.
    """
    types, size = dict[str, str](), 0
    for number, (record, length) in enumerate(_records(path, name), 1):
        size += length
        for key, value in record.items():
            types[key] = both(types.get(key, "null"), _json_type(value))
        there = {key.casefold(): kind for key, kind in types.items()}
        unknown = any(there.get(each, "").endswith("null") for names in roles.values() for each in names)
        needed = all(roles[role] & there.keys() for role in ("step", "entropy"))
        few, most = number >= 20 or size >= 1 << 18, number >= 1000 or size >= 1 << 22
        if (few and needed and not unknown) or most:
            break
    return types


def _records(path: Path, name: str) -> Iterator[tuple[dict[str, Any], int]]:
    """The objects of a file of JSON lines with their bytes, up to a later line that an engine will refuse."""
    import gzip

    hint, number = "one JSON object a line is needed", 0
    try:
        with gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb") as file:
            for number, line in enumerate(filter(bytes.strip, file), 1):
                record = json.loads(line)
                if isinstance(record, dict):
                    yield record, len(line)
                    continue
                if number > 1:
                    return
                message = f"{shown(name)} starts with {type(record).__name__}"
                raise InputError("file-corrupt", message, hint)
    except (OSError, EOFError, ValueError, RecursionError) as problem:
        if number > 1 and not isinstance(problem, (OSError, EOFError)):
            return
        message = f"the first line of {shown(name)} is no JSON ({shown(str(problem))})"
        raise InputError("file-corrupt", message, hint) from None
    if not number:
        raise InputError("file-corrupt", f"{shown(name)} starts with no line", hint)


def _json_type(value: object) -> str:
    if isinstance(value, list):
        return f"list of {reduce(both, map(_json_type, value), 'null')}"
    return _PLAIN.get(type(value), "null" if value is None else "struct")


def both(one: str, other: str) -> str:
    """Return the type that holds two: any of them beside null, numbers together, and otherwise text."""
    if one == other or other == "null":
        return one
    if one == "null":
        return other
    if one.startswith("list of ") and other.startswith("list of "):
        return f"list of {both(one.removeprefix('list of '), other.removeprefix('list of '))}"
    if {one, other} == {"int64", "double"}:
        return "double"
    return "string" if {one, other} <= set(_PLAIN.values()) else "single values and lists"


def check_alike(files: Sequence[TokenFile], columns: Sequence[str]) -> None:
    """Refuse a shard whose columns differ from those of the first in what is used (``shards-differ``)."""
    for column in columns:
        first, *others = ("partition" if column in f.hive else f.types.get(column, "") for f in files)
        for file, got in zip(files[1:], others, strict=True):
            if got == first or (file.kind == "jsonl" and _same_json(got, first)):
                continue
            there = f"column {shown(column)} as {got}" if got else f"no column {shown(column)}"
            message = f"{shown(file.name)} has {there}, {shown(files[0].name)} has it as "
            hint = "write all files with the same columns and types, or name only those that belong "
            hint += f"together; the file's columns are {listing(list(file.types))}"
            raise InputError("shards-differ", message + (first or "no column"), hint)


def _same_json(one: str, other: str) -> bool:
    """Whether two JSON types are one: 0 and 0.5 are both numbers, and null may be anything."""
    plain = {one.removeprefix("list of "), other.removeprefix("list of ")}
    if "" in plain or one.startswith("list") != other.startswith("list"):
        return "null" in (one, other) and "" not in plain
    return "null" in plain or plain <= {"int64", "double"}
