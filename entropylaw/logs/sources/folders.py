"""Finding logs below a folder: which files may be some, which belong together, which may be copies.

A folder of experiments also holds configurations, tables of prompts and the output of other programs. These
are skipped. A run's log must not be skipped, for its absence would not be noticed: a file that is empty,
damaged or without the columns that it needs is skipped only where its name is not that of a log either.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from entropylaw.arrays import FloatArray
from entropylaw.errors import EntropyLawError, InputError
from entropylaw.escaping import quoted_path
from entropylaw.logs import catalog
from entropylaw.logs.runs import Table
from entropylaw.logs.runs.number_parsing import parse_column
from entropylaw.logs.runs.step_column import COUNTERS, STEP_NAMES, folded
from entropylaw.logs.sources.assemble import (
    FEWEST_EVALUATIONS,
    GENERIC_STEMS,
    metric_numbers,
    stepless_samples,
)
from entropylaw.logs.sources.bundles import BUNDLES, Bundle
from entropylaw.logs.sources.content import (
    PROGRAMS,
    Content,
    format_not_read,
    missing_file,
    plain_name,
    unreadable_file,
)
from entropylaw.logs.sources.kinds import one_column_per_metric
from entropylaw.logs.sources.registry import SQLITE, find_reader
from entropylaw.logs.suggest import is_evident, is_headless, measured_numbers
from entropylaw.paths import OWN_TEXT, walk

# Only these are looked at: folders of logs also hold checkpoints of gigabytes.
_LOG_SUFFIXES = (
    {"", ".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet", ".pq", ".log", ".out", ".txt"}
    | {".wandb", ".swanlab", ".db", ".db3", ".sqlite", ".sqlite3", ".ipynb"}
    | {".zip", ".tar", ".tgz", ".txz", ".tbz2", ".tzst", ".err", ".stdout", ".stderr"}
)
# A page or a picture is not the log of a run, whatever it is called: reports have both.
_PICTURES = frozenset((".html", ".htm", ".svg", ".png", ".pdf", ".jpg", ".jpeg", ".gif", ".webp"))
# Nor are the weights of a model or pickles beside it, such as Hugging Face's training_args.bin.
_WEIGHTS = frozenset(
    {".bin", ".pt", ".pth", ".ckpt", ".safetensors", ".gguf", ".onnx", ".h5", ".msgpack"}
    | {".npy", ".npz", ".pkl", ".pickle", ".joblib", ".pyc", ".so"}
)
# train.log.1 of a rotated log, job.o123 and job.e123 of a queue, TensorBoard's event files.
_NUMBERED = re.compile(r".*\.(?:(?i:log\.\d+|[oe]\d+)|tfevents\..*)")
_STATE = "trainer_state.json"
# tinker-cookbook prints to the one what it writes to the other; prime-rl has a folder of copies per process.
_REPEATS = {"logs.log": "metrics.jsonl", "trainer": "trainer.log"}

# Such files hold tables and events only: an empty or a damaged one may have been a log.
_TABLES = frozenset((".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".pq", ".wandb", ".swanlab"))
_OTHERS = frozenset((".log", ".out", ".stdout", ".txt", ".json", ".db", ".db3", ".sqlite", ".sqlite3"))
_ERROR_STREAM = re.compile(r"(?:.*[._-])?(?:stderr|err|e\d+)(?:\.(?:log|txt))?", re.IGNORECASE)
_LOG_WORD = re.compile(
    r"(?:.*[^a-z])?(?:metrics?|train|training|trainer|history|progress|console|stdout|nohup|slurm|job)(?:[^a-z].*)?",
    re.IGNORECASE | re.DOTALL,
)
# "actor/entropy: 0.31" in a text that no reader could use: the console of an unknown trainer.
_MEASURED = re.compile(r"entropy[\w/.'\"]{0,40}\s{0,3}[:=|\s]\s{0,3}-?\d", re.IGNORECASE)
_STEPS = frozenset(folded(name) for name in (*STEP_NAMES, *COUNTERS))
# A table with fewer numbered rows is a summary.
_FEWEST_STEPS = 8
# With fewer rows, nothing says that a table of numbers is one of steps.
_FEWEST_NUMBERS = 3

_DATABASE = "a database of SQLite that is neither Trackio's nor MLflow's"
UNMEASURED = "neither an entropy nor a reward among its columns"
_RECOGNISED = {
    "token-level-table": "one row per token or answer",
    "supervised-training": "supervised training, without a reward",
    "row-per-run": "one row per run, not one per step",
    "last-values-only": "last values only, not one row per step",
    "no-scalars": "no scalars, such as the hyperparameters of a run",
    "notebook-without-log": "a notebook without a training log in its outputs",
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
    which this is a copy by its folder and name, if its values are the same. ``named`` is False where the name
    is not that of a log, so that only the content can make it one. ``problem`` is why it cannot be read.
    """

    path: str
    files: tuple[str, ...] = ()
    reader: Bundle | None = None
    copy_of: str = ""
    named: bool = True
    problem: InputError | None = None

    @property
    def has_name(self) -> bool:
        """Whether the name lets it be a log, or is that of one."""
        return self.named or _names_a_log(self.path)


