"""Arms of an experiment: their runs, what differs between them, and how sure that is."""

from collections.abc import Mapping
from enum import StrEnum
from itertools import groupby

from msgspec import Struct, field

from entropylaw.arrays import FloatArray
from entropylaw.results import Estimate
from entropylaw.results.result import Finding, Qualified, Result, replace


class Decision(StrEnum):
    """What is known of a difference between two arms."""

    above = "higher"
    below = "lower"
    same = "same"
    undecided = "not decided"


class Along(Struct, frozen=True, kw_only=True):
    """The column at equal values of which rewards are compared: its name, and its unit in words."""

    column: str = "entropy"
    unit: str = "nats"

    @property
    def is_step(self) -> bool:
        """Whether it is the step."""
        return self.unit == "steps"

    @property
    def quantity(self) -> str:
        """The quantity of :data:`QUANTITIES` that is compared at equal values of it."""
        return "reward_at_entropy" if self.column == "entropy" else "reward_at_equal"


class RunSeries(Struct, frozen=True, kw_only=True, eq=False):
    """What is compared of a run.

    Attributes
    ----------
    run, step, reward
        Its name; its evaluations, shape (n,), by rising step.
    along, error
        The column of :class:`Along` at the evaluations without the noise of measuring it, and its standard
        error, shape (n,); both empty for a run that has none.
    max_reward
        The largest reward that is possible; None where it is not known.
    is_score
        Whether the reward is a score, or a part of one.
    lost, has_ended
        Of a run that lost its reward the best level and that now, None for any other and of what is no
        score; and whether the last tenth of its log has no usable reward.
    refused, without_along
        Why it has no evaluations, and why it has no values of the column; empty for a run that has.
    unit
        The seed, or the run that it is a part of: what is paired.
    coefficients, fails
        Ceiling, a and b of its fit by name, and whether the law fails; none for a column other than entropy.
    """

    run: str
    step: FloatArray
    reward: FloatArray
    along: FloatArray
    error: FloatArray
    max_reward: float | None = None
    is_score: bool = True
    lost: tuple[float, float] | None = None
    has_ended: bool = False
    refused: str = ""
    without_along: str = ""
    unit: str = ""
    coefficients: Mapping[str, Estimate] = field(default_factory=dict)
    fails: bool = False

    def times(self, factor: float) -> "RunSeries":
        """The same with all that is in reward units multiplied by a factor, as from per cent to a rate."""
        if factor == 1.0:
            return self
        lost = self.lost
        if lost is not None:
            lost = (factor * lost[0], factor * lost[1])
        return replace(
            self,
            reward=factor * self.reward,
            max_reward=None if self.max_reward is None else factor * self.max_reward,
            lost=lost,
            coefficients={name: number.times(factor) for name, number in self.coefficients.items()},
        )


class Stage(Struct, frozen=True, kw_only=True):
    """A stage of a run: its name, the domains that it trains on, and its first and last step."""

    name: str
    trained: tuple[str, ...]
    first: float
    last: float


class ArmRun(Struct, frozen=True, kw_only=True):
    """One run of an arm: a seed.

    Attributes
    ----------
    run, n, last_step
        Its name, its number of evaluations, and its last step; 0 and None for a run that has none.
    failed
        How it broke; None for a run whose state is not ``broken``.
    left_out
        Why it is in no difference: it has no evaluations, or ended early. None for any other.
    without_along
        Why it is in no difference at equal values of the column, such as of entropy; None for any other.
    along, reward
        Its curve over its own range of entropies, nats (or of another column) and reward units.
    steps, by_step
        Its curve over its steps, steps and reward units.
    values
        Its own numbers by name; None where unknown.
    """

    run: str
    n: int
    last_step: float | None
    failed: str | None
    left_out: str | None = None
    without_along: str | None = None
    along: tuple[float, ...]
    reward: tuple[float, ...]
    steps: tuple[float, ...] = ()
    by_step: tuple[float, ...] = ()
    values: Mapping[str, float | None]


