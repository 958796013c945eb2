"""Numbers of samples: formulas against all sets of samples and their papers, and known numbers of files."""

import itertools
from collections import defaultdict
from collections.abc import Mapping
from math import comb, log
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from entropylaw.samples import numbers
from entropylaw.samples.numbers import Counts
from tests.conftest import ROOT
from tests.unit.test_samples import LAB, read

ANSWERS = ROOT.parent / "shared" / "answers"


def enumerated(answers: list[tuple[bool, str]], k: int) -> dict[str, float]:
    """The numbers of one problem over all sets of k samples."""
    sets = list(itertools.combinations(answers, k))
    values = {
        "pass": [any(right for right, _ in chosen) for chosen in sets],
        "all": [all(right for right, _ in chosen) for chosen in sets],
        "majority": [(1 + np.sign(2 * sum(right for right, _ in chosen) - k)) / 2 for chosen in sets],
        "distinct": [len({answer for _, answer in chosen}) for chosen in sets],
    }
    return {name: float(np.mean(value)) for name, value in values.items()}


def counts_of(samples: Mapping[str, list[tuple[bool, str]]]) -> Counts:
    """The counts of some samples, without any query."""
    rows = []
    for place, answers in enumerate(samples.values()):
        multiplicity: dict[tuple[bool, str], int] = defaultdict(int)
        for right, answer in answers:
            multiplicity[right, answer] += 1
        rows += [(place, int(right), n, 1) for (right, _), n in multiplicity.items()]
    n = np.array([len(answers) for answers in samples.values()])
    right = np.array([sum(right for right, _ in answers) for answers in samples.values()])
    return Counts(problem=list(samples), n=n, right=right, answers=np.array(rows, dtype=np.int64))


@pytest.mark.parametrize("k", range(1, 8))
def test_the_formulas_are_means_over_all_sets_of_samples(k: int) -> None:
    random = np.random.default_rng(k)
    answers = [(bool(x < 3), str(x)) for x in random.integers(0, 7, 7)]
    counts = counts_of({"one": answers})
    expected = enumerated(answers, k)
    n, right = counts.n, counts.right
    assert numbers.pass_at(n, right, k)[0] == pytest.approx(expected["pass"], abs=1e-12)
    assert numbers.all_right(n, right, k)[0] == pytest.approx(expected["all"], abs=1e-12)
    assert numbers.majority(n, right, k)[0] == pytest.approx(expected["majority"], abs=1e-12)
    assert numbers.distinct(counts, k)[0] == pytest.approx(expected["distinct"], abs=1e-12)


def test_the_commonest_answer_among_k_samples_by_all_sets_of_them() -> None:
    random = np.random.default_rng(0)
    problems = {str(i): [(bool(x < 1), str(x)) for x in random.integers(0, 3, 6)] for i in range(400)}
    expected = dict.fromkeys((2, 3, 6), 0.0)
    for k, answers in itertools.product(expected, problems.values()):
        sets = list(itertools.combinations(answers, k))
        for chosen in sets:
            most = max(chosen.count(answer) for answer in chosen)
            leaders = {answer for answer in chosen if chosen.count(answer) == most}
            expected[k] += sum(right for right, _ in leaders) / len(leaders) / len(sets) / len(problems)
    values = numbers.pluralities(counts_of(problems), [*expected])
    assert {k: values[f"maj@{k}"].mean() for k in expected} == pytest.approx(expected, abs=0.01)
    assert values["maj@6"].mean() == pytest.approx(expected[6], abs=1e-12)
    few = counts_of({"a": [(True, "1"), (False, "2"), (False, "2"), (True, "1")], "b": [(True, "3")] * 2})
    unanswered = Counts(problem=few.problem, n=few.n + 2, right=few.right, answers=few.answers[:1])
    assert numbers.pluralities(unanswered, [4])["maj@4"].tolist() == [1.0, 0.0]


def test_maj_at_k_has_one_rule_with_answers_and_without() -> None:
    """Where all wrong samples give one answer, both are the same; by hand, with ties shared."""
    right_of = {"a": 0, "b": 1, "c": 3, "d": 4, "e": 6}
    samples = {key: [(True, "1")] * c + [(False, "2")] * (6 - c) for key, c in right_of.items()}
    counts = counts_of(samples)
    at_all = numbers.pluralities(counts, [6])["maj@6"]
    assert at_all == pytest.approx([0.0, 0.0, 0.5, 1.0, 1.0], abs=1e-12)
    assert numbers.majority(counts.n, counts.right, 6) == pytest.approx(at_all, abs=1e-12)
    for k in range(1, 7):
        by_hand = [
            sum(
                comb(c, r) * comb(6 - c, k - r) / comb(6, k) * (1.0 if 2 * r > k else 0.5 * (2 * r == k))
                for r in range(k + 1)
            )
            for c in right_of.values()
        ]
        assert numbers.majority(counts.n, counts.right, k) == pytest.approx(by_hand, abs=1e-12)


def test_cover_is_the_share_of_problems_that_are_reliable() -> None:
    n = np.array([10, 10, 10, 5, 15])
    right = np.array([2, 1, 8, 4, 3])
    counts = Counts(problem=list("abcde"), n=n, right=right, answers=np.empty((0, 4), dtype=np.int64))
    row = numbers.summary(counts, [1], 5)
    assert (row["cover@0.2"], row["cover@0.5"], row["cover@0.8"]) == (0.8, 0.4, 0.4)


