"""Seeds: the runs of arms with their own curves, and which of them failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from entropylaw.arrays import FloatArray
from entropylaw.engine.levels import level_now
from entropylaw.results import Verdict
from entropylaw.results.arms import ArmRun, RunSeries
from entropylaw.results.fit import Fit
from entropylaw.results.result import NO_SCORE, has, replace

POINTS = 121
"""Points of a run's curve over its own range."""

STEPS_DRAWN = 61
"""Points of a run's curve over its steps."""

NEIGHBOURS, FEWEST_NEIGHBOURS = 12, 5
"""A point of a curve is from the nearest twelfth of the evaluations, at least five."""

FEWEST_SEEDS = 2
"""Fewest runs of an arm by which anything is decided: one has no spread of its own."""

LEAST_OVERLAP = 0.05
"""Smallest common range of entropies, as a share of the range that the runs have together."""

STOPPED = 0.8
"""A run that ends before this share of the length of the longest run of its arm has ended early."""

FEWEST_EVALUATIONS, FEWEST_SMOOTHED = 3, 5
"""Fewest evaluations of a run with a curve; of fewer than five the last is its level."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Seed:
    """A run with its own curve over its range of entropies, or of another column.

    ``along`` (m,) ascends; ``curve`` (m,) are local lines, and ``coarse`` (m,) those of twice the bandwidth.
    ``moved`` (m,) is what the error of the entropy is in reward. Those of a run without values of the column
    are empty. ``failed`` says how it broke, ``short`` that it ended early.
    """

    arm: int
    series: RunSeries
    failed: str | None
    short: str | None
    along: FloatArray
    curve: FloatArray
    coarse: FloatArray
    moved: FloatArray
    levels: dict[int, float] = field(default_factory=dict)
    """Smoothed rewards that are known, by how many evaluations were smoothed."""

    @classmethod
    def of(cls, arm: int, series: RunSeries, short: str | None) -> Seed:
        """The run with its curve, local lines through its evaluations.

        The drift of a run belongs to what it reached at an entropy, and differs between seeds.
        """
        failed = how_broken(series)
        if not series.along.size:
            none = np.empty(0)
            return cls(
                arm=arm,
                series=series,
                failed=failed,
                short=short,
                along=none,
                curve=none,
                coarse=none,
                moved=none,
            )
        along = np.linspace(series.along.min(), series.along.max(), POINTS)
        nearest = max(FEWEST_NEIGHBOURS, -(-series.along.size // NEIGHBOURS))
        curve = local_lines(series.along, along, nearest) @ series.reward
        coarse = local_lines(series.along, along, 2 * nearest) @ series.reward
        order = np.argsort(series.along, kind="stable")
        error = np.interp(along, series.along[order], series.error[order])
        slope = np.gradient(coarse, along) if np.ptp(along) > 0 else np.zeros(POINTS)
        most = np.inf if series.max_reward is None else series.max_reward
        return cls(
            arm=arm,
            series=series,
            failed=failed,
            short=short,
            along=along,
            curve=np.minimum(curve, most),
            coarse=np.minimum(coarse, most),
            moved=np.abs(slope) * error,
        )

    @property
    def last_step(self) -> float:
        """The step of its last evaluation."""
        return float(self.series.step[-1])

    def covers(self, low: float, high: float) -> bool:
        """Whether the run has passed all entropies of a range."""
        return bool(self.along.size and self.along[0] <= low and high <= self.along[-1])

    def at(self, along: FloatArray, values: FloatArray | None = None) -> FloatArray:
        """Its curve, or other values of its points, at some entropies; beyond its range those of its ends."""
        return np.interp(along, self.along, self.curve if values is None else values)

    def reward_at(self, step: float) -> float:
        """Smoothed reward at a step, or at its last one before that."""
        until = max(FEWEST_EVALUATIONS, int(np.searchsorted(self.series.step, step, side="right")))
        if until not in self.levels:
            self.levels[until] = last_level(self.series.step[:until], self.series.reward[:until])
        return self.levels[until]

    def along_at(self, step: float) -> float:
        """Its entropy at a step."""
        return float(np.interp(step, self.series.step, self.series.along))

    def loss(self, last: float) -> float:
        """Entropy lost per 100 steps until a step, nats; none until the first."""
        first = float(self.series.step[0])
        lost = float(self.series.along[0]) - self.along_at(last)
        return 100.0 * lost / (last - first) if last > first else 0.0


def last_level(step: FloatArray, value: FloatArray) -> float:
    """The level at the last of some steps."""
    if value.size < FEWEST_SMOOTHED or np.ptp(value) == 0:
        return float(value[-1])
    return level_now(step, value).mean()


def local_lines(along: FloatArray, at: FloatArray, nearest: int) -> FloatArray:
    """Weights (m, n) of n evaluations in local lines through the nearest of them at m entropies.

    With tricube weights (Cleveland 1979, doi:10.1080/01621459.1979.10481038), and the mean where they are all
    at one entropy.
    """
    away = along - at[:, None]
    distance = np.abs(away)
    nearest = min(along.size - 1, nearest)
    reach = np.partition(distance, nearest, axis=1)[:, nearest, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        fraction = np.where(reach > 0, distance / reach, np.where(distance > 0, 1.0, 0.0))
    weight = np.maximum(1.0 - fraction**3, 0.0) ** 3
    total, first, second = ((weight * away**power).sum(axis=1, keepdims=True) for power in (0, 1, 2))
    spread = total * second - first**2
    line = spread > 1e-9 * total * second
    slope = np.where(line, second - first * away, 1.0) / np.where(line, spread, total)
    return np.asarray(weight * slope)


def curve_over_steps(run: RunSeries) -> tuple[FloatArray, FloatArray]:
    """The curve of a run over its steps, for a figure: steps (m,) and rewards (m,), local lines as over x."""
    steps = np.linspace(run.step[0], run.step[-1], STEPS_DRAWN)
    nearest = max(FEWEST_NEIGHBOURS, -(-run.step.size // NEIGHBOURS))
    rewards = local_lines(run.step, steps, nearest) @ run.reward
    most = np.inf if run.max_reward is None else run.max_reward
    return steps, np.minimum(rewards, most)


def mean_over_steps(runs: Sequence[ArmRun]) -> tuple[FloatArray, FloatArray]:
    """The mean of runs' curves over the steps that they have in common; empty where there are none."""
    first = max((run.steps[0] for run in runs), default=0.0)
    last = min((run.steps[-1] for run in runs), default=0.0)
    if first >= last:
        return np.empty(0), np.empty(0)
    common = np.linspace(first, last, STEPS_DRAWN)
    return common, np.mean([np.interp(common, run.steps, run.by_step) for run in runs], axis=0)


