"""The law of a run and of its segments; the other functional forms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import starmap

from entropylaw.analysis.forms import form_label
from entropylaw.analysis.law.residual_models import residual_model
from entropylaw.escaping import counted
from entropylaw.report import blocks as b
from entropylaw.report import methods, words
from entropylaw.report.figures import figures_of
from entropylaw.report.findings import weightiest
from entropylaw.report.numbers import (
    format_interval,
    format_number,
    format_percent,
    format_probability,
    format_r_squared,
    format_step,
)
from entropylaw.results import FEWEST_FOR_MEMORY, Verdict
from entropylaw.results.fit import Fit
from entropylaw.results.groups import LevelShift, SameTest, Segment, SegmentFit
from entropylaw.results.law import Comparison, FormResult, Influences, LawFit, NestedTest
from entropylaw.results.result import LOST, field_names, replace, sentences

Result = Fit | Influences | Comparison | SegmentFit

FORM_COLUMNS = (
    b.Column("form", "functional form", lambda form: form_label(form.form)),
    b.Column("probability", "probability", unit="probability"),
    b.Column("ceiling", "ceiling", estimate=True),
    b.Column("headroom", "left", estimate=True),
    b.Column(
        "formula", "formula", lambda form: f"{form.formula}{words.in_brackets(words.shapes_words(form))}"
    ),
    b.Column("residual_sd", "residual sd"),
)

INFLUENCE_COLUMNS = (
    b.Column("step", "step", unit="step"),
    b.Column("leverage", "leverage"),
    b.Column("ceiling_shift", "ceiling without it, change"),
    b.Column("a_ratio", "a without it / a"),
)


COMPARISON_COLUMNS = (
    b.Column("form", "form", lambda form: form_label(form.form)),
    b.Column("formula", "formula", lambda form: ", ".join([form.formula, *_shapes(form)])),
    b.Column("variable", "of"),
    b.Column("probability", "probability", unit="probability"),
    b.Column("log_odds", "log odds against the law"),
    b.Column("ceiling", "ceiling", estimate=True),
    b.Column("parameters", "coefficients"),
    *b.columns("residual_sd", "ruled_out"),
)

_LAW_COLUMNS = b.columns("a", "b", "ceiling", estimate=True)
PARTS = (*b.columns("run", "part"), b.Column("n", "evaluations"), *b.columns("verdict"), *_LAW_COLUMNS)


def describe(result: Result) -> list[b.Block]:
    """A law without its log, the influence of each evaluation, the forms compared, or segments."""
    match result:
        case Fit():
            return sections(result, result, b.Heading(result.run, 2, about(result)))
        case Influences():
            covariance = f"range {format_number(result.length)} steps, drift share {result.drift_share:.2f}"
            text = f"Under the most probable residual covariance: {covariance}."
            return [b.Heading("Influence of single evaluations", 2), b.paragraphs(text), table(result)]
        case Comparison():
            return _compared(result)
    return [b.Heading("Segments"), *_segments(result)]


def table(result: Result) -> b.Table:
    """A row per form, evaluation or segment."""
    match result:
        case Fit():
            return b.table_of(FORM_COLUMNS, result.forms)
        case Influences():
            arrays = (getattr(result, column.key).tolist() for column in INFLUENCE_COLUMNS)
            return b.Table(INFLUENCE_COLUMNS, list(zip(*arrays, strict=True)))
        case Comparison():
            return b.table_of(COMPARISON_COLUMNS, result.forms, words=3)
    return b.table_of(PARTS, segment_rows(result), words=2)


def _shapes(form: FormResult) -> list[str]:
    return [f"{name} = {format_number(shape.value)}" for name, shape in form.shapes.items()]


def _compared(result: Comparison) -> list[b.Block]:
    def tested(test: NestedTest) -> str:
        forms = f"{form_label(test.null)} inside {form_label(test.alternative)}"
        if test.p_value is None:
            return f"{forms}: no test ({test.note})"
        return f"{forms}: p = {test.p_value:.2g} ({test.method})" + (f"; {test.note}" if test.note else "")

    alike = ", ".join(map(form_label, result.alike)) or "no form"
    tail = f"twice the smaller probability of k < 1 and k > 1 is {format_number(result.rate_tail, 2)}"
    notes = [
        b.Note("similar", f"odds against the law between 1/20 and 20: {alike}"),
        *b.labelled("test", map(tested, (result.law_test, result.line_test, result.branch_test))),
        b.Note("rate k", tail),
        *b.labelled("skipped", _skipped(result.skipped)),
        *b.labelled("reach", [result.reach_note] if result.reach_note else []),
    ]
    limits = (
        b.Fact("ceiling", result.ceiling, "reward at H = 0, over the forms of the entropy"),
        b.Fact("limit", result.limit, "in steps, over the forms of the step"),
        b.Fact("reach", result.reach, "both, as the entropy goes to 0"),
    )
    facts = [fact for fact in limits if fact.value is not None]
    interval = f"range over the forms not ruled out, {format_percent(result.ceiling.level)} intervals"
    return [b.Heading("Forms", 2), table(result), b.Facts("over all forms", facts, interval), b.Notes(notes)]


def _skipped(skipped: Mapping[str, str]) -> list[str]:
    """The forms that could not be fitted, each with its reason."""
    return [f"{form_label(form)}: {reason}" for form, reason in skipped.items()]


def about(fit: Fit) -> str:
    """``51 evaluations, steps 0–500``."""
    steps = f"steps {format_step(fit.law.step[0])}–{format_step(fit.law.step[-1])}"
    return f"{counted(fit.n, 'evaluation')}, {steps}"


def sections(
    fit: Fit,
    part: object,
    heading: b.Heading,
    *,
    data: str = "",
    other: Sequence[b.Block] = (),
    progress: Sequence[b.Fact] = (),
    further: Sequence[b.Block] = (),
) -> list[b.Block]:
    """The verdict, the two answers, the law, the functional forms, the estimates, and the diagnostics.

    Figures are drawn from ``part``: the fit, or a run with its columns. ``data`` says what was read,
    ``other`` are answers for another reward, ``progress`` has further estimates, and ``further`` blocks come
    before the diagnostics.
    """
    law = fit.law
    answers = words.answers(fit)
    text = " ".join(dict(answers).values())
    now = f"at H = {format_number(law.entropy_now)} nats, evaluation noise removed"
    chance = words.p_left(fit)
    left = f"ceiling − reward now; {chance}" if chance else "ceiling − reward now"
    interval = f"{format_percent(fit.level)} interval ({fit.ceiling.method})"
    averaged = (
        b.Fact("ceiling", fit.ceiling, "reward at H = 0"),
        b.Fact("reward now", fit.reward_now, now),
        b.Fact("headroom", fit.headroom, left),
        b.Fact("share reached", fit.used, "of the attainable gain", "%"),
        *_if_short(fit, ("ceiling", "headroom")),
        *progress,
    )
    interval_of_law = f"{format_percent(law.level)} interval ({law.ceiling.method})"
    unsafe = f"The law fails for this run: {words.headline(fit)}. Its own numbers are for reference only."
    coefficients = (
        b.Fact("a", law.a, "reward lost per unit of exp(H)"),
        b.Fact("b", law.b, f"ceiling + a; correlation with a {law.correlation:.3f}"),
        b.Fact("ceiling by the law", law.ceiling, "b − a, the reward at H = 0"),
        b.Fact("headroom by the law", law.headroom, "its ceiling − reward now"),
        *_if_short(fit, ("a", "law_ceiling")),
    )
    samples = f", {law.eval_size} samples each" if law.eval_size is not None else ""
    trust = f"R² {format_r_squared(law.r_squared)} by least squares, {law.n} evaluations{samples}, "
    trust += f"effective sample size {law.residuals.effective_n:.0f}."
    stage = "Each form has a term in the step: these are the numbers of the present stage."
    probabilities = "Probabilities are posterior; all functional forms have the same prior probability."
    forms = [column for column in FORM_COLUMNS if not (fit.lost and column.estimate)]
    shown = f"{words.headline(fit)} {text}"
    reasons = b.labelled("reason", (reason for reason in fit.reasons if reason not in shown))
    # The first answer says that reward was lost.
    findings = [finding for finding in fit.findings if finding.code != LOST]
    cautions = b.labelled("caution", fit.cautions) + b.labelled("note", sentences(fit.findings, "note"))
    diagnostics = [
        b.Note("residual", residual_words(law)),
        b.Note("", influence_words(law)),
        b.Note("tests", _tests(fit)),
    ]
    return [
        heading,
        b.Verdict(fit.verdict, words.headline(fit), b.HOLDS[fit.verdict], titled=True),
        b.Answers(list(starmap(b.Note, answers))),
        b.Notes([b.Note("caution", "", caution) for caution in weightiest(findings)], instead=True),
        b.Notes([b.Note("R = b − a·exp(H)", "", words.law_line(fit))]),
        brief_forms(fit),
        b.Notes([b.Note("data", "", data)]),
        *other,
        b.Notes(reasons + cautions, detail=True),
        *figures_of("law", part, text),
        b.Heading("Estimates, averaged over functional forms", name="numbers"),
        b.Facts("averaged", averaged, interval, detail=True),
        b.Heading("Functional forms", name="rivals"),
        b.Notes([b.Note("", stage)] if fit.present_stage else [], detail=True),
        replace(b.table_of(forms, fit.forms), detail=True),
        b.Notes(
            [*b.labelled("skipped", _skipped(fit.skipped)), b.Note("", probabilities)],
            detail=True,
        ),
        b.Heading("The law itself", name="law"),
        b.Facts(
            "R = b − a·exp(H)",
            coefficients,
            interval_of_law,
            unsafe if fit.verdict is Verdict.fails else "",
            detail=True,
        ),
        b.Notes([b.Note("", trust)], detail=True),
        *further,
        b.Heading("Diagnostics", name="trust"),
        b.Notes(diagnostics, detail=True),
        *figures_of("trust", part),
        b.Heading("For a paper", name="paper"),
        b.Notes([b.Note("", methods.paragraph(fit)), *b.labelled("BibTeX", methods.BIBTEX)], detail=True),
    ]


def _if_short(fit: Fit, names: Sequence[str]) -> list[b.Fact]:
    """Numbers given that the residual's memory is short, where the fit allows for a long one."""
    if fit.if_short is None:
        return []
    note = "if the memory of the residuals is short"
    labels = {"law_ceiling": "ceiling by the law"}
    return [b.Fact(f"{labels.get(name, name)}, short", getattr(fit.if_short, name), note) for name in names]