class Arm(Struct, frozen=True, kw_only=True):
    """An arm: its seeds and the mean of their curves.

    Attributes
    ----------
    arm, runs
        Its name and its runs.
    failure_rate
        Share that failed of the runs with evaluations (Clopper & Pearson 1934, doi:10.1093/biomet/26.4.404).
    along, mean
        The mean curve over the entropies that its runs have in common; empty where there are none.
    steps, by_step
        The mean curve over the steps that its living runs have in common; empty where there are none.
    """

    arm: str
    runs: tuple[ArmRun, ...]
    failure_rate: Estimate
    along: tuple[float, ...] = ()
    mean: tuple[float, ...] = ()
    steps: tuple[float, ...] = ()
    by_step: tuple[float, ...] = ()

    @property
    def failed(self) -> int:
        """The number of runs that failed."""
        return sum(run.failed is not None for run in self.runs)

    @property
    def living(self) -> list[ArmRun]:
        """The runs that did not fail and are not left out."""
        return [run for run in self.runs if run.failed is None and run.left_out is None]

    @property
    def last_step(self) -> float | None:
        """The last step that all living runs have; None where there is none."""
        return min((run.last_step for run in self.living if run.last_step is not None), default=None)

    def mean_of(self, name: str) -> float | None:
        """The mean of a number over the living runs that have it."""
        numbers = [number for run in self.living if (number := run.values.get(name)) is not None]
        return sum(numbers) / len(numbers) if numbers else None


class Difference(Struct, frozen=True, kw_only=True):
    """One number of an arm minus that of the baseline.

    Attributes
    ----------
    quantity, unit
        What is compared, a key of :data:`QUANTITIES`, and its unit.
    estimate
        The difference with its interval, not adjusted for the number of comparisons.
    seeds
        Number of seeds of either arm that have it.
    headline
        Whether it is of the family in which differences are decided; all others are exploratory.
    p_value, p_adjusted, p_welch
        Of no difference; and within the family adjusted by Holm's method (1979, jstor:4615733): its own, and
        that of Welch's test, which takes nothing of the other arms' spread.
    between
        Standard deviation of the seeds' numbers.
    margin, inner
        Differences up to the margin count as none; and the interval that has to lie within it, of level
        1 − 2·(1 − level)/comparisons. None where the quantity has no margin.
    decision
        ``higher`` or ``lower`` where the adjusted p-value is below 1 − level; ``same`` where the inner
        interval lies within the margin; otherwise ``not decided``, as always with fewer than two seeds of
        an arm.
    smallest
        The difference that these seeds would find in 80 % of experiments; None where no possible one is.
    seeds_needed
        Seeds per arm for 80 % power to find a difference of the margin; None above 50, or where unknown.
    """

    quantity: str
    unit: str
    estimate: Estimate
    seeds: tuple[int, int] = (0, 0)
    headline: bool = False
    p_value: float | None = None
    p_adjusted: float | None = None
    p_welch: float | None = None
    between: float | None = None
    margin: float | None = None
    inner: Estimate | None = None
    decision: Decision = Decision.undecided
    smallest: float | None = None
    seeds_needed: int | None = None

    @property
    def welch_disagrees(self) -> bool:
        """Whether it is decided, and would not be by Welch's test."""
        decided = self.decision in (Decision.above, Decision.below)
        return decided and self.p_welch is not None and self.p_welch >= 1.0 - self.estimate.level


