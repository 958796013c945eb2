"""Forecasts of simulated runs whose future is known, and refusals."""

import numpy as np
import pytest

from entropylaw import FitError, UsageError, forecast
from entropylaw.analysis.entropy_ahead import entropy_ahead
from tests.hostile import refused
from tests.laws import fit_arrays


def a_run(n=60, noise=0.003, seed=5):
    """A climb that flattens out, with an entropy that falls to a floor."""
    rng = np.random.default_rng(seed)
    step = 10.0 * np.arange(n)
    entropy = 0.05 + 0.75 * np.exp(-3.0 * step / step[-1])
    reward = 0.6 - 0.5 * np.expm1(entropy) + rng.normal(0, noise, n)
    return step, entropy, reward


def early(run, k):
    return tuple(column[:k] for column in run)


def peak(n=60, noise=0.005, top=30):
    rng = np.random.default_rng(2)
    step = 10.0 * np.arange(n)
    return step, 0.7 - 0.4 * ((np.arange(n) - top) / n) ** 2 * 4 + rng.normal(0, noise, n)


def test_a_climb_is_forecast_to_go_on_and_a_fall_not():
    step = 10.0 * np.arange(40)
    noise = np.random.default_rng(0).normal(0, 0.004, 40)
    up = forecast(step, None, 0.2 + 0.001 * step + noise, at_step=600)
    down = forecast(step, None, 0.6 - 0.001 * step + noise, at_step=600)
    assert up.reward.value > up.now + 0.05
    assert up.p_gain > 0.7 > 0.1 > down.p_gain
    assert up.reward.low < 0.2 + 0.6 < up.reward.high
    assert (up.entropies, up.spent, up.law) == ((), None, None)
    # No share of something counted: a tenth of the level's range.
    assert up.gain == pytest.approx(0.1 * 0.39, rel=0.05)


def test_one_step_gives_a_number_and_several_a_tuple():
    run = a_run()
    one, several = forecast(*run, at_step=700), forecast(*run, at_step=[700, 900])
    assert one.reward == several.reward[0]
    assert one.p_gain == several.p_gain[0]
    assert len(several.reward) == len(several.p_gain) == len(several.entropies) == 2


def test_intervals_grow_with_the_horizon_and_with_the_level():
    run = a_run()
    near, far = forecast(*run, at_step=[600, 1500]).reward
    assert near.width < far.width
    assert forecast(*run, at_step=1500, level=0.5).reward.width < 0.5 * far.width


def test_a_larger_gain_is_less_probable_and_one_beyond_the_largest_reward_impossible():
    run = a_run()
    chances = [forecast(*run, at_step=900, gain=gain).p_gain for gain in (0.001, 0.01, 0.1)]
    assert chances == sorted(chances, reverse=True)
    assert forecast(*run, at_step=900, gain=0.9).p_gain < 0.01
    step, _, reward = run
    share = np.clip(reward + 0.3, 0, 1)
    assert forecast(step, None, share, at_step=900, gain=0.9, max_reward=1).p_gain == 0.0


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_the_interval_has_equal_tails_of_a_distribution_that_is_wider_above_a_climb(level):
    step = 10.0 * np.arange(60)
    flat = np.full(step.size, 0.5) + 0.01 * np.random.default_rng(1).normal(size=step.size)
    climb = 0.2 + 0.001 * step + np.random.default_rng(0).normal(0, 0.004, step.size)
    for rewards in (flat, climb):
        made = forecast(step, None, rewards, at_step=900, level=level).reward
        above = made.high - made.value
        below = made.value - made.low
        assert above > 0 < below
        assert (above > 1.2 * below) is (rewards is climb)


def test_p_ever_is_at_least_that_at_each_step():
    step, _, reward = a_run()
    for rewards in (reward, 1.0 - reward, peak()[1]):
        made = forecast(step, None, rewards, at_step=[620, 700, 900])
        assert made.p_ever >= max(made.p_gain)
        assert forecast(step, None, rewards, at_step=620).p_ever <= made.p_ever + 1e-9