def brief_forms(fit: Fit) -> b.Block:
    """The forms that have some probability, for a terminal; the others are counted."""
    notes = []
    for form in fit.forms:
        if form.probability >= SHOWN or form.form == "law":
            parts = [format_probability(form.probability)]
            if not fit.lost:
                parts.append(f"ceiling {format_interval(form.ceiling)}")
            if form.shapes:
                parts.append(words.shapes_words(form))
            notes.append(b.Note(form.form, "", "   ".join(parts)))
    others = len(fit.forms) - len(notes)
    if others:
        notes.append(b.Note(f"+{counted(others, 'form')}", "", f"below {SHOWN:g}: --details"))
    return b.Notes(notes, instead=True)


SHOWN = 0.01
"""Least probability of a form that a terminal shows."""


def influence_words(law: LawFit) -> str:
    """What the fit is without its most influential evaluation."""
    shift = format_number(law.influence.ceiling_shift, 2)
    return (
        f"Leaving out the evaluation at step {format_step(law.influence.step)} changes the least-squares fit "
        f"most: the ceiling by {'' if shift.startswith('-') else '+'}{shift}, a to "
        f"{format_number(law.influence.a_ratio)} times its value."
    )


def _tests(fit: Fit) -> str:
    """The evidence from which the verdict follows."""
    tests = fit.tests
    p_values = {
        "k = 1": tests.p_rate,
        "no term in the step": tests.p_step,
        "no term in its logarithm": tests.p_log_step,
    }
    parts = [f"{hypothesis}: {_p_value(p)}" for hypothesis, p in p_values.items() if p is not None]
    odds = []
    for name in field_names(tests):
        value = getattr(tests, name)
        if name.startswith("odds_") and value is not None:
            odds.append(f"{name.removeprefix('odds_').replace('_', ' ')} {value:.3g}")
    parts.append(f"odds over the law: {', '.join(odds)}")
    if tests.spearman is not None:
        parts.append(f"rank correlation {tests.spearman:.2f}")
    return "; ".join(parts)


