"""Every kind of loss has its number, and where it is for a few; cells of text are not quoted."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from entropylaw import InputError, read_runs
from entropylaw.roles.explain import explain
from entropylaw.roles.select import select
from tests.laws import fit_arrays
from tests.typed import typed

TEXT = "reward is text in place of a number"
LOGGED_AGAIN = "earlier value of a step that was logged again"
"""Reasons for which values are dropped."""

ROWS = [f"{5 * i},{2 - i / 20},{i / 40:.3f}" for i in range(30)]


def log(folder: Path, rows: list[str]) -> Path:
    path = folder / "log.csv"
    path.write_text("\n".join(["step,entropy,reward", *rows]) + "\n")
    return path


def changed(*changes: tuple[int, str]) -> list[str]:
    rows = list(ROWS)
    for place, row in changes:
        rows[place] = row
    return rows


def dropped_lines(details: str) -> list[str]:
    """What ``fit --details`` prints as dropped."""
    return re.findall(r"^ +dropped +(.+)$", details, re.MULTILINE)


def test_text_in_the_reward_is_a_lost_evaluation_with_its_line(tmp_path: Path) -> None:
    path = log(tmp_path, changed((10, "50,1.5,secret-key")))
    (run,) = read_runs(path)
    series = select(run)
    assert dict(series.dropped) == {TEXT: 1}
    assert dict(explain(run).dropped) == {TEXT: 1}
    (note,) = run.notes
    assert note == (
        "column 'reward': 1 cell with text in place of a number (first text of 10 characters; step 50; "
        "line 12), taken as missing"
    )
    done = typed("fit", path, "--details", "-o", "-", cwd=tmp_path)
    assert dropped_lines(done.stdout) == [f"{TEXT} (1)"]
    assert "secret" not in done.stdout


OOPS = changed((10, "50,1.5,oops"))


@pytest.mark.parametrize(
    ("rows", "note", "dropped"),
    [
        # A number that is logged again replaces the text.
        ([*OOPS[:11], *ROWS[10:]], "", {}),
        # Lines are unknown where records have several.
        (["", *OOPS], "(first text of 4 characters; step 50), taken", {TEXT: 1}),
        (
            changed(*((i, f"{5 * i},1.5,oops") for i in range(3, 9))),
            "steps 15, 20, 25 and 3 more; lines 5, 6, 7 and 3 more)",
            {TEXT: 6},
        ),
    ],
)
def test_where_texts_are(tmp_path: Path, rows: list[str], note: str, dropped: dict[str, int]) -> None:
    (run,) = read_runs(log(tmp_path, rows))
    assert note in "".join(run.notes)
    assert dict(select(run).dropped) == dropped


def test_a_missing_entropy_has_its_step(tmp_path: Path) -> None:
    (run,) = read_runs(log(tmp_path, changed((20, "100,,0.5"))))
    assert "no entropy at that step: step 100" in select(run, pair="same").notes
    assert not any("no entropy at the step after" in note for note in select(run, pair="next").notes)


@pytest.mark.parametrize(
    ("row", "expected", "dropped"),
    [
        ("50,1.5,0.250", "1 row that only repeats another one: step 50", {}),
        (
            "50,1.5,0.9",
            "1 row of a step that was logged again with other values: step 50; the last value is kept",
            {LOGGED_AGAIN: 1},
        ),
    ],
)
def test_a_row_that_is_there_twice(tmp_path: Path, row: str, expected: str, dropped: dict[str, int]) -> None:
    (run,) = read_runs(log(tmp_path, [*ROWS[:11], row, *ROWS[11:]]))
    assert run.notes == (expected,)
    assert dict(run.dropped) == dropped
    done = typed("fit", "log.csv", "--details", "-o", "-", cwd=tmp_path)
    assert dropped_lines(done.stdout) == ([f"{LOGGED_AGAIN} (1)"] if dropped else ["nothing"])


def test_values_of_one_step_on_several_rows_are_no_repetition(tmp_path: Path) -> None:
    rows = [line for i in range(30) for line in (f"{i},{2 - i / 20},", f"{i},,{i / 40}")]
    (run,) = read_runs(log(tmp_path, rows))
    assert run.notes == ()


NOT_NUMBERS = {
    "log.csv": "step,entropy,reward\n{rows}",
    "log.jsonl": "{rows}",
    "trainer_state.json": '{{"log_history": [{rows}]}}',
    "log.parquet": "",
}


@pytest.mark.parametrize("name", NOT_NUMBERS)
def test_a_nan_in_the_place_of_a_reward_is_counted_by_column_and_cause(tmp_path: Path, name: str) -> None:
    """A nan is a lost value; a cell that is empty or null belongs to a row that has no reward."""
    step, entropy = np.arange(1.0, 41), np.linspace(1.0, 0.2, 40)
    reward: list[float | None] = (0.9 - 0.3 * np.expm1(entropy)).tolist()
    reward[3], reward[7], reward[12], reward[20] = math.nan, math.nan, None, math.inf
    entropy[30] = math.nan
    if name.endswith("parquet"):
        pq.write_table(pa.table({"step": step, "entropy": entropy, "reward": reward}), tmp_path / name)
    else:
        cells = zip(step.tolist(), entropy.tolist(), reward, strict=True)
        if name.endswith("csv"):
            rows = "\n".join(f"{s},{h},{'' if r is None else r}" for s, h, r in cells)
        else:
            records = (json.dumps({"step": int(s), "entropy": h, "reward": r}) for s, h, r in cells)
            rows = (", " if name.startswith("trainer") else "\n").join(records)
        (tmp_path / name).write_text(NOT_NUMBERS[name].format(rows=rows))
    dropped = {"reward is not a number": 2, "reward is infinite": 1, "entropy is not a number": 1}
    (run,) = read_runs(tmp_path / name)
    assert dict(select(run).dropped) == dropped
    typed("fit", name, "--details", "-o", "fit.json", "-o", "fit.txt", cwd=tmp_path)
    assert json.loads((tmp_path / "fit.json").read_text())["runs"][0]["dropped"] == dropped
    text = (tmp_path / "fit.txt").read_text(encoding="utf-8")
    assert dropped_lines(text) == ["reward is infinite (1)", "reward is not a number (2)"]
    # Its reward is in the forecast.
    assert "forecast only entropy is not a number (1)" in " ".join(text.split())


def test_missing_values_of_arrays_are_counted_by_column_and_cause() -> None:
    entropy = np.linspace(1.0, 0.2, 40)
    reward = 0.9 - 0.3 * np.expm1(entropy) + 0.01 * np.cos(np.arange(40))
    reward[:2], reward[2], entropy[3] = math.nan, math.inf, math.nan
    assert dict(fit_arrays(entropy, reward).law.dropped) == {
        "entropy is missing or not a number": 1,
        "reward is missing or not a number": 2,
        "reward is infinite": 1,
    }


def test_columns_of_json_are_joined_by_their_keys(tmp_path: Path) -> None:
    step = {str(i): i for i in range(30)}
    reward = {str(i): i / 50 for i in reversed(range(30))}
    columns = {"step": step, "entropy": {key: 1 - i / 50 for key, i in step.items()}, "reward": reward}
    (tmp_path / "log.json").write_text(json.dumps(columns))
    (run,) = read_runs(tmp_path / "log.json")
    assert run.columns["reward"].tolist() == [i / 50 for i in range(30)]
    columns["val/acc"] = {str(i): 0.5 for i in range(20)}
    (tmp_path / "log.json").write_text(json.dumps(columns))
    with pytest.raises(InputError):
        read_runs(tmp_path / "log.json")


def test_a_point_among_decimal_commas_is_not_guessed(tmp_path: Path) -> None:
    rows = [f"{step};0,{2000 - step};0,{1000 + step}" for step in range(0, 1001, 50)]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(["step;entropy;reward", *rows]) + "\n")
    assert read_runs(path)[0].step[-1] == 1000
    path.write_text(path.read_text().replace("\n1000;", "\n1.000;"))
    with pytest.raises(InputError, match=r"1\.000, whose point may separate thousands"):
        read_runs(path)
