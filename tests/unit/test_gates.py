"""Gates: the decision, the numbers that are shown, and regressions against a baseline."""

import math
from operator import eq, ge, gt, le, lt, ne

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entropylaw import Estimate, InputError
from entropylaw.documents.codec import encode
from entropylaw.gates.decide import relative_decrease
from entropylaw.gates.expression import holds_for
from entropylaw.gates.quantities import QUANTITIES
from entropylaw.gates.quantity import Unknown
from entropylaw.results import Why
from tests.findings import stated
from tests.gate_documents import (
    case,
    cases,
    document,
    fitted,
    number,
    phased,
    prediction,
    refused,
    runs_of,
    without_law,
)
from tests.typed import assert_says
from tests.unit import test_phase_report as phase_samples

SIGNS = {"<": lt, "<=": le, ">": gt, ">=": ge, "==": eq, "!=": ne}
numbers = st.floats(allow_nan=False, allow_infinity=False, width=64)


# --- the decision ---


@given(st.sampled_from([*SIGNS]), numbers, numbers, numbers)
def test_the_interval_decides_as_every_point_in_it_would(sign, one, other, limit):
    low, high = sorted((one, other))
    near = (limit, math.nextafter(limit, -math.inf), math.nextafter(limit, math.inf))
    held = [SIGNS[sign](x, limit) for x in {low, high, *(x for x in near if low <= x <= high)}]
    assert holds_for(sign, low, high, limit) == (all(held), any(held))


@pytest.mark.parametrize(
    ("gate", "outcome"),
    [
        ("ceiling<0.7000001", "tripped"),
        ("ceiling<0.7", "not excluded"),
        ("ceiling<0.5", "passed"),
        ("ceiling<=0.5", "not excluded"),
        ("ceiling>0.5", "not excluded"),
        ("ceiling>0.7", "passed"),
        ("n<51", "passed"),
        ("n<=51", "tripped"),
        ("lag1>0", "unknown"),
        ("entropy_noise>0", "unknown"),
        ("verdict=='holds'", "tripped"),
        ("verdict!='holds'", "passed"),
        ("state==flat", "tripped"),
        ("state!='flat'", "passed"),
        ("state=='cannot tell'", "passed"),
        ("now<0.5", "passed"),
        ("flat_steps>=100", "tripped"),
        ("keep_step<390", "passed"),
        ("odds_entropy>3", "tripped"),
        ("p_ever<0.1", "passed"),
        ("cautions>0", "tripped"),
        ("fails", "passed"),
        ("saturation_step<5", "passed"),
        ("p_gain>1e-9", "tripped"),
        ("phases=='overlapping'", "unknown"),
    ],
)
def test_outcomes_of_a_run_in_which_the_law_holds(gate, outcome):
    found = case(document(fitted()), gate)
    assert found.outcome == outcome
    assert found.failed is (outcome in ("tripped", "unknown"))
    assert case(document(fitted()), gate, strict=True).failed is (outcome != "passed")


@pytest.mark.parametrize(
    ("high", "gate", "point", "outcome", "said"),
    [
        (0.7, "ceiling<0.61", False, "not excluded", ""),
        (0.7, "ceiling<0.61", True, "tripped", ""),
        (0.7, "ceiling<0.59", True, "passed", ""),
        (0.6199996, "ceiling<0.62", False, "tripped", "0.6199996]"),
        (0.62, "ceiling<0.62", False, "not excluded", ""),
    ],
)
def test_the_full_float_decides_and_with_point_the_estimate(high, gate, point, outcome, said):
    decided = case(document(fitted(ceiling=(0.6, 0.5, high))), gate, point=point)
    assert decided.outcome == outcome
    assert said in decided.sentence
    assert decided.sentence.endswith(gate.removeprefix("ceiling<"))


OF_FIT = [one for one in QUANTITIES.values() if "fit" in one.reads]
NUMBERS = [one.name for one in OF_FIT if one.kind in ("estimate", "number")]
OF_STATE = ("now", "gained", "change", "flat_steps", "noise", "keep_step", "keep_level")
OF_LAW = {"ceiling", "a", "b"}
"""What the data contradict where the law fails."""
OF_ENTROPY = OF_LAW | {
    *("entropy_now", "entropy_noise", "odds_entropy", "odds_law", "odds_line", "r_squared"),
    *("lag1", "long_memory", "effective_n", "drop_per_100_steps", "saturation_step"),
}
"""What a run without an entropy has not."""


