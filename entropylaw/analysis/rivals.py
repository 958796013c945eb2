"""The law against its rivals on the same evaluations, by marginal likelihood."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from entropylaw.analysis.estimate import from_mixture
from entropylaw.analysis.forms import FORMULAS, design, law_column, rate_column, rates
from entropylaw.engine.grid import FloatArray, Grid
from entropylaw.engine.mixture import Mixture
from entropylaw.engine.posterior import Posterior, infer
from entropylaw.results import Estimate, Rival

PLAUSIBLE = 0.05
"""A form whose weight is below this is ruled out."""

_PARAMETERS = {"line": 2, "rate": 3, "constant": 1}

_NEGLIGIBLE = 12.0
"""Log evidence below the best from which a rate counts for nothing."""

_FINEST = 1e-6
"""Range of rates below which nothing is refined any more."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FormFits:
    """Posteriors of all forms on one run.

    ``rate`` holds one posterior for each of ``rate_grid``; ``rate_weight`` their probabilities.
    ``weight`` maps a form to its posterior probability.
    """

    law: Posterior
    line: Posterior
    constant: Posterior
    rate: tuple[Posterior, ...]
    rate_grid: FloatArray
    rate_weight: FloatArray
    weight: dict[str, float]


def fit_forms(
    step: FloatArray, entropy: FloatArray, reward: FloatArray, grid: Grid, floor: FloatArray | None
) -> FormFits:
    """Fit law, line, free rate and constant with the same residual model.

    The prior gives each form the same probability, is flat on the level, and flat on the slope with the
    density of a uniform between plus and minus one standard deviation of the reward per standard
    deviation of the form's column: no form can explain more than there is. (The density is that of the
    uniform; the slope itself is not cut off.) It is what a slope costs against the constant.
    """
    columns = np.array([law_column(entropy), entropy])
    law, line = infer(step, design(columns), np.tile(reward, (2, 1)), grid, floor)
    (constant,) = infer(step, np.ones((1, reward.size, 1)), reward[None, :], grid, floor)
    rate_grid, rate = _fit_rates(step, entropy, reward, grid, floor)
    first = rates(entropy)
    log_rate = np.array([posterior.log_evidence for posterior in rate])
    log_rate += np.log(_trapezoid(rate_grid) / (first[-1] - first[0]))
    slope_cost = 0.5 * np.log(reward.size) + np.log(2.0 * float(np.std(reward)))
    evidence = {
        "law": law.log_evidence - slope_cost,
        "line": line.log_evidence - slope_cost,
        "rate": float(logsumexp(log_rate)) - slope_cost,
        "constant": constant.log_evidence,
    }
    total = logsumexp(list(evidence.values()))
    return FormFits(
        law=law,
        line=line,
        constant=constant,
        rate=rate,
        rate_grid=rate_grid,
        rate_weight=np.exp(log_rate - logsumexp(log_rate)),
        weight={form: float(np.exp(value - total)) for form, value in evidence.items()},
    )


def _fit_rates(
    step: FloatArray, entropy: FloatArray, reward: FloatArray, grid: Grid, floor: FloatArray | None
) -> tuple[FloatArray, tuple[Posterior, ...]]:
    """Posteriors over a grid of rates that is as fine as the data are sharp.

    The first grid spans the prior. While almost all of the evidence lies between a few of its points,
    a new grid of as many points spans those.
    """
    points = rates(entropy)
    while True:
        columns = np.array([rate_column(entropy, k) for k in points])
        fits = infer(step, design(columns), np.tile(reward, (points.size, 1)), grid, floor)
        evidence = np.array([posterior.log_evidence for posterior in fits])
        heavy = np.flatnonzero(evidence > evidence.max() - _NEGLIGIBLE)
        low, high = max(heavy[0] - 1, 0), min(heavy[-1] + 1, points.size - 1)
        if high - low >= points.size // 3 or points[high] - points[low] < _FINEST:
            return points, tuple(fits)
        points = np.linspace(points[low], points[high], points.size)


def _trapezoid(points: FloatArray) -> FloatArray:
    """Weights of the trapezoid rule at increasing points."""
    gap = np.diff(points)
    return np.asarray((np.append(gap, 0.0) + np.append(0.0, gap)) / 2.0)


