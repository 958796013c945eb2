"""How fast logs are read, compared with the tools that own the formats: turn by turn, in one session.

python -m benchmarks.readers            print the tables
python -m benchmarks.readers --write    and put them into docs/benchmarks/readers.md
python -m benchmarks.readers --full     and read logs of 0.9 GB, written to a temporary folder

Needs wandb at most 0.29, for later versions cannot read their files in Python, tensorboard and pandas; a
format whose tool is missing is left out. Ours is a file's way to columns of numbers, with its SHA-256.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pkgutil
import platform
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.docs import write_block
from benchmarks.process import peak
from entropylaw.logs import readers
from entropylaw.logs.load import read_runs
from entropylaw.logs.sources.content import load
from entropylaw.logs.sources.registry import find_reader

TURNS = 5
ROWS, METRICS = 20_000, 40
NAMES = ["train/entropy", "train/reward", *(f"group{i % 5}/metric_{i}/mean" for i in range(METRICS - 2))]


class Peer(NamedTuple):
    """A format, its file, what reads it in the first of the packages, and both ways to write and read."""

    format: str
    file: str
    how: str
    packages: tuple[str, ...]
    write: Callable[[Path, np.ndarray], None]
    read: Callable[[Path], object]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks/readers.md")
    parser.add_argument("--full", action="store_true", help="read logs of nearly a gigabyte, too")
    parser.add_argument("--rows", type=int, default=ROWS, help="steps of the run")
    parser.add_argument("--gigabytes", type=float, default=0.9, help="size of the large logs")
    parser.add_argument("--turns", type=int, default=TURNS, help="how often each reads each file")
    parser.add_argument("--alone", nargs=2, metavar=("WHO", "PATH"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.alone:
        alone(*arguments.alone)
        return
    with tempfile.TemporaryDirectory() as folder:
        tables = [beside_the_tools(Path(folder), arguments.rows, arguments.turns)]
        if arguments.full:
            tables.append(large_logs(Path(folder), arguments.gigabytes))
    text = "\n\n".join(tables)
    print(text)
    if arguments.write:
        write_block("readers", text)


def beside_the_tools(folder: Path, rows: int, turns: int) -> str:
    """The table of ratios: below 1, ours takes less."""
    values = np.random.default_rng(3).standard_normal((rows, METRICS))
    lines = [
        f"One run of {rows:,} steps and {METRICS} metrics in each format; best of {turns} turns, in which "
        "entropylaw and the tool read the same file one after the other; processor time of all threads. A "
        "ratio below 1 means that entropylaw takes less time. Memory is the growth of the process while it "
        f"reads, per MB of the file. Python {platform.python_version()}, {machine()}.",
        "",
        "| format | MB | read by | time, ours ÷ theirs | MB/s, ours | memory, ours | memory, theirs |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    for peer in PEERS:
        if not all(map(installed, peer.packages)):
            print(f"{peer.format}: left out, {' or '.join(peer.packages)} is missing", file=sys.stderr)
            continue
        path = folder / peer.file
        peer.write(path, values)
        size = path.stat().st_size / 1e6
        ours, theirs = best_of(turns, partial(columns, path), partial(peer.read, path))
        memory = [grown(who, path) / path.stat().st_size for who in ("ours", peer.how or peer.format)]
        package = peer.packages[0].partition(".")[0] if peer.packages else "Python"
        version = metadata.version(package) if peer.packages else platform.python_version()
        tool = f"{package} {version}{peer.how and ': '}{peer.how}"
        lines.append(
            f"| {peer.format} | {size:.0f} | {tool} | {ours / theirs:.2f} | {size / ours:.0f} "
            f"| {memory[0]:.1f} | {memory[1]:.1f} |"
        )
        path.unlink()
    return "\n".join(lines)


def large_logs(folder: Path, gigabytes: float) -> str:
    """The table of logs that are nearly as large as those that are read."""
    lines = [
        "`read_runs` on large logs, in a process of its own: its processor time, and its peak memory with "
        "Python and all libraries.",
        "",
        "| log | GB | seconds | MB/s | peak MB | peak ÷ file |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, file, write in (
        ("verl's console", "run.log", write_console),
        ("CSV", "run.csv", write_long_csv),
    ):
        path = folder / file
        write(path, int(gigabytes * 1e9))
        size = path.stat().st_size
        found = measured("runs", path)
        lines.append(
            f"| {name} | {size / 1e9:.1f} | {found['seconds']:.0f} | {size / 1e6 / found['seconds']:.0f} "
            f"| {found['peak'] / 1e6:.0f} | {found['peak'] / size:.2f} |"
        )
        path.unlink()
    return "\n".join(lines)


def columns(path: Path) -> object:
    """A file's columns, as the readers hand them over."""
    content = load(str(path))
    table = find_reader(content)[0].read(content)
    return table, content.sha256


