"""Several runs: coefficients in common, what sets each run apart, and the spread between seeds.

Every run keeps its own residual: variance, correlation length and noise share are integrated out as in a
fit of one run. Given the coefficients the runs are independent, so that the posterior of common
coefficients is the product of the runs' posteriors: by quadrature, without sampling and without a seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp

from entropylaw.analysis.estimate import from_mixture, tails, unknown
from entropylaw.analysis.fitting import fit_law
from entropylaw.analysis.randomeffects import random_effects
from entropylaw.analysis.residual_models import residual_model
from entropylaw.analysis.segments import welch_test
from entropylaw.arguments import several
from entropylaw.engine.grid import FloatArray
from entropylaw.errors import FitError, UsageError
from entropylaw.results import Estimate
from entropylaw.results.groups import SeedSpread, SharedFit, SharedRun
from entropylaw.results.law import LawFit
from entropylaw.results.mixture import Mixture
from entropylaw.results.posterior import Posterior

ROWS: dict[str, tuple[float, float]] = {"a": (0.0, 1.0), "b": (1.0, 1.0), "ceiling": (1.0, 0.0)}
"""Each coefficient as a functional of β = (ceiling, a)."""

FEWEST_SEEDS = 3
"""Runs from which the spread between them says anything about the next one."""

_SLICES = 101
"""Points, equally probable, that stand for a distribution that is subtracted from another."""


def fit_shared(
    runs: Sequence[tuple[Any, Any, Any, str]],
    *,
    shared: Sequence[str] = ("a", "b"),
    level: float = 0.95,
    interval: str = "drift",
    eval_size: int | None = None,
) -> SharedFit:
    """Fit the law to several runs with coefficients in common.

    Parameters
    ----------
    runs
        One ``(entropy, reward, step, name)`` per run: entropy in nats, shape (n,), and the rest as
        :func:`~entropylaw.analysis.fitting.fit_law` takes them; ``step`` may be None.
    shared
        Names of the common coefficients: one of "a", "b", "ceiling"; two name all three.
    level, interval, eval_size
        As for one run.

    Raises
    ------
    UsageError
        ``bad-shared``, ``bad-level``, and as :func:`~entropylaw.analysis.fitting.fit_law`.
    FitError
        ``too-few-runs``, and as :func:`~entropylaw.analysis.fitting.fit_law` for any of the runs.
    """
    shared_names(shared)
    fits = []
    for one in several(runs, tuple, "runs"):
        if len(one) != 4:
            raise UsageError(
                "bad-argument",
                f"runs: expected (entropy, reward, step, name) for each, found {len(one)} items",
                "the function's docstring says what it takes",
            )
        fits.append(fit_law(*one[:3], level=level, interval=interval, eval_size=eval_size, run=one[3]))
    return share(fits, shared=shared)


def share(fits: Sequence[LawFit], *, shared: Sequence[str] = ("a", "b")) -> SharedFit:
    """Common coefficients of runs that are already fitted, stored fits included.

    Parameters
    ----------
    fits, shared
        At least two fits of the law; names as for :func:`fit_shared`.

    Notes
    -----
    With β_i = (ceiling, a) of run i and p_i its posterior under a flat prior, a mixture of Student t's,
    common coefficients β have the posterior ∏ p_i(β); a single common coefficient θ has ∏ p_i(θ), and
    the other coefficient of a run then follows from p_i given θ.
    """
    names = shared_names(shared)
    fits = several(fits, LawFit, "fits")
    level, method = _alike(fits)
    posteriors = [fit.posterior for fit in fits]
    # Had the runs nothing but this one in common.
    alone = {name: [marginal(posterior, np.array([ROWS[name]])) for posterior in posteriors] for name in ROWS}
    parts = alone[names[0]] if len(names) == 1 else [marginal(p, np.eye(2)) for p in posteriors]
    points = product(parts)
    within = {
        name: product(each).estimate(np.array([1.0]), level=level, method=method)
        for name, each in alone.items()
    }
    within |= {name: points.estimate(coordinates(name, names), level=level, method=method) for name in names}
    private = unknown("each run has its own", level=level, method=method)
    common = {name: within[name] if name in names else private for name in ROWS}
    mean, scale = map(np.array, zip(*(part.moments() for part in parts), strict=True))
    same = welch_test(
        mean,
        scale,
        np.array([part.df for part in parts]),
        hypothesis=f"all {len(fits)} runs have the same {' and '.join(names[:2])}",
    )
    runs = []
    for i, fit in enumerate(fits):
        others = product([part for part in parts if part is not parts[i]], rough=True)
        together = dict(common)
        if len(names) == 1:
            together |= _given(fit.posterior, parts[i], points, names[0], level, method)
        runs.append(
            SharedRun(
                run=fit.run,
                n=fit.n,
                valid=fit.validity.ok,
                own={"a": fit.a, "b": fit.b, "ceiling": fit.ceiling},
                together=together,
                deviation=_deviations(fit.posterior, others, names, level),
            )
        )
    spread = tuple(seed_spread(name, posteriors, within[name], level) for name in ROWS)
    return SharedFit(shared=names, same=same, runs=tuple(runs), spread=spread, level=level, **common)


def shared_names(shared: Sequence[str]) -> tuple[str, ...]:
    """``shared`` in order, all three where two are named; a :class:`UsageError` for anything else."""
    given = (shared,) if isinstance(shared, str) else several(shared, str, "shared")
    names = {name.strip() for name in given}
    if not names or not names <= set(ROWS):
        raise UsageError(
            "bad-shared",
            f"shared {', '.join(sorted(names)) or 'nothing'}, expected names among {', '.join(ROWS)}",
            "share 'a,b' for one law, 'a' for one slope, 'ceiling' for one ceiling",
        )
    return tuple(ROWS) if len(names) > 1 else tuple(names)


def coordinates(name: str, names: Sequence[str]) -> FloatArray:
    """The coefficient ``name`` as a functional of the quadrature's coordinates."""
    return np.array([1.0]) if len(names) == 1 else np.array(ROWS[name])