NO_ENTROPY = "no entropy was given: give the policy entropy of every evaluation, in nats per token"


def compared_with(name):
    """A gate on a number, with a limit in its range."""
    return f"{name}<{3 if name == 'n' else 0.1}"


@pytest.mark.parametrize("why", [*map(str, Why), None])
def test_a_law_that_fails_makes_its_own_numbers_unknown_and_no_others(why):
    run = document(fitted(fails=why))
    for name in set(NUMBERS) - {"lag1", "entropy_noise"}:
        found = case(run, compared_with(name))
        unknown = why is not None and name in OF_LAW
        assert (found.outcome == "unknown") is unknown, (name, found.sentence)
        assert not unknown or found.sentence == "the law fails for this run: it bends"
        assert case(run, compared_with(name), even_if_fails=True).outcome != "unknown"
    assert case(run, "fails").outcome == ("passed" if why is None else "tripped")
    assert case(run, f"why=='{why or Why.line}'").outcome == ("passed" if why is None else "tripped")
    assert case(run, "verdict=='fails'").outcome == ("passed" if why is None else "tripped")


def test_a_run_without_a_law_has_a_state_and_a_forecast_and_fails_the_gates_on_the_law():
    run = document(without_law())
    for name in NUMBERS:
        found = case(run, compared_with(name), even_if_fails=True)
        assert (found.outcome == "unknown") is (name in OF_ENTROPY), (name, found.sentence)
        assert found.failed or name not in OF_ENTROPY
    for gate in ("fails", "undecided", "verdict=='fails'", "verdict!='fails'", "why!='no clear slope'"):
        found = case(run, gate, even_if_fails=True)
        assert (found.outcome, found.failed) == ("unknown", True), gate
        assert found.sentence == f"there is no law: {NO_ENTROPY}"
    known = {"state==rising": "tripped", "state==broken": "passed", "refused": "passed"}
    assert {gate: case(run, gate).outcome for gate in known} == known


def test_a_run_that_is_too_short_for_a_state_fails_the_gates_on_it():
    short = fitted(state=None, no_state="it needs 8 evaluations", forecast=None, no_forecast="7 evaluations")
    for gate in ("state!='flat'", "state==broken", "p_better<0.1", *map(compared_with, OF_STATE)):
        found = case(document(short), gate)
        assert (found.outcome, found.failed) == ("unknown", True)
        assert found.sentence == "the state of the run is not known: it needs 8 evaluations"


def test_of_what_is_no_score_no_step_is_kept():
    entry = fitted()
    entry["result"]["state"]["keep"] = None
    for gate in ("keep_step<100", "keep_level<0.1", "p_better<0.1"):
        found = case(document(entry), gate)
        assert (found.outcome, "is no score" in found.sentence) == ("unknown", True)
    assert case(document(entry), "now<0.1").outcome == "passed"


def test_an_undecided_run_has_its_numbers_and_does_not_exclude_that_the_law_fails():
    run = fitted()
    run["result"]["law"] |= {"verdict": "undecided", "why": "too few evaluations"}
    run["result"]["findings"] = encode(stated("reason", "5 evaluations"))
    found = {gate: case(document(run), gate) for gate in ("undecided", "fails", "ceiling<0.8")}
    outcomes = {"undecided": "tripped", "fails": "not excluded", "ceiling<0.8": "tripped"}
    assert {gate: one.outcome for gate, one in found.items()} == outcomes
    assert found["fails"].sentence == "the verdict is undecided: 5 evaluations"
    assert [case(document(run), "fails", strict=strict).failed for strict in (False, True)] == [False, True]


def test_sentences_on_the_verdict_and_its_reason():
    fails = document(fitted(fails="the step says more"))
    assert case(document(fitted()), "fails").sentence == "the law holds"
    assert case(fails, "fails").sentence == "the law fails: it bends"
    assert case(document(fitted()), "why=='no clear slope'").sentence == "the law holds"
    assert case(fails, "why=='no clear slope'").sentence == "why is 'the step says more'"
    assert case(fails, "state==broken").sentence == "state is 'flat'"


