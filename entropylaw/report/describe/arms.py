"""Arms compared: how runs were grouped, a sentence per arm, the differences, and all that is exploratory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from entropylaw.documents.comparison import ComparisonDocument
from entropylaw.escaping import counted
from entropylaw.report import blocks as b
from entropylaw.report.describe import arm_tables as tables
from entropylaw.report.figures import figures_of
from entropylaw.report.numbers import (
    MISSING,
    format_estimate,
    format_interval,
    format_number,
    format_percent,
    format_step,
    value_and_interval,
)
from entropylaw.results import Estimate
from entropylaw.results.arms import ArmComparison, Decision, Difference, Pair
from entropylaw.results.result import replace, sentences

MOST_NAMED = 8
"""Runs of no arm that a terminal names."""

MOST_FAILED = 5
"""Failed runs that a terminal names."""

MORE_SEEDS = "add a seed to an arm"
NO_OVERLAP = "nothing is in common: --at-equal step compares rewards at equal steps"


def describe(result: ComparisonDocument | ArmComparison) -> list[b.Block]:
    """The comparison; of a document with the grouping and the runs of no arm below its title."""
    if isinstance(result, ArmComparison):
        return _compared([result])
    heading, *rest = _compared([result.comparison, *result.others])
    by = ", ".join(dict.fromkeys(arm.by for arm in result.grouped))
    members = "; ".join(arm.sentence for arm in result.grouped)
    notes = b.labelled("missing", missing(result))
    notes.append(b.Note("grouped", members if by == "as given" else f"by {by}: {members}"))
    reasons: dict[str, list[str]] = {}
    for run in result.left_out:
        if not run.arm:
            reasons.setdefault(run.why, []).append(run.run)
    for reason, runs in reasons.items():
        brief = ", ".join(runs[:MOST_NAMED])
        if len(runs) > MOST_NAMED:
            brief += f" and {len(runs) - MOST_NAMED} more"
        notes.append(b.Note("in no arm", f"{', '.join(runs)} ({reason})", f"{brief} ({reason})"))
    return [heading, b.Notes(notes), *rest, b.warned(result.warnings)]


def missing(result: ComparisonDocument) -> Iterator[str]:
    """The runs of each arm that could not be read or fitted: the differences are over the others."""
    for arm in dict.fromkeys(run.arm for run in result.missing):
        names = [run.run for run in result.missing if run.arm == arm]
        whose = f"{arm}: " if arm else "in no arm, and may be of any: "
        text = f"{whose}{counted(len(names), 'run')} ({', '.join(names)})"
        yield f"{text}; the differences are those of the others, and gates on them are unknown"


def _compared(results: Sequence[ArmComparison]) -> list[b.Block]:
    """A sentence per comparison, the arms, the differences of the family; the rest on request.

    The comparisons of all rewards are rows of the same tables.
    """
    result = results[0]
    runs = counted(sum(len(arm.runs) for arm in result.arms), "run")
    unit = {"rate": "rewards as rates; ", "percent": "rewards in percent; "}.get(result.reward_unit, "")
    about = f"{runs}; {unit}{format_percent(result.level)} intervals, not adjusted"
    return [
        b.Heading(title(result), 2, about),
        b.paragraphs(*(text for of_reward in results for text in answers(of_reward))),
        b.Notes(list(_about_arms(result))),
        b.Notes(b.labelled("caution", result.cautions)),
        b.Notes(b.labelled("note", sentences(result.findings, "note"))),
        b.Heading("Arms", name="arms"),
        tables.arms(results),
        b.Heading("Differences", name="differences"),
        tables.family(results),
        _method(results),
        *figures_of("arms", result),
        b.Heading("Exploratory: not adjusted, and not decided", name="exploratory"),
        tables.exploratory(results),
        b.Notes([note for of_reward in results for note in _unknown(of_reward)], detail=True),
        b.Heading("What the intervals rest on", name="intervals"),
        tables.spreads(results),
        b.Heading("Runs", name="runs"),
        tables.runs(results),
    ]


def table(result: ComparisonDocument | ArmComparison) -> b.Table:
    """A row per comparison and quantity."""
    results = (result,) if isinstance(result, ArmComparison) else (result.comparison, *result.others)
    return b.table_of(tables.TABLE, (row for of_reward in results for row in tables.rows(of_reward)), words=3)


def title(result: ArmComparison) -> str:
    """``clip_cov against grpo (4 and 8 seeds)``, ``5 arms against grpo``, ``6 arms, all pairs``."""
    units = f"pairs of one {result.paired}" if result.paired else "seeds"
    if len(result.pairs) == 1:
        pair = result.pairs[0]
        numbers = {arm.arm: len(arm.runs) for arm in result.arms}
        seeds = f" ({numbers[pair.arm]} and {numbers[pair.baseline]} {units})"
        return f"{pair.arm} against {pair.baseline}{f', {units}' if result.paired else seeds}"
    of_pairs = f", {units}" if result.paired else ""
    if result.baseline is None:
        return f"{len(result.arms)} arms, {counted(len(result.pairs), 'comparison')}{of_pairs}"
    return f"{len(result.arms) - 1} arms against {result.baseline}{of_pairs}"


def signed(estimate: Estimate) -> str:
    """``+0.012 [-0.003, 0.028]``, or ``+0.012, without interval``."""
    text = format_estimate(estimate)
    positive = text.value[0].isdigit() and text.value.strip("0.") != ""
    value = f"+{text.value}" if positive else text.value
    return f"{value}, without interval" if text.interval == MISSING else f"{value} {text.interval}"


def answers(result: ArmComparison) -> list[str]:
    """A sentence per comparison with its reward and name; of one, whose title has it, a line per clause."""
    if len(result.pairs) == 1 and not result.reward:
        return _clauses(result, result.pairs[0])
    reward = f"{result.reward}, " if result.reward else ""
    return [f"{reward}{result.name_of(pair)}: {'; '.join(_clauses(result, pair))}" for pair in result.pairs]


def _clauses(result: ArmComparison, pair: Pair) -> list[str]:
    """How often an arm failed, how it ends, what it has at equal entropy, and the entropy that is left."""
    parts = _ending(pair)
    equal = pair.find(result.along.quantity)
    if equal is not None:
        at = f"at equal {result.along.column}"
        if pair.common is not None:
            ends = dict.fromkeys(format_number(end, 2) for end in pair.common)
            at += f" over {'–'.join(ends)} {result.along.unit}".rstrip()
        parts.append(f"{at} {_decided(equal)}")
    for at, largest, decision in tables.outside_band(result, pair):
        by = value_and_interval(size(largest))
        parts.append(f"{at} it is {decision.value}, by up to {by} (simultaneous band)")
    entropy = pair.find("last_entropy")
    if entropy is not None and tables.excludes_0(entropy.estimate):
        gap = float(entropy.estimate)
        parts.append(f"it keeps {format_number(abs(gap), 2)} nats {'more' if gap > 0 else 'less'} entropy")
    return parts or ["nothing is comparable"]


def _decided(row: Difference) -> str:
    """``0.027 lower [0.019, 0.035] (adjusted p = 0.02)``, ``the same within ±0.01 (…)``, or its number."""
    if row.estimate.value is None or row.p_adjusted is None:
        return format_interval(row.estimate)
    p = f"adjusted p = {tables.p_text(row.p_adjusted)}"
    if row.decision is Decision.same and row.inner is not None:
        narrow = f"{format_percent(row.inner.level)} interval {format_estimate(row.inner).interval}"
        return f"the same {tables.within(row.margin)} ({signed(row.estimate)}; {narrow})"
    if row.decision is Decision.undecided:
        before = " before adjustment" if tables.excludes_0(row.estimate) else ""
        power = f"{format_number(row.smallest, 2)} would be found"
        if (row.seeds_needed or 0) > min(row.seeds):
            power += (
                f", {tables.within(row.margin).removeprefix('within ')} with {row.seeds_needed} seeds per arm"
            )
        return f"{signed(row.estimate)}{before} (not decided, {p}; {power})"
    text = format_estimate(size(row.estimate))
    inside = ""
    ends = [abs(end) for end in (row.estimate.low, row.estimate.high) if end is not None]
    if row.margin is not None and len(ends) == 2 and max(ends) <= row.margin:
        inside = f", within the margin of {float(f'{row.margin:.2g}'):g}"
    if row.rests_on_like_spreads:
        p += f"; with the spreads of these two arms alone: {tables.welch(row)}"
    return f"{text.value} {row.decision.value} {text.interval}{inside} ({p})"


def size(estimate: Estimate) -> Estimate:
    """A difference without its sign, which the word beside it has: the interval turns with the value."""
    if estimate.value is None or estimate.value >= 0:
        return estimate
    low, high = (None if end is None else -end for end in (estimate.high, estimate.low))
    return replace(estimate, value=-estimate.value, low=low, high=high)


def _ending(pair: Pair) -> list[str]:
    """``2 of 4 runs failed against 0 of 4 (exact test: adjusted p = 0.4)``, and how the arm ends."""
    died, whole, living = map(pair.find, ("failure_rate", "last_reward", "living_reward"))
    at_end = "at its end" if pair.last_step is None else f"at step {format_step(pair.last_step)}"
    if died is None or living is None:
        return [] if whole is None else [f"ends {_decided(whole)} {at_end}"]
    counts = died.estimate.method.partition(";")[0].replace(" against", " runs failed against")
    decided = "" if died.decision is Decision.undecided else f", {died.decision.value}"
    test = f"(exact test: adjusted p = {tables.p_text(died.p_adjusted)}{decided})"
    parts = [f"{counts} of {pair.baseline} {test}"]
    if whole is not None and whole.estimate.value is not None:
        of_all = format_number(whole.estimate.value)
        parts.append(f"over all seeds it ends {of_all if of_all[0] == '-' else f'+{of_all}'} {at_end}")
    return [*parts, f"among the runs that did not fail it ends {_decided(living)} {at_end}"]


def _about_arms(result: ArmComparison) -> Iterator[b.Note]:
    """How the baseline was chosen; the runs that failed or are left out, each with its reason."""
    if result.baseline is not None:
        chosen = f", {result.chosen}" if result.chosen else ""
        yield b.Note("baseline", f"{result.baseline}{chosen}")
    runs = [run for arm in result.arms for run in arm.runs]
    yield from _named("failed", {run.run: run.failed for run in runs})
    yield from _named("left out", {run.run: run.left_out for run in runs})
    for note in _named(f"no {result.along.column}", {run.run: run.without_along for run in runs}):
        names = [run.run for run in runs if run.without_along is not None]
        yield replace(note, brief=f"{counted(len(names), 'run')}: {', '.join(names)}")


def _named(label: str, reasons: Mapping[str, str | None]) -> Iterator[b.Note]:
    """The runs that have a reason, those of one reason together; a terminal names some of them."""
    by_reason: dict[str, list[str]] = {}
    for run, reason in reasons.items():
        if reason is not None:
            by_reason.setdefault(reason, []).append(run)
    listed = [f"{', '.join(runs)} ({reason})" for reason, runs in by_reason.items()]
    if listed:
        count = counted(sum(map(len, by_reason.values())), "run")
        brief = listed[:MOST_FAILED]
        if len(listed) > MOST_FAILED:
            brief.append(f"{sum(map(len, list(by_reason.values())[MOST_FAILED:]))} more: --details")
        yield b.Note(label, f"{count}: {'; '.join(listed)}", f"{count}: {'; '.join(brief)}")


def _unknown(result: ArmComparison) -> Iterator[b.Note]:
    """Why differences are unknown, or have no interval; those of one reason together."""
    reasons: dict[str, dict[str, None]] = {}
    for pair in result.pairs:
        for row in pair.differences:
            if row.estimate.note:
                named = f"{result.name_of(pair)}: {tables.words_of(result, row)}"
                reasons.setdefault(row.estimate.note, {})[named] = None
    for reason, rows in reasons.items():
        yield b.Note("unknown", f"{'; '.join(rows)}: {reason}")


def _method(results: Sequence[ArmComparison]) -> b.Notes:
    """The family, how its p-values and intervals were made, what counts as the same; and what would help."""
    result = results[0]
    comparisons = sum(len(result.pairs) for result in results)
    several = f" in {counted(comparisons, 'comparison')}" if comparisons > 1 else ""
    inner = format_percent(1.0 - 2.0 * (1.0 - result.level) / max(1, comparisons))
    unit = f"pairs of one {result.paired} as the unit" if result.paired else "seeds as the unit"
    method = (
        f"one family: final reward and reward at equal {result.along.column}{several}, p-values adjusted by "
        f"Holm's method; the {format_percent(result.level)} intervals are not adjusted; {unit}, the arms' "
        "spreads integrated out; "
        f"failures apart by an exact test, curves by a simultaneous band; same: the {inner} interval lies "
        f"{tables.within(result.margin)} of reward; would be found: in 80 % of experiments"
    )
    advice = []
    if all(len(arm.runs) < 2 for arm in result.arms):
        advice.append(MORE_SEEDS)
    if any(pair.common is None for pair in result.pairs):
        advice.append(NO_OVERLAP)
    return b.Notes([b.Note("method", method), *b.labelled("next", advice)])
