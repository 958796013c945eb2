"""Only like numbers are compared: units of rewards in arms, and what is a question about scores alone."""

import json
from pathlib import Path

import numpy as np
import pytest

import entropylaw
from entropylaw import ArmComparison, InputError, load
from entropylaw.analysis.arms import compare_rewards
from entropylaw.report.render import rendered
from entropylaw.results.arms import Along, Decision, RunSeries
from entropylaw.results.result import replace
from entropylaw.units import SORTS, reward_unit, sort_of_number
from tests.laws import fit_arrays
from tests.typed import assert_error, assert_says, typed

pytestmark = pytest.mark.usefixtures("one_cache")

N = 24
STEP = 10.0 * np.arange(N)
SCORE = "eval/exact_match"
COUNT = "eval/resolved"
"""A share by its name up to 1, and a number of problems above."""

Columns = dict[str, np.ndarray]


def drawn(seed: int, start: float, gain: float) -> Columns:
    """An entropy that falls, and a score that rises with its fall."""
    chance = np.random.default_rng([seed, round(1000 * start)])
    entropy = 0.15 + 0.7 * np.exp(-STEP / 70) + 0.004 * chance.standard_normal(N)
    score = start + gain * (1.0 - np.exp(-STEP / 70)) + 0.01 * chance.standard_normal(N)
    return {"entropy": entropy, SCORE: score}


