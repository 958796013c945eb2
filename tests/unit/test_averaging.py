"""Estimates averaged over the functional forms: against each form, against sampling, and their errors."""

import numpy as np
import pytest

from entropylaw import UsageError, average_forms, fit_law
from entropylaw.analysis.averaging import AVERAGED
from entropylaw.results.mixture import Mixture

N = 80
TIME = np.linspace(0.0, 1.0, N)
ENTROPY = 0.05 + 0.9 * np.exp(-4 * TIME)


def noisy(reward: np.ndarray, sd: float = 0.01, seed: int = 3) -> np.ndarray:
    return reward + sd * np.random.default_rng(seed).standard_normal(N)


@pytest.fixture(scope="module")
def law():
    return fit_law(ENTROPY, noisy(0.6 - 0.2 * np.expm1(ENTROPY)))


@pytest.fixture(scope="module")
def averaged(law):
    return average_forms(law)


def test_probabilities_add_up_and_the_forms_are_in_their_order(averaged):
    probabilities = [one.probability for one in averaged.forms]
    assert sum(probabilities) == pytest.approx(1.0, abs=1e-12)
    assert probabilities == sorted(probabilities, reverse=True)
    assert {one.form for one in averaged.forms} | set(averaged.skipped) == set(AVERAGED)


def test_the_laws_own_numbers_are_those_of_its_fit(law, averaged):
    (own,) = (one for one in averaged.forms if one.form == "law")
    for name in ("ceiling", "headroom"):
        mine, its = getattr(own, name), getattr(law, name)
        assert [mine.value, mine.low, mine.high] == pytest.approx([its.value, its.low, its.high], abs=1e-7)


def test_quantiles_are_those_of_draws_from_the_forms(averaged):
    """Draw a form, a shape, a covariance and a t: the quantiles of 400,000 draws."""
    rng = np.random.default_rng(0)
    draws = []
    fits = averaged.basis[1]
    for name, fit in fits.fits.items():
        count = rng.binomial(400_000, fits.probability[name])
        shape = rng.choice(fit.weight.size, count, p=fit.weight)
        for i, k in zip(*np.unique(shape, return_counts=True), strict=True):
            posterior, row = fit.posteriors[int(i)], fit.form.ceiling_row(fit.shape)[i, 0]
            point = rng.choice(posterior.weight.size, k, p=posterior.weight / posterior.weight.sum())
            scale = np.sqrt(np.einsum("p,gpq,q->g", row, posterior.covariance, row))[point]
            draws.append(posterior.coefficient[point] @ row + scale * rng.standard_t(posterior.df, k))
    sample = np.concatenate(draws)
    ceiling = averaged.ceiling
    found = np.mean(sample[:, None] <= [ceiling.low, ceiling.value, ceiling.high], axis=0)
    assert found == pytest.approx([0.025, 0.5, 0.975], abs=0.0015)


def test_the_probability_of_a_gain_is_that_of_the_headroom(law, averaged):
    for at in (averaged.headroom.low, averaged.headroom.value, averaged.headroom.high):
        assert at > 0
    every = [average_forms(law, gain=at) for at in (averaged.headroom.low, averaged.headroom.high)]
    assert [one.p_headroom for one in every] == pytest.approx([0.975, 0.025], abs=1e-6)


def test_the_truth_of_any_form_is_covered_where_the_data_are_plain():
    truths = {
        "line": 0.6 - 0.3 * ENTROPY,
        "power": 0.6 - 0.3 * ENTROPY**2,
        "rate": 0.6 + 0.3 * np.expm1(-3.0 * ENTROPY),
    }
    for form, reward in truths.items():
        answer = average_forms(fit_law(ENTROPY, noisy(reward, 0.004)))
        assert answer.ceiling.low < 0.6 < answer.ceiling.high
        assert answer.forms[0].form == form or answer.forms[0].form in ("rate", "power")


def test_predictions(averaged):
    zero, inside = averaged.predict([0.0, 0.3])
    assert [zero.mean.low, zero.mean.value, zero.mean.high] == pytest.approx(
        [averaged.ceiling.low, averaged.ceiling.value, averaged.ceiling.high], abs=1e-9
    )
    assert zero.extrapolated
    assert not inside.extrapolated
    for one in (zero, inside):
        assert one.observation.low < one.mean.low < one.mean.high < one.observation.high
    assert averaged.predict(0.3).mean == inside.mean
    narrow = averaged.predict(0.3, level=0.5)
    assert narrow.mean.width < inside.mean.width
    with pytest.raises(UsageError) as error:
        averaged.predict(-0.1)
    assert error.value.slug == "bad-entropy"


def test_it_is_described(averaged):
    text = " ".join(str(averaged).split())
    assert "over all forms" in text
    assert "the probability that at least 0.01 is left is" in text
    frame = averaged.to_frame()
    assert list(frame["probability"]) == [one.probability for one in averaged.forms]
    assert {"ceiling_low", "headroom_high"} <= set(frame.columns)


@pytest.mark.parametrize("gain", [0.0, -1.0, float("nan")])
def test_a_gain_is_above_zero(law, gain):
    with pytest.raises(UsageError) as error:
        average_forms(law, gain=gain)
    assert error.value.hint


def test_a_mixture_with_several_degrees_of_freedom_is_that_of_its_parts():
    parts = [
        Mixture(weight=np.ones(1), location=np.array([[0.0], [1.0]]), scale=np.ones((2, 1)), df=df)
        for df in (3.0, 9.0, np.inf)
    ]
    weight = np.array([0.2, 0.5, 0.3])
    both = Mixture(
        weight=weight,
        location=np.concatenate([part.location for part in parts], axis=1),
        scale=np.ones((2, 3)),
        df=np.array([3.0, 9.0, np.inf]),
    )
    at = np.array([0.7, -0.4])
    assert both.cdf(at) == pytest.approx(sum(w * part.cdf(at) for w, part in zip(weight, parts, strict=True)))
    for probability in (0.025, 0.5, 0.9):
        assert both.cdf(both.quantile(probability)) == pytest.approx(probability, abs=1e-10)
    variance = weight @ [3.0, 9.0 / 7.0, 1.0]
    assert both.standard_deviation() == pytest.approx(np.sqrt(variance))
