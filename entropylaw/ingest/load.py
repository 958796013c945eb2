"""From a path, a folder or a table in memory to runs."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from entropylaw.arguments import several, text_or_none
from entropylaw.errors import EntropyLawError, InputError, UsageError
from entropylaw.ingest import catalog, folders, frames
from entropylaw.ingest.assemble import assemble, display_name
from entropylaw.ingest.formats.wandb_export import history_notes
from entropylaw.ingest.joining import joined
from entropylaw.ingest.naming import told_apart
from entropylaw.ingest.opening import is_empty, is_remote, is_remote_folder, load, remote_listing
from entropylaw.ingest.regime import relevant
from entropylaw.ingest.registry import find_reader, split_format
from entropylaw.ingest.repeats import without_repeats
from entropylaw.ingest.run import Run, Source
from entropylaw.ingest.samples import sample_columns
from entropylaw.ingest.settings import settings_beside
from entropylaw.ingest.steps import folded
from entropylaw.ingest.table import Table
from entropylaw.ingest.wording import counted, shown_path
from entropylaw.paths import hostless

# With one of these, a file in a folder is something else, not a log that went wrong. The words say nothing of
# what is in it: somebody's keys may lie beside somebody's logs.
_NEVER = {
    "token-level-table": "one row a token or an answer",
    "several-rows-a-step": "several rows a step",
    "step-not-numeric": "no numbers in its step column",
    "last-values-only": "last values only, without the run's course",
}
_NO_LOG = _NEVER | {
    "not-a-log": "in none of the formats that are read",
    "no-step-column": "no step column",
    "no-records": "no record in it",
    "file-empty": "empty",
}


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


class _Asked(NamedTuple):
    """What the user names: the step column, the run column, further columns that are to be read."""

    step: str | None
    run: str | None
    columns: frozenset[str]

    def useful(self, name: str) -> bool:
        """Whether a column of a large file is worth keeping."""
        return name in self.columns or name in (self.step, self.run) or catalog.is_useful(name)

    def has_entropy(self, names: Iterable[str]) -> bool:
        """Whether an entropy is among ``names`` that is asked for, such as that of one class of tokens."""
        wanted = {folded(name) for name in self.columns if "entropy" in name.casefold()}
        return any(folded(name) in wanted for name in names)


def read_runs(
    path: object, *, step: str | None = None, run: str | None = None, columns: Sequence[str] = ()
) -> tuple[Run, ...]:
    """Read every run behind a path.

    Parameters
    ----------
    path
        A file, a folder (read with all folders in it), ``-`` for standard input, ``name.dat:jsonl`` to
        force a format, a place that fsspec knows (``s3://…``), or a table: pandas, pyarrow, a mapping from
        names to sequences.
    step, run
        The step column, and the column that tells the runs of one table apart.
    columns
        Columns of which nothing is known and that are to be read all the same, which matters for files
        beyond 64 MiB and Parquet tables with more than 256 columns: of these, the others are left out.

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
    step, run = text_or_none(step, "step"), text_or_none(run, "run")
    columns = several(columns, str, "columns")
    if frames.is_frame(path):
        return _read_frame(path, _Asked(step, run, frozenset(columns)))
    reading = read_all([path], step=step, run=run, columns=columns)
    if not reading.runs:
        raise reading.failures[0].error
    for failure in reading.failures:
        warnings.warn(f"{failure.error}", UnreadFileWarning, stacklevel=2)
    return reading.runs


def read_all(
    paths: Iterable[object], *, step: str | None = None, run: str | None = None, columns: Sequence[str] = ()
) -> Reading:
    """Read many paths; one that cannot be read does not stop the others.

    Files that hold one metric each are joined by run and step. Runs of different files that have the same
    name get the file's name added. For the parameters see :func:`read_runs`.
    """
    asked = _Asked(step, run, frozenset(columns))
    runs: list[Run] = []
    failures: list[Failure] = []
    ignored: list[Ignored] = []
    for path in paths:
        try:
            text = _path_text(path)
            if frames.is_frame(path):
                runs += _read_frame(path, asked)
            elif text != "-" and _is_folder(text):
                inside = _read_folder(text, asked)
                runs += inside.runs
                failures += inside.failures
                ignored += inside.ignored
            else:
                runs += _read_file(text, asked)
        except EntropyLawError as error:
            failures.append(Failure(path=_shown_source(path), error=error))
    kept, repeats = without_repeats(joined(runs))
    ignored += [Ignored(path=path, why=why) for path, why in repeats]
    return Reading(runs=_renamed(kept), failures=tuple(failures), ignored=tuple(ignored))


def together(paths: Sequence[str]) -> list[list[str]]:
    """Group paths that are one log: files with one metric each go with their like, all others alone."""
    groups: list[list[str]] = []
    parts: list[str] | None = None
    for path in paths:
        if not _is_part(path):
            groups.append([path])
        elif parts is None:
            parts = [path]
            groups.append(parts)
        else:
            parts.append(path)
    return groups


def _is_part(path: str) -> bool:
    """Whether a file has a format that needs others; one that cannot be opened fails where it is read."""
    if path == "-" or is_remote(path) or _is_folder(path):
        return False
    try:
        base, forced = split_format(path)
        if base == "-":
            return False
        return getattr(find_reader(load(base), forced)[0], "joins", False)
    except EntropyLawError:
        return False


def _read_file(path: str, asked: _Asked) -> tuple[Run, ...]:
    return _assembled(_table_of(path, asked), asked)


class _Read(NamedTuple):
    """A table, where it came from, and how runs without a name of their own are called."""

    table: Table
    source: Source
    name: str

    @property
    def has_metric(self) -> bool:
        """Whether an entropy or a reward is among its columns."""
        return any(map(catalog.is_metric, self.table.columns))


def _table_of(path: str, asked: _Asked) -> _Read:
    base, forced = split_format(path)
    content = load(base)
    content.useful = asked.useful
    reader, notes = find_reader(content, forced)
    table = reader.read(content)
    source = Source(path=base, format=reader.name, sha256=content.sha256, rows=table.rows)
    settings, found = _settings(table, base)
    if reader.name in ("csv", "parquet", "jsonl"):
        found += history_notes(tuple(table.columns), table.columns.get("_step"), table.rows)
    table = replace(table, notes=(*notes, *table.notes, *found), settings=settings)
    return _Read(table, source, display_name(hostless(base)))


def _assembled(read: _Read, asked: _Asked) -> tuple[Run, ...]:
    return assemble(read.table, read.source, read.name, step=asked.step, run=asked.run)


def _settings(table: Table, path: str) -> tuple[Mapping[str, object], tuple[str, ...]]:
    """Return those settings that something is made of: a configuration also holds nobody's business."""
    settings, notes = (table.settings, ()) if table.settings else settings_beside(path)
    kept = relevant(settings)
    # Without any setting, the notes say why there is none.
    return kept, notes if kept or not settings else ()


def _read_frame(frame: object, asked: _Asked) -> tuple[Run, ...]:
    table = frames.from_frame(frame)
    digest = frames.fingerprint(table)
    source = Source(path=frames.PATH, format="frame", sha256=digest, rows=table.rows)
    return assemble(table, source, "frame", step=asked.step, run=asked.run)


def _table_of_bundle(log: folders.Log, asked: _Asked) -> _Read:
    assert log.reader is not None
    contents = [load(path) for path in log.files if not is_empty(path)]
    if not contents:
        raise InputError("file-empty", f"{shown_path(log.path)} holds empty files only", "check the folder")
    for content in contents:
        content.useful = asked.useful
    table = log.reader.read(log.path, contents)
    digest = hashlib.sha256("".join(content.sha256 for content in contents).encode()).hexdigest()
    parts = tuple(
        Source(path=content.path, format=log.reader.name, sha256=content.sha256, rows=0)
        for content in contents
    )
    source = Source(path=log.path, format=log.reader.name, sha256=digest, rows=table.rows, parts=parts)
    settings, found = _settings(table, contents[0].path)
    table = replace(table, notes=(*table.notes, *found), settings=settings)
    return _Read(table, source, display_name(str(Path(log.path) / "log")))


def _read_folder(folder: str, asked: _Asked) -> Reading:
    """Read each log below a folder.

    Raises
    ------
    InputError
        ``no-logs-in-folder`` where none is there; with failures, these are returned.

    """
    runs: list[Run] = []
    failures: list[Failure] = []
    ignored: list[Ignored] = []
    for log in _remote_logs(folder) if is_remote(folder) else folders.logs_in(folder):
        why = log.passed_over
        read: _Read | None = None
        try:
            if not why:
                read = _table_of_bundle(log, asked) if log.reader else _table_of(log.path, asked)
                why = _no_log(read, asked)
            if read is not None and not why:
                runs += _assembled(read, asked)
        except EntropyLawError as error:
            # With a metric in it, a file without steps is a log that went wrong.
            went_wrong = read is not None and read.has_metric
            why = (_NEVER if went_wrong else _NO_LOG).get(error.slug, "")
            if not why:
                failures.append(Failure(path=log.path, error=error))
        if why:
            ignored.append(Ignored(path=log.path, why=why))
    if not runs and not failures:
        raise _no_logs(folder, ignored)
    return Reading(runs=tuple(runs), failures=tuple(failures), ignored=tuple(ignored))


def _no_log(read: _Read, asked: _Asked) -> str:
    """Say why a table in a folder is no log; nothing where it is one."""
    if read.source.format == "jsonl" and read.source.rows < 2:
        return "a single record, such as a configuration or a summary"
    names = read.table.columns
    if asked.step is None and not (read.has_metric or asked.has_entropy(names) or sample_columns(names)):
        return "neither an entropy nor a reward among its columns"
    return ""


def _remote_logs(folder: str) -> Iterable[folders.Log]:
    for path in remote_listing(folder):
        if folders.may_be_log(path.rpartition("/")[2]):
            yield folders.Log(path=path)


def _renamed(runs: Sequence[Run]) -> tuple[Run, ...]:
    names = told_apart([run.name for run in runs], [run.source.path for run in runs])
    return tuple(replace(run, name=name) for run, name in zip(runs, names, strict=True))


def _shown_source(path: object) -> str:
    return os.fsdecode(path) if isinstance(path, (str, os.PathLike)) else frames.PATH


def _path_text(path: object) -> str:
    if isinstance(path, (str, os.PathLike)):
        text = os.fspath(path)
        return os.fsdecode(text)
    if frames.is_frame(path):
        return frames.PATH
    raise UsageError(
        "frame-not-understood",
        f"a path or a table was expected, not {type(path).__name__}",
        "several paths go to entropylaw.ingest.read_all",
    )


def _is_folder(path: str) -> bool:
    if is_remote(path):
        return is_remote_folder(path)
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
