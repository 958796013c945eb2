"""MLflow's folders and databases: by hand, written by mlflow, damaged, and hostile."""

import math
import os
import random
import shutil
import sqlite3
import tempfile
from itertools import pairwise
from pathlib import Path

import pytest

from entropylaw import InputError
from entropylaw.logs.sources.bundles import mlflow_files, read_mlflow
from entropylaw.logs.sources.content import Content, load
from entropylaw.logs.sources.registry import reader_of
from tests import hostile
from tests.golden.reading import assembled, told

ID = "fdb02e9346d6471fbe8539f32e8c51d6"
META = """artifact_uri: s3://secret-bucket/1/artifacts
experiment_id: '1'
lifecycle_stage: active
run_id: fdb02e9346d6471fbe8539f32e8c51d6
run_name: bemused-crane-123
user_id: secret-user
"""
ENTROPY, SCORE, VALIDATION = "actor/entropy", "critic/score/mean", "val-core/openai/gsm8k/acc/mean_at_1"


def values(steps=range(1, 9), at=1_700_000_000_000):
    """What a run logs: time, key, value, step; metrics of one call have one time."""
    for step in steps:
        yield at + 1000 * step, ENTROPY, 1 / step, step
        yield at + 1000 * step, SCORE, 0.1 * step, step
        if step % 4 == 0:
            yield at + 1000 * step + 300, VALIDATION, 0.05 * step, step


def write_folder(root, logged, params=None, meta=META):
    folder = Path(root) / "1" / ID
    (folder / "metrics").mkdir(parents=True)
    (folder / "tags").mkdir()
    (folder / "tags" / "mlflow.user").write_text("secret-user", encoding="utf-8")
    (folder / "meta.yaml").write_text(meta, encoding="utf-8")
    for kind, key, text in (
        *(("metrics", key, f"{time} {value} {step}\n") for time, key, value, step in logged),
        *(("params", key, text) for key, text in (params or {}).items()),
    ):
        path = folder / kind / key
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8", newline="") as file:
            file.write(text)
    return str(folder)


def read_folder(folder):
    return read_mlflow(folder, [load(path) for path in mlflow_files(folder)])


SCHEMA = """
CREATE TABLE runs (run_uuid VARCHAR(32) NOT NULL, name VARCHAR(250), user_id VARCHAR(256), start_time BIGINT,
    lifecycle_stage VARCHAR(20), CONSTRAINT run_pk PRIMARY KEY (run_uuid));
CREATE TABLE metrics ("key" VARCHAR(250) NOT NULL, value FLOAT NOT NULL, timestamp BIGINT NOT NULL,
    run_uuid VARCHAR(32) NOT NULL, step BIGINT DEFAULT '0' NOT NULL, is_nan BOOLEAN DEFAULT '0' NOT NULL,
    CONSTRAINT metric_pk PRIMARY KEY ("key", timestamp, step, run_uuid, value, is_nan));
CREATE TABLE params ("key" VARCHAR(250) NOT NULL, value VARCHAR(8000) NOT NULL, run_uuid VARCHAR(32));
CREATE TABLE tags ("key" VARCHAR(250) NOT NULL, value VARCHAR(8000) NOT NULL, run_uuid VARCHAR(32));
"""


def database(path, runs, params=(), schema=SCHEMA):
    """Write runs, of (id, name, stage) → what each logged, as MLflow does; the connection stays open."""
    connection = sqlite3.connect(path)
    connection.executescript(schema)
    for start, ((uuid, name, stage), logged) in enumerate(runs.items()):
        connection.execute(
            "INSERT INTO runs VALUES (?, ?, 'secret-user', ?, ?)", (uuid, name, 99 - start, stage)
        )
        for time, key, value, step in logged:
            nan = math.isnan(value)
            stored = 0 if nan else max(-1.7976931348623157e308, min(value, 1.7976931348623157e308))
            connection.execute(
                "INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", (key, stored, time, uuid, step, nan)
            )
    connection.executemany("INSERT INTO params VALUES (?, ?, ?)", params)
    connection.commit()
    return connection


