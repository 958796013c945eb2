"""Several rewards and entropies of one run: what is chosen, and what every command makes of them."""

import csv
import io
import json
import re

import numpy as np
import pytest

import entropylaw
from entropylaw import InputError, fit_logs, load, read_runs
from entropylaw.options import FitOptions
from entropylaw.roles.explain import explain
from entropylaw.roles.rewards import select_all
from tests.typed import typed
from tests.unit.test_control_and_offer import written

N = 60
STEP = np.arange(N)
ENTROPY = 0.2 + 0.6 * np.exp(-STEP / 15)
NOISE = np.random.default_rng(5).normal(0.0, 0.004, (4, N))
LEVELS = {"openai/gsm8k": 0.9, "HuggingFaceH4/MATH-500": 0.7, "aime24": 0.47, "minerva_math": 0.5}
LABELS = ["gsm8k mean@1", "MATH-500 mean@4", "aime24 mean@32", "minerva_math mean@4"]
COLUMNS = [f"val-core/{data}/acc/mean@{k}" for data, k in zip(LEVELS, (1, 4, 32, 4), strict=True)]
REWARDS = {
    column: level - 0.2 * np.exp(ENTROPY) + noise
    for column, level, noise in zip(COLUMNS, LEVELS.values(), NOISE, strict=True)
}

ONE = {COLUMNS[0]: REWARDS[COLUMNS[0]]}


def log(path, rewards=REWARDS, every=2, **columns):
    """A log of verl with an evaluation at every second step; a reward is missing where it is None or nan."""
    table = {"training/global_step": STEP, "actor/entropy": ENTROPY, **columns}
    for name, values in rewards.items():
        there = (STEP % every == 0) & np.isfinite(values)
        table[name] = [float(value) if at else None for value, at in zip(values, there, strict=True)]
    return written(path, table)


