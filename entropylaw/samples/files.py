"""The files of a table of samples: finding them, their formats by content, and documents as JSON lines.

Parquet, JSON lines and CSV are read by the engine. Documents (inspect, EvalPlus, CRUXEval, any other JSON)
are written as JSON lines into a temporary folder first. A pickle is never opened.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

from entropylaw.errors import InputError
from entropylaw.escaping import counted, listing, shown
from entropylaw.paths import shown_path
from entropylaw.tokens.files import (
    MOST_UNPACKED,
    SUFFIXES,
    TableFile,
    check_unpacked,
    for_engine,
    json_records,
    opened,
    placed,
    record_types,
    repeated_names,
    size_of,
    unpack,
)
from entropylaw.tokens.gather import (
    PICKLES,
    Gathered,
    Source,
    gather,
    packing_of,
    pickled,
    suffix_of,
)

READ = (*SUFFIXES, ".json", ".csv", ".tsv", ".eval")
"""Suffixes of the files that are read of a folder."""

_STEP = re.compile(r"(?:step|iter|completions|checkpoint)[_=-]?(\d+)", re.IGNORECASE)
_JOURNAL = "_journal/start.json"  # the header of a log of inspect that is still written
_TASK = re.compile(r"samples_(.+?)_\d{4}-\d{2}-\d{2}T")

_OURS = frozenset(("problems", "samples", "n_most", "unscored_problems"))
"""Columns that a table of steps has together, which is what `entropylaw samples` writes."""


def find(tables: Sequence[str], folder: Path, by: Sequence[str] = ()) -> tuple[list[TableFile], Gathered]:
    """The files of some arguments (files, folders, patterns), each once, and what is not read.

    ``folder`` is a temporary one, for what the engine reads; ``by`` are what divides the rows. InputErrors
    are those of the first file where none can be read: ``file-not-found``, ``no-sample-files``,
    ``file-empty``, ``file-corrupt``, ``pickle-not-opened``, ``archive-too-large``, ``no-samples``,
    ``name-not-utf8``, ``format-not-read``.
    """

    def place(source: Source) -> tuple[object, ...]:
        run = source.path.absolute().parent if "run" in by else None
        return step_of(source), _task_of(source), run, *placed(source, by)

    gathered = gather(tables, READ, _no_sample_files, place)
    files = list[TableFile]()
    same_names = len({source.path.name for source in gathered.sources}) == 1
    for number, source in enumerate(gathered.sources):
        try:
            file, notes = _opened(source, folder / str(number))
        except InputError as error:
            gathered.refuse(source.name, error)
            continue
        if file.ours or file.types.keys() >= _OURS:
            gathered.skip(source.name, f"{shown(source.name)} was written by entropylaw, and has no samples")
            continue
        named = source.path.name.removesuffix(packing_of(source.path))
        run = source.path.resolve().parent.name if same_names else Path(named).stem
        files.append(replace(file, step=step_of(source), run=run, task=_task_of(source)))
        gathered.notes += notes
    gathered.check_any(files, "no-sample-files")
    return files, gathered


def _task_of(source: Source) -> str:
    """The task in a name of lm-evaluation-harness; empty in others."""
    task = _TASK.match(source.path.name)
    return task[1] if task else ""


def _no_sample_files(path: str) -> InputError:
    return InputError(
        "no-sample-files",
        f"the folder {shown_path(path)} has no files of samples",
        f"expected {', '.join(READ)}",
    )


def _opened(source: Source, target: Path) -> tuple[TableFile, list[str]]:
    """A file by its content, and notes on it; ``target`` is the path, without a suffix, of what is read."""
    size = size_of(source)
    suffix = suffix_of(source.name)
    with source.path.open("rb") as content:
        start = content.read(8)
    if source.path.suffix.lower() in PICKLES or re.match(rb"\x80[\x02-\x05]|\x93NUMPY", start):
        raise pickled(source.name)
    if start[:4] == b"PK\x03\x04":
        return _inspect_archive(source, size, target.with_suffix(".jsonl"))
    if start[:4] == b"PAR1" or start[:6] == b"ARROW1" or SUFFIXES.get(suffix) == "parquet":
        return opened(source, "parquet", target), []
    if packing_of(source.path):
        # What is damaged, or unpacks to too much, is refused before an engine reads it.
        unpack(source, None, size)
    if suffix in (".csv", ".tsv"):
        return opened(source, "csv", target), []
    return _json(source, size, target)


def step_of(source: Source) -> int | None:
    """The step in a file's name or a folder's: ``step_40/…``, ``completions_00040.parquet``, ``40.jsonl``.

    Folders are those below the argument, and the last one in it.
    """
    depth = len(Path(source.name).parts)
    for name in reversed(source.path.parts[-depth - 1 :]):
        stem = name.split(".")[0]
        if stem.isascii() and stem.isdigit():
            return int(stem)
        if match := _STEP.search(name):
            return int(match[1])
    return None


def is_step(key: str, value: str) -> bool:
    """Whether a folder ``key=value`` says a step."""
    return _STEP.search(f"{key}={value}") is not None


def _json(source: Source, size: int, target: Path) -> tuple[TableFile, list[str]]:
    """JSON lines, or a document; a half-written last line is left out and said."""
    file = for_engine(source, "jsonl", target)
    records = list[dict[str, object]]()
    with suppress(InputError):
        records += json_records(file.path, file.name)
    if not records or (len(records) == 1 and _layout_of_document(records[0])):
        return _document(source, size, target.with_suffix(".json"))
    single = len(records) == 1 and suffix_of(source.name) == ".json"
    types = record_types(records)
    file = replace(file, types=types, repeated=repeated_names(types), single=single)
    notes = _chosen_answers(records[0], file.name)
    if packing_of(file.path) or (whole_bytes := _whole_lines(file.path)) == file.path.stat().st_size:
        return file, notes
    notes += [f"the last line of {shown(file.name)} is half-written, and is not read"]
    shortened = target.with_name(f"{target.name}-whole.jsonl")
    shutil.copyfile(file.path, shortened)
    os.truncate(shortened, whole_bytes)
    return replace(file, path=shortened), notes


def _chosen_answers(record: Mapping[str, Any], name: str) -> list[str]:
    """A note where lm-evaluation-harness has a verdict on one of several responses, or on their vote."""
    match record.get("resps"):
        case [[_, _, *_] as responses, *_] if "filtered_resps" in record:
            chosen = "each verdict is of the answer that a filter chose from them, or of their vote"
            return [f"a row of {shown(name)} has {len(responses)} responses: {chosen}, which pass@1 is of"]
    return []


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


def _document(source: Source, size: int, target: Path) -> tuple[TableFile, list[str]]:
    """One JSON document, and notes on it."""
    name = shown(source.name)
    if packing_of(source.path) or size > MOST_UNPACKED:
        raise InputError(
            "file-corrupt",
            f"{name} begins with no JSON object, and is too large for one document",
            "write JSON lines: one object per line",
        )
    try:
        document = json.loads(source.path.read_bytes())
    except (ValueError, RecursionError) as problem:
        raise InputError(
            "file-corrupt",
            f"{name} is neither JSON lines nor one JSON document ({shown(str(problem))})",
            "copy or write the file again",
        ) from None
    layout = _layout_of_document(document)
    rows = document if isinstance(document, list) else [document]
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise InputError(
            "file-corrupt",
            f"{name} is not a list of objects, one per sample",
            "write JSON lines: one object per sample",
        )
    notes = _status(document, source.name) if layout == "inspect" else []
    rows = list(_DOCUMENTS[layout](document)) if layout else rows
    file = _as_lines(source, size, rows, target, layout)
    return replace(file, single=not layout and isinstance(document, dict)), notes


def _as_lines(
    source: Source, size: int, rows: Sequence[dict[str, Any]], target: Path, layout: str
) -> TableFile:
    """Rows of a document as JSON lines."""
    if not rows:
        raise InputError(
            "no-samples",
            f"{shown(source.name)} has no samples, only results of them",
            "write the samples themselves (inspect: --log-samples)",
        )
    with target.open("x", encoding="utf-8") as lines:
        lines.writelines(json.dumps(row) + "\n" for row in rows)
    types = record_types(rows)
    return TableFile(
        path=target,
        name=source.name,
        source=source.path,
        kind="jsonl",
        size=size,
        types=types,
        repeated=repeated_names(types),
        keys=source.keys,
        layout=layout,
    )


def _layout_of_document(document: Any) -> str:
    """What wrote a document; empty for any other."""
    if not isinstance(document, dict):
        return ""
    results = document.get("results")
    if "k" in document and isinstance(results, list) and all(isinstance(row, dict) for row in results):
        return "counts of k samples"
    if "raw_scored_generations" in document:
        return "CRUXEval"
    if isinstance(document.get("eval"), dict):
        return "inspect" if "plan" in document or "samples" in document else "EvalPlus"
    return ""


def _cruxeval(document: Mapping[str, Any]) -> Iterator[dict[str, object]]:
    """CRUXEval: lists of verdicts and of answers by problem."""
    answers = document.get("raw_generations", {})
    for problem, verdicts in document["raw_scored_generations"].items():
        for right, answer in _paired(problem, verdicts, answers.get(problem)):
            yield {"problem": problem, "right": right, "answer": answer}


def _paired(
    problem: str, verdicts: Sequence[Any], answers: Sequence[Any] | None
) -> Iterator[tuple[object, object]]:
    """Verdicts and answers of a problem, which may have no answers; InputError ``lists-differ``."""
    answers = answers or [None] * len(verdicts)
    if len(verdicts) != len(answers):
        raise InputError(
            "lists-differ",
            f"problem {shown(problem)} has {len(verdicts)} verdicts and {len(answers)} answers",
            "write one verdict per answer",
        )
    return zip(verdicts, answers, strict=True)


def _evalplus(document: Mapping[str, Any]) -> Iterator[dict[str, object]]:
    """EvalPlus: a sample passes ``plus`` where it passes the base tests and the further ones."""
    for problem, results in document["eval"].items():
        if isinstance(results, dict):
            # Versions before 0.2 have a list of [status, details] for each set of tests.
            of_base, of_plus = ([status[0] for status in results.get(key) or ()] for key in ("base", "plus"))
            results = [
                {"base_status": base, "plus_status": plus}
                for base, plus in _paired(problem, of_base, of_plus)
            ]
        for result in results:
            base = result.get("base_status")
            plus = result.get("plus_status")
            if plus is not None and base not in (None, "pass", "success"):
                plus = base
            yield {"problem": problem, "base": base, "plus": plus, "solution": result.get("solution")}


def _status(document: Mapping[str, Any], name: str) -> list[str]:
    status = document.get("status", "success")
    if status == "success":
        return []
    return [f"{shown(name)} has the status {shown(status)}: it may lack samples"]


def _inspect(document: Mapping[str, Any]) -> Iterator[dict[str, object]]:
    """A log of inspect: a row per sample and scorer, and per value of one that has several."""
    about = document.get("eval") or {}
    for sample in document.get("samples") or ():
        row = {
            "problem": sample.get("id"),
            "sample": sample.get("epoch"),
            "error": bool(sample.get("error")),
            "truncated": bool(sample.get("limit")),
            "tokens": ((sample.get("output") or {}).get("usage") or {}).get("output_tokens"),
            "task": about.get("task"),
            "model": about.get("model"),
        }
        for scorer, score in (sample.get("scores") or {None: {}}).items():
            value = score.get("value")
            values = value if isinstance(value, dict) else {None: value}
            answer = score.get("answer")
            for metric, right in values.items():
                yield {**row, "scorer": scorer, "metric": metric, "right": right, "answer": answer}


def _counts(document: Mapping[str, Any]) -> Iterator[dict[str, object]]:
    """Right samples of k, a row per problem."""
    about = {"n": document["k"], "model": document.get("model")}
    for result in document["results"]:
        yield {**about, **result}


_DOCUMENTS = {
    "CRUXEval": _cruxeval,
    "EvalPlus": _evalplus,
    "inspect": _inspect,
    "counts of k samples": _counts,
}
"""What wrote a document → its samples, a row each."""


def _inspect_archive(source: Source, size: int, target: Path) -> tuple[TableFile, list[str]]:
    """The samples of an ``.eval`` file; InputErrors for any other archive, and one that is too large."""
    name = shown(source.name)
    try:
        with zipfile.ZipFile(source.path) as archive:
            names = archive.namelist()
            if any(key.endswith(("data.pkl", ".npy")) for key in names):
                raise pickled(source.name)
            head = next((key for key in ("header.json", _JOURNAL) if key in names), None)
            if head is None:
                raise InputError(
                    "file-corrupt",
                    f"{name} is an archive that inspect did not write: it has {listing(names, 3)}",
                    "unpack it, and name the files of samples",
                )
            # No part beyond the limit is unpacked.
            for unpacked_bytes in accumulate(entry.file_size for entry in archive.infolist()):
                check_unpacked(source.name, size, unpacked_bytes)
            members = [key for key in names if key.startswith("samples/")]
            header = json.loads(archive.read(head))
            rows = list(_inspect({**header, "samples": (json.loads(archive.read(key)) for key in members)}))
    # The last for an encrypted archive, and JSON that is too deep
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, OSError, RuntimeError) as problem:
        raise InputError(
            "file-corrupt",
            f"{name} cannot be read as a log of inspect: {shown(str(problem))}",
            "copy it again, or `inspect log dump` it as JSON",
        ) from None
    notes = _status(header, source.name)
    if head == _JOURNAL:
        notes.append(
            f"{name} is of an evaluation that has not ended: {counted(len(members), 'sample')} so far"
        )
    return _as_lines(source, size, rows, target, "inspect"), notes
