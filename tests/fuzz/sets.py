"""Sets of inputs under gates whose right answer is known; ``python -m tests.fuzz.sets 17`` runs case 17.

A set holds runs that pass a gate and, in most cases, one that trips it. That one is then hidden: damaged,
emptied, renamed, linked, labelled anew, or put where nobody may look. Whatever becomes of it, a check that
ends with 0 has not seen it, or has taken it for a better one: with --strict it passes only what is shown to
be good. Sets without it are controls, which must pass: a check that fails always would see nothing either.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import os
import random
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

GATE = "ceiling<0.5"
_N = 40

Record = dict[str, Any]


def records(good: bool, variant: int, number: int = _N) -> list[Record]:
    """A run that follows the law, with a ceiling of 0.8 or of 0.3, over so many steps."""
    noise = random.Random(1000 + variant)
    a, b = (0.4, 1.2) if good else (0.2, 0.5)
    found = []
    for step in range(1, number + 1):
        entropy = math.exp(-step * _N / number / (18 + variant)) + 0.02
        reward = b - a * math.exp(entropy) + noise.gauss(0, 0.004)
        found.append({"step": step, "entropy": round(entropy, 6), "reward": round(reward, 6)})
    return found


def jsonl(rows: list[Record]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def array(rows: list[Record]) -> bytes:
    return json.dumps(rows, indent=1).encode()


def comma(rows: list[Record], delimiter: str = ",") -> bytes:
    text = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(text, names, delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def tabs(rows: list[Record]) -> bytes:
    return comma(rows, "\t")


def parquet(rows: list[Record]) -> bytes:
    sink = io.BytesIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = {name: [row.get(name) for row in rows] for name in names}
    for name, column in cells.items():
        # A column has one type, so that a text or a flag makes all of it text.
        if any(isinstance(cell, str | bool) for cell in column):
            cells[name] = [None if cell is None else str(cell) for cell in column]
    pq.write_table(pa.table(cells), sink)
    return sink.getvalue()


def console(rows: list[Record]) -> bytes:
    """Verl's, which has a name for each metric and none for a run."""
    return "".join(
        f"step:{row['step']} - actor/entropy:{row['entropy']} - critic/score/mean:{row['reward']}\n"
        for row in rows
    ).encode()


WRITERS: dict[str, Callable[[list[Record]], bytes]] = {
    ".jsonl": jsonl,
    ".json": array,
    ".csv": comma,
    ".tsv": tabs,
    ".parquet": parquet,
    ".log": console,
}

# What becomes of the records of a run within a file of several.
STEPS = (
    *(None, math.nan, "", "abc", "n/a", math.inf, -math.inf, 1e300, [1], {"a": 1}, True),
    *("2026-01-01", "1 000"),
)
METRICS = (None, math.nan, "", "abc", math.inf, -1e300)


def _with(rows: list[Record], name: str, cell: object) -> list[Record]:
    return [{**row, name: cell} for row in rows]


def _renamed(rows: list[Record], name: str) -> list[Record]:
    return [{name if key == "step" else key: cell for key, cell in row.items()} for row in rows]


ROWS: dict[str, Callable[[list[Record], random.Random], list[Record]]] = {
    "no step": lambda rows, _: [{key: row[key] for key in row if key != "step"} for row in rows],
    "bad step": lambda rows, rng: _with(rows, "step", rng.choice(STEPS)),
    "other step": lambda rows, rng: _renamed(rows, rng.choice(["when", "Step ", "epoch", "timestamp"])),
    "bad metric": lambda rows, rng: _with(rows, rng.choice(["entropy", "reward"]), rng.choice(METRICS)),
    "few": lambda rows, rng: rows[: rng.randint(1, 4)],
    "as is": lambda rows, _: rows,
}


# Keys of a run of which each case takes some, and what stands before or behind them: names of trainers, of
# arms, of other metrics. None of this is taken from the package.
ENTROPIES = (
    "entropy",
    "actor/entropy",
    "policy_entropy",
    "mean_token_entropy",
    "Entropy",
    "ent",
    "H",
    "entropie",
)
REWARDS = ("reward", "critic/score/mean", "val/acc", "accuracy", "score", "Reward", "ret", "R", "belohnung")
SHORT = ("ent", "H", "ret", "R", "belohnung", "entropie")
COUNTERS = ("step", "global_step", "it", "epoch", "when", "_step", "training/global_step")
AROUND = ("B", "runs", "data", "clip_cov", "seed_3", "lr-1e-6", "kl", "max", "metrics", "", "αβ", "x" * 300)
SEPARATORS = ("/", ".", "_", "-", ":", " ", "|", "::", "@")


