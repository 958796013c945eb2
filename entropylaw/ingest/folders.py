"""Finding logs below a folder: which files may be some, which belong together, which may be copies.

A folder of experiments holds configurations, tables of prompts and the output of other programs beside its
logs. Skipping these is right; skipping the log of a run is not, for nobody would miss it. So a file that is
empty, damaged or without the columns that it needs is skipped only where its name does not make it a log
either.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path, PurePath
from typing import NamedTuple

import numpy as np

from entropylaw.errors import EntropyLawError, InputError
from entropylaw.ingest import catalog, packed
from entropylaw.ingest.assemble import GENERIC_STEMS
from entropylaw.ingest.bundles import bundle_readers
from entropylaw.ingest.content import Content, missing_file, unreadable_file
from entropylaw.ingest.phasecolumns import candidates
from entropylaw.ingest.registry import BundleReader, find_reader, plugin_readers
from entropylaw.ingest.steps import COUNTERS, STEP_NAMES, folded, sample_columns
from entropylaw.ingest.table import Table
from entropylaw.ingest.values import parse_column, parse_number
from entropylaw.ingest.wording import shown_path
from entropylaw.walk import walk

# Only these are looked at: logs stand beside checkpoints of gigabytes.
_LOG_SUFFIXES = {
    *("", ".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet", ".pq", ".log", ".out", ".txt"),
    *(".wandb", ".swanlab", ".db", ".sqlite", ".ipynb", ".zip", ".tar", ".tgz"),
    *(".err", ".stdout", ".stderr"),
}
# train.log.1 of a rotated log, job.o123 and job.e123 of a queue, TensorBoard's event files.
_NUMBERED = re.compile(r".*\.(?:(?i:log\.\d+|[oe]\d+)|tfevents\..*)")
_STATE = "trainer_state.json"
# tinker-cookbook prints to the one what it writes to the other; prime-rl has a folder of copies per process.
_REPEATS = {"logs.log": "metrics.jsonl", "trainer": "trainer.log"}

# Nobody writes anything but tables and events into such files: an empty or a damaged one may have been a log.
_TABLES = frozenset((".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".pq", ".wandb", ".swanlab"))
_OTHERS = frozenset((".log", ".out", ".stdout", ".txt", ".json", ".db", ".sqlite"))
_ERROR_STREAM = re.compile(r"(?:.*[._-])?(?:stderr|err|e\d+)(?:\.(?:log|txt))?", re.IGNORECASE)
_LOG_WORD = re.compile(
    r"(?:.*[^a-z])?(?:metrics?|train|training|trainer|history|progress|console|stdout|nohup|slurm|job)(?:[^a-z].*)?",
    re.IGNORECASE | re.DOTALL,
)
# "actor/entropy: 0.31" in a text of which no reader made anything: the console of an unknown trainer.
_MEASURED = re.compile(r"entropy[\w/.'\"]{0,40}\s{0,3}[:=|\s]\s{0,3}-?\d", re.IGNORECASE)
_PAIR = re.compile(r"([A-Za-z_][\w/.@-]{0,80})['\"]?\s{0,3}[:=]\s{0,3}-?\d")
_STEPS = frozenset(folded(name) for name in (*STEP_NAMES, *COUNTERS))
# A table with fewer numbered rows is a summary.
_FEWEST = 8

UNMEASURED = "neither an entropy nor a reward among its columns"
_RECOGNISED = {
    "token-level-table": "one row per token or answer",
    "last-values-only": "last values only, not one row per step",
    "no-scalars": "no scalars, such as the hyperparameters of a run",
}
_UNUSABLE = {
    "not-a-log": "in none of the formats that are read",
    "no-step-column": "no step column",
    "step-not-numeric": "no numbers in its step column",
    "several-rows-a-step": "several rows per step",
    "no-records": "no record in it",
    "file-empty": "empty",
}


class Log(NamedTuple):
    """A file or folder that may be a log.

    ``reader`` reads ``files`` together; where it is None, the path is one file. ``copy_of`` names a log of
    which this is a copy by its place and name, if its values say so too. ``named`` is False where the name is
    none of a log's, so that only the content can make it one. ``problem`` says why it cannot be read.
    """

    path: str
    files: tuple[str, ...] = ()
    reader: BundleReader | None = None
    copy_of: str = ""
    named: bool = True
    problem: InputError | None = None


def logs_in(folder: str) -> Iterator[Log]:
    """Walk a folder and those in it, in sorted order; hidden files and folders are left out.

    Folders behind links are walked last, and each folder once. What cannot be entered or opened, and a link
    that leads nowhere, is a log with a problem.
    """
    claimed: set[str] = set()
    copies: dict[str, str] = {}
    for visit in walk(folder):
        if isinstance(visit, OSError):
            yield Log(path=str(visit.filename), problem=unreadable_file(str(visit.filename), visit))
            continue
        where, inner, names = visit
        for reader, files in ((one, files) for one in bundle_readers() for files in one.groups(where)):
            if not claimed.intersection(files):
                claimed.update(files)
                inner[:] = [name for name in inner if name not in reader.skips]
                yield Log(path=where, files=files, reader=reader)
        place, repeats = Path(where), ((name, whole) for name, whole in _REPEATS.items() if whole in names)
        copies |= {str(place / name): str(place / whole) for name, whole in repeats}
        copies |= _earlier_checkpoints(where, inner, names)
        for path, name in ((str(place / name), name) for name in names):
            named, problem = may_be_log(name), None if path in claimed else _problem(path)
            if path not in claimed and (named or not problem):
                copy_of = copies.get(path) or copies.get(where, "")
                yield Log(path=path, copy_of=copy_of, named=named, problem=problem)


def _problem(path: str) -> InputError | None:
    """Say why a file of a folder cannot be opened: a pipe would be waited for without end."""
    try:
        if stat.S_ISREG(Path(path).stat().st_mode):
            return None
    except OSError as error:
        return missing_file(path) if isinstance(error, FileNotFoundError) else unreadable_file(path, error)
    what = f"{shown_path(path)} is a pipe, a socket or a device, a file was expected in a folder"
    hint = "name it on the command line to read from it, or take it out of the folder"
    return InputError("file-unreadable", what, hint)


def may_be_log(name: str) -> bool:
    """Whether a file's name lets it be a log."""
    plain = packed.plain_name(name)
    suffixes = _LOG_SUFFIXES.union(*(reader.suffixes for reader in plugin_readers()))
    fits = plain.suffix.lower() in suffixes or _NUMBERED.fullmatch(plain.name)
    return not name.startswith(".") and bool(fits)


