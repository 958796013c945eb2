"""From the runs of arms to what is compared: at equal entropy, at equal values of a column, by stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from entropylaw.analysis.arms import compare_rewards
from entropylaw.analysis.law.diagnostics import lost_reward
from entropylaw.analysis.law.evaluations import check_rewards
from entropylaw.analysis.seeds import series_of
from entropylaw.analysis.stages import StagedRun, stages_as_arms
from entropylaw.arrays import FloatArray
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
        refusals = [None if run.entry is None else run.entry.refusal for run in runs]
        lacking = [refusal is not None and refusal.slug == "no-entropy-column" for refusal in refusals]
        column = STEP if lacking and all(lacking) else ENTROPY
    if column == ENTROPY:
        return Along()
    return Along(column=column, unit="steps" if column == STEP else "")


def of_rewards(runs: Sequence[ArmRun]) -> dict[str, list[ArmRun]]:
    """Label of a reward → the runs with it, of the rewards that all runs with a fit have; or of the first."""
    entries = [
        {entry.reward: entry for entry in (run.entry, *run.others) if entry is not None} for run in runs
    ]
    fitted = [labels for labels, run in zip(entries, runs, strict=True) if run.fit is not None]
    common = [
        label for label in max(fitted, key=len, default={}) if all(label in labels for labels in fitted)
    ]
    if len(common) < 2:
        return {"": list(runs)}
    return {
        label: [
            run._replace(entry=labels[label], fit=labels[label].result) if label in labels else run
            for run, labels in zip(runs, entries, strict=True)
        ]
        for label in common
    }


def results_of(
    arms: Sequence[str], runs: Sequence[ArmRun], options: CompareOptions, baseline: str | None
) -> list[ArmComparison]:
    """The comparison of arms in every reward; runs without a series count as failed.

    Raises InputError (``run-in-two-arms``, ``arms-mix-columns``, ``unlike-rewards``, ``unit-unclear``);
    FitError (``reward-above-max``); UsageError (``no-such-column``, ``column-needs-logs``,
    ``stages-need-logs``, and as :func:`entropylaw.analysis.arms.undecided`).
    """
    along = along_of(runs, options)
    how: dict[str, Any] = {"baseline": baseline, "paired": "seed" if options.pair == "seed" else ""}
    rewards: dict[str, dict[str, list[RunSeries]]] = {}
    of_labels: dict[str, list[Member]] = {}
    limits: list[Finding] = []
    for label, of_reward in of_rewards(runs).items():
        refuse_other_columns(of_reward)
        of_labels[label], of_along = _along_in_unit(taken(of_reward, along, options))
        limits += of_along
    units = _units_of(of_labels)
    limits += _said_of_units(of_labels, units, options)
    for label, of_label in of_labels.items():
        members = _in_unit(of_label, units[label])
        whole = [member for member in members if member.series.step.size]
        refuse_same_run(whole)
        if options.stage is None:
            rewards[label] = {
                arm: [member.series for member in members if member.run.arm == arm] for arm in arms
            }
        else:
            rewards[label], pairs = stages_as_arms(staged_runs(whole, options))
            how = {"pairs": pairs, "paired": "run"}
    results = compare_rewards(
        rewards,
        level=options.level,
        margin=options.margin,
        along=along,
        **how,
    )
    limits += other_entropies(runs)
    if options.at_equal is None and along.column == STEP:
        limits.append(note("no-entropy-in-arms"))
    return [
        replace(
            result,
            reward_unit=units[label].unit,
            findings=(*result.findings, *limits),
        )
        for label, result in zip(rewards, results, strict=True)
    ]


def _units_of(of_labels: Mapping[str, Sequence[Member]]) -> dict[str, InOneUnit]:
    """The unit of each reward of a comparison, by its label; raises as :func:`in_one_unit`."""
    return in_one_unit({label: _rewards_of(members) for label, members in of_labels.items()})


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


def other_entropies(runs: Sequence[ArmRun]) -> list[Finding]:
    """A caution where entropies were logged at another temperature or at another time in a step."""
    kinds: dict[tuple[str | None, str | None], str] = {}
    for run in runs:
        log, entry = run.input.run, run.entry
        if log is not None and entry is not None and run.fit is not None:
            meaning, set_to = entry.columns["entropy"].meaning, entropy_settings(log).temperature
            temperature = meaning.temperature if set_to is None else f"{set_to.value:g}"
            kinds.setdefault((temperature, meaning.timing), run.name)
    if len(kinds) < 2:
        return []
    (first, name), (second, other) = islice(kinds.items(), 2)
    differ = 0 if first[0] != second[0] else 1
    words = ("sampled at temperature {}", "logged {}")[differ]
    how, other_how = (words.format(kind[differ] or "unknown") for kind in (first, second))
    return [caution("entropies-not-the-same", run=name, how=how, other=other, other_how=other_how)]


def taken(runs: Sequence[ArmRun], along: Along, options: CompareOptions) -> list[Member]:
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


Kinds = dict[tuple[str | None, ...], ArmRun]
"""What a column is → the first run that has it."""


def refuse_other_columns(runs: Sequence[ArmRun]) -> None:
    """Refuse arms whose entropies or pairings differ: their numbers do not compare.

    Raises InputError (``arms-mix-columns``), which names two runs.
    """
    entropies: Kinds = {}
    pairings: Kinds = {}
    for run in runs:
        if run.entry is not None and run.fit is not None:
            entropy, reward = run.entry.columns["entropy"], run.entry.columns["reward"]
            measures = (entropy.meaning.unit, entropy.meaning.aggregation, entropy.meaning.estimator)
            # Of an entropy of unknown meaning the name counts.
            entropies.setdefault(measures if any(measures) else (entropy.column,), run)
            pairings.setdefault((reward.pair,), run)
    refuse_mixed("entropy", entropies)
    refuse_mixed("pairing", pairings)


def refuse_mixed(name: str, kinds: Kinds) -> None:
    """Refuse several kinds of what the arms have to have in common; as :func:`refuse_other_columns`."""
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


def _refused(run: ArmRun, why: str) -> Member:
    """A run that has nothing to compare."""
    none = np.empty(0)
    why = f"refused: {why}"
    return Member(run, RunSeries(run=run.name, step=none, reward=none, along=none, error=none, refused=why))


def _fitted(run: ArmRun) -> Member:
    """What is compared of the fit of a run.

    Raises FitError ``reward-above-max``: the run did not fail, as the largest reward is one of another unit.
    """
    if run.fit is None:
        refusal = None if run.entry is None else run.entry.refusal
        if refusal is not None and refusal.slug == "reward-above-max":
            raise _above_max(run, refusal)
        return _refused(run, "it has no fit" if refusal is None else refusal.message)
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
        message = f"--at-equal reads a column of logs, and {shown(run.name)} is a stored fit"
        raise UsageError("column-needs-logs", message, "give the logs themselves")
    reward, at, values = rewards_at(log, column, options.reward)
    pairs = reward.pairs
    start = -np.inf if options.from_step is None else options.from_step
    inside = (max(at[0], start) <= pairs.step) & (pairs.step <= at[-1])
    step, value = pairs.step[inside], pairs.reward[inside]
    if not step.size:
        return _refused(run, f"it has no reward between the steps of {shown(column)}")
    most = LARGEST.get(reward.unit) if options.max_reward is None else options.max_reward
    most = most if isinstance(most, float) else None
    try:
        check_rewards(value, most)
    except FitError as error:
        raise _above_max(run, error) from None
    smooth = step
    noise = np.zeros(step.size)
    along: Choice | None = None
    if column != STEP:
        smoothed = smoothed_entropy(at, values, step)
        smooth, noise = smoothed.entropy, smoothed.sd
        along = _column_at(column, values)
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
        lost=None if judged is None else lost_reward(judged),
    )
    return Member(run, series, reward.choice, along)


def _column_at(column: str, values: FloatArray) -> Choice:
    """A column at equal values of which rewards are compared, with its unit."""
    return Choice(
        column=column,
        meaning=Meaning(role="column", trainer="user"),
        why="named by the user",
        usable=values.size,
        unit=reward_unit(column, values),
        sort=sort_of_number(column),
    )


def refuse_same_run(members: Sequence[Member]) -> None:
    """Refuse evaluations that are in two arms, or twice in one.

    Raises InputError ``run-in-two-arms``.
    """
    seen: dict[bytes, ArmRun] = {}
    for run, series, *_ in members:
        columns = (series.step, series.along, series.reward)
        with np.errstate(over="ignore"):
            # In single precision a percentage is the rate that it was converted from.
            arrays = [np.asarray(values, dtype=np.float32) for values in columns]
        first = seen.setdefault(b"".join(array.tobytes() for array in arrays), run)
        if first is run:
            continue
        where = f"arms {shown(first.arm)} and {shown(run.arm)}"
        if first.arm == run.arm:
            where = f"arm {shown(run.arm)} twice"
        called = "" if first.name == run.name else f" (there called {shown(first.name)})"
        message = f"run {shown(run.name)}{called} is in {where}, with the same evaluations"
        hint = "name each log once; of a log with several arms give the column: --arms COLUMN"
        if run.entry is None and not run.input.path:
            hint = "give every fit once, and name it by its seed: fit_law(..., run='grpo_s0')"
        raise InputError("run-in-two-arms", message, hint)


def staged_runs(members: Sequence[Member], options: CompareOptions) -> dict[str, list[StagedRun]]:
    """Arm → its runs with their stages.

    Raises UsageError (``stages-need-logs``) and as :func:`entropylaw.roles.stages.stages_of`.
    """
    assert options.stage is not None
    staged: dict[str, list[StagedRun]] = {}
    for run, series, _, _, factor in members:
        log = run.input.run
        if log is None:
            message = f"--stage reads a column of logs, and {shown(run.name)} is a stored fit"
            raise UsageError("stages-need-logs", message, "give the logs themselves")
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
