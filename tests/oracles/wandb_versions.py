"""Many versions of W&B write a run; their own reader and ours read it, and must agree to the bit.

python -m tests.oracles.wandb_versions                                   the versions below
python -m tests.oracles.wandb_versions --versions 0.18.7 0.29.0 LATEST   others

Each version gets an environment of its own in a temporary folder, for which pip needs the network. The reader
is the version's own ``DataStore``; versions without one, those after 0.29, are read with that of 0.29.0. The
exit status is 1 where anything differs.
"""

from __future__ import annotations

import argparse
import json
import math
import struct
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from entropylaw.logs.runs import Table
from entropylaw.logs.sources.content import Content
from entropylaw.logs.sources.registry import reader_of

VERSIONS = ("0.18.7", "0.21.4", "0.25.1", "0.28.0", "0.29.0", "LATEST")
READER = "0.29.0"
CLOCKS = ("_timestamp", "_runtime", "_wandb")
HERE = Path(__file__).parent

Row = dict[str, float]


class Environment(NamedTuple):
    """A Python with one version of W&B, and whether that version has a reader in Python."""

    python: Path
    version: str
    reads: bool


class Outcome(NamedTuple):
    """A line of the table."""

    wrote: str
    read: str
    file: str
    records: int
    numbers: int
    problems: tuple[str, ...]


def main() -> int:
    """Compare, print the table, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--versions", nargs="+", default=VERSIONS, metavar="VERSION")
    with tempfile.TemporaryDirectory() as folder:
        outcomes = compare(parser.parse_args().versions, Path(folder))
    print("| written by | read by | file | records | numbers | result |")
    print("| --- | --- | --- | ---: | ---: | --- |")
    for one in outcomes:
        result = f"{len(one.problems)} differences" if one.problems else "equal to the bit"
        print(f"| {one.wrote} | {one.read} | {one.file} | {one.records} | {one.numbers} | {result} |")
    for one in outcomes:
        for problem in one.problems[:20]:
            print(f"{one.wrote}, {one.file}: {problem}")
    return int(any(one.problems for one in outcomes))


def compare(versions: Sequence[str], folder: Path) -> list[Outcome]:
    """Write and read with each version."""
    made: dict[str, Environment] = {}

    def environment(version: str) -> Environment:
        if version not in made:
            made[version] = make_environment(version, folder / f"wandb-{version}")
        return made[version]

    return [
        outcome
        for version in versions
        for writer in [environment(version)]
        for outcome in outcomes_of(
            writer, writer if writer.reads else environment(READER), folder / f"run-{version}"
        )
    ]


def make_environment(version: str, folder: Path) -> Environment:
    """Install a version of W&B."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    wanted = "wandb" if version == "LATEST" else f"wandb=={version}"
    # Versions of that time need setuptools' pkg_resources, which later setuptools lack.
    output(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wanted, "setuptools<81")
    found = output(python, "-c", "import wandb; print(wandb.__version__)").strip()
    look = "import importlib.util as u; print(u.find_spec('wandb.sdk.internal.datastore') is not None)"
    return Environment(python, found, reads=output(python, "-c", look).strip() == "True")


def output(python: Path, *arguments: str) -> str:
    """What a command prints; its errors go to this process's."""
    command = [str(python), *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


def outcomes_of(writer: Environment, reader: Environment, folder: Path) -> Iterator[Outcome]:
    """Write two files with one version, and compare what two readers make of each."""
    folder.mkdir()
    output(writer.python, str(HERE / "wandb_writer.py"), str(folder))
    written = json.loads((folder / "written.json").read_text(encoding="utf-8"))
    files = sorted(folder.rglob("*.wandb"), key=lambda path: path.stat().st_mtime_ns)
    dumps = output(reader.python, str(HERE / "wandb_dump.py"), *map(str, files)).splitlines()
    for part, (path, dump) in enumerate(zip(files, dumps, strict=True)):
        theirs = [theirs_of(record) for record in json.loads(dump)]
        table = reader_of("wandb").read(Content(str(path), path.read_bytes()))
        ours = ours_of(table)
        problems = [
            *differences("W&B's reader", theirs, ours),
            *differences("what was logged", [flat(record) for record in written[part]], [*map(logged, ours)]),
            *(f"left out: {reason}, {count}" for reason, count in table.dropped.items()),
            *table.notes,
        ]
        if set(table.columns.get("run", ())) != {"an oracle"}:
            problems.append("the run is not called as it was")
        name = "after a resume" if part else "first part"
        numbers = sum(map(len, theirs))
        yield Outcome(writer.version, reader.version, name, len(theirs), numbers, tuple(problems))
    if len(files) != len(written):
        missing = f"{len(files)} files for {len(written)} parts"
        yield Outcome(writer.version, reader.version, "all", 0, 0, (missing,))


def theirs_of(record: Mapping[str, object]) -> Row:
    """A record as W&B's reader has it, its numbers under dotted names."""
    row: Row = {"_step": float(record["step"])}  # type: ignore[arg-type]
    for path, text in record["items"]:  # type: ignore[attr-defined]
        if path[0] not in CLOCKS:
            # W&B's core writes -0.0 as -0, which is no -0 as an int.
            row.update(leaves(".".join(path), json.loads(text, parse_int=float)))
    return row


def ours_of(table: Table) -> list[Row]:
    """Our table, record by record; a nan is a missing value here, and so in the others."""
    columns = {name: cells for name, cells in table.columns.items() if name != "run"}
    return [
        {name: float(cell) for name, cell in zip(columns, cells, strict=True) if cell == cell}  # type: ignore[arg-type]
        for cells in zip(*columns.values(), strict=True)
    ]


def logged(row: Row) -> Row:
    """A row without what W&B adds."""
    return {name: value for name, value in row.items() if name != "_step"}


def flat(record: Mapping[str, object]) -> Row:
    """The numbers of what was logged."""
    return {name: value for key, node in record.items() for name, value in leaves(key, node)}


def leaves(name: str, node: object) -> Iterator[tuple[str, float]]:
    """Yield the numbers in a value; W&B writes those that JSON lacks as text."""
    if isinstance(node, dict):
        if "_type" not in node:
            for key, child in node.items():
                yield from leaves(f"{name}.{key}", child)
    elif node in ("0.25", "Infinity", "-Infinity") or type(node) in (int, float):
        value = float(node)  # type: ignore[arg-type]
        if not math.isnan(value):
            yield name, value


def differences(whose: str, expected: Sequence[Row], found: Sequence[Row]) -> Iterator[str]:
    """Yield what differs, by the bits of the numbers."""
    if len(expected) != len(found):
        yield f"{whose} has {len(expected)} records, ours {len(found)}"
    for place, (one, other) in enumerate(zip(expected, found, strict=False)):
        for name in sorted(one.keys() | other.keys()):
            if bits(one.get(name)) != bits(other.get(name)):
                yield f"record {place}, {name[:60]}: {whose} has {one.get(name)!r}, ours {other.get(name)!r}"


def bits(value: float | None) -> bytes:
    """The bytes of a number, none for no number."""
    return b"" if value is None else struct.pack("<d", value)


if __name__ == "__main__":
    sys.exit(main())
