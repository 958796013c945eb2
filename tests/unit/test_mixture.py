"""The mixture's quantiles against scipy's Student t and brute force."""

import numpy as np
import pytest
from scipy import integrate, stats

from entropylaw.results.mixture import Mixture, t_cdf


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


@pytest.mark.parametrize("width", [1e-18, 1e-16, 1e-15, 1e-14])
def test_a_quantile_among_neighbouring_floats_is_found_in_a_few_steps(width, monkeypatch):
    """As of a reward that is exactly on a line: no step is shorter than to the next float."""
    rng = np.random.default_rng(1)
    shape, turns, step = (3, 200), [], Mixture._at
    mixture = Mixture(
        weight=rng.dirichlet(np.ones(200)),
        location=11.0 + 10 * width * rng.standard_normal(shape),
        scale=width * np.exp(rng.normal(0, 2, shape)),
        df=9.0,
    )
    monkeypatch.setattr(Mixture, "_at", lambda *given: turns.append(1) or step(*given))
    found = mixture.quantiles((0.025, 0.5, 0.975))
    assert len(turns) < 60
    for value, p in zip(found, (0.025, 0.5, 0.975), strict=True):
        assert np.all(mixture.cdf(value - 3 * np.spacing(value)) <= p)
        assert np.all(mixture.cdf(value + 3 * np.spacing(value)) >= p)


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


def test_quantiles_next_to_the_end_of_a_mixture_that_is_cut_off():
    """Most of the mass is piled up below the bound, where the deviates of the probability have a pole."""
    location, scale = np.linspace(1.0, 1.3, 10)[None], np.full((1, 10), 0.1)
    weight, upper = np.full(10, 0.1), np.ones((1, 10))  # the weights add up to 1 but for rounding
    mixture = Mixture(weight=weight, location=location, scale=scale, df=40.0, upper=upper)
    for p in (0.9, 0.97, 0.999):
        found = mixture.quantile(p)
        assert found[0] < 1.0
        assert mixture.cdf(found)[0] == pytest.approx(p, abs=1e-7)


@pytest.mark.parametrize("df", [1.0, 3.0, 48.0, 5000.0])
def test_density_of_the_interpolant(df):
    """Newton's steps use the derivative of the interpolated distribution function."""
    z = np.concatenate([np.linspace(-60.0, 60.0, 24001), [-1e6, -1e3, 1e3, 1e6]])
    density = np.empty_like(z)
    below = t_cdf(df, z, density)
    np.testing.assert_allclose(below, stats.t.cdf(z, df), rtol=0, atol=1e-11)
    np.testing.assert_allclose(density, stats.t.pdf(z, df), rtol=0, atol=1e-8)
