"""The same run in several files: a trainer's state beside its TensorBoard events, a copy beside the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from entropylaw.ingest import catalog
from entropylaw.ingest.run import Run
from entropylaw.ingest.segments import is_bookkeeping
from entropylaw.ingest.steps import by_folded_name, folded
from entropylaw.ingest.values import FloatArray
from entropylaw.ingest.wording import shown_path

_FEWEST = 8
# What a console prints of a number.
_PRINTED, _LAST_DIGIT = 5e-3, 1e-4


def without_copies(
    runs: Sequence[Run], supposed: Mapping[str, str]
) -> tuple[list[Run], list[tuple[str, str]]]:
    """Keep of each run the file that says most; return the others' paths with the reason.

    A run is a copy of another one where all that it measures stands there, too: the same values at the same
    steps, in the float32 that some files keep, for columns of the same name, and for its other metrics under
    whatever name.

    Parameters
    ----------
    runs
        In the order in which they were read.
    supposed
        File → the log of which it is a copy by its place and name; such a copy may be short, and printed.

    """
    order = sorted(range(len(runs)), key=lambda index: (*_richness(runs[index]), -index), reverse=True)
    kept: dict[int, list[str]] = {}
    marks: dict[object, list[int]] = {}
    skipped: list[tuple[str, str]] = []
    for index in order:
        run, mark = runs[index], _mark(runs[index])
        whole = supposed.get(run.source.path)
        others = marks.get(mark, []) if whole is None else [i for i in kept if runs[i].source.path == whole]
        for other in others:
            original = runs[other].source
            printed = whole is not None and original.format != run.source.format
            if original.path != run.source.path and _contains(runs[other], run, printed=printed):
                kept[other].append(run.source.path)
                skipped.append((run.source.path, f"{shown_path(original.path)} holds the same run"))
                break
        else:
            kept[index] = []
            if mark is not None:
                marks.setdefault(mark, []).append(index)
    unique = []
    for index, copies in sorted(kept.items()):
        note = f"the same run is in {', '.join(map(shown_path, copies))}: skipped"
        notes = (*runs[index].notes, note) if copies else runs[index].notes
        unique.append(replace(runs[index], notes=notes))
    return unique, skipped


def _mark(run: Run) -> object | None:
    """Return what tells a run from all others; None where its entropy could be anybody's."""
    found = catalog.entropies(tuple(run.columns), catalog.detect(run.names).trainer)
    for match in sorted(found, key=lambda match: match.rank):
        values = run.columns[match.column]
        finite = np.isfinite(values)
        if finite.sum() >= _FEWEST and np.ptp(values[finite]) > 0:
            return run.step[finite].tobytes(), _short(np.abs(values[finite])).tobytes()
    return None


def _contains(whole: Run, part: Run, *, printed: bool) -> bool:
    """Whether all that ``part`` measures is in ``whole``, and nothing of what both have differs."""
    _, mine, theirs = np.intersect1d(whole.step, part.step, return_indices=True)
    names = by_folded_name(whole.columns)
    # Without a known reward, any other column may be one.
    rewarded = any(_richness(part)[:2])
    for column, values in part.columns.items():
        namesake = names.get(folded(column))
        needed = catalog.is_metric(column) or not rewarded
        if is_bookkeeping(column) or not (needed or (namesake and not printed)):
            continue
        own = _unsigned(column, values[theirs])
        lacking = needed and np.isfinite(values).sum() > np.isfinite(own).sum()
        others = [namesake] if namesake else list(whole.columns)
        full = (_unsigned(other, whole.columns[other][mine]) for other in others)
        if lacking or not any(_agree(one, own, all_of_them=needed, printed=printed) for one in full):
            return False
    return True


def _agree(whole: FloatArray, part: FloatArray, *, all_of_them: bool, printed: bool) -> bool:
    """Whether values are the same where both are there, and those of ``part`` are all there if need be."""
    there = np.isfinite(part)
    both = there & np.isfinite(whole)
    if all_of_them and (there & ~both).any():
        return False
    left, right = _short(whole[both]), _short(part[both])
    if printed:
        return bool((np.abs(left - right) <= _PRINTED * np.abs(left) + _LAST_DIGIT).all())
    return bool((left == right).all())


def _unsigned(column: str, values: FloatArray) -> FloatArray:
    """Some loggers negate the entropy."""
    return np.abs(values) if "entropy" in column.casefold() else values


def _short(values: FloatArray) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):  # what float32 cannot hold is infinite in either copy
        return values.astype(np.float32)


def _richness(run: Run) -> tuple[bool, bool, int, int]:
    """Order runs by what can be made of them: a validation first, then a reward, then columns."""
    trainer = catalog.detect(run.names).trainer
    names = tuple(run.columns)
    validated, rewarded = catalog.validations(names, trainer), catalog.trainings(names, trainer)
    return bool(validated), bool(rewarded), len(names), len(run.step)
