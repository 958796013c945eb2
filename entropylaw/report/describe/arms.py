"""Arms compared: what was grouped, the answer per arm, all quantities, and the arms and runs behind them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

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
    named = [(result.name_of(pair), pair) for pair in result.pairs]
    cautions = [f"{name}: {said}" for name, pair in named for said in pair.cautions]
    runs = counted(sum(len(arm.runs) for arm in result.arms), "run")
    about = f"{runs}, the seed as the unit; {format_percent(result.level)} intervals"
    if few:
        first = [*_verdicts(named, result), b.Notes(_parts(named, result))]
        beside: list[b.Block] = []
        for one in named:
            said = f"{one[0]} against {one[1].baseline}" if result.baseline is not None else one[0]
            beside += [b.paragraphs(said)] * (len(named) > 1)
            beside.append(_with_sd(_quantities([one], several=len(named) > 1), result))
    else:
        first = [_answers(named, result), _with_sd(_splits(named), result)]
        beside = [_ranges(named), b.Heading("All quantities", name="quantities")]
        beside.append(replace(_with_sd(_quantities(named), result), detail=True))
    return [
        b.Heading(title(result), 2, about),
        b.Notes(_grouped(result)),
        *first,
        b.Notes(b.labelled("caution", result.cautions)),
        b.Notes(b.labelled("note", sentences(result.findings, "note"))),
        b.Notes(b.labelled("caution", cautions), detail=not few),
        b.Heading("Curves and differences", name="differences"),
        *figures_of("arms", result),
        *beside,
        b.Notes(_unknown(named), detail=not few),
        b.Notes([*_methods(named, result), *_next(result)]),
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


def decided(one: Difference) -> str:
    """``higher``, ``lower``, ``same within ±0.01``, ``not decided``, ``not comparable``."""
    if one.p_value is None:
        return NOT_COMPARABLE
    if one.decision is Decision.same and one.margin is not None:
        return f"same within {_within(one.margin)}"
    return one.decision.value


def signed(estimate: Estimate, unit: str = "") -> str:
    """``+0.012 [-0.003, 0.028]``, or ``+0.012, without interval``."""
    text = format_estimate(estimate, unit)
    plus = "+" * (text.value[0].isdigit() and text.value.strip("0.") != "")
    return f"{plus}{text.value}" + (", without interval" if text.interval == MISSING else f" {text.interval}")


def _over(low: float, high: float) -> str:
    """``0.09–0.50``."""
    return f"{format_number(low, 2)}–{format_number(high, 2)}"


def _grouped(result: ArmComparison) -> list[b.Note]:
    """The arms with their seeds, and the runs that failed, each with its reason."""
    arms = ", ".join(f"{arm.arm} ({counted(len(arm.runs), 'seed')})" for arm in result.arms)
    failed = [f"{run.run} ({run.failed})" for arm in result.arms for run in arm.runs if run.failed]
    if not failed:
        return [b.Note("arms", arms), b.Note("failed", "no run")]
    more = len(failed) - MOST_FAILED
    brief = failed if more <= 0 else [*failed[:MOST_FAILED], f"{more} more: --details"]
    count = counted(len(failed), "run")
    whole, short = (f"{count}: {'; '.join(some)}" for some in (failed, brief))
    return [b.Note("arms", arms), b.Note("failed", whole, short)]


def _verdicts(named: Named, result: ArmComparison) -> Iterator[b.Block]:
    """The verdict of each comparison on reward at equal entropy."""
    for name, pair in named:
        if (one := pair.find("reward_at_entropy")) is None:
            continue
        text, estimate = f"{name}: reward at equal entropy", one.estimate
        if estimate.value is None:
            yield b.Verdict(NOT_COMPARABLE, f"{text}: {estimate.note}")
            continue
        where = f" over {_over(*pair.entropy_range)} nats" if pair.entropy_range is not None else ""
        facts = ["{} and {} seeds".format(*pair.seeds)]
        if one.p_adjusted is not None:
            facts.append(f"{'Holm ' * (len(named) > 1)}p = {_p(one.p_adjusted)}")
        facts += [] if result.between_sd is None else [_sd_given(result.between_sd)]
        why = f": {estimate.note}" if estimate.note else _power(one, min(pair.seeds))
        badge = NOT_COMPARABLE if one.p_value is None else one.decision.value
        text = f"{text} {signed(estimate)}{where} ({', '.join(facts)}){why}"
        yield b.Verdict(badge, text, _OK.get(one.decision))


def _sd_given(sd: float) -> str:
    return f"between-seed sd {sd:g} as given"


def _within(margin: float) -> str:
    return f"±{float(f'{margin:.2g}'):g}"


def _power(one: Difference, seeds: int) -> str:
    """The seeds that would decide, beside a difference that is not decided."""
    if one.decision is not Decision.undecided or one.margin is None or one.p_value is None:
        return ""
    if one.seeds_needed is None:
        return f"; no usual number of seeds decides {_within(one.margin)}"
    if one.seeds_needed <= seeds:
        return f"; these seeds have 80 % power to find {_within(one.margin)}"
    return f"; {one.seeds_needed} seeds per arm decide {_within(one.margin)} with 80 % power"


def _p(p: float | None) -> str:
    return MISSING if p is None else f"{p:.2g}"


def _parts(named: Named, result: ArmComparison) -> list[b.Note]:
    """The final reward as movement and shift, and where the band of the curves excludes 0."""
    notes, given = [], "" if result.between_sd is None else f" ({_sd_given(result.between_sd)})"
    for name, pair in named:
        if (last := pair.find("last_reward")) is not None:
            notes.append(b.Note("final reward", f"{name}: {_final_reward(pair, last)}{given}"))
        if pair.band is not None:
            text = f"{name}: the simultaneous band of the difference {_band(pair.band)}{given}"
            notes.append(b.Note("curves", text, None if pair.band.outside else ""))
    return notes


def _band(band: Band) -> str:
    """``is above 0 over 0.09–0.14 nats``, or that it contains 0."""
    places = [f"{place.replace(' ', ' 0 over ')} nats" for place in _places(band)]
    return f"is {listed(places)}" if places else "contains 0 at every entropy"


def _places(band: Band) -> list[str]:
    """``above 0.09–0.14`` for each range where a band excludes 0."""
    return [f"{side} {_over(low, high)}" for side, low, high in band.outside]


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
    text = f"{text}: {parts} at {format_number(split.at_entropy, 2)} nats"
    if split.share.value is None:
        return text
    share = format_estimate(split.share, "%")
    return f"{text}; movement is {share.value} {share.interval} of it"


_BY = {"movement": "movement along the curve", "shift": "a shift of the curve"}


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
        one = pair.find("reward_at_entropy")
        decision = MISSING if one is None else decided(one)
        over = MISSING if pair.entropy_range is None else _over(*pair.entropy_range)
        differs = MISSING if pair.band is None else "; ".join(_places(pair.band)) or "nowhere"
        seeds = None if one is None or one.decision is not Decision.undecided else one.seeds_needed
        rows.append((name, decision, _cell(one), over, differs, seeds))
    return _with_sd(b.Table(heads, rows, words=2), result)


def _with_sd(table: b.Table, result: ArmComparison) -> b.Table:
    """A table whose every row repeats the spread between seeds, where that was given."""
    if result.between_sd is None:
        return table
    heads = [*table.columns, b.Column("between_sd", "sd between seeds")]
    return replace(
        table, columns=heads, rows=[(*row, f"{result.between_sd:g} as given") for row in table.rows]
    )


def _cell(one: Difference | None) -> b.Cell:
    """The estimate without its reason, which a note has."""
    return None if one is None else bare(one.estimate)


def _quantities(named: Named, *, several: bool = True) -> b.Table:
    """A row per quantity with its decision, and of several comparisons per comparison."""
    labelled = len(named) > 1
    columns = [
        *b.columns(*(["arm"] if labelled else []), "quantity", "difference"),
        b.Column("p_adjusted", "p, Holm" if several else "p"),
        b.Column("decision", "decision"),
        b.Column("seeds_needed", "seeds to decide"),
    ]
    rows = [
        (
            *([name] if labelled else []),
            *(_quantity(one), _cell(one), _p(one.p_adjusted), decided(one), one.seeds_needed),
        )
        for name, pair in named
        for one in pair.differences
    ]
    return b.Table(columns, rows, words=1 + labelled)


def _quantity(difference: Difference) -> str:
    """``entropy at equal reward, nats``."""
    return quantity_label(difference.quantity, difference.unit)


def _unknown(named: Named) -> list[b.Note]:
    """Why differences are unknown, or have no interval; those of one reason together."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for name, pair in named:
        for why, some in groupby(sorted(pair.differences, key=_why), _why):
            if why:
                reasons.setdefault((why, "; ".join(map(_quantity, some))), []).append(name)
    return [b.Note("unknown", f"{', '.join(names)}: {some}: {why}") for (why, some), names in reasons.items()]


