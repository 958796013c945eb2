"""Whitening by a Kalman filter: O(n) per grid point, for all grid points and all columns at once.

An Ornstein–Uhlenbeck drift observed with white noise is a one-dimensional state-space model, so that the
Kalman recursion (Kalman 1960, doi:10.1115/1.3662552) turns any column into its standardised
innovations: the same numbers as a triangular solve with the Cholesky factor of the covariance, without
forming an n × n matrix. Steps may be unevenly spaced. With decay ρ from one step to the next the
innovations obey

    w[t] = x[t] − ρ·x[t−1] + ρ·(noise / innovation variance)[t−1]·w[t−1],

of which only the last term needs a loop. Cross products are summed block by block, so that memory does not
grow with n.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache

import numpy as np

from entropylaw.arrays import FloatArray, IntArray
from entropylaw.engine.ladder import LadderGains, chunk_length, ladder_gains
from entropylaw.engine.prior import ErrorCovariance, Grid

_CELLS = 150_000
"""Numbers held at once while whitening: what fits in a core's own cache."""

_NARROW = 600
"""Columns times grid points up to which chunks are filtered side by side: with more, a step is no longer
mostly the time of a call."""

_LONG = 500
"""Evaluations from which the variances of several grid points are filtered in chunks, however many points
there are: a point's numbers must not depend on those beside it. One point always is."""

