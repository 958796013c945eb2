"""What is computed of one run: its law, phases, forecast and predictions. Imports scipy."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from entropylaw.analysis.answer import fit_law
from entropylaw.analysis.entropy_ahead import entropy_drop
from entropylaw.analysis.forecast import forecast, usual_step
from entropylaw.analysis.law.verdict import divergence_note
from entropylaw.analysis.level_shift import find_level_shifts, known_shifts, level_shift_steps
from entropylaw.analysis.phases import fit_phases
from entropylaw.analysis.rise import FEWEST_POINTS, fit_curve, level_findings
from entropylaw.analysis.stop import stop_line
from entropylaw.arguments import as_number, texts
from entropylaw.documents.codec import as_stored
from entropylaw.documents.document import Entry, FitDocument, PredictionDocument, RunPrediction
from entropylaw.errors import FitError, InputError, UsageError
from entropylaw.escaping import shown
from entropylaw.kinds import NO_LARGEST
from entropylaw.logs.load import read_runs
from entropylaw.logs.runs import Run, added
from entropylaw.options import ColumnOptions, FitOptions, PhaseOptions
from entropylaw.paths import shown_path
from entropylaw.results.columns import limit_in
from entropylaw.results.fit import Fit, RunFit
from entropylaw.results.forecast import Forecast
from entropylaw.results.phases import CURVES, PhaseFit
from entropylaw.results.result import NO_SCORE, Finding, caution, field_names, has, note, replace
from entropylaw.roles.rewards import select_all
from entropylaw.roles.series import PhaseSeries, Series
from entropylaw.roles.settings import divergence
from entropylaw.units import UNIT_WORDS, range_words, reward_range


def fit_series(series: Series, **options: Any) -> Fit:
    """Fit a paired series; findings about its columns join those of the fit.

    ``options`` are others of :func:`entropylaw.fit_law`.

    Raises FitError and UsageError: as :func:`entropylaw.fit_law`.
    """
    values = (series.entropy, series.reward, series.step)
    choice, entropy = series.reward_choice, series.entropy_choice
    about = list(series.findings)
    if not choice.is_score:
        about.append(note("not-a-score", name=choice.column, sort=choice.sort))
    if choice.meaning.kind == "training":
        about.append(caution("training-reward", column=choice.column))
    if entropy.meaning.estimator == "sampled":
        about.append(caution("entropy-sampled", column=entropy.column))
    most = options.pop("max_reward", None)
    if most is None:
        most = series.max_reward
    # Any object may be given: an array that is compared with a text has no truth value.
    elif isinstance(most, str) and most == NO_LARGEST:
        most = None
    options["max_reward"] = most
    try:
        return fit_law(
            *values,
            entropy_sd=series.entropy_sd,
            logged=series.logged,
            unpaired=series.unpaired,
            run=series.run,
            findings=about,
            **options,
        )
    except FitError as error:
        if error.slug != "too-few-evaluations" or not series.offer:
            raise
        raise FitError(error.slug, error.message, series.offer) from error


def from_step_on(series: Series, first: float) -> Series:
    """The evaluations from a step on; those before it are counted among the dropped ones.

    Raises InputError (``no-step-left``) where there is none.
    """
    after = series.step >= first
    if not after.any():
        raise InputError(
            "no-step-left",
            f"steps go from {series.step[0]:g} to {series.step[-1]:g}, and none is {first:g} or more",
            "give an earlier --from-step",
        )
    before = {f"before the first step to fit, {first:g}": int(series.step.size - after.sum())}
    arrays = ("step", "entropy", "reward", "entropy_sd")
    cut: dict[str, Any] = {
        name: value[after] for name in arrays if (value := getattr(series, name)) is not None
    }
    for name in ("logged", "unpaired"):
        if (columns := getattr(series, name)) is not None:
            cut[name] = tuple(values[columns[0] >= first] for values in columns)
    return replace(series, **cut, dropped=added(series.dropped, before))


def fit_run(
    run: Run,
    *,
    entropy: str | Sequence[str] | None = None,
    reward: str | Sequence[str] | None = None,
    pair: str | None = None,
    level: float = 0.95,
    entropy_sd: float | str | None = None,
    keep_outliers: bool = False,
    gain: float | None = None,
    steps: float | None = None,
    max_reward: float | str | None = None,
    from_step: float | None = None,
) -> RunFit:
    """Choose the columns of a run by the catalog (or as given), pair them, and fit the law.

    ``entropy`` and ``reward`` are columns, or shell patterns of them. Of several rewards the first is the
    answer, and ``rewards`` of the result has all that can be fitted. ``entropy_sd`` is a number of nats, or
    the column that holds one for each entropy. ``max_reward`` is the largest reward that is possible, by
    default that of a share of problems, and ``"none"`` where there is none.

    Raises
    ------
    InputError
        The columns are missing or are not what they are taken for.
    FitError, UsageError
        As :func:`entropylaw.fit_law`.
    """
    if entropy_sd is not None and not isinstance(entropy_sd, str):
        entropy_sd = str(as_number(entropy_sd, "entropy_sd"))
    fits: dict[str, Fit] = {}
    for series in select_all(run, entropy=entropy, reward=reward, pair=pair, entropy_sd=entropy_sd):
        if from_step is not None:
            series = from_step_on(series, as_number(from_step, "from_step"))
        try:
            fits[series.label or series.reward_choice.column] = fit_series(
                series,
                level=level,
                keep_outliers=keep_outliers,
                gain=gain,
                steps=steps,
                max_reward=max_reward,
            )
        except FitError:
            if not fits:
                raise
    first = next(iter(fits.values()))
    return RunFit(**{name: getattr(first, name) for name in field_names(first)}, rewards=fits)


def fit(log: Any, *, step: str | None = None, run: str | None = None, **options: Any) -> RunFit:
    """Read a log with one run, and fit it.

    ``log``, ``step`` and ``run`` are as in :func:`entropylaw.read_runs`, and ``options`` those of
    :func:`entropylaw.fit_run`.

    Raises
    ------
    InputError
        ``several-runs``, or as :func:`entropylaw.read_runs`.
    FitError, UsageError
        As :func:`entropylaw.fit_law`.
    """
    named = [*texts(options.get("entropy"), "entropy"), *texts(options.get("reward"), "reward")]
    if isinstance(noise := options.get("entropy_sd"), str):
        named.append(noise)
    runs = read_runs(log, step=step, run=run, columns=named)
    if len(runs) != 1:
        names = ", ".join(logged.name for logged in runs[:8])
        source = shown_path(os.fspath(log)) if isinstance(log, str | os.PathLike) else "the table"
        raise InputError(
            "several-runs",
            f"{source} holds {len(runs)} runs: {names}",
            "read them with entropylaw.read_runs, and fit each with entropylaw.fit_run",
        )
    return fit_run(runs[0], **options)


def fit_reward(run: Run, series: Series, options: FitOptions) -> Fit:
    """The law of a run with one of its rewards and, where the options say so, its level shifts."""
    if options.from_step is not None:
        series = from_step_on(series, options.from_step)
    shifts = find_level_shifts(series.step, series.entropy, series.reward) if options.find_seams else ()
    shift_steps = options.seams or level_shift_steps(shifts, series.step)
    fitted = fit_series(series, seams=shift_steps, **how(options), steps=options.steps)
    unshifted = (note("no-level-shift"),) if options.find_seams and not shifts else ()
    kl = divergence(run, fitted.law.step)
    rivals = (divergence_note(*kl, fitted.law.reward, fitted.law.r_squared),) if kl is not None else ()
    fitted = replace(
        fitted,
        findings=(*fitted.findings, *levels_of(series, options.level), *unshifted, *rivals),
        level_shifts=known_shifts(fitted.law) if options.seams else shifts,
        drop_per_100_steps=entropy_drop(fitted.law.step, fitted.law.entropy, level=fitted.level),
        stop_line=stop_line(
            *fitted.evaluations,
            steps=options.steps,
            gain=options.gain,
            cost_per_step=options.cost_per_step,
            max_reward=fitted.max_reward,
            left=fitted.headroom.value,
            label=series.label or series.reward_choice.column,
            is_score=series.reward_choice.is_score,
        ),
    )
    return as_stored(fitted)


def law(_: Run, series: Series, options: FitOptions) -> Fit:
    """The law of a run with one of its rewards, without what comes after its last step."""
    if options.from_step is not None:
        series = from_step_on(series, options.from_step)
    return as_stored(fit_series(series, seams=options.seams, **how(options), ahead=False))


def how(options: FitOptions) -> dict[str, Any]:
    """The options that :func:`fit_law` has a parameter for, but those that name columns or need more."""
    parameters = inspect.signature(fit_law).parameters
    apart = {"entropy_sd", "seams", "steps", *field_names(ColumnOptions())}
    names = [name for name in field_names(options) if name in parameters and name not in apart]
    return {name: getattr(options, name) for name in names}


def levels_of(series: Series, level: float) -> Sequence[Finding]:
    """An explosion and the eruptions of the entropy as logged; nothing of too few values."""
    step, entropy = series.logged or (series.step, series.entropy)
    return _levels(step.tobytes(), entropy.tobytes(), level)


@lru_cache(maxsize=1)
def _levels(step: bytes, entropy: bytes, level: float) -> Sequence[Finding]:
    """The same from the bytes of both: all rewards of a run have one entropy."""
    try:
        return level_findings(
            fit_curve(np.frombuffer(step), np.frombuffer(entropy), "aggregate", level).curve
        )
    except FitError:
        return ()


def phases(run: Run, series: PhaseSeries, options: PhaseOptions) -> PhaseFit:
    """The phases of a run."""
    try:
        columns = {name: getattr(series, name) for name in CURVES}
        fitted = fit_phases(series.step, **columns, level=options.level, run=run.name)
    except FitError as error:
        # These columns identify a summary of tokens.
        if error.slug != "too-few-points" or not {"tokens", "entropy_p50"} <= run.columns.keys():
            raise
        hint = f"summarise the tokens of at least {FEWEST_POINTS} steps with `entropylaw tokens`"
        raise FitError(error.slug, error.message, hint) from error
    fitted = replace(fitted, findings=(*fitted.findings, *series.findings))
    return as_stored(fitted)


COMPUTED: dict[str, Callable[..., Any]] = {"fit": fit_reward, "law": law, "phases": phases}
"""Name of a step → its function of a run, the run's series and the options."""


