"""Arms compared: what was grouped, the answer per arm, all quantities, and the arms and runs behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from entropylaw.escaping import counted
from entropylaw.report import blocks as b
from entropylaw.report.describe.stages import bare, stages, transfers
from entropylaw.report.figures import figures_of
from entropylaw.report.numbers import MISSING, format_estimate, format_number, format_percent, format_step
from entropylaw.report.words import listed, quantity_label
from entropylaw.results import Estimate
from entropylaw.results.arms import QUANTITIES, ArmComparison, Band, Decision, Difference, Pair
from entropylaw.results.result import field_names, replace, sentences

Named = Sequence[tuple[str, Pair]]
"""Comparisons, each with its name."""

MOST_DESCRIBED = 3
"""Comparisons that have sentences of their own; more are rows of a table."""

MOST_FAILED = 5
"""Failed runs that a terminal names."""

NOT_COMPARABLE = "not comparable"

SPLIT = {"movement": "movement along the curve", "shift": "shift of the curve"}
"""The parts of the difference in last reward → in words."""

_BY = {"movement": "movement along the curve", "shift": "a shift of the curve"}

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
        lambda arm: _over(arm.entropy[0], arm.entropy[-1]) if arm.entropy else MISSING,
    ),
)
"""A row per arm: its runs, those that failed, and the entropies of its mean curve."""

NEXT = "add a seed to an arm, or give the standard deviation of rewards between seeds by --between-sd"

_OK = {Decision.above: True, Decision.below: False}

_OF_RUNS = {
    "last_reward": "last reward",
    "entropy_first": "first entropy",
    "entropy_loss": "nats lost per 100 steps",
}
"""Own numbers of a run → heads of their columns, where :data:`QUANTITIES` has no other."""


def describe(result: ArmComparison) -> list[b.Block]:
    """What was grouped, the answers, final reward in its parts, all quantities, then arms and runs.

    Of more than :data:`MOST_DESCRIBED` comparisons the answers are a table, with a row each.
    """
    few = len(result.pairs) <= MOST_DESCRIBED
    alone = result.between_sd is None and all(len(arm.runs) < 2 for arm in result.arms)
    named = [(result.name_of(pair), pair) for pair in result.pairs]
    cautions = [f"{name}: {sentence}" for name, pair in named for sentence in pair.cautions]
    runs = counted(sum(len(arm.runs) for arm in result.arms), "run")
    about = f"{runs}; {format_percent(result.level)} intervals"
    if few:
        answers = [*_verdicts(named, result), b.Notes(_parts(named, result))]
        quantities = _quantities_of_each(named, result)
    else:
        answers = [_answers(named, result), _splits(named, result)]
        of_all = _with_sd(_quantities(named), result)
        heading = b.Heading("All quantities", name="quantities")
        quantities = [_ranges(named), heading, replace(of_all, detail=True)]
    return [
        b.Heading(title(result), 2, about),
        b.Notes(_grouped(result)),
        *answers,
        b.Notes(b.labelled("caution", result.cautions)),
        b.Notes(b.labelled("note", sentences(result.findings, "note"))),
        b.Notes(b.labelled("caution", cautions), detail=not few),
        b.Heading("Curves and differences", name="differences"),
        *figures_of("arms", result),
        *quantities,
        b.Notes(_unknown(named), detail=not few),
        b.Notes([*_methods(named, result), *b.labelled("next", [NEXT] if alone else [])]),
        b.Heading("What the intervals rest on", name="intervals"),
        _spreads(named),
        *stages(result),
        *transfers(result),
        b.Heading("Arms and runs", name="arms"),
        replace(b.table_of(ARMS, result.arms), detail=True),
        _runs(result),
    ]


def table(result: ArmComparison) -> b.Table:
    """A row per comparison and quantity."""
    given: b.Row = {"between_sd": result.between_sd}
    return b.table_of(TABLE, (row | given for pair in result.pairs for row in _rows(pair)), words=2)


def title(result: ArmComparison) -> str:
    """``clip_cov against grpo``, ``5 arms against grpo``, ``6 arms, all pairs``."""
    if len(result.pairs) == 1:
        return f"{result.pairs[0].arm} against {result.pairs[0].baseline}"
    if result.baseline is None:
        return f"{len(result.arms)} arms, all pairs"
    return f"{len(result.arms) - 1} arms against {result.baseline}"


def decided(difference: Difference) -> str:
    """``higher``, ``lower``, ``same within ±0.01``, ``not decided``, ``not comparable``."""
    if difference.p_value is None:
        return NOT_COMPARABLE
    if difference.decision is Decision.same and difference.margin is not None:
        return f"same within {_within(difference.margin)}"
    return difference.decision.value


def signed(estimate: Estimate) -> str:
    """``+0.012 [-0.003, 0.028]``, or ``+0.012, without interval``."""
    text = format_estimate(estimate)
    positive = text.value[0].isdigit() and text.value.strip("0.") != ""
    value = f"+{text.value}" if positive else text.value
    return f"{value}, without interval" if text.interval == MISSING else f"{value} {text.interval}"


def _over(low: float, high: float) -> str:
    """``0.09–0.50``, or ``0.09`` where both ends are the same."""
    return "–".join(dict.fromkeys(format_number(end, 2) for end in (low, high)))


def _within(margin: float) -> str:
    return f"±{float(f'{margin:.2g}'):g}"


def _p(p: float | None) -> str:
    return MISSING if p is None else f"{p:.2g}"


def _grouped(result: ArmComparison) -> list[b.Note]:
    """The arms with their seeds, and the runs that failed, each with its reason."""
    arms = ", ".join(f"{arm.arm} ({counted(len(arm.runs), 'seed')})" for arm in result.arms)
    failed = [f"{run.run} ({run.failed})" for arm in result.arms for run in arm.runs if run.failed]
    if not failed:
        return [b.Note("arms", arms), b.Note("failed", "no run")]
    brief = failed
    if len(failed) > MOST_FAILED:
        brief = [*failed[:MOST_FAILED], f"{len(failed) - MOST_FAILED} more: --details"]
    count = counted(len(failed), "run")
    return [
        b.Note("arms", arms),
        b.Note("failed", f"{count}: {'; '.join(failed)}", f"{count}: {'; '.join(brief)}"),
    ]


def _verdicts(named: Named, result: ArmComparison) -> Iterator[b.Block]:
    """The verdict of each comparison on reward at equal entropy."""
    for name, pair in named:
        difference = pair.find("reward_at_entropy")
        if difference is None:
            continue
        text, estimate = f"{name}: reward at equal entropy", difference.estimate
        if estimate.value is None:
            yield b.Verdict(NOT_COMPARABLE, f"{text}: {estimate.note}")
            continue
        text += f" {signed(estimate)}"
        if pair.entropy_range is not None:
            text += f" over {_over(*pair.entropy_range)} nats"
        facts = ["{} and {} seeds".format(*pair.seeds)]
        if difference.p_adjusted is not None:
            facts.append(f"{'Holm p' if len(named) > 1 else 'p'} = {_p(difference.p_adjusted)}")
        if result.between_sd is not None:
            facts.append(_sd_given(result.between_sd))
        end = f": {estimate.note}" if estimate.note else _power(difference, min(pair.seeds))
        badge = NOT_COMPARABLE if difference.p_value is None else difference.decision.value
        yield b.Verdict(badge, f"{text} ({', '.join(facts)}){end}", _OK.get(difference.decision))


def _sd_given(sd: float) -> str:
    return f"between-seed sd {sd:g} as given"


def _power(difference: Difference, seeds: int) -> str:
    """The number of seeds that would decide, for a difference that is not decided."""
    undecided = difference.decision is Decision.undecided and difference.p_value is not None
    if not undecided or difference.margin is None:
        return ""
    within, needed = _within(difference.margin), difference.seeds_needed
    if needed is None:
        return f"; no practical number of seeds decides {within}"
    if needed <= seeds:
        return f"; these seeds have 80 % power to find {within}"
    return f"; {needed} seeds per arm decide {within} with 80 % power"


def _parts(named: Named, result: ArmComparison) -> list[b.Note]:
    """The final reward as movement and shift, and where the band of the curves excludes 0."""
    notes = []
    end = "" if result.between_sd is None else f" ({_sd_given(result.between_sd)})"
    for name, pair in named:
        last = pair.find("last_reward")
        if last is not None:
            notes.append(b.Note("final reward", f"{name}: {_final_reward(pair, last)}{end}"))
        if pair.band is not None:
            text = f"{name}: the simultaneous band of the difference {_band(pair.band)}{end}"
            notes.append(b.Note("curves", text, None if pair.band.outside else ""))
    return notes


def _band(band: Band) -> str:
    """``is above 0 over 0.09–0.14 nats``, or that it contains 0."""
    ranges = []
    for side, low, high in band.outside:
        entropies = _over(low, high)
        ranges.append(f"{side} 0 {'over' if '–' in entropies else 'at'} {entropies} nats")
    return f"is {listed(ranges)}" if ranges else "contains 0 at every entropy"


def _final_reward(pair: Pair, last: Difference) -> str:
    """The difference of all seeds' last rewards, and its parts where all of these seeds are in them."""
    if last.estimate.value is None:
        return f"unknown: {last.estimate.note}"
    seeds = "{} and {} seeds".format(*last.seeds)
    text = f"{signed(last.estimate)} at step {format_step(pair.last_step)} ({seeds}), {decided(last)}"
    split = pair.split
    if split is None:
        return text
    if split.movement.value is None:
        return f"{text}; movement and shift are unknown: {split.movement.note}"
    parts = ", ".join(f"{signed(getattr(split, name))} by {words}" for name, words in _BY.items())
    text += f": {parts} at {format_number(split.at_entropy, 2)} nats"
    if split.share.value is None:
        return text
    share = format_estimate(split.share, "%")
    return f"{text}; movement is {share.value} {share.interval} of the difference"


