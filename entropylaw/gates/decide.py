"""Decides whether a gate trips: the interval decides, unrounded; an unknown value fails.

A gate is a condition that must not be true. It trips if the data establish it: the expression holds for the
whole interval. Where it holds for a part only, the data neither establish nor exclude it; this is reported,
and trips with ``strict``; so does the gate ``fails`` on a run whose verdict is undecided. Where the quantity
is unknown, or belongs to a law that fails, the gate fails.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from entropylaw.documents.document import GateCase
from entropylaw.documents.index import INDEX, whole_pages
from entropylaw.documents.loading import as_document, find_document, load_json
from entropylaw.errors import InputError, UsageError
from entropylaw.escaping import listing
from entropylaw.gates.expression import COMPARE, Gate, holds_for
from entropylaw.gates.limits import Limit, limit_of
from entropylaw.gates.quantities import QUANTITIES, WRITTEN_BY, why_no_law
from entropylaw.gates.quantity import Quantity, Unknown, Value
from entropylaw.gates.runs import RunEntries, entries_of, unread, value_of, why_unusable
from entropylaw.paths import is_folder, note_input, shown_path
from entropylaw.reproducible import rounded
from entropylaw.results import Estimate, Verdict
from entropylaw.results.axis import on_axis
from entropylaw.results.columns import factor_to
from entropylaw.results.result import ENDS, INCOMPLETE, replace, sentences

if TYPE_CHECKING:
    from entropylaw.documents.document import RunPrediction
    from entropylaw.results.fit import Fit

Outcome = Literal["passed", "not excluded", "tripped", "unknown"]
"""The outcome of a gate for a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How to decide.

    ``strict``: what is not excluded trips, too. ``point``: the point decides, not the interval.
    ``even_if_fails``: numbers that are unknown because the law fails are compared as well.
    """

    strict: bool = False
    point: bool = False
    even_if_fails: bool = False


_BY_PART: Mapping[tuple[bool, bool], tuple[Outcome, str]] = {
    (True, True): ("tripped", "all"),
    (False, True): ("not excluded", "a part"),
    (False, False): ("passed", "none"),
}
"""Whether an expression holds for all of an interval, and for any of it → the outcome, and in words."""

_MOST_DECIMALS = 12  # beyond these a number is written out in full


def decide(
    gates: Sequence[Gate],
    runs: Sequence[RunEntries],
    baselines: Mapping[str, Sequence[RunEntries]],
    rules: Rules,
) -> tuple[GateCase, ...]:
    """Apply every gate to every run, run by run; ``baselines`` are as :func:`load_baselines` has them.

    Raises UsageError ``no-such-arm``: no comparison has the arms of a gate.
    """
    _check_arms(gates, runs)
    counts = Counter(run.first.name for run in runs)
    # The label of a reward, empty where a run has one → the runs with it, fitted or refused.
    rewards = Counter(run.first.reward for run in runs if "fit" in run.entries or run.refusal is not None)
    failing = {"tripped", "unknown"}
    if rules.strict:
        failing.add("not excluded")
    cases = []
    for gate, run, unmatched in _compared(gates, runs):
        value: Value | None = None
        limit: Limit | Unknown | None = None
        outcome: Outcome = "unknown"
        sentence = unmatched or run.finding(INCOMPLETE) or run.finding(ENDS)
        if not sentence and gate.quantity.kind == "flag":
            outcome, sentence = _decide_flag(gate.quantity, run)
        elif not sentence:
            value = _compared_value(gate, run, baselines, rules, alone=rewards[run.first.reward] == 1)
            limit = limit_of(gate, run)
            outcome, sentence = _decide_value(gate, value, limit, run, rules)
            sentence = on_axis(sentence, run.axis)
        name = run.first.run if unmatched else run.first.name
        if counts[run.first.name] > 1:
            name += f" ({', '.join(run.sources)})"
        case = GateCase(
            run=name,
            sources=run.sources,
            gate=gate.shown,
            outcome=outcome,
            failed=outcome in failing,
            sentence=sentence,
            limit=gate.limit,
        )
        if isinstance(limit, Limit):
            case = replace(case, limit=limit.number, unit=limit.unit, column=limit.column)
        cases.append(_with_value(case, value))
    return tuple(cases)


def _compared(gates: Sequence[Gate], runs: Sequence[RunEntries]) -> Iterator[tuple[Gate, RunEntries, str]]:
    """What each gate is applied to, run by run and reward by reward; texts as :func:`_compared_rewards`."""
    by_name: dict[tuple[str, tuple[str, ...]], list[RunEntries]] = {}
    for run in runs:
        by_name.setdefault((run.first.run, run.sources), []).append(run)
    for rewards in by_name.values():
        applied: list[tuple[Gate, RunEntries, str]] = []
        for gate in gates:
            applied += [(gate, run, text) for run, text in _compared_rewards(gate, rewards)]
        yield from sorted(applied, key=lambda case: rewards.index(case[1]))


def _compared_rewards(gate: Gate, rewards: Sequence[RunEntries]) -> Sequence[tuple[RunEntries, str]]:
    """The rewards of one run that a gate is for, each with an empty text; or the first, and that none is."""
    kind = gate.quantity.reads[0]
    matched = [run for run in rewards if kind in run.entries] or rewards
    if gate.reward:
        matched = [run for run in matched if run.has_reward(gate.reward)]
    if kind == "phases":
        # Several rewards of a run have the same phases.
        by_phases = {id(run.entries.get(kind)): run for run in reversed(matched)}
        matched = list(by_phases.values())
    if matched:
        return [(run, "") for run in matched]
    labels = [run.first.reward or run.column for run in rewards]
    known = getattr(rewards[0].refusal, "message", "none is known")
    if all(labels):
        known = f"it has {listing(labels, 8)}"
    return [(rewards[0], f"no reward of the run matches {gate.reward!r}: {known}")]


def _with_value(case: GateCase, value: Value | None) -> GateCase:
    """The case of a gate with the value that it compared, and its interval."""
    if isinstance(value, str):
        return replace(case, word=value)
    if isinstance(value, float):
        return replace(case, value=value)
    if isinstance(value, Estimate):
        return replace(
            case,
            value=value.value,
            low=value.low,
            high=value.high,
            level=value.level,
            method=value.method,
        )
    return case


def _check_arms(gates: Sequence[Gate], runs: Sequence[RunEntries]) -> None:
    """Refuse arms that none of some comparisons has: a typing error is not an unknown value."""
    documents: list[Any] = [run.entries["comparison"].result for run in runs if "comparison" in run.entries]
    if not documents:
        return
    arms: list[str] = []
    for document in documents:
        arms += [arm.arm for arm in document.comparison.arms if arm.arm not in arms]
    for gate in gates:
        if missing := [arm for arm in gate.arms if arm not in arms]:
            raise UsageError(
                "no-such-arm",
                f"--fail-if {gate.text!r}: no arm is called {missing[0]!r}",
                f"the arms are {listing(arms)}",
            )


def _decide_flag(quantity: Quantity, run: RunEntries) -> tuple[Outcome, str]:
    """The outcome of a gate without a number, such as ``fails``, and its sentence."""
    name = quantity.name
    refusal = run.refusal
    if run.entry(("comparison", "samples")) is not None:
        document = "a comparison has arms" if "comparison" in run.entries else "this document has samples"
        return "unknown", f"{name} is a gate on a run, and {document}"
    if quantity.reads == ("phases",):
        value = value_of(quantity, run)
        if not isinstance(value, float):
            return "unknown", getattr(value, "reason", f"{WRITTEN_BY['phases']} writes {name}")
        return ("tripped", quantity.meaning) if value else ("passed", f"not so: {quantity.meaning}")
    if name == "refused":
        if refusal is None:
            return "passed", "the run was not refused"
        return "tripped", f"the run was refused: {refusal.message}"
    if run.judged is None:
        reason = getattr(refusal, "message", "none of the given documents contains a fit of this run")
        return "unknown", f"whether the law holds is not known: {reason}"
    return _decide_verdict(name, run.judged)


def _decide_verdict(name: str, judged: Fit | RunPrediction) -> tuple[Outcome, str]:
    """The outcome of ``fails`` or ``undecided`` for a run with a verdict, and its sentence."""
    if reason := why_no_law(judged):
        return "unknown", reason
    undecided = judged.verdict == Verdict.undecided
    verdict = "the verdict is undecided" if undecided else f"the law {judged.verdict}"
    reasons = "; ".join(sentences(judged.findings, "reason")[:1])
    sentence = f"{verdict}: {reasons}" if reasons else verdict
    if name == Verdict.fails and undecided:
        return "not excluded", sentence
    if judged.verdict == name:
        return "tripped", sentence
    return "passed", sentence


def _compared_value(
    gate: Gate, run: RunEntries, baselines: Mapping[str, Sequence[RunEntries]], rules: Rules, *, alone: bool
) -> Value:
    """The value that a gate compares: the verdict first, then the number."""
    quantity = gate.quantity
    measured = QUANTITIES[gate.measured] if gate.measured else quantity
    value = value_of(measured, run)
    if value is None and run.refusal is not None:
        return Unknown(reason=f"the run was refused: {run.refusal.message}")
    if value is None:
        written = f"{WRITTEN_BY[quantity.reads[0]]} writes one"
        return Unknown(reason=f"none of the documents for this run has {quantity.name}; {written}")
    if reason := why_unusable(measured, run, value, any_law=rules.even_if_fails):
        return Unknown(reason=reason)
    if gate.baseline is None or not isinstance(value, Estimate):
        return value
    return _regression(value, baselines[gate.baseline], measured, run, rules, alone=alone)


def _decide_value(
    gate: Gate, value: Value, limit: Limit | Unknown | None, run: RunEntries, rules: Rules
) -> tuple[Outcome, str]:
    """The outcome of a gate that compares a value with its ``limit``, or with a word, and its sentence."""
    if isinstance(value, Unknown):
        return "unknown", value.reason
    if isinstance(limit, Unknown):
        return "unknown", limit.reason
    if isinstance(value, str):
        holds = (value == gate.word) is (gate.operator == "==")
        known = value in gate.quantity.words
        sentence = f"{gate.quantity.name} is {value!r}" if known else gate.quantity.otherwise
        # A word is compared as an interval that is all, or not at all, on one side.
        return _BY_PART[holds, holds][0], sentence
    return _decide_number(gate, value, limit, run, rules)  # type: ignore[arg-type]


def _decide_number(
    gate: Gate, value: Estimate | float, limit: Limit, run: RunEntries, rules: Rules
) -> tuple[Outcome, str]:
    """The outcome of a gate that compares a number with its ``limit``, and its sentence."""
    if isinstance(value, Estimate) and not rules.point:
        return _decide_interval(gate, value, limit, run)
    number = value.value if isinstance(value, Estimate) else value
    if number is None:
        note = getattr(value, "note", None)
        return "unknown", ": ".join(filter(None, (f"{gate.quantity.name} has no value", note)))
    compare, side = COMPARE[gate.operator]
    holds = compare(number, limit.number)
    (text,) = consistent_decimals([number], limit)
    label = f"{gate.label}{limit.unit_words} {text}{_detail(gate.quantity, run)}"
    sentence = f"{label} {'is' if holds else 'is not'} {side} {limit.text}"
    return _BY_PART[holds, holds][0], sentence


def _decide_interval(gate: Gate, estimate: Estimate, limit: Limit, run: RunEntries) -> tuple[Outcome, str]:
    """Compare all of the interval, none of it, or a part; an open end may have any value."""
    if estimate.low is None and estimate.high is None:
        return "unknown", ": ".join(filter(None, (f"{gate.quantity.name} has no interval", estimate.note)))
    low = -math.inf if estimate.low is None else estimate.low
    high = math.inf if estimate.high is None else estimate.high
    numbers = [estimate.value, estimate.low, estimate.high]
    value, lower, upper = consistent_decimals(numbers, limit)
    outcome, extent = _BY_PART[holds_for(gate.operator, low, high, limit.number)]
    number = "" if estimate.value is None else f"{value} "
    interval = f"{extent} of the {100 * estimate.level:g} % interval"
    label = f"{gate.label}{limit.unit_words} {number}[{lower}, {upper}]{_detail(gate.quantity, run)}"
    _, side = COMPARE[gate.operator]
    sentence = f"{label}: {interval} is {side} {limit.text}"
    if estimate.note:
        sentence += f" ({estimate.note})"
    return outcome, sentence


def _detail(quantity: Quantity, run: RunEntries) -> str:
    """What a sentence adds to the number of a quantity, in brackets."""
    entry = run.entry(quantity.reads)
    if quantity.detail is None or entry is None:
        return ""
    return f" ({quantity.detail(entry.result)})"


def consistent_decimals(numbers: Sequence[float | None], limit: Limit) -> list[str]:
    """Some numbers as text, with common decimals, each on the same side of the limit as its number.

    The interval's half-width gets two significant digits, a number alone four; where that hides a
    difference from the limit, all get the decimals that show it. None is ``open``.
    """
    # The shortest decimal that reads back as a float keeps the order of floats.
    exact = [Decimal(repr(float(x))).scaleb(limit.shift) for x in numbers if x is not None]
    bound = Decimal(repr(float(limit.number))).scaleb(limit.shift)
    decimals = 0
    if any(x != x.to_integral_value() for x in exact):
        half = (max(exact) - min(exact)) / 2
        largest = max(map(abs, exact))
        if half > largest * Decimal("1e-12"):
            decimals = max(1 - half.adjusted(), 0)
        else:
            decimals = max(3 - largest.adjusted(), 0)
    while any(Decimal(_text(x, decimals)).compare(bound) != x.compare(bound) for x in exact):
        decimals += 1
    texts = (_text(x, decimals) + limit.suffix for x in exact)
    return ["open" if x is None else next(texts) for x in numbers]


def _text(x: Decimal, decimals: int) -> str:
    """Fixed decimals, with no minus before a zero; in full where that would be long or the number is huge."""
    if decimals > _MOST_DECIMALS or x.adjusted() > _MOST_DECIMALS:
        return str(x)
    return f"{x:z.{decimals}f}"


def _regression(
    value: Estimate,
    baseline: Sequence[RunEntries],
    measured: Quantity,
    now: RunEntries,
    rules: Rules,
    *,
    alone: bool,
) -> Value:
    """The relative decrease to a value from that of a run in the baseline.

    One run that is ``alone`` is compared with one run, whatever its name; of several runs on either side,
    with the run of the same name and reward.
    """
    for run in baseline:
        if not run.first.read and run.refusal is not None:
            return Unknown(reason=f"the baseline could not be read: {run.refusal.message}")
    before = _run_before(baseline, now, alone=alone)
    if isinstance(before, Unknown):
        return before
    then = value_of(measured, before)
    if reason := why_unusable(measured, before, then, any_law=rules.even_if_fails):
        return Unknown(reason=f"in the baseline {reason}")
    if isinstance(then, Unknown):
        return Unknown(reason=f"in the baseline {then.reason}")
    assert isinstance(then, Estimate)
    if now.rewarded is None or before.rewarded is None:
        where = "this run" if now.rewarded is None else "the baseline"
        return Unknown(reason=f"the document of {where} does not say what its reward is: fit the log again")
    try:
        factor = factor_to(now.rewarded, before.rewarded)
    except InputError as error:
        return Unknown(reason=f"this run and the baseline: {error.message}: {error.hint}")
    return relative_decrease(value, then.times(factor), measured.name)


def _run_before(baseline: Sequence[RunEntries], now: RunEntries, *, alone: bool) -> RunEntries | Unknown:
    """The run of a baseline that a run is compared with; parameters as :func:`_regression`."""
    fitted = [run for run in baseline if "fit" in run.entries and run.first.reward == now.first.reward]
    runs = fitted
    if not alone or len(fitted) != 1:
        runs = [run for run in fitted if run.first.run == now.first.run]
    if len(runs) != 1:
        count = f"{len(runs)} runs" if runs else "no run"
        reason = "where there are several runs, here or there, their names have to match"
        return Unknown(reason=f"the baseline has {count} of the name {now.first.name!r}; {reason}")
    if runs[0].refusal is not None:
        return Unknown(reason=f"the baseline's run was refused: {runs[0].refusal.message}")
    return runs[0]


def load_baselines(gates: Sequence[Gate]) -> dict[str, list[RunEntries]]:
    """The runs that regressions are measured against: of a fit, a run of a report, or a whole report.

    A report is named by its folder or by its index, report.json. Each document is read once; one that cannot
    be read is a refused run.
    """
    kinds = ("fit", "report")
    loaded: dict[str, list[RunEntries]] = {}
    for path in dict.fromkeys(gate.baseline for gate in gates if gate.baseline is not None):
        named = f"{path.rstrip('/')}/{INDEX}" if is_folder(path) else path
        index = find_document(named)
        try:
            pages = whole_pages(index) if index is not None and index.data else []
            names = [str(page) for page in pages] or [named]
            loaded[path] = []
            for name in names:
                note_input(name)
                document = as_document(load_json(name, kinds), kinds, f"the baseline {shown_path(name)}")
                loaded[path] += entries_of(document, shown_path(name))
        except InputError as error:
            loaded[path] = [unread(shown_path(path), error)]
    return loaded


def relative_decrease(now: Estimate, before: Estimate, measured: str) -> Value:
    """1 − now/before with its interval, of estimates as documents hold them.

    It is Unknown where an end of an interval is missing, the levels differ, or the interval of ``before``
    includes values of 0 or less, so that a ratio to it has no meaning. ``measured`` names the quantity.

    MOVER recovers variances from the ends of given intervals: Zou & Donner (2008, doi:10.1002/sim.3095) for
    a difference. For a ratio its limits of now − r·before are set to 0, which gives a quadratic in r
    (MOVER-R; Newcombe 2016, doi:10.1177/0962280213502144, for a numerator of any sign). The two runs are
    taken as independent; for two fits of the same evaluations the interval is wider than necessary.
    """
    numbers = (now.value, now.low, now.high, before.value, before.low, before.high)
    ends = [end for end in numbers if end is not None]
    if len(ends) < len(numbers):
        return Unknown(reason=f"the interval of {measured} has an open end here or in the baseline")
    if now.level != before.level:
        return Unknown(reason=f"the levels differ: {now.level:g} here, {before.level:g} in the baseline")
    top, top_low, top_high, unit, unit_low, unit_high = ends
    if unit_low <= 0:
        reason = f"the baseline's {measured} may be 0 or less: its interval begins at {unit_low:.3g}"
        return Unknown(reason=reason)
    # In units of the baseline, whose square does not overflow.
    try:
        above = unit_high / unit - 1.0
        below = 1.0 - unit_low / unit
        share = top / unit
        least = top_low / unit
        most = top_high / unit
        # Where r is negative, r·before has its ends exchanged.
        low = _limit(share, share - least, above if least >= 0 else below, 1.0)
        high = _limit(share, most - share, below if most >= 0 else above, -1.0)
    except (ZeroDivisionError, OverflowError):
        low = high = share = math.inf
    if not all(map(math.isfinite, (low, high, share))):
        return Unknown(reason=f"the ratio of {measured} to the baseline's is not finite")
    return Estimate(
        value=rounded(1.0 - share),
        low=rounded(1.0 - high),
        high=rounded(1.0 - low),
        level=now.level,
        method="MOVER-R, from the two intervals as independent",
    )


def _limit(top: float, top_half: float, bottom_half: float, side: float) -> float:
    """Solve top − r = side·√(top_half² + r²·bottom_half²) for r."""
    square = 1.0 - bottom_half**2
    rest = top**2 - top_half**2
    root = math.sqrt(max(top**2 - square * rest, 0.0))
    # Of the two forms of the root, the one without cancellation.
    if top * side >= 0:
        stable = top + side * root
        if not stable:
            return 0.0
        return rest / stable
    return (top - side * root) / square
