"""Level shifts that are found, what is none, and the law on either side."""

import numpy as np
import pytest
from scipy.stats import t as student

from entropylaw.analysis.level_shift import (
    FEWEST_TO_SEARCH,
    find_level_shifts,
    fit_segments,
    jump_tails,
    level_shift_steps,
)
from entropylaw.documents.codec import decode, encode
from entropylaw.engine.posterior import infer
from entropylaw.engine.prior import drift_grid
from entropylaw.errors import UsageError
from entropylaw.results import Estimate
from entropylaw.results.groups import LevelShift
from tests.conftest import LAB


def run(n=60, *, seed=0, drift=0.8, reward_jump=0.0, entropy_jump=0.0, at=30):
    """Steps, entropies and rewards with drift and noise in both, and a jump at evaluation ``at``."""
    rng = np.random.default_rng(seed)
    path = 0.05 + 0.95 * np.exp(-4 * np.arange(n) / n)
    series = []
    for sd in (0.01, 0.006):
        wander = np.zeros(n)
        for i in range(1, n):
            wander[i] = drift * wander[i - 1] + 0.6 * sd * rng.standard_normal()
        series.append(wander + sd * rng.standard_normal(n))
    after = np.arange(n) >= at
    entropy = np.maximum(path + series[0] + entropy_jump * after, 1e-3)
    return 5.0 * np.arange(n), entropy, 0.55 - 0.2 * np.expm1(path) + series[1] + reward_jump * after


def seam(step, p, series="reward"):
    jump = Estimate(value=0.1, low=0.0, high=0.2, level=0.95, method="")
    return LevelShift(series=series, step=step, after=step - 1, jump=jump, p_value=p)


@pytest.mark.parametrize(("series", "jump"), [("reward", -0.1), ("entropy", 0.3)])
def test_a_jump_is_found_where_it_is(series, jump):
    (found,) = find_level_shifts(*run(**{f"{series}_jump": jump}))
    assert (found.series, found.after, found.step) == (series, 145.0, 150.0)
    assert found.jump.low < jump < found.jump.high
    assert found.p_value < 1e-4
    assert encode(decode(LevelShift, encode(found))) == encode(found)


def test_two_jumps_are_both_found():
    step, entropy, reward = run(n=100, reward_jump=0.12, at=30)
    reward[70:] -= 0.15
    assert [found.step for found in find_level_shifts(step, entropy, reward)] == [150.0, 350.0]


def changed(where, change, n=60):
    step, entropy, reward = run(n)
    reward[where] += change
    return step, entropy, reward


@pytest.mark.parametrize(
    "series",
    [
        *(pytest.param(run(seed=seed, drift=0.9), id=f"drift {seed}") for seed in range(4)),
        pytest.param(changed(25, 0.3), id="one outlier"),
        pytest.param(changed(slice(8), -0.3, n=120), id="a steep start"),
        pytest.param(run(n=FEWEST_TO_SEARCH - 1, reward_jump=0.3, at=9), id="a short run"),
        pytest.param((run()[0], np.full(60, 0.3), run()[2]), id="a constant entropy"),
    ],
)
def test_what_is_no_level_shift(series):
    assert find_level_shifts(*series) == ()


def test_shift_and_scale_of_the_reward_change_nothing():
    step, entropy, reward = run(reward_jump=-0.1)
    (one,) = find_level_shifts(step, entropy, reward)
    (other,) = find_level_shifts(step, entropy, 100.0 * reward - 7.0)
    assert other.step == one.step
    assert other.p_value == pytest.approx(one.p_value, rel=1e-6)
    assert other.jump.value == pytest.approx(100.0 * one.jump.value, rel=1e-6)


@pytest.mark.parametrize("n", [25, 80])
def test_tails_are_those_of_the_engine(n):
    """Whitening all columns once gives what ``infer`` gives for each."""
    rng = np.random.default_rng(n)
    step = np.cumsum(rng.integers(1, 6, n)).astype(float)
    values = 0.5 + np.cumsum(0.01 * rng.standard_normal(n))
    trend = np.column_stack([np.ones(n), step / step[-1]])
    jumps = (np.arange(n)[:, None] >= np.arange(5, n - 5, 7)).astype(float)
    grid = drift_grid(step)
    found = jump_tails(step, values, trend, jumps, grid)
    for i, column in enumerate(jumps.T):
        (posterior,) = infer(step, np.column_stack([trend, column])[None], values[None], grid)
        each = posterior.functional(np.array([[0.0, 0.0, 1.0]]))
        tails = 2 * student.cdf(-np.abs(each.location[0] / each.scale[0]), each.df)
        assert found[i] == pytest.approx(posterior.weight @ tails, rel=1e-7)


def test_neighbouring_seams_are_one_cut():
    step = np.arange(60.0)
    assert level_shift_steps([seam(30.0, 1e-9, "entropy"), seam(31.0, 1e-4)], step) == (30.0,)
    assert level_shift_steps([seam(30.0, 1e-3, "entropy"), seam(31.0, 1e-4)], step) == (31.0,)
    assert level_shift_steps([seam(20.0, 1e-3), seam(40.0, 1e-4)], step) == (20.0, 40.0)
    assert level_shift_steps([], step) == ()


def test_segments_of_one_law_are_not_told_apart():
    fit = fit_segments(*run(), [150.0])
    assert [(s.first_step, s.last_step, s.n) for s in fit.segments] == [(0.0, 145.0, 30), (150.0, 295.0, 30)]
    assert fit.same.p_value > 0.05
    assert fit.note is None


def test_segments_of_two_laws_are_told_apart():
    fit = fit_segments(*run(reward_jump=0.15), [150.0], run="x")
    assert fit.same.p_value < 1e-4
    assert [segment.fit.run for segment in fit.segments] == ["x, segment 1", "x, segment 2"]


def test_seams_given_in_any_order_and_between_evaluations():
    step, entropy, reward = run()
    fit = fit_segments(step, entropy, reward, [201.0, 98.0, 100.0])
    assert fit.starts == (100.0, 205.0)
    assert [segment.n for segment in fit.segments] == [20, 21, 19]


def test_a_segment_that_is_too_short_is_refused_with_its_reason():
    fit = fit_segments(*run(), [150.0, 280.0])
    last = fit.segments[-1]
    assert (last.n, last.fit) == (4, None)
    assert "4 usable evaluations, expected at least 5" in last.refusal
    assert "1 of 3 segments could not be fitted" in fit.note
    assert fit.same is not None


def test_no_test_with_one_segment():
    fit = fit_segments(*run(), [])
    assert fit.same is None
    assert "1 of 1 segments could be fitted; a test needs two" in fit.note


@pytest.mark.parametrize("at", [0.0, -5.0, 296.0, float("nan")])
def test_a_seam_outside_the_run_is_refused(at):
    with pytest.raises(UsageError, match="seam at step"):
        fit_segments(*run(), [at])


def test_a_change_of_training_is_found_in_a_real_run():
    """Supervised training takes over after step 408 (data/lab, config of the run)."""
    from entropylaw.logs.load import read_all
    from entropylaw.roles.select import select

    series = select(read_all([LAB / "sft_after_grpo_s0" / "metrics.parquet"]).runs[0])
    found = find_level_shifts(series.step, series.entropy, series.reward)
    assert {(one.series, one.step) for one in found} == {("entropy", 416.0), ("reward", 416.0)}
