"""One run in several files: parts are joined, and one of several files with the same run is kept.

Parts are charts of one metric, or logs of two processes; copies are a trainer's state and its TensorBoard
events.
"""

from __future__ import annotations

import hashlib
import re
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, filterfalse
from operator import attrgetter, itemgetter
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entropylaw.arrays import BoolArray, FloatArray
from entropylaw.escaping import counted, listing, quoted_path, shown
from entropylaw.logs import catalog
from entropylaw.logs.catalog import GREATEST, LEAST
from entropylaw.logs.runs import AXES_DIFFER, Run, added
from entropylaw.logs.runs.splitting import SUPERSEDED, is_bookkeeping
from entropylaw.logs.runs.step_column import by_folded_name, folded
from entropylaw.logs.source import Source
from entropylaw.logs.sources.assemble import display_name, is_generic_folder

#: A log that begins after this many spacings of its steps gets the note that its beginning is missing.
LATE = 5

UNLIKE_POINTS = "average over several steps, where another chart has a single value"

# What a file's name has behind that of the run that it resumes.
_RESUMED = re.compile(
    r"[-_. (]*(?:resum(?:e|ed|ing)|continued?|restart(?:ed)?)[-_.]?\d{0,2}\)?", re.IGNORECASE
)

# With fewer evaluations, the entropies of two runs may be equal by chance.
_FEWEST_ENTROPIES = 8


def joined(runs: Sequence[Run]) -> tuple[Run, ...]:
    """Join the parts of each run; a complete run, or a part without counterpart, is returned as it is.

    Parts of one name are joined where no value of one contradicts the other; those in different folders
    only where they hold different metrics, because different runs often have the same name.
    """
    merged: list[Run] = []
    for group in _grouped_parts(runs):
        by_axis: dict[str, list[Run]] = {}
        for chart in group:
            by_axis.setdefault(chart.step_column, []).append(chart)
        axes = f"{AXES_DIFFER} ({listing(list(by_axis), 4)}): export both over one"
        for charts in by_axis.values():
            run = _merged(charts)
            merged.append(run if len(by_axis) == 1 else replace(run, notes=(*run.notes, axes)))
    merged = _with_resumes(_join_halves(merged))
    return tuple(_note_late_start(run, merged) for run in merged)


def _grouped_parts(runs: Sequence[Run]) -> list[list[Run]]:
    """The parts of each run, in the order of their first."""
    groups: list[list[Run]] = []
    by_name: dict[str, list[list[Run]]] = {}
    for run in runs:
        namesakes = by_name.setdefault(run.name, []) if run.partial else []
        for group in namesakes:
            if all(_are_compatible(run, member) for member in group):
                group.append(run)
                break
        else:
            groups.append([run])
            namesakes.append(groups[-1])
    return groups


def _folder(run: Run) -> PurePath:
    return PurePath(run.source.path).parent


def _are_compatible(one_part: Run, other_part: Run) -> bool:
    """Whether two parts of one name can be of one run."""
    common = [name for name in one_part.columns if name in other_part.columns and catalog.is_metric(name)]
    if common and _folder(one_part) != _folder(other_part):
        return False
    if one_part.step_column != other_part.step_column:
        return True
    _, mine, theirs = np.intersect1d(one_part.step, other_part.step, return_indices=True)
    for name in common:
        my_values = one_part.columns[name][mine]
        their_values = other_part.columns[name][theirs]
        if ((my_values != their_values) & ~np.isnan(my_values) & ~np.isnan(their_values)).any():
            return False
    return True


def averaged(run: Run, column: str) -> BoolArray:
    """Which points (n,) of a W&B chart are averages: ``NAME__MIN`` below ``NAME__MAX``.

    All False without these columns.
    """
    missing = np.full(len(run.step), np.nan)
    return np.asarray(run.columns.get(column + LEAST, missing) < run.columns.get(column + GREATEST, missing))


