"""The filter block by block, the shared basis and the table of Student's t, each against the plain way."""

import numpy as np
import pytest
from scipy.special import stdtr

from entropylaw.engine import kalman as filtering
from entropylaw.engine.kalman import cross_products, filter_gains, whiten
from entropylaw.engine.posterior import Solver, infer, shared_basis
from entropylaw.engine.prior import NO_DRIFT_MASS, NO_NOISE_MASS, drift_grid, floor_grid
from entropylaw.results.mixture import Mixture, t_cdf


def steps(n, *, even):
    rng = np.random.default_rng(2)
    return np.arange(n) * 5.0 if even else np.cumsum(rng.exponential(3.0, n) + 0.1)


@pytest.mark.parametrize("even", [True, False])
@pytest.mark.parametrize("cells", [1, 40_000, 10**9])
@pytest.mark.parametrize("known", [True, False])
def test_blocks_and_slices_change_nothing(monkeypatch, even, cells, known):
    """Cross products of whole whitened columns against those added up block by block."""
    rng = np.random.default_rng(1)
    step, columns = steps(150, even=even), rng.standard_normal((5, 150, 3))
    floor = rng.uniform(1e-5, 1e-4, 150) if known else None
    grid = floor_grid(step, 1e-4, floor) if known else drift_grid(step)
    for name in ("_CELLS", "_KEPT"):
        monkeypatch.setattr(filtering, name, cells)
    found = cross_products(step, columns, grid)
    gains = filter_gains(step, grid)
    np.testing.assert_allclose(found.log_det, gains.log_det, rtol=1e-12)
    np.testing.assert_allclose(found.last_variance, gains.last_variance, rtol=1e-12)
    for i, own in enumerate(columns):
        white = whiten(gains, own)
        expected = white @ white.swapaxes(1, 2)
        size = np.sqrt(np.einsum("gcc,gdd->gcd", expected, expected))
        assert np.all(np.abs(found.gram[i] - expected) <= 1e-12 * size)
    # The drift at the last step, by dense algebra: its covariance with the evaluations, times V⁻¹x.
    gap = np.abs(step[:, None] - step)
    for k in range(0, grid.length.size, 5):
        drift = grid.drift[k] * np.exp(-gap / grid.length[k])
        noise = np.full(150, grid.noise[k]) + (0.0 if floor is None else floor)
        last = np.linalg.solve(drift + np.diag(noise), drift[-1]) @ columns
        np.testing.assert_allclose(found.last[:, k], last, rtol=1e-9, atol=1e-12)


def test_gains_at_rest_are_those_of_the_whole_recursion(monkeypatch):
    """Even steps: most blocks take over the gains of the one before, and the products stay the same."""
    step = np.arange(6000.0)
    columns = np.random.default_rng(1).standard_normal((1, 6000, 2))
    grid = drift_grid(step)
    monkeypatch.setattr(filtering, "_CELLS", 200 * 2 * grid.length.size)
    calls = []
    real = filtering.filter_gains
    monkeypatch.setattr(filtering, "filter_gains", lambda *a, **k: calls.append(1) or real(*a, **k))
    found = cross_products(step, columns, grid)
    assert len(calls) < 30
    white = whiten(real(step, grid), columns[0])
    np.testing.assert_allclose(found.gram[0], white @ white.swapaxes(1, 2), rtol=1e-9, atol=1e-6)


def forms(n=80, noise=0.01, rates=25):
    step = steps(n, even=False)
    entropy = 0.05 + 0.95 * np.exp(-4 * step / step[-1])
    shapes = (1.0, *np.linspace(-6, 6, rates))
    columns = [np.expm1(k * entropy) / k if k else entropy for k in shapes]
    designs = np.array([np.stack([np.ones(n), -column], axis=1) for column in columns])
    reward = 0.55 - 0.2 * np.expm1(entropy) + noise * np.random.default_rng(3).standard_normal(n)
    return step, designs, np.tile(reward, (len(designs), 1))


