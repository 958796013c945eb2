"""Logs whose names are not in the catalog: every error says what to type next, and typing it works."""

import json
import math
import re
import shlex

import numpy as np
import pytest

from entropylaw import InputError, read_runs
from entropylaw.roles.select import select
from tests.typed import assert_says, typed

N = 40
STEP = np.arange(N)
ENTROPY = 0.1 + 0.7 * np.exp(-STEP / 8) + 0.01 * np.sin(STEP)
REWARD = 0.9 - 0.25 * np.expm1(ENTROPY) + 0.004 * np.cos(3.1 * STEP)


def write(path, *names, separator=",", columns=(STEP, ENTROPY, REWARD), **more):
    data = dict(zip(names, columns, strict=True)) | more
    rows = [separator.join(map(str, row)) for row in zip(*data.values(), strict=True)]
    path.write_text("\n".join([separator.join(data), *rows, ""]), encoding="utf-8")


def typed_to_the_end(folder, command):
    """Type what each error, or a run without a law, says; the last command, and its columns by role."""
    for _ in range(3):
        done = typed(*command, "--format", "json", "-o", "-", cwd=folder)
        said = done.stderr
        if done.returncode == 0:
            (entry,) = json.loads(done.stdout)["runs"]
            if entry["result"]["no_law"] is None:
                return command, {role: column["column"] for role, column in entry["columns"].items()}
            said = entry["result"]["no_law"]["hint"]
        (line,) = re.findall(r"as in: entropylaw (.*?)(?: \(row: .*\))?$", said, re.MULTILINE)
        assert shlex.split(line) != command, "the same command again"
        command = shlex.split(line)
    raise AssertionError(done.stderr)


def in_one_line(text):
    """A text of a terminal without its line breaks."""
    return " ".join(text.split())


ODD = {
    "it": ("it", "ent", "acc"),
    "policy": ("iteration", "policy_ent", "val"),
    "letters": ("t", "H", "R"),
    "German": ("Schritt", "Entropie", "Belohnung"),
    "German with signs": ("Iteration", "Strategie-Entropie", "Genauigkeit (%)"),
    "upper case": ("STEP", "ENT", "ACC"),
    "camel case": ("trainStep", "meanEnt", "evalScore"),
    "spaces": ("global step", "mean entropy", "eval reward"),
    "slips": ("setp", "entrpy", "rewrad"),
    "quotes": ("it", "pi's ent", "val acc $"),
}


@pytest.mark.parametrize("names", ODD.values(), ids=ODD)
@pytest.mark.parametrize("separator", [",", ";"])
def test_what_an_error_says_to_type_works(tmp_path, names, separator):
    write(tmp_path / "my log.csv", *names, separator=separator)
    _, columns = typed_to_the_end(tmp_path, ["fit", "my log.csv"])
    assert columns == {"entropy": names[1], "reward": names[2]}


def test_what_the_user_named_stays_in_the_command(tmp_path):
    write(tmp_path / "log.csv", "tick", "h", "perf", columns=(STEP, ENTROPY, REWARD), zork=REWARD)
    done = typed("fit", "log.csv", "--step", "tick", "--reward", "zork", "-o", "-", cwd=tmp_path)
    assert "as in: entropylaw fit log.csv --step tick --reward zork --entropy h" in in_one_line(done.stdout)
    done = typed("fit", "log.csv", "--step", "tick", "--entropy", "zork", "-o", "-", cwd=tmp_path)
    assert "as in: entropylaw fit log.csv --step tick --entropy zork --reward perf" in done.stderr


def test_other_statistics_and_training_are_not_preferred(tmp_path):
    more = {"h_max": 2 * ENTROPY, "acc_std": REWARD, "training_acc": REWARD, "h_coef": 0.01 + 0 * STEP}
    write(tmp_path / "log.csv", "tick", columns=(STEP,), **more, my_h=ENTROPY, heldout_acc=REWARD)
    command, columns = typed_to_the_end(tmp_path, ["fit", "log.csv"])
    assert command[2:] == ["--step", "tick", "--entropy", "my_h"]
    assert columns == {"entropy": "my_h", "reward": "heldout_acc"}


