"""The tables of arms compared: the arms, the family, what is exploratory, spreads and runs, and CSV."""

from __future__ import annotations

from collections.abc import Iterator

from entropylaw.report import blocks as b
from entropylaw.report.numbers import MISSING, format_number
from entropylaw.report.words import quantity_label
from entropylaw.results import Estimate
from entropylaw.results.arms import ArmComparison, Decision, Difference, Pair
from entropylaw.results.result import field_names, replace

NOT_COMPARABLE = "not comparable"

TABLE = (
    *b.columns("arm", "baseline", "seeds", "seeds_baseline", "equal", "common_low", "common_high"),
    *b.columns("last_step", "quantity", "unit", "headline"),
    b.Column("difference", estimate=True),
    *b.columns("p_value", "p_adjusted", "p_welch", "between", "within", "between_sd", "margin"),
    *b.columns("inner_low", "inner_high", "decision", "smallest", "seeds_needed", "level", "method", "note"),
)
"""A row per comparison and quantity. ``equal`` is the column at equal values of which rewards are compared,
``between_sd`` the spread between seeds that was given; decisions are those of the family and of failures."""


def decided(row: Difference) -> str:
    """``higher``, ``lower``, ``same within ±0.01``, ``not decided``, ``not comparable``."""
    if row.p_adjusted is None:
        return NOT_COMPARABLE
    if row.decision is Decision.same:
        return f"same {within(row.margin)}"
    return row.decision.value


def over(low: float, high: float) -> str:
    """``0.09–0.50``, or ``0.09`` where both ends are the same."""
    return "–".join(dict.fromkeys(format_number(end, 2) for end in (low, high)))


def within(margin: float | None) -> str:
    """``within ±0.01``."""
    return MISSING if margin is None else f"within ±{float(f'{margin:.2g}'):g}"


def p_text(p: float | None) -> str:
    """A p-value to two digits."""
    return MISSING if p is None else f"{p:.2g}"


def excludes_0(estimate: Estimate) -> bool:
    """Whether an interval is known and does not contain 0."""
    return estimate.low is not None and estimate.high is not None and not estimate.low <= 0 <= estimate.high


def bare(estimate: Estimate) -> Estimate:
    """An estimate without its note, which is below the table."""
    return replace(estimate, note=None)


def words_of(result: ArmComparison, row: Difference) -> str:
    """``entropy at equal reward, nats``; a column at equal values of which rewards are compared is named."""
    if row.quantity == "reward_at_equal":
        return f"reward at equal {result.along.column}"
    return quantity_label(row.quantity, row.unit)


def arms(result: ArmComparison) -> b.Table:
    """A row per arm: its seeds, those that failed, and both ends of what is compared; means over its runs."""

    def mean(name: str, label: str) -> b.Column:
        return b.Column(name, label, lambda arm: arm.mean_of(name))

    unit = result.along.unit
    column = "H" if result.along.column == "entropy" else result.along.column
    heads = (
        *b.columns("arm"),
        b.Column("seeds", "seeds", lambda arm: len(arm.runs)),
        b.Column("failure_rate", "failed", unit="%"),
        mean("along_first", f"{column} at the start" + (f", {unit}" if unit == "nats" else "")),
        mean("along_last", "at the end"),
        mean("reward_first", "reward at the start"),
        mean("last_reward", "at the end"),
    )
    return b.table_of(heads, result.arms)


def family(result: ArmComparison) -> b.Table:
    """A row per comparison and quantity that is decided, with failures where there are any."""
    heads = [*b.columns("arm", "quantity", "difference"), b.Column("decision", "decision")]
    rows: list[tuple[b.Cell, ...]] = []
    for pair in result.pairs:
        failures = pair.find("living_reward") is not None
        for row in pair.differences:
            if row.headline or (failures and row.quantity == "failure_rate"):
                rows.append((result.name_of(pair), words_of(result, row), bare(row.estimate), decided(row)))
    return with_sd(b.Table(heads, rows, words=2), result)


