"""Files that are made to take long or much memory: small, and each after one way of reading."""

import gzip
import json
from functools import cache

from tests.fuzz.corpus import Sample
from tests.unit import test_ingest_tensorboard_csv as tensorboard
from tests.unit.test_ingest_trl_console import entry

_TABLE = "step,entropy,reward\n"


def _html(text: str) -> str:
    output = {"output_type": "display_data", "data": {"text/html": ["<table>" + text]}}
    return json.dumps({"cells": [{"cell_type": "code", "outputs": [output]}], "nbformat": 4})


def _validations() -> str:
    many = {f"val-core/d{number}/acc/mean@1": 0.5 for number in range(200)}
    return "".join(json.dumps({"step": step, "actor/entropy": 0.5, **many}) + "\n" for step in range(100))


def _chart() -> str:
    labels = ["a - " * 200 + str(number) for number in range(500)]
    header = ",".join(f'"{label}","{label}__MIN","{label}__MAX"' for label in labels)
    return f'"Step",{header}\n1{",1,1,1" * len(labels)}\n'


#: Pieces of what TRL prints and of TensorBoard's curves: quadratic in their number, it would take minutes.
_ENTRIES = (
    *("{'a': ", "{'loss': 0.0, ", "{'loss': '", "{'loss': a(", "{'loss': [1, ", "{'loss': {", "{'loss': 1"),
    *("1%|", " 1%| | 1/2 [x]", "\r          \r", "\x1b[1", "\n\x1b[A", ":    ", " ", "'", "\\'"),
)
_POINTS = ("[", "[ ", "[1", "[1.7e9,", "[[1.7e9, 1, ", "1", " ", "Wall time,", '"', "run-x-tag-")


def _between(unit: str) -> str:
    return f"{entry(1)}\n{unit * (500_000 // len(unit))}\n{entry(2)}\n"


def _notebooks() -> tuple[str, ...]:
    return (
        *('{"cells": ' + "[" * 99_999, '{"cells": [' + "{}," * (1 << 20) + '{}], "nbformat": 4}'),
        *('{"cells": [' + "[]," * (1 << 22) + '[]], "nbformat": 4}', '{"cells": 5, "nbformat": 4}'),
        *(
            '{"cells": [], "nbformat": 4' + "9" * 9999 + "}",
            '{"worksheets": [1, {"cells": 2}], "nbformat": 3}',
        ),
        '{"cells": [1, {"outputs": [2, {"output_type": "stream"}, {"output_type": "pyout", "data": 3}]}]}',
        '{"cells": [{"outputs": [{"output_type": "stream", "text": "\\ud800 step:1 - a:b\\n"}]}]}',
        *(
            _html("<tr>" * 50_000 + "<th " * 50_000 + "<td>" + "x" * 99_999 + "</table>"),
            _html("<!--" * 50_000),
        ),
        _html("<table" * 100_000),
    )


