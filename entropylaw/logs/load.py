"""From a path, a folder or a table in memory to runs."""

from __future__ import annotations

import hashlib
import os
import stat
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec import structs

from entropylaw.arguments import as_path, several, text_or_none
from entropylaw.errors import EntropyLawError, InputError, UsageError
from entropylaw.escaping import counted, quoted_path
from entropylaw.logs import catalog
from entropylaw.logs.configuration import WANDB_GROUP, flat_settings, relevant, settings_beside
from entropylaw.logs.readers.trackers.wandb import history_notes
from entropylaw.logs.runs import FRAME, Run, Table, unique_names
from entropylaw.logs.runs.joining import joined, whole_source, without_copies
from entropylaw.logs.runs.number_parsing import Column, parse_column
from entropylaw.logs.runs.splitting import distinct_names
from entropylaw.logs.source import Source
from entropylaw.logs.sources import folders
from entropylaw.logs.sources.assemble import assemble, display_name
from entropylaw.logs.sources.bundles import Bundle
from entropylaw.logs.sources.content import MOST_AT_ONCE, Content, load
from entropylaw.logs.sources.registry import find_reader, split_format
from entropylaw.logs.suggest import measured
from entropylaw.paths import hostless, is_file, is_folder, is_own, note_input, release_input
from entropylaw.wandb_runs import SCHEME, history


class UnreadFileWarning(UserWarning):
    """A file in a folder could not be read; the others were."""


class Failure(NamedTuple):
    """A path and the error that reading it gave; ``run`` is set where only that run of a file is lost."""

    path: str
    error: EntropyLawError
    run: str = ""