def test_human_evals_estimator_to_12_digits() -> None:
    # Chen et al. 2021, figure 3: 1 - prod(1 - k / arange(n - c + 1, n + 1)).
    for n, k in itertools.product((1, 10, 200), (1, 5, 10, 100)):
        for c in range(0, n + 1, max(n // 10, 1)):
            if k <= n:
                theirs = 1.0 if n - c < k else 1.0 - np.prod(1.0 - k / np.arange(n - c + 1, n + 1))
                ours = numbers.pass_at(np.array([n]), np.array([c]), k)[0]
                assert ours == pytest.approx(theirs, abs=1e-12)
                assert ours == pytest.approx(1 - comb(n - c, k) / comb(n, k), abs=1e-12)


def test_the_entropy_of_few_answers_is_less_biased_by_coverage() -> None:
    random, share = np.random.default_rng(0), np.ones(16) / 16
    samples = {str(i): [(False, str(x)) for x in random.choice(16, 8, p=share)] for i in range(400)}
    found = {name: values.mean() for name, values in numbers.entropies(counts_of(samples)).items()}
    truth = log(16)
    assert abs(found[""] - truth) < abs(found["_mm"] - truth) < abs(found["_plugin"] - truth)


def test_the_jackknife_is_the_spread_of_further_samples() -> None:
    random = np.random.default_rng(1)
    right = random.binomial(16, 0.3, 4000)
    n = np.full(4000, 16)
    for k in (1, 4):
        spread = numbers.pass_at(n, right, k).var(ddof=1)
        assert numbers.jackknife_variance(n, right, k).mean() == pytest.approx(spread, rel=0.2)


needs_answers = pytest.mark.skipif(not ANSWERS.is_dir(), reason="the answers of other projects are absent")

KNOWN: dict[str, tuple[str, dict[str, Any], dict[str, float]]] = {
    "CRUXEval's own numbers": (
        *("cruxeval/*.json", {"k": (1, 5, 10)}),
        {"pass@1": 0.342125, "pass@5": 0.40286706349206355},
    ),
    "Qwen2.5-Math": (
        *("qwen-math-rm/*.jsonl", {}),
        {"pass@1": 0.91, "pass@2": 0.93285714, "pass@4": 0.951, "pass@8": 0.96, "distinct_right": 0.96},
    ),
    "human-eval": ("human-eval-results/qwen2.5*.jsonl", {}, {"pass@1": 0.731707317}),
    "EvalPlus": ("evalplus/70B*.json", {}, {"pass@1": 0.707317073}),
    "EvalPlus, base tests": ("evalplus/70B*.json", {"right": "base"}, {"pass@1": 0.774390244}),
    "wide": ("gsm8k*/*.jsonl", {"right": "175b_finetuning.is_correct"}, {"pass@1": 0.347232752}),
    "inspect": ("inspect-tests/log_streaming.eval", {}, {"pass@1": 0.75, "pass@2": 1.0}),
    "one problem": (
        "scorio/*.json",
        {"right": "correct", "answer": "answers"},
        {"pass@1": 0.4, "maj@80": 0.0},
    ),
    "prime-rl": ("prime-rl-fixture/step_*.jsonl", {"right_when": "reward>=1"}, {"pass@1": 0.5}),
}


@needs_answers
@pytest.mark.parametrize("name", KNOWN)
def test_the_known_numbers_of_real_files(name: str) -> None:
    pattern, options, expected = KNOWN[name]
    row = read(ANSWERS / pattern, **options).rows[-1]
    assert {column: row[column] for column in expected} == pytest.approx(expected, abs=1e-8)


@needs_answers
def test_rollouts_of_trl_have_one_problem_a_step() -> None:
    rows = read(ANSWERS / "trl-completions").rows
    assert len(rows) == 60
    assert np.mean([row["pass@1"] for row in rows[:50]]) == pytest.approx(0.493, abs=5e-4)
    assert all(row["problems"] == 1 and row.get("pass@1_se") is None for row in rows)


@needs_answers
def test_scorio_agrees() -> None:
    scorio = pytest.importorskip("scorio.eval")
    verdicts = np.load(ANSWERS / "scorio" / "R_top_p.npz")["aime24"][0]
    n, right = np.full(len(verdicts), verdicts.shape[1]), verdicts.sum(axis=1).astype(np.int64)
    for k in (1, 2, 5, 16, 64, 80):
        assert numbers.pass_at(n, right, k).mean() == pytest.approx(scorio.pass_at_k(verdicts, k), abs=1e-12)
        assert numbers.all_right(n, right, k).mean() == pytest.approx(
            scorio.pass_hat_k(verdicts, k), abs=1e-12
        )
        if k % 2:
            # Of a tie half counts here, and nothing there.
            assert numbers.majority(n, right, k).mean() == pytest.approx(
                scorio.maj_at_k(verdicts, k), abs=1e-12
            )


def test_the_labs_counts_have_the_numbers_that_the_lab_counts() -> None:
    table = pq.read_table(LAB / "grpo_s0" / "counts.parquet").to_pandas()
    rows = {row["step"]: row for row in read(LAB / "grpo_s0" / "counts.parquet").rows}
    for step, cells in table.groupby("step"):
        n = cells.groupby("prompt").n.sum()
        right = cells[cells.correct].groupby("prompt").n.sum().reindex(n.index, fill_value=0)
        expected = [1 - comb(total - c, 16) / comb(total, 16) for total, c in zip(n, right, strict=True)]
        assert rows[step]["pass@16"] == pytest.approx(np.mean(expected), abs=1e-12)
        assert rows[step]["pass@16_se"] == pytest.approx(np.std(expected, ddof=1) / len(n) ** 0.5, abs=1e-12)
        found = cells[cells.correct].groupby("prompt").answer.nunique().reindex(n.index, fill_value=0)
        assert rows[step]["distinct_right"] == pytest.approx(found.mean(), abs=1e-12)
        assert rows[step]["tokens"] == pytest.approx((cells.tokens * cells.n).sum() / cells.n.sum())
