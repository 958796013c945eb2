"""Documents of samples per problem: the rows of tables, and the pairing of two tables or steps."""

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
from entropylaw.escaping import counted, listing, shown
from entropylaw.pipeline.given_options import checked
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
    settings = dict(options)
    for name in ("problem", "by", "only", "k"):
        if name in settings and not isinstance(settings[name], list | tuple):
            settings[name] = (settings[name],)
    paths = [as_path(table, "tables") for table in tables]
    base = None
    if isinstance(against, Real):
        as_number(against, "against")
        base = str(against)
    elif against is not None:
        base = as_path(against, "against")
    return document_of(paths, checked(SampleOptions(**settings)), base)


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
    notes = sampled.notes
    unread = list(sampled.unread)
    comparison: PairedSamples | None = None
    if against is not None:
        comparison, further_notes, further_unread = _compared(sampled, against, options, progress)
        notes += further_notes
        unread += further_unread
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


def _compared(
    sampled: Sampled, against: str, options: SampleOptions, progress: Callable[[float], None] | None
) -> tuple[PairedSamples, tuple[str, ...], list[Unread]]:
    """The last step against another step of the same tables, or the last one of another table.

    Returns the comparison, notes on it, and what could not be read of another table.
    """
    group = against.rpartition("=")[0]
    # pathlib raises for a name that is too long.
    exists = os.path.exists(against)  # noqa: PTH110
    if exists or (number(against) is None and group not in sampled.groups):
        base_sampled = summarise_tables([against], options, progress=progress)
        row = _row_of_last_step(sampled)
        base_row = _row_of_last_step(base_sampled)
        table = Path(against).name
        base_name = f"{table}, {base_sampled.name(base_row)}"
        notes = tuple(f"of {table}: {note}" for note in base_sampled.notes if note not in sampled.notes)
        unread = [replace(lost, name=f"{table}/{lost.name}") for lost in base_sampled.unread]
    else:
        base_sampled = sampled
        row, base_row = _rows_of(sampled, against)
        base_name = sampled.name(base_row)
        notes = ()
        unread = []
    name = sampled.name(row)
    counts = sampled.counts[row]
    base_counts = base_sampled.counts[base_row]
    now, base = common(counts, base_counts)
    if len(now.n) < 2:
        raise InputError(
            "no-common-problems",
            f"{name} and {base_name} have {len(now.n)} problems in common, at least 2 are needed",
            f"the first problems are {shown(counts.problem[0])} and {shown(base_counts.problem[0])}; "
            "see --problem",
        )
    left_out = len(counts.n) + len(base_counts.n) - 2 * len(now.n)
    return pairing(name, now, base_name, base, left_out, options), notes, unread


def _rows_of(sampled: Sampled, against: str) -> tuple[int, int]:
    """The row that is compared, and that of ``against``: STEP or COLUMN=VALUE; UsageError ``no-such-row``."""
    group, _, value = against.rpartition("=")
    column = group or "step"
    cells = [str(row[column]) for row in sampled.rows]
    same = {value, *(cell for cell in cells if number(value) == number(cell) is not None)}
    inside = np.isin(cells, [*same])
    base_rows = np.flatnonzero(inside).tolist()
    rows = np.flatnonzero(~inside).tolist()
    if not base_rows or not rows or (len(base_rows) > 1 and not group):
        raise UsageError(
            "no-such-row",
            f"--against {against}: {len(base_rows)} rows are of it, and {len(rows)} are not",
            f"{column} is {listing([*dict.fromkeys(cells)])}; see --only",
        )
    row = rows[-1] if group else _row_of_last_step(sampled)
    return row, base_rows[-1]


def _row_of_last_step(sampled: Sampled) -> int:
    """The one row of the last step; UsageError ``several-rows``."""
    last = sampled.rows[-1]["step"]
    rows = [row for row, cells in enumerate(sampled.rows) if cells["step"] == last]
    if len(rows) > 1:
        raise UsageError(
            "several-rows",
            f"{len(rows)} rows of the last step could be compared, such as "
            f"{' and '.join(map(sampled.name, rows[:2]))}",
            "take one by --only COLUMN=VALUE, or all together by --by ''",
        )
    return rows[0]