def _merged(parts: Sequence[Run]) -> Run:
    """Merge the columns of several files by step; the first file with a value has precedence."""
    head = parts[0]
    if len(parts) == 1:
        return head
    step = np.unique(np.concatenate([file.step for file in parts]))
    columns: dict[str, FloatArray] = {}
    for file in parts:
        at = np.searchsorted(step, file.step)
        for name, values in file.columns.items():
            column = columns.setdefault(name, np.full(len(step), np.nan))
            column[at] = np.where(np.isnan(column[at]), values, column[at])
    files = ", ".join(shown(PurePath(file.source.path).name) for file in parts)
    notes = chain(
        [f"joined by {shown(head.step_column)} from {counted(len(parts), 'file')}: {files}"],
        *(file.notes for file in parts),
    )
    sources = {part.path: part for file in parts for part in file.source.parts or (file.source,)}
    texts = _overlaid(parts[::-1], attrgetter("texts"))
    run = replace(
        head,
        source=whole_source(" + ".join(sources), head.source.format, list(sources.values())),
        step=step,
        columns=columns,
        texts={name: text for name, text in texts.items() if name not in columns},
        dropped=added(*(file.dropped for file in parts)),
        spoiled=_overlaid(parts, attrgetter("spoiled")),
        notes=tuple(dict.fromkeys(notes)),
        unread=tuple(dict.fromkeys(chain.from_iterable(file.unread for file in parts))),
        settings=_overlaid(parts, attrgetter("settings")),
        config=_overlaid(parts, attrgetter("config")),
    )
    return _without_unlike_points(run)


def _overlaid(parts: Sequence[Run], field: Callable[[Run], Mapping[str, Any]]) -> dict[str, Any]:
    """One mapping of those in a field of several runs; the first that has a name gives its value."""
    return dict(ChainMap(*(dict(field(part)) for part in parts)))


def _without_unlike_points(run: Run) -> Run:
    """Leave out averages at steps where other charts have single values: they belong to other steps."""
    metrics = [name for name in run.columns if name + LEAST in run.columns]
    if not metrics:
        return run
    filled = np.array([~np.isnan(run.columns[name]) for name in metrics])
    average = np.array([averaged(run, name) for name in metrics]) & filled
    unlike = average & (filled & ~average).any(axis=0)
    columns = dict(run.columns)
    for metric, bad in zip(metrics, unlike, strict=True):
        for name in (metric, metric + LEAST, metric + GREATEST):
            if bad.any():
                columns[name] = np.where(bad, np.nan, columns[name])
    return replace(run, columns=columns, dropped=added(run.dropped, {UNLIKE_POINTS: int(unlike.sum())}))


def whole_source(path: str, kind: str, parts: Sequence[Source]) -> Source:
    """Return the source of a run that is in several files."""
    digest = hashlib.sha256("".join(source.sha256 for source in parts).encode()).hexdigest()
    shares = [source.unread for source in parts]
    return Source(
        path=path,
        format=kind,
        sha256=digest,
        rows=sum(source.rows for source in parts),
        unread=None if None in shares else max(filter(None, shares), default=0.0),
        parts=tuple(parts),
    )


def _join_halves(runs: list[Run]) -> list[Run]:
    """Join two logs of one training, one with the entropy and one with the reward.

    Trainers that generate and train in separate processes write such logs. The two are joined where they
    count steps by the same name, and are the only candidates in one folder, not counting inner ones whose
    names identify no run.
    """
    halves: dict[bool, list[Run]] = {True: [], False: []}
    for run in runs:
        if run.partial or not catalog.detect((*run.columns, *run.unread)).trainer.halves:
            continue
        has_entropy = bool(catalog.found(run, "entropy"))
        if has_entropy != bool(catalog.found(run, "training", "validation")):
            halves[has_entropy].append(run)
    whole = {id(run): run for run in runs}
    for with_entropy in halves[True]:
        with_reward = _partner(with_entropy, halves[False])
        if with_reward is not None and _partner(with_reward, halves[True]) is with_entropy:
            merged = _merged([with_entropy, whole.pop(id(with_reward))])
            notes = ("entropy and reward are logged by two processes", *merged.notes)
            name = display_name(str(_home(with_entropy) / "log"))
            whole[id(with_entropy)] = replace(merged, name=name, notes=notes)
    return list(whole.values())


