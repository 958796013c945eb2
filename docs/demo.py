"""Make the files of ``entropylaw demo`` from ``data/lab2``: ``python docs/demo.py``.

A run is a CSV file with the columns that a trainer would log, a table a Parquet file of some of its rows.
To add one, add it here; whatever is in the folder is shipped and written.
"""

from __future__ import annotations

import ast
import contextlib
import csv
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
LAB, DEMO = ROOT / "data" / "lab2", ROOT / "entropylaw" / "demo"

RUNS = ("grpo_s0", "grpo_s1", "clip_cov_s0")
COLUMNS = (
    "step",
    "entropy",
    "entropy_planning",
    "entropy_execution",
    "entropy_semantic",
    "response_length",
    "reward_mean",
    "val_acc",
)
PROMPTS = 16
"""Prompts of the table of tokens, of 64."""


def main() -> None:
    DEMO.mkdir(exist_ok=True)
    for name in RUNS:
        (DEMO / f"{name}.csv").write_text(log(name), encoding="utf-8")
    options = {"compression": "zstd", "compression_level": 19, "use_dictionary": DICTIONARIES}
    pq.write_table(tokens(), DEMO / "tokens.parquet", column_encoding=ENCODINGS, **options)
    pq.write_table(samples(), DEMO / "samples.parquet", compression="zstd", compression_level=19)
    notebook = DEMO / "notebook.ipynb"
    notebook.write_text(executed(notebook), encoding="utf-8")
    for path in sorted(DEMO.iterdir()):
        print(f"{path.relative_to(ROOT)}, {path.stat().st_size / 1e3:.0f} kB")


def log(name: str) -> str:
    """The log of a run as CSV, six digits of each number."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    table = pq.read_table(LAB / name / "metrics.parquet", columns=list(COLUMNS))
    for row in table.to_pylist():
        writer.writerow("" if value is None or value != value else f"{value:.6g}" for value in row.values())
    return text.getvalue()


def executed(path: Path) -> str:
    """A notebook with what its cells show, run in order and in its folder: they are plain Python."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    with contextlib.chdir(path.parent):
        for number, cell in enumerate(cells, 1):
            cell["execution_count"], cell["outputs"] = (
                number,
                list(shown("".join(cell["source"]), names, number)),
            )
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def shown(source: str, names: dict[str, Any], number: int) -> Iterator[dict[str, Any]]:
    """The outputs of a cell: what it prints, and the value of its last line."""
    tree, printed, value = ast.parse(source), io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    if text := printed.getvalue():
        yield {"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_().splitlines(keepends=True)
        yield {"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"}


ENCODINGS = dict.fromkeys(("entropy", "logprob"), "BYTE_STREAM_SPLIT")
DICTIONARIES = ["step", "prompt", "sample", "position", "token"]


def tokens() -> pa.Table:
    """The table of tokens of the first run, of some prompts."""
    table = pq.read_table(LAB / RUNS[0] / "tokens.parquet")
    return table.filter(pc.less(table["prompt"], PROMPTS))


def samples() -> pa.Table:
    """The counts of distinct answers of the first run at all of their steps, of some prompts."""
    table = pq.read_table(LAB / RUNS[0] / "counts.parquet")
    few = pc.is_in(table["prompt"], pa.array(pc.unique(table["prompt"]).to_pylist()[:PROMPTS], pa.int16()))
    return table.filter(few).select(["step", "prompt", "answer", "n", "correct", "tokens"])


if __name__ == "__main__":
    main()
