"""The posterior of a bend: every covariance, decay, place and width that is not ruled out, with its curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from entropylaw.engine.grid import FloatArray
from entropylaw.engine.kinks import Kinks, Null
from entropylaw.engine.mixture import Mixture

_LEFT_OUT = 1e-3
"""Probability of the lightest combinations, which are left out of curves and slopes (not of the place)."""

_MOST = 600
"""Combinations whose curves are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bends:
    """Posterior of a bend in one series.

    ``place``, ``half`` and ``weight`` (k,) are place and half-width in time from 0 to 1 and the probability
    of each. The rest has one entry a combination c that is looked at further: ``share`` (c,) its
    probability, ``coefficient`` (c, 3), ``factor`` (c, 3, 3) with factor · factorᵀ its squared scale, and
    ``design`` (c, n, 3); ``before``, ``after``, ``rise`` and ``last`` (c, 3) are rows whose product with the
    coefficients is the mean slope before and behind the bend (per unit of time), what the bend adds to the
    end, and the curve at the end.
    """

    place: FloatArray
    half: FloatArray
    weight: FloatArray
    share: FloatArray
    coefficient: FloatArray
    factor: FloatArray
    design: FloatArray
    before: FloatArray
    after: FloatArray
    rise: FloatArray
    last: FloatArray
    df: float

    def number(self, row: FloatArray) -> Mixture:
        """Distribution of one of the rows' products with the coefficients."""
        location = (row * self.coefficient).sum(axis=1)
        squared = (np.einsum("cp,cpq->cq", row, self.factor) ** 2).sum(axis=1)
        scale = np.sqrt(np.maximum(squared, 1e-300))
        return Mixture(weight=self.share, location=location[None], scale=scale[None], df=self.df)

    def curve(self) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of the curve at every step, shape (n,) each."""
        each = np.einsum("cnp,cp->cn", self.design, self.coefficient)
        within = ((self.design @ self.factor) ** 2).sum(axis=-1)
        mean = self.share @ each
        inflate = self.df / (self.df - 2.0)
        return mean, np.sqrt(self.share @ (within * inflate + (each - mean) ** 2))


def bend_posterior(
    kinks: Kinks,
    null: Null,
    series: FloatArray,
    columns: FloatArray,
    place: FloatArray,
    half: FloatArray,
) -> Bends:
    """Posterior of a bend, given that there is one.

    Parameters
    ----------
    kinks, null
        Of the steps, and the smooth decay fitted to the series.
    series
        Shape (n,).
    columns
        Shape (k, n): the bends that are possible, over time in [0, 1].
    place, half
        Shape (k,): their places and half-widths.
    """
    weight = kinks.bent_weights(null, columns)
    flat = weight.ravel()
    heavy = np.sort(np.argpartition(-flat, _MOST)[:_MOST]) if flat.size > _MOST else np.arange(flat.size)
    order = heavy[np.argsort(-flat[heavy], kind="stable")]
    count = int(np.searchsorted(np.cumsum(flat[order]), 1.0 - _LEFT_OUT)) + 1
    chosen = order[:count]
    point, shape, which = np.unravel_index(chosen, weight.shape)
    design = np.stack(
        [
            np.ones((chosen.size, series.size)),
            kinks.decays[shape],
            columns[which],
        ],
        axis=-1,
    )
    coefficient, factor = _solved(kinks, series, columns, point, shape, which)
    bent = design[np.arange(chosen.size), _nearest(kinks.time, place[which])]
    first, last = design[:, 0], design[:, -1]
    return Bends(
        place=place,
        half=half,
        weight=weight.sum(axis=(0, 1)),
        share=flat[chosen] / flat[chosen].sum(),
        coefficient=coefficient,
        factor=factor,
        design=design,
        before=(bent - first) / _apart(kinks.time, place[which])[:, None],
        after=(last - bent) / (1.0 - _apart(kinks.time, place[which]))[:, None],
        rise=last * np.array([0.0, 0.0, 1.0]),
        last=last,
        df=float(kinks.free - 1),
    )


def _nearest(time: FloatArray, place: FloatArray) -> NDArray[np.intp]:
    """Number of the point nearest to each place."""
    return np.asarray(np.abs(time[None, :] - place[:, None]).argmin(axis=1))


def _apart(time: FloatArray, place: FloatArray) -> FloatArray:
    """Time of the point nearest to each place; never at an end."""
    return np.clip(time[_nearest(time, place)], time[1], time[-2])


def _solved(
    kinks: Kinks,
    series: FloatArray,
    columns: FloatArray,
    point: NDArray[np.intp],
    shape: NDArray[np.intp],
    which: NDArray[np.intp],
) -> tuple[FloatArray, FloatArray]:
    """Generalised least squares of each combination: coefficients (c, 3) and factors of their covariances.

    A combination is a covariance, a decay and a bend, by their numbers, each of shape (c,).
    """
    used, slot = np.unique(which, return_inverse=True)
    white = kinks.whitened(np.column_stack([series, np.ones(series.size), kinks.decays.T, columns[used].T]))
    y = white[point, 0]
    after = 2 + len(kinks.decays)
    x = np.stack([white[point, 1], white[point, 2 + shape], white[point, after + slot]], axis=-1)
    ortho, triangle = np.linalg.qr(x)
    along = np.einsum("cnp,cn->cp", ortho, y)
    left = y - np.einsum("cnp,cp->cn", ortho, along)
    variance = np.maximum((left**2).sum(axis=1), 1e-300) / (series.size - x.shape[-1])
    back = np.linalg.inv(triangle)
    return np.einsum("cpq,cq->cp", back, along), back * np.sqrt(variance)[:, None, None]
