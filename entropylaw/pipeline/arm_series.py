"""From the runs of arms to what is compared: at equal entropy, at equal values of a column, by stage."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from entropylaw.analysis.arms import compare_rewards
from entropylaw.analysis.law.diagnostics import lost_reward
from entropylaw.analysis.seeds import lost_words, series_of
from entropylaw.analysis.stages import StagedRun, stages_as_arms
from entropylaw.engine.smoothing import smoothed_entropy
from entropylaw.errors import InputError, UsageError
from entropylaw.escaping import shown
from entropylaw.options import CompareOptions
from entropylaw.results.arms import Along, ArmComparison, RunSeries
from entropylaw.results.result import Finding, caution, note, replace
from entropylaw.roles.rewards import STEP, is_reward, rewards_at
from entropylaw.roles.select import select
from entropylaw.roles.settings import entropy_settings
from entropylaw.roles.stages import stages_of
from entropylaw.run_names import seed_of
from entropylaw.units import largest_reward

if TYPE_CHECKING:
    from entropylaw.documents.document import Entry
    from entropylaw.logs.runs import Run
    from entropylaw.pipeline.inputs import Input
    from entropylaw.results.columns import Choice
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

    Raises InputError (``run-in-two-arms``, ``arms-mix-columns``); UsageError (``no-such-column``,
    ``column-needs-logs``, ``stages-need-logs``, and as :func:`entropylaw.analysis.arms.undecided`).
    """
    along = along_of(runs, options)
    how: dict[str, Any] = {"baseline": baseline, "paired": "seed" if options.pair == "seed" else ""}
    rewards: dict[str, dict[str, list[RunSeries]]] = {}
    for label, of_reward in of_rewards(runs).items():
        refuse_other_columns(of_reward)
        members = taken(of_reward, along, options)
        whole = [(run, series) for run, series in members if series.step.size]
        refuse_same_run(whole)
        if options.stage is None:
            rewards[label] = {arm: [series for run, series in members if run.arm == arm] for arm in arms}
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
    limits = other_entropies(runs)
    if options.at_equal is None and along.column == STEP:
        limits.append(note("no-entropy-in-arms"))
    return [replace(result, findings=(*result.findings, *limits)) for result in results]


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


def taken(runs: Sequence[ArmRun], along: Along, options: CompareOptions) -> list[tuple[ArmRun, RunSeries]]:
    """The runs with what is compared of them: of those that have nothing the reason."""
    members: list[tuple[ArmRun, RunSeries]] = []
    rewards: Kinds = {}
    for run in runs:
        try:
            outcome = _series(run, along, options, rewards)
        except InputError as error:
            outcome = error.message
        if isinstance(outcome, str):
            none, reason = np.empty(0), f"refused: {outcome}"
            outcome = RunSeries(run=run.name, step=none, reward=none, along=none, error=none, lost=reason)
        members.append((run, replace(outcome, unit=seed_of(run.name, run.input.path))))
    refuse_mixed("reward", rewards)
    return members


Kinds = dict[tuple[str | None, ...], ArmRun]
"""What a column is → the first run that has it."""


def refuse_other_columns(runs: Sequence[ArmRun]) -> None:
    """Refuse arms whose entropies, rewards or pairings differ: their numbers do not compare.

    Raises InputError (``arms-mix-columns``), which names two runs.
    """
    entropies, rewards, pairings = Kinds(), Kinds(), Kinds()
    for run in runs:
        if run.entry is not None and run.fit is not None:
            entropy, reward = run.entry.columns["entropy"], run.entry.columns["reward"]
            measures = (entropy.meaning.unit, entropy.meaning.aggregation, entropy.meaning.estimator)
            # Of an entropy of unknown meaning the name counts.
            entropies.setdefault(measures if any(measures) else (entropy.column,), run)
            rewards.setdefault(reward_kind(reward), run)
            pairings.setdefault((reward.pair,), run)
    refuse_mixed("entropy", entropies)
    refuse_mixed("reward", rewards)
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


def reward_kind(choice: Choice) -> tuple[str | None, ...]:
    """The column of a reward and its kind."""
    return choice.column, choice.meaning.kind


def _series(run: ArmRun, along: Along, options: CompareOptions, rewards: Kinds) -> RunSeries | str:
    """What is compared of a run, or why it has nothing."""
    log = run.input.run
    if along.column == ENTROPY:
        return why_unfitted(run) if run.fit is None else series_of(run.fit)
    if log is None:
        if run.input.error is not None:
            return run.input.error.message
        message = f"--at-equal reads a column of logs, and {shown(run.name)} is a stored fit"
        raise UsageError("column-needs-logs", message, "give the logs themselves")
    reward, at, values = rewards_at(log, along.column, options.reward)
    rewards.setdefault(reward_kind(reward.choice), run)
    pairs = reward.pairs
    start = -np.inf if options.from_step is None else options.from_step
    inside = (max(at[0], start) <= pairs.step) & (pairs.step <= at[-1])
    step, value = pairs.step[inside], pairs.reward[inside]
    if not step.size:
        return f"it has no reward between the steps of {shown(along.column)}"
    smooth, error = step, np.zeros(step.size)
    if along.column != STEP:
        smoothed = smoothed_entropy(at, values, step)
        smooth, error = smoothed.entropy, smoothed.sd
    # Of two rewards the one at equal values of which the other is compared says whether a run died.
    judged = values if is_reward(log, along.column) else value
    return RunSeries(
        run=run.name,
        step=step,
        reward=value,
        along=smooth,
        error=error,
        max_reward=largest_of(log, reward.choice.column, options),
        lost=lost_words(lost_reward(judged)),
    )


def why_unfitted(run: ArmRun) -> str:
    """Why a run has no fit."""
    if run.entry is None or run.entry.refusal is None:
        return "it has no fit"
    return run.entry.refusal.message


def largest_of(log: Run, column: str, options: CompareOptions) -> float | None:
    """The largest possible reward of a column, as the user named it or else as its name says."""
    most = options.max_reward
    if most is None:
        most = largest_reward(column, log.finite(column))
    return most if isinstance(most, float) else None


def refuse_same_run(members: Sequence[tuple[ArmRun, RunSeries]]) -> None:
    """Refuse evaluations that are in two arms, or twice in one.

    Raises InputError ``run-in-two-arms``.
    """
    seen: dict[bytes, ArmRun] = {}
    for run, series in members:
        arrays = (np.asarray(values, dtype=float) for values in (series.step, series.along, series.reward))
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


def staged_runs(
    members: Sequence[tuple[ArmRun, RunSeries]], options: CompareOptions
) -> dict[str, list[StagedRun]]:
    """Arm → its runs with their stages.

    Raises UsageError (``stages-need-logs``) and as :func:`entropylaw.roles.stages.stages_of`.
    """
    assert options.stage is not None
    staged: dict[str, list[StagedRun]] = {}
    for run, series in members:
        log = run.input.run
        if log is None:
            message = f"--stage reads a column of logs, and {shown(run.name)} is a stored fit"
            raise UsageError("stages-need-logs", message, "give the logs themselves")
        chosen = select(log, entropy=options.entropy, reward=options.reward)
        stages, rewards = stages_of(log, options.stage, options.domain, chosen.reward_choice.column)
        before = chosen.reward_choice.meaning.kind != "training" and chosen.pair == "same"
        of_stages = StagedRun(series=series, stages=stages, rewards=rewards, before_update=before)
        staged.setdefault(run.arm, []).append(of_stages)
    return staged
