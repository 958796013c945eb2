"""Arms of an experiment: their runs, what differs between them, and how sure that is."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from entropylaw.arrays import FloatArray
from entropylaw.results import Estimate
from entropylaw.results.result import Finding, Result, sentences


class Decision(StrEnum):
    """What is known of a difference between two arms."""

    above = "higher"
    below = "lower"
    same = "same"
    undecided = "not decided"


class RunCurve(Struct, frozen=True, kw_only=True, eq=False):
    """The averaged curve of a run.

    ``evaluations`` (n,) is at its smoothed entropies, ``over`` (m,) over their range, and ``below`` at the
    entropy to which it is continued at most; reward units.
    """

    evaluations: FloatArray
    over: FloatArray
    below: float


class ArmRun(Struct, frozen=True, kw_only=True):
    """One run of an arm: a seed.

    Attributes
    ----------
    run, n, last_step
        Its name, its number of evaluations, and its last step; 0 and None for a run without a fit.
    failed
        Why it counts as failed; None for a run that does not.
    entropy, reward
        The averaged curve over the run's own range of entropies, nats and reward units; empty without a fit.
    values
        Its own numbers by name, those of :data:`QUANTITIES` that do not depend on another arm; None where
        unknown.
    """

    run: str
    n: int
    last_step: float | None
    failed: str | None
    entropy: tuple[float, ...]
    reward: tuple[float, ...]
    values: Mapping[str, float | None]


class Arm(Struct, frozen=True, kw_only=True):
    """An arm: its seeds and the mean of their curves.

    Attributes
    ----------
    arm, runs
        Its name and its runs.
    failure_rate
        Share of the runs that failed (Clopper & Pearson 1934, doi:10.1093/biomet/26.4.404).
    entropy, mean, low, high
        The mean curve over the entropies that its runs have in common, with a pointwise band; empty where
        there are none, and without ends where the spread between seeds is unknown.
    """

    arm: str
    runs: tuple[ArmRun, ...]
    failure_rate: Estimate
    entropy: tuple[float, ...] = ()
    mean: tuple[float, ...] = ()
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()


class Difference(Struct, frozen=True, kw_only=True):
    """One number of an arm minus that of the baseline.

    Attributes
    ----------
    quantity, unit
        What is compared, a key of :data:`QUANTITIES`, and its unit.
    estimate
        The difference with its interval, not adjusted for the number of arms.
    seeds
        Number of seeds of either arm that have it.
    p_value, p_adjusted
        Of no difference; and adjusted for all pairs by Holm's method (1979, jstor:4615733).
    df
        Degrees of freedom of the variance between seeds; None where that variance was given.
    between, within
        Standard deviation between seeds, and the typical standard error of one run's own number.
    margin
        Differences up to this count as none; None where the quantity has no margin.
    decision
        ``higher`` or ``lower`` where the adjusted p-value is below 1 − level; ``same`` where two one-sided
        tests exclude a difference of the margin; otherwise ``not decided``.
    seeds_needed
        Seeds per arm for 80 % power to find a difference of the margin; None where unknown.
    """

    quantity: str
    unit: str
    estimate: Estimate
    seeds: tuple[int, int] = (0, 0)
    p_value: float | None = None
    p_adjusted: float | None = None
    df: float | None = None
    between: float | None = None
    within: float | None = None
    margin: float | None = None
    decision: Decision = Decision.undecided
    seeds_needed: int | None = None


class Split(Struct, frozen=True, kw_only=True):
    """The difference in reward at the last common step in two parts that add up to it.

    They are known where all seeds of both arms are in them.

    Attributes
    ----------
    at_entropy
        The higher of the two arms' mean final entropies, nats, which all these seeds have passed.
    shift
        Difference of the two curves at ``at_entropy``.
    movement
        The rest: what the arm that goes on to a lower entropy gains along its own curve.
    share
        Movement's share of the difference (Fieller 1954); None where the difference may be 0.
    """

    at_entropy: float
    shift: Estimate
    movement: Estimate
    share: Estimate


class Band(Struct, frozen=True, kw_only=True):
    """The difference of two curves over the entropies that they have in common.

    The interval from ``low`` to ``high`` covers the whole curve at once with the level of the comparison.
    """

    entropy: tuple[float, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    @property
    def outside(self) -> list[tuple[str, float, float]]:
        """Where it excludes 0: ``above`` or ``below``, from one entropy to another, nats."""
        ranges: list[tuple[str, float, float]] = []
        last = ""
        for entropy, low, high in zip(self.entropy, self.low, self.high, strict=True):
            side = ""
            if low > 0:
                side = "above"
            elif high < 0:
                side = "below"
            if side and side == last:
                ranges[-1] = (side, ranges[-1][1], entropy)
            elif side:
                ranges.append((side, entropy, entropy))
            last = side
        return ranges


class Pair(Struct, frozen=True, kw_only=True):
    """An arm against a baseline.

    Attributes
    ----------
    arm, baseline
        Their names.
    seeds
        Number of seeds of either that count in the comparison of curves.
    entropy_range
        The entropies that all these runs have passed, nats; None where there are none.
    last_step
        The last step that all runs of both arms have reached that did not stop early.
    differences
        In the order of :data:`QUANTITIES`.
    band, split
        Difference of the curves; and movement along a curve against shift of the curve. None where unknown.
    findings
        What limits the comparison.
    """

    arm: str
    baseline: str
    seeds: tuple[int, int]
    entropy_range: tuple[float, float] | None
    last_step: float | None
    differences: tuple[Difference, ...]
    band: Band | None
    split: Split | None
    findings: tuple[Finding, ...] = ()

    def __getitem__(self, quantity: str) -> Difference:
        """The difference in a quantity; KeyError for one that is not compared."""
        if (difference := self.find(quantity)) is None:
            raise KeyError(quantity)
        return difference

    def find(self, quantity: str) -> Difference | None:
        """The difference in a quantity, where the comparison has it."""
        return next((difference for difference in self.differences if difference.quantity == quantity), None)

    @property
    def cautions(self) -> tuple[str, ...]:
        """The limitations in sentences."""
        return sentences(self.findings, "caution")


class StageChange(Struct, frozen=True, kw_only=True):
    """Change of a number over one stage of training, the mean over an arm's ``seeds``.

    ``quantity`` is ``reward`` (of a ``domain``, where there are several), ``entropy``, ``planning``,
    ``execution`` or ``semantic``; ``place`` is the stage's place in the run, from 1.
    """

    arm: str
    place: int
    stage: str
    quantity: str
    domain: str
    unit: str
    change: Estimate
    seeds: int


class Transfer(Struct, frozen=True, kw_only=True):
    """Reward on every domain after every stage, and what later stages did to earlier domains.

    Attributes
    ----------
    arm, stages, domains
        The arm; its stages in order, each with the domain that it trains on; and the domains.
    reward
        One row per stage, one column per domain: mean over seeds.
    backward
        Backward transfer (1/(T − 1))·Σ (R_T,i − R_i,i) over the stages before the last (Lopez-Paz & Ranzato
        2017, arXiv:1706.08840), R_s,i the reward on the domain of stage i after stage s.
    """

    arm: str
    stages: tuple[str, ...]
    domains: tuple[str, ...]
    reward: tuple[tuple[Estimate, ...], ...]
    backward: Estimate
    seeds: int


class ArmComparison(Result, frozen=True, kw_only=True):
    """Arms of an experiment, compared with the seed as the unit.

    Attributes
    ----------
    arms
        In the order given.
    baseline
        Name of the arm that the others are compared with; None where all pairs are.
    pairs
        The comparisons.
    level, margin
        Level of all intervals, and the smallest difference of reward that counts.
    between_sd
        Standard deviation of rewards between seeds that was given; None where it is estimated.
    stages, transfers
        Changes per stage, and domains after stages. Empty where not requested.
    findings
        Cautions and notes about all arms.
    """

    arms: tuple[Arm, ...]
    baseline: str | None
    pairs: tuple[Pair, ...]
    level: float
    margin: float
    between_sd: float | None = None
    stages: tuple[StageChange, ...] = ()
    transfers: tuple[Transfer, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def cautions(self) -> tuple[str, ...]:
        """Limitations in sentences."""
        return sentences(self.findings, "caution")

    def flaw(self) -> str:
        """An arm, a pair of arms or a quantity of a pair that occurs twice."""
        arms = [arm.arm for arm in self.arms]
        pairs = [frozenset((pair.arm, pair.baseline)) for pair in self.pairs]
        if len(set(arms)) < len(arms) or len(set(pairs)) < len(pairs):
            return "each arm and each pair of arms once"
        for pair in self.pairs:
            quantities = [difference.quantity for difference in pair.differences]
            if len(set(quantities)) < len(quantities):
                return "each quantity of a pair once"
        return ""

    def name_of(self, pair: Pair) -> str:
        """The arm of a pair; where all pairs are compared ``a − b``."""
        return pair.arm if self.baseline is not None else f"{pair.arm} − {pair.baseline}"

    def pair(self, arm: str, baseline: str) -> Pair | None:
        """The comparison of two arms; None where it was not made."""
        return next((pair for pair in self.pairs if (pair.arm, pair.baseline) == (arm, baseline)), None)


QUANTITIES: dict[str, tuple[str, str]] = {
    "reward_at_entropy": ("reward at equal entropy", "reward"),
    "entropy_at_reward": ("entropy at equal reward", "nats"),
    "last_reward": ("reward at the last common step", "reward"),
    "ceiling": ("ceiling", "reward"),
    "a": ("a", "reward"),
    "b": ("b", "reward"),
    "entropy_loss": ("entropy lost per 100 steps", "nats"),
    "failure_rate": ("failure rate", "share"),
}
"""What is compared → in words, and its unit."""
