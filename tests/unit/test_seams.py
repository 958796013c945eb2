"""Level shifts that are found, what is none, and the sizes of given ones."""

import numpy as np
import pytest
import statsmodels.api as sm

from entropylaw import Estimate, UsageError, find_level_shifts
from entropylaw.analysis.level_shift import FEWEST_TO_SEARCH, jumps, known_shifts, level_shift_steps
from entropylaw.documents.codec import decode, encode
from entropylaw.engine.constants import PRIOR
from entropylaw.engine.residuals import covariances, spacings
from entropylaw.results.fit import LevelShift
from tests.laws import fit_arrays


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


@pytest.mark.parametrize("n", [25, 80])
def test_jumps_are_those_of_generalised_least_squares(n):
    rng = np.random.default_rng(n)
    step = np.cumsum(rng.integers(1, 6, n)).astype(float)
    values = 0.5 + np.cumsum(0.01 * rng.standard_normal(n))
    trend = np.column_stack([np.ones(n), step / step[-1]])
    columns = (np.arange(n)[:, None] >= np.arange(5, n - 5, 7)).astype(float)
    gap = spacings(step, np.zeros(n))
    group, _ = covariances(gap.tobytes(), PRIOR)
    found = jumps(step, values, trend, columns)
    assert found.weight.sum(axis=0) == pytest.approx(1.0)
    time = np.concatenate([[0.0], np.cumsum(gap)])
    for k in range(0, group.white.size, 9):
        drift, noise = group.matrix(time, k)
        for i, column in enumerate(columns.T):
            design = np.column_stack([trend, column])
            reference = sm.GLS(values, design, sigma=drift + np.diag(noise)).fit()
            assert found.location[k, i] == pytest.approx(reference.params[-1], rel=1e-6, abs=1e-12)
            assert found.scale[k, i] == pytest.approx(reference.bse[-1], rel=1e-6)


def test_neighbouring_seams_are_one_cut():
    step = np.arange(60.0)
    assert level_shift_steps([seam(30.0, 1e-9, "entropy"), seam(31.0, 1e-4)], step) == (30.0,)
    assert level_shift_steps([seam(30.0, 1e-3, "entropy"), seam(31.0, 1e-4)], step) == (31.0,)
    assert level_shift_steps([seam(20.0, 1e-3), seam(40.0, 1e-4)], step) == (20.0, 40.0)
    assert level_shift_steps([], step) == ()


def test_a_given_shift_has_its_size():
    step, entropy, reward = run(reward_jump=0.15)
    (shift,) = known_shifts(fit_arrays(entropy, reward, step, seams=[150.0]).law)
    assert (shift.step, shift.after, shift.series) == (150.0, 145.0, "reward")
    assert shift.jump.low < 0.15 < shift.jump.high
    assert shift.p_value < 1e-4
    (none,) = known_shifts(fit_arrays(*run()[1:], run()[0], seams=[150.0]).law)
    assert none.p_value > 0.01


def test_numbers_are_those_after_the_last_shift():
    step, entropy, reward = run(reward_jump=0.15)
    fit = fit_arrays(entropy, reward, step, seams=[148.0])
    assert fit.law.shifts == (150.0,)
    assert fit.ceiling.low < 0.70 < fit.ceiling.high
    assert fit.ceiling.width < 0.15


def test_seams_given_in_any_order_and_between_evaluations():
    step, entropy, reward = run()
    assert fit_arrays(entropy, reward, step, seams=[201.0, 98.0, 100.0]).law.shifts == (100.0, 205.0)


@pytest.mark.parametrize("at", [0.0, -5.0, 296.0])
def test_a_seam_outside_the_run_is_refused(at):
    step, entropy, reward = run()
    with pytest.raises(UsageError, match="seam at step"):
        fit_arrays(entropy, reward, step, seams=[at])
