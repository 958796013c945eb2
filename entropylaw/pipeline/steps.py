"""Steps: what is made of one run, or why it is refused; and one runner for all of them.

A step is small and says which function of :mod:`entropylaw.pipeline.answers` answers it: that module brings
scipy and the analysis, and is imported where a step is run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from entropylaw.documents.backtest import refused_backtest
from entropylaw.documents.fit import RunFit, refused_run
from entropylaw.documents.phases import RunPhases, unphased_run
from entropylaw.documents.report import RunReport
from entropylaw.errors import EntropyLawError, FitError, UsageError
from entropylaw.ingest import select
from entropylaw.ingest.pairing import as_number
from entropylaw.ingest.phasecolumns import PhaseSeries, candidates, phase_series
from entropylaw.ingest.run import Run, Series
from entropylaw.late import late
from entropylaw.options import FitOptions, PhaseOptions
from entropylaw.pipeline.cache import OFF, Cache
from entropylaw.pipeline.pool import Progress, results
from entropylaw.results.backtest import RunBacktest

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Step(Generic[R]):
    """What is made of a run.

    The function ``name`` of :mod:`entropylaw.pipeline.answers` takes a run, its series and the options and
    makes a ``result``. ``choose`` takes run and options and finds the series; ``refuse`` takes run, series
    (None where choosing failed) and the error, and makes a result with a refusal. ``columns`` have to be read
    for the step; up to ``few`` runs are done faster here than by processes that have to be started.
    """

    name: str
    options: Any
    choose: Callable[[Any, Any], Any]
    refuse: Callable[[Any, Any, EntropyLawError], R]
    result: type[R]
    columns: tuple[str, ...] = ()
    few: int = 3


class Answer(NamedTuple, Generic[R]):
    """The result of a step, and the error behind it where that is a refusal."""

    result: R
    error: EntropyLawError | None = None


def fit(options: FitOptions) -> Step[RunFit]:
    """The law of a run, with its level shifts where the options say so."""
    return Step("fit", options, _paired, refused_run, RunFit, named_columns(options), few=12)


def phases(options: PhaseOptions) -> Step[RunPhases]:
    """The phases of a run's planning and execution entropies."""
    named = filter(None, (options.planning, options.execution, options.entropy))
    return Step("phases", options, _curves, unphased_run, RunPhases, (*candidates(), *named))


def backtest(options: FitOptions) -> Step[RunBacktest]:
    """How well the early part of a run forecasts the rest."""
    return Step("backtest", options, _paired, refused_backtest, RunBacktest, named_columns(options))


def ahead(points: int = 4) -> Step[RunReport]:
    """The forecast beside a fitted run, at some later steps up to half of its span."""
    return Step("ahead", {"points": points}, _itself, _no_forecast, RunReport)


def named_columns(options: FitOptions) -> tuple[str, ...]:
    """The columns that the options name, which are read whatever the catalog knows of them."""
    noise = options.entropy_sd
    named = (options.entropy, options.reward, noise if noise and as_number(noise) is None else None)
    return tuple(filter(None, named))


class _Task(NamedTuple):
    place: int
    step: Step[Any]
    subject: Any
    cache: Cache
    key: str


def answer(step: Step[R], subject: Any, cache: Cache = OFF) -> Answer[R]:
    """Run a step, whatever happens; a result that the cache has is not computed again.

    Raises UsageError: an option that is wrong for one run is wrong for all.
    """
    return answers(step, [subject], cache=cache)[0]


def answers(
    step: Step[R],
    subjects: Sequence[Any],
    *,
    jobs: int = 1,
    cache: Cache = OFF,
    progress: Progress | None = None,
) -> list[Answer[R]]:
    """Run a step on every run, in their order; what the cache lacks is computed by ``jobs`` processes.

    Raises UsageError: as :func:`answer`.
    """
    found: dict[int, Answer[R]] = {}
    waiting: list[_Task] = []
    for place, subject in enumerate(subjects):
        key = cache.key(step.name, step.options, subject)
        known = cache.get(key, step.result)
        if known is None:
            waiting.append(_Task(place, step, subject, cache, key))
        else:
            found[place] = Answer(known)
    for task, made in results(_made, waiting, jobs=jobs, died=_killed, few=step.few):
        found[task.place] = made
        if progress is not None:
            progress(len(found), len(subjects))
    return [found[place] for place in range(len(subjects))]


def killed() -> FitError:
    """The error of a run whose process was killed."""
    why = "the process that fitted it was killed twice, as happens where memory runs out"
    return FitError("worker-killed", why, "try that log alone, with --jobs 1")


def _made(task: _Task) -> Answer[Any]:
    """What a worker does: the one place where the error of a run becomes a refusal."""
    _, step, subject, cache, key = task
    series = None
    try:
        series = step.choose(subject, step.options)
        made = late(f"pipeline.answers.{step.name}", subject, series, step.options)
    except UsageError:
        raise
    except EntropyLawError as error:
        return Answer(step.refuse(subject, series, error), error)
    cache.put(key, made)
    return Answer(made)


def _killed(task: _Task) -> Answer[Any]:
    return Answer(task.step.refuse(task.subject, None, killed()), killed())


def _paired(run: Run, options: FitOptions) -> Series:
    return select(
        run, entropy=options.entropy, reward=options.reward, pair=options.pair, entropy_sd=options.entropy_sd
    )


def _curves(run: Run, options: PhaseOptions) -> PhaseSeries:
    return phase_series(run, planning=options.planning, execution=options.execution, entropy=options.entropy)


def _itself(entry: RunFit, _: Any) -> RunFit:
    return entry


def _no_forecast(entry: RunFit, _: RunFit | None, error: EntropyLawError) -> RunReport:
    return RunReport(fit=entry, no_forecast=error.message)
