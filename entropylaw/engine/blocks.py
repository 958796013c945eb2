"""The closed forms: candidates with the same linear columns under all covariances at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from scipy.special import gammainc, gammaln

from entropylaw.arrays import FloatArray, IntArray
from entropylaw.engine.candidates import Candidates
from entropylaw.engine.constants import (
    AVERAGED,
    CONSTANT,
    EXACT,
    FIRST,
    FLAT,
    FREE,
    LAW,
    LEAST_NEW,
    LEFT_OUT,
    SATURATION,
    SEVERAL,
    STEP,
    Prior,
)
from entropylaw.engine.residuals import Whitened

_RIDGE = 1e-12
"""Share of a column's square that keeps a matrix of dependent columns from being singular."""

FORMS = (*AVERAGED, SATURATION, FLAT)
"""The curves of rows, by their code."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Functional:
    """F linear numbers: ``row @ coefficients + offset``, and a variance that the data do not reduce.

    ``row`` has shape (F, 1 or K, m) over all columns, ``offset`` and ``variance``, which is in units of the
    residual variance, (F, 1 or K).
    """

    row: FloatArray
    offset: FloatArray
    variance: FloatArray

    def __add__(self, other: Functional) -> Functional:
        """The sum of numbers of which one at most has a variance of its own."""
        row, offset = self.row + other.row, self.offset + other.offset
        return Functional(row=row, offset=offset, variance=self.variance + other.variance)

    def __rmul__(self, factor: float) -> Functional:
        row, offset = factor * self.row, factor * self.offset
        return Functional(row=row, offset=offset, variance=factor**2 * self.variance)

    def __sub__(self, other: Functional) -> Functional:
        return self + -1.0 * other


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Block:
    """Candidates with the same linear columns, p of them, under K covariances, each with one of J curves.

    The constant and the free curve, which have all their columns among the linear ones, have J = 1, a slope
    of 0 and an infinite precision.

    Attributes
    ----------
    forms, shapes
        Shape (J,): codes of the curves, and their shapes.
    term, first
        Numbers of the term in the step, and of the level of the first evaluations.
    linear, curves
        Numbers of the columns.
    inverse, level
        Shapes (K, p, p), (K, p): inverse cross products of the linear columns, and their coefficients alone.
    solved
        Shape (K, p, J): coefficients of each curve on the linear columns.
    slope, precision
        Shape (K, J): coefficient of the curve, and its whitened square that is new, the prior's included.
    variance, df
        Shape (K, J): residual variance, at least the known noise's; and degrees of freedom.
    log_weight
        Shape (K, J).
    """

    forms: IntArray
    shapes: FloatArray
    term: int
    first: int
    linear: list[int]
    curves: list[int]
    inverse: FloatArray
    level: FloatArray
    solved: FloatArray
    slope: FloatArray
    precision: FloatArray
    variance: FloatArray
    df: int
    log_weight: FloatArray

    def only(self, kept: IntArray) -> Block:
        """The candidates under some of the covariances."""
        names = ("inverse", "level", "solved", "slope", "precision", "variance", "log_weight")
        return replace(self, **{name: getattr(self, name)[kept] for name in names})

    def numbers(self, functional: Functional) -> tuple[FloatArray, FloatArray]:
        """Location and squared scale of F numbers in every row, (F, K·J), in units of the reward's sd."""
        along = functional.row[:, :, self.linear]
        centre = np.einsum("fkp,kp->fk", along, self.level) + functional.offset
        spread = (along[:, :, None, :] @ self.inverse)[:, :, 0] * along
        variance = spread.sum(axis=2) + functional.variance
        if self.curves:
            new = functional.row[:, :, self.curves] - np.einsum("fkp,kpj->fkj", along, self.solved)
        else:
            new = np.zeros((1, 1, 1))
        location = centre[:, :, None] + new * self.slope
        squared = (variance[:, :, None] + new**2 / self.precision) * self.variance
        count = len(functional.row)
        return location.reshape(count, -1), squared.reshape(count, -1)

    def add_coefficients(self, share: FloatArray, total: FloatArray) -> None:
        """Add the coefficients of rows with weights ``share`` (K·J,) to a ``total`` (m,) over all columns."""
        weight = share.reshape(self.slope.shape)
        along = weight * self.slope
        explained = (self.solved @ along[:, :, None])[:, :, 0].sum(axis=0)
        total[self.linear] += weight.sum(axis=1) @ self.level - explained
        if self.curves:
            total[self.curves] += along.sum(axis=0)