def test_a_probability_names_its_gain_and_a_forecast_its_step():
    ahead = document(encode(prediction()), kind="prediction")
    assert "] (at step 600): " in case(ahead, "forecast_reward<0.1").sentence
    for name in ("p_gain", "p_ever"):
        assert " (0.0682 or more by step 600) is not below" in case(ahead, f"{name}<1e-9").sentence


@pytest.mark.parametrize("kind", ["fit", "prediction"])
def test_of_a_broken_run_no_reward_ahead_and_no_law_is_known(kind):
    entry = fitted() if kind == "fit" else encode(prediction())
    entry["result"]["state"] |= {"word": "broken", "lost": [0.8, 0.1]}
    run = document(entry, kind=kind)
    gates = ["p_gain<0.1", "p_ever<0.1", "forecast_reward<0.3", "saturation_step<1", "fails", "undecided"]
    gates += ["verdict!='holds'", "why!='no clear slope'"]
    if kind == "fit":
        beside = {"entropy_now", "entropy_noise", "drop_per_100_steps"}
        gates += [compared_with(name) for name in sorted(OF_ENTROPY - beside)]
        assert case(run, "entropy_now<0.1").outcome in ("passed", "tripped")
    for gate in gates:
        found = case(run, gate, even_if_fails=True)
        assert (found.outcome, found.failed, found.sentence) == ("unknown", True, "the run is broken")
    assert case(run, "state==broken").outcome == "tripped"


@pytest.mark.parametrize("kind", ["fit", "prediction"])
def test_where_rewards_end_before_the_log_the_level_at_its_end_is_not_known(kind):
    entry = fitted() if kind == "fit" else encode(prediction())
    entry["result"]["state"] |= {"word": "broken", "lost": None, "since": 240.0}
    run = document(entry, kind=kind)
    for name in ("now", "gained", "change"):
        found = case(run, compared_with(name), even_if_fails=True)
        expected = ("unknown", True, "there is no usable reward after step 240")
        assert (found.outcome, found.failed, found.sentence) == expected
    assert case(run, "state==broken").outcome == "tripped"


def test_a_refused_run_is_unknown_for_every_gate_but_the_one_on_refusals():
    gates = "ceiling<0.1 n<5 fails undecided verdict!='holds' saturation_step<3 phases=='overlapping' refused"
    *others, last = cases([document(refused())], *gates.split())
    assert {(one.outcome, one.failed) for one in others} == {("unknown", True)}
    assert all("3 evaluations" in one.sentence for one in others)
    assert last.outcome == "tripped"


def test_open_ends_are_open_to_anything():
    rewards = [number(0.5, 0.4, 0.6), number(0.7, 0.6, 0.8)]
    spent = number(None, 590, None, note="it stays above")
    entry = encode(prediction())
    predicted = entry["result"]
    predicted |= {
        "forecast": predicted["forecast"] | {"rewards": rewards, "p_gains": [0.2, 0.4], "spent": spent},
        "findings": [],
    }
    prediction_document = document(entry, kind="prediction")
    expected = {
        "saturation_step<590": "passed",
        "saturation_step<591": "not excluded",
        "saturation_step>589": "tripped",
        "forecast_reward>0.59": "tripped",
        "p_gain<0.41": "tripped",
        "p_gain<0.3": "passed",
        "fails": "passed",
        "cautions>0": "passed",
    }
    decided = cases([prediction_document], *expected)
    assert [one.outcome for one in decided] == [*expected.values()]
    assert_says(decided[0].sentence, "[590, open]", "it stays above")
    assert case(prediction_document, "saturation_step<1", point=True).outcome == "unknown"


