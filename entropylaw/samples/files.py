"""The files of a table of samples: finding them, their formats by content, and documents as JSON lines.

Parquet, JSON lines and CSV are read by the engine. Documents (inspect, EvalPlus, CRUXEval, any other JSON)
are written as JSON lines into a temporary folder first. A pickle is never opened.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate, chain
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

from entropylaw.errors import InputError
from entropylaw.escaping import counted, listing, shown
from entropylaw.paths import shown_path
from entropylaw.tokens.files import (
    TableFile,
    distinct,
    files_of,
    json_records,
    opened,
    record_types,
    size_of,
)

MOST_DOCUMENT = 1 << 30
"""Bytes of a JSON document, or of a compressed file when it is unpacked, that are read."""
MOST_RATIO, LEAST_REFUSED = 200, 1 << 24
"""How many times its size a compressed file may have unpacked; bytes that any may have."""

_SUFFIXES = (".parquet", ".pq", ".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".eval")
_PICKLES = (".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".joblib", ".npy", ".npz")
_STEP = re.compile(r"(?:step|iter|completions|checkpoint)[_-]?(\d+)", re.IGNORECASE)
_JOURNAL = "_journal/start.json"  # the header of a log of inspect that is still written
_TASK = re.compile(r"samples_(.+?)_\d{4}-\d{2}-\d{2}T")


def find(tables: Sequence[str], folder: Path) -> tuple[list[TableFile], list[str]]:
    """The files of some arguments (files, folders, patterns), each once, and notes on them.

    ``folder`` is a temporary one. InputErrors are ``file-not-found``, ``no-sample-files``, ``file-empty``,
    ``file-corrupt``, ``pickle-not-opened``, ``archive-too-large``, ``no-samples``, ``name-not-utf8``.
    """
    paths = distinct(chain.from_iterable(map(sample_files, tables)))
    files, notes = list[TableFile](), list[str]()
    alike = len({path.name for _, path in paths}) == 1
    for number, (name, path) in enumerate(paths):
        file, about = _opened(path, name, folder / f"{number}.jsonl")
        run = path.resolve().parent.name if alike else path.name.split(".")[0]
        task = _TASK.match(path.name)
        files.append(replace(file, step=step_of(name), run=run, task=task[1] if task else ""))
        notes += about
    return files, notes


def sample_files(table: str) -> list[tuple[str, Path]]:
    """The files of samples of one argument, each with its name relative to it."""
    files = files_of(table)
    if not table or not Path(table).is_dir():
        if not files:
            message = f"there is no file {shown_path(table)}"
            raise InputError("file-not-found", message, "check the path, or name a folder")
        return files
    fitting = [(name, path) for name, path in files if _suffix(path) in _SUFFIXES]
    if not fitting:
        if pickles := [name for name, path in files if path.suffix.lower() in _PICKLES]:
            raise pickled(pickles[0])
        message = f"the folder {shown_path(table)} has no files of samples"
        raise InputError("no-sample-files", message, f"expected {', '.join(_SUFFIXES)}")
    return fitting


def _suffix(path: Path) -> str:
    return Path(path.name.lower().removesuffix(".gz")).suffix


def pickled(name: str) -> InputError:
    """The error for a pickle, with the way to convert it."""
    message = f"{shown(name)} is a pickle or an array of Python, which is never opened: it can run any code"
    hint = "in Python that you trust: torch.load(PATH, weights_only=True), then write its samples with "
    return InputError("pickle-not-opened", message, hint + "pandas.DataFrame(samples).to_parquet(...)")


def _opened(path: Path, name: str, target: Path) -> tuple[TableFile, list[str]]:
    """A file by its content; a document is written to ``target``."""
    size, suffix = size_of(path, name), _suffix(path)
    file = TableFile(path=path, name=name, kind="jsonl", size=size, types={})
    with path.open("rb") as content:
        start = content.read(8)
    if path.suffix.lower() in _PICKLES or re.match(rb"\x80[\x02-\x05]|\x93NUMPY", start):
        raise pickled(name)
    if start[:4] == b"PK\x03\x04":
        rows, notes = inspect_archive(file)
        return _as_lines(file, rows, target, "inspect"), notes
    if start[:4] == b"PAR1" or suffix in (".parquet", ".pq"):
        return opened(path, name, "parquet"), []
    packed = name.lower().endswith(".gz")
    if packed:
        _check_packed(file)
    if suffix in (".csv", ".tsv"):
        return opened(path, name, "csv"), []
    return _json(file, target, packed=packed)


def step_of(name: str) -> int | None:
    """The step in a file's name or a folder's: ``step_40/…``, ``completions_00040.parquet``, ``40.jsonl``."""
    for folder in reversed(Path(name).parts):
        stem = folder.split(".")[0]
        if stem.isascii() and stem.isdigit():
            return int(stem)
        if match := _STEP.search(folder):
            return int(match[1])
    return None


def _json(file: TableFile, target: Path, *, packed: bool) -> tuple[TableFile, list[str]]:
    """JSON lines, or a document; a half-written last line is left out and said."""
    try:
        records = [*json_records(file.path, file.name)]
    except InputError:
        records = []
    if not records or (len(records) == 1 and _layout_of_document(records[0])):
        return _document(file, target, packed=packed)
    notes = []
    if not packed and (whole := _whole_lines(file.path)) < file.size:
        notes = [f"the last line of {shown(file.name)} is half-written, and is not read"]
        shutil.copyfile(file.path, target)
        os.truncate(target, whole)
        file = replace(file, path=target)
    return replace(file, types=record_types(records)), notes


def _whole_lines(path: Path) -> int:
    """The bytes of a file without a half-written last line."""
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        end = len(content)
        while content[end - 1 : end].isspace():
            end -= 1
        start = content.rfind(b"\n", 0, end) + 1
        try:
            json.loads(content[start:end])
        except ValueError:
            return start
        return len(content)


def _document(file: TableFile, target: Path, *, packed: bool) -> tuple[TableFile, list[str]]:
    """One JSON document, and notes on it."""
    name = shown(file.name)
    if packed or file.size > MOST_DOCUMENT:
        message = f"{name} has no JSON object in its first line, and is too large for one document"
        raise InputError("file-corrupt", message, "write JSON lines: one object per line")
    try:
        document = json.loads(file.path.read_bytes())
    except (ValueError, RecursionError) as problem:
        message = f"{name} is neither JSON lines nor one JSON document ({shown(str(problem))})"
        raise InputError("file-corrupt", message, "copy or write the file again") from None
    layout = _layout_of_document(document)
    rows = document if isinstance(document, list) else [document]
    if not rows or not all(isinstance(row, dict) for row in rows):
        message = f"{name} is not a list of objects, one per sample"
        raise InputError("file-corrupt", message, "write JSON lines: one object per sample")
    notes = _status(document, file.name) if layout == "inspect" else []
    return _as_lines(file, list(_DOCUMENTS[layout](document)) if layout else rows, target, layout), notes


def _as_lines(file: TableFile, rows: list[dict[str, Any]], target: Path, layout: str) -> TableFile:
    """Rows of a document as JSON lines."""
    if not rows:
        message = f"{shown(file.name)} has no samples, only results of them"
        raise InputError("no-samples", message, "write the samples themselves (inspect: --log-samples)")
    with target.open("w", encoding="utf-8") as lines:
        lines.writelines(json.dumps(row) + "\n" for row in rows)
    return replace(file, path=target, types=record_types(rows), layout=layout)


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
        for right, answer in _paired(problem, verdicts, answers.get(problem)):
            yield {"problem": problem, "right": right, "answer": answer}


def _paired(
    problem: str, verdicts: Sequence[Any], answers: Sequence[Any] | None
) -> Iterator[tuple[Any, Any]]:
    """Verdicts and answers of a problem, which may have no answers; InputError ``lists-differ``."""
    answers = answers or [None] * len(verdicts)
    if len(verdicts) != len(answers):
        message = f"problem {shown(problem)} has {len(verdicts)} verdicts and {len(answers)} answers"
        raise InputError("lists-differ", message, "write one verdict per answer")
    return zip(verdicts, answers, strict=True)


def _evalplus(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """EvalPlus: a sample passes ``plus`` where it passes the base tests and the further ones."""
    for problem, results in document["eval"].items():
        if isinstance(results, dict):
            # Versions before 0.2 have a list of [status, details] for each set of tests.
            first, second = ([status[0] for status in results.get(key) or ()] for key in ("base", "plus"))
            pairs = _paired(problem, first, second)
            results = [{"base_status": base, "plus_status": plus} for base, plus in pairs]
        for result in results:
            base, plus = result.get("base_status"), result.get("plus_status")
            if plus is not None and base not in (None, "pass", "success"):
                plus = base
            yield {"problem": problem, "base": base, "plus": plus, "solution": result.get("solution")}


def _status(document: Mapping[str, Any], name: str) -> list[str]:
    status = document.get("status", "success")
    if status == "success":
        return []
    return [f"{shown(name)} has the status {shown(status)}: it may lack samples"]


def _inspect(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A log of inspect: a row per sample and scorer, and per value of one that has several."""
    about = document.get("eval") or {}
    for sample in document.get("samples") or ():
        row = {
            "problem": sample.get("id"),
            "sample": sample.get("epoch"),
            "error": bool(sample.get("error")),
            "truncated": bool(sample.get("limit")),
            "tokens": ((sample.get("output") or {}).get("usage") or {}).get("output_tokens"),
            "domain": about.get("task"),
            "model": about.get("model"),
        }
        for scorer, score in (sample.get("scores") or {None: {}}).items():
            value, answer = score.get("value"), score.get("answer")
            values = value if isinstance(value, dict) else {None: value}
            for metric, right in values.items():
                yield {**row, "scorer": scorer, "metric": metric, "right": right, "answer": answer}


