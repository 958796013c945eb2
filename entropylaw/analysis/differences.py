"""Differences between two arms in numbers of their seeds and in their curves, and what is decided of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from math import comb
from typing import Any

import numpy as np

from entropylaw.analysis.between_seeds import (
    Contrast,
    band_reach,
    contrast,
    holm,
    means,
    neighbours,
    seeds_needed,
    share_interval,
    squares,
    welch,
)
from entropylaw.analysis.law.estimates import unknown as no_number
from entropylaw.analysis.seeds import Seed, living
from entropylaw.arrays import FloatArray, IntArray
from entropylaw.results import Estimate
from entropylaw.results.arms import QUANTITIES, Along, Band, Decision, Difference, Pair
from entropylaw.results.result import replace

METHOD = "seeds as the unit, the arms' spreads integrated out"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Design:
    """All seeds, by arm the runs that have no series, and how they are compared.

    With ``own_ends`` every run is compared at its own end, as stages are, and not at the last common step.
    ``comparisons`` are those of all rewards, which are decided together.
    """

    names: list[str]
    seeds: list[Seed]
    refused: Sequence[Sequence[tuple[str, str]]]
    pairs: Sequence[tuple[int, int]]
    level: float
    margin: float
    between_sd: float | None
    along: Along
    paired: str
    own_ends: bool
    comparisons: int

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

    def difference(
        self,
        quantity: str,
        numbers: Mapping[Seed, float],
        a: int,
        b: int,
        variance: Mapping[Seed, float] | None = None,
        margin: float | None = None,
        *,
        headline: bool = False,
        bias: float = 0.0,
    ) -> Difference:
        """The difference of two arms in a quantity, from the numbers of all seeds and their own variances.

        ``bias`` is what the difference may be off by whatever the number of seeds.
        """
        value, group, compared = self.groups(numbers, a, b)
        counts = np.bincount(group, minlength=max(compared) + 1)[compared]
        seeds = (int(counts[0]), int(counts[-1]))
        if min(seeds) == 0:
            reason = "no pair of runs has it"
            if not self.paired:
                reason = f"no run of {self.names[(a, b)[seeds.index(0)]]} has it"
            return self.unknown(quantity, reason, seeds, headline=headline)
        unit, within = QUANTITIES[quantity][1], 0.0
        if variance:
            within = float(np.mean([variance[seed] for seed in numbers]))
        gap = self.contrast(value, group, compared, within if unit == "reward" else None)
        if gap is None:
            middle = means(value, group)[compared]
            reason = "no arm has two seeds: no between-seed variance, not comparable"
            apart = float(middle[0] - middle[1:].sum())
            return self.unknown(quantity, reason, seeds, value=apart, headline=headline)
        sd = gap.std_error / float(np.sqrt((1.0 / counts).sum()))
        gap = replace(gap, error=np.hypot(gap.error, bias))
        answer = Difference(
            quantity=quantity,
            unit=unit,
            estimate=estimate(gap, self.level, self.method(unit)),
            seeds=seeds,
            headline=headline,
            p_value=gap.p_value,
            p_welch=welch(*(value[group == number] for number in compared)),
            between=float(np.sqrt(max(sd**2 - within, 0.0))),
            within=float(np.sqrt(within)),
            margin=margin,
            decision=Decision.undecided,
            smallest=gap.smallest(1.0 - (1.0 - self.level) / (2 * self.comparisons)) if headline else None,
        )
        return answer if margin is None else self.with_equivalence(answer, gap, sd, margin)

    def with_equivalence(self, answer: Difference, gap: Contrast, sd: float, margin: float) -> Difference:
        """A difference with the test of being less than the margin; ``sd`` is of one seed."""
        narrow = 1.0 - 2.0 * (1.0 - self.level) / self.comparisons
        is_same = abs(gap.value) + gap.reach(narrow) < margin
        return replace(
            answer,
            inner=estimate(gap, narrow, "two one-sided tests (Schuirmann 1987)"),
            decision=Decision.same if is_same else Decision.undecided,
            seeds_needed=seeds_needed(sd, margin, self.level) if margin else None,
        )

    def method(self, unit: str) -> str:
        """How a difference in a unit gets its interval."""
        if unit == "reward" and self.between_sd is not None:
            return f"between-seed sd of {self.between_sd:g} as given"
        return METHOD

    def contrast(
        self, value: FloatArray, group: IntArray, compared: Sequence[int], within: float | None
    ) -> Contrast | None:
        """The difference of two groups; None where no spread is known, which that of a reward may be.

        ``within`` is the variance of a run's own number, None where that is not a reward.
        """
        if self.between_sd is None or within is None:
            return contrast(value, group, compared)
        middle = means(value, group)[compared]
        error = np.sqrt((self.between_sd**2 + within) * (1.0 / np.bincount(group)[compared]).sum())
        return Contrast(value=float(middle[0] - middle[1:].sum()), weight=np.ones(1), error=np.array([error]))

    def band(self, grid: FloatArray, curves: Mapping[Seed, FloatArray], a: int, b: int) -> Band | None:
        """The difference of two arms' curves with its simultaneous band; None where no spread is known.

        Beside the spread of seeds it has what they have in common: the bias of local lines, by a second
        bandwidth, and what the error of the entropy is in reward.
        """
        value, group, compared = self.groups(curves, a, b)
        free = np.maximum(np.bincount(group) - 1.0, 0.0)
        if not set(compared) <= set(group.tolist()):
            return None
        away = value - means(value, group)[group]
        width = np.ones(grid.size)
        if self.between_sd is not None:
            within = float(np.mean([seed.variance(grid[:1]) for seed in curves]))
            gap = self.contrast(value[:, 0], group, compared, within)
        elif free.any():
            pooled = (away**2).sum(axis=0) @ neighbours(grid.size) / free.sum()
            width = np.sqrt(np.maximum(pooled, np.finfo(float).tiny))
            squared = squares(value / width, group).mean(axis=1)
            gap = contrast(value[:, 0], group, compared, squared)
        else:
            return None
        assert gap is not None
        reach = band_reach(away, float(free.sum()), gap, 1.0 - (1.0 - self.level) / self.comparisons)
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
            seeds, refused = self.of(number), len(self.refused[number])
            counts.append((len(seeds) - len(living(seeds)) + refused, len(seeds) + refused))
        (failed, of), (failed_b, of_b) = counts
        if not of or not of_b:
            return self.unknown("failure_rate", "an arm has no run")
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


def estimate(gap: Contrast, level: float, method: str) -> Estimate:
    """A difference with its interval."""
    reach = gap.reach(level)
    return Estimate(
        value=gap.value,
        low=gap.value - reach,
        high=gap.value + reach,
        level=level,
        method=method,
        std_error=gap.std_error,
    )


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
    # A test that an arm with one seed has not cannot decide.
    by_welch = holm([1.0 if row.p_welch is None else row.p_welch for row in family])
    for row, p, p_welch in zip(family, by_seeds, by_welch, strict=True):
        value, decision = row.estimate.value, row.decision
        if p < 1.0 - level and value:
            decision = Decision.above if value > 0 else Decision.below
        yield replace(row, p_adjusted=p, p_welch=p_welch, decision=decision)
