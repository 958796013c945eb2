"""The level of a series against dense algebra, scipy's t distributions, and scipy's smoothing spline."""

import tracemalloc

import numpy as np
import pytest
from scipy import stats
from scipy.interpolate import make_smoothing_spline

from entropylaw.engine import levels
from entropylaw.engine.levels import blocks_of, level_now, levels_of, smoothed_entropy

NEARLY_NEVER = 1e-100
"""A prior probability with which a model is left out; the logarithm of 0 would warn."""


def values(n=40, seed=3):
    rng = np.random.default_rng(seed)
    step = np.arange(float(n))
    return step, np.sin(12.0 * step / (n * 4.0)) + rng.normal(0, 0.1, n)


@pytest.fixture
def only(monkeypatch):
    """Leave one model of the grid: one kind of level, one size of it, one kind of noise."""

    def leave(kind, size=1.0, power=1.0, *, correlated=False):
        monkeypatch.setattr(levels, "CONSTANT", {"constant": 1.0 - 1e-12}.get(kind, NEARLY_NEVER))
        monkeypatch.setattr(levels, "WALK", {"walk": 1.0 - 1e-12, "constant": 1e-13}.get(kind, NEARLY_NEVER))
        monkeypatch.setattr(levels, "WALKS", (size,))
        monkeypatch.setattr(levels, "TRENDS", (size,))
        monkeypatch.setattr(levels, "POWERS", (power,))
        monkeypatch.setattr(levels, "LEAST_CORRELATED", 1.0 / NEARLY_NEVER if correlated else NEARLY_NEVER)

    return leave


def kernel_of(kind, x, size, power):
    """Covariance of the level less its first value, written out."""
    if kind == "constant":
        return np.zeros((x.size, x.size))
    if kind == "walk":
        return size * np.minimum.outer(x, x)
    t = x**power
    integral = np.empty((x.size, x.size))
    for i, one in enumerate(t):
        for j, other in enumerate(t):
            low, high = sorted((one, other))
            # A slope of variance 1/2, and the integral of a walk whose variance grows by 3/2 per unit of t.
            integral[i, j] = 0.5 * one * other + 1.5 * (low**2 * high / 2.0 - low**3 / 6.0)
    return size * integral


def noise_of(counts, size, *, correlated):
    """Covariance of the noise of blocks, in variances of the noise of a full one."""
    apart = size * np.abs(np.subtract.outer(np.arange(counts.size), np.arange(counts.size)))
    noise = np.eye(counts.size)
    if correlated:
        noise = 0.1 * np.eye(counts.size) + 0.9 * np.exp(-apart / 4.0)
    uneven = np.sqrt(size / counts)
    return noise * np.outer(uneven, uneven)


def dense(kernel, noise, y):
    """Mean and squared scales (p, p) of the level: the equations of universal kriging, solved as they are."""
    m = y.size
    system = np.zeros((m + 1, m + 1))
    system[:m, :m] = kernel[:m, :m] + noise
    system[m, :m] = 1.0
    system[:m, m] = 1.0
    right = np.vstack([kernel[:m], np.ones(kernel.shape[0])])
    inverse = np.linalg.inv(system)
    mean = right.T @ inverse @ np.append(y, 0.0)
    variance = y @ inverse[:m, :m] @ y / (m - 1)
    return mean, variance * (kernel - right.T @ inverse @ right), variance


MODELS = [
    ("constant", 1.0, 1.0, False),
    ("constant", 1.0, 1.0, True),
    ("walk", 4.0, 1.0, False),
    ("walk", 250.0, 1.0, True),
    ("trend", 20.0, 1.0, False),
    ("trend", 2000.0, 0.4, False),
    ("trend", 200.0, 0.4, True),
]


