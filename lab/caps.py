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
    """H, tokens and accuracy within every cap, at the start and both ends; means over runs."""
    rows = []
    for arm in ARMS:
        runs = by_arm.get(arm, ())
        counts = [within(folder / run.name / "counts.parquet") for run in runs]
        steps = counts[0][0] if counts else []
        for place, step in enumerate(steps):
            is_shown = step == steps[-1] or (arm == ARMS[0] and step == steps[0])
            if not is_shown:
                continue
            entropy = [run.columns["entropy"][run.columns["step"] == step][0] for run in runs]
            tokens, *shares = np.array([means[place] for _, means in counts]).T
            rows.append((f"`{arm}`", str(step), mean(np.array(entropy)), mean(tokens, 1), *map(mean, shares)))
    head = ("arm", "step", "H", "tokens", *(f"≤ {cap}" for cap in LENGTHS))
    return table(head, rows) if rows else f"Not made yet: {', '.join(ARMS)}."


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
