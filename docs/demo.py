"""Make the files of ``entropylaw demo`` from ``data/lab2``, with nbclient: ``python docs/demo.py``.

A run is a CSV file with the columns that a trainer would log, a table a Parquet file of some of its rows.
To add one, add it here; whatever is in the folder is shipped and written.
"""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ROOT = Path(__file__).parent.parent
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
    execute(DEMO / "notebook.ipynb")
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


def execute(path: Path) -> None:
    """Run a notebook in its folder, and store what its cells show."""
    import nbclient
    import nbformat

    os.environ["PYTHONPATH"] = str(ROOT)
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook, record_timing=False, resources={"metadata": {"path": path.parent}}
    )
    client.execute()
    for cell in notebook.cells:
        cell.metadata.clear()  # times
    notebook.metadata["language_info"] = {"name": "python"}
    nbformat.write(notebook, path)


ENCODINGS = dict.fromkeys(("entropy", "logprob"), "BYTE_STREAM_SPLIT")
DICTIONARIES = ["step", "prompt", "sample", "position", "token"]


def tokens() -> pa.Table:
    """The table of tokens of the first run, of some prompts."""
    table = pq.read_table(LAB / RUNS[0] / "tokens.parquet")
    return table.filter(pc.less(table["prompt"], PROMPTS))


if __name__ == "__main__":
    main()
