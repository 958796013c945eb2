"""Exact inference for R = X β + drift + noise, with the drift's parameters integrated out.

For one covariance the answer is generalised least squares in closed form: with a flat prior on β and
1/σ² on the residual variance, any linear functional of β is a Student t with n − p degrees of freedom.
Over a grid of covariances the answers are mixed by their restricted marginal likelihood (Harville 1974,
doi:10.1093/biomet/61.2.383), so that an interval is a quantile of a mixture of t's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.special import gammaln

from entropylaw.arrays import BoolArray, FloatArray, IntArray
from entropylaw.engine.kalman import Products, cross_products
from entropylaw.engine.prior import Grid
from entropylaw.results.mixture import Mixture, normalised
from entropylaw.results.posterior import LONG, SCALED, SHARPEST, SHORT, Posterior
from entropylaw.results.result import replace

LEAST = 1e-280
"""Smallest residual sum of squares: an exact fit must leave a width that can be divided by."""

_SHARP = 1e-6
"""Residual of the reward on a shared basis, relative to its spread, below which the basis is not used: the
columns' rounding must stay far below the residual."""


Rows = slice | IntArray
"""Numbers of rows, or all of them."""

EVERY = slice(None)

Whole = Callable[[int], FloatArray]
"""All of a design (n, p), by its number among several that are known at some rows."""

_ROWS = 500
"""Rows that are taken all over a long run, and all over the range of each column."""


def infer(
    step: FloatArray, designs: FloatArray, rewards: FloatArray, grid: Grid, *, least: float = LEAST
) -> Posterior:
    """Posterior of β for a batch of problems that share their steps, each whitened on its own.

    Parameters
    ----------
    step
        Shape (n,), strictly increasing. The filter's gains depend on nothing else: a batch pays once.
    designs, rewards
        Shapes (batch, n, p), full column rank, the first column constant, and (batch, n).
    grid
        Covariances to sum over.
    least
        Lower bound of the residual sum of squares.
    """
    # Orthonormal columns and least-squares residuals are small and well conditioned, so that the normal
    # equations lose no digits.
    ortho, triangle, start, residual = least_squares(designs, rewards)
    columns = np.concatenate([ortho, residual[:, :, None]], axis=2)
    return solve(cross_products(step, columns, grid), grid, start, triangle, step.size, least)


