"""Several runs: common coefficients, the deviation of each run, and the spread between seeds.

Every run keeps its own residual: variance, correlation length and noise share are integrated out as in a
fit of one run. Given the coefficients the runs are independent, so that the posterior of common
coefficients is the product of the runs' posteriors: by quadrature, without random numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtri, fdtrc, gammaln, logsumexp, stdtrit

from entropylaw.analysis.answer import fit_law
from entropylaw.analysis.law.estimates import from_mixture, tails, unknown, weighted_quantiles
from entropylaw.analysis.law.residual_models import residual_model
from entropylaw.arguments import several
from entropylaw.errors import FitError, UsageError
from entropylaw.results import Estimate
from entropylaw.results.arrays import FloatArray
from entropylaw.results.fit import Fit
from entropylaw.results.groups import SameTest, SeedSpread, SharedFit, SharedRun
from entropylaw.results.law import LawFit
from entropylaw.results.mixture import Mixture
from entropylaw.results.posterior import Posterior
from entropylaw.results.result import replace

ROWS: dict[str, tuple[float, float]] = {"a": (0.0, 1.0), "b": (1.0, 1.0), "ceiling": (1.0, 0.0)}
"""Each coefficient as a functional of β = (ceiling, a)."""

FEWEST_SEEDS = 3
"""Fewest runs for an estimate of the spread between them."""

_SLICES = 101
"""Equally probable points that represent a distribution which is subtracted from another."""


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
        :func:`entropylaw.fit_law` takes them; ``step`` may be None.
    shared
        Names of the common coefficients: one of "a", "b", "ceiling"; two name all three.
    level, interval, eval_size
        As for one run.

    Raises
    ------
    UsageError
        ``bad-shared``, ``bad-level``, and as :func:`entropylaw.fit_law`.
    FitError
        ``too-few-runs``, and as :func:`entropylaw.fit_law` for any of the runs.
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


def share(fits: Sequence[Fit], *, shared: Sequence[str] = ("a", "b")) -> SharedFit:
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
    answers = several(fits, Fit, "fits")
    laws = [answer.law for answer in answers]
    level, method = _alike(laws)
    rows = np.array([ROWS[names[0]]]) if len(names) == 1 else np.eye(2)
    parts = [marginal(law.posterior, rows) for law in laws]
    points = product(parts)
    known = {name: points.estimate(coordinates(name, names), level=level, method=method) for name in names}
    common = dict.fromkeys(ROWS, unknown("each run has its own", level=level, method=method)) | known
    mean, scale, df = map(np.array, zip(*((*part.moments(), part.df) for part in parts), strict=True))
    same = welch_test(
        mean, scale, df, hypothesis=f"all {len(laws)} runs have the same {' and '.join(names[:2])}"
    )
    runs = []
    for answer, own in zip(answers, parts, strict=True):
        others = product([part for part in parts if part is not own], rough=True)
        runs.append(_shared_run(answer, own, others, points, common, len(answers) * len(names)))
    spread = []
    for name, row in ROWS.items():
        if name not in known:  # with only this one in common
            alone = product([marginal(law.posterior, np.array([row])) for law in laws])
            known[name] = alone.estimate(np.array([1.0]), level=level, method=method)
        spread.append(seed_spread(name, [law.posterior for law in laws], known[name]))
    if same.differs:
        # A common value of runs that differ is that of none of them.
        why = f"the runs differ (p = {same.p_value:.2g})"
        common |= {name: unknown(why, level=level, method=method) for name in names}
    return SharedFit(shared=names, same=same, runs=tuple(runs), spread=tuple(spread), level=level, **common)


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
            f"fits with interval {loose[0]!r} estimate each ceiling relative to the level of its run, "
            "so that runs have none in common",
            "fit with interval 'drift' for common coefficients",
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
        """Mean (d,); mean scale matrix of the components plus the covariance of their locations (d, d)."""
        mean = self.weight @ self.location
        away = self.location - mean
        spread = np.einsum("g,gi,gj->ij", self.weight, away, away)
        return mean, np.einsum("g,gij->ij", self.weight, self.scale) + spread


def marginal(posterior: Posterior, rows: FloatArray) -> Marginal:
    """Posterior of ``rows @ β``, rows of shape (d, 2), without components of 10⁻⁶ of the probability."""
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
        return weighted_quantiles(self.point @ row, self.weight, probability)

    def estimate(self, row: FloatArray, *, level: float, method: str) -> Estimate:
        """Median and equal-tailed interval of ``row @ point``."""
        low, value, high = self.quantiles(row, np.array(tails(level))).tolist()
        centred = self.point @ row - self.weight @ (self.point @ row)
        error = float(np.sqrt(self.weight @ centred**2))
        return Estimate(value=value, low=low, high=high, level=level, method=method, std_error=error)


def product(parts: Sequence[Marginal], *, rough: bool = False) -> Points:
    """The normalised product of densities, on a grid that is moved and scaled to it.

    The grid is uniform in asinh along its rotated axes, and reaches to 40 standard deviations, because t's
    with few degrees of freedom have long tails.
    """
    means, scales = (np.array(each) for each in zip(*(part.moments() for part in parts), strict=True))
    precision = np.linalg.inv(scales)
    scale = np.linalg.inv(precision.sum(axis=0))
    centre = scale @ np.einsum("kij,kj->i", precision, means)
    coarse, fine = (401, 401) if centre.size == 1 else (41, 101)
    # Rotated, because the distribution of a coefficient along an axis would be a step function.
    cos, sin = np.cos(0.5), np.sin(0.5)
    rotation = np.array([[cos, sin], [-sin, cos]]) if centre.size == 2 else np.eye(1)
    # Runs that disagree, or few degrees of freedom, make it wider than the normal guess: rescale and repeat.
    for size in (coarse, coarse, coarse if rough else fine):
        axis = np.linspace(-np.arcsinh(40.0), np.arcsinh(40.0), size)
        mesh = np.stack(np.meshgrid(*[axis] * centre.size, indexing="ij"), axis=-1).reshape(-1, centre.size)
        point = centre + np.sinh(mesh) @ rotation @ np.linalg.cholesky(scale).T
        log_weight = np.log(np.cosh(mesh)).sum(axis=1) + sum(part.log_density(point) for part in parts)
        kept = log_weight > log_weight.max() - 30.0
        point, weight = point[kept], np.exp(log_weight[kept] - log_weight.max())
        weight = weight / weight.sum()
        centre = weight @ point
        scale = (weight * (point - centre).T) @ (point - centre)
    return Points(point=point, weight=weight)


def _shared_run(
    answer: Fit,
    own: Marginal,
    others: Points,
    points: Points,
    common: dict[str, Estimate],
    deviations: int,
) -> SharedRun:
    """A run with its coefficients given the common ones, and its deviations from the other runs.

    ``own`` is the posterior of the shared coefficients from this run alone, ``others`` that from the other
    runs, and ``points`` that from all. The intervals of the ``deviations`` of all runs hold together
    (Bonferroni), so that one does not exclude 0 where the test finds no difference.
    """
    names = [name for name, estimate in common.items() if estimate.value is not None]
    fit, level, method = answer.law, answer.level, common[names[0]].method
    together, deviation = dict(common), {}
    if len(names) == 1:
        # Columns: directions of β in which the shared coefficient is constant, and in which it changes by 1.
        bases = {"a": np.eye(2), "b": np.array([[1.0, 0.0], [-1.0, 1.0]]), "ceiling": np.eye(2)[::-1]}
        basis = bases[names[0]]
        both = marginal(fit.posterior, np.linalg.inv(basis))
        log_weight = own.components(points.point) - own.log_density(points.point)[:, None]
        weight = np.exp(np.log(points.weight)[:, None] + log_weight)
        # Given the shared coefficient and the covariance another is a t with one more degree of freedom.
        slope = both.scale[:, 0, 1] / both.scale[:, 1, 1]
        away = points.point - both.location[:, 1]
        widen = 1.0 if np.isinf(both.df) else (both.df + away**2 / both.scale[:, 1, 1]) / (both.df + 1.0)
        squared = widen * (both.scale[:, 0, 0] - slope * both.scale[:, 0, 1])
        free = both.location[:, 0] + slope * away
        for other in ROWS.keys() - names:
            of_free, of_common = np.array(ROWS[other]) @ basis
            location = of_free * free + of_common * points.point
            scale = np.abs(of_free) * np.sqrt(np.broadcast_to(squared, free.shape))
            mixture = Mixture.of_one(weight, location, scale, both.df + 1.0)
            together[other] = from_mixture(mixture, level=level, method=method)
    for name in names:
        alone = fit.posterior.functional(np.array([ROWS[name]])).pruned()
        shift = others.quantiles(coordinates(name, names), (np.arange(_SLICES) + 0.5) / _SLICES)
        weight, scale = (np.repeat(x, _SLICES) for x in (alone.weight / _SLICES, alone.scale[0]))
        location = (alone.location[0][:, None] - shift).reshape(1, -1)
        mixture = Mixture(weight=weight, location=location, scale=scale[None], df=alone.df)
        method = f"own coefficient minus that of the other runs, {deviations} such intervals together"
        each = from_mixture(mixture, level=1.0 - (1.0 - level) / deviations, method=method)
        deviation[name] = replace(each, level=level)
    return SharedRun(
        run=fit.run,
        n=fit.n,
        verdict=answer.verdict,
        own={"a": fit.a, "b": fit.b, "ceiling": fit.ceiling},
        together=together,
        deviation=deviation,
    )


def seed_spread(name: str, posteriors: Sequence[Posterior], within: Estimate) -> SeedSpread:
    """Mean over seeds, a new seed, and heterogeneity of one coefficient.

    Notes
    -----
    Each seed has an estimate y_i with variance v_i; their true values vary with variance τ². τ² is
    Paule & Mandel's (1982, doi:10.6028/jres.087.022), its interval the Q-profile (Viechtbauer 2007,
    doi:10.1002/sim.2514), the mean's interval Hartung & Knapp's with t of k − 1 degrees of freedom (2001,
    doi:10.1002/sim.1009) and with a standard error that is never below that of the random-effects model
    (Röver, Knapp & Friede 2015, doi:10.1186/s12874-015-0091-1). A new seed is normal about the mean given τ²,
    with variance τ² plus that of the mean; τ² is integrated out over the confidence distribution of which the
    Q-profile gives the quantiles (after Nagashima, Noma & Furukawa 2019, doi:10.1177/0962280218773520). With
    few unlike seeds mean ± t·√(τ² + se²) covers less.
    """
    level, row = within.level, np.array([ROWS[name]])
    own = [from_mixture(each.functional(row).pruned(), level=level, method="") for each in posteriors]
    value, error = np.array([(one.value, one.std_error) for one in own], dtype=float).T
    why = "" if np.isfinite(error).all() else "a run is too short for a standard error"
    if len(own) < FEWEST_SEEDS:
        why = f"{len(own)} runs; at least {FEWEST_SEEDS} are needed to estimate the spread between them"
    if why:
        none = unknown(why, level=level, method="between seeds")
        parts = {"between": none, "answer": within, "new_seed": none, "tau": none}
    else:
        between, wide, new_seed, tau = random_effects(value, error**2, level=level)
        widest = max((within, between, wide), key=lambda one: one.width or 0.0)
        parts = {"between": between, "answer": widest, "new_seed": new_seed, "tau": tau}
    return SeedSpread(coefficient=name, within=within, **parts)


def welch_test(mean: FloatArray, scale: FloatArray, df: FloatArray, *, hypothesis: str) -> SameTest:
    """Welch–James test that k runs have the same d coefficients, each run with its own variance.

    Parameters
    ----------
    mean, scale
        Shapes (k, d) and (k, d, d): each run's estimates and their squared scale.
    df
        Shape (k,): degrees of freedom of each run's residual variance; infinite where it is known.
    hypothesis
        The null hypothesis, in words.

    Notes
    -----
    T = Σ (m_i − m)ᵀ C_i⁻¹ (m_i − m) about the weighted mean m is compared with c·F(q, f), q = d(k − 1);
    c and f allow for every C_i being estimated (Johansen 1980, doi:10.1093/biomet/67.1.85). For d = 1 it
    is Welch's (1951) test. Where all variances are known f is 10⁹, and the test is χ².
    """
    k, d = mean.shape
    weight = np.linalg.inv(scale)
    total = np.linalg.inv(weight.sum(axis=0))
    away = mean - total @ np.einsum("kij,kj->i", weight, mean)
    statistic = float(np.einsum("ki,kij,kj->", away, weight, away))
    rest = np.eye(d) - total @ weight
    traces = np.einsum("kij,kji->k", rest, rest) + np.einsum("kii->k", rest) ** 2
    cost = 0.5 * float((traces / df).sum())
    q = float(d * (k - 1))
    df2 = q * (q + 2.0) / (3.0 * cost) if cost > 0 else 1e9
    statistic /= q + 2.0 * cost - 6.0 * cost / (q + 2.0)
    return SameTest(
        hypothesis=hypothesis,
        statistic=statistic,
        df1=q,
        df2=df2,
        p_value=float(fdtrc(q, df2, statistic)),
        method="Welch–James test, each run with its own residual",
    )


TAUS = 99
"""Points of the confidence distribution of the variance between seeds."""


def random_effects(
    value: FloatArray, variance: FloatArray, *, level: float
) -> tuple[Estimate, Estimate, Estimate, Estimate]:
    """Mean over seeds, a wider one, a new seed, and τ, from k ≥ 2 estimates and variances, shapes (k,).

    The first interval takes the variance between seeds as known; the second is its hull with the one in which
    that is integrated out.
    """
    from scipy.optimize import brentq  # slow to import

    k = value.size
    tail = (1.0 - level) / 2.0

    def generalised(tau2: float) -> float:
        weight = 1.0 / (variance + tau2)
        return float(weight @ (value - weight @ value / weight.sum()) ** 2)

    def solved(target: float) -> float:
        if generalised(0.0) <= target:
            return 0.0
        top = float(np.ptp(value)) ** 2
        while generalised(top) > target:
            top *= 2.0
        return float(brentq(lambda tau2: generalised(tau2) - target, 0.0, top, xtol=1e-14 * top))

    tau2, low, high = (solved(float(q)) for q in (k - 1.0, *chdtri(k - 1, [tail, 1.0 - tail])))
    weight = 1.0 / (variance + tau2)
    mean, reach = float(weight @ value / weight.sum()), float(stdtrit(k - 1, 1.0 - tail))
    error = float(np.sqrt(max(generalised(tau2) / (k - 1), 1.0) / weight.sum()))
    centre = Estimate(
        value=mean,
        low=mean - reach * error,
        high=mean + reach * error,
        level=level,
        method=f"between seeds (Hartung–Knapp with floor, {k} seeds)",
        std_error=error,
    )
    # τ² at equal probabilities of its confidence distribution, and a new seed given each.
    each = np.array([solved(float(q)) for q in chdtri(k - 1, (np.arange(TAUS) + 0.5) / TAUS)])
    weights = 1.0 / (variance + each[:, None])
    total = weights.sum(axis=1)
    around = Mixture.of_one(np.full(TAUS, 1.0 / TAUS), weights @ value / total, np.sqrt(1.0 / total), np.inf)
    method = f"between seeds ({k} seeds, their spread integrated out)"
    known = from_mixture(around, level=level, method=method)
    ends = [end for one in (centre, known) for end in (one.low, one.high) if end is not None]
    wider = replace(centre, low=min(ends), high=max(ends), method=method)
    ahead = Mixture.of_one(
        np.full(TAUS, 1.0 / TAUS), weights @ value / total, np.sqrt(each + 1.0 / total), np.inf
    )
    new = from_mixture(ahead, level=level, method=f"a new seed ({k} seeds, their spread integrated out)")
    closer = generalised(0.0) < chdtri(k - 1, 1.0 - tail)
    tau = Estimate(
        value=float(np.sqrt(tau2)),
        low=float(np.sqrt(low)),
        high=None if closer else float(np.sqrt(high)),
        level=level,
        method="Paule–Mandel, Q-profile",
        note="the estimates differ less than their standard errors imply" if closer else None,
    )
    return centre, wider, new, tau
