"""Several runs against statsmodels, scipy's quadrature and a published example."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.integrate import quad
from scipy.stats import chi2
from scipy.stats import t as student
from statsmodels.stats.meta_analysis import combine_effects
from statsmodels.stats.oneway import anova_oneway

from entropylaw import fit_law
from entropylaw.analysis.forms import design, law_column
from entropylaw.analysis.groups import ROWS, Marginal, marginal, product, random_effects, share, welch_test
from entropylaw.analysis.level_shift import blocks, difference_test, fit_segments
from entropylaw.engine.posterior import infer
from entropylaw.engine.prior import point_grid, white_grid

# Thirteen trials of the BCG vaccine: vaccinated with and without tuberculosis, control with and without.
# Colditz et al. 1994, as printed by van Houwelingen et al. 2002 (doi:10.1002/sim.1040), table I.
BCG = """
4 119 11 128  6 300 29 274  3 228 11 209  62 13536 248 12619  33 5036 47 5761  180 1361 372 1079
8 2537 10 619  505 87886 499 87892  29 7470 45 7232  17 1699 65 1600  186 50448 141 27197
5 2493 3 2338  27 16886 29 17825
"""


@pytest.fixture(scope="module")
def bcg():
    counts = np.array(BCG.split(), dtype=float).reshape(-1, 4)
    a, b, c, d = counts.T
    return np.log(a * d / (b * c)), (1.0 / counts).sum(axis=1)


def runs(k, n, seed=3, slope=0.2):
    rng = np.random.default_rng(seed)
    entropy = [0.05 + rng.uniform(0.7, 1.2) * np.exp(-3 * np.arange(n + 4 * i) / n) for i in range(k)]
    return [(h, 0.55 - slope * np.expm1(h) + 0.01 * rng.standard_normal(h.size)) for h in entropy]


def test_known_variances_are_weighted_least_squares():
    """Normal posteriors multiply to WLS of all runs together."""
    data, sds = runs(3, 20), (0.01, 0.03, 0.002)
    parts, rows, rewards, weights = [], [], [], []
    for (h, r), sd in zip(data, sds, strict=True):
        x = design(law_column(h))
        inverse = np.linalg.inv(x.T @ x)
        parts.append(
            Marginal(
                weight=np.ones(1),
                location=(inverse @ x.T @ r)[None],
                scale=(sd**2 * inverse)[None],
                df=np.inf,
            )
        )
        rows.append(x)
        rewards.append(r)
        weights.append(np.full(h.size, sd**-2))
    model = sm.WLS(np.concatenate(rewards), np.concatenate(rows), weights=np.concatenate(weights))
    reference = model.fit(cov_type="fixed scale")
    points = product(parts)
    for row, value, error in zip(np.eye(2), reference.params, reference.bse, strict=True):
        found = points.estimate(row, level=0.95, method="")
        assert found.std_error == pytest.approx(error, rel=1e-4)
        assert points.weight @ points.point @ row == pytest.approx(value, abs=1e-6 * error)
        assert found.value == pytest.approx(value, abs=0.01 * error)
        assert found.low == pytest.approx(value - 1.959963985 * error, abs=0.02 * error)
        assert found.high == pytest.approx(value + 1.959963985 * error, abs=0.02 * error)


@pytest.mark.parametrize("name", ["a", "b", "ceiling"])
def test_one_shared_coefficient_is_the_product_of_t_densities(name):
    """White residuals: each run's posterior is one t, and scipy integrates their product."""
    fits = [fit_law(h, r, interval="ols", run=f"r{i}") for i, (h, r) in enumerate(runs(3, 12))]
    found = getattr(share(fits, shared=[name]), name)
    each = [getattr(fit.law, name) for fit in fits]

    def density(x):
        terms = zip(each, fits, strict=True)
        return np.prod([student.pdf(x, fit.n - 2, e.value, e.std_error) for e, fit in terms])

    centre, width = found.value, found.high - found.low
    total = quad(density, centre - 5 * width, centre + 5 * width, points=[centre], limit=200)[0]
    below = [quad(density, centre - 5 * width, end, limit=200)[0] for end in (found.low, centre, found.high)]
    np.testing.assert_allclose(np.array(below) / total, [0.025, 0.5, 0.975], atol=2e-4)


def test_free_coefficient_given_a_shared_one_is_integrated_exactly():
    """The ceiling of run 0 where a is common, against quadrature over both coefficients."""
    fits = [fit_law(h, r, interval="ols", run=f"r{i}") for i, (h, r) in enumerate(runs(2, 9))]
    found = share(fits, shared=["a"]).runs[0].together["ceiling"]
    laws = [fit.law for fit in fits]
    both = marginal(laws[0].posterior, np.eye(2))
    other = marginal(laws[1].posterior, np.array([ROWS["a"]]))
    sd = np.sqrt(np.diag(both.scale[0]))
    axes = [both.location[0, i] + sd[i] * np.sinh(np.linspace(-4, 4, 801)) for i in (0, 1)]
    step = [np.gradient(axis) for axis in axes]
    mesh = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    log = both.log_density(mesh.reshape(-1, 2)).reshape(801, 801) + other.log_density(axes[1][:, None])
    density = (np.exp(log) * step[1]).sum(axis=1) * step[0]
    below = np.cumsum(density) - 0.5 * density
    expected = np.interp(np.array([0.025, 0.5, 0.975]) * density.sum(), below, axes[0])
    np.testing.assert_allclose([found.low, found.value, found.high], expected, atol=0.01 * sd[0])


