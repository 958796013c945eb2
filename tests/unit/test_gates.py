"""Gates: the decision, the numbers that are shown, baselines, and what is written."""

from __future__ import annotations

import copy
import json
import math
import random
import re
from functools import cache, reduce
from operator import eq, ge, getitem, gt, le, lt, ne

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entropylaw.documents.codec import encode
from entropylaw.documents.document import CheckDocument, FitDocument
from entropylaw.documents.loading import KINDS
from entropylaw.errors import InputError
from entropylaw.gates.decide import (
    Outcome,
    Rules,
    decide,
    holds_for,
    regression,
    relative_decrease,
)
from entropylaw.gates.expression import parse
from entropylaw.gates.quantities import (
    QUANTITIES,
    Kind,
    Part,
    Unknown,
    joined,
    read_document,
    subjects_of,
)
from entropylaw.options import FitOptions
from entropylaw.pipeline.answers import predict_runs
from entropylaw.report.render import rendered
from entropylaw.results import Estimate, Why
from entropylaw.results.result import replace
from tests.conftest import ROOT
from tests.findings import stated
from tests.unit import test_phase_report as phase_samples
from tests.unit.test_report_samples import synthetic

SIGNS = {"<": lt, "<=": le, ">": gt, ">=": ge, "==": eq, "!=": ne}
SETTINGS = {"level": 0.95, "interval": "drift"} | dict.fromkeys(
    ("eval_size", "entropy", "reward", "step", "run", "pair")
)
HOSTILE = "a\x00\x1b[31m|<b>&\n../`x`" + "n" * 300
numbers = st.floats(allow_nan=False, allow_infinity=False, width=64)


def number(value, low=None, high=None, *, level=0.95, note=None):
    return {"value": value, "low": low, "high": high, "level": level, "method": "m", "note": note}


@cache
def prediction():
    """A run of a prediction document, with two steps ahead."""
    fits = FitDocument(inputs=(), settings=FitOptions(), runs=(synthetic(),))
    (found,) = predict_runs(fits, saturation=True, at_step=[500, 600]).runs
    return found


@cache
def a_run():
    """A run of a fit document as the command writes it."""
    return encode(replace(synthetic(), read_notes=(), dropped={}))


def fitted(run="r", *, fails=None, path="log.csv", ceiling=(0.6, 0.5, 0.7), **more):
    """A run of a fit document with other numbers; ``fails`` is why the law fails."""
    some = number(*ceiling)
    entry = copy.deepcopy(a_run())
    answer = entry["answer"]
    answer |= dict.fromkeys(("ceiling", "headroom", "reward_now", "used"), some) | {
        "verdict": "holds" if fails is None else "fails",
        "why": fails,
        "p_headroom": 0.98,
        "findings": encode(
            (*stated("reason", *([] if fails is None else ["it bends"])), *stated("caution", "one"))
        ),
    }
    answer["law"] |= dict.fromkeys(("a", "b", "ceiling", "headroom", "reward_now"), some) | {
        "entropy_now": 0.1,
        "entropy_noise": None,
        "probability": 0.5,
        "r_squared": 0.9,
        "n": 51,
        **{name: list(range(51)) for name in ("step", "entropy", "smoothed_entropy", "reward", "fitted")},
    }
    answer["law"]["residuals"] |= {"lag1": None, "effective_n": 3.5}
    return entry | {"run": run, "path": path, "drop_per_100_steps": some} | more


def refused(run="r", *, read=True, path="log.csv"):
    refusal = {"slug": "too-few-evaluations", "message": "3 evaluations", "hint": "wait"}
    none = {"answer": None, "refusal": refusal, "drop_per_100_steps": None}
    return a_run() | {"run": run, "path": path} | none | ({} if read else {"entropy_column": None})


def phased(**phases):
    """A run of a phases document with other phases."""
    entry = encode(phase_samples.ordered()) | {"run": "r", "path": "log.csv"}
    return entry | {"phases": entry["phases"] | phases}


def document(*runs, kind="fit"):
    settings = {} if kind == "prediction" else {"settings": SETTINGS}
    schema = KINDS[kind].schema
    return {"schema": schema, "version": "0.1.0", "inputs": [], "runs": list(runs)} | settings


