"""The lab's second edition: its list, its finished runs and, if PyTorch is installed, how runs are made."""

import re
from dataclasses import replace as dataclass_replace

import numpy as np
import pytest

from entropylaw.pipeline.steps import fit_logs
from lab import comparisons, findings, overview, page, second
from lab.comparisons import edition
from lab.config import Config, Counts, Objective, Size, Stage, Start, read_config, write_config
from lab.make import is_finished, left_of, record, recorded
from tests.conftest import ROOT

LAB2 = ROOT / "data" / "lab2"
RUNS = {config.run: config for config in second.runs()}
FAILING = [config for config in RUNS.values() if config.failure]
FINISHED = sorted(path.parent.name for path in LAB2.glob("*/config.json"))

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


@pytest.mark.parametrize("config", [RUNS["grpo_s0"], *FAILING, TINY], ids=lambda config: config.run)
def test_a_config_is_read_as_it_was_written(config, tmp_path):
    write_config(config, {"torch": "0"}, tmp_path / "config.json")
    assert read_config(tmp_path / "config.json") == config


def test_finished_runs_have_the_settings_of_the_list():
    assert [name for name in FINISHED if not is_finished(RUNS[name], LAB2)] == []
    assert len(left_of(list(RUNS.values()), LAB2)) == len(RUNS) - len(FINISHED)


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
    assert pair["reward_at_entropy"].seeds == (1, 2)
    text = comparisons.arms(some, ("rloo", "reinforce"))
    assert "| rloo − grpo | " in text
    assert text.endswith("Not made yet: `reinforce`.")
    assert comparisons.is_enough(pair) is (pair[comparisons.AT_EQUAL_ENTROPY].seeds_needed <= 1)
    assert "`rloo`" in comparisons.enough([pair])
    (row,) = [row for row in page.failures(some).splitlines() if row.startswith("| `blow_up`")]
    # All of them failed: there is a number, which nothing is decided on.
    assert re.search(r"-0\.82\d, without interval, not comparable \| ", row)
    assert row.endswith(" | 2 of 2 |")
    assert "| `grpo` | plain GRPO | 2 |" in overview.arms(some.by_arm)
    assert overview.counted(some.by_arm, LAB2).startswith("96,000 samples (")


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


def test_processor_times_are_kept_by_run(tmp_path):
    times = tmp_path / "minutes.csv"
    assert recorded(times) == {}
    for run, seconds in (("b", 90.0), ("a", 210.0), ("b", 126.0)):
        record(run, seconds, times)
    assert times.read_text(encoding="utf-8") == "run,minutes\na,3.5\nb,2.1\n"
    assert recorded(times) == {"a": 3.5, "b": 2.1}