def _around(rng: random.Random, depth: int) -> list[str]:
    return [rng.choice(AROUND) for _ in range(rng.randint(1, depth))]


def _within(rng: random.Random) -> Callable[[Record], Record]:
    """Records as they are, some levels down."""
    keys = _around(rng, 6)

    def change(row: Record) -> Record:
        for key in keys:
            row = {key: row}
        return row

    return change


def _before(rng: random.Random) -> Callable[[Record], Record]:
    """A prefix on every key."""
    prefix = "".join(key + rng.choice(SEPARATORS) for key in _around(rng, 3))
    return lambda row: {prefix + key: cell for key, cell in row.items()}


def _behind(rng: random.Random) -> Callable[[Record], Record]:
    """A suffix on every key; one that is empty would leave it as it is."""
    suffix = rng.choice(SEPARATORS) + rng.choice([key for key in AROUND if key not in ("", "max", "kl")])
    return lambda row: {key + suffix: cell for key, cell in row.items()}


def _in_list(rng: random.Random) -> Callable[[Record], Record]:
    """An element of a list, or of lists in one another."""
    depth, key = rng.randint(1, 3), rng.choice(AROUND)

    def change(row: Record) -> Record:
        value: Any = row
        for _ in range(depth):
            value = [value]
        return {key: value}

    return change


def _in_text(rng: random.Random) -> Callable[[Record], Record]:
    """A record that another program has written into a text: one that names an entropy."""
    key = rng.choice(["message", "msg", "B", "text"])
    return lambda row: {key: json.dumps({**row, "entropy": 0.5})}


def _named(rng: random.Random) -> Callable[[Record], Record]:
    """A list of names and values."""
    first, second = rng.choice([("key", "value"), ("name", "v"), ("tag", "scalar")])
    return lambda row: {"scalars": [{first: key, second: cell} for key, cell in row.items()]}


def _as_medium(rng: random.Random) -> Callable[[Record], Record]:
    kind = rng.choice(["run", "table", "histogram"])
    return lambda row: {"B": {"_type": kind, **row}}


def _by_step(rng: random.Random) -> Callable[[Record], Record]:
    """The step is a key."""
    key = rng.choice(["B", "runs", ""])
    return lambda row: {key: {str(next(iter(row.values()))): dict([*row.items()][1:])}}


NESTED = (_within, _before, _behind, _in_list, _in_text, _named, _as_medium, _by_step)
FLAT = (_before, _behind)


def _reshaped(rows: list[Record], rng: random.Random, *, flat: bool) -> tuple[list[Record], str]:
    """The records of a run with other keys, and one shape or two over one another; and their names."""
    entropy, reward = rng.choice(ENTROPIES), rng.choice(REWARDS)
    names = {"step": rng.choice(COUNTERS), "entropy": entropy, "reward": reward}
    shapes = [rng.choice(FLAT if flat else NESTED)]
    shapes += [rng.choice((_before, _within))] if not flat and rng.random() < 0.3 else []
    # One metric is enough, but not as a value, nor with any word behind it.
    alone = entropy not in SHORT and reward not in SHORT and {_named, _behind}.isdisjoint(shapes)
    if alone and rng.random() < 0.3:
        names.pop(rng.choice(["entropy", "reward"]))
    made = [{names[key]: cell for key, cell in row.items() if key in names} for row in rows]
    said = [",".join(made[0])]
    for shape in shapes:
        change = shape(rng)
        made = [change(row) for row in made]
        said.append(shape.__name__)
    return made, " ".join(said)


def _edited(lines: list[bytes], before: bytes = b"", part: slice = slice(None), after: bytes = b"") -> Any:
    return [before + line[part] + after for line in lines]


BEFORE = (b"x", b"2026-01-01 ", b"\x00", b"//", b"\xff", b"[", b'"')
AFTER = (b",1,2,3", b"}", b", {", b"\x00\x00", b"]")
LINES: dict[str, Callable[[list[bytes], random.Random], list[bytes]]] = {
    "cut ends": lambda lines, rng: _edited(lines, part=slice(-rng.randint(1, 12))),
    "cut starts": lambda lines, rng: _edited(lines, part=slice(rng.randint(1, 20), None)),
    "prefixed": lambda lines, rng: _edited(lines, before=rng.choice(BEFORE)),
    "longer": lambda lines, rng: _edited(lines, after=rng.choice(AFTER)),
    "NUL": lambda lines, _: [b"\0" * len(line) for line in lines],
    "joined": lambda lines, _: [b" ".join(lines)],
}