def subjects(data, source="x.fit.json"):
    return subjects_of(read_document(data, source), source)


def cases(data, *gates, baselines=None, **rules):
    found = joined([subject for one in data for subject in subjects(one)])
    return decide([parse(gate) for gate in gates], found, baselines or {}, Rules(**rules))


def case(data, gate, **more):
    (only,) = cases([data], gate, **more)
    return only


def checked(found, gates=("fails",)):
    return CheckDocument(
        inputs=(),
        gates=tuple(gates),
        strict=False,
        point=False,
        even_if_fails=False,
        runs=len({one.run for one in found}),
        failed=any(one.failed for one in found),
        cases=tuple(found),
    )


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
        ("verdict=='undecided'", "passed"),
        ("why=='another curve'", "passed"),
        ("p_headroom<0.97", "passed"),
        ("p_headroom>=0.97", "tripped"),
        ("law.ceiling<0.5", "passed"),
        ("law_probability<=0.5", "tripped"),
        ("cautions>0", "tripped"),
        ("fails", "passed"),
        ("undecided", "passed"),
        ("refused", "passed"),
        ("saturation_step<5", "unknown"),
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
AVERAGED = {"ceiling", "headroom", "p_headroom", "used"}


@pytest.mark.parametrize("why", [*map(str, Why), None])
def test_a_law_that_fails_makes_its_own_numbers_unknown_and_no_relation_the_averages_too(why):
    unknown = (set() if why is None else OWN) | (AVERAGED if why == "no relation" else set())
    run = document(fitted(fails=why))
    some = [name for name, one in QUANTITIES.items() if one.part is Part.law and one.kind is not Kind.flag]
    for name in set(some) - {"verdict", "why", "lag1", "entropy_noise"}:
        found = case(run, f"{name}<0.1")
        assert (found.outcome == "unknown") is (name in unknown), name
        assert name not in unknown or (f"fails for this run, {why}" in found.sentence)
        assert name not in unknown or "it bends" in found.sentence
        assert case(run, f"{name}<0.1", even_if_fails=True).outcome != "unknown"
    assert case(run, "fails").outcome == ("passed" if why is None else "tripped")
    assert case(run, f"why=='{why or 'another curve'}'").outcome == ("passed" if why is None else "tripped")
    assert case(run, "verdict=='fails'").outcome == ("passed" if why is None else "tripped")


def test_an_undecided_run_has_its_numbers_and_a_flag():
    run = fitted()
    run["answer"]["verdict"] = "undecided"
    outcomes = {gate: case(document(run), gate).outcome for gate in ("undecided", "fails", "law.ceiling<0.8")}
    assert outcomes == {"undecided": "tripped", "fails": "passed", "law.ceiling<0.8": "tripped"}


def test_a_refused_run_is_unknown_for_every_gate_but_the_one_on_refusals():
    gates = "ceiling<0.1 n<5 fails undecided verdict!='holds' saturation_step<3 phases=='overlapping' refused"
    *others, last = cases([document(refused())], *gates.split())
    assert {(one.outcome, one.failed) for one in others} == {("unknown", True)}
    assert all("3 evaluations" in one.sentence for one in others)
    assert last.outcome == "tripped"


def test_failures_come_last_on_a_terminal_and_first_in_markdown():
    found = cases([document(fitted("bad", fails="no relation"), fitted("good"))], "fails")
    lines = rendered(checked(found), "text").splitlines()
    assert [line.split()[0] for line in lines if line] == ["passed", "TRIPPED", "FAILED"]
    markdown = rendered(checked(found[::-1]), "markdown")
    assert markdown.index("## bad") < markdown.index("## good")


def test_open_ends_are_open_to_anything():
    rewards = [number(0.5, 0.4, 0.6), number(0.7, 0.6, 0.8)]
    steps, there = number(None, 590, None, note="it stays above"), number(None, note="no")
    entry = encode(prediction())
    ahead = entry | {
        "forecast": entry["forecast"] | {"reward": rewards},
        "spending": entry["spending"] | {"step": steps, "reward": there},
        "verdict": "holds",
        "why": None,
        "findings": [],
    }
    prediction_document = document(ahead, kind="prediction")
    expected = {
        "saturation_step<590": "passed",
        "saturation_step<591": "not excluded",
        "saturation_step>589": "tripped",
        "saturation_reward<1": "unknown",
        "forecast_reward>0.59": "tripped",
        "fails": "passed",
        "cautions>0": "passed",
    }
    decided = cases([prediction_document], *expected)
    assert [one.outcome for one in decided] == [*expected.values()]
    assert "[590, open]" in decided[0].sentence
    assert "it stays above" in decided[0].sentence
    assert case(prediction_document, "saturation_step<1", point=True).outcome == "unknown"