def write_database(path, *args, **kwargs):
    database(path, *args, **kwargs).close()
    return str(path)


ONE = {(ID, "grpo", "active"): list(values())}


def read_database(path):
    return reader_of("mlflow-db").read(load(str(path)))


def read_bytes(data):
    return reader_of("mlflow-db").read(Content("mlflow.db", data))


def runs_of(table, path="mlruns"):
    return hostile.assembled("mlflow", table, path)


def logged_in(run, key):
    """Step → value of one column of a run, with nan left out."""
    found = zip(run.step.tolist(), run.columns[key].tolist(), strict=True)
    return {step: value for step, value in found if not math.isnan(value)}


# Folders


def test_the_files_of_a_run(tmp_path):
    folder = write_folder(tmp_path, values(), {"lr": "1e-6", "actor/clip": "0.2", "none": "", "blank": " \n"})
    listed = [Path(path).relative_to(folder).as_posix() for path in mlflow_files(folder)]
    metrics = [f"metrics/{key}" for key in (ENTROPY, SCORE, VALIDATION)]
    assert listed == ["meta.yaml", *metrics, "params/actor/clip", "params/lr"]
    table = read_folder(folder)
    assert table.settings == {"lr": "1e-6", "actor/clip": "0.2"}
    assert "secret" not in repr(table)


def test_folders_of_runs_and_others(tmp_path, monkeypatch):
    folder = write_folder(tmp_path, values())
    for other in (tmp_path, tmp_path / "none", f"{tmp_path}\0", Path(folder) / "metrics"):
        assert mlflow_files(str(other)) == ()
    for meta in ("experiment_id: '1'\nartifact_location: x\n", "name: a\nrun_id: b\nversion: 1\n", ""):
        (Path(folder) / "meta.yaml").write_text(meta)
        assert mlflow_files(folder) == ()
    (Path(folder) / "meta.yaml").write_text(META.replace("run_name", "other"))
    monkeypatch.chdir(folder)
    assert read_folder(".").columns["run"][0] == ID
    shutil.rmtree("metrics")
    assert mlflow_files(".") == ()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_what_is_no_file_is_left_out(tmp_path):
    folder = write_folder(tmp_path, values())
    os.mkfifo(Path(folder) / "metrics" / "pipe")
    (Path(folder) / "metrics" / "loop").symlink_to(Path(folder), target_is_directory=True)
    (Path(folder) / "metrics" / "gone").symlink_to(Path(folder) / "nowhere")
    (Path(folder) / "metrics" / "empty").touch()
    assert len(mlflow_files(folder)) == 4


def test_names_that_yaml_writes(tmp_path):
    yaml = pytest.importorskip("yaml")
    chance = random.Random(3)
    folder = write_folder(tmp_path, values())
    for size in [1, 2, 3, 20, 100, 300] * 20:
        name = "".join(chance.choices("ab Z0-_:#'\"\\é中😀\t\x7f/.,[]{}&*!|>%@`", k=size)).strip()
        written = yaml.dump({**yaml.safe_load(META), "run_name": name}, allow_unicode=True)
        (Path(folder) / "meta.yaml").write_text(written, encoding="utf-8")
        assert read_folder(folder).columns["run"][0] in (name or ID, f"run {name}")


def with_file(key, text):
    """A folder of three steps with a further file of a metric, or more in one."""

    def write(root):
        folder = write_folder(root, values(range(1, 4)))
        with (Path(folder) / "metrics" / key).open("a", encoding="utf-8", newline="") as file:
            file.write(text)
        return folder

    return write