def test_common_slope_of_white_runs_is_least_squares():
    """One residual for all runs: own ceilings and one a, against OLS with dummies."""
    (h0, r0), (h1, r1) = runs(2, 25)
    h, r = np.concatenate([h0, h1]), np.concatenate([r0, r1])
    group = np.repeat([0, 1], [h0.size, h1.size])
    x = np.column_stack([design(law_column(h)), group == 1]).astype(float)
    (posterior,) = infer(np.arange(h.size, dtype=float), x[None], r[None], white_grid())
    reference = sm.OLS(r, x).fit()
    np.testing.assert_allclose(posterior.coefficient[0], reference.params, rtol=1e-10)
    np.testing.assert_allclose(np.sqrt(np.diag(posterior.covariance[0])), reference.bse, rtol=1e-10)


def test_segments_of_a_white_run_are_chows_test():
    ((h, r),) = runs(1, 40)
    r = r + 0.01 * (np.arange(40) >= 17)
    x = design(law_column(h))
    full = sm.OLS(r, blocks(x, (np.arange(40) >= 17).astype(int))).fit()
    statistic, p_value, lost = full.compare_f_test(sm.OLS(r, x).fit())
    found = fit_segments(np.arange(40), h, r, [17], interval="ols").same
    assert found.statistic == pytest.approx(statistic, rel=1e-9)
    assert found.p_value == pytest.approx(p_value, rel=1e-9)
    assert (found.df1, found.df2) == (lost, 36)


def test_segments_with_a_known_drift_are_the_f_test_of_gls():
    ((h, r),) = runs(1, 30)
    step = np.arange(30.0)
    x = design(law_column(h))
    wide = blocks(x, (step >= 12).astype(int))
    grid = point_grid(length=6.0, share=0.3)
    ours, same = (infer(step, m[None], r[None], grid)[0] for m in (wide, x))
    found = difference_test(ours, same, np.eye(4)[2:], hypothesis="", method="")
    sigma = 0.7 * np.exp(-np.abs(step[:, None] - step) / 6.0) + 0.3 * np.eye(30)
    reference = sm.GLS(r, wide, sigma=sigma).fit().f_test(np.eye(4)[2:])
    assert found.statistic == pytest.approx(float(reference.fvalue), rel=1e-8)
    assert found.p_value == pytest.approx(float(reference.pvalue), rel=1e-7)


def test_one_coefficient_is_welchs_test():
    """Means of unlike groups: statsmodels' Welch ANOVA."""
    rng = np.random.default_rng(2)
    groups = [0.1 * i + sd * rng.standard_normal(n) for i, (sd, n) in enumerate([(1, 9), (3, 14), (0.4, 6)])]
    reference = anova_oneway(groups, use_var="unequal")
    found = welch_test(
        np.array([[g.mean()] for g in groups]),
        np.array([[[g.var(ddof=1) / g.size]] for g in groups]),
        np.array([g.size - 1.0 for g in groups]),
        hypothesis="",
    )
    assert found.statistic == pytest.approx(reference.statistic, rel=1e-9)
    assert found.df2 == pytest.approx(reference.df_denom, rel=1e-9)
    assert found.p_value == pytest.approx(reference.pvalue, rel=1e-8)


def test_random_effects_are_statsmodels(bcg):
    """Paule–Mandel and Hartung–Knapp."""
    value, variance = bcg
    reference = combine_effects(value, variance, method_re="pm", use_t=True, alpha=0.05)
    mean, *_, tau = random_effects(value, variance, level=0.95)
    assert tau.value**2 == pytest.approx(reference.tau2, rel=1e-6)
    assert mean.value == pytest.approx(reference.mean_effect_re, rel=1e-6)
    low, high = reference.conf_int(use_t=True)[3]
    assert (mean.low, mean.high) == (pytest.approx(low, rel=1e-5), pytest.approx(high, rel=1e-5))


def test_heterogeneity_interval_is_the_published_one(bcg):
    """Q-profile of metafor for these trials: 0.1302 to 1.1812 (metafor-project.org, vanhouwelingen2002).

    metafor's roots are good to 1.2e-4, the default tolerance of its search; ours solve Q(τ²) = χ².
    """
    value, variance = bcg
    *_, tau = random_effects(value, variance, level=0.95)
    assert tau.low**2 == pytest.approx(0.1302, abs=1.2e-4)
    assert tau.high**2 == pytest.approx(1.1812, abs=1.2e-4)
    for end, probability in ((tau.low, 0.975), (tau.high, 0.025)):
        weight = 1.0 / (variance + end**2)
        q = weight @ (value - np.average(value, weights=weight)) ** 2
        assert q == pytest.approx(chi2.ppf(probability, value.size - 1), rel=1e-9)
