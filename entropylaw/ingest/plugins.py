"""Readers that other packages bring: entry points of the group ``entropylaw.readers``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from entropylaw.errors import EntropyLawError, InputError, UsageError
from entropylaw.ingest.content import Content
from entropylaw.ingest.table import Table
from entropylaw.ingest.wording import shown, shown_path

if TYPE_CHECKING:
    from entropylaw.ingest.registry import Reader

GROUP = "entropylaw.readers"


@cache
def plugin_readers() -> tuple[Reader, ...]:
    """List the readers of other packages, by name; each is tried before ours.

    Raises
    ------
    UsageError
        ``reader-not-loaded`` where one cannot be imported or is no reader.

    """
    found = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    return tuple(_Plugin(point) for point in found)


class _Plugin:
    """A reader of another package, whose mistakes are kept apart from ours."""

    def __init__(self, point: EntryPoint) -> None:
        try:
            made: Any = point.load()
            self._reader: Any = made() if isinstance(made, type) else made
            self.name = str(self._reader.name)
            self.suffixes = tuple(map(str, self._reader.suffixes))
            self.joins = bool(getattr(self._reader, "joins", False))
            if not (callable(self._reader.recognises) and callable(self._reader.read)):
                raise TypeError("recognises and read are no methods")
        except Exception as problem:  # whatever another package raises
            raise UsageError(
                "reader-not-loaded",
                f"the reader {shown(point.name)} of another package ({shown(point.value)}) cannot be used: "
                f"{type(problem).__name__}: {shown(problem, 200)}",
                "update or uninstall that package",
            ) from problem

    def recognises(self, content: Content) -> bool:
        """Whether it says that the bytes look like its format."""
        with self._named(content):
            return bool(self._reader.recognises(content))

    def read(self, content: Content) -> Table:
        """Let it read."""
        with self._named(content):
            table = self._reader.read(content)
            if not isinstance(table, Table):
                raise TypeError(f"it returned {type(table).__name__}, no Table")
            lengths = {len(column) for column in table.columns.values()}
            if (
                len(lengths) != 1
                or lengths == {0}
                or not all(isinstance(name, str) for name in table.columns)
            ):
                raise ValueError("its columns need names that are text, and one length")
            return table

    @contextmanager
    def _named(self, content: Content) -> Iterator[None]:
        """Say of any mistake that it is that reader's."""
        try:
            yield
        except EntropyLawError:
            raise
        except Exception as problem:
            raise InputError(
                "reader-failed",
                f"the reader {shown(self.name)} of another package failed on {shown_path(content.path)}: "
                f"{type(problem).__name__}",
                "report it to those who wrote that reader, or force another format with FILE:csv",
            ) from problem
