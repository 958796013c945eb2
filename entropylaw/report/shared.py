"""Several runs, and the segments of one, in sentences."""

from __future__ import annotations

from entropylaw.analysis.segments import SAME
from entropylaw.report.numbers import count, format_interval, format_step
from entropylaw.results.groups import SameTest, Seam, SegmentFit, SharedFit

_NAMED = 12
"""Runs that a caution names; the others are counted."""


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


def segments_sentence(seams: tuple[Seam, ...], fit: SegmentFit | None) -> str:
    """The jumps and the test of the segments in a sentence; empty where there are none."""
    parts = [seam_words(seam) for seam in seams]
    if fit is not None:
        parts.append(segments_title(fit))
        parts += [": ".join(verdict(fit.same, "segments"))] if fit.same is not None else []
        parts += [fit.note] if fit.note else []
    return "; ".join(parts)


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


def _chance(p: float) -> str:
    return f"p = {p:.2g}" if p >= 1e-4 else "p < 0.0001"