def _earlier_checkpoints(where: str, folders: list[str], names: list[str]) -> dict[str, str]:
    """Map the states of a run to the latest one, which should have all of their entries."""
    states = [Path(where) / _STATE] if _STATE in names else []
    matches = (re.fullmatch(r"checkpoint-(\d+)", name) for name in folders)
    numbered = sorted((int(found[1]), found[0]) for found in matches if found)
    states += [path for _, name in reversed(numbered) if (path := Path(where) / name / _STATE).is_file()]
    if len(states) < 2:
        return {}
    steps = dict.fromkeys(states, -1)
    for path in states:
        with suppress(OSError), path.open("rb") as stream:
            # The step stands behind the list of log entries: at the end of the file.
            stream.seek(max(0, path.stat().st_size - (1 << 16)))
            found = re.findall(rb'"global_step"\s*:\s*(\d{1,15})', stream.read())
            steps[path] = int(found[-1]) if found else -1
    # The first of equals: the one beside the checkpoints is written last.
    last = max(states, key=steps.__getitem__)
    return {str(path): str(last) for path in states if path != last}


def names_a_log(path: str) -> bool:
    """Whether a file's name says that it is the log of a run, such as ``train_metrics.csv``."""
    name = packed.plain_name(path)
    if "tfevents" in name.name or name.name == "trainer_state.json":
        return True
    stem = name.name.removesuffix(name.suffix)
    return stem.casefold() in GENERIC_STEMS or _LOG_WORD.fullmatch(stem) is not None


def why_no_log(path: str, table: Table, also: Iterable[str], *, alone: bool) -> str:
    """Say why a table that could be read is no log; nothing where it is one.

    ``also`` are further columns that make it one, because the user names them; ``alone`` says that its format
    is JSON, where a single record is a configuration or a summary.
    """
    names = frozenset(map(folded, table.columns))
    of_classes = frozenset(map(folded, candidates()))
    wanted = frozenset(map(folded, also)) - of_classes | {name for name in of_classes if "entropy" in name}
    measured = any(map(catalog.is_metric, table.columns)) or not names.isdisjoint(wanted)
    # The first record of a run that has begun has a step.
    begun = measured and (not names.isdisjoint(_STEPS) or packed.plain_name(path).suffix.lower() in _TABLES)
    if alone and table.rows < 2 and not begun:
        return "a single record, such as a configuration or a summary"
    if measured or sample_columns(table.columns) or _is_headless(table):
        return ""
    logged = _has_steps(table) or (names_a_log(path) and _counts_rows(table))
    return "" if logged and not table.partial else UNMEASURED


