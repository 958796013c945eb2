"""``entropylaw phases`` as a user starts it, and the columns that it finds."""

import csv
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from entropylaw import read_runs
from entropylaw.roles.select import phase_series
from tests.hostile import refused
from tests.typed import assert_says

pytestmark = pytest.mark.usefixtures("one_cache")

STEP = np.arange(80.0)


def decay(start: float, bend: float | None = None, seed: int = 0) -> np.ndarray:
    """A smooth decay with noise of 0.004 nats; with a rise of 0.006 nats a step from ``bend`` on."""
    rise = 0.0 if bend is None else 0.006 * np.maximum(STEP - bend, 0.0)
    return start * np.exp(-STEP / 15) + 0.1 + rise + 0.004 * np.random.default_rng(seed).standard_normal(80)


def log(path: Path, columns: Mapping[str, object]) -> Path:
    """A CSV with ``step`` and these columns; a text stands for itself, nan is an empty cell."""
    cells = {
        name: [str(value) if value == value else "" for value in values] for name, values in columns.items()
    }
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["step", *cells])
        writer.writerows(zip(map(int, STEP), *cells.values(), strict=True))
    return path


CLASSES = {"entropy_planning": decay(0.9), "entropy_execution": decay(0.4)}


@pytest.fixture
def bent(tmp_path):
    """Execution rises after step 25, planning after 55."""
    columns = {"entropy_planning": decay(0.9, 55, 1), "entropy_execution": decay(0.4, 25, 2)}
    columns["entropy"] = 0.3 * columns["entropy_planning"] + 0.7 * columns["entropy_execution"]
    return log(tmp_path / "bent.csv", columns)


def only(path: Path) -> object:
    (run,) = read_runs(path)
    return run


def series_of(path: Path, columns: Mapping[str, object], **options: str) -> Any:
    return phase_series(only(log(path, columns)), **options)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--planning", "entropy_execution"], 2, "error[same-column]"),
        (["--planning", "entropy_plan"], 3, "error[column-not-found]"),
        (["--level", "95"], 2, "error[bad-level]"),
        (["-o", "a.doc"], 2, "error[unknown-suffix]"),
    ],
)
def test_wrong_options(run, bent, tmp_path, arguments, code, words):
    before = set(tmp_path.iterdir())
    done = run("phases", bent, *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert words in done.stderr
    assert set(tmp_path.iterdir()) == before


def test_several_runs_have_a_last_block(run, bent, tmp_path):
    other = {"entropy_planning": decay(0.9, None, 3), "entropy_execution": decay(0.4, 30, 4)}
    log(tmp_path / "other.csv", other)
    log(tmp_path / "short.csv", {"entropy_planning": [0.5, *[np.nan] * 79]})
    done = run("phases", "bent.csv", "other.csv", "short.csv", "--format", "json", code=0)
    document = json.loads(done.stdout)
    assert document["across"]["runs"] == 2
    fitted = [(one["run"], one["refusal"] is None) for one in document["runs"]]
    assert fitted == [("bent", True), ("other", True), ("short", False)]


def test_a_report_has_the_phases_of_several_runs_together(run, tmp_path):
    law = {"entropy": decay(0.5), "val_acc": 0.9 - decay(0.5)}
    rising = {"entropy_planning": decay(0.9, 55, 1), "entropy_execution": decay(0.4, 25, 2)}
    log(tmp_path / "bent.csv", rising | law)
    log(tmp_path / "flat.csv", CLASSES | law)
    run("report", "bent.csv", "flat.csv", "-o", "out", "--figures", "none", code=0)
    page = (tmp_path / "out" / "index.html").read_text("utf-8")
    assert "Phases of 2 runs together" in page
    row = re.search(r"<tr><th scope=\"row\">planning</th>(.*?)</tr>", page, re.DOTALL)[1]
    assert re.findall(r">([0-9]+)</td>", row) == ["2", "1", "1", "0"]
    assert_says(page, 'href="runs/flat.html"', "<svg")
    index = json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))
    assert [each["run"] for each in index["across"]["each"]] == ["bent", "flat"]
    assert "| planning | 2 | 1 | 1 | 0 |" in (tmp_path / "out" / "report.md").read_text("utf-8")
    assert run("report", "bent.csv", "flat.csv", "-o", "one.html").returncode == 0
    assert "Phases of 2 runs together" in (tmp_path / "one.html").read_text("utf-8")
    assert run("report", "flat.csv", "-o", "out", "--figures", "none").returncode == 0
    assert "runs together" not in (tmp_path / "out" / "index.html").read_text("utf-8")


