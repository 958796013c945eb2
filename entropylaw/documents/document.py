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


class AnyDocument(Result, frozen=True, kw_only=True):
    """What every document has: the version of entropylaw that made it, and the schema of its kind.

    See :data:`entropylaw.documents.kinds.KINDS`.
    """

    version: str = __version__
    schema: str

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return encode(self)  # type: ignore[no-any-return]


class Document(AnyDocument, Generic[Run], frozen=True, kw_only=True):
    """Results of one or many runs, with their provenance.

    ``inputs`` are the files that were read. A run that has no result stands among the others with the reason.
    ``seed`` is None: nothing is drawn at random.
    """

    inputs: tuple[InputFile, ...]
    runs: tuple[Run, ...]
    seed: int | None = None


def refusal_of(error: EntropyLawError | Refusal, log: Log | str) -> Refusal:
    """An error about a run, or a path, as part of a document, which never names an absolute path."""
    path = log if isinstance(log, str) else log.source.path
    message, hint = (text.replace(path, shown_path(path)) for text in (error.message, error.hint))
    return Refusal(slug=error.slug, message=message, hint=hint)


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


def read_of(log: Log | str, series: Series | PhaseSeries | None = None, name: str = "") -> dict[str, Any]:
    """A run's name and file, and what reading it and choosing its columns dropped and decided.

    A path is a file of which nothing was read; it stands for a run, whose ``name`` is known or not.
    """
    if isinstance(log, str):
        return {"run": name or shown_path(log), "path": shown_path(log), "dropped": {}, "notes": ()}
    dropped = Counter(log.dropped)
    dropped.update(series.dropped if series else {})
    notes = log.notes + (series.notes if series else ())
    return {"run": log.name, "path": shown_path(log.source.path), "dropped": dict(dropped), "notes": notes}
