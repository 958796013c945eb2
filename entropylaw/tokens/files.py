"""The files of a table of tokens or samples: opening them, and the types of their columns."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from entropylaw.arrow import metadata_of
from entropylaw.errors import InputError
from entropylaw.escaping import listing, nearest, shown
from entropylaw.paths import is_utf8, shown_path
from entropylaw.tokens.gather import (
    ARROW,
    PICKLES,
    Gathered,
    Source,
    gather,
    packing_of,
    pickled,
    suffix_of,
    unpacked,
)

Kind = Literal["parquet", "jsonl", "csv"]

MOST_UNPACKED = 1 << 30
"""Bytes of a file that we unpack or convert, and of a JSON document, that are read."""

MOST_RATIO = 200
"""How many times its size a compressed file may have unpacked."""

LEAST_REFUSED = 1 << 24
"""Bytes that any compressed file may have unpacked."""

SUFFIXES: dict[str, Kind] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    **dict.fromkeys(ARROW, "parquet"),
}
"""Suffix of a table of tokens → what the engine reads; Arrow's files are written as Parquet first."""

LONGEST_HEADER = 1 << 20
"""Bytes of a line of CSV that may be its header."""

_MARKS = (",", ";", "\t", "|")
"""What separates the columns of a text, in the order in which it is tried."""

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
        What the engine reads: a link with a plain name, or a file that we wrote; and the name of the file in
        documents, relative to the folder that was given.
    source
        The file itself.
    types
        Column → Arrow type; of JSON lines those in the first records.
    repeated
        Names that several columns have, in lower case.
    keys
        What the names of its folders say as ``key=value``.
    rows
        None where the format does not store the number.
    mark
        Of CSV: what separates the columns.
    ours
        Whether entropylaw wrote it, so that it holds no tokens and no samples.
    single
        Whether it is a JSON document of one object, such as a configuration or a summary.
    step, layout
        Of samples: the step in its name, None where there is none; and what wrote it, where that is known by
        its content.
    run, task
        Of samples: the folder that distinguishes it from files of its name, otherwise its own name; and the
        task in the names that lm-evaluation-harness gives.
    """

    path: Path
    name: str
    source: Path
    kind: Kind
    size: int
    types: dict[str, pa.DataType]
    repeated: frozenset[str] = frozenset()
    keys: Mapping[str, str] = field(default_factory=dict)
    rows: int | None = None
    mark: str = ","
    ours: bool = False
    single: bool = False
    step: int | None = None
    layout: str = ""
    run: str = ""
    task: str = ""


def find(tables: Sequence[str], folder: Path, keys: Iterable[str] = ()) -> tuple[list[TableFile], Gathered]:
    """Every file of ``tables`` (files, folders, patterns), by name, each once; and what is not read.

    ``folder`` is a temporary one, for what the engine reads; ``keys`` are those in the names of folders that
    are read. InputErrors are those of the first file where none can be read, ``no-token-files``,
    ``mixed-formats``, ``already-summarised``.
    """
    gathered = gather(tables, SUFFIXES, _no_token_files, lambda source: placed(source, keys))
    files = list[TableFile]()
    for number, source in enumerate(gathered.sources):
        try:
            kind = SUFFIXES.get(suffix_of(source.name))
            if source.path.suffix.lower() in PICKLES:
                raise pickled(source.name)
            if kind is None:
                raise _no_token_files(str(source.path))
            file = opened(source, kind, folder / str(number))
        except InputError as error:
            gathered.refuse(source.name, error)
            continue
        if not file.ours:
            files.append(file)
            continue
        message = f"{shown(file.name)} was written by entropylaw, and holds no tokens"
        if not source.in_folder:
            raise InputError(
                "already-summarised",
                message,
                "leave it out, and give the token files of all shards in one call",
            )
        gathered.skip(source.name, message)
    gathered.check_any(files, "no-token-files")
    lines = [file.name for file in files if file.kind == "jsonl"]
    if 0 < len(lines) < len(files):
        raise InputError(
            "mixed-formats",
            f"the table has Parquet files and {shown(lines[0])}, one format is needed",
            "write the files in one format",
        )
    return files, gathered


def placed(source: Source, keys: Iterable[str]) -> tuple[str | None, ...]:
    """What the folders of a file say of some keys."""
    return tuple(source.keys.get(key) for key in keys)


def _no_token_files(path: str) -> InputError:
    """The error for an argument without any file of tokens."""
    return InputError(
        "no-token-files",
        f"{shown_path(path)} is no file or folder with token logs, expected .parquet, .jsonl or .arrow",
        "name a folder or files, with one row per token or one sequence of tokens per row",
    )


def size_of(source: Source) -> int:
    """The bytes of a file; InputErrors ``file-empty``, ``file-unreadable``, ``name-not-utf8``."""
    name = shown(source.name)
    if not is_utf8(str(source.path)):
        raise InputError(
            "name-not-utf8",
            f"the name {name} is not UTF-8, as documents have names",
            "rename the file",
        )
    try:
        # What may not be read is found out here.
        with source.path.open("rb"):
            size = source.path.stat().st_size
    except OSError as problem:
        raise InputError(
            "file-unreadable",
            f"{name} cannot be read: {problem.strerror or type(problem).__name__}",
            "check the file's permissions",
        ) from None
    if not size:
        raise InputError("file-empty", f"{name} has 0 bytes", "write it again")
    return size


def _plain_link(source: Source, target: Path) -> Path:
    """A link to a file by a name of ours, which no engine takes for a pattern, a partition or an address.

    Where links are not possible it is a copy.
    """
    file = source.path.resolve()
    for make in (os.symlink, os.link, shutil.copyfile):
        with suppress(OSError, NotImplementedError):
            make(file, target)
            return target
    raise InputError(
        "file-unreadable",
        f"no link to {shown(source.name)} could be made in the folder for temporary files",
        "set TMPDIR to a folder with free space",
    )


def opened(source: Source, kind: Kind, target: Path) -> TableFile:
    """A file with the types of its columns; arguments and InputErrors as :func:`for_engine`."""
    file = for_engine(source, kind, target)
    if kind == "jsonl":
        types = record_types(json_records(file.path, file.name))
        return replace(file, types=types, repeated=repeated_names(types))
    if kind == "csv":
        return _csv_columns(file)
    try:
        with pq.ParquetFile(file.path) as stored:
            schema = stored.schema_arrow
            rows = stored.metadata.num_rows
    except (pa.ArrowException, OSError, ValueError) as problem:
        raise InputError(
            "file-corrupt",
            f"{shown(file.name)} cannot be read as Parquet: {shown(str(problem).splitlines()[0])}",
            "copy or write the file again: a killed job leaves Parquet without its footer",
        ) from None
    return replace(
        file,
        types={field.name: plain_type(field.type) for field in schema},
        repeated=repeated_names(schema.names),
        rows=rows,
        ours=str(metadata_of(schema.metadata).get("format")).startswith("entropylaw "),
    )


def for_engine(source: Source, kind: Kind, target: Path) -> TableFile:
    """A file as an engine reads it, whose columns are not known yet.

    ``target`` is the path, without a suffix, of what is read. InputErrors are ``file-corrupt``,
    ``archive-too-large``, and those of :func:`size_of`.
    """
    size = size_of(source)
    packing = packing_of(source.path)
    path = target.with_name(f"{target.name}.{kind}")
    is_arrow = False
    if kind == "parquet":
        # Arrow's own format, for files or streams, is converted.
        with source.path.open("rb") as content:
            is_arrow = content.read(6) == b"ARROW1" or suffix_of(source.name) in ARROW
    if is_arrow:
        _write_parquet(source, path, size)
    elif packing == ".zst":
        unpack(source, path, size)
    else:
        path = _plain_link(source, path.with_name(path.name + packing))
    return TableFile(
        path=path, name=source.name, source=source.path, kind=kind, size=size, types={}, keys=source.keys
    )


def repeated_names(names: Iterable[str]) -> frozenset[str]:
    """Names, in lower case, that several columns have: engines do not distinguish their letters' case."""
    return frozenset(name for name, count in Counter(map(str.casefold, names)).items() if count > 1)


