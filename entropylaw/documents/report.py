"""The report document: of every run its law, where it goes from here, and its phases.

``entropylaw/report/1``. What the pages show and nothing else: a page made from a stored document has the
same bytes as one made from a fresh one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from entropylaw._version import __version__
from entropylaw.analysis.forecast import Forecast, SaturationForecast
from entropylaw.analysis.phaseresults import PhasesAcross
from entropylaw.analysis.shared import SharedFit
from entropylaw.documents.codec import encode
from entropylaw.documents.fit import FitDocument, InputFile, RunFit
from entropylaw.documents.loading import load_document
from entropylaw.documents.phases import RunPhases
from entropylaw.options import FitOptions

SCHEMA = "entropylaw/report/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportDocument:
    """Reports of one or many runs, with their provenance.

    ``shared`` and ``across`` are what several runs have in common, in their laws and in their phases.
    ``warnings`` are about files, not runs.
    """

    inputs: tuple[InputFile, ...]
    settings: FitOptions
    runs: tuple[RunReport, ...]
    shared: SharedFit | None = None
    across: PhasesAcross | None = None
    warnings: tuple[str, ...] = ()
    version: str = __version__
    schema: str = SCHEMA
    seed: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return encode(self)  # type: ignore[no-any-return]

    def as_fit(self) -> FitDocument:
        """The laws alone, as a fit document."""
        return FitDocument(
            inputs=self.inputs,
            settings=self.settings,
            runs=tuple(run.fit for run in self.runs),
            shared=self.shared,
            warnings=self.warnings,
            version=self.version,
        )


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
    """Read a report document.

    Raises
    ------
    InputError
        ``file-not-found``, ``not-a-document`` (no JSON, or JSON of another kind),
        ``other-document-version`` (another schema version), ``damaged-document`` (a value does not fit).
    """
    return load_document(ReportDocument, path, SCHEMA, command="entropylaw report")
