"""Which reader reads a file: its content decides, then its name, and a format that the user forces wins.

``READERS`` lists the formats of this package. Adding one is an entry there and a module in ``readers`` with
the functions ``recognises`` and ``read``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple

from entropylaw.errors import UsageError
from entropylaw.escaping import counted, nearest, shown
from entropylaw.logs.readers.trackers.wandb import COMPLETE_HISTORY
from entropylaw.logs.runs import Table
from entropylaw.logs.sources.content import Content, format_not_read


class FormatFunctions(NamedTuple):
    """The methods of a reader, where a module has several readers."""

    recognises: Callable[[Content], bool]
    read: Callable[[Content], Table]


@dataclass(frozen=True)
class Format:
    """An entry of ``READERS``: a reader whose module is imported when it is first needed.

    ``name`` is what the user writes after the colon in ``name.dat:jsonl``, ``about`` says in the
    documentation what is read, ``suffixes`` are those that such files usually have, by default a console's.
    ``module`` is the module in ``readers`` with ``recognises`` and ``read``, or as ``module:OBJECT`` the
    object in it with these methods, or for a refused format the function that recognises it; by default
    ``NAME``; empty where the signature is enough. ``signature`` is a pattern for the start of such a file;
    only then is ``recognises`` called. ``title``, ``why`` and ``hint`` describe a refused format: what it is,
    why it is refused, with the error ``slug``, and what to do.
    """

    name: str
    about: str = ""
    suffixes: tuple[str, ...] = (".log", ".out", ".txt")
    module: str | None = None
    _: KW_ONLY
    signature: bytes = b""
    title: str = ""
    why: str = ""
    hint: str = ""
    slug: str = "format-not-read"

    @property
    def refuses(self) -> bool:
        """Whether such a file is recognised in order to say what is wrong with it."""
        return bool(self.why)

    @cached_property
    def implementation(self) -> Any:
        """The module or object that reads it; None where the signature is enough."""
        path = self.name.replace("-", "_") if self.module is None else self.module
        module, _, member = path.partition(":")
        imported = import_module(f"entropylaw.logs.readers.{module}") if module else None
        return getattr(imported, member) if member else imported

    def recognises(self, content: Content) -> bool:
        """Whether the bytes look like this format."""
        if not re.match(self.signature, content.head, re.DOTALL):
            return False
        implementation = self.implementation
        if not callable(implementation):
            implementation = getattr(implementation, "recognises", None)
        return implementation is None or bool(implementation(content))

    def read(self, content: Content) -> Table:
        """Read all of it; raises an :class:`InputError` where it is refused, or not what is read."""
        if self.refuses:
            raise content.error(self.slug, f"is {self.title}: {self.why}", self.hint)
        table: Table = self.implementation.read(content)
        return table


#: How a database of SQLite begins.
SQLITE = b"SQLite format 3\0"

_LAST_VALUES = "it holds the last value of each metric, no curves"

#: The formats in the order in which they are tried: first those with a signature, last the permissive ones.
READERS: tuple[Format, ...] = (
    Format(
        "wandb",
        "the history and settings of a run's `.wandb` file, offline or synced, without the wandb package",
        suffixes=(".wandb",),
        module="trackers.wandb",
        signature=b":W&B",
    ),
    Format(
        "tfevents",
        "scalars of a TensorBoard event file, those in tensors too, float32 as TensorBoard keeps them, every "
        "checksum tested",
        suffixes=(),
        module="trackers.tfevents",
    ),
    Format(
        "trackio",
        "Trackio's project database, all of its runs",
        (".db",),
        "trackers.sqlite_stores:trackio",
        signature=SQLITE,
    ),
    Format(
        "mlflow-db",
        "MLflow's database, all of its runs; parameters as settings where it holds one run",
        suffixes=(".db", ".sqlite", ".sqlite3"),
        module="trackers.sqlite_stores:mlflow",
        signature=SQLITE,
    ),
    Format(
        "swanlab",
        suffixes=(".swanlab",),
        module="",
        signature=b":SWL",
        title="a SwanLab transaction log (.swanlab)",
        why="its records are SwanLab's own, and change with its versions",
        hint="export each metric (swanlab.Api().column('USER/PROJECT/RUN', 'reward').export_csv() gives an "
        "address), and join them by step",
    ),
    Format(
        "workbook",
        suffixes=(".xlsx",),
        module="",
        signature=rb"PK\x03\x04.{26}(?:\[Content_Types\]|_rels/|docProps/|xl/)",
        title="a workbook of Excel (.xlsx)",
        why="its sheets are not read",
        hint="save the sheet as CSV, in Excel by File > Save As, or with pandas and openpyxl: "
        "python -c \"import pandas; pandas.read_excel('LOG.xlsx').to_csv('LOG.csv', index=False)\"",
    ),
    Format(
        "compressed",
        suffixes=(".zip", ".tar", ".tgz"),
        module="",
        signature=rb"PK\x03\x04|.{257}ustar",
        title="an archive of several files",
        why="it may hold several runs",
        hint="unpack it, and name the folder with what was in it",
    ),
    Format(
        "parquet",
        "numbers of a Parquet file, structs flattened with `.`; of more than 256 columns, those that "
        "something is made of",
        suffixes=(".parquet", ".pq"),
        signature=b"PAR1",
    ),
    Format(
        "ipynb",
        "what a notebook's cells printed: any console below, and the table that Hugging Face's Trainer shows",
        suffixes=(".ipynb",),
        module="notebook",
    ),
    Format(
        "trainer-state",
        "the `log_history` of Hugging Face's Trainer, pretty-printed or on one line; an evaluation "
        "joins the row of its step",
        suffixes=(".json",),
    ),
    Format(
        "wandb-summary",
        suffixes=(".json",),
        module="trackers.wandb:is_summary",
        title="a run's summary from W&B (`wandb-summary.json`)",
        why=_LAST_VALUES,
        hint=f"read the run's .wandb file, one folder up, or export its history: {COMPLETE_HISTORY}",
        slug="last-values-only",
    ),
    Format(
        "tensorboard-csv",
        "a curve downloaded from TensorBoard, `run-NAME-tag-TAG`; those of one run are joined by step",
        suffixes=(".csv", ".json"),
        module="trackers.charts:tensorboard",
    ),
    Format(
        "jsonl",
        'an object per line, nested or flat; verl\'s `{"step": …, "data": {…}}`; an array of objects, an'
        " object of columns or by step, also within an object; so the `metrics.jsonl` of "
        "tinker-cookbook, prime-rl and others, "
        "ms-swift's `logging.jsonl`, EasyR1's `experiment_log.jsonl`; ClearML's scalars, of "
        "`Task.get_reported_scalars` or downloaded from its page",
        suffixes=(".jsonl", ".ndjson", ".json"),
    ),
    Format(
        "verl",
        "`step:12 - actor/entropy:0.354 - …` anywhere in a line, with colour, Ray's prefix or a "
        "progress bar before it; so DAPO, PRIME, rLLM",
        module="console.one_line:verl",
    ),
    Format(
        "trl",
        "the dicts that TRL and ms-swift print between progress bars; steps are from the bars or the "
        "closing summary, else counted",
        module="console.trl",
    ),
    Format(
        "slime",
        "`step 12: {…}`, `rollout 12: {…}` and `eval 12: {…}`, brought to the rollout's number",
        module="console.one_line:slime",
    ),
    Format(
        "text",
        "`step=12 entropy=0.35 reward=0.4`, `name: value`, `| name value |`, tables, JSON and dicts "
        "in a line, behind any prefix; so consoles of prime-rl, OpenRLHF, ROLL, AReaL, EasyR1, SkyRL, "
        "tinker-cookbook, rLLM, open-instruct",
        module="console.text",
    ),
    Format(
        "wandb-run-table",
        suffixes=(".csv",),
        module="trackers.wandb:is_run_table",
        title="W&B's table of runs, a row per run",
        why=_LAST_VALUES,
        hint="export the charts of entropy and reward as CSV from the W&B page, or a run's history: "
        f"{COMPLETE_HISTORY}",
        slug="last-values-only",
    ),
    Format(
        "wandb-chart",
        "a chart exported from W&B's page: one metric of several runs over `Step`, a trainer's step "
        "or a clock; charts of one run are joined by step, and points that summarise several values "
        "pair within their bucket only",
        suffixes=(".csv",),
        module="trackers.charts:wandb",
    ),
    Format(
        "csv",
        "comma, semicolon or tab; one row per step, or long with a run column; `/` in names may be "
        "flattened to `_` or `.`; so W&B's `run.history()`, of which sampling is noted, and ClearML's "
        "scalars by metric and variant, or title and series",
        suffixes=(".csv", ".tsv"),
        module="delimited",
    ),
)


def reader_of(name: str) -> Format:
    """Return the reader of a format."""
    return next(reader for reader in READERS if reader.name == name)


def format_names() -> tuple[str, ...]:
    """Name the formats that a user can force."""
    return tuple(reader.name for reader in READERS if not reader.refuses)


def split_format(path: str) -> tuple[str, str | None]:
    """Split ``name.dat:jsonl`` into path and format; a real file whose name holds the colon stays whole.

    Raises ``format-unknown``, where the part before the colon is a file and the part after it no format.
    """
    base, colon, name = path.rpartition(":")
    # A name that the system refuses is that of no file: pathlib raises there.
    there, base_there = os.path.exists(path), base == "-" or os.path.exists(base)  # noqa: PTH110
    if not colon or not base or there or not base_there:
        return path, None
    if name not in format_names():
        close = nearest([name], format_names(), most=1)
        raise UsageError(
            "format-unknown",
            f"{shown(name)} is not a known format; known are {', '.join(format_names())}",
            f"did you mean {base}:{close[0]}?" if close else "leave the colon out and let the content decide",
        )
    return base, name


def find_reader(content: Content, forced: str | None = None) -> tuple[Format, tuple[str, ...]]:
    """Return the reader for some content, or raise ``not-a-log``; a note says where the name differs."""
    if forced is not None:
        return reader_of(forced), ()
    for reader in READERS:
        if reader.recognises(content):
            expected = [other.name for other in READERS if (content.suffix or None) in other.suffixes]
            note = f"the name ends in {content.suffix}, the content is {reader.name}: read as {reader.name}"
            return reader, (note,) if expected and reader.name not in expected else ()
    if problem := format_not_read(content.path, content):
        raise problem
    # Its content is not quoted: a file that is no log may hold secret keys.
    kind = f"{'text' if content.is_text else 'binary'} of {counted(content.size, 'byte')}"
    raise content.error(
        "not-a-log",
        f"is not a training log: {kind} in none of the known formats; CSV, Parquet, JSONL, verl's and "
        "TRL's console, trainer_state.json, W&B's and TensorBoard's files were tried",
        f"if it is one, force its format: {shown(content.path + ':csv')}, or :parquet, :jsonl, :verl",
    )
