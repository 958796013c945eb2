"""The mixture's quantiles against scipy's Student t and brute force."""

import numpy as np
import pytest
from scipy import integrate, stats

from entropylaw.results.mixture import Mixture


def test_one_component_is_student_t():
    mixture = Mixture(weight=np.ones(1), location=np.array([[2.0]]), scale=np.array([[0.5]]), df=7.0)
    for p in (0.025, 0.5, 0.975):
        assert mixture.quantile(p)[0] == pytest.approx(stats.t.ppf(p, 7, 2.0, 0.5), rel=1e-12)
    assert mixture.density(np.array([2.3]))[0] == pytest.approx(stats.t.pdf(2.3, 7, 2.0, 0.5), rel=1e-12)


@pytest.mark.parametrize("df", [1.0, 3.0, 48.0, np.inf])
@pytest.mark.parametrize("p", [1e-6, 0.025, 0.5, 0.9, 0.999])
def test_quantile_inverts_the_cdf(df, p):
    rng = np.random.default_rng(4)
    weight = rng.dirichlet(np.ones(30))
    location, scale = rng.normal(size=(5, 30)), np.exp(rng.normal(0, 3, size=(5, 30)))
    mixture = Mixture(weight=weight, location=location, scale=scale, df=df)
    np.testing.assert_allclose(mixture.cdf(mixture.quantile(p)), p, rtol=1e-9, atol=1e-12)


def test_two_far_peaks():
    """Half the mass at 0, half at 100: the quantiles are those of the halves."""
    mixture = Mixture(
        weight=np.array([0.5, 0.5]),
        location=np.array([[0.0, 100.0]]),
        scale=np.array([[1.0, 1.0]]),
        df=np.inf,
    )
    assert mixture.quantile(0.25)[0] == pytest.approx(0.0, abs=1e-9)
    assert mixture.quantile(0.75)[0] == pytest.approx(100.0, abs=1e-9)
    assert mixture.standard_deviation()[0] == pytest.approx(np.sqrt(1 + 50**2), rel=1e-12)


def test_infinite_variance_is_nan_not_a_number_made_up():
    mixture = Mixture(weight=np.ones(1), location=np.zeros((1, 1)), scale=np.ones((1, 1)), df=2.0)
    assert np.isnan(mixture.standard_deviation()[0])


def test_pruning_keeps_the_weight():
    weight = np.array([1e-12, 0.6, 0.4 - 1e-12])
    mixture = Mixture(weight=weight, location=np.arange(3.0)[None], scale=np.ones((1, 3)), df=5.0).pruned()
    assert mixture.weight.size == 2
    assert mixture.weight.sum() == pytest.approx(1.0, abs=1e-15)


def cut_off(df):
    location, scale = np.array([[0.2, 1.0, 3.0]]), np.array([[0.5, 0.2, 1.0]])
    weight = np.array([0.2, 0.5, 0.3])
    return Mixture(weight=weight, location=location, scale=scale, df=df, upper=np.full((1, 3), 1.1))


@pytest.mark.parametrize("df", [6.0, 30.0, np.inf])
def test_a_mixture_that_is_cut_off_is_scipys_truncated_t(df):
    mixture = cut_off(df)
    kind = stats.norm() if np.isinf(df) else stats.t(df)
    parts = list(zip(mixture.weight, mixture.location[0], mixture.scale[0], strict=True))

    def below(x):
        each = (w * kind.cdf((min(x, 1.1) - m) / s) / kind.cdf((1.1 - m) / s) for w, m, s in parts)
        return sum(each)

    for x in (-0.4, 0.5, 0.9, 1.05, 1.1, 2.0):
        assert mixture.cdf(np.array([x]))[0] == pytest.approx(below(x), abs=1e-9)
    for p in (0.025, 0.5, 0.975):
        found = mixture.quantile(p)[0]
        assert found < 1.1
        assert below(found) == pytest.approx(p, abs=1e-7)

    def moment(power):
        def integrand(x):
            return x**power * sum(
                w * kind.pdf((x - m) / s) / s / kind.cdf((1.1 - m) / s) for w, m, s in parts
            )

        return integrate.quad(integrand, -60, 1.1, limit=400, points=[0.0, 1.0])[0]

    assert mixture.standard_deviation()[0] == pytest.approx(np.sqrt(moment(2) - moment(1) ** 2), rel=1e-4)
    assert mixture.density(np.array([1.2]))[0] == 0.0
