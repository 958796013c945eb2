"""The level of a series: what its values would be without the noise of each, at all steps jointly, and later.

    value(s) = level(s) + noise,    level(s) = c + f(s)

f is 0, a random walk, or a smooth trend in a power of the step, so that a run may change early and be slow
later. The trend is an integrated random walk with a random slope, whose mean is a cubic spline (Wahba 1978,
doi:10.1111/j.2517-6161.1978.tb01050.x). The noise is white, correlated over four evaluations, or that of a
share, whose variance follows its level. Sizes, powers and kinds of noise are averaged by their evidence, the
restricted likelihood. That a level may be constant makes *flat* something that data can show.

The covariance of all values, of a size q times f's and of the noise, is diagonal for every q in one basis
that does not depend on q: one eigendecomposition serves all sizes of a walk or of a trend.

An entropy is smoothed in the same way, with a prior of its own. It is measured on one batch. Against a
residual that may drift a fit trusts fast changes more than slow ones, and the fast changes of a logged
entropy are mostly noise. A regression on the posterior mean of a covariate is consistent (regression
calibration, Carroll et al. 2006, doi:10.1201/9781420010138, ch. 4): the error that is left is a slow part of
the residual, of known covariance given the slope.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import stdtr

from entropylaw.arrays import FloatArray
from entropylaw.engine.constants import FEWEST_SMOOTHED
from entropylaw.engine.reads import Cells

MOST = 48
"""Values above which a run is averaged over blocks of equal length."""

WALKS = (0.5, 4.0, 30.0, 250.0, 2000.0)
"""Variance of the random walk over the whole run, in variances of the noise."""

TRENDS = (2.0, 20.0, 200.0, 2000.0, 20000.0)
"""The size of the trend, likewise."""

POWERS = (1.0, 0.4)
"""Powers of the step in which the trend is smooth."""

CONSTANT = 0.3
"""Prior probability of a constant level."""

WALK = 0.3
"""That of a walk; the rest is that of a trend."""

MEMORY = 4.0
"""Evaluations over which a correlated noise falls to 1/e: public rewards have more evidence with 4 than with
2, and with 2 the intervals of short runs are too narrow."""

CORRELATED = 0.9
"""The share of its variance that does; the rest is white."""

LEAST_CORRELATED = 0.5
"""Prior probability of a correlated noise to that of white noise."""

MOST_OF_ENTROPY = 100
"""Logged entropies above which blocks are smoothed: with fewer, a steep fall and the law's curve over it are
averaged away."""

TRENDS_OF_ENTROPY = (2.0, 20.0, 200.0, 2000.0, 2e4, 1e6, 1e8)
"""The size of an entropy's trend: some entropies have hardly any noise. It has no walk, whose fast changes
the reward does not follow."""

POWERS_OF_ENTROPY = (1.0, 0.7)
"""Powers of the step in which that trend is smooth: a smaller one takes the noise of the first entropies for
a fall."""

AT_ONCE = 4096
"""Evaluations at which the entropy is smoothed together: each takes a row as long as the blocks per model."""

_NEGLIGIBLE = 1e-4
"""Probability below which a model is left out, relative to the best one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Blocks:
    """Means of neighbouring values: ``step`` and ``value`` (m,), of ``count`` (m,) values each.

    All blocks but the first have ``size`` values.
    """

    step: FloatArray
    value: FloatArray
    count: FloatArray
    size: int


