"""The same run in several files: a trainer's state beside its TensorBoard events, a copy beside the log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from entropylaw.ingest import catalog
from entropylaw.ingest.run import Run
from entropylaw.ingest.wording import shown_path

_FEWEST = 8


def without_repeats(runs: Sequence[Run]) -> tuple[list[Run], list[tuple[str, str]]]:
    """Keep of each run the file that says most; return the others' paths with the reason.

    Two files hold one run where they have the same entropies at the same steps, in the float32 that some
    of them keep.
    """
    groups: dict[object, list[Run]] = {}
    for run in runs:
        groups.setdefault(_mark(run) or id(run), []).append(run)
    kept: list[Run] = []
    passed: list[tuple[str, str]] = []
    for group in groups.values():
        best = max(group, key=_richness)
        others = [run for run in group if run is not best and run.source.path != best.source.path]
        for run in others:
            passed.append((run.source.path, f"{shown_path(best.source.path)} holds the same run, and more"))
        if others:
            said = (
                f"the same run is in {', '.join(shown_path(run.source.path) for run in others)}: passed over"
            )
            best = replace(best, notes=(*best.notes, said))
        kept += [
            best,
            *(run for run in group if run.source.path == best.source.path and run.name != best.name),
        ]
    order = {run.name + "\0" + run.source.path: index for index, run in enumerate(runs)}
    return sorted(kept, key=lambda run: order[run.name + "\0" + run.source.path]), passed


def _mark(run: Run) -> object | None:
    """Return what tells a run from all others; None where its entropy could be anybody's."""
    found = catalog.entropies(tuple(run.columns), catalog.detect(run.names).trainer)
    for match in sorted(found, key=lambda match: match.rank):
        values = run.columns[match.column]
        finite = np.isfinite(values)
        if finite.sum() >= _FEWEST and np.ptp(values[finite]) > 0:
            with np.errstate(over="ignore"):  # what float32 cannot hold is infinite in either copy
                short = np.abs(values[finite]).astype(np.float32)
            return run.step[finite].tobytes(), short.tobytes()
    return None


def _richness(run: Run) -> tuple[bool, bool, int]:
    """Order runs by what can be made of them: a validation first, then a reward, then columns."""
    trainer = catalog.detect(run.names).trainer
    names = tuple(run.columns)
    validated, rewarded = catalog.validations(names, trainer), catalog.trainings(names, trainer)
    return bool(validated), bool(rewarded), len(names)
