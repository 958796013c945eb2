"""Sets of inputs under gates whose right answer is known; ``python -m tests.fuzz.sets 17`` runs case 17.

A set holds runs that pass a gate and, in most cases, one that trips it. That one is then hidden: damaged,
emptied, renamed, linked, labelled anew, or put where nobody may look. Whatever becomes of it, a check that
ends with 0 has not seen it, or has taken it for a better one: with --strict it passes only what is shown to
be good. Sets without it are controls, which must pass: a check that fails always would see nothing either.
"""

import contextlib
import functools
import json
import os
import random
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from entropylaw import fit_logs
from tests.conftest import ended
from tests.fuzz.hiding import DOCUMENTS, FILES, LINES, ROWS, WRITERS, N, Record, records, reshaped, with_cell

TRACEBACK = b'Traceback (most recent call last):\n  File "train.py", line 3\nRuntimeError: out of memory\n'
FLAT_FILES = (".jsonl", ".json", ".csv", ".tsv", ".parquet")


class Case:
    """A set of inputs in a folder, made from a number."""

    def __init__(self, number: int, folder: Path) -> None:
        self.rng = random.Random(number)
        self.folder = folder
        self.outside = folder.parent / "outside"
        self.choices: list[str] = []
        self.sources = ["."]
        self.hidden = number % 8 != 0
        self.command: list[str] = []
        self.gate = "now<0.5"
        kinds = (self.one_file, self.some_files, self.other_shapes, self.documents, self.comparison)
        kinds[number % 5]()

    def choose(self, options: Any) -> Any:
        chosen = self.rng.choice(list(options))
        self.choices.append(str(chosen))
        return chosen

    def one_file(self) -> None:
        """Several runs in one file, separated by a column."""
        suffix = self.choose(FLAT_FILES)
        label = self.choose(["run", "run_name", "experiment", "arm"])
        parts = [with_cell(records(True, i), label, f"good{i}") for i in range(self.rng.randint(1, 2))]
        place = self.rng.randint(0, len(parts))
        in_lines = suffix in (".jsonl", ".csv", ".tsv") and self.rng.random() < 0.5
        if self.hidden:
            bad = with_cell(records(False, 7), label, "bad")
            parts.insert(place, bad if in_lines else ROWS[self.choose(ROWS)](bad, self.rng))
        data = WRITERS[suffix]([row for part in parts for row in part])
        if self.hidden and in_lines:
            data = self.damaged_lines(data, (suffix != ".jsonl") + sum(map(len, parts[:place])))
        self.write(f"all{suffix}", data)
        self.sources = [self.choose([f"all{suffix}", "."])]

    def damaged_lines(self, data: bytes, first: int) -> bytes:
        """The lines of one run changed, all in one way, or joined."""
        lines = data.split(b"\n")
        way, seed = self.choose([*LINES, "joined"]), self.rng.random()
        bad = lines[first : first + N]
        if way == "joined":
            lines[first : first + N] = [b" ".join(bad)]
        else:
            lines[first : first + N] = [LINES[way](line, random.Random(seed)) for line in bad]
        return b"\n".join(lines)

    def some_files(self) -> None:
        """A file per run, in one folder, in nested ones, or named one by one."""
        suffix = self.choose(WRITERS)
        name = self.choose(["{}", "{}/metrics"]) + suffix
        for i in range(self.rng.randint(1, 2)):
            self.write(name.format(f"good{i}"), WRITERS[suffix](records(True, i)))
        if self.hidden:
            path = name.format("bad")
            ways = ("link", "folder link", "suffix", "same entropies", "traceback", "twice")
            way = self.hide(path, suffix, records(False, 7), ways)
            if way == "twice":
                self.sources = self.choose([[path, path], [".", path], [path, "."], ["./" + path]])

    def hide(self, path: str, suffix: str, rows: list[Record], ways: tuple[str, ...]) -> str:
        """One way in which the file of some records is not what it was, or not where it was."""
        data = WRITERS[suffix](rows)
        way = str(self.choose(("damage", "damage", "rows", "header", "dangling", "pipe", "other", *ways)))
        match way:
            case "rows" if suffix != ".log":
                self.write(path, WRITERS[suffix](ROWS[self.choose(ROWS)](rows, self.rng)))
            case "header" if suffix != ".json":
                self.write(path, data.split(b"\n")[0][:30] + b"\n")
            case "damage" | "rows" | "header":
                self.write(path, FILES[self.choose(FILES)](data, self.rng))
            case "dangling":
                self.link(path, Path("nowhere") / f"x{suffix}")
            case "pipe":
                (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
                os.mkfifo(self.folder / path)
            case "other":
                ending = self.choose([".csv.lz4", ".feather", ".orc", ".jsonl.br", ".tsv.7z"])
                self.write(path.removesuffix(suffix) + ending, self.rng.randbytes(400))
            case "link":
                self.write(f"../outside/x{suffix}", data)
                self.link(path, self.outside / f"x{suffix}")
            case "folder link":
                self.write(f"../outside/metrics{suffix}", data)
                self.link("linked", self.outside)
            case "suffix":
                other = self.choose([".bak", ".dat", ".1", suffix.upper(), ".txt", ""])
                self.write(path.removesuffix(suffix) + other, data)
            case "same entropies":
                pairs = zip(records(True, 0), rows, strict=True)
                self.write(path, WRITERS[suffix]([{**row, "reward": low["reward"]} for row, low in pairs]))
            case "traceback":
                self.write("bad/train.log", TRACEBACK)
            case _:
                self.write(path, data)
        return way

    def other_shapes(self) -> None:
        """A flat run, and records of another in a shape that no reader has, in one file or beside it."""
        rng = self.rng
        suffix = self.choose([".jsonl", *FLAT_FILES])
        label = {self.choose(["run", "run_name"]): "A"} if rng.random() < 0.5 else {}
        # Among many records, those of the other run are few.
        rows = [{**label, **row} for row in records(True, 0, rng.choice([N, N, 600]))]
        bad: list[Record] = []
        if self.hidden:
            bad, shapes = reshaped(rng, flat=suffix not in (".jsonl", ".json"))
            self.choices.append(shapes)
            bad = [{**rng.choice([{}, label]), **row} for row in bad]
        order = self.choose(["after", "before", "among", "beside"])
        if order == "among":
            places = sorted(rng.sample(range(len(rows)), len(bad)), reverse=True)
            for place, row in zip(places, reversed(bad), strict=True):
                rows.insert(place, row)
        elif order == "beside" and bad:
            self.write(f"b{suffix}", WRITERS[suffix](bad))
        else:
            rows = [*bad, *rows] if order == "before" else [*rows, *bad]
        self.write(f"a{suffix}", WRITERS[suffix](rows))
        self.sources = [self.choose([f"a{suffix}", "."])] if order != "beside" else ["."]

    def comparison(self) -> None:
        """Two arms, of which one has a seed that cannot be read; then a gate on their difference."""
        suffix = self.choose(WRITERS)
        for arm, good in (("tr", True), ("hi", False)):
            for seed in range(2):
                self.write(f"{arm}_s{seed}{suffix}", WRITERS[suffix](records(good, seed)))
        if self.hidden:
            arm = self.choose(["tr", "hi"])
            self.hide(f"{arm}_s7{suffix}", suffix, records(arm != "tr", 7), ())
        arms = self.choose([["tr=tr_*", "hi=hi_*"], ["hi=hi_*", "tr=tr_*"], ["."]])
        if self.rng.random() < 0.3:
            (self.folder / "tr").mkdir()
            for file in sorted(self.folder.glob("tr_*")):
                file.rename(self.folder / "tr" / file.name)
            arms = ["tr=tr", "hi=hi_*"]
        self.command = ["compare", *arms, "-o", "c.json", "-q"]
        self.sources = ["c.json"]
        self.gate = f"difference(tr, hi).{self.choose(['reward_at_entropy', 'ceiling'])}<0"

    def documents(self) -> None:
        """Stored fits, alone or beside logs, in one folder or in nested ones."""
        good, data = self.choose([("good.jsonl", log_of(True)), ("good.fit.json", json.dumps(stored(True)))])
        self.write(good, data.encode())
        if not self.hidden:
            return
        data = json.dumps(DOCUMENTS[self.choose(DOCUMENTS)](stored(False))).encode()
        if self.rng.random() < 0.3:
            data = FILES[self.choose(["truncated", "noise", "zeros", "emptied", "spaces"])](data, self.rng)
        path = self.choose(["bad.fit.json", "a/b/bad.fit.json", "BAD.FIT.JSON", "a/x.Fit.Json"])
        self.write(path, data)
        if self.rng.random() < 0.4:
            self.sources = [good, path]

    def write(self, path: str, data: bytes) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_bytes(data)

    def link(self, path: str, target: Path) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).symlink_to(target)


