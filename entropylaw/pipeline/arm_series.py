"""From the runs of arms to what is compared: at equal entropy, at equal values of a column, by stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from entropylaw.analysis.arms import compare_rewards
from entropylaw.analysis.law.evaluations import check_rewards
from entropylaw.analysis.seeds import series_of
from entropylaw.analysis.stages import StagedRun, stages_as_arms
from entropylaw.analysis.state import loss_in
from entropylaw.engine.smoothing import smoothed_entropy
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

    @property
    def lacks_entropy(self) -> bool:
        """Whether its fit has no law, most often because its log has no entropy."""
        return self.fit is not None and self.fit.law is None and self.fit.no_law is not None


class Member(NamedTuple):
    """A run of an arm with what is compared of it, the columns of which that is, and its unit's factor.

    ``reward`` is None of a run without evaluations, and ``along`` where that is the entropy or the step.
    """

    run: ArmRun
    series: RunSeries
    reward: Choice | None = None
    along: Choice | None = None
    factor: float = 1.0


def along_of(runs: Sequence[ArmRun], options: CompareOptions) -> Along:
    """The column at equal values of which rewards are compared: entropy, or the step where no run has one."""
    column = options.at_equal
    if column is None:
        lacking = [run.lacks_entropy for run in runs]
        column = STEP if lacking and all(lacking) else ENTROPY
    if column == ENTROPY:
        return Along()
    return Along(column=column, unit="steps" if column == STEP else "")


def _runs_by_reward(runs: Sequence[ArmRun]) -> dict[str, list[ArmRun]]:
    """Label of a reward → the runs with it, of the rewards that all runs with a fit have; or of the first."""
    entries = [run.entries_by_reward for run in runs]
    fitted = [by_reward for by_reward, run in zip(entries, runs, strict=True) if run.fit is not None]
    longest = max(fitted, key=len, default={})
    common = [label for label in longest if all(label in by_reward for by_reward in fitted)]
    if len(common) < 2:
        return {"": list(runs)}
    of_labels: dict[str, list[ArmRun]] = {}
    for label in common:
        of_label = of_labels.setdefault(label, [])
        for run, by_reward in zip(runs, entries, strict=True):
            entry = by_reward.get(label)
            of_label.append(run if entry is None else run._replace(entry=entry, fit=entry.result))
    return of_labels


def results_of(
    arms: Sequence[str], runs: Sequence[ArmRun], options: CompareOptions, baseline: str | None
) -> list[ArmComparison]:
    """The comparison of arms in every reward; runs without a series count as failed.

    Raises InputError (``run-in-two-arms``, ``arms-mix-columns``, ``unlike-rewards``, ``unit-unclear``);
    FitError (``reward-above-max``); UsageError (``no-such-column``, ``column-needs-logs``,
    ``stages-need-logs``, and as :func:`entropylaw.analysis.arms.undecided`).
    """
    along = along_of(runs, options)
    of_labels: dict[str, list[Member]] = {}
    limits: list[Finding] = []
    for label, of_reward in _runs_by_reward(runs).items():
        _check_columns(of_reward)
        of_labels[label], of_along = _along_in_unit(_members(of_reward, along, options))
        limits += of_along
    units = in_one_unit({label: _rewards_of(members) for label, members in of_labels.items()})
    limits += _said_of_units(of_labels, units, options)
    rewards: dict[str, dict[str, list[RunSeries]]] = {}
    of_stages: Sequence[tuple[str, str]] | None = None
    for label, of_label in of_labels.items():
        members = _in_unit(of_label, units[label])
        whole = [member for member in members if member.series.step.size]
        _check_distinct(whole)
        if options.stage is None:
            rewards[label] = {arm: [] for arm in arms}
            for member in members:
                rewards[label][member.run.arm].append(member.series)
        else:
            rewards[label], of_stages = stages_as_arms(_staged_runs(whole, options))
    paired = "seed" if options.pair == "seed" else ""
    if options.stage is not None:
        # The pairs are those of stages, each with the one before.
        paired = "run"
        baseline = None
    results = compare_rewards(
        rewards,
        level=options.level,
        margin=options.margin,
        along=along,
        baseline=baseline,
        pairs=of_stages,
        paired=paired,
    )
    limits += _other_entropies(runs)
    if options.at_equal is None and along.column == STEP:
        limits.append(note("no-entropy-in-arms"))
    in_unit = []
    for label, result in zip(rewards, results, strict=True):
        findings = (*result.findings, *limits)
        in_unit.append(replace(result, reward_unit=units[label].unit, findings=findings))
    return in_unit


def _rewards_of(members: Sequence[Member]) -> list[Numbers]:
    """The rewards of the runs that have any, each with its column."""
    return [
        Numbers(member.run.name, member.run.arm, member.series.reward, member.reward)
        for member in members
        if member.reward is not None
    ]


def _in_unit(members: Sequence[Member], unit: InOneUnit) -> list[Member]:
    """The runs with their rewards in one unit, and behind them those that have none."""
    with_rewards = [member for member in members if member.reward is not None]
    scaled = [
        member._replace(series=member.series.times(factor), factor=factor)
        for member, factor in zip(with_rewards, unit.factors, strict=True)
    ]
    return scaled + [member for member in members if member.reward is None]


def _along_in_unit(members: Sequence[Member]) -> tuple[list[Member], Sequence[Finding]]:
    """The runs with the column at equal values of which they are compared in one unit; what was converted.

    Raises as :func:`in_one_unit`.
    """
    with_column = [member for member in members if member.along is not None]
    numbers = [
        Numbers(member.run.name, member.run.arm, member.series.along, member.along)
        for member in with_column
        if member.along is not None
    ]
    unit = in_one_unit({"": numbers}, "--at-equal")[""]
    scaled = []
    for member, factor in zip(with_column, unit.factors, strict=True):
        series = member.series
        series = replace(series, along=factor * series.along, error=factor * series.error)
        scaled.append(member._replace(series=series))
    return scaled + [member for member in members if member.along is None], unit.findings


def _said_of_units(
    of_labels: Mapping[str, Sequence[Member]], units: Mapping[str, InOneUnit], options: CompareOptions
) -> list[Finding]:
    """What was converted into one unit, and where units look unlike and nothing says so."""
    named = {named_unit(name)[1] for name in options.reward}
    findings: list[Finding] = []
    for label, members in of_labels.items():
        findings += units[label].findings
        if "percent" in named:
            findings += scales_unlike(_rewards_of(members), named=True)
        elif units[label].unit == "raw":
            findings += scales_unlike(_rewards_of(members), named=False)
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


def _other_entropies(runs: Sequence[ArmRun]) -> list[Finding]:
    """A caution where entropies were logged at another temperature or at another time in a step."""
    runs_by_logging: dict[_Logging, str] = {}
    for run in runs:
        log = run.input.run
        if log is not None and run.entry is not None and "entropy" in run.entry.columns:
            meaning = run.entry.columns["entropy"].meaning
            temperature = meaning.temperature
            setting = entropy_settings(log).temperature
            if setting is not None:
                temperature = f"{setting.value:g}"
            runs_by_logging.setdefault(_Logging(temperature, meaning.timing), run.name)
    if len(runs_by_logging) < 2:
        return []
    (logging, name), (other_logging, other_name) = islice(runs_by_logging.items(), 2)
    finding = caution(
        "entropies-not-the-same",
        run=name,
        how=logging.words_beside(other_logging),
        other=other_name,
        other_how=other_logging.words_beside(logging),
    )
    return [finding]


def _members(runs: Sequence[ArmRun], along: Along, options: CompareOptions) -> list[Member]:
    """The runs with what is compared of them: of those that have nothing the reason.

    Raises FitError (``reward-above-max``), UsageError (``no-such-column``, ``column-needs-logs``).
    """
    members: list[Member] = []
    for run in runs:
        try:
            member = _fitted(run) if along.column == ENTROPY else _logged(run, along.column, options)
        except InputError as error:
            member = _refused(run, error.message)
        unit = seed_of(run.name, run.input.path)
        members.append(member._replace(series=replace(member.series, unit=unit)))
    return members


_Kinds = dict[tuple[str | None, ...], ArmRun]
"""What a column is → the first run that has it."""


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
        differ = " and ".join(
            f"{shown(run.name)} ({run.arm}) has {', '.join(filter(None, kind))}"
            for kind, run in islice(kinds.items(), 2)
        )
        hint = f"name one column with --{name}, or compare runs of one kind"
        if name == "pairing":
            hint = "give --pair same or --pair next"
        message = f"the arms differ in {name}: {differ}"
        if name == "entropy":
            message += "; these entropies are not the same quantity"
        raise InputError("arms-mix-columns", message, hint)


def _refused(run: ArmRun, reason: str) -> Member:
    """A run that has nothing to compare."""
    none = np.empty(0)
    refused = f"refused: {reason}"
    return Member(
        run, RunSeries(run=run.name, step=none, reward=none, along=none, error=none, refused=refused)
    )


def _fitted(run: ArmRun) -> Member:
    """What is compared of the fit of a run.

    Raises FitError ``reward-above-max``: the run did not fail, as the largest reward is one of another unit.
    """
    if run.fit is None:
        if run.refusal is None:
            return _refused(run, "it has no fit")
        if run.refusal.slug == "reward-above-max":
            raise _above_max(run, run.refusal)
        return _refused(run, run.refusal.message)
    if run.fit.law is None:
        return _refused(run, run.fit.no_law.message if run.fit.no_law is not None else "it has no law")
    reward = column_of_fit(run.fit) if run.entry is None else run.entry.columns["reward"]
    return Member(run, series_of(run.fit), reward)


def _above_max(run: ArmRun, error: FitError | Refusal) -> FitError:
    """The error of a run whose rewards are above the largest: it did not fail, its unit is another one."""
    return FitError(error.slug, f"run {shown(run.name)}: {error.message}", error.hint)


def _logged(run: ArmRun, column: str, options: CompareOptions) -> Member:
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
    reward, at, values = rewards_at(log, column, options.reward)
    pairs = reward.pairs
    start = -np.inf if options.from_step is None else options.from_step
    inside = (max(at[0], start) <= pairs.step) & (pairs.step <= at[-1])
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
    smooth = step
    noise = np.zeros(step.size)
    along: Choice | None = None
    if column != STEP:
        smoothed = smoothed_entropy(at, values, step)
        smooth = smoothed.entropy
        noise = smoothed.sd
        along = Choice(
            column=column,
            meaning=Meaning(role="column", trainer="user"),
            why="named by the user",
            usable=values.size,
            unit=reward_unit(column, values),
            sort=sort_of_number(column),
        )
    is_score = reward.choice.is_score
    # Of two scores the one at equal values of which the other is compared says whether a run died.
    judged = value if is_score else None
    if along is not None and along.is_score and (is_reward(log, column) or is_share(column)):
        judged = values
    series = RunSeries(
        run=run.name,
        step=step,
        reward=value,
        along=smooth,
        error=noise,
        max_reward=most,
        is_score=is_score,
        lost=None if judged is None else loss_in(judged),
    )
    return Member(run, series, reward.choice, along)


def _check_distinct(members: Sequence[Member]) -> None:
    """Raise InputError ``run-in-two-arms`` for evaluations that are in two arms, or twice in one."""
    seen: dict[bytes, ArmRun] = {}
    for run, series, *_ in members:
        columns = (series.step, series.along, series.reward)
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
        message = f"run {shown(run.name)}{called} is in {where}, with the same evaluations"
        hint = "name each log once; of a log with several arms give the column: --arms COLUMN"
        if run.entry is None and not run.input.path:
            hint = "give every fit once, and name it by its seed: fit(..., name='grpo_s0')"
        raise InputError("run-in-two-arms", message, hint)


def _staged_runs(members: Sequence[Member], options: CompareOptions) -> dict[str, list[StagedRun]]:
    """Arm → its runs with their stages.

    Raises UsageError (``stages-need-logs``) and as :func:`entropylaw.roles.stages.stages_of`.
    """
    assert options.stage is not None
    staged: dict[str, list[StagedRun]] = {}
    for run, series, _, _, factor in members:
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
        before = chosen.reward_choice.meaning.kind != "training" and chosen.pair == "same"
        of_stages = StagedRun(series=series, stages=stages, rewards=rewards, before_update=before)
        staged.setdefault(run.arm, []).append(of_stages)
    return staged
