"""The level of a series: what its values would be without the noise of each, at all steps jointly, and later.

    value(s) = level(s) + noise,    level(s) = c + f(s)

f is 0, a random walk, or a smooth trend in a power of the step, so that a run may change early and be slow
later. The trend is an integrated random walk with a random slope, whose mean is a cubic spline (Wahba 1978,
doi:10.1111/j.2517-6161.1978.tb01050.x). The noise is white, correlated over two evaluations, or that of a
share, whose variance follows its level. Sizes, powers and kinds of noise are averaged by their evidence, the
restricted likelihood. That a level may be constant makes *flat* something that data can show.

The covariance of all values, of a size q times f's and of the noise, is diagonal for every q in one basis
that does not depend on q: one eigendecomposition serves all sizes of a walk or of a trend.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import stdtr

from entropylaw.arrays import FloatArray, IntArray
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

MEMORY = 2.0
"""Evaluations over which a correlated noise falls to 1/e."""

CORRELATED = 2.0 / 3.0
"""The share of its variance that does; the rest is white."""

LEAST_CORRELATED = 0.5
"""Prior probability of a correlated noise to that of white noise."""

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
        square = np.einsum("i,kij,j->k", contrast, self.covariance, contrast, optimize=True)
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
        return self.of(self._unit(index) - self._unit(other))

    def along_line(self, share: float) -> Cells:
        """The change over the last ``share`` of the steps, along the straight line through the level there.

        The line goes through three blocks at least.
        """
        inside = self._inside(share)
        step = self.blocks.step[inside]
        return self.slope(share, per=float(step[-1] - step[0]))

    def slope(self, share: float, *, per: float) -> Cells:
        """The change ``per`` so many steps along that line."""
        inside = self._inside(share)
        step = self.blocks.step[inside]
        x = step - step.mean()
        contrast = np.zeros(self.last + 1)
        contrast[inside] = per * x / (x @ x)
        return self.of(contrast)

    def _inside(self, share: float) -> IntArray:
        """The blocks of the last ``share`` of the steps, three at least."""
        step = self.blocks.step
        length = step[-1] - step[0]
        inside = np.flatnonzero(step >= step[-1] - (share + 1e-9) * length)
        return inside if inside.size >= 3 else np.arange(step.size - 3, step.size)

    def p_below(self, value: float) -> FloatArray:
        """Probability (p,) that the level at each step is at most ``value``."""
        deviates = (value - self.mean) / np.sqrt(np.maximum(self.variance, 1e-300))
        return np.asarray(self.weight @ stdtr(self.df, deviates))

    def _unit(self, index: int) -> FloatArray:
        contrast = np.zeros(self.last + 1)
        contrast[index] = 1.0
        return contrast


def levels_of(
    step: FloatArray,
    values: FloatArray,
    later: FloatArray | None = None,
    *,
    is_share: bool = False,
    most: int = MOST,
) -> Levels:
    """The level of ``values`` (n,), n ≥ 4, at their blocks and at ``later`` steps.

    Where they are a share of something counted, the noise of a share is among the kinds of noise.
    """
    blocks = blocks_of(step, values, most)
    origin = float(blocks.value.mean())
    # Of a constant series nothing but the rounding error is unknown.
    unit = max(float(np.std(blocks.value)), float(np.spacing(abs(origin))))
    every = blocks.step if later is None else np.concatenate([blocks.step, later])
    x = (every - blocks.step[0]) / (blocks.step[-1] - blocks.step[0])
    y = (blocks.value - origin) / unit
    models = []
    for noise, prior in _noises(blocks, is_share=is_share):
        root = np.asarray(np.linalg.cholesky(noise), dtype=float)
        for kernel, sizes, share in _kernels(x):
            models.append(_Models(kernel, root, y, sizes, prior * share / len(sizes)))
    best = max(model.evidence.max() for model in models)
    # Only of what is plausible the level is computed, which takes longest.
    kept = [(model, model.evidence >= best + np.log(_NEGLIGIBLE)) for model in models]
    parts = [(model, index) for model, likely in kept for index in np.flatnonzero(likely).tolist()]
    weight = np.exp([model.evidence[index] - best for model, index in parts])
    weight /= weight.sum()
    posteriors = [model.posterior(index) for model, index in parts]
    noise_variance = np.array([model.square[index] * model.noise for model, index in parts])
    return Levels(
        blocks=blocks,
        weight=weight,
        mean=np.array([mean for mean, _, _ in posteriors]) * unit + origin,
        variance=np.array([variance for _, variance, _ in posteriors]) * unit**2,
        covariance=np.array([covariance for _, _, covariance in posteriors]) * unit**2,
        df=float(y.size - 1),
        noise=float(np.sqrt(weight @ noise_variance * blocks.size)) * unit,
    )


def level_now(step: FloatArray, values: FloatArray) -> Cells:
    """The level of a run (n,), n ≥ 4, at its end."""
    levels = levels_of(step, values)
    return levels.at(levels.last)


def _kernels(x: FloatArray) -> Iterator[tuple[FloatArray, tuple[float, ...], float]]:
    """Covariances (p, p) of the level less its first at times ``x`` (p,), with sizes and probability."""
    walk = np.minimum.outer(x, x)
    yield walk, (0.0,), CONSTANT
    yield walk, WALKS, WALK
    for power in POWERS:
        t = x**power
        low = np.minimum.outer(t, t)
        high = np.maximum.outer(t, t)
        trend = np.outer(t, t) / 2.0 + low**2 * (3.0 * high - low) / 4.0
        yield trend, TRENDS, (1.0 - CONSTANT - WALK) / len(POWERS)


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


class _Models:
    """The models of one kernel and one noise, with g sizes of the kernel.

    In the basis in which noise is 1 and the kernel is diagonal, values have variance 1 + size · eigenvalue.
    """

    def __init__(
        self, kernel: FloatArray, root: FloatArray, y: FloatArray, sizes: tuple[float, ...], prior: float
    ) -> None:
        m = y.size
        self.kernel = kernel
        self.sizes = np.array(sizes)
        inverse_root = solve_triangular(root, np.eye(m), lower=True)
        eigenvalues, vectors = np.linalg.eigh(inverse_root @ kernel[:m, :m] @ inverse_root.T)
        basis = vectors.T @ inverse_root
        self.basis = basis
        self.weights = 1.0 / (1.0 + self.sizes[:, None] * np.maximum(eigenvalues, 0.0))
        values = basis @ y
        self.ones = basis.sum(axis=1)
        self.inner = self.weights @ self.ones**2
        self.constant = (self.weights @ (self.ones * values)) / self.inner
        self.residual = values - self.constant[:, None] * self.ones
        self.square = np.maximum((self.weights * self.residual**2).sum(axis=1), 1e-9) / (m - 1)
        #: Variance of the noise of a block, in variances of the noise of these models.
        self.noise = float(np.trace(root @ root.T)) / m
        self.evidence = (
            np.log(prior)
            - np.log(np.diag(root)).sum()
            + 0.5 * np.log(self.weights).sum(axis=1)
            - 0.5 * np.log(self.inner)
            - 0.5 * (m - 1) * np.log(self.square)
        )

    def posterior(self, index: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean (p,) and variance (p,) of the level with one of the sizes, and its covariance (m, m)."""
        m = self.basis.shape[0]
        weights = self.weights[index]
        across = self.sizes[index] * self.kernel[:, :m] @ self.basis.T
        mean = self.constant[index] + across @ (weights * self.residual[index])
        rest = 1.0 - across @ (weights * self.ones)
        explained = across * weights
        variance = self.sizes[index] * np.diagonal(self.kernel) - (explained * across).sum(axis=1)
        variance += rest**2 / self.inner[index]
        covariance = self.sizes[index] * self.kernel[:m, :m] - explained[:m] @ across[:m].T
        covariance += np.outer(rest[:m], rest[:m]) / self.inner[index]
        return mean, self.square[index] * variance, self.square[index] * covariance