def rivals_of(
    fits: FormFits, entropy: FloatArray, reward: FloatArray, *, level: float, method: str
) -> tuple[Rival, ...]:
    """The rivals of the law, heaviest first."""
    ceilings = {
        "line": fits.line.functional(np.array([[1.0, 0.0]])),
        "rate": _rate_ceiling(fits),
        "constant": fits.constant.functional(np.ones((1, 1))),
    }
    rivals = [
        Rival(
            form=form,
            formula=FORMULAS[form],
            parameters=_PARAMETERS[form],
            ceiling=from_mixture(mixture.pruned(), level=level, method=method),
            weight=fits.weight[form],
            residual_sd=_residual_sd(reward - form_mean(fits, form, entropy), _PARAMETERS[form]),
            ruled_out=fits.weight[form] < PLAUSIBLE,
            rate=_rate_estimate(fits, level) if form == "rate" else None,
        )
        for form, mixture in ceilings.items()
    ]
    return tuple(sorted(rivals, key=lambda rival: (-rival.weight, rival.form)))


def _residual_sd(residual: FloatArray, parameters: int) -> float:
    """Root of the residual sum of squares over the degrees of freedom."""
    return float(np.sqrt(residual @ residual / (residual.size - parameters)))


def form_mean(fits: FormFits, form: str, entropy: FloatArray) -> FloatArray:
    """Posterior mean of a rival's reward at ``entropy``, shape like it."""
    if form == "constant":
        return np.full_like(entropy, float(fits.constant.weight @ fits.constant.coefficient[:, 0]))
    if form == "line":
        return design(entropy) @ (fits.line.weight @ fits.line.coefficient)
    each = [
        design(rate_column(entropy, k)) @ (posterior.weight @ posterior.coefficient)
        for k, posterior in zip(fits.rate_grid, fits.rate, strict=True)
    ]
    return np.asarray(fits.rate_weight @ np.array(each))


def ceiling_over_forms(law: Estimate, law_weight: float, rivals: tuple[Rival, ...]) -> Estimate:
    """Range of the ceiling over every form that is not ruled out: what the choice of form adds.

    The ends are the lowest and the highest end of those forms' intervals; the value is the mean of
    their values by weight.
    """
    kept = [("law", law_weight, law)] if law_weight >= PLAUSIBLE else []
    kept += [(rival.form, rival.weight, rival.ceiling) for rival in rivals if rival.weight >= PLAUSIBLE]
    total = sum(weight for _, weight, _ in kept)
    values = [(weight, ceiling.value) for _, weight, ceiling in kept if ceiling.value is not None]
    lows = [ceiling.low for _, _, ceiling in kept if ceiling.low is not None]
    highs = [ceiling.high for _, _, ceiling in kept if ceiling.high is not None]
    return Estimate(
        value=sum(weight * value for weight, value in values) / total,
        low=min(lows),
        high=max(highs),
        level=law.level,
        method="range over the forms not ruled out: " + ", ".join(sorted(name for name, _, _ in kept)),
    )


def _rate_ceiling(fits: FormFits) -> Mixture:
    """Ceiling of the free-rate form, over the drift's grid and the grid of rates."""
    each = [posterior.functional(np.array([[1.0, 0.0]])) for posterior in fits.rate]
    return Mixture(
        weight=np.concatenate([w * m.weight for w, m in zip(fits.rate_weight, each, strict=True)]),
        location=np.concatenate([m.location for m in each], axis=1),
        scale=np.concatenate([m.scale for m in each], axis=1),
        df=each[0].df,
    )


def _rate_estimate(fits: FormFits, level: float) -> Estimate:
    """Median and interval of k, interpolated in its discrete distribution.

    An end that lies at the end of the grid is no end at all, and is given as None.
    """
    edge = np.cumsum(fits.rate_weight) - 0.5 * fits.rate_weight
    tail = (1.0 - level) / 2.0
    low, value, high = np.interp([tail, 0.5, 1.0 - tail], edge, fits.rate_grid)
    open_low, open_high = edge[0] > tail, edge[-1] < 1.0 - tail
    reach = f"k was searched in [{fits.rate_grid[0]:.3g}, {fits.rate_grid[-1]:.3g}]"
    return Estimate(
        value=float(value),
        low=None if open_low else float(low),
        high=None if open_high else float(high),
        level=level,
        method="marginal likelihood over a grid",
        note=f"{reach} and the data do not bound it there" if open_low or open_high else None,
    )