def log_of(good: bool) -> str:
    return WRITERS[".jsonl"](records(good, 0 if good else 7)).decode()


@functools.cache
def stored(good: bool) -> Record:
    """The fit document of a run."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{'good' if good else 'bad'}.jsonl"
        path.write_text(log_of(good), "utf-8")
        return fit_logs([path]).to_json()


def failure(number: int) -> str:
    """What is wrong with the answer to a case; empty where nothing is."""
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "set"
        folder.mkdir()
        case = Case(number, folder)
        with contextlib.chdir(folder):
            if case.command:
                ended(["--no-config", *case.command], None)
            check = ["check", *case.sources, "-q", "--strict", "--fail-if", case.gate]
            done = ended(["--no-config", *check], None)
    said = f"{number}: {', '.join(case.choices)}; check {' '.join(case.sources)}: exit {done.returncode}\n"
    said += done.stdout + done.stderr
    if re.search(r"^Traceback|error\[bug\]", done.stderr, re.MULTILINE):
        return said
    if case.hidden == (done.returncode == 0):
        return ("passed where it should not: " if case.hidden else "failed where it should pass: ") + said
    return ""


def failures(numbers: range) -> Iterator[str]:
    """Those of the cases that went wrong."""
    for number in numbers:
        if wrong := failure(number):
            yield wrong


if __name__ == "__main__":
    first, *last = map(int, sys.argv[1:])
    for wrong in failures(range(first, last[0] if last else first + 1)):
        print(wrong)
