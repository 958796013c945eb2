"""fit_law: what it returns, what it refuses, what it says of itself."""

import numpy as np
import pandas as pd
import pytest

from entropylaw import FitError, UsageError, fit_law
from entropylaw.analysis.law import HIGHEST_ENTROPY


def world(n=60, *, a=0.2, ceiling=0.55, sd=0.004, seed=0, start=1.0):
    """Evaluations of a known law with independent noise."""
    rng = np.random.default_rng(seed)
    entropy = 0.04 + (start - 0.04) * np.exp(-4 * np.arange(n) / n)
    return 10.0 * np.arange(n), entropy, ceiling - a * np.expm1(entropy) + sd * rng.standard_normal(n)


@pytest.fixture(scope="module")
def fit():
    step, entropy, reward = world()
    return fit_law(entropy, reward, step, run="known")


def test_known_law_is_found(fit):
    assert fit.validity.ok
    for name, truth in (("a", 0.2), ("ceiling", 0.55), ("b", 0.75)):
        estimate = getattr(fit, name)
        assert estimate.low < truth < estimate.high
        assert estimate.low < estimate.value < estimate.high
    assert fit.law_weight > 0.5 > fit.rivals[0].weight
    assert fit.law_weight + sum(rival.weight for rival in fit.rivals) == pytest.approx(1.0)
    rate = next(rival.rate for rival in fit.rivals if rival.form == "rate")
    assert rate.low < 1 < rate.high


def test_results_are_frozen(fit):
    with pytest.raises(AttributeError, match="immutable"):
        fit.n = 3
    with pytest.raises(ValueError, match="read-only"):
        fit.entropy[0] = 3.0


def test_ceiling_is_b_minus_a_under_least_squares():
    step, entropy, reward = world()
    fit = fit_law(entropy, reward, step, interval="ols")
    assert fit.ceiling.value == pytest.approx(fit.b.value - fit.a.value, rel=1e-12)
    slope, intercept = np.polyfit(np.exp(entropy), reward, 1)
    assert fit.a.value == pytest.approx(-slope, rel=1e-9)
    assert fit.b.value == pytest.approx(intercept, rel=1e-9)


def test_headroom_under_least_squares_is_the_law_from_here_to_zero():
    step, entropy, reward = world()
    fit = fit_law(entropy, reward, step, interval="ols")
    gain = np.expm1(entropy[-1])
    assert fit.headroom.value == pytest.approx(fit.a.value * gain, rel=1e-9)
    assert fit.headroom.low == pytest.approx(fit.a.low * gain, rel=1e-9)
    assert fit.headroom.value == pytest.approx(fit.ceiling.value - fit.reward_now.value, rel=1e-9)


def test_prediction_at_zero_entropy_is_the_ceiling(fit):
    at_zero = fit.predict(0.0)
    assert at_zero.mean.value == pytest.approx(fit.ceiling.value, rel=1e-12)
    assert at_zero.mean.low == pytest.approx(fit.ceiling.low, rel=1e-12)
    assert at_zero.observation.low < at_zero.mean.low < at_zero.mean.high < at_zero.observation.high
    assert at_zero.extrapolated
    assert not fit.predict(0.5).extrapolated


def test_predicting_many_equals_predicting_each(fit):
    many = fit.predict([0.1, 0.3])
    assert isinstance(many, tuple)
    for prediction in many:
        alone = fit.predict(prediction.entropy)
        assert prediction.mean.low == pytest.approx(alone.mean.low, rel=1e-10)
        assert prediction.observation.high == pytest.approx(alone.observation.high, rel=1e-10)


def test_higher_level_is_wider(fit):
    narrow, wide = fit.predict(0.2, level=0.5).mean, fit.predict(0.2, level=0.99).mean
    assert wide.low < narrow.low < narrow.high < wide.high
    assert (narrow.level, wide.level) == (0.5, 0.99)