def _answers(named: Named, result: ArmComparison) -> b.Table:
    """A row per comparison with the verdict on reward at equal entropy."""
    heads = [
        b.Column("arm", "arm"),
        b.Column("decision", "at equal entropy"),
        b.Column("difference", "reward at equal entropy"),
        b.Column("over", "over, nats"),
        b.Column("differs", "curves differ over"),
        b.Column("seeds_needed", f"seeds for {_within(result.margin)}"),
    ]
    rows = []
    for name, pair in named:
        decision, estimate, seeds = MISSING, None, None
        difference = pair.find("reward_at_entropy")
        if difference is not None:
            decision, estimate = decided(difference), bare(difference.estimate)
            seeds = difference.seeds_needed if difference.decision is Decision.undecided else None
        over = MISSING if pair.entropy_range is None else _over(*pair.entropy_range)
        differs = MISSING
        if pair.band is not None:
            ranges = [f"{side} {_over(low, high)}" for side, low, high in pair.band.outside]
            differs = "; ".join(ranges) or "nowhere"
        rows.append((name, decision, estimate, over, differs, seeds))
    return _with_sd(b.Table(heads, rows, words=2), result)


def _with_sd(table: b.Table, result: ArmComparison) -> b.Table:
    """A table whose every row repeats the spread between seeds, where that was given."""
    if result.between_sd is None:
        return table
    heads = [*table.columns, b.Column("between_sd", "sd between seeds")]
    rows = [(*row, f"{result.between_sd:g} as given") for row in table.rows]
    return replace(table, columns=heads, rows=rows)


