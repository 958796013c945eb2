"""One run from its series to its files: everything that a worker process does."""

from __future__ import annotations

from entropylaw.batch.pages import files_of
from entropylaw.batch.state import document_of, remember
from entropylaw.batch.tasks import Done, Failure, Task
from entropylaw.documents.codec import as_stored
from entropylaw.documents.fit import FitDocument, RunFit, refused_file, refused_run
from entropylaw.documents.phases import RunPhases, unphased_run
from entropylaw.documents.report import RunReport, from_fits, load_report
from entropylaw.documents.store import dumps, write_atomically
from entropylaw.errors import EntropyLawError, FitError, InputError, OutputError, UsageError
from entropylaw.ingest.run import Run
from entropylaw.phasing import class_phases
from entropylaw.report.index_rows import index_row
from entropylaw.reporting import run_report
from entropylaw.workflow import fit_or_refuse


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
        return _written(task, _report(task))
    except (OutputError, UsageError):
        raise
    except Exception as error:
        # One bad run never stops the rest, and a bug of ours is one of the ways to be bad.
        if isinstance(error, EntropyLawError):
            return _written(task, _failed(task, error), error)
        return _written(task, _failed(task, _bug(error)), _bug(error))


def died(task: Task) -> Done:
    """Say of a run that its process was killed."""
    why = "the process that fitted it was killed twice, as happens where memory runs out"
    error = FitError("worker-killed", why, "try that log alone, with --jobs 1")
    return _written(task, _failed(task, error), error)


def _report(task: Task) -> RunReport:
    if task.again:
        return load_report(document_of(task)).runs[0]
    if isinstance(task.known, RunReport):
        return task.known
    if task.run is None:
        assert task.known is not None
        return run_report(task.known)
    return run_report(fit_or_refuse(task.run, task.making.settings), _phases(task, task.run))


def _phases(task: Task, run: Run) -> RunPhases | None:
    """The phases of a run; a bug of ours there takes no law with it."""
    if not task.making.phases:
        return None
    try:
        return class_phases(run, task.making.settings.level)
    except UsageError:
        raise
    except Exception as error:
        return unphased_run(run, None, _bug(error))


def _bug(error: Exception) -> FitError:
    if isinstance(error, MemoryError):
        return FitError("out-of-memory", "memory ran out", "try that log alone, with --jobs 1")
    return FitError("bug", f"{type(error).__name__}: {error}", "this is a bug in entropylaw; report it")


def _failed(task: Task, error: EntropyLawError) -> RunReport:
    if task.run is not None:
        return run_report(refused_run(task.run, None, error))
    return run_report(refused_file(task.name, error))


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
    done = Done(
        fit_key=task.fit_key,
        key=task.key if task.page else "",
        row=as_stored(index_row(report, task.slug)),
        files=sizes,
        failure=_failure(report.fit, error),
    )
    remember(task, done)
    return done


def _failure(entry: RunFit, error: EntropyLawError | None) -> Failure | None:
    """Why there is no law; a run whose columns could not be found was not even read."""
    if entry.refusal is None:
        return None
    read = InputError if entry.entropy_column is None else FitError
    kind = read if error is None else type(error)
    refusal = entry.refusal
    return Failure(slug=refusal.slug, message=refusal.message, hint=refusal.hint, exit_code=kind.exit_code)
