"""What changes over the stages of runs, and what later stages do to earlier domains, as means over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t

from entropylaw import Run
from entropylaw.analysis.seeds import last_level
from entropylaw.analysis.stages import StagedRun
from entropylaw.arrays import FloatArray
from entropylaw.results import Estimate
from entropylaw.results.arms import RunSeries
from entropylaw.roles.stages import stages_of

ENTROPIES = {"planning": "entropy_planning", "semantic": "entropy_semantic"}
"""Quantities beside the reward → their columns."""

METHOD = "mean over seeds, their spread pooled"


@dataclass(frozen=True)
class StageChange:
    """The change of a quantity over a stage, the mean over the seeds of an arm; of a reward by domain."""

    arm: str
    place: int
    stage: str
    quantity: str
    domain: str
    change: Estimate
    seeds: int


@dataclass(frozen=True)
class Transfer:
    """Rewards on every domain after every stage, and backward transfer: means over the seeds of an arm."""

    arm: str
    stages: tuple[str, ...]
    domains: tuple[str, ...]
    reward: tuple[tuple[Estimate, ...], ...]
    backward: Estimate
    seeds: int


def staged(run: Run, columns: Sequence[str], reward: str) -> dict[str, StagedRun]:
    """Quantity → the run in its stages; evaluations are of the policy before the update of their row."""
    domain = columns[1] if len(columns) > 1 else None
    stages, rewards = stages_of(run, columns[0], domain, reward)
    quantities = {"reward": reward} | {name: key for name, key in ENTROPIES.items() if key in run.columns}
    return {
        quantity: StagedRun(
            series=_series(run, column),
            stages=stages,
            rewards=rewards if quantity == "reward" else {},
            before_update=quantity == "reward",
        )
        for quantity, column in quantities.items()
    }


def _series(run: Run, column: str) -> RunSeries:
    there = np.isfinite(run.columns[column])
    step, values = run.step[there], run.columns[column][there]
    nothing = np.zeros(step.size)
    return RunSeries(run=run.name, step=step, reward=values, along=nothing, error=nothing)


def _change(run: StagedRun, number: int, domain: str) -> float | None:
    """Of fixed problems from the end of the stage before, of entropies from the first step of the stage."""
    inside = run.within(number, domain)
    if not inside.step.size:
        return None
    end = last_level(inside.step, inside.reward)
    if run.before_update and number:
        before = run.within(number - 1, domain)
        return end - last_level(before.step, before.reward)
    return end - last_level(-inside.step[::-1], inside.reward[::-1])


def over_seeds(arms: Mapping[str, FloatArray], level: float = 0.95) -> dict[str, Estimate]:
    """The mean of every arm, with the interval of the pooled spread."""
    df = sum(value.size - 1 for value in arms.values())
    squares = sum(float(((value - value.mean()) ** 2).sum()) for value in arms.values())
    estimates = {}
    for arm, value in arms.items():
        error = float(np.sqrt(squares / df / value.size)) if df else None
        reach = None if error is None else float(t.ppf(0.5 + level / 2, df)) * error
        mean = float(value.mean())
        ends = (None, None) if reach is None else (mean - reach, mean + reach)
        estimates[arm] = Estimate(
            value=mean, low=ends[0], high=ends[1], level=level, method=METHOD, std_error=error
        )
    return estimates


def stage_changes(arms: Mapping[str, Sequence[Mapping[str, StagedRun]]]) -> list[StageChange]:
    """The changes over every stage, of rewards and entropies."""
    numbers: dict[tuple[int, str, str], dict[str, list[float]]] = {}
    names: dict[tuple[str, int], str] = {}
    for arm, runs in arms.items():
        for quantities in runs:
            for quantity, run in quantities.items():
                for number, stage in enumerate(run.stages):
                    names[arm, number] = stage.name
                    for domain in ("", *run.rewards):
                        if (change := _change(run, number, domain)) is not None:
                            of_arm = numbers.setdefault((number, quantity, domain), {})
                            of_arm.setdefault(arm, []).append(change)
    changes = []
    for (number, quantity, domain), of_arm in numbers.items():
        values = {arm: np.array(value) for arm, value in of_arm.items()}
        for arm, mean in over_seeds(values).items():
            seeds = values[arm].size
            changes.append(StageChange(arm, number + 1, names[arm, number], quantity, domain, mean, seeds))
    order = list(arms)
    return sorted(changes, key=lambda one: (order.index(one.arm), one.place))


def direction(change: Estimate) -> str:
    """``rises``, ``falls``, or ``not decided`` where the interval contains 0 or is unknown."""
    if change.low is None or change.high is None or change.low <= 0 <= change.high:
        return "not decided"
    return "rises" if change.low > 0 else "falls"


def breadth(change: Estimate) -> str:
    """Whether a stage narrows or widens the policy, by the change of its semantic entropy."""
    return {"rises": "widens", "falls": "narrows"}.get(direction(change), "undecided")


def transfers(arms: Mapping[str, Sequence[Mapping[str, StagedRun]]]) -> list[Transfer]:
    """Rewards on domains after stages, and backward transfer, of arms with several domains."""
    rewarded = {arm: [run["reward"] for run in runs] for arm, runs in arms.items() if runs}
    rewarded = {arm: runs for arm, runs in rewarded.items() if len(runs[0].rewards) > 1}
    ends: dict[tuple[int, str], dict[str, FloatArray]] = {}
    gains: dict[str, FloatArray] = {}
    for arm, runs in rewarded.items():
        for number in range(len(runs[0].stages)):
            for domain in runs[0].rewards:
                inside = [run.within(number, domain) for run in runs]
                levels = [last_level(one.step, one.reward) for one in inside]
                ends.setdefault((number, domain), {})[arm] = np.array(levels)
        sides = [[run.transfer(later=later) for run in runs] for later in (True, False)]
        if all(end is not None for side in sides for end in side):
            later, own = (np.array([end.reward[0] for end in side if end is not None]) for side in sides)
            gains[arm] = later - own
    rewards = {cell: over_seeds(of_arm) for cell, of_arm in ends.items()}
    backward = over_seeds(gains)
    none = Estimate(value=None, low=None, high=None, level=0.95, method=METHOD, note="one stage")
    return [
        Transfer(
            arm=arm,
            stages=tuple(stage.name for stage in runs[0].stages),
            domains=tuple(runs[0].rewards),
            reward=tuple(
                tuple(rewards[number, domain][arm] for domain in runs[0].rewards)
                for number in range(len(runs[0].stages))
            ),
            backward=backward.get(arm, none),
            seeds=len(runs),
        )
        for arm, runs in rewarded.items()
    ]
