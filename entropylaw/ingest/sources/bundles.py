"""Folders that are one log, of which no file is complete by itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np

from entropylaw.errors import InputError
from entropylaw.escaping import counted
from entropylaw.ingest import catalog
from entropylaw.ingest.runs import Table, added
from entropylaw.ingest.runs.number_parsing import Column, parse_column
from entropylaw.ingest.sources.content import Content
from entropylaw.ingest.sources.opening import load
from entropylaw.ingest.sources.registry import BundleReader, Reader, find_reader, reader_of

_EVENT_FILE = re.compile(r".*\.tfevents\.(\d+)(?:\..*)?")
_PART = re.compile(r"part[-_.].*|history[-_.]?\d+|.*-\d+-of-\d+|\d+")
_WANDB_RUN = re.compile(r"(?:offline-)?run-\d{8}_\d{6}-(\w+)")
_WANDB_FILES = (
    *("output.log", "config.yaml", "wandb-summary.json", "wandb-metadata.json", "requirements.txt"),
    "conda-environment.yaml",
)


class EventFiles(BundleReader):
    """TensorBoard's event files of one folder: every start of a run writes a new one.

    They read like one file that was appended to, so that assembly decides whether a later one is a resume.
    """

    name = "tfevents"
    about = (
        "event files of one folder, in the order of their making: a resumed run is one, a new start another"
    )

    def files(self, folder: str) -> tuple[str, ...]:
        """List the event files in the order of their time stamps.

        One that does not open as such is read by itself, so that it gets an error: it may have been a run.
        """
        named = ((_EVENT_FILE.fullmatch(path.name), path) for path in _listed(folder))
        found = [path for _, path in sorted((int(match[1]), path) for match, path in named if match)]
        if len(found) > 1:
            found = [path for path in found if _opens_as(reader_of("tfevents"), path)]
        return tuple(map(str, found)) if len(found) > 1 else ()

    def read(self, folder: str, contents: Sequence[Content]) -> Table:
        """Read one after the other; a file without scalars, such as of hyperparameters, is left out.

        Raises the error of the last file, where none has scalars.
        """
        from entropylaw.ingest.readers.trackers.tfevents import wall_times

        tables, problems = list[Table](), list[InputError]()
        times: list[tuple[float, float]] = []
        damaged = 0
        for content in contents:
            try:
                tables.append(reader_of("tfevents").read(content))
                times.append(wall_times(content.data))
            except InputError as error:
                problems.append(error)
                damaged += content.size if error.slug != "no-scalars" else 0
        if not tables:
            raise problems[-1]
        notes = [f"{counted(len(tables), 'event file')} of one folder, read in the order of their making"]
        if problems:
            notes.append(f"{counted(len(problems), 'event file')} without a whole scalar left out")
        whole = stacked(tables, notes)
        whole = replace(whole, lost_bytes=whole.lost_bytes + damaged)
        runs = _overlapping(tables, times)
        if len(set(runs)) == 1:
            return whole
        name = Path(folder).name or folder
        labels = [
            f"{name}#{run}" for run, table in zip(runs, tables, strict=True) for _ in range(_length(table))
        ]
        note = "files that were written at the same time with the same tags are different runs"
        columns = {**whole.columns, "run": labels}
        return replace(whole, columns=columns, labelled=True, notes=(*whole.notes, note))


def _overlapping(tables: Sequence[Table], times: Sequence[tuple[float, float]]) -> list[int]:
    """Number the run of each event file.

    A file that begins before another one with the same tags has ended is no resume, but another run.
    """
    runs: list[int] = []
    tags = [table.columns.keys() - {"step"} for table in tables]
    for index, (first, _) in enumerate(times):
        taken = {runs[i] for i in range(index) if first < times[i][1] and tags[index] & tags[i]}
        runs.append(min({*range(1, index + 2)} - taken))
    return runs


class WandbFolder(BundleReader):
    """A run's folder as wandb makes it: the ``.wandb`` file, or else the copy of the console."""

    name = "wandb"
    about = "a run's folder with its `.wandb` file; where that has no metric, `files/output.log`"

    def files(self, folder: str) -> tuple[str, ...]:
        """List the log and the other files of its run."""
        beside = Path(folder) / "files"
        logs = [path for path in _listed(folder) if path.suffix == ".wandb"]
        if len(logs) != 1 or not beside.is_dir():
            return ()
        more = [beside / name for name in _WANDB_FILES if (beside / name).is_file()]
        # These are wandb's own logs, and are not read.
        debug = [path for path in _listed(f"{folder}/logs") if path.name.startswith("debug")]
        return tuple(map(str, (*logs, *more, *debug)))

    def groups(self, folder: str) -> list[tuple[str, ...]]:
        """List the files of a run's folder, or those of all folders of one run that was resumed."""
        starts: dict[str, list[Path]] = {}
        inner = _listed(folder, lambda path: path.is_dir() and not path.is_symlink())
        for path in sorted(inner, key=lambda path: path.name.removeprefix("offline-")):
            if match := _WANDB_RUN.fullmatch(path.name):
                starts.setdefault(match[1], []).append(path)
        found = [self.files(folder)]
        for folders in (folders for folders in starts.values() if len(folders) > 1):
            logs = filter(None, (self.files(str(start)) for start in folders))
            opened = (files for files in logs if _opens_as(reader_of("wandb"), Path(files[0])))
            found.append(tuple(chain.from_iterable(opened)))
        return list(filter(None, found))

    def read(self, folder: str, contents: Sequence[Content]) -> Table:
        """Read the ``.wandb`` file of each start; where it has no metric, the copy of the console.

        Raises the error of the first ``.wandb`` file, where no start has any metric.
        """
        tables: list[Table] = []
        problems: list[InputError] = []
        by_path = {Path(content.path): content for content in contents}
        for log in (content for content in contents if content.path.endswith(".wandb")):
            try:
                tables.append(_wandb_table(log, by_path.get(Path(log.path).parent / "files" / "output.log")))
            except InputError as error:
                problems.append(error)
        if not tables:
            raise (*problems, InputError("file-empty", "a W&B folder without a log", "check the folder"))[0]
        if len(tables) == 1:
            return tables[0]
        whole = stacked(tables, [f"{counted(len(tables), 'folder')} of one run, which was resumed"])
        columns = {name: column for name, column in whole.columns.items() if name != "run"}
        if label := next(iter(tables[0].columns.get("run", ())), None):
            columns["run"] = [label] * _length(whole)
        return replace(whole, columns=columns, settings=tables[-1].settings)


