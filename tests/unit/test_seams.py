"""Level shifts that are found, what is none, and the sizes of given ones."""

import numpy as np
import pandas as pd
import pytest

from entropylaw import find_level_shifts, fit_law, fit_logs
from entropylaw.analysis.level_shift import jumps
from entropylaw.engine.constants import PRIOR
from entropylaw.engine.residuals import covariances, spacings
from entropylaw.errors import UsageError
from entropylaw.options import FitOptions


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


def fitted(series, **options):
    """The fit of a log."""
    step, entropy, reward = series
    frame = pd.DataFrame({"step": step, "entropy": entropy, "val_acc": reward})
    return fit_logs([frame], FitOptions(**options)).runs[0].result


@pytest.mark.parametrize(("series", "jump"), [("reward", -0.1), ("entropy", 0.3)])
def test_a_jump_is_found_where_it_is(series, jump):
    (found,) = find_level_shifts(*run(**{f"{series}_jump": jump}))
    assert (found.series, found.after, found.step) == (series, 145.0, 150.0)
    assert found.jump.low < jump < found.jump.high
    assert found.p_value < 1e-4


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
        pytest.param(run(n=19, reward_jump=0.3, at=9), id="a short run"),
        pytest.param((run()[0], np.full(60, 0.3), run()[2]), id="a constant entropy"),
    ],
)
def test_what_is_no_level_shift(series):
    assert find_level_shifts(*series) == ()


@pytest.mark.parametrize("n", [25, 80])
def test_jumps_are_those_of_generalised_least_squares(n):
    import statsmodels.api as sm

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


@pytest.mark.parametrize(("entropy_jump", "reward_jump"), [(0.3, -0.06), (0.08, -0.3)])
def test_of_neighbouring_seams_the_clearest_is_the_cut(entropy_jump, reward_jump):
    """The reward jumps three evaluations after the entropy."""
    step, entropy, reward = run(entropy_jump=entropy_jump)
    reward[33:] += reward_jump
    shifts = find_level_shifts(step, entropy, reward)
    assert {shift.step for shift in shifts} == {150.0, 165.0}
    clearest = min(shifts, key=lambda shift: shift.p_value)
    found = fitted((step, entropy, reward), find_seams=True)
    assert found.law.shifts == (clearest.step,) == (150.0 if entropy_jump > 0.1 else 165.0,)


def test_a_run_without_seams_has_no_cut():
    assert fitted(run(), find_seams=True).law.shifts == ()


def test_a_given_shift_has_its_size():
    (shift,) = fitted(run(reward_jump=0.15), seams=(150.0,)).level_shifts
    assert (shift.step, shift.after, shift.series) == (150.0, 145.0, "reward")
    assert shift.jump.low < 0.15 < shift.jump.high
    assert shift.p_value < 1e-4
    (none,) = fitted(run(), seams=(150.0,)).level_shifts
    assert none.p_value > 0.01


def test_numbers_are_those_after_the_last_shift():
    step, entropy, reward = run(reward_jump=0.15)
    found = fit_law(entropy, reward, step, seams=[148.0])
    assert found.law.shifts == (150.0,)
    assert found.ceiling.low < 0.70 < found.ceiling.high
    assert found.ceiling.width < 0.15


def test_seams_given_in_any_order_and_between_evaluations():
    step, entropy, reward = run()
    assert fit_law(entropy, reward, step, seams=[201.0, 98.0, 100.0]).law.shifts == (100.0, 205.0)


@pytest.mark.parametrize("at", [0.0, -5.0, 296.0, float("nan")])
def test_a_seam_outside_the_run_is_refused(at):
    step, entropy, reward = run()
    with pytest.raises(UsageError, match="seam at step"):
        fit_law(entropy, reward, step, seams=[at])
