"""From a run to its rewards: every reward that is paired with the entropy, and their mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import reduce

import numpy as np

from entropylaw.arguments import text_or_none, texts
from entropylaw.arrays import FloatArray
from entropylaw.errors import InputError, UsageError
from entropylaw.escaping import in_shell, listing, nearest, shown
from entropylaw.logs.catalog import found
from entropylaw.logs.runs import Run, added, check_run
from entropylaw.logs.runs.step_column import by_folded_name, folded
from entropylaw.logs.source import Meaning
from entropylaw.results.columns import Choice, Refusal
from entropylaw.results.result import caution, replace
from entropylaw.roles import settings as run_settings
from entropylaw.roles.choose import ENOUGH_PAIRS, Chosen, Reward, choose_entropy, choose_rewards
from entropylaw.roles.pairing import logged_entropies
from entropylaw.roles.series import Series
from entropylaw.run_names import reward_matches
from entropylaw.units import LARGEST, unit_factor

MEAN = "mean"
"""The label of the mean of the validation rewards."""

STEP = "step"
"""In place of a column whose values are compared: the steps of the run."""

LATE = 1.5
"""Intervals between the evaluations of a reward after which another one shows that they have ended."""


def select_all(
    run: Run,
    *,
    entropy: str | Sequence[str] | None = None,
    reward: str | Sequence[str] | None = None,
    pair: str | None = None,
) -> tuple[Series, ...]:
    """Every reward of a run, with every entropy that the user names.

    Parameters and errors are those of :func:`~entropylaw.roles.select.select`. Without names: the best
    entropy of the catalog; the best validation reward with those of its kind on other data sets and their
    mean, or else the training reward. A reward may also be named by its label. Labels distinguish the
    series; one alone has none.
    """
    check_run(run)
    pair = text_or_none(pair, "pair")
    rewards = texts(reward, "reward")
    columns = named_columns(run, texts(entropy, "entropy"))
    series: list[Series] = []
    for column in columns or (None,):
        of_entropy = _of_entropy(run, column, rewards, pair)
        for paired in of_entropy:
            label = paired.label
            if len(columns) > 1:
                label = f"{label} × {column}" if len(of_entropy) > 1 else str(column)
            series.append(replace(paired, label=label))
    if len(series) == 1:
        return (replace(series[0], label=""),)
    return tuple(series)


def _of_entropy(run: Run, column: str | None, rewards: Sequence[str], pair: str | None) -> list[Series]:
    """The rewards with the entropy that the user names, or that of the catalog; with none where it has none.

    Where there is no reward either, the error is that of the entropy.
    """
    try:
        chosen = choose_entropy(run, column, next(iter(rewards), None))
        return _rewards(run, chosen, rewards, pair)
    except InputError as error:
        if column is not None:
            raise
        try:
            series = _rewards(run, None, rewards, pair)
        except InputError:
            raise error from None
        lacking = Refusal(slug=error.slug, message=error.message, hint=error.hint)
        return [replace(paired, no_entropy=lacking) for paired in series]


def named_columns(run: Run, names: Iterable[str]) -> list[str]:
    """The columns that the user names, some of them by patterns; a name is not checked."""
    columns: list[str] = []
    for name in names:
        columns += _matching(run, name) or [name]
    return columns


def check_one_reward(run: str, labels: Sequence[str]) -> None:
    """Refuse several rewards of a run, not counting a training reward beside a validation.

    Raises InputError ``several-rewards``, which names them.
    """
    if len(labels) > 1:
        raise InputError(
            "several-rewards",
            f"run {shown(run)} has {len(labels)} rewards, and arms are compared in one: {listing(labels, 8)}",
            f"name one: --reward {in_shell(labels[-1])}",
        )


def _matching(run: Run, name: str) -> list[str]:
    """The columns with a value that match a shell pattern; none for the name of a column."""
    if name in run.columns or not set(name) & set("*?["):
        return []
    return [column for column in run.columns if fnmatchcase(column, name) and run.finite(column).size]


def _rewards(run: Run, chosen: Chosen | None, names: Sequence[str], pair: str | None) -> list[Series]:
    """The rewards with one entropy or none: by default, or those that the user names by column or label."""
    if not names:
        series = list(_paired(run, chosen, choose_rewards(run, chosen, None, pair)))
        return _ended([*series, *_mean_of(series)])
    series = []
    for name in names:
        columns = [
            column for column in _matching(run, name) if chosen is None or column != chosen.choice.column
        ]
        labelled: list[Series] = []
        if not columns and folded(name) not in by_folded_name(run.columns):
            with suppress(InputError):  # there may be no reward by default
                by_default = _rewards(run, chosen, (), pair)
                labelled = [paired for paired in by_default if reward_matches(name, paired.label)]
        series += labelled
        if not labelled:
            for column in columns or [name]:
                series += _paired(run, chosen, choose_rewards(run, chosen, column, pair))
    return list({paired.reward_choice.column: paired for paired in series}.values())


def _paired(run: Run, chosen: Chosen | None, rewarded: Sequence[Reward]) -> Iterator[Series]:
    """The series of some rewards, each with a label of its own; raises ``no-pairs`` where none has a pair."""
    if chosen is not None and not any(len(reward.pairs) for reward in rewarded):
        best = rewarded[0]
        reasons = "; ".join(f"{reason}: {number}" for reason, number in best.pairs.dropped.items())
        raise InputError(
            "no-pairs",
            f"run {shown(run.name)}: no step has both. {shown(chosen.choice.column)} is there at steps "
            f"{_first_steps(run, chosen.values)}, {shown(best.choice.column)} at steps "
            f"{_first_steps(run, best.values)} ({reasons})",
            best.longer or "try --pair same or --pair next, or other columns with --entropy and --reward",
        )
    settings = run_settings.entropy_settings(run)
    entropies = None if chosen is None else chosen.values
    entropy_notes = () if chosen is None else chosen.notes
    labels = Counter(reward.choice.label for reward in rewarded)
    for reward in rewarded:
        pairs = reward.pairs
        label = reward.choice.label
        yield Series(
            run=run.name,
            source=run.source,
            step=pairs.step,
            entropy=pairs.entropy,
            reward=pairs.reward,
            entropy_choice=None if chosen is None else chosen.choice,
            reward_choice=reward.choice,
            dropped=pairs.dropped,
            notes=(*entropy_notes, *run_settings.notes(settings), *reward.notes(run)),
            findings=run_settings.findings(settings, run, entropies),
            offer=reward.longer,
            max_reward=LARGEST.get(reward.unit),
            logged=None if entropies is None else logged_entropies(run.step, entropies, pairs),
            unpaired=pairs.unpaired,
            end=float(run.step[-1]),
            pair_why=reward.pairing_why,
            label=label if labels[label] == 1 else reward.match.column,
        )


def _first_steps(run: Run, values: FloatArray) -> str:
    """The first steps at which there is a value, in words."""
    steps = run.step[np.isfinite(values)]
    listed = ", ".join(f"{step:g}" for step in steps[:4])
    return f"{listed}, …" if len(steps) > 4 else listed


def _mean_of(series: Sequence[Series]) -> list[Series]:
    """The mean of several validation rewards with enough pairs, at the steps that all of them have.

    It is in the unit of the first. There is none where the unit of another does not convert into that.
    """
    averaged = [paired for paired in series if paired.count >= ENOUGH_PAIRS and not paired.is_training]
    if len(averaged) < 2:
        return []
    base = averaged[0]
    unit = base.reward_choice.unit
    factors = [unit_factor(unit, paired.reward_choice.unit) for paired in averaged]
    if None in factors:
        return []
    # Every step at which all rewards have a value, and those of them at which there also is an entropy.
    evaluations = [paired.evaluations for paired in averaged]
    every_step = reduce(np.intersect1d, (step for step, _, _ in evaluations))
    paired_step = reduce(np.intersect1d, (paired.step for paired in averaged))
    common = [reward[np.isin(step, every_step)] for step, _, reward in evaluations]
    mean = np.mean(np.array(factors)[:, None] * common, axis=0)
    rows = np.isin(base.step, paired_step)
    is_paired = np.isin(every_step, paired_step)
    names = listing([paired.label for paired in averaged], 8)
    choice = replace(
        base.reward_choice,
        column=f"mean of {len(averaged)} rewards",
        why=f"with equal weights: {names}",
        usable=int(rows.sum()) if base.entropy_choice is not None else every_step.size,
        label=MEAN,
        parts=tuple(paired.reward_choice.column for paired in averaged),
    )
    averages = replace(
        base,
        step=base.step[rows],
        entropy=base.entropy[rows],
        reward=mean[is_paired],
        unpaired=None if is_paired.all() else (every_step[~is_paired], mean[~is_paired]),
        reward_choice=choice,
        dropped=added({"another reward has no value at that step": int(np.sum(~rows))}),
        offer="",
        label=MEAN,
    )
    return [averages]


def _ended(series: Sequence[Series]) -> list[Series]:
    """The series, with a caution for a validation whose evaluations end long before those of another."""
    validations = [paired for paired in series if not paired.is_training and paired.count]
    until = max((float(paired.evaluations[0][-1]) for paired in validations), default=0.0)
    marked = []
    for paired in series:
        findings = paired.findings
        step = paired.evaluations[0]
        if paired in validations and len(step) > 1:
            last = float(step[-1])
            if last + LATE * float(np.median(np.diff(step))) < until:
                findings += (caution("reward-ends", last=last, until=until),)
        marked.append(replace(paired, findings=findings))
    return marked


def rewards_at(run: Run, column: str, names: Sequence[str]) -> tuple[Reward, FloatArray, FloatArray]:
    """The reward of a run for a comparison at equal values of a column; and that column with its steps.

    Raises
    ------
    UsageError
        ``no-such-column``: the run has no number in the column.
    InputError
        ``several-rewards``; ``no-reward-column`` and others, as :func:`entropylaw.roles.select.select`.
    """
    values = run.columns.get(column)
    if values is None and column == STEP:
        values = run.step
    if values is None or not np.isfinite(values).any():
        numbers = [name for name in run.columns if run.finite(name).size]
        near = nearest([column], numbers) or [STEP, *numbers]
        raise UsageError(
            "no-such-column",
            f"--at-equal {column}: run {shown(run.name)} has no number in a column of this name",
            f"type --at-equal {near[0]}; it has {listing(near, 8)}",
        )
    # Every row of the reward counts, whether the column was logged there or not.
    meaning = Meaning(role="column", trainer="user")
    choice = Choice(column=column, meaning=meaning, why="named by the user", usable=values.size)
    chosen = Chosen(choice=choice, values=np.zeros(run.step.size), notes=())
    logged = np.isfinite(values)
    rewards = choose_rewards(run, chosen, next(iter(named_columns(run, names)), None), "same")
    check_one_reward(run.name, [reward.choice.label for reward in rewards if not reward.training])
    return rewards[0], run.step[logged], values[logged]


def is_reward(run: Run, column: str) -> bool:
    """Whether a column is a reward by the catalog."""
    return any(match.column == column for match in found(run, "validation", "training"))
