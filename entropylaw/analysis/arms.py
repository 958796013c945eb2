"""Arms of an experiment compared: the final reward, and the reward at equal entropy; and what is decided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations, islice, starmap
from typing import Any

import numpy as np

from entropylaw.analysis.between_seeds import holm
from entropylaw.analysis.differences import Comparison
from entropylaw.analysis.seeds import seeds_of
from entropylaw.arguments import checked_level
from entropylaw.engine.levels import blocks_of
from entropylaw.engine.threads import one_thread
from entropylaw.errors import UsageError
from entropylaw.results.arms import Along, ArmComparison, Decision, Difference, Pair, RunSeries
from entropylaw.results.fit import Fit
from entropylaw.results.result import replace

BASELINES = ("vanilla", "base", "baseline", "grpo", "control")
"""Names of a baseline, most telling first."""

WITH_ENTROPY = Along()
"""Rewards are compared at equal entropy."""


Arms = Mapping[str, Sequence[Fit | RunSeries]]
"""Name of an arm → its fits or series, one per seed, all of the same columns and pairing; of a run that could
not be read or fitted a series without evaluations."""


def compare_arms(arms: Arms, **options: Any) -> ArmComparison:
    """Compare arms of runs in one reward; ``options`` and errors as of :func:`compare_rewards`."""
    return compare_rewards({"": arms}, **options)[0]


@one_thread
def compare_rewards(rewards: Mapping[str, Arms], level: float = 0.95, **options: Any) -> list[ArmComparison]:
    """Compare arms of runs in every reward, by its label, the seed as the unit.

    All rewards are one family. ``options`` and errors as of :func:`undecided`.
    """
    checked_level(level)
    options |= {"level": level, "rewards": len(rewards)}
    results = [replace(undecided(arms, **options), reward=label) for label, arms in rewards.items()]
    pairs = iter(decided([pair for result in results for pair in result.pairs], level))
    return [replace(result, pairs=tuple(islice(pairs, len(result.pairs)))) for result in results]


def undecided(
    arms: Arms,
    *,
    rewards: int = 1,
    baseline: str | None = None,
    level: float = 0.95,
    margin: float | None = None,
    along: Along = WITH_ENTROPY,
    paired: str = "",
    pairs: Sequence[tuple[str, str]] | None = None,
) -> ArmComparison:
    """The differences of arms in one of several ``rewards``, before anything is decided.

    Parameters
    ----------
    arms, rewards
        The arms; and the number of rewards that are compared together.
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
        ``too-few-arms``, ``nothing-paired``.
    """
    names = list(arms)
    if len(names) < 2:
        raise UsageError(
            "too-few-arms",
            f"{len(names)} arm, expected at least 2",
            "give two: entropylaw compare a=LOGS b=LOGS",
        )
    chosen: str | None = None
    how = ""
    if pairs is None:
        pairs, chosen, how = _pairs_with(baseline, arms)
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
        comparisons=rewards * len(pairs),
    )
    if paired and not any(starmap(design.units, design.pairs)):
        raise UsageError(
            "nothing-paired",
            f"no {paired} is in two arms",
            "leave out --pair seed, or name runs by their seeds",
        )
    return ArmComparison(
        arms=tuple(map(design.arm, range(len(names)))),
        baseline=chosen,
        chosen=how,
        pairs=tuple(starmap(design.pair, design.pairs)),
        p_arms=design.p_arms(),
        level=level,
        margin=margin,
        along=along,
        paired=paired,
        findings=tuple(design.findings()),
    )


def _pairs_with(baseline: str | None, arms: Arms) -> tuple[Sequence[tuple[str, str]], str | None, str]:
    """The pairs that are compared, each an arm and its baseline; the one of all, and how it was chosen."""
    if baseline == "all":
        return [(later, earlier) for earlier, later in combinations(arms, 2)], None, ""
    how = "as named"
    if baseline is None:
        baseline, how = baseline_of({name: len(runs) for name, runs in arms.items()})
    return [(name, baseline) for name in arms if name != baseline], baseline, how


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
    """The baseline of arms with their numbers of seeds, and how it was chosen: its name, or most seeds."""
    for name in BASELINES:
        matching = [arm for arm in seeds if arm.casefold() == name]
        if matching:
            return matching[0], "by its name"
    most = max(seeds.values())
    first = next(arm for arm, count in seeds.items() if count == most)
    alone = sum(count == most for count in seeds.values()) == 1
    return first, "which has most seeds" if alone else "the first of those with most seeds"


def decided(pairs: Sequence[Pair], level: float) -> list[Pair]:
    """The pairs with Holm's p-values over the family, and over failure rates, and the decisions."""
    rows = list(chain.from_iterable(pair.differences for pair in pairs))
    headline = [i for i, row in enumerate(rows) if row.headline and row.p_value is not None]
    failures = [i for i, row in enumerate(rows) if row.quantity == "failure_rate"]
    for family in (headline, failures):
        for i, row in zip(family, adjusted([rows[i] for i in family], level), strict=True):
            rows[i] = row
    remaining = iter(rows)
    return [replace(pair, differences=tuple(islice(remaining, len(pair.differences)))) for pair in pairs]


def adjusted(family: Sequence[Difference], level: float) -> Iterator[Difference]:
    """The differences of one family with Holm's p-values, and with what they decide."""
    by_seeds = holm([row.p_value or 0.0 for row in family])
    by_welch = holm([1.0 if row.p_welch is None else row.p_welch for row in family])
    for row, p, p_welch in zip(family, by_seeds, by_welch, strict=True):
        value, decision = row.estimate.value, row.decision
        if p < 1.0 - level and value:
            decision = Decision.above if value > 0 else Decision.below
        # The exact test of failures has none of Welch's beside it.
        beside = None if row.p_welch is None else p_welch
        yield replace(row, p_adjusted=p, p_welch=beside, decision=decision)
