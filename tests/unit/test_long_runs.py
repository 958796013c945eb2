"""Long runs: filters in chunks, covariances excluded by some evaluations, bases at some rows; all exact."""

import numpy as np
import pytest

from entropylaw import fit_law
from entropylaw.analysis.forms import turning_points
from entropylaw.analysis.law.covariances import drift_covariances
from entropylaw.engine import ladder, posterior, residual_prior
from entropylaw.engine.kalman import filter_gains, whiten
from entropylaw.engine.prior import drift_grid, floor_grid
from entropylaw.engine.residual_prior import long_memory_grid, scaled_grid
from entropylaw.results.mixture import Mixture

N = 620
"""A number of evaluations that is no multiple of a chunk's length."""


def steps(even):
    rng = np.random.default_rng(2)
    return np.arange(N) * 5.0 if even else np.cumsum(rng.exponential(3.0, N) + 0.1)


def grids(step):
    along = np.column_stack([np.exp(-step / step[-1]), -step])
    floor = np.random.default_rng(3).uniform(1e-5, 1e-4, N)
    return {
        "short": drift_grid(step),
        "long": long_memory_grid(step),
        "scaled": scaled_grid(drift_grid(step), along),
        "known": floor_grid(step, 1e-4, floor),
    }


@pytest.mark.parametrize("even", [True, False])
@pytest.mark.parametrize("kind", ["short", "long", "scaled", "known"])
def test_columns_are_whitened_in_chunks_as_by_dense_algebra(even, kind):
    step = steps(even)
    columns = np.random.default_rng(4).standard_normal((N, 3))
    grid = grids(step)[kind]
    some = grid.points(np.arange(1, grid.length.size, grid.length.size // 7))
    for part in (some, some.points([2])):
        gains = filter_gains(step, part)
        white = whiten(gains, columns, part.drift_scale)
        for k, found in enumerate(white):
            matrix = part.points([k]).covariance(step)
            expected = columns.T @ np.linalg.solve(matrix, columns)
            np.testing.assert_allclose(
                found @ found.T, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max()
            )
            log_det = float(np.linalg.slogdet(matrix)[1])
            scale = 0.0 if part.drift_scale is None else 2.0 * np.log(part.drift_scale[:, k]).sum()
            assert gains.log_det[k] + scale == pytest.approx(log_det, rel=1e-10, abs=1e-8)


def test_a_ladder_in_chunks_is_a_ladder_step_by_step(monkeypatch):
    step = steps(even=True)
    gains = filter_gains(step, long_memory_grid(step).points([3, 8]))
    columns = np.random.default_rng(4).standard_normal((N, 4))
    chunks = whiten(gains, columns)
    monkeypatch.setattr(ladder, "_NARROW", 0)
    np.testing.assert_allclose(chunks, whiten(gains, columns), rtol=1e-10, atol=1e-12)


def residual(kind, n, rng):
    white = rng.standard_normal(n)
    if kind == "white":
        return 0.01 * white
    if kind == "walk":
        return 0.001 * np.cumsum(white)
    if kind == "scaled":
        return 0.03 * np.exp(-2.0 * np.linspace(0, 1, n)) * white
    if kind == "long":
        memory = np.arange(1.0, n) ** -0.6
        return 0.005 * np.convolve(rng.standard_normal(3 * n), memory)[n : 2 * n]
    return 0.01 * rng.standard_t(2, n)


@pytest.mark.parametrize("even", [True, False])
@pytest.mark.parametrize("kind", ["white", "walk", "scaled", "long", "heavy"])
def test_some_evaluations_exclude_only_what_all_of_them_exclude(monkeypatch, kind, even):
    """The curve in the step that the entropy does not have makes a constant and a line hopeless."""
    n, rng = 2100, np.random.default_rng(5)
    step = np.arange(n) * 2.0 if even else np.cumsum(rng.integers(1, 9, n)).astype(float)
    entropy = 0.05 + 0.9 * np.exp(-3.0 * np.linspace(0, 1, n))
    reward = 0.5 - 0.2 * np.expm1(entropy) + residual(kind, n, rng)
    seen = []
    real = residual_prior._log_posteriors
    monkeypatch.setattr(
        residual_prior, "_log_posteriors", lambda *a: seen.append(a[2].length.size) or real(*a)
    )
    found = drift_covariances(step, entropy, reward)
    assert len(seen) == 3
    assert seen[0] > 3 * seen[-1]  # work was saved
    monkeypatch.setattr(residual_prior, "SOME", n)
    whole = drift_covariances(step, entropy, reward)
    for name in ("length", "drift", "noise", "log_prior", "noise_change"):
        np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))


