"""A reward that follows the entropy of other evaluations is seen where the entropy changes fast."""

import numpy as np
import pytest

from entropylaw import fit_law
from tests.laws import own_law

N = 200


def run(lag, seed, *, noise=0.0, wiggle=0.06):
    """Entropy with fast changes, and a reward that follows them ``lag`` evaluations later."""
    rng = np.random.default_rng(seed)
    time = np.arange(-20, N + 20) / N
    entropy = (0.2 + 1.3 * np.exp(-3 * time)) * (1 + wiggle * rng.standard_normal(time.size))
    reward = 0.6 - 0.1 * np.expm1(entropy[20 - lag : 20 - lag + N]) + 0.01 * rng.standard_normal(N)
    return entropy[20 : 20 + N] * (1 + noise * rng.standard_normal(N)), reward


@pytest.mark.parametrize("lag", [-4, 1, 5])
def test_a_lag_is_found(lag):
    found = [own_law(*run(lag, seed)).lag for seed in range(5)]
    assert [one.evaluations for one in found] == [lag] * 5
    assert max(one.p_value for one in found) < 1e-4
    assert min(one.odds for one in found) > 1e3


def test_it_is_a_caution_and_changes_no_number():
    entropy, reward = run(5, 1)
    fit = fit_law(entropy, reward)
    (lags,) = [one for one in fit.findings if one.code == "reward-lags"]
    assert lags.values["evaluations"] == 5
    assert "follow those of the entropy 5 evaluations before" in lags.sentence
    (leads,) = [one for one in fit_law(*run(-3, 1)).findings if one.code == "reward-leads"]
    assert "come 3 evaluations before those of the entropy" in leads.sentence
    np.testing.assert_array_equal(fit.law.reward, reward)


def test_the_pairing_in_use_is_no_lag_nor_is_noise_of_the_entropy():
    codes = []
    for seed in range(10):
        for run_of in (run(0, seed), run(0, seed, noise=0.05, wiggle=0.0), run(5, seed, wiggle=0.0)):
            found = [one.code for one in fit_law(*run_of).findings]
            codes += [code for code in found if code in ("reward-lags", "reward-leads")]
    assert len(codes) <= 1


def test_where_nothing_is_looked_for_there_is_none():
    entropy, reward = run(0, 1)
    assert own_law(entropy[:39], reward[:39]).lag is None
    assert own_law(entropy, reward, interval="ols").lag is None