LATE = [(time + 2500 * (key == VALIDATION), key, value, step) for time, key, value, step in values()]
AGAIN = [(time + 10**6, key, value + 1, step) for time, key, value, step in values(range(6, 11))]
THREE = list(values(range(1, 4)))
OTHER = [(1, "a", 0.5, 3), (2, "b", 0.25, 4)]
ODD = [0.1, math.nan, math.inf, -math.inf, 5e-324, 1e308, -1.5]
LOGGED = {
    "a run": list(values()),
    "a long run of verl": list(values(range(1, 60))),
    "nan and infinities": [(step, "x", value, step) for step, value in enumerate(ODD)],
    "a resumed run": [*values(), *AGAIN],
    "a value that was logged again": [*THREE, (THREE[-1][0] + 5, SCORE, 0.75, 3), *values(range(4, 6))],
    "a value of an earlier step again": [*OTHER, (3, "a", 0.75, 3), (4, "b", 0.125, 5)],
    "a nan of an earlier step again": [*OTHER, (3, "a", math.nan, 3), (4, "b", 0.125, 5)],
    "no steps": [(time, key, value, 0) for time, key, value, _ in values(range(1, 30))],
    "a late evaluation": LATE,
    "times that say nothing": [(0, key, value, step) for _, key, value, step in values()],
    **{
        f"a key {key[:20]}": [*THREE, *((time, key, -value, step) for time, _, value, step in THREE)]
        for key in ("step", "run", "a b/c.d-e", "deep/" * 40 + "x")
    },
}
LINES = (
    *(
        "1700000000000 0.5",
        "1700000000000 0.5 ",
        "1700000000000 half 9",
        "1700000000000 0.5 9.5",
        "now 0.5 9",
    ),
    *("1700000000000 0.5 " + "9" * 30, "\0\0\0\0", "x" * 5000),
)
FOLDERS = {
    **{f"a line {line[:30]!r}": with_file(ENTROPY, f"{line}\n1700000009000 0.25 9\n") for line in LINES},
    # It may be step 12 of which only the 1 was written.
    "a last line that was cut off": with_file(ENTROPY, "1700000012000 0.25 1"),
    "zeros behind it": with_file(ENTROPY, "1700000012000 0.25 1" + "\0" * 100),
    "values of a data set": with_file("acc", "1 0.5 3 gsm8k 0a1b\r\n2 0.75 4 gsm8k 0a1b\r\n"),
    "a deleted run": lambda root: write_folder(root, values(), meta=META.replace("active", "deleted")),
    "no metric": lambda root: write_folder(root, [], params={"lr": "1"}),
}
NAMES = (
    *(
        "plain",
        "two words",
        "'it''s: quoted'",
        "'12'",
        "12",
        "'nan'",
        "''",
        "null",
        "",
        "'unclosed",
        '"unclosed',
    ),
    *('"tab\\tand \\U0001F600 \\xe9 \\u4e2d \\"x\\" \\\\"', '"long \\\n  \\ name"', '"long\n  name"'),
    *("long\n  name", "'long\n  name'", '"\\UFFFFFFFF"', "[" * 3000, "!!python/object:os.system x"),
    *("&a [*a, *a]", "0x1F", '"a\\ud800"'),
    "[&a [x], " + ", ".join(f"&{b} [{','.join(['*' + a] * 9)}]" for a, b in pairwise("abcdefghijkl")) + "]",
)


def read_of(table, title, shown):
    first, *more = told(lambda: assembled(table, "mlflow", "mlruns"), title, shown)
    return "\n".join([f": {first}", *more])


def stores():
    """What is read of folders and of databases, for the transcript."""
    shown = {}
    for title, logged in LOGGED.items():
        with tempfile.TemporaryDirectory() as root:
            folder = read_of(read_folder(write_folder(root, logged)), title, dict(shown))
            runs = {(ID, "bemused-crane-123", "active"): logged}
            table = read_database(write_database(f"{root}/a.db", runs))
        database = read_of(table, title, shown)
        yield f"# {title}{database}"
        if folder != database:
            yield f"# {title}, in a folder{folder}"
    for title, write in FOLDERS.items():
        with tempfile.TemporaryDirectory() as root:
            try:
                yield f"# {title}{read_of(read_folder(write(root)), title, shown)}"
            except InputError as error:
                yield f"# {title}: error[{error.slug}]"
    yield "# names in YAML"
    for name in NAMES:
        with tempfile.TemporaryDirectory() as root:
            folder = write_folder(root, THREE, meta=META.replace("bemused-crane-123", name))
            yield f"{name[:50]!r}: {read_folder(folder).columns['run'][0][:50]!r}"
