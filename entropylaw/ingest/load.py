"""From a path, a folder or a table in memory to runs."""

from __future__ import annotations

import hashlib
import os
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from entropylaw.errors import EntropyLawError, InputError
from entropylaw.ingest import catalog, frames
from entropylaw.ingest.assemble import assemble, display_name
from entropylaw.ingest.opening import load
from entropylaw.ingest.registry import find_reader, split_format
from entropylaw.ingest.run import Run, Source
from entropylaw.ingest.wording import counted, shown_path

# In a folder, only these are looked at: logs stand beside checkpoints of gigabytes.
_LOG_SUFFIXES = frozenset(
    (
        *(
            ".csv",
            ".tsv",
            ".jsonl",
            ".ndjson",
            ".json",
            ".parquet",
            ".pq",
            ".log",
            ".out",
            ".txt",
            ".wandb",
        ),
        *(
            ".swanlab",
            ".gz",
            ".zst",
            "",
        ),
    )
)
_EVENT_FILE = re.compile(r".*\.tfevents\..*")
# With one of these, a file in a folder is something else, not a log that went wrong.
_NO_LOG = frozenset(
    (
        *(
            "not-a-log",
            "no-step-column",
            "step-not-numeric",
            "token-level-table",
            "no-records",
            "file-empty",
        ),
        *("several-rows-a-step",),
    )
)
_PART = re.compile(r"part[-_.].*|.*-\d+-of-\d+|\d+")


class UnreadFileWarning(UserWarning):
    """A file in a folder could not be read; the others were."""


class Failure(NamedTuple):
    """A path and the error that reading it gave."""

    path: str
    error: EntropyLawError


