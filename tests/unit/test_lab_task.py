"""The lab's task, which needs no PyTorch, and its second edition: its list and its finished runs."""

import re
from dataclasses import replace as dataclass_replace

import numpy as np
import pytest

from entropylaw import fit_logs
from lab import chains, comparisons, findings, overview, page, second
from lab.comparisons import edition
from lab.config import Config, Counts, Objective, Size, Stage, Start, read_config, write_config
from lab.domains import demonstrations, grade
from lab.make import is_finished, left_of, record, recorded
from lab.task import (
    DOMAINS,
    END,
    GO,
    NAMES,
    PAD,
    PROMPT,
    RESPONSE,
    STRATEGIES,
    is_planning,
    is_written,
    numbers,
    text_of,
)
from tests.conftest import ROOT


def tokens(text: str, length: int | None = None) -> np.ndarray:
    found = [NAMES.index(letter) for letter in text]
    return np.array(found + [PAD] * ((length or len(found)) - len(found)))


def judge(prompt: str, response: str):
    return grade(tokens(prompt)[None], tokens(response, RESPONSE)[None])


@pytest.mark.parametrize(
    ("response", "strategy"),
    [
        ("36=1692.", "direct"),
        ("30+06=141002821692.", "tens first"),
        ("06+30=028214101692.", "ones first"),
        ("40-04=188001881692.", "round up"),
        ("20+16=094007521692.", "sum"),
        ("50-14=235006581692.", "difference"),
    ],
)
def test_every_strategy_is_right(response, strategy):
    grades = judge("P4736", response)
    assert grades.correct[0]
    assert STRATEGIES[grades.strategy[0]] == strategy


@pytest.mark.parametrize(
    ("response", "plan", "execution"),
    [
        ("30+07=141003291739.", False, True),  # executed correctly, but 30 + 7 is not 36
        ("30+06=141002821693.", True, False),  # 1410 + 282 is 1692
        ("30+06=151002821692.", True, False),  # 47 × 30 is 1410
        ("30+06=14100282169", True, False),  # a digit and the end are missing
        ("30+06+141002821692.", False, False),  # no =
        ("3+06=0141028216920.", False, False),  # a part of one digit
        ("36=1692.0", True, False),  # continues after the end
    ],
)
def test_wrong_plans_and_executions_are_distinguished(response, plan, execution):
    grades = judge("P4736", response)
    assert (grades.plan_right[0], grades.execution_right[0]) == (plan, execution)
    assert not grades.correct[0]


@pytest.mark.parametrize(
    ("response", "strategy", "plan", "execution"),
    [
        ("36=1692.", "1 part", True, True),
        ("30+06=141002821692.", "2 parts", True, True),
        ("30+05+01=14100235164500471692.", "3 parts", True, True),
        ("30+05+00=14100235164500001645.", None, False, True),  # 35 is not 36
        ("30+05+01=14100235164500471693.", "3 parts", True, False),  # 1645 and 47 are 1692
        ("30+05+01=14100235164500471692", "3 parts", True, False),  # no end
        ("30+0501=14100235164500471692.", None, False, False),  # a sign is missing
        ("01+01+01+01+01+01+30=.", None, False, False),  # seven parts
    ],
)
def test_chains_are_executed_part_by_part(response, strategy, plan, execution):
    grades = grade(tokens("=4736")[None], tokens(response, chains.RESPONSE)[None])
    number = int(grades.strategy[0])
    assert (None if number < 0 else grades.strategies[number]) == strategy
    assert (grades.plan_right[0], grades.execution_right[0]) == (plan, execution)
    assert grades.correct[0] == (plan and execution)


def test_right_chains_have_six_lengths():
    shown = demonstrations("chain", 2000, np.random.default_rng(0))
    grades = grade(shown[:, :PROMPT], shown[:, PROMPT:])
    lengths = is_written(shown[:, PROMPT:]).sum(axis=1)
    assert grades.correct.all()
    assert set(lengths.tolist()) == set(chains.LENGTHS)
    assert np.array_equal(lengths, 11 * (grades.strategy + 1) - 3)
    assert len(np.unique(grades.plan)) > 500


def test_domains_reward_different_plans():
    tens, rough = "30+06=141002821692.", "21+15=098707051692."
    assert [judge(f"{kind}4736", tens).correct[0] for kind in "PSR"] == [True, True, False]
    assert [judge(f"{kind}4736", rough).correct[0] for kind in "PSR"] == [True, False, True]


@pytest.mark.parametrize("domain", list(DOMAINS))
def test_demonstrations_without_mistakes_are_right(domain):
    shown = demonstrations(domain, 3000, np.random.default_rng(0))
    assert grade(shown[:, :PROMPT], shown[:, PROMPT:]).correct.all()


def test_demonstrations_are_diverse_with_the_requested_share_of_mistakes():
    shown = demonstrations("free", 20_000, np.random.default_rng(0), 0.3, 0.15)
    grades = grade(shown[:, :PROMPT], shown[:, PROMPT:])
    # A plan for another number is right by chance where that number is b, once in 89.
    assert grades.plan_right.mean() == pytest.approx(0.7 + 0.3 / 89, abs=0.015)
    assert grades.execution_right.mean() == pytest.approx(0.85, abs=0.015)
    assert set(grades.strategy) == {-1, *range(len(STRATEGIES))}


def test_validation_pairs_are_not_used_in_training():
    random = np.random.default_rng(0)
    trained = {tuple(pair) for pair in numbers(20_000, random, validation=False)}
    kept = {tuple(pair) for pair in numbers(2_000, random, validation=True)}
    assert not trained & kept
    assert 0.07 < len(kept) / 89**2 < 0.13


def test_the_plan_ends_with_its_equals_sign():
    response = tokens("30+06=141002821692.", RESPONSE)[None]
    assert text_of(response[is_planning(response)]) == "30+06="
    assert is_written(response).all()
    short = tokens("36=1692.", RESPONSE)[None]
    assert text_of(short[is_written(short)]) == "36=1692."
    assert (short[0, 2], short[0, 7]) == (GO, END)


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
    """The comparisons of two seeds of plain GRPO with two runs that fail, and with two seeds of RLOO."""
    runs = {}
    for name in ("grpo_s0", "grpo_s1", "blow_up_s0", "blow_up_s1", "rloo_s0", "rloo_s1"):
        log = LAB2 / name / "metrics.parquet"
        runs[name] = findings.Made(RUNS[name], findings.read_columns(log), fit_logs([log]).runs[0])
    return edition(runs, LAB2)


def test_tables_are_made_of_the_runs_that_are_there(some):
    pair = some.pair("rloo")
    assert pair["reward_at_entropy"].seeds == (2, 2)
    text = comparisons.arms(some, ("rloo", "reinforce"))
    assert "| rloo − grpo | " in text
    assert text.endswith("Not made yet: `reinforce`.")
    assert comparisons.is_enough(pair) is (pair[comparisons.AT_EQUAL_ENTROPY].seeds_needed <= 2)
    assert "`rloo`" in comparisons.enough([pair])
    (row,) = [row for row in page.failures(some).splitlines() if row.startswith("| `blow_up`")]
    # All of them failed: there is a number, which nothing is decided on.
    assert re.search(r"-0\.82\d, without interval, not comparable \| ", row)
    assert row.endswith(" | 2 of 2 |")
    assert "| `grpo` | plain GRPO | 2 |" in overview.arms(some.by_arm)


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
