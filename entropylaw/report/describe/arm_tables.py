"""The tables of arms compared: the arms, the family, what is exploratory, spreads and runs, and CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from entropylaw.report import blocks as b
from entropylaw.report.numbers import MISSING, format_number, format_percent
from entropylaw.results import Estimate
from entropylaw.results.arms import QUANTITIES, ArmComparison, Decision, Difference, Pair
from entropylaw.results.result import field_names, replace

NOT_COMPARABLE = "not comparable"

TABLE = (
    *b.columns("reward", "arm", "baseline", "seeds", "seeds_baseline", "equal", "common_low", "common_high"),
    *b.columns("last_step", "quantity", "unit", "headline"),
    b.Column("difference", estimate=True),
    *b.columns("p_value", "p_adjusted", "p_welch", "between", "within", "margin"),
    *b.columns("inner_low", "inner_high", "decision", "smallest", "seeds_needed", "level", "method", "note"),
)
"""A row per comparison and quantity. ``equal`` is the column at equal values of which rewards are compared;
decisions are those of the family and of failures."""


def decided(row: Difference) -> str:
    """``higher``, ``lower``, ``same within ±0.01``, ``not decided``, ``not comparable``."""
    if row.p_adjusted is None:
        return NOT_COMPARABLE
    if row.decision is Decision.same:
        return f"same {within(row.margin)}"
    if row.rests_on_like_spreads:
        return f"{row.decision.value} (Welch's p = {p_text(row.p_welch)})"
    return row.decision.value


def outside_band(result: ArmComparison, pair: Pair) -> Iterator[tuple[str, Estimate, Decision]]:
    """Where the band of the curves excludes 0: ``from 0.1 to 0.2 nats``, the largest difference, its sign."""
    if pair.band is None:
        return
    for decision, start, stop, (value, low, high) in pair.band.outside:
        ends = list(dict.fromkeys(format_number(end, 2) for end in (start, stop)))
        at = f"{'from' if len(ends) > 1 else 'at'} {' to '.join(ends)} {result.along.unit}".rstrip()
        largest = Estimate(value=value, low=low, high=high, level=result.level, method="simultaneous band")
        yield at, largest, decision


def within(margin: float | None) -> str:
    """``within ±0.01``."""
    return MISSING if margin is None else f"within ±{float(f'{margin:.2g}'):g}"


def p_text(p: float | None) -> str:
    """A p-value to two digits."""
    return MISSING if p is None else f"{p:.2g}"


def words_of(result: ArmComparison, row: Difference) -> str:
    """``final entropy, nats``; a column at equal values of which rewards are compared is named."""
    words = QUANTITIES.get(row.quantity, (row.quantity,))[0]
    if row.quantity == "reward_at_equal":
        words = f"reward at equal {result.along.column}"
    if row.unit == "reward":
        return f"{words}, percent" if result.reward_unit == "percent" else words
    return words if row.unit in ("", row.quantity) else f"{words}, {row.unit}"


def arms(results: Sequence[ArmComparison]) -> b.Table:
    """A row per arm, the baseline first: its runs, what it differs in, its final reward, the entropy left.

    Final rewards and entropies are means over the runs that did not fail and are not left out. Without a
    baseline the differences have a table of their own.
    """
    along = results[0].along
    has_entropy = along.column == "entropy"
    heads = list(b.columns("arm", "failed"))
    if results[0].baseline is not None:
        heads.append(b.Column("difference", "difference in final reward"))
        heads.append(b.Column("equal", f"difference at equal {along.column}"))
    heads.append(b.Column("last_reward", "final reward"))
    if has_entropy:
        heads.append(b.Column("along_last", "entropy left, nats"))
    rows: list[tuple[b.Cell, ...]] = []
    for result in results:
        for arm in sorted(result.arms, key=lambda arm: arm.arm != result.baseline):
            cells: list[b.Cell] = [
                result.reward,
                arm.arm,
                f"{arm.failed} of {sum(run.n > 0 for run in arm.runs)}",
            ]
            if result.baseline is not None:
                pair = result.pair(arm.arm, result.baseline)
                cells += [_gap(pair, "living_reward", "last_reward"), _gap(pair, along.quantity)]
            cells.append(arm.mean_of("last_reward"))
            if has_entropy:
                cells.append(arm.mean_of("along_last"))
            rows.append(tuple(cells))
    return replace(of_rewards(heads, rows, results), ranked=True)


def first_of(pair: Pair, *quantities: str) -> Difference | None:
    """The difference in the first of some quantities that the comparison has."""
    return next((row for name in quantities if (row := pair.find(name)) is not None), None)


def _gap(pair: Pair | None, *quantities: str) -> Estimate | None:
    """The difference in the first of some quantities that the comparison has; None of the baseline itself."""
    row = None if pair is None else first_of(pair, *quantities)
    # Why a number is not known is said below the table.
    return None if row is None else replace(row.estimate, note=None)


def of_rewards(
    heads: Sequence[b.Column], rows: Sequence[Sequence[b.Cell]], results: Sequence[ArmComparison]
) -> b.Table:
    """A table of rows that begin with the label of their reward, which is shown where there are several."""
    if len(results) > 1:
        return b.Table([*b.columns("reward"), *heads], rows, words=3)
    return b.Table(heads, [row[1:] for row in rows], words=2)


def _by_quantity(
    results: Sequence[ArmComparison],
    heads: Sequence[b.Column],
    shown: Callable[[Difference], bool],
    cells: Callable[[Difference], tuple[b.Cell, ...]],
) -> b.Table:
    """A row per reward, comparison and quantity that is shown."""
    rows = [
        (result.reward, result.name_of(pair), words_of(result, row), *cells(row))
        for result in results
        for pair in result.pairs
        for row in pair.differences
        if shown(row)
    ]
    return of_rewards([*b.columns("arm", "quantity"), *heads], rows, results)


def family(results: Sequence[ArmComparison]) -> b.Table:
    """A row per comparison and quantity that is decided, with failures, and where curves differ, if any."""
    rows: list[tuple[b.Cell, ...]] = []
    for result in results:
        for pair in result.pairs:
            of_pair = (result.reward, result.name_of(pair))
            for row in pair.differences:
                if row.headline or (row.quantity == "failure_rate" and pair.find("living_reward")):
                    # A note is below the table.
                    gap = replace(row.estimate, note=None)
                    of_row = (words_of(result, row), gap, p_text(row.p_adjusted), decided(row))
                    rows.append(of_pair + of_row)
            for at, largest, decision in outside_band(result, pair):
                rows.append((*of_pair, f"largest {at}", largest, "band", decision.value))
    interval = f"difference, {format_percent(results[0].level)} interval"
    heads = [*b.columns("arm", "quantity"), b.Column("difference", interval)]
    table = of_rewards([*heads, *b.columns("adjusted_p", "decision")], rows, results)
    # Without a baseline these are the only differences.
    return replace(table, detail=results[0].baseline is not None)


def exploratory(results: Sequence[ArmComparison]) -> b.Table:
    """A row per comparison and quantity outside the family: numbers with intervals, and no decision."""
    table = _by_quantity(
        results,
        b.columns("difference", "seeds"),
        lambda row: not row.headline and row.quantity != "failure_rate",
        lambda row: (replace(row.estimate, note=None), "{} and {}".format(*row.seeds)),
    )
    return replace(table, detail=True)


def spreads(results: Sequence[ArmComparison]) -> b.Table:
    """A row per comparison and quantity of the family: what its interval and its decision are from."""
    labels = {
        "between": "sd between seeds",
        "within": "standard error within runs",
        "p_welch": "adjusted p by Welch's test",
        "smallest": "would be found",
        "seeds_needed": "seeds for the margin",
    }

    def cells(row: Difference) -> tuple[b.Cell, ...]:
        return row.between, row.within, p_text(row.p_welch), row.smallest, row.seeds_needed

    heads = [b.Column(key, label) for key, label in labels.items()]
    return replace(_by_quantity(results, heads, lambda row: row.headline, cells), detail=True)


def runs(results: Sequence[ArmComparison]) -> b.Table:
    """A row per run with its own numbers; those that failed have been named."""
    members = [(result.reward, arm.arm, run) for result in results for arm in result.arms for run in arm.runs]
    names = dict.fromkeys(name for _, _, run in members for name in run.values)
    names.pop("reward_first", None)
    along = results[0].along.column
    column = "H" if along == "entropy" else along
    labels = {"along_first": f"first {column}", "along_last": f"last {column}", "last_reward": "last reward"}
    heads = [
        *b.columns("run", "arm", "n"),
        b.Column("last_step", "last step", unit="step"),
        *(b.Column(name, labels.get(name, name)) for name in names),
    ]
    rows = [
        (reward, run.run, arm, run.n, run.last_step, *map(run.values.get, names))
        for reward, arm, run in members
    ]
    return replace(of_rewards(heads, rows, results), detail=True)


def rows(result: ArmComparison) -> Iterator[b.Row]:
    """The rows of all comparisons for CSV; only what was tested in a family has a decision."""
    for pair in result.pairs:
        low, high = pair.common or (None, None)
        base: b.Row = {
            "reward": result.reward,
            "arm": pair.arm,
            "baseline": pair.baseline,
            "last_step": pair.last_step,
        }
        base |= {"equal": result.along.column, "common_low": low, "common_high": high}
        for row in pair.differences:
            cells: b.Row = {name: getattr(row, name) for name in field_names(row) if name != "inner"}
            if row.unit == "reward" and result.reward_unit != "raw":
                cells["unit"] = result.reward_unit
            cells |= dict(zip(("seeds", "seeds_baseline"), row.seeds, strict=True))
            cells |= {name: getattr(row.estimate, name) for name in ("level", "method", "note")}
            cells |= {f"inner_{end}": getattr(row.inner, end, None) for end in ("low", "high")}
            decision = NOT_COMPARABLE if row.headline else None
            if row.p_adjusted is not None:
                decision = row.decision.value
            yield base | cells | {"difference": row.estimate, "decision": decision}
