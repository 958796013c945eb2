"""The blocks of an index: all ceilings, the arms, and the runs by verdict, from rows alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from entropylaw.documents.summary import RunSummary
from entropylaw.escaping import one_line
from entropylaw.report.blocks import (
    HOLDS,
    INDEX,
    Block,
    Column,
    Heading,
    RunsTable,
    Trace,
    Verdict,
    columns,
)
from entropylaw.report.describe import run_table, runs
from entropylaw.report.figures import figures_of
from entropylaw.report.numbers import MISSING, format_number, format_step
from entropylaw.results import Verdict as LawVerdict
from entropylaw.run_names import without_seed

FEW = 20
"""Runs up to which every group of an index is open."""

LOST = "lost"
"""The group of the runs that lost the reward."""


def ceilings(rows: Sequence[RunSummary]) -> list[Block]:
    """The figure of all ceilings, those of runs whose names differ by a seed below one another.

    Unlike rewards are apart, those of most runs first.
    """
    comparable = runs.like_rewards(row for row in rows if row.readable)
    if sum(map(len, comparable)) < 2:
        return []
    rewards = []
    for members in sorted(comparable, key=len, reverse=True):
        arms: dict[str, list[RunSummary]] = {}
        for row in members:
            arm = without_seed(row.run) or row.run
            if row.label:
                arm += f" · {row.label}"
            arms.setdefault(one_line(arm), []).append(row)
        rewards.append(arms)
    return [Heading("Ceilings", name="ceilings"), *figures_of("rows", rewards)]


def groups(rows: Sequence[RunSummary], address: Callable[[str], str]) -> list[Block]:
    """The runs that lost the reward, then the others by verdict, with links to the ``address`` of each page.

    Those that fail are folded away where others do not, in an index of many.
    """
    groups: dict[str, list[RunSummary]] = {name: [] for name in (LOST, *LawVerdict, "refused")}
    for row in rows:
        groups[LOST if row.lost else row.verdict].append(row)
    all_open = len(rows) <= FEW or not groups["holds"] + groups["undecided"]
    tables: list[Block] = []
    for name, members in groups.items():
        if not members:
            continue
        group = RunsTable(
            *_cells(members),
            badge=Verdict(name, "", HOLDS.get(name, False)),
            title=runs.counted_rows(members),
            note=_reasons(members),
            open=all_open or name in (LOST, LawVerdict.holds, LawVerdict.undecided),
            links=[address(row.slug) for row in members],
        )
        tables.append(group)
    return tables


def _reasons(rows: Sequence[RunSummary]) -> str:
    """The number of runs by reason, the commonest reason first."""
    reasons = Counter(str(row.refusal or row.why) for row in rows if row.why or not row.fitted)
    counts = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{number} {reason}" for reason, number in counts)


def _cells(rows: Sequence[RunSummary]) -> tuple[list[Column], list[list[Any]]]:
    """The columns and the rows of the runs of one group; a refused run has its reason alone."""
    if not rows[0].fitted:
        return [*columns("run", "why", "reason")], [[row.shown, _reason(row), row.headline] for row in rows]
    table = run_table.overview(rows, Column("run", shown_in=()))
    places = [i for i, column in enumerate(table.columns) if INDEX in column.shown_in]
    heads = [Column("run", "run"), Column("why", "entropy law"), *columns("entropy", "reward")]
    cells: list[list[Any]] = []
    for row, cells_of_row in zip(rows, table.rows, strict=True):
        assert row.series is not None
        series = row.series
        percent = " %" if row.unit == "percent" else ""
        entropy = _trace("entropy", series.step, series.entropy, series.entropy_ends, digits=2, unit=" nats")
        reward = _trace("reward", series.step, series.reward, series.reward_ends, digits=3, unit=percent)
        numbers = [MISSING if cells_of_row[i] is None else cells_of_row[i] for i in places]
        cells.append([row.shown, _reason(row), entropy, reward, *numbers])
    return [*heads, *(table.columns[i] for i in places)], cells


def _reason(row: RunSummary) -> list[Verdict]:
    """Why the verdict is what it is."""
    return [Verdict(row.refusal or row.headline, row.headline, HOLDS.get(row.verdict))]


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
    "Ceiling and what is left are averaged over the functional forms by their probabilities, whatever the "
    "verdict on the law; where reward does not follow entropy, or was lost, there are none. "
    "A line of entropy or reward runs between its own least and largest value; with more than "
    f"{runs.MOST_POINTS} evaluations, each point is the mean of neighbours. In an order by a number the "
    "largest is first. The forecast is of the reward after half as many steps again."
)
"""How the rows are read."""
