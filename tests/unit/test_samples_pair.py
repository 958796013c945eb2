"""Two tables of samples, their document in every medium, gates on it, and its table joined to logs."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from entropylaw import EntropyLawError, Run, read_runs
from entropylaw import summarise_samples as samples
from entropylaw.documents.codec import dumps
from entropylaw.documents.loading import load
from entropylaw.documents.samples import SamplesDocument
from entropylaw.options import Joined
from entropylaw.pipeline.joining import joined, table_of
from entropylaw.pipeline.samples import pairing
from entropylaw.report.figures.drawings import files
from entropylaw.report.pages import single_page
from entropylaw.report.render import rendered
from entropylaw.results.result import replace
from entropylaw.samples import against, numbers
from entropylaw.samples.numbers import Counts
from entropylaw.samples.options import SampleOptions
from tests.conftest import ROOT
from tests.laws import fit_arrays
from tests.typed import assert_error, assert_says
from tests.unit.test_sample_numbers import counts_of
from tests.unit.test_samples import write

LAB = ROOT / "data" / "lab2"
COUNTS = LAB / "grpo_s0" / "counts.parquet"


def side(random: np.random.Generator, chance: Any, n: int) -> Counts:
    """Counts of n samples to problems with these chances, without answers."""
    right = random.binomial(n, chance)
    keys = [str(i) for i in range(len(right))]
    return Counts(
        problem=keys, n=np.full(len(right), n), right=right, answers=np.empty((0, 4), dtype=np.int64)
    )


def test_differences_are_paired_by_problem() -> None:
    random = np.random.default_rng(0)
    chance = random.beta(0.5, 0.5, 60)
    now, base = side(random, chance**0.5, 32), side(random, chance, 32)
    found = pairing(("now", "base"), (1, 0), (now, base), 0, SampleOptions(k=(1, 4, 32)))
    by_problem = numbers.pass_at(now.n, now.right, 4) - numbers.pass_at(base.n, base.right, 4)
    difference = found.at_k[1].difference
    assert difference.value == pytest.approx(by_problem.mean())
    assert difference.std_error == pytest.approx(by_problem.std(ddof=1) / 60**0.5)
    # The band over all k is wider than one interval, and not wider than Bonferroni's.
    width = (found.at_k[1].band_high - found.at_k[1].band_low) / (difference.high - difference.low)
    assert 1.0 < width < against.student(60, 1 - 0.05 / 3) / against.student(60, 0.95) * 1.05


def test_the_band_agrees_with_that_of_another_package() -> None:
    core = pytest.importorskip("passk_inference.core")
    random = np.random.default_rng(1)
    rows = np.cumsum(random.normal(size=(400, 6)), axis=1)
    theirs = core.simultaneous_band(rows, bootstrap=4000)["critical_value"]
    assert against.critical(rows, 0.95) == pytest.approx(theirs, rel=0.03)


def test_the_fate_of_problems_that_are_clear() -> None:
    random = np.random.default_rng(2)
    base_chance, now_chance = np.repeat([0.5, 0.0, 0.5, 0.0], 25), np.repeat([0.5, 0.5, 0.0, 0.0], 25)
    chances, draws = against.chances(side(random, now_chance, 128), side(random, base_chance, 128), 0.01)
    assert [int(place) for place in chances.argmax(axis=1)] == [0] * 25 + [1] * 25 + [2] * 25 + [3] * 25
    assert (1 - chances.max(axis=1)).sum() < 4
    assert chances.sum(axis=1) == pytest.approx(np.ones(100))
    assert (draws.sum(axis=1) == 100).all()
    assert np.quantile(draws, 0.025, axis=0).max() <= 25 <= np.quantile(draws, 0.975, axis=0).min()


def test_a_problem_without_a_right_sample_is_not_certainly_unsolved() -> None:
    random = np.random.default_rng(3)
    few = side(random, random.beta(0.4, 2.0, 200), 8)
    chances, _ = against.chances(few, few, 0.01)
    never = few.right == 0
    assert never.sum() > 20
    assert chances[never, against.CLASSES.index("neither")].max() < 0.95


def test_distinct_answers_where_neither_side_solves_are_those_of_the_other_half() -> None:
    random = np.random.default_rng(4)
    tables = [
        {key: [(bool(x == 0), str(x)) for x in random.integers(0, 6, 8)] for key in "abcdef"}
        for _ in range(2)
    ]
    now, base = map(counts_of, tables)
    total, found = against.on_unsolved(now, base)
    unsolved, distinct = 0.0, np.zeros(2)
    draws = 4000
    for _ in range(draws):
        for key in "abcdef":
            halves = []
            for table in tables:
                order = [table[key][i] for i in random.permutation(8)]
                halves.append((order[:4], order[4:]))
            if not any(right for chosen, _ in halves for right, _ in chosen):
                unsolved += 1 / draws
                distinct += [len({answer for _, answer in rest}) / draws for _, rest in halves]
    assert total == pytest.approx(unsolved, rel=0.05)
    assert found is not None
    assert found[:2] == pytest.approx(distinct / unsolved, rel=0.03)
    assert found[2] == pytest.approx(found[0] - found[1])


def document(**options: Any) -> SamplesDocument:
    return samples(COUNTS, **options)


def test_a_document_is_read_as_it_was_written(tmp_path: Path) -> None:
    made = document(against=0)
    path = tmp_path / "x.samples.json"
    path.write_text(dumps(made.to_json()), encoding="utf-8")
    assert load(str(path), "samples") == made
    (pair,) = made.against
    assert (pair.now, pair.base, pair.problems, pair.left_out) == ("step 400", "step 0", 100, 0)
    assert [row.k for row in pair.at_k if row.word == "gain"] == [1, 2, 4, 8, 16]
    assert not any(row.word == "loss" for row in pair.at_k)
    assert sum(len(fate.problems) for fate in pair.fates) == 100
    row = pair.at_k[0]
    assert row.now - row.base == pytest.approx(made.rows[-1]["pass@1"] - made.rows[0]["pass@1"])


def test_few_samples_decide_no_fate_and_the_reason_is_said(run: Any, tmp_path: Path) -> None:
    decided, rare = document(against=0), document(against=0, solved=0.001)
    for fate in decided.against[0].fates:
        assert fate.expected.low <= fate.expected.value <= fate.expected.high
    assert sum(fate.expected.value for fate in decided.against[0].fates) == pytest.approx(100)
    assert not rare.against[0].fates
    reason = "64 samples of a problem cannot distinguish a chance of 0.001 from 0"
    assert reason in " ".join(rendered(rare, "text").split())
    path = tmp_path / "x.samples.json"
    path.write_text(dumps(rare.to_json()), encoding="utf-8")
    checked = run("check", str(path), "--fail-if", "lost_problems>5")
    assert (checked.returncode, reason in checked.stdout) == (5, True)


def test_fates_of_chances_that_no_family_has() -> None:
    """A third each of two chances near the threshold and one far from it, which is known of these draws."""
    covered = np.zeros(4)
    for seed in range(12):
        random = np.random.default_rng(seed)
        base_chance, now_chance = random.choice([0.002, 0.03, 0.5], (2, 120))
        _, draws = against.chances(side(random, now_chance, 128), side(random, base_chance, 128), 0.01)
        now_solved, base_solved = now_chance > 0.01, base_chance > 0.01
        true = [
            (now_solved & base_solved).sum(),
            (now_solved & ~base_solved).sum(),
            (~now_solved & base_solved).sum(),
            (~now_solved & ~base_solved).sum(),
        ]
        low, high = np.quantile(draws, (0.025, 0.975), axis=0)
        covered += (low <= true) & (true <= high)
    assert covered.min() >= 8
    assert covered.mean() >= 10


@pytest.mark.parametrize("format", ["text", "markdown", "csv", "latex"])
def test_every_medium_has_pass_at_k(format: str) -> None:
    assert "pass" in rendered(document(), format)
    pair = rendered(document(against=0), format)
    assert "0.59" in pair
    if format == "text":
        assert "intervals are over problems, not seeds" in pair
        first = " ".join(pair.splitlines()[1:3])
        assert re.match(
            r"  pass@k: gain at k = 1 … 16 \(pass@1 \+0.59[^)]*\); unclear at k = 32, 64 \(", first
        )


def test_an_interval_without_a_width_is_none_and_no_zero_is_negative() -> None:
    random = np.random.default_rng(4)
    solved, nearly = side(random, np.ones(50), 32), side(random, np.full(50, 0.9999), 32)
    nearly = replace(nearly, right=np.where(np.arange(50) == 0, 31, 32))
    texts = []
    for now in (solved, nearly):
        found = pairing(("now", "base"), (1, 0), (now, solved), 0, SampleOptions(k=(1, 4)))
        texts.append(rendered(replace(document(against=0), against=(found,)), "text"))
    assert re.search(r"  1 +1.00 +1.00 +0.000 —[ —]+unclear", texts[0])
    assert not re.search(r"-0(\.0*)?(?![.\d])", "".join(texts))


def test_the_page_and_the_figures() -> None:
    made = document(against=0)
    assert single_page(made).count("<svg") >= 3
    for name, part in (
        ("pass_pair", made.against[0]),
        ("pass_at_k", made),
        ("distinct_right", made),
    ):
        assert files(name, part, ["svg"])["svg"].startswith(b"<svg")
    with pytest.raises(ValueError, match="fewer than two steps"):
        files("distinct_right", replace(made, rows=made.rows[:1]), ["svg"])


def test_another_table_and_other_rows(tmp_path: Path) -> None:
    made = samples(COUNTS, against=LAB / "rloo_s0" / "counts.parquet", k=(1, 8))
    (pair,) = made.against
    assert (pair.now, pair.base) == ("counts.parquet, step 400", "counts.parquet, step 400")
    assert pair.base_row is None
    assert [row.k for row in pair.at_k] == [1, 8]
    other = write(tmp_path / "a.csv", [{"problem": f"x{i}", "right": 1} for i in range(9)])
    with pytest.raises(EntropyLawError, match="0 problems in common"):
        samples(COUNTS, against=other)
    with pytest.raises(EntropyLawError, match="0 rows are of it") as caught:
        document(against=41)
    assert caught.value.hint == "step is '0', '40', '100', '200', '400'; see --only"


def test_the_columns_of_a_comparison_have_the_names_of_their_files(run: Any, tmp_path: Path) -> None:
    for name, right in (("rl", 1), ("base", 0)):
        write(tmp_path / f"{name}.jsonl", [{"problem": i, "right": right} for i in range(4) for _ in "ab"])
    printed = run("samples", "rl.jsonl", "--against", "base.jsonl").stdout
    assert "rl.jsonl against base.jsonl · 4 problems in both" in printed
    assert re.search(r"  k +rl.jsonl +base.jsonl +difference", printed)
    assert re.search(r"  1 +1.00 +0.000 +\+1.00 —", printed)


RUNS = [LAB / name / "counts.parquet" for name in ("grpo_s0", "rloo_s0", "clip_cov_s0")]


def test_every_group_is_compared(run: Any, tmp_path: Path) -> None:
    """With a group, with a step of each, with another table of one group and of all; and gates on them."""
    by_run = samples(*RUNS, by="run", against="run=grpo_s0")
    assert [(pair.now, pair.base) for pair in by_run.against] == [
        ("step 400, run 'clip_cov_s0'", "step 400, run 'grpo_s0'"),
        ("step 400, run 'rloo_s0'", "step 400, run 'grpo_s0'"),
    ]
    by_step = samples(*RUNS, by="run", against=0)
    names = ("clip_cov", "grpo", "rloo")
    assert [pair.now for pair in by_step.against] == [f"step 400, run '{name}_s0'" for name in names]
    assert [pair.base for pair in by_step.against] == [f"step 0, run '{name}_s0'" for name in names]
    alone = samples(COUNTS, against=0)
    assert by_step.against[1].at_k == alone.against[0].at_k
    assert len(samples(*RUNS, by="run", against=RUNS[0], only=("step=400",)).against) == 3
    table = rendered(by_step, "csv").splitlines()
    assert table[0].startswith("compared,against,k,now,base,difference,")
    assert len(table) == 1 + 3 * len(alone.against[0].at_k)
    assert rendered(by_step, "text").count(" against step 0") == 3
    path = tmp_path / "x.samples.json"
    path.write_text(dumps(by_run.to_json()), encoding="utf-8")
    gates = ("--fail-if", "lost_problems>50", "--fail-if", "pass@1.difference<-0.5")
    checked = run("check", str(path), *gates, "--format", "json")
    assert [case["outcome"] for case in json.loads(checked.stdout)["cases"]] == ["passed"] * 6
    refused = assert_error(run("plot", "pass_pair", str(path), "-o", "x.svg"), "which-run", 2)
    assert "holds 2 comparisons" in refused.stderr
    hint = shlex.split(refused.stderr.rpartition("such as ")[2])
    run("plot", "pass_pair", str(path), "-o", "x.svg", *hint, code=0)
    assert (tmp_path / "x.svg").exists()
    rows = [{"problem": f"p{i}", "right": i % 2, "budget": b} for b in (1, 2) for i in range(9)]
    rows += [{"problem": f"q{i}", "right": 1, "budget": 3} for i in range(9)]
    some = samples(write(tmp_path / "a.csv", rows), by="budget", against="budget=1")
    assert [pair.now for pair in some.against] == ["the table, budget '2'"]
    assert any(
        note.startswith("the table, budget '3' and the table, budget '1' have 0") for note in some.notes
    )


def test_the_interval_on_the_benchmark_is_of_further_samples_and_that_on_problems_like_these_wider() -> None:
    random = np.random.default_rng(5)
    chance = random.beta(0.5, 0.8, 80)
    better = np.where(np.arange(80) % 2 == 0, chance**0.3, chance)
    truth = {k: ((1 - chance) ** k - (1 - better) ** k).mean() for k in (1, 4)}
    inside = dict.fromkeys(truth, 0)
    for _ in range(200):
        now, base = side(random, better, 32), side(random, chance, 32)
        found = pairing(("now", "base"), (1, 0), (now, base), 0, SampleOptions(k=(1, 4)))
        for row in found.at_k:
            here = row.on_benchmark
            assert here is not None
            inside[row.k] += here.low <= truth[row.k] <= here.high
    assert all(180 <= count <= 198 for count in inside.values()), inside
    assert all(row.difference.width > 1.2 * row.on_benchmark.width for row in found.at_k)
    # By hand: the variance of a share of n samples, for every problem and side.
    at_one = found.at_k[0].on_benchmark
    shares = [count.right / 32 for count in (now, base)]
    by_hand = sum((share * (1 - share) / 31).sum() for share in shares) ** 0.5 / 80
    assert at_one.std_error == pytest.approx(by_hand, abs=1e-12)


def test_few_problems_that_differ_by_the_same_decide_nothing() -> None:
    words = []
    for size in (3, 6):
        random = np.random.default_rng(0)
        now, base = side(random, np.ones(size), 4), side(random, np.zeros(size), 4)
        (row, *_) = pairing(("now", "base"), (1, 0), (now, base), 0, SampleOptions(k=(1,))).at_k
        assert (row.difference.value, row.difference.low, row.difference.high) == (1.0, None, None)
        words.append(row.word)
    # Six of six the same way: a sign test's two-sided probability is 1/32.
    assert words == ["unclear", "gain"]


GATES = {
    "pass@64<0.8": "passed",
    "pass@1>0.5": "tripped",
    "lost_problems>5": "passed",
    "kept_problems>=100": "tripped",
    "pass@1.difference<0.5": "passed",
    "pass@32.difference<0": "not excluded",
    "pass@3<0.5": "unknown",
    "distinct_right<2": "tripped",
    "maj@64<0.5": "passed",
    "pass^2<0.5": "passed",
    "ceiling<0.5": "unknown",
    "fails": "unknown",
}


def test_gates(run: Any, tmp_path: Path) -> None:
    path, plain = tmp_path / "x.samples.json", tmp_path / "y.samples.json"
    path.write_text(dumps(document(against=0).to_json()), encoding="utf-8")
    gates = [word for gate in GATES for word in ("--fail-if", gate)]
    result = run("check", str(path), *gates, "--format", "json", code=5)
    found = {case["gate"]: case["outcome"] for case in json.loads(result.stdout)["cases"]}
    assert found == GATES
    plain.write_text(dumps(document().to_json()), encoding="utf-8")
    result = run("check", str(plain), "--fail-if", "lost_problems>5", "--fail-if", "pass@1.difference<0")
    assert result.stdout.count("the samples were compared with no others") == 2
    other = run(
        "check", str(path), "--fail-if", "maj@3<0.5", "--fail-if", "pass@3.difference<0", "--format", "json"
    )
    reasons = " ".join(json.loads(other.stdout)["cases"][i]["sentence"] for i in (0, 1))
    assert_says(
        reasons,
        "no maj@3 for this run; it has 'maj@2', 'maj@4'",
        "it has 'pass@1.difference', 'pass@2.difference'",
    )
    wrong = run("check", str(plain), "--fail-if", "pass@64<80", code=2)
    assert "pass@64<80%" in wrong.stderr


@pytest.mark.parametrize(
    ("figure", "said"),
    [("pass_at_k", "two samples of a problem"), ("distinct_right", "two steps")],
)
def test_what_a_figure_of_samples_needs_is_said_of_samples(
    run: Any, tmp_path: Path, figure: str, said: str
) -> None:
    rows = [{"step": step, "problem": f"p{i}", "right": i % 2} for step in (0, 1) for i in range(9)]
    table = write(tmp_path / "a.csv", rows)
    run("samples", str(table), "--against", "0", "-o", "a.json", code=0)
    refused = assert_error(run("plot", figure, "a.json", "-o", "a.svg"), "nothing-to-draw", 4)
    hint = refused.stderr.splitlines()[-1]
    assert said in hint
    assert "evaluations" not in refused.stderr


def test_the_command_writes_every_format(run: Any, tmp_path: Path) -> None:
    targets = [tmp_path / f"x.{suffix}" for suffix in ("parquet", "csv", "json", "md", "txt", "tex", "html")]
    outputs = [word for target in targets for word in ("-o", str(target))]
    run("samples", str(COUNTS), *outputs, code=0)
    assert all(target.stat().st_size for target in targets)
    for name in ("pass_at_k", "distinct_right"):
        run("plot", name, str(targets[2]), "-o", str(tmp_path / f"{name}.svg"), code=0)
        assert (tmp_path / f"{name}.svg").read_bytes().startswith(b"<svg")
    alone = run("plot", "pass_pair", str(targets[2]), "-o", str(tmp_path / "pair.svg"))
    assert (alone.returncode, "--against BASE" in alone.stderr) == (4, True)
    table = pq.read_table(targets[0])
    assert table["step"].to_pylist() == [0, 40, 100, 200, 400]
    assert table["pass@1"].to_pylist()[-1] == pytest.approx(0.8246875)
    columns = run("samples", "columns", str(COUNTS))
    assert "problem           prompt" in columns.stdout
    assert run("samples", str(targets[0]), "-o", str(targets[0])).returncode in (2, 3)


def runs_of(tmp_path: Path, steps: list[int], names: tuple[str, ...] = ("r0",)) -> list[Run]:
    runs: list[Run] = []
    for name in names:
        path = tmp_path / f"{name}.csv"
        lines = [f"{step},{1.0 - 0.001 * step},{0.001 * step}" for step in steps]
        path.write_text("\n".join(["step,entropy,val_acc", *lines]) + "\n", encoding="utf-8")
        runs += read_runs(path)
    return runs


def table(tmp_path: Path, rows: list[dict[str, Any]]) -> Path:
    path = tmp_path / "samples.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def test_rows_are_joined_by_equal_steps(tmp_path: Path) -> None:
    (run,) = runs_of(tmp_path, [0, 10, 20, 30])
    options = Joined(
        join=str(table(tmp_path, [{"step": s, "pass@16": s / 40, "entropy": 1.0} for s in (0, 20, 25)]))
    )
    (result,) = joined([run], table_of(options), options)
    assert np.array_equal(result.columns["pass@16"], [0.0, np.nan, 0.5, np.nan], equal_nan=True)
    assert result.columns["entropy"] is run.columns["entropy"]
    assert result.columns["samples.entropy"][0] == 1.0
    assert (
        result.notes[-1] == "samples.parquet: 2 of 3 rows joined by equal step; "
        "1 step of the table without one in the log: '25'"
    )
    other = Joined(join=str(table(tmp_path, [{"step": s, "pass@16": 0.5} for s in (1, 11)])))
    with pytest.raises(EntropyLawError, match="the log has none of the 2 steps"):
        joined([run], table_of(other), other)
    table(tmp_path, [{"step": s, "pass@16": s / 40, "entropy": 1.0} for s in (0, 20, 25)])
    nearest = replace(options, join_nearest=True)
    (result,) = joined([run], table_of(nearest), nearest)
    # Each row is one evaluation: none is repeated until the next.
    assert np.array_equal(result.columns["pass@16"], [0.0, np.nan, 0.5, 0.625], equal_nan=True)
    assert result.notes[-1] == "samples.parquet: 3 of 3 rows joined by the next step"


def test_rows_between_the_steps_of_a_log_are_as_many_evaluations(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    assert run("samples", str(COUNTS), "-q", "-o", str(path)).returncode == 0
    rows = pq.read_table(path)
    steps = pa.array([step.as_py() - 3 if step.as_py() else 0 for step in rows["step"]])
    pq.write_table(rows.set_column(rows.column_names.index("step"), "step", steps), path)
    options = ("--join", str(path), "--join-nearest", "--reward", "pass@16", "--no-save")
    result = run("fit", str(LAB / "grpo_s0" / "metrics.parquet"), *options)
    assert "5 evaluations" in result.stdout, result.stderr
    assert "undecided: too few evaluations" in result.stdout


def test_evaluations_without_any_noise_are_fitted() -> None:
    log = pq.read_table(LAB / "grpo_s0" / "metrics.parquet", columns=["step", "entropy"])
    step, entropy = (log[name].to_numpy()[3:] for name in ("step", "entropy"))
    reward = np.array([0.964949, 0.996727, 0.996243, 0.99612])[np.digitize(step, [43, 103, 203])]
    fit = fit_arrays(entropy, reward, step)
    assert any(finding.code == "first-off-curve" for finding in fit.findings)


def test_a_table_of_several_runs_is_joined_by_their_names(tmp_path: Path) -> None:
    runs = runs_of(tmp_path, [0, 10], ("r0", "r1", "r2"))
    rows = [
        {"run": name, "step": step, "pass@1": i / 4}
        for i, name in enumerate(("r0", "r1"))
        for step in (0, 10)
    ]
    options = Joined(join=str(table(tmp_path, rows)))
    first, second, third = joined(runs, table_of(options), options)
    assert (first.columns["pass@1"][0], second.columns["pass@1"][0]) == (0.0, 0.25)
    assert "pass@1" not in third.columns
    assert third.notes[-1] == "samples.parquet has no rows of this run, only of 'r0', 'r1'"
    unnamed = [{"step": 0, "pass@1": 0.5}, {"step": 10, "pass@1": 0.5}]
    options = Joined(join=str(table(tmp_path, unnamed)))
    with pytest.raises(EntropyLawError, match="has no column `run`, and there are 3 runs"):
        joined(runs, table_of(options), options)
    with pytest.raises(EntropyLawError, match="several rows of a step"):
        table_of(Joined(join=str(table(tmp_path, [*unnamed, {"step": 0, "pass@1": 0.25}]))))


def test_a_table_of_samples_is_not_joined_before_it_is_summarised() -> None:
    with pytest.raises(EntropyLawError, match="one row per token or sample") as caught:
        table_of(Joined(join=str(COUNTS)))
    assert "entropylaw samples" in caught.value.hint


@pytest.mark.parametrize("words", [
    ("fit", "--reward", "pass@16", "--no-save"),
    ("phases", "--entropy", "distinct"),
])  # fmt: skip
def test_a_table_is_joined_to_a_log(run: Any, tmp_path: Path, words: tuple[str, ...]) -> None:
    path = tmp_path / "s.parquet"
    assert run("samples", str(COUNTS), "-q", "-o", str(path)).returncode == 0
    command, *more = words
    result = run(command, str(LAB / "grpo_s0" / "metrics.parquet"), "--join", str(path), *more)
    assert result.returncode in (0, 4), result.stderr
    without = run(command, str(LAB / "grpo_s0" / "metrics.parquet"), *more)
    assert result.stdout != without.stdout


def test_arms_are_compared_at_equal_pass_at_1(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    folders = [LAB / f"{arm}_s{seed}" for arm in ("grpo", "rloo") for seed in range(2)]
    tables = [str(folder / "counts.parquet") for folder in folders]
    assert run("samples", *tables, "--by", "run", "-q", "-o", str(path)).returncode == 0
    logs = [str(folder / "metrics.parquet") for folder in folders]
    more = ("--join", str(path), "--at-equal", "pass@1", "--reward", "distinct_right")
    assert "at equal pass@1" in run("compare", *logs, *more, code=0).stdout