def logs_in(folder: str) -> Iterator[Log]:
    """List the logs of a folder and those in it, in sorted order; hidden files and folders are left out.

    Folders behind links come last, and each folder once. What cannot be entered or opened, and a broken link,
    is a log with a problem.
    """
    claimed: set[str] = set()
    copies: dict[str, str] = {}
    for visit in walk(folder):
        if isinstance(visit, OSError):
            yield Log(path=str(visit.filename), problem=unreadable_file(str(visit.filename), visit))
            continue
        where, inner, names = visit
        for reader in BUNDLES:
            for files in filter(None, reader.groups(where)):
                if claimed.isdisjoint(files):
                    claimed.update(files)
                    inner[:] = [name for name in inner if name not in reader.skips]
                    yield Log(path=where, files=files, reader=reader)
        copies |= _copies(where, inner, names)
        for path in (str(Path(where) / name) for name in names):
            if path in claimed:
                continue
            plain = plain_name(path)
            named = plain.suffix.lower() in _LOG_SUFFIXES or _NUMBERED.fullmatch(plain.name) is not None
            problem = _problem_of(path)
            if named or not problem or problem.slug == "format-not-read":
                yield Log(
                    path=path, copy_of=copies.get(path, copies.get(where, "")), named=named, problem=problem
                )


def _problem_of(path: str) -> InputError | None:
    """Why a file of a folder cannot be read, as far as its name and the file system say it."""
    try:
        if stat.S_ISREG(Path(path).stat().st_mode):
            return format_not_read(path)
    except FileNotFoundError:
        return missing_file(path)
    except OSError as error:
        return unreadable_file(path, error)
    # Reading a pipe would never end.
    return InputError(
        "file-unreadable",
        f"{quoted_path(path)} is a pipe, a socket or a device, a file was expected in a folder",
        "name it on the command line to read from it, or take it out of the folder",
    )


def _copies(where: str, folders: list[str], names: list[str]) -> dict[str, str]:
    """Map files to those of which they are copies by their names, such as a run's earlier checkpoints."""
    folder = Path(where)
    copies = {str(folder / name): str(folder / whole) for name, whole in _REPEATS.items() if whole in names}
    matches = [match for name in folders if (match := re.fullmatch(r"checkpoint-(\d+)", name))]
    matches.sort(key=lambda match: (int(match[1]), match[0]), reverse=True)
    states = [folder / _STATE] if _STATE in names else []
    states += filter(Path.is_file, (folder / match[0] / _STATE for match in matches))
    if len(states) < 2:
        return copies
    steps = dict.fromkeys(states, -1)
    for path in states:
        with suppress(OSError), path.open("rb") as stream:
            # The step is behind the list of log entries: at the end of the file.
            stream.seek(max(0, path.stat().st_size - (1 << 16)))
            written = re.findall(rb'"global_step"\s*:\s*(\d{1,15})', stream.read())
            steps[path] = int(written[-1]) if written else -1
    # The first of equals: the one in the run's own folder is written last.
    last = max(states, key=steps.__getitem__)
    return copies | {str(path): str(last) for path in states if path != last}


def _names_a_log(path: str) -> bool:
    """Whether a file's name is that of a run's log, such as ``train_metrics.csv``."""
    return plain_name(path).suffix.lower() not in _PICTURES | _WEIGHTS | PROGRAMS and _is_called_as_log(path)


def why_unread(content: Content) -> str:
    """Give the reason why a file that is not called as a log is named all the same; empty where it is not.

    A database may have been one, and ``train.py`` is called as one but for its suffix.
    """
    if content.head.startswith(SQLITE):
        return _DATABASE
    suffix = plain_name(content.path).suffix.lower()
    if suffix in PROGRAMS and _is_called_as_log(content.path):
        return "a program, settings or prose by its name, without a log in it"
    if suffix in _WEIGHTS and _is_called_as_log(content.path):
        return "weights or a pickle by its name"
    return ""


def _is_called_as_log(path: str) -> bool:
    """Whether a file's name without its suffix is that of a run's log."""
    name = plain_name(path)
    if "tfevents" in name.name or name.name == _STATE:
        return True
    stem = name.name.removesuffix(name.suffix)
    return stem.casefold() in GENERIC_STEMS or _LOG_WORD.fullmatch(stem) is not None