def test_forms_in_a_shared_basis_are_forms_on_their_own():
    step, designs, rewards = forms()
    grid = drift_grid(step)
    assert shared_basis(list(designs), rewards[0]).basis.shape[1] < 20
    alone = list(infer(step, designs, rewards, grid))
    solver = Solver(step, rewards[0], grid)
    _, coarse, _ = forms(rates=17)
    solver.posteriors(list(coarse))
    assert len(solver._shared) == 1
    # The others lie between these, and are found without whitening anything.
    found = solver.posteriors([*designs, designs[0][:, :1]])
    assert len(solver._shared) == 1
    batch, number = found.pop()
    assert batch[number].coefficient.shape == (grid.length.size, 1)
    for (batch, number), other in zip(found, alone, strict=True):
        one = batch[number]
        assert one.log_evidence == pytest.approx(other.log_evidence, abs=1e-6)
        np.testing.assert_allclose(one.weight, other.weight, rtol=1e-5, atol=1e-12)
        for row in np.eye(2):
            ends = (m.functional(row[None]).quantiles((0.025, 0.975))[:, 0] for m in (one, other))
            (low, high), (other_low, other_high) = ends
            width = other_high - other_low
            assert abs(low - other_low) < 1e-6 * width
            assert abs(high - other_high) < 1e-6 * width
        for name in ("now_offset", "now_slope", "now_variance", "effective_n"):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-5, atol=1e-9)


def test_families_that_share_a_whitening_are_as_those_alone():
    step, designs, rewards = forms()
    grid = drift_grid(step)
    time = np.column_stack([np.ones(step.size), step])
    others = [np.column_stack([time, np.cos(k * step / step[-1])]) for k in (1.0, 1.1, 1.2, 1.3, 1.4)]
    solver = Solver(step, rewards[0], grid)
    solver.share((list(designs), None), (others, None))
    assert len(solver._shared) == 2
    chosen = [others[2], designs[7], time]
    for (batch, number), design in zip(solver.posteriors(chosen), chosen, strict=True):
        (alone,) = infer(step, design[None], rewards[:1], grid)
        np.testing.assert_allclose(batch[number].weight, alone.weight, rtol=1e-5, atol=1e-12)
        ends = [
            one.functional(np.eye(design.shape[1])).quantiles((0.1, 0.9)) for one in (batch[number], alone)
        ]
        np.testing.assert_allclose(ends[0], ends[1], rtol=1e-6)
    assert len(solver._shared) == 2


def test_sharp_data_and_unrelated_columns_have_no_shared_basis():
    _, designs, rewards = forms(noise=1e-9)
    assert shared_basis(list(designs), rewards[0]) is None
    _, designs, rewards = forms()
    assert shared_basis(list(designs[:3]), rewards[0]) is None
    step, _, _ = forms()
    powers = [np.column_stack([np.ones(80), (step / 80) ** p, np.cos(p * step)]) for p in (1, 2, 3, 4)]
    assert shared_basis(powers, rewards[0]) is None


@pytest.mark.parametrize("df", [2.0, 3.0, 5.0, 28.0, 198.0, 1e4, 1e6])
def test_the_table_of_student_is_scipys(df):
    z = np.concatenate([-np.geomspace(1e-9, 1e8, 4001), [0.0], np.geomspace(1e-9, 1e8, 4001)])
    np.testing.assert_allclose(t_cdf(df, z), stdtr(df, z), rtol=0, atol=1e-11)


def test_one_degree_of_freedom_is_cauchy():
    z = np.linspace(-50, 50, 2001)
    np.testing.assert_allclose(t_cdf(1.0, z), 0.5 + np.arctan(z) / np.pi, rtol=0, atol=1e-11)


def test_quantiles_of_numbers_with_weights_of_their_own():
    rng = np.random.default_rng(5)
    weight, location = rng.dirichlet(np.ones(7), 4), rng.normal(size=(4, 7))
    scale = np.exp(rng.normal(size=(4, 7)))
    together = Mixture(weight=weight, location=location, scale=scale, df=9.0)
    found = together.quantiles((0.05, 0.5, 0.99))
    for i in range(4):
        alone = Mixture(weight=weight[i], location=location[i : i + 1], scale=scale[i : i + 1], df=9.0)
        np.testing.assert_allclose(found[:, i], alone.quantiles((0.05, 0.5, 0.99))[:, 0], rtol=1e-10)
        assert together.standard_deviation()[i] == pytest.approx(alone.standard_deviation()[0], rel=1e-12)


@pytest.mark.parametrize("n", [5, 30, 61, 1000])
def test_the_prior_adds_up(n):
    step = steps(n, even=False)
    grid = drift_grid(step)
    prior = np.exp(grid.log_prior)
    assert prior.sum() == pytest.approx(1.0)
    assert prior[grid.drift == 0].sum() == pytest.approx(NO_DRIFT_MASS)
    pure = prior[grid.noise == 0].sum()
    assert pure == pytest.approx((1 - NO_DRIFT_MASS) * NO_NOISE_MASS)
    np.testing.assert_allclose(grid.drift + grid.noise, 1.0)
    # The unit of the steps is nobody's business.
    np.testing.assert_allclose(drift_grid(1e3 * step).log_prior, grid.log_prior, rtol=1e-9)
