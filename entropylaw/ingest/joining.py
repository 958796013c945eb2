"""One run in several files: parts are joined, and of files that hold the same, one is kept.

Parts are charts of one metric, or logs of two processes; copies a trainer's state and its TensorBoard events.
"""

from __future__ import annotations

import hashlib
from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath

import numpy as np
from numpy.typing import NDArray

from entropylaw.ingest import catalog
from entropylaw.ingest.assemble import display_name, says_nothing
from entropylaw.ingest.run import Run, added
from entropylaw.ingest.segments import is_bookkeeping
from entropylaw.ingest.steps import by_folded_name, folded
from entropylaw.ingest.values import BoolArray, FloatArray
from entropylaw.ingest.wording import counted, listing, shown, shown_path
from entropylaw.results.columns import Source

#: W&B's pages write the least and the greatest of the values behind a point into columns of these names.
LEAST, GREATEST = "__MIN", "__MAX"

#: Spacings of its steps after which a log that begins there is said to lack its beginning.
LATE = 5

UNLIKE_POINTS = "average over several steps beside a single value"
#: How a reader begins the note that the other half of a log is elsewhere.
HALF = "this is the log of"
NO_COUNTERPART = "log call without a step in the other file"

# Evaluations that make an entropy anybody's no longer.
_FEWEST = 8


def joined(runs: Sequence[Run]) -> tuple[Run, ...]:
    """Join the parts of each run; what is whole, or has no counterpart, stays as it is.

    Parts of one name belong together where no value of one contradicts the other; those in different folders
    only where they hold different metrics, for runs of one name are common.
    """
    order: list[list[Run]] = []
    for run in runs:
        key = (True, True, run.name)
        known = (parts for parts in order if (run.partial, parts[0].partial, parts[0].name) == key)
        home = next((parts for parts in known if all(_compatible(run, part) for part in parts)), None)
        if home is None:
            order.append(home := [])
        home.append(run)
    whole = _halves_joined([one for parts in order for one in _parts_joined(parts)])
    by_folder: dict[PurePath, list[Run]] = {}
    for run in whole:
        by_folder.setdefault(_folder(run), []).append(run)
    return tuple(_continuation(run, by_folder[_folder(run)]) for run in whole)


def _folder(run: Run) -> PurePath:
    return PurePath(run.source.path).parent


def _compatible(one: Run, other: Run) -> bool:
    """Whether two parts of one name can be of one run."""
    common = [name for name in one.columns if name in other.columns and catalog.is_metric(name)]
    if common and _folder(one) != _folder(other):
        return False
    if one.step_column != other.step_column:
        return True
    _, mine, theirs = np.intersect1d(one.step, other.step, return_indices=True)
    pairs = [(one.columns[name][mine], other.columns[name][theirs]) for name in common]
    return not any(((left != right) & ~np.isnan(left) & ~np.isnan(right)).any() for left, right in pairs)


def averaged(run: Run, column: str) -> BoolArray:
    """Tell which points of a chart's metric stand for several different values."""
    missing = np.full(len(run.step), np.nan)
    return np.asarray(run.columns.get(column + LEAST, missing) < run.columns.get(column + GREATEST, missing))


def _parts_joined(parts: list[Run]) -> list[Run]:
    """Join the files of one run, if they count the same steps; otherwise they stay apart, and say so."""
    by_axis: dict[str, list[Run]] = {}
    for part in parts:
        by_axis.setdefault(part.step_column, []).append(part)
    if len(by_axis) == 1:
        return [_merged(parts)]
    if (aligned := _aligned(by_axis)) is not None:
        return [_merged(aligned)]
    note = "not joined with the other files of this run, for their x axes differ "
    note += f"({listing(list(by_axis), 4)}): export both over one"
    return [replace(run, notes=(*run.notes, note)) for run in map(_merged, by_axis.values())]