def predict_runs(
    fits: FitDocument,
    *,
    entropies: Sequence[float] = (),
    rewards: Sequence[float | str] = (),
    at_step: Sequence[float] = (),
    gain: float | None = None,
    level: float | None = None,
) -> PredictionDocument:
    """Predict the same targets from every fitted run of ``fits``, which may be fresh or stored.

    Targets are ``entropies`` (nats), ``rewards`` and later steps (``at_step``); without any, they are the
    entropy now, 0, and half as many steps again. A reward is in the unit of the run's column, or a text such
    as ``"60%"``. ``gain`` of reward and ``level`` are by default those of each fit.

    Raises UsageError (``bad-target``): a reward that is not possible in the column of a run.
    """
    entries: list[Entry[RunPrediction]] = []
    for entry in fits.runs:
        if entry.result is not None:
            predicted: Any = predict_run(
                entry.result,
                entropies=entropies,
                rewards=[_target_reward(entry, str(reward)) for reward in rewards],
                at_step=at_step,
                gain=gain,
                level=level,
            )
            entries.append(replace(entry, result=predicted))  # type: ignore[arg-type]
    return as_stored(PredictionDocument(inputs=fits.inputs, runs=tuple(entries)))


def _target_reward(entry: Entry[Fit], text: str) -> float:
    """A target as it is written, in the unit of the reward of a fitted run.

    Raises UsageError (``bad-target``): it does not convert into that, or is beyond the possible rewards.
    """
    assert entry.result is not None
    option, rewarded = f"--target-reward {text} of {shown(entry.name)}", entry.columns.get("reward")
    unit = "" if rewarded is None else rewarded.unit
    column = "the reward" if rewarded is None else rewarded.column
    try:
        target = limit_in(unit, text, column)
    except InputError as error:
        raise UsageError("bad-target", f"{option}: {error.message}", error.hint) from None
    least, most = reward_range(unit, entry.result.max_reward)
    if least <= target <= most:
        return target
    message = f"{option}: {shown(column)} is {UNIT_WORDS[unit]}, {range_words(least, most)}"
    hint = "give a reward inside of that"
    if unit == "rate" and 1 < target <= 100 and not text.endswith("%"):
        hint = f"type --target-reward {text}%, or {target / 100:g}"
    raise UsageError("bad-target", message, hint)