_KEPT = 400_000
"""Numbers of the gains, and of whitened errors, that are kept for the next problem."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Gains:
    """Coefficients of the filter at some steps for each grid point; independent of the data.

    ``decay``, ``carry`` and ``inverse_sd`` have shape (n, g): ρ, the factor of the previous innovation, and
    one over the innovation's standard deviation. ``noise_share`` (g,) is noise over innovation variance
    at the last of the steps, ``last_variance`` (g,) the drift's variance there given the data.
    """

    decay: FloatArray
    carry: FloatArray
    inverse_sd: FloatArray
    noise_share: FloatArray
    last_variance: FloatArray

    def rows(self, rows: slice) -> Gains:
        """Those of some steps; ``noise_share`` and ``last_variance`` remain those of the last one."""
        return replace(self, decay=self.decay[rows], carry=self.carry[rows], inverse_sd=self.inverse_sd[rows])

    def points(self, which: IntArray) -> Gains:
        """Those of some grid points."""
        return Gains(**{each.name: getattr(self, each.name).take(which, axis=-1) for each in fields(self)})

    @property
    def log_det(self) -> FloatArray:
        """Log-determinant of the steps' covariance given the steps before, shape (g,)."""
        return np.asarray(-2.0 * np.log(self.inverse_sd).sum(axis=0))

    def innovations(self, columns: FloatArray, before: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        """Innovations (n, g, c) of columns (n + 1, g or 1, c), the first of the step before; the last ones.

        ``before`` (g, c) holds the innovations of the step before.
        """
        found = self.decay[:, :, None] * columns[:-1]
        np.subtract(columns[1:], found, out=found)
        n, points, width = found.shape
        length = chunk_length(n) if points * width <= _NARROW else 1
        done = n - n % length if length > 1 else 0
        if done:
            before = self._in_chunks(found[:done], length, before)
        carry, rest = self.carry[done:, :, None], found[done:]
        if before is not None and rest.size:
            rest[0] += carry[0] * before
        scratch = np.empty(found.shape[1:])
        for factor, previous, each in zip(carry[1:], rest[:-1], rest[1:], strict=True):
            np.multiply(factor, previous, out=scratch)
            np.add(each, scratch, out=each)
        return found, found[-1].copy()

    def _in_chunks(self, found: FloatArray, length: int, before: FloatArray | None) -> FloatArray:
        """Add what innovations carry over, in place, in all chunks of ``length`` steps at once; the last one.

        The innovations of a chunk are those from a start at 0, plus what its first step inherits times a
        product of ``carry``.
        """
        shape = (-1, length, *found.shape[1:])
        chunks, carry = found.reshape(shape), self.carry[: len(found)].reshape(shape[:3])
        scratch = np.empty((len(chunks), *found.shape[1:]))
        for t in range(1, length):
            np.multiply(carry[:, t, :, None], chunks[:, t - 1], out=scratch)
            np.add(chunks[:, t], scratch, out=chunks[:, t])
        share = np.multiply.accumulate(carry, axis=1)
        inherited = scratch
        inherited[0] = 0.0 if before is None else before
        ends, last = chunks[:, -1], share[:, -1, :, None]
        for j in range(1, len(chunks)):
            np.multiply(last[j - 1], inherited[j - 1], out=inherited[j])
            np.add(inherited[j], ends[j - 1], out=inherited[j])
        chunks += share[..., None] * inherited[:, None]
        return np.asarray(chunks[-1, -1].copy())

    def drift(self, last: FloatArray, ended: FloatArray) -> FloatArray:
        """The drift at the last step (g, c) if the columns, ``last`` there, were the residual."""
        return last - self.noise_share[:, None] * ended

    @property
    def steady(self) -> bool:
        """Whether the gains have converged, up to rounding."""
        return bool(np.allclose(self.carry[0], self.carry[-1], rtol=1e-14, atol=0.0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Products:
    """Cross products of whitened columns, for a batch of b problems of c columns each.

    ``gram`` has shape (b, g, c, c); ``last`` (b, g, c) is the filter's estimate of the drift at the last
    step if the column were the residual, linear in the column; ``log_det`` and ``last_variance`` (g,) are
    the covariance's log-determinant and the drift's variance at the last step given the data.
    """

    gram: FloatArray
    last: FloatArray
    log_det: FloatArray
    last_variance: FloatArray


def filter_gains(
    step: FloatArray, grid: Grid, *, before: Gains | LadderGains | None = None
) -> Gains | LadderGains:
    """Run the variance recursion at ``step`` (n,), strictly increasing, for every grid point.

    ``grid.errors`` is ignored; its arrays over evaluations have the length of ``step``. With ``before``, the
    gains of the previous block, the first step is the last of that block, and is not filtered again.
    """
    gap = np.diff(step) if before is not None else np.diff(step, prepend=step[0])
    n, points = gap.size, grid.length.size
    noise = np.broadcast_to(grid.noise_to_drift[-n:], (n, points))
    if grid.rungs is not None and (rungs := int((grid.rungs[1] > 0).sum(axis=0).max())) > 1:
        length, weight = (each[:rungs] for each in grid.rungs)
        known = before.covariance if isinstance(before, LadderGains) else None
        return ladder_gains(gap, length, weight * grid.drift, noise, known)
    # The exponentials take longer than the recursion, and many points share a length.
    lengths, of = np.unique(grid.length, return_inverse=True)
    rate = -gap[:, None] / lengths
    decay = np.exp(rate)
    random_walk = np.isinf(grid.length[0])
    added = np.repeat(gap[:, None], lengths.size, axis=1) if random_walk else -np.expm1(2.0 * rate)
    added = added.take(of, axis=1)
    added *= grid.drift
    # A random walk may start with any variance: the constant column absorbs its first level.
    first = np.ones(points) if random_walk else grid.drift
    squared, decay = (decay**2).take(of, axis=1), decay.take(of, axis=1)
    if before is None:
        squared[0], added[0] = 0.0, first
    variance = np.array(first if before is None else before.last_variance)
    ahead, shares = np.empty((n, points)), np.empty((n + 1, points))
    shares[0] = before.noise_share if isinstance(before, Gains) else 0.0
    _variances(squared, added, noise, variance, ahead, shares[1:])
    last = ahead[-1] * shares[-1]
    innovation = np.sqrt(np.add(ahead, noise, out=ahead), out=ahead)
    return Gains(
        decay=decay,
        carry=decay * shares[:-1],
        inverse_sd=np.divide(1.0, innovation, out=innovation),
        noise_share=shares[-1],
        last_variance=last,
    )


def _variances(
    squared: FloatArray,
    added: FloatArray,
    noise: FloatArray,
    variance: FloatArray,
    ahead: FloatArray,
    share: FloatArray,
) -> None:
    """The variance recursion, written into ``ahead`` and ``share``, all (n, g) like the first three.

    From the drift's variance P (g,) at the step before, given the data, ``ahead`` = ``squared``·P +
    ``added``, ``share`` = ``noise``/(``ahead`` + ``noise``), and then P = ``ahead``·``share``. A step is a
    Möbius map of P, so that the map of a whole chunk is a product of 2 × 2 matrices, of numbers that are not
    negative: the chunks are composed side by side, their first P follow one from the other, and all are run
    at once.
    """
    n, points = squared.shape
    if n < _LONG and points > 1:
        _run([squared, added, noise], variance, ahead, share)
        return
    length = chunk_length(n)
    done = n - n % length
    shape = (-1, length, points)
    chunks = [np.ascontiguousarray(each[:done]).reshape(shape) for each in (squared, added, noise)]
    count, first = len(chunks[0]), variance[None]
    if count > 1:
        factor, more, white = chunks
        total = 1.0 / (more + white)
        # P → (a·P + b)/(c·P + 1); top are a and b of the maps so far, bottom the row below.
        a, b, c = factor * white * total, more * white * total, factor * total
        top, bottom = np.stack([a[:, 0], b[:, 0]]), np.stack([c[:, 0], np.ones((count, points))])
        old, scratch = np.empty_like(top), np.empty_like(top)
        for t in range(1, length):
            old[...] = top
            np.multiply(top, a[:, t], out=top)
            np.multiply(bottom, b[:, t], out=scratch)
            np.add(top, scratch, out=top)
            np.multiply(old, c[:, t], out=old)
            np.add(bottom, old, out=bottom)
        first = np.empty((count, points))
        first[0] = variance
        for j in range(1, count):
            part = first[j - 1]
            first[j] = (top[0, j - 1] * part + top[1, j - 1]) / (bottom[0, j - 1] * part + bottom[1, j - 1])
    wide = ahead[:done].reshape(shape), share[:done].reshape(shape)
    _run([each.swapaxes(0, 1) for each in chunks], first, *(each.swapaxes(0, 1) for each in wide))
    last = ahead[done - 1] * share[done - 1]
    _run([squared[done:], added[done:], noise[done:]], last, ahead[done:], share[done:])


def _run(parts: Sequence[FloatArray], variance: FloatArray, ahead: FloatArray, share: FloatArray) -> None:
    """The recursion of :func:`_variances` step by step along the first axis."""
    variance, total = np.array(variance), np.empty(variance.shape)
    for factor, more, white, each, part in zip(*parts, ahead, share, strict=True):
        np.multiply(factor, variance, out=each)
        np.add(each, more, out=each)
        np.add(each, white, out=total)
        np.divide(white, total, out=part)
        np.multiply(each, part, out=variance)


def whiten(
    gains: Gains | LadderGains, columns: FloatArray, drift_scale: FloatArray | None = None
) -> FloatArray:
    """Columns (n, c) whitened by every covariance, shape (g, c, n).

    Row [k, i] is L⁻¹ @ columns[:, i] for the k-th covariance L Lᵀ; ``drift_scale`` (n, g) is that of the grid
    of the gains.
    """
    return np.ascontiguousarray(_whitened(gains, columns, drift_scale, None)[0].transpose(1, 2, 0))


def cross_products(step: FloatArray, columns: FloatArray, grid: Grid) -> Products:
    """Whiten a batch of problems, ``columns`` (b, n, c) at ``step`` (n,), and multiply the columns of each.

    The grid's error covariance enters by Woodbury's identity. The filter's last state stays that of the
    drift alone.
    """
    several = grid.several
    if several.any() and not several.all():
        parts = np.flatnonzero(~several), np.flatnonzero(several)
        return _joined([_products(step, columns, grid.points(part)) for part in parts], parts)
    return _products(step, columns, grid)


def _joined(each: Sequence[Products], parts: Sequence[IntArray]) -> Products:
    """Products of some grid points each, in the order of the grid."""
    order = np.argsort(np.concatenate(parts), kind="stable")
    return Products(
        gram=np.concatenate([one.gram for one in each], axis=1)[:, order],
        last=np.concatenate([one.last for one in each], axis=1)[:, order],
        log_det=np.concatenate([one.log_det for one in each])[order],
        last_variance=np.concatenate([one.last_variance for one in each])[order],
    )


def _products(step: FloatArray, columns: FloatArray, grid: Grid) -> Products:
    """The cross products for grid points whose drifts have about the same number of rungs."""
    (batch, n, width), points = columns.shape, grid.length.size
    # A slice of the batch and a block of steps that fit in the cache together.
    together = max(1, min(batch, _CELLS // (64 * width * points)))
    rows = max(16, _CELLS // (together * width * points))
    slices = [slice(low, low + together) for low in range(0, batch, together)]
    gram, last = np.zeros((batch, points, width, width)), np.empty((batch, points, width))
    errors = None if grid.errors is None else _ErrorProducts(grid.errors, gram)
    ended: list[FloatArray | None] = [None] * len(slices)
    log_det = np.zeros(points)
    for start, stop, gains in _blocks(step, grid, rows):
        reach = slice(max(start - 1, 0), stop)
        log_det += gains.log_det
        scale = grid.at(reach).drift_scale
        if grid.along is not None:
            log_det += 2.0 * grid.along[start:stop].sum(axis=0) @ grid.drift_change
        if errors is not None:
            errors.advance(step, grid, gains, reach, scale)
        for i, some in enumerate(slices):
            part = columns[some, reach].transpose(1, 0, 2)
            flat = part.reshape(len(part), -1)
            white, state = _whitened(gains, flat, scale, ended[i])
            ended[i] = state
            cube = white.reshape(*white.shape[:2], -1, width).transpose(2, 1, 0, 3)
            gram[some] += cube.swapaxes(-1, -2) @ cube
            if errors is not None:
                errors.mixed[some] += errors.white.transpose(1, 2, 0) @ cube
            if stop == n:
                drift = gains.drift(_scaled(flat[-1:], None if scale is None else scale[-1:])[0], state)
                last[some] = drift.reshape(points, -1, width).transpose(1, 0, 2)
    if errors is not None:
        removed, more = errors.removed()
        gram, log_det = gram - removed, log_det + more
    now = 1.0 if scale is None else scale[-1]
    return Products(
        gram=gram,
        last=last * np.reshape(now, (-1, 1)),
        log_det=log_det,
        last_variance=gains.last_variance * now**2,
    )


def _scaled(columns: FloatArray, scale: FloatArray | None, ahead: int = 0) -> FloatArray:
    """Columns (n, c) in units of the drift's scale (n, g), (n, g, c); (n, 1, c) where that is constant.

    With ``ahead`` the first rows are as many rows of zeros, n + ahead in all.
    """
    n, c = columns.shape
    found = np.empty((n + ahead, 1 if scale is None else scale.shape[1], c))
    found[:ahead] = 0.0
    if scale is None:
        found[ahead:] = columns[:, None]
    else:
        np.multiply(columns[:, None], (1.0 / scale)[:, :, None], out=found[ahead:])
    return found


def _whitened(
    gains: Gains | LadderGains, columns: FloatArray, scale: FloatArray | None, before: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Whitened columns (n, g, c) of one block, and the filter's state after it.

    Where there is a state ``before``, ``columns`` (n + 1, c) and ``scale`` (n + 1, g) begin with the step
    before the block.
    """
    each = _scaled(columns, scale, ahead=int(before is None))
    white, ended = gains.innovations(each, before)
    white *= gains.inverse_sd[:, :, None]
    return white, ended


class _ErrorProducts:
    """What the covariance of errors in a regressor adds, by Woodbury's identity.

    ``white`` (n, g, k) is the root of the present block, whitened; it is the same for all b problems.
    """

    def __init__(self, errors: ErrorCovariance, gram: FloatArray) -> None:
        batch, points, width, _ = gram.shape
        k = errors.root.shape[1]
        self.mixed, self._own = np.zeros((batch, points, k, width)), np.zeros((points, k, k))
        self._errors, self.white = errors, np.empty(0)
        self._ended: FloatArray | None = None

    def advance(
        self, step: FloatArray, grid: Grid, gains: Gains | LadderGains, reach: slice, scale: FloatArray | None
    ) -> None:
        """Whiten the root on the next block."""
        if len(gains.inverse_sd) == step.size:
            self.white = _known_root(step, grid, self._errors)
        else:
            self.white, self._ended = _whitened(gains, self._errors.root[reach], scale, self._ended)
        self._own += self.white.transpose(1, 2, 0) @ self.white.transpose(1, 0, 2)

    def removed(self) -> tuple[FloatArray, FloatArray]:
        """What is subtracted from the cross products (b, g, c, c), and added to the log-determinants (g,)."""
        slope, variance = self._errors.slope, self._errors.variance
        squared, k = slope[:, None, None] ** 2, self._own.shape[-1]
        inner = squared * self._own + variance[:, None, None] * np.eye(k)
        batch, points, _, width = self.mixed.shape
        flat = self.mixed.transpose(1, 2, 0, 3).reshape(points, k, batch * width)
        solved = np.linalg.solve(inner, flat).reshape(points, k, batch, width).transpose(2, 0, 1, 3)
        more = np.linalg.slogdet(inner)[1] - k * np.log(variance)
        return squared * (self.mixed.swapaxes(-1, -2) @ solved), more


def _blocks(step: FloatArray, grid: Grid, rows: int) -> Iterator[tuple[int, int, Gains | LadderGains]]:
    """Start, end and gains of blocks of ``rows`` steps."""
    if step.size * grid.length.size <= _KEPT:
        gains = _known_gains(step, grid)
        for start in range(0, step.size, rows):
            yield start, min(start + rows, step.size), gains.rows(slice(start, start + rows))
        return
    before: Gains | LadderGains | None = None
    constant = grid.floor is None and not grid.changes.any()
    steady, filtered = False, np.empty(0)
    for start in range(0, step.size, rows):
        reach = slice(max(start - 1, 0), start + rows)
        gap = np.diff(step[reach])
        if not (steady and np.array_equal(gap, filtered)):
            gains = filter_gains(step[reach], grid.at(reach), before=before)
            # With even steps the gains converge, and the next block can reuse them.
            steady = bool(start > 0 and constant and np.ptp(gap) == 0 and gains.steady)
            before, filtered = gains, gap
        yield start, min(start + rows, step.size), gains


class _Filtered:
    """The gains of one run at the grid points that were filtered last, by what the gains depend on."""

    def __init__(self) -> None:
        self._known: tuple[dict[bytes, int], Gains | LadderGains] | None = None

    def at(self, step: FloatArray, grid: Grid) -> Gains | LadderGains:
        """Those of a grid; its points are filtered where one of them is new."""
        keys = _keys(grid)
        if self._known is None or not self._known[0].keys() >= set(keys):
            self._known = {key: i for i, key in enumerate(keys)}, filter_gains(step, grid)
        place, gains = self._known
        # Taken even if all are: results must not depend on what was filtered before.
        return gains.points(np.array([place[key] for key in keys]))


def _keys(grid: Grid) -> list[bytes]:
    """What the gains of each grid point depend on, but for the run."""
    changes = () if grid.along is None else (*grid.drift_change, *grid.noise_change)
    rungs = () if grid.rungs is None else np.concatenate(grid.rungs)
    table = np.array([grid.length, grid.drift, grid.noise, *changes, *rungs]).T
    return [row.tobytes() for row in np.ascontiguousarray(table)]


@lru_cache(maxsize=12)
def _filtered(step: bytes, floor: bytes, along: bytes, several: bool) -> _Filtered:
    """An empty one for each run and kind of drift, which the caller fills."""
    return _Filtered()


def _known_gains(step: FloatArray, grid: Grid) -> Gains | LadderGains:
    """Gains of a whole short run, kept for the next problem with the same steps and some of the points."""
    # Without points whose scale changes the gains are those of any run with the same steps.
    along = grid.along if grid.changes.any() else None
    known = (b"" if each is None else each.tobytes() for each in (step, grid.floor, along))
    return _filtered(*known, several=bool(grid.several.all())).at(step, grid)


def _known_root(step: FloatArray, grid: Grid, errors: ErrorCovariance) -> FloatArray:
    """The whitened root of the errors of a whole run, kept as the gains are."""
    if errors.root.size * grid.length.size > 2 * _KEPT:
        return _root(step, grid, errors.root)
    arrays = (step, grid.floor, grid.along, errors.root)
    content = (*(b"" if each is None else each.tobytes() for each in arrays), *_keys(grid))
    return _cached_root(_Root(content=content, step=step, grid=grid))


def _root(step: FloatArray, grid: Grid, root: FloatArray) -> FloatArray:
    return _whitened(_known_gains(step, grid), root, grid.drift_scale, None)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Root:
    """Steps and covariances, known by their content."""

    content: tuple[bytes, ...]
    step: FloatArray = field(compare=False)
    grid: Grid = field(compare=False)


@lru_cache(maxsize=8)
def _cached_root(of: _Root) -> FloatArray:
    assert of.grid.errors is not None
    return _root(of.step, of.grid, of.grid.errors.root)
