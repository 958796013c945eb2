"""The files of a table of tokens or samples: finding them, and the types of their columns."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, Literal, cast

import pyarrow as pa
import pyarrow.parquet as pq

from entropylaw.errors import InputError
from entropylaw.escaping import listing, nearest, shown
from entropylaw.paths import expanded, is_utf8, shown_path, walk

Kind = Literal["parquet", "jsonl", "csv"]

METADATA = b"entropylaw"
"""Key of our metadata in the Parquet files that we write."""

_SUFFIXES: dict[str, Kind] = {".parquet": "parquet", ".pq": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_HIVE = re.compile(r"([^=/\\]+)=[^/\\]*$")
_READ = re.compile(r"[^_].*|_.*=.*", re.DOTALL)
_JSON_TYPES = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    type(None): pa.null(),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFile:
    """A file of a table of tokens or samples.

    Attributes
    ----------
    path, name
        What the engine reads; and its name in documents, relative to the folder that was given.
    types
        Column → Arrow type; text for those in ``hive`` alone, of JSON lines those in the first records.
    hive
        Columns that the names of its folders give.
    rows
        None where the format does not store the number.
    ours
        Whether ``entropylaw tokens`` wrote it, so that it holds no tokens.
    step, layout
        Of samples: the step in its name, None where there is none; and what wrote it, where that is known by
        its content.
    run, task
        Of samples: the folder that distinguishes it from files of its name, otherwise its own name; and the
        task in the names that lm-evaluation-harness gives.
    """

    path: Path
    name: str
    kind: Kind
    size: int
    types: dict[str, pa.DataType]
    hive: tuple[str, ...] = ()
    rows: int | None = None
    ours: bool = False
    step: int | None = None
    layout: str = ""
    run: str = ""
    task: str = ""


def find(tables: Sequence[str]) -> tuple[list[TableFile], list[str]]:
    """Every file of ``tables`` (files, folders, patterns), by name, each once, and a note on skipped ones.

    InputErrors are ``file-not-found``, ``no-token-files``, ``mixed-formats``, ``already-summarised``, and
    those of :func:`opened`.
    """
    ordered = distinct(chain.from_iterable(map(log_files, tables)))
    lines = [name for name, path in ordered if kind_of(path) == "jsonl"]
    if 0 < len(lines) < len(ordered):
        message = f"the table has Parquet files and {shown(lines[0])}, one format is needed"
        hint = "write the files in one format"
        raise InputError("mixed-formats", message, hint)
    every = [opened(path, name, kind_of(path) or "parquet") for name, path in ordered]
    files = [file for file in every if not file.ours]
    skipped = {file.path.resolve(): file.name for file in every if file.ours}
    ours, named = listing([*skipped.values()]), set(map(Path.resolve, map(Path, tables)))
    if named_file := next(filter(named.__contains__, skipped), None):
        message = f"{shown(skipped[named_file])} was written by entropylaw tokens, and holds no tokens"
        hint = "leave it out, and give the token files of all shards in one call"
        raise InputError("already-summarised", message, hint)
    if not files:
        message = f"the table has only files that entropylaw tokens wrote: {ours}"
        raise InputError("no-token-files", message, "name the folder with the tokens themselves")
    return files, [f"skipped {ours}: written by entropylaw tokens, no tokens"] if skipped else []


def distinct(files: Iterable[tuple[str, Path]]) -> list[tuple[str, Path]]:
    """Files with their names, each once, in order; numbers in a name by their value."""
    paths: dict[Path, tuple[str, Path]] = {}
    for name, path in files:
        paths.setdefault(path.resolve(), (name, path))

    def order(file: tuple[str, Path]) -> tuple[list[Any], str]:
        # Text is at even places, numbers are at odd ones, so that only like is compared.
        return [int(x) if i % 2 else x for i, x in enumerate(re.split(r"(\d+)", file[0]))], str(file[1])

    return sorted(paths.values(), key=order)


def kind_of(path: Path) -> Kind | None:
    """The format by the file's suffix; None for a suffix that token logs do not have."""
    return _SUFFIXES.get(Path(path.name.lower().removesuffix(".gz")).suffix)


def files_of(table: str) -> list[tuple[str, Path]]:
    """Files of one argument, each with its name relative to it, so that documents show no local path."""
    path = Path(table)
    if table and path.is_dir():
        return [(file.relative_to(path).as_posix(), file) for file in sorted(_files_in(table))]
    return [(file.name, file) for file in sorted(map(Path, expanded(table))) if file.is_file()]


def log_files(table: str) -> list[tuple[str, Path]]:
    """The token logs of one argument, as :func:`files_of`."""
    logs = [(name, path) for name, path in files_of(table) if kind_of(path)]
    if not logs:
        slug = "no-token-files" if table and Path(table).exists() else "file-not-found"
        message = (
            f"{shown_path(table)} is no file or folder with token logs, expected .parquet, .jsonl or .ndjson"
        )
        hint = "name a folder or files, with one row per token or one sequence of tokens per row"
        raise InputError(slug, message, hint)
    return logs


def _files_in(folder: str) -> Iterator[Path]:
    """The files in a folder that can be logs: no marker, no temporary file."""
    for visit in walk(folder):
        if not isinstance(visit, OSError):
            where, inner, names = visit
            # Markers and temporary files begin with an underscore, as partitions may do, too.
            inner[:] = filter(_READ.fullmatch, inner)
            paths = (Path(where, name) for name in filter(_READ.fullmatch, names))
            yield from (path for path in paths if path.is_file())