def resembles(path: str, table: Table | None, logs: Collection[PurePath]) -> bool:
    """Whether a file may be one of the logs beside it: it has their suffix, or the name of one elsewhere.

    Its table has no metric, and a column that numbers its rows; or it has none, since it is empty or damaged.
    """
    own = PurePath(path)
    alike = any((log.parent, log.suffix) == (own.parent, own.suffix) or log.name == own.name for log in logs)
    return alike and (table is None or (_counts_rows(table) and not table.partial))


def looks_measured(content: Content) -> bool:
    """Whether a file has a log's content, though not its name: a text that names an entropy, or binary."""
    with suppress(InputError):
        reader, _ = find_reader(content)
        named = not content.is_text or b"entropy" in content.head.lower()
        return named and not getattr(reader, "refuses", False)
    return False


def holds_nothing(error: EntropyLawError, content: Content | None) -> bool:
    """Whether a file was skipped because there is nothing in it that could be read."""
    unreadable = error.slug == "not-a-log" and content is not None and not content.is_text
    return unreadable or error.slug in ("file-empty", "no-records")


def why_skipped(path: str, error: EntropyLawError, content: Content | None, table: Table | None) -> str:
    """Say why a file that gave an error may be skipped; nothing where it may be a log that went wrong."""
    slug, name, named = error.slug, packed.plain_name(path), names_a_log(path)
    suffix = name.suffix.lower()
    if slug in _RECOGNISED or slug not in _UNUSABLE:
        return _RECOGNISED.get(slug, "")
    if table is not None:
        may_be = _table_may_be_log(table, slug, suffix, named=named)
    elif slug != "file-empty" and content is not None and content.is_text:
        may_be = _text_may_be_log(content.opening, slug, suffix, named=named)
    else:
        other = content is not None and content.head.startswith(b"SQLite format 3\0")
        if slug == "file-empty":
            other = _ERROR_STREAM.fullmatch(name.name) is not None
        may_be = (named or suffix in _TABLES | _OTHERS) and not other
    return "" if may_be else _UNUSABLE[slug]


def _table_may_be_log(table: Table, slug: str, suffix: str, *, named: bool) -> bool:
    """Whether a table that could be read and not be used may be a run's."""
    if _is_headless(table) or (named and _counts_rows(table)):
        return True
    metrics = list(filter(catalog.is_metric, table.columns))
    if slug == "several-rows-a-step" or not metrics:
        return len(metrics) > 1
    numbers = (np.isfinite(parse_column(table.columns[column]).values).any() for column in metrics)
    return named or suffix in _TABLES or any(numbers)


def _text_may_be_log(opening: str, slug: str, suffix: str, *, named: bool) -> bool:
    """Whether a text of which nothing could be read may be a run's log."""
    if suffix in (".csv", ".tsv") and slug == "no-records":
        first, *rest = filter(str.strip, opening.splitlines())
        header = [cell.strip() for cell in re.split(r"[,;\t]", first)]
        # Rows that do not fit their header are no table's.
        return named or bool(rest) or any(folded(one) in _STEPS or catalog.is_metric(one) for one in header)
    if _MEASURED.search(opening) or suffix in _TABLES or (named and suffix != ".ipynb"):
        return True
    return any(map(catalog.is_metric, set(_PAIR.findall(opening[: 1 << 16]))))


def _is_headless(table: Table) -> bool:
    """Whether numbers stand where the names of columns should: the first lines were lost."""
    values = [parse_number(name.partition("#")[0]) for name in table.columns]
    return bool(np.isfinite(values).sum() * 2 > len(values))


def _has_steps(table: Table) -> bool:
    """Whether a column has the name of a trainer's step, and a step hardly repeats, as those of tokens do."""
    steps = [parse_column(cells).values for name, cells in table.columns.items() if folded(name) in _STEPS]
    found = [values[np.isfinite(values)] for values in steps]
    return any(len(values) >= _FEWEST and len(np.unique(values)) * 2 > len(values) for values in found)


def _counts_rows(table: Table) -> bool:
    """Whether a column of a table of numbers rises from row to row, as steps do."""
    columns = [parse_column(cells).values for cells in table.columns.values()]
    filled = [values[np.isfinite(values)] for values in columns if np.isfinite(values).sum() >= _FEWEST]
    return _has_steps(table) or (len(filled) > 1 and any((np.diff(values) > 0).all() for values in filled))
