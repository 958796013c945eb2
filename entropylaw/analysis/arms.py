"""Arms of an experiment compared: the final reward, and the reward at equal entropy.

Each run has its own curve (:mod:`entropylaw.analysis.seeds`); then its numbers are compared between arms with
the seed as the unit (:mod:`entropylaw.analysis.between_seeds`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, islice, starmap
from typing import Any

import numpy as np

from entropylaw.analysis.between_seeds import share_interval
from entropylaw.analysis.differences import Design, decided
from entropylaw.analysis.law.estimates import checked_level, usual_gain
from entropylaw.analysis.seeds import (
    Seed,
    as_run,
    common_range,
    estimate_of,
    last_common_step,
    living,
    no_common_range,
    seeds_of,
)
from entropylaw.arrays import FloatArray
from entropylaw.engine.threads import one_thread
from entropylaw.errors import UsageError
from entropylaw.results import Estimate
from entropylaw.results.arms import (
    QUANTITIES,
    Along,
    Arm,
    ArmComparison,
    ArmRun,
    Band,
    Difference,
    Pair,
    RunSeries,
)
from entropylaw.results.fit import Fit
from entropylaw.results.result import Finding, caution, note, replace

BAND_POINTS = 21
"""Points of a band over the common range of entropies."""

BASELINES = ("vanilla", "base", "baseline", "grpo", "control")
"""Names of a baseline, most telling first."""

LIKE_PATHS = 0.8
"""Runs that have this share of their entropies in common walked one path."""

WITH_ENTROPY = Along()
"""Rewards are compared at equal entropy."""


Arms = Mapping[str, Sequence[Fit | RunSeries]]
"""Name of an arm → its fits or series, one per seed, all of the same columns and pairing."""


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
    refused: Mapping[str, Sequence[tuple[str, str]]] | None = None,
    level: float = 0.95,
    margin: float | None = None,
    between_sd: float | None = None,
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
    refused
        Name of the arm → (run, reason) of runs that have no series: they count as failed.
    level, margin
        Level of the intervals; the smallest difference of reward that counts, in reward units: where not
        given, the largest gain that counts in a run (:func:`entropylaw.analysis.law.estimates.usual_gain`).
    between_sd
        Standard deviation of a reward between seeds, where it is known from elsewhere: with one seed per arm
        there is no other way to an interval.
    along
        The column at equal values of which rewards are compared, by default entropy.
    paired
        What runs of two arms are paired by, by their ``unit``; empty where they are not.
    pairs
        The pairs that are compared, each an arm and its baseline, in place of one baseline; every run at its
        own end.

    Raises
    ------
    UsageError
        ``too-few-arms``, ``nothing-paired``.
    """
    names, refused, own_ends = list(arms), refused or {}, pairs is not None
    if len(names) < 2:
        message = f"{len(names)} arm, expected at least 2"
        raise UsageError("too-few-arms", message, "give two: entropylaw compare a=LOGS b=LOGS")
    chosen, how = None, ""
    if pairs is None:
        numbers = {name: len(arms[name]) + len(refused.get(name, ())) for name in names}
        pairs, chosen, how = chosen_pairs(numbers, baseline)
    seeds, failed = seeds_of(arms, refused)
    if margin is None:
        margin = max((usual_gain(seed.series.reward, seed.series.max_reward) for seed in seeds), default=0.01)
    design = _Comparison(
        names=names,
        seeds=seeds,
        refused=failed,
        pairs=[(names.index(arm), names.index(other)) for arm, other in pairs],
        level=level,
        margin=margin,
        between_sd=between_sd,
        along=along,
        paired=paired,
        own_ends=own_ends,
        comparisons=rewards * len(pairs),
    )
    if paired and not any(starmap(design.units, design.pairs)):
        message = f"no {paired} is in two arms"
        raise UsageError("nothing-paired", message, "leave out --pair seed, or name runs by their seeds")
    return ArmComparison(
        arms=tuple(map(design.arm, range(len(names)))),
        baseline=chosen,
        chosen=how,
        pairs=tuple(starmap(design.pair, design.pairs)),
        level=level,
        margin=margin,
        along=along,
        between_sd=between_sd,
        paired=paired,
        findings=tuple(design.findings()),
    )


