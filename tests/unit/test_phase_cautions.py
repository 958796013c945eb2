"""What is said beside a boundary: gradual changes, jumps, response lengths and single points far off."""

from __future__ import annotations

import numpy as np
import pytest

from entropylaw.analysis.phasecautions import far_off, phase_cautions
from entropylaw.results import Estimate
from entropylaw.results.fields import replace
from entropylaw.results.phases import Boundary, CurvePhases

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
    boundary = Boundary(
        step=estimate(100.0, 92.0, 108.0),
        intervals=((92.0, 108.0),),
        whole=False,
        width=estimate(16.0, 0.0, 32.0),
        places=places,
        density=density / density.sum(),
        searched=(19.9, 179.1),
    )
    zero = estimate(0.0, -1.0, 1.0)
    values = {
        "name": name,
        "n": STEP.size,
        "p_value": 0.01 if found else 0.4,
        "found": found,
        "boundary": boundary,
        "slope_before": zero,
        "slope_after": zero,
        "rise": zero,
        "detectable": 0.05,
        "last": zero,
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


def said(*curves: CurvePhases, length: np.ndarray | None = None) -> list[str]:
    given = {each.name: each.entropy for each in curves}
    beside = {} if length is None else {"length": length}
    found = phase_cautions(STEP, given | beside, {each.name: each for each in curves})
    return [finding.sentence for finding in found]


def test_a_plain_curve_has_no_caution():
    assert said(curve(smooth() + noise()), length=300.0 + 5.0 * noise() / 0.01) == []


def test_a_gradual_change_is_said_softly():
    known = curve(smooth() + noise())
    gradual = replace(known.boundary, width=estimate(110.0, 60.0, 159.0))
    (text,) = said(replace(known, boundary=gradual))
    assert text.startswith("the change of planning is gradual: it takes 110 steps, half of the run or more")
    assert said(curve(known.entropy, found=False, boundary=gradual)) == []


def test_a_jump_is_one_beside_the_decay():
    step = 0.1 * (STEP >= 120)
    (text,) = said(curve(smooth() + noise() + step))
    assert "between steps 119 and 120: a boundary near it may be that" in text
    (alone,) = said(curve(smooth() + noise() + step, found=False))
    assert alone.endswith("between steps 119 and 120")
    # A start this steep is no jump, and the smooth decay has it.
    steep = smooth(5.0, 3.0)
    assert said(curve(steep + noise(), decay=steep, fitted=steep)) == []


def test_a_bend_that_the_decay_misses_is_no_jump():
    bent = np.where(STEP < 60, 0.6 - 0.5 * STEP / 60, 0.1)
    decay = bent + 0.06 * np.exp(-0.5 * ((STEP - 55) / 8) ** 2) * (STEP > 44)
    assert said(curve(bent + noise(), decay=decay, fitted=bent)) == []
    with_jump = bent + 0.1 * (STEP >= 120)
    (text,) = said(curve(with_jump + noise(), decay=decay, fitted=bent))
    assert "between steps 119 and 120" in text


@pytest.mark.parametrize(("last", "cautious"), [(1.4, False), (1.6, True), (0.6, False), (0.45, True)])
def test_a_response_length_that_grows_or_shrinks_by_half(last, cautious):
    ramp = 400.0 * np.interp(STEP, [67.0, 132.0], [1.0, last]) + 300.0 * noise()
    texts = said(curve(smooth() + noise()), length=ramp)
    assert bool(texts) is cautious
    if cautious:
        assert f"the response length goes from 400 to {400 * last:.0f} tokens" in texts[0]


def test_a_padded_first_point_is_named():
    padded = smooth() + noise()
    padded[0] = 11.93
    text = said(curve(padded))[0]
    assert "planning is far off its neighbours: 11.93 at step 0" in text
    assert "logarithm of a vocabulary" in text
    assert "may make a boundary, or hide one" in text


def test_points_far_off_are_counted_and_the_noise_is_not():
    values = smooth() + noise()
    values[[40, 80, 120, 160]] += 0.5
    assert far_off(values).tolist() == [40, 80, 120, 160]
    text = said(curve(values))[0]
    assert "at step 40, " in text
    assert " and 1 more" in text
    assert "vocabulary" not in text


@pytest.mark.parametrize("time", [1.0, 3.0, 25.0])
def test_no_point_of_a_noisy_decay_is_far_off(time):
    """Also not where the decay is steep, the noise falls along the run or drifts, or values are rounded."""
    for seed in range(20):
        white = noise(seed)
        falling = white * (5.0 * np.exp(-STEP / 30) + 0.2)
        for each in (0.0, white, falling, np.cumsum(white)):
            assert far_off(smooth(time=time) + each).size == 0
            assert far_off(np.round(smooth(time=time) + each, 2)).size == 0


def test_what_is_of_all_tokens_is_called_so():
    values = smooth() + noise()
    values[80] += 0.5
    assert said(curve(values, "aggregate"))[0].startswith("all tokens is far off")


def test_one_column_under_two_names():
    values = smooth() + noise()
    (text,) = said(curve(values), curve(values, "execution"))
    assert "the same entropy at every step" in text


def test_a_boundary_at_the_end_of_what_was_searched():
    known = curve(smooth() + noise())
    early = replace(known.boundary, intervals=((19.0, 40.0),))
    (text,) = said(replace(known, boundary=early))
    assert (
        "may lie beyond the places that were looked at (10 to 90 % of the run, steps 19.9 to 179.1)" in text
    )
    # The density of a narrow boundary ends within what was searched.
    inner = replace(known.boundary, places=np.linspace(90.0, 110.0, 81), intervals=((90.0, 110.0),))
    assert said(replace(known, boundary=inner)) == []