def _why(one: Difference) -> str:
    return one.estimate.note or ""


def _methods(named: Named, result: ArmComparison) -> list[b.Note]:
    """How the intervals were made, with the quantities where it is not how most of them were."""
    quantities: dict[str, dict[str, None]] = {}
    for _, pair in named:
        for one in pair.differences:
            # The counts of failed runs are in the table of the arms.
            method = one.estimate.method.rpartition("; ")[2]
            quantities.setdefault(method, {})[_quantity(one)] = None
    most = max(quantities, key=lambda method: len(quantities[method]), default="")
    free = sorted({one.df for _, pair in named for one in pair.differences if one.df is not None})
    df = f" (df {'–'.join(dict.fromkeys(f'{one:.3g}' for one in (free[0], free[-1])))})" if free else ""
    text = f"{format_percent(result.level)} intervals: {most}{df}"
    if len(named) > 1:
        text += f"; p-values adjusted by Holm's method over {len(named)} comparisons"
    text += f"; same: two one-sided tests exclude a difference of {result.margin:.3g} of reward"
    notes = [b.Note("method", text)]
    for method, some in quantities.items():
        if method != most:
            notes.append(b.Note("method", f"{'; '.join(some)}: {method}", ""))
    return notes


def _next(result: ArmComparison) -> list[b.Note]:
    """What to do where no arm has two seeds."""
    if result.between_sd is not None or any(len(arm.runs) > 1 for arm in result.arms):
        return []
    text = "add a seed to an arm, or give the standard deviation of rewards between seeds by --between-sd"
    return [b.Note("next", text)]