@pytest.mark.parametrize("n", [25, 203])
@pytest.mark.parametrize(("kind", "size", "power", "correlated"), MODELS)
def test_mean_and_covariance_are_those_of_dense_algebra(only, n, kind, size, power, correlated):
    only(kind, size, power, correlated=correlated)
    step, y = values(n)
    later = step[-1] * np.array([1.1, 1.5])
    found = levels_of(step, y, later)
    blocks = blocks_of(step, y)
    assert (found.weight.size, found.df) == (1, blocks.step.size - 1)
    every = np.concatenate([blocks.step, later])
    x = (every - every[0]) / (blocks.step[-1] - every[0])
    noise = noise_of(blocks.count, blocks.size, correlated=correlated)
    mean, covariance, variance = dense(kernel_of(kind, x, size, power), noise, blocks.value)
    np.testing.assert_allclose(found.level(), mean, atol=1e-8)
    m = blocks.step.size
    close = 1e-8 * variance * max(size, 1.0)
    np.testing.assert_allclose(found.covariance[0], covariance[:m, :m], atol=close)
    np.testing.assert_allclose(found.variance[0], np.diag(covariance), atol=close)
    of_one = variance * np.trace(noise) / blocks.step.size * blocks.size
    assert found.noise == pytest.approx(np.sqrt(of_one))


def test_a_trend_alone_is_the_smoothing_spline(only):
    """The prior of the slope is wide there, which reaches the first values alone."""
    size = 20000.0
    only("trend", size)
    step, y = values()
    x = step / step[-1]
    spline = make_smoothing_spline(x, y, lam=1.0 / (1.5 * size))
    found = levels_of(step, y, step[-1] * np.array([1.1, 1.5]))
    np.testing.assert_allclose(found.level()[15:40], spline(x)[15:], atol=1e-6)
    ends = spline(1.0) + spline(1.0, 1) * np.array([0.1, 0.5])
    np.testing.assert_allclose(found.level()[40:], ends, atol=1e-8)


def log_predicted(kernel, noise, y):
    """The logarithm of the densities of all values but two, each a t distribution given those before."""
    total = 0.0
    for m in range(2, y.size):
        mean, squares, variance = dense(kernel[: m + 1, : m + 1], noise[:m, :m], y[:m])
        # Independent noise: nothing of that of the others is in the next one.
        scale = np.sqrt(squares[m, m] + variance * noise[m, m])
        total += stats.t.logpdf(y[m], m - 1, mean[m], scale)
    return total


def test_weights_are_those_of_one_prediction_after_the_other(only, monkeypatch):
    """The restricted likelihood of the whole is a product of t densities of each value given those before."""
    only("walk")
    monkeypatch.setattr(levels, "CONSTANT", 0.3)
    monkeypatch.setattr(levels, "WALK", 0.7 - 1e-12)
    sizes = (0.5, 4.0, 30.0)
    monkeypatch.setattr(levels, "WALKS", sizes)
    step, y = values(12, seed=1)
    x = step / step[-1]
    logs = [np.log(0.3) + log_predicted(np.zeros((12, 12)), np.eye(12), y)]
    for size in sizes:
        logs.append(np.log(0.7 / 3.0) + log_predicted(kernel_of("walk", x, size, 1.0), np.eye(12), y))
    weight = np.exp(np.array(logs) - max(logs))
    np.testing.assert_allclose(levels_of(step, y).weight, weight / weight.sum(), rtol=1e-6)


def test_the_noise_of_a_share_follows_its_level(only):
    """A constant share: a mean weighted by the inverse variance, beside the mean, each by its likelihood."""
    only("constant")
    rng = np.random.default_rng(2)
    share = np.concatenate([np.full(20, 0.4), np.full(20, 0.01)])
    y = rng.binomial(100, share) / 100.0
    near = np.array([y[max(0, i - 2) : i + 3].mean() for i in range(40)])
    p = np.clip(0.75 * near + 0.25 * y.mean(), 1e-9, 1.0 - 1e-9)
    variance = p * (1.0 - p)
    noise = np.diag(variance / np.exp(np.mean(np.log(variance))))
    logs = [log_predicted(np.zeros((40, 40)), which, y) for which in (np.eye(40), noise)]
    found = levels_of(np.arange(40.0), y, is_share=True)
    weight = np.exp(np.array(logs) - max(logs))
    likely = weight > 1e-4
    np.testing.assert_allclose(found.weight, weight[likely] / weight[likely].sum(), rtol=1e-6)
    assert found.weight[-1] > 0.9
    assert found.mean[-1, 0] == pytest.approx(np.average(y, weights=1.0 / variance))