class Ignored(NamedTuple):
    """A file of a folder that is no log, and the reason."""

    path: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The result of reading some paths: runs, errors, and files that are no logs.

    ``half_written`` says of logs with a last record that breaks off which one that is; ``given`` maps every
    path in it to the argument that led to it.
    """

    runs: tuple[Run, ...]
    failures: tuple[Failure, ...] = ()
    ignored: tuple[Ignored, ...] = ()
    half_written: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)


def read_runs(
    path: object, *, step: str | None = None, run: str | None = None, columns: Sequence[str] = ()
) -> tuple[Run, ...]:
    """Read every run behind a path.

    At least one run is returned; raises :class:`EntropyLawError` where nothing could be read, and warns with
    :class:`UnreadFileWarning` of each file of a folder that is a log and could not be read.

    Parameters
    ----------
    path
        A file, a folder (read with all folders in it), ``-`` for standard input, ``name.dat:jsonl`` to force
        a format, a run at W&B (``wandb://ENTITY/PROJECT/RUN``), or a table: pandas, pyarrow, a mapping of
        sequences.
    step, run
        The step column, and the column that labels the runs of one table.
    columns
        Further columns that are to be read from files beyond 64 MiB and Parquet tables with more than 256
        columns: of these, unknown columns are left out. Of those with text a run has the text at every step.
    """
    step, run = text_or_none(step, "step"), text_or_none(run, "run")
    columns = several(columns, str, "columns")
    reading = read_all([path], step=step, run=run, columns=columns)
    if not reading.runs:
        raise reading.failures[0].error
    for failure in reading.failures:
        warnings.warn(f"{failure.error}", UnreadFileWarning, stacklevel=2)
    return reading.runs


def read_all(
    paths: Iterable[object],
    *,
    step: str | None = None,
    run: str | None = None,
    columns: Sequence[str] = (),
    any_table: bool = False,
    supervised: bool = False,
) -> Reading:
    """Read many paths; one that cannot be read does not stop the others.

    With ``any_table`` a table of numbers in a folder is a log even if no column of it is known, and is not
    skipped but a failure. With ``supervised``, records of supervised training are not set aside.

    A file that several paths lead to is read once. Files that hold one metric each are joined by run and
    step. Runs of different files that have the same name get the file's name added. For the parameters see
    :func:`read_runs`.
    """
    collector = _Collector(
        step=step,
        run=run,
        columns=frozenset(columns),
        any_table=any_table,
        keep_supervised=supervised,
    )
    for path in paths:
        collector.take(path)
    runs = joined(collector.runs)
    # The path of a joined run has the paths of all its files.
    sources = (run.source for run in runs if run.source.parts)
    collector.given |= {source.path: collector.given[source.parts[0].path] for source in sources}
    unique, copies = without_copies(runs, collector.copies)
    names = distinct_names([run.name for run in unique], [run.source.path for run in unique])
    return Reading(
        runs=tuple(replace(run, name=name) for run, name in zip(unique, names, strict=True)),
        failures=tuple(collector.failures),
        ignored=(*collector.ignored, *(Ignored(path=path, why=reason) for path, reason in copies)),
        half_written=collector.half_written,
        given=dict(collector.given),
    )


class _Read(NamedTuple):
    """A table, its source, and the name of runs without a label."""

    table: Table
    source: Source
    name: str


@dataclass(kw_only=True)
class _Collector:
    """Reads paths, and collects what they hold; the user names steps, runs and further columns.

    ``copies`` maps a file to the log of which it is a copy by its folder and name, ``given`` every path to
    the argument that led to it.
    """

    step: str | None
    run: str | None
    columns: frozenset[str]
    any_table: bool
    keep_supervised: bool = False
    runs: list[Run] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    ignored: list[Ignored] = field(default_factory=list)
    copies: dict[str, str] = field(default_factory=dict)
    given: dict[str, str] = field(default_factory=dict)
    half_written: dict[str, str] = field(default_factory=dict)
    _seen: set[object] = field(default_factory=set)

    def take(self, path: object) -> None:
        """Read a file, a folder, standard input, a run at W&B or a table in memory."""
        argument = FRAME
        try:
            if not isinstance(path, (str, os.PathLike)):
                self.given.setdefault(FRAME, FRAME)
                self._add(_in_memory(path))
                return
            argument = as_path(path, "path")
            self.given.setdefault(argument, argument)
            if argument != "-" and not argument.startswith(SCHEME) and is_folder(argument):
                self._take_folder(argument)
                return
            file, forced = split_format(argument)
            self.given.setdefault(file, argument)
            note_input(file)
            if self._seen_before(file):
                return
            if file.startswith(SCHEME):
                self._add(self._read_wandb(file))
            else:
                self._add(self._read_file(load(file), forced))
        except EntropyLawError as error:
            self.given.setdefault(argument, argument)
            self.failures.append(Failure(path=argument, error=error))

    def _read_wandb(self, url: str) -> _Read:
        """Fetch a run's history, and read it as JSON lines."""
        fetched = history(url)
        if not fetched.lines.strip():
            raise InputError(
                "file-empty",
                f"{quoted_path(url)} has an empty history",
                "check that the run has logged something",
            )
        read = self._read_file(Content(url, fetched.lines), "jsonl")
        config = flat_settings(fetched.config)
        if fetched.group:
            config[WANDB_GROUP] = fetched.group
        return read._replace(
            table=replace(read.table, settings=relevant(config), config=config),
            source=structs.replace(read.source, format="wandb-api"),
            name=fetched.name,
        )

    def _take_folder(self, folder: str) -> None:
        """Read each log below a folder; raises ``no-logs-in-folder`` where there is none."""
        earlier = len(self.ignored)
        any_log = False
        for log in folders.logs_in(folder):
            files = log.files or (log.path,)
            seen = [self._seen_before(file, found=log.named) for file in files]
            if all(seen) and not log.problem:
                any_log = True
                continue
            for path in (log.path, *files):
                self.given.setdefault(path, folder)
            if log.copy_of:
                self.copies[log.path] = log.copy_of
            any_log |= self._take_log(log)
        if any_log:
            return
        looked = "no file with a log's suffix"
        if skipped := self.ignored[earlier:]:
            looked = (
                f"{counted(len(skipped), 'file')} looked at, the first one "
                f"{quoted_path(skipped[0].path)}: {skipped[0].why}"
            )
        raise InputError(
            "no-logs-in-folder",
            f"{quoted_path(folder)} holds no training log: {looked}",
            "name the log itself, or force its format with FILE:csv",
        )

    def _take_log(self, log: folders.Log) -> bool:
        """Read one file of a folder, or the files that are one log together; returns whether it was a log."""
        content = None
        try:
            if log.reader is not None:
                return self._judge(log, self._read_bundle(log, log.reader), None)
            if log.problem is not None:
                raise log.problem
            content = load(log.path)
            whole = content.suffix == ".json" and content.size <= MOST_AT_ONCE
            if content.suffix in (".csv", ".json", ".txt", ".md") and is_own(
                content.data if whole else content.head
            ):
                self.ignored.append(Ignored(path=log.path, why="written by entropylaw, not a log"))
                return False
            if log.has_name or folders.looks_measured(content):
                return self._judge(log, self._read_file(content), content)
        except EntropyLawError as error:
            if log.has_name or error.slug not in ("not-a-log", "file-empty"):
                return self._refuse(log, error, content)
        if content is not None and (reason := folders.why_unread(content)):
            self.ignored.append(Ignored(path=log.path, why=reason))
        return False

    def _judge(self, log: folders.Log, read: _Read, content: Content | None) -> bool:
        """Use a table of a folder if it is one of a log; returns whether it is."""
        reason = folders.why_no_log(log.path, read.table, self.columns, alone=read.source.format == "jsonl")
        unmeasured = reason == folders.UNMEASURED
        numbers = unmeasured and log.named and self.any_table and folders.is_of_numbers(read.table)
        if reason and not numbers and not (unmeasured and self.step is not None):
            if log.named or not unmeasured:
                self.ignored.append(Ignored(path=log.path, why=reason))
            return False
        try:
            self._add(read)
        except EntropyLawError as error:
            if not numbers:
                return self._refuse(log, error, content, read.table)
            self.failures.append(Failure(path=log.path, error=error))
        return True

    def _refuse(
        self, log: folders.Log, error: EntropyLawError, content: Content | None, table: Table | None = None
    ) -> bool:
        """Note the error of a file of a folder, if it may have been a log; returns whether it may."""
        # Files that are one log together were recognised as such.
        reason = "" if log.reader else folders.why_skipped(log.path, error, content, table)
        if not reason:
            self.failures.append(Failure(path=log.path, error=error))
            return True
        if error.slug == "not-a-log":
            release_input(log.path)
        self.ignored.append(Ignored(path=log.path, why=reason))
        return False

    def _seen_before(self, path: str, *, found: bool = False) -> bool:
        """Whether a file was read already, under whatever name; from now on it was."""
        if found:
            note_input(path, found=True)
        key: object = path
        with suppress(OSError, ValueError):
            if path != "-" and stat.S_ISREG((status := Path(path).stat()).st_mode):
                key = status.st_dev, status.st_ino
        seen = key in self._seen
        self._seen.add(key)
        return seen

    def _add(self, read: _Read) -> None:
        """Turn a table into runs; runs of it that cannot be used are failures."""
        path = read.source.path
        note_input(path, found=True)
        runs, lost = assemble(
            read.table,
            read.source,
            read.name,
            step=self.step,
            run=self.run,
            words=self.columns,
            supervised=self.keep_supervised,
        )
        self.runs += runs
        self.failures += [Failure(path=path, error=error, run=name) for name, error in lost]
        if read.table.incomplete:
            error = InputError(
                "table-incomplete",
                f"{quoted_path(path)} was written by entropylaw without all of its files: "
                f"{read.table.incomplete}",
                "write it again once they can be read, or by naming the files that count",
            )
            self.failures.append(Failure(path=path, error=error))

    def _read_file(self, content: Content, forced: str | None = None) -> _Read:
        """Read one file, with the settings in it or next to it."""
        content.useful = self._is_kept
        reader, notes = find_reader(content, forced)
        table = _with_settings(reader.read(content), content.path)
        # A crashed file system leaves NULs at the end.
        unread = None if content.damaged else max(content.nuls, table.lost_bytes) / content.size
        source = Source(
            path=content.path,
            format=reader.name,
            sha256=content.sha256,
            rows=table.rows,
            unread=unread,
        )
        notes += table.notes
        if table.half_written is not None:
            note = f"the last line ({table.half_written}) is half-written, and is not read"
            self.half_written[content.path] = note
            notes += (note,)
        if reader.name in ("csv", "parquet", "jsonl"):
            notes += history_notes(tuple(table.columns), table.columns.get("_step"), table.rows)
        return _Read(replace(table, notes=notes), source, display_name(hostless(content.path)))

    def _read_bundle(self, log: folders.Log, bundle: Bundle) -> _Read:
        """Read the files that are one log together, with the settings in them or next to them."""
        contents = [load(path) for path in log.files if not is_file(path) or Path(path).stat().st_size]
        if not contents:
            raise InputError(
                "file-empty", f"{quoted_path(log.path)} holds empty files only", "check the folder"
            )
        for content in contents:
            content.useful = self._is_kept
        table = bundle.read(log.path, contents)
        files = [Source(path=file.path, format=bundle.name, sha256=file.sha256, rows=0) for file in contents]
        unread = table.lost_bytes / sum(content.size for content in contents)
        source = structs.replace(whole_source(log.path, bundle.name, files), rows=table.rows, unread=unread)
        name = display_name(str(Path(log.path) / "log"))
        return _Read(_with_settings(table, contents[0].path), source, name)

    def _is_kept(self, column: str) -> bool:
        """Whether a column of a large file is kept: it is known, or the user names it."""
        named = any(column == name or fnmatchcase(column, name) for name in self.columns)
        return named or column in (self.step, self.run) or is_useful(column)


def is_useful(column: str) -> bool:
    """Whether an analysis uses a column."""
    return catalog.is_useful(column) or bool(measured([column]))


def _with_settings(table: Table, path: str) -> Table:
    """A table with the settings in it or next to its file, and the notes on these."""
    settings, beside = (table.settings, ()) if table.settings else settings_beside(path)
    # A configuration also holds private settings. Without any useful one, the notes give the reason.
    used = relevant(settings)
    notes = table.notes if settings and not used else (*table.notes, *beside)
    return replace(table, notes=notes, settings=used, config=table.config or settings)


# --- Tables in memory ---------------------------------------------------------------------------------------


def _in_memory(frame: object) -> _Read:
    """Read a table in memory; raises ``frame-not-understood`` for what is none."""
    if not isinstance(frame, Mapping) and not _has_attributes(frame, "columns"):
        raise UsageError(
            "frame-not-understood",
            f"a path or a table was expected, not {type(frame).__name__}",
            "several paths go to entropylaw.logs.read_all",
        )
    table = _from_frame(frame)
    # What has no file is identified by its names and its values as float64.
    digest = hashlib.sha256()
    for name, column in table.columns.items():
        digest.update(name.encode("utf-8", "backslashreplace") + b"\0")
        parsed = parse_column(column)
        digest.update(parsed.values.astype("<f8").tobytes())
        if parsed.texts:
            digest.update("\0".join(map(str, column)).encode("utf-8", "backslashreplace"))
    source = Source(path=FRAME, format="frame", sha256=digest.hexdigest(), rows=table.rows)
    return _Read(table, source, "frame")


def _from_frame(frame: Any) -> Table:
    """Turn it into a table; a named index becomes a column.

    Raises ``frame-not-understood`` where the columns differ in length or cannot be taken out, and
    ``no-records`` where there are no rows.
    """
    if _has_attributes(frame, "column_names", "schema"):
        from entropylaw.logs.readers.parquet import from_arrow

        return from_arrow(frame, FRAME)
    try:
        pairs = _frame_columns(frame)
    except Exception as problem:
        reason = f"its columns cannot be taken out ({type(problem).__name__})"
    else:
        lengths = {len(column) for _, column in pairs}
        if lengths <= {0}:
            raise InputError("no-records", "the table has no rows", "pass a table with one row per step")
        if len(lengths) == 1:
            names, notes = unique_names(name for name, _ in pairs)
            columns = dict(zip(names, (column for _, column in pairs), strict=True))
            return Table(columns=columns, rows=lengths.pop(), notes=notes)
        reason = f"its columns have {min(lengths)} to {max(lengths)} rows"
    raise UsageError(
        "frame-not-understood",
        f"the table that was passed cannot be read: {reason}",
        "pass a pandas DataFrame, a pyarrow Table, or a mapping from column names to sequences",
    )


def _has_attributes(value: object, *names: str) -> bool:
    """Whether an object has some attributes; one that raises an error there has none."""
    with suppress(Exception):
        return all(hasattr(value, name) for name in names)
    return False


def _frame_columns(frame: Any) -> list[tuple[str, Column]]:
    if isinstance(frame, Mapping):
        return [(str(name), _cells(cells)) for name, cells in frame.items()]
    index: Any = getattr(frame, "index", None)
    pairs = [] if getattr(index, "name", None) is None else [(str(index.name), _cells(index))]
    by_position = getattr(frame, "iloc", None)  # two columns may share a name
    for position, name in enumerate(frame.columns):
        cells = frame[name] if by_position is None else by_position[:, position]
        label = "/".join(str(level) for level in name if str(level)) if isinstance(name, tuple) else str(name)
        pairs.append((label, _cells(cells)))
    return pairs


def _cells(cells: Any) -> Column:
    values = cells.to_numpy() if hasattr(cells, "to_numpy") else cells
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise ValueError("a column has one dimension")
    return values if isinstance(values, np.ndarray) else list(values)
