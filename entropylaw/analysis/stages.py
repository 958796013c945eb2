"""Stages of training: what changes over each, and what later stages do to earlier domains.

Per run first, then over the seeds of an arm, with their spread pooled over arms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, product
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from entropylaw.analysis.between_seeds import spread
from entropylaw.analysis.law.estimates import checked_level, unknown
from entropylaw.arrays import FloatArray
from entropylaw.engine.local_level import level_now
from entropylaw.errors import UsageError
from entropylaw.escaping import shown
from entropylaw.results import Estimate
from entropylaw.results.arms import StageChange, Transfer
from entropylaw.results.result import Finding, note
from entropylaw.results.stages import StageCurve, StageRows

FEWEST_SMOOTHED = 4
"""Fewest values of a stage that are smoothed; of fewer the first or the last is taken as it is."""

BREADTH = ("semantic", "planning")
"""What shows whether a policy narrows; the first one that a log has."""

_CHANGE = "change of the smoothed level over the stage"
_REWARD = "smoothed reward at the end of the stage"
_BACKWARD = "backward transfer, per run first"

Arms = Mapping[str, Sequence[StageRows]]


class _Level(NamedTuple):
    """A smoothed level and its variance, 0 where that is unknown."""

    value: float
    variance: float

    def minus(self, other: _Level) -> _Level:
        return _Level(self.value - other.value, self.variance + other.variance)


class _Cell(NamedTuple):
    """What a number is of: the number of a stage, from 0, the quantity, and the domain."""

    number: int
    quantity: str
    domain: str


def stage_changes(arms: Arms, *, level: float = 0.95) -> tuple[StageChange, ...]:
    """Change of rewards and entropies over every stage.

    Parameters
    ----------
    arms
        Name of the arm → the stages of its runs, one per seed.
    level
        Of the intervals.

    Raises
    ------
    UsageError
        ``bad-level``; ``stages-differ``: runs of one arm with different stages.

    Notes
    -----
    The level at either end of a stage is that of a random walk observed with noise, from the values inside
    the stage. A reward on fixed problems starts a stage where it ended the one before: the policy is the
    same. Entropies, and rewards in training, are of the problems that the stage trains on, and start at the
    stage's first step. A run that has not reached a stage does not count in it. The variance between seeds is
    pooled over the arms that have two seeds or more, place by place; an arm with one seed has no interval.
    """
    checked_level(level)
    names = {arm: _stages(arm, runs) for arm, runs in arms.items()}
    cells: dict[_Cell, dict[str, list[_Level]]] = {}
    units: dict[str, str] = {}
    for arm, runs in arms.items():
        for rows in runs:
            for curve, number in product(rows.curves, range(len(rows.stages))):
                units[curve.quantity] = curve.unit
                if (change := level_change(rows, curve, number)) is not None:
                    cell = _Cell(number, curve.quantity, curve.domain)
                    cells.setdefault(cell, {}).setdefault(arm, []).append(change)
    estimates = {
        (arm, cell): (estimate, len(of_arm[arm]))
        for cell, of_arm in cells.items()
        for arm, estimate in _over_seeds(of_arm, level, _CHANGE).items()
    }
    return tuple(
        StageChange(
            arm=arm,
            place=cell.number + 1,
            stage=names[arm][cell.number],
            quantity=cell.quantity,
            domain=cell.domain,
            unit=units[cell.quantity],
            change=estimates[arm, cell][0],
            seeds=estimates[arm, cell][1],
        )
        for arm in arms
        for cell in sorted(cells, key=lambda cell: cell.number)
        if (arm, cell) in estimates
    )


def breadth(changes: Sequence[StageChange]) -> tuple[Finding, ...]:
    """Whether each stage narrows or widens the policy, by its semantic entropy or else that of planning.

    Undecided where the interval of the change contains 0, or there is none.
    """
    of_stages: dict[tuple[str, int], dict[str, StageChange]] = {}
    for change in changes:
        of_stages.setdefault((change.arm, change.place), {})[change.quantity] = change
    findings = []
    for (arm, _), by_quantity in of_stages.items():
        quantity = next(filter(by_quantity.__contains__, BREADTH), None)
        if quantity is None or by_quantity[quantity].change.value is None:
            continue
        change = by_quantity[quantity]
        ends = {"low": change.change.low, "high": change.change.high}
        values = {"change": change.change.value, **ends, "seeds": change.seeds}
        says = direction(change.change)
        findings.append(
            note("stage-breadth", arm=arm, stage=change.stage, quantity=quantity, says=says, **values)
        )
    return tuple(findings)


def direction(change: Estimate) -> str:
    """Whether a change widens or narrows, undecided where its interval contains 0 or is unknown."""
    if change.low is None or change.high is None or change.low <= 0 <= change.high:
        return "undecided"
    return "widens" if (change.value or 0.0) > 0 else "narrows"


def transfers(arms: Arms, *, level: float = 0.95) -> tuple[Transfer, ...]:
    """Reward on every domain after every stage, and backward transfer, of arms with several domains.

    Parameters and errors as for :func:`stage_changes`.

    Notes
    -----
    Backward transfer is (1/(T − 1))·Σ (R_T,i − R_i,i) over the stages i before the last (Lopez-Paz & Ranzato
    2017, arXiv:1706.08840): the reward on what stage i trained on, after the last stage minus after stage i.
    A stage that trains on several domains has their mean. It is computed per run, so that what a seed has in
    common after both stages cancels.
    """
    checked_level(level)
    compared = with_domains(arms)
    rewards = final_rewards(compared, level)
    gains: dict[str, list[_Level]] = {}
    reasons: dict[str, str] = {}
    for arm, runs in compared.items():
        for gain in map(backward_transfer, runs):
            if isinstance(gain, _Level):
                gains.setdefault(arm, []).append(gain)
            else:
                reasons.setdefault(arm, gain)
    backward = _over_seeds(gains, level, _BACKWARD)
    none = unknown("not evaluated in this stage", level=level, method=_REWARD)
    transfers_of = []
    for arm, runs in compared.items():
        stages, domains = runs[0].stages, runs[0].domains
        table = tuple(
            tuple(rewards.get((number, domain), {}).get(arm, none) for domain in domains)
            for number in range(len(stages))
        )
        mean_gain = backward.get(arm) or unknown(reasons[arm], level=level, method=_BACKWARD)
        transfers_of.append(
            Transfer(
                arm=arm, stages=stages, domains=domains, reward=table, backward=mean_gain, seeds=len(runs)
            )
        )
    return tuple(transfers_of)


def with_domains(arms: Arms) -> dict[str, list[StageRows]]:
    """The runs that have reached all stages, of the arms with several domains."""
    compared = {}
    for arm, runs in arms.items():
        count = len(_stages(arm, runs))
        whole = [rows for rows in runs if len(rows.stages) == count]
        if whole and len(whole[0].domains) > 1:
            compared[arm] = whole
    return compared


def final_rewards(arms: Arms, level: float) -> dict[tuple[int, str], dict[str, Estimate]]:
    """Number of a stage, from 0, and domain → arm → the reward on the domain at the end of the stage."""
    ends: dict[tuple[int, str], dict[str, list[_Level]]] = {}
    most: dict[str, float] = {}
    for arm, runs in arms.items():
        for rows in runs:
            for curve in rows.curves:
                if curve.quantity == "reward":
                    most[curve.domain] = max(curve.max_reward, most.get(curve.domain, -np.inf))
            for number, domain in product(range(len(rows.stages)), runs[0].domains):
                if (end := _reward(rows, number, domain)) is not None:
                    ends.setdefault((number, domain), {}).setdefault(arm, []).append(end)
    return {cell: _over_seeds(of_arm, level, _REWARD, most[cell[1]]) for cell, of_arm in ends.items()}


def _stages(arm: str, runs: Sequence[StageRows]) -> tuple[str, ...]:
    """The stages of an arm: those of its longest run, of which all others have the first ones."""
    longest = max(runs, key=lambda rows: len(rows.stages), default=None)
    if longest is None:
        return ()
    for rows in runs:
        if rows.stages != longest.stages[: len(rows.stages)]:
            message = (
                f"runs {shown(longest.run)} and {shown(rows.run)} of arm {shown(arm)} have different stages: "
            )
            message += f"{', '.join(longest.stages)} and {', '.join(rows.stages)}"
            raise UsageError("stages-differ", message, "put them into two arms: one=LOGS other=LOGS")
    return longest.stages


def _inside(rows: StageRows, curve: StageCurve, number: int) -> tuple[FloatArray, FloatArray]:
    """Steps and values of a curve in a stage."""
    there = (rows.first[number] <= curve.step) & (curve.step <= rows.last[number])
    if curve.evaluated and rows.before_update and number + 1 < len(rows.stages):
        # Evaluated before the first update of the next stage: the policy is still that of this one.
        there |= curve.step == rows.first[number + 1]
    return curve.step[there], curve.value[there]


def _last_level(step: FloatArray, value: FloatArray) -> _Level | None:
    """The level at the last of some steps."""
    if value.size < FEWEST_SMOOTHED or np.ptp(value) == 0:
        return _Level(float(value[-1]), 0.0) if value.size else None
    level = level_now(step, value)
    return _Level(level.mean(), float(np.nan_to_num(level.sd(), posinf=0.0)) ** 2)


def _end(rows: StageRows, curve: StageCurve, number: int) -> _Level | None:
    """The level at the end of a stage."""
    return _last_level(*_inside(rows, curve, number))


def level_change(rows: StageRows, curve: StageCurve, number: int) -> _Level | None:
    """The change of a level over a stage; of fixed problems from the end of the stage before."""
    if curve.evaluated and number:
        start = _end(rows, curve, number - 1)
    else:
        step, value = _inside(rows, curve, number)
        start = _last_level(-step[::-1], value[::-1])
    end = _end(rows, curve, number)
    return None if start is None or end is None else end.minus(start)


def _reward(rows: StageRows, number: int, domain: str) -> _Level | None:
    curve = rows.curve("reward", domain)
    return None if curve is None else _end(rows, curve, number)


def backward_transfer(rows: StageRows) -> _Level | str:
    """The backward transfer of a run, or why it has none."""
    last, total, variance = len(rows.stages) - 1, 0.0, 0.0
    if last < 1:
        return "one stage: nothing comes after it"
    for number in range(last):
        of_stage = rows.trained[number]
        if not of_stage:
            return f"no domain of stage {rows.stages[number]} is known: name their column with --domain"
        for domain in of_stage:
            after, then = _reward(rows, last, domain), _reward(rows, number, domain)
            if after is None or then is None:
                return f"{domain} is not evaluated in all stages"
            gain = after.minus(then)
            total += gain.value / len(of_stage)
            variance += gain.variance / len(of_stage) ** 2
    return _Level(total / last, variance / last**2)


def _over_seeds(
    of_arm: Mapping[str, Sequence[_Level]], level: float, method: str, most: float = np.inf
) -> dict[str, Estimate]:
    """The mean over the seeds of every arm, at most ``most``; its t-interval from their pooled spread.

    An arm whose spread is unlike the others' (Bartlett's test) has its own.
    """
    arm = np.repeat(np.arange(len(of_arm)), [len(levels) for levels in of_arm.values()])
    value, variance = np.array([*chain.from_iterable(of_arm.values())]).reshape(-1, 2).T
    pooled = spread(value, variance, arm) if arm.size else None
    estimates = {}
    for index, (name, levels) in enumerate(of_arm.items()):
        mean, seeds = min(float(value[arm == index].mean()), most), len(levels)
        if pooled is None or seeds == 1:
            reason = "one seed: no between-seed variance"
            estimates[name] = Estimate(
                value=mean, low=None, high=None, level=level, method=method, note=reason
            )
            continue
        df = pooled.df_of(index)
        error = float(np.sqrt(pooled.variance_of(index) / seeds))
        reach = float(stdtrit(df, 0.5 + 0.5 * level)) * error
        how = "pooled over arms" if pooled.like[index] else "of the arm alone"
        estimates[name] = Estimate(
            value=mean,
            low=mean - reach,
            high=min(mean + reach, most),
            level=level,
            method=f"{method}; spread of seeds {how} (df {df:g})",
            std_error=error,
        )
    return estimates
