"""Seeds: fitted runs of arms with their own curves, and which of them failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from entropylaw.analysis.law.estimates import largest
from entropylaw.analysis.numbers import mean_curve
from entropylaw.arrays import FloatArray, IntArray
from entropylaw.engine.local_level import level_now
from entropylaw.results import Estimate
from entropylaw.results.arms import ArmRun, RunCurve
from entropylaw.results.fit import Fit
from entropylaw.results.result import LOST

POINTS = 121
"""Points of a run's curve over its own range."""

NEIGHBOURS, FEWEST_NEIGHBOURS = 12, 5
"""A point of a curve rests on the nearest twelfth of the evaluations, at least five."""

LEAST_OVERLAP = 0.05
"""Smallest common range of entropies, as a share of the range that the runs have together."""

CONTINUED = 0.1
"""How far a curve is continued beyond its lowest entropy, in ranges of its entropies."""

STOPPED = 0.8
"""A run that ends before this share of the length of the longest run of its arm has stopped early."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Seed:
    """A fitted run with its own curve over its range of smoothed entropies.

    ``entropy`` (m,) ascends, ``smoother`` (m, n) has the weights of the evaluations in the ``curve`` (m,),
    and ``noise`` is their standard deviation.
    """

    arm: int
    fit: Fit
    failed: str | None
    entropy: FloatArray
    curve: FloatArray
    smoother: FloatArray
    noise: float
    rise: float
    """What the averaged curve gains beyond the lowest entropy, as far as it is continued."""
    rewards: dict[int, tuple[float, float]] = field(default_factory=dict)
    """Smoothed rewards and their errors that are known, by how many evaluations were smoothed."""

    @classmethod
    def of(cls, arm: int, fit: Fit, failed: str | None, averaged: RunCurve | None = None) -> Seed:
        """The run with its curve: the averaged one, and where its evaluations are beside that locally.

        The drift of a run about its averaged curve belongs to what the run reached at an entropy, and differs
        between seeds: it is the local line through the residuals, see :func:`local_lines`.
        """
        law = fit.law
        smooth = np.asarray(law.smoothed_entropy)
        entropy = np.linspace(smooth.min(), smooth.max(), POINTS)
        averaged = averaged_curve(fit) if averaged is None else averaged
        residual = np.asarray(law.reward) - averaged.evaluations
        smoother = local_lines(smooth, entropy)
        curve = np.minimum(averaged.over + smoother @ residual, largest(law))
        noise = float(np.median(np.abs(np.diff(residual)))) / 0.6745 / np.sqrt(2.0)
        return cls(
            arm=arm,
            fit=fit,
            failed=failed,
            entropy=entropy,
            curve=curve,
            smoother=smoother,
            noise=noise,
            rise=averaged.below - float(averaged.over[0]),
        )

    @property
    def name(self) -> str:
        """The run's name."""
        return self.fit.run

    @property
    def last_step(self) -> float:
        """The step of its last evaluation."""
        return float(self.fit.law.step[-1])

    @property
    def stopped(self) -> bool:
        """Whether it failed because it stopped early."""
        return (self.failed or "").startswith("stopped")

    def covers(self, low: float, high: float) -> bool:
        """Whether the run has passed all entropies of a range."""
        return bool(self.entropy[0] <= low and high <= self.entropy[-1])

    def at(self, entropy: FloatArray) -> FloatArray:
        """Its curve at some entropies; beyond its range the end of the curve."""
        return np.interp(entropy, self.entropy, self.curve)

    def continued(self, entropy: float) -> float | None:
        """Its curve at an entropy, a little below its range along the averaged curve; None elsewhere."""
        end, below = float(self.entropy[0]), lowest(self.entropy)
        if not below <= entropy <= self.entropy[-1]:
            return None
        if entropy >= end:
            return float(self.at(np.array([entropy]))[0])
        there = float(self.curve[0]) + self.rise * (end - entropy) / (end - below)
        return min(there, largest(self.fit.law))

    def variance(self, entropy: FloatArray) -> float:
        """Variance of the mean of its curve over some entropies that the noise of its evaluations causes."""
        position = np.interp(entropy, self.entropy, np.arange(POINTS))
        below = np.minimum(position.astype(int), POINTS - 2)
        fraction = (position - below)[:, None]
        rows = (1.0 - fraction) * self.smoother[below] + fraction * self.smoother[below + 1]
        return float(self.noise**2 * np.sum(rows.mean(axis=0) ** 2))

    def reward_at(self, step: float) -> tuple[float, float]:
        """Smoothed reward at a step, or at its last one before that, with its standard error."""
        law = self.fit.law
        until = max(3, int(np.searchsorted(law.step, step, side="right")))
        if until not in self.rewards:
            level = level_now(law.step[:until], law.reward[:until])
            error = float(np.nan_to_num(level.sd(), posinf=0.0))
            self.rewards[until] = level.mean(), error
        return self.rewards[until]

    def entropy_at(self, step: float) -> float:
        """Smoothed entropy at a step."""
        return float(np.interp(step, self.fit.law.step, self.fit.law.smoothed_entropy))


def averaged_curve(fit: Fit) -> RunCurve:
    """The averaged curve of a run, for which its forms are fitted again."""
    smooth = np.asarray(fit.law.smoothed_entropy)
    entropy = np.linspace(smooth.min(), smooth.max(), POINTS)
    curve = mean_curve(fit, np.concatenate([smooth, entropy, [lowest(entropy)]]))
    return RunCurve(evaluations=curve[: smooth.size], over=curve[smooth.size : -1], below=float(curve[-1]))


def lowest(entropy: FloatArray) -> float:
    """The entropy to which a curve over some entropies is continued at most: a tenth of its range below."""
    end = float(entropy[0] - CONTINUED * np.ptp(entropy))
    return max(end, 0.0) if entropy[0] >= 0 else end