def pairing(
    name: str, now: Counts, base_name: str, base: Counts, left_out: int, options: SampleOptions
) -> PairedSamples:
    """The comparison of two tables with the same problems."""
    at_k = _at_each_k(now, base, options)
    return PairedSamples(
        now=name,
        base=base_name,
        problems=len(now.n),
        left_out=left_out,
        solved=options.solved,
        level=options.level,
        at_k=tuple(at_k),
        fates=tuple(_fates(now, base, options)),
        no_fates=_why_no_fates(now, base, options.solved),
        unsolved=_unsolved(now, base, options.level),
        first_loss=next((row.k for row in at_k if row.word == "loss"), None),
    )


def _at_each_k(now: Counts, base: Counts, options: SampleOptions) -> list[AtK]:
    """The pass rate at each k of both tables, with their difference and its simultaneous band over all k."""
    level = options.level
    ks = sizes([min(now.least, base.least)], options.k)
    passes = [pass_at(now.n, now.right, k) for k in ks]
    base_passes = [pass_at(base.n, base.right, k) for k in ks]
    band = critical(np.column_stack([*np.subtract(passes, base_passes)]), level)
    size = len(now.n)
    at_k = []
    for k, ours, theirs in zip(ks, passes, base_passes, strict=True):
        gain = float((ours - theirs).mean())
        std_error = float((ours - theirs).std(ddof=1) / np.sqrt(size))
        band_low = gain - band * std_error
        band_high = gain + band * std_error
        word = "unclear"
        if band_low > 0:
            word = "gain"
        if band_high < 0:
            word = "loss"
        at_k.append(
            AtK(
                k=k,
                now=float(ours.mean()),
                base=float(theirs.mean()),
                difference=_estimate_by_t(gain, std_error, size, level),
                band_low=band_low,
                band_high=band_high,
                word=word,
            )
        )
    return at_k


def _estimate_by_t(value: float, std_error: float, problems: int, level: float) -> Estimate:
    """A mean over problems with its interval by Student's t."""
    half_width = student(problems, level) * std_error
    return Estimate(
        value=value,
        low=value - half_width,
        high=value + half_width,
        level=level,
        method="t over problems",
        std_error=std_error,
    )


def _why_no_fates(now: Counts, base: Counts, solved: float) -> str:
    """Why no problem is kept, gained or lost; empty where the samples decide it."""
    fewest = min(now.least, base.least)
    if fewest * solved >= FEWEST_EXPECTED:
        return ""
    return (
        f"{counted(fewest, 'sample')} of a problem cannot distinguish a chance of {solved:g} from 0, so that "
        f"none is kept, gained or lost; more samples, or --solved {min(1 / fewest, 0.5):.1g}, decide it"
    )


def _fates(now: Counts, base: Counts, options: SampleOptions) -> list[Fate]:
    """The problems that were kept, gained, lost and never solved, with the number expected of each."""
    if _why_no_fates(now, base, options.solved):
        return []
    level = options.level
    by_fate, draws = chances(now, base, options.solved)
    likeliest = by_fate.argmax(axis=1)
    ends = np.quantile(draws, ((1 - level) / 2, (1 + level) / 2), axis=0).T.tolist()
    fates = []
    for column, (fate, (low, high)) in enumerate(zip(CLASSES, ends, strict=True)):
        called = np.flatnonzero(likeliest == column)
        expected = float(by_fate[:, column].sum())
        fates.append(
            Fate(
                fate=fate,
                problems=tuple(now.problem[row] for row in called),
                mistakes=float((1.0 - by_fate[called, column]).sum()),
                expected=Estimate(
                    value=expected,
                    low=min(low, expected),
                    high=max(high, expected),
                    level=level,
                    method="bootstrap of problems",
                ),
            )
        )
    return fates


def _unsolved(now: Counts, base: Counts, level: float) -> Unsolved:
    """What the two tables show on the problems that the base does not solve."""
    problems, distinct = on_unsolved(now, base)
    if distinct is None:
        return Unsolved(problems=problems)
    held_out, before, gain, std_error = distinct
    difference = _estimate_by_t(gain, std_error, len(now.n), level)
    return Unsolved(problems=problems, now=held_out, base=before, difference=difference)
