"""Cautions about phases: explosions, eruptions and single outliers."""

import numpy as np
import pytest

from entropylaw import Estimate
from entropylaw.analysis.phases import far_off, phase_cautions
from entropylaw.results.phases import CurvePhases
from entropylaw.results.result import Finding
from tests.findings import made
from tests.typed import assert_says

STEP = np.arange(200.0)


def estimate(value: float, low: float, high: float) -> Estimate:
    return Estimate(value=value, low=low, high=high, level=0.95, method="by hand")


def smooth(start: float = 0.9, time: float = 25.0) -> np.ndarray:
    return 0.1 + start * np.exp(-STEP / time)


def noise(seed: int = 0) -> np.ndarray:
    return 0.01 * np.random.default_rng(seed).standard_normal(STEP.size)


def curve(entropy: np.ndarray, name: str = "planning", *, rises: bool = False, **other) -> CurvePhases:
    values = {
        "name": name,
        "n": STEP.size,
        "verdict": "rises" if rises else "does not rise",
        "p_rise": 0.01 if rises else 0.4,
        "detectable": 0.05,
        "lowest": 0.1,
        "lowest_step": 100.0,
        "rise": estimate(0.2, 0.1, 0.3),
        "ratio": 3.0,
        "since": 150.0 if rises else None,
        "stays": True if rises else None,
        "eruptions": (),
        "onset": None,
        "settled": None,
        "last": estimate(0.0, -1.0, 1.0),
        "noise": 0.01,
        "step": STEP,
        "entropy": entropy,
        "fitted": smooth(),
        "low": smooth() - 0.01,
        "high": smooth() + 0.01,
        "first_step": 0.0,
        "last_step": 199.0,
    }
    return made(CurvePhases, **(values | other))


def cautions(*curves: CurvePhases) -> list[Finding]:
    entropies = {each.name: each.entropy for each in curves}
    return phase_cautions(STEP, entropies, {each.name: each for each in curves})


def test_a_plain_curve_has_no_caution():
    assert cautions(curve(smooth() + noise())) == []


def test_an_explosion_and_eruptions():
    (found,) = cautions(curve(smooth() + noise(), rises=True))
    assert (found.code, found.values["since"]) == ("entropy-exploded", 150.0)
    assert "0.2 nats above its lowest level of 0.1 at step 100 (3 times it), since step 150" in found.sentence
    assert cautions(curve(smooth() + noise(), rises=True, ratio=1.5)) == []
    (erupts,) = cautions(
        curve(smooth() + noise(), eruptions=({"step": 60.0, "rise": 0.8}, {"step": 90.0, "rise": 0.5}))
    )
    assert "the entropy of planning explodes at step 60 by 0.8 nats, at step 90 by 0.5" in erupts.sentence


def test_a_padded_first_point_is_named_in_a_sentence():
    padded = smooth() + noise()
    padded[0] = 11.93
    found = cautions(curve(padded))[0]
    assert (found.code, found.values["vocabulary"]) == ("points-far-off", True)
    assert_says(
        found.sentence,
        "planning is far from its neighbours: 11.93 at step 0",
        "logarithm of a vocabulary",
        "may make or hide a rise",
    )


def test_points_far_off_are_counted_and_the_noise_is_not():
    values = smooth() + noise()
    values[[40, 80, 120, 160]] += 0.5
    assert far_off(values).tolist() == [40, 80, 120, 160]
    found = cautions(curve(values, "aggregate"))[0]
    assert (found.values["curve"], found.values["steps"]) == ("all tokens", (40.0, 80.0, 120.0))
    assert (found.values["others"], found.values["vocabulary"]) == (1, False)
    assert_says(found.sentence, "at step 40, ", " and 1 more")
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