class Band(Struct, frozen=True, kw_only=True):
    """The difference of two curves over the entropies that they have in common.

    The interval from ``low`` to ``high`` covers the whole curve, of all comparisons, at once with the level.
    """

    along: tuple[float, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    @property
    def outside(self) -> list[tuple[Decision, float, float, tuple[float, ...]]]:
        """Where it excludes 0: higher or lower, from one entropy to another, and the largest difference.

        A difference is its mean, low and high end.
        """
        points = zip(self.along, self.mean, self.low, self.high, strict=True)
        ranges = []
        for side, members in groupby(points, key=lambda point: (point[2] > 0) - (point[3] < 0)):
            within, *gaps = zip(*members, strict=True)
            if side:
                decision = Decision.above if side > 0 else Decision.below
                largest = max(zip(*gaps, strict=True), key=lambda gap: abs(gap[0]))
                ranges.append((decision, within[0], within[-1], largest))
        return ranges


class Pair(Struct, frozen=True, kw_only=True):
    """An arm against a baseline.

    Attributes
    ----------
    arm, baseline
        Their names.
    common
        The entropies that all their runs have passed that did not fail, nats; None where there are none.
    outside
        The runs that have not passed them, and without which there were none.
    last_step
        The last step that all runs of both arms have reached that did not stop early.
    differences
        In the order of :data:`QUANTITIES`.
    band
        Difference of the curves; None where unknown.
    """

    arm: str
    baseline: str
    common: tuple[float, float] | None
    outside: tuple[str, ...] = ()
    last_step: float | None
    differences: tuple[Difference, ...]
    band: Band | None

    def __getitem__(self, quantity: str) -> Difference:
        """The difference in a quantity; KeyError for one that is not compared."""
        if (difference := self.first_of(quantity)) is None:
            raise KeyError(quantity)
        return difference

    def first_of(self, *quantities: str) -> Difference | None:
        """The difference in the first of some quantities that the comparison has."""
        named = {difference.quantity: difference for difference in self.differences}
        return next((named[quantity] for quantity in quantities if quantity in named), None)


class ArmComparison(Qualified, Result, frozen=True, kw_only=True):
    """Arms of an experiment, compared with the seed as the unit.

    Attributes
    ----------
    arms
        In the order given.
    baseline, chosen
        Name of the arm that the others are compared with, None where all pairs are; and how it was chosen.
    pairs
        The comparisons.
    p_arms
        p-value of equal mean final rewards of all arms with two living runs, by Brown and Forsythe's test;
        None of fewer than three such arms, and of pairs of runs.
    level, margin
        Level of all intervals, and the smallest difference of reward that counts.
    along
        The column at equal values of which rewards are compared.
    paired
        What the runs of two arms are paired by: ``seed``, ``run``; empty where they are not.
    reward, reward_unit
        The label of the reward, where a run has several; and its unit, ``"rate"``, ``"percent"`` or the
        column's own, ``"raw"``: that of all rewards, of their differences, and of the margin.
    findings
        Cautions and notes about all arms.
    """

    arms: tuple[Arm, ...]
    baseline: str | None
    chosen: str = ""
    pairs: tuple[Pair, ...]
    p_arms: float | None = None
    level: float
    margin: float
    along: Along = Along()
    paired: str = ""
    reward: str = ""
    reward_unit: str = "raw"
    findings: tuple[Finding, ...] = ()

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


AT_END = ("living_reward", "last_reward")
"""The final reward: where runs failed or are left out, of the others."""

QUANTITIES: dict[str, tuple[str, str]] = {
    "last_reward": ("final reward", "reward"),
    "living_reward": ("final reward, living", "reward"),
    "reward_at_entropy": ("reward at equal entropy", "reward"),
    "reward_at_equal": ("reward at equal values of the column of --at-equal", "reward"),
    "failure_rate": ("failure rate", "share"),
    "last_entropy": ("final entropy", "nats"),
    "entropy_loss": ("entropy lost per 100 steps", "nats"),
    "shift": ("shift of the curve", "reward"),
    "movement": ("movement along the curve", "reward"),
    "ceiling": ("ceiling", "reward"),
    "a": ("a", "reward"),
    "b": ("b", "reward"),
}
"""What is compared → in words, and its unit."""
