"""fit_phases: verdicts on curves whose phases are known, refusals and cautions."""

import numpy as np
import pytest

from entropylaw import FitError, combine_phases, fit_phases
from entropylaw.analysis.turning_point import MOST_POINTS
from entropylaw.errors import EntropyLawError

STEP = np.arange(0.0, 800.0, 10.0)
TIME = STEP / STEP[-1]


def decay(rng, *, floor=0.2, rate=6.0, rise=0.0, place=0.5, sd=0.01):
    bent = rise * np.maximum(TIME - place, 0.0) / (1.0 - place)
    return floor + 0.8 * np.exp(-rate * TIME) + bent + sd * rng.standard_normal(STEP.size)


@pytest.fixture(scope="module")
def smooth():
    """Two classes that only fall, and a response length that jumps."""
    rng = np.random.default_rng(5)
    plan, act = decay(rng), decay(rng, rate=3.0)
    length = 300.0 + 5 * rng.standard_normal(STEP.size) + 200.0 * (STEP >= 400)
    return fit_phases(STEP, plan, act, length=length)


@pytest.fixture(scope="module")
def two():
    rng = np.random.default_rng(3)
    plan, act = decay(rng, rise=0.5, place=0.7), decay(rng, rise=0.3, place=0.3)
    return fit_phases(STEP, plan, act, run="two")


def test_turning_points_in_their_order(two):
    assert two.verdict == "execution first"
    assert two.planning.rises
    assert two.execution.rises
    assert two.delta.low > 0
    assert two.later > 0.95
    rng = np.random.default_rng(0)
    for curve, rise, place in ((two.planning, 0.5, 0.7), (two.execution, 0.3, 0.3)):
        lowest = STEP[decay(rng, rise=rise, place=place, sd=0.0).argmin()]
        assert curve.turning_point.low <= lowest <= curve.turning_point.high
        assert not curve.falls_again
        assert (curve.low < curve.high).all()
    low = 0.2 + 0.8 * np.exp(-6 * 0.7)
    assert two.planning.rise.low < 0.7 + 0.8 * np.exp(-6.0) - low < two.planning.rise.high


def test_decays_do_not_turn_and_have_a_detectable_rise(smooth):
    assert (smooth.verdict, smooth.delta, smooth.later) == ("none turns to rise", None, None)
    (lacking,) = (one.values["curves"] for one in smooth.findings if one.code == "no-turning-point")
    assert lacking == ("planning", "execution")
    assert 0.0 < smooth.planning.detectable < 0.5
    without_noise = fit_phases(STEP, 0.2 + 0.8 * np.exp(-6 * TIME), 1.0 - 0.5 * TIME)
    assert without_noise.verdict == "none turns to rise"


def test_a_rise_without_a_fall_is_no_turn():
    rng = np.random.default_rng(2)
    rising = 0.2 + 0.5 * TIME + 0.01 * rng.standard_normal(STEP.size)
    peak = 0.2 + 0.8 * (1 + 14 * TIME) * np.exp(-9 * TIME) + 0.01 * rng.standard_normal(STEP.size)
    fit = fit_phases(STEP, rising, peak)
    assert not fit.planning.rises
    assert not fit.execution.rises
    assert fit.planning.detectable is None


def test_a_second_fall_is_between_its_steps():
    rng = np.random.default_rng(4)
    falls = decay(rng, sd=0.005) - 0.15 * (TIME > 0.6)
    curve = fit_phases(STEP, aggregate=falls).aggregate
    assert curve.falls_again
    assert not curve.rises
    first, last = curve.second_fall
    assert first < 0.6 * STEP[-1] < last
    assert fit_phases(STEP, aggregate=decay(rng)).aggregate.second_fall is None


@pytest.mark.parametrize(
    "curve",
    [
        0.2 + 0.5 / (1.0 + np.exp((0.5 - TIME) / 0.05)),
        0.5 + 0.3 * np.exp(-(((TIME - 0.3) / 0.1) ** 2)),
        0.2 + 0.6 * np.exp(-10 * TIME) + 0.3 / (1.0 + np.exp((0.6 - TIME) / 0.05)),
    ],
    ids=["a rise alone", "one peak", "a fall, and a rise that levels off"],
)
def test_a_curve_that_is_convex_and_then_concave_has_to_fall_in_both(curve):
    rng = np.random.default_rng(15)
    for _ in range(3):
        noisy = curve + 0.01 * rng.standard_normal(STEP.size)
        assert not fit_phases(STEP, aggregate=noisy).aggregate.falls_again


