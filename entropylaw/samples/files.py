"""The files of a table of samples: finding them, their formats by content, and documents as JSON lines.

Parquet, JSON lines and CSV are read by the engine. Documents (inspect, EvalPlus, CRUXEval, any other JSON)
are written as JSON lines into a temporary folder first. A pickle is never opened.
"""

from __future__ import annotations

import gzip
import json
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from entropylaw.errors import InputError
from entropylaw.escaping import counted, listing, shown
from entropylaw.paths import expanded, shown_path, walk

Kind = Literal["parquet", "jsonl", "csv"]

FLAG, NUMBER, WORDS, LIST, OBJECT, UNKNOWN = "flag", "number", "text", "list", "object", "null"
"""Kinds of values in a column."""

MOST_DOCUMENT = 1 << 30
"""Bytes of a JSON document, or of the parts of an archive together, that are read."""
MOST_MEMBER, MOST_RATIO = 1 << 28, 200
"""Bytes of a part of an archive, and how many times its compressed size it may be."""
LEAST_REFUSED = 1 << 24
"""Bytes that any compressed file may have unpacked, however few it has itself."""

_SUFFIXES = (".parquet", ".pq", ".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".eval")
_PICKLES = (".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".joblib", ".npy", ".npz")
_STEP = re.compile(r"(?:step|iter|completions|checkpoint)[_-]?(\d+)", re.IGNORECASE)
_TASK = re.compile(r"samples_(.+?)_\d{4}-\d{2}-\d{2}T")
_WRITTEN = ".part", ".hist.parquet"


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleFile:
    """A file of samples.

    Attributes
    ----------
    path, name, size
        What the engine reads, which is another file for a document; its name as given, and its bytes.
    columns
        Name of a column → the kind of its values; of JSON lines those in the first records.
    step
        The step in its name, None where there is none.
    layout
        What wrote it, where that is known by its content.
    run, task
        The folder that distinguishes it from files of its name, otherwise its own name; and the task in the
        names that lm-evaluation-harness gives.
    """

    path: Path
    name: str
    kind: Kind
    size: int
    columns: Mapping[str, str]
    step: int | None = None
    layout: str = ""
    run: str = ""
    task: str = ""


def find(tables: Sequence[str], folder: Path) -> tuple[list[SampleFile], list[str]]:
    """The files of some arguments (files, folders, patterns), each once, and notes on them.

    ``folder`` is a temporary one. InputErrors are ``file-not-found``, ``no-sample-files``, ``file-empty``,
    ``file-corrupt``, ``pickle-not-opened``, ``archive-too-large``, ``no-samples``.
    """
    paths: dict[Path, tuple[str, Path]] = {}
    for name, path in chain.from_iterable(map(_files, tables)):
        paths.setdefault(path.resolve(), (name, path))
    files, notes = list[SampleFile](), list[str]()
    alike = len({path.name for _, path in paths.values()}) == 1
    for number, (name, path) in enumerate(sorted(paths.values(), key=natural)):
        file, said = _opened(path, name, folder / f"{number}.jsonl")
        run = path.resolve().parent.name if alike else path.name.split(".")[0]
        task = _TASK.match(path.name)
        files.append(replace(file, run=run, task=task[1] if task else ""))
        notes += said
    # A column without a value in one file has the kind that it has in another.
    known = {key: kind for file in files for key, kind in file.columns.items() if kind != UNKNOWN}
    for number, file in enumerate(files):
        columns = {
            key: known.get(key, kind) if kind == UNKNOWN else kind for key, kind in file.columns.items()
        }
        files[number] = replace(file, columns=columns)
    return files, notes


def natural(file: tuple[str, Path]) -> list[Any]:
    """Sort key: numbers in a name by their value."""
    return [int(x) if i % 2 else x for i, x in enumerate(re.split(r"(\d+)", f"{file[0]}\0{file[1]}"))]


def _files(table: str) -> Iterator[tuple[str, Path]]:
    """Files of one argument, each with its name relative to it."""
    base = Path(table)
    if not table or not base.is_dir():
        matches = [path for path in map(Path, expanded(table)) if path.is_file()]
        if not matches:
            message = f"there is no file {shown_path(table)}"
            raise InputError("file-not-found", message, "check the path, or name a folder")
        yield from ((path.name, path) for path in matches)
        return
    visits = [visit for visit in walk(table) if not isinstance(visit, OSError)]
    inside = [Path(where, name) for where, _, names in visits for name in names]
    taken = [path for path in inside if _suffix(path) in _SUFFIXES and not path.name.endswith(_WRITTEN)]
    if not taken:
        pickles = [path.name for path in inside if path.suffix.lower() in _PICKLES]
        if pickles:
            raise pickled(pickles[0])
        message = f"the folder {shown_path(table)} has no files of samples"
        raise InputError("no-sample-files", message, f"expected {', '.join(_SUFFIXES)}")
    yield from ((path.relative_to(base).as_posix(), path) for path in taken)


def _suffix(path: Path) -> str:
    return Path(path.name.lower().removesuffix(".gz")).suffix


def pickled(name: str) -> InputError:
    """The error for a pickle, with the way to convert it."""
    message = f"{shown(name)} is a pickle or an array of Python, which is never opened: it can run any code"
    hint = "in Python that you trust: torch.load(PATH, weights_only=True), then write its samples with "
    return InputError("pickle-not-opened", message, hint + "pandas.DataFrame(samples).to_parquet(...)")


def _opened(path: Path, name: str, target: Path) -> tuple[SampleFile, list[str]]:
    """A file by its content; a document is written to ``target``."""
    size = path.stat().st_size
    if not size:
        raise InputError("file-empty", f"{shown(name)} has 0 bytes", "write it again")
    with path.open("rb") as file:
        start = file.read(8)
    step = step_of(name)
    plain: dict[str, Any] = {"name": name, "size": size, "step": step}
    if path.suffix.lower() in _PICKLES or re.match(rb"\x80[\x02-\x05]|\x93NUMPY", start):
        raise pickled(name)
    if start[:4] == b"PK\x03\x04":
        rows, notes = inspect_archive(path, name)
        return _as_lines(rows, target, "inspect", plain), notes
    if start[:4] == b"PAR1":
        return SampleFile(path=path, kind="parquet", columns=_parquet_columns(path, name), **plain), []
    if path.suffix.lower() in (".parquet", ".pq"):
        message = f"{shown(name)} is not Parquet: it begins otherwise"
        raise InputError("file-corrupt", message, "copy or write the file again")
    if name.lower().endswith(".gz"):
        _check_unpacked(path, name, size)
    if _suffix(path) in (".csv", ".tsv"):
        return _csv(path, plain), []
    return _json(path, target, plain)


def step_of(name: str) -> int | None:
    """The step in a file's name or a folder's: ``step_40/…``, ``completions_00040.parquet``, ``40.jsonl``."""
    for part in reversed(Path(name).parts):
        stem = part.split(".")[0]
        if stem.isascii() and stem.isdigit():
            return int(stem)
        if match := _STEP.search(part):
            return int(match[1])
    return None


def _parquet_columns(path: Path, name: str) -> dict[str, str]:
    try:
        schema = pq.read_schema(path)
    except (pa.ArrowException, OSError, ValueError) as problem:
        message = f"{shown(name)} cannot be read as Parquet: {shown(str(problem).splitlines()[0])}"
        hint = "copy or write the file again: a killed job leaves Parquet without its footer"
        raise InputError("file-corrupt", message, hint) from None
    return {field.name: _arrow_kind(field.type) for field in schema}


def _arrow_kind(kind: pa.DataType) -> str:
    types = pa.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_list(kind) or types.is_large_list(kind):
        return LIST
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return NUMBER
    if types.is_struct(kind):
        return OBJECT
    return FLAG if types.is_boolean(kind) else UNKNOWN if types.is_null(kind) else WORDS


def _csv(path: Path, plain: Mapping[str, Any]) -> SampleFile:
    opener = gzip.open if path.name.lower().endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8-sig", errors="replace") as file:
        head = file.readline().rstrip("\r\n")
    delimiter = "\t" if "\t" in head else ","
    names = [name.strip().strip('"') for name in head.split(delimiter)]
    return SampleFile(path=path, kind="csv", columns=dict.fromkeys(names, WORDS), **plain)


def _json(path: Path, target: Path, plain: Mapping[str, Any]) -> tuple[SampleFile, list[str]]:
    """JSON lines, or a document; a half-written last line is left out and said."""
    name, notes = plain["name"], list[str]()
    packed = path.name.lower().endswith(".gz")
    try:
        records = list(_records(path, packed))
    except ValueError:
        records = []
    if not records or (len(records) == 1 and _layout_of_document(records[0])):
        return _document(path, target, plain)
    if not packed and (whole := _whole_lines(path)) < plain["size"]:
        notes.append(f"the last line of {shown(name)} is half-written, and is not read")
        with path.open("rb") as source, target.open("wb") as copy:
            while chunk := source.read(min(1 << 20, whole - copy.tell())):
                copy.write(chunk)
        path = target
    return SampleFile(path=path, kind="jsonl", columns=_kinds(records), **plain), notes


def _document(path: Path, target: Path, plain: Mapping[str, Any]) -> tuple[SampleFile, list[str]]:
    """One JSON document, and notes on it."""
    name, packed = plain["name"], path.name.lower().endswith(".gz")
    if packed or plain["size"] > MOST_DOCUMENT:
        message = f"{shown(name)} has no JSON object in its first line, and is too large for one document"
        raise InputError("file-corrupt", message, "write JSON lines: one object per line")
    try:
        document = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as problem:
        message = f"{shown(name)} is neither JSON lines nor one JSON document ({shown(str(problem))})"
        raise InputError("file-corrupt", message, "copy or write the file again") from None
    layout = _layout_of_document(document)
    rows = document if isinstance(document, list) else [document]
    if not rows or not all(isinstance(row, dict) for row in rows):
        message = f"{shown(name)} is not a list of objects, one per sample"
        raise InputError("file-corrupt", message, "write JSON lines: one object per sample")
    notes = _status(document, name) if layout == "inspect" else []
    return _as_lines(_DOCUMENTS[layout](document) if layout else rows, target, layout, plain), notes


def _records(path: Path, packed: bool) -> Iterator[dict[str, Any]]:
    """The objects of the first lines, at most 1000 or 4 MiB of them."""
    size = 0
    with gzip.open(path) if packed else path.open("rb") as file:
        for line in islice(filter(bytes.strip, file), 1000):
            try:
                record = json.loads(line)
            except ValueError:
                if size:
                    return
                raise
            if not isinstance(record, dict):
                raise ValueError("not an object")
            yield record
            size += len(line)
            if size > 1 << 22:
                return


def _whole_lines(path: Path) -> int:
    """The bytes of a file without a half-written last line."""
    size = path.stat().st_size
    with path.open("rb") as file:
        reach = 1 << 16
        while True:
            file.seek(max(size - reach, 0))
            tail = file.read()
            head, newline, last = tail.rstrip().rpartition(b"\n")
            if newline or reach >= size:
                break
            reach *= 4
    if not newline:
        return size
    try:
        json.loads(last)
    except ValueError:
        return size - len(tail) + len(head) + 1
    return size


def _kinds(records: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The kind of values under each key of some objects."""
    names = {bool: FLAG, int: NUMBER, float: NUMBER, str: WORDS, list: LIST, dict: OBJECT}
    kinds: dict[str, set[str]] = {}
    for record in records:
        for key, value in record.items():
            kinds.setdefault(key, set()).update([] if value is None else [names[type(value)]])
    return {
        key: next(iter(kind)) if len(kind) == 1 else WORDS if kind else UNKNOWN for key, kind in kinds.items()
    }


def _as_lines(
    rows: Iterable[Mapping[str, Any]], target: Path, layout: str, plain: Mapping[str, Any]
) -> SampleFile:
    """Rows of a document as JSON lines."""
    kinds: dict[str, str] = {}
    with target.open("w", encoding="utf-8") as file:
        for row in rows:
            kinds |= {key: kind for key, kind in _kinds([row]).items() if kinds.get(key, UNKNOWN) == UNKNOWN}
            file.write(json.dumps(row) + "\n")
    if not kinds:
        message = f"{shown(plain['name'])} has no samples, only results of them"
        raise InputError("no-samples", message, "write the samples themselves (inspect: --log-samples)")
    return SampleFile(path=target, kind="jsonl", columns=kinds, layout=layout, **plain)


def _layout_of_document(document: Any) -> str:
    """What wrote a document; empty for any other."""
    if not isinstance(document, dict):
        return ""
    if "raw_scored_generations" in document:
        return "CRUXEval"
    if isinstance(document.get("eval"), dict):
        return "inspect" if "plan" in document or "samples" in document else "EvalPlus"
    return ""


def _cruxeval(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """CRUXEval: lists of verdicts and of answers by problem."""
    answers = document.get("raw_generations", {})
    for problem, verdicts in document["raw_scored_generations"].items():
        for right, answer in _paired(problem, verdicts, answers.get(problem, [None] * len(verdicts))):
            yield {"problem": problem, "right": right, "answer": answer}


def _paired(problem: str, verdicts: Sequence[Any], answers: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    if len(verdicts) != len(answers):
        message = f"problem {shown(problem)} has {len(verdicts)} verdicts and {len(answers)} answers"
        raise InputError("lists-differ", message, "write one verdict per answer")
    return zip(verdicts, answers, strict=True)


def _evalplus(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """EvalPlus: a sample passes ``plus`` where it passes the base tests and the further ones."""
    for problem, results in document["eval"].items():
        if isinstance(results, dict):
            # Versions before 0.2 have a list of [status, details] for each set of tests.
            base, plus = ([status[0] for status in results.get(key) or ()] for key in ("base", "plus"))
            results = [
                {"base_status": first, "plus_status": second}
                for first, second in _paired(problem, base, plus or [None] * len(base))
            ]
        for result in results:
            base, plus = result.get("base_status"), result.get("plus_status")
            both = plus if plus is None or base in (None, "pass", "success") else base
            yield {"problem": problem, "base": base, "plus": both, "solution": result.get("solution")}


def _status(document: Mapping[str, Any], name: str) -> list[str]:
    status = document.get("status", "success")
    if status == "success":
        return []
    return [f"{shown(name)} has the status {shown(status)}: it may lack samples"]


def _inspect_rows(sample: Mapping[str, Any], header: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A sample of inspect: a row per scorer, and per value of one that has several."""
    usage = (sample.get("output") or {}).get("usage") or {}
    about = header.get("eval") or {}
    row = {
        "problem": sample.get("id"),
        "sample": sample.get("epoch"),
        "error": bool(sample.get("error")),
        "truncated": bool(sample.get("limit")),
        "tokens": usage.get("output_tokens"),
        "domain": about.get("task"),
        "model": about.get("model"),
    }
    scores = sample.get("scores") or {}
    if not scores:
        yield {**row, "scorer": None, "metric": None, "right": None, "answer": None}
    for scorer, score in scores.items():
        value = score.get("value")
        values = value if isinstance(value, dict) else {None: value}
        for metric, right in values.items():
            yield {**row, "scorer": scorer, "metric": metric, "right": right, "answer": score.get("answer")}


def _inspect(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A log of inspect as one document."""
    for sample in document.get("samples") or ():
        yield from _inspect_rows(sample, document)


_DOCUMENTS = {"CRUXEval": _cruxeval, "EvalPlus": _evalplus, "inspect": _inspect}
"""What wrote a document → its samples, a row each."""


def inspect_archive(path: Path, name: str) -> tuple[list[dict[str, Any]], list[str]]:
    """The samples of an ``.eval`` file; InputErrors for any other archive, and one that is too large."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [part.filename for part in archive.infolist()]
            if any(part.endswith(("data.pkl", ".npy")) for part in names):
                raise pickled(name)
            if "header.json" not in names and "_journal/start.json" not in names:
                message = (
                    f"{shown(name)} is an archive that inspect did not write: it has {listing(names, 3)}"
                )
                raise InputError("file-corrupt", message, "unpack it, and name the files of samples")
            parts = [part for part in archive.infolist() if part.filename.startswith("samples/")]
            _check_sizes(parts, name)
            header = json.loads(
                _member(archive, "header.json" if "header.json" in names else "_journal/start.json")
            )
            samples = (json.loads(_member(archive, part.filename)) for part in parts)
            rows = list(chain.from_iterable(_inspect_rows(sample, header) for sample in samples))
    except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError, OSError) as problem:
        message = f"{shown(name)} cannot be read as a log of inspect: {shown(str(problem))}"
        raise InputError("file-corrupt", message, "copy it again, or `inspect log dump` it as JSON") from None
    notes = _status(header, name)
    if "header.json" not in names:
        notes.append(
            f"{shown(name)} is of an evaluation that has not ended: {counted(len(parts), 'sample')} so far"
        )
    return rows, notes


def _check_sizes(parts: Sequence[zipfile.ZipInfo], name: str) -> None:
    """Refuse an archive whose parts are far larger than their compressed bytes, before any is unpacked."""
    total = sum(part.file_size for part in parts)
    for part in parts:
        ratio = part.file_size / max(part.compress_size, 1)
        reason = ""
        if ratio > MOST_RATIO and total > LEAST_REFUSED:
            reason = f"a part {ratio:,.0f} times its compressed bytes, the limit is {MOST_RATIO} times"
        elif total > MOST_DOCUMENT:
            reason = f"the limit is {MOST_DOCUMENT >> 20:,} MiB"
        elif part.file_size > MOST_MEMBER:
            reason = f"a part {part.file_size >> 20:,} MiB, the limit is {MOST_MEMBER >> 20:,} MiB"
        if reason:
            message = f"{shown(name)} would be {total >> 20:,} MiB unpacked: {reason}"
            raise InputError("archive-too-large", message, "split the log, if it is one")


def _check_unpacked(path: Path, name: str, size: int) -> None:
    """Refuse a file of gzip that unpacks to far more than its ``size``, and unpack no more of it."""
    most, total = min(max(MOST_RATIO * size, LEAST_REFUSED), MOST_DOCUMENT), 0
    try:
        with gzip.open(path) as file:
            while total <= most and (chunk := file.read(1 << 20)):
                total += len(chunk)
    except (OSError, EOFError, zlib.error) as problem:
        message = f"{shown(name)} cannot be unpacked: {shown(str(problem))}"
        raise InputError("file-corrupt", message, "copy or write the file again") from None
    if total > most:
        limit = f"{MOST_RATIO} times its bytes" if most < MOST_DOCUMENT else f"{most >> 20:,} MiB"
        message = f"{shown(name)} would be more than {most >> 20:,} MiB unpacked: the limit is {limit}"
        raise InputError("archive-too-large", message, "split the file, or unpack it")


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    """A part of an archive, no more of it than its directory says."""
    with archive.open(name) as part:
        return part.read(MOST_MEMBER)