def test_rows_are_counted_where_there_is_no_step(tmp_path):
    write(tmp_path / "log.csv", "ent", "acc", columns=(ENTROPY, REWARD))
    command, _ = typed_to_the_end(tmp_path, ["fit", "log.csv"])
    assert command[2:] == ["--step", "row", "--entropy", "ent", "--reward", "acc"]
    (run,) = read_runs(tmp_path / "log.csv", step="row")
    assert run.step.tolist() == list(range(1, N + 1))
    assert run.step_why == "the rows are counted"
    # A column of that name is that column.
    (run,) = read_runs({"row": [3, 5], "ent": [1.0, 2.0]}, step="row")
    assert run.step.tolist() == [3, 5]


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["0,354", "1", "1,250"], [0.354, 1, 1.25]),
        (["1,25", "2", ""], [1.25, 2, math.nan]),
        # Thousands, numbers of two kinds, and lists are text.
        (["1,234", "12,345"], None),
        (["0,5", "0.5"], [math.nan, 0.5]),
        (["0,5", "1,2,3"], None),
    ],
)
def test_decimal_commas_are_read_in_a_column_of_them(tmp_path, cells, values):
    lines = [f"{step};{cell};1" for step, cell in enumerate(cells)]
    (tmp_path / "log.csv").write_text("\n".join(("step;entropy;x", *lines, "")))
    (run,) = read_runs(tmp_path / "log.csv")
    assert ("entropy" in run.texts) == (values is None)
    if values is not None:
        np.testing.assert_array_equal(run.columns["entropy"], values)
        assert any("decimal commas" in note for note in run.notes) == ("0.5" not in cells)


def test_tables_and_remote_files_get_the_flags_alone():
    table = {"tick": STEP, "h": ENTROPY, "acc": REWARD}
    with pytest.raises(InputError) as caught:
        read_runs(table)
    assert caught.value.hint == "add --step tick --entropy h --reward acc"
    (run,) = read_runs(table, step="tick")
    # The reward is one by its name; of the entropy the hint is beside the answer that needs none.
    assert select(run).no_entropy.hint == "add --step tick --entropy h --reward acc"


def test_columns_lists_every_name_with_what_it_could_be(tmp_path):
    more = {"lr": 1e-6 + 0 * STEP, "phase": ["warm"] * N}
    write(tmp_path / "log.csv", "tick", "h", "acc", **more)
    done = typed("columns", "log.csv", cwd=tmp_path, code=0)
    text = " ".join(done.stdout.split())
    assert_says(
        text,
        "NOT USABLE",
        "add --step tick --entropy h --reward acc, as in: entropylaw fit log.csv --step tick",
    )
    for name, what in (("tick", "step"), ("h", "entropy")):
        assert f"other {name} {what}, by its name" in text
    assert_says(text, "other phase text, its first cell is", "1 other column: 'lr'")
    rows = typed("columns", "log.csv", "--format", "csv", cwd=tmp_path).stdout
    assert all(f",{name}," in rows for name in ("tick", "h", "acc", "lr", "phase"))
    (shown,) = json.loads(typed("columns", "log.csv", "--format", "json", cwd=tmp_path).stdout)["runs"]
    assert set(shown["others"]) == {"tick", "h", "lr", "phase"}
    assert [reward["column"] for reward in shown["reward"]] == ["acc"]
    assert shown["problem"]["slug"] == "no-step-column"


def lines_of(line):
    """A log with a line per step, in which {i}, {h} and {r} are the step, the entropy and the reward."""
    return "".join(line.format(i=i, h=h, r=r) for i, h, r in zip(STEP, ENTROPY, REWARD, strict=True))


