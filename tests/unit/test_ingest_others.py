"""What lies beside the logs of a project: notebooks, programs, weights, databases, tables of samples.

In a folder none of them is a run, nor an error, nor unknown to a gate: they are named as skipped. What may
have been a run is an error, and a file that is named by itself is one with a hint.
"""

import io
import json
import random
import sqlite3
import zipfile
from contextlib import closing

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.fuzz.hiding import comma, jsonl, records
from tests.typed import assert_says
from tests.unit.test_ingest_notebook import code, markdown, notebook, shown, stream, trainer_table, verl

pytestmark = pytest.mark.usefixtures("one_cache")

GOOD = comma(records(True, 0))

# As in a repository of a training: names, defaults and texts, and in a docstring a line of a log.
PROGRAM = b'''"""Train: it prints step=12 entropy=0.35 reward=0.4."""
entropy_coef = 0.001
entropy: float = 0.3
print(f"step={step} entropy={entropy} reward={reward}")
'''
PROGRAMS = (
    *("train.py", "train.sh", "metrics.yaml", "train_config.toml", "trainer.rs", "train.cpp", "progress.ini"),
    *("train.R", "job.slurm", "train.md", "history.patch", "train.lock", "metrics.sql"),
)


def rollouts(rows_of_step, steps=(0, 100, 200), **more):
    """Rows of a table of samples: ``more`` are further cells, made of a generator of random numbers."""
    draw = random.Random(7)
    return [
        {"step": step, **{name: cell(draw, at) for name, cell in more.items()}}
        for step in steps
        for at in range(rows_of_step)
    ]


def number(draw, at):
    return round(draw.random(), 3)


def text(draw, at):
    return f"text {draw.randrange(9)}"


def place(draw, at):
    return at // 4


def flag(draw, at):
    return draw.random() < 0.5


SAMPLED = {
    "tokens": rollouts(40, prompt=place, position=lambda _, at: at, token=text, entropy=number),
    "answers": rollouts(32, problem=place, answer=text, correct=flag, reward=number),
    "verl's rollouts": rollouts(16, input=text, output=text, gts=text, score=number, acc=number),
    "prime-rl's rollouts": rollouts(16, example_id=place, completion=text, reward=number, advantage=number),
    "human-eval": rollouts(16, task_id=text, completion=text, passed=flag, style_score=number),
}
DOCUMENTS = rollouts(16, **{"doc.id": place, "doc.question": text, "exact_match": number})


def without_step(rows):
    return [{name: cell for name, cell in row.items() if name != "step"} for row in rows]


def parquet(rows):
    sink = io.BytesIO()
    pq.write_table(pa.table({name: [row[name] for row in rows] for name in rows[0]}), sink)
    return sink.getvalue()


WRITERS = {
    ".jsonl": jsonl,
    ".json": lambda rows: json.dumps(rows).encode(),
    ".csv": comma,
    ".parquet": parquet,
}


@pytest.fixture
def beside(run, tmp_path):
    """Put a file beside a log, and look at both with a command."""

    def start(name, data, *command):
        path = tmp_path / "logs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        (tmp_path / "logs" / "good.csv").write_bytes(GOOD)
        words = command or ("columns",)
        return run(words[0], "logs", *words[1:])

    return start


def assert_skipped(done, name):
    """The log is the only run, and the file beside it is named as skipped."""
    assert done.returncode == 0, done.stderr
    assert done.stderr == f"Skipped 1 file that is not a training log: {name}\n"
    assert done.stdout.count(" records)") == 1


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_no_run_whatever_it_is_called(beside, name):
    assert_skipped(beside(name, PROGRAM), name)


def test_a_program_that_no_name_makes_a_log_is_not_even_named(beside):
    assert beside("ppo.py", PROGRAM).stderr == ""


def test_a_log_that_was_pasted_into_prose_is_a_run(beside):
    done = beside("train.md", b"# First try\n\n" + verl(range(1, 40)).encode())
    assert (done.returncode, done.stderr, done.stdout.count(" records)")) == (0, "", 2)


@pytest.mark.parametrize("name", ["training_args.bin", "trainer.pt", "metrics.pkl", "train.npy"])
@pytest.mark.parametrize("packed", [True, False])
def test_weights_and_pickles_are_no_run(beside, name, packed):
    data = b"\x80\x02}q\x00." * 100
    if packed:
        with zipfile.ZipFile(archive := io.BytesIO(), "w") as parts:
            parts.writestr("archive/data.pkl", data)
        data = archive.getvalue()
    assert_skipped(beside(name, data), name)


UNREAD = "".join(f"ent: 0.{90 - at} score: 0.{at}\n" for at in range(10, 40))
NOTEBOOKS = {
    "nothing printed": notebook(markdown(), code(), code()),
    "a few numbers": notebook(code(stream("entropy: 0.31\nreward: 0.4\n"))),
    "a table of results": notebook(code(shown(html=trainer_table(["", "reward"], [[0, 0.5], [1, 0.6]])))),
    "no cells": notebook(),
}