def why_no_log(path: str, table: Table, also: Iterable[str], *, alone: bool) -> str:
    """Give the reason why a table that could be read is no log; empty where it is one.

    ``also`` are further columns that make it one, because the user names them; ``alone`` is set for JSON,
    where a single record is a configuration or a summary.
    """
    table = one_column_per_metric(table)
    names = frozenset(map(folded, table.columns))
    measured = _is_measured(table, names, also)
    # The first record of a run that has begun has a step.
    begun = not names.isdisjoint(_STEPS) or plain_name(path).suffix.lower() in _TABLES
    if alone and table.rows < 2 and not (measured and begun):
        return "a single record, such as a configuration or a summary"
    # Whether rows are samples is found out with their steps.
    of_samples = bool(catalog.sample_columns(table.columns))
    if names.isdisjoint(_STEPS):
        of_samples = of_samples or bool(stepless_samples(table.columns))
    if measured or of_samples or is_headless(table):
        return ""
    counts = _counts_rows(table) if _names_a_log(path) else _has_steps(table)
    return UNMEASURED if table.partial or not counts else ""


def _is_measured(table: Table, names: frozenset[str], also: Iterable[str]) -> bool:
    """Whether a table, whose columns have these folded ``names``, has an entropy, a reward or evaluations."""
    sought = catalog.class_entropies().union(map(folded, also))
    known = any(catalog.is_metric(name) or is_evident("entropy", name) for name in table.columns)
    return known or not names.isdisjoint(sought) or _evaluates(table)


def is_of_numbers(table: Table) -> bool:
    """Whether a table has a log's shape: two columns of numbers or more, and more of them than of texts."""
    parsed = [parse_column(cells) for cells in table.columns.values()]
    filled = [(int(np.isfinite(column.values).sum()), column.texts) for column in parsed]
    numbers = sum(count >= _FEWEST_NUMBERS and count > texts for count, texts in filled)
    return not table.partial and numbers > max(1, sum(texts >= max(count, 1) for count, texts in filled))


def looks_measured(content: Content) -> bool:
    """Whether a file has a log's content, though not its name: a text that names an entropy, or binary."""
    if format_not_read(content.path, content):
        return True
    if content.is_text and "entropy" not in content.head_text.lower():
        return False
    with suppress(InputError):
        return not find_reader(content)[0].refuses
    return False


def why_skipped(path: str, error: EntropyLawError, content: Content | None, table: Table | None) -> str:
    """Give the reason for skipping a file with an error; empty where it may be a log that is damaged."""
    if error.slug not in _UNUSABLE:
        return _RECOGNISED.get(error.slug, "")
    if error.slug == "not-a-log" and content is not None and content.head.startswith(SQLITE):
        return _DATABASE
    if table is not None:
        # One metric with several rows per step is a table of something else.
        fewest = 2 if error.slug == "several-rows-a-step" else 1
        may_be = sum(map(catalog.is_metric, table.columns)) >= fewest or _evaluates(table)
        may_be |= is_headless(table) or (_names_a_log(path) and _counts_rows(table))
    elif content is not None and content.is_text and error.slug != "file-empty":
        may_be = _may_be_text(path, content)
    else:
        # An empty stream of errors is no log.
        no_errors = error.slug == "file-empty" and _ERROR_STREAM.fullmatch(plain_name(path).name)
        named = _names_a_log(path) or plain_name(path).suffix.lower() in _TABLES | _OTHERS
        may_be = named and not no_errors
    return "" if may_be else _UNUSABLE[error.slug]


def _may_be_text(path: str, content: Content) -> bool:
    """Whether a text that gave an error may be a log."""
    if OWN_TEXT.match(content.opening):
        return False
    named = _names_a_log(path)
    suffix = plain_name(path).suffix.lower()
    if suffix == ".json" and not content.opening.strip(" \t\r\n[{"):
        return True  # an array that breaks off before its first record
    if _MEASURED.search(content.opening) or suffix in _TABLES:
        return True
    return named or bool(measured_numbers(content.opening[: 1 << 16]))


def _evaluates(table: Table) -> bool:
    """Whether the records of a table without a step may be evaluations, in a shape that is not read."""
    if not _STEPS.isdisjoint(map(folded, table.columns)):
        return False
    # Records without any cell are in no column.
    rows = max(len(next(iter(table.columns.values()), ())), *(row + 1 for row in table.hidden), 0)
    return metric_numbers(table, np.ones(rows, dtype=bool)) >= FEWEST_EVALUATIONS


def _has_steps(table: Table) -> bool:
    """Whether a column has the name of a trainer's step, and steps rarely repeat, unlike those of tokens."""
    return any(
        folded(name) in _STEPS and len(np.unique(values)) * 2 > len(values)
        for name, values in _numbers(table).items()
    )


def _counts_rows(table: Table) -> bool:
    """Whether a column of a table of numbers rises from row to row, as steps do."""
    columns = _numbers(table).values()
    return _has_steps(table) or (len(columns) > 1 and any((np.diff(values) > 0).all() for values in columns))


def _numbers(table: Table) -> dict[str, FloatArray]:
    """The numbers of the columns that have enough of them."""
    numbers = {name: parse_column(cells).values for name, cells in table.columns.items()}
    finite = {name: values[np.isfinite(values)] for name, values in numbers.items()}
    return {name: values for name, values in finite.items() if len(values) >= _FEWEST_STEPS}
