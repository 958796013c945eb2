"""What the columns of a token file hold, by its own word (Parquet) or by its first records (JSON lines)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from entropylaw.errors import InputError
from entropylaw.ingest.wording import shown

METADATA = b"entropylaw"
"""Key of what our own files say about themselves."""

PACKED = ".gz"
_PLAIN = {bool: "bool", int: "int64", float: "double", str: "string"}

_FEW_RECORDS, _FEW_BYTES = 20, 256 * 1024
"""That much of a file of JSON lines is looked at in any case."""

_MOST_RECORDS, _MOST_BYTES = 1000, 4 * 1024 * 1024
"""That much while a column of interest is null or not there."""


def parquet_types(path: Path, name: str) -> tuple[dict[str, str], int, str]:
    """Column types of a Parquet file, its rows, and the format where it is a file of our own.

    Raises
    ------
    InputError
        ``file-corrupt``.

    """
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
    return {field.name: _arrow_type(field.type) for field in schema}, rows, _own_format(schema.metadata)


def own_facts(path: Path) -> dict[str, Any]:
    """What a Parquet file of ours says about itself; nothing for any other file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return _facts(pq.read_schema(path).metadata)
    except (pa.ArrowException, OSError, ValueError):
        return {}


def _facts(metadata: dict[bytes, bytes] | None) -> dict[str, Any]:
    try:
        facts = json.loads((metadata or {}).get(METADATA, b"null"))
    except (ValueError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) else {}


def _own_format(metadata: dict[bytes, bytes] | None) -> str:
    """What a file of ours says that it is; empty for any other."""
    found = _facts(metadata).get("format")
    return found if isinstance(found, str) and found.startswith("entropylaw ") else ""


def _arrow_type(kind: Any) -> str:
    """A type's name, the same for what differs only in how it is stored."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"list of {_arrow_type(kind.value_type)}"
    return str(kind).removeprefix("large_").replace("string_view", "string")


def record_types(
    path: Path, name: str, looked_for: Mapping[str, Sequence[str]] | None = None
) -> dict[str, str]:
    """Types of the fields of a file of JSON lines; ``null`` for what has no value in the records seen.

    The first records tell. More of them are read while a field of ``looked_for`` (names by role) has no
    value yet, or none stands for the step or the entropy.

    Raises
    ------
    InputError
        ``file-corrupt``.

    """
    roles = {role: {name.casefold() for name in names} for role, names in (looked_for or {}).items()}
    types: dict[str, str] = {}
    number, size = 0, 0
    for line in _lines(path, name):
        record = _record(line, name, first=not number)
        if record is None:
            break
        number, size = number + 1, size + len(line)
        for key, value in record.items():
            types[key] = both(types.get(key, "null"), _json_type(value))
        few = number >= _FEW_RECORDS or size >= _FEW_BYTES
        if (few and _settled(types, roles)) or number >= _MOST_RECORDS or size >= _MOST_BYTES:
            break
    if not number:
        raise InputError(
            "file-corrupt", f"{shown(name)} starts with no line", "one JSON object a line is needed"
        )
    return types


def _settled(types: Mapping[str, str], roles: Mapping[str, set[str]]) -> bool:
    """Whether every column of interest has a type, and those that no table goes without are there."""
    there = {key.casefold(): kind for key, kind in types.items()}
    found = {role: [there[name] for name in names if name in there] for role, names in roles.items()}
    unknown = any(kind.endswith("null") for kinds in found.values() for kind in kinds)
    return not unknown and all(found[role] for role in ("step", "entropy") if role in found)


def _lines(path: Path, name: str) -> Iterator[bytes]:
    """The lines that are not blank."""
    import gzip

    try:
        packed = path.name.lower().endswith(PACKED)
        file: IO[bytes]
        with gzip.open(path, "rb") if packed else path.open("rb") as file:  # type: ignore[assignment]
            yield from (line for line in file if line.strip())
    except (OSError, EOFError) as problem:
        raise _no_json(name, problem) from None


def _record(line: bytes, name: str, *, first: bool) -> dict[str, Any] | None:
    """A line's object; None for a later line that is none, which the engine will name."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as problem:
        if first:
            raise _no_json(name, problem) from None
        return None
    if isinstance(record, dict):
        return record
    if not first:
        return None
    raise InputError(
        "file-corrupt",
        f"{shown(name)} starts with {type(record).__name__}",
        "one JSON object a line is needed",
    )


def _no_json(name: str, problem: BaseException) -> InputError:
    return InputError(
        "file-corrupt",
        f"the first line of {shown(name)} is no JSON ({shown(str(problem))})",
        "one JSON object a line is needed",
    )


def _json_type(value: object) -> str:
    if isinstance(value, list):
        inner = "null"
        for each in value:
            inner = both(inner, _json_type(each))
        return f"list of {inner}"
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
    plain = set(_PLAIN.values())
    return "string" if one in plain and other in plain else "single values and lists"