def test_documents_of_one_run_are_one_subject_and_others_stay_apart():
    bent, level = phase_samples.curve("planning"), phase_samples.curve("planning", found=False, p_value=0.3)
    phases = phased(
        verdict=None,
        findings=encode(stated("note", "no order")),
        delta=None,
        planning=encode(level),
        execution=encode(bent),
    )
    curves = document(phases, kind="phases")
    (found,) = cases([document(fitted()), curves], "boundary_execution>3")
    assert found.outcome == "tripped"
    assert found.sources == ("x.fit.json", "x.fit.json")
    assert "p = 0.3" in case(curves, "boundary_planning>3").sentence
    assert "no order" in case(curves, "phases!='overlapping'").sentence
    assert len(cases([document(fitted()), document(fitted(path="other"))], "fails")) == 2
    twice = cases([document(fitted()), document(fitted())], "fails")
    assert (len(twice), len({one.run for one in twice})) == (2, 1)
    refusal = {"slug": "no-phase-curve", "message": "no curve", "hint": "log it"}
    none = document(phased() | {"refusal": refusal, "phases": None}, kind="phases")
    law, order = cases([document(fitted()), none], "refused", "phases=='overlapping'")
    assert (law.outcome, order.outcome) == ("passed", "unknown")
    assert "no curve" in order.sentence


def test_a_report_holds_the_parts_of_its_runs():
    none = {"forecast": None, "spending": None, "no_forecast": "too short", "phases": None}
    report = document({"fit": fitted()} | none, kind="report")
    assert case(report, "ceiling<0.8").outcome == "tripped"
    assert "too short" in case(report, "forecast_reward<1").sentence
    assert "no curves of planning" in case(report, "phases=='overlapping'").sentence
    phases = document(phased(verdict="overlapping"), kind="phases")
    for both in ([report, phases], [phases, report]):
        (found,) = cases(both, "phases=='overlapping'")
        assert found.outcome == "tripped"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("answer", 3),
        ("answer", None),
        ("answer.law", None),
        ("run", 7),
        ("answer.ceiling", None),
        *(("answer.ceiling.low", value) for value in ("0.5", True, 10**400, 0.9)),
        ("answer.law.ceiling", None),
        *(("answer.law.ceiling.low", value) for value in ("0.5", True, 10**400, 0.9)),
        ("answer.law.n", []),
        ("answer.verdict", "valid"),
        ("answer.why", "no reason"),
        ("answer.findings", "bad"),
        ("answer.p_headroom", "0.5"),
        ("refusal", []),
        ("answer.used", 4),
    ],
)
def test_damage_is_named_with_its_place(path, value):
    data = document(fitted())
    *parents, last = path.split(".")
    reduce(getitem, parents, data["runs"][0])[last] = value
    with pytest.raises(InputError) as error:
        subjects(data)
    assert error.value.slug == "damaged-document"
    assert "$.runs[0]" in error.value.message


@pytest.mark.parametrize(
    ("schema", "slug"),
    [
        ("entropylaw/fit/2", "other-document-version"),
        ("entropylaw/fit/4", "other-document-version"),
        ("entropylaw/fit", "other-document-version"),
        ("entropylaw/backtest/1", "not-a-document"),
        ("other/fit/1", "not-a-document"),
        (None, "not-a-document"),
    ],
)
def test_other_schemas_are_refused_by_name(schema, slug):
    with pytest.raises(InputError) as error:
        subjects(document(fitted()) | {"schema": schema})
    assert error.value.slug == slug


def test_a_run_without_a_quantity_says_so():
    none = document(fitted(drop_per_100_steps=None))
    found = case(none, "drop_per_100_steps>0")
    assert found.outcome == "unknown"
    assert "the document has no drop_per_100_steps for this run" in found.sentence


# --- against a baseline ---


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


