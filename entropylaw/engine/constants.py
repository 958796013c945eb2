"""The constants of a fit, each with its reason; ``docs/benchmarks/table.md`` has what follows from them.

Lengths are in evaluations (the mean spacing of a run), coefficients in standard deviations of the reward per
standard deviation of their column, so that no unit has an effect.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

AVERAGED = ("law", "line", "square", "rate", "power", "constant", "lagged", "free")
"""Curves over which numbers are averaged, each as probable as the others before the data."""

FORMS = (*AVERAGED, "saturation", "flat")
"""The curves of the table's rows, by their code; "flat" is the law without a prior of its slope, for its own
numbers."""

SEVERAL = ("rate", "power", "saturation", "lagged")
"""Curves with a shape: the prior is uniform over the values listed in :class:`Prior`."""

LENGTHS = tuple(np.geomspace(0.7, 60.0, 7).tolist())
"""Nodes of the drift's length, in evaluations: shorter is white noise, longer the sums of drifts have."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(6)
SHARES = tuple(zip((0.5 + 0.5 * _NODES).tolist(), (0.5 * _WEIGHTS).tolist(), strict=True))
"""Nodes of the white share, uniform between 0 and 1, and their weights (Gauss–Legendre)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """What is assumed before the data.

    Attributes
    ----------
    lengths, shares
        Nodes of the drift's correlation length, even in the logarithm, and of the white share of the
        residual's variance with their weights.
    length_middle, length_spread
        The length is lognormal: median, and sd of its logarithm. The wide spread is that of public runs.
    white
        Probability of no drift: least squares stays among the models, and hardly any run is without drift.
    long
        Probability of long memory, of a sum of drifts of lengths .5·4ᵏ. Every run pays for it in width, and
        the runs that have it are covered. The marginal likelihood of 22 public runs with more than 150
        evaluations falls from .05 (log −0.9) over .15 (−3.0) to .2 (−4.1): .15 is the largest probability
        within about two units of the best (Edwards' limit of support), and too little costs coverage, where
        too much costs a tenth of a width.
    long_slopes, long_shares
        Long memory: the exponent with which a component's variance falls with its length, and the white
        share. Both nodes are equally probable.
    scales
        Log ratio of the residual's sd at the first entropy to that at the last, and its probability: the
        scatter of many runs shrinks as the policy settles.
    slope, slope_spread
        Normal prior of a curve's coefficient: mean, in the direction in which reward rises as entropy falls,
        and sd. A curve that explains all has 1. Terms in the step have mean 0 and the same sd.
    rates
        k·max H of the curves exp(k·H): from one that bends within a sixth of the range to the other side.
    powers
        p of the curves Hᵖ.
    saturations
        Rates of 1 − exp(−r·u), u the share of the run: a curve in the step alone.
    lags
        Lengths of the exponential mean of the entropy that the reward follows, as shares of the run.
    knots
        Quantiles of the entropy at which the free curve, a natural cubic spline, has its knots.
    terms, firsts
        Terms in the step beside a curve, 0 at the last evaluation, and shares of the first evaluations that
        have a level of their own, each with its probability. Averaging over terms covers truths that no curve
        of the list has.
    """

    lengths: tuple[float, ...] = LENGTHS
    shares: tuple[tuple[float, float], ...] = SHARES
    length_middle: float = 8.0
    length_spread: float = 1.1
    white: float = 0.1
    long: float = 0.15
    long_slopes: tuple[float, ...] = (0.1, 0.35)
    long_shares: tuple[float, ...] = (0.0, 0.2, 0.5)
    scales: tuple[tuple[float, float], ...] = ((0.0, 0.65), (1.7, 0.35))
    slope: float = 0.7
    slope_spread: float = 0.7
    rates: tuple[float, ...] = (-6.0, -4.5, -3.0, -2.0, -1.0, 0.5, 1.5, 2.5, 4.0, 6.0)
    powers: tuple[float, ...] = (0.2, 0.3, 0.447, 0.669, 1.0, 1.495, 2.236, 3.344, 5.0)
    saturations: tuple[float, ...] = (0.5, 0.897, 1.61, 2.888, 5.181, 9.295, 16.68, 30.0)
    lags: tuple[float, ...] = (0.04, 0.1, 0.2)
    knots: tuple[float, ...] = (0.05, 0.35, 0.65, 0.95)
    terms: tuple[tuple[str, float], ...] = (("none", 0.5), ("step", 0.25), ("log_step", 0.25))
    firsts: tuple[tuple[float, float], ...] = ((0.0, 0.8), (0.05, 0.1), (0.1, 0.1))


PRIOR = Prior()

LEAST_NEW = 1e-10
"""Share of a column's whitened square that must be new beside the others; below it is rounding."""

LEFT_OUT = 1e-7
"""Weight of a covariance, to the likeliest of the same curve, below which it is left out of all curves."""

EXACT = 1e-14
"""Least residual sum of squares, as a share of the whitened reward's: a curve through all evaluations."""

LARGEST_GROUPED = 1000
"""Evaluations beyond which means of neighbours are fitted: their number bounds time and memory, and a mean
over a thousandth of the run loses neither curve nor slow drift."""

# -- entropy ------------------------------------------------------------------------------------------------

FEWEST_SMOOTHED = 10
"""Fewest logged entropies that are smoothed: with fewer, noise and curve are not distinguished."""

MOST_ERRORS = 16
"""Columns for the error of the smoothed entropy; what more columns would add changes fast, as noise does."""

LEAST_ERROR = 0.02
"""Share of the error's variance that its columns leave out; and of the residual's variance below which the
error has no columns."""

JUMP = 8.0
"""Robust sds of the entropy's changes from which a rise of the entropy is a reload."""

LEAST_JUMP = 0.02
"""Share of the entropy's range below which no rise is a reload."""

MOST_JUMPS = 4
"""Reloads of a run; with more, rises are its noise."""

# -- verdict ------------------------------------------------------------------------------------------------

HOLDS = 8.0
"""Odds of the law to the curves in the step from which it can hold. With smaller odds it holds in more runs
in which two clocks drive reward and entropy, with larger ones in fewer under the law
(``docs/benchmarks/law_words.md``)."""

BENDS = 1.25
"""Odds of the law to the straight line in the entropy from which it can hold: one clock behind reward and
entropy makes a line of them."""

SURE = 0.975
"""Probability from which the slope of the law has a direction."""

FEWEST_HOLDS = 8
"""Evaluations below which nothing is said of the law: a and b are not determined."""

SPAN = 0.1
"""Range of the entropy, nats, below which the law holds in no run, for the same reason, and does not fail
because the step says more: over so little every curve in the entropy is a line."""

KEPT_RANGE = 0.3
"""Share of the logged range that the smoothed entropy keeps at least where a and b are known: with less,
what moved was noise."""

MOST_RANGES = 1.5
"""Ranges of the reward that a means at most, over the entropies of the run, where it is known."""

MORE_EXPLAINED = 0.05
"""R² by which the divergence from the reference policy explains more than the law: less is within the noise
of R² on runs of some tens of evaluations."""

# -- findings -----------------------------------------------------------------------------------------------

NO_CURVE = 0.2
"""Probability of the free curve, over all covariances or those of short memory, from which no curve of the
list fits; under the list .6 % of runs exceed it, and with drift as long as the run up to 15 %."""

SHORT_MEMORY = 6.0
"""Longest drift, in evaluations, of the covariances of that second probability: a longer one follows a
curve's misfit."""

LEAST_SHORT = 0.001
"""Probability of short memory below which that second probability says nothing."""

FEWEST_NO_CURVE = 20
"""Evaluations below which a free curve passes through the noise."""

FIRST_OFF_CURVE = 0.5
"""Probability of a level of their own from which the first evaluations are off the curve of the others."""

# -- reads --------------------------------------------------------------------------------------------------

NEGLIGIBLE = 1e-5
"""Weight of a row, to the largest, below which no number depends on it."""

CELL = 0.3
"""Rows whose locations and log scales differ by less than this share of a scale are merged for quantiles: the
error is .1 % of an interval's width, in one of twenty numbers more than .35 %."""

BELIEVED = 0.01
"""Probability below the largest reward that is less than this is none: all curves pass it, and end there.
What would remain are rows that the run all but excludes."""
