"""Logs hold more than metrics: who ran what, where, and with which keys. None of it comes out again.

A key may be in any place of any input; trackers write more of their users.
"""

import gzip
import json
import sqlite3
import struct

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.fuzz.binary import event_frame, wandb_frames
from tests.fuzz.law import entropy, reward
from tests.hostile import field, write
from tests.typed import typed

pytestmark = pytest.mark.usefixtures("one_cache")

MAIL, USER, HOST, KEY = "jane.doe@example.org", "jdoe-login", "gpu-node-17", "sk-live-0123456789abcdef"
REMOTE, COMMIT = "git@git.example.org:lab/covert-idea.git", "0badc0de0badc0de0badc0de"
PROGRAM, ARGUMENT, ROOT = "train_covert.py", "--judge-url=http://10.9.8.7/v1", "/home/jdoe-login/work"
ENTITY, NOTE, MODEL = "covert-lab", "for the covert customer", "covert-model-v7"
SECRETS = (MAIL, USER, HOST, KEY, REMOTE, COMMIT, PROGRAM, ARGUMENT, ROOT, ENTITY, NOTE, MODEL)
# In parts, too, as a path or an address may be cut.
PARTS = (*SECRETS, "jane.doe", "covert", "10.9.8.7", "jdoe")
STEPS = range(1, 41)


def about_the_run():
    """What wandb writes into the log of a run beside its metrics, by wandb_internal.proto of wandb 0.29."""
    setting = field(1, field(2, "judge_key") + field(16, json.dumps(KEY)))
    model = field(1, field(2, "model_path") + field(16, json.dumps(f"{ROOT}/{MODEL}")))
    git = field(1, REMOTE) + field(2, COMMIT)
    run = field(1, "ab12") + field(2, ENTITY) + field(3, "project") + field(4, setting + model)
    run += field(8, "grpo") + field(9, NOTE) + field(11, field(1, field(1, "email") + field(16, f'"{MAIL}"')))
    environment = field(5, ARGUMENT) + field(6, PROGRAM) + field(8, f"{ROOT}/{PROGRAM}") + field(9, git)
    environment += field(10, MAIL) + field(11, ROOT) + field(12, HOST) + field(13, USER)
    return [
        field(17, run + field(13, HOST) + field(21, git)),
        field(26, environment),
        field(5, setting + model),
        field(13, field(3, f"logged in as {MAIL} on {HOST}\n")),
        field(4, field(3, f"python {PROGRAM} {ARGUMENT}\n")),
        field(7, field(2, field(1, "host") + field(16, json.dumps(HOST)))),
    ]


def tracked(names):
    for step in STEPS:
        values = dict(zip(names, (entropy(step / 3), reward(step / 3), HOST, KEY), strict=False))
        items = {**values, "_step": step, "config/judge_key": KEY, "val/sample": f"mail {MAIL}"}
        row = b"".join(field(1, field(2, name) + field(16, json.dumps(cell))) for name, cell in items.items())
        yield field(2, row + field(2, field(1, step)))


METADATA = {
    "email": MAIL,
    "host": HOST,
    "username": USER,
    "git": {"remote": REMOTE, "commit": COMMIT},
    "args": [ARGUMENT],
    "program": f"{ROOT}/{PROGRAM}",
    "root": ROOT,
}
CONFIG = f"""wandb_version: 1
_wandb:
  value: {{email: {MAIL}, host: {HOST}, e: {{x: {{email: {MAIL}, git: {{remote: "{REMOTE}"}}}}}}}}
judge_key: {{desc: null, value: {KEY}}}
model: {{value: {{path: {ROOT}/{MODEL}}}}}
actor_rollout_ref: {{value: {{rollout: {{temperature: 0.6}}, actor: {{entropy_coeff: 0.001}}}}}}
"""


def console():
    lines = [f"logged in as {MAIL} on {HOST}", f"python {ROOT}/{PROGRAM} {ARGUMENT}", f"judge_key: '{KEY}'"]
    for step in STEPS:
        metrics = f"actor/entropy:{entropy(step / 3)} - critic/score/mean:{reward(step / 3)}"
        lines.append(f"({USER} pid=1, ip=10.9.8.7) step:{step} - {metrics} - judge:{KEY}")
    return "\n".join(lines) + "\n"


