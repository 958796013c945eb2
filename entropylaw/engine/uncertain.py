"""Inference where a column of the design is itself uncertain: errors in a regressor, in the same model.

    R = X β + β₁ · Z u + drift + noise,        u ~ N(0, 1), k of them,

with X's second column the best guess of the regressor and Z a square root of its covariance given all that
was measured of it. The product β₁·u is taken to first order about its most probable value, found by
Gauss–Newton at every grid point, so that the reward may correct the regressor as it does in orthogonal
distance regression (Boggs, Byrd & Schnabel 1987, doi:10.1137/0908085), of which this is the case with a
drift and with a prior on the regressor's path. β and σ² then are as in :mod:`entropylaw.engine.posterior`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from entropylaw.engine.grid import FloatArray, Grid
from entropylaw.engine.posterior import LEAST, log_likelihood, over_grid, symmetric_inverse
from entropylaw.engine.whiten import cross_products
from entropylaw.results.fields import replace
from entropylaw.results.posterior import SHARPEST, Posterior

UNCERTAIN = 1
"""Which column of the design is uncertain."""

_EXPLAINED = 1e-6
"""Residual variance, as a share of what it is with the column taken as known, below which it does not fall
where errors of that size explain all there is."""

_CONDITION = 1e-9
"""The same as a share of the largest variance that the column's errors give the reward: with less of it, too
many digits cancel."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Moments:
    """Cross products of whitened columns in a basis in which those of Z are diagonal.

    Shapes, with b problems and g grid points: ``fixed`` (b, g, p + 1, p + 1) of X and the reward, ``mixed``
    (b, g, k, p + 1) of Z with these, ``roots`` (b, g, k) of Z with itself.
    """

    fixed: FloatArray
    mixed: FloatArray
    roots: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Turn:
    """The linear model about ``slope``, ``u`` and ``variance``, solved: all with (b, g) in front.

    ``beta`` (p), ``covariance`` (p, p; in σ²), ``log_det`` and ``rss`` are the answer; ``own`` (k) is
    1/(a²λ + σ²), and u given β is ``own · (pull − tie · β)``, with ``pull`` (k) and ``tie`` (k, p).
    """

    slope: FloatArray
    u: FloatArray
    variance: FloatArray
    beta: FloatArray
    covariance: FloatArray
    log_det: FloatArray
    rss: FloatArray
    own: FloatArray
    pull: FloatArray
    tie: FloatArray


def uncertain_posteriors(
    step: FloatArray, designs: FloatArray, roots: FloatArray, rewards: FloatArray, grid: Grid
) -> tuple[Posterior, FloatArray]:
    """Posterior of β for a batch of problems with an uncertain second column, and the mean of u.

    ``roots`` has shape (b, n, k): the second column has covariance ``roots @ rootsᵀ``; columns of zeros do
    nothing. The others are as for :func:`entropylaw.engine.posterior.infer`. The mean over the grid of u as
    the reward corrects it has shape (b, k).

    Where σ² is integrated out, the ratio of u's effect to it is taken at σ² = rss/(n − p), which is solved
    for along with the slope; the degrees of freedom stay n − p.
    """
    n, p = designs.shape[1:]
    # The least-squares residual stands for the reward, as in ``posteriors``: no digits are lost.
    ortho, triangle = np.linalg.qr(designs)
    start = np.einsum("bnp,bn->bp", ortho, rewards)
    residual = rewards - np.einsum("bnp,bp->bn", ortho, start)
    products = cross_products(step, np.concatenate([ortho, residual[:, :, None], roots], axis=2), grid)
    first = np.linalg.solve(triangle, start[..., None])[..., 0]
    # Of X, of the least-squares residual and of Z rotated.
    change = np.zeros((len(designs), 1, p + 1, p + 1))
    change[:, 0, :p, :p], change[:, 0, p, p] = triangle, 1.0
    lam, turned = np.linalg.eigh(products.gram[..., p + 1 :, p + 1 :])
    moments = _Moments(
        fixed=change.swapaxes(-1, -2) @ products.gram[..., : p + 1, : p + 1] @ change,
        mixed=turned.swapaxes(-1, -2) @ products.gram[..., p + 1 :, : p + 1] @ change,
        roots=np.maximum(lam, 0.0),
    )
    turn = _settled(moments, first, n - p, grid.scaled)
    here, seen = (
        (each[..., None, :] @ turned)[..., 0, :] for each in (roots[:, None, -1], products.last[..., p + 1 :])
    )
    error = _now(turn, first, here)
    drift = _now(turn, first, -seen, products.last[..., p], products.last[..., :p] @ triangle)
    # Reward minus law at the last step: the drift there, and what the regressor's error does to the law.
    slope = -(error.slope + drift.slope)
    # log_det is of X and not of its orthonormal columns; the engine's evidence is for the latter.
    log_like = log_likelihood(turn.rss, products.log_det + turn.log_det, n - p, grid.scaled)
    many = over_grid(
        grid,
        log_like + np.linalg.slogdet(triangle)[1][:, None],
        variance=turn.variance,
        free=n - p,
        coefficient=first[:, None] + turn.beta,
        covariance=turn.covariance,
        now_offset=error.mean + drift.mean + (slope * first[:, None]).sum(axis=-1),
        now_slope=slope,
        now_variance=products.last_variance + ((error.root + drift.root) ** 2 * turn.own).sum(axis=-1),
        level_information=n * products.gram[..., 0, 0],
    )
    mean = np.einsum("bg,bgik,bgk->bi", many.weight, turned, turn.u)
    if grid.homeless:
        return _anchored(many, turn, error, drift, products.last_variance, grid), mean
    return many, mean