def test_a_random_walk_is_a_long_drift():
    rng = np.random.default_rng(6)
    walk = 5.0 + np.cumsum(rng.standard_normal(200)) * 0.05 - np.linspace(0.0, 2.0, 200)
    fit = fit_phases(np.arange(200.0), aggregate=walk)
    assert fit.aggregate.long_drift > 0.9
    assert "drift-long" in [one.code for one in fit.findings]


def test_residuals_in_common_make_the_difference_of_turning_points_narrower():
    rng = np.random.default_rng(9)
    common, own = (0.01 * rng.standard_normal(STEP.size) for _ in range(2))
    act = decay(rng, rise=0.4, place=0.4, sd=0.0)
    alike = fit_phases(STEP, act + common, act + common + 0.1 * own)
    assert abs(alike.delta.value) < 20
    assert alike.delta.std_error < 0.7 * np.hypot(
        alike.planning.turning_point.std_error, alike.execution.turning_point.std_error
    )


def test_a_jump_of_the_response_length_is_a_caution_beside_two_classes(smooth):
    assert any("the response length shifts by" in text for text in smooth.cautions)


def test_the_share_of_entropy_follows_from_three_means():
    rng = np.random.default_rng(8)
    plan, act = decay(rng, floor=0.6, sd=0.001), decay(rng, floor=0.2, sd=0.001)
    fit = fit_phases(STEP, plan, act, aggregate=0.3 * plan + 0.7 * act)
    last = 0.8 * np.exp(-6.0)
    truth = 0.3 * (0.6 + last) / (0.3 * (0.6 + last) + 0.7 * (0.2 + last))
    assert fit.share_planning.low < truth < fit.share_planning.high
    given = fit_phases(STEP, plan, act, planning_share=np.full(STEP.size, 0.3))
    assert given.share_planning.value == pytest.approx(fit.share_planning.value, abs=1e-3)


@pytest.fixture(scope="module")
def aggregate():
    """One curve with a padded first point, and a response length that jumps."""
    rng = np.random.default_rng(14)
    padded = decay(rng)
    padded[0] = 11.93
    length = 300.0 + 5 * rng.standard_normal(STEP.size) + 200.0 * (STEP >= 400)
    return fit_phases(STEP, aggregate=padded, length=length)


def test_one_curve_has_no_order_and_its_cautions(aggregate):
    assert (aggregate.planning, aggregate.execution, aggregate.verdict) == (None, None, None)
    assert aggregate.aggregate.n == STEP.size
    # The first point is far from every smooth curve, and the residual after it small.
    far, long, shift, change, only = aggregate.findings
    assert long.code == "drift-long"
    assert (far.code, far.values["values"], far.values["steps"]) == ("points-far-off", (11.93,), (0.0,))
    assert (shift.code, shift.values["series"]) == ("series-jumps", "the response length")
    assert (change.code, only.code) == ("length-changes", "classes-not-separable")
    assert (len(aggregate.cautions), len(aggregate.notes)) == (4, 1)


def test_long_runs_are_averaged_in_blocks_and_missing_steps_counted():
    rng = np.random.default_rng(10)
    step = np.arange(1200.0)
    curve = 0.2 + 0.8 * np.exp(-step / 200) + 0.02 * rng.standard_normal(1200)
    holes = np.where(step % 7 == 0, np.nan, curve)
    fit = fit_phases(step, holes, curve)
    assert fit.execution.n == 240 <= MOST_POINTS
    assert (fit.execution.first_step, fit.execution.last_step) == (0.0, 1199.0)
    assert fit.dropped == {"no entropy of planning at that step": int(np.isnan(holes).sum())}


