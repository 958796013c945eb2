"""The state of a run: its word, and the numbers with it, of runs that are made so."""

from itertools import pairwise

import numpy as np
import pytest

import entropylaw
from entropylaw.analysis.state import state_of
from entropylaw.results.state import WORDS


def noisy(level, sd=0.02, seed=0):
    """A reward: a level (n,) with white noise."""
    return np.asarray(level) + np.random.default_rng(seed).normal(0.0, sd, len(level))


def correlated(n, rho, rng):
    """Noise (n,) of variance 1 with a correlation from one evaluation to the next."""
    values = [rng.normal()]
    for _ in range(n - 1):
        values.append(rho * values[-1] + rng.normal(0.0, np.sqrt(1.0 - rho**2)))
    return np.array(values)


def state(reward, **options):
    """The state of a reward at steps 0, 10, 20 …"""
    reward = np.asarray(reward, dtype=float)
    return state_of(10.0 * np.arange(reward.size), reward, **options)


def climb(n=40):
    return np.linspace(0.2, 0.6, n)


LEVELS = {
    "rising": climb(),
    "falling": np.linspace(0.6, 0.45, 40),
    "flat": np.full(60, 0.4),
    "broken": np.concatenate([climb(30), np.full(10, 0.05)]),
    "cannot tell": np.concatenate([np.full(8, 0.4), [0.41, 0.41]]),
}


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("seed", range(4))
def test_every_word_is_said_of_a_run_that_is_made_so(word, seed):
    found = state(noisy(LEVELS[word], seed=seed))
    assert found.word == word
    if word != "broken":
        assert found.now.low <= LEVELS[word][-1] <= found.now.high
    if len(LEVELS[word]) >= 40 and word != "broken":
        assert found.noise == pytest.approx(0.02, rel=0.3)


def test_a_run_of_fewer_than_8_evaluations_has_no_state():
    assert state(climb(7)) is None
    assert state(noisy(climb(8))).word in WORDS


@pytest.mark.parametrize("n", [8, 30, 300])
@pytest.mark.parametrize("value", [0.0, 0.1, -3.0, 1e-9, 1e6 + 0.1])
def test_a_constant_reward_is_flat_since_its_first_step(n, value):
    found = state(np.full(n, value))
    assert (found.word, found.since, found.keep.is_last) == ("flat", 0.0, True)
    rounding = max(10.0 * np.spacing(abs(value)), 1e-100)
    assert found.gained.value == pytest.approx(0.0, abs=rounding)
    assert found.now.value == pytest.approx(value, abs=rounding)
    assert found.would_show <= rounding
    assert found.noise <= rounding


@pytest.mark.parametrize("n", [20, 200])
@pytest.mark.parametrize("reward", ["constant", "rising"])
def test_a_log_whose_last_tenth_has_no_reward_is_broken(n, reward):
    values = np.full(n, 0.5) if reward == "constant" else noisy(climb(n))
    last = 10.0 * (n - 1)
    assert state(values, end=last).word != "broken"
    assert state(values, end=1.02 * last).word != "broken"
    found = state(values, end=1.5 * last)
    assert (found.word, found.since, found.lost) == ("broken", last, None)
    assert found.has_ended
    if reward == "rising":
        assert found.keep.step <= last


def test_a_reward_that_is_rarely_measured_is_not_gone():
    assert state(noisy(climb(8), sd=0.001), end=85.0).word == "rising"


FALLS = {
    "white noise": lambda level, rng: level + rng.normal(0.0, 0.02, level.size),
    "share of 16": lambda level, rng: rng.binomial(16, level) / 16.0,
    "negative": lambda level, rng: 4.0 * level - 5.0 + rng.normal(0.0, 0.1, level.size),
    "half of the values 0": lambda level, rng: level * rng.integers(0, 2, level.size) * 2.0,
}