def test_what_tokens_wrote_is_read(run, lab, tmp_path):
    pytest.importorskip("duckdb")
    source = lab / "grpo_s0" / "tokens.parquet"
    assert run("tokens", source, "-o", "steps.parquet").returncode == 0
    # The lab keeps the tokens of six steps: too few for a curve.
    done = run("phases", "steps.parquet")
    assert (done.returncode, "error[too-few-points]" in done.stderr) == (4, True)
    assert "summarise the tokens of at least 20 steps with `entropylaw tokens`" in done.stderr
    series = phase_series(only(tmp_path / "steps.parquet"))
    assert series.columns["planning"].column == "entropy_planning"
    table = pq.read_table(source)
    step, entropy = table["step"].to_numpy(), table["entropy"].to_numpy().astype(float)
    rows = pq.read_table(tmp_path / "steps.parquet").to_pylist()
    assert [row["step"] for row in rows] == sorted(set(step.tolist()))
    for row in rows:
        values = entropy[step == row["step"]]
        assert row["share_below_0.01"] == pytest.approx((values < 0.01).mean())
        top = np.sort(values)[::-1]
        assert row["share_top20"] == pytest.approx(top[: values.size // 5].sum() / top.sum(), abs=2e-3)


@pytest.mark.parametrize(
    ("planning", "execution"),
    [
        ("planning_entropy", "execution_entropy"),
        ("actor/entropy_planning", "actor/entropy_execution"),
        ("entropy/planning", "entropy/execution"),
        ("planning/entropy", "execution/entropy"),
        ("actor.entropy_planning", "Actor_Entropy_Execution"),
    ],
)
def test_names_of_the_two_columns(tmp_path, planning, execution):
    series = series_of(tmp_path / "a.csv", {planning: decay(0.9), execution: decay(0.4)})
    assert series.columns["planning"].column == planning
    assert series.columns["execution"].column == execution


def test_gaps_stay_gaps_and_what_is_no_entropy_is_counted(tmp_path):
    planning, execution = decay(0.9), decay(0.4)
    planning[::2] = np.nan
    execution[[3, 5]] = np.inf, 40.0
    planning[[3, 5]] = np.nan
    entropy = np.where(STEP == 7, np.nan, 0.5)
    columns = {"entropy_planning": planning, "entropy_execution": execution, "entropy": entropy}
    series = series_of(tmp_path / "a.csv", columns)
    # Every curve has its own gaps.
    assert series.step.tolist() == STEP.tolist()
    assert np.isnan(series.planning).sum() == 42
    assert np.flatnonzero(np.isnan(series.execution)).tolist() == [3, 5]
    assert np.flatnonzero(np.isnan(series.aggregate)).tolist() == [7]
    assert series.dropped == {"execution: entropy is infinite": 1, "execution: entropy above 12 nats": 1}


def test_a_negated_logger_and_a_column_of_both_signs(tmp_path):
    columns = {name: -values for name, values in CLASSES.items()}
    series = series_of(tmp_path / "a.csv", columns)
    np.testing.assert_allclose(series.planning, decay(0.9))
    assert "its sign was reversed" in series.notes[0]
    columns["entropy_execution"] = decay(0.4) - 0.3
    caught = refused("entropy-both-signs", series_of, tmp_path / "b.csv", columns)
    assert "--execution" in caught.hint


def test_one_class_alone_is_not_negated(tmp_path):
    columns = CLASSES | {"entropy_execution": -decay(0.4), "entropy_semantic": decay(1.5)}
    run = only(log(tmp_path / "a.csv", columns))
    caught = refused("entropy-signs-differ", phase_series, run)
    assert "'entropy_execution' of run 'a' is negative and 'entropy_planning' is positive" in str(caught)
    # Two kinds of entropy may come from two loggers.
    np.testing.assert_allclose(phase_series(run, planning="entropy_semantic").execution, decay(0.4))


@pytest.mark.parametrize("name", ["entropy_{}_bits", "actor/entropy_{}_bits", "{}/entropy/bits"])
def test_bits_are_found_and_converted(tmp_path, name):
    columns = {name.format("planning"): decay(0.9), name.format("execution"): decay(0.4)}
    bits = series_of(tmp_path / "a.csv", columns)
    np.testing.assert_allclose(bits.planning, decay(0.9) * np.log(2))
    assert sum("is in bits by its name" in note for note in bits.notes) == 2
    assert series_of(tmp_path / "b.csv", columns | CLASSES).columns["planning"].column == "entropy_planning"
    named = series_of(tmp_path / "c.csv", columns | CLASSES, execution=name.format("execution"))
    np.testing.assert_allclose(named.execution, decay(0.4) * np.log(2))


def test_a_folder_whose_only_columns_are_the_two_classes(run, tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    log(folder / "a.csv", CLASSES)
    (folder / "other.csv").write_text("prompt,answer\n1 + 1,2\n")
    done = run("phases", "runs", code=0)
    assert done.stdout.startswith("a · 80 points")
    skipped = "Skipped 1 file that is not a training log: other.csv\n"
    assert done.stderr == skipped


def test_changes_that_are_no_phase(tmp_path):
    assert series_of(tmp_path / "a.csv", CLASSES).findings == ()
    same, filtered = ({"train/num_gen_batches": count} for count in (np.full(80, 2), 1 + (STEP > 30)))
    assert series_of(tmp_path / "b.csv", CLASSES | same).findings == ()
    (caution,) = series_of(tmp_path / "c.csv", CLASSES | filtered).findings
    assert "prompts were filtered" in caution.sentence
    lines = (tmp_path / "a.csv").read_text().splitlines()
    again = [f"{row.rpartition(',')[0]},0.3" for row in lines[40:]]
    (tmp_path / "d.csv").write_text("\n".join([*lines[:50], *again]) + "\n")
    (caution,) = phase_series(only(tmp_path / "d.csv")).findings
    assert "the run was resumed" in caution.sentence
