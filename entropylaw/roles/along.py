"""Rewards of a run at the values of any column: what is compared at equal tokens, cost, pass rate or step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from entropylaw.arrays import FloatArray
from entropylaw.errors import UsageError
from entropylaw.escaping import listing, nearest, shown
from entropylaw.logs.catalog import found
from entropylaw.logs.runs import Run
from entropylaw.logs.source import Meaning
from entropylaw.results.columns import Choice
from entropylaw.roles.choose import Chosen, ChosenReward, choose_rewards
from entropylaw.roles.rewards import named_columns, require_one_reward

STEP = "step"
"""In place of a column: the steps of the run."""


def rewards_at(run: Run, column: str, names: Sequence[str]) -> tuple[ChosenReward, FloatArray, FloatArray]:
    """The reward of a run for a comparison at equal values of a column; and that column with its steps.

    Raises
    ------
    UsageError
        ``no-such-column``: the run has no number in the column.
    InputError
        ``several-rewards``; ``no-reward-column`` and others, as :func:`entropylaw.roles.select.select`.
    """
    values = run.step if column == STEP and column not in run.columns else run.columns.get(column)
    if values is None or not np.isfinite(values).any():
        numbers = [name for name in run.columns if run.finite(name).size]
        near = nearest([column], numbers) or [STEP, *numbers]
        message = f"--at-equal {column}: run {shown(run.name)} has no number in a column of this name"
        raise UsageError("no-such-column", message, f"type --at-equal {near[0]}; it has {listing(near, 8)}")
    # Every row of the reward counts, whether the column was logged there or not.
    meaning = Meaning(role="column", trainer="user")
    choice = Choice(column=column, meaning=meaning, why="named by the user", usable=values.size)
    chosen = Chosen(choice=choice, values=np.zeros(run.step.size), notes=())
    there = np.isfinite(values)
    rewards = choose_rewards(run, chosen, next(iter(named_columns(run, names)), None), "same")
    require_one_reward(run.name, [reward.choice.label for reward in rewards if not reward.best.training])
    return rewards[0], run.step[there], values[there]


def is_reward(run: Run, column: str) -> bool:
    """Whether a column is a reward by the catalog."""
    return any(match.column == column for match in found(run, "validation", "training"))
