"""Cautions about phases: gradual changes, level shifts, response lengths and single outliers."""

from __future__ import annotations

import numpy as np
import pytest

from entropylaw.analysis.phases import far_off, phase_cautions
from entropylaw.results import Estimate
from entropylaw.results.phases import ChangePoint, CurvePhases
from entropylaw.results.result import Finding, replace

STEP = np.arange(200.0)


def estimate(value: float, low: float, high: float) -> Estimate:
    return Estimate(value=value, low=low, high=high, level=0.95, method="by hand")


def smooth(start: float = 0.9, time: float = 25.0) -> np.ndarray:
    return 0.1 + start * np.exp(-STEP / time)


def noise(seed: int = 0) -> np.ndarray:
    return 0.01 * np.random.default_rng(seed).standard_normal(STEP.size)


def curve(entropy: np.ndarray, name: str = "planning", *, found: bool = True, **other) -> CurvePhases:
    """A curve whose smooth decay is the true one."""
    places = np.linspace(19.9, 179.1, 81)
    density = np.exp(-0.5 * ((places - 100.0) / 4.0) ** 2)
    change_point = ChangePoint(
        step=estimate(100.0, 92.0, 108.0),
        intervals=((92.0, 108.0),),
        whole=False,
        width=estimate(16.0, 0.0, 32.0),
        places=places,
        density=density / density.sum(),
        searched=(19.9, 179.1),
    )
    zero = estimate(0.0, -1.0, 1.0)
    values = dict.fromkeys(("slope_before", "slope_after", "rise", "last"), zero) | {
        "name": name,
        "n": STEP.size,
        "p_value": 0.01 if found else 0.4,
        "found": found,
        "change_point": change_point,
        "detectable": 0.05,
        "lag1": 0.0,
        "noise": 0.01,
        "step": STEP,
        "entropy": entropy,
        "decay": smooth(),
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


def test_a_gradual_change():
    known = curve(smooth() + noise())
    gradual = replace(known.change_point, width=estimate(110.0, 60.0, 159.0))
    (found,) = cautions(replace(known, change_point=gradual))
    assert (found.code, found.values) == ("boundary-gradual", {"curve": "planning", "width": 110.0})
    assert cautions(curve(known.entropy, found=False, change_point=gradual)) == []


@pytest.mark.parametrize("found", [True, False])
def test_a_level_shift_next_to_the_decay(found):
    (shift,) = cautions(curve(smooth() + noise() + 0.1 * (STEP >= 120), found=found))
    assert shift.code == "series-jumps"
    assert (shift.values["after"], shift.values["step"], shift.values["boundary"]) == (119.0, 120.0, found)
    assert shift.values["jump"] == pytest.approx(0.1, abs=0.02)


def test_a_steep_start_is_no_level_shift():
    steep = smooth(5.0, 3.0)
    assert cautions(curve(steep + noise(), decay=steep, fitted=steep)) == []


def test_a_change_point_that_the_decay_misses_is_no_level_shift():
    bent = np.where(STEP < 60, 0.6 - 0.5 * STEP / 60, 0.1)
    decay = bent + 0.06 * np.exp(-0.5 * ((STEP - 55) / 8) ** 2) * (STEP > 44)
    assert cautions(curve(bent + noise(), decay=decay, fitted=bent)) == []
    with_jump = bent + 0.1 * (STEP >= 120)
    (found,) = cautions(curve(with_jump + noise(), decay=decay, fitted=bent))
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
    assert "may make or hide a change point" in found.sentence


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


def test_a_change_point_at_the_end_of_the_search():
    known = curve(smooth() + noise())
    early = replace(known.change_point, intervals=((19.0, 40.0),))
    (found,) = cautions(replace(known, change_point=early))
    assert (found.code, found.values["from_share"], found.values["to_share"]) == (
        "boundary-at-edge",
        0.1,
        0.9,
    )
    assert (found.values["first"], found.values["last"]) == (19.9, 179.1)
    # The density of a narrow change point ends within the search.
    inner = replace(known.change_point, places=np.linspace(90.0, 110.0, 81), intervals=((90.0, 110.0),))
    assert cautions(replace(known, change_point=inner)) == []
