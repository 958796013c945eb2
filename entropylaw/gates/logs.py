"""Logs for gates: fitted, forecast and taken apart as far as the gates ask. This is the part with numpy."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from entropylaw.documents.check import CheckedFile
from entropylaw.documents.phases import PhasesDocument, unphased_file
from entropylaw.gates.quantities import Part
from entropylaw.gates.subjects import Subject, joined, subjects_of
from entropylaw.ingest.phasecolumns import candidates
from entropylaw.options import FitOptions, PhaseOptions, part
from entropylaw.paths import shown_path
from entropylaw.reporting import phases_of, report_runs
from entropylaw.workflow import fit_reading, named_columns, read_logs


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """The runs of a log, the files that were read, and warnings about files."""

    subjects: tuple[Subject, ...]
    inputs: tuple[CheckedFile, ...]
    warnings: tuple[str, ...]


def logged(logs: Sequence[str], asked: FitOptions, parts: Set[Part], documents: Set[str]) -> Logged:
    """Fit the runs of logs, with the ``parts`` that gates ask about.

    ``documents`` are those in folders that were read already, so that they are no skipped files, and the
    folders with runs in them, which need no log.
    """
    columns = [*named_columns(asked), *(candidates() if Part.phases in parts else ())]
    reading = read_logs(logs, step=asked.step, run=asked.run, columns=columns)
    reading = replace(
        reading,
        failures=tuple(
            failure
            for failure in reading.failures
            if failure.path not in documents or failure.error.slug != "no-logs-in-folder"
        ),
        ignored=tuple(file for file in reading.ignored if shown_path(file.path) not in documents),
    )
    fits = fit_reading(reading, asked)
    whole = report_runs(fits) if Part.ahead in parts else fits
    found = subjects_of(whole, "the fit")
    if Part.phases in parts and whole.runs:
        options = part(asked, PhaseOptions)
        runs = [phases_of(run, options)[0] for run in reading.runs]
        runs += [unphased_file(*failure) for failure in reading.failures]
        phases = PhasesDocument(inputs=fits.inputs, settings=options, runs=tuple(runs))
        found = joined([*found, *subjects_of(phases, "the fit")])
    return Logged(
        subjects=tuple(replace(subject, sources=(subject.path,)) for subject in found),
        inputs=tuple(CheckedFile(path=f.path, sha256=f.sha256, format=f.format) for f in fits.inputs),
        warnings=fits.warnings,
    )
