"""Folders that are one log: their files mean something together only."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from entropylaw.errors import InputError
from entropylaw.ingest import catalog
from entropylaw.ingest.content import Content
from entropylaw.ingest.opening import load
from entropylaw.ingest.registry import BundleReader, Reader, find_reader, reader_of
from entropylaw.ingest.run import added
from entropylaw.ingest.table import Table
from entropylaw.ingest.values import Column, parse_column
from entropylaw.ingest.wording import counted

_EVENT_FILE = re.compile(r".*\.tfevents\.(\d+)(?:\..*)?")
_PART = re.compile(r"part[-_.].*|history[-_.]?\d+|.*-\d+-of-\d+|\d+")
_WANDB_RUN = re.compile(r"(?:offline-)?run-\d{8}_\d{6}-(\w+)")
_WANDB_FILES = (
    *("output.log", "config.yaml", "wandb-summary.json", "wandb-metadata.json", "requirements.txt"),
    "conda-environment.yaml",
)


class EventFiles(BundleReader):
    """TensorBoard's event files of one folder: every start of a run writes a new one.

    They read like one file that was appended to, so that assembly finds out whether a later one is a resume.
    """

    name = "tfevents"
    about = (
        "event files of one folder, in the order of their making: a resumed run is one, a new start another"
    )

    def files(self, folder: str) -> tuple[str, ...]:
        """List the event files in the order of their time stamps.

        One that does not open as such is left to be refused by itself, for it may have been a run.
        """
        named = ((_EVENT_FILE.fullmatch(path.name), path) for path in _listed(folder))
        found = sorted((int(match[1]), path.name, path) for match, path in named if match)
        if len(found) > 1:
            found = [item for item in found if _opens_as(reader_of("tfevents"), item[2])]
        return tuple(str(path) for *_, path in found) if len(found) > 1 else ()

    def read(self, folder: str, contents: Sequence[Content]) -> Table:
        """Read one behind the other; a file without scalars, such as of hyperparameters, is left out.

        Raises the error of the last file, where none has scalars.
        """
        from entropylaw.ingest.formats.tfevents import wall_times

        tables: list[Table] = []
        times: list[tuple[float, float]] = []
        problem, damaged = None, 0
        for content in contents:
            try:
                tables.append(reader_of("tfevents").read(content))
                times.append(wall_times(content.data))
            except InputError as error:
                problem = error
                damaged += content.size if error.slug != "no-scalars" else 0
        if problem is not None and not tables:
            raise problem
        notes = [f"{counted(len(tables), 'event file')} of one folder, read in the order of their making"]
        if lost := len(contents) - len(tables):
            notes.append(f"{counted(lost, 'event file')} without a whole scalar left out")
        whole = stacked(tables, notes)
        whole = replace(whole, lost_bytes=whole.lost_bytes + damaged)
        # One that began before another with its tags had ended is no resume, but another run.
        runs: list[int] = []
        tags = [table.columns.keys() - {"step"} for table in tables]
        for index, (first, _) in enumerate(times):
            overlapping = {runs[i] for i in range(index) if first < times[i][1] and tags[index] & tags[i]}
            runs.append(min({*range(1, index + 2)} - overlapping))
        if len(set(runs)) == 1:
            return whole
        name, lengths = Path(folder).name or folder, map(_length, tables)
        labels = [f"{name}#{run}" for run, rows in zip(runs, lengths, strict=True) for _ in range(rows)]
        note = "files that were written at the same time with the same tags are different runs"
        columns = {**whole.columns, "run": labels}
        return replace(whole, columns=columns, labelled=True, notes=(*whole.notes, note))


class WandbFolder(BundleReader):
    """A run's folder as wandb makes it: the ``.wandb`` file, or else what the console showed."""

    name = "wandb"
    about = "a run's folder with its `.wandb` file; where that has no metric, `files/output.log`"

    def files(self, folder: str) -> tuple[str, ...]:
        """List the log and what lies beside it."""
        beside = Path(folder) / "files"
        logs = [path for path in _listed(folder) if path.suffix == ".wandb"]
        if len(logs) != 1 or not beside.is_dir():
            return ()
        more = [beside / name for name in _WANDB_FILES if (beside / name).is_file()]
        # These tell of the machine and of wandb itself: nobody looks into them.
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
        for many in starts.values():
            if len(many) > 1:
                files = filter(None, (self.files(str(start)) for start in many))
                whole = [listed for listed in files if _opens_as(reader_of("wandb"), Path(listed[0]))]
                found.append(tuple(file for listed in whole for file in listed))
        return list(filter(None, found))

    def read(self, folder: str, contents: Sequence[Content]) -> Table:
        """Read the ``.wandb`` file of each start; where no metric can be had from it, the console's copy.

        Raises the error of the first ``.wandb`` file, where no start has any metric.
        """
        tables: list[Table] = []
        problem: InputError | None = None
        for log in (content for content in contents if content.path.endswith(".wandb")):
            beside = Path(log.path).parent / "files" / "output.log"
            console = next((content for content in contents if Path(content.path) == beside), None)
            try:
                tables.append(_wandb_table(log, console))
            except InputError as error:
                problem = problem or error
        if not tables:
            raise problem or InputError("file-empty", "a W&B folder without a log", "check the folder")
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
        from entropylaw.ingest.formats.parquet import read_parts

        table = read_parts(folder, contents)
        note = f"{counted(len(contents), 'part')} of one Parquet data set"
        return replace(table, notes=(note, *table.notes))


def bundle_readers() -> tuple[BundleReader, ...]:
    """List the readers of folders, in the order in which they are asked."""
    from entropylaw.ingest.formats.mlflow_store import MlflowFolder

    return (WandbFolder(), MlflowFolder(), EventFiles(), ParquetParts())


def stacked(tables: Sequence[Table], notes: Sequence[str] = ()) -> Table:
    """Put tables below one another; a column that one of them lacks is missing there."""
    missing = [np.full(_length(table), np.nan) for table in tables]
    columns: dict[str, Column] = {}
    for name in dict.fromkeys(name for table in tables for name in table.columns):
        cells = (table.columns.get(name, none) for table, none in zip(tables, missing, strict=True))
        columns[name] = np.concatenate([parse_column(column).values for column in cells])
    return Table(
        columns=columns,
        rows=sum(table.rows for table in tables),
        dropped=added(*(table.dropped for table in tables)),
        notes=(*notes, *(note for table in tables for note in table.notes)),
        lost_bytes=sum(table.lost_bytes for table in tables),
    )


def _length(table: Table) -> int:
    """Rows of a table's columns; ``rows`` counts what could not be read, too."""
    return len(next(iter(table.columns.values())))


def _opens_as(reader: Reader, path: Path) -> bool:
    """Whether a file has the content that its name promises."""
    with suppress(InputError):
        return reader.recognises(load(str(path)))
    return False


def _listed(folder: str, kind: Callable[[Path], bool] = Path.is_file) -> list[Path]:
    """List the files of a folder, or what is of another kind, sorted; nothing where it cannot be entered."""
    with suppress(OSError):
        return sorted(filter(kind, Path(folder).iterdir()))
    return []
