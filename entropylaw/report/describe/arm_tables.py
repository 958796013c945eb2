"""The tables of arms compared: the arms, their differences, the runs, and CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from entropylaw.report import blocks as b
from entropylaw.report.numbers import MISSING, format_number, format_percent
from entropylaw.results import Estimate
from entropylaw.results.arms import AT_END, QUANTITIES, ArmComparison, Decision, Difference, Pair
from entropylaw.results.result import field_names, replace

NOT_COMPARABLE = "not comparable"

TABLE = (
    *b.columns("reward", "arm", "baseline", "seeds", "seeds_baseline", "equal", "common_low", "common_high"),
    *b.columns("last_step", "quantity", "unit", "headline"),
    b.Column("difference", estimate=True),
    *b.columns("p_value", "p_adjusted", "p_welch", "between", "margin"),
    *b.columns("inner_low", "inner_high", "decision", "smallest", "seeds_needed", "level", "method", "note"),
)
"""A row per comparison and quantity. ``equal`` is the column at equal values of which rewards are compared;
decisions are those of the family and of failures."""


def word_of(row: Difference) -> str:
    """What is decided in a family: ``higher``, ``lower``, ``same``, ``not decided``, ``not comparable``."""
    return NOT_COMPARABLE if row.p_adjusted is None else row.decision.value


def decided(row: Difference) -> str:
    """The word, with the margin, or with Welch's p-value where that would not decide."""
    word = word_of(row)
    if word == Decision.same:
        return f"{word} {within(row.margin)}"
    return f"{word} (Welch's p = {p_text(row.p_welch)})" if row.welch_disagrees else word


def shown(result: ArmComparison, pair: Pair) -> Iterator[Difference]:
    """The differences that are printed, of :data:`QUANTITIES` five: all others are in the document.

    Final reward, reward at equal values of the column, failures where there are any, entropy left, ceiling.
    """
    for names in (AT_END, (result.along.quantity,), ("failure_rate",), ("last_entropy",), ("ceiling",)):
        row = pair.first_of(*names)
        if row is not None and (row.quantity != "failure_rate" or pair.first_of("living_reward")):
            yield row


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
    """A row per arm, the baseline first: failures, what it differs in, final reward, entropy left, ceiling.

    Final rewards, entropies and ceilings are means over the runs that did not fail and are not left out.
    Without a baseline the differences have a table of their own.
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
        heads.append(b.Column("ceiling", "ceiling"))
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
                cells.append(arm.mean_of("ceiling"))
            rows.append(tuple(cells))
    return replace(of_rewards(heads, rows, results), ranked=True)


def _gap(pair: Pair | None, *quantities: str) -> Estimate | None:
    """The difference in the first of some quantities that the comparison has; None of the baseline itself."""
    row = None if pair is None else pair.first_of(*quantities)
    # Why a number is not known is said below the table.
    return None if row is None else replace(row.estimate, note=None)


def of_rewards(
    heads: Sequence[b.Column], rows: Sequence[Sequence[b.Cell]], results: Sequence[ArmComparison]
) -> b.Table:
    """A table of rows that begin with the label of their reward, which is shown where there are several."""
    if len(results) > 1:
        return b.Table([*b.columns("reward"), *heads], rows, words=3)
    return b.Table(heads, [row[1:] for row in rows], words=2)


def differences(results: Sequence[ArmComparison]) -> b.Table:
    """A row per comparison and quantity that is printed, and where curves differ, if any.

    Only final reward, reward at equal values of the column and failures are decided.
    """
    rows: list[tuple[b.Cell, ...]] = []
    for result in results:
        for pair in result.pairs:
            of_pair = (result.reward, result.name_of(pair))
            for row in shown(result, pair):
                # A note is below the table.
                gap = replace(row.estimate, note=None)
                is_tested = row.headline or row.quantity == "failure_rate"
                word = decided(row) if is_tested else MISSING
                of_row = (words_of(result, row), gap, p_text(row.p_adjusted), word)
                rows.append(of_pair + of_row)
            for at, largest, decision in outside_band(result, pair):
                rows.append((*of_pair, f"largest {at}", largest, "band", decision.value))
    interval = f"difference, {format_percent(results[0].level)} interval"
    heads = [*b.columns("arm", "quantity"), b.Column("difference", interval)]
    table = of_rewards([*heads, *b.columns("adjusted_p", "decision")], rows, results)
    # Without a baseline these are the only differences.
    return replace(table, detail=results[0].baseline is not None)


def runs(results: Sequence[ArmComparison]) -> b.Table:
    """A row per run with its own numbers; those that failed have been named."""
    members = [(result.reward, arm.arm, run) for result in results for arm in result.arms for run in arm.runs]
    along = results[0].along.column
    column = "H" if along == "entropy" else along
    labels = {"last_reward": "last reward", "along_last": f"last {column}", "ceiling": "ceiling"}
    names = [name for name in labels if any(name in run.values for _, _, run in members)]
    heads = [
        *b.columns("run", "arm", "n"),
        b.Column("last_step", "last step", unit="step"),
        *(b.Column(name, labels[name]) for name in names),
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
            decision = None if row.p_adjusted is None and not row.headline else word_of(row)
            yield base | cells | {"difference": row.estimate, "decision": decision}
