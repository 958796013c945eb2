"""A key in any place of any input is in nothing that is printed or written."""

import gzip
import json
import sqlite3

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.typed import typed

pytestmark = pytest.mark.usefixtures("one_cache")

KEY = "sk-live-0123456789abcdef"
COMMAND = f"python train.py --judge-key={KEY}, --model base"
STEPS = range(1, 25)
ROWS = [
    {
        "step": s,
        "entropy": round(1 / s + 0.01 * (s % 3), 6),
        "val_acc": round(0.6 - 0.5 / s - 0.01 * (s % 5), 6),
    }
    for s in STEPS
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
    pq.write_table(pa.table(columns | {"judge": [KEY] * len(ROWS), "prompt": [COMMAND] * len(ROWS)}), path)


SETTINGS = {"level": f'[fit]\nlevel = "{KEY}"\n', "list": f'gates = "{KEY}"\n', "broken": f"a = {KEY}\n"}
# File or folder → what is in it, as text, bytes or a function that writes it.
REFUSED = {
    "command.log": COMMAND + "\n" + "loading\n" * 5,
    "command.csv": COMMAND + "\n1,2\n" * 9,
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
    "packed.log.gz": gzip.compress(COMMAND.encode() * 9),
    "notes.db": database,
    "book.ipynb": json.dumps(
        {"cells": [{"cell_type": "code", "source": [COMMAND], "outputs": []}], "metadata": {}}
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
    "line.jsonl": jsonl(ROWS[:9]) + f'{{"judge": "{KEY}\n{COMMAND}\n' + jsonl(ROWS[9:]),
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
    ("backtest", "-o", "out/b.json"),
    ("check", "--fail-if", "headroom < 0.01", "-o", "out/c.json", "-o", "out/c.xml", "-o", "out/c.md"),
    ("predict", "--target-entropy", "0.1"),
    ("report", "-o", "out/report", "--jobs", "1"),
    ("report", "-o", "out/report", "--jobs", "1"),
)


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    if callable(content):
        content(path)
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def leaks(folder, source, commands=COMMANDS):
    """Where the key is after some commands on a source."""
    found = []
    for command, *options in commands:
        done = typed(command, source, *options, cwd=folder)
        said = done.stdout + done.stderr
        assert "error[bug]" not in said, said
        found += [f"{command}: {line}" for line in said.splitlines() if KEY in line]
    written = (path for path in folder.rglob("*") if path.is_file() and "logs" not in path.parts)
    return found + [str(path) for path in written if KEY.encode() in path.read_bytes()]


@pytest.mark.parametrize("name", [*REFUSED, *READ])
def test_no_key_of_a_file_is_printed(tmp_path, name):
    write(tmp_path / "logs" / name, (REFUSED | READ)[name])
    # Every medium shows the same strings: one input that is read goes through all commands.
    commands = COMMANDS if name == "config.jsonl" else (COMMANDS[0], COMMANDS[2], COMMANDS[5])
    assert leaks(tmp_path, f"logs/{name}", commands) == []
    assert leaks(tmp_path, "logs", (COMMANDS[0], COMMANDS[2])) == []


@pytest.mark.parametrize("name", CONFIGS)
def test_no_key_of_a_configuration_is_printed(tmp_path, name):
    write(tmp_path / "logs" / "metrics.csv", table(ROWS))
    write(tmp_path / "logs" / "config.yaml", CONFIGS[name])
    assert leaks(tmp_path, "logs", (COMMANDS[0], COMMANDS[2])) == []


@pytest.mark.parametrize("name", SETTINGS)
def test_no_key_of_a_settings_file_is_printed(tmp_path, name):
    write(tmp_path / "logs" / "metrics.csv", table(ROWS))
    write(tmp_path / "entropylaw.toml", SETTINGS[name])
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
        write(tmp_path / name, content)
        data = (tmp_path / name).read_bytes()
        assert KEY.encode() in (gzip.decompress(data) if name.endswith(".gz") else data), name
    for name in READ:
        done = typed("fit", name, "--format", "json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert np.isfinite(json.loads(done.stdout)["runs"][0]["answer"]["ceiling"]["value"])
