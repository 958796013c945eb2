"""A cap on tokens as a budget: the share of right answers within each cap, at steps of a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from lab.chains import LENGTHS
from lab.comparisons import Groups
from lab.markdown import mean, table

ARMS = ("chain", "chain_collapse")


def caps(by_arm: Groups, folder: Path) -> str:
    """A row per arm and counted step: H, mean tokens, and accuracy within every cap; means over the runs."""
    rows = []
    for arm in ARMS:
        runs = [run for run in by_arm.get(arm, []) if (folder / run.name / "counts.parquet").exists()]
        if not runs:
            continue
        found = [within(folder / run.name / "counts.parquet") for run in runs]
        for place, step in enumerate(found[0][0]):
            entropy = [run.columns["entropy"][run.columns["step"] == step][0] for run in runs]
            tokens, *shares = np.array([each[place] for _, each in found]).T
            cells = (mean(np.array(entropy)), mean(tokens, 1), *map(mean, shares))
            rows.append((f"`{arm}`", str(len(runs)), str(step), *cells))
    head = ("arm", "runs", "step", "H", "tokens per answer", *(f"≤ {cap} tokens" for cap in LENGTHS))
    missing = [f"`{arm}`" for arm in ARMS if arm not in by_arm]
    left = f"Not made yet: {', '.join(missing)}." if missing else ""
    return "\n\n".join(filter(None, (table(head, rows) if rows else "", left)))


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