def _other_names(data: bytes, rng: random.Random) -> bytes:
    for old, new in ((b"entropy", b"ent"), (b"reward", b"acc"), (b"step", b"when"))[: rng.randint(1, 3)]:
        data = data.replace(old, new)
    return data


def _packed(data: bytes, rng: random.Random) -> bytes:
    packed = gzip.compress(data, mtime=0)
    return packed[: len(packed) // 2] if rng.random() < 0.5 else packed


# What becomes of a whole file.
FILES: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "truncated": lambda data, rng: data[: rng.randint(0, len(data) * 3 // 4)],
    "headless": lambda data, rng: data[rng.randint(1, len(data) // 2) :],
    "noise": lambda data, rng: rng.randbytes(len(data)),
    "zeros": lambda data, _: bytes(len(data)),
    "spaces": lambda data, _: b" \n" * (len(data) // 2),
    "emptied": lambda data, _: b"",
    "other names": _other_names,
    "packed": _packed,
    "UTF-16": lambda data, _: data.decode("latin-1").encode("utf-16"),
}
TRACEBACK = (
    b'Traceback (most recent call last):\n  File "train.py", line 3\nRuntimeError: CUDA out of memory\n'
)

# What becomes of a stored document of a run.
DOCUMENTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "as it is": lambda body: body,
    "no runs": lambda body: {**body, "runs": []},
    "runs null": lambda body: {**body, "runs": None},
    "no runs key": lambda body: {key: value for key, value in body.items() if key != "runs"},
    "other version": lambda body: {**body, "schema": "entropylaw/fit/99"},
    "other kind": lambda body: {**body, "schema": "entropylaw/phases/1"},
    "no schema": lambda body: {key: value for key, value in body.items() if key != "schema"},
    "answer null": lambda body: _with_run(body, answer=None),
    "answer and refusal": lambda body: _with_run(body, refusal={"slug": "x", "message": "m", "hint": "h"}),
    "value outside": lambda body: _with_ceiling(body, value=0.9),
    "no interval": lambda body: _with_ceiling(body, low=None, high=None),
    "turned interval": lambda body: _with_ceiling(body, low=0.9, high=0.8, value=0.85),
    "text for a number": lambda body: _with_ceiling(body, value="0.9"),
    "infinite": lambda body: _with_ceiling(body, high=1e999),
    "level": lambda body: _with_ceiling(body, level=0.0),
    "no relation": lambda body: _with_answer(body, verdict="fails", why="no relation", findings=[]),
    "fails for nothing": lambda body: _with_answer(body, verdict="fails", why=None),
    "list": lambda body: [body],
}


def _with_run(body: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {**body, "runs": [{**run, **changes} for run in body["runs"]]}


def _with_answer(body: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {**body, "runs": [{**run, "answer": {**run["answer"], **changes}} for run in body["runs"]]}


def _with_ceiling(body: dict[str, Any], **changes: Any) -> dict[str, Any]:
    (run,) = body["runs"]
    return _with_answer(body, ceiling={**run["answer"]["ceiling"], **changes})


class Case:
    """A set of inputs in a folder, made from a number."""

    def __init__(self, number: int, folder: Path) -> None:
        self.rng = random.Random(number)
        self.folder = folder
        self.number = number
        self.choices: list[str] = []
        self.sources: list[str] = []
        self.hidden = number % 8 != 0
        self.commands: list[list[str]] = []
        self.gates = [GATE]
        kinds = (self.one_file, self.some_files, self.some_files, self.documents)
        new = (self.other_shapes, self.other_shapes, self.comparison)
        # The first cases are as they always were.
        kinds = kinds if number % 2 else new
        kinds[self.rng.randrange(len(kinds))]()

    def choose(self, options: Any) -> Any:
        chosen = self.rng.choice(list(options))
        self.choices.append(str(chosen))
        return chosen

    def one_file(self) -> None:
        """Several runs in one file, separated by a column."""
        suffix = self.choose([".jsonl", ".json", ".csv", ".tsv", ".parquet"])
        label = self.choose(["run", "run_name", "experiment", "arm"])
        parts = [_with(records(True, i), label, f"good{i}") for i in range(self.rng.randint(1, 2))]
        bad = _with(records(False, 7), label, "bad")
        place = self.rng.randint(0, len(parts))
        if self.hidden and suffix in (".jsonl", ".csv", ".tsv") and self.rng.random() < 0.5:
            parts.insert(place, bad)
            data = WRITERS[suffix]([row for part in parts for row in part])
            lines = data.split(b"\n")
            head = 0 if suffix == ".jsonl" else 1
            first = head + sum(len(part) for part in parts[:place])
            lines[first : first + _N] = LINES[self.choose(LINES)](lines[first : first + _N], self.rng)
            data = b"\n".join(lines)
        else:
            if self.hidden:
                parts.insert(place, ROWS[self.choose(ROWS)](bad, self.rng))
            rows = [row for part in parts for row in part]
            if suffix == ".parquet":
                rows = [_typed(row) for row in rows]
            data = WRITERS[suffix](rows)
        self.write(f"all{suffix}", data)
        self.sources = [self.choose([f"all{suffix}", "."])]

    def some_files(self) -> None:
        """A file per run, in one folder, in nested ones, or named one by one."""
        suffix = self.choose(WRITERS)
        nested = self.choose([False, True])
        for i in range(self.rng.randint(1, 2)):
            self.write(self.place(f"good{i}", suffix, nested), WRITERS[suffix](records(True, i)))
        self.sources = ["."]
        if not self.hidden:
            return
        path = self.place("bad", suffix, nested)
        data = WRITERS[suffix](records(False, 7))
        ways = (
            "damage",
            "rows",
            "link",
            "dangling",
            "folder link",
            "suffix",
            "same entropies",
            "pipe",
            "twice",
        )
        way = self.choose((*ways, "traceback"))
        if way == "damage":
            self.write(path, FILES[self.choose(FILES)](data, self.rng))
        elif way == "rows" and suffix != ".log":
            rows = [_typed(row) for row in ROWS[self.choose(ROWS)](records(False, 7), self.rng)]
            self.write(path, WRITERS[suffix](rows))
        elif way == "link":
            self.write(f"../{self.folder.name}.out/x{suffix}", data)
            self.link(path, self.folder.parent / f"{self.folder.name}.out" / f"x{suffix}")
        elif way == "dangling":
            self.link(path, Path("nowhere") / f"x{suffix}")
        elif way == "folder link":
            self.write(f"../{self.folder.name}.out/metrics{suffix}", data)
            self.link("linked", self.folder.parent / f"{self.folder.name}.out")
        elif way == "suffix":
            other = self.choose([".bak", ".dat", ".1", suffix.upper(), ".txt", ""])
            self.write(path.removesuffix(suffix) + other, data)
        elif way == "same entropies":
            pairs = zip(records(True, 0), records(False, 7), strict=True)
            twin = [{**row, "reward": bad["reward"]} for row, bad in pairs]
            self.write(path, WRITERS[suffix](twin))
        elif way == "pipe":
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            os.mkfifo(self.folder / path)
        elif way == "traceback":
            self.write(self.place("bad", ".log", True).replace("metrics", "train"), TRACEBACK)
        else:
            self.write(path, data)
            self.sources = self.choose([[path, path], [".", path], [path, "."], ["./" + path]])

    def other_shapes(self) -> None:
        """A flat run, and records of another in a shape that no reader has, in one file or beside it."""
        rng = self.rng
        suffix = self.choose([".jsonl", ".jsonl", ".json", ".csv", ".tsv", ".parquet"])
        label = {self.choose(["run", "run_name"]): "A"} if rng.random() < 0.5 else {}
        # Among many records, those of the other run are few.
        good = [{**label, **row} for row in records(True, 0, rng.choice([_N, _N, 600]))]
        mine: list[Record] = []
        if self.hidden:
            flat = suffix not in (".jsonl", ".json")
            mine, said = _reshaped(records(False, 7), rng, flat=flat)
            self.choices.append(said)
            mine = [{**rng.choice([{}, label]), **row} for row in mine]
        beside = rng.random() < 0.2
        rows = list(good)
        order = self.choose(["after", "before", "among", "beside" if beside else "after"])
        if order == "beside":
            self.write(f"b{suffix}", WRITERS[suffix](mine or good[:0])) if mine else None
        elif order == "among":
            places = sorted(rng.sample(range(len(good)), len(mine)), reverse=True) if mine else []
            for place, row in zip(places, reversed(mine), strict=True):
                rows.insert(place, row)
        else:
            rows = [*mine, *good] if order == "before" else [*good, *mine]
        self.write(f"a{suffix}", WRITERS[suffix](rows))
        self.sources = [self.choose([f"a{suffix}", "."]) if order != "beside" else "."]

    def comparison(self) -> None:
        """Two arms, of which one has a seed that cannot be read; then a gate on their difference."""
        suffix = self.choose(WRITERS)
        for arm, good in (("tr", True), ("hi", False)):
            for seed in range(2):
                self.write(f"{arm}_s{seed}{suffix}", WRITERS[suffix](records(good, seed)))
        way = "none"
        if self.hidden:
            arm = self.choose(["tr", "hi"])
            path, data = f"{arm}_s7{suffix}", WRITERS[suffix](records(arm != "tr", 7))
            way = self.choose(
                ["noise", "zeros", "emptied", "spaces", "header", "dangling", "few", "lost", "other"]
            )
            if way == "dangling":
                self.link(path, Path("nowhere") / f"x{suffix}")
            elif way == "header":
                self.write(path, data.split(b"\n")[0][:30] + b"\n")
            elif way == "few":
                self.write(path, WRITERS[suffix](records(arm != "tr", 7)[: self.rng.randint(1, 4)]))
            elif way == "lost":
                bad = _with(records(arm != "tr", 7), "reward", None)
                self.write(path, WRITERS[suffix](bad) if suffix != ".log" else b"")
            elif way == "other":
                ending = self.choose([".csv.lz4", ".feather", ".orc", ".jsonl.br", ".tsv.7z"])
                self.write(path.removesuffix(suffix) + ending, self.rng.randbytes(400))
            else:
                self.write(path, FILES[way](data, self.rng))
        arms = self.choose([["tr=tr_*", "hi=hi_*"], ["hi=hi_*", "tr=tr_*"], ["."]])
        if self.rng.random() < 0.3:
            (self.folder / "tr").mkdir()
            for file in sorted(self.folder.glob("tr_*")):
                file.rename(self.folder / "tr" / file.name)
            arms = ["tr=tr", "hi=hi_*"]
        self.commands = [["compare", *arms, "-o", "c.json", "-q"]]
        self.sources = ["c.json"]
        self.gates = [f"difference(tr, hi).{self.choose(['reward_at_entropy', 'ceiling'])}<0"]

    def documents(self) -> None:
        """Stored fits, alone or beside logs, in one folder or in nested ones."""
        beside = self.choose([False, True])
        if beside:
            self.write("good.jsonl", jsonl(records(True, 0)))
        else:
            self.write("good.fit.json", json.dumps(stored(True)).encode())
        self.sources = ["."]
        if not self.hidden:
            return
        body = DOCUMENTS[self.choose(DOCUMENTS)](stored(False))
        data = json.dumps(body).encode()
        if self.rng.random() < 0.3:
            way = self.choose(["truncated", "noise", "zeros", "emptied", "spaces"])
            data = FILES[way](data, self.rng)
        path = self.choose(["bad.fit.json", "a/b/bad.fit.json", "BAD.FIT.JSON", "a/x.Fit.Json"])
        self.write(path, data)
        if self.rng.random() < 0.4:
            self.sources = [*(["good.jsonl"] if beside else ["good.fit.json"]), path]

    def place(self, name: str, suffix: str, nested: bool) -> str:
        return f"{name}/metrics{suffix}" if nested else f"{name}{suffix}"

    def write(self, path: str, data: bytes) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_bytes(data)

    def link(self, path: str, target: Path) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).symlink_to(target)


def _typed(row: Record) -> Record:
    """A row that any format takes."""
    return {key: None if isinstance(cell, list | dict) else cell for key, cell in row.items()}


_STORED: dict[bool, dict[str, Any]] = {}


def stored(good: bool) -> dict[str, Any]:
    """The fit document of a run."""
    if good not in _STORED:
        from entropylaw import fit_logs

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / ("good.jsonl" if good else "bad.jsonl")
            path.write_bytes(jsonl(records(good, 0 if good else 7)))
            _STORED[good] = fit_logs([path]).to_json()
    return _STORED[good]


def failure(number: int) -> str:
    """What is wrong with the answer to a case; empty where nothing is."""
    from tests.conftest import ended

    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "set"
        folder.mkdir()
        case = Case(number, folder)
        here = Path.cwd()
        os.chdir(folder)
        try:
            for command in case.commands:
                ended(["--no-config", *command], None)
            gates = [word for gate in case.gates for word in ("--fail-if", gate)]
            done = ended(["--no-config", "check", *case.sources, "-q", "--strict", *gates], None)
        finally:
            os.chdir(here)
    said = f"{number}: {', '.join(case.choices)}; check {' '.join(case.sources)}: exit {done.returncode}\n"
    said += done.stdout + done.stderr
    if re.search(r"^Traceback|error\[bug\]", done.stderr, re.MULTILINE):
        return said
    if case.hidden and done.returncode == 0:
        return "passed where it should not: " + said
    if not case.hidden and done.returncode != 0:
        return "failed where it should pass: " + said
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
