"""Watcher and callback: lines while a run is training, and nothing raised into it."""

import io
import json
import math
import re
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

import entropylaw
from entropylaw import UsageError
from tests.unit.test_growing import record


def rewards(n=50, level=0.2):
    """A reward that climbs, with a little noise."""
    rng = np.random.default_rng(0)
    return level + 0.6 * (1.0 - np.exp(-np.arange(n) / 20)) + 0.004 * rng.standard_normal(n)


def watched(values, **options):
    """What a watcher said of rewards at every eighth step, and the watcher."""
    said = []
    watcher = entropylaw.Watcher(say=said.append, **options)
    for number, reward in enumerate(values):
        watcher.update(8 * number, rewards={"gsm8k": reward})
    return said, watcher


def test_every_evaluation_has_its_line():
    said, watcher = watched(rewards(20), steps=400, cost_per_step=0.8)
    assert said[0] == (
        "entropylaw: not known: it needs 8 evaluations · step 0 · gsm8k · 400 steps to step 400 cost 320"
    )
    assert len(said) == 1 + 13
    assert said[1].startswith(
        "entropylaw: not known: step 400 is more than 4 lengths of the run ahead · step 56 · "
    )
    for words in (
        " · by step 400 0.",
        "gsm8k 0.572, rising · ",
        "P(+0.0371 or more) 0.",
        "248 steps to step 400 cost 198",
    ):
        assert words in said[-1]
    (line,) = watcher.lines
    assert (line.reward, line.says, line.step, line.evaluations) == ("gsm8k", "go on", 152.0, 20)
    assert not watcher.should_stop


def test_a_stop_only_where_it_is_among_the_options():
    values = np.concatenate([rewards(30), np.zeros(10)])
    for stop_on, stops in (((), False), ("broken", True), (("stop", "exploded"), False)):
        said, watcher = watched(values, stop_on=stop_on)
        assert watcher.lines[0].says == "broken"
        assert watcher.should_stop is stops
        assert said[-1].startswith("entropylaw: broken: lost since step 240 · step 312 · gsm8k ")
        assert said[-1].endswith(" · keep step 232 (0.659)")
    with pytest.raises(UsageError, match="expected some of stop, broken, exploded"):
        entropylaw.Watcher(stop_on="always")


def test_a_run_stops_where_every_reward_says_so_and_there_is_one():
    watcher = entropylaw.Watcher(stop_on=("stop", "broken"), say=lambda _: None)
    assert watcher.should_stop is False
    dead = np.concatenate([rewards(12), np.zeros(18)])
    for number, reward in enumerate(dead):
        watcher.update(number, rewards={"a": reward, "b": rewards(30)[number]})
    assert [line.says for line in watcher.lines] == ["broken", "go on"]
    assert watcher.should_stop is False
    for number, reward in enumerate(dead):
        watcher.update(number, rewards={"a": reward, "b": reward})
    assert [line.says for line in watcher.lines] == ["broken", "broken"]
    assert watcher.should_stop is True


def lost_run(watcher):
    """A run that loses its reward."""
    for number, reward in enumerate([*rewards(12), *[0.01] * 6]):
        watcher.update(number, rewards={"gsm8k": reward})
    return watcher