def best_of(turns: int, one: Callable[[], object], other: Callable[[], object]) -> tuple[float, float]:
    """The shortest times of two calls, made alternately; a first turn is not counted."""
    times = [(seconds(one), seconds(other)) for _ in range(turns + 1)][1:]
    return min(first for first, _ in times), min(second for _, second in times)


def seconds(call: Callable[[], object]) -> float:
    """Processor time of all threads, which other programs hardly change."""
    start = time.process_time()
    call()
    return time.process_time() - start


def grown(who: str, path: Path) -> float:
    """By how many bytes a process grows while it reads, at its peak."""
    found = measured(who, path)
    return found["peak"] - found["before"]


def measured(who: str, path: Path) -> dict[str, float]:
    """Time and memory of reading in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.readers", "--alone", who, str(path)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8")
    found: dict[str, float] = json.loads(done.stdout)
    return found


def alone(who: str, path: str) -> None:
    """Read in this process, and print how long it took, and its size before that and at its peak."""
    reads: dict[str, Callable[[Path], object]] = {peer.how or peer.format: peer.read for peer in PEERS}
    reads |= {"ours": columns, "runs": lambda path: read_runs(str(path))}
    for peer in PEERS:
        if (peer.how or peer.format) == who:
            [importlib.import_module(package) for package in peer.packages]
    if who in ("ours", "runs"):
        for module in pkgutil.walk_packages(readers.__path__, f"{readers.__name__}."):
            importlib.import_module(module.name)
        importlib.import_module("pyarrow.parquet")
    before = peak()
    time_taken = seconds(lambda: reads[who](Path(path)))
    print(json.dumps({"seconds": time_taken, "before": before, "peak": peak()}))


def installed(package: str) -> bool:
    try:
        importlib.import_module(package)
    except ImportError:
        return False
    return True


def machine() -> str:
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"


def records(values: np.ndarray) -> Iterator[tuple[int, dict[str, float]]]:
    for step, row in enumerate(values.tolist()):
        yield step, dict(zip(NAMES, row, strict=True))


def write_wandb(path: Path, values: np.ndarray) -> None:
    """As W&B's core writes it: the items of a record in any order, with its own three among them."""
    from wandb.proto.wandb_internal_pb2 import Record
    from wandb.sdk.internal.datastore import DataStore

    chance = random.Random(3)
    store = DataStore()
    store.open_for_write(str(path))
    for step, record in records(values):
        added = {"_step": step, "_runtime": step * 1.25, "_timestamp": 1.7e9 + step / 8}
        items = list({**record, **added}.items())
        chance.shuffle(items)
        message = Record(num=step + 1)
        message.history.step.num = step
        for name, value in items:
            message.history.item.add(nested_key=[name], value_json=json.dumps(value))
        store.write(message)
    store.close()


def read_wandb(path: Path) -> object:
    """W&B's own reader, and the values' JSON, without which there are no numbers."""
    from wandb.proto.wandb_internal_pb2 import Record
    from wandb.sdk.internal.datastore import DataStore

    store = DataStore()
    store.open_for_scan(str(path))
    history = []
    while (data := store.scan_data()) is not None:
        record = Record()
        record.ParseFromString(data)
        if record.WhichOneof("record_type") == "history":
            items = record.history.item
            history.append({".".join(item.nested_key): json.loads(item.value_json) for item in items})
    return history


