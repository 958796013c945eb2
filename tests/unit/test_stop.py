"""The stop line: states, looks, costs; and as a row, a gate and JSON."""

import json

import numpy as np
import pytest

import entropylaw
from entropylaw.analysis.stop import exploded_since
from entropylaw.report.words import stop_words
from entropylaw.results.result import replace
from tests.laws import stop_line_of
from tests.typed import assert_says, typed

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
    line = stop_line_of(*run(climbing(25)), steps=400, cost_per_step=0.5, label="gsm8k")
    assert (line.says, line.reward, line.step, line.evaluations) == ("go on", "gsm8k", 192.0, 25)
    assert (line.at_step, line.steps_left, line.cost) == (400.0, 208.0, 104.0)
    assert line.p_ever >= line.p_gain > 0.5
    assert line.expected.low < line.expected.value < line.expected.high
    assert (line.state.word, line.exploded_since, line.why_none) == ("rising", None, "")
    assert line.gain == line.state.gain


def peaked():
    """Rewards that climb to the tenth evaluation, and are then a little lower."""
    return np.concatenate([np.linspace(0.2, 0.55, 10), np.full(40, 0.5)])


def falling():
    """Rewards that climb to the tenth evaluation, and then fall."""
    return np.concatenate([peaked()[:10], np.linspace(0.5, 0.4, 40)])


@pytest.mark.parametrize("make", [peaked, falling])
def test_a_stop_takes_half_of_the_plan_without_a_new_best_reward_and_no_gain_in_sight(make):
    values = run(make())
    seen = set()
    for steps in (400.0, 600.0, 1200.0, 3000.0):
        lines = [stop_line_of(*(v[:n] for v in values), steps=steps, max_reward=1) for n in range(12, 51)]
        for line in lines:
            assert line.best_step == STEP[9]
            is_long = line.step - line.best_step >= steps / 2
            is_unlikely = line.p_ever < 0.4
            assert (line.says == "stop") is (is_long and is_unlikely)
            # A shorter patience, and a larger probability, would be a stop at some of these.
            if line.step - line.best_step >= 0.4 * steps:
                seen.add((is_long, is_unlikely))
    assert {(True, True), (True, False)} <= seen
    assert ((False, True) in seen) is (make is falling)
    assert stop_line_of(*values, steps=400.0, max_reward=1).says == "stop"
    assert stop_line_of(*values, steps=3000.0, max_reward=1).says != "stop"


def test_a_gain_at_any_step_until_the_end_keeps_a_run_going_and_a_cost_is_not_stopped():
    values = run(falling())
    ahead = entropylaw.forecast(*values, at_step=STEP[-1] + 8)
    found = {
        p_ever: stop_line_of(*values, forecast=replace(ahead, p_gains=(0.1,), p_ever=p_ever)).says
        for p_ever in (0.1, 0.5)
    }
    assert found == {0.1: "stop", 0.5: "go on"}
    line = stop_line_of(*values, max_reward=1, is_score=False)
    assert (line.says, line.why_none) == ("not known", "no run is over by a number that is no score")


def test_without_a_plan_it_ends_after_half_as_many_steps_again():
    line = stop_line_of(*run(falling()), max_reward=1)
    assert (line.says, line.best_step) == ("stop", 72.0)
    assert stop_words(line).startswith(
        "entropylaw: stop: no new best since step 72; that is half of the plan or more; P(gain) at any step "
    )
    assert stop_line_of(*run(climbing(25))).says == "go on"
    assert stop_line_of(*(v[:9] for v in run(falling())), max_reward=1).says == "go on"


def test_a_run_too_short_a_reward_that_never_moves_and_a_reached_end_have_no_forecast():
    few = stop_line_of(*run(climbing(7)))
    assert (few.says, few.p_gain, few.why_none) == ("not known", None, "it needs 8 evaluations")
    assert "in all 20 evaluations" in stop_line_of(STEP[:20], None, np.zeros(20)).why_none
    passed = stop_line_of(*run(climbing()), steps=300).why_none
    assert passed == "the planned end, step 300, was passed (the log is at step 392)"
    assert stop_line_of(np.array([]), None, np.array([])).evaluations == 0
    far = stop_line_of(*run(climbing(10)), steps=5000, cost_per_step=1.0)
    assert (far.says, far.why_none) == ("not known", "step 5000 is more than 4 lengths of the run ahead")
    assert (far.at_step, far.cost) == (360.0, 4928.0)  # four lengths ahead, and the cost of the whole rest