def distinct_names(file: TableFile) -> list[str]:
    """The names of a file's columns for an engine: one that no query can use has its place behind it."""
    names = list[str]()
    seen = set[str]()
    for number, name in enumerate(file.types, start=1):
        names.append(f"{name}#{number}" if name.casefold() in seen else name)
        seen.add(name.casefold())
    return names


def check_distinct(file: TableFile, names: Iterable[str]) -> None:
    """Refuse columns that are not the only ones of their name: ``columns-repeat``."""
    for name in names:
        if name.casefold() in file.repeated:
            raise InputError(
                "columns-repeat",
                f"{shown(file.name)} has several columns {shown(name)}, in any case of the letters",
                "rename all but one of them, or take them out",
            )


def _write_parquet(source: Source, target: Path, size: int) -> None:
    """Convert Arrow's file or stream; InputErrors ``file-corrupt``, ``archive-too-large``."""
    try:
        with pa.memory_map(str(_plain_link(source, target.with_suffix(".arrow")))) as content:
            is_stream = content.read(6) != b"ARROW1"
            content.seek(0)
            if is_stream:
                reader = pa.ipc.open_stream(content)
                batches = iter(reader)
            else:
                reader = pa.ipc.open_file(content)
                batches = map(reader.get_batch, range(reader.num_record_batches))
            unpacked_bytes = 0
            with pq.ParquetWriter(target, reader.schema) as writer:
                for batch in batches:
                    unpacked_bytes += batch.nbytes
                    check_unpacked(source.name, size, unpacked_bytes)
                    writer.write_batch(batch)
    except (pa.ArrowException, OSError, ValueError) as problem:
        raise InputError(
            "file-corrupt",
            f"{shown(source.name)} cannot be read as Arrow: {shown(str(problem).splitlines()[0])}",
            "copy it again, or write it as Parquet",
        ) from None