@pytest.mark.parametrize("kind", FALLS)
@pytest.mark.parametrize("n", [60, 400])
def test_a_loss_is_found_with_where_it_began(kind, n):
    level = np.concatenate([np.linspace(0.1, 0.9, n // 2), np.full(n // 6, 0.9), np.full(n // 3, 0.01)])
    reward = FALLS[kind](level, np.random.default_rng(n))
    found = state(reward)
    assert found.word == "broken"
    first = n // 2 + n // 6
    assert 10.0 * (first - 4) <= found.since <= 10.0 * (first + 1)
    assert found.last_step == 10.0 * (reward.size - 1)
    best, now = found.lost
    assert best > now
    assert not found.has_ended
    assert not found.keep.is_last
    assert found.keep.step < found.since
    assert state(reward, is_score=False).word != "broken"


@pytest.mark.parametrize("n", [12, 60, 400])
@pytest.mark.parametrize("left", [0.05, 0.22])
def test_a_loss_after_two_evaluations_is_found(n, left):
    # Of .22 the mean of the first three is less than half gone.
    reward = noisy(np.concatenate([np.full(2, 0.5), np.full(n - 2, left)]), sd=0.005)
    found = state(reward)
    assert found.word == "broken"
    # With so few evaluations before the loss it is the largest reward.
    assert found.keep.step == 10.0 * np.argmax(reward)


@pytest.mark.parametrize("seed", range(5))
def test_the_step_to_keep_of_a_lost_run_is_by_the_level_before_the_loss(seed):
    reward = noisy(np.concatenate([np.linspace(0.2, 0.7, 30), np.full(30, 0.0)]), sd=0.01, seed=seed)
    reward[12] = 0.75
    found = state(reward)
    assert (found.word, found.since) == ("broken", 300.0)
    # The largest reward is an outlier at step 120, and the level of all evaluations is highest before 280.
    assert 280.0 <= found.keep.step <= 290.0
    assert found.keep.level == pytest.approx(0.69, abs=0.03)


@pytest.mark.parametrize("kind", FALLS)
@pytest.mark.parametrize("n", [40, 120])
def test_neither_a_flat_reward_nor_one_that_has_come_back_is_lost(kind, n):
    flat = np.full(n, 0.4)
    back = np.concatenate([climb(n // 2), np.full(n // 10, 0.1), np.full(n - n // 2 - n // 10, 0.6)])
    for seed in range(4):
        rng = np.random.default_rng(seed)
        assert state(FALLS[kind](flat, rng)).word != "broken"
        assert state(FALLS[kind](back, rng)).word != "broken"


def test_a_peak_in_correlated_noise_is_not_lost():
    """It falls by a quarter of what was gained; in white noise as large as this one it would be lost."""
    x = np.linspace(0.0, 1.0, 120)
    level = 0.2 + 0.2 * np.minimum(x / 0.5, 1.0) - 0.05 * np.maximum(x - 0.5, 0.0) / 0.5
    rng = np.random.default_rng(0)
    words = [state(level + 0.08 * correlated(120, 0.6, rng)).word for _ in range(30)]
    assert words.count("broken") <= 1


def test_half_of_what_was_gained_decides_and_not_the_size_of_a_fall():
    noise = np.random.default_rng(0).normal(0.0, 0.005, 60)
    level = np.concatenate([np.linspace(0.1, 0.9, 40), np.full(20, 0.6)])
    assert state(level + noise).word != "broken"
    level[40:] = 0.4
    found = state(level + noise)
    assert (found.word, found.since) == ("broken", 400.0)
    assert found.lost == pytest.approx((0.9, 0.4), abs=0.05)


def test_the_step_to_keep_is_that_of_a_peak_and_else_the_last():
    x = np.linspace(0.0, 1.0, 50)
    peak = noisy(0.8 - 1.2 * (x - 0.6) ** 2, sd=0.01)
    found = state(peak)
    assert not found.keep.is_last
    assert found.keep.step == pytest.approx(300.0, abs=60.0)
    assert found.keep.p_better > 0.95
    assert found.keep.level == pytest.approx(0.8, abs=0.02)
    rising = state(noisy(climb()))
    assert (rising.keep.step, rising.keep.is_last, rising.keep.p_better) == (390.0, True, 0.0)
    assert state(peak, is_score=False).keep is None
    kept = [state(noisy(np.full(60, 0.4), seed=seed)).keep for seed in range(20)]
    assert all(keep.is_last for keep in kept)


def numbers(found, unit=1.0, offset=0.0):
    """The numbers of a state, in another unit."""
    differences = [found.change, found.gained]
    ends = [value for estimate in differences for value in (estimate.value, estimate.low, estimate.high)]
    of_level = [found.now.value, found.now.low, found.now.high, found.keep.level]
    return np.array(
        [unit * value for value in (*ends, found.would_show, found.gain, found.noise)]
        + [unit * value + offset for value in of_level]
    )


@pytest.mark.parametrize("n", [12, 60, 200])
@pytest.mark.parametrize("shape", ["rising", "falling", "flat", "peak"])
@pytest.mark.parametrize(("unit", "offset"), [(100.0, 0.0), (0.01, -7.0), (3e5, 1e7)])
def test_the_units_of_steps_and_of_a_raw_reward_change_nothing(n, shape, unit, offset):
    x = np.linspace(0.0, 1.0, n)
    peak = np.minimum(x / 0.6, 1.0) - 0.3 * np.maximum(x - 0.6, 0.0) / 0.4
    level = {"rising": x, "falling": 1.0 - x, "flat": 0.0 * x, "peak": peak}[shape]
    reward = noisy(level, sd=0.1, seed=n) - 5.0
    step = np.cumsum(np.random.default_rng(n).integers(1, 4, n)).astype(float)
    one = state_of(step, reward)
    other = state_of(1e5 + 0.25 * step, offset + unit * reward)
    assert (one.word, one.keep.is_last) == (other.word, other.keep.is_last)
    assert other.since == pytest.approx(1e5 + 0.25 * one.since)
    assert other.keep.step == pytest.approx(1e5 + 0.25 * one.keep.step)
    np.testing.assert_allclose(numbers(other), numbers(one, unit, offset), rtol=1e-5, atol=1e-5 * unit)


@pytest.mark.parametrize("sign", [1.0, -0.3])
def test_no_word_follows_another_at_once(sign):
    """Two looks: a word is said where the log, and the log less its last evaluation, agree.

    One look would call the level flat, and at the next evaluation rising or falling.
    """
    x = np.linspace(0.0, 1.0, 50)
    reward = noisy(0.5 + 0.3 * sign * x**3, sd=0.001)
    words = [state(reward[:n], gain=0.02).word for n in range(9, 51)]
    assert (words[0], words[-1]) == ("flat", "rising" if sign > 0 else "falling")
    changed = [(before, now) for before, now in pairwise(words) if before != now]
    assert changed == [("flat", "cannot tell"), ("cannot tell", words[-1])]


@pytest.mark.parametrize(
    ("reward", "options", "gain"),
    [
        (np.arange(20) % 4 / 32.0, {}, 0.01),
        (0.3 + 0.1 * np.sin(np.arange(20.0)), {"max_reward": 1.0}, 0.01),
        (0.3 + 0.1 * np.sin(np.arange(20.0)), {"gain": 0.07}, 0.07),
    ],
)
def test_the_gain_that_counts_of_a_share_is_a_hundredth(reward, options, gain):
    assert state(reward, **options).gain == gain


@pytest.mark.parametrize("level", [0.005, 0.5, 0.995])
def test_the_level_now_is_inside_of_what_is_possible(level):
    share = np.random.default_rng(0).binomial(64, level, 60) / 64.0
    found = state(share, max_reward=1.0)
    assert 0.0 <= found.now.low <= found.now.value <= found.now.high <= 1.0


def test_a_wider_interval_has_a_higher_level():
    reward = noisy(climb())
    narrow = state(reward, level=0.5)
    wide = state(reward, level=0.99)
    assert wide.gained.width > 2.0 * narrow.gained.width
    assert (narrow.word, narrow.gained.level) == ("rising", 0.5)


@pytest.mark.parametrize("rise", [0.0, 0.1, 0.4])
def test_what_was_gained_is_covered(rise):
    hits = []
    for seed in range(20):
        found = state(noisy(0.3 + rise * np.linspace(0.0, 1.0, 40), sd=0.03, seed=seed))
        hits.append(found.gained.low <= rise <= found.gained.high)
    assert np.mean(hits) >= 0.9


@pytest.mark.parametrize("value", [0.0, 0.62, -3.0])
def test_a_reward_that_never_moved_is_said_to_be_the_same(value):
    fit = entropylaw.fit(reward=np.full(30, value), step=np.arange(30.0))
    assert "the same at all evaluations since step 0" in " ".join(str(fit).split())
    assert (fit.state.word, fit.no_forecast is None) == ("flat", False)