class Ignored(NamedTuple):
    """A file of a folder that is no log, and why it was taken for none."""

    path: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Everything that came of some paths: runs, errors, and files that are no logs."""

    runs: tuple[Run, ...]
    failures: tuple[Failure, ...] = ()
    ignored: tuple[Ignored, ...] = ()


def read_runs(path: object, *, step: str | None = None, run: str | None = None) -> tuple[Run, ...]:
    """Read every run behind a path.

    Parameters
    ----------
    path
        A file, a folder (read with all folders in it), ``-`` for standard input, ``name.dat:jsonl`` to
        force a format, or a table: pandas, pyarrow, a mapping from names to sequences.
    step, run
        The step column, and the column that tells the runs of one table apart.

    Returns
    -------
    tuple of Run
        At least one.

    Raises
    ------
    EntropyLawError
        Where nothing could be read.

    Warns
    -----
    UnreadFileWarning
        For each file of a folder that is a log and could not be read, while others could.

    """
    if frames.is_frame(path):
        return _read_frame(path, step, run)
    reading = read_all([path], step=step, run=run)
    if not reading.runs:
        raise reading.failures[0].error
    for failure in reading.failures:
        warnings.warn(f"{failure.error}", UnreadFileWarning, stacklevel=2)
    return reading.runs


def read_all(paths: Iterable[object], *, step: str | None = None, run: str | None = None) -> Reading:
    """Read many paths; one that cannot be read does not stop the others.

    Runs of different files that have the same name get the file's name added. For the parameters see
    :func:`read_runs`.
    """
    runs: list[Run] = []
    failures: list[Failure] = []
    ignored: list[Ignored] = []
    for path in paths:
        text = _path_text(path)
        try:
            if frames.is_frame(path):
                runs += _read_frame(path, step, run)
            elif text != "-" and _is_folder(text):
                inside = _read_folder(text, step, run)
                runs += inside.runs
                failures += inside.failures
                ignored += inside.ignored
            else:
                runs += _read_file(text, step, run)
        except EntropyLawError as error:
            failures.append(Failure(path=text, error=error))
    return Reading(runs=_told_apart(runs), failures=tuple(failures), ignored=tuple(ignored))


def _read_file(path: str, step: str | None, run: str | None) -> tuple[Run, ...]:
    base, forced = split_format(path)
    content = load(base)
    reader, notes = find_reader(content, forced)
    table = reader.read(content)
    source = Source(path=base, format=reader.name, sha256=content.sha256, rows=table.rows)
    table = replace(table, notes=(*notes, *table.notes))
    return assemble(table, source, display_name(base), step=step, run=run)


def _read_frame(frame: object, step: str | None, run: str | None) -> tuple[Run, ...]:
    table = frames.from_frame(frame)
    digest = frames.fingerprint(table)
    source = Source(path=frames.PATH, format="frame", sha256=digest, rows=table.rows)
    return assemble(table, source, "frame", step=step, run=run)


def _read_folder(folder: str, step: str | None, run: str | None) -> Reading:
    """Read each log below a folder.

    Raises
    ------
    InputError
        ``no-logs-in-folder`` where none is there; with failures, these are returned.

    """
    runs: list[Run] = []
    failures: list[Failure] = []
    ignored: list[Ignored] = []
    for where, files in _log_files(folder):
        for group in _data_sets(where, files):
            path = group[0] if len(group) == 1 else where
            try:
                found = (
                    _read_file(path, step, run) if len(group) == 1 else _read_parts(where, group, step, run)
                )
            except EntropyLawError as error:
                if error.slug in _NO_LOG:
                    ignored.append(Ignored(path=path, why=error.message))
                else:
                    failures.append(Failure(path=path, error=error))
                continue
            if found[0].source.format == "jsonl" and found[0].source.rows < 2:
                ignored.append(
                    Ignored(path=path, why="a single record, such as a configuration or a summary")
                )
            elif step is None and not any(map(_has_metric, found)):
                ignored.append(Ignored(path=path, why="neither an entropy nor a reward among its columns"))
            else:
                runs += found
    if not runs and not failures:
        raise _no_logs(folder, ignored)
    return Reading(runs=tuple(runs), failures=tuple(failures), ignored=tuple(ignored))


def _log_files(folder: str) -> Iterator[tuple[str, list[str]]]:
    """Walk folders and the candidates in them, in sorted order; hidden ones are left out."""
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield (
            where,
            [
                str(Path(where) / name)
                for name in sorted(files)
                if not name.startswith(".")
                and (Path(name).suffix.lower() in _LOG_SUFFIXES or _EVENT_FILE.fullmatch(name))
            ],
        )


def _data_sets(where: str, files: list[str]) -> list[list[str]]:
    """Group files one by one, save the parts of a Parquet data set, which belong together."""
    parts = [path for path in files if path.endswith(".parquet") and _PART.fullmatch(Path(path).stem)]
    if len(parts) < 2 or not _same_schema(parts):
        return [[path] for path in files]
    return [parts, *([path] for path in files if path not in parts)]


def _same_schema(paths: list[str]) -> bool:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return len({tuple(pq.read_schema(path).names) for path in paths}) == 1
    except (pa.ArrowException, OSError, ValueError):
        return False


def _read_parts(where: str, paths: list[str], step: str | None, run: str | None) -> tuple[Run, ...]:
    from entropylaw.ingest.formats.parquet import read_parts

    data = [load(path).data for path in paths]
    table = read_parts(where, data)
    digest = hashlib.sha256(b"".join(data)).hexdigest()
    source = Source(path=where, format="parquet", sha256=digest, rows=table.rows)
    note = (
        f"{counted(len(paths), 'part')} of one Parquet data set; the SHA-256 is that of their bytes in order"
    )
    name = Path(where).name or where
    return assemble(replace(table, notes=(note, *table.notes)), source, name, step=step, run=run)


def _has_metric(run: Run) -> bool:
    return any(map(catalog.is_metric, run.columns))


def _told_apart(runs: list[Run]) -> tuple[Run, ...]:
    """Give runs names of their own: the file's name is added where files share one, then a number."""
    paths: dict[str, set[str]] = {}
    for run in runs:
        paths.setdefault(run.name, set()).add(run.source.path)
    seen: Counter[str] = Counter()
    renamed: list[Run] = []
    for run in runs:
        name = run.name
        if len(paths[name]) > 1:
            name = f"{name} ({Path(run.source.path).name})"
        seen[name] += 1
        if seen[name] > 1:
            name = f"{name} ({seen[name]})"
        renamed.append(run if name == run.name else replace(run, name=name))
    return tuple(renamed)


def _path_text(path: object) -> str:
    if isinstance(path, (str, os.PathLike)):
        text = os.fspath(path)
        return os.fsdecode(text)
    return frames.PATH


def _is_folder(path: str) -> bool:
    try:
        return path != "" and Path(path).is_dir()
    except (OSError, ValueError):
        return False


def _no_logs(folder: str, ignored: list[Ignored]) -> InputError:
    looked = f"{counted(len(ignored), 'file')} looked at" if ignored else "no file with a log's suffix"
    first = f", the first one {shown_path(ignored[0].path)}: {ignored[0].why}" if ignored else ""
    return InputError(
        "no-logs-in-folder",
        f"{shown_path(folder)} holds no training log: {looked}{first}",
        "name the log itself, or force its format with FILE:csv",
    )