def _settled(moments: _Moments, first: FloatArray, free: int, scaled: bool) -> _Turn:
    """Iterate until slope and variance stand still at every grid point that matters."""
    p = first.shape[1]
    base = np.broadcast_to(first[:, None, UNCERTAIN], moments.roots.shape[:2])
    slope, u = base, np.zeros_like(moments.roots)
    # Residual sum of squares with the column taken as known.
    normal, moment = moments.fixed[..., :p, :p], moments.fixed[..., :p, p]
    explained = (moment * np.linalg.solve(normal, moment[..., None])[..., 0]).sum(axis=-1)
    rss = moments.fixed[..., p, p] - explained
    variance = np.maximum(rss, LEAST) / free if scaled else np.ones_like(rss)
    least, largest = _EXPLAINED * variance, moments.roots.max(axis=-1)
    if scaled:
        variance = np.maximum(variance, _CONDITION * base**2 * largest)
    settled = 1e-11  # relative change of slope and variance at which the iteration ends
    for _ in range(100):
        turn = _solved(moments, slope, base, u, variance, p)
        new_slope = base + turn.beta[..., UNCERTAIN]
        new_u = turn.own * (turn.pull - (turn.tie @ turn.beta[..., None])[..., 0])
        floor = np.maximum(least, _CONDITION * new_slope**2 * largest)
        new_variance = np.maximum(turn.rss / free, floor) if scaled else variance
        moved = np.abs(new_slope - slope) <= settled * np.abs(new_slope)
        moved &= np.abs(new_variance - variance) <= settled * new_variance
        if moved.all():
            break
        slope, u, variance = new_slope, new_u, new_variance
    return turn