def test_entropy_for_a_reward_inverts_the_band(fit):
    target = fit.entropy_for(0.5)
    ((low, high),) = target.intervals
    assert low < target.value < high
    assert fit.predict(low).mean.low == pytest.approx(0.5, abs=1e-6)
    assert fit.predict(high).mean.high == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("target", [0.31, 0.42, 0.5437])
def test_a_set_narrower_than_any_grid_is_found(target):
    """The law known to four digits: the set holds the true entropy and is no wider than the band says."""
    step, entropy, reward = world(200, sd=1e-4)
    fit = fit_law(entropy, reward, step)
    ((low, high),) = fit.entropy_for(target).intervals
    truth = np.log1p((0.55 - target) / 0.2)
    assert low <= truth <= high
    assert high - low < 0.01


def test_the_free_rate_is_known_as_well_as_the_data_allow():
    step, entropy, reward = world(500, sd=0.004)
    (rate,) = (rival.rate for rival in fit_law(entropy, reward, step).rivals if rival.form == "rate")
    assert rate.low < 1 < rate.high
    assert rate.high - rate.low < 0.4
    other = 0.55 - 0.2 * np.expm1(1.5 * entropy) / 1.5 + (reward - (0.55 - 0.2 * np.expm1(entropy)))
    fit = fit_law(entropy, other, step)
    (rate,) = (rival.rate for rival in fit.rivals if rival.form == "rate")
    assert rate.low < 1.5 < rate.high
    assert rate.low > 1


def test_a_reward_above_every_interval_has_no_entropy(fit):
    target = fit.entropy_for(0.9)
    assert target.intervals == ()
    assert target.value is None
    assert "no entropy" in target.note


def test_a_flat_run_has_no_upper_end():
    rng = np.random.default_rng(1)
    entropy = np.linspace(0.6, 0.1, 30)
    fit = fit_law(entropy, 0.5 + 0.02 * rng.standard_normal(30))
    target = fit.entropy_for(0.5)
    assert target.intervals[-1][1] is None
    assert "no upper end" in target.note


def test_saturation_leaves_the_given_share(fit):
    saturation = fit.saturation(0.9)
    left = np.expm1(saturation.entropy) / np.expm1(fit.entropy_now)
    assert left == pytest.approx(0.1, rel=1e-12)
    assert saturation.reward.value == pytest.approx(fit.predict(saturation.entropy).mean.value, rel=1e-12)


def test_pandas_and_lists_are_welcome():
    step, entropy, reward = world(20)
    frame = pd.DataFrame({"h": entropy, "r": reward}, index=step)
    assert fit_law(frame.h, frame.r, frame.index).a == fit_law(list(entropy), list(reward), list(step)).a


def test_missing_pairs_are_counted():
    step, entropy, reward = world(30)
    entropy[3], reward[7], reward[9] = np.nan, np.inf, np.nan
    fit = fit_law(entropy, reward, step)
    assert fit.n == 27
    assert sum(fit.dropped.values()) == 3


def test_units_scale():
    """Reward in percent: every number times 100, weights and shares as before."""
    step, entropy, reward = world(40)
    one, hundred = fit_law(entropy, reward, step), fit_law(entropy, 100 * reward, step)
    assert hundred.ceiling.low == pytest.approx(100 * one.ceiling.low, rel=1e-9)
    assert hundred.law_weight == pytest.approx(one.law_weight, rel=1e-9)
    assert hundred.residuals.drift_share == pytest.approx(one.residuals.drift_share, rel=1e-9)


def test_step_units_do_not_matter():
    step, entropy, reward = world(40)
    one, thousand = fit_law(entropy, reward, step), fit_law(entropy, reward, 1000 * step + 5)
    assert thousand.a.low == pytest.approx(one.a.low, rel=1e-9)