def test_documents_of_one_run_are_one_run_and_others_stay_apart():
    settles = phase_samples.estimate(88.0, 80.0, 97.0)
    bent = phase_samples.curve("planning", settled=settles)
    level = phase_samples.curve("planning", rises=False, p_rise=0.3)
    phases = phased(
        verdict=None,
        findings=encode(stated("note", "no order")),
        delta=None,
        planning=encode(level),
        execution=encode(bent),
    )
    curves = document(phases, kind="phases")
    (found,) = cases([document(fitted()), curves], "settled_execution>3")
    assert found.outcome == "tripped"
    assert found.sources == ("x.fit.json", "x.fit.json")
    assert case(curves, "rise_execution>0.2").outcome == "passed"
    assert case(curves, "rise_execution<0.2").outcome == "tripped"
    assert "p = 0.3" in case(curves, "onset_planning>3").sentence
    assert "no order" in case(curves, "phases!='overlapping'").sentence
    assert len(cases([document(fitted()), document(fitted(path="other"))], "fails")) == 2
    twice = cases([document(fitted()), document(fitted())], "fails")
    assert (len(twice), len({one.run for one in twice})) == (2, 1)
    refusal = {"slug": "no-phase-curve", "message": "no curve", "hint": "log it"}
    none = document(phased() | {"refusal": refusal, "result": None}, kind="phases")
    law, order = cases([document(fitted()), none], "refused", "phases=='overlapping'")
    assert (law.outcome, order.outcome) == ("passed", "unknown")
    assert "no curve" in order.sentence


def test_explosions_and_eruptions():
    planning = phased()["result"]["planning"]
    erupts = planning | {"eruptions": [{"step": 60.0, "rise": 0.8}] * 3}
    for change, exploded, erupted in (
        (erupts, "tripped", "tripped"),
        (erupts | {"ratio": 1.5, "eruptions": []}, "passed", "passed"),
        (planning | {"verdict": "cannot tell"}, "unknown", "unknown"),
        (planning | {"verdict": "does not rise"}, "passed", "unknown"),
    ):
        run = document(phased(planning=change), kind="phases")
        assert case(run, "entropy_exploded").outcome == exploded
        assert case(run, "eruptions>2").outcome == erupted
    assert case(document(fitted()), "entropy_exploded").outcome == "unknown"


def test_a_report_holds_the_parts_of_its_runs():
    entry = fitted()
    entry["result"] |= {"forecast": None, "no_forecast": "too short"}
    report = document(entry, kind="report")
    assert case(report, "ceiling<0.8").outcome == "tripped"
    assert "too short" in case(report, "forecast_reward<1").sentence
    assert "no curves of planning" in case(report, "phases=='overlapping'").sentence
    phases = document(phased(verdict="overlapping"), kind="phases")
    for both in ([report, phases], [phases, report]):
        (found,) = cases(both, "phases=='overlapping'")
        assert found.outcome == "tripped"


@pytest.mark.parametrize(
    ("schema", "slug"),
    [
        ("entropylaw/fit/2", "other-document-version"),
        ("entropylaw/fit/999", "other-document-version"),
        ("entropylaw/fit", "other-document-version"),
        ("entropylaw/columns/1", "not-a-document"),
        ("other/fit/1", "not-a-document"),
        (None, "not-a-document"),
    ],
)
def test_other_schemas_are_refused_by_name(schema, slug):
    with pytest.raises(InputError) as error:
        runs_of(document(fitted()) | {"schema": schema})
    assert error.value.slug == slug


def test_a_run_without_a_quantity_says_so():
    found = case(document(fitted()), "lag1>0")
    assert (found.outcome, found.sentence) == ("unknown", "the document has no lag1 for this run")


# --- what is written ---


def estimate(value, low, high, level=0.95):
    return Estimate(value=value, low=low, high=high, level=level, method="m")


def mover(now, before):
    """MOVER limits of now/before from their definition, by bisection."""

    def limit(r, side):
        there = before.high - before.value if (r >= 0) == (side > 0) else before.value - before.low
        here = now.value - now.low if side > 0 else now.high - now.value
        return now.value - r * before.value - side * math.hypot(here, r * there)

    ends = []
    for side in (1, -1):
        low, high = -1e6, 1e6
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if limit(middle, side) > 0 else (low, middle)
        ends.append(low)
    return ends


widths = st.floats(0.01, 2)


@given(st.floats(-3, 3), widths, widths, st.floats(0.2, 3), st.floats(0.01, 0.95), st.floats(0.01, 4))
def test_the_relative_decrease_is_movers(now, below, above, before, share, up):
    new, old = estimate(now, now - below, now + above), estimate(before, before * (1 - share), before + up)
    found = relative_decrease(new, old, "ceiling")
    low, high = mover(new, old)
    assert found.value == pytest.approx(1 - now / before)
    assert (found.low, found.high) == pytest.approx((1 - high, 1 - low), rel=1e-6, abs=1e-6)
    assert found.low <= found.value <= found.high