def predict_run(
    answer: Fit,
    *,
    entropies: Sequence[float],
    rewards: Sequence[float],
    at_step: Sequence[float],
    gain: float | None,
    level: float | None,
) -> RunPrediction:
    """The predictions from one fit; parameters as :func:`predict_runs`."""
    law = answer.law
    if not any((entropies, rewards, at_step)):
        entropies, at_step = [max(law.entropy_now, 0.0), 0.0], [usual_step(answer.evaluations[0])]
    gain = answer.gain if gain is None else gain
    if answer.lost:
        # Below the run's entropies its curve leads to the ceiling, which is unknown.
        lowest = min(law.entropy.min(), law.entropy_now)
        entropies = [entropy for entropy in entropies if entropy >= lowest]
    prediction = RunPrediction(
        verdict=answer.verdict,
        why=answer.why,
        findings=answer.findings,
        gain=gain,
        p_headroom=None if answer.lost else law.reads.p_gain(gain),
        entropy_range=(float(law.entropy.min()), float(law.entropy.max())),
        predictions=answer.predict(entropies, level=level),
        entropies=tuple(answer.entropy_for(reward, level=level) for reward in rewards),
        n_rewards=answer.n_rewards,
        effective_n=answer.effective_n,
        max_reward=answer.max_reward,
    )
    if not at_step:
        return prediction
    if answer.lost:
        return replace(prediction, no_forecast="the run lost its reward")
    try:
        return replace(prediction, forecast=forecast_of(answer, at_step, gain=gain, level=level))
    except FitError as error:
        # The run is too short for it.
        return replace(prediction, no_forecast=error.message)


def forecast_of(
    answer: Fit, at_step: Sequence[float], *, gain: float | None, level: float | None
) -> Forecast:
    """The forecast of a fitted run at later steps; gain and level are those of the fit where not given.

    Errors are those of :func:`entropylaw.forecast`.
    """
    return forecast(
        *answer.evaluations,
        at_step=at_step,
        gain=answer.gain if gain is None else gain,
        level=answer.level if level is None else level,
        max_reward=answer.max_reward,
        run=answer.run,
        is_score=not has(answer.findings, NO_SCORE),
    )
