"""What is to be done for one run, what came of it, and the keys that say whether it was done before."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from entropylaw._version import __version__
from entropylaw.analysis.shared import SharedFit
from entropylaw.documents.codec import encode
from entropylaw.documents.fit import InputFile, RunFit
from entropylaw.documents.report import RunReport
from entropylaw.ingest import catalog
from entropylaw.ingest.phasecolumns import CANDIDATES
from entropylaw.ingest.run import Run
from entropylaw.options import FitOptions
from entropylaw.report.index_rows import IndexRow

ALL = ("svg", "png", "pdf")

FEW = 50
"""Runs up to which every figure is written in every format, where nobody says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """What is made of every run.

    ``folder`` is the report's; ``kinds`` the formats of the figures' files, ``style`` a matplotlib style
    file; ``phases`` says whether curves of planning and execution are looked at. With ``kinds`` None, few
    runs get all formats, and many SVG alone.
    """

    folder: Path
    settings: FitOptions
    kinds: tuple[str, ...] | None
    phases: bool
    style: str | None = None

    def formats(self, runs: int) -> Making:
        """The same with the formats of a report on so many runs."""
        return self if self.kinds is not None else replace(self, kinds=ALL if runs <= FEW else ALL[:1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A file beside a log, and the sha256 of its bytes."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Task:
    """One run: as read (``run``), or what is ``known`` of it from a stored document or a failure to read it.

    ``before`` and ``after`` are name and slug of its neighbours in the report; ``histogram`` the tokens' sums
    beside a log that ``entropylaw tokens`` wrote; ``shared`` what the run has in common with others of its
    stored document. ``fit_key`` stands for all that the numbers depend on,
    ``key`` for all that the files do. ``again`` says that the numbers are known, and the files are to be
    made of them; without a ``page`` they are only noted, because all runs have to be known for it.
    """

    name: str
    slug: str
    making: Making
    run: Run | None
    known: RunFit | RunReport | None
    inputs: tuple[InputFile, ...]
    histogram: Beside | None = None
    shared: SharedFit | None = None
    before: tuple[str, str] | None = None
    after: tuple[str, str] | None = None
    fit_key: str = ""
    key: str = ""
    again: bool = False
    page: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The error in place of a law; ``exit_code`` tells an unreadable file from data that give no fit."""

    slug: str
    message: str
    hint: str
    exit_code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What came of a task: its row in the index, and its files with their sizes."""

    fit_key: str
    key: str
    row: IndexRow
    files: Mapping[str, int]
    failure: Failure | None = None


def light(run: Run, keep: frozenset[str]) -> Run:
    """The run with the columns that something is made of: a thousand runs are in memory at once."""
    known = keep | frozenset(CANDIDATES)
    columns = {name: x for name, x in run.columns.items() if name in known or catalog.is_useful(name)}
    left = tuple(name for name in run.columns if name not in columns)
    return replace(run, columns=columns, unread=(*run.unread, *left))


def with_keys(task: Task) -> Task:
    """The task with the keys under which its numbers and its files are known."""
    making = task.making
    numbers = hashlib.sha256()
    said = {
        "version": __version__,
        "name": task.name,
        "settings": encode(making.settings),
        "phases": making.phases,
        "inputs": encode(task.inputs),
        "known": encode(task.known),
    }
    numbers.update(_canonical(said))
    if task.run is not None:
        _add(numbers, task.run)
    style = Path(making.style).read_bytes() if making.style else b""
    files = {
        "numbers": numbers.hexdigest(),
        "slug": task.slug,
        "kinds": making.kinds,
        "style": hashlib.sha256(style).hexdigest(),
        "neighbours": [task.before, task.after],
        "histogram": task.histogram.sha256 if task.histogram else None,
        "shared": encode(task.shared),
    }
    return replace(task, fit_key=numbers.hexdigest(), key=hashlib.sha256(_canonical(files)).hexdigest())


def _add(digest: hashlib._Hash, run: Run) -> None:
    """Everything of a run that a result may depend on."""
    said = {
        "path": run.source.path,
        "step": [run.step_column, run.step_why],
        "columns": list(run.columns),
        "dropped": dict(run.dropped),
        "notes": run.notes,
        "texts": dict(run.texts),
        "unread": run.unread,
        "settings": {str(name): repr(value) for name, value in run.settings.items()},
    }
    digest.update(_canonical(said))
    digest.update(run.step.tobytes())
    for values in run.columns.values():
        digest.update(values.tobytes())


def _canonical(said: Mapping[str, Any]) -> bytes:
    return json.dumps(said, sort_keys=True).encode("utf-8", "surrogatepass")
