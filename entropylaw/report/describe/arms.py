"""Arms compared: what was grouped, the answer per arm, all quantities, and the arms and runs behind them."""

from __future__ import annotations

from collections.abc import Iterator

from entropylaw.escaping import counted
from entropylaw.report import blocks as b
from entropylaw.report.describe import arm_tables as tables
from entropylaw.report.describe.stages import stages, transfers
from entropylaw.report.figures import figures_of
from entropylaw.report.numbers import MISSING, format_estimate, format_number, format_percent, format_step
from entropylaw.results import Estimate
from entropylaw.results.arms import ArmComparison, Decision, Difference, Pair
from entropylaw.results.result import replace, sentences

MOST_DESCRIBED = 3
"""Comparisons that have sentences of their own; more are rows of a table."""

MOST_FAILED = 5
"""Failed runs that a terminal names."""

_BY = {"movement": "movement along the curve", "shift": "a shift of the curve"}

NEXT = "add a seed to an arm, or give the standard deviation of rewards between seeds by --between-sd"

_OK = {Decision.above: True, Decision.below: False}


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
        quantities = tables.quantities_of_each(named, result)
    else:
        answers = [tables.answers(named, result), tables.splits(named, result)]
        of_all = tables.with_sd(tables.quantities(named), result)
        heading = b.Heading("All quantities", name="quantities")
        quantities = [tables.ranges(named), heading, replace(of_all, detail=True)]
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
        tables.spreads(named),
        *stages(result),
        *transfers(result),
        b.Heading("Arms and runs", name="arms"),
        replace(b.table_of(tables.ARMS, result.arms), detail=True),
        tables.runs(result),
    ]


def table(result: ArmComparison) -> b.Table:
    """A row per comparison and quantity."""
    spread: b.Row = {"between_sd": result.between_sd}
    return b.table_of(
        tables.TABLE, (row | spread for pair in result.pairs for row in tables.rows(pair)), words=2
    )


def title(result: ArmComparison) -> str:
    """``clip_cov against grpo``, ``5 arms against grpo``, ``6 arms, all pairs``."""
    if len(result.pairs) == 1:
        return f"{result.pairs[0].arm} against {result.pairs[0].baseline}"
    if result.baseline is None:
        return f"{len(result.arms)} arms, all pairs"
    return f"{len(result.arms) - 1} arms against {result.baseline}"


def signed(estimate: Estimate) -> str:
    """``+0.012 [-0.003, 0.028]``, or ``+0.012, without interval``."""
    text = format_estimate(estimate)
    positive = text.value[0].isdigit() and text.value.strip("0.") != ""
    value = f"+{text.value}" if positive else text.value
    return f"{value}, without interval" if text.interval == MISSING else f"{value} {text.interval}"


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


def _verdicts(named: tables.Named, result: ArmComparison) -> Iterator[b.Block]:
    """The verdict of each comparison on reward at equal entropy."""
    for name, pair in named:
        difference = pair.find("reward_at_entropy")
        if difference is None:
            continue
        text, estimate = f"{name}: reward at equal entropy", difference.estimate
        if estimate.value is None:
            yield b.Verdict(tables.NOT_COMPARABLE, f"{text}: {estimate.note}")
            continue
        text += f" {signed(estimate)}"
        if pair.entropy_range is not None:
            text += f" over {tables.over(*pair.entropy_range)} nats"
        facts = ["{} and {} seeds".format(*pair.seeds)]
        if difference.p_adjusted is not None:
            facts.append(f"{'Holm p' if len(named) > 1 else 'p'} = {tables.p_text(difference.p_adjusted)}")
        if result.between_sd is not None:
            facts.append(_sd_given(result.between_sd))
        end = f": {estimate.note}" if estimate.note else _power(difference, min(pair.seeds))
        badge = tables.NOT_COMPARABLE if difference.p_value is None else difference.decision.value
        yield b.Verdict(badge, f"{text} ({', '.join(facts)}){end}", _OK.get(difference.decision))


def _sd_given(sd: float) -> str:
    return f"between-seed sd {sd:g} as given"


def _power(difference: Difference, seeds: int) -> str:
    """The number of seeds that would decide, for a difference that is not decided."""
    undecided = difference.decision is Decision.undecided and difference.p_value is not None
    if not undecided or difference.margin is None:
        return ""
    within, needed = tables.within(difference.margin), difference.seeds_needed
    if needed is None:
        return f"; no practical number of seeds decides {within}"
    if needed <= seeds:
        return f"; these seeds have 80 % power to find {within}"
    return f"; {needed} seeds per arm decide {within} with 80 % power"


def _parts(named: tables.Named, result: ArmComparison) -> list[b.Note]:
    """The final reward as movement and shift, and where the band of the curves excludes 0."""
    notes = []
    end = "" if result.between_sd is None else f" ({_sd_given(result.between_sd)})"
    for name, pair in named:
        last = pair.find("last_reward")
        if last is not None:
            notes.append(b.Note("final reward", f"{name}: {_final_reward(pair, last)}{end}"))
        if pair.band is not None:
            text = f"{name}: the simultaneous band of the difference {tables.band_words(pair.band)}{end}"
            notes.append(b.Note("curves", text, None if pair.band.outside else ""))
    return notes


def _final_reward(pair: Pair, last: Difference) -> str:
    """The difference of all seeds' last rewards, and its parts where all of these seeds are in them."""
    if last.estimate.value is None:
        return f"unknown: {last.estimate.note}"
    seeds = "{} and {} seeds".format(*last.seeds)
    text = f"{signed(last.estimate)} at step {format_step(pair.last_step)} ({seeds}), {tables.decided(last)}"
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


def _unknown(named: tables.Named) -> list[b.Note]:
    """Why differences are unknown, or have no interval; those of one reason together."""
    names: dict[tuple[str, str], list[str]] = {}
    for name, pair in named:
        quantities: dict[str, list[str]] = {}
        for difference in pair.differences:
            if difference.estimate.note:
                quantities.setdefault(difference.estimate.note, []).append(tables.quantity_of(difference))
        for reason in sorted(quantities):
            names.setdefault((reason, "; ".join(quantities[reason])), []).append(name)
    return [
        b.Note("unknown", f"{', '.join(arms)}: {quantities}: {reason}")
        for (reason, quantities), arms in names.items()
    ]


def _methods(named: tables.Named, result: ArmComparison) -> list[b.Note]:
    """How the intervals were made, with the quantities where that is another method."""
    quantities: dict[str, dict[str, None]] = {}
    freedom = set()
    for _, pair in named:
        for difference in pair.differences:
            # The counts of failed runs are in the table of the arms.
            method = difference.estimate.method.rpartition("; ")[2]
            quantities.setdefault(method, {})[tables.quantity_of(difference)] = None
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
