"""From the runs of arms to what is compared: at equal entropy, at equal values of a column, by stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from entropylaw.analysis.arms import compare_rewards
from entropylaw.analysis.law.evaluations import check_rewards
from entropylaw.analysis.seeds import series_of, series_over_steps
from entropylaw.analysis.stages import StagedRun, stages_as_arms
from entropylaw.analysis.state import rewards_end_early, state_of
from entropylaw.engine.levels import smoothed_entropy
from entropylaw.errors import FitError, InputError, UsageError
from entropylaw.escaping import shown
from entropylaw.logs.source import Meaning
from entropylaw.options import CompareOptions
from entropylaw.pipeline.arm_units import InOneUnit, Numbers, column_of_fit, in_one_unit, scales_unlike
from entropylaw.results.arms import Along, ArmComparison, RunSeries
from entropylaw.results.columns import Choice, Refusal
from entropylaw.results.result import Finding, caution, note, replace
from entropylaw.roles.rewards import STEP, is_reward, rewards_at
from entropylaw.roles.select import select
from entropylaw.roles.settings import entropy_settings
from entropylaw.roles.stages import stages_of
from entropylaw.run_names import seed_of
from entropylaw.units import LARGEST, is_share, named_unit, reward_unit, sort_of_number

if TYPE_CHECKING:
    from entropylaw.documents.document import Entry
    from entropylaw.pipeline.inputs import Input
    from entropylaw.results.fit import Fit

# In place of a column at equal values of which rewards are compared: the entropy of each run's fit.
ENTROPY = "entropy"


class ArmRun(NamedTuple):
    """A run of an arm: as it was gathered, its entry, and its fit, if it has one.

    A fit that a program gave has no entry. ``others`` are the entries of its other rewards.
    """

    arm: str
    input: Input
    entry: Entry[Fit] | None
    fit: Fit | None
    others: tuple[Entry[Fit], ...] = ()

    @property
    def name(self) -> str:
        """The name of the run."""
        return self.input.name

    @property
    def entries_by_reward(self) -> dict[str, Entry[Fit]]:
        """Label of a reward → the entry of it."""
        return {entry.reward: entry for entry in (self.entry, *self.others) if entry is not None}

    @property
    def refusal(self) -> Refusal | None:
        """Why it has no fit; None where it has one, and where a program gave it."""
        return None if self.entry is None else self.entry.refusal


class _Compared(NamedTuple):
    """What is compared of a run: its series, and the columns that these rewards and values are from.

    ``reward`` is None where the run has no evaluations, and ``along`` where rewards are compared at equal
    entropies or steps. ``factor`` is what the rewards were multiplied by to be in the unit of all runs.
    """

    run: ArmRun
    series: RunSeries
    reward: Choice | None = None
    along: Choice | None = None
    factor: float = 1.0


def along_of(runs: Sequence[ArmRun], options: CompareOptions) -> Along:
    """The column at equal values of which rewards are compared: entropy; the step where no run has a law."""
    column = options.at_equal
    if column is None:
        # A run that was refused, such as one that died early, says nothing of the others.
        fits = [run.fit for run in runs if run.fit is not None]
        column = ENTROPY if not fits or any(fit.law is not None for fit in fits) else STEP
    if column == ENTROPY:
        return Along()
    return Along(column=column, unit="steps" if column == STEP else "")


def _runs_by_reward(runs: Sequence[ArmRun]) -> dict[str, list[ArmRun]]:
    """Label of a reward → all runs with the entry of it, for the rewards that every fitted run has.

    Where these are fewer than two, it is the first reward of each run, under an empty label.
    """
    fitted = [run.entries_by_reward for run in runs if run.fit is not None]
    longest = max(fitted, key=len, default={})
    common = [label for label in longest if all(label in entries for entries in fitted)]
    if len(common) < 2:
        return {"": list(runs)}
    by_reward: dict[str, list[ArmRun]] = {label: [] for label in common}
    for label, runs_with_it in by_reward.items():
        for run in runs:
            entry = run.entries_by_reward.get(label)
            runs_with_it.append(run if entry is None else run._replace(entry=entry, fit=entry.result))
    return by_reward


def results_of(
    arms: Sequence[str], runs: Sequence[ArmRun], options: CompareOptions, baseline: str | None
) -> list[ArmComparison]:
    """The comparison of arms in every reward; runs without a series are left out by name.

    Raises InputError (``run-in-two-arms``, ``arms-mix-columns``, ``unlike-rewards``, ``unit-unclear``);
    FitError (``reward-above-max``); UsageError (``no-such-column``, ``column-needs-logs``,
    ``stages-need-logs``, and as :func:`entropylaw.analysis.arms.compare_rewards`).
    """
    along = along_of(runs, options)
    by_reward: dict[str, list[_Compared]] = {}
    limits: list[Finding] = []
    for label, runs_with_it in _runs_by_reward(runs).items():
        _check_columns(runs_with_it)
        by_reward[label], conversions = _along_in_unit(_all_compared(runs_with_it, along, options))
        limits += conversions
    units = in_one_unit({label: _rewards_of(compared) for label, compared in by_reward.items()})
    limits += _said_of_units(by_reward, units, options)
    series_by_reward: dict[str, dict[str, list[RunSeries]]] = {}
    pairs_of_stages: Sequence[tuple[str, str]] | None = None
    for label, own_units in by_reward.items():
        compared = _in_unit(own_units, units[label])
        with_evaluations = [member for member in compared if member.series.step.size]
        _check_distinct(with_evaluations)
        if options.stage is None:
            series_by_reward[label] = {arm: [] for arm in arms}
            for member in compared:
                series_by_reward[label][member.run.arm].append(member.series)
        else:
            series_by_reward[label], pairs_of_stages = stages_as_arms(_staged_runs(with_evaluations, options))
    paired = "seed" if options.pair == "seed" else ""
    if options.stage is not None:
        # The pairs are those of stages, each with the one before.
        paired = "run"
        baseline = None
    results = compare_rewards(
        series_by_reward,
        level=options.level,
        margin=options.margin,
        along=along,
        baseline=baseline,
        pairs=pairs_of_stages,
        paired=paired,
    )
    limits += _unlike_entropies(runs)
    if options.at_equal is None and along.column == STEP:
        limits.append(note("no-entropy-in-arms"))
    comparisons: list[ArmComparison] = []
    for label, result in zip(series_by_reward, results, strict=True):
        comparisons.append(
            replace(result, reward_unit=units[label].unit, findings=(*result.findings, *limits))
        )
    return comparisons


def _rewards_of(compared: Sequence[_Compared]) -> list[Numbers]:
    """The rewards of the runs that have any, each with its column."""
    return [
        Numbers(member.run.name, member.run.arm, member.series.reward, member.reward)
        for member in compared
        if member.reward is not None
    ]


def _in_unit(compared: Sequence[_Compared], unit: InOneUnit) -> list[_Compared]:
    """The runs with their rewards in one unit, and behind them those that have none."""
    with_rewards = [member for member in compared if member.reward is not None]
    converted = [
        member._replace(series=member.series.times(factor), factor=factor)
        for member, factor in zip(with_rewards, unit.factors, strict=True)
    ]
    return converted + [member for member in compared if member.reward is None]


def _along_in_unit(compared: Sequence[_Compared]) -> tuple[list[_Compared], Sequence[Finding]]:
    """The runs with the column at equal values of which they are compared in one unit; what was converted.

    Raises as :func:`in_one_unit`.
    """
    with_column = [member for member in compared if member.along is not None]
    numbers = [
        Numbers(member.run.name, member.run.arm, member.series.along, member.along)
        for member in with_column
        if member.along is not None
    ]
    unit = in_one_unit({"": numbers}, "--at-equal")[""]
    converted: list[_Compared] = []
    for member, factor in zip(with_column, unit.factors, strict=True):
        series = member.series
        series = replace(series, along=factor * series.along, error=factor * series.error)
        converted.append(member._replace(series=series))
    return converted + [member for member in compared if member.along is None], unit.findings


def _said_of_units(
    by_reward: Mapping[str, Sequence[_Compared]], units: Mapping[str, InOneUnit], options: CompareOptions
) -> list[Finding]:
    """What was converted into one unit, and where units look unlike and nothing says so."""
    named = {named_unit(name)[1] for name in options.reward}
    findings: list[Finding] = []
    for label, compared in by_reward.items():
        findings += units[label].findings
        if "percent" in named:
            findings += scales_unlike(_rewards_of(compared), named=True)
        elif units[label].unit == "raw":
            findings += scales_unlike(_rewards_of(compared), named=False)
    return findings


class _Logging(NamedTuple):
    """At which temperature an entropy was sampled, and when in a step it was logged; None where unknown."""

    temperature: str | None
    timing: str | None

    def words_beside(self, other: _Logging) -> str:
        """The temperature in words where the other's differs, and the timing where it does not."""
        if self.temperature != other.temperature:
            return f"sampled at temperature {self.temperature or 'unknown'}"
        return f"logged {self.timing or 'unknown'}"


