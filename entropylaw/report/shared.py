"""Several runs, and the segments of one: their sentences, and both as text and Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from entropylaw.documents.fit import RunFit
from entropylaw.report.markdown import MOST_BYTES, paragraphs, table
from entropylaw.report.numbers import (
    MISSING,
    count,
    format_estimate,
    format_interval,
    format_percent,
    format_step,
)
from entropylaw.report.printable import markdown_cell, one_line
from entropylaw.report.words import headline
from entropylaw.results import Estimate
from entropylaw.results.findings import sentences
from entropylaw.results.groups import SameTest, Seam, SegmentFit, SharedFit

_LAW = ("a", "b", "ceiling")


def title(fit: SharedFit) -> str:
    """How many runs have which coefficients in common."""
    names = "a, b and ceiling" if len(fit.shared) > 1 else fit.shared[0]
    return f"{len(fit.runs)} runs with {names} in common"


def segments_title(fit: SegmentFit) -> str:
    """How many segments there are, and where they begin."""
    at = ", ".join(format_step(step) for step in fit.seams)
    return f"{count(len(fit.segments), 'segment')}, " + (f"seams at step {at}" if at else "no seam")


def segments_sentence(run: RunFit) -> str:
    """The jumps and the test of the segments in a sentence; empty where there are none."""
    parts = [seam_words(seam) for seam in run.seams]
    if run.segments is not None:
        parts.append(segments_title(run.segments))
        parts += [": ".join(verdict(run.segments.same, "segments"))] if run.segments.same is not None else []
        parts += [run.segments.note] if run.segments.note else []
    return "; ".join(parts)


def seam_words(seam: Seam) -> str:
    """A jump of a series: ``reward jumps by -0.12 [-0.15, -0.09] between steps 400 and 410 (…)``."""
    between = f"between steps {format_step(seam.after)} and {format_step(seam.step)}"
    chance = _chance(seam.p_value)
    return f"{seam.series} jumps by {format_interval(seam.jump)} {between} ({chance} against drift)"


def verdict(test: SameTest, what: str) -> tuple[str, str]:
    """The test in a word and in a sentence; not rejecting is not the same as being equal."""
    differ = test.differs
    words = f"the {what} do not share the law" if differ else f"no sign that the {what} differ"
    return "DIFFERENT" if differ else "SAME?", f"{words}: {_chance(test.p_value)} ({test.method})"


def _chance(p: float) -> str:
    return f"p = {p:.2g}" if p >= 1e-4 else "p < 0.0001"


def shared_text(fit: SharedFit) -> Iterator[str]:
    """The runs of one :class:`~entropylaw.results.groups.SharedFit`, in lines for a terminal."""
    yield title(fit)
    yield _verdict_line(fit.same, "runs")
    yield from (f"  caution    {one_line(sentence)}" for sentence in fit.cautions)
    yield f"  {'in common':<19} {'value':>9}   {format_percent(fit.level)} interval ({fit.a.method})"
    yield from (_number_line(name, getattr(fit, name)) for name in _LAW)
    yield f"  {'each run':<19} {'alone':<28} {'in common':<28} less the other runs'"
    for run in fit.runs:
        yield f"  {one_line(run.run)}, {count(run.n, 'evaluation')}{'' if run.valid else ', NOT VALID alone'}"
        for name in run.own:
            own, together = format_interval(run.own[name]), format_interval(run.together[name])
            away = format_interval(run.deviation[name]) if name in run.deviation else ""
            yield f"    {name:<17} {own:<28} {together:<28} {away}".rstrip()
    if fit.spread[0].between.value is None:
        yield f"  between seeds       none: {fit.spread[0].between.note}"
        return
    yield f"  {'this recipe':<19} {'mean over seeds':<28} {'a new seed':<28} sd between seeds"
    for one in fit.spread:
        mean, new, tau = map(format_interval, (one.answer, one.new_seed, one.tau))
        yield f"  {one.coefficient:<19} {mean:<28} {new:<28} {tau}"
    yield "  the mean's interval is the wider of within runs and between seeds:"
    for one in fit.spread:
        yield f"    {one.coefficient:<17} {one.answer.method}"


def segments_text(run: RunFit) -> Iterator[str]:
    """The jumps of a run and the law between them, in lines for a terminal."""
    yield from (seam_words(seam) for seam in run.seams)
    fit = run.segments
    if fit is not None:
        yield segments_title(fit)
        if fit.same is not None:
            yield _verdict_line(fit.same, "segments")
        if fit.note:
            yield f"  note       {fit.note}"
        for i, segment in enumerate(fit.segments):
            steps = f"steps {format_step(segment.first_step)}–{format_step(segment.last_step)}"
            yield f"  segment {i + 1}  {steps}, {count(segment.n, 'evaluation')}"
            if segment.law is None:
                yield f"  NOT FITTED {segment.refusal}"
                continue
            yield f"  {'VALID' if segment.law.validity.ok else 'NOT VALID':<10} {headline(segment.law)}"
            yield from (_number_line(name, getattr(segment.law, name)) for name in _LAW)
    yield from (one_line(text) for text in sentences(run.findings, "note"))


def _verdict_line(test: SameTest, what: str) -> str:
    mark, words = verdict(test, what)
    return f"  {mark:<10} {words}"


def _number_line(name: str, estimate: Estimate) -> str:
    if estimate.value is None:
        return f"  {name:<19} {MISSING:>9}   {estimate.note}"
    value, low, high = format_estimate(estimate)
    return f"  {name:<19} {value:>9}   [{low}, {high}]"


def shared_markdown(fit: SharedFit) -> Iterator[str]:
    """The test, the coefficients in common, each run beside them, and the recipe over its seeds."""
    same = markdown_cell(": ".join(verdict(fit.same, "runs")))
    yield from paragraphs("## In common", f"**{title(fit)}**", f"{same}.")
    yield from (f"- caution: {markdown_cell(sentence)}" for sentence in fit.cautions)
    yield ""
    yield from table(
        ("in common", f"{format_percent(fit.level)} interval"),
        ((name, format_interval(getattr(fit, name))) for name in _LAW),
    )
    rows = (
        (
            *(markdown_cell(run.run), str(run.n), "yes" if run.valid else "no", name),
            *(format_interval(run.own[name]), format_interval(run.together[name])),
            format_interval(run.deviation[name]) if name in run.deviation else "",
        )
        for run in fit.runs
        for name in run.own
    )
    head = ("run", "evaluations", "valid alone", "", "alone", "in common", "less the other runs'")
    lines = [*table(head, rows)]
    if len("\n".join(lines).encode()) > MOST_BYTES // 3:
        left_out = count(len(fit.runs), "run")
        lines = [f"*Left out of this text: the table of {left_out}; the CSV and JSON files hold it.*", ""]
    yield from lines
    yield from table(
        ("this recipe", "mean over seeds", "a new seed", "sd between seeds"),
        ((one.coefficient, *map(format_interval, (one.answer, one.new_seed, one.tau))) for one in fit.spread),
    )


def segments_markdown(run: RunFit) -> Iterator[str]:
    """The jumps that were found and the law between them; nothing where there are none."""
    fit = run.segments
    if not run.seams and fit is None:
        return
    yield from paragraphs("### Segments")
    yield from (f"- {markdown_cell(seam_words(seam))}" for seam in run.seams)
    yield ""
    if fit is None:
        return
    yield from paragraphs(f"{segments_title(fit)}.")
    if fit.same is not None:
        yield from paragraphs(f"**{markdown_cell(': '.join(verdict(fit.same, 'segments')))}**")
    if fit.note:
        yield from paragraphs(f"{markdown_cell(fit.note)}.")
    rows = []
    for part in fit.segments:
        words = headline(part.law) if part.law is not None else part.refusal or "refused"
        numbers = [MISSING if part.law is None else format_interval(getattr(part.law, name)) for name in _LAW]
        steps = f"{format_step(part.first_step)}–{format_step(part.last_step)}"
        rows.append((steps, str(part.n), markdown_cell(words), *numbers))
    yield from table(("steps", "evaluations", "verdict", *_LAW), rows)