def _partner(half: Run, others: Sequence[Run]) -> Run | None:
    """Find the only other half that counts the same steps in the same home."""
    at_home = [run for run in others if run.step_column == half.step_column and _home(run) == _home(half)]
    return at_home[0] if len(at_home) == 1 else None


def _home(run: Run) -> PurePath:
    """The innermost folder of a run's file whose name identifies the run."""
    folder = _folder(run)
    while is_generic_folder(folder.name):
        folder = folder.parent
    return folder


def _with_resumes(runs: Sequence[Run]) -> list[Run]:
    """Join runs that were resumed in another file of their folder, by its name or by equal values.

    A name says it that is the other's with "resumed" or the like behind it; else at least eight steps have to
    be in both, and nothing that both have may differ.
    """
    whole: list[tuple[int, Run]] = []
    for index, run in sorted(enumerate(runs), key=lambda placed: float(placed[1].step[0])):
        for place, (first, other) in enumerate(whole):
            if _resumes(run, other):
                whole[place] = first, _resumed(other, run)
                break
        else:
            whole.append((index, run))
    return [run for _, run in sorted(whole, key=itemgetter(0))]


def _resumes(run: Run, other: Run) -> bool:
    """Whether a run is another one that was resumed."""
    if run.partial or not _goes_on(run, other):
        return False
    named = run.name.startswith(other.name) and _RESUMED.fullmatch(run.name[len(other.name) :])
    common = np.intersect1d(run.step, other.step).size
    return bool(named) or (common >= _FEWEST_ENTROPIES and _are_compatible(run, other))


def _goes_on(run: Run, other: Run) -> bool:
    """Whether a run has the steps behind those of another one in another file of its folder."""
    if not (other.step[0] < run.step[0] and other.step[-1] < run.step[-1]) or len(other.step) < 2:
        return False
    if other.source.path == run.source.path or _folder(other) != _folder(run):
        return False
    spacing = float(np.median(np.diff(other.step)))
    alike = other.step_column == run.step_column and other.columns.keys() == run.columns.keys()
    return alike and bool(run.step[0] <= other.step[-1] + LATE * spacing)


def _resumed(run: Run, rest: Run) -> Run:
    """A run up to where another file goes on with it, and the rest from there."""
    kept = run.step < rest.step[0]
    before = replace(
        run, step=run.step[kept], columns={name: values[kept] for name, values in run.columns.items()}
    )
    again = int(np.count_nonzero(~kept))
    note = f"resumed run: from step {rest.step[0]:g} on it is in {shown(PurePath(rest.source.path).name)}"
    joined = _merged([before, rest])
    return replace(
        joined, notes=(*joined.notes, note), dropped=added(joined.dropped, {SUPERSEDED: again}), words={}
    )


def _note_late_start(run: Run, others: Sequence[Run]) -> Run:
    """Note that a log begins late, and which other file of its folder it may continue.

    Seeds begin at the same step; a resumed job that opens a new file begins at the step of its checkpoint.
    Without evidence of a resume, they stay two runs.
    """
    if run.step[0] <= 0 or len(run.step) < 2:
        return run
    spacing = float(np.median(np.diff(run.step)))
    if run.step[0] <= LATE * spacing:
        return run
    note = f"the log begins at step {run.step[0]:g}: what came before is not in it"
    if other := next((other for other in others if _goes_on(run, other)), None):
        name = PurePath(other.source.path).name
        note += (
            f"; {shown(name)} next to it has steps {other.step[0]:g} to {other.step[-1]:g}: if this is the "
            "same run resumed, append the one file to the other"
        )
    return replace(run, notes=(*run.notes, note))


