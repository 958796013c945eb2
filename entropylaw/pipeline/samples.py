"""Documents of samples: from tables, and from two that are paired."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from entropylaw.arguments import as_number, as_path
from entropylaw.documents.codec import as_stored
from entropylaw.documents.samples import (
    AtK,
    Fate,
    PairedSamples,
    SamplesDocument,
    SampleTable,
    UnreadTable,
    Unsolved,
)
from entropylaw.errors import InputError, UsageError
from entropylaw.escaping import listing, shown
from entropylaw.pipeline import steps
from entropylaw.results import Estimate
from entropylaw.samples.against import CLASSES, chances, common, critical, on_unsolved, student
from entropylaw.samples.numbers import Counts, pass_at
from entropylaw.samples.options import SampleOptions
from entropylaw.samples.query import number
from entropylaw.samples.run import Sampled, sizes, summarise_tables
from entropylaw.tokens.gather import Unread

FEWEST_EXPECTED = 0.5
"""Right samples of a problem that is just solved, from which on its fate is decided by the samples."""


def summarise_samples(*tables: Any, against: Any = None, **options: Any) -> SamplesDocument:
    """Samples per problem of tables, by the options of ``entropylaw samples`` with underscores.

    >>> document = summarise_samples("step_400.jsonl", against="step_0.jsonl")  # doctest: +SKIP

    ``against`` is a table, a step or ``COLUMN=VALUE``. Raises UsageError ``bad-argument`` for an option of
    another type, and as :func:`document_of`.
    """
    many = ("problem", "by", "only", "k")
    settings: dict[str, Any] = {
        name: (value if isinstance(value, list | tuple) else (value,)) if name in many else value
        for name, value in options.items()
    }
    paths = [as_path(table, "tables") for table in tables]
    base = None
    if isinstance(against, Real):
        as_number(against, "against")
        base = str(against)
    elif against is not None:
        base = as_path(against, "against")
    return document_of(paths, steps.checked(SampleOptions(**settings)), base)


def document_of(
    tables: Sequence[str],
    options: SampleOptions,
    against: str | None = None,
    progress: Callable[[float], None] | None = None,
) -> SamplesDocument:
    """The document of some tables; of one step ``against`` another, or against another table.

    Raises as :func:`entropylaw.samples.run.summarise_tables`; InputError ``no-common-problems``; UsageError
    ``no-such-row``, ``several-rows``.
    """
    sampled = summarise_tables(tables, options, progress=progress)
    notes, comparison = sampled.notes, None
    unread = list(sampled.unread)
    if against is not None:
        comparison, further, others = compared(sampled, against, options, progress)
        notes += further
        unread += others
    return as_stored(
        SamplesDocument(
            tables=tuple(SampleTable(name=name, bytes=size) for name, size in sampled.files),
            unread=tuple(UnreadTable(**asdict(file)) for file in unread),
            **sampled.about,
            groups=sampled.groups,
            level=options.level,
            rows=tuple(sampled.rows),
            t=tuple(student(row["problems"], options.level) for row in sampled.rows),
            notes=notes,
            against=comparison,
        )
    )


def compared(
    sampled: Sampled, against: str, options: SampleOptions, progress: Callable[[float], None] | None
) -> tuple[PairedSamples, tuple[str, ...], list[Unread]]:
    """The last step against another step of the same tables, or the last one of another table.

    Returns notes, too, and what is not read of another table.
    """
    group = against.rpartition("=")[0]
    other, file, notes = sampled, "", tuple[str, ...]()
    unread = list[Unread]()
    # pathlib raises for a name that is too long.
    there = os.path.exists(against)  # noqa: PTH110
    if there or (number(against) is None and group not in sampled.groups):
        other, file = summarise_tables([against], options, progress=progress), f"{Path(against).name}, "
        row, other_row = last_of(sampled), last_of(other)
        notes = tuple(f"of {Path(against).name}: {note}" for note in other.notes if note not in sampled.notes)
        unread = [replace(lost, name=f"{Path(against).name}/{lost.name}") for lost in other.unread]
    else:
        row, other_row = rows_of(sampled, against)
    name, base_name = sampled.name(row), file + other.name(other_row)
    every, every_base = sampled.counts[row], other.counts[other_row]
    now, base = common(every, every_base)
    if len(now.n) < 2:
        message = f"{name} and {base_name} have {len(now.n)} problems in common, at least 2 are needed"
        first = f"{shown(every.problem[0])} and {shown(every_base.problem[0])}"
        raise InputError("no-common-problems", message, f"the first problems are {first}; see --problem")
    fewest = min(now.least, base.least)
    if fewest * options.solved < FEWEST_EXPECTED:
        message = f"with {fewest} samples of a problem a chance of {options.solved:g} is hardly "
        message += "distinguished from 0: kept, gained and lost problems rest on assumptions; "
        notes += (f"{message}more samples, or --solved {min(1 / fewest, 0.5):.1g}, decide them",)
    left_out = len(every.n) + len(every_base.n) - 2 * len(now.n)
    return pairing(name, now, base_name, base, left_out, options), notes, unread


def rows_of(sampled: Sampled, against: str) -> tuple[int, int]:
    """The row that is compared, and that of ``against``: STEP or COLUMN=VALUE; UsageError ``no-such-row``."""
    group, _, value = against.rpartition("=")
    column = group or "step"
    cells = [str(row[column]) for row in sampled.rows]
    same = {value, *(cell for cell in cells if number(value) == number(cell) is not None)}
    inside = np.isin(cells, [*same])
    rows, others = np.flatnonzero(inside).tolist(), np.flatnonzero(~inside).tolist()
    if not rows or not others or (len(rows) > 1 and not group):
        message = f"--against {against}: {len(rows)} rows are of it, and {len(others)} are not"
        hint = f"{column} is {listing([*dict.fromkeys(cells)])}; see --only"
        raise UsageError("no-such-row", message, hint)
    return others[-1] if group else last_of(sampled), rows[-1]


def last_of(sampled: Sampled) -> int:
    """The one row of the last step; UsageError ``several-rows``."""
    last = sampled.rows[-1]["step"]
    rows = [row for row, cells in enumerate(sampled.rows) if cells["step"] == last]
    if len(rows) > 1:
        message = f"{len(rows)} rows of the last step could be compared, such as "
        message += " and ".join(map(sampled.name, rows[:2]))
        hint = "take one by --only COLUMN=VALUE, or all together by --by ''"
        raise UsageError("several-rows", message, hint)
    return rows[0]


def pairing(
    name: str, now: Counts, base_name: str, base: Counts, left_out: int, options: SampleOptions
) -> PairedSamples:
    """The comparison of two tables with the same problems."""
    ks, level, size = sizes([min(now.least, base.least)], options.k), options.level, len(now.n)
    passes = [pass_at(now.n, now.right, k) for k in ks]
    base_passes = [pass_at(base.n, base.right, k) for k in ks]
    band = critical(np.column_stack([*np.subtract(passes, base_passes)]), level)
    wide, at_k = student(size, level), []

    def estimate(value: float, error: float) -> Estimate:
        low, high, method = value - wide * error, value + wide * error, "t over problems"
        return Estimate(value=value, low=low, high=high, level=level, method=method, std_error=error)

    for k, ours, theirs in zip(ks, passes, base_passes, strict=True):
        value, spread = float((ours - theirs).mean()), float((ours - theirs).std(ddof=1) / np.sqrt(size))
        low, high = value - band * spread, value + band * spread
        word = "gain" if low > 0 else "unclear"
        at_k.append(
            AtK(
                k=k,
                now=float(ours.mean()),
                base=float(theirs.mean()),
                difference=estimate(value, spread),
                band_low=low,
                band_high=high,
                word="loss" if high < 0 else word,
            )
        )
    by_fate, draws = chances(now, base, options.solved)
    likeliest, fates = by_fate.argmax(axis=1), []
    ends = np.quantile(draws, ((1 - level) / 2, (1 + level) / 2), axis=0).T.tolist()
    for column, (fate, (low, high)) in enumerate(zip(CLASSES, ends, strict=True)):
        called, value = np.flatnonzero(likeliest == column), float(by_fate[:, column].sum())
        low, high, method = min(low, value), max(high, value), "bootstrap of problems"
        fates.append(
            Fate(
                fate=fate,
                problems=tuple(now.problem[row] for row in called),
                mistakes=float((1.0 - by_fate[called, column]).sum()),
                expected=Estimate(value=value, low=low, high=high, level=level, method=method),
            )
        )
    number, distinct = on_unsolved(now, base)
    unsolved = Unsolved(problems=number)
    if distinct is not None:
        held_out, before, *difference = distinct
        unsolved = Unsolved(problems=number, now=held_out, base=before, difference=estimate(*difference))
    return PairedSamples(
        now=name,
        base=base_name,
        problems=size,
        left_out=left_out,
        solved=options.solved,
        level=level,
        at_k=tuple(at_k),
        fates=tuple(fates),
        unsolved=unsolved,
        first_loss=next((row.k for row in at_k if row.word == "loss"), None),
    )