class WordlessError(Exception):
    """An error that has no text."""

    def __str__(self):
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    "error",
    [
        UnicodeEncodeError("ascii", "·", 0, 1, "no"),
        OSError(28, "no space"),
        WordlessError(),
        KeyError("a\nb"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_line_that_cannot_be_said_is_on_standard_error_in_ascii(error, capsys):
    def say(_):
        raise error

    watcher = lost_run(entropylaw.Watcher(stop_on="broken", say=say))
    assert watcher.should_stop is True
    printed, written = capsys.readouterr()
    assert printed == ""
    assert written.isascii()
    lines = written.splitlines()
    assert lines[0] == "entropylaw: not known: it needs 8 evaluations | step 0 | gsm8k"
    assert lines[1].startswith(f"entropylaw: the line could not be said ({type(error).__name__}")
    assert lines[-1].startswith("entropylaw: broken: lost since step 12 | step 17")
    assert sum("could not be said" in line for line in lines) == 1


def test_an_interrupt_while_a_line_is_said_leaves_the_judgement():
    def say(_):
        raise KeyboardInterrupt

    watcher = entropylaw.Watcher(say=say)
    with pytest.raises(KeyboardInterrupt):
        watcher.update(0, rewards=0.5)
    assert [line.says for line in watcher.lines] == ["not known"]


def test_what_is_said_was_judged_before():
    seen = []
    watcher = entropylaw.Watcher(
        stop_on="broken", say=lambda _: seen.append((watcher.lines, watcher.should_stop))
    )
    lost_run(watcher)
    assert [lines[0].step for lines, _ in seen] == [0.0, *range(7, 18)]
    assert [stops for _, stops in seen] == [line[0].says == "broken" for line, _ in seen]
    assert seen[-1][1] is True


@pytest.mark.parametrize("output", ["ascii", "full", "closed", "both closed"])
def test_an_output_that_takes_no_line_changes_no_judgement(output, monkeypatch, capsys):
    class Full(io.StringIO):
        def flush(self):
            raise OSError(28, "No space left on device")

    stdout = Full() if output == "full" else io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    if "closed" in output:
        stdout.close()
    monkeypatch.setattr(sys, "stdout", stdout)
    if output == "both closed":
        monkeypatch.setattr(sys, "stderr", stdout)
    watcher = lost_run(entropylaw.Watcher(stop_on="broken"))
    assert watcher.should_stop is True
    if output != "both closed":
        assert "entropylaw: broken: lost since step 12 | step 17" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["steps", "gain", "cost_per_step", "max_reward"])
def test_a_run_is_judged_anew_for_another_end_gain_cost_or_largest_reward(name):
    _, watcher = watched(rewards(20), steps=400)
    value = {"steps": 152.0, "gain": 0.1, "cost_per_step": 0.8, "max_reward": 0.6}[name]
    _, other = watched(rewards(20), **{"steps": 400, name: value})
    assert watcher.lines != other.lines
    setattr(watcher, name, value)
    assert watcher.update(152, rewards={}) == other.lines


def test_a_value_that_is_corrected_is_judged_anew_and_said():
    said, watcher = watched([*rewards(12), 0.01, 0.01], stop_on="broken")
    assert watcher.should_stop is True
    watcher.update(8 * 13, rewards={"gsm8k": 0.5})
    assert watcher.should_stop is False
    assert said[-1].startswith("entropylaw: go on · step 104 · gsm8k 0.")
    count = len(said)
    watcher.update(8 * 13, rewards={"gsm8k": 0.5})
    watcher.update(8 * 13, entropy=0.3, rewards={})
    assert len(said) == count


def test_other_steps_or_entropies_of_the_same_rewards_are_judged_anew():
    callback = entropylaw.EntropyLawCallback(say=lambda _: None)
    lines = set()
    for spacing, entropy in ((2, 0.3), (1, 0.3), (1, 0.2)):
        trainer = Trainer()
        for number, reward in enumerate(rewards(12)):
            values = {"step": spacing * number, "reward": reward, "entropy": 0.1 if number < 9 else entropy}
            trainer.state.log_history.append(values)
        callback.on_log(None, trainer.state, trainer.control)
        (line,) = callback.watcher.lines
        lines.add((line.step, line.exploded_since))
    assert lines == {(11.0, 9.0), (22.0, 18.0), (11.0, None)}


def test_a_run_that_cannot_be_judged_has_no_line_of_the_one_before(tmp_path):
    path, said = tmp_path / "log.jsonl", []
    watcher = entropylaw.Watcher(path, stop_on="broken", say=said.append)
    for step, reward in enumerate([*rewards(12), *[0.01] * 6]):
        with path.open("a") as file:
            file.write(json.dumps({"step": step, "entropy": 0.3, "val/acc": reward}) + "\n")
    watcher.read()
    assert watcher.should_stop is True
    with path.open("a") as file:
        file.write(json.dumps({"step": 0, "entropy": 0.3}) + "\n")
    assert watcher.read() == ()
    assert watcher.should_stop is False
    assert "reward" in said[-1]


def test_a_line_is_said_after_a_48th_of_the_evaluations_or_where_it_changes():
    said, _ = watched([*rewards(200), *[0.01] * 20])
    steps = [int(re.search(r"step (\d+) · gsm8k", line).group(1)) // 8 for line in said]
    climbing = [step for step in steps if step < 200]
    assert steps[:3] == [0, 7, 8]
    assert 48 < len(climbing) < 160
    assert max(np.diff(climbing[1:])) == 5
    assert next(step for step, line in zip(steps, said, strict=True) if "broken" in line) == 201


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("log", value) for value in (5, object(), [], 0.5, {"a": 1})),
        *(("entropy", value) for value in (5, b"h", ["a"])),
        *(("reward", value) for value in (5, [1], {"a": 1})),
        *(("stop_on", value) for value in (5, [1], "\udcff")),
        *(("say", value) for value in (None, "print", 5)),
    ],
)
def test_arguments_of_other_types_are_named(name, value):
    for door in (entropylaw.Watcher, entropylaw.EntropyLawCallback):
        with pytest.raises(UsageError) as refused:
            door(**{name: value})
        assert refused.value.slug == "bad-argument"
        assert refused.value.message.startswith(name)


