"""Inference where a column of the design is itself uncertain: errors in a regressor, in the same model.

    R = X β + β₁ · Z u + drift + noise,        u ~ N(0, 1), k of them,

with X's second column the best estimate of the regressor and Z a square root of its covariance given all
measurements of it. The product β₁·u is linearised about its most probable value, found by Gauss–Newton at
every grid point, so that the reward may correct the regressor as it does in orthogonal distance regression
(Boggs, Byrd & Schnabel 1987, doi:10.1137/0908085); this adds a drift, and a prior on the regressor's path.
β and σ² then are as in :mod:`entropylaw.engine.posterior`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from entropylaw.arrays import FloatArray
from entropylaw.engine.kalman import cross_products
from entropylaw.engine.posterior import LEAST, least_squares, over_grid, symmetric_inverse
from entropylaw.engine.prior import Grid
from entropylaw.results.posterior import SHARPEST, Posterior
from entropylaw.results.result import replace

UNCERTAIN = 1
"""Number of the design's uncertain column."""

_EXPLAINED = 1e-6
"""Lower bound of the residual variance, as a share of the variance with the column taken as known, where
errors of that size explain the whole residual."""

_CONDITION = 1e-9
"""Lower bound as a share of the largest variance of the reward from the column's errors: below it too many
digits cancel."""


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
class _Linearised:
    """Solution of the model linearised about ``slope``, ``u`` and ``variance``: (b, g) come first.

    ``beta`` (p), ``covariance`` (p, p; in σ²), ``log_det`` and ``rss`` are the solution; ``own`` (k) is
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _LastStep:
    """A number at the last step that is linear in d = β − first and in u: (b, g) come first.

    It is ``mean + slope · d + root · ζ``, where ζ is u less its mean given β; slope (p), root (k).
    """

    mean: FloatArray
    slope: FloatArray
    root: FloatArray


def uncertain_posteriors(
    step: FloatArray, designs: FloatArray, roots: FloatArray, rewards: FloatArray, grid: Grid
) -> tuple[Posterior, FloatArray]:
    """Posterior of β for a batch of problems with an uncertain second column, and the mean of u.

    ``roots`` has shape (b, n, k): the second column has covariance ``roots @ rootsᵀ``; columns of zeros have
    no effect. The others are as for :func:`entropylaw.engine.posterior.infer`. The mean over the grid of u,
    as the reward corrects it, has shape (b, k).

    Where σ² is integrated out, the ratio of u's effect to it is taken at σ² = rss/(n − p), which is solved
    for together with the slope; the degrees of freedom stay n − p.
    """
    n, p = designs.shape[1:]
    # The least-squares residual replaces the reward, as in ``infer``: no digits are lost.
    ortho, triangle, start, residual = least_squares(designs, rewards)
    products = cross_products(step, np.concatenate([ortho, residual[:, :, None], roots], axis=2), grid)
    first = np.asarray(np.linalg.solve(triangle, start[..., None])[..., 0], dtype=float)
    # Cross products of X, of the least-squares residual and of Z rotated.
    change = np.zeros((len(designs), 1, p + 1, p + 1))
    change[:, 0, :p, :p], change[:, 0, p, p] = triangle, 1.0
    lam, rotation = np.linalg.eigh(products.gram[..., p + 1 :, p + 1 :])
    moments = _Moments(
        fixed=change.swapaxes(-1, -2) @ products.gram[..., : p + 1, : p + 1] @ change,
        mixed=rotation.swapaxes(-1, -2) @ products.gram[..., p + 1 :, : p + 1] @ change,
        roots=np.maximum(lam, 0.0),
    )
    fit = gauss_newton(moments, first, n - p, grid.scaled)
    last_root, last_state = (
        (each[..., None, :] @ rotation)[..., 0, :]
        for each in (roots[:, None, -1], products.last[..., p + 1 :])
    )
    error = _at_last_step(fit, first, last_root)
    drift = _at_last_step(fit, first, -last_state, products.last[..., p], products.last[..., :p] @ triangle)
    # Reward minus law at the last step: the drift there, and the effect of the regressor's error on the law.
    slope = -(error.slope + drift.slope)
    posterior = over_grid(
        grid,
        fit.rss,
        products.log_det + fit.log_det,
        # The normal matrix is that of X; the engine's evidence is for orthonormal columns.
        log_jacobian=np.linalg.slogdet(triangle)[1][:, None],
        variance=fit.variance,
        free=n - p,
        coefficient=first[:, None] + fit.beta,
        covariance=fit.covariance,
        now_offset=error.mean + drift.mean + (slope * first[:, None]).sum(axis=-1),
        now_slope=slope,
        now_variance=products.last_variance + ((error.root + drift.root) ** 2 * fit.own).sum(axis=-1),
        level_information=n * products.gram[..., 0, 0],
    )
    mean = np.einsum("bg,bgik,bgk->bi", posterior.weight, rotation, fit.u)
    if grid.relative_to_last:
        return _relative_to_last(posterior, fit, error, drift, products.last_variance, grid), mean
    return posterior, mean


def gauss_newton(moments: _Moments, first: FloatArray, free: int, scaled: bool) -> _Linearised:
    """Iterate until slope and variance converge at every grid point."""
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
    tolerance = 1e-11  # relative change of slope and variance at which the iteration ends
    for _ in range(100):
        fit = _linearised(moments, slope, base, u, variance, p)
        new_slope = base + fit.beta[..., UNCERTAIN]
        new_u = fit.own * (fit.pull - (fit.tie @ fit.beta[..., None])[..., 0])
        floor = np.maximum(least, _CONDITION * new_slope**2 * largest)
        new_variance = np.maximum(fit.rss / free, floor) if scaled else variance
        converged = np.abs(new_slope - slope) <= tolerance * np.abs(new_slope)
        converged &= np.abs(new_variance - variance) <= tolerance * new_variance
        if converged.all():
            break
        slope, u, variance = new_slope, new_u, new_variance
    return fit


def _linearised(
    moments: _Moments, slope: FloatArray, base: FloatArray, u: FloatArray, variance: FloatArray, p: int
) -> _Linearised:
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
    response = cross[..., p] + lam * extra
    moment = moments.fixed[..., :p, p] + (extra[..., None] * cross[..., :p]).sum(axis=-2)
    moment[..., UNCERTAIN] += (u * response).sum(axis=-1)
    square = moments.fixed[..., p, p] + (extra * (cross[..., p] + response)).sum(axis=-1)
    own = 1.0 / (slope[..., None] ** 2 * lam + variance[..., None])
    factor = slope[..., None] ** 2 * own
    normal -= (tie * factor[..., None]).swapaxes(-1, -2) @ tie
    moment -= ((factor * response)[..., None] * tie).sum(axis=-2)
    square -= (factor * response**2).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        inverse, log_det = symmetric_inverse(normal)
    # Where the errors of the column explain all of its movement the slope is unknown: no probability there.
    known = np.isfinite(log_det)
    inverse, log_det = np.where(known[..., None, None], inverse, 0.0), np.where(known, log_det, np.inf)
    beta = (inverse @ moment[..., None])[..., 0]
    return _Linearised(
        slope=slope,
        u=u,
        variance=variance,
        beta=beta,
        covariance=inverse,
        log_det=log_det - np.log(own * variance[..., None]).sum(axis=-1),
        rss=np.maximum(square - (moment * beta).sum(axis=-1), LEAST),
        own=own,
        pull=slope[..., None] * response,
        tie=slope[..., None, None] * tie,
    )


def _at_last_step(
    fit: _Linearised,
    first: FloatArray,
    state: FloatArray,
    last: FloatArray | float = 0.0,
    fixed: FloatArray | float = 0.0,
) -> _LastStep:
    """A number at the last step: ``last`` − ``fixed`` · d + β₁ ``state`` · u, with ``state`` (b, g, k).

    For the effect of the regressor's error on the law ``state`` is Z's last row. For the drift it is minus
    the filter's state on Z, ``last`` (b, g) its state on the residual, and ``fixed`` (b, g, p) that on X.
    """
    at = (state * fit.u).sum(axis=-1)
    root = fit.slope[..., None] * state
    slope = -fixed - ((root * fit.own)[..., None] * fit.tie).sum(axis=-2)
    slope[..., UNCERTAIN] += at
    mean = last - (fit.slope - first[:, None, UNCERTAIN]) * at
    mean = mean + (root * fit.own * fit.pull).sum(axis=-1)
    return _LastStep(mean=mean, slope=slope, root=root)


def _relative_to_last(
    posterior: Posterior,
    fit: _Linearised,
    error: _LastStep,
    drift: _LastStep,
    last_variance: FloatArray,
    grid: Grid,
) -> Posterior:
    """As ``reparametrise_at_last_step``, with the constant plus the drift, and the regressor's error apart.

    (c + drift, a) and the error are one Gaussian vector given σ², of which the error given the first two
    is taken.
    """
    p = fit.beta.shape[-1]
    level = np.eye(1, p)[0]
    turn = np.eye(p) + level[:, None] * drift.slope[..., None, :]
    spread = turn @ fit.covariance @ turn.swapaxes(-1, -2)
    own_variance = (drift.root**2 * fit.own).sum(axis=-1) + last_variance
    spread = spread + own_variance[..., None, None] * np.outer(level, level)
    moved = drift.mean + (drift.slope * fit.beta).sum(axis=-1)
    coefficient = posterior.coefficient + moved[..., None] * level
    cross = (turn @ fit.covariance @ error.slope[..., None])[..., 0]
    cross = cross + (drift.root * fit.own * error.root).sum(axis=-1)[..., None] * level
    alone = (error.slope[..., None, :] @ fit.covariance @ error.slope[..., None])[..., 0, 0]
    alone = alone + (error.root**2 * fit.own).sum(axis=-1)
    try:
        pull = np.linalg.solve(spread, cross[..., None])[..., 0]
    except np.linalg.LinAlgError:
        # Without noise the last reward determines c + drift given a: a covariance of rank 1.
        pull = (np.linalg.pinv(spread, hermitian=True) @ cross[..., None])[..., 0]
    return replace(
        posterior,
        coefficient=coefficient,
        covariance=spread * fit.variance[..., None, None],
        variance=posterior.variance * np.maximum(grid.noise / (grid.drift + grid.noise), SHARPEST),
        now_offset=error.mean + (error.slope * fit.beta).sum(axis=-1) - (pull * coefficient).sum(axis=-1),
        now_slope=-pull,
        now_variance=np.maximum(alone - (pull * cross).sum(axis=-1), 0.0) * fit.variance,
    )
