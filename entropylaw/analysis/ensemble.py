"""Ensemble forecasts of the entropy and of the reward: the members, their weights, and their mixture.

The weights are from the errors of each member from earlier origins inside the fitted part (Tashman 2000,
doi:10.1016/S0169-2070(00)00065-0), and so is the factor by which the mixture's band is widened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from entropylaw.analysis.forms import design, law_column
from entropylaw.analysis.law.evaluations import HIGHEST_ENTROPY
from entropylaw.engine.posterior import LocalLevelFit, fit_local_level
from entropylaw.engine.prior import random_walk_grid
from entropylaw.results.arrays import FloatArray
from entropylaw.results.mixture import Mixture

SHARPNESS = 4.0
"""Power of the mean squared error in the weights with many origins, for the entropy, whose decays differ
widely, and for a reward that is forecast with it."""

RESOLUTION = 1e-3
"""Errors below this share of the fitted range count as equal."""

RATES = np.geomspace(0.1, 10.0, 21)
"""Decay times of the curves in step, in spans of the fitted part."""

LADDER = 7
"""Equally probable paths that represent the distribution of later entropies."""

REWARD_FORMULAS = {
    "last": "R(last)",
    "mean of three": "mean of the last three R",
    "walk": "c + random walk",
    "law": "c − a(exp(H) − 1) + random walk",
    "line": "c − a·H + random walk",
    "root": "c − a·√H + random walk",
    "law, least squares": "c − a(exp(H) − 1)",
    "line, least squares": "c − a·H",
    "step curve": "c − d·exp(−s/τ)",
}
"""The members and their formulas; random walk and noise are integrated out."""

Curves = Mapping[str, FloatArray]
"""Member → its forecast of the same m points, shape (m,)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Band:
    """A mixture over m points whose distances from the median are multiplied by ``factor``.

    Quantiles stay between the two ``limits``.
    """

    mixture: Mixture
    factor: float
    limits: tuple[float, float] = (-np.inf, np.inf)

    def quantile(self, probability: float) -> FloatArray:
        """Quantile at each point, shape (m,)."""
        median = self.mixture.quantile(0.5)
        return np.clip(median + self.factor * (self.mixture.quantile(probability) - median), *self.limits)

    def exceeds(self, value: FloatArray, noise: float = 0.0) -> FloatArray:
        """Probability of at least ``value`` (m,) at each point, (m,), without a measurement's ``noise``.

        ``noise`` is the standard deviation that the mixture has beyond the level's own; its share of the
        variance is taken out of the distances from the median.
        """
        median, spread = self.mixture.quantile(0.5), self.mixture.standard_deviation()
        kept = np.sqrt(np.maximum(1.0 - (noise / spread) ** 2, np.finfo(float).eps))
        return np.asarray(1.0 - self.mixture.cdf(median + (value - median) / (self.factor * kept)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outlook:
    """Forecast of the entropy or the reward at m later steps.

    Attributes
    ----------
    band
        Distribution at each step, noise of a new measurement included.
    weight
        Member → weight; they add up to 1.
    error
        Member → root mean squared error of its forecasts from the origins that all have it.
    origins
        Numbers of evaluations from which the rest of the fitted part was forecast.
    path
        The forecast of the entropy that one of the reward used; None where the entropy was given.
    origin_paths
        Of a forecast of the entropy: origin → the forecast from there.
    """

    band: Band
    weight: Mapping[str, float]
    error: Mapping[str, float]
    origins: tuple[int, ...]
    path: Outlook | None = None
    origin_paths: Mapping[int, FloatArray] = field(default_factory=dict)


def entropy_path(step: FloatArray, entropy: FloatArray, at: FloatArray) -> Outlook:
    """Forecast the entropy at the steps ``at`` from (step, entropy) of shape (n,), n ≥ 8.

    Decays are least-squares curves with their decay time on a grid (Golub & Pereyra 1973 call this
    variable projection, doi:10.1137/0710036); the width of every member is that of a random walk. Where
    the entropies so far are never negative the path is not either.
    """
    trials: dict[int, Curves] = {}
    paths: dict[int, FloatArray] = {}
    floor = 0.0 if entropy.min() >= 0 else -np.inf
    for origin in origins(step.size):
        trials[origin] = _entropy_members(step[:origin], entropy[:origin], step[origin:])
        # At an origin only the errors of earlier origins up to there are known.
        known = [
            {name: (curve - entropy[first:])[: origin - first] for name, curve in trials[first].items()}
            for first in paths
        ]
        weight = weigh(known, list(trials[origin]), float(np.ptp(entropy)))
        path = np.sum([weight[name] * curve for name, curve in trials[origin].items()], axis=0)
        paths[origin] = np.maximum(path, floor)
    pooled = _pooled(step, entropy, at, [_entropy_members(step, entropy, at)], trials, SHARPNESS)
    band = replace(pooled.band, limits=(max(floor, -HIGHEST_ENTROPY), HIGHEST_ENTROPY))
    return replace(pooled, band=band, origin_paths=paths)


def outlook(
    step: FloatArray, entropy: FloatArray, reward: FloatArray, at: FloatArray, entropy_at: FloatArray | None
) -> Outlook:
    """Forecast the reward at ``at`` (m,), blind where ``entropy_at`` is None; checked arrays only."""
    path: Outlook | None = None
    if entropy_at is None:
        path = entropy_path(step, entropy, at)
        futures, sharpness = [path.band.quantile((i + 0.5) / LADDER) for i in range(LADDER)], SHARPNESS
    else:
        # At given entropies the members differ less.
        futures, sharpness = [entropy_at], 2.0
    trials = {
        origin: reward_members(
            step[:origin],
            entropy[:origin],
            reward[:origin],
            step[origin:],
            entropy[origin:] if path is None else path.origin_paths[origin],
        )
        for origin in origins(step.size)
    }
    curves = [reward_members(step, entropy, reward, at, future) for future in futures]
    return replace(_pooled(step, reward, at, curves, trials, sharpness), path=path)


def _pooled(
    step: FloatArray,
    values: FloatArray,
    at: FloatArray,
    futures: Sequence[Curves],
    trials: Mapping[int, Curves],
    sharpness: float,
) -> Outlook:
    """The members' mixture at the steps ``at`` over equally probable futures, weighed and widened.

    ``trials`` has each member's forecast of the rest of the ``values`` (n,) from each origin.
    """
    spread = float(np.ptp(values))
    errors = [{name: curve - values[i:] for name, curve in curves.items()} for i, curves in trials.items()]
    weight = weigh(errors, list(futures[0]), spread, sharpness)
    # The random walk has one step variance for the whole run: where a run is steep first and flat later its
    # band is much too wide, and where no member has the right form too narrow. The errors from the origins
    # show both. Of a constant series the errors are 0, and any positive width will do.
    missed, least = [], RESOLUTION * spread or 1.0
    for i, curves in trials.items():
        mixture = _mixed([curves], weight, _width(step[:i], values[:i], step[i:]))
        low, middle, high = (mixture.quantile(p) for p in (0.025, 0.5, 0.975))
        half = np.maximum(np.where(values[i:] > middle, high - middle, middle - low), least)
        missed.append(float(np.mean(((values[i:] - middle) / half) ** 2)))
    # Twice the root mean square approximates the 95 % point of the errors. The power of 0.5 is between that
    # of the random walk's own bands, 0, and 1; ratios below 0.02 count as 0.02.
    factor = float(1.7 * max(2.0 * np.sqrt(np.mean(missed)), 0.02) ** 0.5)
    return Outlook(
        band=Band(mixture=_mixed(futures, weight, _width(step, values, at)), factor=factor),
        weight=weight,
        error={
            name: float(np.sqrt(np.mean([np.mean(each[name] ** 2) for each in errors])))
            for name in set(weight).intersection(*errors)
        },
        origins=tuple(trials),
    )


def _mixed(futures: Sequence[Curves], weight: Mapping[str, float], width: Mixture) -> Mixture:
    """One mixture of the members over equally probable futures, each with the same ``width`` about it."""
    names = [name for name in futures[0] if weight[name] > 0]
    share = np.concatenate([weight[name] * width.weight for name in names])
    scale, components = np.tile(width.scale, len(names)), width.weight.size
    each = [
        Mixture(
            weight=share,
            location=np.repeat(np.stack([curves[name] for name in names], axis=1), components, axis=1),
            scale=scale,
            df=width.df,
        ).pruned()
        for curves in futures
    ]
    return Mixture(
        weight=np.concatenate([one.weight for one in each]) / len(each),
        location=np.concatenate([one.location for one in each], axis=1),
        scale=np.concatenate([one.scale for one in each], axis=1),
        df=width.df,
    )


def _width(step: FloatArray, values: FloatArray, at: FloatArray) -> Mixture:
    """The width of a forecast: that of a random walk fitted to the last 70 % of the run.

    The early part is left out because runs begin steeply, which would make the random walk too wide for the
    rest. A member's own uncertainty is in the spread between the members. Where the later part is constant
    the width is ``RESOLUTION`` of the whole range.
    """
    first = step.size - max(4, int(np.ceil(0.7 * step.size)))
    width = _local_level(step[first:], values[first:]).predict(np.ones((at.size, 1)), at - step[-1])
    least = RESOLUTION * float(np.ptp(values)) + np.finfo(float).tiny
    return replace(width, scale=np.maximum(width.scale, least))


def _entropy_members(step: FloatArray, entropy: FloatArray, at: FloatArray) -> Curves:
    """Each member's forecast of the entropy at the steps ``at``."""
    x, new = spans(step, at)
    floor = 0.0 if entropy.min() >= 0 else -np.inf
    falls = [(c, t) for c in (0.0, 0.25, 0.5, 0.75, 1.0, 1.5) for t in (0.1, 0.2, 0.4, 0.8)]
    logistic = [[1 / (1 + np.exp(np.clip((z - c) / t, -50, 50))) for z in (x, new)] for c, t in falls]
    return {
        "walk": _ahead(_local_level(step, entropy), np.ones((at.size, 1)), at - step[-1]),
        "stays": np.full(at.size, entropy[-1]),
        "mean of three": np.full(at.size, entropy[-3:].mean()),
        "exponential": decay(entropy, [(np.exp(-x / t), np.exp(-new / t)) for t in RATES], floor),
        "power": decay(entropy, [(1 / (1 + x / t), 1 / (1 + new / t)) for t in RATES], floor),
        "logistic": decay(entropy, logistic, floor),
    }


def reward_members(
    step: FloatArray, entropy: FloatArray, reward: FloatArray, at: FloatArray, entropy_at: FloatArray
) -> Curves:
    """Each member's forecast of evaluations at ``at`` (m,) with entropies ``entropy_at`` (m,).

    A member whose column is constant in the fitted part is left out.
    """
    x, new = spans(step, at)
    curves = {
        "last": np.full(at.size, reward[-1]),
        "mean of three": np.full(at.size, reward[-3:].mean()),
        "walk": _ahead(_local_level(step, reward), np.ones((at.size, 1)), at - step[-1]),
        "step curve": decay(reward, [(np.exp(-x / t), np.exp(-new / t)) for t in RATES]),
    }
    for name, column in (
        ("law", law_column),
        ("line", np.asarray),
        # An entropy that is logged as negative counts as 0.
        ("root", lambda entropy: np.sqrt(np.maximum(entropy, 0.0))),
    ):
        columns, rows = design(column(entropy)), design(column(entropy_at))
        if np.ptp(columns[:, 1]) <= 1e-9 * np.abs(columns).max():
            continue
        curves[name] = _ahead(fit_local_level(step, columns, reward, random_walk_grid()), rows, at - step[-1])
        if f"{name}, least squares" in REWARD_FORMULAS:
            curves[f"{name}, least squares"] = rows @ np.linalg.lstsq(columns, reward, rcond=None)[0]
    return curves


def _local_level(step: FloatArray, values: FloatArray) -> LocalLevelFit:
    """A random walk observed with noise, without a trend."""
    return fit_local_level(step, np.ones((step.size, 1)), values, random_walk_grid())


def _ahead(fit: LocalLevelFit, rows: FloatArray, lead: FloatArray) -> FloatArray:
    """Mean prediction of a local level with regressors ``rows`` (m, p), ``lead`` steps after the last one."""
    mixture = fit.predict(rows, lead)
    return np.asarray(mixture.location @ mixture.weight)


def noise_sd(step: FloatArray, values: FloatArray) -> float:
    """Standard deviation of the noise about the local level."""
    found = _local_level(step, values).posterior
    return float(np.sqrt(found.weight @ (found.variance * (1.0 - found.drift_share))))


def level_now(step: FloatArray, values: FloatArray) -> Mixture:
    """The local level at the last step, without the noise."""
    return _local_level(step, values).now(np.ones((1, 1)))


def spans(step: FloatArray, at: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Fitted and new steps from the first one on, in spans of the fitted part."""
    span = step[-1] - step[0]
    return (step - step[0]) / span, (at - step[0]) / span


def decay(values: FloatArray, shapes: Sequence[Sequence[FloatArray]], floor: float = -np.inf) -> FloatArray:
    """The least-squares curve ``level + drop · shape`` over a list of shapes, continued.

    Parameters
    ----------
    values
        Shape (n,).
    shapes
        Pairs of the shape at the n fitted and at the m new points; shapes tend to 0.
    floor
        Lower bound of the level.
    """
    best, curve = np.inf, np.empty(0)
    for fitted, new in shapes:
        spread = fitted - fitted.mean()
        drop = float(spread @ values) / max(float(spread @ spread), np.finfo(float).tiny)
        level = float(values.mean() - drop * fitted.mean())
        if level < floor:
            level, drop = floor, float(fitted @ (values - floor)) / float(fitted @ fitted)
        misfit = float(np.sum((values - level - drop * fitted) ** 2))
        if misfit < best:
            best, curve = misfit, level + drop * new
    return curve


def origins(n: int) -> list[int]:
    """Numbers of evaluations, at most 8, from which the rest of the fitted part is forecast.

    The earliest is 0.35 of the ``n`` fitted ones, and never fewer than four.
    """
    first = max(4, int(np.ceil(0.35 * n)))
    last = max(first, n - max(2, round(0.15 * n)))
    return sorted({round(float(x)) for x in np.linspace(first, last, 8)})


def weigh(
    errors: Sequence[Mapping[str, FloatArray]],
    names: Sequence[str],
    spread: float,
    sharpness: float = SHARPNESS,
) -> dict[str, float]:
    """Weights by rolling-origin score: the mean over origins of the mean squared error, to a power.

    Parameters
    ----------
    errors
        For each origin, member → forecast minus truth over the rest of the fitted part. A member that
        is missing at an origin has no weight.
    names
        The members to weigh.
    spread
        Range of the fitted values.
    sharpness
        The power for very many origins.
    """
    least = (RESOLUTION * spread) ** 2 + np.finfo(float).tiny
    # With one origin the power is half, so that with few of them the weights are closer to equal.
    power = sharpness * len(errors) / (len(errors) + 1.0)
    usable = [name for name in names if all(name in each for each in errors)]
    if not errors:
        return dict.fromkeys(names, 1.0 / len(names))
    score = np.array([np.mean([np.mean(each[name] ** 2) for each in errors]) + least for name in usable])
    weight = (score / score.min()) ** -power
    return dict.fromkeys(names, 0.0) | dict(zip(usable, (weight / weight.sum()).tolist(), strict=True))