_DOCUMENTS = {"CRUXEval": _cruxeval, "EvalPlus": _evalplus, "inspect": _inspect}
"""What wrote a document → its samples, a row each."""


def inspect_archive(file: TableFile) -> tuple[list[dict[str, Any]], list[str]]:
    """The samples of an ``.eval`` file; InputErrors for any other archive, and one that is too large."""
    name = shown(file.name)
    try:
        with zipfile.ZipFile(file.path) as archive:
            names = archive.namelist()
            if any(key.endswith(("data.pkl", ".npy")) for key in names):
                raise pickled(file.name)
            head = next((key for key in ("header.json", _JOURNAL) if key in names), None)
            if head is None:
                content = listing(names, 3)
                message = f"{name} is an archive that inspect did not write: it has {content}"
                raise InputError("file-corrupt", message, "unpack it, and name the files of samples")
            _check_unpacked(file, (entry.file_size for entry in archive.infolist()))
            members = [key for key in names if key.startswith("samples/")]
            header = json.loads(archive.read(head))
            samples = (json.loads(archive.read(key)) for key in members)
            rows = list(_inspect({**header, "samples": samples}))
    # The last for an encrypted archive, and JSON that is too deep
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, OSError, RuntimeError) as problem:
        message = f"{name} cannot be read as a log of inspect: {shown(str(problem))}"
        raise InputError("file-corrupt", message, "copy it again, or `inspect log dump` it as JSON") from None
    notes = _status(header, file.name)
    if head == _JOURNAL:
        count = counted(len(members), "sample")
        notes.append(f"{name} is of an evaluation that has not ended: {count} so far")
    return rows, notes


def _check_unpacked(file: TableFile, sizes: Iterable[int]) -> None:
    """Refuse a compressed file of parts with such ``sizes`` in bytes: InputError ``archive-too-large``."""
    most = min(max(MOST_RATIO * file.size, LEAST_REFUSED), MOST_DOCUMENT)
    # No part beyond the limit is unpacked.
    if any(size > most for size in accumulate(sizes)):
        limit = f"{MOST_RATIO} times its bytes" if most < MOST_DOCUMENT else f"{most >> 20:,} MiB"
        message = f"{shown(file.name)} would be more than {most >> 20:,} MiB unpacked: the limit is {limit}"
        raise InputError("archive-too-large", message, "split the file, or unpack it")


def _check_packed(file: TableFile) -> None:
    """Refuse a file of gzip that is damaged or unpacks to too much."""
    try:
        with gzip.open(file.path) as content:
            _check_unpacked(file, map(len, iter(partial(content.read, 1 << 20), b"")))
    except (OSError, EOFError, zlib.error) as problem:
        message = f"{shown(file.name)} cannot be unpacked: {shown(str(problem))}"
        raise InputError("file-corrupt", message, "copy or write the file again") from None
