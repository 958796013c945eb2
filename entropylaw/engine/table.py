"""The table: one row per candidate, with its weight and the location and scale of every linear number.

A candidate is a curve with one shape, a term in the step or none, a level of the first evaluations or none,
and a residual covariance. Given these the reward is a linear regression with normal priors of slopes and
1/σ of the residual's sd: its marginal likelihood, and Student's t for every linear functional, are closed
forms (O'Hagan & Forster 2004, Kendall's Advanced Theory of Statistics 2B, ch. 11). Whitened cross products of
all columns are computed once; the intercept and terms are solved together for each covariance, and each curve
is added by its Schur complement, so that no small system is solved one at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np
from scipy.special import gammaln

from entropylaw.arrays import BoolArray, FloatArray, IntArray
from entropylaw.engine import constants
from entropylaw.engine.candidates import Candidates, candidates
from entropylaw.engine.constants import PRIOR, Prior
from entropylaw.engine.residuals import (
    Whitened,
    covariances,
    scale_profiles,
    spacings,
    whitened,
)

_RIDGE = 1e-12
"""Share of a column's square that keeps a matrix of dependent columns from being singular."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Block:
    """Candidates with the same linear columns, p of them, under K covariances, each with one of J curves.

    The constant and the free curve, which have all their columns among the linear ones, have J = 1, a slope
    of 0 and an infinite precision.

    Attributes
    ----------
    form, shape
        Shape (J,): codes of the curves, and their shapes.
    term, first, df
        Numbers of the term in the step, and of the level of the first evaluations; degrees of freedom.
    linear, curves
        Numbers of the columns.
    inverse, level
        Shapes (K, p, p), (K, p): inverse cross products of the linear columns, and their coefficients alone.
    solved
        Shape (K, p, J): coefficients of each curve on the linear columns.
    slope, precision
        Shape (K, J): coefficient of the curve, and its whitened square that is new, the prior's included.
    variance, log_weight
        Shape (K, J): residual variance, and weight.
    """

    form: IntArray
    shape: FloatArray
    term: int
    first: int
    df: float
    linear: list[int]
    curves: list[int]
    inverse: FloatArray
    level: FloatArray
    solved: FloatArray
    slope: FloatArray
    precision: FloatArray
    variance: FloatArray
    log_weight: FloatArray

    def only(self, chosen: IntArray) -> Block:
        """The candidates under some of the covariances."""
        return replace(
            self,
            inverse=self.inverse[chosen],
            level=self.level[chosen],
            solved=self.solved[chosen],
            slope=self.slope[chosen],
            precision=self.precision[chosen],
            variance=self.variance[chosen],
            log_weight=self.log_weight[chosen],
        )

    def numbers(self, functional: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Location and squared scale of F numbers in every row, (F, K·J), in units of the reward's sd."""
        along = functional[:, :, self.linear]
        centre = np.einsum("fkp,kp->fk", along, self.level) + functional[:, :, -2]
        spread = (along[:, :, None, :] @ self.inverse)[:, :, 0] * along
        variance = spread.sum(axis=2) + functional[:, :, -1] ** 2
        if self.curves:
            new = functional[:, :, self.curves] - np.einsum("fkp,kpj->fkj", along, self.solved)
        else:
            new = np.zeros((1, 1, 1))
        location = centre[:, :, None] + new * self.slope
        squared = (variance[:, :, None] + new**2 / self.precision) * self.variance
        return location.reshape(len(location), -1), squared.reshape(len(squared), -1)

    def _add_coefficients(self, share: FloatArray, total: FloatArray) -> None:
        """Add to a ``total`` (w, m) over all columns the coefficients by w weights of the rows (w, K·J)."""
        weight = share.reshape(-1, *self.slope.shape)
        along = weight * self.slope
        explained = np.tensordot(along, self.solved, axes=((1, 2), (0, 2)))
        total[:, self.linear] += weight.sum(axis=2) @ self.level - explained
        if self.curves:
            total[:, self.curves] += along.sum(axis=1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """The rows of one run, in the order of the blocks.

    Attributes
    ----------
    candidates, whitened, blocks, prior
        What the rows are made of.
    time
        Shape (n,): steps in mean spacings from the first evaluation, after neighbours were joined.
    entropy, reward
        Shape (n,): smoothed entropy, and reward, as fitted.
    group
        Evaluations that one of these is a mean of.
    form, term, first, covariance, df
        Shape (rows,): codes.
    shape, log_weight, variance
        Shape (rows,): the curve's shape, weight, and residual variance in units of the reward's variance.
    """

    candidates: Candidates
    whitened: Whitened
    blocks: tuple[Block, ...]
    prior: Prior
    time: FloatArray
    entropy: FloatArray
    reward: FloatArray
    group: int
    form: IntArray
    term: IntArray
    first: IntArray
    covariance: IntArray
    df: FloatArray
    shape: FloatArray
    log_weight: FloatArray
    variance: FloatArray

    # A linear number is an array (1, 1 or K, m + 1): the factor of each column, a constant in place of the
    # reward's, and last the root of a variance that the data do not reduce, in units of the residual
    # variance. Sums of numbers are those of their arrays, if one of them has such a variance at most.

    def ceiling(self) -> FloatArray:
        """The reward at H = 0."""
        return self.reward_at(np.zeros(1))

    def reward_at(self, entropy: FloatArray) -> FloatArray:
        """The curve at entropies (q,) at the last step, q numbers: terms as now, no dummies."""
        columns = self.candidates
        row = np.zeros((entropy.size, 1, len(columns.names) + 1))
        row[:, 0, 0] = 1.0
        terms = [*columns.of("step"), *columns.of("log_step")]
        row[:, 0, terms] = columns.columns[-1, terms]
        for i, onward in enumerate(columns.onward):
            if onward is not None:
                row[:, 0, i] = onward(entropy)
        return row

    def coefficient_of(self, columns: Sequence[int]) -> FloatArray:
        """The coefficient of one of some columns, in the rows of which it is."""
        row = np.zeros((1, 1, len(self.candidates.names) + 1))
        row[..., columns] = 1.0
        return row

    def numbers(
        self, *functionals: FloatArray, rows: BoolArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Location and scale of F linear numbers in every row, shapes (F, rows), in the reward's units.

        Locations leave out the reward's mean, which a level has and a difference has not. Blocks without any
        of some ``rows`` are left out: there both are 0.
        """
        functional = np.concatenate(np.broadcast_arrays(*functionals))
        location = np.zeros((len(functional), self.form.size))
        squared = np.zeros_like(location)
        for block, span in self.parts():
            if rows is None or rows[span].any():
                location[:, span], squared[:, span] = block.numbers(functional)
        unit = self.candidates.unit
        return location * unit, np.sqrt(np.maximum(squared, 0.0)) * unit

    def mean_curves(self, entropy: FloatArray, weights: Sequence[FloatArray]) -> FloatArray:
        """Mean of the curve at entropies (q,), reward units, over each of w sets of rows: (w, q)."""
        columns = self.candidates
        share = np.array(weights)
        share /= np.maximum(share.sum(axis=1, keepdims=True), 1e-300)
        coefficients = np.zeros((len(share), len(columns.names)))
        for block, span in self.parts():
            block._add_coefficients(share[:, span], coefficients)
        at = self.reward_at(entropy)[:, 0, :-1]
        return coefficients @ at.T * columns.unit + columns.origin

    def parts(self) -> Iterator[tuple[Block, slice]]:
        """Every block with its rows."""
        start = 0
        for block in self.blocks:
            end = start + block.log_weight.size
            yield block, slice(start, end)
            start = end

    def residual_covariance(self, row: int) -> tuple[FloatArray, FloatArray]:
        """The drift's covariance (n, n) and the white variance (n,) of a row, in units of its variance."""
        gap = spacings(self.time, self.entropy)
        single, sums = covariances(gap.tobytes(), self.prior)
        models = single.white.size + sums.white.size
        scale, number = divmod(int(self.whitened.number[self.covariance[row]]), models)
        # Nothing of a drift remains over a reload.
        time = np.concatenate([[0.0], np.cumsum(gap)])
        if number < single.white.size:
            drift, white = single.matrix(time, number)
        else:
            drift, white = sums.matrix(time, number - single.white.size)
        profile = scale_profiles(self.entropy, self.prior)[scale]
        return profile[:, None] * drift * profile, white * profile**2

    def is_form(self, *names: str) -> BoolArray:
        """Rows of some curves."""
        chosen = np.zeros(len(constants.FORMS), dtype=bool)
        chosen[[constants.FORMS.index(name) for name in names]] = True
        return np.asarray(chosen[self.form])


def grouped(*columns: FloatArray) -> tuple[int, list[FloatArray]]:
    """Columns (n,) as means of neighbours, at most ``LARGEST_GROUPED``; and how many each mean is of."""
    size = -(-columns[0].size // constants.LARGEST_GROUPED)
    if size == 1:
        return 1, list(columns)
    starts = np.arange(0, columns[0].size, size)
    counts = np.diff([*starts, columns[0].size])
    return size, [np.add.reduceat(column, starts) / counts for column in columns]


def table_of(
    step: FloatArray,
    entropy: FloatArray,
    reward: FloatArray,
    *,
    error_sd: FloatArray | None = None,
    error_length: float = 0.0,
    prior: Prior = PRIOR,
) -> Table:
    """The table of a run.

    Parameters
    ----------
    step, entropy, reward
        Shape (n,): steps, increasing; smoothed entropy in nats, and reward.
    error_sd, error_length
        Shape (n,), nats: standard deviation of the smoothed entropy's error, None without any; and over how
        many steps errors are alike.
    """
    if error_sd is None:
        error_sd = np.zeros(step.size)
    size, (step, entropy, reward, error_sd) = grouped(step, entropy, reward, error_sd)
    share = (step - step[0]) / (step[-1] - step[0])
    errors = _errors(step, entropy, reward, error_sd, error_length)
    columns = candidates(entropy, share, reward, prior, errors)
    products = whitened(columns.columns, step, entropy, prior)
    blocks = _Blocks(columns, products, prior).all()
    # The covariances on which a number of some curve depends; the others are left out.
    matters = np.zeros(len(blocks[0].level), dtype=bool)
    for block in blocks:
        first_of_form = np.flatnonzero(np.diff(block.form, prepend=-1))
        log_weight = np.maximum.reduceat(block.log_weight, first_of_form, axis=1)
        matters |= (log_weight > log_weight.max(axis=0) + np.log(constants.LEFT_OUT)).any(axis=1)
    chosen = np.flatnonzero(matters)
    blocks = [block.only(chosen) for block in blocks]
    rows = [block.slope.size for block in blocks]
    return Table(
        candidates=columns,
        whitened=products.only(chosen),
        blocks=tuple(blocks),
        prior=prior,
        time=share * (step.size - 1),
        entropy=entropy,
        reward=reward,
        group=size,
        form=np.concatenate([np.tile(block.form, chosen.size) for block in blocks]),
        term=np.repeat([block.term for block in blocks], rows),
        first=np.repeat([block.first for block in blocks], rows),
        covariance=np.concatenate([np.repeat(np.arange(chosen.size), block.form.size) for block in blocks]),
        df=np.repeat([block.df for block in blocks], rows),
        shape=np.concatenate([np.tile(block.shape, chosen.size) for block in blocks]),
        log_weight=np.concatenate([block.log_weight.ravel() for block in blocks]),
        variance=np.concatenate([block.variance.ravel() for block in blocks]),
    )


def _errors(
    step: FloatArray, entropy: FloatArray, reward: FloatArray, sd: FloatArray, length: float
) -> list[FloatArray]:
    """Columns of the error of exp(H), none where the residual of the law has hardly any of it."""
    of_exponential = sd * np.exp(entropy)
    design = np.column_stack([np.ones(entropy.size), np.expm1(entropy)])
    (_, slope), *_ = np.linalg.lstsq(design, reward, rcond=None)
    residual = reward - reward.mean() - slope * (design[:, 1] - design[:, 1].mean())
    share = slope**2 * float(of_exponential @ of_exponential)
    if share <= constants.LEAST_ERROR * float(residual @ residual):
        return []
    return error_columns(step, of_exponential, length)


def error_columns(step: FloatArray, sd: FloatArray, length: float) -> list[FloatArray]:
    """Columns (n,) whose sum, each times a standard normal number, is the error of a smoothed curve.

    Errors of sd (n,) at steps (n,) are correlated as the equivalent kernel of a smoothing spline, of scale
    ``length`` (Silverman 1984, doi:10.1214/aos/1176346710). The columns are those of a Cholesky factor, the
    largest variance first, until little is left or there are
    :data:`~entropylaw.engine.constants.MOST_ERRORS`.
    """
    left = sd**2
    least = constants.LEAST_ERROR * float(left.sum())
    columns: list[FloatArray] = []
    while len(columns) < constants.MOST_ERRORS and float(left.sum()) > least:
        pivot = int(np.argmax(left))
        distance = np.abs(step - step[pivot]) / (np.sqrt(2.0) * length)
        alike = np.exp(-distance) * (np.cos(distance) + np.sin(distance))
        column = sd[pivot] * sd * alike
        for known in columns:
            column = column - known[pivot] * known
        column = column / np.sqrt(left[pivot])
        left = np.maximum(left - column**2, 0.0)
        columns.append(column)
    return columns


class _Blocks:
    """The blocks of a run, from whitened cross products."""

    def __init__(self, columns: Candidates, products: Whitened, prior: Prior) -> None:
        self.columns = columns
        self.white = products
        self.prior = prior
        self.n = len(columns.columns)
        self.target = len(columns.names) - 1
        # A normal prior is one more observation: its precision is in units of a typical residual variance,
        # that of the law with the step, or of as much of it as the run determines.
        self.product = products.product.copy()
        linear = [0, *columns.of("step"), *columns.of("law")][: max(self.n - 3, 1)]
        along = self.product[:, linear, self.target]
        whole = self.product[:, self.target, self.target]
        inverse, _ = _inverse(self.product[:, linear][:, :, linear])
        square = np.maximum(whole - np.einsum("kp,kpq,kq->k", along, inverse, along), constants.EXACT * whole)
        typical = np.maximum(square / max(self.n - len(linear), 1), 1e-300)
        self.precision = typical / prior.slope_spread**2
        for term, _ in prior.terms:
            for i in columns.of(term):
                self.product[:, i, i] += self.precision
        self.errors = columns.of("error")
        self.error_precision = np.ones(len(self.product))
        if self.errors:
            self.error_precision = typical / self._squared_slope()
        for i in self.errors:
            self.product[:, i, i] += self.error_precision
        # Log prior density of each coefficient at its mean; levels of the first evaluations and the free
        # curve's coefficients are uniform over two sds of the reward.
        normal = -np.log(np.sqrt(2.0 * np.pi) * prior.slope_spread)
        uniform = -np.log(2.0)
        special = {"one": 0.0, "error": 0.0, "flat": 0.0, "free": uniform}
        special |= {name: uniform for name in columns.names if name.startswith("first")}
        self.density = np.array([special.get(name, normal) for name in columns.names])

    def _squared_slope(self) -> FloatArray:
        """The square (K,) of what the law's reward loses per unit of exp(H), in units of the reward's sd."""
        linear = [0, *self.columns.of("flat")]
        inverse, _ = _inverse(self.product[:, linear][:, :, linear])
        slope = np.einsum("kq,kq->k", inverse[:, -1], self.product[:, linear, self.target])
        return np.asarray(np.maximum((slope / self.columns.law_unit) ** 2, _RIDGE))

    def all(self) -> list[Block]:
        """Every block that the run determines: saturation without a term, and the flat law alone."""
        blocks: list[Block | None] = []
        for term, first in product(range(len(self.prior.terms)), range(len(self.prior.firsts))):
            share, probability = self.prior.firsts[first]
            columns = [*self.columns.of(self.prior.terms[term][0]), *self.columns.of(f"first{first}")]
            if len(columns) < (term > 0) + (share > 0):
                continue
            forms = {*constants.FORMS} - {"free", "flat"}
            if term:
                forms -= {"saturation"}
            curves = [i for i, name in enumerate(self.columns.names) if name in forms]
            linear = [0, *columns]
            block = partial(self._block, term=term, first=first, log_prior=float(np.log(probability)))
            blocks.append(block("constant", linear, []))
            if curves:
                blocks.append(block("", linear, curves))
            if free := self.columns.of("free"):
                blocks.append(block("free", [*linear, *free], []))
        if flat := self.columns.of("flat"):
            of_errors = 0.5 * len(self.errors) * np.log(self.error_precision)
            blocks.append(self._block("", [0, *self.errors], flat, term=0, first=0, log_prior=of_errors))
        return list(filter(None, blocks))

    def _block(
        self,
        form: str,
        linear: list[int],
        curves: list[int],
        term: int,
        first: int,
        log_prior: float | FloatArray,
    ) -> Block | None:
        """The linear columns alone, or with one of the curves at a time; ``form`` is theirs without one.

        ``log_prior`` may be of each covariance, shape (K,).
        """
        determined = len(linear) - sum(self.columns.names[i] == "error" for i in linear)
        df = self.n - determined - bool(curves)
        if df < 1:
            return None
        target = self.target
        whole = np.maximum(self.product[:, target, target], 1e-300)
        inverse, log_det = _inverse(self.product[:, linear][:, :, linear])
        with_reward = self.product[:, linear, target]
        level = np.einsum("kpq,kq->kp", inverse, with_reward)
        squares = (whole - np.einsum("kp,kp->k", with_reward, level))[:, None]
        density = self.density[linear].sum() - 0.5 * (self.white.log_det + log_det)
        log_weight = (self.white.log_prior + density + log_prior)[:, None]
        if curves:
            names = [self.columns.names[i] for i in curves]
            curve_shapes = self.columns.shapes[curves]
            centre = self.columns.slope[curves]
            flat = np.array([name == "flat" for name in names])
            prior = np.where(flat, 0.0, self.precision[:, None])
            solved = inverse @ self.product[:, linear][:, :, curves]
            diagonal = np.einsum("kmm->km", self.product)[:, curves]
            new = diagonal - np.einsum("kpj,kpj->kj", self.product[:, linear][:, :, curves], solved)
            # A flat prior does not determine the coefficient of a column that is not new.
            unknown = flat & ~(new > constants.LEAST_NEW * diagonal)
            precision = np.maximum(new, constants.LEAST_NEW * diagonal) + prior
            along = self.product[:, curves, target] - np.einsum("kpj,kp->kj", solved, with_reward)
            slope = (along + prior * centre) / precision
            squares = squares + prior * centre**2 - precision * slope**2
            shapes = np.array([names.count(name) if name in constants.SEVERAL else 1 for name in names])
            log_weight = log_weight + self.density[curves] - np.log(shapes) - 0.5 * np.log(precision)
            log_weight = np.where(unknown, -np.inf, log_weight)
        else:
            names = [form]
            curve_shapes = np.array([np.nan])
            solved = np.zeros((*level.shape, 1))
            slope = np.zeros((len(level), 1))
            precision = np.full((len(level), 1), np.inf)
        squares = np.maximum(squares, constants.EXACT * whole[:, None])
        # Log marginal likelihood of the residual, σ integrated out with prior 1/σ.
        log_weight = log_weight + gammaln(df / 2.0) - df / 2.0 * np.log(np.pi * squares)
        return Block(
            form=np.array([constants.FORMS.index(name) for name in names]),
            shape=curve_shapes,
            term=term,
            first=first,
            df=float(df),
            linear=linear,
            curves=curves,
            inverse=inverse,
            level=level,
            solved=solved,
            slope=slope,
            precision=precision,
            variance=squares / df,
            log_weight=log_weight,
        )


def _inverse(product: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Inverses (K, p, p) of cross products of columns in any unit, and the products' log determinants (K,).

    Singular ones have a hair of a ridge.
    """
    unit = 1.0 / np.sqrt(np.maximum(np.einsum("kpp->kp", product), 1e-300))
    scaled = product * unit[:, :, None] * unit[:, None, :]
    log_det = np.linalg.slogdet(scaled)[1]
    if log_det.min() < np.log(constants.LEAST_NEW):
        scaled = scaled + _RIDGE * np.eye(product.shape[-1])
        log_det = np.linalg.slogdet(scaled)[1]
    inverse = np.linalg.inv(scaled) * unit[:, :, None] * unit[:, None, :]
    return np.asarray(inverse), log_det - 2.0 * np.log(unit).sum(axis=1)
