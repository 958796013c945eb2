"""phases: what curves do whose phases are known, refusals and cautions."""

import numpy as np
import pytest

from entropylaw import EntropyLawError
from entropylaw.analysis.phases import combine_phases
from tests.hostile import refused
from tests.laws import phases_of

STEP = np.arange(0.0, 800.0, 10.0)
TIME = STEP / STEP[-1]


def decay(rng, *, floor=0.2, rate=6.0, rise=0.0, place=0.5, sd=0.01):
    bent = rise * np.maximum(TIME - place, 0.0) / (1.0 - place)
    return floor + 0.8 * np.exp(-rate * TIME) + bent + sd * rng.standard_normal(STEP.size)


@pytest.fixture(scope="module")
def smooth():
    """Two classes that only fall."""
    rng = np.random.default_rng(5)
    plan, act = decay(rng), decay(rng, rate=3.0)
    return phases_of(STEP, plan, act)


@pytest.fixture(scope="module")
def published():
    """Execution falls and is flat; planning falls, too, and rises long after."""
    rng = np.random.default_rng(12)
    step = np.arange(120.0)
    act = 0.1 + 0.5 * np.exp(-step / 8) + 0.01 * rng.standard_normal(120)
    plan = 0.3 + 0.6 * np.exp(-step / 5) + 0.01 * np.maximum(step - 60, 0) + 0.01 * rng.standard_normal(120)
    return phases_of(step, plan, act, name="published")


def test_execution_settles_and_then_planning_rises(published):
    assert published.verdict == "settles, then rises"
    plan, act = published.planning, published.execution
    assert (plan.rises, plan.exploded, plan.stays) == (True, True, True)
    assert plan.rise.low < 0.55 < plan.rise.high + 0.05
    assert 1.5 < plan.ratio < 4.0
    assert plan.onset.low <= 60 <= plan.onset.high
    assert 60 < plan.since < 115
    assert plan.settled is None
    assert act.rises is False
    assert act.settled.low <= 24 <= act.settled.high
    assert act.onset is None
    assert published.delta.low <= 36 <= published.delta.high
    assert published.later > 0.95
    assert "entropy-exploded" in [one.code for one in published.findings]


def test_decays_do_not_rise_and_a_small_rise_would_have_been_found(smooth):
    assert (smooth.verdict, smooth.delta, smooth.later) == ("does not rise", None, None)
    assert smooth.planning.rises is smooth.planning.exploded is False
    assert 0.0 < smooth.planning.detectable < 0.2
    without_noise = phases_of(STEP, 0.2 + 0.8 * np.exp(-6 * TIME), 1.0 - 0.5 * TIME)
    assert without_noise.verdict == "does not rise"


def test_a_curve_that_is_all_noise_shows_nothing():
    rng = np.random.default_rng(6)
    walk = np.exp(np.cumsum(0.5 * rng.standard_normal(60)))
    curve = phases_of(np.arange(60.0), entropy=0.001 + walk / walk.max()).aggregate
    assert curve.rises is None
    assert curve.exploded is None
    assert curve.verdict == "cannot tell"


def test_a_rise_without_a_fall_is_a_rise():
    rng = np.random.default_rng(2)
    rising = 0.2 + 0.5 * TIME + 0.01 * rng.standard_normal(STEP.size)
    peak = 0.2 + 0.8 * (1 + 14 * TIME) * np.exp(-9 * TIME) + 0.01 * rng.standard_normal(STEP.size)
    fit = phases_of(STEP, rising, peak)
    assert fit.planning.rises
    assert not fit.execution.rises


def test_an_exponential_settles_when_its_own_time_says_so():
    step, rng = np.arange(150.0), np.random.default_rng(9)
    for time in (0.06, 0.075, 0.09):
        fall = 0.1 + 0.5 * np.exp(-step / (149.0 * time)) + 0.012 * rng.standard_normal(150)
        settled = phases_of(step, entropy=fall).aggregate.settled
        truth = -np.log(0.05) * 149.0 * time
        assert settled.low <= truth <= settled.high <= truth + 15


def test_a_curve_rises_from_where_more_rises_than_falls():
    step, rng = np.arange(150.0), np.random.default_rng(10)
    time = step / 149.0
    # The slope of the fall is that of the rise at 0.4·ln(0.5/0.4·0.8/0.45).
    both = 0.5 * np.exp(-time / 0.4) + 0.45 * np.maximum(time - 0.2, 0.0) / 0.8
    onset = phases_of(step, entropy=both + 0.004 * rng.standard_normal(150)).aggregate.onset
    turn = 149.0 * 0.4 * np.log(0.5 / 0.4 * 0.8 / 0.45)
    assert onset.low <= turn <= onset.high
    assert onset.value == pytest.approx(turn, abs=8)


def test_a_band_is_not_held_within_the_points():
    truth = 0.2 + 0.8 * np.exp(-6 * TIME)
    noise = 0.03 * np.random.default_rng(11).standard_normal(STEP.size)
    # The first points are below the curve, which is above all points there.
    noise[:3] = -0.05
    curve = phases_of(STEP, entropy=truth + noise).aggregate
    assert truth[0] > curve.entropy.max()
    assert curve.low[0] <= truth[0] <= curve.high[0]


