"""Documents of samples: from tables, and from two that are paired."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import fspath
from pathlib import Path
from typing import Any

import numpy as np

from entropylaw.documents.codec import as_stored
from entropylaw.documents.samples import AtK, Fate, PairedSamples, SamplesDocument, SampleTable, Unsolved
from entropylaw.errors import InputError, UsageError
from entropylaw.escaping import listing, shown
from entropylaw.results import Estimate
from entropylaw.samples.against import CLASSES, common, paired, student
from entropylaw.samples.numbers import Counts
from entropylaw.samples.options import SampleOptions
from entropylaw.samples.run import Sampled, described, sizes, summarise_samples


def samples(*tables: Any, against: Any = None, **options: Any) -> SamplesDocument:
    """Samples per problem of tables, by the options of ``entropylaw samples`` with underscores.

    >>> document = samples("step_400.jsonl", against="step_0.jsonl")  # doctest: +SKIP
    """
    many = ("problem", "by", "only", "k")
    given: dict[str, Any] = {
        name: (value if isinstance(value, tuple) else (value,)) if name in many else value
        for name, value in options.items()
    }
    base = None if against is None else fspath(against) if not isinstance(against, int) else str(against)
    return document_of([fspath(table) for table in tables], SampleOptions(**given), base)


def document_of(
    tables: Sequence[str],
    options: SampleOptions,
    against: str | None = None,
    progress: Callable[[float], None] | None = None,
) -> SamplesDocument:
    """The document of some tables; of one step ``against`` another, or against another table.

    Raises as :func:`entropylaw.samples.run.summarise_samples`; InputError ``no-common-problems``; UsageError
    ``no-such-row``, ``several-rows``.
    """
    sampled = summarise_samples(tables, options, progress=progress)
    about, notes, comparison = sampled.about, sampled.notes, None
    if against is not None:
        comparison, more = compared(sampled, against, options, progress)
        notes += more
    return as_stored(
        SamplesDocument(
            tables=tuple(SampleTable(**file) for file in about["read"]),
            format=about["format"],
            columns=about["columns"],
            groups=sampled.groups,
            missing=about["missing"],
            rarefied=about["rarefied"],
            level=options.level,
            rows=tuple(sampled.rows),
            t=tuple(student(row["problems"], options.level) for row in sampled.rows),
            notes=notes,
            against=comparison,
        )
    )


def compared(
    sampled: Sampled, against: str, options: SampleOptions, progress: Callable[[float], None] | None
) -> tuple[PairedSamples, tuple[str, ...]]:
    """The last step against another step of the same tables, or the last one of another table."""
    notes: tuple[str, ...] = ()
    group, _, value = against.rpartition("=")
    if Path(against).exists() or not (is_number(against) or group in sampled.groups):
        other = summarise_samples([against], options, progress=progress)
        (name, now), (base_name, base) = last_of(sampled), last_of(other)
        base_name = f"{Path(against).name}, {base_name}"
        notes = tuple(f"of {Path(against).name}: {note}" for note in other.notes if note not in sampled.notes)
    else:
        cells = [row[group or "step"] for row in sampled.rows]
        places = [
            place
            for place, cell in enumerate(cells)
            if str(cell) == value or (cell is not None and is_number(value) and float(cell) == float(value))
        ]
        others = [place for place in range(len(cells)) if place not in places]
        if not places or not others or (len(places) > 1 and not group):
            message = f"--against {against}: {len(places)} rows are of it, and {len(others)} are not"
            values = listing([str(cell) for cell in dict.fromkeys(cells)])
            raise UsageError("no-such-row", message, f"{group or 'step'} is {values}; see --only and --by ''")
        base_name, base = row_of(sampled, places[-1])
        name, now = row_of(sampled, others[-1]) if group else last_of(sampled)
    both, theirs = common(now, base)
    if len(both.n) < 2:
        message = f"{name} and {base_name} have {len(both.n)} problems in common, at least 2 are needed"
        hint = f"the first problems are {shown(now.problem[0])} and {shown(base.problem[0])}; see --problem"
        raise InputError("no-common-problems", message, hint)
    left_out = len(now.n) + len(base.n) - 2 * len(both.n)
    return pairing(name, both, base_name, theirs, left_out, options), notes


def is_number(text: str) -> bool:
    """Whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def last_of(sampled: Sampled) -> tuple[str, Counts]:
    """The one row of the last step, in words and counts; UsageError ``several-rows``."""
    last = sampled.rows[-1]["step"]
    places = [place for place, row in enumerate(sampled.rows) if row["step"] == last]
    if len(places) > 1:
        keys = [tuple(sampled.rows[place][name] for name in ("step", *sampled.groups)) for place in places]
        message = f"{len(places)} rows of the last step could be compared, such as "
        message += " and ".join(described(key, sampled.groups) for key in keys[:2])
        raise UsageError(
            "several-rows", message, "take one by --only COLUMN=VALUE, or all together by --by ''"
        )
    return row_of(sampled, places[-1])


def row_of(sampled: Sampled, place: int) -> tuple[str, Counts]:
    """A row in words and counts."""
    key = tuple(sampled.rows[place][name] for name in ("step", *sampled.groups))
    return described(key, sampled.groups), sampled.counts[place]


def pairing(
    name: str, now: Counts, base_name: str, base: Counts, left_out: int, options: SampleOptions
) -> PairedSamples:
    """The comparison of two tables with the same problems."""
    ks = sizes([min(now.least, base.least)], options.k)
    result = paired(now, base, ks, options.level, options.solved)
    rows = [
        AtK(
            k=k,
            now=float(result.now[i]),
            base=float(result.base[i]),
            difference=Estimate(
                value=float(result.difference[i]),
                low=float(result.low[i]),
                high=float(result.high[i]),
                level=options.level,
                method="t over problems",
                std_error=float(result.error[i]),
            ),
            band_low=float(result.band_low[i]),
            band_high=float(result.band_high[i]),
            word="gain" if result.band_low[i] > 0 else "loss" if result.band_high[i] < 0 else "unclear",
        )
        for i, k in enumerate(result.k)
    ]
    likeliest = result.chances.argmax(axis=1)
    fates = []
    for place, fate in enumerate(CLASSES):
        those = np.flatnonzero(likeliest == place)
        fates.append(
            Fate(
                fate=fate,
                problems=tuple(result.problems[row] for row in those),
                mistakes=float((1.0 - result.chances[those, place]).sum()),
                expected=float(result.chances[:, place].sum()),
            )
        )
    unsolved = Unsolved(problems=result.unsolved)
    if result.distinct is not None:
        ours, theirs, difference, error = result.distinct
        half = student(len(now.n), options.level) * error
        estimate = Estimate(
            value=difference,
            low=difference - half,
            high=difference + half,
            level=options.level,
            method="t over problems",
            std_error=error,
        )
        unsolved = Unsolved(problems=result.unsolved, now=ours, base=theirs, difference=estimate)
    losses = [row.k for row in rows if row.word == "loss"]
    return PairedSamples(
        now=name,
        base=base_name,
        problems=len(now.n),
        left_out=left_out,
        solved=options.solved,
        level=options.level,
        at_k=tuple(rows),
        fates=tuple(fates),
        unsolved=unsolved,
        first_loss=losses[0] if losses else None,
    )
