"""Folders with several files of one run, and files with one metric each."""

import json

import numpy as np
import pytest

from entropylaw import InputError, UsageError, read_runs
from entropylaw.logs.load import read_all
from entropylaw.roles.explain import explain
from entropylaw.roles.select import select
from tests.hostile import write

STEPS = range(40)


def chart(metric, runs, axis="Step", bounds=None):
    """A chart of the W&B page: ``runs`` maps a name to {x: value}, ``bounds`` (name, x) to two bounds."""
    xs = sorted({x for values in runs.values() for x in values})
    header, rows = [axis], [[str(x)] for x in xs]
    for run, values in runs.items():
        header += [f"{run} - {metric}{end}" for end in ("", "__MIN", "__MAX")]
        for row, x in zip(rows, xs, strict=True):
            value = values.get(x)
            low, high = (bounds or {}).get((run, x), (value, value))
            row += ["" if cell is None else repr(cell) for cell in (value, low, high)]
    return "\n".join(",".join(f'"{cell}"' for cell in row) for row in [header, *rows]) + "\n"


def entropy(step):
    return float(np.exp(-step / 20))


def reward(step):
    return 1.2 - 0.4 * float(np.exp(entropy(step)))


ENTROPIES = {step: entropy(step) for step in STEPS}
REWARDS = {step: reward(step) for step in STEPS}


def test_charts_of_several_runs_are_joined_run_by_run(tmp_path):
    runs = {name: {s: entropy(s) + i for s in STEPS} for i, name in enumerate("ab")}
    write(tmp_path, "e.csv", chart("entropy", runs))
    write(tmp_path, "r.csv", chart("reward", {"b": REWARDS}))
    first, second = read_runs(tmp_path)
    assert (first.name, second.name) == ("a", "b")
    assert "reward" not in first.columns
    assert any("joined by '_step' from 2 files: 'e.csv', 'r.csv'" in note for note in second.notes)
    assert select(second).entropy.tolist() == [entropy(s) + 1 for s in STEPS]
    with pytest.raises(InputError, match="has no reward column") as caught:
        select(first)
    assert "part of a log" in caught.value.hint


def test_charts_over_two_axes_stay_apart(tmp_path):
    write(tmp_path, "e.csv", chart("entropy", {"a": ENTROPIES}, "train/global_step"))
    write(tmp_path, "r.csv", chart("reward", {"a": REWARDS}))
    runs = read_runs(tmp_path)
    assert len(runs) == 2
    assert all("their x axes differ" in run.notes[-1] for run in runs)
    # The one has an entropy alone, which is no run; the other a reward alone, which has no law.
    (of_entropy,) = [run for run in runs if "entropy" in run.columns]
    with pytest.raises(InputError, match="in the catalog") as caught:
        select(of_entropy)
    assert caught.value.hint.endswith("export both over one")
    (of_reward,) = [run for run in runs if run is not of_entropy]
    assert select(of_reward).no_entropy.hint.endswith("export both over one")


def test_a_chart_without_its_greatest_values_is_joined_too(tmp_path):
    bounds = {("a", s): (entropy(s) - 0.01, entropy(s) + 0.01) for s in range(10)}
    write(tmp_path, "e.csv", chart("actor/entropy", {"a": ENTROPIES}, bounds=bounds))
    write(tmp_path, "v.csv", chart("val-core/x/acc/mean@1", {"a": REWARDS}))
    renamed = chart("critic/score/mean", {"a": REWARDS}, bounds=bounds).replace("__MAX", "__most")
    write(tmp_path, "r.csv", renamed)
    (run,) = read_runs(tmp_path)
    assert run.dropped == {"average over several steps, where another chart has a single value": 10}


def test_means_over_buckets_pair_within_their_bucket_only(tmp_path):
    bounds = {("a", s): (entropy(s) - 0.01, entropy(s) + 0.01) for s in range(10)}
    write(tmp_path, "e.csv", chart("actor/entropy", {"a": ENTROPIES}, bounds=bounds))
    write(tmp_path, "v.csv", chart("val-core/x/acc/mean@1", {"a": REWARDS}))
    (run,) = read_runs(tmp_path)
    assert run.dropped == {"average over several steps, where another chart has a single value": 10}
    series = select(run)
    assert (series.pair, series.step.tolist()) == ("next", list(range(9, 39)))

    both = {("a", s): (reward(s) - 0.01, reward(s) + 0.01) for s in range(10)}
    write(tmp_path, "v.csv", chart("val-core/x/acc/mean@1", {"a": REWARDS}, bounds=both))
    (run,) = read_runs(tmp_path)
    assert run.dropped == {}
    series = select(run)
    assert (series.pair, len(series.step)) == ("same", 40)
    assert "paired within them" in explain(run).pair_why
    with pytest.raises(UsageError, match="different buckets"):
        select(run, pair="next")