def write(path: Path, columns: Columns) -> Path:
    rows = [
        {"step": float(step), **{name: float(values[i]) for name, values in columns.items()}}
        for i, step in enumerate(STEP)
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def arm(folder: Path, name: str, start: float, *, factors: tuple[float, ...] = (1.0, 1.0, 1.0)) -> str:
    """The argument of an arm, with a seed per factor by which its scores are logged."""
    for seed, factor in enumerate(factors):
        columns = drawn(seed, start, 0.3)
        columns[SCORE] = factor * columns[SCORE]
        write(folder / f"{name}_s{seed}.jsonl", columns)
    return f"{name}={name}_s*.jsonl"


PERCENT = (100.0, 100.0, 100.0)


def compared(folder: Path, *arguments: str) -> ArmComparison:
    typed("compare", *arguments, "--jobs", "1", "-o", "c.json", cwd=folder, code=0)
    return load(folder / "c.json", "comparison").comparison


def numbers(result: ArmComparison) -> dict[str, np.ndarray]:
    """Every difference with its interval, and what it is from; nan where that is unknown."""
    (pair,) = result.pairs
    return {
        row.quantity: np.array(
            [row.estimate.value, row.estimate.low, row.estimate.high, row.margin, row.smallest], dtype=float
        )
        for row in pair.differences
    }


def assert_alike(found: ArmComparison, expected: ArmComparison, factor: float = 1.0) -> None:
    """The same differences of rewards, in a unit of which one of the expected is so many."""
    assert [row.decision for row in found.pairs[0].differences] == [
        row.decision for row in expected.pairs[0].differences
    ]
    for quantity, values in numbers(expected).items():
        times = 1.0 if quantity in ("last_entropy", "entropy_loss", "failure_rate") else factor
        np.testing.assert_allclose(numbers(found)[quantity], times * values, 1e-6, 1e-7, err_msg=quantity)


def findings(result: ArmComparison, code: str) -> list[str]:
    return [finding.sentence for finding in result.findings if finding.code == code]


WAYS = {
    "fits": (),
    "steps": ("--at-equal", "step", "--reward", SCORE),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("factors", [PERCENT, (1.0, 100.0, 1.0)], ids=["an arm", "a seed"])
def test_percentages_are_compared_as_rates_and_it_is_said(factors, way, tmp_path):
    options = ("--reward", SCORE, *WAYS[way])
    base = arm(tmp_path, "plain", 0.41)
    expected = compared(tmp_path, base, arm(tmp_path, "treated", 0.29), *options)
    assert not findings(expected, "rewards-converted")
    assert expected.pairs[0]["last_reward"].decision is Decision.below
    found = compared(tmp_path, base, arm(tmp_path, "treated", 0.29, factors=factors), *options)
    assert_alike(found, expected)
    assert found.reward_unit == expected.reward_unit == "rate"
    (said,) = findings(found, "rewards-converted")
    named = [f"'treated_s{seed}'" for seed, factor in enumerate(factors) if factor > 1]
    largest = max(drawn(seed, 0.29, 0.3)[SCORE].max() for seed, factor in enumerate(factors) if factor > 1)
    assert_says(
        said,
        f"'{SCORE}' of {', '.join(named)} is in percent (up to {100 * largest:.3g})",
        "it was multiplied by 0.01, and all are rates",
    )
    page = rendered(found, "markdown")
    assert_says(page, "rewards as rates", "multiplied by 0.01")


def test_the_unit_of_most_runs_is_that_of_all_and_of_the_margin(tmp_path):
    reward = ("--reward", SCORE)
    plain, treated = arm(tmp_path, "plain", 0.41), arm(tmp_path, "treated", 0.29)
    expected = compared(tmp_path, plain, treated, *reward, "--margin", "0.02")
    arm(tmp_path, "plain", 0.41, factors=(1.0, 100.0, 100.0))
    arm(tmp_path, "treated", 0.29, factors=PERCENT)
    found = compared(tmp_path, plain, treated, *reward, "--margin", "2")
    assert_alike(found, expected, 100.0)
    assert found.reward_unit == "percent"
    (said,) = findings(found, "rewards-converted")
    assert_says(said, "of 'plain_s0' is a rate (up to 0.", "multiplied by 100, and all are in percent")
    assert "rewards in percent" in rendered(found, "text")
    units = {line.split(",")[10] for line in rendered(found, "csv").splitlines() if ",last_reward," in line}
    assert units == {"percent"}
    # The default margin is a hundredth of what is possible.
    assert compared(tmp_path, plain, treated, *reward).margin == 1.0


def test_several_rewards_are_in_one_unit(tmp_path):
    """One margin is for all of them; one is in percent in every run."""
    for name, level in (("a", 0.2), ("b", 0.3)):
        for seed in range(2):
            columns = drawn(seed, level, 0.3)
            score = columns.pop(SCORE)
            columns |= {"eval/gsm8k/acc": score, "eval/math/acc": 100 * (score + 0.1)}
            write(tmp_path / f"{name}_s{seed}.jsonl", columns)
    arms = ("a=a_s*.jsonl", "b=b_s*.jsonl", "--reward", "eval/*/acc")
    done = typed("compare", *arms, "-o", "c.json", "-o", "-", cwd=tmp_path, code=0)
    document = load(tmp_path / "c.json", "comparison")
    both = [document.comparison, *document.others]
    assert [(one.reward_unit, one.margin) for one in both] == [("rate", 0.01), ("rate", 0.01)]
    ends = [one.pairs[0]["last_reward"].estimate.value for one in both]
    assert ends == pytest.approx([0.1, 0.1], abs=0.01)
    assert "'eval/math/acc' of 'a_s0', 'a_s1', 'b_s0', 'b_s1' is in percent" in " ".join(done.stdout.split())
    assert ":percent" not in done.stdout


@pytest.mark.parametrize("named", [(), ("--reward", "val_acc:percent")])
def test_domains_of_stages_are_in_the_unit_of_their_log(named, tmp_path):
    def stages(*factors):
        for seed, factor in enumerate(factors):
            columns = drawn(seed, 0.31, 0.3)
            score = columns.pop(SCORE)
            lines = ["step,actor/entropy,val_acc,val_acc_math,val_acc_code,stage"]
            for i, step in enumerate(STEP):
                scores = [factor * (score[i] + more) for more in (0.0, 0.1, -0.1 if i < N // 2 else 0.02)]
                cells = [step, columns["entropy"][i], *scores, "rl+math" if i < N // 2 else "rl+code"]
                lines.append(",".join(map(str, cells)))
            (tmp_path / f"run_s{seed}.csv").write_text("\n".join(lines))
        options = named if set(factors) == {100.0} else ()
        return compared(tmp_path, *(f"run_s{seed}.csv" for seed in range(3)), "--stage", "stage", *options)

    expected = stages(1.0, 1.0, 1.0)
    assert len(expected.pairs) > 1
    found = stages(*PERCENT) if named else stages(1.0, 100.0, 1.0)
    for one, other in zip(found.pairs, expected.pairs, strict=True):
        ends = [pair["last_reward"].estimate for pair in (one, other)]
        assert [ends[0].value, ends[0].low] == pytest.approx([ends[1].value, ends[1].low], rel=1e-6)
    assert bool(findings(found, "rewards-converted")) is not bool(named)


def test_stored_fits_are_converted_with_their_coefficients(tmp_path):
    plain, treated = arm(tmp_path, "plain", 0.41), arm(tmp_path, "treated", 0.29)
    expected = compared(tmp_path, plain, treated)
    arm(tmp_path, "treated", 0.29, factors=PERCENT)
    for name in ("plain", "treated"):
        logs = sorted(tmp_path.glob(f"{name}_s*.jsonl"))
        assert typed("fit", *logs, "-o", f"{name}.json", cwd=tmp_path).returncode == 0
    for of_plain in (plain, "plain=plain.json"):
        found = compared(tmp_path, of_plain, "treated=treated.json")
        assert_alike(found, expected)
        assert findings(found, "rewards-converted")
        for name in ("ceiling", "a", "b"):
            values = [run.values[name] for run in expected.arms[1].runs]
            assert [run.values[name] for run in found.arms[1].runs] == pytest.approx(values, rel=1e-6)


def test_a_column_of_at_equal_is_in_one_unit(tmp_path):
    for name, factor in (("plain", 1.0), ("treated", 100.0)):
        for seed in range(3):
            columns = drawn(seed, 0.3, 0.3)
            columns |= {"judge": 5.0 + columns[SCORE] + 0.001 * factor, SCORE: factor * columns[SCORE]}
            write(tmp_path / f"{name}_s{seed}.jsonl", columns)
    arms = ("plain=plain_s*.jsonl", "treated=treated_s*.jsonl")
    found = compared(tmp_path, *arms, "--at-equal", SCORE, "--reward", "judge")
    assert found.pairs[0].common is not None
    assert found.pairs[0].common[1] < 1
    assert found.pairs[0]["reward_at_equal"].estimate.value == pytest.approx(0.099, abs=1e-5)
    assert findings(found, "rewards-converted")


REFUSED = {
    "a count of a share": (COUNT, lambda score: np.round(60 * score), "their unit is 'rate' and 'raw'"),
    "a score below 0": (SCORE, lambda score: score - 0.5, "their unit is 'rate' and 'raw'"),
    "another data set": ("eval/aime/exact_match", lambda score: score, "their column is"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", REFUSED)
def test_unlike_rewards_are_refused_with_what_they_are(case, way, tmp_path):
    column, change, why = REFUSED[case]
    own = column if "unit" in why else SCORE
    for seed in range(2):
        columns = drawn(seed, 0.41, 0.3)
        score = columns.pop(SCORE)
        write(tmp_path / f"a_s{seed}.jsonl", {**columns, own: score})
        write(tmp_path / f"b_s{seed}.jsonl", {**columns, column: change(score)})
    options = WAYS[way][:2]
    done = assert_error(
        typed("compare", "a=a_s*.jsonl", "b=b_s*.jsonl", "--reward", "eval/*", *options, cwd=tmp_path),
        "unlike-rewards",
        3,
    )
    assert why in done.stderr
    assert_says(done.stderr, "'a_s0' (a) has 0.4", "'b_s0' (b) has ")
    assert "--reward" in done.stderr.splitlines()[-1]
    assert not done.stdout


def test_validation_is_not_compared_with_training(tmp_path):
    arms = [arm(tmp_path, name, 0.41).partition("=")[2] for name in ("a", "b")]
    for name, pattern in zip("ab", arms, strict=True):
        logs = sorted(tmp_path.glob(pattern))
        assert typed("fit", *logs, "--reward", SCORE, "-o", f"{name}.json", cwd=tmp_path).returncode == 0
    path = tmp_path / "b.json"
    content = json.loads(path.read_text())
    for run in content["runs"]:
        run["columns"]["reward"]["meaning"]["kind"] = "training"
    path.write_text(json.dumps(content))
    done = assert_error(typed("compare", "a=a.json", "b=b.json", cwd=tmp_path), "unlike-rewards", 3)
    assert "their kind is" in done.stderr


@pytest.mark.parametrize("way", WAYS)
def test_a_percentage_below_1_is_not_taken_for_a_rate(way, tmp_path):
    """A seed that learned nothing, beside others of its arm in percent: the user says what it is."""
    plain, treated = arm(tmp_path, "plain", 0.006, factors=PERCENT), arm(tmp_path, "treated", 0.02)
    arm(tmp_path, "treated", 0.02, factors=PERCENT)
    columns = drawn(1, 0.006, 0.0)
    columns[SCORE] = 0.4 + 10 * np.abs(columns[SCORE])
    write(tmp_path / "treated_s1.jsonl", columns)
    options = ("--jobs", "1", *WAYS[way])
    named = options if way == "steps" else (*options, "--reward", SCORE)
    done = assert_error(typed("compare", plain, treated, *named, cwd=tmp_path), "unit-unclear", 3)
    assert f"'{SCORE}' may be a rate or a percentage: 'treated_s1' (treated) has 0." in done.stderr
    typed_next = f"{SCORE}:percent"
    assert f"--reward {typed_next};" in done.stderr
    found = compared(tmp_path, plain, treated, *WAYS[way][:2], "--reward", typed_next)
    assert found.reward_unit == "rate"
    assert not findings(found, "rewards-converted")
    last = [run.values["last_reward"] for run in found.arms[1].runs]
    assert last[1] < 0.01 < last[0]  # type: ignore[operator]


@pytest.mark.parametrize(("column", "factor", "unit"), [(SCORE, 100, "percent"), (COUNT, 60, "raw")])
def test_zero_is_zero_in_any_unit(column, factor, unit, tmp_path):
    for name, level in (("plain", 0.41), ("treated", 0.29)):
        for seed in range(3):
            columns = drawn(seed, level, 0.3)
            score = factor * columns.pop(SCORE)
            if (name, seed) == ("treated", 1):
                score = 0.0 * score
            write(tmp_path / f"{name}_s{seed}.jsonl", columns | {column: score})
    arms = ("plain=plain_s*.jsonl", "treated=treated_s*.jsonl")
    found = compared(tmp_path, *arms, "--at-equal", "step", "--reward", column)
    assert found.reward_unit == unit
    assert not findings(found, "rewards-converted")
    assert found.arms[1].runs[1].values["last_reward"] == 0.0


def test_a_unit_that_the_user_names_is_said_to_look_wrong(tmp_path):
    plain, treated = arm(tmp_path, "plain", 0.41), arm(tmp_path, "treated", 0.29, factors=PERCENT)
    for way in WAYS.values():
        found = compared(tmp_path, plain, treated, *way[:2], "--reward", f"{SCORE}:percent")
        (said,) = findings(found, "scales-unlike")
        assert "divided by 100: plain_s0 looks like a rate; leave out ':percent'" in said
        # A run that is above what the named unit allows has not failed.
        done = assert_error(
            typed("compare", plain, treated, *way[:2], "--reward", f"{SCORE}:rate", cwd=tmp_path),
            "reward-above-max",
            4,
        )
        assert "run 'treated_s0': max_reward 1" in done.stderr


def test_scales_of_which_no_name_says_the_unit_are_said_to_be_unlike(tmp_path):
    for seed in range(2):
        columns = drawn(seed, 0.41, 0.3)
        score = columns.pop(SCORE)
        write(tmp_path / f"a_s{seed}.jsonl", {**columns, "judge": score})
        write(tmp_path / f"b_s{seed}.jsonl", {**columns, "judge": 95 * score})
        write(tmp_path / f"c_s{seed}.jsonl", {**columns, "judge": score - 0.1})
    options = ("--reward", "judge", "--at-equal", "step")
    found = compared(tmp_path, "a=a_s*.jsonl", "b=b_s*.jsonl", *options)
    assert found.reward_unit == "raw"
    (said,) = findings(found, "scales-unlike")
    assert "a rate and a percentage do not compare" in said
    assert not findings(compared(tmp_path, "a=a_s*.jsonl", "c=c_s*.jsonl", *options), "scales-unlike")


def test_a_run_and_its_copy_in_percent_are_one_run(tmp_path):
    plain, copied = arm(tmp_path, "plain", 0.41), arm(tmp_path, "copied", 0.41, factors=PERCENT)
    assert_error(typed("compare", plain, copied, *WAYS["steps"], cwd=tmp_path), "run-in-two-arms", 3)


def test_fits_that_a_program_gives_have_the_unit_of_their_largest_reward(tmp_path):
    def fits(start, factor, max_reward):
        runs = [drawn(seed, start, 0.3) for seed in range(2)]
        return [fit_arrays(run["entropy"], factor * run[SCORE], STEP, max_reward=max_reward) for run in runs]

    plain = fits(0.41, 1.0, 1.0)
    expected = entropylaw.compare({"plain": plain, "treated": fits(0.29, 1.0, 1.0)})
    found = entropylaw.compare({"plain": plain, "treated": fits(0.29, 100.0, 100.0)})
    assert_alike(found, expected)
    assert findings(found, "rewards-converted")
    unnamed = fits(0.29, 100.0, None)
    with pytest.raises(InputError, match="their unit is 'rate' and 'raw'") as refused:
        entropylaw.compare({"plain": plain, "treated": unnamed})
    assert "max_reward=1" in refused.value.hint
    # Beside logs of rates, rewards from 0 to 1 are rates.
    logs = [write(tmp_path / f"x_s{seed}.jsonl", drawn(seed, 0.29, 0.3)) for seed in range(2)]
    beside = entropylaw.compare({"plain": fits(0.41, 1.0, None), "treated": logs}, reward=SCORE)
    assert beside.reward_unit == "rate"
    ends = [one.pairs[0]["last_reward"].estimate.value for one in (beside, expected)]
    assert ends[0] == pytest.approx(ends[1], abs=1e-6)
    unlike = entropylaw.compare({"plain": fits(0.41, 1.0, None), "treated": unnamed})
    assert findings(unlike, "scales-unlike")


# -- scores alone

NAMES = {
    "score": (
        "accuracy",
        "eval_reward",
        "val/multi_turn_base",
        "val/pass@8",
        "tool_call_accuracy",
        "resolved",
        "val/novel_math/acc",
        "val/unique_problems/accuracy/mean@4",
        "val/latency_qa/acc",
    ),
    "part": ("rewards/format_reward/mean", "length_reward", "val/token_f1"),
    "diversity": ("val_distinct_correct", "self_bleu", "reward_std"),
    "length": ("response_length/mean", "completions/clipped_ratio", "num_turns", "val/num_tokens"),
    "cost": ("cost_per_problem", "timing_s/reward", "format_failure_rate", "eval_loss", "error_rate"),
    "divergence": ("kl", "actor/ppo_kl", "kl_to_start", "actor/pg_clipfrac"),
    "entropy": ("eval_entropy", "log_ppl"),
}


@pytest.mark.parametrize("sort", SORTS)
def test_the_sort_of_a_number_is_by_its_name(sort):
    assert {name: sort_of_number(name) for name in NAMES[sort]} == dict.fromkeys(NAMES[sort], sort)


@pytest.mark.parametrize(
    ("column", "unit"),
    [("val/accuracy_count", "raw"), ("val/acc", "percent"), ("val/max_len_8/acc/mean@8", "percent")],
)
def test_a_count_is_no_percentage(column, unit):
    assert reward_unit(column, np.array([3.0, 40.0, 64.0])) == unit


def falling(last: float = 0.1, seed: int = 0) -> np.ndarray:
    """Half of the evaluations at a level of 2, and half at a lower one."""
    chance = np.random.default_rng([7, seed])
    return np.where(np.arange(N) < N // 2, 2.0, 2.0 * last) + 0.01 * chance.standard_normal(N)


@pytest.mark.parametrize(
    ("column", "lost"), [("solved_score", True), ("mean_length", False), ("ref_kl", False)]
)
def test_scores_alone_are_lost(column, lost, tmp_path):
    write(tmp_path / "a.jsonl", {"entropy": drawn(0, 0.3, 0.3)["entropy"], column: falling()})
    done = typed("fit", "a.jsonl", "--reward", column, "-o", "a.json", "-o", "-", cwd=tmp_path, code=0)
    (entry,) = load(tmp_path / "a.json", "fit").runs
    fit = entry.result
    assert fit is not None
    assert (fit.is_broken, "  broken  " in done.stdout) == (lost, lost)
    assert (fit.stop_line.says == "broken", fit.state.lost is not None) == (lost, lost)
    assert (fit.keep is None) is (not lost)
    said = f"none: {column} is no score by its name"
    assert (said in " ".join(done.stdout.split())) is (not lost)
    ahead = typed("predict", "a.json", cwd=tmp_path, code=0)
    assert ("it has no step to keep" in " ".join(ahead.stdout.split())) is (not lost)
    for seed in range(2):
        columns = {"entropy": drawn(seed, 0.3, 0.3)["entropy"]}
        write(tmp_path / f"f_s{seed}.jsonl", columns | {column: falling(seed=seed)})
        write(tmp_path / f"g_s{seed}.jsonl", columns | {column: falling(0.8, seed)})
    for way in ((), ("--at-equal", "step")):
        result = compared(tmp_path, "f=f_s*.jsonl", "g=g_s*.jsonl", "--reward", column, *way)
        assert [one.failed for one in result.arms] == [2 if lost else 0, 0]


def test_no_bound_and_no_hundredth_is_taken_for_what_is_no_score(tmp_path):
    """A divergence between 0 and 1 has no largest value of 1."""
    entropy = drawn(0, 0.3, 0.3)["entropy"]
    small = 0.001 + 0.02 * (1.0 - np.exp(-STEP / 70))
    write(tmp_path / "a.jsonl", {"entropy": entropy, "ref_kl": small + 1e-4 * np.sin(STEP)})
    assert typed("fit", "a.jsonl", "--reward", "ref_kl", "-o", "a.json", cwd=tmp_path).returncode == 0
    fit = load(tmp_path / "a.json", "fit").runs[0].result
    assert fit is not None
    # A tenth of what the level passed through.
    assert fit.gain == pytest.approx(0.1 * np.ptp(small), rel=0.1)
    assert fit.max_reward is None
    assert fit.forecast is not None
    assert fit.forecast.gain == fit.gain


def staged(folder: Path, name: str, *, dies: bool) -> None:
    """Seeds whose distinct right answers halve while pass@1 rises; or whose pass@1 is lost."""
    for seed in range(3):
        columns = drawn(seed, 0.31 + 0.01 * len(name), 0.4)
        pass_1 = columns.pop(SCORE)
        if dies:
            pass_1 = np.where(STEP > 120, 0.02, pass_1)
        columns |= {"hold_pass1": pass_1, "hold_distinct_right": 4.0 * np.exp(-STEP / 120) + 0.01 * pass_1}
        write(folder / f"{name}_s{seed}.jsonl", columns)


def test_the_score_of_two_columns_says_whether_a_run_died(tmp_path):
    for name in ("healthy", "other", "dead"):
        staged(tmp_path, name, dies=name == "dead")
    columns = ("--at-equal", "hold_pass1", "--reward", "hold_distinct_right")
    arms = [f"{name}={name}_s*.jsonl" for name in ("healthy", "other", "dead")]
    alive = compared(tmp_path, *arms[:2], *columns)
    assert [one.failed for one in alive.arms] == [0, 0]
    dead = compared(tmp_path, arms[0], arms[2], *columns)
    assert [one.failed for one in dead.arms] == [0, 3]
    assert str(dead.arms[1].runs[0].failed).startswith("reward from 0.6")
    # The other way round the score is the reward.
    turned = ("--at-equal", columns[3], "--reward", columns[1])
    assert [one.failed for one in compared(tmp_path, arms[0], arms[2], *turned).arms] == [0, 3]


def test_no_healthy_run_of_the_lab_fails_by_its_diversity(tmp_path):
    lab = Path(__file__).parents[2] / "data" / "lab2"
    arms = (f"grpo={lab}/grpo_s[0-3]/metrics.parquet", f"clip={lab}/clip_cov_s[0-1]/metrics.parquet")
    found = compared(tmp_path, *arms, "--at-equal", "val_pass1", "--reward", "val_distinct_correct")
    assert [one.failed for one in found.arms] == [0, 0]


def test_a_loss_is_said_in_the_unit_of_the_comparison(tmp_path):
    plain, treated = arm(tmp_path, "plain", 0.41), arm(tmp_path, "treated", 0.29, factors=PERCENT)
    columns = drawn(1, 0.29, 0.3)
    columns[SCORE] = 100 * np.where(STEP > 120, 0.03, columns[SCORE])
    write(tmp_path / "treated_s1.jsonl", columns)
    for way in WAYS.values():
        found = compared(tmp_path, plain, treated, "--reward", SCORE, *way)
        assert str(found.arms[1].runs[1].failed).startswith("reward from 0.5")
        assert found.arms[1].failed == 1


def test_a_watcher_stops_by_scores_alone():
    watcher = entropylaw.Watcher(stop_on=("broken", "stop"), say=lambda _: None)
    for step, value in zip(STEP, falling(), strict=True):
        watcher.update(step, rewards={"response_length": value, "accuracy": 0.2 + step / 400})
    lines = {line.reward: line for line in watcher.lines}
    length = lines["response_length"]
    assert (length.says, length.is_score) == ("not known", False)
    assert (length.state.lost, length.state.keep) == (None, None)
    assert lines["accuracy"].says == "go on"
    assert not watcher.should_stop
    for step in (250, 260, 270, 280, 290, 300):
        watcher.update(step, rewards={"response_length": 0.2, "accuracy": 0.01})
    # The length says nothing against it.
    assert watcher.should_stop
    watcher = entropylaw.Watcher(stop_on="broken", say=lambda _: None)
    for step, value in zip(STEP, falling(), strict=True):
        watcher.update(step, rewards={"response_length": value})
    assert not watcher.should_stop


# -- one seed

ALONG = Along(column="tokens", unit="tokens")


def seeds(name: str, level: float, number: int, lost: int = 0) -> list[RunSeries]:
    """Runs along their tokens, the last of which lost their rewards."""
    runs = []
    for seed in range(number):
        noise = 0.002 * np.random.default_rng([seed, round(100 * level)]).standard_normal(N)
        reward = level + 0.002 * seed + 0.1 * np.sqrt(STEP / STEP[-1]) + noise
        runs.append(
            RunSeries(
                run=f"{name}_s{seed}",
                step=STEP,
                reward=reward,
                along=1e6 * (1 + STEP),
                error=0.0 * STEP,
                lost=(0.3, 0.01) if seed >= number - lost else None,
            )
        )
    return runs


ALONE = {
    "one of three lives": ((3, 2), (4, 0), "only one run of clip did not fail"),
    "one run": ((1, 0), (4, 0), "clip has one run"),
    "one lives in the baseline": ((4, 0), (5, 4), "only one run of base did not fail"),
    "one of each": ((1, 0), (3, 2), "clip has one run, only one run of base did not fail"),
}


@pytest.mark.parametrize("case", ALONE)
def test_no_arm_with_one_living_seed_decides(case):
    """Not by the spread of other arms, and not that they are the same."""
    clip, base, why = ALONE[case]
    for shift, margin in ((0.2, 0.01), (0.0, 0.5)):
        arms = {
            "base": seeds("base", 0.3, *base),
            "clip": seeds("clip", 0.3 + shift, *clip),
            "other": seeds("other", 0.3, 5),
        }
        result = compare_rewards({"": arms}, baseline="base", along=ALONG, margin=margin)[0]
        pair = result.pair("clip", "base")
        assert pair is not None
        headline = [row for row in pair.differences if row.headline]
        assert headline
        for row in headline:
            assert row.decision is Decision.undecided
            assert (row.p_adjusted, row.estimate.low, row.inner) == (None, None, None)
            assert row.estimate.value is not None
            assert row.estimate.note == why
        assert pair.band is None
        assert f"unknown: clip: {why}" in rendered(result, "markdown")


@pytest.mark.parametrize("lost", [0, 1])
def test_two_living_seeds_decide(lost):
    arms = {"base": seeds("base", 0.3, 4), "clip": seeds("clip", 0.5, 2 + lost, lost)}
    pair = compare_rewards({"": arms}, baseline="base", along=ALONG)[0].pairs[0]
    assert {row.decision for row in pair.differences if row.headline} == {Decision.above}
    assert pair.band is not None


def test_one_pair_of_seeds_does_not_decide():
    arms = {name: seeds(name, level, 3) for name, level in (("base", 0.3), ("clip", 0.5), ("other", 0.3))}
    for name, runs in arms.items():
        units = ("0", "", "") if name == "clip" else ("0", "1", "2")
        arms[name] = [replace(run, unit=unit) for run, unit in zip(runs, units, strict=True)]
    pair = compare_rewards({"": arms}, baseline="base", along=ALONG, paired="seed")[0].pair("clip", "base")
    assert pair is not None
    assert pair["last_reward"].decision is Decision.undecided
    assert pair["last_reward"].estimate.note == "one pair of runs alone has it"


def test_the_exact_test_of_failures_has_no_other_beside_it():
    arms = {"base": seeds("base", 0.3, 8, 7), "clip": seeds("clip", 0.3, 8)}
    result = compare_rewards({"": arms}, baseline="base", along=ALONG)[0]
    row = result.pairs[0]["failure_rate"]
    assert (row.decision, row.p_welch) == (Decision.below, None)
    assert "Welch" not in rendered(result, "text")
    assert not findings(result, "scales-unlike")
