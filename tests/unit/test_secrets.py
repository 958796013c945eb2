"""Logs hold more than metrics: who ran what, where, and with which keys. None of it comes out again."""

from __future__ import annotations

import json
import struct

import pytest

from tests.fuzz.binary import event_frame, wandb_frames
from tests.fuzz.law import entropy, reward
from tests.hostile import field, write

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


def history(names):
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
    write(where, "run-ab12.wandb", wandb_frames([*about_the_run(), *history(names)])[0])
    write(where, "files/wandb-metadata.json", json.dumps(METADATA, indent=2))
    write(where, "files/wandb-summary.json", json.dumps({"_step": 40, "_runtime": 3, "host": HOST}))
    write(where, "files/config.yaml", CONFIG)
    write(where, "files/output.log", console())
    # The former has addresses with tokens, the latter the user's home.
    write(where, "files/requirements.txt", f"covert-package @ {REMOTE}\nnumpy==2.0\n")
    write(where, "logs/debug.log", f"INFO MainThread:17 Loading settings from {ROOT}/.config/wandb\n")
    message = {"time": "2026-01-01", "msg": f"stream {ENTITY}"}
    write(where, "logs/debug-internal.log", json.dumps(message) + "\n")
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
    tags = {"user": USER, "source.name": f"{ROOT}/{PROGRAM} {ARGUMENT}", "source.git.repoURL": REMOTE}
    for tag, value in (tags | {"source.git.commit": COMMIT, "note.content": NOTE}).items():
        write(where, f"tags/mlflow.{tag}", value)
    for name, value in {"judge_key": KEY, "model_path": f"{ROOT}/{MODEL}", "temperature": "0.6"}.items():
        write(where, f"params/{name}", value)
    for name, value in {"actor/entropy": entropy, "critic/score/mean": reward}.items():
        lines = (f"{1_700_000_000_000 + step} {value(step / 3)} {step}\n" for step in STEPS)
        write(where, f"metrics/{name}", "".join(lines))
    return folder / "logs"


def event_files(folder):
    """TensorBoard's files hold hyperparameters as text, and their names the host."""
    text = field(1, 7) + field(8, f"judge_key: {KEY}, {ROOT}/{MODEL}")
    summary = field(5, field(1, field(1, "config/text_summary") + field(8, text)))
    data = event_frame(b"\x09" + bytes(8) + field(3, "brain.Event:2"))
    data += event_frame(b"\x09" + struct.pack("<d", 1.7e9) + field(2, 0) + summary)
    for step in STEPS:
        tags = {"actor/entropy": entropy(step / 3), "critic/score/mean": reward(step / 3)}
        values = [field(1, name) + field(2, value, double=False) for name, value in tags.items()]
        scalars = field(5, b"".join(field(1, value) for value in values))
        data += event_frame(b"\x09" + struct.pack("<d", 1.7e9) + field(2, step) + scalars)
    write(folder, f"logs/grpo/events.out.tfevents.1700000000.{HOST}.4242.0", data)
    return folder / "logs"


def jsonl_with_settings(folder):
    """A log that holds its configuration, and a ``config.yaml`` beside it."""
    write(folder, "logs/config.yaml", CONFIG)
    rows = [{"step": s, "entropy": entropy(s / 3), "val_acc": reward(s / 3), "host": HOST} for s in STEPS]
    rows[0] |= {"config": METADATA, "judge_key": KEY, "user": {"mail": MAIL}}
    write(folder, "logs/metrics.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    return folder / "logs"


LOGS = (wandb_folder, console_of_wandb, mlflow_folder, event_files, jsonl_with_settings)
COMMANDS = (
    ("fit", "logs", *(part for end in ("json", "csv", "md", "txt") for part in ("-o", f"out/a.{end}"))),
    ("columns", "logs"),
    ("columns", "logs", "--format", "json"),
    ("report", "logs", "-o", "out"),
    ("fit", "logs", "--entropy", "nothing"),
)


def leaks(text, where):
    return [
        f"{part} in {where}: …{text[max(0, at - 60) : at + 60]!r}"
        for part in PARTS
        if (at := text.find(part)) >= 0
    ]


@pytest.mark.parametrize("log", LOGS)
def test_no_secret_is_printed_or_written(run, tmp_path, log):
    log(tmp_path)
    for command in COMMANDS:
        # What figures show is in one of the reports.
        undrawn = ("--figures", "none") if command[0] == "report" and log is not wandb_folder else ()
        done = run(*command, *undrawn)
        found = leaks(done.stdout, "stdout") + leaks(done.stderr, "stderr")
        for path in tmp_path.rglob("*"):
            if path.is_file() and "logs" not in path.parts:
                found += leaks(path.read_bytes().decode("utf-8", "replace"), path.relative_to(tmp_path))
        assert done.returncode == (3 if "nothing" in command else 0), done.stderr
        assert not found, "\n".join([" ".join(command), *found])
    written = {path.suffix for path in (tmp_path / "out").rglob("*.*")}
    assert written >= {".json", ".csv", ".md", ".txt", ".html"}


@pytest.mark.parametrize("log", LOGS)
def test_the_secrets_are_there(tmp_path, log):
    """Each of these logs has secrets, and is read."""
    folder = log(tmp_path)
    data = b"".join(path.read_bytes() + path.name.encode() for path in folder.rglob("*") if path.is_file())
    assert sum(secret.encode() in data for secret in SECRETS) >= 3
