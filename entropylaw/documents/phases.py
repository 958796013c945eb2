"""The phases document: the curves of planning and execution, their boundaries, and what several runs share.

``entropylaw/phases/1``. It holds all that text, tables and figures show, the curves and the distributions of
the boundaries included.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from entropylaw._version import __version__
from entropylaw.analysis.phaseresults import PhaseFit, PhasesAcross
from entropylaw.documents.codec import as_stored, encode
from entropylaw.documents.fit import InputFile, Refusal, refusal_of
from entropylaw.documents.loading import load_document
from entropylaw.errors import EntropyLawError
from entropylaw.ingest.phasecolumns import PhaseColumn, PhaseSeries
from entropylaw.ingest.run import Run
from entropylaw.options import PhaseOptions
from entropylaw.paths import shown_path

SCHEMA = "entropylaw/phases/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPhases:
    """One run of a document: its columns and its phases, or the reason why there are none.

    ``planning_column`` may hold a semantic entropy: its ``what`` says so. ``share_column`` is planning's
    share of the tokens, ``length_column`` the length of a response. ``cautions`` are those of the columns;
    the phases have their own.
    """

    run: str
    path: str
    planning_column: PhaseColumn | None
    execution_column: PhaseColumn | None
    aggregate_column: PhaseColumn | None
    share_column: str | None
    length_column: str | None
    dropped: Mapping[str, int]
    notes: tuple[str, ...]
    cautions: tuple[str, ...]
    phases: PhaseFit | None
    refusal: Refusal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PhasesDocument:
    """Phases of one or many runs, with their provenance.

    ``across`` is what two runs or more say together. ``warnings`` are about files, not runs.
    """

    inputs: tuple[InputFile, ...]
    settings: PhaseOptions
    runs: tuple[RunPhases, ...]
    across: PhasesAcross | None = None
    warnings: tuple[str, ...] = ()
    version: str = __version__
    schema: str = SCHEMA
    seed: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return encode(self)  # type: ignore[no-any-return]

    @property
    def fitted(self) -> tuple[PhaseFit, ...]:
        """The phases of all runs that have some."""
        return tuple(run.phases for run in self.runs if run.phases is not None)


def phased_run(run: Run, series: PhaseSeries, phases: PhaseFit) -> RunPhases:
    """A run with its phases."""
    return as_stored(_run_phases(run, series, phases=phases, refusal=None))


def unphased_run(run: Run, series: PhaseSeries | None, error: EntropyLawError) -> RunPhases:
    """A run whose columns cannot be found (no ``series``), or whose curves cannot be fitted."""
    return _run_phases(run, series, phases=None, refusal=refusal_of(error, run.source.path))


def unphased_file(path: str, error: EntropyLawError, run: str = "") -> RunPhases:
    """A file without any run, or a ``run`` of it of which nothing can be used."""
    shown = shown_path(path)
    return RunPhases(
        run=run or shown,
        path=shown,
        planning_column=None,
        execution_column=None,
        aggregate_column=None,
        share_column=None,
        length_column=None,
        dropped={},
        notes=(),
        cautions=(),
        phases=None,
        refusal=refusal_of(error, path),
    )


def load_phases(path: str | os.PathLike[str]) -> PhasesDocument:
    """Read a phases document.

    Raises
    ------
    InputError
        ``file-not-found``, ``not-a-document`` (no JSON, or JSON of another kind),
        ``other-document-version`` (another schema version), ``damaged-document`` (a value does not fit).

    """
    return load_document(PhasesDocument, path, SCHEMA, command="entropylaw phases")


def _run_phases(
    run: Run, series: PhaseSeries | None, *, phases: PhaseFit | None, refusal: Refusal | None
) -> RunPhases:
    """What reading, finding the columns and fitting dropped, side by side."""
    dropped = Counter(run.dropped)
    notes = run.notes
    if series is not None:
        dropped.update(series.dropped)
        notes += series.notes
    if phases is not None:
        dropped.update(phases.dropped)
    return RunPhases(
        run=run.name,
        path=shown_path(run.source.path),
        planning_column=series.planning_column if series else None,
        execution_column=series.execution_column if series else None,
        aggregate_column=series.aggregate_column if series else None,
        share_column=series.share_column if series else None,
        length_column=series.length_column if series else None,
        dropped=dict(dropped),
        notes=notes,
        cautions=series.cautions if series else (),
        phases=phases,
        refusal=refusal,
    )
