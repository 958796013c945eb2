"""The phases document: the curves of planning and execution, their boundaries, and what several runs share.

It holds all that text, tables and figures show, the curves and the distributions of
the boundaries included.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from entropylaw.documents.codec import as_stored
from entropylaw.documents.document import Document, read_of, refusal_of
from entropylaw.documents.kinds import KINDS
from entropylaw.documents.loading import load_document
from entropylaw.options import PhaseOptions
from entropylaw.results.columns import PhaseColumn, Refusal
from entropylaw.results.findings import Finding, sentences
from entropylaw.results.phases import PhaseFit, PhasesAcross
from entropylaw.results.result import Result

if TYPE_CHECKING:
    from entropylaw.errors import EntropyLawError
    from entropylaw.ingest.phasecolumns import PhaseSeries
    from entropylaw.ingest.run import Run


COLUMNS = ("planning_column", "execution_column", "aggregate_column", "share_column", "length_column")
"""The columns of a run, of its series and of its entry here."""


class RunPhases(Result, frozen=True, kw_only=True):
    """One run of a document: its columns and its phases, or the reason why there are none.

    ``planning_column`` may hold a semantic entropy: its ``what`` says so. ``share_column`` is planning's
    share of the tokens, ``length_column`` the length of a response. ``findings`` are those of the columns;
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
    findings: tuple[Finding, ...]
    phases: PhaseFit | None
    refusal: Refusal | None

    @property
    def cautions(self) -> tuple[str, ...]:
        """What the columns have that may look like a boundary, in sentences."""
        return sentences(self.findings, "caution")

    def flaw(self) -> str:
        """Both phases and a refusal, or neither."""
        return "" if (self.phases is None) != (self.refusal is None) else "phases or a refusal, one of them"


class PhasesDocument(Document[RunPhases], frozen=True, kw_only=True):
    """Phases of one or many runs, with their provenance.

    ``across`` is what two runs or more say together. ``warnings`` are about files, not runs.
    """

    settings: PhaseOptions
    across: PhasesAcross | None = None
    warnings: tuple[str, ...] = ()
    schema: str = KINDS["phases"].schema

    @property
    def fitted(self) -> tuple[PhaseFit, ...]:
        """The phases of all runs that have some."""
        return tuple(run.phases for run in self.runs if run.phases is not None)


def phased_run(run: Run, series: PhaseSeries, phases: PhaseFit) -> RunPhases:
    """A run with its phases; what reading, finding the columns and fitting dropped stands side by side."""
    read = read_of(run, series)
    dropped = Counter(read["dropped"])
    dropped.update(phases.dropped)
    return as_stored(_run_phases(read | {"dropped": dict(dropped)}, series, phases=phases, refusal=None))


def unphased_run(
    log: Run | str, series: PhaseSeries | None, error: EntropyLawError, name: str = ""
) -> RunPhases:
    """A run whose columns cannot be found (no ``series``), or whose curves cannot be fitted.

    In place of a run the path of a file without any, or whose run of that ``name`` cannot be used.
    """
    return _run_phases(read_of(log, series, name), series, phases=None, refusal=refusal_of(error, log))


def _run_phases(read: dict[str, Any], series: PhaseSeries | None, **found: Any) -> RunPhases:
    columns: dict[str, Any] = {name: getattr(series, name, None) for name in COLUMNS}
    return RunPhases(**read, **columns, findings=series.findings if series else (), **found)


def load_phases(path: str | os.PathLike[str]) -> PhasesDocument:
    """Read a phases document; an InputError as :func:`entropylaw.documents.loading.load_document` has it."""
    return load_document("phases", path)  # type: ignore[no-any-return]