def test_a_known_noise_floor_stops_the_drift_from_taking_the_noise():
    """Binomial evaluations of the exact law: told the sample size, the engine finds no drift to speak of."""
    rng = np.random.default_rng(3)
    step, entropy, exact = world(60, sd=0.0)
    reward = rng.binomial(400, exact) / 400
    told = fit_law(entropy, reward, step, eval_size=400)
    assert told.ceiling.low < 0.55 < told.ceiling.high
    assert told.noise_floor == pytest.approx(0.55 * 0.45 / 400, rel=0.1)
    untold = fit_law(entropy, reward, step)
    assert told.ceiling.high - told.ceiling.low < untold.ceiling.high - untold.ceiling.low


@pytest.mark.parametrize(
    ("slug", "change"),
    [
        ("entropy-constant", lambda s, h, r: (s, np.zeros_like(h), r)),
        ("reward-constant", lambda s, h, r: (s, h, np.zeros_like(r))),
        ("too-few-evaluations", lambda s, h, r: (s[:3], h[:3], r[:3])),
        ("too-few-evaluations", lambda s, h, r: (s, h * np.nan, r)),
        ("entropy-not-a-mean", lambda s, h, r: (s, h * 300, r)),
        ("steps-not-increasing", lambda s, h, r: (s[::-1], h, r)),
        ("lengths-differ", lambda s, h, r: (s, h[1:], r)),
    ],
)
def test_data_that_cannot_answer_are_refused(slug, change):
    step, entropy, reward = change(*world(20))
    with pytest.raises(FitError) as caught:
        fit_law(entropy, reward, step)
    assert caught.value.slug == slug
    assert caught.value.hint


@pytest.mark.parametrize(
    ("slug", "options"),
    [
        ("bad-level", {"level": 95}),
        ("bad-level", {"level": float("nan")}),
        ("bad-interval", {"interval": "bootstrap"}),
        ("bad-eval-size", {"eval_size": 0}),
        ("bad-eval-size", {"eval_size": 100, "interval": "ols"}),
    ],
)
def test_wrong_options_are_refused(slug, options):
    step, entropy, reward = world(20)
    with pytest.raises(UsageError) as caught:
        fit_law(entropy, reward, step, **options)
    assert caught.value.slug == slug


def test_eval_size_needs_a_rate():
    step, entropy, reward = world(20)
    with pytest.raises(FitError, match="expected a rate"):
        fit_law(entropy, 10 * reward, step, eval_size=100)


@pytest.mark.parametrize("entropy", [-0.1, HIGHEST_ENTROPY + 1, float("nan")])
def test_impossible_targets_are_refused(fit, entropy):
    with pytest.raises(UsageError, match="entropy"):
        fit.predict(entropy)
    with pytest.raises(UsageError, match="finite"):
        fit.entropy_for(float("inf"))
    with pytest.raises(UsageError, match="share"):
        fit.saturation(1.0)


def test_noise_free_data_give_a_point():
    step, entropy, reward = world(30, sd=0.0)
    exact = fit_law(entropy, reward, step, interval="ols")
    assert exact.a.value == pytest.approx(0.2, rel=1e-12)
    assert exact.ceiling.high - exact.ceiling.low < 1e-12
    # The course follows a path without noise to a few parts in 10^6.
    course = fit_law(entropy, reward, step)
    assert course.a.value == pytest.approx(0.2, rel=1e-6)
    assert course.ceiling.high - course.ceiling.low < 1e-5


def test_the_course_takes_out_noise_and_says_how_much():
    step, entropy, reward = world(200)
    noise = 0.03 * np.random.default_rng(7).standard_normal(200)
    noisy = entropy + noise
    fit = fit_law(noisy, reward, step)
    assert fit.entropy_noise == pytest.approx(np.std(noise), rel=0.1)
    assert np.std(fit.course - entropy) < 0.01
    np.testing.assert_array_equal(fit.entropy, noisy)
    assert fit_law(noisy, reward, step, interval="ols").entropy_noise is None