@pytest.mark.parametrize("title", NOTEBOOKS)
@pytest.mark.parametrize("name", ["analysis.ipynb", "train.ipynb"])
def test_a_notebook_without_a_log_is_no_run(beside, title, name):
    assert_skipped(beside(name, NOTEBOOKS[title]), name)


def test_a_notebook_with_a_log_is_a_run(beside):
    done = beside("first.ipynb", notebook(markdown(), code(stream(verl(range(1, 40))))))
    assert (done.returncode, done.stderr) == (0, "")
    assert "first · logs/first.ipynb (ipynb, 39 records)" in done.stdout


@pytest.mark.parametrize(
    ("data", "slug"),
    [
        (notebook(code(stream(UNREAD))), "no-records"),
        (notebook(code(stream(verl(range(1, 40)))))[:900], "file-corrupt"),
    ],
    ids=["unread", "cut off"],
)
def test_a_notebook_that_may_have_held_a_run_is_unknown_to_a_gate(beside, data, slug):
    done = beside("train.ipynb", data, "check", "--fail-if", "state==broken")
    assert done.returncode == 5
    assert f"error[{slug}]" in done.stderr


def test_a_notebook_that_is_named_is_an_error_with_a_hint(beside, run):
    beside("a.ipynb", NOTEBOOKS["a few numbers"])
    done = run("fit", "logs/a.ipynb", code=3)
    assert_says(done.stderr, "error[notebook-without-log]", "or name the trainer's own log")


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize("title", SAMPLED)
@pytest.mark.parametrize("change", [list, without_step], ids=["by step", "without steps"])
def test_a_table_of_tokens_or_samples_is_no_run(beside, ending, title, change):
    name = f"train_samples{ending}"
    assert_skipped(beside(name, WRITERS[ending](change(SAMPLED[title]))), name)


@pytest.mark.parametrize("change", [list, without_step], ids=["by step", "without steps"])
def test_a_table_of_documents_is_no_run(beside, change):
    assert_skipped(beside("samples.jsonl", jsonl(change(DOCUMENTS))), "samples.jsonl")


@pytest.mark.parametrize(
    ("rows", "hint"),
    [
        (SAMPLED["tokens"], "make its rows by step: entropylaw tokens "),
        (SAMPLED["answers"], "make its rows by step: entropylaw samples "),
        (without_step(SAMPLED["answers"]), "make its rows by step: entropylaw samples "),
        (
            without_step(SAMPLED["tokens"]),
            "add the column `step`, and make its rows by step: entropylaw tokens ",
        ),
    ],
)
def test_the_hint_for_such_a_table_is_the_command_that_reads_it(beside, run, rows, hint):
    beside("x.jsonl", jsonl(rows))
    for command in ("fit", "columns"):
        done = run(command, "logs/x.jsonl", code=3)
        assert "error[token-level-table]" in done.stderr
        (said,) = [line.strip() for line in done.stderr.splitlines() if line.startswith("  ")]
        assert said.startswith(hint)
    beside("x.jsonl", jsonl([{"step": 0} | row for row in rows]))
    run(*said.partition("entropylaw ")[2].split(), code=0)


def test_a_log_with_an_example_of_an_answer_in_each_record_is_not_taken_for_samples(beside):
    """Without its steps it may have been a run."""
    example = {"prompt": "1 + 1 =", "response": "2"}
    whole = [row | example for row in records(False, 3)]
    done = beside("bad.jsonl", jsonl(whole))
    assert (done.returncode, done.stderr, done.stdout.count(" records)")) == (0, "", 2)
    stepless = beside("bad.jsonl", jsonl(without_step(whole)), "check", "--fail-if", "state==broken")
    assert stepless.returncode == 5
    assert "error[no-step-column]" in stepless.stderr


@pytest.mark.parametrize("name", ["runs.db", "runs.sqlite3", "metrics.sqlite3", "runs.db3", "runs.s3db"])
def test_a_database_that_is_not_read_is_named(beside, tmp_path, name):
    with closing(sqlite3.connect(tmp_path / "made.db", isolation_level=None)) as database:
        database.execute("create table history (step, entropy, reward)")
        database.executemany("insert into history values (?, ?, ?)", [(at, 0.5, 0.1) for at in range(40)])
    assert_skipped(beside(name, (tmp_path / "made.db").read_bytes()), name)


@pytest.mark.parametrize("name", ["train.py", "train.ipynb", "samples.jsonl", "metrics.sqlite3"])
def test_no_gate_is_unknown_for_what_is_no_run(beside, tmp_path, name):
    with closing(sqlite3.connect(tmp_path / "made.db", isolation_level=None)) as database:
        database.execute("create table history (step, entropy, reward)")
    contents = {
        "train.py": PROGRAM,
        "train.ipynb": NOTEBOOKS["a few numbers"],
        "samples.jsonl": jsonl(SAMPLED["answers"]),
        "metrics.sqlite3": (tmp_path / "made.db").read_bytes(),
    }
    done = beside(name, contents[name], "check", "--fail-if", "state==broken", "--format", "json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert [case["run"] for case in document["cases"]] == ["good"]
    (warning,) = document["warnings"]
    assert warning.startswith(f"logs/{name} was not read: ")