def local_lines(entropy: FloatArray, at: FloatArray) -> FloatArray:
    """Weights (m, n) of n evaluations in local lines through them at m entropies.

    Lines through the nearest twelfth of the evaluations, with tricube weights (Cleveland 1979,
    doi:10.1080/01621459.1979.10481038), and their mean where they are all at one entropy.
    """
    nearest = min(entropy.size - 1, max(FEWEST_NEIGHBOURS, -(-entropy.size // NEIGHBOURS)))
    away = entropy - at[:, None]
    distance = np.abs(away)
    reach = np.partition(distance, nearest, axis=1)[:, nearest, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        fraction = np.where(reach > 0, distance / reach, np.where(distance > 0, 1.0, 0.0))
    weight = np.maximum(1.0 - fraction**3, 0.0) ** 3
    total, first, second = ((weight * away**power).sum(axis=1, keepdims=True) for power in (0, 1, 2))
    spread = total * second - first**2
    line = spread > 1e-9 * total * second
    slope = np.where(line, second - first * away, 1.0) / np.where(line, spread, total)
    return np.asarray(weight * slope)


def seeds_of(
    arms: Mapping[str, Sequence[Fit]], averaged: Mapping[str, Sequence[RunCurve]] | None = None
) -> list[Seed]:
    """Every run with its curve, and whether it failed; ``averaged`` are curves that are known."""
    seeds: list[Seed] = []
    for number, (name, fits) in enumerate(arms.items()):
        longest = max((float(fit.law.step[-1] - fit.law.step[0]) for fit in fits), default=0.0)
        curves = [None] * len(fits) if averaged is None else averaged[name]
        for fit, curve in zip(fits, curves, strict=True):
            seeds.append(Seed.of(number, fit, why_failed(fit, longest), curve))
    return seeds


def why_failed(fit: Fit, longest: float) -> str | None:
    """Why a run counts as failed; None where it does not.

    It stopped before 80 % of the length of the ``longest`` run of its arm, in steps, or lost its reward.
    """
    step = fit.law.step
    length = float(step[-1] - step[0])
    if length < STOPPED * longest:
        share = f"{100 * length / longest:.0f} %"
        return f"stopped at step {step[-1]:g}, after {share} of the longest run of its arm"
    lost = next((finding.values for finding in fit.findings if finding.code == LOST), None)
    return None if lost is None else "lost reward: from {best:.3g} to {last:.3g}".format_map(lost)


def as_run(seed: Seed) -> ArmRun:
    """A seed as part of a result, with a quarter of the points of its curve."""
    names = ("ceiling", "a", "b")
    every = slice(None, None, 4)
    return ArmRun(
        run=seed.name,
        n=seed.fit.n,
        last_step=seed.last_step,
        failed=seed.failed,
        entropy=tuple(seed.entropy[every].tolist()),
        reward=tuple(seed.curve[every].tolist()),
        values={name: estimate_of(seed.fit, name).value for name in names}
        | {
            "last_reward": seed.reward_at(seed.last_step)[0],
            "entropy_loss": entropy_loss(seed, seed.last_step),
            "entropy_first": float(seed.fit.law.smoothed_entropy[0]),
        },
    )


def estimate_of(fit: Fit, name: str) -> Estimate:
    """The averaged ceiling of a fit, or the law's own a or b."""
    return fit.ceiling if name == "ceiling" else getattr(fit.law, name)


def entropy_loss(seed: Seed, last: float) -> float:
    """Entropy lost per 100 steps until a step, nats."""
    law = seed.fit.law
    return (float(law.smoothed_entropy[0]) - seed.entropy_at(last)) / (last - float(law.step[0])) * 100.0


def arms_of(seeds: Sequence[Seed]) -> IntArray:
    """The number of each seed's arm (n,)."""
    return np.array([seed.arm for seed in seeds], dtype=int)


def last_common_step(seeds: Sequence[Seed]) -> float | None:
    """The last step that all runs have which did not stop early; of all, where every run did."""
    last_steps = [seed.last_step for seed in seeds if not seed.stopped]
    return min(last_steps or [seed.last_step for seed in seeds], default=None)


def rises(falling: FloatArray, curve: FloatArray) -> bool:
    """Whether reward rises with entropy by more than a tenth of what it changes."""
    return bool(np.max(curve - falling) > 0.1 * np.ptp(curve)) or bool(curve[-1] >= curve[0])


def common_range(seeds: Sequence[Seed]) -> tuple[float, float] | None:
    """The entropies that all runs have passed that did not fail, nats; None where there are hardly any."""
    whole = [seed for seed in seeds if seed.failed is None] or list(seeds)
    if not whole:
        return None
    low, high = max(seed.entropy[0] for seed in whole), min(seed.entropy[-1] for seed in whole)
    least, most = min(seed.entropy[0] for seed in whole), max(seed.entropy[-1] for seed in whole)
    return (float(low), float(high)) if high - low > LEAST_OVERLAP * (most - least) else None


def no_common_range(seeds: Sequence[Seed], names: tuple[str, str]) -> str:
    """Why two arms have no common range: the runs that bound it."""
    whole = [seed for seed in seeds if seed.failed is None] or list(seeds)
    if len({seed.arm for seed in whole}) < 2:
        return f"{' or '.join(names)} has no fitted run"
    above = max(whole, key=lambda seed: seed.entropy[0])
    below = min(whole, key=lambda seed: seed.entropy[-1])
    return (
        f"no common range of entropy: {above.name} stays above {above.entropy[0]:.3g} nats, "
        f"{below.name} below {below.entropy[-1]:.3g}"
    )
