"""Long memory of the residual: its probability, the caution, and the numbers without it."""

import numpy as np
import pytest
from scipy.linalg import toeplitz
from scipy.special import gammaln

from entropylaw import fit_law
from entropylaw.analysis.law.diagnostics import has_long_memory, long_memory_limit
from entropylaw.results.posterior import LONG, SCALED, SHORT
from entropylaw.results.result import replace
from tests.laws import own_law

N = 400
ENTROPY = 0.1 + 1.5 * np.exp(-4 * np.arange(N) / N)
LAW = 0.6 - 0.1 * np.expm1(ENTROPY)
D = 0.45


def with_residual(covariance, seed):
    root = np.linalg.cholesky(toeplitz(covariance))
    return LAW + 0.02 * root @ np.random.default_rng(seed).standard_normal(N)


def fractional():
    """Autocorrelation of ARFIMA(0, d, 0)."""
    k = np.arange(N)
    return np.exp(gammaln(k + D) - gammaln(k + 1 - D) + gammaln(1 - D) - gammaln(D))


def short():
    return 0.5 * np.exp(-np.arange(N) / 4.0) + 0.5 * (np.arange(N) == 0)


def test_long_memory_is_a_caution_and_short_memory_is_none():
    found = {"long": 0, "short": 0}
    for seed in range(8):
        for name, covariance in (("long", fractional()), ("short", short())):
            fit = fit_law(ENTROPY, with_residual(covariance, seed))
            (caution,) = [one for one in fit.findings if one.code == "long-memory"] or [None]
            found[name] += caution is not None
            assert caution is None or caution.values["probability"] == fit.law.residuals.long_memory >= 0.87
            assert caution is None or caution.values["limit"] == 0.87
    assert found["long"] >= 5
    assert found["short"] <= 1


def test_the_limit_rises_with_the_number_of_evaluations_and_short_runs_say_nothing():
    law = fit_law(ENTROPY, with_residual(fractional(), 2)).law
    limits = [long_memory_limit(n) for n in (150, 200, 300, 400, 4000)]
    assert limits == sorted(limits)
    assert limits[0] == 0.78
    assert limits[-2:] == [0.87, 0.87]
    for n, long, expected in ((149, 0.99, False), (150, 0.79, True), (400, 0.79, False), (400, None, False)):
        known = replace(law, n=n, residuals=replace(law.residuals, long_memory=long))
        assert has_long_memory(known) is expected


def test_without_long_memory_the_intervals_are_narrower():
    fit = fit_law(ENTROPY, with_residual(fractional(), 2))
    assert fit.if_short.ceiling.width < 0.8 * fit.ceiling.width
    assert fit.if_short.law_ceiling.width < 0.8 * fit.law.ceiling.width
    assert fit.if_short.a.width < fit.law.a.width
    assert fit.if_short.headroom.level == fit.level


def test_a_posterior_knows_the_kinds_of_its_residuals():
    posterior = own_law(ENTROPY[::10], with_residual(short(), 3)[::10]).posterior
    assert set(posterior.kind) == {SHORT, LONG, SCALED}
    assert (posterior.length[posterior.kind == LONG] > 0).all()


def test_fewer_than_8_evaluations_and_other_models_know_short_memory_only():
    some = slice(None, None, 60)
    for fit in (
        fit_law(ENTROPY[some], with_residual(short(), 4)[some]),
        fit_law(ENTROPY, LAW + 0.01 * np.sin(np.arange(N) ** 2), interval="walk"),
        fit_law(ENTROPY, np.clip(with_residual(short(), 5), 0, 1), eval_size=500),
    ):
        assert set(fit.law.posterior.kind) == {SHORT}
        assert (fit.if_short, fit.law.residuals.long_memory) == (None, None)


def test_the_unit_of_step_and_reward_changes_nothing():
    reward, step = with_residual(fractional(), 6)[::4], np.arange(N / 4)
    one, other = fit_law(ENTROPY[::4], reward, step), fit_law(ENTROPY[::4], 100 * reward, 7 * step)
    assert other.law.residuals.long_memory == pytest.approx(one.law.residuals.long_memory, rel=1e-5)
    assert other.if_short.ceiling.width == pytest.approx(100 * one.if_short.ceiling.width, rel=1e-5)