def _splits(named: Named) -> b.Table:
    """A row per comparison: final reward in its parts."""
    heads = [b.Column("arm", "arm"), b.Column("last_reward", "final reward")]
    heads += [b.Column(name, words) for name, words in SPLIT.items()]
    rows = []
    for name, pair in named:
        parts = (None if pair.split is None else bare(getattr(pair.split, part)) for part in SPLIT)
        rows.append((name, _cell(pair.find("last_reward")), *parts))
    return b.Table(heads, rows)


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
        at, share = (None, None) if pair.split is None else (pair.split.at_entropy, pair.split.share)
        band = MISSING if pair.band is None else _band(pair.band)
        rows.append((name, "{} and {}".format(*pair.seeds), pair.last_step, at, share, band))
    return b.Table(heads, rows, detail=True)


def _spreads(named: Named) -> b.Table:
    """A row per comparison and quantity: the spread between seeds, and how the interval was made."""
    several = len(named) > 1
    columns = [
        *b.columns(*(["arm"] if several else []), "quantity"),
        b.Column("between", "sd between seeds"),
        b.Column("within", "standard error within runs"),
        b.Column("df", "df"),
        b.Column("p_value", "p, not adjusted"),
        b.Column("margin", "margin"),
    ]
    rows = [
        (
            *([name] if several else []),
            _quantity(one),
            *(one.between, one.within, MISSING if one.df is None else f"{one.df:.3g}", _p(one.p_value)),
            MISSING if one.margin is None else _within(one.margin),
        )
        for name, pair in named
        for one in pair.differences
    ]
    return b.Table(columns, rows, detail=True, words=1 + several)


def _runs(result: ArmComparison) -> b.Table:
    """A row per run with its own numbers; those that failed have been named."""
    runs = [(arm.arm, run) for arm in result.arms for run in arm.runs]
    names = list(dict.fromkeys(name for _, run in runs for name in run.values))
    columns = [
        *b.columns("run", "arm", "n"),
        b.Column("last_step", "last step", unit="step"),
        *(b.Column(name, _OF_RUNS.get(name) or QUANTITIES.get(name, (name,))[0]) for name in names),
    ]
    rows = [(run.run, arm, run.n, run.last_step, *map(run.values.get, names)) for arm, run in runs]
    return b.Table(columns, rows, detail=True, words=2)


def _rows(pair: Pair) -> Iterator[b.Row]:
    """The rows of a comparison for CSV."""
    low, high = pair.entropy_range or (None, None)
    base: b.Row = {"arm": pair.arm, "baseline": pair.baseline, "last_step": pair.last_step}
    base |= {"entropy_low": low, "entropy_high": high}
    for one in pair.differences:
        row: b.Row = {name: getattr(one, name) for name in field_names(one)}
        decision = NOT_COMPARABLE if one.p_value is None else one.decision.value
        yield base | row | _seeds(one) | _of(one.estimate) | {"decision": decision}
    last = pair.find("last_reward")
    if pair.split is not None and last is not None:
        base |= _seeds(last)
        for name in SPLIT:
            yield base | {"quantity": name, "unit": "reward"} | _of(getattr(pair.split, name))
        yield base | {"quantity": "movement_share", "unit": "share"} | _of(pair.split.share)


def _seeds(one: Difference) -> b.Row:
    return dict(zip(("seeds", "seeds_baseline"), one.seeds, strict=True))


def _of(estimate: Estimate) -> b.Row:
    return {"difference": estimate, **{name: getattr(estimate, name) for name in ("level", "method", "note")}}
