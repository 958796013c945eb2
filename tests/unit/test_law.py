"""The law of a run: its numbers, its refusals, predictions and their inverse."""

import numpy as np
import pandas as pd
import pytest

import entropylaw
from entropylaw import FitError, UsageError
from entropylaw.results import Verdict
from tests.hostile import refused
from tests.laws import fit_arrays, own_law


def world(n=60, *, sd=0.004):
    """Evaluations of a known law with independent noise."""
    rng = np.random.default_rng(0)
    entropy = 0.04 + 0.96 * np.exp(-4 * np.arange(n) / n)
    return 10.0 * np.arange(n), entropy, 0.55 - 0.2 * np.expm1(entropy) + sd * rng.standard_normal(n)


def rate_of(*series):
    (rate,) = (form.shapes["k"] for form in own_law(*series).forms if form.form == "rate")
    return rate


@pytest.fixture(scope="module")
def fit():
    step, entropy, reward = world()
    return own_law(entropy, reward, step, name="known")


def test_a_known_law_is_estimated(fit):
    for name, truth in (("a", 0.2), ("ceiling", 0.55), ("b", 0.75)):
        estimate = getattr(fit, name)
        assert estimate.low < truth < estimate.high
        assert estimate.low < estimate.value < estimate.high


def test_a_known_law_holds():
    step, entropy, reward = world()
    law = own_law(entropy, reward, step)
    assert (law.verdict, law.best.form) == (Verdict.holds, "law")
    assert law.best.probability > 0.5 > law.forms[1].probability
    rate = rate_of(entropy, reward, step)
    assert rate.low < 1 < rate.high


def test_results_are_frozen(fit):
    with pytest.raises(AttributeError, match="immutable"):
        fit.n = 3
    with pytest.raises(ValueError, match="read-only"):
        fit.entropy[0] = 3.0


def test_a_set_narrower_than_any_grid_is_complete():
    """The law known to four digits: the set holds the true entropy and is no wider than the band."""
    step, entropy, reward = world(200, sd=1e-4)
    fit = own_law(entropy, reward, step)
    for target in (0.31, 0.42, 0.5437):
        ((low, high),) = fit.entropy_for(target).intervals
        assert low <= np.log1p((0.55 - target) / 0.2) <= high
        assert high - low < 0.01


def test_a_flat_run_has_no_upper_end():
    rng = np.random.default_rng(1)
    fit = own_law(np.linspace(0.6, 0.1, 30), 0.5 + 0.02 * rng.standard_normal(30))
    target = fit.entropy_for(0.5)
    assert target.intervals[-1][1] is None
    assert "no upper end" in target.note


def test_the_free_rate_is_known_as_well_as_the_data_allow():
    step, entropy, reward = world(500, sd=0.004)
    rate = rate_of(entropy, reward, step)
    assert rate.low < 1 < rate.high
    other = 0.55 - 0.2 * np.expm1(1.5 * entropy) / 1.5 + (reward - (0.55 - 0.2 * np.expm1(entropy)))
    rate = rate_of(entropy, other, step)
    assert rate.value == pytest.approx(1.5, abs=0.3)


def test_pandas_and_lists_are_accepted():
    step, entropy, reward = world(20)
    frame = pd.DataFrame({"h": entropy, "r": reward}, index=step)
    assert own_law(frame.h, frame.r, frame.index).a == own_law(list(entropy), list(reward), list(step)).a


UNUSABLE = {
    "too-few-evaluations": lambda s, h, r: (s[:3], h[:3], r[:3]),
    "steps-not-increasing": lambda s, h, r: (s[::-1], h, r),
    "lengths-differ": lambda s, h, r: (s, h[1:], r),
    "out-of-scale": lambda s, h, r: (s, h, r * 1e200),
}
NO_LAW = {
    "entropy-constant": lambda s, h, r: (s, np.zeros_like(h), r),
    "reward-constant": lambda s, h, r: (s, h, np.zeros_like(r)),
    "too-few-evaluations": lambda s, h, r: (s, h * np.nan, r),
    "entropy-not-a-mean": lambda s, h, r: (s, h * 300, r),
    "no-entropy": lambda s, h, r: (s, None, r),
}


@pytest.mark.parametrize("slug", UNUSABLE)
def test_unusable_data_are_refused(slug):
    step, entropy, reward = UNUSABLE[slug](*world(20))
    assert refused(slug, fit_arrays, entropy, reward, step, kind=FitError).hint


