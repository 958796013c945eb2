"""The table of the second edition: every arm, its finished runs, both ends, and what was made to fail."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lab.config import Config
from lab.findings import ends_of, read_columns
from lab.make import left_of
from lab.markdown import MISSING, mean, table
from lab.second import runs


def second_edition(folder: Path) -> str:
    """A sentence with the number of runs that are finished below ``folder``, and one row per arm."""
    configs = runs()
    left = left_of(configs, folder)
    arms: dict[str, list[Config]] = {}
    for config in configs:
        arms.setdefault(config.arm, []).append(config)
    rows = [
        _row(members, [each for each in members if each not in left], folder) for members in arms.values()
    ]
    head = ("arm", "what it is", "runs finished", "H", "R", "failure, from step")
    return f"{len(configs) - len(left)} of {len(configs)} runs are finished.\n\n" + table(head, rows)


def _row(members: list[Config], finished: list[Config], folder: Path) -> tuple[str, ...]:
    """Means over the finished runs of an arm at the first and over the last three evaluations."""
    columns = [read_columns(folder / config.run / "metrics.parquet") for config in finished]
    cells = []
    for name in ("entropy", "val_acc"):
        both = np.array([ends_of(each, name) for each in columns]).reshape(-1, 2)
        cells.append(" → ".join(mean(values) for values in both.T) if finished else MISSING)
    onsets = ", ".join(str(config.lost_at) for config in members)
    failure = f"{members[0].failure}, {onsets}" if members[0].failure else MISSING
    done = f"{len(finished)} of {len(members)}"
    return (f"`{members[0].arm}`", members[0].about, done, *cells, failure)