def least_squares(
    designs: FloatArray, rewards: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Q (b, n, p) and R (b, p, p) of designs, coordinates (b, p) of rewards (b, n) on Q, and residuals."""
    ortho, triangle = np.linalg.qr(designs)
    along = np.einsum("bnp,bn->bp", ortho, rewards)
    return ortho, triangle, along, rewards - np.einsum("bnp,bp->bn", ortho, along)


def solve(
    products: Products, grid: Grid, start: FloatArray, triangle: FloatArray, n: int, least: float = LEAST
) -> Posterior:
    """Closed form at every grid point of b problems, from the cross products of their whitened columns.

    The columns are Q of the design = Q·R and the residual of the reward on Q with the least-squares
    coordinates ``start`` (b, p); ``triangle`` (b, p, p) is R.
    """
    gram, last = products.gram, products.last
    p = start.shape[1]
    normal, moment = gram[..., :p, :p], gram[..., :p, p]
    inverse, log_det = symmetric_inverse(normal)
    shift = (inverse @ moment[..., None])[..., 0]
    rss = np.maximum(gram[..., p, p] - (moment * shift).sum(axis=-1), least)
    back = np.linalg.inv(triangle)
    # The filter's last state is linear in the column: residual − Q (βq − start), and βq = triangle β.
    posterior = over_grid(
        grid,
        rss,
        products.log_det + log_det,
        variance=rss / (n - p) if grid.scaled else np.ones_like(rss),
        free=n - p,
        coefficient=(start[:, None] + shift) @ back.transpose(0, 2, 1),
        covariance=back[:, None] @ inverse @ back.transpose(0, 2, 1)[:, None],
        now_offset=last[..., p] + (last[..., :p] @ start[..., None])[..., 0],
        now_slope=last[..., :p] @ triangle,
        now_variance=products.last_variance,
        level_information=n * normal[..., 0, 0],
    )
    return reparametrise_at_last_step(posterior, grid) if grid.relative_to_last else posterior


def over_grid(
    grid: Grid,
    rss: FloatArray,
    log_det: FloatArray,
    *,
    variance: FloatArray,
    free: int,
    covariance: FloatArray,
    now_variance: FloatArray,
    level_information: FloatArray,
    log_jacobian: FloatArray | float = 0.0,
    **fields: FloatArray,
) -> Posterior:
    """Mix the grid points by their restricted likelihoods.

    ``rss`` (b, g) are residual sums of squares, ``log_det`` (b, g) the log-determinants of covariance and
    normal matrix together, ``free`` is n − p. ``covariance`` and ``now_variance`` are in σ², which is
    ``variance``; ``level_information`` (b, g) is n times the level's element of the normal matrix;
    ``log_jacobian`` is the log-determinant of the change to orthonormal columns, if the normal matrix is that
    of others. The other fields are those of the posterior.
    """
    quadratic = (
        gammaln(free / 2) - free / 2 * (np.log(rss / 2) + np.log(2 * np.pi))
        if grid.scaled
        else -0.5 * rss - free / 2 * np.log(2 * np.pi)
    )
    weight, log_evidence = normalised(-0.5 * log_det + quadratic + log_jacobian + grid.log_prior)
    drift, noise = grid.now
    total = drift + noise
    kind = np.where(grid.several, LONG, np.where(grid.changes, SCALED, SHORT))
    return Posterior(
        weight=weight,
        covariance=covariance * variance[..., None, None],
        variance=variance * total,
        drift_share=np.broadcast_to(drift / (total + grid.mean_floor), variance.shape),
        length=np.broadcast_to(grid.length, variance.shape),
        kind=np.broadcast_to(kind, variance.shape),
        now_variance=now_variance * variance,
        # Of known noise that differs, an evaluation more exact than their mean counts for more than one.
        effective_n=np.minimum(level_information * (total + grid.mean_floor), free + covariance.shape[-1]),
        df=float(free) if grid.scaled else np.inf,
        log_evidence=log_evidence,
        **fields,
    )


def reparametrise_at_last_step(posterior: Posterior, grid: Grid) -> Posterior:
    """The same with the constant as the level at the last step, so that the drift there is 0.

    ``variance`` then is that of the noise: of one more evaluation at the last step.
    """
    p = posterior.coefficient.shape[-1]
    level = np.diag(np.eye(1, p)[0])
    drift = posterior.now_offset - (posterior.now_slope * posterior.coefficient).sum(axis=-1)
    turn = np.eye(p) - level[:, :1] * posterior.now_slope[..., None, :]
    covariance = turn @ posterior.covariance @ turn.swapaxes(-1, -2)
    return replace(
        posterior,
        coefficient=posterior.coefficient + drift[..., None] * level[0],
        covariance=covariance + posterior.now_variance[..., None, None] * level,
        # Never 0: a prediction needs a width, however small.
        variance=posterior.variance * np.maximum(grid.noise / (grid.drift + grid.noise), SHARPEST),
        now_offset=np.zeros_like(posterior.now_offset),
        now_slope=np.zeros_like(posterior.now_slope),
        now_variance=np.zeros_like(posterior.now_variance),
    )


def symmetric_inverse(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Inverse and log-determinant of symmetric positive definite matrices, shape (..., p, p)."""
    p = matrix.shape[-1]
    if p == 1:
        return 1.0 / matrix, np.log(matrix[..., 0, 0])
    if p > 2:
        return np.asarray(np.linalg.inv(matrix)), np.asarray(np.linalg.slogdet(matrix)[1])
    first, both, second = matrix[..., 0, 0], matrix[..., 0, 1], matrix[..., 1, 1]
    determinant = first * second - both**2
    inverse = np.empty_like(matrix)
    inverse[..., 0, 0], inverse[..., 1, 1] = second / determinant, first / determinant
    inverse[..., 0, 1] = inverse[..., 1, 0] = -both / determinant
    return inverse, np.log(determinant)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SharedBasis:
    """An orthonormal basis (n, m), the reward's coordinates (m,), and the reward's residual on it (n,).

    ``ortho`` (r, m) and ``triangle`` (m, m) are Q and R of the rows of the basis at which columns are known.
    """

    basis: FloatArray
    target: FloatArray
    residual: FloatArray
    ortho: FloatArray
    triangle: FloatArray

    def coordinates(self, columns: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Coordinates (m, c) of columns (r, c), and whether each is in the span (c,)."""
        along = self.ortho.T @ columns
        outside = np.linalg.norm(columns - self.ortho @ along, axis=0)
        inside = np.asarray(outside <= 1e-10 * np.linalg.norm(columns, axis=0))
        return solve_triangular(self.triangle, along, check_finite=False), inside


def shared_basis(
    designs: Sequence[FloatArray],
    reward: FloatArray,
    rows: Rows = EVERY,
    whole: Callable[[int], FloatArray] | None = None,
) -> SharedBasis | None:
    """A basis of few columns that spans all designs, each (n, p), if there is one.

    Designs of one form with different shapes have columns that are combinations of a few, up to rounding.
    None where a basis saves no work, or where the reward (n,) is so close to its span that the columns'
    rounding would show in the residual. Where designs are known at some ``rows`` only, ``whole`` gives all of
    each: it is called for the columns of the basis.
    """
    columns = np.concatenate(designs, axis=1)
    if len(designs) < 4:
        return None
    # The first design's columns are in the basis exactly, and lose no digit.
    p = designs[0].shape[1]
    first = np.linalg.qr(designs[0])[0]
    others = columns[:, p:] - first @ (first.T @ columns[:, p:])
    others /= np.linalg.norm(columns[:, p:], axis=0)
    ortho, triangle, order = qr(others, mode="economic", pivoting=True, check_finite=False)
    new = np.abs(np.diag(triangle)) > 1e-12
    if whole is None:
        more = ortho[:, new]
    else:
        first = np.linalg.qr(whole(0))[0]
        more = _columns(whole, [design.shape[1] for design in designs], order[: new.size][new] + p)
        more -= first @ (first.T @ more)
    # Orthogonalised again: the remainder of a column is small relative to the column's rounding.
    more = np.linalg.qr(more - first @ (first.T @ more))[0]
    basis = np.concatenate([first, more], axis=1)
    if basis.shape[1] + 1 > (columns.shape[1] + len(designs)) / 2:
        return None
    target = basis.T @ reward
    residual = reward - basis @ target
    centred = reward - reward.mean()
    if np.sqrt(residual @ residual) < _SHARP * np.sqrt(centred @ centred):
        return None
    known = (basis, np.eye(basis.shape[1])) if whole is None else np.linalg.qr(basis[rows])
    return SharedBasis(basis=basis, target=target, residual=residual, ortho=known[0], triangle=known[1])


def _columns(whole: Callable[[int], FloatArray], widths: Sequence[int], which: IntArray) -> FloatArray:
    """Some columns (n, k) of designs side by side, by their numbers (k,); ``widths`` of all designs."""
    starts = np.cumsum([0, *widths])
    design = np.searchsorted(starts, which, side="right") - 1
    found = None
    for i in np.unique(design):
        own = whole(int(i))
        if found is None:
            found = np.empty((len(own), which.size))
        found[:, design == i] = own[:, which[design == i] - starts[i]]
    return np.empty((len(whole(0)), 0)) if found is None else found


def spread_rows(*columns: FloatArray) -> Rows:
    """Rows that tell which smooth functions of columns, each (n,), are combinations of others.

    They are all over the run and all over each column's range, its ends included; all where there are few.
    """
    n = columns[0].size
    if n <= 4 * _ROWS:
        return EVERY
    found = [np.linspace(0, n - 1, _ROWS).astype(int)]
    for column in columns:
        order = np.argsort(column, kind="stable")
        at = np.linspace(column[order[0]], column[order[-1]], _ROWS)
        found += [order[np.minimum(np.searchsorted(column[order], at), n - 1)]]
    return np.unique(np.concatenate(found))


class Solver:
    """Posteriors of any number of forms of one reward; step and reward have shape (n,).

    Where forms share a basis, only its columns are whitened, once. Designs are given at ``rows`` of the
    evaluations, all by default: the functions that forms are made of are the same combinations of each other
    elsewhere.
    """

    def __init__(self, step: FloatArray, reward: FloatArray, grid: Grid, rows: Rows = EVERY) -> None:
        self._step, self._reward, self._grid, self.rows = step, reward, grid, rows
        self._shared: list[tuple[SharedBasis, Products]] = []

    def share(self, *families: tuple[Sequence[FloatArray], Whole | None]) -> None:
        """Whiten the bases of some families of designs together, where they have one.

        A family has its designs at :attr:`rows`, and the function that gives all of one by its number; None
        where they are whole.
        """
        bases = (shared_basis(designs, self._reward, self.rows, whole) for designs, whole in families)
        found = [basis for basis in bases if basis is not None]
        if not found:
            return
        batch = np.zeros((len(found), self._step.size, max(one.basis.shape[1] for one in found) + 1))
        for columns, one in zip(batch, found, strict=True):
            columns[:, : one.basis.shape[1]], columns[:, -1] = one.basis, one.residual
        products = cross_products(self._step, batch, self._grid)
        for i, one in enumerate(found):
            own = [*range(one.basis.shape[1]), -1]
            gram, last = products.gram[i][:, own][:, :, own], products.last[i][:, own]
            # The basis itself is not used again, and a part of it would keep all of it.
            slim = dataclasses.replace(one, basis=np.empty((0, 0)), residual=np.empty(0))
            self._shared.append((slim, replace(products, gram=gram, last=last)))

    def posteriors(
        self, designs: Sequence[FloatArray], whole: Whole | None = None
    ) -> list[tuple[Posterior, int]]:
        """Posterior of each form, as a batch and its number there.

        A design has shape (n, p), or (r, p) at :attr:`rows` with ``whole`` as for :meth:`share`; full column
        rank, the first column constant.
        """
        family, coordinates = self._places(designs)
        if len(missing := [i for i in range(len(designs)) if family[i] < 0]) > 3:
            entire = None if whole is None else lambda i: whole(missing[i])
            self.share(([designs[i] for i in missing], entire))
            family, coordinates = self._places(designs)
        found: dict[int, tuple[Posterior, int]] = {}
        widths = [design.shape[1] for design in designs]
        for which, p in sorted(set(zip(family, widths, strict=True))):
            chosen = [i for i in range(len(designs)) if (family[i], widths[i]) == (which, p)]
            if which < 0:
                some = np.array([designs[i] if whole is None else whole(i) for i in chosen])
                batch = infer(self._step, some, np.broadcast_to(self._reward, some.shape[:2]), self._grid)
            else:
                batch = self._solved(*self._shared[which], np.array([coordinates[i] for i in chosen]))
            found |= {i: (batch, number) for number, i in enumerate(chosen)}
        return [found[i] for i in range(len(designs))]

    def _places(self, designs: Sequence[FloatArray]) -> tuple[list[int], list[FloatArray]]:
        """Of each design the number of a basis that spans it, or −1, and its coordinates (m, p) there."""
        family, found = [-1] * len(designs), list(designs)
        if not self._shared:
            return family, found
        columns, starts = np.concatenate(designs, axis=1), [0]
        for design in designs:
            starts.append(starts[-1] + design.shape[1])
        for number, (shared, _) in enumerate(self._shared):
            coordinates, inside = shared.coordinates(columns)
            for i, own in enumerate(map(slice, starts[:-1], starts[1:])):
                if family[i] < 0 and inside[own].all():
                    family[i], found[i] = number, coordinates[:, own]
        return family, found

    def _solved(self, shared: SharedBasis, products: Products, coordinates: FloatArray) -> Posterior:
        """Designs by their coordinates (f, m, p) in a basis."""
        ortho, triangle = np.linalg.qr(coordinates)
        start = np.einsum("fmp,m->fp", ortho, shared.target)
        forms, m, p = ortho.shape
        # Of each form its columns and the reward's residual on them, in the basis and that on it.
        turn = np.zeros((forms, m + 1, p + 1))
        turn[:, :m, :p], turn[:, m, p] = ortho, 1.0
        turn[:, :m, p] = shared.target - np.einsum("fmp,fp->fm", ortho, start)
        flat = turn.transpose(1, 0, 2).reshape(m + 1, forms * (p + 1))
        half = (products.gram @ flat).reshape(-1, m + 1, forms, p + 1).transpose(2, 0, 1, 3)
        gram = turn.transpose(0, 2, 1)[:, None] @ half
        last = (products.last @ flat).reshape(-1, forms, p + 1).transpose(1, 0, 2)
        turned = replace(products, gram=gram, last=last)
        return solve(turned, self._grid, start, triangle, self._step.size)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LocalLevelFit:
    """Posterior of β and of the level at the last step, over g noise shares.

    In ``posterior`` the level is the drift, and 1 − f its share, with f the noise share. The constant and the
    level at the first step are not identified apart, so that the variance of the constant has no meaning;
    predictions have. ``spacing`` is the mean gap between evaluations, in steps.
    """

    posterior: Posterior
    spacing: float

    def now(self, rows: FloatArray) -> Mixture:
        """Distribution of ``rows @ β`` plus the level at the last step, without noise; rows (m, p)."""
        return self.posterior.functional(rows, drift_now=1.0)

    def predict(self, rows: FloatArray, lead: FloatArray) -> Mixture:
        """Distribution of new evaluations, ``lead`` (m,) steps after the last; rows (m, p) are X there."""
        now, share = self.now(rows), self.posterior.drift_share
        extra = self.posterior.variance * (share * (lead[:, None] / self.spacing) + 1.0 - share)
        return replace(now, scale=np.sqrt(now.scale**2 + extra))


def fit_local_level(step: FloatArray, design: FloatArray, reward: FloatArray, grid: Grid) -> LocalLevelFit:
    """Fit the local-level model with regressors (Harvey 1989, doi:10.1017/CBO9781107049994).

    R(s) = X(s)·β + level(s) + noise(s),    level(s) − level(s') ~ N(0, σ²·(1 − f)·|s − s'| / spacing)
    noise ~ N(0, σ²·f)

    A stationary drift pulls a forecast back to the fitted line; a random walk starts a forecast at the
    current level and widens it with the square root of the horizon. ``spacing`` is the mean gap between
    evaluations: at f = 1/2 the walk's step between neighbours is as large as the noise. The noise share f is
    summed over a grid as in :func:`infer`.

    Parameters
    ----------
    step, reward
        Shape (n,), steps strictly increasing.
    design
        Shape (n, p), full column rank, n > p; the first column is constant.
    grid
        Noise shares to sum over, as :func:`~entropylaw.engine.prior.random_walk_grid` has them.

    Raises numpy.linalg.LinAlgError: the columns of ``design`` are not independent.
    """
    spacing = float(step[-1] - step[0]) / (step.size - 1)
    # In units of the largest deviation from the mean.
    least = max(1e-24 * float(np.max(np.abs(reward - reward.mean()))) ** 2, np.finfo(float).tiny)
    (posterior,) = infer((step - step[0]) / spacing, design[None], reward[None], grid, least=least)
    return LocalLevelFit(posterior=posterior, spacing=spacing)
