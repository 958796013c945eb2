"""Folders that are one log, of which no file is complete by itself."""

from __future__ import annotations

import heapq
import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from entropylaw.errors import InputError
from entropylaw.escaping import counted, quoted_path
from entropylaw.logs import catalog
from entropylaw.logs.configuration import read_yaml
from entropylaw.logs.readers.jsonl import UNPARSEABLE
from entropylaw.logs.readers.trackers import CUT_OFF, LONGEST_NAME, StepRows, run_label
from entropylaw.logs.readers.trackers.tfevents import wall_times
from entropylaw.logs.runs import Table, added
from entropylaw.logs.runs.number_parsing import Column, classify, parse_column
from entropylaw.logs.runs.step_column import NO_STEP
from entropylaw.logs.sources.content import Content, is_blank
from entropylaw.logs.sources.registry import find_reader, reader_of
from entropylaw.paths import is_file

_EVENT_FILE = re.compile(r".*\.tfevents\.(\d+)(?:\..*)?")
_PART = re.compile(r"part[-_.].*|history[-_.]?\d+|.*-\d+-of-\d+|\d+")
_WANDB_RUN = re.compile(r"(?:offline-)?run-\d{8}_\d{6}-(\w+)")
_WANDB_FILES = (
    "output.log",
    "config.yaml",
    "wandb-summary.json",
    "wandb-metadata.json",
    "requirements.txt",
    "conda-environment.yaml",
)

# Time in milliseconds, value, step (none before MLflow 1.0), then perhaps a data set's name and digest.
_LINE = re.compile(r"(-?[0-9]{1,18}) (\S{1,400})(?: (-?[0-9]{1,18})(?: .*)?)?", re.DOTALL)
_RUN_ID = re.compile(rb"^run_(?:uu)?id:", re.MULTILINE)


def _event_files(folder: str) -> list[tuple[str, ...]]:
    """List the event files of a folder in the order of their time stamps; every start of a run writes one."""
    matches = [(match, path) for path in _listed(folder) if (match := _EVENT_FILE.fullmatch(path.name))]
    paths = [path for _, path in sorted((int(match[1]), path) for match, path in matches)]
    return [tuple(map(str, paths))] if len(paths) > 1 else []


def _read_events(folder: str, contents: Sequence[Content]) -> Table:
    """Read one after the other; a file without scalars, such as of hyperparameters, is left out.

    They read like one file that was appended to, so that assembly decides whether a later one is a resume.
    Raises the error of the last file, where none has scalars.
    """
    tables: list[Table] = []
    problems: list[InputError] = []
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
    runs = _runs_of_files(tables, times)
    if len(set(runs)) == 1:
        return whole
    name = Path(folder).name or folder
    labels = [f"{name}#{run}" for run, table in zip(runs, tables, strict=True) for _ in range(_length(table))]
    return replace(
        whole,
        columns={**whole.columns, "run": labels},
        labelled=True,
        notes=(
            *whole.notes,
            "files that were written at the same time with the same tags are different runs",
        ),
    )


def _runs_of_files(tables: Sequence[Table], times: Sequence[tuple[float, float]]) -> list[int]:
    """Number the run of each event file.

    A file that begins before another one with the same tags has ended is no resume, but another run.
    """
    runs: list[int] = []
    tags = [table.columns.keys() - {"step"} for table in tables]
    for index, (first, _) in enumerate(times):
        taken = {runs[i] for i in range(index) if first < times[i][1] and tags[index] & tags[i]}
        runs.append(min({*range(1, index + 2)} - taken))
    return runs


def _wandb_files(folder: str) -> tuple[str, ...]:
    """List the log and the other files of its run."""
    beside = Path(folder) / "files"
    logs = [path for path in _listed(folder) if path.suffix == ".wandb"]
    if len(logs) != 1 or not beside.is_dir():
        return ()
    others = [beside / name for name in _WANDB_FILES if (beside / name).is_file()]
    # These are wandb's own logs, and are not read.
    debug = [path for path in _listed(f"{folder}/logs") if path.name.startswith("debug")]
    return tuple(map(str, (*logs, *others, *debug)))


def _wandb_groups(folder: str) -> list[tuple[str, ...]]:
    """List the files of a run's folder, or those of all folders of one run that was resumed."""
    starts: dict[str, list[Path]] = {}
    inner = _listed(folder, lambda path: path.is_dir() and not path.is_symlink())
    for path in sorted(inner, key=lambda path: path.name.removeprefix("offline-")):
        if match := _WANDB_RUN.fullmatch(path.name):
            starts.setdefault(match[1], []).append(path)
    groups = [_wandb_files(folder)]
    for folders in starts.values():
        if len(folders) > 1:
            groups.append(tuple(chain.from_iterable(_wandb_files(str(start)) for start in folders)))
    return groups


