"""Two numbers of reward are compared only if they are of one column, kind and sort, and in one unit."""

import json
from itertools import permutations

import pytest

from entropylaw.gates.quantities import QUANTITIES
from tests.gate_documents import case, cases, document, fitted, of_reward, prediction, refused, runs_of
from tests.golden.inputs import csv_text, evaluations
from tests.typed import assert_error, typed

COLUMN = "eval/quiz_accuracy"
WHOLE = {"rate": 1.0, "percent": 100.0, "raw": 250.0}
"""Unit → a reward of 1 in it; a share of problems of more than 100 is none, and in a unit of its own."""


def write(path, unit, ceiling):
    """The log of a run that follows the law, with its reward in a unit."""
    rows = [
        (step, entropy, WHOLE[unit] * reward) for step, entropy, reward in evaluations(40, ceiling=ceiling)
    ]
    path.write_text(csv_text(f"step,entropy,{COLUMN}", rows), "utf-8")
    return path.name


def checked(folder, *gates, sources=("now.csv",)):
    flags = [part for gate in gates for part in ("--fail-if", gate)]
    done = typed("check", *sources, *flags, "--format", "json", cwd=folder)
    return {case["gate"]: case for case in json.loads(done.stdout)["cases"]}


def stored(folder, unit, ceiling):
    source = write(folder / "base.csv", unit, ceiling)
    assert typed("fit", source, "-q", "-o", "base.fit.json", cwd=folder).returncode == 0
    return "base.fit.json"


# --- limits ---


@pytest.mark.parametrize("ceiling", [0.48, 0.83])
@pytest.mark.parametrize("unit", WHOLE)
def test_a_percentage_is_one_of_the_column(tmp_path, unit, ceiling):
    write(tmp_path / "now.csv", unit, ceiling)
    found = checked(tmp_path, "ceiling<60%", "now>60%", "noise<60%", "ceiling<0.6")
    below = "tripped" if ceiling < 0.6 else "passed"
    above = "passed" if ceiling < 0.6 else "tripped"
    limit = {"rate": 0.6, "percent": 60.0, "raw": 0.6}[unit]
    if unit == "raw":
        assert {found[gate]["outcome"] for gate in list(found)[:3]} == {"unknown"}
        said = "'eval/quiz_accuracy' is neither a rate nor in percent, so 60% of it means nothing: "
        assert said + "give a number in the column's own unit, without %" in found["ceiling<60%"]["sentence"]
        # A plain number is in the unit of the column.
        assert found["ceiling<0.6"]["outcome"] == "passed"
        assert "ceiling (own unit) " in found["ceiling<0.6"]["sentence"]
        return
    assert [found[gate]["outcome"] for gate in list(found)[:3]] == [below, above, "tripped"]
    assert found["ceiling<0.6"]["outcome"] == (below if unit == "rate" else "passed")
    one = found["ceiling<60%"]
    assert (one["limit"], one["unit"], one["column"]) == (limit, unit, "eval/quiz_accuracy")
    assert abs(one["value"] / WHOLE[unit] - ceiling) < 0.05
    shown = one["sentence"].removeprefix("ceiling ").partition("%")[0]
    assert float(shown) == pytest.approx(100 * one["value"] / WHOLE[unit], abs=0.01)
    assert one["sentence"].count("%") == 5
    assert one["sentence"].endswith("below 60%")


def test_the_unit_of_limit_and_value_is_in_the_sentence():
    sentences = {
        (
            "rate",
            "ceiling<0.62",
        ): "ceiling (rate) 0.60 [0.50, 0.70]: a part of the 95 % interval is below 0.62",
        ("rate", "ceiling<62%"): "ceiling 60% [50%, 70%]: a part of the 95 % interval is below 62%",
        (
            "percent",
            "ceiling<0.62",
        ): "ceiling 0.60% [0.50%, 0.70%]: a part of the 95 % interval is below 0.62%",
        (
            "percent",
            "ceiling<0.62%",
        ): "ceiling 0.60% [0.50%, 0.70%]: a part of the 95 % interval is below 0.62%",
        (
            "raw",
            "ceiling<0.62",
        ): "ceiling (own unit) 0.60 [0.50, 0.70]: a part of the 95 % interval is below 0.62",
        (
            "",
            "ceiling<0.62",
        ): "ceiling (unit not known) 0.60 [0.50, 0.70]: a part of the 95 % interval is below 0.62",
    }
    for (unit, gate), sentence in sentences.items():
        assert case(document(of_reward(fitted(), unit=unit)), gate).sentence == sentence
    found = case(document(of_reward(fitted(), unit="")), "ceiling<62%")
    assert (found.outcome, "the document does not say the unit of 'val/acc'" in found.sentence) == (
        "unknown",
        True,
    )
    assert case(document(of_reward(fitted(), unit="percent")), "ceiling<57%").limit == 57.0


