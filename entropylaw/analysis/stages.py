"""Stages of training: what changes over each, and what later stages do to earlier domains.

Per run first, then over the seeds of an arm, with their spread pooled over arms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from entropylaw.analysis.between_seeds import spread
from entropylaw.analysis.law.estimates import checked_level, unknown
from entropylaw.analysis.members import level_now
from entropylaw.arrays import FloatArray
from entropylaw.errors import UsageError
from entropylaw.escaping import shown
from entropylaw.results import Estimate
from entropylaw.results.arms import StageChange, Transfer
from entropylaw.results.result import Finding, note
from entropylaw.results.stages import StageCurve, StageRows

FEWEST = 4
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
    """What a number is of: the place of a stage, from 0, the quantity, and the domain."""

    place: int
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
            for curve, place in product(rows.curves, range(len(rows.stages))):
                units[curve.quantity] = curve.unit
                if (change := level_change(rows, curve, place)) is not None:
                    cell = _Cell(place, curve.quantity, curve.domain)
                    cells.setdefault(cell, {}).setdefault(arm, []).append(change)
    found = {
        (arm, cell): (known, len(of_arm[arm]))
        for cell, of_arm in cells.items()
        for arm, known in _over_seeds(of_arm, level, _CHANGE).items()
    }
    return tuple(
        StageChange(
            arm=arm,
            place=cell.place + 1,
            stage=names[arm][cell.place],
            quantity=cell.quantity,
            domain=cell.domain,
            unit=units[cell.quantity],
            change=found[arm, cell][0],
            seeds=found[arm, cell][1],
        )
        for arm in arms
        for cell in sorted(cells, key=lambda cell: cell.place)
        if (arm, cell) in found
    )


def breadth(changes: Sequence[StageChange]) -> tuple[Finding, ...]:
    """Whether each stage narrows or widens the policy, by its semantic entropy or else that of planning.

    Undecided where the interval of the change contains 0, or there is none.
    """
    findings = []
    for arm, place in dict.fromkeys((one.arm, one.place) for one in changes):
        of_stage = {one.quantity: one for one in changes if (one.arm, one.place) == (arm, place)}
        one = next((of_stage[name] for name in BREADTH if name in of_stage), None)
        if one is None or one.change.value is None:
            continue
        change = one.change
        known = {"change": change.value, "low": change.low, "high": change.high, "seeds": one.seeds}
        says = direction(change)
        finding = note("stage-breadth", arm=arm, stage=one.stage, quantity=one.quantity, says=says, **known)
        findings.append(finding)
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
    gains = {arm: [backward_transfer(rows) for rows in runs] for arm, runs in compared.items()}
    known = {arm: [one for one in of_arm if isinstance(one, _Level)] for arm, of_arm in gains.items()}
    backward = _over_seeds({arm: of_arm for arm, of_arm in known.items() if of_arm}, level, _BACKWARD)
    none = unknown("not evaluated in this stage", level=level, method=_REWARD)
    found = []
    for arm, runs in compared.items():
        stages, domains = runs[0].stages, runs[0].domains
        table = tuple(
            tuple(rewards.get((place, domain), {}).get(arm, none) for domain in domains)
            for place in range(len(stages))
        )
        gain = backward.get(arm) or unknown(str(gains[arm][0]), level=level, method=_BACKWARD)
        found.append(
            Transfer(arm=arm, stages=stages, domains=domains, reward=table, backward=gain, seeds=len(runs))
        )
    return tuple(found)


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
    """Place of a stage, from 0, and domain → arm → the reward on the domain at the end of the stage."""
    ends: dict[tuple[int, str], dict[str, list[_Level]]] = {}
    most: dict[str, float] = {}
    for arm, runs in arms.items():
        for rows in runs:
            for curve in rows.curves:
                if curve.quantity == "reward":
                    most[curve.domain] = max(curve.max_reward, most.get(curve.domain, -np.inf))
            for place, domain in product(range(len(rows.stages)), runs[0].domains):
                if (end := _reward(rows, place, domain)) is not None:
                    ends.setdefault((place, domain), {}).setdefault(arm, []).append(end)
    return {cell: _over_seeds(of_arm, level, _REWARD, most[cell[1]]) for cell, of_arm in ends.items()}


def _stages(arm: str, runs: Sequence[StageRows]) -> tuple[str, ...]:
    """The stages of an arm: those of its longest run, of which all others have the first ones."""
    longest = max(runs, key=lambda one: len(one.stages), default=None)
    if longest is None:
        return ()
    for one in runs:
        if one.stages != longest.stages[: len(one.stages)]:
            what = (
                f"runs {shown(longest.run)} and {shown(one.run)} of arm {shown(arm)} have different stages: "
            )
            what += f"{', '.join(longest.stages)} and {', '.join(one.stages)}"
            raise UsageError("stages-differ", what, "put them into two arms: one=LOGS other=LOGS")
    return longest.stages


def _inside(rows: StageRows, curve: StageCurve, place: int) -> tuple[FloatArray, FloatArray]:
    """Steps and values of a curve in a stage."""
    there = (rows.first[place] <= curve.step) & (curve.step <= rows.last[place])
    if curve.evaluated and rows.before_update and place + 1 < len(rows.stages):
        # Evaluated before the first update of the next stage: the policy is still that of this one.
        there |= curve.step == rows.first[place + 1]
    return curve.step[there], curve.value[there]


def _last_level(step: FloatArray, value: FloatArray) -> _Level | None:
    """The level at the last of some steps."""
    if value.size < FEWEST or np.ptp(value) == 0:
        return _Level(float(value[-1]), 0.0) if value.size else None
    known = level_now(step, value)
    return _Level(known.mean(), float(np.nan_to_num(known.sd(), posinf=0.0)) ** 2)


def _end(rows: StageRows, curve: StageCurve, place: int) -> _Level | None:
    """The level at the end of a stage."""
    return _last_level(*_inside(rows, curve, place))


def level_change(rows: StageRows, curve: StageCurve, place: int) -> _Level | None:
    """The change of a level over a stage; of fixed problems from the end of the stage before."""
    if curve.evaluated and place:
        start = _end(rows, curve, place - 1)
    else:
        step, value = _inside(rows, curve, place)
        start = _last_level(-step[::-1], value[::-1])
    end = _end(rows, curve, place)
    return None if start is None or end is None else end.minus(start)


def _reward(rows: StageRows, place: int, domain: str) -> _Level | None:
    curve = rows.curve("reward", domain)
    return None if curve is None else _end(rows, curve, place)


def backward_transfer(rows: StageRows) -> _Level | str:
    """The backward transfer of a run, or why it has none."""
    last, total, variance = len(rows.stages) - 1, 0.0, 0.0
    if last < 1:
        return "one stage: nothing comes after it"
    for place in range(last):
        of_stage = rows.trained[place]
        if not of_stage:
            return f"no domain of stage {rows.stages[place]} is known: name their column with --domain"
        for domain in of_stage:
            after, then = _reward(rows, last, domain), _reward(rows, place, domain)
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
    arm = np.repeat(np.arange(len(of_arm)), [len(each) for each in of_arm.values()])
    value, variance = np.array([one for each in of_arm.values() for one in each]).reshape(-1, 2).T
    known = spread(value, variance, arm) if arm.size else None
    found = {}
    for place, (name, each) in enumerate(of_arm.items()):
        mean, seeds = min(float(value[arm == place].mean()), most), len(each)
        if known is None or seeds == 1:
            why = "one seed: no between-seed variance"
            found[name] = Estimate(value=mean, low=None, high=None, level=level, method=method, note=why)
            continue
        df = known.df_of(place)
        error = float(np.sqrt(known.variance_of(place) / seeds))
        reach = float(stdtrit(df, 0.5 + 0.5 * level)) * error
        how = "pooled over arms" if known.like[place] else "of the arm alone"
        found[name] = Estimate(
            value=mean,
            low=mean - reach,
            high=min(mean + reach, most),
            level=level,
            method=f"{method}; spread of seeds {how} (df {df:g})",
            std_error=error,
        )
    return found
