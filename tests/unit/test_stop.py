"""The stop line: states, looks, costs; and as a row, a gate and JSON."""

import json
import math

import numpy as np
import pytest

from entropylaw.analysis.stop import exploded_since, lost_since, stop_line
from entropylaw.report.words import stop_words
from tests.typed import typed

STEP = np.arange(0.0, 400.0, 8.0)


def run(reward, entropy=None):
    """Steps, entropies and rewards with a little noise."""
    rng = np.random.default_rng(0)
    reward = np.asarray(reward, dtype=float)
    falling = 0.1 + 0.4 * np.exp(-STEP[: reward.size] / 80)
    noise = 0.004 * rng.standard_normal(reward.size)
    return STEP[: reward.size], falling if entropy is None else np.asarray(entropy), reward + noise


def climbing(n=50):
    return 0.2 + 0.6 * (1.0 - np.exp(-STEP[:n] / 150))


def test_a_run_that_climbs_goes_on_and_the_rest_has_its_cost():
    line = stop_line(*run(climbing(25)), steps=400, cost_per_step=0.5, label="gsm8k", left=0.2)
    assert (line.says, line.reward, line.step, line.evaluations) == ("go on", "gsm8k", 192.0, 25)
    assert (line.at_step, line.steps_left, line.cost, line.left) == (400.0, 208.0, 104.0, 0.2)
    assert line.p_gain > 0.5
    assert line.expected.low < line.expected.value < line.expected.high
    assert (line.low_looks, line.lost_since, line.exploded_since, line.why_none) == (0, None, None, "")


def test_a_stop_takes_three_looks_in_a_row_a_sixteenth_of_the_run_apart():
    values = run(np.full(50, 0.5))
    steps = float(STEP[-1]) + 1
    lines = {n: stop_line(*(v[:n] for v in values), steps=steps) for n in range(7, 51)}
    for n in range(8, 51):
        apart = math.ceil(n / 16)
        looks = [lines.get(until) for until in (n, n - apart, n - 2 * apart)]
        low = [look is not None and look.p_gain is not None and look.p_gain < 0.1 for look in looks]
        assert lines[n].low_looks == (low.index(False) if False in low else 3)
        assert (lines[n].says == "stop") is (lines[n].low_looks == 3)
    assert lines[50].says == "stop"
    assert max(line.p_gain or 0.0 for line in lines.values()) > 0.2


def test_a_run_too_short_a_reward_that_never_moves_and_a_reached_end_have_no_forecast():
    few = stop_line(*run(climbing(7)))
    assert (few.says, few.p_gain, few.why_none) == ("not known", None, "it needs 8 evaluations")
    assert "in all 20 evaluations" in stop_line(STEP[:20], None, np.zeros(20)).why_none
    passed = stop_line(*run(climbing()), steps=300).why_none
    assert passed == "the planned end, step 300, was passed (the log is at step 392)"
    assert stop_line(np.array([]), None, np.array([])).evaluations == 0
    far = stop_line(*run(climbing(10)), steps=5000, cost_per_step=1.0)
    assert (far.says, far.why_none) == ("not known", "step 5000 is more than 4 lengths of the run ahead")
    assert (far.at_step, far.cost) == (360.0, 4928.0)  # four lengths ahead, and the cost of the whole rest


def test_lost_for_good_at_three_evaluations_and_not_before():
    reward = run(np.concatenate([climbing(30), np.zeros(20)]))[2]
    said = [lost_since(STEP[:n], reward[:n]) for n in range(8, 51)]
    assert said[: 32 - 8 + 1] == [None] * 25
    assert set(said[33 - 8 :]) == {STEP[30]}
    back = np.concatenate([reward[:40], climbing(10) + 0.3])
    assert lost_since(STEP, back) is None


def test_a_reward_that_is_lost_within_its_first_evaluation():
    reward = np.append(0.2, np.zeros(20))
    assert lost_since(STEP[:7], reward[:7]) is None
    assert lost_since(STEP[:8], reward[:8]) == STEP[1]
    assert stop_line(STEP[:21], None, reward).says == "lost"


def test_a_reward_that_is_noise_around_nothing_is_not_lost():
    rng = np.random.default_rng(1)
    for _ in range(20):
        sparse = (rng.random(50) < 0.3).astype(float)
        sparse[-4:] = 0.0
        assert lost_since(STEP, sparse) is None
    assert lost_since(STEP, -1.0 - climbing()) is None


