"""Logs for gates: fitted, forecast and taken apart as far as the gates ask. This is the part with numpy."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from entropylaw.documents.check import CheckedFile
from entropylaw.documents.fit import FitDocument, Settings
from entropylaw.documents.phases import PhasesDocument, PhaseSettings
from entropylaw.gates.quantities import Part
from entropylaw.gates.subjects import Subject, joined, subjects_of
from entropylaw.ingest.phasecolumns import CANDIDATES
from entropylaw.phasing import phases_of
from entropylaw.reporting import report_runs
from entropylaw.workflow import fit_logs, read_logs


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """The runs of a log, the files that were read, and warnings about files."""

    subjects: tuple[Subject, ...]
    inputs: tuple[CheckedFile, ...]
    warnings: tuple[str, ...]


def logged(group: Sequence[str], asked: Settings, parts: Set[Part]) -> Logged:
    """Fit the runs of one log, which several files may be; with the ``parts`` that gates ask about."""
    fits = fit_logs(list(group), asked)
    whole = report_runs(fits) if Part.ahead in parts else fits
    found = subjects_of(whole.to_json(), "the fit")
    if Part.phases in parts:
        found = joined([*found, *subjects_of(_phases(group, fits).to_json(), "the fit")])
    return Logged(
        subjects=tuple(replace(subject, sources=(subject.path,)) for subject in found),
        inputs=tuple(CheckedFile(path=f.path, sha256=f.sha256, format=f.format) for f in fits.inputs),
        warnings=fits.warnings,
    )


def _phases(group: Sequence[str], fits: FitDocument) -> PhasesDocument:
    """The phases of the same runs."""
    asked = fits.settings
    wanted = PhaseSettings(level=asked.level, entropy=asked.entropy, step=asked.step, run=asked.run)
    columns = [*CANDIDATES, *([asked.entropy] if asked.entropy else [])]
    reading = read_logs(list(group), step=asked.step, run=asked.run, columns=columns)
    return PhasesDocument(
        inputs=fits.inputs,
        settings=wanted,
        runs=tuple(phases_of(run, wanted)[0] for run in reading.runs),
    )