def test_charts_of_one_metric_that_contradict_each_other_are_of_two_runs(tmp_path):
    write(tmp_path, "1.csv", chart("entropy", {"a": ENTROPIES}))
    write(tmp_path, "2.csv", chart("entropy", {"a": {s: entropy(s) for s in range(60)}}))
    (run,) = read_runs(tmp_path)
    assert len(run.step) == 60
    write(tmp_path, "2.csv", chart("entropy", {"a": {s: entropy(s) + (s == 3) for s in range(60)}}))
    first, second = read_runs(tmp_path)
    assert (len(first.step), len(second.step)) == (40, 60)
    assert first.name != second.name


def test_charts_of_different_runs_are_never_one(tmp_path):
    write(tmp_path, "e.csv", chart("entropy", {"llama": ENTROPIES}))
    write(tmp_path, "r.csv", chart("reward", {"qwen": REWARDS}))
    assert [run.name for run in read_runs(tmp_path)] == ["llama", "qwen"]


def test_runs_of_one_name_in_two_folders_stay_apart(tmp_path):
    for folder, shift in (("A", 0), ("B", 1)):
        write(tmp_path, f"{folder}/e.csv", chart("entropy", {"a": {s: entropy(s) + shift for s in STEPS}}))
        write(tmp_path, f"{folder}/r.csv", chart("reward", {"a": REWARDS}))
    first, second = read_runs(tmp_path)
    assert (first.name, second.name) == ("a (A)", "a (B)")
    assert select(second).entropy[0] == entropy(0) + 1
    apart = tmp_path / "apart"
    write(apart, "E/chart.csv", chart("entropy", {"a": ENTROPIES}))
    write(apart, "R/chart.csv", chart("reward", {"a": REWARDS}))
    assert len(read_runs(apart)) == 1


def state(last):
    entries = [
        {"step": s, "epoch": s / 10, "entropy": entropy(s), "reward": reward(s)} for s in range(1, last + 1)
    ]
    return json.dumps({"log_history": entries, "global_step": last})


def test_of_a_run_s_checkpoints_the_last_is_read(tmp_path):
    for last in (10, 9, 100):
        write(tmp_path, f"out/checkpoint-{last}/trainer_state.json", state(last))
    reading = read_all([str(tmp_path)])
    (run,) = reading.runs
    assert (run.name, len(run.step)) == ("out", 100)
    assert len(reading.ignored) == 2
    assert all("checkpoint-100" in item.why and "holds the same run" in item.why for item in reading.ignored)
    write(tmp_path, "out/trainer_state.json", state(100))
    (run,) = read_runs(tmp_path)
    assert run.source.path == str(tmp_path / "out" / "trainer_state.json")
    write(tmp_path, "out/checkpoint-200/trainer_state.json", state(200))
    assert len(read_runs(tmp_path)[0].step) == 200


def console(folder):
    lines = [f"step:{s} - actor/entropy:{entropy(s)} - critic/score/mean:{reward(s)}" for s in STEPS]
    return write(folder, "files/output.log", "\n".join(lines) + "\n")


def test_a_wandb_folder_whose_log_is_damaged_is_read_from_the_console(tmp_path):
    folder = tmp_path / "wandb" / "run-20260101_000000-abcdefgh"
    console(folder)
    (folder / "run-abcdefgh.wandb").write_bytes(b":W&B\xe1\xbe\x00" + bytes(100))
    write(folder, "files/wandb-summary.json", '{"_step": 40, "_runtime": 3, "actor/entropy": 0.1}')
    config = "actor_rollout_ref: {value: {actor: {entropy_coeff: 0.001}, rollout: {temperature: 0.6}}}\n"
    write(folder, "files/config.yaml", "wandb_version: 1\n_wandb: {value: {host: secret}}\n" + config)
    reading = read_all([str(tmp_path)])
    assert reading.failures == ()
    (run,) = reading.runs
    assert any("read from files/output.log" in note for note in run.notes)
    series = select(run)
    assert series.entropy.tolist() == [*ENTROPIES.values()]
    assert any("temperature 0.6" in note for note in series.notes)
    assert len(series.cautions) == 1
    assert "entropy term of weight 0.001" in series.cautions[0]
    assert "secret" not in repr(run)


def test_settings_that_make_the_entropy_a_sum_refuse_it(tmp_path):
    rows = "".join(f"{s},{9 - s / 10},{s}\n" for s in STEPS)
    path = write(tmp_path, "metrics.csv", "step,actor/entropy,critic/score/mean\n" + rows)
    assert select(read_runs(path)[0]).entropy_choice.meaning.aggregation == "token mean"
    config = "actor_rollout_ref: {value: {actor: {loss_agg_mode: seq-mean-token-mean}}}\n"
    write(tmp_path, "config.yaml", config)
    assert select(read_runs(path)[0]).entropy_choice.meaning.aggregation == "mean of per-response means"
    write(tmp_path, "config.yaml", config.replace("token-mean", "token-sum"))
    lacking = select(read_runs(path)[0]).no_entropy
    assert (lacking.slug, "seq-mean-token-sum" in lacking.message) == ("entropy-not-a-mean", True)