class Blocks:
    """The blocks of a run, from whitened cross products."""

    def __init__(self, columns: Candidates, products: Whitened, prior: Prior, noise: float) -> None:
        self.columns, self.white, self.prior, self.noise = columns, products, prior, noise
        self.n = len(columns.columns)
        self.target = len(columns.names) - 1
        # Mean white share over the evaluations, of a variance that is 1 at the largest entropy.
        self.noisy = (products.white * products.mean_square)[:, None]
        # A normal prior is one more observation: its precision is in units of a typical residual variance,
        # that of the law with the step, or of as much of it as the run determines.
        self.product, y = products.product.copy(), self.target
        linear = [0, *columns.of(STEP), *columns.of(LAW)][: max(self.n - 3, 1)]
        along, whole = self.product[:, linear, y], self.product[:, y, y]
        inverse = _inverse(self.product[:, linear][:, :, linear])
        left = np.maximum(whole - np.einsum("kp,kpq,kq->k", along, inverse, along), EXACT * whole)
        typical = np.maximum(left / max(self.n - len(linear), 1), 1e-300)
        self.precision = typical / prior.slope_spread**2
        for term, _ in prior.terms:
            for i in columns.of(term):
                self.product[:, i, i] += self.precision
        # Log prior density of each coefficient at its mean; levels of the first evaluations and the free
        # curve's coefficients are uniform over two sds of the reward.
        normal, uniform = -np.log(np.sqrt(2.0 * np.pi) * prior.slope_spread), -np.log(2.0)
        special = {"one": 0.0, "shift": 0.0, FLAT: 0.0, FREE: uniform}
        special |= {name: uniform for name in columns.names if name.startswith(FIRST)}
        self.density = np.array([special.get(name, normal) for name in columns.names])

    def all(self) -> list[Block]:
        """Every block that the run determines: saturation without a term, and the flat law alone."""
        blocks = list[Block | None]()
        for term, first in product(range(len(self.prior.terms)), range(len(self.prior.firsts))):
            share, probability = self.prior.firsts[first]
            columns = [*self.columns.of(self.prior.terms[term][0]), *self.columns.of(f"{FIRST}{first}")]
            if len(columns) < (term > 0) + (share > 0):
                continue
            left_out = {FREE, SATURATION if term else "", FLAT if term or share else ""}
            curves = sorted(i for name in {*FORMS} - left_out for i in self.columns.of(name))
            linear, how = [0, *columns, *self.columns.of("shift")], (term, first, float(np.log(probability)))
            blocks.append(self._block(CONSTANT, linear, [], *how))
            if curves:
                blocks.append(self._block("", linear, curves, *how))
            if free := self.columns.of(FREE):
                blocks.append(self._block(FREE, [*linear, *free], [], *how))
        return list(filter(None, blocks))

    def _block(
        self, form: str, linear: list[int], curves: list[int], term: int, first: int, log_prior: float
    ) -> Block | None:
        """The linear columns alone, or with one of the curves at a time; ``form`` is theirs without one."""
        df = self.n - len(linear) - bool(curves)
        if df < 1:
            return None
        target, whole = self.target, np.maximum(self.product[:, self.target, self.target], 1e-300)
        inverse = _inverse(self.product[:, linear][:, :, linear])
        with_reward = self.product[:, linear, target]
        level = np.einsum("kpq,kq->kp", inverse, with_reward)
        log_det = self.white.log_det - np.linalg.slogdet(inverse)[1]
        squares = (whole - np.einsum("kp,kp->k", with_reward, level))[:, None]
        log_weight = (self.white.log_prior - 0.5 * log_det + self.density[linear].sum() + log_prior)[:, None]
        if curves:
            names, curve_shapes = [self.columns.names[i] for i in curves], self.columns.shapes[curves]
            flat, centre = np.array([name == FLAT for name in names]), self.columns.slope[curves]
            prior = np.where(flat, 0.0, self.precision[:, None])
            solved = inverse @ self.product[:, linear][:, :, curves]
            diagonal = np.einsum("kmm->km", self.product)[:, curves]
            new = diagonal - np.einsum("kpj,kpj->kj", self.product[:, linear][:, :, curves], solved)
            # A flat prior does not determine the coefficient of a column that is not new.
            unknown = flat & ~(new > LEAST_NEW * diagonal)
            precision = np.maximum(new, LEAST_NEW * diagonal) + prior
            along = self.product[:, curves, target] - np.einsum("kpj,kp->kj", solved, with_reward)
            slope = (along + prior * centre) / precision
            squares = squares + prior * centre**2 - precision * slope**2
            shapes = np.array([names.count(name) if name in SEVERAL else 1 for name in names])
            log_weight = log_weight + self.density[curves] - np.log(shapes) - 0.5 * np.log(precision)
            log_weight = np.where(unknown, -np.inf, log_weight)
        else:
            names, curve_shapes = [form], np.array([np.nan])
            solved, slope = np.zeros((*level.shape, 1)), np.zeros((len(level), 1))
            precision = np.full((len(level), 1), np.inf)
        squares = np.maximum(squares, EXACT * whole[:, None])
        # Log marginal likelihood of the residual, σ integrated out with prior 1/σ.
        log_weight = log_weight + gammaln(df / 2.0) - df / 2.0 * np.log(np.pi * squares)
        if self.noise:
            # The white noise has at least a known variance, and the prior ends there: what remains is the
            # probability that a χ² is at most squares · white share / variance.
            log_weight = log_weight + _log_lower_gamma(df / 2.0, squares * self.noisy / (2.0 * self.noise))
        return Block(
            forms=np.array([FORMS.index(name) for name in names]),
            shapes=curve_shapes,
            term=term,
            first=first,
            linear=linear,
            curves=curves,
            inverse=inverse,
            level=level,
            solved=solved,
            slope=slope,
            precision=precision,
            variance=np.maximum(squares / df, self.noise / np.maximum(self.noisy, 1e-6)),
            df=df,
            log_weight=log_weight,
        )


