"""Gates: the decision, the numbers that are shown, and regressions against a baseline."""

import math
from operator import eq, ge, gt, le, lt, ne

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entropylaw import Estimate, InputError, Why
from entropylaw.documents.codec import encode
from entropylaw.gates.decide import relative_decrease
from entropylaw.gates.expression import holds_for
from entropylaw.gates.quantities import QUANTITIES, Unknown
from tests.findings import caution, stated
from tests.gate_documents import case, cases, document, fitted, number, phased, prediction, refused, runs_of
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
        ("p_headroom<0.97", "passed"),
        ("p_law>=0.3", "tripped"),
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


OWN = {"a", "b", "law.ceiling", "law.headroom"}
AVERAGED = {"ceiling", "headroom", "p_headroom"}


@pytest.mark.parametrize("why", [*map(str, Why), None])
def test_a_law_that_fails_makes_its_own_numbers_unknown_and_no_relation_the_averages_too(why):
    unknown = (set() if why is None else OWN) | (AVERAGED if why == "no relation" else set())
    run = document(fitted(fails=why))
    some = [name for name, one in QUANTITIES.items() if one.reads[0] == "fit" and one.kind != "flag"]
    for name in set(some) - {"verdict", "why", "lag1", "entropy_noise"}:
        gate = f"{name}<{3 if name == 'n' else 0.1}"
        found = case(run, gate)
        assert (found.outcome == "unknown") is (name in unknown), name
        assert name not in unknown or (f"fails for this run, {why}" in found.sentence)
        assert name not in unknown or "it bends" in found.sentence
        assert case(run, gate, even_if_fails=True).outcome != "unknown"
    assert case(run, "fails").outcome == ("passed" if why is None else "tripped")
    assert case(run, f"why=='{why or 'another curve'}'").outcome == ("passed" if why is None else "tripped")
    assert case(run, "verdict=='fails'").outcome == ("passed" if why is None else "tripped")


def test_an_undecided_run_has_its_numbers_and_does_not_exclude_that_the_law_fails():
    run = fitted()
    run["result"] |= {"verdict": "undecided", "findings": encode(stated("reason", "5 evaluations"))}
    found = {gate: case(document(run), gate) for gate in ("undecided", "fails", "law.ceiling<0.8")}
    outcomes = {"undecided": "tripped", "fails": "not excluded", "law.ceiling<0.8": "tripped"}
    assert {gate: one.outcome for gate, one in found.items()} == outcomes
    assert found["fails"].sentence == "the verdict is undecided: 5 evaluations"
    assert [case(document(run), "fails", strict=strict).failed for strict in (False, True)] == [False, True]


def test_sentences_on_the_verdict_and_its_reason():
    fails = document(fitted(fails="more than entropy"))
    assert case(document(fitted()), "fails").sentence == "the law holds"
    assert case(fails, "fails").sentence == "the law fails: more than entropy; it bends"
    assert case(document(fitted()), "why=='no relation'").sentence == "the law does not fail"
    assert case(fails, "why=='no relation'").sentence == "why is 'more than entropy'"


def test_a_probability_names_its_gain_and_a_forecast_its_step():
    run = fitted()
    run["result"]["gain"] = 0.03
    assert (
        "p_headroom 0.9800 (at least 0.03 left) is not below" in case(document(run), "p_headroom<.5").sentence
    )
    ahead = document(encode(prediction()), kind="prediction")
    assert "] (at step 600): " in case(ahead, "forecast_reward<0.1").sentence
    assert "or more by step 600) is not below" in case(ahead, "p_gain<1e-9").sentence


def test_the_gain_of_a_run_that_lost_its_reward_is_unknown():
    entry = fitted()
    lost = caution("reward-lost", best=0.8, last=0.1)
    entry["result"] |= {"findings": encode((lost,)), "p_headroom": None}
    entry["result"] |= dict.fromkeys(("ceiling", "headroom"), number(None, note="lost"))
    found = case(document(entry), "p_gain<0.1")
    assert (found.outcome, found.failed) == ("unknown", True)
    assert "lost its reward" in found.sentence


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
        "verdict": "holds",
        "why": None,
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
    assert "[590, open]" in decided[0].sentence
    assert "it stays above" in decided[0].sentence
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
        ("entropylaw/fit/4", "other-document-version"),
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
    none = document(fitted(drop_per_100_steps=None))
    found = case(none, "drop_per_100_steps>0")
    assert found.outcome == "unknown"
    assert "the document has no drop_per_100_steps for this run" in found.sentence


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

    flat, other = fitted(fails="no relation", ceiling=tight), fitted("other", ceiling=tight)
    curved = fitted(fails="another curve", ceiling=tight)
    several = "where there are several runs, here or there, their names have to match"
    for runs, more, outcome, said in (
        ([fitted(ceiling=tight)], {}, "tripped", "fall of ceiling 16.67% ["),
        ([fitted(ceiling=tight)], {"now": tight}, "passed", ""),
        # One run and one run.
        ([other], {}, "tripped", "fall of ceiling 16.67% ["),
        ([other], {"beside": [fitted("second")]}, "unknown", f"no run of the name 'r'; {several}"),
        ([other, fitted("third")], {}, "unknown", f"no run of the name 'r'; {several}"),
        ([other, fitted(ceiling=tight)], {"beside": [fitted("second")]}, "tripped", "16.67%"),
        ([fitted(), fitted()], {}, "unknown", "2 runs"),
        ([flat], {}, "unknown", "it bends"),
        ([flat], {"even_if_fails": True}, "tripped", ""),
        # The average rests on the curve that fits.
        ([curved], {}, "tripped", "16.67%"),
        ([refused()], {}, "unknown", "3 evaluations"),
    ):
        decided = against(*runs, **more)
        assert decided.outcome == outcome
        assert said in decided.sentence


def test_a_refused_run_of_a_prediction_has_no_numbers():
    found = case(document(refused(), kind="prediction"), "p_gain<0.5")
    assert (found.outcome, found.sentence) == ("unknown", "the run was refused: 3 evaluations")
