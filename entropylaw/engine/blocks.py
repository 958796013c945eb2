"""The closed forms: candidates with the same linear columns under all covariances at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammainc, gammaln

from entropylaw.arrays import FloatArray, IntArray
from entropylaw.engine.candidates import Candidates
from entropylaw.engine.constants import (
    AVERAGED,
    CONSTANT,
    EXACT,
    FLAT,
    FREE,
    LAW,
    LEAST_NEW,
    LOG_STEP,
    NO_TERM,
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

    def numbers(self, functional: Functional) -> tuple[FloatArray, FloatArray]:
        """Location and squared scale of F numbers in every row, (F, K·J), in units of the reward's sd."""
        along = functional.row[:, :, self.linear]
        own = np.einsum("fkp,kp->fk", along, self.level) + functional.offset
        spread = (along[:, :, None, :] @ self.inverse)[:, :, 0] * along
        known = spread.sum(axis=2) + functional.variance
        if self.curves:
            new = functional.row[:, :, self.curves] - np.einsum("fkp,kpj->fkj", along, self.solved)
        else:
            new = np.zeros((1, 1, 1))
        location = own[:, :, None] + new * self.slope
        squared = (known[:, :, None] + new**2 / self.precision) * self.variance
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

    def __init__(self, found: Candidates, products: Whitened, prior: Prior, noise: float) -> None:
        self.found, self.white, self.prior, self.noise = found, products, prior, noise
        self.n = len(found.columns)
        self.target = len(found.names) - 1
        # Mean white share over the evaluations, of a variance that is 1 at the largest entropy.
        self.noisy = products.white * products.mean_square
        self.scatter = self._typical_variance()
        # A normal prior is one more observation: its precision is in units of a typical residual variance.
        self.precision = self.scatter / prior.slope_spread**2
        self.product = products.product.copy()
        for term, _ in prior.terms:
            for i in found.of(term):
                self.product[:, i, i] += self.precision
        self.diagonal = np.einsum("kmm->km", self.product)
        self.whole = np.maximum(self.product[:, self.target, self.target], 1e-300)
        self.density = self._densities()

    def _typical_variance(self) -> FloatArray:
        """Residual variance (K,) of the law with the step, or of as much of it as the run determines."""
        linear = [0, *self.found.of(STEP), *self.found.of(LAW)][: max(self.n - 3, 1)]
        product, y = self.white.product, self.target
        inverse = _inverse(product[:, linear][:, :, linear])
        along = product[:, linear, y]
        explained = np.einsum("kp,kpq,kq->k", along, inverse, along)
        whole = product[:, y, y]
        left = np.maximum(whole - explained, EXACT * whole) / max(self.n - len(linear), 1)
        return np.asarray(np.maximum(left, 1e-300))

    def _densities(self) -> FloatArray:
        """Log prior density (m,) of each coefficient at its mean, for one linear column.

        Levels of the first evaluations and the free curve's coefficients are uniform over two sds of the
        reward.
        """
        density = np.full(self.target, -np.log(np.sqrt(2.0 * np.pi) * self.prior.slope_spread))
        for i, name in enumerate(self.found.names[:-1]):
            if name == FREE or name.startswith("first"):
                density[i] = -np.log(2.0)
            if name in ("one", "shift", FLAT):
                density[i] = 0.0
        return density

    def all(self) -> list[Block]:
        """Every block that the run determines."""
        shifts, blocks = self.found.of("shift"), list[Block]()
        free = self.found.of(FREE)
        for term, (term_name, _) in enumerate(self.prior.terms):
            for first, (part, probability) in enumerate(self.prior.firsts):
                columns = [*self.found.of(term_name), *(self.found.of(f"first{first}") if part else [])]
                expected = int(term_name != NO_TERM) + int(part > 0)
                if len(columns) < expected:
                    continue
                linear = [0, *columns, *shifts]
                bare = term_name == NO_TERM
                curves = self._curves(bare=bare, alone=bare and not part)
                made = (
                    self._without_curve(CONSTANT, linear, term, first),
                    self._with_curves(linear, curves, term, first),
                    self._without_curve(FREE, [*linear, *free], term, first) if free else None,
                )
                kept = [block for block in made if block is not None]
                for block in kept:
                    block.log_weight[...] += np.log(probability)
                blocks += kept
        return blocks

    def _curves(self, *, bare: bool, alone: bool) -> list[int]:
        """Columns of the curves with one coefficient: saturation without a term, the flat law alone."""
        left_out = {"one", "shift", "reward", FREE, STEP, LOG_STEP}
        if not bare:
            left_out.add(SATURATION)
        if not alone:
            left_out.add(FLAT)
        names = self.found.names
        return [i for i, name in enumerate(names) if name not in left_out and not name.startswith("first")]

    def _without_curve(self, form: str, linear: list[int], term: int, first: int) -> Block | None:
        df = self.n - len(linear)
        if df < 1:
            return None
        inverse, level, squares, log_weight = self._solved(linear)
        squares = np.maximum(squares, EXACT * self.whole)
        return Block(
            forms=np.array([FORMS.index(form)]),
            shapes=np.array([np.nan]),
            term=term,
            first=first,
            linear=linear,
            curves=[],
            inverse=inverse,
            level=level,
            solved=np.zeros((len(level), len(linear), 1)),
            slope=np.zeros((len(level), 1)),
            precision=np.full((len(level), 1), np.inf),
            variance=self._variance(squares, df, self.noisy)[:, None],
            df=df,
            log_weight=(log_weight + self._log_likelihood(squares, df, self.noisy))[:, None],
        )

    def _with_curves(self, linear: list[int], curves: list[int], term: int, first: int) -> Block | None:
        """The linear columns with one curve at a time."""
        df = self.n - len(linear) - 1
        if df < 1 or not curves:
            return None
        inverse, level, squares, log_weight = self._solved(linear)
        names = [self.found.names[i] for i in curves]
        flat = np.array([name == FLAT for name in names])
        prior = np.where(flat, 0.0, self.precision[:, None])
        cross = self.product[:, linear][:, :, curves]
        solved = inverse @ cross
        diagonal = self.diagonal[:, curves]
        new = diagonal - np.einsum("kpj,kpj->kj", cross, solved)
        known = new > LEAST_NEW * diagonal
        new = np.maximum(new, LEAST_NEW * diagonal) + prior
        along = self.product[:, curves, self.target] - np.einsum(
            "kpj,kp->kj", solved, self.product[:, linear, self.target]
        )
        centre = self.found.slope[curves]
        along = along + prior * centre
        slope = along / new
        left = np.maximum(squares[:, None] + prior * centre**2 - along * slope, EXACT * self.whole[:, None])
        count = np.array([names.count(name) if name in SEVERAL else 1 for name in names])
        weight = log_weight[:, None] + self.density[curves] - np.log(count) - 0.5 * np.log(new)
        weight = weight + self._log_likelihood(left, df, self.noisy[:, None])
        return Block(
            forms=np.array([FORMS.index(name) for name in names]),
            shapes=self.found.shapes[curves],
            term=term,
            first=first,
            linear=linear,
            curves=curves,
            inverse=inverse,
            level=level,
            solved=solved,
            slope=slope,
            precision=new,
            variance=self._variance(left, df, self.noisy[:, None]),
            df=df,
            # A flat prior does not determine the coefficient of a column that is not new.
            log_weight=np.where(flat & ~known, -np.inf, weight),
        )

    def _solved(self, linear: list[int]) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Inverse cross products, coefficients, residual squares (K,), and log weight without them (K,)."""
        product = self.product[:, linear][:, :, linear]
        inverse = _inverse(product)
        along = self.product[:, linear, self.target]
        level = np.einsum("kpq,kq->kp", inverse, along)
        squares = self.whole - np.einsum("kp,kp->k", along, level)
        log_det = -np.linalg.slogdet(inverse)[1]
        log_weight = self.white.log_prior - 0.5 * (self.white.log_det + log_det) + self.density[linear].sum()
        return inverse, level, squares, log_weight

    def _variance(self, squares: FloatArray, df: int, white: FloatArray) -> FloatArray:
        """Residual variance: the white noise, its share of that, is at least the known noise."""
        return np.asarray(np.maximum(squares / df, self.noise / np.maximum(white, 1e-6)))

    def _log_likelihood(self, squares: FloatArray, df: int, white: FloatArray) -> FloatArray:
        """Log marginal likelihood of the residual, σ integrated out with prior 1/σ.

        Where the white noise is known to be at least some variance, the prior ends there: what remains is the
        probability that a χ² is at most squares · white share / variance.
        """
        value = gammaln(df / 2.0) - df / 2.0 * np.log(np.pi * squares)
        if not self.noise:
            return np.asarray(value)
        return np.asarray(value + _log_lower_gamma(df / 2.0, squares * white / (2.0 * self.noise)))


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
