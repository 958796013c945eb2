"""The fit document: what was read, what was fitted, and all that a reader or renderer needs.

Numbers have 12 significant digits, the posterior's included, and a fresh fit is rounded
to them, so that a prediction from a stored fit equals one from the fresh fit.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from entropylaw.documents.document import Document, read_of, refusal_of
from entropylaw.documents.kinds import KINDS
from entropylaw.documents.loading import load_document
from entropylaw.options import FitOptions
from entropylaw.results import Estimate, Validity
from entropylaw.results.columns import Choice, Refusal
from entropylaw.results.findings import Finding, sentences
from entropylaw.results.groups import Seam, SegmentFit, SharedFit
from entropylaw.results.law import LawFit
from entropylaw.results.result import Result

if TYPE_CHECKING:
    from entropylaw.errors import EntropyLawError
    from entropylaw.ingest.run import Run, Series


class RunFit(Result, frozen=True, kw_only=True):
    """One run of a document: its columns and its law, or the reason why there is none.

    ``entropy_column`` and the like are None for a run whose columns could not be chosen. ``used`` is the
    share of the reward that entropy can buy which the run has by now, ``drop_per_100_steps`` the entropy that
    it lost lately (see :mod:`entropylaw.analysis.progress`); both are None for a refused run. ``seams`` are
    the jumps that were found, ``segments`` the law between them, where either was asked for; ``findings`` say
    why one of them is missing. ``read_notes`` is what was decided while reading and pairing.
    """

    run: str
    path: str
    entropy_column: Choice | None
    reward_column: Choice | None
    pair: str | None
    dropped: Mapping[str, int]
    read_notes: tuple[str, ...]
    law: LawFit | None
    refusal: Refusal | None
    seams: tuple[Seam, ...] = ()
    segments: SegmentFit | None = None
    used: Estimate | None = None
    drop_per_100_steps: Estimate | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What was decided, in sentences: while reading and pairing, and of the level shifts."""
        return (*self.read_notes, *sentences(self.findings, "note"))

    @property
    def validity(self) -> Validity | None:
        """The law's; None for a refused run."""
        return None if self.law is None else self.law.validity

    def flaw(self) -> str:
        """Both a law and a refusal, or neither."""
        return "" if (self.law is None) != (self.refusal is None) else "a law or a refusal, one of them"


class FitDocument(Document[RunFit], frozen=True, kw_only=True):
    """Fits of one or many runs, with their provenance.

    ``shared`` is what they have in common, where that was asked for. ``warnings`` are about files, not runs.
    """

    settings: FitOptions
    shared: SharedFit | None = None
    warnings: tuple[str, ...] = ()
    schema: str = KINDS["fit"].schema

    @property
    def fitted(self) -> tuple[LawFit, ...]:
        """The laws of all runs that have one."""
        return tuple(run.law for run in self.runs if run.law is not None)


def fitted_run(run: Run, series: Series, law: LawFit, **progress: Estimate | None) -> RunFit:
    """A run with its law, and how far it has come: ``used`` and ``drop_per_100_steps``."""
    return _run_fit(read_of(run, series), series, law=law, **progress)


def refused_run(log: Run | str, series: Series | None, error: EntropyLawError, name: str = "") -> RunFit:
    """A run whose columns cannot be chosen (no ``series``), or whose series cannot be fitted.

    In place of a run the path of a file without any, or whose run of that ``name`` cannot be used.
    """
    return _run_fit(read_of(log, series, name), series, refusal=refusal_of(error, log))


def _run_fit(read: dict[str, Any], series: Series | None, **found: Any) -> RunFit:
    """What was read of a run and found of it; without a series its columns are None."""
    return RunFit(
        read_notes=read.pop("notes"),
        **read,
        entropy_column=series.entropy_choice if series else None,
        reward_column=series.reward_choice if series else None,
        pair=series.pair if series else None,
        **{"law": None, "refusal": None} | found,
    )


def load_fit(path: str | os.PathLike[str]) -> FitDocument:
    """Read a fit document; an InputError as :func:`entropylaw.documents.loading.load_document` has it."""
    return load_document("fit", path)  # type: ignore[no-any-return]
