"""Which reader reads a file: its content decides, then its name, and a format that the user forces wins.

A format joins by an object with the four members of :class:`Reader` in :func:`our_readers`, or from another
package by an entry point of the group ``entropylaw.readers``. The order matters: those of other packages
stand first, then binary formats with a signature, the permissive ones (delimited text) last.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Protocol

from entropylaw.errors import InputError, UsageError
from entropylaw.ingest.content import Content
from entropylaw.ingest.plugins import plugin_readers
from entropylaw.ingest.table import Table
from entropylaw.ingest.wording import counted, nearest, shown, shown_path


class Reader(Protocol):
    """Reads one format.

    A reader whose files hold one metric of several has ``joins = True``: such files are joined with their
    like, by run and step. One that recognises a format in order to say what is wrong with it has
    ``refuses = True``. ``about`` says in the documentation what is read.
    """

    @property
    def name(self) -> str:
        """What the user writes after the colon in ``name.dat:jsonl``."""
        ...

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Lower-case suffixes that such files usually have, with the dot."""
        ...

    def recognises(self, content: Content) -> bool:
        """Whether the bytes look like this format; the name may help, and cannot suffice."""
        ...

    def read(self, content: Content) -> Table:
        """Read all of it.

        Raises
        ------
        InputError
            Where the content is not what this reader reads.

        """
        ...


def readers() -> tuple[Reader, ...]:
    """List every reader, in the order in which they are asked."""
    return (*plugin_readers(), *our_readers())


@cache
def our_readers() -> tuple[Reader, ...]:
    """List the readers of this package."""
    from entropylaw.ingest.formats import delimited, jsonl, parquet, tfevents, unread, verl_console, wandb_log
    from entropylaw.ingest.formats.areal_console import ArealConsoleReader
    from entropylaw.ingest.formats.easyr1_console import EasyR1ConsoleReader
    from entropylaw.ingest.formats.mlflow_store import MlflowDatabaseReader
    from entropylaw.ingest.formats.notebook import NotebookReader
    from entropylaw.ingest.formats.openrlhf_console import OpenRlhfConsoleReader
    from entropylaw.ingest.formats.prime_console import PrimeConsoleReader
    from entropylaw.ingest.formats.rich_tables import OpenInstructConsoleReader, TinkerConsoleReader
    from entropylaw.ingest.formats.roll_console import RollConsoleReader
    from entropylaw.ingest.formats.skyrl_console import SkyRlConsoleReader
    from entropylaw.ingest.formats.slime_console import SlimeConsoleReader
    from entropylaw.ingest.formats.swanlab_csv import SwanLabCsvReader
    from entropylaw.ingest.formats.tensorboard_csv import TensorBoardCsvReader
    from entropylaw.ingest.formats.trackio_store import TrackioReader
    from entropylaw.ingest.formats.trainer_state import TrainerStateReader
    from entropylaw.ingest.formats.trl_console import TrlConsoleReader
    from entropylaw.ingest.formats.wandb_chart import WandbChartReader
    from entropylaw.ingest.formats.wandb_export import WandbRunTableReader, WandbSummaryReader

    signed = (
        wandb_log.WandbReader(),
        tfevents.TensorBoardReader(),
        TrackioReader(),
        MlflowDatabaseReader(),
        *unread.BINARY,
    )
    binary = (*signed, parquet.ParquetReader())
    text = (
        *(NotebookReader(), TrainerStateReader(), WandbSummaryReader(), PrimeConsoleReader()),
        *(TensorBoardCsvReader(), jsonl.JsonReader()),
        *(verl_console.VerlConsoleReader(), TrlConsoleReader(), SlimeConsoleReader(), RollConsoleReader()),
        *(ArealConsoleReader(), EasyR1ConsoleReader(), OpenRlhfConsoleReader(), SkyRlConsoleReader()),
        *(TinkerConsoleReader(), OpenInstructConsoleReader()),
    )
    tables = (
        WandbRunTableReader(),
        WandbChartReader(),
        SwanLabCsvReader(),
        delimited.DelimitedReader(),
    )
    return (*binary, *text, *tables)


def format_names() -> tuple[str, ...]:
    """Name the formats that a user can force."""
    return tuple(reader.name for reader in readers() if not getattr(reader, "refuses", False))


def split_format(path: str) -> tuple[str, str | None]:
    """Split ``name.dat:jsonl`` into path and format; a real file whose name holds the colon stays whole.

    Raises
    ------
    UsageError
        ``format-unknown``, where the part before the colon is a file and the part after it no format.

    """
    base, colon, name = path.rpartition(":")
    if not colon or not base or _exists(path) or not (base == "-" or _exists(base)):
        return path, None
    if name not in format_names():
        close = nearest([name], format_names(), most=1)
        raise UsageError(
            "format-unknown",
            f"{shown(name)} is no format of ours; known are {', '.join(format_names())}",
            f"did you mean {base}:{close[0]}?" if close else "leave the colon out and let the content decide",
        )
    return base, name


def find_reader(content: Content, forced: str | None = None) -> tuple[Reader, tuple[str, ...]]:
    """Return the reader for some content, and notes where the name says something else.

    Raises
    ------
    InputError
        ``not-a-log`` where no reader recognises the content.

    """
    everyone = readers()
    if forced is not None:
        return next(reader for reader in everyone if reader.name == forced), ()
    for reader in everyone:
        if reader.recognises(content):
            return reader, _misnamed(reader, content, everyone)
    raise _not_a_log(content)


def _misnamed(reader: Reader, content: Content, everyone: tuple[Reader, ...]) -> tuple[str, ...]:
    expected = [other.name for other in everyone if content.suffix and content.suffix in other.suffixes]
    if not expected or reader.name in expected:
        return ()
    return (f"the name ends in {content.suffix}, the content is {reader.name}: read as {reader.name}",)


def _not_a_log(content: Content) -> InputError:
    # Nothing of what is in it is quoted: a file that is no log holds anybody's keys.
    kind = "text" if content.is_text else "binary"
    found = f"{kind} of {counted(content.size, 'byte')} in none of the known formats"
    what = "standard input" if content.path == "-" else shown_path(content.path)
    return InputError(
        "not-a-log",
        f"{what} is not a training log: {found}; CSV, Parquet, JSONL, verl's and TRL's console, "
        "trainer_state.json, W&B's and TensorBoard's files were tried",
        f"if it is one, force its format: {shown(content.path + ':csv')}, or :parquet, :jsonl, :verl",
    )


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False
