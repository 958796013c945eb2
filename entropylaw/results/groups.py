"""Common coefficients of several runs, or of several parts of one."""

from collections.abc import Mapping

from msgspec import Struct

from entropylaw.results import Estimate, Verdict
from entropylaw.results.fit import Fit
from entropylaw.results.result import Finding, Result, caution, sentences

SAME = 0.05
"""p-value below which runs or segments do not share their coefficients."""


class SameTest(Struct, frozen=True, kw_only=True):
    """Test that all runs (or segments) have the same coefficients.

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


class SharedRun(Struct, frozen=True, kw_only=True):
    """One of several runs.

    Attributes
    ----------
    run, n, verdict
        Its name, its number of evaluations, and the verdict on the law in it alone.
    own, together
        a, b and ceiling from this run alone, and with the shared coefficients in common.
    deviation
        For each shared coefficient: the run's own value minus the common one of the *other* runs.
    """

    run: str
    n: int
    verdict: Verdict
    own: Mapping[str, Estimate]
    together: Mapping[str, Estimate]
    deviation: Mapping[str, Estimate]


class SeedSpread(Struct, frozen=True, kw_only=True):
    """One ``coefficient``, ``"a"``, ``"b"`` or ``"ceiling"``, over the seeds of a recipe.

    Attributes
    ----------
    within
        Interval of the coefficient if the seeds have it in common, from the residuals inside the runs.
    between, answer
        Interval of the mean over seeds, from the spread between them (Hartung–Knapp); and the wider of the
        two, which is of the recipe.
    new_seed, tau
        Prediction interval of the coefficient of one more seed, and standard deviation between seeds beyond
        the runs' own intervals.
    """

    coefficient: str
    within: Estimate
    between: Estimate
    answer: Estimate
    new_seed: Estimate
    tau: Estimate


class SharedFit(Result, frozen=True, kw_only=True):
    """The law over several runs.

    Attributes
    ----------
    shared
        The coefficients in common: one of a, b, ceiling, or all three (two of them fix the third).
    a, b, ceiling
        Common values; None in ``value`` with a note for what is not shared.
    same
        Test that the runs share these coefficients; look here first.
    runs
        Each run with the common coefficients, in the order given.
    spread
        The seeds of one recipe: mean, new seed and heterogeneity, for a, b and ceiling.
    """

    shared: tuple[str, ...]
    a: Estimate
    b: Estimate
    ceiling: Estimate
    same: SameTest
    runs: tuple[SharedRun, ...]
    spread: tuple[SeedSpread, ...]
    level: float

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Cautions about the common coefficients, from the numbers above."""
        findings = [caution("no-common-law")] if self.same.differs else []
        if failing := tuple(run.run for run in self.runs if run.verdict is Verdict.fails):
            findings.append(caution("law-fails-alone", failing=failing, runs=len(self.runs)))
        if apart := tuple(one.coefficient for one in self.spread if (one.tau.low or 0.0) > 0):
            findings.append(caution("seeds-differ", coefficients=apart))
        return tuple(findings)

    @property
    def cautions(self) -> tuple[str, ...]:
        """The same in sentences."""
        return sentences(self.findings, "caution")


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
