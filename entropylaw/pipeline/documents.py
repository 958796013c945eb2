"""Documents of what was read and what the steps made of it: files, runs, failures and what runs share."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from entropylaw.arguments import of_kind, several
from entropylaw.documents.backtest import BacktestDocument, refused_backtest
from entropylaw.documents.codec import as_stored
from entropylaw.documents.document import input_files, skipped_files
from entropylaw.documents.fit import FitDocument, RunFit, refused_run
from entropylaw.documents.phases import PhasesDocument, RunPhases, unphased_run
from entropylaw.ingest.labels import told_apart
from entropylaw.ingest.load import Reading
from entropylaw.ingest.run import Run
from entropylaw.late import late
from entropylaw.options import FitOptions, PhaseOptions
from entropylaw.pipeline import steps
from entropylaw.pipeline.sources import read, same_settings
from entropylaw.results.backtest import RunBacktest
from entropylaw.results.fields import replace


def fit_logs(paths: Sequence[Any], settings: FitOptions | None = None) -> FitDocument:
    """Read every log and fit every run in it.

    Parameters
    ----------
    paths
        Files, folders, ``-`` for standard input, ``name:format`` to force a format.
    settings
        What to use; the defaults where not given.

    Returns
    -------
    A document with one entry per run. A run that cannot be fitted has a ``refusal`` in place of a law, and
    so has a file that cannot be read; nothing is raised for either.
    """
    options = FitOptions() if settings is None else of_kind(settings, FitOptions, "settings")
    paths = [paths] if isinstance(paths, str | os.PathLike) else several(paths, object, "paths")
    step = steps.fit(options)
    reading = read(paths, options, step.columns)
    return fits(reading, [entry for entry, _ in steps.answers(step, reading.runs)], options)


def fits(reading: Reading, entries: Iterable[RunFit], options: FitOptions) -> FitDocument:
    """The fits of the runs of a reading, and what could not be read."""
    runs = (*entries, *(refused_run(path, None, error, name) for path, error, name in reading.failures))
    return FitDocument(settings=options, runs=runs, **_files(reading))


def fits_by_argument(
    reading: Reading, entries: Sequence[RunFit], options: FitOptions
) -> dict[str, FitDocument]:
    """A document for each argument that led to some logs; a run belongs to the first of its arguments."""
    known: Mapping[Run, RunFit] = dict(zip(reading.runs, entries, strict=True))
    parts = reading.by_argument().items()
    return {argument: fits(part, [known[run] for run in part.runs], options) for argument, part in parts}


def phases(reading: Reading, entries: Iterable[RunPhases], options: PhaseOptions) -> PhasesDocument:
    """The phases of the runs of a reading, what could not be read, and what several runs say together."""
    runs = (*entries, *(unphased_run(path, None, error, name) for path, error, name in reading.failures))
    document = PhasesDocument(settings=options, runs=runs, **_files(reading))
    if sum(bool(found.planning and found.execution) for found in document.fitted) < 2:
        return document
    return replace(document, across=as_stored(late("analysis.phases.combine_phases", document.fitted)))


def backtest(reading: Reading, entries: Iterable[RunBacktest], level: float) -> BacktestDocument:
    """The backtests of the runs of a reading, and the skill over all of them."""
    failed = (refused_backtest(path, None, error, name) for path, error, name in reading.failures)
    runs = (*entries, *failed)
    overall = late("analysis.backtest.skills", runs)
    return as_stored(BacktestDocument(level=level, runs=runs, overall=overall, **_files(reading)))


def combine(documents: Sequence[FitDocument]) -> FitDocument:
    """Several documents with the same settings as one; a file that several read is listed once.

    Raises UsageError ``settings-differ``: a document speaks of one level and one way to fit.
    """
    settings = same_settings([document.settings for document in documents])
    inputs = {(file.path, file.sha256): file for document in documents for file in document.inputs}
    runs = tuple(run for document in documents for run in document.runs)
    if len(documents) > 1:
        runs = tuple(map(renamed, runs, told_apart([run.run for run in runs], [run.path for run in runs])))
    warnings = tuple(warning for document in documents for warning in document.warnings)
    return FitDocument(inputs=tuple(inputs.values()), settings=settings, runs=runs, warnings=warnings)


def renamed(entry: RunFit, name: str) -> RunFit:
    """A run by another name, which tells it from others."""
    return replace(entry, run=name, law=entry.law and replace(entry.law, run=name))


def with_shared(document: FitDocument) -> FitDocument:
    """Add what the runs of a document have in common, as its settings say.

    Raises FitError (``too-few-runs``, where fewer than two have a law); UsageError (``bad-shared``).
    """
    if not document.settings.shared:
        return document
    from entropylaw.analysis.shared import share

    return replace(document, shared=as_stored(share(document.fitted, shared=document.settings.shared)))


def _files(reading: Reading) -> dict[str, Any]:
    return {"inputs": input_files(reading.runs), "warnings": skipped_files(reading.ignored)}
