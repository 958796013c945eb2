"""Whether the residual's scatter changes along the run, which the intervals take as constant."""

from __future__ import annotations

from dataclasses import replace
from math import erfc

import numpy as np

from entropylaw.analysis.rivals import FormFits
from entropylaw.arrays import FloatArray
from entropylaw.engine.kalman import filter_gains, whiten
from entropylaw.engine.posterior import least_squares
from entropylaw.engine.prior import Grid, first_best

FEWEST = 15
"""Fewest evaluations of which the thirds are compared."""

P_CHANGES = 0.001
"""p-value below which the scatter changes."""

ROUNDING = 1e-6
"""Share of the reward's range below which a residual is rounding, and not scatter."""

FACTOR = 1.5
"""Ratio of the scatter of the first and the last third from which a change is a caution."""


def likeliest(grid: Grid, fits: FormFits) -> Grid:
    """The most probable covariance under the most probable form, as a grid of one point."""
    best = fits.fits[max(fits.probability, key=lambda name: fits.probability[name])]
    weight = best.posteriors[best.best].weight
    return replace(grid, errors=None).points([int(first_best(weight))])


def scatter_of_thirds(
    step: FloatArray, reward: FloatArray, grid: Grid, fits: FormFits
) -> tuple[tuple[float, float, float], float] | None:
    """Standard deviation of the residual in each third of a run, and the p-value of no change.

    The residual is that of the most probable form, whitened by its most probable covariance, so that its
    values are about independent; the standard deviations, in reward units, are √(π/2) times the mean absolute
    value of each third, as it is for a normal distribution. The test compares the first and the last: of m
    normal values the logarithm of the mean absolute value has variance (π/2 − 1)/m. With heavier tails the
    test is too eager: ``docs/benchmarks/foreign.md`` has how often.

    Parameters
    ----------
    step, reward
        Shape (n,). With n below :data:`FEWEST`, or a residual of 0, there is no answer.
    grid, fits
        The residual covariances, and the forms on the same evaluations.
    """
    best = fits.fits[max(fits.probability, key=lambda name: fits.probability[name])]
    point = likeliest(grid, fits)
    x = best.form.designs(best.form.inputs, best.shape[[best.best]])[0]
    if step.size < max(FEWEST, x.shape[1] + 3):
        return None
    both = np.column_stack([x, reward])
    ((*columns, target),) = whiten(filter_gains(step, point), both, point.drift_scale)
    *_, (residual,) = least_squares(np.array(columns).T[None], target[None])
    # In units of the whole residual at each evaluation, of which the noise floor is a part.
    drift, noise = (
        1.0 if each is None else each[:, 0] ** 2 for each in (point.drift_scale, point.noise_scale)
    )
    total = point.drift * drift + point.noise * noise + grid.mean_floor
    size = np.abs(residual) * np.sqrt(total * np.pi / 2)
    third = step.size // 3
    first, middle, last = (float(np.mean(part)) for part in (size[:third], size[third:-third], size[-third:]))
    if not min(first, last) > ROUNDING * float(np.ptp(reward)):
        return None
    z = np.log(first / last) / np.sqrt((np.pi - 2.0) / third)
    return (first, middle, last), erfc(abs(float(z)) / np.sqrt(2.0))
