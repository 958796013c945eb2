"""Ways in which a run is hidden: in its records, lines, file or document, and in other shapes of records."""

import csv
import gzip
import io
import json
import math
import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Record = dict[str, Any]
N = 40


def records(good: bool, variant: int, number: int = N) -> list[Record]:
    """A run that follows the law, with a ceiling of 0.8 or of 0.3, over so many steps."""
    noise = random.Random(1000 + variant)
    a, b = (0.4, 1.2) if good else (0.2, 0.5)
    rows = []
    for step in range(1, number + 1):
        entropy = math.exp(-step * N / number / (18 + variant)) + 0.02
        reward = b - a * math.exp(entropy) + noise.gauss(0, 0.004)
        rows.append({"step": step, "entropy": round(entropy, 6), "reward": round(reward, 6)})
    return rows


def comma(rows: list[Record], delimiter: str = ",") -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, dict.fromkeys(name for row in rows for name in row), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def parquet(rows: list[Record]) -> bytes:
    """Columns have one type: a text or a flag makes all of it text, and lists are left out."""
    cells = {name: [row.get(name) for row in rows] for row in rows for name in row}
    for name, column in cells.items():
        column = [None if isinstance(cell, list | dict) else cell for cell in column]
        if any(isinstance(cell, str | bool) for cell in column):
            column = [None if cell is None else str(cell) for cell in column]
        cells[name] = column
    pq.write_table(pa.table(cells), sink := io.BytesIO())
    return sink.getvalue()


def console(rows: list[Record]) -> bytes:
    """Verl's, which has a name for each metric and none for a run."""
    line = "step:{step} - actor/entropy:{entropy} - critic/score/mean:{reward}\n"
    return "".join(line.format(**row) for row in rows).encode()


def jsonl(rows: list[Record]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


WRITERS: dict[str, Callable[[list[Record]], bytes]] = {
    ".jsonl": jsonl,
    ".json": lambda rows: json.dumps(rows, indent=1).encode(),
    ".csv": comma,
    ".tsv": lambda rows: comma(rows, "\t"),
    ".parquet": parquet,
    ".log": console,
}

# What becomes of the records of a run within a file of several.
STEPS = (
    *(None, math.nan, "", "abc", "n/a", math.inf, -math.inf, 1e300, [1], {"a": 1}, True),
    *("2026-01-01", "1 000"),
)
METRICS = (None, math.nan, "", "abc", math.inf, -1e300)


def with_cell(rows: list[Record], name: str, cell: object) -> list[Record]:
    return [{**row, name: cell} for row in rows]


def _renamed(rows: list[Record], name: str) -> list[Record]:
    return [{name if key == "step" else key: cell for key, cell in row.items()} for row in rows]


ROWS: dict[str, Callable[[list[Record], random.Random], list[Record]]] = {
    "no step": lambda rows, _: [{key: row[key] for key in row if key != "step"} for row in rows],
    "bad step": lambda rows, rng: with_cell(rows, "step", rng.choice(STEPS)),
    "other step": lambda rows, rng: _renamed(rows, rng.choice(["when", "Step ", "epoch", "timestamp"])),
    "bad metric": lambda rows, rng: with_cell(rows, rng.choice(["entropy", "reward"]), rng.choice(METRICS)),
    "few": lambda rows, rng: rows[: rng.randint(1, 4)],
    "as is": lambda rows, _: rows,
}

# What becomes of its lines.
BEFORE = (b"x", b"2026-01-01 ", b"\x00", b"//", b"\xff", b"[", b'"')
AFTER = (b",1,2,3", b"}", b", {", b"\x00\x00", b"]")
LINES: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "cut ends": lambda line, rng: line[: -rng.randint(1, 12)],
    "cut starts": lambda line, rng: line[rng.randint(1, 20) :],
    "prefixed": lambda line, rng: rng.choice(BEFORE) + line,
    "longer": lambda line, rng: line + rng.choice(AFTER),
    "NUL": lambda line, _: b"\0" * len(line),
}