def _unlike_entropies(runs: Sequence[ArmRun]) -> list[Finding]:
    """A caution where entropies were logged at another temperature or at another time in a step."""
    first_run_by_logging: dict[_Logging, str] = {}
    for run in runs:
        log = run.input.run
        if log is not None and run.entry is not None and "entropy" in run.entry.columns:
            meaning = run.entry.columns["entropy"].meaning
            temperature = meaning.temperature
            # A run's configuration says more than its trainer does.
            setting = entropy_settings(log).temperature
            if setting is not None:
                temperature = f"{setting.value:g}"
            first_run_by_logging.setdefault(_Logging(temperature, meaning.timing), run.name)
    if len(first_run_by_logging) < 2:
        return []
    (logging, name), (other_logging, other_name) = islice(first_run_by_logging.items(), 2)
    return [
        caution(
            "entropies-not-the-same",
            run=name,
            how=logging.words_beside(other_logging),
            other=other_name,
            other_how=other_logging.words_beside(logging),
        )
    ]


def _all_compared(runs: Sequence[ArmRun], along: Along, options: CompareOptions) -> list[_Compared]:
    """What is compared of each run, with its seed; of a run without evaluations the reason.

    Raises FitError (``reward-above-max``), UsageError (``no-such-column``, ``column-needs-logs``).
    """
    compared: list[_Compared] = []
    for run in runs:
        try:
            if options.at_equal is None or along.column == ENTROPY:
                member = _fitted(run, along)
            else:
                member = _logged(run, along.column, options)
        except InputError as error:
            member = _refused(run, error.message)
        compared.append(
            member._replace(series=replace(member.series, unit=seed_of(run.name, run.input.path)))
        )
    return compared