def _read_wandb(folder: str, contents: Sequence[Content]) -> Table:
    """Read the ``.wandb`` file of each start; where it has no metric, the copy of the console.

    Raises the error of the first ``.wandb`` file, where no start has any metric.
    """
    tables: list[Table] = []
    problems: list[InputError] = []
    damaged = 0
    by_path = {Path(content.path): content for content in contents}
    for path, log in by_path.items():
        if path.suffix == ".wandb":
            try:
                tables.append(_wandb_table(log, by_path.get(path.parent / "files" / "output.log")))
            except InputError as error:
                problems.append(error)
                damaged += log.size
    if not tables:
        raise (*problems, InputError("file-empty", "a W&B folder without a log", "check the folder"))[0]
    if len(tables) == 1:
        return replace(tables[0], lost_bytes=damaged)
    whole = stacked(tables, [f"{counted(len(tables), 'folder')} of one run, which was resumed"])
    columns = {name: column for name, column in whole.columns.items() if name != "run"}
    if label := next(iter(tables[0].columns.get("run", ())), None):
        columns["run"] = [label] * _length(whole)
    return replace(whole, columns=columns, settings=tables[-1].settings, lost_bytes=damaged)


def _wandb_table(log: Content, console: Content | None) -> Table:
    """Read a ``.wandb`` file, or the console where that has metrics and the file has none.

    Raises the error of the ``.wandb`` file, where the console does not help.
    """
    problem = None
    reason = "the .wandb file has no metric that is known"
    try:
        table = reader_of("wandb").read(log)
        if any(map(catalog.is_metric, table.columns)):
            return table
    except InputError as error:
        problem = error
        reason = error.message
    if console is not None:
        with suppress(InputError):
            printed = find_reader(console)[0].read(console)
            if any(map(catalog.is_metric, printed.columns)):
                return replace(printed, notes=(f"read from files/output.log, for {reason}", *printed.notes))
    if problem is not None:
        raise problem
    return table


def mlflow_files(folder: str) -> tuple[str, ...]:
    """List ``meta.yaml``, the metrics and the parameters of a run's folder; none of any other folder."""
    meta, metrics = Path(folder, "meta.yaml"), Path(folder, "metrics")
    try:
        if not (metrics.is_dir() and meta.is_file()):
            return ()
        with meta.open("rb") as stream:
            head = stream.read(1 << 16)
    except (OSError, ValueError):
        return ()
    if b"experiment_id:" not in head or not _RUN_ID.search(head):
        return ()
    return (str(meta), *_regular_files(metrics), *_regular_files(Path(folder, "params")))


def read_mlflow(folder: str, contents: Sequence[Content]) -> Table:
    """Read metrics and parameters; raises ``no-records`` where no metric has a complete line.

    Layout from mlflow 3.17's store/tracking/file_store.py. Tags are never read, for they hold the user, the
    git remote and notes; of ``meta.yaml`` only the run's name and whether it was deleted.
    """
    settings: dict[str, object] = {}
    unread: list[str] = []
    meta: dict[str, object] = {}
    logged: list[list[tuple[int, int, str, float]]] = []
    dropped = Counter[str]()
    for content in contents:
        kind, *rest = Path(content.path).relative_to(folder).parts
        key = "/".join(rest)
        if kind == "meta.yaml":
            meta = _meta_of(content.head)
        elif kind == "params":
            settings[key] = content.head.decode("utf-8", "replace")
        elif content.keeps(key):
            logged.append(_logged(content, key, dropped))
        else:
            unread.append(key)
    name = meta.get("run_name")
    # A list or a mapping is no name: YAML's references could make a short one endless.
    label = name[:LONGEST_NAME].strip() if isinstance(name, str) and name != "null" else ""
    rows = StepRows(run_label(label or Path(folder).absolute().name))
    # Merged by time, the values come in the order in which all were logged.
    for _, step, key, value in heapq.merge(*logged):
        rows.take(step, key, value)
    if not rows.steps:
        lost = "".join(f"; {number} × {reason}" for reason, number in dropped.items())
        raise InputError(
            "no-records",
            f"{quoted_path(folder)} is an MLflow run without a complete line of a metric{lost}",
            "check that the run has logged something",
        )
    size = sum(content.extent for content in contents)
    notes = ("the run is marked as deleted in MLflow",) * (meta.get("lifecycle_stage") == "deleted")
    broken = dropped[UNPARSEABLE] + dropped[NO_STEP]
    return rows.table(
        size, dropped, notes, labelled=True, settings=settings, unread=tuple(unread), broken=broken
    )