def with_sd(table: b.Table, result: ArmComparison) -> b.Table:
    """A table whose every row repeats the spread between seeds, where that was given."""
    if result.between_sd is None:
        return table
    heads = [*table.columns, b.Column("between_sd", "sd between seeds")]
    rows = [(*row, f"{result.between_sd:g} as given") for row in table.rows]
    return replace(table, columns=heads, rows=rows)


def exploratory(result: ArmComparison) -> b.Table:
    """A row per comparison and quantity outside the family: numbers with intervals, and no decision."""
    heads = [*b.columns("arm", "quantity", "difference"), b.Column("seeds", "seeds")]
    rows: list[tuple[b.Cell, ...]] = [
        (
            result.name_of(pair),
            words_of(result, row),
            bare(row.estimate),
            "{} and {}".format(*row.seeds),
        )
        for pair in result.pairs
        for row in pair.differences
        if not row.headline and row.quantity != "failure_rate"
    ]
    return b.Table(heads, rows, words=2, detail=True)


def spreads(result: ArmComparison) -> b.Table:
    """A row per comparison and quantity of the family: what its interval and its decision rest on."""
    heads = [
        *b.columns("arm", "quantity"),
        b.Column("between", "sd between seeds"),
        b.Column("within", "standard error within runs"),
        b.Column("p_adjusted", "adjusted p"),
        b.Column("p_welch", "by Welch's test"),
        b.Column("smallest", "these seeds show"),
        b.Column("seeds_needed", "seeds for the margin"),
    ]
    rows: list[tuple[b.Cell, ...]] = []
    for pair in result.pairs:
        for row in pair.differences:
            if row.headline:
                p_values = (p_text(row.p_adjusted), p_text(row.p_welch))
                cells = (row.between, row.within, *p_values, row.smallest, row.seeds_needed)
                rows.append((result.name_of(pair), words_of(result, row), *cells))
    return b.Table(heads, rows, words=2, detail=True)


def runs(result: ArmComparison) -> b.Table:
    """A row per run with its own numbers; those that failed have been named."""
    names = dict.fromkeys(name for arm in result.arms for run in arm.runs for name in run.values)
    names.pop("reward_first", None)
    column = "H" if result.along.column == "entropy" else result.along.column
    labels = {"along_first": f"first {column}", "along_last": f"last {column}", "last_reward": "last reward"}
    heads = [
        *b.columns("run", "arm", "n"),
        b.Column("last_step", "last step", unit="step"),
        *(b.Column(name, labels.get(name, name)) for name in names),
    ]
    rows = [
        (run.run, arm.arm, run.n, run.last_step, *map(run.values.get, names))
        for arm in result.arms
        for run in arm.runs
    ]
    return b.Table(heads, rows, detail=True, words=2)


def rows(result: ArmComparison) -> Iterator[b.Row]:
    """The rows of all comparisons for CSV."""
    for pair in result.pairs:
        low, high = pair.common or (None, None)
        base: b.Row = {"arm": pair.arm, "baseline": pair.baseline, "last_step": pair.last_step}
        base |= {"equal": result.along.column, "common_low": low, "common_high": high}
        for row in pair.differences:
            yield base | _cells(pair, row) | {"between_sd": result.between_sd}


def _cells(pair: Pair, row: Difference) -> b.Row:
    """The cells of a difference; only what was tested in a family has a decision."""
    cells: b.Row = {name: getattr(row, name) for name in field_names(row) if name != "inner"}
    cells |= dict(zip(("seeds", "seeds_baseline"), row.seeds, strict=True))
    cells |= {name: getattr(row.estimate, name) for name in ("level", "method", "note")}
    if row.inner is not None:
        cells |= {"inner_low": row.inner.low, "inner_high": row.inner.high}
    decision = NOT_COMPARABLE if row.headline else None
    if row.p_adjusted is not None:
        decision = row.decision.value
    return cells | {"difference": row.estimate, "decision": decision}