def test_entropies_of_other_steps_and_several_rewards():
    watcher = entropylaw.Watcher(say=lambda _: None)
    for step in range(200):
        watcher.update(step, entropy=0.1 + (step > 150) * 0.5, rewards={})
        if step % 10 == 0:
            watcher.update(step, rewards={"a": 0.5 + 0.001 * step, "b": 0.6 - 0.001 * step})
    assert [line.reward for line in watcher.lines] == ["a", "b"]
    assert [line.exploded_since for line in watcher.lines] == [160.0, 160.0]


def test_odd_values_are_left_out_and_said_once():
    said, watcher = watched(rewards(12))
    before = watcher.lines
    for odd in (math.nan, None, "0.5", True, [1], math.inf):
        watcher.update(100, rewards={"gsm8k": odd}, entropy="high")
    for step in ("ten", None, math.nan):
        watcher.update(step, rewards={"gsm8k": 0.5})
    watcher.update(104, rewards=[("gsm8k", 0.5)])
    assert watcher.lines == before
    assert sum("is not a number" in line for line in said) == 3
    kinds = ("entropy is a str", *(f"reward gsm8k is a {kind}" for kind in ("str", "bool", "list")))
    for kind in (*kinds, "reward reward is a list"):
        assert said.count(f"entropylaw: the {kind}, not a number: it is left out") == 1
    assert entropylaw.Watcher(say=lambda _: None).read() == ()


def test_a_run_that_begins_anew_is_said():
    said, watcher = watched(rewards(30))
    watcher.update(0, rewards={"gsm8k": 0.2})
    assert said[-2] == "entropylaw: restarted at step 0: the run before it is forgotten"
    assert said[-1] == "entropylaw: not known: it needs 8 evaluations · step 0 · gsm8k"
    assert watcher.lines[0].evaluations == 1
    watcher.update(0, rewards={"other": 0.2})
    watcher.update(8, rewards={"gsm8k": 0.2})
    assert sum("restarted" in line for line in said) == 1
    watcher.update(0, rewards={"third": 0.2})
    assert [line.reward for line in watcher.lines] == ["third"]