def test_a_flat_run_is_not_given_a_gain_by_the_noise_of_an_evaluation():
    step = 10.0 * np.arange(400)
    noisy = 0.5 + 0.02 * np.random.default_rng(3).normal(size=400)
    made = forecast(step, None, noisy, at_step=5985)
    assert made.gain == pytest.approx(0.01, rel=0.2)
    assert made.p_gain < 0.1


def test_ends_are_inside_what_the_data_show():
    rng = np.random.default_rng(4)
    step = 10.0 * np.arange(60)
    touching = np.clip(0.5 + 0.01 * np.arange(60) + 0.03 * rng.normal(size=60), 0.0, 0.99)
    falling = np.clip(0.3 - 0.006 * np.arange(60) + 0.02 * rng.normal(size=60), 0.0, None)
    for at in (600, 900, 2500):
        assert forecast(step, None, touching, at_step=at).reward.high <= 1.0
        assert forecast(step, None, falling, at_step=at).reward.low >= 0.0
    assert forecast(step, None, touching + 1.0, at_step=900).reward.high > 1.0
    assert forecast(step, None, falling - 1.0, at_step=900).reward.low < -1.0


def test_a_change_goes_on_where_it_is_many_standard_deviations():
    step, noise = 10.0 * np.arange(60), np.random.default_rng(5).normal(size=60)
    turned = 0.8 - 0.001 * np.abs(step - 350) + 0.004 * noise
    after = forecast(step, None, turned, at_step=885)
    assert after.reward.value < after.now - 0.02
    assert after.p_gain < 0.1
    # A change within the noise does not.
    for seed in range(6):
        ahead = forecast(step, None, 0.5 + 0.02 * np.random.default_rng(seed).normal(size=60), at_step=885)
        assert abs(ahead.reward.value - ahead.now) < 0.01


def test_the_entropy_does_not_change_the_forecast_and_the_law_is_beside_it():
    step, entropy, reward = a_run()
    without = forecast(step, None, reward, at_step=900)
    continued = forecast(step, entropy, reward, at_step=900)
    given = forecast(step, entropy, reward, at_step=900, entropy_path=0.05)
    assert without.rewards == continued.rewards == given.rewards
    assert given.law.rewards[0] == pytest.approx(0.6 - 0.5 * np.expm1(0.05), abs=0.01)
    assert given.law.error < given.law.last_value_error
    assert (given.entropies[0].low, given.entropies[0].note) == (None, "given")
    assert continued.entropies[0].low < continued.entropies[0].value < continued.entropies[0].high


@pytest.mark.parametrize("most", [None, 2.0])
def test_a_reward_in_other_units_has_the_same_forecast(most):
    step, entropy, reward = a_run()
    rate = np.clip(reward / 2 + 0.4, 0, 1)
    for factor in (100.0, 1e-3):
        one = fit_arrays(entropy, rate, step, max_reward=most, gain=0.01)
        limits = {"max_reward": most and factor * most, "gain": factor * 0.01}
        two = fit_arrays(entropy, factor * rate, step, **limits)
        for name in ("value", "low", "high"):
            scaled = factor * getattr(one.forecast.reward, name)
            assert getattr(two.forecast.reward, name) == pytest.approx(scaled)
        assert two.forecast.p_gain == pytest.approx(one.forecast.p_gain)
        assert two.forecast.p_ever == pytest.approx(one.forecast.p_ever)
        assert two.forecast.law.rewards[0] == pytest.approx(factor * one.forecast.law.rewards[0])


def test_a_long_run_is_averaged_over_blocks_and_says_so():
    found = forecast(*a_run(400), at_step=6000)
    assert (found.n, found.block) == (45, 9)
    assert "blocks of 9" in found.notes[0]


def test_a_share_stays_between_0_and_the_largest_reward():
    step, entropy, reward = a_run()
    high = np.clip(reward + 0.38, 0, 1)
    found = forecast(step, entropy, high, at_step=[700, 2500], max_reward=1)
    assert all(0 <= each.low < each.high <= 1 for each in found.rewards)


