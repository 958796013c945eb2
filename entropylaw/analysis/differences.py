"""Differences between arms in numbers of their seeds and in their curves.

Each run has its own curve (:mod:`entropylaw.analysis.seeds`); then its numbers are compared between arms with
the seed as the unit (:mod:`entropylaw.analysis.between_seeds`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from entropylaw.analysis.between_seeds import (
    Contrast,
    band_reach,
    contrast,
    equal_means,
    means,
    neighbours,
    seeds_needed,
    share_interval,
    squares,
    welch,
)
from entropylaw.analysis.law.diagnostics import persistence
from entropylaw.analysis.law.estimates import unknown as no_number
from entropylaw.analysis.seeds import (
    FEWEST_SEEDS,
    Seed,
    as_run,
    common_range,
    last_common_step,
    living,
    mean_over_steps,
    no_common_range,
    overlapping,
    with_curve,
)
from entropylaw.arrays import FloatArray, IntArray
from entropylaw.results import Estimate
from entropylaw.results.arms import QUANTITIES, Along, Arm, ArmRun, Band, Decision, Difference, Pair
from entropylaw.results.result import Finding, caution, note, replace

BAND_POINTS = 21
"""Points of a band over the common range of entropies."""

LIKE_PATHS = 0.8
"""Runs that have this share of their entropies in common walked one path."""

SMOOTHER, MORE_PERSISTENT = 4.0, 0.1
"""Rewards with so many times less noise, and changes whose lag-1 autocorrelation is higher by so much, are
called smoothed; how often they are: docs/benchmarks/arms.md."""

LEVELS = ("last_reward", "living_reward", "reward_at_entropy", "reward_at_equal", "ceiling")
"""Quantities that are levels of the reward: their differences are at most the largest reward."""

METHOD = "seeds as the unit, the arms' spreads integrated out"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Comparison:
    """All seeds, by arm the runs that have no series, and how they are compared.

    Those ``paired`` by run are stages, of which each is compared at its own end, and not at the last common
    step.
    ``comparisons`` are those of all rewards, which are decided together.
    """

    names: list[str]
    seeds: list[Seed]
    refused: Sequence[Sequence[tuple[str, str]]]
    pairs: Sequence[tuple[int, int]]
    level: float
    margin: float
    along: Along
    paired: str
    comparisons: int

    @property
    def most(self) -> float:
        """The largest difference of two rewards that is possible; infinite where that is not known."""
        known = [seed.series.max_reward or np.inf for seed in self.seeds if seed.series.reward.min() >= 0]
        return max(known) if len(known) == len(self.seeds) else np.inf

    def of(self, *arms: int) -> list[Seed]:
        """The runs of some arms."""
        return [seed for seed in self.seeds if seed.arm in arms]

    def units(self, a: int, b: int) -> set[str]:
        """What both arms have a run of."""
        return {seed.series.unit for seed in self.of(a)} & {seed.series.unit for seed in self.of(b)} - {""}

    def unknown(
        self,
        quantity: str,
        reason: str,
        seeds: tuple[int, int] = (0, 0),
        *,
        value: float | None = None,
        headline: bool = False,
    ) -> Difference:
        """A difference without an interval, and the reason."""
        none = replace(no_number(reason, level=self.level, method=METHOD), value=value)
        unit = QUANTITIES[quantity][1]
        return Difference(quantity=quantity, unit=unit, estimate=none, seeds=seeds, headline=headline)

    def groups(self, numbers: Mapping[Seed, Any], a: int, b: int) -> tuple[Any, IntArray, list[int]]:
        """The values (n, ...) of some seeds with their groups (n,), and the groups that are compared.

        The groups are the arms, or of pairs the differences of every comparison, of which one has a mean.
        """
        if not self.paired:
            arm_of = np.array([seed.arm for seed in numbers], dtype=int)
            return np.array(list(numbers.values())), arm_of, [a, b]
        by_unit = {(seed.arm, seed.series.unit): value for seed, value in numbers.items()}
        rows = [
            (number, by_unit[arm, unit] - by_unit[other, unit])
            for number, (arm, other) in enumerate(self.pairs)
            for unit in sorted(self.units(arm, other))
            if (arm, unit) in by_unit and (other, unit) in by_unit
        ]
        group = np.array([number for number, _ in rows], dtype=int)
        return np.array([gap for _, gap in rows]), group, [self.pairs.index((a, b))]

    def alone(self, a: int, b: int, seeds: tuple[int, int]) -> str:
        """Why a difference of two arms, of which at least one has one run with a number, decides nothing."""
        if self.paired:
            return "one pair of runs alone has it"
        reasons = []
        for arm, count in zip((a, b), seeds, strict=True):
            if count >= FEWEST_SEEDS:
                continue
            name = self.names[arm]
            runs = self.of(arm)
            if len(runs) + len(self.refused[arm]) == 1:
                reasons.append(f"{name} has one run")
            elif len(living(runs)) == 1:
                reasons.append(f"only one run of {name} did not fail")
            else:
                reasons.append(f"only one run of {name} has it")
        return ", ".join(reasons)

    def difference(
        self,
        quantity: str,
        numbers: Mapping[Seed, float],
        a: int,
        b: int,
        margin: float | None = None,
        *,
        headline: bool = False,
        bias: float = 0.0,
    ) -> Difference:
        """The difference of two arms in a quantity, from the numbers of all seeds.

        ``bias`` is what the difference may be off by whatever the number of seeds.
        """
        value, group, compared = self.groups(numbers, a, b)
        counts = np.bincount(group, minlength=max(compared) + 1)[compared]
        seeds = (int(counts[0]), int(counts[-1]))
        if min(seeds) == 0:
            reason = "no pair of runs has it"
            if not self.paired:
                arm = (a, b)[seeds.index(0)]
                runs = self.of(arm)
                reason = f"no run of {self.names[arm]} has it"
                if runs and all(seed.failed is not None for seed in runs):
                    reason = f"every run of {self.names[arm]} failed"
            return self.unknown(quantity, reason, seeds, headline=headline)
        if min(seeds) < FEWEST_SEEDS:
            middle = means(value, group)[compared]
            apart = float(middle[0] - middle[1:].sum())
            return self.unknown(quantity, self.alone(a, b, seeds), seeds, value=apart, headline=headline)
        gap = contrast(value, group, compared)
        sd = gap.std_error / float(np.sqrt((1.0 / counts).sum()))
        gap = replace(gap, error=np.hypot(gap.error, bias))
        most = self.most if quantity in LEVELS else np.inf
        adjusted = 1.0 - (1.0 - self.level) / (2 * self.comparisons)
        inner, decision, needed = None, Decision.undecided, None
        if margin:
            # Two one-sided tests of being less than the margin.
            narrow = 1.0 - 2.0 * (1.0 - self.level) / self.comparisons
            inner = estimate(gap, narrow, "two one-sided tests (Schuirmann 1987)", most)
            needed = seeds_needed(sd, margin, self.level)
            if abs(gap.value) + gap.reach(narrow) < margin:
                decision = Decision.same
        return Difference(
            quantity=quantity,
            unit=QUANTITIES[quantity][1],
            estimate=estimate(gap, self.level, METHOD, most),
            seeds=seeds,
            headline=headline,
            p_value=gap.p_value,
            p_welch=welch(*(value[group == number] for number in compared)),
            between=sd,
            margin=margin,
            inner=inner,
            decision=decision,
            smallest=gap.smallest(adjusted, most) if headline else None,
            seeds_needed=needed,
        )

    def band(self, grid: FloatArray, curves: Mapping[Seed, FloatArray], a: int, b: int) -> Band | None:
        """The difference of two arms' curves with its simultaneous band; None with one seed of an arm.

        Beside the spread of seeds it has what they have in common: the bias of local lines, by a second
        bandwidth, and what the error of the entropy is in reward.
        """
        value, group, compared = self.groups(curves, a, b)
        counts = np.bincount(group, minlength=max(compared) + 1)
        if counts[compared].min() < FEWEST_SEEDS:
            return None
        free = float(np.maximum(counts - 1.0, 0.0).sum())
        away = value - means(value, group)[group]
        pooled = (away**2).sum(axis=0) @ neighbours(grid.size) / free
        width = np.sqrt(np.maximum(pooled, np.finfo(float).tiny))
        gap = contrast(value[:, 0], group, compared, squares(value / width, group).mean(axis=1))
        reach = band_reach(away, free, gap, 1.0 - (1.0 - self.level) / self.comparisons)
        middle, moved = np.zeros(grid.size), np.zeros(grid.size)
        for sign, arm in ((1.0, a), (-1.0, b)):
            of_arm = [seed for seed in curves if seed.arm == arm]
            middle += sign * np.mean([curves[seed] for seed in of_arm], axis=0)
            moved = np.hypot(moved, np.mean([seed.at(grid, seed.moved) for seed in of_arm], axis=0))
        half = np.hypot(reach * width, moved) + np.abs(self.bias(grid, curves, a, b))
        return Band(
            along=tuple(grid.tolist()),
            mean=tuple(middle.tolist()),
            low=tuple((middle - half).tolist()),
            high=tuple((middle + half).tolist()),
        )

    @staticmethod
    def bias(grid: FloatArray, curves: Mapping[Seed, FloatArray], a: int, b: int) -> FloatArray:
        """What twice the bandwidth changes in the difference of two arms' curves."""
        changes = (
            [seed.at(grid, seed.coarse) - curve for seed, curve in curves.items() if seed.arm == arm]
            for arm in (a, b)
        )
        first, second = (np.mean(change, axis=0) if change else np.zeros(grid.size) for change in changes)
        return np.asarray(first - second)

    def failures(self, a: int, b: int) -> Difference:
        """Difference in the share of failed runs, with Newcombe's interval (1998) and Fisher's exact test."""
        counts = []
        for number in (a, b):
            seeds = self.of(number)
            counts.append((sum(seed.failed is not None for seed in seeds), len(seeds)))
        (failed, of), (failed_b, of_b) = counts
        if not of or not of_b:
            return self.unknown("failure_rate", "an arm has no run with evaluations")
        gap = failed / of - failed_b / of_b
        (low, high), (low_b, high_b) = (share_interval(*count, self.level) for count in counts)
        ends = (
            gap - np.hypot(failed / of - low, high_b - failed_b / of_b),
            gap + np.hypot(high - failed / of, failed_b / of_b - low_b),
        )
        total = failed + failed_b
        ways = [comb(of, number) * comb(of_b, total - number) for number in range(total + 1)]
        as_rare = sum(way for way in ways if way <= ways[failed])
        return Difference(
            quantity="failure_rate",
            unit="share",
            estimate=Estimate(
                value=gap,
                low=float(ends[0]),
                high=float(ends[1]),
                level=self.level,
                method=f"{failed} of {of} against {failed_b} of {of_b}; Newcombe from Clopper–Pearson",
            ),
            seeds=(of, of_b),
            p_value=as_rare / sum(ways),
        )

    def arm(self, number: int) -> Arm:
        """The arm with its runs and its mean curve."""
        seeds, refused = self.of(number), self.refused[number]
        runs = [as_run(seed) for seed in seeds] + [
            ArmRun(run=run, n=0, last_step=None, failed=None, left_out=reason, along=(), reward=(), values={})
            for run, reason in refused
        ]
        lost = sum(seed.failed is not None for seed in seeds)
        low, high = share_interval(lost, len(seeds), self.level) if seeds else (None, None)
        method = f"Clopper–Pearson, {lost} of {len(seeds)} runs"
        rate = lost / len(seeds) if seeds else None
        failures = Estimate(value=rate, low=low, high=high, level=self.level, method=method)
        whole = Arm(arm=self.names[number], runs=tuple(runs), failure_rate=failures)
        steps, by_step = mean_over_steps(whole.living)
        whole = replace(whole, steps=tuple(steps.tolist()), by_step=tuple(by_step.tolist()))
        if (common := common_range(seeds)) is None:
            return whole
        grid = np.linspace(*common, BAND_POINTS)
        mean = np.mean([seed.at(grid) for seed in with_curve(seeds)], axis=0)
        return replace(whole, along=tuple(grid.tolist()), mean=tuple(mean.tolist()))

    def findings(self) -> list[Finding]:
        """Limits of all comparisons."""
        limits = []
        fitted = [seed.series for seed in self.seeds if seed.series.coefficients]
        if fails := sum(series.fails for series in fitted):
            limits.append(caution("law-fails-in-arms", failing=fails, runs=len(fitted)))
        starts = {(seed.series.unit, float(seed.series.reward[0])) for seed in self.seeds}
        first = dict(starts)
        first.pop("", None)
        pairs_up = len(starts) == len(first) == len(self.seeds) / len(self.names)
        # Where all runs begin with one reward, seeds need not share their data.
        if pairs_up and not self.paired and len(set(first.values())) > 1:
            limits.append(note("seeds-share-data"))
        return limits + self.unlike_smoothing()

    def unlike_smoothing(self) -> list[Finding]:
        """A caution where rewards of some arms look smoothed beside those of the noisiest arm."""
        noise: dict[str, float] = {}
        persistent: dict[str, float] = {}
        for number, name in enumerate(self.names):
            rewards = [seed.series.reward for seed in living(self.of(number))]
            known = [lag1 for reward in rewards if (lag1 := persistence(reward)) is not None]
            if known:
                # Second differences have no trend.
                noise[name] = float(np.median([np.median(np.abs(np.diff(reward, 2))) for reward in rewards]))
                persistent[name] = float(np.median(known))
        raw = max(noise, key=noise.__getitem__, default="")
        smooth = [
            name
            for name, size in noise.items()
            if noise[raw] > SMOOTHER * size > 0 and persistent[name] - persistent[raw] > MORE_PERSISTENT
        ]
        if not smooth:
            return []
        times = noise[raw] / min(noise[name] for name in smooth)
        return [caution("smoothed-unlike", smooth=tuple(smooth), raw=raw, times=times)]

    def p_arms(self) -> float | None:
        """The p-value of equal mean rewards of all arms at the last step that their runs have in common.

        None of fewer than three arms with two living runs, and of pairs of runs.
        """
        last = last_common_step(self.seeds)
        if self.paired or last is None:
            return None
        arms = [living(self.of(number)) for number in range(len(self.names))]
        rewards = [
            np.array([seed.reward_at(last) for seed in arm]) for arm in arms if len(arm) >= FEWEST_SEEDS
        ]
        return equal_means(*rewards) if len(rewards) > 2 else None

    def pair(self, a: int, b: int) -> Pair:
        """One arm against another."""
        both = self.of(a, b)
        common, outside = overlapping(both)
        last = None if self.paired == "run" else last_common_step(both)
        differences = self._at_last_step(np.inf if last is None else last, a, b) if both else []
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
            outside=tuple(seed.series.run for seed in outside),
            last_step=last,
            differences=tuple(named[name] for name in QUANTITIES if name in named),
            band=band,
        )

    def at_equal(self, grid: FloatArray, a: int, b: int) -> tuple[Difference, Band | None]:
        """Rewards at equal values of the column along which arms are compared, and the band of the curves."""
        covering = [seed for seed in living(self.seeds) if seed.covers(grid[0], grid[-1])]
        curves = {seed: seed.at(grid) for seed in covering}
        average = {seed: float(curve.mean()) for seed, curve in curves.items()}
        bias = abs(float(self.bias(grid, curves, a, b).mean()))
        quantity, margin = self.along.quantity, self.margin
        rewards = self.difference(quantity, average, a, b, margin, headline=True, bias=bias)
        return rewards, self.band(grid, curves, a, b)

    def _at_last_step(self, last: float, a: int, b: int) -> list[Difference]:
        """Rewards at the last common step, in their parts, and what is left of the entropy."""
        levels = {
            seed: seed.reward_at(last)
            for seed in self.seeds
            if seed.last_step >= last or seed.arm in (a, b) or last == np.inf
        }
        alive = living(list(levels))
        rewards = {seed: levels[seed] for seed in alive}
        differences = self._with_failed(levels, a, b)
        name = "living_reward" if differences else "last_reward"
        differences.append(self.difference(name, rewards, a, b, self.margin, headline=True))
        if self.along.column == "entropy":
            with_entropy = with_curve(alive)
            entropies = {seed: seed.along_at(last) for seed in with_entropy}
            losses = {seed: seed.loss(min(last, seed.last_step)) for seed in with_entropy}
            differences.append(self.difference("last_entropy", entropies, a, b))
            differences.append(self.difference("entropy_loss", losses, a, b))
        return differences + self._parts_of_gain(rewards, last, a, b)

    def _with_failed(self, levels: Mapping[Seed, float], a: int, b: int) -> list[Difference]:
        """Where a run of two arms is not living, the difference of all mean levels, without an interval."""
        both = self.of(a, b)
        if len(living(both)) == len(both) and not (self.refused[a] or self.refused[b]):
            return []
        first, second = ([levels[seed] for seed in self.of(arm)] for arm in (a, b))
        gap = float(np.mean(first) - np.mean(second)) if first and second else None
        reason = "runs failed, ended early or have no evaluations: the others are compared"
        return [self.unknown("last_reward", reason, (len(first), len(second)), value=gap)]

    def _parts_of_gain(self, rewards: Mapping[Seed, float], last: float, a: int, b: int) -> list[Difference]:
        """The shift of the curves and the movement on them, which give the difference of the last rewards.

        None where the arms have no value of the column in common that both have at their last steps.
        """
        of_pair = [seed for seed in with_curve(list(rewards)) if seed.arm in (a, b)]
        at = max((seed.along_at(last) for seed in of_pair), default=np.inf)
        if at > min((seed.along[-1] for seed in of_pair), default=-np.inf):
            return []
        curves = {seed: float(seed.at(np.array([at]))[0]) for seed in rewards if seed.covers(at, at)}
        moved = {seed: rewards[seed] - curve for seed, curve in curves.items()}
        return [self.difference("shift", curves, a, b), self.difference("movement", moved, a, b)]

    def coefficients(self, common: tuple[float, float] | None, a: int, b: int) -> list[Difference]:
        """Ceiling, a and b of the living runs that have a law.

        Where the law fails, runs on other stretches of one curve have other coefficients: no interval.
        """
        fitted = [seed for seed in living(self.seeds) if seed.series.coefficients]
        reason = self._not_comparable(common, a, b)
        differences = []
        for name in ("ceiling", "a", "b"):
            read = {seed: seed.series.coefficients[name] for seed in fitted}
            value = {seed: float(number) for seed, number in read.items() if number.value is not None}
            difference = self.difference(name, value, a, b)
            if reason:
                gap = difference.estimate.value
                difference = self.unknown(name, reason, difference.seeds, value=gap)
            differences.append(difference)
        return differences

    def _not_comparable(self, common: tuple[float, float] | None, a: int, b: int) -> str:
        """Why coefficients of two arms do not compare; empty where they do."""
        of_pair = with_curve(self.of(a, b))
        low, high = common or (0.0, 0.0)
        fails = sum(seed.series.fails for seed in of_pair)
        if not fails or all(high - low >= LIKE_PATHS * (seed.along[-1] - seed.along[0]) for seed in of_pair):
            return ""
        return f"the law fails in {fails} of these runs, and they have other entropies"


def estimate(gap: Contrast, level: float, method: str, most: float) -> Estimate:
    """A difference with its interval, as far as it is possible: ``most`` is the largest difference."""
    reach = gap.reach(level)
    return Estimate(
        value=gap.value,
        low=max(gap.value - reach, -most),
        high=min(gap.value + reach, most),
        level=level,
        method=method,
        std_error=gap.std_error,
    )