def test_a_run_that_is_broken_by_its_state_is_so_by_its_stop_line():
    reward = run(np.concatenate([climbing(30), np.zeros(20)]))[2]
    lines = [stop_line_of(STEP[:n], None, reward[:n]) for n in range(8, 51)]
    assert [line.says == "broken" for line in lines] == [line.state.word == "broken" for line in lines]
    assert lines[30 - 8].says != "broken"
    assert (lines[-1].says, lines[-1].state.since) == ("broken", STEP[30])
    back = np.concatenate([reward[:40], climbing(10) + 0.3])
    assert stop_line_of(STEP, None, back).says != "broken"


def test_exploded_above_twice_the_lowest_level_and_below_the_best_reward():
    entropy = np.concatenate([0.1 + 0.4 * np.exp(-STEP[:30] / 60), np.linspace(0.15, 2.0, 20)])
    since = exploded_since(STEP, entropy)
    assert since == STEP[np.flatnonzero(entropy[30:] > 2 * entropy.min())[0] + 30]
    assert exploded_since(STEP, np.append(entropy[:-1], 0.0)) is None
    assert exploded_since(STEP[:32], entropy[:32]) is None
    falling = np.concatenate([climbing(30), np.linspace(0.66, 0.58, 20)])
    line = stop_line_of(*run(falling, entropy))
    assert (line.says, line.exploded_since) == ("exploded", since)
    assert_says(
        stop_words(line),
        "exploded: the entropy is above twice its lowest level since step ",
        "; the reward is below its best · step 392 · reward ",
    )
    lost = stop_line_of(*run(np.concatenate([climbing(30), np.zeros(20)]), entropy))
    assert lost.says == "broken"
    assert "by step" not in stop_words(lost)


def test_an_entropy_that_rises_while_the_reward_does_is_named_and_not_an_alarm():
    entropy = np.linspace(0.1, 0.5, 50)
    line = stop_line_of(*run(climbing(), entropy))
    assert (line.says, line.exploded_since) == ("go on", STEP[13])
    assert "go on: the entropy is above twice its lowest level since step 104" in stop_words(line)
    ended = stop_line_of(*run(climbing(), entropy), steps=float(STEP[-1]))
    reasons = "the planned end, step 392, is reached; the entropy is above twice its lowest level"
    assert stop_words(ended).startswith(f"entropylaw: finished: {reasons} since step 104 · ")


def test_a_run_at_its_planned_end_is_finished():
    line = stop_line_of(*run(climbing()), steps=float(STEP[-1]), cost_per_step=0.5)
    assert (line.says, line.steps_left, line.p_gain) == ("finished", 0.0, None)
    assert stop_words(line).startswith(
        "entropylaw: finished: the planned end, step 392, is reached · step 392 "
    )
    assert (line.state.keep.step, line.state.keep.is_last) == (392.0, True)
    gone = stop_line_of(*run(np.concatenate([climbing(30), np.zeros(20)])), steps=300)
    assert gone.says == "broken"
    few = stop_line_of(*run(climbing(5)), steps=float(STEP[4]))
    assert stop_words(few).startswith("entropylaw: finished: the planned end, step 32, is reached · ")


def test_a_reward_that_is_always_0_is_a_stop():
    for n, says in ((20, "not known"), (40, "stop")):
        assert stop_line_of(STEP[:n], None, np.zeros(n), steps=600).says == says
    line = stop_line_of(STEP, None, np.zeros(50), steps=600)
    assert (line.p_gain, line.state.since, line.best_step) == (None, 0.0, 0.0)


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
    assert_says(text, "broken", "408 steps to step 800 cost 204")
    document = json.loads(typed("fit", "run.jsonl", "--format", "json", "--no-save", cwd=log).stdout)
    line = document["runs"][0]["result"]["stop_line"]
    assert (line["says"], line["state"]["since"], line["cost"], line["reward"]) == (
        "broken",
        240.0,
        None,
        "val_acc",
    )
    gates = ("--fail-if", "stop_line=='broken'", "--fail-if", "stop_line=='stop'")
    done = typed("check", "run.jsonl", *gates, cwd=log, code=5)
    assert_says(done.stdout, "TRIPPED       run  stop_line=='broken'", "passed        run  stop_line=='stop'")


@pytest.mark.parametrize("flag", ["--steps", "--cost-per-step"])
def test_a_planned_end_and_a_cost_are_above_0(log, flag):
    for value in ("-5", "0"):
        done = typed("fit", "run.jsonl", flag, value, "--no-save", cwd=log, code=2)
        assert f"error[bad-option]: {flag} '{value}', expected a " in done.stderr


def test_a_planned_end_hides_no_explosion():
    entropy = np.where(np.arange(50) < 40, 0.3, 2.0)
    reward = np.where(np.arange(50) < 40, climbing(), 0.6)
    ended = stop_line_of(*run(reward, entropy), steps=float(STEP[-1]))
    assert (ended.says, ended.exploded_since) == ("exploded", STEP[40])