def test_the_point_is_compared_in_the_same_unit():
    run = document(of_reward(fitted(ceiling=(60.0, 50.0, 70.0)), unit="percent"))
    assert case(run, "ceiling<0.61", point=True).sentence == "ceiling 60% is not below 0.61%"
    assert case(run, "ceiling<61%", point=True).sentence == "ceiling 60% is below 61%"


def test_gates_of_the_settings_file_are_those_of_the_command_line(tmp_path):
    write(tmp_path / "now.csv", "percent", 0.48)
    gates = ["ceiling<60%", "now>160", "ceiling<0.6"]
    typed_in = checked(tmp_path, *gates)
    (tmp_path / "entropylaw.toml").write_text(f"fail-if = {json.dumps(gates)}\n")
    done = typed("check", "now.csv", "--format", "json", cwd=tmp_path)
    by_file = {found["gate"]: found for found in json.loads(done.stdout)["cases"]}
    assert by_file == typed_in
    assert [by_file[gate]["outcome"] for gate in gates] == ["tripped", "unknown", "passed"]
    (tmp_path / "entropylaw.toml").write_text('fail-if = ["entropy_now<-1"]\n')
    assert_error(typed("check", "now.csv", cwd=tmp_path), "bad-gate", 2)


# --- baselines ---


@pytest.mark.parametrize(("before", "now"), [*permutations(WHOLE, 2)])
def test_a_regression_between_units_converts_or_is_unknown(tmp_path, before, now):
    base = stored(tmp_path, before, 0.8)
    write(tmp_path / "now.csv", now, 0.44)
    found = checked(tmp_path, f"regression({base})>10%", f"regression(ceiling, {base})>10%")
    for one in found.values():
        if "raw" in (before, now):
            assert one["outcome"] == "unknown"
            assert f"their unit is '{now}' and '{before}'" in one["sentence"]
        else:
            assert one["outcome"] == "tripped"
            assert 0.4 < one["value"] < 0.5


def against(now, before, gate="regression(b.json)>1%"):
    """The outcome of a gate on a run against the run of a baseline."""
    (found,) = cases([document(now)], gate, baselines={"b.json": runs_of(document(before), "b.json")})
    return found


PARTS = {"column": "mean of 2 rewards", "label": "mean"}


@pytest.mark.parametrize(
    ("now", "before", "said"),
    [
        ({"column": "val/sums"}, {}, "their column is 'val/sums' and 'val/acc'"),
        ({"kind": "training"}, {}, "their kind is 'training' and 'validation'"),
        ({"kind": None}, {}, "their kind is 'unknown' and 'validation'"),
        ({"sort": "length"}, {}, "their sort is 'length' and 'score'"),
        ({"sort": ""}, {}, "their sort is 'unknown' and 'score'"),
        ({"unit": "raw"}, {}, "their unit is 'raw' and 'rate'"),
        ({}, {"unit": ""}, "the document does not say the unit of 'val/acc': fit the log again"),
        ({"unit": ""}, {}, "the document does not say the unit of 'val/acc': fit the log again"),
        ({"unit": ""}, {"unit": ""}, "the document does not say the unit of 'val/acc': fit the log again"),
        (PARTS | {"parts": ["a", "b"]}, {}, "their column is 'mean of 2 rewards' and 'val/acc'"),
        (
            PARTS | {"parts": ["a", "b"]},
            PARTS | {"parts": ["a", "c"]},
            "their columns of the mean is 'a, b' and 'a, c'",
        ),
    ],
)
def test_a_baseline_of_another_reward_is_not_compared(now, before, said):
    for gate in ("regression(b.json)>1%", "regression(ceiling, b.json)<90%"):
        for change in ((now, before), (before, now)):
            ours, theirs = (of_reward(fitted(), **one) for one in change)
            found = against(ours, theirs, gate)
            assert (found.outcome, found.failed, found.value) == ("unknown", True, None)
            if change == (now, before):
                assert said in found.sentence


