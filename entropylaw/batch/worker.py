"""One run from its series to its files: what a worker process does, and what it notes of it in the folder."""

from __future__ import annotations

import json
from pathlib import Path

from entropylaw.batch.pages import files_of
from entropylaw.batch.tasks import Done, Failure, Task
from entropylaw.documents.codec import DocumentMismatchError, as_stored, decode, encode
from entropylaw.documents.fit import FitDocument, refused_file, refused_run
from entropylaw.documents.phases import RunPhases, unphased_run
from entropylaw.documents.report import RunReport, from_fits, load_report
from entropylaw.documents.store import dumps, write_atomically
from entropylaw.errors import EntropyLawError, FitError, InputError, OutputError, UsageError
from entropylaw.ingest.phasecolumns import phase_series
from entropylaw.ingest.run import Run
from entropylaw.options import PhaseOptions
from entropylaw.report.index_rows import index_row
from entropylaw.reporting import phases_of, run_report
from entropylaw.workflow import fit_or_refuse

FOLDER = ".entropylaw"
"""Beside the pages; it may be deleted at any time, and everything is then done anew."""


def state_of(task: Task) -> Path:
    """The file that says what was done under a task's name."""
    return task.making.folder / FOLDER / f"{task.slug}.json"


def document_of(task: Task) -> Path:
    """The document of a task's run."""
    return task.making.folder / "runs" / f"{task.slug}.json"


def remembered(task: Task) -> Done | None:
    """What was done earlier under this task's name, if all its files are still there."""
    try:
        done = decode(Done, json.loads(state_of(task).read_bytes()))
        whole = all((task.making.folder / name).stat().st_size == size for name, size in done.files.items())
    except (OSError, ValueError, DocumentMismatchError):
        # Nothing there, or not ours, or cut off by an older version's crash: then it is simply done anew.
        return None
    return done if whole else None


def work(task: Task) -> Done:
    """Fit a run, write its page, its document and its figures, and say what came of it.

    Raises
    ------
    OutputError
        The folder cannot be written: then no other run's files can be either.
    UsageError
        A setting that is wrong for one run is wrong for all.
    """
    try:
        if task.again:
            report = load_report(document_of(task)).runs[0]
        elif task.run is not None:
            report = run_report(fit_or_refuse(task.run, task.making.settings), _phases(task, task.run))
        else:
            assert task.known is not None
            report = task.known if isinstance(task.known, RunReport) else run_report(task.known)
        return _written(task, report)
    except (OutputError, UsageError):
        raise
    except Exception as error:
        # One bad run never stops the rest, and a bug of ours is one of the ways to be bad.
        return _failed(task, error if isinstance(error, EntropyLawError) else _bug(error))


def died(task: Task) -> Done:
    """Say of a run that its process was killed."""
    why = "the process that fitted it was killed twice, as happens where memory runs out"
    return _failed(task, FitError("worker-killed", why, "try that log alone, with --jobs 1"))


def _phases(task: Task, run: Run) -> RunPhases | None:
    """The phases of a run with planning's entropy, or execution's; a bug there takes no law with it."""
    if not task.making.phases:
        return None
    try:
        try:
            series = phase_series(run)
        except EntropyLawError:
            return None
        if series.planning_column is None and series.execution_column is None:
            return None
        return phases_of(run, PhaseOptions(level=task.making.settings.level))[0]
    except UsageError:
        raise
    except Exception as error:
        return unphased_run(run, None, _bug(error))


def _bug(error: Exception) -> FitError:
    if isinstance(error, MemoryError):
        return FitError("out-of-memory", "memory ran out", "try that log alone, with --jobs 1")
    return FitError("bug", f"{type(error).__name__}: {error}", "this is a bug in entropylaw; report it")


def _failed(task: Task, error: EntropyLawError) -> Done:
    """Write the files of a run that has an error in place of a law."""
    run = refused_file(task.name, error) if task.run is None else refused_run(task.run, None, error)
    return _written(task, run_report(run), error)


def _written(task: Task, report: RunReport, error: EntropyLawError | None = None) -> Done:
    """Write the run's files, its document last but for the note that it is done."""
    fits = FitDocument(
        inputs=task.inputs, settings=task.making.settings, runs=(report.fit,), shared=task.shared
    )
    document = from_fits(fits, [report])
    sizes: dict[str, int] = {}
    alone = [(f"runs/{task.slug}.json", dumps(document.to_json()))]
    for name, content in files_of(task, document) if task.page else alone:
        data = content.encode("utf-8") if isinstance(content, str) else content
        write_atomically(task.making.folder / name, data)
        sizes[name] = len(data)
    failure, refusal = None, report.fit.refusal
    if refusal is not None:
        # A run whose columns could not be found was not even read.
        unread = error is None and report.fit.entropy_column is None
        kind = InputError if unread else FitError if error is None else type(error)
        failure = Failure(
            slug=refusal.slug, message=refusal.message, hint=refusal.hint, exit_code=kind.exit_code
        )
    row = as_stored(index_row(report, task.slug))
    key = task.key if task.page else ""
    done = Done(fit_key=task.fit_key, key=key, row=row, files=sizes, failure=failure)
    write_atomically(state_of(task), json.dumps(encode(done), sort_keys=True))
    return done
