"""What is computed of one run: its fit and its phases, for Python and for every command. Imports scipy."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, overload

from entropylaw.analysis.answer import fit_evaluations, fit_law, largest_reward
from entropylaw.analysis.entropy_ahead import entropy_drop, explosion_of
from entropylaw.analysis.forms import r_squared
from entropylaw.analysis.law.evaluations import usable
from entropylaw.analysis.law.verdict import divergence_note
from entropylaw.analysis.phases import fit_phases
from entropylaw.analysis.rise import FEWEST_POINTS
from entropylaw.analysis.stop import stop_line
from entropylaw.arguments import bad_argument, of_kind, text_or_none, texts
from entropylaw.arrays import FloatArray
from entropylaw.documents.document import refusal_of
from entropylaw.errors import FitError, InputError
from entropylaw.logs.load import read_runs
from entropylaw.logs.runs import Run, added
from entropylaw.options import FitOptions, LogOptions, PhaseOptions
from entropylaw.paths import shown_path
from entropylaw.pipeline.given_options import checked
from entropylaw.results.axis import axis_of
from entropylaw.results.fit import Fit, RunFit
from entropylaw.results.phases import PhaseFit
from entropylaw.results.result import TRAINING_REWARD, Finding, caution, field_names, note, replace
from entropylaw.roles.rewards import select_all
from entropylaw.roles.select import phase_series_all
from entropylaw.roles.series import PhaseSeries, Series
from entropylaw.roles.settings import divergence


@overload
def fit(
    source: None = None,
    *,
    entropy: Any,
    reward: Any,
    step: Any = None,
    name: str | None = None,
    **options: Any,
) -> Fit: ...
@overload
def fit(
    source: Any,
    *,
    entropy: str | Sequence[str] | None = None,
    reward: str | Sequence[str] | None = None,
    step: str | None = None,
    name: str | None = None,
    **options: Any,
) -> RunFit: ...
def fit(
    source: Any = None,
    *,
    entropy: Any = None,
    reward: Any = None,
    step: Any = None,
    name: str | None = None,
    **options: Any,
) -> Fit:
    """Fit one run: of a log, a table, or arrays.

    >>> fit("demo/grpo_s0.csv")  # doctest: +SKIP
    >>> fit(frame, entropy="H", reward="R")  # doctest: +SKIP
    >>> fit(entropy=entropy, reward=reward, step=step)  # doctest: +SKIP

    Parameters
    ----------
    source
        A path or a table, as for :func:`entropylaw.read_runs`, or a :class:`~entropylaw.logs.runs.Run`; None
        for arrays.
    entropy, reward, step
        Columns of the source, by default those that the catalog has; of several rewards, also by a pattern,
        the first is the answer, and ``rewards`` of the result has all that can be fitted. Without a source
        arrays of shape (n,): policy entropy in nats per token, the score, and the trainer's step, strictly
        increasing; without steps the evaluations are evenly spaced.
    name
        Name of the run in the result.
    options
        Other options of ``entropylaw fit``, with underscores, as in
        :class:`~entropylaw.options.FitOptions`. Of arrays ``level``, ``gain``, ``steps``, ``max_reward``,
        and ``keep_outliers``.

    Returns
    -------
    The fit of the run; of a source a :class:`~entropylaw.results.fit.RunFit`, which has all its rewards, and
    what is said of a log alone, such as the stop line.

    Raises
    ------
    InputError
        ``several-runs``; the columns are missing or are not what they are taken for; or as
        :func:`entropylaw.read_runs`.
    FitError
        As :func:`entropylaw.analysis.answer.fit_law`: there is neither a state nor a law.
    UsageError
        ``bad-level``, ``bad-gain``, ``bad-argument``.

    See Also
    --------
    entropylaw.fit_logs : all runs of logs, where one that cannot be fitted raises nothing.
    """
    if name is not None:
        name = of_kind(name, str, "name")
    if source is None:
        for option in _OF_LOGS.intersection(options):
            raise bad_argument(option, "a source, of which it is an option", "arrays alone")
        return fit_law(entropy, reward, step, checked(FitOptions(**options)), run=name or "run")
    settings = checked(
        FitOptions(
            entropy=texts(entropy, "entropy"),
            reward=texts(reward, "reward"),
            step=text_or_none(step, "step"),
            **options,
        )
    )
    run = _only_run(source, settings, [*settings.entropy, *settings.reward], name)
    fits: dict[str, Fit] = {}
    for series in select_all(
        run,
        entropy=settings.entropy,
        reward=settings.reward,
        pair=settings.pair,
    ):
        try:
            fits[series.label or series.reward_choice.column] = fit_series(run, series, settings)
        except FitError:
            if not fits:
                raise
    first = next(iter(fits.values()))
    return RunFit(**{field: getattr(first, field) for field in field_names(first)}, rewards=fits)


_OF_LOGS = frozenset({"run", "pair", "from_step", "cost_per_step"})
"""Options of a fit that arrays have no use for."""


def _only_run(source: Any, options: LogOptions, columns: Sequence[str], name: str | None) -> Run:
    """The run of a source, by a name that is given; InputError ``several-runs`` where it has more."""
    runs: tuple[Run, ...]
    if isinstance(source, Run):
        runs = (source,)
    else:
        runs = read_runs(source, step=options.step, run=options.run, columns=columns)
    if len(runs) > 1:
        path = shown_path(os.fspath(source)) if isinstance(source, str | os.PathLike) else "the table"
        raise InputError(
            "several-runs",
            f"{path} holds {len(runs)} runs: {', '.join(run.name for run in runs[:8])}",
            "read them with entropylaw.read_runs, and give one; entropylaw.fit_logs fits them all",
        )
    return runs[0] if name is None else replace(runs[0], name=name)


def fit_series(run: Run, series: Series, options: FitOptions, *, is_alone: bool = False) -> Fit:
    """The fit of a run with one of its rewards, with all that is said of a log; raises as :func:`fit`.

    ``is_alone`` leaves out what comes after its last step, and what other columns say.
    """
    series = _from_first_step(series, options)
    used = usable(
        series.entropy,
        series.reward,
        series.step,
        keep_outliers=options.keep_outliers,
        logged=series.logged,
        unpaired=series.unpaired,
        end=series.end,
    )
    findings = _about_columns(series)
    if not is_alone and series.entropy_choice is not None:
        # Over all logged steps.
        findings += explosion_of(*(series.logged or (series.step, series.entropy)))
    if not is_alone:
        kl = divergence(run, used.step) if used.step.size else None
        if kl is not None:
            findings.append(divergence_note(*kl, used.reward, r_squared(used.entropy, used.reward)))
    lacking = series.no_entropy
    try:
        fit = fit_evaluations(
            used,
            options,
            run=series.run,
            max_reward=largest_reward(options, series.max_reward),
            findings=findings,
            no_entropy=None if lacking is None else refusal_of(lacking, run),
            is_ahead=not is_alone,
        )
    except FitError as error:
        # Of too few evaluations the hint is the series' own.
        if error.slug != "too-few-evaluations" or not series.offer:
            raise
        raise FitError(error.slug, error.message, series.offer) from error
    axis = axis_of(run.step_column)
    if is_alone:
        return replace(fit, axis=axis)
    line = stop_line(
        used.all_rewards(),
        fit.state,
        fit.forecast,
        steps=options.steps,
        cost_per_step=options.cost_per_step,
        max_reward=fit.max_reward,
        label=series.label or series.reward_choice.column,
        is_score=series.reward_choice.is_score,
        level=options.level,
    )
    drop = entropy_drop(used.step, used.entropy, level=options.level) if used.step.size else None
    forecast = None if fit.forecast is None else replace(fit.forecast, axis=axis)
    line = replace(line, axis=axis)
    return replace(fit, axis=axis, forecast=forecast, stop_line=line, drop_per_100_steps=drop)


def _from_first_step(series: Series, options: FitOptions) -> Series:
    """The evaluations from the first step to fit on; those before it are counted among the dropped ones.

    Raises InputError (``no-step-left``) where there is none.
    """
    first = options.from_step
    if first is None:
        return series
    after = series.step >= first
    every = series.evaluations[0]
    if every[-1] < first:
        raise InputError(
            "no-step-left",
            f"steps go from {every[0]:g} to {every[-1]:g}, and none is {first:g} or more",
            "give an earlier --from-step",
        )
    before = {f"before the first step to fit, {first:g}": int((every < first).sum())}
    return replace(
        series,
        step=series.step[after],
        entropy=series.entropy[after],
        reward=series.reward[after],
        logged=_from_step(series.logged, first),
        unpaired=_from_step(series.unpaired, first),
        dropped=added(series.dropped, before),
    )


def _from_step(
    columns: tuple[FloatArray, FloatArray] | None, first: float
) -> tuple[FloatArray, FloatArray] | None:
    """Steps and their values from a step on."""
    if columns is None:
        return None
    step, values = columns
    return step[step >= first], values[step >= first]


def _about_columns(series: Series) -> list[Finding]:
    """What is known of the columns of a series."""
    choice = series.reward_choice
    findings = list(series.findings)
    if not choice.is_score:
        findings.append(note("not-a-score", name=choice.column, sort=choice.sort))
    if choice.meaning.kind == "training":
        findings.append(caution(TRAINING_REWARD, column=choice.column))
    if series.entropy_choice is not None and series.entropy_choice.meaning.estimator == "sampled":
        findings.append(caution("entropy-sampled", column=series.entropy_choice.column))
    return findings


def phases(
    source: Any = None,
    *,
    step: Any = None,
    planning: Any = None,
    execution: Any = None,
    semantic: Any = None,
    entropy: Any = None,
    name: str | None = None,
    level: float = 0.95,
    run: str | None = None,
) -> PhaseFit:
    """Find what the entropies of one run do: of planning and execution tokens, of plans and of all tokens.

    >>> phases("demo/ordered.csv")  # doctest: +SKIP
    >>> phases(step=step, planning=planning, execution=execution)  # doctest: +SKIP

    Parameters
    ----------
    source
        A path, a table or a run, as for :func:`entropylaw.fit`; None for arrays.
    step
        The step column of the source; without one an array (n,), strictly increasing.
    planning, execution, entropy
        Columns of the source, by default those that the catalog has. Without a source arrays (n,) of the
        entropies of planning, of execution and of all tokens, in nats, nan where a step has none.
    semantic
        Of arrays alone: the entropy of whole plans, shape (n,). Of a source ``planning`` may name it.
    name
        Name of the run in the result.
    level
        Coverage of every interval; the tests are at 1 − level.
    run
        The column of the source that names the run.

    Raises
    ------
    InputError
        As :func:`entropylaw.fit`.
    FitError, UsageError
        As :func:`entropylaw.analysis.phases.fit_phases`, which has the method.
    """
    if name is not None:
        name = of_kind(name, str, "name")
    if source is None:
        if run is not None:
            raise bad_argument("run", "a source, of which it is an option", "arrays alone")
        return fit_phases(
            step, planning, execution, semantic=semantic, aggregate=entropy, level=level, run=name or "run"
        )
    if semantic is not None:
        raise bad_argument("semantic", "arrays, of which it is one", "a source")
    options = checked(
        PhaseOptions(
            step=text_or_none(step, "step"),
            run=run,
            planning=text_or_none(planning, "planning"),
            execution=text_or_none(execution, "execution"),
            entropy=texts(entropy, "entropy"),
            level=level,
        )
    )
    columns = [column for column in (options.planning, options.execution) if column is not None]
    only = _only_run(source, options, [*columns, *options.entropy], name)
    series, *_ = phase_series_all(
        only, planning=options.planning, execution=options.execution, entropy=options.entropy
    )
    return phases_of_series(only, series, options)


def phases_of_series(run: Run, series: PhaseSeries, options: PhaseOptions) -> PhaseFit:
    """The phases of a run."""
    try:
        return fit_phases(
            series.step,
            series.planning,
            series.execution,
            semantic=series.semantic,
            aggregate=series.aggregate,
            level=options.level,
            run=run.name,
            findings=series.findings,
        )
    except FitError as error:
        # These columns identify a summary of tokens.
        if error.slug != "too-few-points" or not {"tokens", "entropy_p50"} <= run.columns.keys():
            raise
        raise FitError(
            error.slug,
            error.message,
            f"summarise the tokens of at least {FEWEST_POINTS} steps with `entropylaw tokens`",
        ) from error


COMPUTED: dict[str, Callable[..., Any]] = {
    "fit": fit_series,
    "law": partial(fit_series, is_alone=True),
    "phases": phases_of_series,
}
"""Name of a step → its function of a run, the run's series and the options."""
