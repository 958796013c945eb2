"""Logs whose names are not in the catalog: every error says what to type next, and typing it works."""

from __future__ import annotations

import json
import re
import shlex

import numpy as np
import pytest

from entropylaw.errors import InputError
from entropylaw.logs.load import read_runs
from entropylaw.roles.select import select
from tests.typed import typed

N = 40
STEP = np.arange(N)
ENTROPY = 0.1 + 0.7 * np.exp(-STEP / 8) + 0.01 * np.sin(STEP)
REWARD = 0.9 - 0.25 * np.expm1(ENTROPY) + 0.004 * np.cos(3.1 * STEP)


def write(path, *names, separator=",", columns=(STEP, ENTROPY, REWARD), **more):
    data = dict(zip(names, columns, strict=True)) | more
    rows = [separator.join(map(str, row)) for row in zip(*data.values(), strict=True)]
    path.write_text("\n".join([separator.join(data), *rows, ""]), encoding="utf-8")


def typed_to_the_end(folder, command):
    """Type what each error says, at most three times; the last command, and what it printed."""
    for _ in range(3):
        done = typed(*command, cwd=folder)
        if done.returncode == 0:
            return command, done
        (line,) = re.findall(r"as in: entropylaw (.*?)(?: \(row: .*\))?$", done.stderr, re.MULTILINE)
        assert shlex.split(line) != command[:-2], "the same command again"
        command = [*shlex.split(line), "-o", "-"]
    raise AssertionError(done.stderr)


ODD = {
    "it": ("it", "ent", "acc"),
    "policy": ("iteration", "policy_ent", "val"),
    "letters": ("t", "H", "R"),
    "German": ("Schritt", "Entropie", "Belohnung"),
    "German with signs": ("Iteration", "Strategie-Entropie", "Genauigkeit (%)"),
    "upper case": ("STEP", "ENT", "ACC"),
    "camel case": ("trainStep", "meanEnt", "evalScore"),
    "spaces": ("global step", "mean entropy", "eval reward"),
    "nothing alike": ("a", "b", "c"),
    "slips": ("setp", "entrpy", "rewrad"),
    "quotes": ("it", "pi's ent", "val acc $"),
}


@pytest.mark.parametrize("names", ODD.values(), ids=ODD)
@pytest.mark.parametrize("separator", [",", ";"])
def test_what_an_error_says_to_type_works(tmp_path, names, separator):
    write(tmp_path / "my log.csv", *names, separator=separator)
    _, done = typed_to_the_end(tmp_path, ["fit", "my log.csv", "-o", "-"])
    assert f" · {names[1]} × {names[2]} " in done.stdout.replace("\n    ", " ")


def test_what_the_user_named_stays_in_the_command(tmp_path):
    write(tmp_path / "log.csv", "it", "ent", "perf", columns=(STEP, ENTROPY, REWARD), zork=REWARD)
    done = typed("fit", "log.csv", "--step", "it", "--reward", "zork", "-o", "-", cwd=tmp_path)
    assert "as in: entropylaw fit log.csv --step it --reward zork --entropy ent" in done.stderr
    done = typed("fit", "log.csv", "--step", "it", "--entropy", "zork", "-o", "-", cwd=tmp_path)
    assert "as in: entropylaw fit log.csv --step it --entropy zork --reward perf" in done.stderr


def test_other_statistics_and_training_are_not_preferred(tmp_path):
    more = {"ent_max": 2 * ENTROPY, "acc_std": REWARD, "training_acc": REWARD, "ent_coef": 0.01 + 0 * STEP}
    write(tmp_path / "log.csv", "it", columns=(STEP,), **more, my_ent=ENTROPY, heldout_acc=REWARD)
    command, done = typed_to_the_end(tmp_path, ["fit", "log.csv", "-o", "-"])
    assert command[2:-2] == ["--step", "it", "--entropy", "my_ent"]
    assert "my_ent × heldout_acc (validation)" in " ".join(done.stdout.split())


def test_rows_are_counted_where_there_is_no_step(tmp_path):
    write(tmp_path / "log.csv", "ent", "acc", columns=(ENTROPY, REWARD))
    command, _ = typed_to_the_end(tmp_path, ["fit", "log.csv", "-o", "-"])
    assert command[2:-2] == ["--step", "row", "--entropy", "ent", "--reward", "acc"]
    (run,) = read_runs(tmp_path / "log.csv", step="row")
    assert run.step.tolist() == list(range(1, N + 1))
    assert run.step_why == "the rows are counted"
    # A column of that name is that column.
    (run,) = read_runs({"row": [3, 5], "ent": [1.0, 2.0]}, step="row")
    assert run.step.tolist() == [3, 5]


def test_decimal_commas_are_named_with_the_command_that_mends_them(tmp_path):
    texts = [[str(value).replace(".", ",") for value in column] for column in (ENTROPY, REWARD)]
    write(tmp_path / "log.csv", "step", "ent", "acc", separator=";", columns=(STEP, *texts))
    done = typed("fit", "log.csv", "-o", "-", cwd=tmp_path)
    assert "error[column-not-numeric]" in done.stderr
    assert "tr , . < log.csv > log.points.csv; entropylaw columns log.points.csv" in done.stderr


def test_tables_and_remote_files_get_the_flags_alone():
    table = {"it": STEP, "ent": ENTROPY, "acc": REWARD}
    with pytest.raises(InputError) as caught:
        read_runs(table)
    assert caught.value.hint == "add --step it --entropy ent --reward acc"
    (run,) = read_runs(table, step="it")
    with pytest.raises(InputError) as caught:
        select(run)
    assert caught.value.hint == "add --step it --entropy ent --reward acc"


def test_columns_lists_every_name_with_what_it_could_be(tmp_path):
    more = {"lr": 1e-6 + 0 * STEP, "phase": ["warm"] * N}
    write(tmp_path / "log.csv", "it", "ent", "acc", **more)
    done = typed("columns", "log.csv", cwd=tmp_path)
    assert done.returncode == 0
    text = " ".join(done.stdout.split())
    assert "NOT USABLE" in text
    assert "add --step it --entropy ent --reward acc, as in: entropylaw fit log.csv --step it" in text
    for name, what in (("it", "step"), ("ent", "entropy"), ("acc", "reward")):
        assert f"could be '{name}': {what}, by its name" in text
    assert "could be 'phase': text" in text
    assert "1 other column: 'lr'" in text
    rows = typed("columns", "log.csv", "--format", "csv", cwd=tmp_path).stdout
    assert all(f",{name}," in rows for name in ("it", "ent", "acc", "lr", "phase"))
    (shown,) = json.loads(typed("columns", "log.csv", "--format", "json", cwd=tmp_path).stdout)["runs"]
    assert set(shown["others"]) == {"it", "ent", "acc", "lr", "phase"}
    assert shown["problem"]["slug"] == "no-step-column"