def _aligned(by_axis: Mapping[str, list[Run]]) -> list[Run] | None:
    """Bring charts over W&B's count of log calls to the trainer's step, by a chart that has both."""
    own = [run for axis, listed in by_axis.items() if axis != "_step" for run in listed]
    both = next((run for run in own if "_step" in run.columns), None)
    if "_step" not in by_axis or len(by_axis) != 2 or both is None:
        return None
    place = dict(zip(both.columns["_step"].tolist(), both.step.tolist(), strict=True))
    note = f"log calls turned into {shown(both.step_column)} by {shown(PurePath(both.source.path).name)}"
    moved = []
    for run in by_axis["_step"]:
        step = np.array([place.get(call, np.nan) for call in run.step.tolist()])
        known = ~np.isnan(step)
        if not known.any():
            return None
        columns = {name: values[known] for name, values in run.columns.items()}
        dropped = added(run.dropped, {NO_COUNTERPART: int((~known).sum())})
        run = replace(run, columns=columns, dropped=dropped, notes=(*run.notes, note))
        moved.append(replace(run, step=step[known], step_column=both.step_column))
    return [*own, *moved]


def _merged(parts: Sequence[Run]) -> Run:
    """Put the columns of several files side by side, by step; the first file with a value has it."""
    if len(parts) == 1:
        return parts[0]
    step = np.unique(np.concatenate([part.step for part in parts]))
    columns: dict[str, FloatArray] = {}
    for part in parts:
        at = np.searchsorted(step, part.step)
        for name, values in part.columns.items():
            column = columns.setdefault(name, np.full(len(step), np.nan))
            column[at] = np.where(np.isnan(column[at]), values, column[at])
    sources = {one.path: one for part in parts for one in (part.source.parts or (part.source,))}
    source = whole_source(" + ".join(sources), parts[0].source.format, tuple(sources.values()))
    files = [shown(PurePath(part.source.path).name) for part in parts]
    note = f"joined by {shown(parts[0].step_column)} from {counted(len(parts), 'file')}: {', '.join(files)}"
    run = replace(
        parts[0],
        source=source,
        step=step,
        columns=columns,
        texts={name: cell for part in parts for name, cell in part.texts.items() if name not in columns},
        dropped=added(*(part.dropped for part in parts)),
        notes=tuple(dict.fromkeys((note, *(note for part in parts for note in part.notes)))),
        unread=tuple(dict.fromkeys(name for part in parts for name in part.unread)),
        settings=dict(ChainMap(*(dict(part.settings) for part in parts))),
    )
    metrics = [name for name in columns if name + LEAST in columns]
    there = np.array([~np.isnan(columns[name]) for name in metrics], dtype=bool)
    average = np.array([averaged(run, name) for name in metrics], dtype=bool) & there
    # Averages that stand beside single values are taken out: the two are not of the same steps.
    unlike = average & (there & ~average).any(axis=0)
    if not unlike.any():
        return run
    for metric, bad in zip(metrics, unlike, strict=True):
        for name in (metric, metric + LEAST, metric + GREATEST):
            columns[name] = np.where(bad, np.nan, columns[name])
    return replace(run, dropped=added(run.dropped, {UNLIKE_POINTS: int(unlike.sum())}))


def whole_source(path: str, kind: str, parts: tuple[Source, ...]) -> Source:
    """Return the source of a run that is in several files."""
    digest = hashlib.sha256("".join(part.sha256 for part in parts).encode()).hexdigest()
    return Source(path=path, format=kind, sha256=digest, rows=sum(part.rows for part in parts), parts=parts)


def _halves_joined(runs: list[Run]) -> list[Run]:
    """Join two logs of one training, one with the entropy and one with the reward.

    Trainers that generate and train in processes of their own write such. The two belong together where
    they count steps by the same name, lie in one folder or in neighbours, and nothing else does there.
    """
    halves = [(run, _half(run)) for run in runs]
    entropies, rewards = ([run for run, half in halves if half == kind] for kind in ("entropy", "reward"))
    whole = {id(run): run for run in runs}
    for one in entropies:
        other = _partner(one, rewards)
        if other is not None and _partner(other, entropies) is one:
            merged = _merged([one, whole.pop(id(other))])
            folder = _folder(one) if _folder(one) == _folder(other) else _folder(other).parent
            notes = [note for note in merged.notes if not note.startswith(HALF)]
            notes.insert(0, "entropy and reward are logged by two processes")
            whole[id(one)] = replace(merged, name=display_name(str(folder / "log")), notes=tuple(notes))
    return list(whole.values())


