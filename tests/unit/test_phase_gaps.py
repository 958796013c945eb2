"""Curves of phases where steps lack values: nothing is said of what is not in the data."""

import numpy as np
import pyarrow.parquet as pq
import pytest
from matplotlib.figure import Figure

from entropylaw import PhaseFit
from entropylaw.analysis.rise import blocked
from entropylaw.results.phases import CurvePhases, gaps
from tests.conftest import ROOT
from tests.laws import phases_of

N = 400
MIDDLE = slice(int(0.35 * N), int(0.85 * N))


def decay(n: int = N, *, rise: float = 0.0, noise: float = 0.02, seed: int = 0) -> np.ndarray:
    """A fall, and a rise in its last seventh."""
    time = np.linspace(0.0, 1.0, n)
    return (
        0.1
        + np.exp(-6.0 * time)
        + rise * (time > 0.85)
        + noise * np.random.default_rng(seed).standard_normal(n)
    )


def without(values: np.ndarray, part: slice) -> np.ndarray:
    values = np.maximum(values, 0.0)
    values[part] = np.nan
    return values


def unequal(seed: int) -> np.ndarray:
    return np.cumsum(np.random.default_rng(seed).exponential(size=60))


def exploded(column: str) -> tuple[np.ndarray, np.ndarray]:
    table = pq.read_table(
        ROOT / "data" / "lab2" / "explosion_s0" / "metrics.parquet", columns=["step", column]
    )
    step, values = (table[name].to_numpy(zero_copy_only=False) for name in ("step", column))
    return step.astype(float), values.astype(float)


EVEN = np.arange(float(N))

CASES = {
    "a gap": (EVEN, without(decay(), MIDDLE)),
    "a gap without noise": (EVEN, without(decay(noise=0.0), MIDDLE)),
    "a gap before a rise": (EVEN, without(decay(rise=0.2), MIDDLE)),
    "a gap before a steep rise": (EVEN, without(decay(rise=2.0, seed=1), MIDDLE)),
    "a turn in a gap": (EVEN, without(0.02 + np.abs(EVEN / N - 0.6) + 0.1 * decay(seed=3), MIDDLE)),
    "two gaps": (EVEN, without(without(decay(rise=0.3), slice(60, 150)), slice(200, 330))),
    "a gap at the start": (EVEN, without(decay(), slice(1, 150))),
    "a column that stops": (EVEN, without(decay(rise=0.3), slice(150, N))),
    "more values than blocks": (np.arange(1200.0), without(decay(1200, rise=0.3), slice(420, 1015))),
    "every tenth step": (EVEN[::10], decay()[::10]),
    "growing steps": (np.geomspace(1.0, 1000.0, 60), decay(60)),
    **{f"unequal steps {seed}": (unequal(seed), np.maximum(decay(60, seed=seed), 0.0)) for seed in (1, 2)},
    "planning that explodes": exploded("entropy_planning"),
    "execution that explodes": exploded("entropy_execution"),
}


@pytest.fixture(scope="module", params=CASES)
def fitted(request: pytest.FixtureRequest) -> PhaseFit:
    return phases_of(CASES[request.param][0], CASES[request.param][1])


def only(fit: PhaseFit) -> CurvePhases:
    assert fit.planning is not None
    return fit.planning


def test_curves_follow_the_data_and_bands_are_around_them(fitted: PhaseFit) -> None:
    curve = only(fitted)
    low, high = float(curve.entropy.min()), float(curve.entropy.max())
    beyond = 0.02 * (high - low)
    values = np.append(curve.fitted, curve.lowest)
    assert low - beyond <= values.min() <= values.max() <= high + beyond
    assert (curve.low >= 0.0).all()
    assert (curve.low <= curve.fitted).all()
    assert (curve.fitted <= curve.high).all()
    assert low - high <= curve.rise.low <= curve.rise.value <= curve.rise.high <= high - low
    if curve.detectable is not None:
        assert curve.detectable > 0.0
    for one in (curve.onset, curve.settled):
        if one is not None:
            assert curve.first_step <= one.low <= one.value <= one.high <= curve.last_step


def test_nothing_is_drawn_inside_a_gap(fitted: PhaseFit) -> None:
    curve = only(fitted)
    axes = fitted.plot(Figure().subplots())
    (line,) = [line for line in axes.lines if len(line.get_xdata()) > 2 and line.get_linestyle() == "-"]
    step, value = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)
    drawn = ~np.isnan(value[1:]) & ~np.isnan(value[:-1])
    assert not gaps(curve.step)[np.searchsorted(curve.step, step[:-1][drawn])].any()


def test_what_may_have_happened_in_a_gap_reaches_over_it() -> None:
    fit = phases_of(*CASES["a turn in a gap"])
    curve = only(fit)
    assert curve.rises
    assert curve.onset is not None
    assert curve.onset.low <= 139.0
    assert curve.onset.high >= 340.0
    (missing,) = [one for one in fit.findings if one.code == "no-values-between"]
    assert (missing.values["after"], missing.values["until"]) == ((139.0,), (340.0,))
    said = "planning has no value between steps 139 and 340"
    assert said in fit.cautions


def test_gaps() -> None:
    assert not gaps(np.arange(50.0)).any()
    assert not gaps(np.geomspace(1.0, 1000.0, 60)).any()
    assert not gaps(np.concatenate([np.arange(50.0), 50.0 * np.arange(1, 20)])).any()
    assert np.flatnonzero(gaps(np.array([0.0, 1, 2, 3, 50, 51, 52, 99, 100, 101]))).tolist() == [3, 6]
    assert gaps(np.array([3.0])).size == 0
    assert not gaps(np.array([3.0, 9.0])).any()


def test_no_block_reaches_over_a_gap() -> None:
    step = np.concatenate([np.arange(301.0), 900.0 + np.arange(300.0)])
    means, values = blocked(step, np.where(step < 500, 1.0, 3.0))
    assert means.size <= 150
    assert set(values.tolist()) == {1.0, 3.0}
    assert not ((means > 300.0) & (means < 900.0)).any()