def _texts() -> dict[str, tuple[str, str]]:
    """Name of the file and its text, by what is hostile about it."""
    return {
        "a key a line": ("x.jsonl", "".join(f'{{"step": {i}, "k{i}": 1}}\n' for i in range(10_000))),
        "a run a row": ("x.csv", "run," + _TABLE + "".join(f"r{i},1,0.5,0.1\n" for i in range(20_000))),
        "steps that fall": ("x.csv", _TABLE + "".join(f"{20_000 - i},0.5,{i}\n" for i in range(20_000))),
        "steps like a saw": (
            "x.csv",
            _TABLE + "".join(f"{i % 100 + i // 100},0.5,{i}\n" for i in range(20_000)),
        ),
        "many validations": ("x.jsonl", _validations()),
        "one name for all columns": ("x.csv", f"step{',c' * 10_000}\n1{',0.1' * 10_000}\n"),
        "many columns": (
            "x.csv",
            f"step,{','.join(f'c{number}' for number in range(10_000))}\n1{',0.1' * 10_000}\n",
        ),
        "a name without end": ("x.csv", f"step,actor/entropy,val-core/{'a/mean@1' * 3000}x\n1,0.5,0.1\n"),
        "steps beyond numbers": (
            "x.csv",
            _TABLE + "".join(f"{step},0.5,0.1\n" for step in ("1e308", "-1e308", "1e-308", "0", "9" * 300)),
        ),
        "an entropy beyond float32": ("x.csv", _TABLE + "1,5e99,0.1\n2,0.5,0.2\n3,0.4,0.3\n"),
        "steps on a line": ("x.log", "step:1 - a:1 - " * 20_000),
        "braces that stay open": ("x.log", "{'loss': 0.1, \n" * 20_000),
        "entries on one line": ("x.log", "{'loss': 0.1, 'epoch': 0.1}" * 20_000),
        "bars on one line": (
            "x.log",
            "\r 50%|## | 1/2 [00:01<00:01]" * 20_000 + "\n{'loss': 0.1, 'reward': 0.1, 'epoch': 0.1}\n",
        ),
        "rows without a table": ("x.log", "│\n" * 20_000 + "Train step 1/2 done.\n" + "│ a │ 1 │\n" * 20_000),
        "tables without an end": ("x.log", "Step 1\n┏━┳━┓\n" * 10_000),
        "panels without an end": ("x.log", "╭── Metrics ──╮\n│ a" * 10_000),
        "dicts without an end": ("x.log", "INFO - Step 1: \n{\n" * 10_000),
        "rollouts of values that are none": (
            "x.log",
            "rollout 1: {'rollout/raw_reward': 0.5, " + "'a': ?, " * 50_000,
        ),
        "rollouts in rollouts": ("x.log", "rollout 1: {'" * 50_000),
        "names that stay open": ("x.log", "rollout 1: {'rollout/a': " + ", 'x" * 100_000),
        "metrics that go deep": ("x.log", 'metrics_tag: {"step": 1, "metrics": ' + '{"a":' * 100_000),
        "a metric of digits": ("x.log", 'metrics_tag: {"step": 1, "metrics": {"a": ' + "9" * 500_000 + "}}"),
        "a list of metrics": ("x.log", 'metrics_tag: {"step": 1, "metrics": [' + "0," * 1_000_000 + "0]}"),
        "bars of a table": ("x.log", "Train step 1/2 done.\n" + "│" * 500_000),
        "headings of tables": ("x.log", "Train step 1/2 done.\n" * 50_000 + "│"),
        "prefixes that stay open": ("x.log", "(" * 500_000 + "pid=1) Step 1\nactor:\n  a: 1"),
        **{f"entries {n}": ("x.log", _between(unit)) for n, unit in enumerate(_ENTRIES)},
        **{
            f"points {n}": (tensorboard.NAME, tensorboard.CSV + unit * 200_000)
            for n, unit in enumerate(_POINTS)
        },
        **{
            f"points in JSON {n}": (tensorboard.NAME, tensorboard.JSON[:-1] + unit * 200_000)
            for n, unit in enumerate(_POINTS)
        },
        "parts without an end": (
            "x.log",
            "SUCCESS Step 1 | 5.1s | Loss 0.1 | Entropy 0.4 | Mismatch KL 0.1 " + "| a " * 50_000,
        ),
        "status without an end": ("x.log", "✨ Global step 1: {'reward': 0.5, " * 10_000),
        "a block that goes deep": (
            "x.log",
            "Step 1\nactor:\n" + "".join(" " * i + "a:\n" for i in range(1, 1000)),
        ),
        "a notebook that goes deep": ("x.ipynb", '{"cells": [' + "[" * 50_000),
        "a notebook with rows": ("x.ipynb", _html("<tr><td>" * 30_000)),
        "a state that goes deep": ("trainer_state.json", '{"log_history": [' + '{"step": 1, "a": ' * 20_000),
        **{f"a notebook of {n}": ("x.ipynb", text) for n, text in enumerate(_notebooks())},
        "quotes": ("x.csv", f'{_TABLE}1,"0.5' + '""' * 50_000),
        "digits": ("x.jsonl", '{"step": 1, "entropy": ' + "9" * 100_000 + "}\n"),
        "labels": ("x.csv", _chart()),
    }


def _binary() -> dict[str, tuple[str, bytes]]:
    return {
        "packed twice": ("x.csv.gz", gzip.compress(gzip.compress(_TABLE.encode()))),
        "packed NULs": ("x.csv.gz", gzip.compress(bytes(30_000_000))),
        "a packed blank": ("x.csv.gz", gzip.compress(b" " * 5_000_000)),
        "a footer without end": ("x.parquet", b"PAR1" + b"\xff" * 5000 + b"\xff\xff\xff\x7fPAR1"),
        "pages of ones": ("x.db", b"SQLite format 3\0" + b"\xff" * 5000),
    }


@cache
def hostile() -> dict[str, Sample]:
    """All of them, by what is hostile about them."""
    files = _binary() | {name: (file, text.encode()) for name, (file, text) in _texts().items()}
    return {name: Sample(format="", files={file: data}) for name, (file, data) in files.items()}