CHANGES = {
    "few": (lambda s, h, r: (s[:7], h[:7], r[:7], {"at_step": 100}), FitError, "too-few-evaluations"),
    "no steps": (lambda s, h, r: (None, h, r, {"at_step": 900}), FitError, "forecast-needs-steps"),
    "behind": (lambda s, h, r: (s, h, r, {"at_step": 590}), UsageError, "step-not-ahead"),
    "none": (lambda s, h, r: (s, h, r, {"at_step": []}), UsageError, "step-not-ahead"),
    "far": (lambda s, h, r: (s, h, r, {"at_step": 3000}), UsageError, "step-too-far"),
    "constant": (lambda s, h, r: (s, h, 0 * r, {"at_step": 900}), FitError, "reward-constant"),
    "unknown": (lambda s, h, r: (s, h, r * np.nan, {"at_step": 900}), FitError, "too-few-evaluations"),
    "order": (lambda s, h, r: (s[::-1], h, r, {"at_step": 900}), FitError, "steps-not-increasing"),
    "largest": (lambda s, h, r: (s, h, r, {"at_step": 900, "max_reward": 0.1}), FitError, "reward-above-max"),
    "level": (lambda s, h, r: (s, h, r, {"at_step": 900, "level": 1}), UsageError, "bad-level"),
    "gain": (lambda s, h, r: (s, h, r, {"at_step": 900, "gain": 0}), UsageError, "bad-gain"),
    "path": (
        lambda s, h, r: (s, h, r, {"at_step": 900, "entropy_path": [0.1, 0.2]}),
        UsageError,
        "lengths-differ",
    ),
    "nats": (lambda s, h, r: (s, h, r, {"at_step": 900, "entropy_path": -1}), UsageError, "bad-entropy"),
}


@pytest.mark.parametrize(("change", "kind", "slug"), CHANGES.values(), ids=CHANGES)
def test_refusals(change, kind, slug):
    step, entropy, reward, how = change(*a_run())
    refused(slug, forecast, step, entropy, reward, **how, kind=kind)


def test_missing_values_are_counted():
    step, entropy, reward = a_run()
    reward = np.where(step == 50, np.nan, reward)
    found = forecast(step, entropy, reward, at_step=900)
    assert found.dropped == {"reward is missing or not a number": 1}


def test_a_decay_is_continued_and_is_spent_where_it_falls_to_the_target():
    step = np.arange(40.0)
    entropy = np.exp(-0.05 * step) * np.exp(np.random.default_rng(0).normal(0, 0.01, 40))
    path, spent = entropy_ahead(step, entropy, np.array([45.0, 60.0]), level=0.95)
    for point, truth in zip(path, np.exp(-0.05 * np.array([45.0, 60.0])), strict=True):
        assert point.low < truth < point.high
    # 95 % of exp(H) − 1 is spent about 60 steps later.
    assert spent.low < 39 + np.log(20) / 0.05
    # That it slows down before cannot be excluded.
    assert spent.high is None
    assert spent.value == pytest.approx(99, rel=0.15)


def test_an_entropy_that_stays_is_never_spent():
    step = np.arange(40.0)
    entropy = 0.4 + np.random.default_rng(0).normal(0, 0.01, 40)
    _, spent = entropy_ahead(step, entropy, np.array([50.0]), level=0.95)
    assert (spent.value, spent.high) == (None, None)
    assert "are not reached within ten lengths of the run" in spent.note


def test_a_fit_has_the_forecast_of_half_as_many_steps_again_or_of_the_planned_end():
    step, entropy, reward = a_run()
    assert fit_arrays(entropy, reward, step).forecast.step == (885.0,)
    assert fit_arrays(entropy, reward, step, gain=0.2).forecast.gain == 0.2
    rate = np.clip(reward / 2 + 0.4, 0, 1)
    assert fit_arrays(entropy, rate, step, max_reward=1).forecast.gain == 0.01
    assert fit_arrays(entropy, reward, step, steps=1000).forecast.step == (1000.0,)
    behind = fit_arrays(entropy, reward, step, steps=100)
    assert behind.forecast is None
    assert "expected one after" in behind.no_forecast
    short = fit_arrays(entropy[:6], reward[:6], step[:6])
    assert short.forecast is None
    assert "a forecast needs at least 8" in short.no_forecast