def without_copies(
    runs: Sequence[Run], supposed: Mapping[str, str]
) -> tuple[list[Run], list[tuple[str, str]]]:
    """Keep the file with the most information for each run; return the others' paths with the reason.

    A run is a copy if another run has all of its metrics: equal values at equal steps, compared in float32
    because some files store no more. Columns of the same name are compared, and a metric without one with
    every column.
    ``supposed`` maps a file to the log whose copy it is by folder and name; such a copy may end earlier, and
    be a console log with rounded numbers.
    """
    order = sorted(range(len(runs)), key=lambda index: (*_richness(runs[index]), -index), reverse=True)
    copies_of: dict[int, list[str]] = {}
    marks: dict[object, list[int]] = {}
    skipped: list[tuple[str, str]] = []
    for index in order:
        run = runs[index]
        mark = _mark(run)
        whole = supposed.get(run.source.path)
        originals = marks.get(mark, [])
        if whole is not None:
            originals = [i for i in copies_of if runs[i].source.path == whole]
        for candidate in originals:
            original = runs[candidate].source
            printed = whole is not None and original.format != run.source.format
            if original.path != run.source.path and _contains(runs[candidate], run, printed=printed):
                copies_of[candidate].append(run.source.path)
                skipped.append((run.source.path, f"{quoted_path(original.path)} holds the same run"))
                break
        else:
            copies_of[index] = []
            if mark is not None:
                marks.setdefault(mark, []).append(index)
    unique = []
    for index, copies in sorted(copies_of.items()):
        run = runs[index]
        if copies:
            run = replace(
                run, notes=(*run.notes, f"the same run is in {', '.join(map(quoted_path, copies))}: skipped")
            )
        unique.append(run)
    return unique, skipped


def _mark(run: Run) -> object | None:
    """Return a value that is equal for copies of a run; None where its entropy does not identify it."""
    for match in catalog.found(run, "entropy"):
        values = run.columns[match.column]
        finite = np.isfinite(values)
        if finite.sum() >= _FEWEST_ENTROPIES and np.ptp(values[finite]) > 0:
            return run.step[finite].tobytes(), _as_float32(np.abs(values[finite])).tobytes()
    return None


def _contains(whole: Run, part: Run, *, printed: bool) -> bool:
    """Whether all metrics of ``part`` are in ``whole``, and nothing that both have differs."""
    _, mine, theirs = np.intersect1d(whole.step, part.step, return_indices=True)
    names = by_folded_name(whole.columns)
    # If no reward is known, any other column may be one.
    rewarded = any(_richness(part)[:2])

    def agree(name: str, values_of_part: FloatArray, *, all_of_them: bool) -> bool:
        """Whether values are equal where both runs have them, and ``whole`` has all, with ``all_of_them``."""
        full = np.full(len(values_of_part), np.nan)
        full[theirs] = _unsigned(whole, name)[mine]
        both = np.isfinite(values_of_part) & np.isfinite(full)
        left, right = _as_float32(full[both]), _as_float32(values_of_part[both])
        # A console prints few digits of a number.
        same = np.abs(left - right) <= 5e-3 * np.abs(left) + 1e-4 if printed else left == right
        differs = np.isfinite(values_of_part) & ~both & all_of_them
        differs[both] = ~same
        return not differs.any()

    for column in filterfalse(is_bookkeeping, part.columns):
        namesake = names.get(folded(column))
        needed = catalog.is_metric(column) or not rewarded
        if needed or (namesake and not printed):
            values_of_part = _unsigned(part, column)
            others = [namesake] if namesake else whole.columns
            if not any(agree(name, values_of_part, all_of_them=needed) for name in others):
                return False
    return True


def _unsigned(run: Run, column: str) -> FloatArray:
    """Return a column, an entropy without the sign that some loggers reverse."""
    values = run.columns[column]
    return np.abs(values) if "entropy" in column.casefold() else values


def _as_float32(values: FloatArray) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):  # what float32 cannot hold is infinite in either copy
        return values.astype(np.float32)


def _richness(run: Run) -> tuple[bool, bool, int, int]:
    """Order runs by their information: a validation first, then a reward, then the number of columns."""
    validated, rewarded = (bool(catalog.found(run, role)) for role in ("validation", "training"))
    return validated, rewarded, len(run.columns), len(run.step)