_Kinds = dict[tuple[str | None, ...], ArmRun]
"""Kind of a column, such as its unit and estimator → the first run that has it."""


def _check_columns(runs: Sequence[ArmRun]) -> None:
    """Raise where the entropies or the pairings of arms differ: their numbers do not compare.

    The error is InputError ``arms-mix-columns``, which names two runs.
    """
    entropies: _Kinds = {}
    pairings: _Kinds = {}
    for run in runs:
        if run.entry is not None and run.fit is not None and "entropy" in run.entry.columns:
            entropy = run.entry.columns["entropy"]
            meaning = entropy.meaning
            kind: tuple[str | None, ...] = (meaning.unit, meaning.aggregation, meaning.estimator)
            if not any(kind):
                # Of an entropy of unknown meaning the name counts.
                kind = (entropy.column,)
            entropies.setdefault(kind, run)
            pairings.setdefault((run.entry.columns["reward"].pair,), run)
    _check_one_kind("entropy", entropies)
    _check_one_kind("pairing", pairings)


def _check_one_kind(name: str, kinds: _Kinds) -> None:
    """Raise for several kinds of what the arms have to have in common; as :func:`_check_columns`."""
    if len(kinds) > 1:
        examples = [
            f"{shown(run.name)} ({run.arm}) has {', '.join(filter(None, kind))}"
            for kind, run in islice(kinds.items(), 2)
        ]
        hint = f"name one column with --{name}, or compare runs of one kind"
        if name == "pairing":
            hint = "give --pair same or --pair next"
        message = f"the arms differ in {name}: {' and '.join(examples)}"
        if name == "entropy":
            message += "; these entropies are not the same quantity"
        raise InputError("arms-mix-columns", message, hint)


def _refused(run: ArmRun, reason: str) -> _Compared:
    """A run that has nothing to compare."""
    none = np.empty(0)
    return _Compared(
        run, RunSeries(run=run.name, step=none, reward=none, along=none, error=none, refused=reason)
    )


def _fitted(run: ArmRun, along: Along) -> _Compared:
    """What is compared of the fit of a run, at equal entropies or steps.

    Raises FitError ``reward-above-max``: the run did not fail, as the largest reward is one of another unit.
    """
    if run.fit is None:
        if run.refusal is None:
            return _refused(run, "it has no fit")
        if run.refusal.slug == "reward-above-max":
            raise _above_max(run, run.refusal)
        return _refused(run, run.refusal.message)
    reward = column_of_fit(run.fit) if run.entry is None else run.entry.columns["reward"]
    if along.column == STEP:
        return _Compared(run, series_over_steps(run.fit), reward)
    return _Compared(run, series_of(run.fit), reward)


def _above_max(run: ArmRun, error: FitError | Refusal) -> FitError:
    """The error of a run whose rewards are above the largest: it did not fail, its unit is another one."""
    return FitError(error.slug, f"run {shown(run.name)}: {error.message}", error.hint)