@pytest.mark.parametrize(("growth", "place"), [(3.0, 30), (5.0, 60)])
def test_the_onset_of_a_rise_that_accelerates(growth, place):
    step, rng = np.arange(150.0), np.random.default_rng(8)
    share = np.maximum(step - place, 0.0) / (149.0 - place)
    grown = 0.4 * np.expm1(growth * share) / np.expm1(growth)
    curve = 0.2 + 0.5 * np.exp(-step / 3.0) + grown + 0.01 * rng.standard_normal(150)
    onset = phases_of(step, entropy=curve).aggregate.onset
    assert onset.low <= place <= onset.high < 140


def test_eruptions_are_listed_with_their_steps():
    step, rng = np.arange(300.0), np.random.default_rng(3)
    places = (60, 150, 230)
    jumps = sum(0.8 * (step >= place) * np.exp(-np.maximum(step - place, 0) / 30) for place in places)
    fit = phases_of(step, entropy=0.6 + jumps + 0.05 * rng.standard_normal(300))
    found = fit.aggregate.eruptions
    assert [one.step for one in found] == pytest.approx(places, abs=4)
    assert all(0.3 < one.rise < 1.0 for one in found)
    (erupts,) = [one for one in fit.findings if one.code == "entropy-eruption"]
    assert len(erupts.values["steps"]) == 3
    assert phases_of(STEP, entropy=decay(rng)).aggregate.eruptions is None


@pytest.fixture(scope="module")
def aggregate():
    """One curve with a padded first point."""
    rng = np.random.default_rng(14)
    padded = decay(rng)
    padded[0] = 11.93
    return phases_of(STEP, entropy=padded)


def test_one_curve_has_no_order_and_its_cautions(aggregate):
    assert (aggregate.planning, aggregate.execution, aggregate.verdict) == (None, None, None)
    assert aggregate.aggregate.n == STEP.size
    codes = [one.code for one in aggregate.findings]
    assert codes == ["points-far-off", "classes-not-separable"]
    assert (len(aggregate.cautions), len(aggregate.notes)) == (1, 1)


def test_all_curves_with_values_are_fitted_and_the_others_are_left_out(aggregate):
    rng = np.random.default_rng(21)
    few = np.where(STEP < 100, 0.5, np.nan)
    fit = phases_of(STEP, few, decay(rng), semantic=decay(rng, rise=1.0, place=0.6), entropy=decay(rng))
    assert [curve.name for curve in fit.curves] == ["execution", "semantic", "aggregate"]
    assert fit.verdict in ("settles, then rises", "rises, then settles", "overlapping")
    (left_out,) = [one for one in fit.findings if one.code == "curve-left-out"]
    assert "10 entropies of planning" in left_out.sentence


def test_long_runs_are_averaged_in_blocks_and_missing_steps_counted():
    rng = np.random.default_rng(10)
    step = np.arange(1200.0)
    curve = 0.2 + 0.8 * np.exp(-step / 200) + 0.02 * rng.standard_normal(1200)
    holes = np.where(step % 7 == 0, np.nan, curve)
    fit = phases_of(step, holes, curve)
    assert fit.execution.n == 150
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
        ({"planning": np.where(STEP < 120, 0.5 - TIME, np.nan)}, "too-few-points"),
        ({"level": 0.999}, "bad-level"),
    ],
)
def test_refusals(change, slug):
    given = {"step": STEP, "planning": decay(np.random.default_rng(1)), "execution": None} | change
    refused(slug, phases_of, given.pop("step"), **given, kind=EntropyLawError)


def test_several_runs(published, smooth, aggregate):
    rng = np.random.default_rng(6)
    noise = np.exp(np.cumsum(0.5 * rng.standard_normal(60)))
    blind = phases_of(np.arange(60.0), noise / noise.max() + 0.001)
    across = combine_phases([published, published, published, smooth, aggregate, blind])
    planning, execution, whole = across.curves
    assert (across.runs, planning.runs, planning.rising, planning.not_rising) == (6, 5, 3, 1)
    assert (planning.unknown, whole.runs) == (1, 1)
    assert planning.share.value == 0.75
    assert planning.onset.low < 0.5 < planning.onset.high
    assert execution.onset is None
    assert execution.settled.low < execution.settled.value < execution.settled.high
    assert (execution.low <= execution.mean).all()
    assert (execution.at[0], execution.at[-1], whole.at.size) == (0.0, 1.0, 0)
    assert across.orders == {"settles, then rises": 3, "does not rise": 1}
    assert across.delta.low < 0.3 < across.delta.high
    assert [each.run for each in across.each] == ["published"] * 3 + ["run"] * 3


def test_a_summary_has_shares_of_the_run_from_its_first_step(published):
    rng = np.random.default_rng(12)
    step = np.arange(120.0)
    act = 0.1 + 0.5 * np.exp(-step / 8) + 0.01 * rng.standard_normal(120)
    plan = 0.3 + 0.6 * np.exp(-step / 5) + 0.01 * np.maximum(step - 60, 0) + 0.01 * rng.standard_normal(120)
    late = phases_of(step + 1000.0, plan, act).summary
    early = published.summary
    assert late.delta.value == pytest.approx(published.delta.value / 119.0)
    for one, other in zip(early.curves, late.curves, strict=True):
        np.testing.assert_allclose(one.mean, other.mean)
    assert late.curves[0].onset.low == pytest.approx(early.curves[0].onset.low)