def _quantities_of_each(named: Named, result: ArmComparison) -> list[b.Block]:
    """A table of all quantities per comparison, under its name where there are several."""
    blocks: list[b.Block] = []
    for name, pair in named:
        if len(named) > 1:
            against = f" against {pair.baseline}" if result.baseline is not None else ""
            blocks.append(b.paragraphs(f"{name}{against}"))
        blocks.append(_with_sd(_quantities([(name, pair)], adjusted=len(named) > 1), result))
    return blocks


def _quantities(named: Named, *, adjusted: bool = True) -> b.Table:
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
            _p(difference.p_adjusted),
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
            row = (_quantity(difference), *cells(difference))
            rows.append((name, *row) if len(named) > 1 else row)
    if len(named) > 1:
        return b.Table([*b.columns("arm"), *heads], rows, words=2)
    return b.Table(heads, rows)


def _quantity(difference: Difference) -> str:
    """``entropy at equal reward, nats``."""
    return quantity_label(difference.quantity, difference.unit)


def _unknown(named: Named) -> list[b.Note]:
    """Why differences are unknown, or have no interval; those of one reason together."""
    names: dict[tuple[str, str], list[str]] = {}
    for name, pair in named:
        quantities: dict[str, list[str]] = {}
        for difference in pair.differences:
            if difference.estimate.note:
                quantities.setdefault(difference.estimate.note, []).append(_quantity(difference))
        for reason in sorted(quantities):
            names.setdefault((reason, "; ".join(quantities[reason])), []).append(name)
    return [
        b.Note("unknown", f"{', '.join(arms)}: {quantities}: {reason}")
        for (reason, quantities), arms in names.items()
    ]