def _logged(run: ArmRun, column: str, options: CompareOptions) -> _Compared:
    """What is compared of the log of a run at equal values of a column."""
    log = run.input.run
    if log is None:
        if run.input.error is not None:
            return _refused(run, run.input.error.message)
        raise UsageError(
            "column-needs-logs",
            f"--at-equal reads a column of logs, and {shown(run.name)} is a stored fit",
            "give the logs themselves",
        )
    reward, column_step, values = rewards_at(log, column, options.reward)
    pairs = reward.pairs
    start = -np.inf if options.from_step is None else options.from_step
    # The column has no value before its first step or after its last.
    inside = (max(column_step[0], start) <= pairs.step) & (pairs.step <= column_step[-1])
    step = pairs.step[inside]
    value = pairs.reward[inside]
    if not step.size:
        return _refused(run, f"it has no reward between the steps of {shown(column)}")
    most: float | None = None
    if options.max_reward is None:
        most = LARGEST.get(reward.unit)
    elif isinstance(options.max_reward, float):
        most = options.max_reward
    try:
        check_rewards(value, most)
    except FitError as error:
        raise _above_max(run, error) from None
    # Steps have no noise; any other column is smoothed, as the entropy is.
    along = step
    sd = np.zeros(step.size)
    choice: Choice | None = None
    if column != STEP:
        smoothed = smoothed_entropy(column_step, values, step)
        along = smoothed.entropy
        sd = smoothed.sd
        choice = Choice(
            column=column,
            meaning=Meaning(role="column", trainer="user"),
            why="named by the user",
            usable=values.size,
            unit=reward_unit(column, values),
            sort=sort_of_number(column),
        )
    is_score = reward.choice.is_score
    state = state_of(step, value, max_reward=most, is_score=is_score)
    # Of two scores the one at equal values of which the other is compared says whether a run died.
    if choice is not None and choice.is_score and (is_reward(log, column) or is_share(column)):
        state = state_of(column_step, values)
    series = RunSeries(
        run=run.name,
        step=step,
        reward=value,
        along=along,
        error=sd,
        max_reward=most,
        is_score=is_score,
        lost=None if state is None else state.lost,
        has_ended=state is not None and rewards_end_early(pairs.step, float(log.step[-1])),
    )
    return _Compared(run, series, reward.choice, choice)


def _check_distinct(compared: Sequence[_Compared]) -> None:
    """Raise InputError ``run-in-two-arms`` for evaluations that are in two arms, or twice in one."""
    seen: dict[bytes, ArmRun] = {}
    for member in compared:
        run = member.run
        columns = (member.series.step, member.series.along, member.series.reward)
        with np.errstate(over="ignore"):
            # In single precision a percentage is the rate that it was converted from.
            arrays = [np.asarray(values, dtype=np.float32) for values in columns]
        same = seen.setdefault(b"".join(array.tobytes() for array in arrays), run)
        if same is run:
            continue
        where = f"arms {shown(same.arm)} and {shown(run.arm)}"
        if same.arm == run.arm:
            where = f"arm {shown(run.arm)} twice"
        called = "" if same.name == run.name else f" (there called {shown(same.name)})"
        hint = "name each log once; of a log with several arms give the column: --arms COLUMN"
        if run.entry is None and not run.input.path:
            hint = "give every fit once, and name it by its seed: fit(..., name='grpo_s0')"
        raise InputError(
            "run-in-two-arms",
            f"run {shown(run.name)}{called} is in {where}, with the same evaluations",
            hint,
        )


def _staged_runs(compared: Sequence[_Compared], options: CompareOptions) -> dict[str, list[StagedRun]]:
    """Arm → its runs with their stages.

    Raises UsageError (``stages-need-logs``) and as :func:`entropylaw.roles.stages.stages_of`.
    """
    assert options.stage is not None
    staged: dict[str, list[StagedRun]] = {}
    for member in compared:
        run = member.run
        factor = member.factor
        log = run.input.run
        if log is None:
            raise UsageError(
                "stages-need-logs",
                f"--stage reads a column of logs, and {shown(run.name)} is a stored fit",
                "give the logs themselves",
            )
        chosen = select(log, entropy=options.entropy, reward=options.reward)
        stages, rewards = stages_of(log, options.stage, options.domain, chosen.reward_choice.column)
        if "percent" in {named_unit(name)[1] for name in options.reward}:
            factor *= LARGEST["rate"] / LARGEST["percent"]
        # The domains of a log are in the unit of its reward.
        rewards = {domain: (step, factor * values) for domain, (step, values) in rewards.items()}
        staged_run = StagedRun(
            series=member.series,
            stages=stages,
            rewards=rewards,
            before_update=not chosen.is_training and chosen.pair == "same",
        )
        staged.setdefault(run.arm, []).append(staged_run)
    return staged