def test_exploded_above_twice_the_lowest_level_and_below_the_best_reward():
    entropy = np.concatenate([0.1 + 0.4 * np.exp(-STEP[:30] / 60), np.linspace(0.15, 2.0, 20)])
    since = exploded_since(STEP, entropy)
    assert since == STEP[np.flatnonzero(entropy[30:] > 2 * entropy.min())[0] + 30]
    assert exploded_since(STEP, np.append(entropy[:-1], 0.0)) is None
    assert exploded_since(STEP[:32], entropy[:32]) is None
    falling = np.concatenate([climbing(30), np.linspace(0.6, 0.3, 20)])
    line = stop_line(*run(falling, entropy))
    assert (line.says, line.exploded_since) == ("exploded", since)
    assert "exploded: the entropy is above twice its lowest level since step " in stop_words(line)
    assert "; the reward is below its best · step 392 · reward " in stop_words(line)
    lost = stop_line(*run(np.concatenate([climbing(30), np.zeros(20)]), entropy))
    assert lost.says == "lost"
    assert "by step" not in stop_words(lost)


def test_an_entropy_that_rises_while_the_reward_does_is_named_and_not_an_alarm():
    entropy = np.linspace(0.1, 0.5, 50)
    line = stop_line(*run(climbing(), entropy))
    assert (line.says, line.exploded_since) == ("go on", STEP[13])
    assert "go on: the entropy is above twice its lowest level since step 104" in stop_words(line)


def test_a_run_at_its_planned_end_is_finished():
    line = stop_line(*run(climbing()), steps=float(STEP[-1]), cost_per_step=0.5)
    assert (line.says, line.steps_left, line.p_gain) == ("finished", 0.0, None)
    assert stop_words(line).startswith(
        "entropylaw: finished: the planned end, step 392, is reached · step 392 "
    )
    assert (line.best_step, line.p_better) == (392.0, 0.0)
    gone = stop_line(*run(np.concatenate([climbing(30), np.zeros(20)])), steps=300)
    assert gone.says == "lost"


def test_a_reward_that_is_always_0_is_a_stop():
    for n, says in ((19, "not known"), (20, "stop")):
        assert stop_line(STEP[:n], None, np.zeros(n), steps=800).says == says
    line = stop_line(STEP, None, np.zeros(50), steps=800)
    words = (
        "entropylaw: stop: the reward is 0 at all 50 evaluations, nothing was ever gained · step 392 · reward"
    )
    assert stop_words(line) == words
    assert stop_line(STEP, None, np.append(np.zeros(49), 0.1), steps=800).says == "go on"


def logged(path, values):
    """A log of a run with such rewards."""
    rows = zip(*(column.tolist() for column in values), strict=True)
    lines = [json.dumps({"step": s, "entropy": h, "val_acc": r}) for s, h, r in rows]
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def log(tmp_path):
    """A log of a run that is lost."""
    logged(tmp_path / "run.jsonl", run(np.concatenate([climbing(30), np.zeros(20)])))
    return tmp_path


def test_the_row_the_document_and_the_gate(log):
    printed = typed("fit", "run.jsonl", "--steps", "800", "--cost-per-step", "0.5", "--no-save", cwd=log)
    text = " ".join(printed.stdout.split())
    assert "stop line lost: the reward is below a fifth of its best since step 240" in text
    assert "408 steps to step 800 cost 204" in text
    document = json.loads(typed("fit", "run.jsonl", "--format", "json", "--no-save", cwd=log).stdout)
    line = document["runs"][0]["result"]["stop_line"]
    assert (line["says"], line["lost_since"], line["cost"], line["reward"]) == (
        "lost",
        240.0,
        None,
        "val_acc",
    )
    gates = ("--fail-if", "stop_line=='lost'", "--fail-if", "stop_line=='stop'")
    done = typed("check", "run.jsonl", *gates, cwd=log)
    assert done.returncode == 5
    assert "TRIPPED       run  stop_line=='lost'" in done.stdout
    assert "passed        run  stop_line=='stop'" in done.stdout


def test_the_best_step_so_far_stands_at_the_planned_end(tmp_path):
    shaken = 0.06 * np.random.default_rng(3).standard_normal(50)
    logged(tmp_path / "run.jsonl", run(np.concatenate([climbing(30), np.full(20, 0.35)]) + shaken))
    text = typed("fit", "run.jsonl", "--steps", "392", "--no-save", cwd=tmp_path).stdout
    assert "best so far" in text
    done = typed("check", "run.jsonl", "--steps", "392", "--fail-if", "p_better<0.5", cwd=tmp_path)
    assert (done.returncode, "passed" in done.stdout) == (0, True)


@pytest.mark.parametrize("flag", ["--steps", "--cost-per-step"])
def test_a_planned_end_and_a_cost_are_above_0(log, flag):
    for value in ("-5", "0"):
        done = typed("fit", "run.jsonl", flag, value, "--no-save", cwd=log)
        assert done.returncode == 2
        assert f"error[bad-option]: {flag} '{value}', expected a " in done.stderr


def test_a_planned_end_hides_no_explosion():
    entropy = np.where(np.arange(50) < 40, 0.3, 2.0)
    reward = np.where(np.arange(50) < 40, climbing(), 0.35)
    ended = stop_line(*run(reward, entropy), steps=float(STEP[-1]))
    assert (ended.says, ended.exploded_since) == ("exploded", STEP[40])