def test_intervals_end_at_the_largest_reward_and_at_0():
    """Also where the values alone show these ends: none is below 0, or one is near 1 and none above it."""
    for level, most, ends in ((0.8, 1.0, False), (0.95, None, True), (0.02, None, True)):
        noisy = np.clip(level + 0.08 * np.random.default_rng(0).standard_normal(12), 0, 1)
        (free,), (bounded,) = (watched(noisy, max_reward=end, steps=400)[1].lines for end in (None, most))
        bound = 0.0 if level < 0.5 else 1.0
        assert (bound in (free.expected.low, free.expected.high)) == ends
        assert bound in (bounded.expected.low, bounded.expected.high)


@pytest.mark.parametrize("name", ["steps", "cost_per_step", "gain", "max_reward"])
def test_a_planned_end_a_cost_and_a_gain_are_above_0(name):
    for value in (-1, 0, math.nan, "5", True):
        with pytest.raises(UsageError, match=f"{name}: expected a ") as refused:
            entropylaw.Watcher(**{name: value})
        assert refused.value.slug == "bad-argument"


def test_a_trainer_without_a_planned_end_is_not_finished():
    trainer = Trainer(steps=-1)
    callback = entropylaw.EntropyLawCallback(say=lambda _: None)
    for step, reward in enumerate(rewards(12), start=1):
        trainer.log(callback, step, reward=reward, entropy=0.3)
    assert callback.watcher.lines[0].says == "go on"


@pytest.mark.parametrize("kind", ["jsonl", "csv", "console"])
def test_a_log_is_read_up_to_its_last_record(tmp_path, kind):
    path = tmp_path / ("log.csv" if kind == "csv" else "log.jsonl" if kind == "jsonl" else "job.log")
    path.write_text("step,actor/entropy,critic/score/mean\n" if kind == "csv" else "")
    said = []
    watcher = entropylaw.Watcher(path, steps=60, say=said.append)
    assert watcher.read() == ()
    for step in range(1, 31):
        with path.open("ab") as file:
            file.write(record(kind, step))
        watcher.read()
        watcher.read()
    (line,) = watcher.lines
    assert (line.step, line.evaluations, line.at_step) == (30.0, 30, 60.0)
    assert sum("P(+" in text for text in said) == 23
    path.unlink()
    watcher.read()
    assert "cannot be read" in said[-1]


class Trainer:
    """What a callback gets of transformers' trainer."""

    def __init__(self, steps=100, first=True):
        self.state = SimpleNamespace(
            log_history=[], max_steps=steps, global_step=0, is_world_process_zero=first
        )
        self.control = SimpleNamespace(should_training_stop=False)

    def log(self, callback, step, **values):
        """Log some values, as ``Trainer.log``."""
        self.state.global_step = step
        self.state.log_history.append({**values, "step": step})
        callback.on_log(SimpleNamespace(), self.state, self.control, logs=values)


def test_the_callback_judges_what_the_trainer_logs():
    said, trainer = [], Trainer()
    callback = entropylaw.EntropyLawCallback(say=said.append)
    for step, reward in enumerate(rewards(40), start=1):
        trainer.log(callback, step, loss=0.1, reward=reward, entropy=1.0 / step, epoch=0.1)
        callback.on_step_end(None, trainer.state, trainer.control, model=None)
    assert sum("P(+" in line for line in said) == 33
    assert said[-1].startswith("entropylaw: go on · step 40 · reward 0.")
    assert " · by step 100 0." in said[-1]
    again = entropylaw.EntropyLawCallback(say=lambda _: None)
    trainer.log(again, 41, reward=0.72, entropy=0.02)
    assert again.watcher.lines[0].evaluations == 41
    with pytest.raises(AttributeError):
        callback.other  # noqa: B018
    quiet = Trainer(first=False)
    quiet.log(entropylaw.EntropyLawCallback(say=said.append), 1, reward=0.1, entropy=0.1)
    assert "step 1 ·" not in said[-1]


