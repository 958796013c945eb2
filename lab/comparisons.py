"""Arms, sizes, stages and orders of an edition, compared by entropylaw, as tables of ``docs/lab.md``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import linregress, t

from entropylaw import compare, read_runs
from entropylaw.analysis.stages import StagedRun
from entropylaw.arrays import FloatArray
from entropylaw.report.describe.arm_tables import decided
from entropylaw.report.numbers import format_estimate, format_interval, format_number
from entropylaw.results import Estimate
from entropylaw.results.arms import ArmComparison, Decision, Difference, Pair
from lab.config import Size
from lab.findings import Made, groups
from lab.markdown import MISSING, listed, table
from lab.stages import StageChange, Transfer, over_seeds, stage_changes, staged, transfers

Groups = Mapping[str, Sequence[Made]]

PLAIN = "grpo"
ALGORITHMS = ("grpo", "rloo", "reinforce")
CLEAN = ("clean_start", "clean_rloo", "clean_reinforce")
BONUSES = ("entropy_bonus_0.02", "entropy_bonus_0.1")
INTERVENTIONS = ("clip_cov", "kl_cov", "gppo", "clip_higher", *BONUSES, "kl_penalty")
SIZES = ("width_32", PLAIN, "width_64", "width_96")
AFTER, INSTEAD, AROUND = "sft_after_grpo", "sft_instead", "sft_grpo_sft"
SUPERVISED = (AFTER, INSTEAD, AROUND)
ORDERS = ("free_and_school", "free_then_school", "school_then_free")

MARGIN = 0.03
"""The smallest difference of accuracy that counts."""

FIRST = "H at the start"
AT_EQUAL_ENTROPY = "reward_at_entropy"

CHANGES = (
    ("accuracy", "val_acc", "reward"),
    ("pass@16", "val_pass16", "reward"),
    ("distinct right plans of 16", "val_distinct_correct", "reward"),
    ("semantic H", "val_acc", "semantic"),
)
"""Head of a column, the column of rewards that the stages are read with, and what changes."""


@dataclass(frozen=True)
class BySize:
    """A number of the runs: the mean over the seeds of every size, and the change per tenfold size."""

    points: Sequence[Estimate]
    slope: Estimate


@dataclass(frozen=True)
class Edition:
    """The finished runs of an edition, and what ``entropylaw compare`` finds in them.

    ``plain`` and ``clean`` have the arms of either start, None without runs of two arms; ``failing`` those
    that are made to fail, with the arm of their twins. ``stages`` are the changes over stages, by the column
    that is read as the reward; ``orders`` what each order of domains does to both.
    """

    folder: Path
    by_arm: Groups
    plain: ArmComparison | None
    clean: ArmComparison | None
    failing: Sequence[ArmComparison]
    sizes: Mapping[str, BySize]
    stages: Mapping[str, Sequence[StageChange]]
    orders: Sequence[Transfer]

    def present(self, names: Iterable[str]) -> list[str]:
        """The arms that have runs."""
        return [name for name in names if name in self.by_arm]

    def of(self, *names: str) -> list[Made]:
        """All runs of some arms."""
        return [run for name in self.present(names) for run in self.by_arm[name]]

    def pair(self, name: str) -> Pair | None:
        """An arm against the baseline of its start; None where it is not compared."""
        known = [one for one in (self.plain, self.clean, *self.failing) if one is not None]
        return next((pair for one in known for pair in one.pairs if pair.arm == name), None)


def edition(runs: Mapping[str, Made], folder: Path) -> Edition:
    """Compare the runs below ``folder`` by their fits; stages are read from the logs."""
    by_arm = groups(runs)

    def stages(names: Iterable[str], reward: str) -> dict[str, list[dict[str, StagedRun]]]:
        found = {name: [*by_arm[name]] for name in names if name in by_arm}
        if AFTER in found:
            # The first stage is plain GRPO with the same seed: only other seeds of it add to it.
            seeds = {run.config.seed for run in found[AFTER]}
            found[AFTER] += [run for run in by_arm.get(PLAIN, ()) if run.config.seed not in seeds]
        return {name: [_stages(run, folder, reward) for run in some] for name, some in found.items()}

    orders = stages(ORDERS, "val_acc")
    failing: dict[str, list[str]] = {}
    for name, some in by_arm.items():
        if twin := some[0].config.twin:
            healthy = twin.rpartition("_s")[0]
            failing.setdefault(healthy, [healthy]).append(name)
    return Edition(
        folder=folder,
        by_arm=by_arm,
        plain=_compared(by_arm, (*ALGORITHMS, *INTERVENTIONS), folder),
        clean=_compared(by_arm, CLEAN, folder),
        failing=[one for names in failing.values() if (one := _compared(by_arm, names, folder))],
        sizes=_sizes(by_arm),
        stages={reward: stage_changes(stages(SUPERVISED, reward)) for _, reward, _ in CHANGES[:3]},
        orders=transfers(orders),
    )


def _compared(by_arm: Groups, names: Sequence[str], folder: Path) -> ArmComparison | None:
    """Arms against the first of ``names``; a run without a fit is given as its log, and counts as failed."""
    arms = {
        name: [run.fit.result or folder / run.name / "metrics.parquet" for run in by_arm[name]]
        for name in names
        if any(run.fit.result for run in by_arm.get(name, ()))
    }
    return compare(arms, margin=MARGIN) if names[0] in arms and len(arms) > 1 else None


def _sizes(by_arm: Groups) -> dict[str, BySize]:
    """a, b and the first entropy on the logarithm of the parameters, from three sizes on."""
    names = [name for name in SIZES if name in by_arm]
    if len(names) < 3:
        return {}
    laws = [[run.law for run in by_arm[name]] for name in names]
    size = np.log10([parameters(by_arm[name][0].config.size) for name in names])
    numbers: dict[str, list[list[float | None]]] = {
        "a": [[law.a.value for law in some] for some in laws],
        "b": [[law.b.value for law in some] for some in laws],
        FIRST: [[float(law.smoothed_entropy[0]) for law in some] for some in laws],
    }
    return {name: against(size, seeds) for name, seeds in numbers.items()}


def against(size: FloatArray, seeds: Sequence[Sequence[float | None]], level: float = 0.95) -> BySize:
    """The means of some sizes, with the spread of seeds pooled, and a line through them by least squares."""
    values = {str(place): np.array(some, dtype=float) for place, some in enumerate(seeds)}
    points = list(over_seeds(values, level).values())
    line = linregress(size, [point.value for point in points])
    half = t.ppf(0.5 + level / 2, len(points) - 2) * line.stderr
    return BySize(points=points, slope=_estimate(float(line.slope), float(half), level))


def _estimate(value: float, half: float | None, level: float) -> Estimate:
    ends = (None, None) if half is None else (value - half, value + half)
    return Estimate(value=value, low=ends[0], high=ends[1], level=level, method="mean over seeds")


def _stages(run: Made, folder: Path, reward: str) -> dict[str, StagedRun]:
    """The stages of a run; the first edition has one column for their kind and their domains."""
    columns = ["stage"] if run.config.edition == 1 else ["stage", "domain"]
    (read,) = read_runs(folder / run.name / "metrics.parquet", columns=columns)
    return staged(read, columns, reward)


def parameters(size: Size) -> int:
    """Number of trainable parameters of a policy."""
    block = 12 * size.width**2 + 13 * size.width
    return size.layers * block + (18 * 2 + 24 + 2) * size.width


def is_enough(pair: Pair) -> bool | None:
    """Whether both arms have the seeds that find the margin with 80 % power; None where that is unknown."""
    needed = pair[AT_EQUAL_ENTROPY].seeds_needed
    return None if needed is None else needed <= min(pair[AT_EQUAL_ENTROPY].seeds)


def in_words(difference: Difference) -> str:
    """``higher``, ``same within ±0.03``, ``not decided: 18 seeds per arm would decide``."""
    text, needed = decided(difference), difference.seeds_needed
    if difference.p_value is None or difference.decision is not Decision.undecided or needed is None:
        return text
    if needed <= min(difference.seeds):
        return f"{text}, with 80 % power to find ±{MARGIN}"
    return f"{text}: {needed} seeds per arm would decide"


def signed(estimate: Estimate) -> str:
    """``+0.012 [-0.003, 0.028]``, or ``+0.012, without interval``."""
    text = format_estimate(estimate)
    positive = text.value[0].isdigit() and text.value.strip("0.") != ""
    value = f"+{text.value}" if positive else text.value
    return f"{value}, without interval" if text.interval == MISSING else f"{value} {text.interval}"


def in_bold(one: Difference) -> str:
    """A difference with its interval, in bold if it is higher or lower."""
    text = MISSING if one.estimate.value is None else signed(one.estimate)
    return f"**{text}**" if one.decision in (Decision.above, Decision.below) else text


def arms(found: Edition, names: Sequence[str]) -> str:
    """The answers of some arms at equal entropy and at the end."""
    pairs = [pair for pair in map(found.pair, names) if pair is not None]
    if not pairs:
        return not_made(found, names)
    rows = [
        (
            f"{pair.arm} − {pair.baseline}",
            in_bold(pair[AT_EQUAL_ENTROPY]),
            decided(pair[AT_EQUAL_ENTROPY]),
            in_bold(final(pair)),
        )
        for pair in pairs
    ]
    head = ("", "accuracy at equal entropy", "answer", "final accuracy")
    return "\n\n".join(filter(None, (table(head, rows), enough(pairs), not_made(found, names))))


def final(pair: Pair) -> Difference:
    """The final reward that is decided: where some runs failed, of the others, unless all did."""
    living = pair.first_of("living_reward")
    return pair["last_reward"] if living is None or living.estimate.value is None else living


def enough(pairs: Sequence[Pair]) -> str:
    """The arms that have the seeds needed at equal entropy, and what the others lack."""
    has = [f"`{pair.arm}`" for pair in pairs if is_enough(pair)]
    lack = [
        f"`{pair.arm}` ({min(pair[AT_EQUAL_ENTROPY].seeds)} of {pair[AT_EQUAL_ENTROPY].seeds_needed} per arm)"
        for pair in pairs
        if is_enough(pair) is False
    ]
    unknown = [f"`{pair.arm}`" for pair in pairs if is_enough(pair) is None]
    return " ".join(
        f"{words}: {listed(some)}."
        for words, some in (
            ("Enough seeds", has),
            ("Too few seeds", lack),
            ("Seeds needed not known, for want of a second seed", unknown),
        )
        if some
    )


def not_made(found: Edition, names: Iterable[str]) -> str:
    """``Not made yet: `rloo`.``, or nothing."""
    out = [f"`{name}`" for name in names if name not in found.by_arm]
    return f"Not made yet: {listed(out)}." if out else ""


def at_equal_entropy(pairs: Iterable[Pair]) -> str:
    """The arms by their answer at equal entropy, with the difference unless it is the same."""
    arms: dict[str, list[str]] = {}
    for pair in pairs:
        difference = pair[AT_EQUAL_ENTROPY]
        is_same = difference.decision is Decision.same
        words = pair.arm if is_same else f"{pair.arm} {in_bold(difference)}"
        arms.setdefault(in_words(difference), []).append(words)
    return "; ".join(f"*{word}*: {listed(names)}" for word, names in arms.items())


def spreads(found: Edition) -> str:
    """The spread between seeds, as compare has it."""
    if found.plain is None:
        return not_made(found, (*ALGORITHMS, *INTERVENTIONS))
    pair = max(found.plain.pairs, key=lambda pair: min(pair[AT_EQUAL_ENTROPY].seeds))
    numbers = {"accuracy at equal entropy": pair[AT_EQUAL_ENTROPY], "final accuracy": pair["last_reward"]}
    parts = [f"{words} {format_number(number.between, 2)}" for words, number in numbers.items()]
    return f"Standard deviation between seeds: {listed(parts)}."


def _shown(estimate: Estimate) -> str:
    """A number with its interval; with one seed the number alone."""
    if estimate.value is None or estimate.low is None:
        return MISSING if estimate.value is None else f"{estimate.value:.3f}"
    return format_interval(estimate)


def _signed(estimate: Estimate) -> str:
    return MISSING if estimate.value is None else signed(estimate).removesuffix(", without interval")
