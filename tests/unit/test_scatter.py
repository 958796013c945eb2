"""A scatter that changes along the run is seen, and a constant one is not taken for such."""

import numpy as np
import pytest

from entropylaw import fit_law
from entropylaw.analysis.law.scatter import scatter_of_thirds
from entropylaw.analysis.rivals import fit_forms
from entropylaw.engine.prior import white_grid
from tests.laws import own_law

N = 150
STEP = 5.0 * np.arange(N)
ENTROPY = 0.1 + 1.5 * np.exp(-4 * np.arange(N) / N)
LAW = 0.6 - 0.1 * np.expm1(ENTROPY)


def run(seed, scale=1.0):
    return LAW + 0.01 * scale * np.random.default_rng(seed).standard_normal(N)


def test_without_drift_it_is_the_mean_absolute_residual_of_least_squares():
    reward = run(0)
    fits = fit_forms(STEP, ENTROPY, reward, white_grid(), names=("law",))
    found, p = scatter_of_thirds(STEP, reward, white_grid(), fits)
    x = np.column_stack([np.ones(N), np.exp(ENTROPY)])
    size = np.sqrt(np.pi / 2) * np.abs(reward - x @ np.linalg.lstsq(x, reward, rcond=None)[0])
    assert found == pytest.approx([size[:50].mean(), size[50:100].mean(), size[100:].mean()], rel=1e-9)
    assert found == pytest.approx([0.01] * 3, rel=0.25)
    assert p > 0.01


def test_a_scatter_that_shrinks_is_a_caution_and_a_constant_one_is_none():
    shrinking = np.exp(-2.0 * np.arange(N) / N)
    seen = {scale: [] for scale in ("falls", "rises", "constant")}
    for seed in range(12):
        for name, scale in (("falls", shrinking), ("rises", shrinking[::-1]), ("constant", 1.0)):
            fit = fit_law(ENTROPY, run(seed, scale), STEP)
            seen[name] += [one.sentence for one in fit.findings if one.code == "scatter-changes"]
    assert not seen["constant"]
    assert len(seen["falls"]) >= 10
    assert all("falls from" in one and one.endswith("the intervals allow for it") for one in seen["falls"])
    assert len(seen["rises"]) >= 10
    assert all("rises from" in one and one.endswith("take it as constant") for one in seen["rises"])


def test_drift_is_no_change_of_the_scatter():
    rng = np.random.default_rng(4)
    fired = 0
    for _ in range(20):
        drift = np.zeros(N)
        for i in range(1, N):
            drift[i] = 0.95 * drift[i - 1] + 0.005 * rng.standard_normal()
        fired += own_law(ENTROPY, run(int(rng.integers(1e6))) + drift, STEP).residuals.p_thirds < 0.001
    assert fired <= 1


def test_the_unit_of_the_reward_scales_it():
    one, other = (own_law(ENTROPY, scale * run(1), STEP).residuals for scale in (1.0, 100.0))
    assert other.thirds == pytest.approx([100.0 * each for each in one.thirds], rel=1e-6)
    assert other.p_thirds == pytest.approx(one.p_thirds, rel=1e-6)
    assert one.scatter_ratio == one.thirds[2] / one.thirds[0]


def test_with_a_known_noise_it_is_in_units_of_the_reward():
    reward = np.random.default_rng(2).binomial(400, LAW) / 400
    residuals = own_law(ENTROPY, reward, STEP, eval_size=400).residuals
    assert np.mean(residuals.thirds) == pytest.approx(np.sqrt(0.24 / 400), rel=0.25)


@pytest.mark.parametrize("reward", [run(0)[::11], LAW], ids=["few evaluations", "no residual"])
def test_without_an_answer_there_is_none(reward):
    some = slice(None, None, 11) if reward.size < N else slice(None)
    residuals = own_law(ENTROPY[some], reward, STEP[some]).residuals
    assert (residuals.thirds, residuals.p_thirds, residuals.scatter_ratio) == (None, None, None)