def blocks_of(step: FloatArray, values: FloatArray, most: int = MOST) -> Blocks:
    """A series (n,) as at most ``most`` means of neighbours; the first block has what fills no other."""
    size = -(-step.size // most)
    first = step.size % size or size
    starts = np.concatenate([[0], np.arange(first, step.size, size)])
    count = np.diff([*starts, step.size]).astype(float)
    return Blocks(
        step=np.add.reduceat(step, starts) / count,
        value=np.add.reduceat(values, starts) / count,
        count=count,
        size=size,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Levels:
    """The level at p steps, those of m blocks and then later ones: k multivariate t distributions, mixed.

    ``weight`` (k,), ``mean`` and ``variance`` (k, p), and ``covariance`` (k, m, m) at the blocks: squared
    scales, with ``df`` degrees of freedom. ``noise`` is the standard deviation of one evaluation about the
    level.
    """

    blocks: Blocks
    weight: FloatArray
    mean: FloatArray
    variance: FloatArray
    covariance: FloatArray
    df: float
    noise: float

    @property
    def last(self) -> int:
        """The index of the last block."""
        return self.blocks.step.size - 1

    def level(self) -> FloatArray:
        """Posterior mean (p,)."""
        return np.asarray(self.weight @ self.mean)

    def of(self, contrast: FloatArray) -> Cells:
        """A linear function of the level at the blocks, with coefficients (m,)."""
        square = self.covariance @ contrast @ contrast
        return self._cells(self.mean[:, : contrast.size] @ contrast, square)

    def _cells(self, location: FloatArray, square: FloatArray) -> Cells:
        """A number by its locations and squared scales (k,)."""
        return Cells(
            weight=self.weight,
            location=location,
            scale=np.sqrt(np.maximum(square, 1e-300)),
            df=np.full(self.weight.size, self.df),
        )

    def at(self, index: int) -> Cells:
        """The level at one of the steps."""
        return self._cells(self.mean[:, index], self.variance[:, index])

    def between(self, index: int, other: int) -> Cells:
        """The level at one step less that at another."""
        each = np.eye(self.last + 1)
        return self.of(each[index] - each[other])

    def along_line(self, share: float, *, per: float | None = None) -> Cells:
        """The change over the last ``share`` of the steps, along the straight line through the level there.

        The line goes through three blocks at least. The change is ``per`` so many steps, by default all that
        it goes through.
        """
        step = self.blocks.step
        since = step[-1] - (share + 1e-9) * (step[-1] - step[0])
        first = min(int(np.searchsorted(step, since)), step.size - 3)
        x = step[first:] - step[first:].mean()
        contrast = np.zeros(step.size)
        contrast[first:] = (float(np.ptp(x)) if per is None else per) * x / (x @ x)
        return self.of(contrast)

    def p_below(self, value: float) -> FloatArray:
        """Probability (p,) that the level at each step is at most ``value``."""
        deviates = (value - self.mean) / np.sqrt(np.maximum(self.variance, 1e-300))
        return np.asarray(self.weight @ stdtr(self.df, deviates))


def levels_of(
    step: FloatArray,
    values: FloatArray,
    later: FloatArray | None = None,
    *,
    is_share: bool = False,
) -> Levels:
    """The level of ``values`` (n,), n ≥ 4, at their blocks and at ``later`` steps.

    Where they are a share of something counted, the noise of a share is among the kinds of noise.
    """
    blocks = blocks_of(step, values)
    y, origin, unit = _standardised(blocks)
    every = blocks.step if later is None else np.concatenate([blocks.step, later])
    x = (every - blocks.step[0]) / (blocks.step[-1] - blocks.step[0])
    models = []
    for noise, prior in _noises(blocks, is_share=is_share):
        root = np.asarray(np.linalg.cholesky(noise), dtype=float)
        for kernel in _kernels(x, y.size):
            models.append(_Models(kernel, root, y, prior))
    parts, weight = _plausible(models)
    posteriors = [model.posterior(index) for model, index in parts]
    covariance = [model.covariance(index) for model, index in parts]
    noise_variance = np.array([model.square[index] * model.noise for model, index in parts])
    return Levels(
        blocks=blocks,
        weight=weight,
        mean=np.array([mean for mean, _ in posteriors]) * unit + origin,
        variance=np.array([variance for _, variance in posteriors]) * unit**2,
        covariance=np.array(covariance) * unit**2,
        df=float(y.size - 1),
        noise=float(np.sqrt(weight @ noise_variance * blocks.size)) * unit,
    )


def levels_of_run(step: FloatArray, values: FloatArray, *, is_share: bool = False) -> Levels:
    """The level of rewards or entropies (n,) of a run, as :func:`levels_of`.

    State and forecast, findings of a log with several rewards, and the next look at a run that grows need it
    of the same values: the last few are kept.
    """
    return _levels_of_bytes(step.tobytes(), values.tobytes(), is_share)


@lru_cache(maxsize=8)
def _levels_of_bytes(step: bytes, values: bytes, is_share: bool) -> Levels:
    return levels_of(np.frombuffer(step), np.frombuffer(values), is_share=is_share)


def level_now(step: FloatArray, values: FloatArray) -> Cells:
    """The level of a run (n,), n ≥ 4, at its end."""
    levels = levels_of(step, values)
    return levels.at(levels.last)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SmoothedEntropy:
    """The entropy at the evaluations: its posterior mean and standard deviation, nats, shapes (n,).

    ``noise`` is the standard deviation of a logged value around the curve; None where it is used as logged.
    ``length`` says over how many steps the errors are alike
    (:func:`entropylaw.engine.table.error_columns`), 0 where there are none.
    """

    entropy: FloatArray
    sd: FloatArray
    noise: float | None
    length: float


def as_logged(entropy: FloatArray) -> SmoothedEntropy:
    """Entropies (n,) that are not smoothed."""
    return SmoothedEntropy(entropy=entropy, sd=np.zeros(entropy.size), noise=None, length=0.0)


def smoothed_entropy(step: FloatArray, entropy: FloatArray, at: FloatArray) -> SmoothedEntropy:
    """The level of the logged entropies, constant or a trend, at the evaluations; their noise is white.

    If no logged entropy is negative, no smoothed one is.

    Parameters
    ----------
    step, entropy
        Shape (m,): every logged step, increasing, and its entropy in nats.
    at
        Shape (n,): steps of the evaluations, within the logged ones.
    """
    if step.size < FEWEST_SMOOTHED or np.ptp(entropy) == 0:
        return as_logged(np.interp(at, step, entropy))
    blocks = blocks_of(step, entropy, MOST_OF_ENTROPY)
    y, origin, unit = _standardised(blocks)
    m = y.size
    begin = np.concatenate([blocks.step, at]).min()
    white, _ = next(_noises(blocks, is_share=False))
    root = np.sqrt(white)
    pieces = []
    for first in range(0, at.size, AT_ONCE):
        every = np.concatenate([blocks.step, at[first : first + AT_ONCE]])
        x = (every - begin) / (blocks.step[-1] - begin)
        parts, weight = _plausible([_Models(kernel, root, y) for kernel in _kernels_of_entropy(x, m)])
        posteriors = [model.posterior(index) for model, index in parts]
        means = np.array([mean for mean, _ in posteriors])[:, m:]
        scales = np.array([variance for _, variance in posteriors])[:, m:]
        mean = weight @ means
        variance = weight @ (scales * (m - 1) / (m - 3) + (means - mean) ** 2)
        pieces.append((mean, variance))
    mean, variance = np.concatenate(pieces, axis=1)
    curve = mean * unit + origin
    if entropy.min() >= 0:
        curve = np.maximum(curve, 0.0)
    noise = weight @ np.array([model.square[index] * model.noise for model, index in parts])
    # The mean of a trend is a smoothing spline of the penalty 1/(1.5 · size). On evenly spaced values a
    # spline is a kernel, whose scale is the fourth root of the penalty per value; the 1 that log1p adds
    # keeps it within the run where the size is 0.
    size = np.array([model.sizes[index] for model, index in parts])
    length = float(np.exp(-0.25 * (weight @ np.log1p(1.5 * size * m))))
    return SmoothedEntropy(
        entropy=curve,
        sd=np.sqrt(np.maximum(variance, 0.0)) * unit,
        noise=float(np.sqrt(noise * blocks.size)) * unit,
        length=length * float(step[-1] - step[0]),
    )


def _standardised(blocks: Blocks) -> tuple[FloatArray, float, float]:
    """Values (m,) of mean 0 and sd 1, the mean, and the sd."""
    origin = float(blocks.value.mean())
    # Of a constant series nothing but the rounding error is unknown.
    unit = max(float(np.std(blocks.value)), float(np.spacing(abs(origin))))
    return (blocks.value - origin) / unit, origin, unit


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Kernel:
    """A covariance of the level less its first, with sizes (g,) and the probability (g,) of each.

    ``across`` (p, m) is that of the level at p times with that at the first m, the blocks, and ``variance``
    (p,) of each with itself.
    """

    across: FloatArray
    variance: FloatArray
    sizes: FloatArray
    probability: FloatArray


def _kernels(x: FloatArray, m: int) -> Iterator[_Kernel]:
    """A level that is constant or walks, and trends, at times ``x`` (p,), of which m are those of blocks."""
    yield _Kernel(
        across=np.minimum.outer(x, x[:m]),
        variance=x,
        sizes=np.array([0.0, *WALKS]),
        probability=np.array([CONSTANT, *np.full(len(WALKS), WALK / len(WALKS))]),
    )
    each = (1.0 - CONSTANT - WALK) / len(POWERS) / len(TRENDS)
    for power in POWERS:
        yield _trend(x**power, m, np.array(TRENDS), np.full(len(TRENDS), each))


def _kernels_of_entropy(x: FloatArray, m: int) -> Iterator[_Kernel]:
    """Trends in each power, one of which may be of size 0, likewise."""
    sizes = np.array([0.0, *TRENDS_OF_ENTROPY])
    each = (1.0 - CONSTANT) / len(TRENDS_OF_ENTROPY)
    probability = np.array([CONSTANT, *np.full(len(TRENDS_OF_ENTROPY), each)]) / len(POWERS_OF_ENTROPY)
    for power in POWERS_OF_ENTROPY:
        yield _trend(x**power, m, sizes, probability)


def _trend(t: FloatArray, m: int, sizes: FloatArray, probability: FloatArray) -> _Kernel:
    """An integrated random walk with a random slope at times ``t`` (p,)."""
    low = np.minimum.outer(t, t[:m])
    high = np.maximum.outer(t, t[:m])
    return _Kernel(
        across=np.outer(t, t[:m]) / 2.0 + low**2 * (3.0 * high - low) / 4.0,
        variance=(t**2 + t**3) / 2.0,
        sizes=sizes,
        probability=probability,
    )


def _noises(blocks: Blocks, *, is_share: bool) -> Iterator[tuple[FloatArray, float]]:
    """Covariances (m, m) of the noise of the blocks, about 1 on the diagonal, and their prior probability."""
    m = blocks.value.size
    uneven = np.sqrt(blocks.size / blocks.count)
    yield np.diag(uneven**2), 1.0
    apart = np.abs(np.subtract.outer(np.arange(m), np.arange(m))) * blocks.size
    correlated = (1.0 - CORRELATED) * np.eye(m) + CORRELATED * np.exp(-apart / MEMORY)
    yield correlated * np.outer(uneven, uneven), LEAST_CORRELATED
    if is_share:
        # The share at each block, from its neighbours and from all: one of 0 has noise, too.
        padded = np.pad(blocks.value, 2, constant_values=np.nan)
        near = np.nanmean(np.lib.stride_tricks.sliding_window_view(padded, 5), axis=1)
        share = np.clip(0.75 * near + 0.25 * blocks.value.mean(), 1e-9, 1.0 - 1e-9)
        variance = share * (1.0 - share)
        yield np.diag(uneven**2 * variance / np.exp(np.mean(np.log(variance)))), 1.0


@lru_cache(maxsize=32)
def _diagonal_basis(kernel: bytes, root: bytes, m: int) -> tuple[FloatArray, FloatArray]:
    """The diagonal (m,) of a kernel in the basis (m, m) in which noise is 1; both are kept for like steps."""
    inverse_root = solve_triangular(np.frombuffer(root).reshape(m, m), np.eye(m), lower=True)
    covariance = inverse_root @ np.frombuffer(kernel).reshape(m, m) @ inverse_root.T
    eigenvalues, vectors = np.linalg.eigh(covariance)
    return eigenvalues, vectors.T @ inverse_root


class _Models:
    """The models of one kernel and one noise, with g sizes of the kernel.

    In the basis in which noise is 1 and the kernel is diagonal, values have variance 1 + size · eigenvalue.
    """

    def __init__(self, kernel: _Kernel, root: FloatArray, y: FloatArray, prior: float = 1.0) -> None:
        m = y.size
        self.kernel = kernel
        self.sizes = kernel.sizes
        eigenvalues, self.basis = _diagonal_basis(kernel.across[:m].tobytes(), root.tobytes(), m)
        self.weights = 1.0 / (1.0 + self.sizes[:, None] * np.maximum(eigenvalues, 0.0))
        values = self.basis @ y
        self.ones = self.basis.sum(axis=1)
        self.inner = self.weights @ self.ones**2
        self.constant = (self.weights @ (self.ones * values)) / self.inner
        self.residual = values - self.constant[:, None] * self.ones
        self.square = np.maximum((self.weights * self.residual**2).sum(axis=1), 1e-9) / (m - 1)
        #: Variance of the noise of a block, in variances of the noise of these models.
        self.noise = float(np.trace(root @ root.T)) / m
        self.evidence = (
            np.log(prior * kernel.probability)
            - np.log(np.diag(root)).sum()
            + 0.5 * np.log(self.weights).sum(axis=1)
            - 0.5 * np.log(self.inner)
            - 0.5 * (m - 1) * np.log(self.square)
        )

    @cached_property
    def across(self) -> FloatArray:
        """Covariance (p, m) of the level, of size 1, with the values in the basis."""
        return np.asarray(self.kernel.across @ self.basis.T)

    def posterior(self, index: int) -> tuple[FloatArray, FloatArray]:
        """Mean (p,) and variance (p,) of the level with one of the sizes."""
        size = self.sizes[index]
        weights = self.weights[index]
        inner = self.inner[index]
        mean = self.constant[index] + size * (self.across @ (weights * self.residual[index]))
        rest = 1.0 - size * (self.across @ (weights * self.ones))
        variance = size * self.kernel.variance - size**2 * (self.across**2 @ weights) + rest**2 / inner
        return mean, self.square[index] * variance

    def covariance(self, index: int) -> FloatArray:
        """Covariance (m, m) of the level at the blocks with one of the sizes."""
        size = self.sizes[index]
        weights = self.weights[index]
        across = self.across[: weights.size]
        rest = 1.0 - size * (across @ (weights * self.ones))
        covariance = size * self.kernel.across[: weights.size] - size**2 * (across * weights) @ across.T
        return np.asarray(self.square[index] * (covariance + np.outer(rest, rest) / self.inner[index]))


def _plausible(models: Sequence[_Models]) -> tuple[list[tuple[_Models, int]], FloatArray]:
    """The models that have some probability, each by its size; and their probabilities.

    Only of these the level is computed, which takes longest.
    """
    best = max(model.evidence.max() for model in models)
    kept = [(model, model.evidence >= best + np.log(_NEGLIGIBLE)) for model in models]
    parts = [(model, index) for model, likely in kept for index in np.flatnonzero(likely).tolist()]
    weight = np.exp([model.evidence[index] - best for model, index in parts])
    return parts, weight / weight.sum()