def _wandb_table(log: Content, console: Content | None) -> Table:
    """Read a ``.wandb`` file, or the console where that has metrics and the file has none.

    Raises the error of the ``.wandb`` file, where the console does not help.
    """
    problem, why = None, "the .wandb file has no metric that is known"
    try:
        table = reader_of("wandb").read(log)
        if any(map(catalog.is_metric, table.columns)):
            return table
    except InputError as error:
        problem, why = error, error.message
    with suppress(InputError):
        found = find_reader(console)[0].read(console) if console is not None else None
        if found is not None and any(map(catalog.is_metric, found.columns)):
            return replace(found, notes=(f"read from files/output.log, for {why}", *found.notes))
    if problem is not None:
        raise problem
    return table


class ParquetParts(BundleReader):
    """The parts of one Parquet data set, which have numbered names and one schema."""

    name = "parquet"
    about = "parts with numbered names and one schema, as one table"

    def files(self, folder: str) -> tuple[str, ...]:
        """List the parts in the order of their names."""
        paths = [path for path in _listed(folder) if path.suffix == ".parquet"]
        parts = tuple(str(path) for path in paths if _PART.fullmatch(path.stem))
        if len(parts) < 2:
            return ()
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            return parts if len({tuple(pq.read_schema(path).names) for path in parts}) == 1 else ()
        except (pa.ArrowException, OSError, ValueError):
            return ()

    def read(self, folder: str, contents: Sequence[Content]) -> Table:
        """Read them as one table, with the errors of ``read_parts``."""
        from entropylaw.ingest.readers.parquet import read_parts

        table = read_parts(folder, contents)
        note = f"{counted(len(contents), 'part')} of one Parquet data set"
        return replace(table, notes=(note, *table.notes))


def bundle_readers() -> tuple[BundleReader, ...]:
    """List the readers of folders, in the order in which they are tried."""
    from entropylaw.ingest.readers.trackers.mlflow_folder import MlflowFolder

    return (WandbFolder(), MlflowFolder(), EventFiles(), ParquetParts())


def stacked(tables: Sequence[Table], notes: Sequence[str] = ()) -> Table:
    """Concatenate tables; a column that one of them lacks is missing there."""
    columns: dict[str, Column] = {}
    for name in dict.fromkeys(chain.from_iterable(table.columns for table in tables)):
        columns[name] = np.concatenate(
            [
                parse_column(table.columns[name]).values
                if name in table.columns
                else np.full(_length(table), np.nan)
                for table in tables
            ]
        )
    return Table(
        columns=columns,
        rows=sum(table.rows for table in tables),
        dropped=added(*(table.dropped for table in tables)),
        notes=(*notes, *(note for table in tables for note in table.notes)),
        lost_bytes=sum(table.lost_bytes for table in tables),
    )


def _length(table: Table) -> int:
    """Rows of a table's columns; ``rows`` also counts what could not be read."""
    return len(next(iter(table.columns.values())))


def _opens_as(reader: Reader, path: Path) -> bool:
    """Whether a file has the format of its name."""
    with suppress(InputError):
        return reader.recognises(load(str(path)))
    return False


def _listed(folder: str, kind: Callable[[Path], bool] = Path.is_file) -> list[Path]:
    """List the files of a folder, or entries of another kind, sorted; none where it cannot be entered."""
    with suppress(OSError):
        return sorted(filter(kind, Path(folder).iterdir()))
    return []
