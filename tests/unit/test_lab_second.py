"""The lab's second edition: its list, its finished runs and, if PyTorch is installed, how runs are made."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from dataclasses import replace as dataclass_replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from entropylaw.pipeline.steps import fit_logs
from entropylaw.results.result import replace
from lab import answers, comparisons, editions, findings, overview, page, second
from lab.comparisons import edition
from lab.config import Config, Counts, Objective, Size, Stage, Start, read_config, write_config
from lab.make import is_finished, left_of, make, make_all, record, recorded
from lab.task import grade, numbers, prompts_of
from tests.conftest import ROOT

LAB2 = ROOT / "data" / "lab2"
RUNS = {config.run: config for config in second.runs()}
FAILING = [config for config in RUNS.values() if config.failure]
FINISHED = sorted(path.parent.name for path in LAB2.glob("*/config.json"))

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="the lab's training needs PyTorch"
)

TINY = Config(
    "tiny_s0",
    "a few steps",
    size=Size(width=16, layers=1, heads=2),
    start=Start(steps=20),
    stages=(Stage(2), Stage(2, failure="dead groups", objective=Objective(max_tokens=7))),
    prompts=8,
    samples=4,
    minibatches=2,
    val_prompts=16,
    val_samples=4,
    val_every=2,
    counts=Counts(at=(0, 4), prompts=3, samples=8),
)


def say_nothing(line: str) -> None:
    """Print nothing."""


def test_runs_of_one_arm_differ_in_the_seed_alone():
    for config in RUNS.values():
        if config.failure:
            continue
        first = RUNS[f"{config.arm}_s0"]
        kept = {"counts": first.counts, "tokens_at": first.tokens_at, "also": first.also}
        assert replace(config, run=first.run, seed=0, **kept) == first


def test_a_failing_run_equals_its_twin_but_for_the_cause():
    assert Counter(config.failure for config in FAILING) == {
        "entropy collapse": 6,
        "entropy explosion": 3,
        "hacked reward": 3,
        "numerical blow-up": 3,
        "dead groups": 3,
    }
    for config in FAILING:
        twin = RUNS[config.twin]
        assert (twin.failure, twin.lost_at, twin.steps, twin.seed) == (None, None, config.steps, config.seed)
        before, cause = config.stages
        assert 0 < config.lost_at == before.steps < config.steps
        assert asdict(before) == asdict(replace(twin.stages[0], steps=before.steps))
        same = ("size", "start", "objective", "prompts", "samples", "minibatches", "lr", "gradient_limit")
        assert [getattr(config, name) for name in same] == [getattr(twin, name) for name in same]
        assert cause.objective or cause.lr


@needs_torch
def test_the_validation_prompts_are_distinct_the_same_and_not_used_in_training():
    from lab.measure import validation_prompts

    fixed = validation_prompts(RUNS["grpo_s0"])["free"]
    assert len(fixed) == len(np.unique(fixed, axis=0)) == 400
    for config in RUNS.values():
        for domain, prompts in validation_prompts(config).items():
            np.testing.assert_array_equal(prompts[:, 1:], fixed[:, 1:], err_msg=f"{config.run}, {domain}")
    trained = prompts_of("free", numbers(100_000, np.random.default_rng(0), validation=False))
    assert not {tuple(row) for row in fixed} & {tuple(row) for row in trained}


@pytest.mark.parametrize("config", [RUNS["grpo_s0"], *FAILING, TINY], ids=lambda config: config.run)
def test_a_config_is_read_as_it_was_written(config, tmp_path):
    write_config(config, {"torch": "0"}, tmp_path / "config.json")
    assert read_config(tmp_path / "config.json") == config


def test_finished_runs_have_the_settings_of_the_list():
    assert [name for name in FINISHED if not is_finished(RUNS[name], LAB2)] == []
    assert len(left_of(list(RUNS.values()), LAB2)) == len(RUNS) - len(FINISHED)


def test_tables_without_runs_name_what_is_not_made(tmp_path):
    nothing = edition({}, tmp_path)
    assert comparisons.arms(nothing, ("rloo",), ()) == "Not made yet: `rloo`."
    for table in (comparisons.sizes, comparisons.supervised, comparisons.orders, comparisons.spreads):
        assert table(nothing).startswith("Not made yet: `")
    assert page.failures(nothing) == "Not made yet."
    assert answers.holds(nothing) == "Not made yet: `grpo`, `steady` and `width_96`."
    assert answers.forgets(nothing).startswith("Not made yet: ")


def test_a_number_against_the_size_is_a_line_through_the_means():
    found = comparisons.against(np.array([1.0, 2.0, 3.0]), [[0.1, 0.3], [0.5], [0.9, 1.1]])
    assert [point.value for point in found.points] == pytest.approx([0.2, 0.5, 1.0])
    assert found.points[1].high - found.points[1].value == pytest.approx(4.302653 * np.sqrt(0.02), rel=1e-6)
    assert found.slope.value == pytest.approx(0.4)
    assert found.slope.high - found.slope.value == pytest.approx(12.706205 * 0.2 / np.sqrt(12), rel=1e-6)


@pytest.fixture(scope="module")
def some():
    """The comparisons of two seeds of plain GRPO with two runs that fail, and with one seed of RLOO."""
    runs = {}
    for name in ("grpo_s0", "grpo_s1", "blow_up_s0", "blow_up_s1", "rloo_s0"):
        log = LAB2 / name / "metrics.parquet"
        runs[name] = findings.Made(RUNS[name], findings.read_columns(log), fit_logs([log]).runs[0])
    return edition(runs, LAB2)


def test_tables_are_made_of_the_runs_that_are_there(some):
    pair = some.pair("rloo")
    assert pair.seeds == (1, 2)
    text = comparisons.arms(some, ("rloo", "reinforce"), comparisons.COEFFICIENTS)
    assert "| rloo − grpo | 1 and 2 | " in text
    assert text.endswith("Not made yet: `reinforce`.")
    assert comparisons.is_enough(pair) is (pair[comparisons.AT_EQUAL_ENTROPY].seeds_needed <= 1)
    assert "`rloo`" in comparisons.enough([pair])
    (row,) = [row for row in page.failures(some).splitlines() if row.startswith("| `blow_up`")]
    assert row.startswith("| `blow_up` | 2 | ")
    assert ", lower | " in row
    assert row.endswith(" | 2 of 2 |")
    assert "| `grpo` | plain GRPO | 2 of 8 |" in overview.arms(some.by_arm)
    assert "| `grpo` | 2 | 0, 40, 100, 200, 400 | 100 | 64 |" in overview.counted(some.by_arm, LAB2)


def test_runs_from_another_copy_of_the_start_are_named(some):
    runs = some.of("grpo", "blow_up")
    assert overview.other_starts(runs) == []
    assert overview.starts({"grpo": runs}) == ""
    columns = {**runs[2].columns, "val_acc": runs[2].columns["val_acc"] + 0.01}
    moved = dataclass_replace(runs[2], columns=columns)
    assert overview.other_starts([*runs[:2], moved, runs[3]]) == [moved]
    assert (
        f"1 run began from another copy of the start than the first run with its seed: `{moved.name}`."
        in overview.starts({"grpo": runs[:2], "blow_up": [moved]})
    )
    # Each order evaluates its first domain first, by the same random numbers.
    one, other = (
        dataclass_replace(run, config=RUNS[f"{name}_s0"])
        for run, name in ((runs[2], "free_then_school"), (moved, "school_then_free"))
    )
    assert overview.other_starts([one, other]) == []


def test_an_old_answer_stands_if_the_new_one_has_its_word(some):
    answer = partial(editions.Answer, text="")
    same, small, large = answer("same", is_small=True), answer("lower", is_small=True), answer("lower")
    undecided = answer(editions.OPEN)
    assert editions.state(same, None) == "cannot be said yet: not made"
    assert editions.state(same, undecided) == "cannot be said yet: not decided"
    assert editions.state(same, same) == "stands"
    assert editions.state(same, small) == "stands, but a difference is found"
    assert editions.state(same, large) == "changed"
    assert editions.state(undecided, undecided) == "open in both"
    assert editions.state(undecided, large) == "decided now"
    assert editions.state(None, large) == "new"
    rows = editions.compared(some, edition({}, LAB2))
    assert {row[2] for row in rows} == {"—"}
    assert {row[3] for row in rows} == {"cannot be said yet: not made", "new"}
    assert all(row[-1] in editions.STATES for row in editions.compared(some, some))


AGAIN = (
    TINY,
    replace(
        TINY,
        run="tiny_stages_s1",
        seed=1,
        start=replace(TINY.start, domains=("free", "school")),
        stages=(Stage(1, "sft"), Stage(1, domains=("school",)), Stage(1, domains=("free", "school"))),
        counts=None,
        tokens_at=(0, 2),
    ),
    replace(TINY, run="tiny_rloo_s2", seed=2, objective=Objective(advantage="leave-one-out", kl_penalty=0.3)),
)


def train_in(folder: Path, configs: Sequence[Path], *options: str) -> subprocess.CompletedProcess[str]:
    """Train in a process of its own, which has no start in its folder."""
    folder.mkdir(exist_ok=True)
    command = (sys.executable, "-m", "lab", "train", *map(str, configs), "-o", "out", *options)
    variables = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)


@needs_torch
def test_three_runs_that_are_made_again_by_another_process_have_the_same_bytes(tmp_path):
    written = [tmp_path / f"{config.run}.json" for config in AGAIN]
    for config, path in zip(AGAIN, written, strict=True):
        write_config(config, {}, path)
    assert train_in(tmp_path / "one", written).returncode == 0
    first = [tmp_path / "one" / "out" / config.run for config in AGAIN]
    configs = [folder / "config.json" for folder in first]
    assert [read_config(path) for path in configs] == list(AGAIN)
    again = train_in(tmp_path / "two", configs, "--check")
    assert (again.returncode, again.stdout.count("has the same bytes")) == (0, 3), again.stderr
    for folder in first:
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
        other = tmp_path / "two" / "out" / folder.name
        assert files == {path.name: path.read_bytes() for path in other.iterdir()}
    assert {path.name for folder in first for path in folder.iterdir()} == set(overview.FILES)


@needs_torch
def test_a_run_that_differs_from_the_one_beside_its_config_fails_the_check(tmp_path):
    make(replace(TINY, stages=(Stage(1),), counts=None), tmp_path, tmp_path / "cache", say_nothing)
    kept = tmp_path / TINY.run
    (kept / "metrics.parquet").write_bytes(b"other")
    done = train_in(tmp_path / "again", [kept / "config.json"], "--check")
    assert done.returncode == 1
    assert done.stderr.strip().endswith(f"differs from {kept} in metrics.parquet")


@needs_torch
def test_the_columns_and_the_counts_of_a_run(tmp_path):
    from lab.measure import validation_prompts

    make(TINY, tmp_path, tmp_path / "cache", say_nothing)
    table = pq.read_table(tmp_path / TINY.run / "metrics.parquet").to_pandas()
    assert set(table["stage"]) == {"rl"}
    assert set(table["domain"]) == {"free"}
    dead = table["step"] >= TINY.lost_at
    assert (table["share_groups_without_gradient"][dead] == 1).all()
    assert (table["reward_mean"][dead] == 0).all()
    counts = pq.read_table(tmp_path / TINY.run / "counts.parquet").to_pandas()
    assert (counts.groupby(["step", "prompt"])["n"].sum() == TINY.counts.samples).all()
    assert not counts.duplicated(["step", "prompt", "answer"]).any()
    assert (counts["answer"].str.len() == counts["tokens"]).all()
    fixed = validation_prompts(TINY)["free"][: TINY.counts.prompts]
    asked = counts.groupby("prompt", sort=True)["asked"].first()
    assert list(asked) == ["P" + "".join(map(str, row[1:])) for row in fixed]


@needs_torch
def test_what_is_left_is_made_and_what_is_finished_is_not_made_again(tmp_path):
    few = replace(TINY, stages=(Stage(1),), counts=None)
    configs = [few, replace(few, run="tiny_s1", seed=1)]
    make(few, tmp_path / "out", tmp_path / "cache", say_nothing)
    kept = (tmp_path / "out" / few.run / "metrics.parquet").stat().st_mtime_ns
    lines: list[str] = []
    times = tmp_path / "minutes.csv"
    assert make_all(configs, tmp_path / "out", tmp_path / "cache", 2, lines.append, times) == []
    assert list(recorded(times)) == ["tiny_s1"]
    assert left_of(configs, tmp_path / "out") == []
    assert (tmp_path / "out" / few.run / "metrics.parquet").stat().st_mtime_ns == kept
    assert lines[0].startswith("1 of 2 runs are finished; 1 are left")
    assert lines[1].startswith("tiny_s1: ")
    changed = replace(few, lr=1e-4)
    assert left_of([changed], tmp_path / "out") == [changed]


def test_processor_times_are_kept_by_run(tmp_path):
    times = tmp_path / "minutes.csv"
    assert recorded(times) == {}
    for run, seconds in (("b", 90.0), ("a", 210.0), ("b", 126.0)):
        record(run, seconds, times)
    assert times.read_text(encoding="utf-8") == "run,minutes\na,3.5\nb,2.1\n"
    assert recorded(times) == {"a": 3.5, "b": 2.1}


@needs_torch
def test_a_run_that_is_interrupted_leaves_nothing_and_does_not_stop_the_others(tmp_path):
    whole = replace(TINY, stages=(Stage(1),), counts=None)
    impossible = replace(whole, run="impossible_s0", samples=0)
    lines: list[str] = []
    made = make_all([impossible, whole], tmp_path / "out", tmp_path / "cache", 1, lines.append)
    assert made == ["impossible_s0"]
    assert [path.name for path in (tmp_path / "out").iterdir()] == [whole.run]


@needs_torch
def test_an_unchecked_answer_in_one_step_is_rewarded_right_or_wrong():
    import torch

    from lab.policy import Policy
    from lab.task import Plan, answers_of, is_written
    from lab.train import Trainer

    a, b = np.array([47, 47, 47]), np.array([36, 36, 36])
    responses = answers_of(a, Plan(np.array([36, 36, 30]), np.array([0, 0, 6]), np.array([0, 0, 1])))
    responses[1:, 5] = (responses[1:, 5] + 1) % 10
    grades = grade(prompts_of("free", np.column_stack([a, b])), responses)
    trainer = Trainer(TINY, Policy(TINY.size))
    torch.manual_seed(0)

    def rewards(objective: Objective) -> list[float]:
        return trainer._rewards(objective, grades, is_written(responses)).tolist()

    assert rewards(Objective()) == [1, 0, 0]
    assert rewards(Objective(reward="unchecked")) == [2, 2, 0]
    assert rewards(Objective(reward="none")) == [0, 0, 0]
    assert rewards(Objective(max_tokens=8)) == [1, 0, 0]
    assert rewards(Objective(max_tokens=7)) == [0, 0, 0]


@needs_torch
@pytest.mark.parametrize("name", [*second.CAUSES, "sft_grpo_sft", "steady"])
def test_every_further_arm_takes_a_step_of_every_stage(name, tmp_path):
    from lab.train import train

    config = RUNS[f"{name}_s0"]
    few = replace(
        config,
        size=TINY.size,
        start=replace(config.start, steps=2, batch=16),
        stages=tuple(replace(stage, steps=1) for stage in config.stages),
        prompts=8,
        val_prompts=4,
        tokens_at=(),
        counts=None,
    )
    rows = train(few, tmp_path, say_nothing).rows
    assert len(rows) == few.steps + 1
    assert rows[1]["entropy"] != rows[0]["entropy"]
