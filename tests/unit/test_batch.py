"""Python's functions for one log and for many runs: the same numbers, the same refusals."""

import numpy as np
import pandas as pd
import pytest

import entropylaw
from benchmarks.worlds import World, simulate
from entropylaw import FitError, UsageError
from entropylaw.analysis.batch import fit_laws
from tests.laws import own_law
from tests.typed import write_csv

NAMES = ("a", "b", "ceiling", "reward_now", "headroom")


def assert_same(batch, i, fit):
    assert batch.n[i] == fit.n
    for name in NAMES:
        ours, single = getattr(batch, name), getattr(fit, name)
        width = single.high - single.low
        for end in ("value", "low", "high"):
            # Relative to the number or to its interval's width, for numbers that are nearly 0.
            scale = max(abs(getattr(single, end)), width)
            assert abs(getattr(ours, end)[i] - getattr(single, end)) <= 1e-9 * scale
        error = np.nan if single.std_error is None else single.std_error
        assert ours.std_error[i] == pytest.approx(error, rel=1e-9, nan_ok=True)
    assert batch.drift_share[i] == pytest.approx(fit.residuals.drift_share, rel=1e-6)
    assert batch.effective_n[i] == pytest.approx(fit.residuals.effective_n, rel=1e-6)


@pytest.mark.parametrize("noise", [0.0, 1.0])
@pytest.mark.parametrize("n", [7, 30, 200])
def test_the_same_numbers_as_single_fits(n, noise):
    sample = simulate(World(path="power", n=n, rho=0.8, noise=noise, entropy_noise=0.01), 8, seed=3)
    batch = fit_laws(sample.entropy, sample.rewards, sample.step, level=0.9)
    for i in range(8):
        fit = own_law(sample.entropy[i], sample.rewards[i], sample.step, level=0.9)
        assert_same(batch, i, fit)
    assert not batch.refused


def test_runs_of_different_lengths_and_steps():
    rng = np.random.default_rng(4)
    runs = []
    for n in (12, 40, 12, 25):
        step = np.cumsum(rng.integers(1, 20, n)).astype(float)
        entropy = 0.1 + np.exp(-3 * np.arange(n) / n)
        runs.append((entropy, 0.6 - 0.2 * np.expm1(entropy) + 0.01 * rng.standard_normal(n), step))
    entropies, rewards, steps = (list(part) for part in zip(*runs, strict=True))
    batch = fit_laws(entropies, rewards, steps)
    for i, run in enumerate(runs):
        assert_same(batch, i, own_law(*run))


def test_a_run_that_cannot_be_fitted_is_named_and_the_others_are_fitted():
    sample = simulate(World(path="exponential", n=20, rho=0.5, noise=1.0), 3, seed=6)
    entropy, reward = sample.entropy.copy(), sample.rewards.copy()
    entropy[1] = 0.3
    reward[2, 4] = np.nan
    batch = fit_laws(entropy, reward)
    assert set(batch.refused) == {1}
    assert batch.refused[1].slug == "entropy-constant"
    assert np.isnan(batch.ceiling.value[1])
    assert list(batch.n) == [20, 0, 19]
    for i in (0, 2):
        assert_same(batch, i, own_law(entropy[i], reward[i]))


def test_arguments_that_do_not_belong_together():
    entropy = np.linspace(1, 0.1, 9)[None]
    with pytest.raises(FitError, match="2 of rewards"):
        fit_laws(entropy, np.ones((2, 9)))
    with pytest.raises(UsageError, match="level"):
        fit_laws(entropy, entropy, level=95)


def test_named_columns_are_used(tmp_path):
    log = write_csv(tmp_path / "x.csv", header="zork,ent,acc")
    with pytest.raises(entropylaw.InputError, match="no step column"):
        entropylaw.fit(log, entropy="ent", reward="acc")
    for source in (log, pd.read_csv(log)):
        assert entropylaw.fit(source, step="zork", entropy="ent", reward="acc").law.n == 40


def test_several_runs_are_named_and_so_is_their_source(tmp_path):
    table = pd.read_csv(write_csv(tmp_path / "x.csv"))
    both = pd.concat([table.assign(arm="a"), table.assign(arm="b")])
    both.to_csv(tmp_path / "both.csv")
    for source, name in ((both, "the table"), (tmp_path / "both.csv", "both.csv")):
        with pytest.raises(entropylaw.InputError, match=f"{name} holds 2 runs: a, b") as caught:
            entropylaw.fit(source, run="arm")
        assert caught.value.slug == "several-runs"
