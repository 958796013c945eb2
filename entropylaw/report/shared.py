"""Several runs, and the segments of one, in sentences."""

from __future__ import annotations

from entropylaw.report.numbers import count, format_interval, format_step
from entropylaw.results.groups import SameTest, Seam, SegmentFit, SharedFit


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
    differ = test.differs
    words = f"the {what} do not share the law" if differ else f"no sign that the {what} differ"
    return "DIFFERENT" if differ else "SAME?", f"{words}: {_chance(test.p_value)} ({test.method})"


def _chance(p: float) -> str:
    return f"p = {p:.2g}" if p >= 1e-4 else "p < 0.0001"