def chosen_pairs(
    seeds: Mapping[str, int], baseline: str | None
) -> tuple[list[tuple[str, str]], str | None, str]:
    """The pairs that are compared, their baseline and how it was chosen; of ``"all"`` pairs there is none."""
    if baseline == "all":
        return [(later, earlier) for earlier, later in combinations(seeds, 2)], None, ""
    chosen, how = baseline_of(seeds) if baseline is None else (baseline, "as named")
    return [(arm, chosen) for arm in seeds if arm != chosen], chosen, how


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


class _Comparison(Design):
    """The arms, and their comparisons."""

    __slots__ = ()

    def arm(self, number: int) -> Arm:
        """The arm with its runs and its mean curve."""
        seeds, refused = self.of(number), self.refused[number]
        runs = [as_run(seed) for seed in seeds] + [
            ArmRun(run=run, n=0, last_step=None, failed=reason, along=(), reward=(), values={})
            for run, reason in refused
        ]
        lost = sum(run.failed is not None for run in runs)
        low, high = share_interval(lost, len(runs), self.level) if runs else (None, None)
        method = f"Clopper–Pearson, {lost} of {len(runs)} runs"
        rate = lost / len(runs) if runs else None
        failures = Estimate(value=rate, low=low, high=high, level=self.level, method=method)
        whole = Arm(arm=self.names[number], runs=tuple(runs), failure_rate=failures)
        if (common := common_range(seeds)) is None:
            return whole
        grid = np.linspace(*common, BAND_POINTS)
        mean = np.mean([seed.at(grid) for seed in living(seeds)], axis=0)
        return replace(whole, along=tuple(grid.tolist()), mean=tuple(mean.tolist()))

    def findings(self) -> list[Finding]:
        """Limits of all comparisons."""
        limits = []
        fits = [seed.series.fit for seed in self.seeds if seed.series.fit is not None]
        if fails := sum(str(fit.verdict) == "fails" for fit in fits):
            limits.append(caution("law-fails-in-arms", failing=fails, runs=len(fits)))
        if self.between_sd is not None:
            limits.append(caution("between-sd-given", sd=self.between_sd))
        starts = {(seed.series.unit, float(seed.series.reward[0])) for seed in self.seeds}
        first = dict(starts)
        first.pop("", None)
        pairs_up = len(starts) == len(first) == len(self.seeds) / len(self.names)
        # Where all runs begin with one reward, seeds need not share their data.
        if pairs_up and not self.paired and len(set(first.values())) > 1:
            limits.append(note("seeds-share-data"))
        return limits

    def pair(self, a: int, b: int) -> Pair:
        """One arm against another."""
        both = self.of(a, b)
        common = common_range(both)
        last = None if self.own_ends else last_common_step(both)
        differences = self.at_last_step(np.inf if last is None else last, a, b) if both else []
        band = None
        if common is None:
            names = (self.names[a], self.names[b])
            reason = no_common_range(both, names, self.along.column, self.along.unit)
            differences.append(self.unknown(self.along.quantity, reason, headline=True))
        else:
            at_equal, band = self.at_equal(np.linspace(*common, BAND_POINTS), a, b)
            differences.append(at_equal)
        if self.along.column == "entropy":
            differences += self.coefficients(common, a, b)
        differences.append(self.failures(a, b))
        named = {difference.quantity: difference for difference in differences}
        return Pair(
            arm=self.names[a],
            baseline=self.names[b],
            common=common,
            last_step=last,
            differences=tuple(named[name] for name in QUANTITIES if name in named),
            band=band,
        )

    def at_equal(self, grid: FloatArray, a: int, b: int) -> tuple[Difference, Band | None]:
        """Rewards at equal values of the column along which arms are compared, and the band of the curves."""
        covering = [seed for seed in living(self.seeds) if seed.covers(grid[0], grid[-1])]
        curves = {seed: seed.at(grid) for seed in covering}
        average = {seed: float(curve.mean()) for seed, curve in curves.items()}
        variance = {seed: seed.variance(grid) for seed in covering}
        bias = abs(float(self.bias(grid, curves, a, b).mean()))
        quantity, margin = self.along.quantity, self.margin
        rewards = self.difference(quantity, average, a, b, variance, margin, headline=True, bias=bias)
        return rewards, self.band(grid, curves, a, b)

    def at_last_step(self, last: float, a: int, b: int) -> list[Difference]:
        """Rewards at the last common step, in their parts, and what is left of the entropy."""
        levels = {seed: seed.reward_at(last) for seed in self.present(last, a, b)}
        alive = living(list(levels))
        rewards = {seed: levels[seed][0] for seed in alive}
        variance = {seed: levels[seed][1] ** 2 for seed in alive}
        differences = self.with_failed(levels, a, b)
        name = "living_reward" if differences else "last_reward"
        differences.append(self.difference(name, rewards, a, b, variance, self.margin, headline=True))
        if self.along.column == "entropy":
            entropies = {seed: seed.along_at(last) for seed in alive}
            losses = {seed: seed.loss(min(last, seed.last_step)) for seed in alive}
            differences.append(self.difference("last_entropy", entropies, a, b))
            differences.append(self.difference("entropy_loss", losses, a, b))
        return differences + self.parts_of_gain(rewards, last, a, b)

    def present(self, last: float, a: int, b: int) -> list[Seed]:
        """The runs that have a reward to compare at a step: those of the pair, and others that reach it."""
        if self.own_ends:
            return self.seeds
        return [seed for seed in self.seeds if seed.last_step >= last or seed.arm in (a, b)]

    def with_failed(self, levels: Mapping[Seed, tuple[float, float]], a: int, b: int) -> list[Difference]:
        """Where runs of two arms failed, the difference of the mean levels of all, without an interval."""
        both = self.of(a, b)
        if len(living(both)) == len(both) and not (self.refused[a] or self.refused[b]):
            return []
        first, second = ([levels[seed][0] for seed in self.of(arm)] for arm in (a, b))
        gap = float(np.mean(first) - np.mean(second)) if first and second else None
        reason = "runs failed: those that did not are compared, and failures are counted apart"
        return [self.unknown("last_reward", reason, (len(first), len(second)), value=gap)]

    def parts_of_gain(self, rewards: Mapping[Seed, float], last: float, a: int, b: int) -> list[Difference]:
        """The shift of the curves and the movement on them, which give the difference of the last rewards.

        None where the arms have no value of the column in common that both have at their last steps.
        """
        of_pair = [seed for seed in rewards if seed.arm in (a, b)]
        at = max((seed.along_at(last) for seed in of_pair), default=np.inf)
        if at > min((seed.along[-1] for seed in of_pair), default=-np.inf):
            return []
        curves = {seed: float(seed.at(np.array([at]))[0]) for seed in rewards if seed.covers(at, at)}
        moved = {seed: rewards[seed] - curve for seed, curve in curves.items()}
        return [self.difference("shift", curves, a, b), self.difference("movement", moved, a, b)]

    def coefficients(self, common: tuple[float, float] | None, a: int, b: int) -> list[Difference]:
        """Ceiling, a and b of the runs that have not failed.

        Where the law fails, runs on other stretches of one curve have other coefficients: no interval.
        """
        fits = {seed: seed.series.fit for seed in living(self.seeds) if seed.series.fit}
        reason = self.not_comparable(common, a, b)
        differences = []
        for name in ("ceiling", "a", "b"):
            read = {seed: estimate_of(fit, name) for seed, fit in fits.items()}
            value = {seed: float(number) for seed, number in read.items() if number.value is not None}
            variance = {seed: float(read[seed].std_error or 0.0) ** 2 for seed in value}
            difference = self.difference(name, value, a, b, variance)
            if reason:
                gap = difference.estimate.value
                difference = self.unknown(name, reason, difference.seeds, value=gap)
            differences.append(difference)
        return differences

    def not_comparable(self, common: tuple[float, float] | None, a: int, b: int) -> str:
        """Why coefficients of two arms do not compare; empty where they do."""
        of_pair = living(self.of(a, b))
        low, high = common or (0.0, 0.0)
        fails = sum(str(seed.series.fit.verdict) == "fails" for seed in of_pair if seed.series.fit)
        if not fails or all(high - low >= LIKE_PATHS * (seed.along[-1] - seed.along[0]) for seed in of_pair):
            return ""
        return f"the law fails in {fails} of these runs, and they have other entropies"
