"""A slip of the logger is named and left out; what the run did is not."""

import numpy as np
import pytest

from entropylaw.analysis.law.evaluations import gross_outliers
from tests.laws import fit_arrays, own_law


def run(n=60, seed=1):
    rng = np.random.default_rng(seed)
    step = 5.0 * np.arange(n)
    entropy = 0.05 + 0.95 * np.exp(-4 * np.arange(n) / n) + 0.005 * rng.standard_normal(n)
    return step, entropy, 0.55 - 0.2 * np.expm1(entropy) + 0.01 * rng.standard_normal(n)


def test_a_clean_run_has_none():
    for seed in range(50):
        assert gross_outliers(*run(seed=seed)) == ()


@pytest.mark.parametrize("at", [1, 2, 30, 57, 58])
@pytest.mark.parametrize(("column", "value"), [("entropy", 8.2), ("reward", 0.0)])
def test_a_slip_is_named(at, column, value):
    step, entropy, reward = run()
    (entropy if column == "entropy" else reward)[at] = value
    (found,) = gross_outliers(step, entropy, reward)
    assert [found.values[name] for name in ("step", "column", "value")] == [step[at], column, value]
    assert found.values["distance"] > 8
    assert f"{column} {value:.3g} at step {step[at]:g}" in found.sentence
    assert own_law(entropy, reward, step).step.tolist() == np.delete(step, at).tolist()


def test_two_slips_in_a_row_are_both_named():
    step, entropy, reward = run()
    entropy[20:22] = 8.2
    assert [found.values["step"] for found in gross_outliers(step, entropy, reward)] == [100.0, 105.0]


def test_distance_is_in_standard_deviations_of_the_noise():
    """White noise of a known size, a slip of 40 of its standard deviations; the local noise is estimated."""
    rng = np.random.default_rng(2)
    step = np.arange(4000.0)
    reward = 0.5 + 0.01 * rng.standard_normal(4000)
    reward[2000] = np.median(reward[1997:2004]) + 0.4
    found = gross_outliers(step, np.linspace(1.0, 0.5, 4000), reward)
    assert [each.values["step"] for each in found] == [2000.0]
    assert found[0].values["distance"] == pytest.approx(40, rel=0.35)


def test_scatter_in_proportion_to_the_entropy_is_no_slip():
    """With one standard deviation for the whole run the early scatter was taken for slips."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        entropy = (0.05 + 1.6 * np.exp(-4 * np.arange(150) / 150)) * np.exp(0.15 * rng.standard_normal(150))
        reward = 0.8 - 0.1 * np.exp(entropy) + 0.01 * rng.standard_normal(150)
        assert gross_outliers(np.arange(150.0), entropy, reward) == ()


def test_an_entropy_of_zero_is_a_slip_where_the_run_has_none():
    step, entropy, reward = run()
    entropy[30] = 0.0
    (found,) = gross_outliers(step, entropy, reward)
    assert (found.values["step"], found.values["value"]) == (150.0, 0.0)


def test_steep_falls_first_evaluations_and_excursions_are_no_slips():
    step, entropy, reward = run()
    exact = 0.05 + 5 * np.exp(-np.arange(60.0))
    assert gross_outliers(step, exact, reward) == ()
    jump = np.where(np.arange(60) < 30, 1.0, 0.1) + 1e-4 * np.sin(np.arange(60) ** 2.0)
    assert gross_outliers(step, jump, reward) == ()
    first = reward.copy()
    first[0] = -3.0
    assert gross_outliers(step, entropy, first) == ()
    exploded = entropy.copy()
    exploded[20:26] = 8.2
    assert gross_outliers(step, exploded, reward) == ()


def test_many_are_not_outliers():
    step, entropy, reward = run()
    entropy[5:55:10] = 8.2
    assert gross_outliers(step, entropy, reward) == ()


def test_where_the_noise_is_unknown_nothing_is_named():
    step, entropy, _ = run()
    reward = np.zeros(60)
    reward[30] = 1.0
    assert gross_outliers(step, entropy, reward) == ()


def test_the_fit_leaves_it_out_and_says_so():
    step, entropy, reward = run()
    slipped = entropy.copy()
    slipped[30] = 8.2
    fit = own_law(slipped, reward, step)
    (reason,) = fit.dropped
    assert reason.startswith("gross outlier: entropy 8.2 at step 150 ")
    assert fit.n == 59
    others = np.arange(60) != 30
    alone = own_law(entropy[others], reward[others], step[others])
    assert (fit.a, fit.ceiling) == (alone.a, alone.ceiling)
    kept = own_law(slipped, reward, step, keep_outliers=True)
    assert (kept.n, dict(kept.dropped)) == (60, {})
    # With it the run says little of the law, which is why it is left out.
    assert fit_arrays(slipped, reward, step).verdict == "holds"
    assert fit_arrays(slipped, reward, step, keep_outliers=True).verdict != "holds"
    assert kept.a.value is None
    assert "keeps 2 % of the 8.1 nats" in kept.a.note
