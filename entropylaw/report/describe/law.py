"""The law of a run, of several runs and of segments; the other functional forms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from entropylaw.analysis.forms import FORMS, form_label
from entropylaw.analysis.law.residual_models import residual_model
from entropylaw.escaping import counted
from entropylaw.report import blocks as b
from entropylaw.report import words
from entropylaw.report.figures import figures_of
from entropylaw.report.numbers import (
    format_estimate,
    format_interval,
    format_number,
    format_percent,
    format_probability,
    format_step,
)
from entropylaw.results.groups import LevelShift, SameTest, SegmentFit, SharedFit
from entropylaw.results.law import Comparison, Influences, LawFit, NestedTest, NonlinearFit

Result = LawFit | Influences | Comparison | NonlinearFit | SharedFit | SegmentFit

FORM_COLUMNS = (
    *b.columns("form formula"),
    b.Column("probability", "probability", unit="probability"),
    b.Column("ceiling", "ceiling", estimate=True),
    b.Column("rate", "rate k", lambda one: one.rate and replace(one.rate, note=None), estimate=True),
    b.Column("residual_sd", "residual sd"),
)

INFLUENCE_COLUMNS = (
    b.Column("step", "step", unit="step"),
    b.Column("leverage", "leverage"),
    b.Column("ceiling_shift", "ceiling without it, change"),
    b.Column("a_ratio", "a without it / a"),
)


COMPARISON_COLUMNS = (
    b.Column("form", "form", lambda one: form_label(one.form)),
    b.Column(
        "formula",
        "formula",
        lambda one: ", ".join(
            [one.formula, *(f"{n} = {format_number(x.value)}" for n, x in one.shapes.items())]
        ),
    ),
    b.Column("variable", "of"),
    b.Column("probability", "probability", unit="probability"),
    b.Column("log_odds", "log odds against the law"),
    b.Column("ceiling", "ceiling", estimate=True),
    b.Column("parameters", "coefficients"),
    *b.columns("residual_sd ruled_out"),
)

PARAMETERS = (*b.columns("parameter"), *b.columns("estimate", estimate=True))

LAW = ("a", "b", "ceiling")
_LAW_COLUMNS = b.columns("a b ceiling", estimate=True)
PARTS = (*b.columns("run part"), b.Column("n", "evaluations"), *b.columns("valid"), *_LAW_COLUMNS)


def describe(result: Result) -> list[b.Block]:
    """A law without its log, the influence of each evaluation, the forms compared, one form, or groups."""
    match result:
        case LawFit():
            steps = f"steps {format_step(result.step[0])} to {format_step(result.step[-1])}"
            return sections(result, result, b.Heading(result.run, 2, f"{result.n} evaluations, {steps}"))
        case Influences():
            said = f"Under the most probable residual covariance: {_covariance(result)}."
            return [b.Heading("Influence of single evaluations", 2), b.paragraphs(said), table(result)]
        case Comparison():
            return _compared(result)
        case NonlinearFit():
            first = next(iter(result.parameters.values()), None)
            method = "" if first is None else f"{format_percent(first.level)} interval ({first.method})"
            residual = f"whitened sd {format_number(result.residual_sd)}; {_covariance(result)}"
            converged = "converged" if result.settled else "did not converge"
            lmfit = f"Levenberg–Marquardt {converged}: {result.message}"
            facts = [b.Fact(name, estimate) for name, estimate in result.parameters.items()]
            return [
                b.Heading(form_label(result.form), 2, result.formula),
                b.Facts(result.formula, facts, method or "interval"),
                b.Notes([b.Note("residual", residual), b.Note("lmfit", lmfit)]),
            ]
        case SharedFit():
            return shared_blocks(result)
    return [b.Heading("Segments"), *_segments(result)]


def table(result: Result) -> b.Table:
    """A row per form, evaluation, parameter, run or segment."""
    match result:
        case LawFit():
            rivals = b.table_of(FORM_COLUMNS, result.rivals, words=2)
            known = (result.law_probability, result.ceiling, None, result.residuals.sd)
            place = sum(rival.probability > result.law_probability for rival in result.rivals)
            own = ("law", FORMS["law"].formula, *known)
            return b.Table(FORM_COLUMNS, [*rivals.rows[:place], own, *rivals.rows[place:]], words=2)
        case Influences():
            arrays = (getattr(result, column.key).tolist() for column in INFLUENCE_COLUMNS)
            return b.Table(INFLUENCE_COLUMNS, list(zip(*arrays, strict=True)))
        case Comparison():
            return b.table_of(COMPARISON_COLUMNS, result.forms, words=3)
        case NonlinearFit():
            return b.Table(PARAMETERS, list(result.parameters.items()))
    rows = shared_rows(result) if isinstance(result, SharedFit) else segment_rows(result)
    return b.table_of(PARTS, rows, words=2)


def _covariance(result: Influences | NonlinearFit) -> str:
    return f"range {format_number(result.length)} steps, drift share {result.drift_share:.2f}"


def _compared(result: Comparison) -> list[b.Block]:
    def tested(test: NestedTest) -> str:
        what = f"{form_label(test.null)} inside {form_label(test.alternative)}"
        if test.p_value is None:
            return f"{what}: no test ({test.note})"
        return f"{what}: p = {test.p_value:.2g} ({test.method})" + (f"; {test.note}" if test.note else "")

    alike = ", ".join(map(form_label, result.alike)) or "no form"
    tail = f"twice the smaller probability of k < 1 and k > 1 is {format_number(result.rate_tail, 2)}"
    notes = [
        b.Note("similar", f"odds against the law between 1/20 and 20: {alike}"),
        *b.labelled("test", map(tested, (result.law_test, result.line_test, result.branch_test))),
        b.Note("rate k", tail),
        *b.labelled("skipped", (f"{form_label(form)}: {why}" for form, why in result.skipped.items())),
        *b.labelled("reach", [result.reach_note] if result.reach_note else []),
    ]
    known = (
        ("ceiling", result.ceiling, "reward at H = 0, over the forms of the entropy"),
        ("limit", result.limit, "in steps, over the forms of the step"),
        ("reach", result.reach, "both, as the entropy goes to 0"),
    )
    facts = [b.Fact(name, value, what) for name, value, what in known if value is not None]
    interval = f"range over the forms not ruled out, {format_percent(result.ceiling.level)} intervals"
    return [b.Heading("Forms", 2), table(result), b.Facts("over all forms", facts, interval), b.Notes(notes)]


def sections(
    law: LawFit,
    part: object,
    heading: b.Heading,
    *,
    sentences: Sequence[str] = (),
    progress: Sequence[b.Fact] = (),
    more: Sequence[b.Block] = (),
) -> list[b.Block]:
    """The verdict with its reasons and cautions, the estimates, the functional forms, and the diagnostics.

    Figures are drawn from ``part``: the law, or a run with its columns. ``sentences`` follow the verdict,
    ``progress`` has more estimates, and ``more`` comes before the diagnostics.
    """
    reasons = b.labelled("reason", law.validity.reasons) + b.labelled("caution", law.validity.cautions)
    now = f"at H = {format_number(law.entropy_now)} nats, evaluation noise removed"
    relative = "" if residual_model(law.interval).fixed_level else ", relative to the current level"
    facts = [
        b.Fact("a", law.a, "reward lost per unit of exp(H)"),
        b.Fact("b", law.b, f"ceiling + a; correlation with a {law.correlation:.3f}"),
        b.Fact("ceiling", law.ceiling, f"reward at H = 0{relative}"),
        b.Fact("reward now", law.reward_now, now),
        b.Fact("headroom", law.headroom, "ceiling − reward now"),
        *progress,
    ]
    interval = f"{format_percent(law.level)} interval ({law.ceiling.method})"
    unsafe = f"{words.headline(law)} These numbers are for reference only."
    gained = f"95 % of the law's headroom is gained at H = {format_number(law.entropy_spent)} nats"
    samples = f", {law.eval_size} samples each" if law.eval_size is not None else ""
    worse = ": the mean fits better" if law.r_squared < 0 else ""
    fit = (
        f"{law.n} evaluations{samples}, steps {format_step(law.step[0])} to {format_step(law.step[-1])}. "
        f"The law explains {format_percent(law.r_squared)} of the reward's variance{worse}."
    )
    gone = [form_label(form) for form, _, ruled_out in words.ceilings(law) if ruled_out]
    mean = f"{format_estimate(law.ceiling_over_forms).value} averaged by probability"
    over = f"over the functional forms that are not ruled out: {mean}, range {words.ceiling_range(law)}"
    over += f"; ruled out: {', '.join(gone)}" * bool(gone)
    probabilities = "Probabilities are posterior; all functional forms have the same prior probability."
    # Why an interval of a free rate k has an open end; the table's cell shows a dash there.
    open_ends = b.labelled("rate k", filter(None, (getattr(one.rate, "note", None) for one in law.rivals)))
    shift = format_number(law.influence.ceiling_shift, 2)
    influence = (
        f"Leaving out the evaluation at step {format_step(law.influence.step)} changes the least-squares fit "
        f"most: the ceiling by {'' if shift.startswith('-') else '+'}{shift}, a to "
        f"{format_number(law.influence.a_ratio)} times its value."
    )
    return [
        heading,
        b.Verdict(law.verdict, words.headline(law), b.HOLDS.get(law.validity.verdict)),
        b.paragraphs(*sentences, detail=True),
        b.Notes(reasons or [b.Note("checks", "all passed", "")], may_wait=True),
        *figures_of("law", part, " ".join(sentences)),
        b.Heading("Estimates", name="numbers"),
        b.Facts("R = −a·exp(H) + b", facts, interval, "" if law.validity.ok else unsafe),
        b.Notes([b.Note("saturation", gained, ""), b.Note("", fit, "")]),
        b.Heading("Functional forms", name="rivals"),
        table(law),
        b.Notes([b.Note("ceiling", over), b.Note("", probabilities, ""), *open_ends]),
        *more,
        b.Heading("Diagnostics", name="trust"),
        b.Notes([b.Note("residual", *_residual(law))]),
        b.paragraphs(influence, detail=True),
        *figures_of("trust", part),
    ]


def _residual(law: LawFit) -> tuple[str, str]:
    """The residuals, and the noise that smoothing removed from the entropy; in full, and for a terminal."""
    residuals, model = law.residuals, residual_model(law.interval)
    sd, lag1 = format_number(residuals.sd, 2), format_number(residuals.lag1, 2)
    text = f"The residuals have standard deviation {sd} and lag-1 autocorrelation "
    text += "unknown" if residuals.lag1 is None else lag1
    brief = f"sd {format_number(residuals.sd)}, lag-1 "
    brief += "unknown" if residuals.lag1 is None else f"{residuals.lag1:.2f}"
    if model.assumed is not None:
        text += f"; the intervals take them as {model.assumed}."
    else:
        size = f"an effective sample size of {format_number(residuals.effective_n, 2)}"
        memory = format_probability(residuals.long_memory)
        text += f"; {format_percent(residuals.drift_share)} of their variance is slow drift, so that {law.n} "
        text += f"evaluations have {size}. The correlation of the drift lasts for half of the run or more "
        text += f"with probability {memory}."
        brief += f"; drift share {residuals.drift_share:.2f}, "
        brief += f"effective sample size {residuals.effective_n:.0f}"
    if law.entropy_noise is not None:
        noise = format_number(law.entropy_noise, 2)
        brief += f"; entropy noise {noise}"
        if model.assumed is None or model.smooths_entropy:
            given = "" if law.entropy_sd is None else " (given)"
            text += " The law is fitted to the smoothed entropy; the log's values scatter around it by "
            text += f"{noise} nats{given}. The intervals allow for the error of the smoothing."
    if law.entropy_sd is not None:
        ends = dict.fromkeys(format_number(x, 2) for x in (law.entropy_sd.min(), law.entropy_sd.max()))
        brief += f"; given as {' to '.join(ends)}"
    return text, brief


def shared_blocks(fit: SharedFit, level: int = 2) -> list[b.Block]:
    """The test, the common coefficients, each run next to them, and the mean over seeds."""
    interval = f"{format_percent(fit.level)} interval ({fit.a.method})"
    names = "a, b and ceiling" if len(fit.shared) > 1 else fit.shared[0]
    spread = [(one.coefficient, one.answer, one.new_seed, one.tau) for one in fit.spread]
    heads = ("this recipe", "mean over seeds", "a new seed", "sd between seeds")
    seeds: b.Block = b.Table([b.Column(head, head) for head in heads], spread)
    methods = [f"{one.coefficient}: {one.answer.method}" for one in fit.spread]
    if fit.spread and fit.spread[0].between.value is None:
        seeds, methods = b.Notes([]), [f"none: {fit.spread[0].between.note}"]
    return [
        b.Heading("In common", level, name="shared"),
        b.paragraphs(f"{len(fit.runs)} runs with {names} in common."),
        _same(fit.same, "runs"),
        b.Notes(b.labelled("caution", fit.cautions)),
        b.Facts("in common", [b.Fact(name, getattr(fit, name)) for name in LAW], interval),
        b.table_of(PARTS, (row for row in shared_rows(fit) if "run" in row), words=2),
        seeds,
        b.Notes(b.labelled("mean over seeds", methods)),
    ]


def shared_rows(fit: SharedFit) -> Iterator[b.Row]:
    """The common coefficients, each run next to them, and the mean over seeds."""
    common: b.Row = {"level": fit.level, "method": fit.a.method, "p_value": fit.same.p_value}
    yield common | {"part": "in common"} | {name: getattr(fit, name) for name in LAW}
    for run in fit.runs:
        base: b.Row = {"run": run.run, "n": run.n, "valid": run.valid}
        yield base | {"part": "alone", **run.own}
        yield base | {"part": "with those in common", **run.together}
        yield base | {"part": "less the other runs'", **run.deviation}
    for part, key in (("mean over seeds", "answer"), ("a new seed", "new_seed"), ("sd of seeds", "tau")):
        yield {"part": part} | {one.coefficient: getattr(one, key) for one in fit.spread}


def segment_blocks(
    shifts: Iterable[LevelShift], fit: SegmentFit | None, notes: Iterable[str]
) -> list[b.Block]:
    """The level shifts and the law between them; nothing where these options were not given."""
    found = [*map(level_shift, shifts), *notes]
    if not found and fit is None:
        return []
    head = [b.Heading("Segments", name="segments"), b.Notes(b.labelled("level shift", found))]
    return [*head, *(_segments(fit) if fit is not None else ())]


def _segments(fit: SegmentFit) -> list[b.Block]:
    title = "; ".join(filter(None, (_segments_title(fit), fit.note)))
    same = [_same(fit.same, "segments")] if fit.same is not None else []
    heads = (*b.columns("steps"), PARTS[2], *_LAW_COLUMNS, *b.columns("verdict"))
    rows = [
        (
            f"{format_step(part.first_step)}–{format_step(part.last_step)}",
            part.n,
            *(getattr(part.law, name, None) for name in LAW),
            words.headline(part.law) if part.law is not None else part.refusal or "refused",
        )
        for part in fit.segments
    ]
    return [b.paragraphs(f"{title}."), *same, b.Table(heads, rows)]


def segment_rows(fit: SegmentFit) -> Iterator[b.Row]:
    """Every segment; the first row has the test that all are alike."""
    for place, part in enumerate(fit.segments):
        yield {
            "part": f"segment {place + 1}",
            "n": part.n,
            "valid": part.law.validity.ok if part.law is not None else None,
            **{name: getattr(part.law, name, None) for name in LAW},
            "first_step": part.first_step,
            "last_step": part.last_step,
            "p_value": fit.same.p_value if fit.same is not None and place == 0 else None,
            "refusal": part.refusal,
        }


def level_shift_rows(shifts: Iterable[LevelShift]) -> Iterator[b.Row]:
    """Every level shift."""
    for one in shifts:
        steps: b.Row = {"first_step": one.after, "last_step": one.step, "p_value": one.p_value}
        yield steps | {"part": f"jump of {one.series}", "jump": one.jump}


def segments_sentence(shifts: Iterable[LevelShift], fit: SegmentFit | None) -> str:
    """The level shifts and the test of the segments in a sentence; empty where there are none."""
    parts = [level_shift(one) for one in shifts]
    if fit is not None:
        same = [_same(fit.same, "segments")] if fit.same is not None else []
        parts += [_segments_title(fit), *(f"{one.badge}: {one.text}" for one in same), fit.note or ""]
    return "; ".join(filter(None, parts))


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


def _same(test: SameTest, what: str) -> b.Verdict:
    """The test of a common law; equality is never claimed."""
    said = f"the {what} do not share the law" if test.differs else f"no sign that the {what} differ"
    said += f": {_p_value(test.p_value)} ({test.method})"
    return b.Verdict("DIFFERENT", said, False) if test.differs else b.Verdict("SAME?", said)


def _p_value(p: float) -> str:
    return f"p = {p:.2g}" if p >= 1e-4 else "p < 0.0001"
