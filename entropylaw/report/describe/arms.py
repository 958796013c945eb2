"""Arms compared: the answer in a sentence, a row per arm, a line per finding, and all else on request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from entropylaw.documents.comparison import ComparisonDocument
from entropylaw.escaping import counted
from entropylaw.report import blocks as b
from entropylaw.report.describe import arm_tables as tables
from entropylaw.report.figures import figures_of
from entropylaw.report.numbers import (
    format_estimate,
    format_number,
    format_percent,
    format_step,
    value_and_interval,
)
from entropylaw.report.words import in_brackets
from entropylaw.results import Estimate
from entropylaw.results.arms import AT_END, ArmComparison, Decision, Difference, Pair
from entropylaw.results.result import replace, sentences

MOST_NAMED = 3
"""Runs that failed, are left out or in no arm, and that a terminal names."""

FEW = 3
"""Comparisons that are named in the answer, and whose findings have their numbers; more are counted."""

DECIDED = (Decision.above, Decision.below, Decision.same)

WORDS = (*DECIDED, Decision.undecided)


class Compared(NamedTuple):
    """A comparison of two arms in one quantity of the family, under the name that it has in sentences."""

    name: str
    pair: Pair
    row: Difference


def describe(result: ComparisonDocument | ArmComparison) -> list[b.Block]:
    """The comparison; of a document with the runs that could not be read, and how runs were grouped."""
    if isinstance(result, ArmComparison):
        return _compared([result], (), ())
    by = ", ".join(dict.fromkeys(arm.by for arm in result.grouped))
    members = "; ".join(arm.sentence for arm in result.grouped)
    # A terminal has the arms on standard error.
    notes = [b.Note("grouped", members if by == "as given" else f"by {by}: {members}", "")]
    notes += _named("in no arm", {run.run: run.why for run in result.left_out if not run.arm})
    blocks = _compared([result.comparison, *result.others], b.labelled("missing", missing(result)), notes)
    return [*blocks, b.warned(result.warnings)]


def missing(result: ComparisonDocument) -> Iterator[str]:
    """The runs of each arm that could not be read or fitted: the differences are over the others."""
    for arm in dict.fromkeys(run.arm for run in result.missing):
        names = [run.run for run in result.missing if run.arm == arm]
        whose = f"{arm}: " if arm else "in no arm, and may be of any: "
        yield f"{whose}{counted(len(names), 'run')} ({', '.join(names)}); gates on differences are unknown"


def _compared(
    results: Sequence[ArmComparison], missing_runs: Sequence[b.Note], grouped: Sequence[b.Note]
) -> list[b.Block]:
    """The figure, the answer, the arms and the findings; the rest on request.

    The comparisons of all rewards are rows of the same tables.
    """
    result = results[0]
    runs = counted(sum(len(arm.runs) for arm in result.arms), "run")
    unit = {"rate": "rewards as rates; ", "percent": "rewards in percent; "}.get(result.reward_unit, "")
    return [
        b.Heading(title(result), 2, f"{runs}; {unit}{format_percent(result.level)} intervals"),
        *figures_of("arms", result),
        b.paragraphs(*map(answer, results)),
        b.Notes(missing_runs),
        tables.arms(results),
        b.paragraphs(*chain.from_iterable(map(findings, results))),
        b.Notes([*_about_arms(result), *grouped]),
        b.Notes(b.labelled("caution", result.cautions)),
        b.Notes(b.labelled("note", sentences(result.findings, "note"))),
        b.Notes(b.labelled("next", _advice(result))),
        b.Heading("Differences", name="differences"),
        tables.differences(results),
        _method(results),
        b.Notes([note for of_reward in results for note in _unknown(of_reward)], detail=True),
        b.Heading("Runs", name="runs"),
        tables.runs(results),
    ]


def table(result: ComparisonDocument | ArmComparison) -> b.Table:
    """A row per comparison and quantity."""
    results = (result,) if isinstance(result, ArmComparison) else (result.comparison, *result.others)
    return b.table_of(tables.TABLE, (row for of_reward in results for row in tables.rows(of_reward)), words=3)


def title(result: ArmComparison) -> str:
    """``clip_cov against grpo``, ``5 arms against grpo``, ``4 arms, 6 comparisons``."""
    of_pairs = f", pairs of one {result.paired}" if result.paired else ""
    if len(result.pairs) == 1:
        pair = result.pairs[0]
        return f"{pair.arm} against {pair.baseline}{of_pairs}"
    if result.baseline is None:
        return f"{len(result.arms)} arms, {counted(len(result.pairs), 'comparison')}{of_pairs}"
    return f"{len(result.arms) - 1} arms against {result.baseline}{of_pairs}"


def answer(result: ArmComparison) -> str:
    """What is decided, and how many runs failed: ``clip_cov ends 0.031 lower; 1 of 12 runs failed``."""
    at_end = _outcome(_compared_in(result, *AT_END), "ends", "end")
    compared = _compared_in(result, result.along.quantity)
    at_equal = _outcome(compared, "is", "are")
    equal = f"at equal {result.along.column}"
    if at_end and at_equal and len(compared) == 1:
        # Its one arm is named already.
        at_equal = _sized(compared[0].row)
    parts = ["nothing is decided"]
    if at_end or at_equal:
        parts = [at_end or "nothing is decided at the end", f"{equal} {at_equal or 'nothing is decided'}"]
    if result.p_arms is not None:
        tested = sum(len(arm.living) > 1 for arm in result.arms)
        parts.append(f"a test of all {tested} arms at the end: p = {tables.p_text(result.p_arms)}")
    # One without evaluations has no state.
    runs = [run for arm in result.arms for run in arm.runs if run.n]
    failed = sum(run.failed is not None for run in runs)
    if failed:
        parts.append(f"{failed} of {counted(len(runs), 'run')} failed")
    reward = f"{result.reward}: " if result.reward else ""
    return f"{reward}{'; '.join(parts)}"


def _compared_in(result: ArmComparison, *quantities: str) -> list[Compared]:
    """Every comparison in the first of some quantities that it has, if any."""
    rows = ((pair, pair.first_of(*quantities)) for pair in result.pairs)
    return [Compared(result.name_of(pair), pair, row) for pair, row in rows if row is not None]


def _outcome(compared: Sequence[Compared], one_verb: str, verb: str) -> str:
    """``clip_cov ends 0.031 lower``, ``7 end higher, 15 end lower``; empty where nothing is decided."""
    parts: list[str] = []
    for word in DECIDED:
        names = [one.name for one in compared if tables.word_of(one.row) == word]
        if names:
            said = "the same" if word is Decision.same else word.value
            if len(compared) == 1:
                said = _sized(compared[0].row)
            subject = " and ".join(names) if len(compared) <= FEW else str(len(names))
            parts.append(f"{subject} {one_verb if len(names) == 1 else verb} {said}")
    return ", ".join(parts)


def _sized(row: Difference) -> str:
    """``0.031 lower``, ``the same within ±0.01``."""
    if row.decision is Decision.same:
        return f"the same {tables.within(row.margin)}"
    return f"{format_estimate(size(row.estimate)).value} {row.decision.value}"


def size(estimate: Estimate) -> Estimate:
    """A difference without its sign, which the word beside it has: the interval turns with the value."""
    if estimate.value is None or estimate.value >= 0:
        return estimate
    low, high = (None if end is None else -end for end in (estimate.high, estimate.low))
    return replace(estimate, value=-estimate.value, low=low, high=high)


def findings(result: ArmComparison) -> Iterator[str]:
    """A line per place: ``at step 400 lower: clip_cov (adjusted p = 0.00051); not decided: rloo``."""
    reward = f"{result.reward}, " if result.reward else ""
    few = len(result.pairs) <= FEW
    for place, compared in _places(result):
        parts: list[str] = []
        for word in (*WORDS, tables.NOT_COMPARABLE):
            members = [one for one in compared if tables.word_of(one.row) == word]
            if members:
                limit = f" {tables.within(result.margin)}" if word == Decision.same else ""
                parts.append(f"{word}{limit}: {_listed(members, few)}")
        if parts:
            yield f"{reward}{place} {'; '.join(parts)}"
    yield from _further(result, reward)


def _places(result: ArmComparison) -> Iterator[tuple[str, list[Compared]]]:
    """Where rewards are compared, and the comparisons there: at a step, and at equal values of the column."""
    at_end = _compared_in(result, *AT_END)
    steps = sorted({one.pair.last_step for one in at_end if one.pair.last_step is not None})
    yield f"at step {format_step(steps[0])}" if len(steps) == 1 else "at the end", at_end
    at_equal = _compared_in(result, result.along.quantity)
    place = f"at equal {result.along.column}"
    if len(at_equal) == 1 and at_equal[0].pair.common is not None:
        ends = dict.fromkeys(format_number(end, 2) for end in at_equal[0].pair.common)
        place += f", {'–'.join(ends)} {result.along.unit}".rstrip()
    yield place, at_equal


def _further(result: ArmComparison, reward: str) -> Iterator[str]:
    """Where curves differ, of a few comparisons; which arms fail more often; what like spreads decide."""
    few = len(result.pairs) <= FEW
    for pair in result.pairs if few else ():
        for at, largest, decision in tables.outside_band(result, pair):
            by = value_and_interval(size(largest))
            yield f"{reward}{at} {decision.value}: {result.name_of(pair)}, by up to {by} (simultaneous band)"
    for pair in result.pairs:
        row = pair.first_of("failure_rate")
        if row is not None and row.decision is not Decision.undecided:
            often = "more" if row.decision is Decision.above else "less"
            yield f"{reward}fails {often} often: {result.name_of(pair)} ({_why(row)})"
    rows_alike = [*_compared_in(result, *AT_END), *_compared_in(result, result.along.quantity)]
    names = ", ".join(dict.fromkeys(one.name for one in rows_alike if one.row.welch_disagrees))
    if names and not few:
        yield f"{reward}decided only with the spreads of all arms, not by Welch's test: {names}"


def _listed(members: Sequence[Compared], few: bool) -> str:
    """The names; of a few with the numbers of each, of more undecided ones with those of all."""
    if few:
        return ", ".join(one.name + in_brackets(_why(one.row)) for one in members)
    names = ", ".join(one.name for one in members)
    found = sorted(one.row.smallest for one in members if one.row.smallest is not None)
    if tables.word_of(members[0].row) == Decision.undecided and found:
        ends = dict.fromkeys(format_number(end, 2) for end in (found[0], found[-1]))
        names += f" ({'–'.join(ends)} would be found)"
    return names


def _why(row: Difference) -> str:
    """What a decision is by, what would be found where there is none, or why nothing is known."""
    if row.p_adjusted is None:
        return row.estimate.note or ""
    p = f"adjusted p = {tables.p_text(row.p_adjusted)}"
    if row.decision is Decision.same and row.inner is not None:
        return f"{format_percent(row.inner.level)} interval {format_estimate(row.inner).interval}"
    if row.decision is not Decision.undecided:
        return f"{p}; Welch's test {tables.p_text(row.p_welch)}" if row.welch_disagrees else p
    found = "no possible difference" if row.smallest is None else format_number(row.smallest, 2)
    text = f"{p}; {found} would be found"
    if (row.seeds_needed or 0) > min(row.seeds):
        text += f", {tables.within(row.margin).removeprefix('within ')} with {row.seeds_needed} seeds per arm"
    return text


def _about_arms(result: ArmComparison) -> Iterator[b.Note]:
    """How the baseline was chosen; the runs that failed or are left out, each with its reason."""
    if result.baseline is not None and result.chosen not in ("", "as named"):
        yield b.Note("baseline", f"{result.baseline}, {result.chosen}")
    runs = [run for arm in result.arms for run in arm.runs]
    yield from _named("failed", {run.run: run.failed for run in runs})
    yield from _named("left out", {run.run: run.left_out for run in runs})
    reasons = {run.run: run.without_along for run in runs if run.without_along is not None}
    for pair in result.pairs:
        reasons |= dict.fromkeys(pair.outside, f"outside the {result.along.column} of the others")
    for note in _named(f"not at equal {result.along.column}", reasons):
        yield replace(note, brief=f"{counted(len(reasons), 'run')}: {', '.join(reasons)}")
    yield from _longer(result)


def _longer(result: ArmComparison) -> Iterator[b.Note]:
    """The arms that go on after a step at which they are compared, and with which arms."""
    for arm in result.arms:
        others: dict[float, list[str]] = {}
        for pair in result.pairs:
            step = pair.last_step
            if arm.arm in (pair.arm, pair.baseline) and step is not None and (arm.last_step or 0.0) > step:
                others.setdefault(step, []).append(pair.baseline if arm.arm == pair.arm else pair.arm)
        if others:
            compared = ", ".join(
                f"{', '.join(names)} at step {format_step(at)}" for at, names in others.items()
            )
            yield b.Note(
                "goes on", f"{arm.arm}, to step {format_step(arm.last_step)}; compared with {compared}"
            )


def _named(label: str, reasons: Mapping[str, str | None]) -> Iterator[b.Note]:
    """The runs that have a reason, with it; a terminal names some of them."""
    listed = [f"{run} ({reason})" for run, reason in reasons.items() if reason is not None]
    if listed:
        count = counted(len(listed), "run")
        brief = listed[:MOST_NAMED]
        if len(listed) > MOST_NAMED:
            brief.append(f"{len(listed) - MOST_NAMED} more: --details")
        yield b.Note(label, f"{count}: {'; '.join(listed)}", f"{count}: {'; '.join(brief)}")


def _advice(result: ArmComparison) -> Iterator[str]:
    """What would help where little can be compared."""
    if all(len(arm.runs) < 2 for arm in result.arms):
        yield "add a seed to an arm"
    if any(pair.common is None for pair in result.pairs) and result.along.column != "step":
        yield f"--at-equal step compares arms that have no {result.along.column} in common"


def _unknown(result: ArmComparison) -> Iterator[b.Note]:
    """Why differences are unknown, or have no interval; those of one reason together."""
    reasons: dict[str, dict[str, None]] = {}
    for pair in result.pairs:
        for row in tables.shown(result, pair):
            if row.estimate.note:
                named = f"{result.name_of(pair)}: {tables.words_of(result, row)}"
                reasons.setdefault(row.estimate.note, {})[named] = None
    for reason, rows in reasons.items():
        yield b.Note("unknown", f"{'; '.join(rows)}: {reason}")


def _method(results: Sequence[ArmComparison]) -> b.Notes:
    """How p-values and intervals were made, and what counts as the same."""
    result = results[0]
    comparisons = sum(len(result.pairs) for result in results)
    inner = format_percent(1.0 - 2.0 * (1.0 - result.level) / max(1, comparisons))
    unit = f"pairs of one {result.paired}" if result.paired else "seeds"
    all_arms = "" if result.p_arms is None else "all arms by Brown and Forsythe's test; "
    method = (
        f"{unit} as the unit; p-values of final reward and reward at equal {result.along.column} adjusted "
        f"by Holm's method over {counted(comparisons, 'comparison')}, intervals not; {all_arms}failures by "
        f"an exact test, curves by a simultaneous band; same: the {inner} interval lies "
        f"{tables.within(result.margin)}; would be found: in 80 % of experiments; three seeds "
        "per arm find 75 to 91 % of what a pooled t-test finds, which takes all spreads for equal"
    )
    return b.Notes([b.Note("method", method)], detail=True)