def wandb_folder(folder, names=("actor/entropy", "critic/score/mean")):
    where = folder / "logs" / "run-20260101_000000-ab12"
    write(where, "run-ab12.wandb", wandb_frames([*about_the_run(), *tracked(names)])[0])
    write(where, "files/wandb-metadata.json", json.dumps(METADATA, indent=2))
    write(where, "files/wandb-summary.json", json.dumps({"_step": 40, "_runtime": 3, "host": HOST}))
    write(where, "files/config.yaml", CONFIG)
    write(where, "files/output.log", console())
    write(
        where, "logs/debug-internal.log", json.dumps({"time": "2026-01-01", "msg": f"stream {ENTITY}"}) + "\n"
    )
    return folder / "logs"


def console_of_wandb(folder):
    """A ``.wandb`` file without a metric that is known: the console's copy is read."""
    return wandb_folder(folder, names=("a", "b"))


def mlflow_folder(folder):
    where = folder / "logs" / "mlruns" / "1" / "fdb02e9346d6471fbe8539f32e8c51d6"
    meta = f"artifact_uri: file://{ROOT}/mlruns\nexperiment_id: '1'\nlifecycle_stage: active\n"
    write(
        where, "meta.yaml", f"{meta}run_id: fdb02e\nrun_name: grpo\nuser_id: {USER}\nsource_name: {PROGRAM}\n"
    )
    for tag, value in {
        "mlflow.user": USER,
        "mlflow.source.name": f"{ROOT}/{PROGRAM} {ARGUMENT}",
        "mlflow.source.git.repoURL": REMOTE,
        "mlflow.source.git.commit": COMMIT,
        "mlflow.note.content": NOTE,
    }.items():
        write(where, f"tags/{tag}", value)
    for name, value in {"judge_key": KEY, "model_path": f"{ROOT}/{MODEL}", "temperature": "0.6"}.items():
        write(where, f"params/{name}", value)
    for name, value in {"actor/entropy": entropy, "critic/score/mean": reward}.items():
        lines = (f"{1_700_000_000_000 + step} {value(step / 3)} {step}\n" for step in STEPS)
        write(where, f"metrics/{name}", "".join(lines))
    return folder / "logs"


def event_files(folder):
    """TensorBoard's files hold hyperparameters as text."""
    text = field(1, 7) + field(8, f"judge_key: {KEY}, {ROOT}/{MODEL}")
    summary = field(5, field(1, field(1, "config/text_summary") + field(8, text)))
    data = event_frame(b"\x09" + bytes(8) + field(3, "brain.Event:2"))
    data += event_frame(b"\x09" + struct.pack("<d", 1.7e9) + field(2, 0) + summary)
    for step in STEPS:
        tags = {"actor/entropy": entropy(step / 3), "critic/score/mean": reward(step / 3)}
        values = [field(1, name) + field(2, value, double=False) for name, value in tags.items()]
        scalars = field(5, b"".join(field(1, value) for value in values))
        data += event_frame(b"\x09" + struct.pack("<d", 1.7e9) + field(2, step) + scalars)
    write(folder, "logs/grpo/events.out.tfevents.1700000000.host.4242.0", data)
    return folder / "logs"


