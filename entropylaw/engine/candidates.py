"""The candidates: columns of every curve and term at the evaluations, and curves at other entropies.

Columns of curves and terms have mean 0 and sd 1 over the evaluations, so that cross products lose no digits;
the reward as well. What a curve is at H = 0, and a term at the last evaluation, is in :meth:`Candidates.row`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.signal import lfilter

from entropylaw.arrays import FloatArray
from entropylaw.engine.constants import (
    FLAT,
    FREE,
    LAGGED,
    LAW,
    LINE,
    LOG_STEP,
    POWER,
    RATE,
    SATURATION,
    SQUARE,
    STEP,
    Prior,
)

_HIGHEST_POWER = 300.0
"""Largest exponent: the square of its exponential is a number still."""

_FLAT_COLUMN = 1e-12
"""Change of a column, relative to its largest value, that is rounding: there is no such candidate."""

At = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidates:
    """m columns of a run of n evaluations; the last column is the reward.

    Attributes
    ----------
    columns
        Shape (n, m), in units of each column's sd, the reward less its mean.
    names, shapes
        The curve, term or dummy of each column, and its shape (k, p, rate or lag; nan without one). The
        intercept is "one", the reward "reward"; "first1", "first2" and "shift" are levels of some of them.
    onward
        For each column its value at other entropies (q,), in the same units; None where it has none.
    slope
        Shape (m,): prior mean of each coefficient.
    unit, origin
        Standard deviation and mean of the reward.
    law_unit
        Standard deviation of exp(H) − 1: the law's a is −slope·unit/law_unit.
    """

    columns: FloatArray
    names: tuple[str, ...]
    shapes: FloatArray
    onward: tuple[At | None, ...]
    slope: FloatArray
    unit: float
    origin: float
    law_unit: float

    def of(self, name: str) -> list[int]:
        """Numbers of the columns of a curve, term or dummy."""
        return [i for i, other in enumerate(self.names) if other == name]

    def row(self, entropy: FloatArray) -> FloatArray:
        """Values (q, m) of every column at entropies (q,) at the present stage: terms as now, no dummies."""
        rows = np.zeros((entropy.size, len(self.names)))
        rows[:, 0] = 1.0
        terms = [i for i, name in enumerate(self.names) if name in (STEP, LOG_STEP)]
        rows[:, terms] = self.columns[-1, terms]
        for i, onward in enumerate(self.onward):
            if onward is not None:
                rows[:, i] = onward(entropy)
        return rows


def candidates(
    entropy: FloatArray, share: FloatArray, reward: FloatArray, prior: Prior, shifts: Sequence[int] = ()
) -> Candidates:
    """All columns of a run.

    Parameters
    ----------
    entropy, share, reward
        Shape (n,): smoothed entropy in nats, share of the run's steps (0 to 1), and reward.
    prior
        Shapes of the curves.
    shifts
        Numbers of evaluations at which a new level begins: the level before each has a column.
    """
    unit, origin = float(np.std(reward)) or 1.0, float(np.mean(reward))
    law_unit = float(np.std(np.expm1(entropy))) or 1.0
    builder, none = _Builder(entropy), float("nan")
    builder.keep("one", np.ones(entropy.size), none, None)
    for name, shape, function in _curves(entropy, prior):
        builder.curve(name, shape, function)
    builder.lagged(prior)
    builder.free(prior)
    builder.add(STEP, share)
    builder.add(LOG_STEP, np.log1p(share * (entropy.size - 1)))
    for rate in prior.saturations:
        builder.add(SATURATION, np.exp(-rate * share), shape=rate)
    for number, (part, _) in enumerate(prior.firsts):
        if part:
            first = np.arange(entropy.size) < max(round(part * entropy.size), 1)
            builder.keep(f"first{number}", first.astype(float), none, None)
    for start in shifts:
        builder.keep("shift", (np.arange(entropy.size) < start).astype(float), none, None)
    builder.keep("reward", (reward - origin) / unit, none, None)
    columns = np.column_stack(builder.columns)
    return Candidates(
        columns=columns,
        names=tuple(builder.names),
        shapes=np.array(builder.shapes),
        onward=tuple(builder.onward),
        slope=_directions(columns, builder, prior),
        unit=unit,
        origin=origin,
        law_unit=law_unit,
    )


def _directions(columns: FloatArray, builder: _Builder, prior: Prior) -> FloatArray:
    """Prior mean of each coefficient: for curves in the entropy reward rises as entropy falls."""
    entropy = builder.entropy - builder.entropy.mean()
    towards = np.sign((columns - columns.mean(axis=0)).T @ entropy)
    curves = [name in (LAW, LINE, SQUARE, RATE, POWER, LAGGED, FLAT) for name in builder.names]
    return np.where(curves, -prior.slope * towards, 0.0)


def _curves(entropy: FloatArray, prior: Prior) -> list[tuple[str, float, At]]:
    """Curves with one coefficient: name, shape, and the column at some entropies."""
    none, highest = float("nan"), max(float(np.max(np.abs(entropy))), 1e-300)
    curves: list[tuple[str, float, At]] = [
        (LAW, none, np.expm1),
        (FLAT, none, np.expm1),
        (LINE, none, np.asarray),
        (SQUARE, none, np.square),
    ]
    for rate in prior.rates:
        curves.append((RATE, rate / highest, partial(_rate_column, rate=rate / highest)))
    if entropy.min() >= 0:
        for power in prior.powers:
            curves.append((POWER, power, partial(_power_column, power=power)))
    return curves


def _rate_column(entropy: FloatArray, rate: float) -> FloatArray:
    return np.expm1(np.minimum(rate * entropy, _HIGHEST_POWER))


def _power_column(entropy: FloatArray, power: float) -> FloatArray:
    return np.asarray(np.maximum(entropy, 0.0) ** power)


class _Builder:
    """Columns as they are added; one that does not change is left out."""

    def __init__(self, entropy: FloatArray) -> None:
        self.entropy = entropy
        self.columns: list[FloatArray] = []
        self.names: list[str] = []
        self.shapes: list[float] = []
        self.onward: list[At | None] = []

    def keep(self, name: str, column: FloatArray, shape: float, onward: At | None) -> None:
        """Add one column as it is."""
        self.columns.append(column)
        self.names.append(name)
        self.shapes.append(shape)
        self.onward.append(onward)

    def add(self, name: str, column: FloatArray, *, shape: float = float("nan")) -> None:
        """A term, less its mean and in units of its sd."""
        middle, unit = _scale(column)
        if unit:
            self.keep(name, (column - middle) / unit, shape, None)

    def curve(self, name: str, shape: float, function: At) -> None:
        """A curve in the entropy, less its mean and in units of its sd at the evaluations."""
        column = function(self.entropy)
        middle, unit = _scale(column)
        if unit:
            self.keep(name, (column - middle) / unit, shape, lambda at: (function(at) - middle) / unit)

    def lagged(self, prior: Prior) -> None:
        """The law of an exponential mean of the entropy; at a steady entropy it is the law."""
        n = self.entropy.size
        for lag in prior.lags:
            weight = 1.0 / max(lag * n, 1.0)
            start = np.array([(1.0 - weight) * self.entropy[0]])
            mean, _ = lfilter([weight], [1.0, weight - 1.0], self.entropy, zi=start)
            column = np.expm1(mean)
            middle, unit = _scale(column)
            if unit:
                onward = partial(_standardised, middle=middle, unit=unit)
                self.keep(LAGGED, (column - middle) / unit, lag, onward)

    def free(self, prior: Prior) -> None:
        """A natural cubic spline, its columns orthonormal to the intercept and to one another.

        The basis is that of Hastie, Tibshirani & Friedman 2009 (doi:10.1007/978-0-387-84858-7, eq. 5.4).
        """
        knots = np.unique(np.quantile(self.entropy, prior.knots)) if prior.knots else np.empty(0)
        if not prior.knots or knots.size < len(prior.knots) or self.entropy.size <= len(prior.knots):
            return
        spline = partial(_natural_basis, knots=knots, scale=float(np.ptp(self.entropy)))
        basis = np.column_stack([np.ones(self.entropy.size), spline(self.entropy)])
        ortho, triangle = np.linalg.qr(basis)
        diagonal = np.abs(np.diag(triangle))
        if diagonal.min() < 1e-6 * diagonal.max():
            return
        root = np.sqrt(self.entropy.size)
        # Each column is a combination of the basis, the intercept included: at H = 0 only that remains.
        weights = np.linalg.inv(triangle) * root
        for i in range(1, basis.shape[1]):
            self.keep(
                FREE, ortho[:, i] * root, float("nan"), partial(_combined, spline=spline, of=weights[:, i])
            )


def _scale(column: FloatArray) -> tuple[float, float]:
    """Mean and standard deviation of a column; 0 where it does not change."""
    if np.ptp(column) <= _FLAT_COLUMN * np.abs(column).max():
        return 0.0, 0.0
    return float(np.mean(column)), float(np.std(column))


def _standardised(entropy: FloatArray, middle: float, unit: float) -> FloatArray:
    return (np.expm1(entropy) - middle) / unit


def _combined(entropy: FloatArray, spline: At, of: FloatArray) -> FloatArray:
    return np.asarray(of[0] + spline(entropy) @ of[1:])


def _natural_basis(entropy: FloatArray, knots: FloatArray, scale: float) -> FloatArray:
    """Natural cubic splines (q, knots − 1) without the intercept: straight lines outside the knots."""
    last = knots[-1]

    def cubic(knot: float) -> FloatArray:
        cubes = np.maximum(entropy - knot, 0.0) ** 3 - np.maximum(entropy - last, 0.0) ** 3
        return np.asarray(cubes / ((last - knot) * scale**2))

    final = cubic(knots[-2])
    return np.column_stack([entropy, *(cubic(knot) - final for knot in knots[:-2])])