def residual_words(law: LawFit) -> str:
    """The residuals, and the noise that smoothing removed from the entropy."""
    residuals, model = law.residuals, residual_model(law.interval)
    lag1 = "unknown" if residuals.lag1 is None else format_number(residuals.lag1, 2)
    text = f"The residuals have standard deviation {format_number(residuals.sd, 2)} and lag-1 "
    text += f"autocorrelation {lag1}"
    if residuals.thirds is not None and residuals.p_thirds is not None:
        by_thirds = ", ".join(format_number(sd_of_third, 2) for sd_of_third in residuals.thirds)
        text += f"; by thirds of the run {by_thirds} ({_p_value(residuals.p_thirds)} of no change)"
    if model.assumed is not None:
        text += f"; the intervals take them as {model.assumed}."
    else:
        text += (
            f"; {format_percent(residuals.drift_share)} of their variance is slow drift (effective sample "
        )
        text += f"size {format_number(residuals.effective_n, 2)} of {law.n})."
        text += memory_words(law)
    text += smoothing_words(law) + lag_words(law)
    if law.entropy_sd is not None:
        ends = dict.fromkeys(format_number(x, 2) for x in (law.entropy_sd.min(), law.entropy_sd.max()))
        text += f" The entropy's noise was given as {' to '.join(ends)} nats."
    return text