def series_of(fit: Fit) -> RunSeries:
    """What is compared of a fitted run: its rewards at its smoothed entropies, if it has a law."""
    if fit.law is None:
        none = np.empty(0)
        reason = "it has no law" if fit.no_law is None else fit.no_law.message
        return replace(series_over_steps(fit), along=none, error=none, without_along=reason)
    law = fit.law
    return RunSeries(
        run=fit.run,
        step=np.asarray(law.step),
        reward=np.asarray(law.reward),
        along=np.asarray(law.smoothed_entropy),
        error=np.asarray(law.smoothing_error),
        max_reward=law.max_reward,
        is_score=not has(fit.findings, NO_SCORE),
        lost=None if fit.state is None else fit.state.lost,
        has_ended=fit.state is not None and fit.state.has_ended,
        coefficients={"ceiling": law.ceiling, "a": law.a, "b": law.b},
        fails=law.verdict is Verdict.fails,
    )


def series_over_steps(fit: Fit) -> RunSeries:
    """What is compared of a run without a law: all its rewards, at their steps, which have no noise."""
    step, _, reward = fit.evaluations
    return RunSeries(
        run=fit.run,
        step=np.asarray(step),
        reward=np.asarray(reward),
        along=np.asarray(step),
        error=np.zeros(len(step)),
        max_reward=fit.max_reward,
        is_score=not has(fit.findings, NO_SCORE),
        lost=None if fit.state is None else fit.state.lost,
        has_ended=fit.state is not None and fit.state.has_ended,
    )


def seeds_of(
    arms: Mapping[str, Sequence[Fit | RunSeries]],
) -> tuple[list[Seed], list[list[tuple[str, str]]]]:
    """Every run with enough evaluations; and by arm all other runs, each with the reason."""
    seeds: list[Seed] = []
    refused: list[list[tuple[str, str]]] = []
    for number, runs in enumerate(arms.values()):
        whole = [series_of(run) if isinstance(run, Fit) else run for run in runs]
        series = [run for run in whole if run.step.size >= FEWEST_EVALUATIONS]
        short = [run for run in whole if run.step.size < FEWEST_EVALUATIONS]
        refused.append([(run.run, run.refused or f"{run.step.size} evaluations") for run in short])
        longest = max((float(run.step[-1] - run.step[0]) for run in series), default=0.0)
        seeds += [Seed.of(number, run, why_short(run, longest)) for run in series]
    return seeds, refused