def test_a_linear_function_has_scipys_t_distribution(only):
    only("walk", 30.0)
    step, y = values(25)
    found = levels_of(step, y)
    mean, covariance, _ = dense(kernel_of("walk", step / step[-1], 30.0, 1.0), np.eye(25), y)
    joint = stats.multivariate_t(mean, covariance + 1e-12 * np.eye(25), df=24)
    drawn = joint.rvs(40000, random_state=np.random.default_rng(0))
    difference = drawn[:, 24] - drawn[:, 5]
    ends = found.between(24, 5).quantiles([0.1, 0.5, 0.9])
    np.testing.assert_allclose((difference[:, None] < ends).mean(axis=0), [0.1, 0.5, 0.9], atol=0.008)
    np.testing.assert_allclose((drawn < 0.5).mean(axis=0), found.p_below(0.5), atol=0.012)
    slopes = np.polyfit(step[16:], drawn[:, 16:].T, 1)[0] * (step[-1] - step[16])
    ends = found.along_line(1.0 / 3.0).quantiles([0.1, 0.5, 0.9])
    np.testing.assert_allclose((slopes[:, None] < ends).mean(axis=0), [0.1, 0.5, 0.9], atol=0.008)


def test_what_is_more_likely_has_more_weight():
    rng = np.random.default_rng(1)
    step = np.arange(40.0)
    noise = rng.normal(0, 1, 40)
    walk = np.cumsum(rng.normal(0, 1, 40))
    flat = levels_of(step, noise)
    wandering = levels_of(step, walk)
    assert np.ptp(flat.level()) < 0.3 * np.ptp(noise)
    assert np.abs(wandering.level() - walk).max() < 0.5 * np.ptp(walk)
    assert flat.weight.sum() == pytest.approx(1.0) == wandering.weight.sum()


@pytest.mark.parametrize("n", [40, 203])
def test_units_carry_over_and_differences_are_symmetric(n):
    step, y = values(n)
    one = levels_of(step, y)
    other = levels_of(1000 + 10 * step, 5 + 100 * y)
    np.testing.assert_allclose(other.level(), 5 + 100 * one.level(), rtol=1e-7)
    np.testing.assert_allclose(other.weight, one.weight, rtol=1e-6)
    there = one.between(18, one.last)
    back = one.between(one.last, 18)
    assert there.mean() == pytest.approx(-back.mean())
    assert there.below(np.zeros(1)) + back.below(np.zeros(1)) == pytest.approx(1.0)
    assert there.mean() == pytest.approx(one.level()[18] - one.level()[one.last])


def test_blocks_have_all_values_and_the_same_length_but_the_first():
    step, y = values(203)
    blocks = blocks_of(step, y)
    assert (blocks.size, blocks.step.size) == (5, 41)
    assert blocks.count.tolist() == [3.0, *[5.0] * 40]
    assert blocks.count @ blocks.value == pytest.approx(y.sum())
    assert blocks.value[-1] == pytest.approx(y[-5:].mean())
    few = blocks_of(step[:48], y[:48])
    np.testing.assert_array_equal(few.value, y[:48])


def test_the_level_now_is_that_of_the_last_step():
    step, y = values(50)
    found = levels_of(step, y)
    assert level_now(step, y).mean() == pytest.approx(found.level()[found.last])
    walks = [np.cumsum(np.random.default_rng(seed).normal(0, 1, 40)) for seed in range(30)]
    errors = [level_now(step[:40], walk).mean() - walk[-1] for walk in walks]
    # Some of a walk's last steps may be correlated noise; the mean of two values is off by half a step.
    assert np.sqrt(np.mean(np.square(errors))) < 0.45
    assert level_now(np.arange(8.0), np.ones(8)).mean() == pytest.approx(1.0)


def test_an_entropy_is_smoothed_in_pieces_as_at_once_and_in_little_memory(monkeypatch):
    step, y = values(60)
    whole = smoothed_entropy(step, y, step[::2])
    monkeypatch.setattr(levels, "AT_ONCE", 7)
    pieces = smoothed_entropy(step, y, step[::2])
    for one, other in ((whole.entropy, pieces.entropy), (whole.sd, pieces.sd)):
        np.testing.assert_allclose(one, other, rtol=1e-10)
    assert (whole.noise, whole.length) == pytest.approx((pieces.noise, pieces.length))
    monkeypatch.undo()
    step, y = values(40_000)
    tracemalloc.start()
    try:
        smoothed_entropy(step, y, step)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 50e6