def that_matter(blocks: Sequence[Block]) -> tuple[IntArray, list[Block]]:
    """Numbers of the covariances on which a number of some curve depends, and the blocks under these."""
    matters = np.zeros(len(blocks[0].level), dtype=bool)
    for block in blocks:
        for form in dict.fromkeys(block.forms.tolist()):
            log_weight = block.log_weight[:, block.forms == form].max(axis=1)
            matters |= log_weight > log_weight.max() + np.log(LEFT_OUT)
    chosen = np.flatnonzero(matters)
    return chosen, [block.only(chosen) for block in blocks]


def _log_lower_gamma(shape: float, value: FloatArray) -> FloatArray:
    """Logarithm of the regularised lower incomplete gamma function, also where it underflows."""
    below = gammainc(shape, value)
    with np.errstate(divide="ignore"):
        near_0 = shape * np.log(value) - value - gammaln(shape + 1.0)
        return np.asarray(np.where(below > 1e-200, np.log(np.maximum(below, 1e-300)), near_0))


def _inverse(product: FloatArray) -> FloatArray:
    """Inverses (K, p, p) of cross products of columns in any unit, with a hair of a ridge where singular."""
    unit = 1.0 / np.sqrt(np.maximum(np.einsum("kpp->kp", product), 1e-300))
    scaled = product * unit[:, :, None] * unit[:, None, :]
    if product.shape[-1] > 1 and np.linalg.slogdet(scaled)[1].min() < np.log(LEAST_NEW):
        scaled = scaled + _RIDGE * np.eye(product.shape[-1])
    return np.asarray(np.linalg.inv(scaled) * unit[:, :, None] * unit[:, None, :])