def unpack(source: Source, target: Path | None, size: int) -> None:
    """Unpack a file of ``size`` bytes into a new one, or into none, where it is only to be checked.

    Raises InputError ``file-corrupt``, ``archive-too-large``.
    """
    unpacked_bytes = 0
    try:
        place = Path(os.devnull) if target is None else target
        mode = "wb" if target is None else "xb"
        with unpacked(source.path) as content, place.open(mode) as plain:
            while piece := content.read(1 << 20):
                unpacked_bytes += len(piece)
                check_unpacked(source.name, size, unpacked_bytes)
                plain.write(piece)
    except OSError as problem:
        raise InputError(
            "file-corrupt",
            f"{shown(source.name)} cannot be unpacked: {shown(str(problem))}",
            "copy or write the file again",
        ) from None


def check_unpacked(name: str, size: int, unpacked_bytes: int) -> None:
    """Refuse a compressed file of ``size`` bytes that has so many unpacked: ``archive-too-large``."""
    most = min(max(MOST_RATIO * size, LEAST_REFUSED), MOST_UNPACKED)
    if unpacked_bytes > most:
        limit = f"{MOST_RATIO} times its bytes" if most < MOST_UNPACKED else f"{most >> 20:,} MiB"
        raise InputError(
            "archive-too-large",
            f"{shown(name)} would be more than {most >> 20:,} MiB unpacked: the limit is {limit}",
            "split the file, or unpack it",
        )


