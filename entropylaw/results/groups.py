"""The law of several parts of a run, and the level shifts between them."""

from msgspec import Struct

from entropylaw.results import Estimate
from entropylaw.results.fit import Fit
from entropylaw.results.result import Finding, Result, sentences

SAME = 0.05
"""p-value below which segments do not share their coefficients."""


class SameTest(Struct, frozen=True, kw_only=True):
    """Test that all segments have the same coefficients.

    ``statistic`` is compared with an F distribution of ``df1`` and ``df2`` degrees of freedom. Where the
    p-value is averaged over residual covariances the statistic is averaged with the same weights.
    """

    hypothesis: str
    statistic: float
    df1: float
    df2: float
    p_value: float
    method: str

    @property
    def differs(self) -> bool:
        """Whether the hypothesis of the same coefficients is rejected."""
        return self.p_value < SAME


class Segment(Struct, frozen=True, kw_only=True):
    """Part of a run between level shifts; ``fit`` is None where it cannot be fitted: see ``refusal``."""

    first_step: float
    last_step: float
    n: int
    fit: Fit | None
    refusal: str | None


class SegmentFit(Result, frozen=True, kw_only=True):
    """The law per segment; ``starts`` are the steps at which a new one begins.

    ``same`` tests that the fitted segments share a and b, None with the reason in ``findings``, which also
    name the segments that the test left out.
    """

    starts: tuple[float, ...]
    segments: tuple[Segment, ...]
    same: SameTest | None
    findings: tuple[Finding, ...] = ()

    @property
    def note(self) -> str | None:
        """The findings in a sentence; None without any."""
        return "; ".join(sentences(self.findings, "note")) or None


class LevelShift(Struct, frozen=True, kw_only=True):
    """A level shift of one ``series``, ``"reward"`` or ``"entropy"``.

    ``step`` and ``after`` are the first evaluation after the shift and the last one before it; ``jump`` is
    its size in reward units or nats, with an interval given the step; ``p_value`` the probability of one this
    clear anywhere in a run that only drifts (Bonferroni).
    """

    series: str
    step: float
    after: float
    jump: Estimate
    p_value: float
