"""The fit document: what was read, what was fitted, and all that a reader or renderer needs.

``entropylaw/fit/1``. Numbers have 12 significant digits, the posterior's included, and a fresh fit is rounded
to them, so that a prediction from a stored fit equals one from the fresh fit.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from entropylaw._version import __version__
from entropylaw.analysis.law import LawFit
from entropylaw.analysis.progress import entropy_drop, used_share
from entropylaw.analysis.seams import Seam
from entropylaw.analysis.segments import SegmentFit
from entropylaw.analysis.shared import SharedFit
from entropylaw.documents.codec import encode
from entropylaw.documents.loading import load_document
from entropylaw.errors import EntropyLawError
from entropylaw.ingest.run import Choice, Run, Series
from entropylaw.options import FitOptions
from entropylaw.paths import shown_path
from entropylaw.results import Estimate

SCHEMA = "entropylaw/fit/1"

NO_SEAM = "no seam found: neither reward nor entropy jumps against its own drift"
NO_SEGMENTS = "no law by segment"
"""Notes of a run whose segments were asked for, and how they begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """A file that was read: path as given (never absolute), sha256 of its bytes, records in it."""

    path: str
    sha256: str
    format: str
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a run, or a file, has no fit: the error's slug, message and hint."""

    slug: str
    message: str
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFit:
    """One run of a document: its columns and its law, or the reason why there is none.

    ``entropy_column`` and the like are None for a run whose columns could not be chosen. ``used`` is the
    share of the reward that entropy can buy which the run has by now, ``drop_per_100_steps`` the entropy that
    it lost lately (see :mod:`entropylaw.analysis.progress`); both are None for a refused run. ``seams`` are
    the jumps that were found, ``segments`` the law between them, where either was asked for.
    """

    run: str
    path: str
    entropy_column: Choice | None
    reward_column: Choice | None
    pair: str | None
    dropped: Mapping[str, int]
    notes: tuple[str, ...]
    law: LawFit | None
    refusal: Refusal | None
    seams: tuple[Seam, ...] = ()
    segments: SegmentFit | None = None
    used: Estimate | None = None
    drop_per_100_steps: Estimate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FitDocument:
    """Fits of one or many runs, with their provenance.

    ``shared`` is what they have in common, where that was asked for. ``warnings`` are about files, not runs.
    """

    inputs: tuple[InputFile, ...]
    settings: FitOptions
    runs: tuple[RunFit, ...]
    shared: SharedFit | None = None
    warnings: tuple[str, ...] = ()
    version: str = __version__
    schema: str = SCHEMA
    seed: int | None = field(default=None)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return encode(self)  # type: ignore[no-any-return]

    @property
    def fitted(self) -> tuple[LawFit, ...]:
        """The laws of all runs that have one."""
        return tuple(run.law for run in self.runs if run.law is not None)

    def _repr_html_(self) -> str:
        from entropylaw.report.notebook import document_html

        return document_html(self)


def fitted_run(run: Run, series: Series, law: LawFit) -> RunFit:
    """A run with its law, and how far it has come."""
    entry = _run_fit(run, series, law=law, refusal=None)
    drop = entropy_drop(law.step, law.entropy, level=law.level)
    return replace(entry, used=used_share(law), drop_per_100_steps=drop)


def refused_run(run: Run, series: Series | None, error: EntropyLawError) -> RunFit:
    """A run whose columns cannot be chosen (no ``series``), or whose series cannot be fitted."""
    return _run_fit(run, series, law=None, refusal=refusal_of(error, run.source.path))


def refused_file(path: str, error: EntropyLawError, run: str = "") -> RunFit:
    """A file without any run, or a ``run`` of it of which nothing can be used."""
    shown = shown_path(path)
    return RunFit(
        run=run or shown,
        path=shown,
        entropy_column=None,
        reward_column=None,
        pair=None,
        dropped={},
        notes=(),
        law=None,
        refusal=refusal_of(error, path),
    )


def refusal_of(error: EntropyLawError, path: str) -> Refusal:
    """An error about the file at ``path`` as part of a document, which never names an absolute path."""
    shown = shown_path(path)
    return Refusal(
        slug=error.slug, message=error.message.replace(path, shown), hint=error.hint.replace(path, shown)
    )


def input_files(runs: Iterable[Run]) -> tuple[InputFile, ...]:
    """The files behind some runs, each once."""
    files = {file.path: file for run in runs for file in (run.source.parts or (run.source,))}
    return tuple(
        InputFile(path=shown_path(path), sha256=file.sha256, format=file.format, rows=file.rows)
        for path, file in files.items()
    )


def skipped_files(ignored: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """A warning for each file that is no log: (path, why)."""
    return tuple(f"{shown_path(path)} was not read: {why}" for path, why in ignored)


def load_fit(path: str | os.PathLike[str]) -> FitDocument:
    """Read a fit document.

    Raises
    ------
    InputError
        ``file-not-found``, ``not-a-document`` (no JSON, or JSON of another kind),
        ``other-document-version`` (another schema version), ``damaged-document`` (a value does not fit).
    """
    return load_document(FitDocument, path, SCHEMA, command="entropylaw fit")


def _run_fit(run: Run, series: Series | None, *, law: LawFit | None, refusal: Refusal | None) -> RunFit:
    """What reading dropped and decided, and what pairing did, side by side."""
    dropped = Counter(run.dropped)
    notes = run.notes
    if series is not None:
        dropped.update(series.dropped)
        notes += series.notes
    return RunFit(
        run=run.name,
        path=shown_path(run.source.path),
        entropy_column=series.entropy_choice if series else None,
        reward_column=series.reward_choice if series else None,
        pair=series.pair if series else None,
        dropped=dict(dropped),
        notes=notes,
        law=law,
        refusal=refusal,
    )