@pytest.mark.parametrize(("given", "ends"), [({}, (100.0, 1000.0, None)), ({"steps": 300}, (300.0,) * 3)])
def test_each_training_with_one_callback_has_its_own_end_and_records(given, ends):
    callback = entropylaw.EntropyLawCallback(say=lambda _: None, stop_on="broken", **given)
    for end, steps in zip(ends, (100, 1000, -1), strict=True):
        trainer = Trainer(steps=steps)
        callback.on_train_begin(None, trainer.state, trainer.control)
        assert callback.watcher.lines == ()
        for step, reward in enumerate([*rewards(12), *[0.01] * 6], start=1):
            trainer.log(callback, step, reward=reward, entropy=0.3)
            assert callback.watcher.lines[0].evaluations == step
            assert callback.watcher.steps == end
            assert trainer.control.should_training_stop is (step >= 14)


def test_a_second_process_is_silent_and_stops_as_the_first_one_does(capsys):
    trainer = Trainer(first=False)
    callback = entropylaw.EntropyLawCallback(stop_on="broken", say=lambda _: 1 / 0)
    for step, reward in enumerate([*rewards(12), *[0.01] * 6], start=1):
        trainer.log(callback, step, reward=reward, entropy=0.3)
    assert trainer.control.should_training_stop is True
    assert capsys.readouterr() == ("", "")


def test_an_odd_log_raises_nothing():
    trainer = Trainer()
    callback = entropylaw.EntropyLawCallback(say=lambda _: None)
    for odd in ("no entry", None, {None: 3}, {"reward": object(), "step": "x"}, {"reward": [1, 2]}, 7):
        trainer.state.log_history.append(odd)
        trainer.log(callback, 1, reward=0.1)
    for step, reward in enumerate(rewards(12), start=2):
        trainer.log(callback, step, reward=reward, entropy=math.nan)
    assert callback.watcher.lines[0].evaluations >= 12
    callback.on_log(None, SimpleNamespace(), None)


def test_records_with_arrays_that_are_made_anew_are_judged():
    callback = entropylaw.EntropyLawCallback(say=lambda _: None)
    for step in range(1, 13):
        trainer = Trainer()
        for earlier, reward in enumerate(rewards(step), start=1):
            record = {"step": earlier, "reward": reward, "per_task": np.array([reward, 0.0])}
            trainer.state.log_history.append(record)
        callback.on_log(SimpleNamespace(), trainer.state, trainer.control)
        assert callback.watcher.lines[0].evaluations == step


def test_a_log_without_entropy_has_its_line():
    trainer = Trainer()
    callback = entropylaw.EntropyLawCallback(say=lambda _: None)
    for step, reward in enumerate(rewards(12), start=1):
        trainer.log(callback, step, eval_reward=reward)
    (line,) = callback.watcher.lines
    assert (line.reward, line.evaluations, line.exploded_since) == ("eval_reward", 12, None)
    assert line.p_gain > 0.5


def test_500_evaluations_take_less_than_a_tenth_of_a_second_each():
    trainer = Trainer(steps=4000)
    callback = entropylaw.EntropyLawCallback(say=lambda _: None)
    extra = {f"metric/{number}": 1.0 for number in range(30)}
    costs = []
    for step, reward in enumerate(rewards(500), start=1):
        for part in range(4):
            trainer.state.log_history.append({"reward": 0.5, "entropy": 0.4, "step": 4 * step + part} | extra)
        if step <= 480:
            trainer.state.log_history.append({"eval_reward": reward, "step": 4 * step + 3})
            continue
        start = time.process_time()
        trainer.log(callback, 4 * step + 3, eval_reward=reward)
        costs.append(time.process_time() - start)
    assert callback.watcher.lines[0].evaluations > 490
    assert np.median(costs[1:]) < 0.1


def test_neither_transformers_nor_torch_is_imported():
    code = "import entropylaw, sys; entropylaw.EntropyLawCallback(); "
    code += "print({'torch', 'transformers', 'trl', 'matplotlib'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
