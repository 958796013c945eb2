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
from entropylaw.samples.against import CLASSES, chances, common, critical, normal, on_unsolved, student
from entropylaw.samples.numbers import Counts, jackknife_variance, pass_at
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
    """The document of some tables; of each group ``against`` another step, another group or another table.

    Raises as :func:`entropylaw.samples.run.summarise_tables`; InputError ``no-common-problems``; UsageError
    ``no-such-row``.
    """
    sampled = summarise_tables(tables, options, progress=progress)
    notes = sampled.notes
    unread = list(sampled.unread)
    comparisons: list[PairedSamples] = []
    if against is not None:
        comparisons, further_notes, further_unread = _compared(sampled, tables, against, options, progress)
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
            against=tuple(comparisons),
        )
    )


def _compared(
    sampled: Sampled,
    tables: Sequence[str],
    against: str,
    options: SampleOptions,
    progress: Callable[[float], None] | None,
) -> tuple[list[PairedSamples], tuple[str, ...], list[Unread]]:
    """The last row of every group against another step or group, or against another table.

    Returns the comparisons, notes on them, and what could not be read of another table.
    """
    group = against.rpartition("=")[0]
    # pathlib raises for a name that is too long.
    exists = os.path.exists(against)  # noqa: PTH110
    base_sampled, named = sampled, ""
    notes: list[str] = []
    unread: list[Unread] = []
    if exists or (number(against) is None and group not in sampled.groups):
        base_sampled = summarise_tables([against], options, progress=progress)
        named = Path(against).name
        notes += [f"of {named}: {note}" for note in base_sampled.notes if note not in sampled.notes]
        unread += [replace(lost, name=f"{named}/{lost.name}") for lost in base_sampled.unread]
        base_rows = _rows_of_other(sampled, base_sampled)
    else:
        base_rows = _rows_of(sampled, against)
    pairs = []
    failures = []
    for row, base_row in base_rows.items():
        name = _of_table(Path(tables[0]).name if named and len(tables) == 1 else "", sampled.name(row))
        if base_row is None:
            failures.append(f"{name} is not compared: {against} has no such group")
            continue
        base_name = _of_table(named, base_sampled.name(base_row))
        counts = sampled.counts[row], base_sampled.counts[base_row]
        now, base = common(*counts)
        if len(now.n) < 2:
            common_problems = counted(len(now.n), "problem")
            failures.append(f"{name} and {base_name} have {common_problems} in common, at least 2 are needed")
            continue
        places = row, None if named else base_row
        left_out = len(counts[0].n) + len(counts[1].n) - 2 * len(now.n)
        pairs.append(pairing((name, base_name), places, (now, base), left_out, options))
    if not pairs:
        problems = [shown(side.counts[-1].problem[0]) for side in (sampled, base_sampled)]
        hint = f"the first problems are {' and '.join(problems)}; see --problem"
        if not any(base_row is not None for base_row in base_rows.values()):
            hint = "divide both tables alike with --by COLUMN, or neither: --by ''"
        raise InputError("no-common-problems", "; ".join(failures), hint)
    return pairs, (*notes, *failures), unread


def _of_table(table: str, row: str) -> str:
    """The name of a row with that of its table, where it has one."""
    return f"{table}, {row}".removeprefix(", ").replace(", the table", "")


def _last_rows(sampled: Sampled) -> dict[tuple[Any, ...], int]:
    """The groups of rows, and the last row of each."""
    return {tuple(cells[name] for name in sampled.groups): row for row, cells in enumerate(sampled.rows)}


def _rows_of_other(sampled: Sampled, other: Sampled) -> dict[int, int | None]:
    """The last row of every group, and that of the same group of another table, or its only one."""
    of_other = _last_rows(other)
    only = next(iter(of_other.values())) if len(of_other) == 1 else None
    same_groups = of_other if sampled.groups == other.groups else {}
    return {row: same_groups.get(cells, only) for cells, row in _last_rows(sampled).items()}


def _rows_of(sampled: Sampled, against: str) -> dict[int, int | None]:
    """The last row of every group but ``against``, and the row that it is compared with.

    ``against`` is STEP or COLUMN=VALUE; UsageError ``no-such-row``.
    """
    group, _, value = against.rpartition("=")
    column = group or "step"
    cells = [str(row[column]) for row in sampled.rows]
    same = {value, *(cell for cell in cells if number(value) == number(cell) is not None)}
    others = [name for name in sampled.groups if name != column]
    bases = {
        tuple(row[name] for name in others): place
        for place, row in enumerate(sampled.rows)
        if str(row[column]) in same
    }
    last = [place for place in _last_rows(sampled).values() if cells[place] not in same]
    if not bases or not last:
        raise UsageError(
            "no-such-row",
            f"--against {against}: {sum(cell in same for cell in cells)} rows are of it, and of the last "
            f"ones {len(last)} are not",
            f"{column} is {listing([*dict.fromkeys(cells)])}; see --only",
        )
    return {place: bases.get(tuple(sampled.rows[place][name] for name in others)) for place in last}


def pairing(
    names: tuple[str, str],
    rows: tuple[int, int | None],
    sides: tuple[Counts, Counts],
    left_out: int,
    options: SampleOptions,
) -> PairedSamples:
    """The comparison of two tables with the same problems, now and before."""
    now, base = sides
    at_k = _at_each_k(now, base, options)
    return PairedSamples(
        now=names[0],
        base=names[1],
        row=rows[0],
        base_row=rows[1],
        problems=len(now.n),
        left_out=left_out,
        solved=options.solved,
        level=options.level,
        at_k=tuple(at_k),
        fates=tuple(_fates(now, base, options)),
        no_fates=_why_no_fates(now, base, options.solved),
        unsolved=_unsolved(now, base, options.level),
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
        # Where all problems differ by the same, a sign test says how many it takes.
        is_decided = std_error > 0 or 0.5 ** (size - 1) < 1 - level
        if band_low > 0 and is_decided:
            word = "gain"
        if band_high < 0 and is_decided:
            word = "loss"
        at_k.append(
            AtK(
                k=k,
                now=float(ours.mean()),
                base=float(theirs.mean()),
                difference=_estimate_by_t(gain, std_error, size, level),
                on_benchmark=_on_benchmark(gain, now, base, k, level),
                band_low=band_low,
                band_high=band_high,
                word=word,
            )
        )
    return at_k


def _on_benchmark(gain: float, now: Counts, base: Counts, k: int, level: float) -> Estimate | None:
    """The difference at k with its interval on these very problems; None where it is not known."""
    variances = sum(jackknife_variance(side.n, side.right, k) for side in (now, base))
    std_error = float(np.sqrt(np.sum(variances))) / len(now.n)
    if np.isnan(std_error):
        return None
    return _estimate(gain, std_error, normal(level), level, "further samples of these problems")


def _estimate_by_t(value: float, std_error: float, problems: int, level: float) -> Estimate:
    """A mean over problems with its interval by Student's t."""
    return _estimate(value, std_error, student(problems, level), level, "t over problems")


def _estimate(value: float, std_error: float, quantile: float, level: float, method: str) -> Estimate:
    """A number and its interval, a ``quantile`` of standard errors on either side; none where that is 0."""
    half_width = quantile * std_error
    return Estimate(
        value=value,
        low=value - half_width if std_error else None,
        high=value + half_width if std_error else None,
        level=level,
        method=method,
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