def how_broken(run: RunSeries) -> str | None:
    """How a run broke; None of one whose state is another."""
    if run.has_ended:
        return f"no usable reward after step {run.step[-1]:g}"
    if run.lost is not None:
        best, now = run.lost
        return f"reward from {best:.3g} to {now:.3g}"
    return None


def why_short(run: RunSeries, longest: float) -> str | None:
    """That a run ended before 80 % of the length of the ``longest`` run of its arm, in steps, or None."""
    length = float(run.step[-1] - run.step[0])
    if length >= STOPPED * longest:
        return None
    return f"ended at step {run.step[-1]:g}, after {100 * length / longest:.0f} % of the longest run"


def as_run(seed: Seed) -> ArmRun:
    """A seed as part of a result, with a quarter of the points of its curve."""
    series = seed.series
    values: dict[str, float | None] = {"last_reward": seed.reward_at(seed.last_step)}
    if series.along.size:
        values["along_last"] = float(series.along[-1])
    values |= {name: number.value for name, number in series.coefficients.items()}
    every = slice(None, None, 4)
    steps, by_step = curve_over_steps(series)
    return ArmRun(
        run=series.run,
        n=series.step.size,
        last_step=seed.last_step,
        failed=seed.failed,
        left_out=seed.short if seed.failed is None else None,
        without_along=series.without_along or None,
        along=tuple(seed.along[every].tolist()),
        reward=tuple(seed.curve[every].tolist()),
        steps=tuple(steps.tolist()),
        by_step=tuple(by_step.tolist()),
        values=values,
    )


def living(seeds: Sequence[Seed]) -> list[Seed]:
    """The runs that did not fail, and did not end early."""
    return [seed for seed in seeds if seed.failed is None and seed.short is None]


def with_curve(seeds: Sequence[Seed]) -> list[Seed]:
    """The living runs that have values of the column."""
    return [seed for seed in living(seeds) if seed.along.size]


def last_common_step(seeds: Sequence[Seed]) -> float | None:
    """The last step that all runs have which did not end early; of all, where every run did."""
    last_steps = [seed.last_step for seed in seeds if seed.short is None]
    return min(last_steps or [seed.last_step for seed in seeds], default=None)


def common_range(seeds: Sequence[Seed]) -> tuple[float, float] | None:
    """The entropies that all living runs with an entropy have passed; None where there are hardly any."""
    if not (whole := with_curve(seeds)):
        return None
    above, below = _bounding(whole)
    least, most = min(seed.along[0] for seed in whole), max(seed.along[-1] for seed in whole)
    low, high = float(above.along[0]), float(below.along[-1])
    return (low, high) if high - low > LEAST_OVERLAP * (most - least) else None


def _bounding(seeds: Sequence[Seed]) -> tuple[Seed, Seed]:
    """The run that stays highest, and the one that stays lowest: all runs have passed what is between."""
    return max(seeds, key=lambda seed: seed.along[0]), min(seeds, key=lambda seed: seed.along[-1])


def _overlap(seeds: Sequence[Seed]) -> float:
    """The length of the range that all runs have passed; negative where there is none."""
    above, below = _bounding(seeds)
    return float(below.along[-1] - above.along[0])


def overlapping(seeds: Sequence[Seed]) -> tuple[tuple[float, float] | None, list[Seed]]:
    """The entropies that most living runs have passed, and the runs that have not.

    Where all runs have hardly any in common, those that bound the range are left out one by one, as long as
    more than half of the runs of every arm remain, and two.
    """
    everyone = with_curve(seeds)
    runs = Counter(seed.arm for seed in everyone)
    left = everyone
    while left and (common := common_range(left)) is None:
        remaining = Counter(seed.arm for seed in left)
        without = [
            [seed for seed in left if seed is not bound]
            for bound in _bounding(left)
            if remaining[bound.arm] > max(FEWEST_SEEDS, runs[bound.arm] // 2 + 1)
        ]
        if not without:
            return None, []
        left = max(without, key=_overlap)
    return (common, [seed for seed in everyone if seed not in left]) if left else (None, [])


def no_common_range(seeds: Sequence[Seed], names: tuple[str, str], column: str, unit: str) -> str:
    """Why two arms have no common range: the runs that bound it."""
    whole = with_curve(seeds)
    if len({seed.arm for seed in whole}) < 2:
        return f"{' or '.join(names)} has no run with {column} that did not fail or end early"
    above, below = _bounding(whole)
    return (
        f"no common range of {column}: {above.series.run} stays above {above.along[0]:.3g} {unit}, "
        f"{below.series.run} below {below.along[-1]:.3g}".replace("  ", " ")
    )