def smoothing_words(law: LawFit) -> str:
    """The noise that smoothing removed from the entropy; empty where the entropy was used as logged."""
    model = residual_model(law.interval)
    if law.entropy_noise is None or not (model.assumed is None or model.smooths_entropy):
        return ""
    noise = f"{format_number(law.entropy_noise, 2)} nats{'' if law.entropy_sd is None else ' (given)'}"
    return (
        " The law is fitted to the smoothed entropy; the log's values scatter around it by "
        f"{noise}. The intervals allow for the error of the smoothing."
    )


def lag_words(law: LawFit) -> str:
    """The pairing at which fast changes of reward and entropy go together most."""
    if law.lag is None:
        return ""
    count = law.lag.evaluations
    pairing = "the same evaluation"
    if count:
        pairing = f"{counted(abs(count), 'evaluation')} {'before' if count > 0 else 'after'}"
        pairing += f", odds {law.lag.odds:.2g} to 1 against the same evaluation"
    return (
        f" Fast changes of the reward go best with those of the entropy of {pairing} "
        f"({_p_value(law.lag.p_value)} of no relation)."
    )


def memory_words(law: LawFit) -> str:
    """The probability of long memory, and whether the run is long enough to tell."""
    long = law.residuals.long_memory
    if long is None:
        return ""
    text = f" They have long memory with probability {format_probability(long)}, 0.5 before the data"
    if law.n < FEWEST_FOR_MEMORY:
        text += f": with fewer than {FEWEST_FOR_MEMORY} evaluations nothing distinguishes it from a short one"
    return f"{text}."