def plain_type(kind: pa.DataType) -> pa.DataType:
    """An Arrow type without differences that are only about storage."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(plain_type(kind.value_type))
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    return kind


def _csv_columns(file: TableFile) -> TableFile:
    """The columns in the first line of a file that is not empty: all are text.

    The separator is the one that gives most columns. A name that occurs again gets its place behind it.
    """
    try:
        head, start = _header(file.path)
        rows = {mark: next(csv.reader([head], delimiter=mark), []) for mark in _MARKS}
        if start:
            # Engines take an empty line for the header: they read a copy, unpacked, from the header on.
            below_start = file.path.with_name(f"{file.path.name.partition('.')[0]}-below.csv")
            with unpacked(file.path) as content, below_start.open("xb") as copy:
                content.read(start)
                shutil.copyfileobj(content, copy)
            file = replace(file, path=below_start)
    except (OSError, csv.Error) as problem:
        raise InputError(
            "file-corrupt",
            f"{shown(file.name)} cannot be read as CSV: {shown(str(problem))}",
            "copy or write the file again",
        ) from None
    mark = max(rows, key=lambda mark: len(rows[mark]))
    names = [cell.strip() or f"column{number}" for number, cell in enumerate(rows[mark], start=1)]
    types = dict[str, pa.DataType]()
    for number, name in enumerate(names, start=1):
        types[f"{name}#{number}" if name in types else name] = pa.string()
    return replace(file, types=types, repeated=repeated_names(names), mark=mark)


def _header(path: Path) -> tuple[str, int]:
    """The first line of a file that is not empty, and the bytes of those above it."""
    start = 0
    with unpacked(path) as content:
        while line := content.readline(LONGEST_HEADER):
            head = line.decode("utf-8-sig", errors="replace")
            if head.strip():
                return re.split("[\r\n]", head)[0], start
            start += len(line)
    return "", 0


def record_types(records: Iterable[Mapping[str, Any]]) -> dict[str, pa.DataType]:
    """Types of the fields of some objects; null for a field without a value in them."""
    values: dict[str, list[Any]] = defaultdict(list)
    for record in records:
        for key, value in record.items():
            values[key].append(value)
    return {key: _json_type(cells) for key, cells in values.items()}


def json_records(path: Path, name: str) -> Iterator[dict[str, object]]:
    """Up to 1000 objects or 4 MiB of JSON lines; stops at a malformed line, which must not be the first."""
    hint = "one JSON object per line is needed"
    size = 0
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
    except OSError as problem:
        raise InputError(
            "file-corrupt",
            f"{shown(name)} cannot be read: {shown(str(problem))}",
            "copy or write the file again",
        ) from None
    except (TypeError, ValueError, RecursionError) as problem:
        if not size:
            raise InputError(
                "file-corrupt",
                f"the first line of {shown(name)} is not a JSON object ({shown(str(problem))})",
                hint,
            ) from None
    if not size:
        raise InputError("file-corrupt", f"{shown(name)} has only empty lines", hint)


def similar_columns(names: Sequence[str], columns: Sequence[str]) -> str:
    """The columns with similar names, or all of them."""
    similar = nearest(names, columns)
    return f"similar: {listing(similar)}" if similar else f"its columns are {listing(columns)}"


def no_column(file: str, name: str, columns: Sequence[str]) -> InputError:
    """The error for a column that an option names and a file does not have."""
    return InputError(
        "column-not-found",
        f"{shown(file)} has no column {shown(name)}; {similar_columns([name], columns)}",
        "name one of the table's columns",
    )


def _json_type(values: Sequence[Any]) -> pa.DataType:
    """The type of JSON values: text where numbers, flags and text are mixed, an empty struct for the rest."""
    kinds = {type(value) for value in values} - {type(None)}
    if kinds == {list}:
        items = chain.from_iterable(value for value in values if value)
        return pa.list_(_json_type(list(items)))
    if kinds == {dict}:
        names = dict.fromkeys(chain.from_iterable(value for value in values if value))
        return pa.struct([(name, pa.null()) for name in names])
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
