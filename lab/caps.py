"""A cap on tokens as a budget: the share of right answers within each cap, at steps of a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from lab.chains import LENGTHS
from lab.comparisons import Groups
from lab.markdown import table

ARM = "chain"


def caps(by_arm: Groups, folder: Path) -> str:
    """A row per counted step: mean tokens, and accuracy with every cap; means over the runs."""
    paths = [folder / run.name / "counts.parquet" for run in by_arm.get(ARM, [])]
    found = [within(path) for path in paths if path.exists()]
    if not found:
        return f"Not made yet: `{ARM}`."
    steps, rows = found[0][0], np.mean([each for _, each in found], axis=0)
    head = ("step", "tokens per answer", *(f"≤ {cap} tokens" for cap in LENGTHS))
    cells = [
        (str(step), f"{row[0]:.1f}", *(f"{x:.3f}" for x in row[1:]))
        for step, row in zip(steps, rows, strict=True)
    ]
    return f"Accuracy, `{ARM}`, {len(found)} of its runs:\n\n{table(head, cells)}"


def within(path: Path) -> tuple[list[int], NDArray[np.float64]]:
    """Steps, and per step the mean tokens of an answer and the share that is right within every cap."""
    counts = {name: np.array(column) for name, column in pq.read_table(path).to_pydict().items()}
    steps, rows = sorted(set(counts["step"].tolist())), []
    for step in steps:
        here = counts["step"] == step
        n, tokens, right = (counts[name][here] for name in ("n", "tokens", "correct"))
        shares = [np.sum(n * (right & (tokens <= cap))) / n.sum() for cap in LENGTHS]
        rows.append([np.sum(n * tokens) / n.sum(), *shares])
    return steps, np.array(rows)
