"""What all documents have: the files that were read, the runs, and who made it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import Struct

from entropylaw._version import __version__
from entropylaw.documents.codec import encode
from entropylaw.paths import shown_path
from entropylaw.results.columns import Refusal
from entropylaw.results.result import Result

if TYPE_CHECKING:
    from entropylaw.errors import EntropyLawError
    from entropylaw.ingest.phasecolumns import PhaseSeries
    from entropylaw.ingest.run import Run as Log
    from entropylaw.ingest.run import Series

Run = TypeVar("Run")


class InputFile(Struct, frozen=True, kw_only=True):
    """A file that was read: path as given (never absolute), sha256 of its bytes, records in it."""

    path: str
    sha256: str
    format: str
    rows: int


class Document(Result, Generic[Run], frozen=True, kw_only=True):
    """Results of one or many runs, with their provenance.

    Attributes
    ----------
    inputs
        The files that were read.
    runs
        A run that has no result stands among the others with the reason.
    version, schema
        Of entropylaw, and of the document with its kind: see :data:`entropylaw.documents.kinds.KINDS`.
    seed
        None: nothing is drawn at random.
    """

    inputs: tuple[InputFile, ...]
    runs: tuple[Run, ...]
    version: str = __version__
    schema: str
    seed: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return encode(self)  # type: ignore[no-any-return]


def refusal_of(error: EntropyLawError | Refusal, path: str) -> Refusal:
    """An error about the file at ``path`` as part of a document, which never names an absolute path."""
    shown = shown_path(path)
    return Refusal(
        slug=error.slug, message=error.message.replace(path, shown), hint=error.hint.replace(path, shown)
    )


def input_files(runs: Iterable[Log]) -> tuple[InputFile, ...]:
    """The files behind some runs, each once."""
    files = {file.path: file for run in runs for file in (run.source.parts or (run.source,))}
    return tuple(
        InputFile(path=shown_path(path), sha256=file.sha256, format=file.format, rows=file.rows)
        for path, file in files.items()
    )


def skipped_files(ignored: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """A warning for each file that is no log: (path, why)."""
    return tuple(f"{shown_path(path)} was not read: {why}" for path, why in ignored)


def read_of(run: Log, series: Series | PhaseSeries | None) -> dict[str, Any]:
    """A run's name and file, and what reading it and choosing its columns dropped and decided."""
    dropped = Counter(run.dropped)
    notes = run.notes
    if series is not None:
        dropped.update(series.dropped)
        notes += series.notes
    return {
        "run": run.name,
        "path": shown_path(run.source.path),
        "dropped": dict(dropped),
        "notes": notes,
    }


def nothing_read(path: str, run: str) -> dict[str, Any]:
    """The same of a file of which nothing was read; it stands for a run, whose name is known or not."""
    shown = shown_path(path)
    return {"run": run or shown, "path": shown, "dropped": {}, "notes": ()}