@pytest.mark.parametrize(
    ("change", "slug"),
    [
        ({"planning": -decay(np.random.default_rng(1))}, "entropy-negative"),
        ({"planning": np.ones(STEP.size)}, "entropy-constant"),
        ({"planning": np.ones(3)}, "lengths-differ"),
        ({"step": STEP[::-1]}, "steps-not-increasing"),
        ({"planning": None, "execution": None}, "no-phase-curve"),
        ({"planning": np.where(STEP < 100, 0.5 - TIME, np.nan)}, "too-few-points"),
        ({"level": 0.999}, "bad-level"),
    ],
)
def test_refusals(change, slug):
    given = {"step": STEP, "planning": decay(np.random.default_rng(1)), "execution": None} | change
    with pytest.raises(EntropyLawError) as caught:
        fit_phases(given.pop("step"), **given)
    assert caught.value.slug == slug


def test_several_runs(two, smooth, aggregate):
    rng = np.random.default_rng(11)
    others = [
        fit_phases(STEP, decay(rng, rise=0.5, place=0.7, sd=0.03), decay(rng, rise=0.3, place=0.3, sd=0.02))
        for _ in range(2)
    ]
    across = combine_phases([two, smooth, *others, aggregate])
    assert (across.runs, across.planning_rises, across.both) == (4, 3, 3)
    assert across.share_both.low < 0.75 < across.share_both.high
    assert across.planning.low < 0.7 < across.planning.high
    assert across.findings[0].code == "runs-with-one-curve"
    assert [each.run for each in across.each] == ["two", "run", "run", "run"]
    with pytest.raises(FitError):
        combine_phases([aggregate])


def test_turns_are_shares_of_the_run_from_its_first_step():
    rng = np.random.default_rng(3)
    plan, act = decay(rng, rise=0.5, place=0.7), decay(rng, rise=0.3, place=0.3)
    early, late = fit_phases(STEP, plan, act), fit_phases(STEP + 1000.0, plan, act)
    span = STEP[-1]
    turns = late.turns
    assert turns.planning.value == pytest.approx((late.planning.turning_point.value - 1000.0) / span)
    assert turns.planning.low == pytest.approx(early.turns.planning.low)
    assert turns.execution.high == pytest.approx(early.turns.execution.high)
    assert turns.delta.value == pytest.approx(late.delta.value / span)
    assert turns.planning_rise == late.planning.rise
    assert fit_phases(STEP, plan).turns is None


@pytest.fixture(scope="module")
def published():
    """Execution falls and is flat; planning falls, too, and turns to rise long after."""
    rng = np.random.default_rng(12)
    step = np.arange(120.0)
    act = 0.6 - 0.5 * np.minimum(step, 40.0) / 40.0 + 0.01 * rng.standard_normal(120)
    plan = 0.3 + 0.6 * np.exp(-step / 25) + 0.01 * np.maximum(step - 80, 0) + 0.01 * rng.standard_normal(120)
    return fit_phases(step, plan, act, run="published")


def test_planning_rises_after_a_fall_that_needs_no_turn(published):
    assert published.planning.rises
    assert published.planning.turning_point.low <= 80 <= published.planning.turning_point.high
    assert 25 < published.execution.settled.value < 50
    assert published.after_fall.low < 80 - published.execution.settled.value < published.after_fall.high
    assert published.rises_after
    assert (published.planning.first_step, published.planning.last_step) == (0.0, 119.0)
    across = combine_phases([published, published])
    assert (across.rises_after, across.runs) == (2, 2)
    assert across.share_rises_after.high == 1.0


def test_a_fall_that_becomes_steeper_is_no_rise():
    rng = np.random.default_rng(13)
    down = decay(rng, floor=0.6, rise=-0.3, place=0.7), decay(rng, floor=0.6, rise=-0.3, place=0.4)
    fit = fit_phases(STEP, *down, planning_share=np.full(STEP.size, 0.2))
    assert fit.verdict == "none turns to rise"
    assert not fit.rises_after
    assert fit.share_planning.low < fit.share_planning.value < fit.share_planning.high


@pytest.mark.parametrize("early", [2, 3])
def test_a_gap_that_leaves_no_window_in_the_first_half(early):
    step = np.concatenate([np.arange(1.0, 1 + early), np.arange(500.0, 560.0)])
    curve = np.exp(-np.linspace(0, 3, step.size)) + 0.01 * np.cos(7 * step)
    assert fit_phases(step, planning=curve).planning.detectable is None