def _logged(content: Content, key: str, dropped: Counter[str]) -> list[tuple[int, int, str, float]]:
    """Return one metric's milliseconds, steps, names and values in the order of its file."""
    logged: list[tuple[int, int, str, float]] = []
    lines = list(content.lines())
    if not content.ended:  # MLflow ends each line as it writes it: a last one without an end was cut off.
        lines.pop()
        dropped[CUT_OFF] += 1
    for line in filter(None, lines):
        match = _LINE.fullmatch(line)
        value, is_text = classify(match[2] if match else None)
        if not match or is_text:
            dropped[UNPARSEABLE] += 1
        elif not match[3]:
            dropped[NO_STEP] += 1
        else:
            logged.append((int(match[1]), int(match[3]), key, value))
    return logged


def _regular_files(folder: Path) -> list[str]:
    """List the files below a folder that hold more than white space, sorted; no pipes, no linked folders."""
    files: list[str] = []
    for where, _, names in os.walk(folder):
        for path in (f"{where}/{name}" for name in names):
            if len(path) - len(str(folder)) <= LONGEST_NAME and is_file(path):
                with suppress(OSError), Path(path).open("rb") as stream:
                    if not is_blank(stream.read(1 << 12)):
                        files.append(path)
    return sorted(files)


def _meta_of(data: bytes) -> dict[str, object]:
    """The entries of a ``meta.yaml``; none of one that is damaged."""
    with suppress(ValueError):
        meta = read_yaml(data)
        if isinstance(meta, dict):
            return meta
    return {}


def _parquet_parts(folder: str) -> list[tuple[str, ...]]:
    """List the parts of one Parquet data set, which have numbered names and one schema, in order."""
    paths = [path for path in _listed(folder) if path.suffix == ".parquet"]
    parts = tuple(str(path) for path in paths if _PART.fullmatch(path.stem))
    return [parts] if len(parts) > 1 and reader_of("parquet").implementation.are_alike(parts) else []


def _read_parts(folder: str, contents: Sequence[Content]) -> Table:
    """Read them as one table, with the errors of the reader of Parquet."""
    table: Table = reader_of("parquet").implementation.read_parts(folder, contents)
    return replace(table, notes=(f"{counted(len(contents), 'part')} of one Parquet data set", *table.notes))


class Bundle(NamedTuple):
    """A kind of folder that is one log; ``name`` and ``about`` are as in :class:`Format`.

    ``groups`` lists the files of each log that a folder, or folders in it together, hold, in the order in
    which they are read, and with the folder's path before them; no other reader reads these. ``read`` reads
    their content. ``skips`` are folders in it that are not searched.
    """

    name: str
    about: str
    groups: Callable[[str], list[tuple[str, ...]]]
    read: Callable[[str, Sequence[Content]], Table]
    skips: tuple[str, ...] = ()


#: The folders that are one log, in the order in which they are tried.
BUNDLES = (
    Bundle(
        "wandb",
        "a run's folder with its `.wandb` file; where that has no metric, `files/output.log`",
        _wandb_groups,
        _read_wandb,
    ),
    Bundle(
        "mlflow",
        "a run's folder below `mlruns`: its metrics, and its parameters as settings",
        lambda folder: [mlflow_files(folder)],
        read_mlflow,
        skips=("tags",),  # they hold user and repository
    ),
    Bundle(
        "tfevents",
        "event files of one folder, in the order of their making: a resumed run is one, a new start another",
        _event_files,
        _read_events,
    ),
    Bundle(
        "parquet",
        "parts with numbered names and one schema, as one table",
        _parquet_parts,
        _read_parts,
    ),
)


def stacked(tables: Sequence[Table], notes: Sequence[str] = ()) -> Table:
    """Concatenate tables; a column that one of them lacks is missing there."""
    columns: dict[str, Column] = {}
    for name in dict.fromkeys(chain.from_iterable(table.columns for table in tables)):
        cells = (table.columns.get(name, np.full(_length(table), np.nan)) for table in tables)
        columns[name] = np.concatenate([parse_column(column).values for column in cells])
    return Table(
        columns=columns,
        rows=sum(table.rows for table in tables),
        dropped=added(*(table.dropped for table in tables)),
        notes=(*notes, *chain.from_iterable(table.notes for table in tables)),
        broken=sum(table.broken for table in tables),
        lost_bytes=sum(table.lost_bytes for table in tables),
    )


def _length(table: Table) -> int:
    """Rows of a table's columns; ``rows`` also counts what could not be read."""
    return len(next(iter(table.columns.values())))


def _listed(folder: str, kind: Callable[[Path], bool] = Path.is_file) -> list[Path]:
    """List the files of a folder, or entries of another kind, sorted; none where it cannot be entered."""
    with suppress(OSError):
        return sorted(filter(kind, Path(folder).iterdir()))
    return []
