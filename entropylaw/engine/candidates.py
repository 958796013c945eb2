"""The candidates: columns of every curve and term at the evaluations, and curves at other entropies.

Columns of curves and terms have mean 0 and sd 1 over the evaluations, so that cross products lose no digits;
the reward as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import compress

import numpy as np

from entropylaw.arrays import FloatArray
from entropylaw.engine.constants import Prior

_HIGHEST_POWER = 300.0
"""Largest exponent: the square of its exponential is a number still."""

_FLAT_COLUMN = 1e-12
"""Change of a column, relative to its largest value, that is rounding: there is no such candidate."""

_DIRECTED = ("law", "flat", "line", "square", "rate", "power", "lagged")
"""Curves with one coefficient in the entropy."""

_IN_STEP = ("saturation", "step", "log_step")
"""Curves and terms in the step."""

At = Callable[[FloatArray], FloatArray]
"""A column at entropies (q,)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidates:
    """m columns of a run of n evaluations; the last column is the reward.

    Attributes
    ----------
    columns
        Shape (n, m), in units of each column's sd, the reward less its mean.
    names, shapes
        The curve, term or dummy of each column, and its shape (k, p, rate or lag; nan without one). The
        intercept is "one", the reward "reward"; "first1" and "first2" are levels of some of them, "error"
        columns of the error of exp(H).
    onward
        For each column its value at other entropies (q,), None where it has none.
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
        return [i for i, column in enumerate(self.names) if column == name]


def candidates(
    entropy: FloatArray,
    share: FloatArray,
    reward: FloatArray,
    prior: Prior,
    errors: Sequence[FloatArray] = (),
) -> Candidates:
    """All columns of a run.

    Parameters
    ----------
    entropy, share, reward
        Shape (n,): smoothed entropy in nats, share of the run's steps (0 to 1), and reward.
    prior
        Shapes of the curves.
    errors
        Columns (n,) of the error of exp(H).
    """
    unit = float(np.std(reward)) or 1.0
    origin = float(np.mean(reward))
    of_errors = [("error", error, np.nan, None) for error in errors]
    of_reward = ("reward", (reward - origin) / unit, np.nan, None)
    listed = [*_columns(entropy, share, prior), *of_errors, of_reward]
    every = np.column_stack([values for _, values, *_ in listed])
    scaled = np.array([name in _DIRECTED or name in _IN_STEP for name, *_ in listed])
    moves = ~scaled | (np.ptp(every, axis=0) > _FLAT_COLUMN * np.abs(every).max(axis=0))
    middle = np.where(scaled, every.mean(axis=0), 0.0)[moves]
    spread = np.where(scaled, every.std(axis=0), 1.0)[moves]
    columns = (every[:, moves] - middle) / spread
    names, _, shapes, curves = zip(*compress(listed, moves), strict=True)
    # Reward rises as entropy falls; a free curve has no direction.
    towards = np.sign((columns - columns.mean(axis=0)).T @ (entropy - entropy.mean()))
    return Candidates(
        columns=columns,
        names=names,
        shapes=np.array(shapes),
        onward=tuple(
            at and partial(_standardised, at=at, middle=mean, spread=sd)
            for at, mean, sd in zip(curves, middle, spread, strict=True)
        ),
        slope=np.where(np.isin(names, _DIRECTED), -prior.slope * towards, 0.0),
        unit=unit,
        origin=origin,
        law_unit=float(np.std(np.expm1(entropy))) or 1.0,
    )


def _standardised(entropy: FloatArray, at: At, middle: float, spread: float) -> FloatArray:
    """A column at other entropies, by its mean and sd over the evaluations."""
    return np.asarray((at(entropy) - middle) / spread)


def _columns(
    entropy: FloatArray, share: FloatArray, prior: Prior
) -> Iterator[tuple[str, FloatArray, float, At | None]]:
    """Every column but the reward: name, values at the evaluations, shape, and values at other entropies."""
    n = entropy.size
    number = np.arange(n)
    yield "one", np.ones(n), np.nan, None
    for name, shape, at in _curves(entropy, prior):
        yield name, at(entropy), shape, at
    for lag in prior.lags:
        # At a steady entropy this is the law.
        yield "lagged", np.expm1(_lagged(entropy, lag)), lag, np.expm1
    for at in _free_curve(entropy, prior):
        yield "free", at(entropy), np.nan, at
    yield "step", share, np.nan, None
    yield "log_step", np.log1p(share * (n - 1)), np.nan, None
    for rate in prior.saturations:
        yield "saturation", np.exp(-rate * share), rate, None
    for i, (early, _) in enumerate(prior.firsts):
        if early:
            yield f"first{i}", (number < max(round(early * n), 1)).astype(float), np.nan, None


def _lagged(entropy: FloatArray, lag: float) -> list[float]:
    """The exponential mean (n,) of an entropy (n,) in nats, over a ``lag`` in lengths of the run."""
    weight = 1.0 / max(lag * entropy.size, 1.0)
    means = [float(entropy[0])]
    for value in entropy[1:].tolist():
        means.append(means[-1] + weight * (value - means[-1]))
    return means


def rate_column(entropy: FloatArray, rate: float) -> FloatArray:
    """(exp(kH) − 1)/k, which is the law at k = 1 and the line H at k = 0.

    Far above the fitted entropies kH is held at :data:`_HIGHEST_POWER`: the square is a number still.
    """
    return entropy if rate == 0 else np.expm1(np.minimum(rate * entropy, _HIGHEST_POWER)) / rate


def power_column(entropy: FloatArray, power: float) -> FloatArray:
    """H to a power, of a positive entropy."""
    return np.asarray(np.maximum(entropy, 0.0) ** power)


def _curves(entropy: FloatArray, prior: Prior) -> list[tuple[str, float, At]]:
    """Curves with one coefficient: name, shape, and the column at some entropies."""
    curves: list[tuple[str, float, At]] = [("law", np.nan, np.expm1), ("flat", np.nan, np.expm1)]
    curves += [("line", np.nan, np.asarray), ("square", np.nan, np.square)]
    for reach in prior.rates:
        rate = reach / max(float(np.max(np.abs(entropy))), 1e-300)
        curves.append(("rate", rate, partial(rate_column, rate=rate)))
    if entropy.min() < 0:
        return curves
    for power in prior.powers:
        curves.append(("power", power, partial(power_column, power=power)))
    return curves


def _free_curve(entropy: FloatArray, prior: Prior) -> list[At]:
    """Columns of a natural cubic spline, orthonormal to the intercept and to one another.

    The basis is that of Hastie, Tibshirani & Friedman 2009 (doi:10.1007/978-0-387-84858-7, eq. 5.4): straight
    lines outside the knots.
    """
    knots = np.unique(np.quantile(entropy, prior.knots))
    if knots.size < len(prior.knots) or entropy.size <= len(prior.knots):
        return []
    range_square = float(np.ptp(entropy)) ** 2

    def basis(at: FloatArray) -> FloatArray:
        cubes = np.maximum(at[:, None] - knots, 0.0) ** 3
        cubic = (cubes[:, :-1] - cubes[:, -1:]) / ((knots[-1] - knots[:-1]) * range_square)
        return np.column_stack([np.ones(at.size), at, cubic[:, :-1] - cubic[:, -1:]])

    triangle = np.linalg.qr(basis(entropy), mode="r")
    diagonal = np.abs(np.diag(triangle))
    if diagonal.min() < 1e-6 * diagonal.max():
        return []
    # Each column is a combination of the basis, the intercept included: at H = 0 only that remains.
    weights = np.linalg.inv(triangle) * np.sqrt(entropy.size)

    def combined(at: FloatArray, weight: FloatArray) -> FloatArray:
        return np.asarray(basis(at) @ weight)

    return [partial(combined, weight=weight) for weight in weights.T[1:]]