@pytest.mark.parametrize("slug", NO_LAW)
def test_what_the_law_alone_lacks_leaves_the_state_and_the_forecast(slug):
    step, entropy, reward = NO_LAW[slug](*world(20))
    fit = fit_arrays(entropy, reward, step)
    assert (fit.law, fit.no_law.slug, fit.verdict) == (None, slug, "none")
    assert fit.no_law.hint
    assert (fit.state.word, fit.keep.is_last) == ("flat", True)
    assert fit.state.gained.low <= reward[-1] - reward[0] <= fit.state.gained.high
    assert fit.n_rewards == 20
    assert (fit.no_forecast is None) == (fit.forecast is not None) == (slug != "reward-constant")
    assert np.isnan(fit.evaluations[1]).all()
    assert fit.forecast is None or fit.forecast.entropies == ()
    assert fit.no_law.message in refused("no-law", fit.predict, 0.1, kind=FitError).message
    refused("no-law", fit.entropy_for, 0.5, kind=FitError)


@pytest.mark.parametrize(
    ("slug", "options"),
    [
        ("bad-level", {"level": 95}),
        ("bad-argument", {"level": float("nan")}),
        ("bad-argument", {"gain": 0.0}),
        ("bad-argument", {"gain": float("nan")}),
        ("bad-gain", {"gain": 1e200}),
    ],
)
def test_wrong_options_are_refused(slug, options):
    step, entropy, reward = world(20)
    assert refused(slug, fit_arrays, entropy, reward, step, kind=UsageError, **options).hint


def test_impossible_targets_are_refused(fit):
    for entropy in (-0.1, 12.5, float("nan")):
        with pytest.raises(UsageError, match="entropy"):
            fit.predict(entropy)
    with pytest.raises(UsageError, match="finite"):
        fit.entropy_for(float("inf"))


def test_data_without_noise_give_a_point():
    step, entropy, reward = world(30, sd=0.0)
    # The smoothed entropy follows a path without noise closely.
    smoothed = own_law(entropy, reward, step)
    assert smoothed.a.value == pytest.approx(0.2, rel=1e-3)
    assert smoothed.ceiling.width < 1e-3


def test_smoothing_removes_noise_and_estimates_it():
    step, entropy, reward = world(200)
    noise = 0.03 * np.random.default_rng(7).standard_normal(200)
    noisy = entropy + noise
    fit = own_law(noisy, reward, step)
    assert fit.entropy_noise == pytest.approx(np.std(noise), rel=0.1)
    assert np.std(fit.smoothed_entropy - entropy) < 0.01
    np.testing.assert_array_equal(fit.entropy, noisy)


def test_no_smoothed_entropy_is_negative_where_none_is():
    noise = np.random.default_rng(2).standard_normal((2, 50))
    law = own_law(np.abs(0.01 * noise[0]), 0.5 + 0.01 * noise[1])
    assert law.smoothed_entropy.min() >= 0


def test_rows_without_a_reward_have_entropies_to_smooth():
    step, entropy, reward = world(200)
    noisy = entropy * (1.0 + 0.15 * np.random.default_rng(7).standard_normal(200))
    sparse = np.where(np.arange(200) % 10 == 0, reward, np.nan)
    every = own_law(noisy, sparse, step)
    few = own_law(noisy[::10], reward[::10], step[::10])
    assert every.n == few.n == 20
    truth = entropy[::10]
    errors = [np.abs(fit.smoothed_entropy - truth).mean() for fit in (every, few)]
    assert errors[0] < errors[1]
    log = {"step": step, "entropy": noisy, "val_acc": sparse}
    given = entropylaw.fit(log, pair="same").law
    np.testing.assert_array_equal(given.smoothed_entropy, every.smoothed_entropy)


def test_an_entropy_that_does_not_move_gives_a_wide_answer():
    # Its errors explain its whole movement at some covariances, where the slope is unknown.
    entropy = [0.97559, 1.00352, 0.95013, 0.98696, 0.95276, 1.00723, 0.99104, 0.97091, 0.98249, 0.97489]
    reward = [0.39459, 0.3915, 0.39393, 0.38901, 0.39163, 0.38973, 0.37906, 0.3866, 0.39459, 0.39597]
    law = own_law([*entropy, 0.97911, 0.97858], [*reward, 0.39745, 0.39668])
    assert law.verdict is Verdict.undecided
    assert law.ceiling.value is None or law.ceiling.width > 0.05
