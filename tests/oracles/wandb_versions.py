"""Many versions of W&B write a run, and what is read of it must be what was logged, to the bit.

python -m tests.oracles.wandb_versions                                   the versions below
python -m tests.oracles.wandb_versions --versions 0.18.7 0.29.0 LATEST   others

Each version gets an environment of its own in a temporary folder, for which pip needs the network. The exit
status is 1 where anything differs.
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
from collections.abc import Iterator, Mapping
from pathlib import Path

from entropylaw.logs.sources.content import Content
from entropylaw.logs.sources.registry import reader_of

VERSIONS = ("0.18.7", "0.21.4", "0.25.1", "0.28.0", "0.29.0", "LATEST")
WRITER = Path(__file__).with_name("wandb_writer.py")

Row = dict[str, float]


def main() -> int:
    """Compare, print the table, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--versions", nargs="+", default=VERSIONS, metavar="VERSION")
    wrong = 0
    print("| written by | differences |\n| --- | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        for version in parser.parse_args().versions:
            problems = list(compared(version, Path(folder, version)))
            print("\n".join([f"| {version} | {len(problems)} |", *problems[:20]]))
            wrong += len(problems)
    return int(wrong > 0)


def compared(version: str, folder: Path) -> Iterator[str]:
    """Install a version of W&B, have it write a run in two parts, and yield what differs."""
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    package = "wandb" if version == "LATEST" else f"wandb=={version}"
    subprocess.run([python, "-m", "pip", "install", "--quiet", package], check=True)
    (folder / "run").mkdir()
    subprocess.run([python, WRITER, folder / "run"], check=True, capture_output=True)
    written = json.loads((folder / "run" / "written.json").read_text("utf-8"))
    files = sorted((folder / "run").rglob("*.wandb"))
    if len(files) != len(written):
        yield f"{len(files)} files for {len(written)} parts"
    for path, records in zip(files, written, strict=False):
        table = reader_of("wandb").read(Content(str(path), path.read_bytes()))
        columns = {name: cells for name, cells in table.columns.items() if name not in ("run", "_step")}
        rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
        yield from differences([flat(record) for record in records], rows)
        yield from (f"left out: {reason}, {count}" for reason, count in table.dropped.items())
        yield from table.notes
        if set(table.columns.get("run", ())) != {"an oracle"}:
            yield "the run is not called as it was"


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
        yield name, float(node)  # type: ignore[arg-type]


def differences(logged: list[Row], read: list[Row]) -> Iterator[str]:
    """Yield what differs, by the bits of the numbers; a nan is a missing value."""
    if len(logged) != len(read):
        yield f"{len(logged)} records were logged, {len(read)} read"
    for place, (one, other) in enumerate(zip(logged, read, strict=False)):
        for name in sorted(one.keys() | other.keys()):
            if bits(one.get(name)) != bits(other.get(name)):
                yield f"record {place}, {name[:60]}: logged {one.get(name)!r}, read {other.get(name)!r}"


def bits(value: float | None) -> bytes:
    """The bytes of a number, none for no number."""
    return b"" if value is None or math.isnan(value) else struct.pack("<d", value)


if __name__ == "__main__":
    sys.exit(main())