@pytest.mark.parametrize(
    ("now", "before", "said"),
    [
        (estimate(0.5, 0.4, None), estimate(0.6, 0.5, 0.7), "open end"),
        (estimate(0.5, 0.4, 0.6), estimate(0.6, 0.0, 0.7), "may be 0 or less"),
        (estimate(0.5, 0.4, 0.6), estimate(0.6, 0.5, 0.7, level=0.9), "levels differ"),
    ],
)
def test_a_share_that_means_nothing_is_unknown(now, before, said):
    found = relative_decrease(now, before, "ceiling")
    assert isinstance(found, Unknown)
    assert said in found.reason


def test_regressions_are_of_one_run_against_one_and_else_by_name():
    gate = "regression(b.json)>1%"
    tight = (0.6, 0.599, 0.601)

    def against(*runs, now=(0.5, 0.499, 0.501), beside=(), **rules):
        baselines = {"b.json": runs_of(document(*runs), "b.json")}
        first, *_ = cases([document(fitted(ceiling=now), *beside)], gate, baselines=baselines, **rules)
        return first

    other = fitted("other", ceiling=tight)
    few = fitted(ceiling=tight, state=None, no_state="it needs 8 evaluations")
    several = "where there are several runs, here or there, their names have to match"
    for runs, more, outcome, said in (
        ([fitted(ceiling=tight)], {}, "tripped", "fall of now 16.67% ["),
        ([fitted(ceiling=tight)], {"now": tight}, "passed", ""),
        # One run and one run.
        ([other], {}, "tripped", "fall of now 16.67% ["),
        ([other], {"beside": [fitted("second")]}, "unknown", f"no run of the name 'r'; {several}"),
        ([other, fitted("third")], {}, "unknown", f"no run of the name 'r'; {several}"),
        ([other, fitted(ceiling=tight)], {"beside": [fitted("second")]}, "tripped", "16.67%"),
        ([fitted(), fitted()], {}, "unknown", "2 runs"),
        # The level now does not rest on the law.
        ([fitted(fails="the step says more", ceiling=tight)], {}, "tripped", "16.67%"),
        ([few], {}, "unknown", "in the baseline the state of the run is not known: it needs 8 evaluations"),
        ([refused()], {}, "unknown", "3 evaluations"),
    ):
        decided = against(*runs, **more)
        assert decided.outcome == outcome
        assert said in decided.sentence


FAILS = fitted(fails="the step says more")


@pytest.mark.parametrize(
    ("now", "before", "said"),
    [
        (FAILS, fitted(), "the law fails for this run: it bends"),
        (fitted(), FAILS, "in the baseline the law fails for this run: it bends"),
        (without_law(), fitted(), f"there is no law: {NO_ENTROPY}"),
        (fitted(), without_law(), f"in the baseline there is no law: {NO_ENTROPY}"),
    ],
)
def test_a_regression_of_the_ceiling_needs_the_law_on_both_sides(now, before, said):
    def against(gate, **rules):
        baselines = {"b.json": runs_of(document(before), "b.json")}
        (found,) = cases([document(now)], gate, baselines=baselines, **rules)
        return found

    found = against("regression(ceiling, b.json)>90%")
    assert (found.outcome, found.sentence) == ("unknown", said)
    forced = against("regression(ceiling, b.json)>90%", even_if_fails=True)
    assert (forced.outcome == "unknown") is ("no law" in said)
    assert against("regression(b.json)>90%").outcome == "passed"


def test_a_refused_run_of_a_prediction_has_no_numbers():
    found = case(document(refused(), kind="prediction"), "p_gain<0.5")
    assert (found.outcome, found.sentence) == ("unknown", "the run was refused: 3 evaluations")


@pytest.mark.parametrize(
    "change",
    [{"verdict": "none"}, {"verdict": "sound"}, {"no_law": {"slug": "x", "message": "y", "hint": "z"}}],
)
def test_a_prediction_whose_law_is_said_two_ways_is_damaged(change):
    entry = encode(prediction())
    entry["result"] |= change
    with pytest.raises(InputError, match="damaged"):
        runs_of(document(entry, kind="prediction"))
