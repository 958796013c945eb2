"""Arms compared: the answer in a sentence, a row per arm, a row per difference, and all else on request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from entropylaw.documents.comparison import ComparisonDocument
from entropylaw.escaping import counted
from entropylaw.report import blocks as b
from entropylaw.report.describe import arm_tables as tables
from entropylaw.report.figures import figures_of
from entropylaw.report.numbers import format_estimate, format_percent
from entropylaw.results.arms import AT_END, ArmComparison, Decision, Difference
from entropylaw.results.result import replace, sentences

MOST_NAMED = 3
"""Runs that failed, are left out or in no arm, and that a terminal names."""

FEW = 3
"""Comparisons that are named in the answer; more are counted."""

DECIDED = (Decision.above, Decision.below, Decision.same)


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
    """The figure, the answer, the arms and their differences; the rest on request.

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
        *tables.differences(results),
        b.Notes(
            [
                *_about_arms(result),
                *grouped,
                *b.labelled("caution", result.cautions),
                *b.labelled("note", sentences(result.findings, "note")),
                *b.labelled("next", _advice(result)),
            ]
        ),
        b.Notes(b.labelled("unknown", dict.fromkeys(_unknown(results)))),
        b.Notes([_method(results)], detail=True),
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
        at_equal = _sized(compared[0][1])
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


def _compared_in(result: ArmComparison, *quantities: str) -> list[tuple[str, Difference]]:
    """The name of every comparison, and its difference in the first of some quantities that it has."""
    rows = ((result.name_of(pair), pair.first_of(*quantities)) for pair in result.pairs)
    return [(name, row) for name, row in rows if row is not None]


def _outcome(compared: Sequence[tuple[str, Difference]], one_verb: str, verb: str) -> str:
    """``clip_cov ends 0.031 lower``, ``7 end higher, 15 end lower``; empty where nothing is decided."""
    parts: list[str] = []
    for word in DECIDED:
        names = [name for name, row in compared if tables.word_of(row) == word]
        if names:
            said = "the same" if word is Decision.same else word.value
            if len(compared) == 1:
                said = _sized(compared[0][1])
            subject = " and ".join(names) if len(compared) <= FEW else str(len(names))
            parts.append(f"{subject} {one_verb if len(names) == 1 else verb} {said}")
    return ", ".join(parts)


def _sized(row: Difference) -> str:
    """``0.031 lower``, ``the same within ±0.01``."""
    if row.decision is Decision.same:
        return f"the same {tables.within(row.margin)}"
    return f"{format_estimate(row.estimate).value.removeprefix('-')} {row.decision.value}"


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


def _unknown(results: Sequence[ArmComparison]) -> Iterator[str]:
    """Why differences that are tested are unknown, or have no interval."""
    for result in results:
        for pair in result.pairs:
            notes = (row.estimate.note for row in pair.differences if row.headline)
            yield from (f"{result.name_of(pair)}: {note}" for note in notes if note)


def _method(results: Sequence[ArmComparison]) -> b.Note:
    """How p-values and intervals were made, and what counts as the same."""
    result = results[0]
    comparisons = sum(len(result.pairs) for result in results)
    inner = format_percent(1.0 - 2.0 * (1.0 - result.level) / max(1, comparisons))
    unit = f"pairs of one {result.paired}" if result.paired else "seeds"
    all_arms = "" if result.p_arms is None else "; all arms by Brown and Forsythe's test"
    method = (
        f"{unit} as the unit; p-values by Holm's method over {counted(comparisons, 'comparison')}{all_arms}; "
        f"same: the {inner} interval lies {tables.within(result.margin)}; detectable: in 80 % of experiments"
    )
    return b.Note("method", method)
