"""Several runs, and the segments of one: their sentences and rows, and both as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from entropylaw.analysis.segments import SAME
from entropylaw.documents.fit import NO_SEAM, RunFit
from entropylaw.report.numbers import format_estimate, format_interval, format_percent, format_step
from entropylaw.report.printable import one_line
from entropylaw.report.words import count, headline
from entropylaw.results import Estimate
from entropylaw.results.groups import SameTest, Seam, SegmentFit, SharedFit

_NAMED = 12
"""Runs that a caution names; the others are counted."""


def render_shared(fit: SharedFit) -> str:
    """The runs of one :class:`~entropylaw.results.groups.SharedFit`, ends with a line feed."""
    return "\n".join([*_shared_lines(fit)]) + "\n"


def render_seams(seams: Sequence[Seam]) -> str:
    """One line a seam that was found, or one line that says there is none."""
    if not seams:
        return f"{NO_SEAM}\n"
    return "\n".join(seam_words(seam) for seam in seams) + "\n"


def render_segments(fit: SegmentFit) -> str:
    """The law per segment, and whether it is the same law; ends with a line feed."""
    return "\n".join([*_segment_lines(fit)]) + "\n"


def cautions(fit: SharedFit) -> tuple[str, ...]:
    """Sentences that belong beside the common coefficients."""
    found = []
    if fit.same.p_value < SAME:
        found.append(
            "the common coefficients describe none of the runs; read them one by one, or the mean over seeds"
        )
    invalid = [run.run for run in fit.runs if not run.valid]
    if invalid:
        named = ", ".join(invalid[:_NAMED])
        more = f" and {len(invalid) - _NAMED} more" if len(invalid) > _NAMED else ""
        found.append(f"not valid by themselves: {len(invalid)} of {len(fit.runs)} runs ({named}{more})")
    apart = [one.coefficient for one in fit.spread if one.tau.low is not None and one.tau.low > 0]
    if apart:
        found.append(f"seeds differ by more than the residuals inside the runs explain: {', '.join(apart)}")
    return tuple(found)


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


def _shared_lines(fit: SharedFit) -> Iterator[str]:
    yield title(fit)
    yield f"  {_verdict_line(fit.same, 'runs')}"
    yield from (f"  caution    {one_line(sentence)}" for sentence in cautions(fit))
    yield f"  {'in common':<19} {'value':>9}   {format_percent(fit.level)} interval ({fit.a.method})"
    for name, estimate in (("a", fit.a), ("b", fit.b), ("ceiling", fit.ceiling)):
        yield _number_line(name, estimate)
    yield f"  {'each run':<19} {'alone':<28} {'in common':<28} less the other runs'"
    for run in fit.runs:
        yield f"  {one_line(run.run)}, {count(run.n, 'evaluation')}{'' if run.valid else ', NOT VALID alone'}"
        for name in run.own:
            own, together = format_interval(run.own[name]), format_interval(run.together[name])
            away = format_interval(run.deviation[name]) if name in run.deviation else ""
            yield f"    {name:<17} {own:<28} {together:<28} {away}".rstrip()
    yield from _spread_lines(fit)


def _spread_lines(fit: SharedFit) -> Iterator[str]:
    """The recipe over its seeds, or why there is no saying."""
    if fit.spread[0].between.value is None:
        yield f"  between seeds       none: {fit.spread[0].between.note}"
        return
    yield f"  {'this recipe':<19} {'mean over seeds':<28} {'a new seed':<28} sd between seeds"
    for one in fit.spread:
        answer, new = format_interval(one.answer), format_interval(one.new_seed)
        tau = format_interval(one.tau)
        yield f"  {one.coefficient:<19} {answer:<28} {new:<28} {tau}"
    yield "  the mean's interval is the wider of within runs and between seeds:"
    for one in fit.spread:
        yield f"    {one.coefficient:<17} {one.answer.method}"


def _segment_lines(fit: SegmentFit) -> Iterator[str]:
    yield segments_title(fit)
    if fit.same is not None:
        yield f"  {_verdict_line(fit.same, 'segments')}"
    if fit.note:
        yield f"  note       {fit.note}"
    for i, segment in enumerate(fit.segments):
        steps = f"steps {format_step(segment.first_step)}–{format_step(segment.last_step)}"
        yield f"  segment {i + 1}  {steps}, {count(segment.n, 'evaluation')}"
        if segment.law is None:
            yield f"  NOT FITTED {segment.refusal}"
            continue
        law = segment.law
        yield f"  {'VALID' if law.validity.ok else 'NOT VALID':<10} {headline(law)}"
        for name, estimate in (("a", law.a), ("b", law.b), ("ceiling", law.ceiling)):
            yield _number_line(name, estimate)


def seam_words(seam: Seam) -> str:
    """A jump of a series: ``reward jumps by -0.12 [-0.15, -0.09] between steps 400 and 410 (…)``."""
    between = f"between steps {format_step(seam.after)} and {format_step(seam.step)}"
    chance = _chance(seam.p_value)
    return f"{seam.series} jumps by {format_interval(seam.jump)} {between} ({chance} against drift)"


def verdict(test: SameTest, what: str) -> tuple[str, str]:
    """The test in a word and in a sentence; not rejecting is not the same as being equal."""
    differ = test.p_value < SAME
    words = f"the {what} do not share the law" if differ else f"no sign that the {what} differ"
    return "DIFFERENT" if differ else "SAME?", f"{words}: {_chance(test.p_value)} ({test.method})"


def _verdict_line(test: SameTest, what: str) -> str:
    mark, words = verdict(test, what)
    return f"{mark:<10} {words}"


def _chance(p: float) -> str:
    return f"p = {p:.2g}" if p >= 1e-4 else "p < 0.0001"


def _number_line(name: str, estimate: Estimate) -> str:
    if estimate.value is None:
        return f"  {name:<19} {'—':>9}   {estimate.note}"
    value, low, high = format_estimate(estimate)
    return f"  {name:<19} {value:>9}   [{low}, {high}]"
