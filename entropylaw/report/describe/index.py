"""The blocks of an index: the runs by state, from rows alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from entropylaw.documents.summary import RunSummary
from entropylaw.report.blocks import INDEX, Block, Column, RunsTable, Trace, Verdict, columns, table_of
from entropylaw.report.describe import run_table, runs
from entropylaw.report.numbers import MISSING, format_number, format_step
from entropylaw.results.state import WORDS

FEW = 20
"""Runs up to which every group of an index is open."""

BROKEN = "broken"
"""The state of a run of which nothing is said but that."""

REFUSED = "refused"
"""The group of the runs that could not be fitted."""

NO_STATE = "no state"
"""That of the runs with too few evaluations for one."""

GROUPS = (*WORDS, NO_STATE, REFUSED)


def groups(rows: Sequence[RunSummary], address: Callable[[str], str]) -> list[Block]:
    """The runs by state, the broken first, with links to the ``address`` of each page.

    Flat and refused ones are folded away where others are not, in an index of many.
    """
    groups: dict[str, list[RunSummary]] = {name: [] for name in GROUPS}
    for row in rows:
        groups[REFUSED if not row.fitted else row.state or NO_STATE].append(row)
    heads = run_table.overview([row for row in rows if row.fitted], Column("run", shown_in=())).columns
    folded = ("flat", REFUSED)
    all_open = len(rows) <= FEW or not any(groups[name] for name in GROUPS if name not in folded)
    tables: list[Block] = []
    for name, members in groups.items():
        if not members:
            continue
        group = RunsTable(
            *(_reasons(members) if name == REFUSED else _cells(members, heads)),
            badge=name,
            title=runs.counted_rows(members),
            note=_counts(members),
            open=all_open or name not in folded,
            links=[address(row.slug) for row in members],
        )
        tables.append(group)
    return tables


def _counts(rows: Sequence[RunSummary]) -> str:
    """The number of runs by the word about the law, or by the reason of a refusal, the commonest first."""
    if rows[0].state == BROKEN:
        return ""
    counts = Counter(row.refusal or row.law for row in rows)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    text = ", ".join(f"{number} {name}" for name, number in ordered)
    return f"law: {text}" if rows[0].fitted else text


def _reasons(rows: Sequence[RunSummary]) -> tuple[list[Column], list[list[Any]]]:
    """The columns and the rows of refused runs, which have their reason alone."""
    cells: list[list[Any]] = []
    for row in rows:
        why = Verdict(str(row.refusal), row.headline, None)
        cells.append([row.shown, [why], row.headline])
    return [*columns("run", "why", "reason")], cells


def _cells(rows: Sequence[RunSummary], heads: Sequence[Column]) -> tuple[list[Column], list[list[Any]]]:
    """The columns and the rows of the runs of one group, from the ``heads`` of the table of all runs.

    Of a broken run only what was is shown: no forecast, and no law.
    """
    left_out = ("forecast", "p_gain", "ceiling") if rows[0].state == BROKEN else ()
    numbers = [head for head in heads if INDEX in head.shown_in and head.key not in left_out]
    cells: list[list[Any]] = []
    for row, values in zip(rows, table_of(numbers, rows).rows, strict=True):
        assert row.series is not None
        series = row.series
        percent = " %" if row.unit == "percent" else ""
        reward = _trace("reward", series.step, series.reward, series.reward_ends, digits=3, unit=percent)
        entropy: Any = MISSING
        if series.entropy_ends is not None:
            entropy = _trace(
                "entropy", series.entropy_step, series.entropy, series.entropy_ends, digits=2, unit=" nats"
            )
        law = [] if left_out else [[Verdict(row.law, row.why or row.law, None)]]
        known = [MISSING if value is None else value for value in values]
        cells.append([row.shown, reward, entropy, *known, *law])
    law_head = [] if left_out else [Column("law", "law")]
    return [*columns("run", "reward", "entropy"), *numbers, *law_head], cells


def _trace(
    name: str,
    steps: Sequence[float],
    values: Sequence[float],
    ends: tuple[float, float],
    *,
    digits: int,
    unit: str,
) -> Trace:
    """The line of a series, with its first and its last value as logged."""
    start, end_text = (format_number(end, digits) for end in ends)
    title = (
        f"{name} from {start} to {end_text}{unit}, steps {format_step(steps[0])} to {format_step(steps[-1])}"
    )
    return Trace(name, title, f"{start} → {end_text}{unit}", steps, values)


READING = (
    "Runs are ordered by state, the broken first. The reward at H = 0 is that of the law, "
    "b − a, whatever is said of the law; nothing is said of a broken run but that it is broken. "
    "A line of reward or entropy runs between its own least and largest value; with more than "
    f"{runs.MOST_POINTS} evaluations, each point is the mean of neighbours. In an order by a number the "
    "largest is first. The forecast is of the reward after half as many steps again."
)
"""How the rows are read."""
