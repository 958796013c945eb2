"""What several runs, or several parts of one, have in common."""

from collections.abc import Mapping

from msgspec import Struct

from entropylaw.results import Estimate
from entropylaw.results.findings import Finding, caution, sentences
from entropylaw.results.law import LawFit
from entropylaw.results.result import Result

SAME = 0.05
"""p-value below which runs or segments are said not to share their coefficients."""


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
        """Whether they are said not to have the same coefficients."""
        return self.p_value < SAME


class SharedRun(Struct, frozen=True, kw_only=True):
    """One of several runs.

    Attributes
    ----------
    run, n, valid
        Its name, its number of evaluations, and whether its own fit may be read as it stands.
    own, together
        a, b and ceiling from this run alone, and with the shared coefficients held in common.
    deviation
        For each shared coefficient: the run's own value less what the *other* runs have in common.
    """

    run: str
    n: int
    valid: bool
    own: Mapping[str, Estimate]
    together: Mapping[str, Estimate]
    deviation: Mapping[str, Estimate]


class SeedSpread(Struct, frozen=True, kw_only=True):
    """One ``coefficient``, ``"a"``, ``"b"`` or ``"ceiling"``, over the seeds of a recipe.

    Attributes
    ----------
    within
        Interval if the seeds had this coefficient in common: what the residuals inside the runs leave open.
    between, answer
        Interval of the mean over seeds, from the spread between them (Hartung–Knapp); and the wider of the
        two: what is known of "this recipe".
    new_seed, tau
        Where the coefficient of one more seed would lie (prediction interval), and standard deviation between
        seeds beyond what the runs' own intervals explain.
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
        Each run beside the common coefficients, in the order given.
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
        """What belongs beside the common coefficients; it follows from the numbers above."""
        found = [caution("no-common-law")] if self.same.differs else []
        if invalid := tuple(run.run for run in self.runs if not run.valid):
            found.append(caution("runs-not-valid", invalid=invalid, runs=len(self.runs)))
        if apart := tuple(one.coefficient for one in self.spread if (one.tau.low or 0.0) > 0):
            found.append(caution("seeds-differ", coefficients=apart))
        return tuple(found)

    @property
    def cautions(self) -> tuple[str, ...]:
        """The same in sentences."""
        return sentences(self.findings, "caution")


class Segment(Struct, frozen=True, kw_only=True):
    """Part of a run between two seams; ``law`` is None where it was refused, and ``refusal`` says why."""

    first_step: float
    last_step: float
    n: int
    law: LawFit | None
    refusal: str | None


class SegmentFit(Result, frozen=True, kw_only=True):
    """The law per segment; ``seams`` are the steps at which a new one begins.

    ``same`` tests that the fitted segments share a and b, None with the reason in ``findings``, which say
    what the test left out, too.
    """

    seams: tuple[float, ...]
    segments: tuple[Segment, ...]
    same: SameTest | None
    findings: tuple[Finding, ...] = ()

    @property
    def note(self) -> str | None:
        """The same in a sentence; None where there is nothing to say."""
        return "; ".join(sentences(self.findings, "note")) or None


class Seam(Struct, frozen=True, kw_only=True):
    """A jump of one ``series``, ``"reward"`` or ``"entropy"``.

    ``step`` and ``after`` are the first evaluation behind the jump and the last one before it; ``jump`` is
    its size in reward units or nats, with an interval that takes the step as known; ``p_value`` the
    probability of a jump this clear anywhere in a run that only drifts (Bonferroni).
    """

    series: str
    step: float
    after: float
    jump: Estimate
    p_value: float