def jsonl_with_settings(folder):
    """A log that holds its configuration, and a ``config.yaml`` beside it."""
    write(folder, "logs/config.yaml", CONFIG)
    rows = [{"step": s, "entropy": entropy(s / 3), "val_acc": reward(s / 3), "host": HOST} for s in STEPS]
    rows[0] |= {"config": METADATA, "judge_key": KEY, "user": {"mail": MAIL}}
    write(folder, "logs/metrics.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    return folder / "logs"


LINE = f"python train.py --judge-key={KEY}, --model base"
ROWS = [
    {
        "step": s,
        "entropy": round(1 / s + 0.01 * (s % 3), 6),
        "val_acc": round(0.6 - 0.5 / s - 0.01 * (s % 5), 6),
    }
    for s in range(1, 25)
]
NAMES = tuple(ROWS[0])


def table(rows, names=NAMES, head=""):
    lines = [",".join(names), *(",".join(str(row.get(name, "")) for name in names) for row in rows)]
    return head + "\n".join(lines) + "\n"


def jsonl(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def changed(place, **cells):
    return [row | cells if i in place else row for i, row in enumerate(ROWS)]


def database(path):
    with sqlite3.connect(path) as connection:
        connection.execute(f"create table notes (text default '{KEY}')")
        connection.execute("insert into notes values (?)", (KEY,))
    connection.close()


def parquet(path):
    columns = {name: [row[name] for row in ROWS] for name in NAMES}
    pq.write_table(pa.table(columns | {"judge": [KEY] * len(ROWS), "prompt": [LINE] * len(ROWS)}), path)


SETTINGS = {"level": f'level = "{KEY}"\n', "list": f'gates = "{KEY}"\n', "broken": f"a = {KEY}\n"}
# File or folder → what is in it, as text, bytes or a function that writes it.
REFUSED = {
    "command.log": LINE + "\n" + "loading\n" * 5,
    "command.csv": LINE + "\n1,2\n" * 9,
    "command.txt": f"{KEY}\n" * 30,
    "key.json": json.dumps([KEY]),
    "keys.json": json.dumps({"key": KEY, "config": {"api": KEY}}),
    "keys.jsonl": jsonl([{"key": KEY, "config": {"api": KEY}}] * 5),
    "nested.jsonl": jsonl([{"entropy": 0.1, "reward": 0.2, "config": {"api_key": KEY}}] * 5),
    "broken.jsonl": f'{{"a": "{KEY}\n' * 5,
    "steps.csv": table([{**row, "step": KEY} for row in ROWS]),
    "steps.jsonl": jsonl([{**row, "step": KEY} for row in ROWS]),
    "entropies.csv": table([{**row, "entropy": KEY} for row in ROWS]),
    "rewards.jsonl": jsonl([{**row, "val_acc": KEY} for row in ROWS]),
    "binary.parquet": b"PAR1" + KEY.encode() * 9,
    "binary.log": bytes(range(32)) + KEY.encode() * 9,
    "packed.log.gz": gzip.compress(LINE.encode() * 9),
    "notes.db": database,
    "book.ipynb": json.dumps(
        {"cells": [{"cell_type": "code", "source": [LINE], "outputs": []}], "metadata": {}}
    ),
    "trainer_state.json": json.dumps({"log_history": [{"step": 1, "key": KEY}], "best_model": KEY}),
    "old.fit.json": json.dumps({"schema": "entropylaw/fit/1", "runs": KEY, "inputs": KEY, "settings": KEY}),
    "odd.fit.json": json.dumps({"schema": KEY, "runs": []}),
    "newer.fit.json": json.dumps({"schema": "entropylaw/fit/99", "version": [KEY]}),
    "cut.fit.json": '{"schema": "entropylaw/fit/1", "runs": ["' + KEY,
}
READ = {
    "text.csv": table([row | {"judge": KEY, "prompt": "x"} for row in ROWS], (*NAMES, "judge", "prompt")),
    "cell.csv": table(changed((3,), entropy=KEY)),
    "cell.jsonl": jsonl(changed((3,), val_acc=KEY, judge=KEY)),
    "config.jsonl": jsonl(changed((0,), config={"api_key": KEY, "args": [KEY]}, judge=KEY)),
    "line.jsonl": jsonl(ROWS[:9]) + f'{{"judge": "{KEY}\n{LINE}\n' + jsonl(ROWS[9:]),
    "text.parquet": parquet,
}
CONFIGS = {
    "read": f"judge_key: {{value: {KEY}}}\nactor: {{loss_agg_mode: {KEY}}}\ntemperature: {KEY}\n",
    "broken": f"judge_key: [{KEY}\n{KEY}: : {{",
    "tagged": f"judge_key: !!int {KEY}\n",
}
ENDS = ("json", "csv", "md", "txt")
COMMANDS = (
    ("columns",),
    ("columns", "--format", "json"),
    ("fit", "--format", "csv", *(part for end in ENDS for part in ("-o", f"out/a.{end}"))),
    ("phases", "-o", "out/p.json", "-o", "out/p.md"),
    ("check", "--fail-if", "now < 0.01", "-o", "out/c.json", "--junit", "out/c.xml", "-o", "out/c.md"),
    ("predict", "--target-entropy", "0.1"),
    ("report", "-o", "out/report", "--figures", "svg", "--jobs", "1"),
    ("report", "-o", "out/report", "--figures", "svg", "--jobs", "1"),
)


def put(path, content):
    if callable(content):
        path.parent.mkdir(parents=True, exist_ok=True)
        content(path)
    else:
        write(path.parent, path.name, content)


def leaks(folder, source, commands=COMMANDS, parts=(KEY,)):
    """Where the key, or other parts of what is secret, are after some commands on a source."""
    found = []
    for command, *options in commands:
        done = typed(command, source, *options, cwd=folder)
        said = done.stdout + done.stderr
        assert "error[bug]" not in said, said
        found += [f"{command}: {line}" for line in said.splitlines() if any(part in line for part in parts)]
    written = (path for path in folder.rglob("*") if path.is_file() and "logs" not in path.parts)
    return found + [
        str(path) for path in written if any(part.encode() in path.read_bytes() for part in parts)
    ]


@pytest.mark.parametrize("name", [*REFUSED, *READ])
def test_no_key_of_a_file_is_printed(tmp_path, name):
    put(tmp_path / "logs" / name, (REFUSED | READ)[name])
    # Every medium shows the same strings: one input that is read goes through all commands.
    commands = COMMANDS if name == "config.jsonl" else (COMMANDS[0], COMMANDS[2], COMMANDS[5])
    assert leaks(tmp_path, f"logs/{name}", commands) == []
    assert leaks(tmp_path, "logs", (COMMANDS[0], COMMANDS[2])) == []


@pytest.mark.parametrize("name", CONFIGS)
def test_no_key_of_a_configuration_is_printed(tmp_path, name):
    put(tmp_path / "logs" / "metrics.csv", table(ROWS))
    put(tmp_path / "logs" / "config.yaml", CONFIGS[name])
    assert leaks(tmp_path, "logs", (COMMANDS[0], COMMANDS[2])) == []


@pytest.mark.parametrize("name", SETTINGS)
def test_no_key_of_a_settings_file_is_printed(tmp_path, name):
    put(tmp_path / "logs" / "metrics.csv", table(ROWS))
    put(tmp_path / "entropylaw.toml", SETTINGS[name])
    done = typed("fit", "logs/metrics.csv", cwd=tmp_path)
    assert done.returncode in (2, 3)
    assert KEY not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "address",
    [
        f"ftp://user:{KEY}@127.0.0.1:1/x.csv",
        f"ftp://{KEY}@127.0.0.1:1/x.csv?token={KEY}#{KEY}",
        f"memory://x.csv?X-Amz-Signature={KEY}",
        f"zip://x.csv::ftp://user:{KEY}@127.0.0.1:1/x.zip?token={KEY}",
        f"nothing://user:{KEY}@127.0.0.1/x.csv?token={KEY}",
    ],
)
def test_no_key_of_an_address_is_printed(tmp_path, address):
    assert leaks(tmp_path, address, (COMMANDS[0], COMMANDS[2], COMMANDS[7])) == []


def test_the_key_would_be_read(tmp_path):
    """Every input has it, and those that are logs are read."""
    for name, content in (REFUSED | READ).items():
        put(tmp_path / name, content)
        data = (tmp_path / name).read_bytes()
        assert KEY.encode() in (gzip.decompress(data) if name.endswith(".gz") else data), name
    for name in READ:
        done = typed("fit", name, "--format", "json", cwd=tmp_path, code=0)
        assert np.isfinite(json.loads(done.stdout)["runs"][0]["result"]["law"]["ceiling"]["value"])


LOGS = (wandb_folder, console_of_wandb, mlflow_folder, event_files, jsonl_with_settings)


@pytest.mark.parametrize("log", LOGS)
def test_no_secret_of_a_tracker_is_printed_or_written(tmp_path, log):
    """Each of these logs has secrets, and is read."""
    folder = log(tmp_path)
    data = b"".join(path.read_bytes() + path.name.encode() for path in folder.rglob("*") if path.is_file())
    assert sum(secret.encode() in data for secret in SECRETS) >= 3
    commands = (*COMMANDS[:3], ("fit", "--entropy", "nothing"), COMMANDS[-1])
    assert leaks(tmp_path, "logs", commands, PARTS) == []
    written = {path.suffix for path in (tmp_path / "out").rglob("*.*")}
    assert written >= {".json", ".csv", ".md", ".txt", ".html"}


def test_the_first_line_of_a_file_that_is_no_log_and_the_host_in_a_name_are_not_printed(tmp_path):
    """wandb's ``requirements.txt`` has addresses with tokens, its ``debug.log`` the user's home."""
    folder = wandb_folder(tmp_path) / "run-20260101_000000-ab12"
    write(folder, "files/requirements.txt", f"covert-package @ {REMOTE}\nnumpy==2.0\n")
    line = f"INFO MainThread:17 Loading settings from {ROOT}/.config/wandb/settings\n"
    write(folder, "logs/debug.log", line)
    # TensorBoard names its files after the host.
    (path,) = event_files(tmp_path).rglob("*tfevents*")
    path.rename(path.with_name(f"events.out.tfevents.1700000000.{HOST}.4242.0"))
    assert leaks(tmp_path, "logs", COMMANDS[2:3], PARTS) == []
    assert (tmp_path / "out" / "a.json").exists()