def test_a_baseline_of_the_same_reward_is_compared():
    mean = PARTS | {"parts": ["a", "b"]}
    for change in ({}, mean, {"unit": "raw"}, {"unit": "percent"}, {"kind": "training"}, {"sort": "length"}):
        found = against(of_reward(fitted(), **change), of_reward(fitted(), **change))
        assert (found.outcome, found.value) == ("not excluded", 0.0)
    half = of_reward(fitted(ceiling=(30.0, 29.9, 30.1)), unit="percent")
    found = against(half, fitted(ceiling=(0.6, 0.599, 0.601)))
    assert (found.outcome, found.value) == ("tripped", 0.5)


def test_a_document_without_a_reward_column_is_no_baseline():
    without = fitted()
    del without["columns"]["reward"]
    for now, before, whose in ((without, fitted(), "this run"), (fitted(), without, "the baseline")):
        found = against(now, before)
        assert found.outcome == "unknown"
        assert f"the document of {whose} does not say what its reward is: fit the log again" in found.sentence


@pytest.mark.parametrize(
    ("unit", "outcome"), [("rate", "unknown"), ("percent", "unknown"), ("raw", "passed")]
)
def test_a_rate_falls_by_all_of_it_at_most(unit, outcome):
    run = of_reward(fitted(), unit=unit)
    assert against(run, run, "regression(b.json)>100%").outcome == outcome
    assert against(run, run, "regression(b.json)>=100%").outcome == "passed"
    assert ("fall of now is at most 1" in against(run, run, "regression(b.json)>100%").sentence) is (
        outcome == "unknown"
    )


# --- too little is known ---

KNOWN = {"n", "effective_n", "cautions", "entropy_now"}
"""What is counted, or read of the log."""
OF_LAW = {
    *("ceiling", "a", "b", "entropy_noise", "odds_entropy", "odds_law", "odds_line", "r_squared"),
    *("lag1", "long_memory"),
}
"""What is fitted to the evaluations with an entropy."""
OTHERS = {"phases", "samples", "comparison"}


def short(n=51, effective_n=3.5, run="r", **more):
    """A fitted run of so many evaluations."""
    entry = fitted(run, **more)
    law = entry["result"]["law"]
    law["n"] = n
    for name in ("step", "entropy", "smoothed_entropy", "smoothing_error", "reward", "fitted"):
        law[name] = law[name][:n]
    law["residuals"] |= {"effective_n": effective_n, "lag1": 0.5}
    law["entropy_noise"] = 0.05
    return entry


def gate_on(name):
    limit = {"n": "<60", "cautions": "<9", "entropy_now": "<5", "effective_n": "<60"}.get(name, "<0.73")
    return f"{name}{limit}"


@pytest.mark.parametrize(
    ("n", "effective_n", "said"),
    [
        (7, 3.5, "7 evaluations, and a fitted number needs 8"),
        (8, 3.0, ""),
        (51, 2.9999, "the effective sample size is 2.99, and a fitted number needs 3"),
        (51, 3.0, ""),
    ],
)
def test_a_fitted_number_of_too_few_evaluations_is_unknown(n, effective_n, said):
    run = document(short(n, effective_n))
    numbers = [
        quantity
        for quantity in QUANTITIES.values()
        if quantity.reads[0] not in OTHERS and quantity.kind in ("estimate", "number")
    ]
    for quantity in numbers:
        for rules in ({}, {"even_if_fails": True}, {"point": True}):
            found = case(run, gate_on(quantity.name), **rules)
            # The effective sample size is that of the law alone.
            withheld = quantity.name in OF_LAW if n >= 8 else quantity.name not in KNOWN
            unknown = bool(said) and withheld
            assert (found.outcome == "unknown") is unknown, (quantity.name, found.sentence)
            assert not unknown or said in found.sentence
    for flag in ("fails", "undecided", "refused", "verdict=='fails'", "state==broken"):
        assert case(run, flag).outcome == "passed"


def test_both_runs_of_a_regression_need_enough_evaluations():
    whole, few, narrow = short(), short(7), short(51, 2.5)
    assert against(whole, whole).outcome == "not excluded"
    level, ceiling = "regression(b.json)>1%", "regression(ceiling, b.json)>1%"
    for now, before, gates, said in (
        (few, whole, (level, ceiling), "7 evaluations, and"),
        (whole, few, (level, ceiling), "in the baseline 7 evaluations, and"),
        (whole, narrow, (ceiling,), "in the baseline the effective sample size is 2.5, and"),
    ):
        for gate in gates:
            found = against(now, before, gate)
            assert (found.outcome, said in found.sentence) == ("unknown", True)
    # The level now is of all rewards, and not of the law.
    assert against(whole, narrow, level).outcome == "not excluded"