def _methods(named: Named, result: ArmComparison) -> list[b.Note]:
    """How the intervals were made, with the quantities where that is another method."""
    quantities: dict[str, dict[str, None]] = {}
    freedom = set()
    for _, pair in named:
        for difference in pair.differences:
            # The counts of failed runs are in the table of the arms.
            method = difference.estimate.method.rpartition("; ")[2]
            quantities.setdefault(method, {})[_quantity(difference)] = None
            if difference.df is not None:
                freedom.add(difference.df)
    most = max(quantities, key=lambda method: len(quantities[method]), default="")
    text = f"{format_percent(result.level)} intervals: {most}"
    if freedom:
        ends = dict.fromkeys(f"{df:.3g}" for df in (min(freedom), max(freedom)))
        text += f" (df {'–'.join(ends)})"
    if len(named) > 1:
        text += f"; p-values adjusted by Holm's method over {len(named)} comparisons"
    text += f"; same: two one-sided tests exclude a difference of {result.margin:.3g} of reward"
    notes = [b.Note("method", text)]
    for method, labels in quantities.items():
        if method != most:
            notes.append(b.Note("method", f"{'; '.join(labels)}: {method}", ""))
    return notes


def _splits(named: Named, result: ArmComparison) -> b.Table:
    """A row per comparison: final reward in its parts."""
    heads = [b.Column("arm", "arm"), b.Column("last_reward", "final reward")]
    heads += [b.Column(name, words) for name, words in SPLIT.items()]
    rows = []
    for name, pair in named:
        last = pair.find("last_reward")
        parts = [None if pair.split is None else bare(getattr(pair.split, part)) for part in SPLIT]
        rows.append((name, None if last is None else bare(last.estimate), *parts))
    return _with_sd(b.Table(heads, rows), result)


def _ranges(named: Named) -> b.Table:
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
        band = MISSING if pair.band is None else _band(pair.band)
        rows.append((name, "{} and {}".format(*pair.seeds), pair.last_step, at_entropy, share, band))
    return b.Table(heads, rows, detail=True)


def _spreads(named: Named) -> b.Table:
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
        margin = MISSING if difference.margin is None else _within(difference.margin)
        return difference.between, difference.within, df, _p(difference.p_value), margin

    return replace(_by_quantity(heads, named, cells), detail=True)


def _runs(result: ArmComparison) -> b.Table:
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


def _rows(pair: Pair) -> Iterator[b.Row]:
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
