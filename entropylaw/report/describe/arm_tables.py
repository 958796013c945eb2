"""The tables of arms compared: answers, quantities, parts, spreads and runs, and the rows of CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from entropylaw.report import blocks as b
from entropylaw.report.describe.stages import bare
from entropylaw.report.numbers import MISSING, format_number
from entropylaw.report.words import listed, quantity_label
from entropylaw.results import Estimate
from entropylaw.results.arms import QUANTITIES, ArmComparison, Band, Decision, Difference, Pair
from entropylaw.results.result import field_names, replace

Named = Sequence[tuple[str, Pair]]
"""Comparisons, each with its name."""

NOT_COMPARABLE = "not comparable"

SPLIT = {"movement": "movement along the curve", "shift": "shift of the curve"}
"""The parts of the difference in last reward → in words."""

TABLE = (
    *b.columns("arm", "baseline", "seeds", "seeds_baseline", "entropy_low", "entropy_high"),
    *b.columns("last_step", "quantity", "unit"),
    b.Column("difference", estimate=True),
    *b.columns("p_value", "p_adjusted", "df", "between", "within", "between_sd", "margin"),
    *b.columns("decision", "seeds_needed", "level", "method", "note"),
)
"""A row per comparison and quantity, and per part of the difference in last reward; ``between_sd`` is the
spread between seeds that was given."""

ARMS = (
    *b.columns("arm"),
    b.Column("seeds", "seeds", lambda arm: len(arm.runs)),
    b.Column("failure_rate", "failure rate", unit="%"),
    b.Column("method", "interval by", lambda arm: arm.failure_rate.method),
    b.Column(
        "entropy",
        "mean curve over, nats",
        lambda arm: over(arm.entropy[0], arm.entropy[-1]) if arm.entropy else MISSING,
    ),
)
"""A row per arm: its runs, those that failed, and the entropies of its mean curve."""

_OF_RUNS = {
    "last_reward": "last reward",
    "entropy_first": "first entropy",
    "entropy_loss": "nats lost per 100 steps",
}
"""Own numbers of a run → heads of their columns, where :data:`QUANTITIES` has no other."""


def decided(difference: Difference) -> str:
    """``higher``, ``lower``, ``same within ±0.01``, ``not decided``, ``not comparable``."""
    if difference.p_value is None:
        return NOT_COMPARABLE
    if difference.decision is Decision.same and difference.margin is not None:
        return f"same within {within(difference.margin)}"
    return difference.decision.value


def over(low: float, high: float) -> str:
    """``0.09–0.50``, or ``0.09`` where both ends are the same."""
    return "–".join(dict.fromkeys(format_number(end, 2) for end in (low, high)))


def within(margin: float) -> str:
    """``±0.01``."""
    return f"±{float(f'{margin:.2g}'):g}"


def p_text(p: float | None) -> str:
    """A p-value to two digits."""
    return MISSING if p is None else f"{p:.2g}"


def answers(named: Named, result: ArmComparison) -> b.Table:
    """A row per comparison with the verdict on reward at equal entropy."""
    heads = [
        b.Column("arm", "arm"),
        b.Column("decision", "at equal entropy"),
        b.Column("difference", "reward at equal entropy"),
        b.Column("over", "over, nats"),
        b.Column("differs", "curves differ over"),
        b.Column("seeds_needed", f"seeds for {within(result.margin)}"),
    ]
    rows = []
    for name, pair in named:
        decision, estimate, seeds = MISSING, None, None
        difference = pair.find("reward_at_entropy")
        if difference is not None:
            decision, estimate = decided(difference), bare(difference.estimate)
            seeds = difference.seeds_needed if difference.decision is Decision.undecided else None
        common = MISSING if pair.entropy_range is None else over(*pair.entropy_range)
        differs = MISSING
        if pair.band is not None:
            ranges = [f"{side} {over(low, high)}" for side, low, high in pair.band.outside]
            differs = "; ".join(ranges) or "nowhere"
        rows.append((name, decision, estimate, common, differs, seeds))
    return with_sd(b.Table(heads, rows, words=2), result)


def with_sd(table: b.Table, result: ArmComparison) -> b.Table:
    """A table whose every row repeats the spread between seeds, where that was given."""
    if result.between_sd is None:
        return table
    heads = [*table.columns, b.Column("between_sd", "sd between seeds")]
    rows = [(*row, f"{result.between_sd:g} as given") for row in table.rows]
    return replace(table, columns=heads, rows=rows)


def quantities_of_each(named: Named, result: ArmComparison) -> list[b.Block]:
    """A table of all quantities per comparison, under its name where there are several."""
    blocks: list[b.Block] = []
    for name, pair in named:
        if len(named) > 1:
            against = f" against {pair.baseline}" if result.baseline is not None else ""
            blocks.append(b.paragraphs(f"{name}{against}"))
        blocks.append(with_sd(quantities([(name, pair)], adjusted=len(named) > 1), result))
    return blocks


def quantities(named: Named, *, adjusted: bool = True) -> b.Table:
    """A row per quantity with its decision, and of several comparisons per comparison."""
    heads = [
        *b.columns("quantity", "difference"),
        b.Column("p_adjusted", "p, Holm" if adjusted else "p"),
        b.Column("decision", "decision"),
        b.Column("seeds_needed", "seeds to decide"),
    ]
    return _by_quantity(
        heads,
        named,
        lambda difference: (
            bare(difference.estimate),
            p_text(difference.p_adjusted),
            decided(difference),
            difference.seeds_needed,
        ),
    )


def _by_quantity(
    heads: Sequence[b.Column], named: Named, cells: Callable[[Difference], tuple[b.Cell, ...]]
) -> b.Table:
    """A row per quantity, with the name of the comparison first where there are several."""
    rows: list[tuple[b.Cell, ...]] = []
    for name, pair in named:
        for difference in pair.differences:
            row = (quantity_of(difference), *cells(difference))
            rows.append((name, *row) if len(named) > 1 else row)
    if len(named) > 1:
        return b.Table([*b.columns("arm"), *heads], rows, words=2)
    return b.Table(heads, rows)


def quantity_of(difference: Difference) -> str:
    """``entropy at equal reward, nats``."""
    return quantity_label(difference.quantity, difference.unit)


def splits(named: Named, result: ArmComparison) -> b.Table:
    """A row per comparison: final reward in its parts."""
    heads = [b.Column("arm", "arm"), b.Column("last_reward", "final reward")]
    heads += [b.Column(name, words) for name, words in SPLIT.items()]
    rows = []
    for name, pair in named:
        last = pair.find("last_reward")
        parts = [None if pair.split is None else bare(getattr(pair.split, part)) for part in SPLIT]
        rows.append((name, None if last is None else bare(last.estimate), *parts))
    return with_sd(b.Table(heads, rows), result)


def ranges(named: Named) -> b.Table:
    """A row per comparison: where the curves and the final rewards are compared, and what differs there."""
    heads = [
        *b.columns("arm", "seeds"),
        b.Column("last_step", "final at step", unit="step"),
        b.Column("at_entropy", "parts at, nats"),
        b.Column("share", "movement's share", unit="%"),
        b.Column("band", "simultaneous band of the curves"),
    ]
    rows = []
    for name, pair in named:
        at_entropy, share = (None, None) if pair.split is None else (pair.split.at_entropy, pair.split.share)
        band = MISSING if pair.band is None else band_words(pair.band)
        rows.append((name, "{} and {}".format(*pair.seeds), pair.last_step, at_entropy, share, band))
    return b.Table(heads, rows, detail=True)


def spreads(named: Named) -> b.Table:
    """A row per comparison and quantity: the spread between seeds, and how the interval was made."""
    heads = [
        *b.columns("quantity"),
        b.Column("between", "sd between seeds"),
        b.Column("within", "standard error within runs"),
        b.Column("df", "df"),
        b.Column("p_value", "p, not adjusted"),
        b.Column("margin", "margin"),
    ]

    def cells(difference: Difference) -> tuple[b.Cell, ...]:
        df = MISSING if difference.df is None else f"{difference.df:.3g}"
        margin = MISSING if difference.margin is None else within(difference.margin)
        return difference.between, difference.within, df, p_text(difference.p_value), margin

    return replace(_by_quantity(heads, named, cells), detail=True)


def runs(result: ArmComparison) -> b.Table:
    """A row per run with its own numbers; those that failed have been named."""
    runs = [(arm.arm, run) for arm in result.arms for run in arm.runs]
    names = list(dict.fromkeys(name for _, run in runs for name in run.values))
    heads = [
        *b.columns("run", "arm", "n"),
        b.Column("last_step", "last step", unit="step"),
        *(b.Column(name, _OF_RUNS.get(name) or QUANTITIES.get(name, (name,))[0]) for name in names),
    ]
    rows = [(run.run, arm, run.n, run.last_step, *map(run.values.get, names)) for arm, run in runs]
    return b.Table(heads, rows, detail=True, words=2)


def band_words(band: Band) -> str:
    """``is above 0 over 0.09–0.14 nats``, or that it contains 0."""
    ranges = []
    for side, low, high in band.outside:
        entropies = over(low, high)
        ranges.append(f"{side} 0 {'over' if '–' in entropies else 'at'} {entropies} nats")
    return f"is {listed(ranges)}" if ranges else "contains 0 at every entropy"


def rows(pair: Pair) -> Iterator[b.Row]:
    """The rows of a comparison for CSV."""
    low, high = pair.entropy_range or (None, None)
    base: b.Row = {"arm": pair.arm, "baseline": pair.baseline, "last_step": pair.last_step}
    base |= {"entropy_low": low, "entropy_high": high}
    for difference in pair.differences:
        row: b.Row = {name: getattr(difference, name) for name in field_names(difference)}
        decision = NOT_COMPARABLE if difference.p_value is None else difference.decision.value
        yield base | row | _seeds(difference) | _of(difference.estimate) | {"decision": decision}
    last = pair.find("last_reward")
    if pair.split is not None and last is not None:
        base |= _seeds(last)
        for name in SPLIT:
            yield base | {"quantity": name, "unit": "reward"} | _of(getattr(pair.split, name))
        yield base | {"quantity": "movement_share", "unit": "share"} | _of(pair.split.share)


def _seeds(difference: Difference) -> b.Row:
    return dict(zip(("seeds", "seeds_baseline"), difference.seeds, strict=True))


def _of(estimate: Estimate) -> b.Row:
    return {"difference": estimate, **{name: getattr(estimate, name) for name in ("level", "method", "note")}}