def test_evaluations_without_an_entropy_count_for_a_forecast():
    run = short(7)
    run["result"]["unpaired"] = [[900.0], [0.5]]
    assert case(document(run), "p_gain<1e-9").outcome == "passed"
    assert case(document(run), "now<1e-9").outcome == "passed"
    assert case(document(run), "ceiling<1e-9").outcome == "unknown"


def test_a_prediction_needs_as_much_as_its_fit():
    from entropylaw.documents.codec import encode

    gates = ("forecast_reward<0.999", "p_gain>=1e-9", "p_ever>=1e-9", "saturation_step>1")
    of_state = ("now<0.999", "p_better>=1e-9")
    whole = encode(prediction())
    assert whole["result"]["n_rewards"] == 40
    for change, said in (
        ({}, ""),
        ({"n_rewards": 7}, "7 evaluations, and a fitted number needs 8"),
        ({"n_rewards": None}, "does not say of how many evaluations it is: predict from the fit again"),
    ):
        entry = whole | {"result": whole["result"] | change}
        ahead = document(entry, kind="prediction")
        no_fit = document(refused(entry["run"], path=entry["path"]))
        for found in [*cases([ahead], *gates, *of_state), *cases([no_fit, ahead], *gates)]:
            assert ("a fitted number" in found.sentence or "of how many" in found.sentence) is bool(said)
            assert said in found.sentence


# --- targets of predictions ---


@pytest.mark.parametrize("unit", WHOLE)
def test_a_target_is_in_the_unit_of_the_column(tmp_path, unit):
    write(tmp_path / "now.csv", unit, 0.8)
    outputs = ("-o", "now.json", "-o", "now.txt")
    done = typed("predict", "now.csv", "--target-reward", "60 %", *outputs, cwd=tmp_path)
    if unit == "raw":
        assert_error(done, "bad-target", 2)
        assert "give a number in the column's own unit, without %" in done.stderr
        return
    (entry,) = json.loads((tmp_path / "now.json").read_text())["runs"]
    (target,) = entry["result"]["entropies"]
    assert target["reward"] == 0.6 * WHOLE[unit]
    assert 0.2 < target["value"] < 1.1
    assert entry["columns"]["reward"]["unit"] == unit
    shown = (tmp_path / "now.txt").read_text()
    assert ("reward 60%" if unit == "percent" else "reward 0.6 ") in shown
    assert f"{COLUMN}, {'in percent' if unit == 'percent' else 'a rate'}" in shown


@pytest.mark.parametrize(
    ("unit", "target", "said", "hint"),
    [
        ("rate", "60", "'eval/quiz_accuracy' is a rate, from 0 to 1", "type --target-reward 60%, or 0.6"),
        ("rate", "160%", "'eval/quiz_accuracy' is a rate, from 0 to 1", "give a reward inside of that"),
        ("rate", "-0.1", "is a rate, from 0 to 1", "give a reward inside of that"),
        ("percent", "160", "is in percent, from 0 to 100", "give a reward inside of that"),
        ("percent", "nan%", "expected a number, or a percentage", ""),
    ],
)
def test_a_target_that_is_not_possible_is_refused(tmp_path, unit, target, said, hint):
    write(tmp_path / "now.csv", unit, 0.8)
    done = assert_error(
        typed("predict", "now.csv", f"--target-reward={target}", cwd=tmp_path),
        "bad-option" if "nan" in target else "bad-target",
        2,
    )
    assert said in done.stderr
    assert hint in done.stderr
    if "nan" not in target:
        (tmp_path / "entropylaw.toml").write_text("max-reward = 'none'\n")
        lifted = typed("predict", "now.csv", f"--target-reward={target}", cwd=tmp_path)
        assert lifted.returncode == (2 if target == "-0.1" else 0)


def test_one_percentage_is_a_target_of_runs_in_unlike_units(tmp_path):
    for unit in ("rate", "percent"):
        write(tmp_path / f"{unit}.csv", unit, 0.8)
    assert typed("fit", "rate.csv", "percent.csv", "-q", "-o", "both.fit.json", cwd=tmp_path).returncode == 0
    done = typed("predict", "both.fit.json", "--target-reward", "60%", "--format", "json", cwd=tmp_path)
    runs = json.loads(done.stdout)["runs"]
    assert [run["result"]["entropies"][0]["reward"] for run in runs] == [0.6, 60.0]
    values = [run["result"]["entropies"][0]["value"] for run in runs]
    assert values[0] == pytest.approx(values[1], rel=1e-3)
    refused = assert_error(
        typed("predict", "both.fit.json", "--target-reward", "60", cwd=tmp_path), "bad-target", 2
    )
    assert "of 'rate'" in refused.stderr
