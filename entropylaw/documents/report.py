"""The report document: of every run its law, where it goes from here, and its phases.

What the pages show and nothing else: a page made from a stored document has the
same bytes as one made from a fresh one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from entropylaw.documents.document import Document
from entropylaw.documents.fit import FitDocument, RunFit
from entropylaw.documents.kinds import KINDS
from entropylaw.documents.loading import load_document
from entropylaw.documents.phases import RunPhases
from entropylaw.options import FitOptions
from entropylaw.results.forecast import Forecast, SaturationForecast
from entropylaw.results.groups import SharedFit
from entropylaw.results.phases import PhasesAcross
from entropylaw.results.result import Result


class RunReport(Result, frozen=True, kw_only=True):
    """One run of a report.

    ``fit`` is its law, or why there is none. ``forecast`` is of later steps, ``spending`` says when the
    entropy will be spent; where both are None, ``no_forecast`` says why. ``phases`` is None where the log has
    no curves of planning or execution; a run whose curves were refused has a refusal in it.
    """

    fit: RunFit
    forecast: Forecast | None = None
    spending: SaturationForecast | None = None
    no_forecast: str | None = None
    phases: RunPhases | None = None

    @property
    def run(self) -> str:
        """The run's name."""
        return self.fit.run


class ReportDocument(Document[RunReport], frozen=True, kw_only=True):
    """Reports of one or many runs, with their provenance.

    ``shared`` and ``across`` are what several runs have in common, in their laws and in their phases.
    ``warnings`` are about files, not runs.
    """

    settings: FitOptions
    shared: SharedFit | None = None
    across: PhasesAcross | None = None
    warnings: tuple[str, ...] = ()
    schema: str = KINDS["report"].schema


def from_fits(fits: FitDocument, runs: Iterable[RunReport]) -> ReportDocument:
    """The report of a fit document's runs."""
    return ReportDocument(
        inputs=fits.inputs,
        settings=fits.settings,
        runs=tuple(runs),
        shared=fits.shared,
        warnings=fits.warnings,
        version=fits.version,
    )


def load_report(path: str | os.PathLike[str]) -> ReportDocument:
    """Read a report document, as :func:`entropylaw.documents.loading.load_document` does."""
    return load_document("report", path)  # type: ignore[no-any-return]
