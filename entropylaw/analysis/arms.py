"""Arms of an experiment compared: reward at equal entropy, what is movement along a curve and what a shift.

Each run is fitted first, on its own residual; then its numbers are compared between arms with the seed as the
unit (:mod:`entropylaw.analysis.between_seeds`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import stdtrit

from entropylaw.analysis.between_seeds import (
    Contrast,
    Spread,
    band_reach,
    contrast,
    fieller,
    holm,
    means,
    neighbours,
    parts,
    seeds_needed,
    share_interval,
    spread,
    squares,
)
from entropylaw.analysis.law.estimates import checked_level, hundredth, largest, unknown
from entropylaw.analysis.seeds import (
    Seed,
    arms_of,
    as_run,
    common_range,
    entropy_loss,
    estimate_of,
    last_common_step,
    no_common_range,
    rises,
    seeds_of,
)
from entropylaw.arrays import FloatArray, IntArray
from entropylaw.engine.threads import one_thread
from entropylaw.errors import UsageError
from entropylaw.results import Estimate
from entropylaw.results.arms import (
    QUANTITIES,
    Arm,
    ArmComparison,
    ArmRun,
    Band,
    Decision,
    Difference,
    Pair,
    RunCurve,
    Split,
)
from entropylaw.results.fit import Fit
from entropylaw.results.result import Finding, caution, replace

BAND_POINTS = 21
"""Points of a band over the common range of entropies."""

POOLED = "seeds as the unit, their spread pooled over arms that are alike"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Numbers:
    """One quantity in n seeds: values and their own variances, by seed; ``curve`` where it is of a curve."""

    seeds: Sequence[Seed]
    value: FloatArray
    variance: FloatArray

    @property
    def arm(self) -> IntArray:
        """The arm of each seed."""
        return arms_of(self.seeds)

    def counts(self, a: int, b: int) -> tuple[int, int]:
        """The numbers of seeds of two arms."""
        return int((self.arm == a).sum()), int((self.arm == b).sum())


@one_thread
def compare_arms(
    arms: Mapping[str, Sequence[Fit]],
    *,
    baseline: str | None = None,
    refused: Mapping[str, Sequence[tuple[str, str]]] | None = None,
    level: float = 0.95,
    margin: float | None = None,
    between_sd: float | None = None,
    averaged: Mapping[str, Sequence[RunCurve]] | None = None,
) -> ArmComparison:
    """Compare arms of fitted runs, the seed as the unit.

    Parameters
    ----------
    arms
        Name of the arm → its fits, one per seed, all of the same columns and pairing.
    baseline
        The arm that all others are compared with, by default the first; ``"all"`` compares all pairs.
    refused
        Name of the arm → (run, reason) of runs that have no fit: they count as failed.
    level, margin
        Level of the intervals; the smallest difference of reward that counts, in reward units: where not
        given, a hundredth of the largest reward, or of the largest range of a run where none is known.
    between_sd
        Standard deviation of a reward between seeds, where it is known from elsewhere: with one seed per arm
        there is no other way to an interval.
    averaged
        Name of the arm → the averaged curves of its fits, where they are known.

    Raises
    ------
    UsageError
        ``bad-level``, ``too-few-arms``, ``no-such-arm``.

    Notes
    -----
    Reward at equal entropy is the mean difference of the arms' curves over the entropies that all runs of
    both have passed. Of a run the curve is its fit's, averaged over functional forms. Runs that failed count
    everywhere where they have a number: at the last common step a run that stopped early has its last
    reward; runs that failed before they had passed the common entropies are left out there, and are named.
    """
    checked_level(level)
    if len(arms) < 2:
        message = f"{len(arms)} arm, expected at least 2"
        raise UsageError("too-few-arms", message, "give two: entropylaw compare a=LOGS b=LOGS")
    names = list(arms)
    if baseline not in (None, "all", *names):
        listed = ", ".join(names)
        raise UsageError("no-such-arm", f"the baseline {baseline!r} is not an arm", f"the arms are {listed}")
    chosen = names[0] if baseline is None else baseline
    failed = {name: list((refused or {}).get(name, ())) for name in names}
    seeds = seeds_of(arms, averaged)
    if margin is None:
        margin = max((hundredth(seed.fit.law) for seed in seeds), default=0.01)
    design = _Design(names, seeds, failed, level, margin, between_sd)
    pairs = adjusted([design.pair(a, b) for a, b in pairs_of(names, chosen)], level)
    return ArmComparison(
        arms=tuple(map(design.arm, range(len(names)))),
        baseline=None if chosen == "all" else chosen,
        pairs=tuple(pairs),
        level=level,
        margin=margin,
        between_sd=between_sd,
        findings=tuple(design.findings()),
    )


def pairs_of(names: Sequence[str], baseline: str) -> list[tuple[int, int]]:
    """The pairs that are compared, each an arm and its baseline by number; ``"all"`` for all pairs."""
    if baseline == "all":
        return [(b, a) for a, b in combinations(range(len(names)), 2)]
    number = names.index(baseline)
    return [(compared, number) for compared in range(len(names)) if compared != number]


@dataclass(frozen=True, slots=True, eq=False)
class _Design:
    """All seeds, and how they are compared."""

    names: list[str]
    seeds: list[Seed]
    refused: Mapping[str, Sequence[tuple[str, str]]]
    level: float
    margin: float
    between_sd: float | None

    def of(self, *arms: int) -> list[Seed]:
        return [seed for seed in self.seeds if seed.arm in arms]

    # -- arms

    def arm(self, number: int) -> Arm:
        """The arm with its runs and its mean curve."""
        seeds, refused = self.of(number), self.refused[self.names[number]]
        runs = [as_run(seed) for seed in seeds] + [
            ArmRun(run=run, n=0, last_step=None, failed=reason, entropy=(), reward=(), values={})
            for run, reason in refused
        ]
        lost = sum(run.failed is not None for run in runs)
        low, high = share_interval(lost, len(runs), self.level) if runs else (None, None)
        method = f"Clopper–Pearson, {lost} of {len(runs)} runs"
        rate = lost / len(runs) if runs else None
        failures = Estimate(value=rate, low=low, high=high, level=self.level, method=method)
        curve = self.mean_curve(number, *common) if (common := common_range(seeds)) else {}
        return Arm(arm=self.names[number], runs=tuple(runs), failure_rate=failures, **curve)

    def mean_curve(self, number: int, low: float, high: float) -> dict[str, Any]:
        """The mean of an arm's curves with a pointwise band, the spread pooled where they pass a point."""
        grid = np.linspace(low, high, BAND_POINTS)
        seeds = [seed for seed in self.of(number) if seed.covers(low, high)]
        mean = np.mean([seed.at(grid) for seed in seeds], axis=0)
        half = np.array([self.half_width(point, number, len(seeds)) for point in grid.tolist()])
        most = max(largest(seed.fit.law) for seed in seeds)
        ends = {"low": np.minimum(mean - half, most), "high": np.minimum(mean + half, most)}
        band = {name: tuple(None if np.isnan(y) else y for y in end.tolist()) for name, end in ends.items()}
        return {"entropy": tuple(grid.tolist()), "mean": tuple(mean.tolist()), **band}

    def half_width(self, entropy: float, number: int, count: int) -> float:
        """Half of the width of the interval of the mean of ``count`` curves of an arm; nan where unknown."""
        passing = [seed for seed in self.seeds if seed.covers(entropy, entropy)]
        point = np.array([entropy])
        value = np.array([float(seed.at(point)[0]) for seed in passing])
        variance = np.array([seed.variance(point) for seed in passing])
        pooled = self.spread(value, variance, arms_of(passing))
        if pooled is None:
            return float("nan")
        reach = float(stdtrit(pooled.df_of(number), 0.5 + 0.5 * self.level))
        return reach * float(np.sqrt(pooled.variance_of(number) / count))

    def spread(self, value: FloatArray, variance: FloatArray, arm: IntArray) -> Spread | None:
        """The pooled spread of rewards."""
        return spread(value, variance, arm, between_sd=self.between_sd)

    def findings(self) -> list[Finding]:
        """Limits of all comparisons."""
        limits = []
        fails = [seed.name for seed in self.seeds if str(seed.fit.verdict) == "fails"]
        if fails:
            limits.append(caution("law-fails-in-arms", failing=len(fails), runs=len(self.seeds)))
        if self.between_sd is not None:
            limits.append(caution("between-sd-given", sd=self.between_sd))
        return limits

    # -- pairs

    def pair(self, a: int, b: int) -> Pair:
        """One arm against another."""
        findings: list[Finding] = []
        names = self.names[a], self.names[b]
        both = self.of(a, b)
        common, last = common_range(both), last_common_step(both)
        differences, band, split, counted = {}, None, None, (0, 0)
        if common is None:
            reason = no_common_range(both, names)
            for name in ("reward_at_entropy", "entropy_at_reward"):
                differences[name] = self._unknown(name, reason)
        else:
            covering = [seed for seed in self.seeds if seed.covers(*common)]
            if out := tuple(seed.name for seed in both if not seed.covers(*common)):
                findings.append(caution("left-out-of-curves", runs=out))
            grid = np.linspace(*common, BAND_POINTS)
            curves = np.array([seed.at(grid) for seed in covering])
            variance = np.array([seed.variance(grid) for seed in covering])
            numbers = Numbers(seeds=covering, value=curves.mean(axis=1), variance=variance)
            counted = numbers.counts(a, b)
            differences["reward_at_entropy"] = self._difference(
                "reward_at_entropy", numbers, a, b, self.margin
            )
            band = self.band(grid, curves, numbers, a, b)
            differences["entropy_at_reward"] = self.entropy_at_reward(grid, curves, numbers, a, b)
        if last is not None:
            differences |= self.at_last_step(last, a, b)
            split = self.split(last, a, b)
        differences |= self.coefficients(a, b)
        differences["failure_rate"] = self.failures(a, b)
        return Pair(
            arm=names[0],
            baseline=names[1],
            seeds=counted,
            entropy_range=common,
            last_step=last,
            differences=tuple(differences[name] for name in QUANTITIES if name in differences),
            band=band,
            split=split,
            findings=tuple(findings),
        )

    def _unknown(self, quantity: str, reason: str, seeds: tuple[int, int] = (0, 0)) -> Difference:
        none = unknown(reason, level=self.level, method=POOLED)
        return Difference(quantity=quantity, unit=QUANTITIES[quantity][1], estimate=none, seeds=seeds)

    def _difference(
        self, quantity: str, numbers: Numbers, a: int, b: int, margin: float | None
    ) -> Difference:
        """The difference of two arms in a quantity."""
        unit, arm = QUANTITIES[quantity][1], numbers.arm
        seeds = numbers.counts(a, b)
        if min(seeds) == 0:
            lacking = self.names[(a, b)[seeds.index(0)]]
            return self._unknown(quantity, f"no run of {lacking} has it", seeds)
        between_sd = self.between_sd if unit == "reward" else None
        pooled = spread(numbers.value, numbers.variance, arm, between_sd=between_sd)
        if pooled is None:
            reason = "no arm has two seeds: no between-seed variance, not comparable"
            none = self._unknown(quantity, reason, seeds)
            apart = float(numbers.value[arm == a].mean() - numbers.value[arm == b].mean())
            return replace(none, estimate=replace(none.estimate, value=apart))
        gap = contrast(numbers.value, arm, a, b, pooled)
        _low, _high = gap.interval(self.level)
        method = f"Welch–Satterthwaite, df {gap.df:.3g}" if gap.df != pooled.df else POOLED
        if between_sd is not None:
            method = f"between-seed sd of {between_sd:g} as given"
        # The standard deviation that gives the interval's error with as many seeds: that of the pool, if any.
        variance = gap.error**2 / float((1.0 / pooled.seeds[[a, b]]).sum())
        sd = float(np.sqrt(variance))
        return Difference(
            quantity=quantity,
            unit=unit,
            estimate=self._estimate(gap, method),
            seeds=seeds,
            p_value=gap.p_value,
            df=gap.df if np.isfinite(gap.df) else None,
            between=float(np.sqrt(max(variance - pooled.within, 0.0))),
            within=float(np.sqrt(pooled.within)),
            margin=margin,
            decision=Decision.same if margin and gap.within(margin, self.level) else Decision.undecided,
            seeds_needed=seeds_needed(sd, margin, self.level) if margin else None,
        )

    def band(self, grid: FloatArray, curves: FloatArray, numbers: Numbers, a: int, b: int) -> Band | None:
        """The difference of two arms' curves with its simultaneous band; None where no spread is known."""
        arm = numbers.arm
        pooled = self.spread(numbers.value, numbers.variance, arm)
        if pooled is None or min(numbers.counts(a, b)) == 0:
            return None
        centre, df = means(curves, arm), contrast(numbers.value, arm, a, b, pooled).df
        squared = squares(curves, arm) @ neighbours(curves.shape[1])
        variance = sum(pooled.variance_of(compared, squared) / pooled.seeds[compared] for compared in (a, b))
        away = (curves - centre[arm])[(pooled.pool(a) | pooled.pool(b))[arm]]
        reach = max(float(stdtrit(df, 0.5 + 0.5 * self.level)), band_reach(away, df, self.level))
        gap, half = centre[a] - centre[b], reach * np.sqrt(variance)
        return Band(
            entropy=tuple(grid.tolist()),
            mean=tuple(gap.tolist()),
            low=tuple((gap - half).tolist()),
            high=tuple((gap + half).tolist()),
        )

    def entropy_at_reward(
        self, grid: FloatArray, curves: FloatArray, numbers: Numbers, a: int, b: int
    ) -> Difference:
        """Entropy at equal reward: each run's falling curve inverted over the rewards that all have."""
        name, seeds, arm = "entropy_at_reward", numbers.seeds, numbers.arm
        of_pair = (arm == a) | (arm == b)
        falling = np.minimum.accumulate(curves, axis=1)
        rough = np.array(list(map(rises, falling, curves)), dtype=bool)
        if (rough & of_pair).any():
            named = ", ".join(seeds[i].name for i in np.flatnonzero(rough & of_pair)[:3])
            return self._unknown(name, f"reward does not rise as entropy falls in {named}")
        usable = ~rough & [seed.failed is None for seed in seeds]
        low, high = falling[usable & of_pair, -1].max(), falling[usable & of_pair, 0].min()
        if not high > low:
            return self._unknown(name, "the arms have no reward in common over these entropies")
        usable &= (falling[:, -1] <= low) & (high <= falling[:, 0])
        rewards, chosen = np.linspace(low, high, BAND_POINTS), np.flatnonzero(usable).tolist()
        value = np.array([np.interp(rewards, falling[i, ::-1], grid[::-1]).mean() for i in chosen])
        slopes = np.abs(np.ptp(falling[usable], axis=1)) / np.ptp(grid)
        slope = abs(float(np.polyfit(grid, means(curves, arm)[b], 1)[0]))
        inverted = Numbers(
            seeds=[seeds[i] for i in chosen], value=value, variance=numbers.variance[usable] / slopes**2
        )
        return self._difference(name, inverted, a, b, self.margin / slope if slope > 0 else None)

    def at_last_step(self, last: float, a: int, b: int) -> dict[str, Difference]:
        """Reward at the last common step, and entropy lost until then."""
        seeds = [seed for seed in self.seeds if seed.arm in (a, b) or seed.last_step >= last or seed.stopped]
        rewards = np.array([seed.reward_at(last) for seed in seeds])
        numbers = Numbers(seeds=seeds, value=rewards[:, 0], variance=rewards[:, 1] ** 2)
        differences = {"last_reward": self._difference("last_reward", numbers, a, b, self.margin)}
        reached = [seed for seed in seeds if seed.last_step >= last]
        lost = np.array([entropy_loss(seed, last) for seed in reached])
        numbers = Numbers(seeds=reached, value=lost, variance=np.zeros(lost.size))
        return differences | {"entropy_loss": self._difference("entropy_loss", numbers, a, b, None)}

    def coefficients(self, a: int, b: int) -> dict[str, Difference]:
        """Ceiling, a and b of the runs that have not failed."""
        # What changes the reward by the margin over the entropies of a run.
        stretch = float(np.mean([np.ptp(np.exp(seed.entropy)) for seed in self.of(a, b)] or [0.0]))
        margins: dict[str, float | None] = {"ceiling": self.margin, "a": None, "b": None}
        if stretch > 0:
            margins |= {"a": self.margin / stretch, "b": self.margin / stretch + self.margin}
        differences = {}
        for name, margin in margins.items():
            read = {seed: estimate_of(seed.fit, name) for seed in self.seeds if seed.failed is None}
            estimates = {seed: estimate for seed, estimate in read.items() if estimate.value is not None}
            value = np.array([estimate.value for estimate in estimates.values()], dtype=float)
            error = np.array([estimate.std_error or 0.0 for estimate in estimates.values()], dtype=float)
            numbers = Numbers(seeds=list(estimates), value=value, variance=error**2)
            differences[name] = self._difference(name, numbers, a, b, margin)
        return differences

    def failures(self, a: int, b: int) -> Difference:
        """Difference in the share of failed runs, with Newcombe's interval (1998)."""
        counts = []
        for number in (a, b):
            seeds, refused = self.of(number), self.refused[self.names[number]]
            failed = sum(seed.failed is not None for seed in seeds) + len(refused)
            counts.append((failed, len(seeds) + len(refused)))
        (failed, of), (failed_b, of_b) = counts
        gap = failed / of - failed_b / of_b
        (low, high), (low_b, high_b) = (share_interval(*count, self.level) for count in counts)
        ends = (
            gap - np.hypot(failed / of - low, high_b - failed_b / of_b),
            gap + np.hypot(high - failed / of, failed_b / of_b - low_b),
        )
        p_value = 1.0
        if failed or failed_b:
            # Imported where it is needed: it takes as long as several fits.
            from scipy.stats import fisher_exact

            p_value = float(fisher_exact([[failed, of - failed], [failed_b, of_b - failed_b]])[1])
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
            p_value=p_value,
        )

    def split(self, last: float, a: int, b: int) -> Split | None:
        """Movement along a curve, and shift of the curve, where all seeds of both arms are in them."""
        seeds = [seed for seed in self.seeds if seed.last_step >= last]
        arm = arms_of(seeds)
        if not {a, b} <= set(arm.tolist()):
            return None
        ends = np.array([seed.entropy_at(last) for seed in seeds])
        at = max(float(ends[arm == number].mean()) for number in (a, b))
        # A run that ends a little above that entropy has its curve continued that far.
        reached = {seed: there for seed in seeds if (there := seed.continued(at)) is not None}
        method = f"{POOLED}; curves at the higher final entropy"
        both, seeds_there = self.of(a, b), list(reached)
        if lacking := sum(seed not in reached for seed in both):
            reason = (
                f"{lacking} of {len(both)} runs did not reach step {last:g} or did not pass the higher final "
            )
            return self._unknown_split(at, f"{reason}entropy, {at:.2g} nats", method)
        arm = arms_of(seeds_there)
        end, error = np.array([seed.reward_at(last) for seed in seeds_there]).T
        at_entropy = np.array([*reached.values()])
        pooled = self.spread(end, error**2, arm)
        if pooled is None:
            return self._unknown_split(at, "no arm has two seeds", method)
        total, shift, movement = parts(np.array([end, at_entropy, end - at_entropy]), arm, a, b, pooled)
        covariance = 0.5 * (total.error**2 + movement.error**2 - shift.error**2)
        return Split(
            at_entropy=at,
            shift=self._estimate(shift, method),
            movement=self._estimate(movement, method),
            share=self.share_moved(movement, total, covariance),
        )

    def share_moved(self, movement: Contrast, total: Contrast, covariance: float) -> Estimate:
        """Movement's share of a difference in final reward, unknown where that may be 0."""
        low, high = total.interval(self.level)
        if low <= 0 <= high:
            return unknown("the difference in final reward may be 0", level=self.level, method="Fieller")
        ratio, low_end, high_end = fieller(movement, total, covariance, self.level)
        return Estimate(value=ratio, low=low_end, high=high_end, level=self.level, method="Fieller")

    def _unknown_split(self, at: float, reason: str, method: str) -> Split:
        none = unknown(reason, level=self.level, method=method)
        return Split(at_entropy=at, shift=none, movement=none, share=none)

    def _estimate(self, difference: Contrast, method: str) -> Estimate:
        low, high = difference.interval(self.level)
        return Estimate(
            value=difference.value,
            low=low,
            high=high,
            level=self.level,
            method=method,
            std_error=difference.error,
        )


def adjusted(pairs: Sequence[Pair], level: float) -> list[Pair]:
    """The pairs with Holm's p-values, over all pairs, and with the decisions that follow."""
    by_quantity: list[dict[str, Difference]] = [
        {difference.quantity: difference for difference in pair.differences} for pair in pairs
    ]
    for name in QUANTITIES:
        tested = [of_pair for of_pair in by_quantity if name in of_pair and of_pair[name].p_value is not None]
        p_values = holm([of_pair[name].p_value or 0.0 for of_pair in tested])
        for of_pair, p in zip(tested, p_values, strict=True):
            decision = decided(of_pair[name], p, level)
            of_pair[name] = replace(of_pair[name], p_adjusted=p, decision=decision)
    differences = (tuple(of_pair.values()) for of_pair in by_quantity)
    return [replace(pair, differences=new) for pair, new in zip(pairs, differences, strict=True)]


def decided(difference: Difference, p_value: float, level: float) -> Decision:
    """The decision by an adjusted p-value: above or below, or as it was by the margin alone."""
    value = difference.estimate.value
    if not p_value < 1.0 - level or not value:
        return difference.decision
    return Decision.above if value > 0 else Decision.below