# What becomes of a whole file.
FILES: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "truncated": lambda data, rng: data[: rng.randint(0, len(data) * 3 // 4)],
    "headless": lambda data, rng: data[rng.randint(1, len(data) // 2) :],
    "noise": lambda data, rng: rng.randbytes(len(data)),
    "zeros": lambda data, _: bytes(len(data)),
    "spaces": lambda data, _: b" \n" * (len(data) // 2),
    "emptied": lambda data, _: b"",
    "no entropy": lambda data, _: data.replace(b"entropy", b"ent"),
    "other names": lambda data, _: data.replace(b"entropy", b"ent").replace(b"reward", b"acc"),
    "no step either": lambda data, _: data.replace(b"entropy", b"ent").replace(b"step", b"when"),
    "packed": lambda data, _: gzip.compress(data, mtime=0),
    "half packed": lambda data, _: gzip.compress(data, mtime=0)[: len(data) // 5],
    "UTF-16": lambda data, _: data.decode("latin-1").encode("utf-16"),
}

# Keys of a run, and what stands around them: names of trainers, of arms, of other
# metrics. None of this is taken from the package.
SHORT = ("ent", "H", "ret", "R", "belohnung", "entropie")
ENTROPIES = ("entropy", "actor/entropy", "policy_entropy", "mean_token_entropy", "Entropy", *SHORT[:2])
REWARDS = ("reward", "critic/score/mean", "val/acc", "accuracy", "score", "Reward", *SHORT[2:5])
COUNTERS = ("step", "global_step", "it", "epoch", "when", "_step", "training/global_step")
AROUND = ("B", "runs", "data", "clip_cov", "seed_3", "lr-1e-6", "kl", "max", "metrics", "", "αβ", "x" * 300)
BEHIND = tuple(word for word in AROUND if word not in ("", "max", "kl"))
SEPARATORS = ("/", ".", "_", "-", ":", " ", "|", "::", "@")
PAIRS = (("key", "value"), ("name", "v"), ("tag", "scalar"))
FLAT, NESTED = ("before", "behind"), ("within", "list", "text", "named", "medium", "by step")


def _reshape(row: Record, shape: str, seed: int) -> Record:
    """A record in another shape, the same for all records of a run."""
    rng = random.Random(seed)
    word, words = rng.choice(AROUND), [rng.choice(AROUND) for _ in range(rng.randint(1, 4))]
    match shape:
        case "before":
            prefix = "".join(word + rng.choice(SEPARATORS) for word in words)
            return {prefix + key: cell for key, cell in row.items()}
        case "behind":  # an empty suffix would leave it as it is
            suffix = rng.choice(SEPARATORS) + rng.choice(BEHIND)
            return {key + suffix: cell for key, cell in row.items()}
        case "within":
            for key in words:
                row = {key: row}
            return row
        case "list":
            value: Any = row
            for _ in words:
                value = [value]
            return {word: value}
        case "text":  # another program has written it: one that names an entropy
            return {rng.choice(["message", "msg", "B", "text"]): json.dumps({**row, "entropy": 0.5})}
        case "named":
            first, second = rng.choice(PAIRS)
            return {"scalars": [{first: key, second: cell} for key, cell in row.items()]}
        case "medium":
            return {"B": {"_type": rng.choice(["run", "table", "histogram"]), **row}}
        case _:  # the step is a key
            (_, step), *metrics = row.items()
            return {word: {str(step): dict(metrics)}}


def reshaped(rng: random.Random, *, flat: bool) -> tuple[list[Record], str]:
    """The records of a bad run with other keys, and one shape or two over one another; and their names."""
    names = {"step": rng.choice(COUNTERS), "entropy": rng.choice(ENTROPIES), "reward": rng.choice(REWARDS)}
    shapes = [rng.choice(FLAT if flat else FLAT + NESTED)]
    shapes += [rng.choice(("before", "within"))] if not flat and rng.random() < 0.3 else []
    # One metric is enough, but not as a value, nor with any word behind it.
    if not {*names.values()} & {*SHORT} and not {*shapes} & {"named", "behind"} and rng.random() < 0.3:
        names.pop(rng.choice(["entropy", "reward"]))
    rows = [{names[key]: cell for key, cell in row.items() if key in names} for row in records(False, 7)]
    for shape in shapes:
        seed = rng.randrange(1 << 30)
        rows = [_reshape(row, shape, seed) for row in rows]
    return rows, f"{', '.join(names.values())} {' '.join(shapes)}"


def _with_run(body: Record, **changes: Any) -> Record:
    return {**body, "runs": [{**run, **changes} for run in body["runs"]]}


def _with_answer(body: Record, **changes: Any) -> Record:
    return _with_run(body, result={**body["runs"][0]["result"], **changes})


def _with_now(body: Record, **changes: Any) -> Record:
    state = body["runs"][0]["result"]["state"]
    return _with_answer(body, state={**state, "now": {**state["now"], **changes}})


def _with_law(body: Record, **changes: Any) -> Record:
    return _with_answer(body, law={**body["runs"][0]["result"]["law"], **changes})


# What becomes of a stored document of a run.
DOCUMENTS: dict[str, Callable[[Record], Any]] = {
    "as it is": lambda body: body,
    "no runs": lambda body: {**body, "runs": []},
    "runs null": lambda body: {**body, "runs": None},
    "no runs key": lambda body: {key: value for key, value in body.items() if key != "runs"},
    "other version": lambda body: {**body, "schema": "entropylaw/fit/99"},
    "other kind": lambda body: {**body, "schema": "entropylaw/phases/1"},
    "no schema": lambda body: {key: value for key, value in body.items() if key != "schema"},
    "answer null": lambda body: _with_run(body, answer=None),
    "answer and refusal": lambda body: _with_run(body, refusal={"slug": "x", "message": "m", "hint": "h"}),
    "value outside": lambda body: _with_now(body, value=0.9),
    "no interval": lambda body: _with_now(body, low=None, high=None),
    "turned interval": lambda body: _with_now(body, low=0.9, high=0.8, value=0.85),
    "text for a number": lambda body: _with_now(body, value="0.9"),
    "infinite": lambda body: _with_now(body, high=1e999),
    "level": lambda body: _with_now(body, level=0.0),
    "fails for nothing": lambda body: _with_law(body, verdict="fails", why=None),
    "neither a law nor a state": lambda body: _with_answer(body, law=None, state=None),
    "list": lambda body: [body],
}