@pytest.fixture
def verl(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log(tmp_path / "four.jsonl")
    return "four.jsonl"


def cases(*arguments, cwd):
    done = typed("check", *arguments, "--format", "json", cwd=cwd)
    return {(case["run"], case["gate"]): case for case in json.loads(done.stdout)["cases"]}


def test_every_benchmark_of_the_best_kind_is_a_reward_and_their_mean_is_one(verl):
    (run,) = read_runs(verl)
    series = select_all(run)
    assert sorted(paired.label for paired in series[:-1]) == sorted(LABELS)
    assert series[-1].label == "mean"
    values = {paired.reward_choice.column: paired.reward for paired in series}
    expected = np.mean([values[column] for column in COLUMNS], axis=0)
    np.testing.assert_allclose(series[-1].reward, expected)
    assert series[-1].reward_choice.why.startswith("with equal weights")
    for paired in series:
        np.testing.assert_array_equal(paired.entropy, series[0].entropy)
        assert len(paired.step) == 30


def test_another_statistic_is_a_reward_of_its_own_kind(tmp_path):
    best = {
        f"val-core/{data}/acc/best@32/mean": values
        for data, values in zip(LEVELS, REWARDS.values(), strict=True)
    }
    passed = {"val-core/aime24/acc/pass@32": REWARDS[COLUMNS[0]]}
    (run,) = read_runs(log(tmp_path / "four.jsonl", REWARDS | best | passed))
    assert {paired.label for paired in select_all(run)} == {*LABELS, "mean"}
    (run,) = read_runs(log(tmp_path / "pass.jsonl", passed))
    (only,) = select_all(run)
    assert (only.reward_choice.column, only.label) == ("val-core/aime24/acc/pass@32", "")


def test_rewards_are_named_by_columns_patterns_and_labels(verl):
    (run,) = read_runs(verl)

    def named(*reward):
        return [paired.reward_choice.column for paired in select_all(run, reward=reward)]

    assert named(COLUMNS[2], COLUMNS[0]) == [COLUMNS[2], COLUMNS[0]]
    assert sorted(named("val-core/*/acc/mean@*")) == sorted(COLUMNS)
    assert sorted(named("*mean@4")) == sorted([COLUMNS[1], COLUMNS[3]])
    assert named("gsm8k mean@1") == [COLUMNS[0]]
    assert named("mean") == ["mean of 4 rewards"]
    assert named("math*") == named("math500") == named("MATH-500 mean@4") == [COLUMNS[1]]
    with pytest.raises(InputError, match="no column 'olympiad\\*'"):
        named("olympiad*")
    assert {column.column for column in explain(run).reward if column.used} == {*COLUMNS}


def test_an_entropy_of_several_is_part_of_the_label(tmp_path):
    path = log(tmp_path / "four.jsonl", ONE, **{"actor/entropy_loss": 0.9 * ENTROPY})
    (run,) = read_runs(path)
    (alone,) = select_all(run)
    assert "preferred to 'actor/entropy_loss'" in alone.entropy_choice.why
    both = select_all(run, entropy="actor/entropy*")
    assert [paired.label for paired in both] == ["actor/entropy", "actor/entropy_loss"]
    document = typed("phases", "four.jsonl", "--entropy", "actor/entropy*", "--format", "json", cwd=tmp_path)
    assert [entry["reward"] for entry in json.loads(document.stdout)["runs"]] == [
        paired.label for paired in both
    ]


def test_a_fit_has_an_entry_per_reward_and_the_first_is_the_answer(verl, tmp_path):
    entries = fit_logs([verl]).runs
    assert {entry.run for entry in entries} == {"four"}
    assert {entry.reward for entry in entries} == {*LABELS, "mean"}
    assert entries[0].name == f"four · {entries[0].reward}"
    fit = entropylaw.fit(verl)
    assert [*fit.rewards] == [entry.reward for entry in entries]
    assert fit.state == fit.rewards[entries[0].reward].state
    typed("fit", "four.jsonl", "--reward", COLUMNS[0], "-o", "one.json", cwd=tmp_path)
    (alone,) = load(tmp_path / "one.json", "fit").runs
    assert (alone.reward, alone.name) == ("", "four")
    assert [*entropylaw.fit(verl, reward=COLUMNS[0]).rewards] == [COLUMNS[0]]


def test_a_column_alone_needs_no_list(verl, tmp_path):
    (entry,) = fit_logs([verl], FitOptions(reward="mean")).runs  # type: ignore[arg-type]
    assert entry.columns["reward"].column == "mean of 4 rewards"
    (tmp_path / "entropylaw.toml").write_text('columns.reward = "gsm8k*"\n')
    done = typed("fit", verl, "--format", "json", cwd=tmp_path)
    assert [run["columns"]["reward"]["column"] for run in json.loads(done.stdout)["runs"]] == [COLUMNS[0]]


def test_tables_have_a_row_per_reward_and_count_runs(verl, tmp_path):
    done = typed("fit", "four.jsonl", "--no-save", cwd=tmp_path)
    assert "four · 5 rewards · 30 evaluations of steps 0–58 · entropy 0.76 → 0.21 nats" in done.stdout
    assert re.search(r"mean +[▁▂▃▅▇]{12} +0.396 .* rising", done.stdout)
    rows = list(csv.DictReader(io.StringIO(typed("fit", verl, "--format", "csv", cwd=tmp_path).stdout)))
    assert [row["run"] for row in rows] == [f"four · {row['label']}" for row in rows]
    one = typed("fit", verl, "--reward", "mean", "--format", "csv", cwd=tmp_path).stdout
    assert "label" not in one.partition("\n")[0].split(",")


def test_a_report_has_a_page_per_run_and_a_row_per_reward(verl, tmp_path):
    log(tmp_path / "two.jsonl", {COLUMNS[0]: 0.1 + REWARDS[COLUMNS[0]]})
    typed("report", "four.jsonl", "two.jsonl", "-o", "out", "--figures", "none", cwd=tmp_path)
    assert sorted(path.name for path in (tmp_path / "out" / "runs").glob("*.html")) == [
        "four.html",
        "two.html",
    ]
    page = (tmp_path / "out" / "runs" / "four.html").read_text()
    reports = load(tmp_path / "out" / "runs" / "four.json", "report").reports
    assert len(reports) == 5
    assert re.findall("<h1>(.*?)</h1>", page) == ["four"]
    # A row and a panel of each, and its description folded away under an address of its own.
    assert re.findall(r'<th scope="row">([^<]*)</th>', page)[:5] == [report.fit.reward for report in reports]
    assert page.count('<details class="reward">') == 5
    assert re.findall('<div id="(reward:.*?)">', page)[:2] == ["reward:four", "reward:four-aime24-mean-32"]
    assert page.index("<details") > page.index('id="rewards-title"')
    ids = [text.partition('"')[0] for text in page.split(' id="')[1:]]
    assert len(ids) == len(set(ids))
    assert "6 rewards of 2 runs" in (tmp_path / "out" / "index.html").read_text()
    found = cases("out", "--fail-if", "n<5", "--fail-if", "forecast_reward>0.99", cwd=tmp_path)
    assert len(found) == 12
    assert {case["outcome"] for case in found.values()} == {"passed"}


def test_predictions_are_of_every_reward(verl, tmp_path):
    typed("fit", "four.jsonl", "-o", "fit.json", cwd=tmp_path)
    done = typed("predict", "fit.json", "--target-entropy", "0.3", "--format", "json", cwd=tmp_path)
    assert {entry["reward"] for entry in json.loads(done.stdout)["runs"]} == {*LABELS, "mean"}


def test_several_rewards_are_compared_together_as_rows(verl, tmp_path):
    logs = []
    for arm in ("a", "b"):
        for seed in range(2):
            change = 0.01 * seed + (0.05 if arm == "b" else 0.0)
            log(
                tmp_path / f"{arm}_s{seed}.jsonl", {name: values + change for name, values in REWARDS.items()}
            )
            logs.append(f"{arm}={arm}_s{seed}.jsonl")
    done = typed("compare", *logs, "-o", "c.json", "-o", "c.csv", "-o", "-", cwd=tmp_path, code=0)
    stored = json.loads((tmp_path / "c.json").read_text())
    comparisons = [stored["comparison"], *stored["others"]]
    labels = [comparison["reward"] for comparison in comparisons]
    assert set(labels) == {*LABELS, "mean"}
    assert all(f"\n  {label}: " in done.stdout for label in labels)
    # All rewards are one family.
    family = [
        row
        for comparison in comparisons
        for row in comparison["pairs"][0]["differences"]
        if row["headline"] and row["p_value"] is not None
    ]
    smallest = min(family, key=lambda row: row["p_value"])
    assert smallest["p_adjusted"] == pytest.approx(min(1.0, len(family) * smallest["p_value"]), rel=1e-6)
    assert typed("compare", *logs, "--reward", "mean", cwd=tmp_path).returncode == 0
    with pytest.raises(InputError, match="rewards, and arms are compared in one"):
        entropylaw.compare({arm: [tmp_path / f"{arm}_s{seed}.jsonl" for seed in range(2)] for arm in "ab"})


def test_a_run_without_a_law_in_one_reward_is_left_out_at_equal_entropy_of_that_one_alone(tmp_path):
    changes = {"a_s0": 0.0, "a_s1": 0.01, "b_s0": 0.05, "b_s1": 0.06}
    for name, change in changes.items():
        rewards = {column: REWARDS[column] + change for column in COLUMNS[:2]}
        if name == "b_s1":
            rewards[COLUMNS[1]] = 0.0 * STEP
        log(tmp_path / f"{name}.jsonl", rewards)
    logs = [f"{name[0]}={name}.jsonl" for name in changes]
    only = ("--reward", COLUMNS[0], "--reward", COLUMNS[1])
    typed("compare", *logs, *only, "-o", "c.json", cwd=tmp_path, code=0)
    stored = json.loads((tmp_path / "c.json").read_text())
    without = {
        compared["reward"]: [run.get("without_along") for run in compared["arms"][1]["runs"]]
        for compared in (stored["comparison"], *stored["others"])
    }
    assert without[LABELS[0]] == [None, None]
    assert without[LABELS[1]] == [None, "reward is 0 in all 30 evaluations, expected one that moves"]


@pytest.mark.parametrize("stored", [False, True])
def test_a_gate_with_a_pattern_is_for_the_rewards_that_match(verl, tmp_path, stored):
    source = "four.jsonl"
    if stored:
        typed("fit", source, "-o", "fit.json", cwd=tmp_path)
        source = "fit.json"
    gates = (
        "*mean@4:n<50",
        "mean:n<5",
        "'val-core/aime24/*':n<5",
        "gsm8k mean@1:state==broken",
        "olympiad*:n>9",
    )
    flags = [word for gate in gates for word in ("--fail-if", gate)]
    found = cases(source, *flags, cwd=tmp_path)
    outcomes = {(run.removeprefix("four · "), gate): case["outcome"] for (run, gate), case in found.items()}
    assert outcomes == {
        ("MATH-500 mean@4", gates[0]): "tripped",
        ("minerva_math mean@4", gates[0]): "tripped",
        ("mean", gates[1]): "passed",
        ("aime24 mean@32", gates[2]): "passed",
        ("gsm8k mean@1", gates[3]): "passed",
        ("four", gates[4]): "unknown",
    }
    unknown = found["four", "olympiad*:n>9"]
    assert unknown["failed"]
    assert "no reward of the run matches 'olympiad*': it has " in unknown["sentence"]


def test_a_pattern_matches_the_only_reward_by_column_and_label(tmp_path):
    log(tmp_path / "four.jsonl", ONE)
    gates = ("gsm8k*:n<5", "val-core/*:n<5", "mean:n<5")
    flags = [word for gate in gates for word in ("--fail-if", gate)]
    found = cases("four.jsonl", *flags, cwd=tmp_path)
    assert [case["outcome"] for case in found.values()] == ["passed", "passed", "unknown"]


@pytest.mark.parametrize("last", [30, 6])
def test_a_benchmark_that_vanishes_is_unknown_for_every_gate(tmp_path, last):
    gone = np.where(last >= STEP, REWARDS[COLUMNS[1]], np.nan)
    path = log(tmp_path / "four.jsonl", REWARDS | {COLUMNS[1]: gone})
    found = cases("four.jsonl", "--fail-if", "now<0.01", "--fail-if", "MATH*:state==broken", cwd=tmp_path)
    vanished = {run for (run, _), case in found.items() if case["outcome"] == "unknown"}
    assert "four · MATH-500 mean@4" in vanished
    assert "four · gsm8k mean@1" not in vanished
    if last == 30:
        # The mean needs all of them.
        assert "four · mean" in vanished
        said = found["four · MATH-500 mean@4", "now<0.01"]["sentence"]
        assert said == "the evaluations end at step 30, those of another reward of the run at 58"
        text = typed("fit", path, "--details", "--reward", "*", "--no-save", cwd=tmp_path).stdout
        assert text


def test_phases_are_those_of_the_run(verl, tmp_path):
    curves = {"entropy_planning": 0.5 + ENTROPY, "entropy_execution": ENTROPY}
    log(tmp_path / "four.jsonl", **curves)
    found = cases("four.jsonl", "--fail-if", "rise_planning<-5", "--fail-if", "n<5", cwd=tmp_path)
    assert [gate for _, gate in found].count("rise_planning<-5") == 1
    assert len(found) == 6


def test_evaluations_without_an_entropy_count_for_the_forecast_everywhere(tmp_path, monkeypatch):
    """The last three evaluations fall, and have no entropy: only the law leaves them out."""
    monkeypatch.chdir(tmp_path)
    rewards = {name: np.where(STEP > 53, REWARDS[name] - 0.1, REWARDS[name]) for name in COLUMNS[:2]}
    entropy = [float(value) if step <= 53 else None for step, value in zip(STEP, ENTROPY, strict=True)]
    (run,) = read_runs(log(tmp_path / "late.jsonl", rewards, **{"actor/entropy": entropy}))
    forecasts = {}
    for series in select_all(run):
        steps, entropies, values = series.evaluations
        assert (len(series.step), steps[-1], np.isnan(entropies).sum()) == (27, 58, 3)
        alone = entropylaw.forecast(steps, None, values, at_step=87, max_reward=1)
        assert alone.now < series.reward[-1] - 0.05
        forecasts[series.label] = alone
    typed("fit", "late.jsonl", "--output", "fit.json", cwd=tmp_path)
    typed("report", "late.jsonl", "--output", "site", "--figures", "none", cwd=tmp_path)
    (page,) = (tmp_path / "site" / "runs").glob("*.json")
    found = cases("late.jsonl", "--fail-if", "p_gain<1", cwd=tmp_path)
    fits = {entry.reward: entry.result for entry in load("fit.json", "fit").runs}
    reported = {report.fit.reward: report.fit.result for report in load(page, "report").reports}
    predicted = {}
    for source in ("late.jsonl", "fit.json"):
        done = typed("predict", source, "--at-step", "87", "--format", "json", cwd=tmp_path)
        for entry in json.loads(done.stdout)["runs"]:
            predicted[source, entry["reward"]] = entry["result"]["forecast"]["rewards"][0]["value"]
    assert fits.keys() == forecasts.keys()
    for label, alone in forecasts.items():
        for fit in (fits[label], reported[label]):
            assert (fit.law.n, fit.n_rewards, fit.forecast.last_step) == (27, 30, 58)
            assert fit.forecast.without_entropy == 3
            assert fit.forecast.p_gain == pytest.approx(alone.p_gain)
            assert fit.keep.step < 58
            assert (fit.stop_line.evaluations, fit.stop_line.p_gain) == (30, fit.forecast.p_gain)
        assert found[f"late · {label}", "p_gain<1"]["value"] == pytest.approx(alone.p_gain)
        for source in ("late.jsonl", "fit.json"):
            assert predicted[source, label] == pytest.approx(alone.reward.value)