def _solved(
    moments: _Moments, slope: FloatArray, base: FloatArray, u: FloatArray, variance: FloatArray, p: int
) -> _Turn:
    """The model linearised about ``slope`` and ``u``, and solved.

    With β = β_ls + d and r the least-squares residual,  r + (slope − base)·Z u = X̃ d + slope · Z u' + …, with
    X̃ that has Z u added to its second column, ``base`` as the slope in β_ls, and u' to be solved for.
    """
    cross, lam = moments.mixed, moments.roots
    tie = cross[..., :p].copy()
    tie[..., UNCERTAIN] += lam * u
    # X̃ᵀX̃, and X̃ᵀ of the response r + (slope − base)·Z u.
    normal = moments.fixed[..., :p, :p].copy()
    lift = (u[..., None] * cross[..., :p]).sum(axis=-2)
    normal[..., UNCERTAIN, :] += lift
    normal[..., :, UNCERTAIN] += lift
    normal[..., UNCERTAIN, UNCERTAIN] += (lam * u**2).sum(axis=-1)
    extra = (slope - base)[..., None] * u
    answer = cross[..., p] + lam * extra
    moment = moments.fixed[..., :p, p] + (extra[..., None] * cross[..., :p]).sum(axis=-2)
    moment[..., UNCERTAIN] += (u * answer).sum(axis=-1)
    square = moments.fixed[..., p, p] + (extra * (cross[..., p] + answer)).sum(axis=-1)
    own = 1.0 / (slope[..., None] ** 2 * lam + variance[..., None])
    factor = slope[..., None] ** 2 * own
    normal -= (tie * factor[..., None]).swapaxes(-1, -2) @ tie
    moment -= ((factor * answer)[..., None] * tie).sum(axis=-2)
    square -= (factor * answer**2).sum(axis=-1)
    inverse, log_det = symmetric_inverse(normal)
    beta = (inverse @ moment[..., None])[..., 0]
    return _Turn(
        slope=slope,
        u=u,
        variance=variance,
        beta=beta,
        covariance=inverse,
        log_det=log_det - np.log(own * variance[..., None]).sum(axis=-1),
        rss=np.maximum(square - (moment * beta).sum(axis=-1), LEAST),
        own=own,
        pull=slope[..., None] * answer,
        tie=slope[..., None, None] * tie,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Part:
    """A number at the last step that is linear in d = β − first and in what is left of u: (b, g) in front.

    It is ``mean + slope · d + root · ζ`` with ζ what u is off its mean given β; slope (p), root (k).
    """

    mean: FloatArray
    slope: FloatArray
    root: FloatArray


def _now(
    turn: _Turn,
    first: FloatArray,
    state: FloatArray,
    last: FloatArray | float = 0.0,
    fixed: FloatArray | float = 0.0,
) -> _Part:
    """A number at the last step: ``last`` − ``fixed`` · d + β₁ ``state`` · u, with ``state`` (b, g, k).

    What the regressor's error does to the law there has Z's last row as its ``state``. The filter's drift has
    less its state on Z, ``last`` (b, g) is its state on the residual, and ``fixed`` (b, g, p) that on X.
    """
    at = (state * turn.u).sum(axis=-1)
    root = turn.slope[..., None] * state
    slope = -fixed - ((root * turn.own)[..., None] * turn.tie).sum(axis=-2)
    slope[..., UNCERTAIN] += at
    mean = last - (turn.slope - first[:, None, UNCERTAIN]) * at
    mean = mean + (root * turn.own * turn.pull).sum(axis=-1)
    return _Part(mean=mean, slope=slope, root=root)


def _anchored(
    many: Posterior, turn: _Turn, error: _Part, drift: _Part, last_variance: FloatArray, grid: Grid
) -> Posterior:
    """As ``reparametrise_at_last_step``: the constant takes up the drift, the regressor's error stays apart.

    (c + drift, a) and the error are one Gaussian vector given σ², of which the error given the first two
    is taken.
    """
    p = turn.beta.shape[-1]
    level = np.eye(1, p)[0]
    turned = np.eye(p) + level[:, None] * drift.slope[..., None, :]
    spread = turned @ turn.covariance @ turned.swapaxes(-1, -2)
    own_variance = (drift.root**2 * turn.own).sum(axis=-1) + last_variance
    spread = spread + own_variance[..., None, None] * np.outer(level, level)
    moved = drift.mean + (drift.slope * turn.beta).sum(axis=-1)
    coefficient = many.coefficient + moved[..., None] * level
    tied = (turn.covariance @ error.slope[..., None])[..., 0]
    tied = (turned @ tied[..., None])[..., 0]
    tied = tied + (drift.root * turn.own * error.root).sum(axis=-1)[..., None] * level
    alone = (error.slope[..., None, :] @ turn.covariance @ error.slope[..., None])[..., 0, 0]
    alone = alone + (error.root**2 * turn.own).sum(axis=-1)
    try:
        pull = np.linalg.solve(spread, tied[..., None])[..., 0]
    except np.linalg.LinAlgError:
        # Without noise the last reward fixes c + drift given a: a covariance of rank 1.
        pull = (np.linalg.pinv(spread, hermitian=True) @ tied[..., None])[..., 0]
    return replace(
        many,
        coefficient=coefficient,
        covariance=spread * turn.variance[..., None, None],
        variance=many.variance * np.maximum(grid.noise / (grid.drift + grid.noise), SHARPEST),
        now_offset=error.mean + (error.slope * turn.beta).sum(axis=-1) - (pull * coefficient).sum(axis=-1),
        now_slope=-pull,
        now_variance=np.maximum(alone - (pull * tied).sum(axis=-1), 0.0) * turn.variance,
    )