ROWS = [
    {"step": int(i), "entropy": float(h), "reward": float(r)}
    for i, h, r in zip(STEP, ENTROPY, REWARD, strict=True)
]
COLUMNS = {name: [row[name] for row in ROWS] for name in ROWS[0]}
BY_HAND = {
    "short names.jsonl": lines_of('{{"it": {i}, "ent": {h}, "rew": {r}}}\n'),
    "short names.csv": "iter,ent,ret,loss\n" + lines_of("{i},{h},{r},0\n"),
    "short names.log": lines_of("it {i} | ent {h} | rew {r}\n"),
    "columns of short names.txt": "iter      ent     ret\n" + lines_of("{i:6d} {h} {r}\n"),
    "German.csv": "Schritt;Entropie;Belohnung\n" + lines_of("{i};{h};{r}\n").replace(".", ","),
    "decimal commas.log": lines_of("step {i}: entropy {h}; reward {r}\n").replace(".", ","),
    "thousands.log": lines_of("Step {i},000: entropy {h}, tokens 1,{i:03d}, reward {r}\n"),
    "blanks.csv": "step entropy  reward\n" + lines_of("{i} {h}   {r}\n"),
    "bars.csv": "step|entropy|reward\n" + lines_of("{i}|{h}|{r}\n"),
    "table.md": "| step | entropy | reward |\n|:---|---:|---:|\n" + lines_of("| **{i}** | {h} | {r} |\n"),
    "brackets.log": lines_of("[{i}] entropy={h} reward={r}\n"),
    "comments.csv": "# of last night\nstep,entropy,reward\n" + lines_of("{i},{h},{r}\n"),
    "savetxt.txt": "# step entropy reward\n" + lines_of("{i} {h} {r}\n"),
    "aligned.log": lines_of("--- Iteration {i} ---\nentropy    {h}\nreward     {r}\n\n"),
    "history.json": json.dumps({"config": {"lr": 1e-6}, "history": ROWS, "best": 0.5}),
    "by step.json": json.dumps({row["step"]: row for row in ROWS}),
    "columns.json": json.dumps({"config": {"tags": ["a"]}, **COLUMNS}),
    "columns within.json": json.dumps({"results": COLUMNS, "best": 0.5}),
    "pandas.json": json.dumps({name: dict(enumerate(cells)) for name, cells in COLUMNS.items()}),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_what_people_write_by_hand_is_read_at_once(tmp_path, name):
    (tmp_path / name).write_text(BY_HAND[name])
    (run,) = read_runs(tmp_path)  # in a folder as well
    series = select(run)
    np.testing.assert_array_equal(series.step, STEP * (1000 if "thousands" in name else 1))
    np.testing.assert_array_equal(series.entropy, ENTROPY)
    np.testing.assert_array_equal(series.reward, REWARD)


def test_steps_within_epochs_are_counted_on(tmp_path):
    lines = [
        f"Epoch [{i // 10 + 1}/4], Step [{i % 10 + 1}/10], Entropy: {h:.4f}, Reward: {r:.4f}\n"
        for i, h, r in zip(STEP.tolist(), ENTROPY, REWARD, strict=True)
    ]
    (tmp_path / "log.txt").write_text("".join(lines))
    (run,) = read_runs(tmp_path / "log.txt")
    assert (run.step.tolist(), run.dropped) == (list(range(1, N + 1)), {})
    assert run.columns["Entropy"].tolist() == ENTROPY.round(4).tolist()
    assert "steps begin anew in each epoch: they are counted on" in run.notes


def test_evaluations_beside_the_training_in_one_object_are_apart(tmp_path):
    evaluations = [{"step": row["step"], "reward": 0.5} for row in ROWS[::2]]
    samples = [{"step": 3, "entropy": 9.0, "reward": 1.0}]
    (tmp_path / "log.json").write_text(json.dumps({"train": ROWS, "eval": evaluations, "samples": samples}))
    (run,) = read_runs(tmp_path / "log.json")
    assert {*run.columns} == {"entropy", "reward [train]", "reward [eval]"}
    np.testing.assert_array_equal(run.columns["reward [train]"], REWARD)
    np.testing.assert_array_equal(run.finite("reward [eval]"), [0.5] * 20)


def test_the_runs_in_one_object_are_runs(tmp_path):
    other = {name: [2 * cell for cell in cells] for name, cells in COLUMNS.items()}
    (tmp_path / "log.json").write_text(json.dumps({"a": ROWS, "b": other, "seed": 1}))
    first, second = read_runs(tmp_path / "log.json")
    assert (first.name, second.name) == ("a", "b")
    np.testing.assert_array_equal(first.columns["entropy"], ENTROPY)
    np.testing.assert_array_equal(second.columns["entropy"], 2 * ENTROPY)


def test_a_record_with_records_in_it_is_one_record(tmp_path):
    record = {"step": 1, "entropy": 0.5, "reward": 0.2, "samples": [{"entropy": 9, "reward": 0}] * 3}
    (tmp_path / "log.jsonl").write_text(json.dumps(record))
    (run,) = read_runs(tmp_path / "log.jsonl")
    assert (run.step.tolist(), run.columns["entropy"].tolist()) == ([1], [0.5])


@pytest.mark.parametrize("text", ["lengths=1,2,3", "reward=1,251 tokens=12,345", "reward=0.5,0.7"])
def test_a_comma_of_unknown_meaning_makes_no_number(tmp_path, text):
    (tmp_path / "log.txt").write_text(
        lines_of("step={i} entropy={h} ").replace(" step", f" {text}\nstep") + text
    )
    (run,) = read_runs(tmp_path / "log.txt")
    assert {*run.columns} == {"entropy"}


def test_a_table_without_a_header_gets_a_command_that_adds_it(tmp_path):
    (tmp_path / "log.csv").write_text(lines_of("{i},{h},{r}\n"))
    done = typed("fit", "log.csv", "-o", "-", cwd=tmp_path)
    assert_says(
        done.stderr, "has numbers in its first line", "(echo step,entropy,reward,…; cat log.csv) > named.csv"
    )


@pytest.mark.parametrize(("name", "line"), [("log.jsonl", 41), ("log.csv", 42)])
def test_a_half_written_last_line_is_said_once_and_is_no_loss(tmp_path, name, line):
    whole = {"log.jsonl": lines_of('{{"step": {i}, "entropy": {h}, "reward": {r}}}\n')}
    whole["log.csv"] = "step,entropy,reward\n" + lines_of("{i},{h},{r}\n")
    (tmp_path / name).write_text(whole[name] + {"log.jsonl": '{"step": 40, "entr', "log.csv": "40,0.2"}[name])
    done = typed("fit", name, "-o", "-", cwd=tmp_path)
    assert f"{name}: the last line ({line}) is half-written, and is not read" in done.stderr.splitlines()
    assert "dropped" not in done.stdout


def test_nothing_is_suggested_by_its_values(tmp_path):
    write(tmp_path / "log.csv", "a", "b", "c")
    done = typed("fit", "log.csv", cwd=tmp_path)
    assert_says(
        in_one_line(done.stderr),
        "no step column among its 3 columns; among them 'a', 'b', 'c'",
        "name it with --step COLUMN, or --step row",
    )
    done = typed("fit", "log.csv", "--step", "row", cwd=tmp_path)
    assert "no entropy column that is in the catalog" in in_one_line(done.stderr)
    assert "as in:" not in done.stderr


@pytest.mark.parametrize(
    "name",
    ["timing/ent", "rollout/correct_entropy", "perf/ent/actor", "entropy_coef", "budget_exceeded_rate"],
)
def test_what_is_something_else_by_its_name_is_not_suggested(name):
    (run,) = read_runs({"step": STEP, name: ENTROPY, "reward": REWARD})
    assert name not in select(run).no_entropy.hint


def test_a_hint_gives_pairs():
    before = STEP < N // 2
    table = {"step": STEP, "my_h": np.where(before, ENTROPY, np.nan), "acc": np.where(before, np.nan, REWARD)}
    (run,) = read_runs(table)
    lacking = select(run).no_entropy
    assert "'my_h'" not in lacking.hint
    (run,) = read_runs(table | {"my_h": ENTROPY})
    assert select(run).no_entropy.hint == "add --entropy my_h --reward acc"