def segment_blocks(
    shifts: Iterable[LevelShift], fit: SegmentFit | None, notes: Iterable[str]
) -> list[b.Block]:
    """The level shifts and the law between them; nothing where these options were not given."""
    texts = [*map(level_shift, shifts), *notes]
    if not texts and fit is None:
        return []
    head = [b.Heading("Segments", name="segments"), b.Notes(b.labelled("level shift", texts))]
    return [*head, *(_segments(fit) if fit is not None else ())]


def _segments(fit: SegmentFit) -> list[b.Block]:
    title = "; ".join(filter(None, (_segments_title(fit), fit.note)))
    same = [_same(fit.same)] if fit.same is not None else []
    heads = (*b.columns("steps"), PARTS[2], *_LAW_COLUMNS, *b.columns("verdict"))
    rows = []
    for segment in fit.segments:
        steps = f"{format_step(segment.first_step)}–{format_step(segment.last_step)}"
        verdict = segment.refusal or "refused"
        if segment.fit is not None:
            verdict = f"{segment.fit.verdict}: {words.headline(segment.fit)}"
        rows.append((steps, segment.n, *_coefficients(segment).values(), verdict))
    return [b.paragraphs(f"{title}."), *same, b.Table(heads, rows)]


def segment_rows(fit: SegmentFit) -> Iterator[b.Row]:
    """Every segment; the first row has the test that all are alike."""
    for number, segment in enumerate(fit.segments, start=1):
        yield {
            "part": f"segment {number}",
            "n": segment.n,
            "verdict": segment.fit.verdict.value if segment.fit is not None else None,
            **_coefficients(segment),
            "first_step": segment.first_step,
            "last_step": segment.last_step,
            "p_value": fit.same.p_value if fit.same is not None and number == 1 else None,
            "refusal": segment.refusal,
        }


def _coefficients(segment: Segment) -> b.Row:
    """The law's coefficients and ceiling; None where there is no fit."""
    law = None if segment.fit is None else segment.fit.law
    return {name: getattr(law, name, None) for name in ("a", "b", "ceiling")}


def level_shift_rows(shifts: Iterable[LevelShift]) -> Iterator[b.Row]:
    """Every level shift."""
    for shift in shifts:
        steps: b.Row = {"first_step": shift.after, "last_step": shift.step, "p_value": shift.p_value}
        yield steps | {"part": f"jump of {shift.series}", "jump": shift.jump}


def segments_sentence(shifts: Iterable[LevelShift], fit: SegmentFit | None) -> str:
    """The level shifts and the test of the segments in a sentence; empty where there are none."""
    parts = [level_shift(shift) for shift in shifts]
    if fit is not None:
        parts.append(_segments_title(fit))
        if fit.same is not None:
            verdict = _same(fit.same)
            parts.append(f"{verdict.badge}: {verdict.text}")
        if fit.note:
            parts.append(fit.note)
    return "; ".join(parts)


def level_shift(shift: LevelShift) -> str:
    """``reward shifts by -0.12 [-0.15, -0.09] between steps 400 and 410 (p = 0.01 against drift)``."""
    between = f"between steps {format_step(shift.after)} and {format_step(shift.step)}"
    size, p_value = format_interval(shift.jump), _p_value(shift.p_value)
    return f"{shift.series} shifts by {size} {between} ({p_value} against drift)"


def _segments_title(fit: SegmentFit) -> str:
    """How many segments there are, and where they begin."""
    at = ", ".join(map(format_step, fit.starts))
    shifts = f"level shifts at step {at}" if at else "no level shift"
    return f"{counted(len(fit.segments), 'segment')}, {shifts}"


def _same(test: SameTest) -> b.Verdict:
    """The test of a common law; equality is never claimed."""
    evidence = f"{_p_value(test.p_value)} ({test.method})"
    if test.differs:
        return b.Verdict("DIFFERENT", f"the segments do not share the law: {evidence}", False)
    return b.Verdict("SAME?", f"no sign that the segments differ: {evidence}")


def _p_value(p: float) -> str:
    return f"p = {p:.2g}" if p >= 1e-4 else "p < 0.0001"
