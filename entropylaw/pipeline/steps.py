"""Steps: what is computed of each run, one runner for all of them, and the documents of their results.

A step is small and names an entry of :data:`entropylaw.pipeline.answers.COMPUTED`: that module imports scipy
and the analysis, and is imported where a step is run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from entropylaw.arguments import of_kind, several
from entropylaw.documents.codec import as_stored
from entropylaw.documents.document import Entry, FitDocument, PhasesDocument
from entropylaw.errors import EntropyLawError, FitError, UsageError
from entropylaw.logs.runs import Run
from entropylaw.options import FitOptions
from entropylaw.pipeline.cache import OFF, Cache
from entropylaw.pipeline.given_options import checked
from entropylaw.pipeline.inputs import Input, Inputs, gather
from entropylaw.pipeline.pool import Progress
from entropylaw.pipeline.pool import results as results_of
from entropylaw.results.fit import Fit as FitResult
from entropylaw.results.phases import PhaseFit
from entropylaw.results.result import replace
from entropylaw.roles.rewards import select_all
from entropylaw.roles.select import phase_series_all

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Step(Generic[R]):
    """What is computed of a run, with some options: an entry with a result of type ``R`` for each series.

    The function ``name`` of :data:`entropylaw.pipeline.answers.COMPUTED` takes a run, one of its series and
    the options. ``select`` finds the series, by the options of the names ``selected_by``. Up to ``few`` runs
    are done faster in this process than by others that have to be started.
    """

    options: Any

    name: ClassVar[str]
    result: ClassVar[type[Any]]
    select: ClassVar[Callable[..., Any]] = staticmethod(select_all)
    selected_by: ClassVar[tuple[str, ...]] = ("entropy", "reward", "pair")
    few: ClassVar[int] = 3

    def choose(self, run: Run) -> tuple[Any, ...]:
        """The series of a run, each of which has a result."""
        series: tuple[Any, ...] = self.select(
            run, **{name: getattr(self.options, name) for name in self.selected_by}
        )
        return series

    def compute(self, run: Run, series: Any) -> Entry[R]:
        """The entry of a run and one of its series."""
        from entropylaw.pipeline.answers import COMPUTED

        return Entry.of(run, series, result=as_stored(COMPUTED[self.name](run, series, self.options)))


def provenance(inputs: Inputs) -> dict[str, Any]:
    """What every document says of its inputs."""
    return {"inputs": inputs.files, "warnings": inputs.warnings, "config": inputs.config}


class Fit(Step[FitResult]):
    """The state of a run, its forecast, and its law."""

    name, result, few = "fit", Entry[FitResult], 12

    def document(self, inputs: Inputs, entries: Iterable[Entry[FitResult]]) -> FitDocument:
        """The fits of the runs."""
        return FitDocument(settings=inputs.settings, runs=tuple(entries), **provenance(inputs))


class Law(Step[FitResult]):
    """The state and the law of a run: without a forecast, and without what its entropy does."""

    name, result, few = "law", Entry[FitResult], 12


class Phases(Step[PhaseFit]):
    """What the entropy curves of a run do."""

    name, result = "phases", Entry[PhaseFit]
    select, selected_by = staticmethod(phase_series_all), ("planning", "execution", "entropy")

    def document(self, inputs: Inputs, entries: Iterable[Entry[PhaseFit]]) -> PhasesDocument:
        """The phases of the runs, and tests over several runs."""
        from entropylaw.analysis.phases import combine_phases

        document = PhasesDocument(settings=self.options, runs=tuple(entries), **provenance(inputs))
        # Of a run with several entropies of all tokens the classes are the same.
        fits = {entry.run: entry.result for entry in reversed(document.runs) if entry.result is not None}
        if len(fits) < 2:
            return document
        return replace(document, across=as_stored(combine_phases([*fits.values()][::-1])))


class _Task(NamedTuple):
    position: int
    step: Step[Any]
    run: Run
    cache: Cache
    key: str


def answer(step: Step[R], subject: Any, cache: Cache = OFF) -> Entry[R]:
    """The first result of a step on one run; see :func:`answers`."""
    return answers(step, [subject], cache=cache)[0][0]


def answers(
    step: Step[R],
    subjects: Sequence[Any],
    *,
    jobs: int = 1,
    cache: Cache = OFF,
    progress: Progress = lambda *_: None,
) -> list[tuple[Entry[R], ...]]:
    """The results of a step on every input or run, in their order; one per series.

    What the cache lacks is computed by ``jobs`` processes. What a document holds is taken as it is, and an
    error in the place of a run is a refusal.

    Raises UsageError: an option that is wrong for one run is wrong for all.
    """
    results = [given(subject) for subject in subjects]
    waiting: list[_Task] = []
    left = results.count(None)
    done = 0

    def finish(task: _Task, entries: tuple[Entry[R], ...]) -> None:
        nonlocal done
        results[task.position] = entries
        done += 1
        progress(done, left)

    for position, subject in enumerate(subjects):
        if results[position] is None:
            run: Any = subject.run if isinstance(subject, Input) else subject
            key = cache.key(step.name, step.options, run)
            task = _Task(position, step, run, cache, key)
            cached: Any = cache.get(key, tuple[step.result, ...])  # type: ignore[name-defined]
            if cached is None:
                waiting.append(task)
            else:
                finish(task, cached)
    for task, entries in results_of(run_step, waiting, jobs=jobs, died=died, few=step.few):
        finish(task, entries)
    return [entries for entries in results if entries is not None]


def given(subject: Input | Run) -> tuple[Any, ...] | None:
    """The results that need no computation: the entries of a document, or the error in place of a run."""
    if not isinstance(subject, Input) or subject.run is not None:
        return None
    if subject.error is None:
        return subject.entries
    return (Entry.of(subject.path, None, subject.name, error=subject.error),)


def died(task: _Task) -> tuple[Entry[Any], ...]:
    """The result for a run whose process was killed."""
    return (Entry.of(task.run, None, error=killed()),)


def killed() -> FitError:
    """The error of a run whose process was killed."""
    return FitError(
        "worker-killed",
        "its process was killed twice, as where memory runs out",
        "try that log alone, with --jobs 1",
    )


def failed(error: Exception) -> EntropyLawError:
    """The error of a run for any exception; ENTROPYLAW_DEBUG raises one that is not one of ours as it is."""
    if isinstance(error, EntropyLawError):
        return error
    if os.environ.get("ENTROPYLAW_DEBUG"):
        raise error
    if isinstance(error, MemoryError):
        return FitError("out-of-memory", "memory ran out", "try that log alone, with --jobs 1")
    return FitError(
        "analysis-failed",
        f"its analysis ended in an unexpected {type(error).__name__}: {error}",
        "this is a bug in entropylaw; ENTROPYLAW_DEBUG=1 shows the traceback to report",
    )


def run_step(task: _Task) -> tuple[Entry[Any], ...]:
    """What a worker does: the one place where the error of a run becomes a refusal.

    One run never stops the others, even where it is bad by a bug of this program.
    """
    step, run = task.step, task.run
    entries: list[Entry[Any]] = []
    try:
        chosen = step.choose(run)
    except UsageError:
        raise
    except Exception as error:  # a bug refuses this run alone
        return (Entry.of(run, None, error=failed(error)),)
    for series in chosen:
        try:
            entries.append(step.compute(run, series))
        except UsageError:
            raise
        except Exception as error:  # a bug refuses this reward alone
            entries.append(Entry.of(run, series, error=failed(error)))
    slugs = [None if entry.refusal is None else entry.refusal.slug for entry in entries]
    if None in slugs and "out-of-memory" not in slugs:
        task.cache.put(task.key, tuple(entries))
    return tuple(entries)


def fit_logs(paths: Sequence[Any], settings: FitOptions | None = None) -> FitDocument:
    """Read every log and fit every run in it.

    Parameters
    ----------
    paths
        Files, folders, ``-`` for standard input, ``name:format`` to force a format.
    settings
        The options of the fit; by default those of :class:`~entropylaw.options.FitOptions`.

    Returns
    -------
    A document with one entry per run. A run that cannot be fitted has a ``refusal`` in place of a fit, and
    so has a file that cannot be read; nothing is raised for either.
    """
    step = Fit(FitOptions() if settings is None else checked(of_kind(settings, FitOptions, "settings")))
    paths = [paths] if isinstance(paths, str | os.PathLike) else several(paths, object, "paths")
    inputs = gather(paths, step.options)
    return step.document(inputs, chain.from_iterable(answers(step, inputs.entries)))