def test_a_basis_found_at_some_rows_is_a_basis_of_all(monkeypatch):
    n, rng = 3000, np.random.default_rng(6)
    entropy = 0.4 + 0.3 * np.cos(np.linspace(0, 4, n)) + 0.005 * rng.standard_normal(n)
    reward = 0.5 - 0.2 * np.expm1(entropy) + 0.02 * rng.standard_normal(n)
    reward[: n // 20] -= 0.1  # the answer rests on the first evaluations, and is fitted without them
    found = fit_law(entropy, reward)
    assert not isinstance(posterior.spread_rows(entropy), slice)
    monkeypatch.setattr(posterior, "_ROWS", n)
    whole = fit_law(entropy, reward)
    assert found.verdict == whole.verdict
    assert len(found.cuts) == len(whole.cuts) > 0
    for name in ("p_rate", "p_step", "odds_line", "odds_rate", "odds_branches", "odds_saturation"):
        assert getattr(found.tests, name) == pytest.approx(getattr(whole.tests, name), rel=1e-6), name
    for one, other in [(found, whole), *zip(found.cuts, whole.cuts, strict=True)]:
        assert one.ceiling.low == pytest.approx(other.ceiling.low, rel=1e-9)
        assert one.ceiling.high == pytest.approx(other.ceiling.high, rel=1e-9)
    assert found.cuts[0].p_first == pytest.approx(whole.cuts[0].p_first, rel=1e-6)


@pytest.mark.parametrize("df", [3.0, 50.0, np.inf])
def test_quantiles_beside_jumps_are_quantiles(df):
    """Components with hardly any width, of which some share their middle."""
    rng = np.random.default_rng(7)
    for cut_off in (False, True):
        for _ in range(40):
            g = int(rng.integers(2, 40))
            location, scale = rng.standard_normal((3, g)), np.exp(2.0 * rng.standard_normal((3, g)))
            sharp = rng.random((3, g)) < 0.4
            scale[sharp] = 10.0 ** rng.uniform(-14, -8, sharp.sum())
            location[sharp] = np.round(location[sharp], 1)
            mixture = Mixture(
                weight=rng.dirichlet(np.ones(g)),
                location=location,
                scale=scale,
                df=df,
                upper=np.broadcast_to(location.max(), location.shape) if cut_off else None,
            )
            for chance in (0.025, 0.5, 0.975):
                found = mixture.quantile(chance)
                width = 1e-9 * np.maximum(1.0, np.abs(found))
                assert (mixture.cdf(found - width) <= chance + 1e-9).all()
                assert (mixture.cdf(found + width) >= chance - 1e-9).all()


def test_stacked_mixtures_have_the_quantiles_of_each():
    rng = np.random.default_rng(8)
    each = [
        Mixture(
            weight=rng.dirichlet(np.ones(g)),
            location=rng.standard_normal((m, g)),
            scale=rng.uniform(0.1, 2.0, (m, g)),
            df=20.0,
        )
        for m, g in ((1, 3), (2, 9), (2, 2))
    ]
    together, chances = Mixture.stacked(each), (0.025, 0.5, 0.975)
    apart = np.concatenate([one.quantiles(chances) for one in each], axis=1)
    np.testing.assert_allclose(together.quantiles(chances), apart, rtol=1e-11)


def test_turning_points_of_a_run_in_many_small_moves():
    """The corners are those of the evaluations one by one: of a path with plateaus, of noise, of a fall."""
    rng = np.random.default_rng(9)
    fall = np.linspace(1.0, 0.0, 500)
    bowl = np.concatenate([fall, fall[::-1][1:] * 0.8])
    assert turning_points(fall) == [0, 499]
    assert turning_points(bowl) == [0, 499, bowl.size - 1]
    assert turning_points(np.repeat(bowl, 3))[1] == 3 * 499
    assert len(turning_points(bowl + 1e-3 * rng.standard_normal(bowl.size))) == 3