def size_of(path: Path, name: str) -> int:
    """The bytes of a file that the engines can open; InputErrors ``file-empty``, ``name-not-utf8``."""
    if not is_utf8(str(path)):
        message = f"the name {shown(name)} is not UTF-8, which the engines for token tables do not open"
        raise InputError("name-not-utf8", message, "rename the file")
    if size := path.stat().st_size:
        return size
    raise InputError("file-empty", f"{shown(name)} has 0 bytes", "write it again")


def opened(path: Path, name: str, kind: Kind) -> TableFile:
    """A file with the types of its columns; InputError ``file-corrupt``, and those of :func:`size_of`."""
    size = size_of(path, name)
    if kind != "parquet":
        types = record_types(json_records(path, name)) if kind == "jsonl" else _csv_types(path)
        return TableFile(path=path, name=name, kind=kind, size=size, types=types)
    try:
        with pq.ParquetFile(path) as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
    except (pa.ArrowException, OSError, ValueError) as problem:
        message = f"{shown(name)} cannot be read as Parquet: {shown(str(problem).splitlines()[0])}"
        hint = "copy or write the file again: a killed job leaves Parquet without its footer"
        raise InputError("file-corrupt", message, hint) from None
    types = {field.name: plain_type(field.type) for field in schema}
    hive = tuple(match[1] for folder in Path(name).parts[:-1] if (match := _HIVE.match(folder)))
    types |= {column: pa.string() for column in hive if column not in types}
    ours = str(metadata_of(schema.metadata).get("format")).startswith("entropylaw ")
    return TableFile(
        path=path, name=name, kind="parquet", size=size, types=types, rows=rows, hive=hive, ours=ours
    )


def plain_type(kind: pa.DataType) -> pa.DataType:
    """An Arrow type without differences that are only about storage."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(plain_type(kind.value_type))
    return pa.string() if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) else kind


def metadata_of(metadata: Mapping[bytes, bytes] | None) -> dict[str, Any]:
    """Our metadata in a Parquet schema's; empty for a file that is not ours."""
    ours = None
    with suppress(ValueError, RecursionError):
        ours = json.loads((metadata or {}).get(METADATA, b"null"))
    return ours if isinstance(ours, dict) else {}


def unpacked(path: Path) -> IO[bytes]:
    """The bytes of a file, of one whose name ends in ``.gz`` unpacked."""
    return cast("IO[bytes]", gzip.open(path)) if path.name.lower().endswith(".gz") else path.open("rb")


def _csv_types(path: Path) -> dict[str, pa.DataType]:
    """The columns in the first line of a file, separated by tabs or commas: all are text."""
    with unpacked(path) as content:
        head = content.readline().decode("utf-8-sig", errors="replace").rstrip("\r\n")
    names = head.split("\t" if "\t" in head else ",")
    return {name.strip().strip('"'): pa.string() for name in names}


def record_types(records: Iterable[Mapping[str, Any]]) -> dict[str, pa.DataType]:
    """Types of the fields of some objects; null for a field without a value in them."""
    values: dict[str, list[Any]] = defaultdict(list)
    for record in records:
        for key, value in record.items():
            values[key].append(value)
    return {key: json_type(cells) for key, cells in values.items()}


def json_records(path: Path, name: str) -> Iterator[dict[str, Any]]:
    """Up to 1000 objects or 4 MiB of JSON lines; stops at a malformed line, which must not be the first."""
    hint, size = "one JSON object per line is needed", 0
    try:
        with unpacked(path) as file:
            for line in islice(filter(bytes.strip, file), 1000):
                record = json.loads(line)
                if not isinstance(record, dict):
                    raise TypeError(f"it is a {type(record).__name__}")
                size += len(line)
                yield record
                if size >= 1 << 22:
                    return
    except (OSError, EOFError, zlib.error) as problem:
        message = f"{shown(name)} cannot be read: {shown(str(problem))}"
        raise InputError("file-corrupt", message, "copy or write the file again") from None
    except (TypeError, ValueError, RecursionError) as problem:
        if not size:
            message = f"the first line of {shown(name)} is not a JSON object ({shown(str(problem))})"
            raise InputError("file-corrupt", message, hint) from None
    if not size:
        raise InputError("file-corrupt", f"{shown(name)} has only empty lines", hint)


def similar_columns(names: Sequence[str], columns: Sequence[str]) -> str:
    """The columns with similar names, or all of them."""
    similar = nearest(names, columns)
    return f"similar: {listing(similar)}" if similar else f"its columns are {listing(columns)}"


def no_column(file: str, name: str, columns: Sequence[str]) -> InputError:
    """The error for a column that an option names and a file does not have."""
    message = f"{shown(file)} has no column {shown(name)}; {similar_columns([name], columns)}"
    return InputError("column-not-found", message, "name one of the table's columns")


def json_type(values: Sequence[Any]) -> pa.DataType:
    """The type of JSON values: text where numbers, flags and text are mixed, an empty struct for the rest."""
    kinds = {type(value) for value in values} - {type(None)}
    if kinds == {list}:
        return pa.list_(json_type([item for value in values for item in value or ()]))
    if kinds == {int, float}:
        return pa.float64()
    if len(kinds) > 1:
        return pa.string() if kinds <= _JSON_TYPES.keys() else pa.struct([])
    return _JSON_TYPES.get(next(iter(kinds), type(None)), pa.struct([]))


def element_type(kind: pa.DataType) -> pa.DataType:
    """The type of the elements of a list, and otherwise the type itself."""
    return kind.value_type if pa.types.is_list(kind) else kind


def is_number(kind: pa.DataType) -> bool:
    """Whether a type is of numbers."""
    return any(is_of(kind) for is_of in (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal))