def _continuation(run: Run, beside: Sequence[Run]) -> Run:
    """Say of a run that begins within or right after another file of its folder that it may go on with it.

    Seeds begin at the same step; a resumed job that opens a new file begins at the step of its checkpoint.
    Nothing in the files says so for certain, so that they stay two runs.
    """
    spacing = float(np.median(np.diff(run.step))) if len(run.step) > 1 else 0.0
    if run.step[0] <= LATE * spacing or not spacing:
        return run
    note = f"the log begins at step {run.step[0]:g}: what came before is not in it"
    for other in beside:
        first, last, name = other.step[0], other.step[-1], PurePath(other.source.path).name
        goes_on = first < run.step[0] <= last + LATE * spacing and last < run.step[-1]
        alike = other.step_column == run.step_column and other.columns.keys() == run.columns.keys()
        if goes_on and alike and other.source.path != run.source.path:
            note += f"; {shown(name)} beside it has steps {first:g} to {last:g}: if this is the same run "
            note += "resumed, append the one file to the other"
            break
    return replace(run, notes=(*run.notes, note))


def _half(run: Run) -> str | None:
    """Say which half a run is, of a trainer whose logs come in halves; None where it is none."""
    if run.partial or not catalog.detect((*run.columns, *run.unread)).trainer.halves:
        return None
    entropy = bool(catalog.found(run, "entropy"))
    rewarded = bool(catalog.found(run, "training", "validation"))
    return None if entropy == rewarded else "entropy" if entropy else "reward"


def _partner(one: Run, others: Sequence[Run]) -> Run | None:
    """Find the only other half that lies nearest: in the same folder, or in the one above or beside it."""
    alike = [run for run in others if run.step_column == one.step_column]
    beside = [run for run in alike if run.source.path != one.source.path and _folder(run) == _folder(one)]
    found = beside or [run for run in alike if _next(_folder(one), _folder(run))]
    return found[0] if len(found) == 1 else None


def _next(first: PurePath, second: PurePath) -> bool:
    common = first if second.parent == first else second if first.parent == second else first.parent
    # Folders called after runs are different runs.
    unnamed = all(says_nothing(folder.name) for folder in (first, second) if folder != common)
    return unnamed and first != second and common in (second, second.parent)


def without_copies(
    runs: Sequence[Run], supposed: Mapping[str, str]
) -> tuple[list[Run], list[tuple[str, str]]]:
    """Keep of each run the file that says most; return the others' paths with the reason.

    A run is a copy of another one where all that it measures stands there, too: the same values at the same
    steps, in the float32 that some files keep, for columns of the same name, and for its other metrics under
    whatever name. ``supposed`` maps a file to the log of which it is a copy by its place and name; such a
    copy may be short, and printed.
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
    for copies in filter(None, kept.values()):
        copies[:] = [f"the same run is in {', '.join(map(shown_path, copies))}: skipped"]
    notes = ((runs[index], note) for index, note in sorted(kept.items()))
    return [replace(run, notes=(*run.notes, *note)) for run, note in notes], skipped


def _mark(run: Run) -> object | None:
    """Return what tells a run from all others; None where its entropy could be anybody's."""
    for match in catalog.found(run, "entropy"):
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
    both = np.isfinite(part) & np.isfinite(whole)
    left, right = _short(whole[both]), _short(part[both])
    # What a console prints of a number.
    same = np.abs(left - right) <= 5e-3 * np.abs(left) + 1e-4 if printed else left == right
    return bool(same.all()) and not (all_of_them and (np.isfinite(part) & ~both).any())


def _unsigned(column: str, values: FloatArray) -> FloatArray:
    """Some loggers negate the entropy."""
    return np.abs(values) if "entropy" in column.casefold() else values


def _short(values: FloatArray) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):  # what float32 cannot hold is infinite in either copy
        return values.astype(np.float32)


def _richness(run: Run) -> tuple[bool, bool, int, int]:
    """Order runs by what can be made of them: a validation first, then a reward, then columns."""
    validated, rewarded = (bool(catalog.found(run, role)) for role in ("validation", "training"))
    return validated, rewarded, len(run.columns), len(run.step)
