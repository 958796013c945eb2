"""The tables of arms compared: the arms, their differences, the runs, and CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress

from entropylaw.report import blocks as b
from entropylaw.report.numbers import MISSING, format_number, format_percent, format_step
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


def place_of(result: ArmComparison, pair: Pair, row: Difference) -> str | None:
    """Where a reward is compared: ``step 400``, ``0.10–0.50 nats``."""
    if row.quantity in AT_END and pair.last_step is not None:
        return f"step {format_step(pair.last_step)}"
    if row.quantity == result.along.quantity and pair.common is not None:
        return _range(*pair.common, result.along.unit)
    return None


def _range(low: float, high: float, unit: str) -> str:
    """``0.10–0.50 nats``."""
    return f"{'–'.join(dict.fromkeys(format_number(end, 2) for end in (low, high)))} {unit}".rstrip()


def arms(results: Sequence[ArmComparison]) -> b.Table:
    """A row per arm, the baseline first: failures, last step, final reward, entropy left, ceiling.

    Final rewards, entropies and ceilings are means over the runs that did not fail and are not left out.
    """
    heads = [*b.columns("arm", "failed"), b.Column("last_step", "last step", unit="step")]
    means = {"last_reward": "final reward"}
    if results[0].along.column == "entropy":
        means |= {"along_last": "entropy left, nats", "ceiling": "ceiling"}
    heads += [b.Column(name, label) for name, label in means.items()]
    rows: list[tuple[b.Cell, ...]] = []
    for result in results:
        for arm in sorted(result.arms, key=lambda arm: arm.arm != result.baseline):
            failed = f"{arm.failed} of {sum(run.n > 0 for run in arm.runs)}"
            rows.append((result.reward, arm.arm, failed, arm.last_step, *map(arm.mean_of, means)))
    return of_rewards(heads, rows, results)


def of_rewards(
    heads: Sequence[b.Column], rows: Sequence[Sequence[b.Cell]], results: Sequence[ArmComparison]
) -> b.Table:
    """A table of rows that begin with the label of their reward, which is shown where there are several."""
    if len(results) > 1:
        return b.Table([*b.columns("reward"), *heads], rows, words=3)
    return b.Table(heads, [row[1:] for row in rows], words=2)


def differences(results: Sequence[ArmComparison]) -> Iterator[b.Table]:
    """A table per quantity that is printed, of :data:`QUANTITIES` five, with a row per comparison.

    Final reward, reward at equal values of the column, failures where there are any; on request entropy left
    and ceiling, which are not decided.
    """
    along = results[0].along.quantity
    for quantities in (AT_END, (along,), ("failure_rate",), ("last_entropy",), ("ceiling",)):
        rows: list[tuple[b.Cell, ...]] = []
        label = ""
        for result in results:
            for pair in result.pairs:
                row = pair.first_of(*quantities)
                if row is None or (row.quantity == "failure_rate" and not pair.first_of("living_reward")):
                    continue
                label = words_of(result, row)
                # A note is below the tables.
                difference = replace(row.estimate, note=None)
                word = decided(row) if row.headline or row.quantity == "failure_rate" else None
                is_undetectable = row.smallest is None and row.headline and row.p_adjusted is not None
                rows.append(
                    (
                        result.reward,
                        result.name_of(pair),
                        place_of(result, pair, row),
                        difference,
                        p_text(row.p_adjusted),
                        word,
                        "none" if is_undetectable else row.smallest,
                    )
                )
        if rows:
            is_tested = quantities[0] not in ("last_entropy", "ceiling")
            yield replace(_of_differences(label, rows, results), detail=not is_tested)
    yield from _bands(results)


def _bands(results: Sequence[ArmComparison]) -> Iterator[b.Table]:
    """Where the bands of the curves exclude 0, with the largest difference there; none where no one does."""
    rows: list[tuple[b.Cell, ...]] = []
    for result in results:
        for pair in result.pairs:
            for decision, start, stop, (value, low, high) in () if pair.band is None else pair.band.outside:
                largest = Estimate(value=value, low=low, high=high, level=result.level, method="band")
                place = _range(start, stop, result.along.unit)
                rows.append((result.reward, result.name_of(pair), place, largest, None, decision.value, None))
    if rows:
        yield _of_differences("curves, largest difference", rows, results)


def _of_differences(
    label: str, rows: Sequence[Sequence[b.Cell]], results: Sequence[ArmComparison]
) -> b.Table:
    """A table of differences in a quantity; a column without a cell is left out."""
    heads = [
        b.Column("arm", label),
        b.Column("place", "at"),
        b.Column("difference", f"difference, {format_percent(results[0].level)} interval"),
        b.Column("adjusted_p", "adjusted p"),
        b.Column("decision", "decision", kept=True),
        b.Column("detectable", "detectable"),
    ]
    filled = [any(row[i + 1] not in (None, MISSING) for row in rows) for i in range(len(heads))]
    shown = [(row[0], *compress(row[1:], filled)) for row in rows]
    return replace(of_rewards(list(compress(heads, filled)), shown, results), ranked=True)


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