def _alike(fits: Sequence[LawFit]) -> tuple[float, str]:
    """The one level of several fits and their common method; an error where they have no common law."""
    if len(fits) < 2:
        raise FitError(
            "too-few-runs",
            f"{len(fits)} fitted run, expected at least 2 that share coefficients",
            "give more logs, or fit the run alone",
        )
    if any(fit.level != fits[0].level for fit in fits):
        raise UsageError("settings-differ", "fits of different levels, expected one", "fit the logs anew")
    models = [residual_model(fit.interval) for fit in fits]
    if loose := [model.name for model in models if not model.fixed_level]:
        raise UsageError(
            "no-fixed-ceiling",
            f"fits with interval {loose[0]!r} tell each ceiling from where its run stands, "
            "and no two share one",
            "fit with interval 'drift' to ask what the runs have in common",
        )
    methods = " or ".join(sorted({model.method for model in models}))
    return fits[0].level, f"{methods}; common to {len(fits)} runs"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Marginal:
    """Mixture of d-variate t's: ``weight`` (g,), ``location`` (g, d), ``scale`` (g, d, d), ``df``."""

    weight: FloatArray
    location: FloatArray
    scale: FloatArray
    df: float

    def components(self, points: FloatArray) -> FloatArray:
        """Log density of each component, its weight included, at points (m, d); shape (m, g)."""
        d = points.shape[1]
        root = np.linalg.inv(np.linalg.cholesky(self.scale))
        squared = np.zeros((len(points), self.weight.size))
        for row in root.swapaxes(0, 1):
            squared += (points @ row.T - np.einsum("gj,gj->g", row, self.location)) ** 2
        if np.isinf(self.df):
            kernel = -0.5 * squared - 0.5 * d * np.log(2 * np.pi)
        else:
            constant = gammaln((self.df + d) / 2) - gammaln(self.df / 2) - 0.5 * d * np.log(np.pi * self.df)
            kernel = constant - 0.5 * (self.df + d) * np.log1p(squared / self.df)
        return np.asarray(np.log(self.weight) + kernel - 0.5 * np.linalg.slogdet(self.scale)[1])

    def log_density(self, points: FloatArray) -> FloatArray:
        """Log density at points (m, d); shape (m,)."""
        # 100,000 densities are held at once.
        pieces = np.array_split(points, points.shape[0] * self.weight.size // 100_000 + 1)
        return np.concatenate([logsumexp(self.components(piece), axis=1) for piece in pieces])

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Mean (d,) and squared scale (d, d): of the components, and of their locations about the mean."""
        mean = self.weight @ self.location
        away = self.location - mean
        spread = np.einsum("g,gi,gj->ij", self.weight, away, away)
        return mean, np.einsum("g,gij->ij", self.weight, self.scale) + spread


def marginal(posterior: Posterior, rows: FloatArray) -> Marginal:
    """Posterior of ``rows @ β``, rows of shape (d, 2), without components that weigh 10⁻⁶ together."""
    kept = posterior.pruned(1e-6)
    return Marginal(
        weight=kept.weight,
        location=kept.coefficient @ rows.T,
        scale=rows @ kept.covariance @ rows.T,
        df=kept.df,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Points:
    """A distribution as weighted points: ``point`` (m, d), ``weight`` (m,)."""

    point: FloatArray
    weight: FloatArray

    def quantiles(self, row: FloatArray, probability: FloatArray) -> FloatArray:
        """Quantiles of ``row @ point``."""
        value = self.point @ row
        order = np.argsort(value, kind="stable")
        mass = self.weight[order]
        return np.asarray(np.interp(probability, np.cumsum(mass) - 0.5 * mass, value[order]))

    def estimate(self, row: FloatArray, *, level: float, method: str) -> Estimate:
        """Median and equal-tailed interval of ``row @ point``."""
        low, value, high = self.quantiles(row, np.array(tails(level))).tolist()
        centred = self.point @ row - self.weight @ (self.point @ row)
        error = float(np.sqrt(self.weight @ centred**2))
        return Estimate(value=value, low=low, high=high, level=level, method=method, std_error=error)


def product(parts: Sequence[Marginal], *, rough: bool = False) -> Points:
    """The normalised product of densities, on a grid that is moved and scaled until it fits.

    The grid is uniform in asinh along its axes, which are turned, and reaches to 40 standard deviations: t's
    of few degrees have long tails.
    """
    means, scales = (np.array(each) for each in zip(*(part.moments() for part in parts), strict=True))
    precision = np.linalg.inv(scales)
    scale = np.linalg.inv(precision.sum(axis=0))
    centre = scale @ np.einsum("kij,kj->i", precision, means)
    coarse, fine = (401, 401) if centre.size == 1 else (41, 101)
    # Turned, so that no coefficient runs along an axis: its distribution would be a staircase.
    cos, sin = np.cos(0.5), np.sin(0.5)
    turn = np.array([[cos, sin], [-sin, cos]]) if centre.size == 2 else np.eye(1)
    # Runs that disagree, or t's of few degrees, are wider than the normal guess: measure and try again.
    for size in (coarse, coarse, coarse if rough else fine):
        axis = np.linspace(-np.arcsinh(40.0), np.arcsinh(40.0), size)
        mesh = np.stack(np.meshgrid(*[axis] * centre.size, indexing="ij"), axis=-1).reshape(-1, centre.size)
        point = centre + np.sinh(mesh) @ turn @ np.linalg.cholesky(scale).T
        log_weight = np.log(np.cosh(mesh)).sum(axis=1) + sum(part.log_density(point) for part in parts)
        kept = log_weight > log_weight.max() - 30.0
        point, weight = point[kept], np.exp(log_weight[kept] - log_weight.max())
        weight = weight / weight.sum()
        centre = weight @ point
        scale = (weight * (point - centre).T) @ (point - centre)
    return Points(point=point, weight=weight)


def _given(
    posterior: Posterior, ours: Marginal, points: Points, name: str, level: float, method: str
) -> dict[str, Estimate]:
    """The two other coefficients of a run, given that ``name`` is distributed as ``points``.

    ``ours`` is its distribution by this run alone. Given it and the covariance, another coefficient is a t
    with one more degree of freedom.
    """
    # Columns: a direction of β in which the named coefficient stays, and one in which it changes by 1.
    turns = {"a": np.eye(2), "b": np.array([[1.0, 0.0], [-1.0, 1.0]]), "ceiling": np.eye(2)[::-1]}
    both = marginal(posterior, np.linalg.inv(turns[name]))
    log_weight = ours.components(points.point) - ours.log_density(points.point)[:, None]
    weight = np.exp(np.log(points.weight)[:, None] + log_weight)
    slope = both.scale[:, 0, 1] / both.scale[:, 1, 1]
    away = points.point - both.location[:, 1]
    widen = 1.0 if np.isinf(both.df) else (both.df + away**2 / both.scale[:, 1, 1]) / (both.df + 1.0)
    squared = widen * (both.scale[:, 0, 0] - slope * both.scale[:, 0, 1])
    free = both.location[:, 0] + slope * away
    answers = {}
    for other in ROWS.keys() - {name}:
        of_free, of_common = np.array(ROWS[other]) @ turns[name]
        location = of_free * free + of_common * points.point
        scale = np.abs(of_free) * np.sqrt(np.broadcast_to(squared, free.shape))
        mixture = Mixture.of_one(weight, location, scale, both.df + 1.0)
        answers[other] = from_mixture(mixture, level=level, method=method)
    return answers


def _deviations(
    posterior: Posterior, others: Points, names: Sequence[str], level: float
) -> dict[str, Estimate]:
    """Own coefficient less the one that the other runs have in common; the two are independent."""
    answers = {}
    for name in names:
        own = posterior.functional(np.array([ROWS[name]])).pruned()
        away = others.quantiles(coordinates(name, names), (np.arange(_SLICES) + 0.5) / _SLICES)
        weight, scale = (np.repeat(x, _SLICES) for x in (own.weight / _SLICES, own.scale[0]))
        location = (own.location[0][:, None] - away).reshape(1, -1)
        mixture = Mixture(weight=weight, location=location, scale=scale[None], df=own.df)
        answers[name] = from_mixture(mixture, level=level, method="own less common to the other runs")
    return answers


def seed_spread(name: str, posteriors: Sequence[Posterior], within: Estimate, level: float) -> SeedSpread:
    """Mean over seeds, a new seed, and heterogeneity of one coefficient.

    Notes
    -----
    Each seed has an estimate y_i with variance v_i; their true values vary with variance τ². τ² is
    Paule & Mandel's (1982, doi:10.6028/jres.087.022), its interval the Q-profile (Viechtbauer 2007,
    doi:10.1002/sim.2514), the mean's interval Hartung & Knapp's with t of k − 1 degrees of freedom (2001,
    doi:10.1002/sim.1009). A new seed: mean ± t·√(τ² + se²) (Higgins et al. 2009,
    doi:10.1111/j.1467-985X.2008.00552.x); departure: se is never below that of the random-effects model.
    """
    row = np.array([ROWS[name]])
    found = [from_mixture(p.functional(row).pruned(), level=level, method="") for p in posteriors]
    value, error = np.array([(one.value, one.std_error) for one in found], dtype=float).T
    why = "" if np.isfinite(error).all() else "a run is too short for a standard error"
    if len(found) < FEWEST_SEEDS:
        why = f"{len(found)} runs; {FEWEST_SEEDS} are needed before their spread says anything"
    if why:
        lack = unknown(why, level=level, method="between seeds")
        parts = {"between": lack, "answer": within, "new_seed": lack, "tau": lack}
    else:
        between, new_seed, tau = random_effects(value, error**2, level=level)
        parts = {"between": between, "answer": wider(within, between), "new_seed": new_seed, "tau": tau}
    return SeedSpread(coefficient=name, within=within, **parts)


def wider(within: Estimate, between: Estimate) -> Estimate:
    """The wider interval answers for the recipe: seeds that differ more than runs can explain rule."""
    return max((within, between), key=lambda one: one.width or 0.0)
