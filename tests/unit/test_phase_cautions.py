"""Cautions about phases: long drifts, level shifts, response lengths and single outliers."""

from __future__ import annotations

import numpy as np
import pytest

from entropylaw.analysis.phases import far_off, phase_cautions
from entropylaw.results import Estimate
from entropylaw.results.phases import LONG_DRIFT, CurvePhases
from entropylaw.results.result import Finding, replace

STEP = np.arange(200.0)


def estimate(value: float, low: float, high: float) -> Estimate:
    return Estimate(value=value, low=low, high=high, level=0.95, method="by hand")


def smooth(start: float = 0.9, time: float = 25.0) -> np.ndarray:
    return 0.1 + start * np.exp(-STEP / time)


def noise(seed: int = 0) -> np.ndarray:
    return 0.01 * np.random.default_rng(seed).standard_normal(STEP.size)


def curve(entropy: np.ndarray, name: str = "planning", *, rises: bool = True, **other) -> CurvePhases:
    values = {
        "name": name,
        "n": STEP.size,
        "p_rise": 0.01 if rises else 0.4,
        "p_second_fall": 1.0,
        "long_drift": 0.1,
        "rises": rises,
        "falls_again": False,
        "detectable": 0.05,
        "last": estimate(0.0, -1.0, 1.0),
        "lag1": 0.0,
        "noise": 0.01,
        "step": STEP,
        "entropy": entropy,
        "fitted": smooth(),
        "low": smooth() - 0.01,
        "high": smooth() + 0.01,
        "first_step": 0.0,
        "last_step": 199.0,
    }
    return CurvePhases(**(values | other))


def cautions(*curves: CurvePhases, length: np.ndarray | None = None) -> list[Finding]:
    given = {each.name: each.entropy for each in curves}
    given |= {} if length is None else {"length": length}
    return phase_cautions(STEP, given, {each.name: each for each in curves})


def test_a_plain_curve_has_no_caution():
    assert cautions(curve(smooth() + noise()), length=300.0 + 5.0 * noise() / 0.01) == []


def test_a_long_drift():
    known = curve(smooth() + noise())
    assert cautions(replace(known, long_drift=LONG_DRIFT)) == []
    (found,) = cautions(replace(known, long_drift=0.9))
    assert (found.code, found.values) == (
        "drift-long",
        {"curve": "planning", "probability": 0.9, "factor": 45.0},
    )


@pytest.mark.parametrize("rises", [True, False])
def test_a_level_shift_of_a_decay(rises):
    (shift,) = cautions(curve(smooth() + noise() + 0.1 * (STEP >= 120), rises=rises))
    assert shift.code == "series-jumps"
    assert (shift.values["after"], shift.values["step"], shift.values["turn"]) == (119.0, 120.0, rises)
    assert shift.values["jump"] == pytest.approx(0.1, abs=0.02)


def test_a_steep_start_is_no_level_shift():
    assert cautions(curve(smooth(5.0, 3.0) + noise())) == []


def test_a_sharp_turn_is_no_level_shift():
    bent = np.where(STEP < 60, 0.6 - 0.5 * STEP / 60, 0.1)
    assert cautions(curve(bent + noise())) == []
    (found,) = cautions(curve(bent + 0.1 * (STEP >= 120) + noise()))
    assert (found.code, found.values["step"]) == ("series-jumps", 120.0)


@pytest.mark.parametrize(("last", "cautious"), [(1.4, False), (1.6, True), (0.6, False), (0.45, True)])
def test_a_response_length_that_grows_or_shrinks_by_half(last, cautious):
    ramp = 400.0 * np.interp(STEP, [67.0, 132.0], [1.0, last]) + 300.0 * noise()
    found = cautions(curve(smooth() + noise()), length=ramp)
    assert [one.code for one in found] == ["length-changes"] * cautious
    for one in found:
        assert one.values["before"] == pytest.approx(400.0, abs=2.0)
        assert one.values["after"] == pytest.approx(400.0 * last, abs=2.0)


def test_a_padded_first_point_is_named_in_a_sentence():
    padded = smooth() + noise()
    padded[0] = 11.93
    found = cautions(curve(padded))[0]
    assert (found.code, found.values["vocabulary"]) == ("points-far-off", True)
    assert "planning is far from its neighbours: 11.93 at step 0" in found.sentence
    assert "logarithm of a vocabulary" in found.sentence
    assert "may make or hide a turn" in found.sentence


def test_points_far_off_are_counted_and_the_noise_is_not():
    values = smooth() + noise()
    values[[40, 80, 120, 160]] += 0.5
    assert far_off(values).tolist() == [40, 80, 120, 160]
    found = cautions(curve(values, "aggregate"))[0]
    assert (found.values["curve"], found.values["steps"]) == ("all tokens", (40.0, 80.0, 120.0))
    assert (found.values["others"], found.values["vocabulary"]) == (1, False)
    assert "at step 40, " in found.sentence
    assert " and 1 more" in found.sentence
    assert "vocabulary" not in found.sentence


@pytest.mark.parametrize("time", [1.0, 3.0, 25.0])
def test_no_point_of_a_noisy_decay_is_far_off(time):
    """Also not where the decay is steep, the noise falls along the run or drifts, or values are rounded."""
    for seed in range(20):
        white = noise(seed)
        falling = white * (5.0 * np.exp(-STEP / 30) + 0.2)
        for each in (0.0, white, falling, np.cumsum(white)):
            assert far_off(smooth(time=time) + each).size == 0
            assert far_off(np.round(smooth(time=time) + each, 2)).size == 0


def test_one_column_under_two_names():
    values = smooth() + noise()
    (found,) = cautions(curve(values), curve(values, "execution"))
    assert found.code == "curves-equal"
