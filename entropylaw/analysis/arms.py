"""Arms of an experiment compared: the final reward, and the reward at equal entropy; and what is decided."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain, combinations, islice, starmap

import numpy as np

from entropylaw.analysis.between_seeds import holm
from entropylaw.analysis.differences import Comparison
from entropylaw.analysis.seeds import how_broken, seeds_of
from entropylaw.arguments import checked_level
from entropylaw.engine.levels import blocks_of
from entropylaw.engine.threads import one_thread
from entropylaw.errors import UsageError
from entropylaw.results.arms import Along, ArmComparison, Decision, Difference, Pair, RunSeries
from entropylaw.results.fit import Fit
from entropylaw.results.result import replace

BASELINES = ("vanilla", "base", "baseline", "grpo", "control")
"""Names of a baseline, most telling first."""

PART_OF_NAME = re.compile(r"[^\W_]+")
"""A part of a name, such as ``vanilla`` in ``vanilla_rho1.0``."""

WITH_ENTROPY = Along()
"""Rewards are compared at equal entropy."""


Arms = Mapping[str, Sequence[Fit | RunSeries]]
"""Name of an arm → its fits or series, one per seed, all of the same columns and pairing; of a run that could
not be read or fitted a series without evaluations."""


@one_thread
def compare_rewards(
    rewards: Mapping[str, Arms],
    *,
    baseline: str | None = None,
    level: float = 0.95,
    margin: float | None = None,
    along: Along = WITH_ENTROPY,
    paired: str = "",
    pairs: Sequence[tuple[str, str]] | None = None,
) -> list[ArmComparison]:
    """Compare arms of runs in every reward, by its label, the seed as the unit; all rewards are one family.

    Parameters
    ----------
    rewards
        Label of a reward, empty of a single one → the arms.
    baseline
        The arm that all others are compared with, by default the one of :func:`baseline_of`; ``"all"``
        compares all pairs.
    level, margin
        Level of the intervals; the smallest difference of reward that counts, in reward units: where not
        given, the largest of :func:`_usual_margin` over the runs.
    along
        The column at equal values of which rewards are compared, by default entropy.
    paired
        What runs of two arms are paired by, by their ``unit``; empty where they are not. Where that is
        ``"run"``, every run is compared at its own end.
    pairs
        The pairs that are compared, each an arm and its baseline, in place of one baseline.

    Raises
    ------
    UsageError
        ``bad-level``, ``too-few-arms``, ``nothing-paired``.
    """
    checked_level(level)
    results: list[ArmComparison] = []
    for label, arms in rewards.items():
        if len(arms) < 2:
            raise UsageError(
                "too-few-arms",
                f"{len(arms)} arm, expected at least 2",
                "give two: entropylaw compare a=LOGS b=LOGS",
            )
        chosen: str | None = None
        how = ""
        compared = pairs
        if compared is None:
            compared, chosen, how = _pairs_with(baseline, arms)
        design = _design(
            arms,
            pairs=compared,
            comparisons=len(rewards) * len(compared),
            level=level,
            margin=margin,
            along=along,
            paired=paired,
        )
        results.append(
            ArmComparison(
                arms=tuple(map(design.arm, range(len(arms)))),
                baseline=chosen,
                chosen=how,
                pairs=tuple(starmap(design.pair, design.pairs)),
                p_arms=design.p_arms(),
                level=level,
                margin=design.margin,
                along=along,
                paired=paired,
                reward=label,
                findings=tuple(design.findings()),
            )
        )
    family = iter(decided([pair for result in results for pair in result.pairs], level))
    return [replace(result, pairs=tuple(islice(family, len(result.pairs)))) for result in results]


def _design(
    arms: Arms,
    *,
    pairs: Sequence[tuple[str, str]],
    comparisons: int,
    level: float,
    margin: float | None,
    along: Along,
    paired: str,
) -> Comparison:
    """The runs of some arms in one reward, and how they are compared; raises as :func:`compare_rewards`."""
    names = list(arms)
    seeds, refused = seeds_of(arms)
    if margin is None:
        margin = max((_usual_margin(seed.series) for seed in seeds), default=0.01)
    design = Comparison(
        names=names,
        seeds=seeds,
        refused=refused,
        pairs=[(names.index(arm), names.index(other)) for arm, other in pairs],
        level=level,
        margin=margin,
        along=along,
        paired=paired,
        comparisons=comparisons,
    )
    if paired and not any(starmap(design.units, design.pairs)):
        raise UsageError(
            "nothing-paired",
            f"no {paired} is in two arms",
            "leave out --pair seed, or name runs by their seeds",
        )
    return design


def _pairs_with(baseline: str | None, arms: Arms) -> tuple[Sequence[tuple[str, str]], str | None, str]:
    """The pairs that are compared, each an arm and its baseline; the one of all, and how it was chosen."""
    if baseline == "all":
        return [(later, earlier) for earlier, later in combinations(arms, 2)], None, ""
    how = "as named"
    if baseline is None:
        baseline, how = baseline_of({name: _unbroken(runs) for name, runs in arms.items()})
    return [(name, baseline) for name in arms if name != baseline], baseline, how


def _unbroken(runs: Sequence[Fit | RunSeries]) -> int:
    """The number of runs that are not broken."""
    return sum(not (run.is_broken if isinstance(run, Fit) else how_broken(run)) for run in runs)


def _usual_margin(run: RunSeries) -> float:
    """The difference that counts where none is given: a hundredth of the largest possible reward.

    Where that is unknown it is a hundredth of 1 for scores from 0 to 1, and else of their range, in a long
    run of the means over blocks.
    """
    largest = 1.0 if run.max_reward is None and run.is_score and run.reward.max() <= 1 else run.max_reward
    if largest and run.reward.min() >= 0:
        return 0.01 * largest
    return 0.01 * float(np.ptp(blocks_of(run.reward, run.reward).value))


def baseline_of(seeds: Mapping[str, int]) -> tuple[str, str]:
    """The baseline of arms, and how it was chosen: by its name, or most ``seeds`` that are not broken."""
    for name in BASELINES:
        matching = [arm for arm in seeds if arm.casefold() == name]
        if matching:
            return matching[0], "by its name"
    for name in BASELINES:
        matching = [arm for arm in seeds if name in PART_OF_NAME.findall(arm.casefold())]
        # A word that several arms have, such as the algorithm of all, distinguishes none.
        if len(matching) == 1:
            return matching[0], f"which has {name} in its name"
    most = max(seeds.values())
    first = next(arm for arm, count in seeds.items() if count == most)
    alone = sum(count == most for count in seeds.values()) == 1
    return first, "which has most seeds" if alone else "the first of those with most seeds"


def _decided_row(row: Difference, p: float, p_welch: float, level: float) -> Difference:
    """A difference with its adjusted p-values, and what is decided by the first."""
    decision = row.decision
    if p < 1.0 - level and row.estimate.value:
        decision = Decision.above if row.estimate.value > 0 else Decision.below
    beside = None if row.p_welch is None else p_welch
    return replace(row, p_adjusted=p, p_welch=beside, decision=decision)


def decided(pairs: Sequence[Pair], level: float) -> list[Pair]:
    """The pairs with Holm's p-values over the family, and over failure rates, and the decisions."""
    rows = list(chain.from_iterable(pair.differences for pair in pairs))
    headline = [i for i, row in enumerate(rows) if row.headline and row.p_value is not None]
    failures = [i for i, row in enumerate(rows) if row.quantity == "failure_rate"]
    for family in (headline, failures):
        by_seeds = holm([rows[i].p_value or 0.0 for i in family])
        # The exact test of failures has none of Welch's beside it.
        by_welch = holm([1.0 if (p := rows[i].p_welch) is None else p for i in family])
        for i, p, p_welch in zip(family, by_seeds, by_welch, strict=True):
            rows[i] = _decided_row(rows[i], p, p_welch, level)
    remaining = iter(rows)
    return [replace(pair, differences=tuple(islice(remaining, len(pair.differences)))) for pair in pairs]