def test_movers_interval_covers_as_often_as_the_two_it_is_made_of():
    chance = random.Random(3)
    draws, covered = 4000, 0
    for _ in range(draws):
        now, before = chance.gauss(0.55, 0.03), chance.gauss(0.6, 0.05)
        new = estimate(now, now - 1.96 * 0.03, now + 1.96 * 0.03)
        old = estimate(before, before - 1.96 * 0.05, before + 1.96 * 0.05)
        found = relative_decrease(new, old, "ceiling")
        covered += found.low <= 1 - 0.55 / 0.6 <= found.high
    # Fieller's interval is exact here, and MOVER-R is Fieller's for symmetric intervals.
    assert abs(covered / draws - 0.95) < 3 * math.sqrt(0.95 * 0.05 / draws)


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
        baselines = {"b.json": subjects(document(*runs), "b.json")}
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


def test_a_regression_without_a_number_names_the_run_that_lacks_it():
    baseline = subjects(document(fitted(), fitted("old", drop_per_100_steps=None)))
    none, some = Unknown(reason="none"), estimate(0.5, 0.4, 0.6)
    measured = "drop_per_100_steps"
    for now, name, said in ((none, "r", "this run has no "), (some, "old", "the baseline has no ")):
        found = regression(now, baseline, measured, name, alone=True, any_law=False)
        assert found == Unknown(reason=f"{said}{measured}")


# --- what is written ---


SHAPE = {
    "testsuites": ({"name", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": ({"name", "tests", "failures", "errors"}, {"testcase"}),
    "testcase": ({"name", "classname"}, {"error", "failure", "system-out"}),
    "error": ({"message", "type"}, set()),
    "failure": ({"message", "type"}, set()),
    "system-out": (set(), set()),
}
"""Of the elements that we write: attributes and children, all of which Jenkins' schema allows."""


def test_junit_has_the_shape_that_readers_know():
    from xml.etree import ElementTree as ET

    found = cases(
        [document(fitted(HOSTILE), fitted("b", fails="no relation"), refused("c"))], "ceiling<0.8", "fails"
    )
    root = ET.fromstring(rendered(checked(found), "junit"))
    for element in root.iter():
        attributes, children = SHAPE[element.tag]
        assert set(element.attrib) == attributes
        assert {child.tag for child in element} <= children
    for suite in [root, *root.iter("testsuite")]:
        for name, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error")):
            assert int(suite.get(name)) == len(list(suite.iter(tag)))
    assert len(list(root.iter("testcase"))) == 6
    assert {one.get("type") for one in root.iter("error")} == {Outcome.unknown.value}


def test_hostile_names_stay_on_their_line_in_every_format():
    found = cases([document(fitted(HOSTILE), fitted("b"))], "ceiling<0.8", "n>3")
    check = checked(found)
    text = rendered(check, "text")
    assert len([line for line in text.splitlines() if line]) == 5
    assert all(character.isprintable() for line in text.splitlines() for character in line)
    markdown = rendered(check, "markdown")
    assert len([line for line in markdown.splitlines() if line.startswith("| TRIPPED")]) == 4
    assert "<b>" not in markdown
    raw = rendered(check, "junit")
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", raw)
    assert json.loads(json.dumps(check.to_json()))["cases"][0]["run"] == HOSTILE


def test_markdown_ends_before_a_forges_limit_and_says_what_is_missing():
    found = cases([document(*(fitted(f"run {i}", path=str(i)) for i in range(900)))], "fails", "n<3")
    text = rendered(checked(found), "markdown")
    assert 50_000 < len(text.encode()) <= 60_200
    shown, left = text.count("\n## "), int(re.search(r"\*Left out of this text: (\d+) more runs", text)[1])
    assert shown + left == 900


def test_the_document_follows_its_schema():
    found = cases(
        [document(fitted(), fitted("b", fails="no relation"), refused("c"))],
        *("ceiling<0.8", "verdict!='holds'"),
    )
    schema = json.loads((ROOT / "entropylaw/documents/schemas/check-1.json").read_text(encoding="utf-8"))
    body = checked(found).to_json()
    jsonschema.validate(body, schema)
    assert body["schema"] == "entropylaw/check/1"
    assert [one["failed"] for one in body["cases"]] == [one.failed for one in found]