def write_tfevents(path: Path, values: np.ndarray) -> None:
    """As SummaryWriter writes it: an event for each scalar."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.record_writer import RecordWriter

    with path.open("wb") as file:
        writer = RecordWriter(file)
        writer.write(Event(file_version="brain.Event:2").SerializeToString())
        for step, record in records(values):
            for tag, value in record.items():
                summary = Summary(value=[Summary.Value(tag=tag, simple_value=value)])
                writer.write(Event(step=step, wall_time=step, summary=summary).SerializeToString())


def read_tfevents(path: Path) -> object:
    """TensorBoard's own reader, which keeps 10,000 scalars of a tag by default."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    log = EventAccumulator(str(path), size_guidance={"scalars": 0, "tensors": 0}).Reload()
    return {tag: log.Scalars(tag) for tag in log.Tags()["scalars"]}


def write_csv(path: Path, values: np.ndarray) -> None:
    frame(values).to_csv(path, index=False)


def read_csv(path: Path) -> object:
    return pandas().read_csv(path)


def write_jsonl(path: Path, values: np.ndarray) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"step": step, **record}) + "\n" for step, record in records(values))


def read_jsonl(path: Path) -> object:
    return pandas().read_json(path, lines=True)


def loads_jsonl(path: Path) -> object:
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def write_verl(path: Path, values: np.ndarray) -> None:
    """What verl prints of a run, with three decimals."""
    with path.open("w", encoding="utf-8") as file:
        for step, record in records(values):
            pairs = " - ".join(f"{name}:{value:.3f}" for name, value in record.items())
            file.write(f"(TaskRunner pid=12) step:{step} - {pairs}\n")


def read_verl(path: Path) -> object:
    """The numbers of every line, as one would find them by hand."""
    pair = re.compile(r"([\w/]+):(-?[\d.]+)")
    with path.open(encoding="utf-8") as file:
        return [[(name, float(number)) for name, number in pair.findall(line)] for line in file]


def write_parquet(path: Path, values: np.ndarray) -> None:
    frame(values).to_parquet(path)


def read_parquet(path: Path) -> object:
    return importlib.import_module("pyarrow.parquet").read_table(path)


def frame(values: np.ndarray) -> Any:
    return pandas().DataFrame({"step": np.arange(len(values)), **dict(zip(NAMES, values.T, strict=True))})


def pandas() -> Any:
    return importlib.import_module("pandas")


PEERS = (
    Peer(
        "W&B `.wandb`",
        "run-1.wandb",
        "DataStore, protobuf and json",
        ("wandb.sdk.internal.datastore",),
        write_wandb,
        read_wandb,
    ),
    Peer(
        "TensorBoard events",
        "events.out.tfevents.1.host",
        "EventAccumulator, all scalars kept",
        ("tensorboard.backend.event_processing.event_accumulator",),
        write_tfevents,
        read_tfevents,
    ),
    Peer("CSV", "run.csv", "read_csv", ("pandas",), write_csv, read_csv),
    Peer("JSONL", "run.jsonl", "read_json(lines=True)", ("pandas",), write_jsonl, read_jsonl),
    Peer("JSONL", "run.jsonl", "json.loads of every line", (), write_jsonl, loads_jsonl),
    Peer("verl's console", "run.log", "re.findall in every line", (), write_verl, read_verl),
    Peer("Parquet", "run.parquet", "", ("pyarrow.parquet", "pandas"), write_parquet, read_parquet),
)


def write_console(path: Path, size: int) -> None:
    """What verl prints, until the file has that many bytes."""
    texts = [
        " - ".join(f"{name}:{value!r}" for name, value in zip(VERL, row, strict=True))
        for row in np.random.default_rng(3).random((1000, METRICS)).tolist()
    ]
    write_lines(path, size, "", lambda step: f"(TaskRunner pid=12) step:{step} - {texts[step % 1000]}\n")


def write_long_csv(path: Path, size: int) -> None:
    texts = [",".join(map(repr, row)) for row in np.random.default_rng(3).random((1000, METRICS)).tolist()]
    write_lines(path, size, ",".join(("step", *NAMES)) + "\n", lambda step: f"{step},{texts[step % 1000]}\n")


def write_lines(path: Path, size: int, header: str, line: Callable[[int], str]) -> None:
    with path.open("w", encoding="utf-8") as file:
        written, step = file.write(header), 0
        while written < size:
            written += file.write("".join(line(step + i) for i in range(1000)))
            step += 1000


VERL = ["actor/entropy", "critic/score/mean", *(f"timing_s/part_{i}" for i in range(METRICS - 2))]

if __name__ == "__main__":
    main()
