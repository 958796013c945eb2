"""Arms, sizes, stages and orders of the lab, compared by entropylaw, as tables of ``docs/lab.md``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from entropylaw import compare, read_runs
from entropylaw.analysis.scaling import scale_numbers
from entropylaw.analysis.stages import breadth, stage_changes, transfers
from entropylaw.ingest.stages import stage_rows
from entropylaw.report.describe.arms import decided, signed
from entropylaw.report.describe.scaling import direction
from entropylaw.report.numbers import format_interval
from entropylaw.results import Estimate
from entropylaw.results.arms import ArmComparison, Decision, Difference, Pair, Scaling, StageChange, Transfer
from entropylaw.results.stages import StageRows
from lab.config import Size
from lab.findings import Made, last_of, values_of
from lab.markdown import MISSING, listed, mean, number, table

Groups = Mapping[str, Sequence[Made]]

PLAIN = "grpo"
ALGORITHMS = ("grpo", "rloo", "reinforce")
CLEAN = ("clean_start", "clean_rloo", "clean_reinforce")
BONUSES = ("entropy_bonus_0.02", "entropy_bonus_0.1")
INTERVENTIONS = ("clip_cov", "kl_cov", "gppo", "clip_higher", *BONUSES, "kl_penalty")
SIZES = ("width_32", PLAIN, "width_64", "width_96")
NOT_RUN = Size(width=128)
AFTER, INSTEAD = "sft_after_grpo", "sft_instead"
ORDERS = ("free_and_school", "free_then_school", "school_then_free")

MARGIN = 0.03
"""The smallest difference of accuracy that counts."""

COEFFICIENTS = ("ceiling", "a", "b")
AT_EQUAL_ENTROPY = "reward_at_entropy"

CHANGES = (
    ("accuracy", "val_acc", "reward"),
    ("pass@16", "val_pass16", "reward"),
    ("distinct right plans of 16", "val_distinct_correct", "reward"),
    ("planning H", "val_acc", "planning"),
    ("semantic H", "val_acc", "semantic"),
)
"""Head of a column, the column of rewards that the stages are read with, and what changes."""


@dataclass(frozen=True)
class Comparisons:
    """What ``entropylaw compare`` finds in the runs of the first edition.

    ``plain`` and ``clean`` have the arms of either start; ``stages`` the changes over stages, by the column
    that is read as the reward; ``changes`` and ``orders`` what each order of domains does to both.
    """

    plain: ArmComparison
    clean: ArmComparison
    sizes: Mapping[str, Scaling]
    stages: Mapping[str, Sequence[StageChange]]
    changes: Sequence[StageChange]
    orders: Sequence[Transfer]


def comparisons(by_group: Groups, data: Path) -> Comparisons:
    """Compare the runs below ``data`` by their fits; stages are read from the logs."""
    plain, clean = (
        compare({name: [run.answer for run in by_group[name]] for name in names}, margin=MARGIN)
        for names in ((*ALGORITHMS, *INTERVENTIONS), CLEAN)
    )
    fits = {name: [run.answer for run in by_group[name]] for name in SIZES}
    sizes = {name: float(parameters(by_group[name][0].config.size)) for name in SIZES}
    scaling = scale_numbers(fits, sizes, key="parameters", at=[parameters(NOT_RUN)])

    def stages(arms: Groups, reward: str) -> dict[str, list[StageRows]]:
        def rows(run: Made) -> StageRows:
            (read,) = read_runs(data / run.name / "metrics.parquet", columns=["stage"])
            return stage_rows(read, "stage", reward=reward)

        return {name: [rows(run) for run in runs] for name, runs in arms.items()}

    # The first stage of a run with two is plain GRPO with the same seed: only other seeds of it add to it.
    seeds = {run.config.seed for run in by_group[AFTER]}
    more = [run for run in by_group[PLAIN] if run.config.seed not in seeds]
    staged = {AFTER: [*by_group[AFTER], *more], INSTEAD: by_group[INSTEAD]}
    orders = stages({name: by_group[name] for name in ORDERS}, "val_acc")
    return Comparisons(
        plain=plain,
        clean=clean,
        sizes={one.quantity: one for one in scaling},
        stages={reward: stage_changes(stages(staged, reward)) for _, reward, _ in CHANGES[:3]},
        changes=stage_changes(orders),
        orders=transfers(orders),
    )


def parameters(size: Size) -> int:
    """Number of trainable parameters of a policy."""
    block = 12 * size.width**2 + 13 * size.width
    return size.layers * block + (18 * 2 + 24 + 2) * size.width


def seeds(pair: Pair) -> str:
    """``2 and 4``: those of the arm and of the baseline."""
    return "{} and {}".format(*pair.seeds)


def in_words(one: Difference, pair: Pair) -> str:
    """``higher``, ``same within ±0.03``, ``not decided: 18 seeds per arm would decide``."""
    text, needed = decided(one), one.seeds_needed
    if one.p_value is None or one.decision is not Decision.undecided or needed is None:
        return text
    if needed <= min(pair.seeds):
        return f"{text}, with 80 % power to find ±{MARGIN}"
    return f"{text}: {needed} seeds per arm would decide"


def in_bold(one: Difference) -> str:
    """A difference with its interval, in bold if it is higher or lower."""
    text = MISSING if one.estimate.value is None else signed(one.estimate)
    return f"**{text}**" if one.decision in (Decision.above, Decision.below) else text


def arms(result: ArmComparison, names: Sequence[str]) -> str:
    """The answer of some arms at equal entropy, then their other numbers."""
    first, named = result.arms[0], ("last_reward", *COEFFICIENTS)
    last, *others = (number(float(np.mean([run.values[name] for run in first.runs]))) for name in named)
    answers, numbers = [], [(f"{first.arm}, mean", last, "", "", *others)]
    for pair in (pair for pair in result.pairs if pair.arm in names):
        one, name = pair[AT_EQUAL_ENTROPY], f"{pair.arm} − {first.arm}"
        assert pair.band is not None
        assert pair.split is not None
        assert pair.entropy_range is not None
        assert one.p_adjusted is not None
        places = [f"{side} 0 at H = {_over(*ends)}" for side, *ends in pair.band.outside]
        cells = (_over(*pair.entropy_range), in_bold(one), f"{one.p_adjusted:.2g}", in_words(one, pair))
        answers.append((name, seeds(pair), *cells, listed(places or ["contains 0"])))
        parts = signed(pair.split.movement), signed(pair.split.shift)
        last, *others = (in_bold(pair[quantity]) for quantity in named)
        numbers.append((name, last, *parts, *others))
    head = ("", "seeds", "over H", "accuracy at equal entropy", "p (Holm)", "answer", "simultaneous band")
    heads = ("", "final accuracy", "of it movement", "of it shift", *COEFFICIENTS)
    return f"{table(head, answers)}\n\n{table(heads, numbers)}"


def at_equal_entropy(pairs: Iterable[Pair]) -> str:
    """The arms by their answer at equal entropy."""
    said: dict[str, list[str]] = {}
    for pair in pairs:
        one = pair[AT_EQUAL_ENTROPY]
        said.setdefault(in_words(one, pair), []).append(f"{pair.arm} {in_bold(one)}")
    return "; ".join(f"*{words}*: {listed(names)}" for words, names in said.items())


def enough(found: Comparisons) -> str:
    """Seeds per comparison: those there are, and those that would find the margin."""
    questions = {"algorithm": ALGORITHMS, "intervention": INTERVENTIONS, "clean start": CLEAN}
    pairs = [*found.plain.pairs, *found.clean.pairs]
    rows = []
    for question, names in questions.items():
        for pair in (pair for pair in pairs if pair.arm in names):
            needed = [pair[name].seeds_needed for name in (AT_EQUAL_ENTROPY, "last_reward", *COEFFICIENTS)]
            cells = [MISSING if n is None else str(n) for n in needed]
            rows.append((question, f"{pair.arm} − {pair.baseline}", seeds(pair), *cells))
    sure = sum(pair[AT_EQUAL_ENTROPY].decision is not Decision.undecided for pair in pairs)
    there = sum((pair[AT_EQUAL_ENTROPY].seeds_needed or np.inf) <= min(pair.seeds) for pair in pairs)
    head = ("question", "arms", "seeds", "needed at equal entropy", "final accuracy", *COEFFICIENTS)
    return (
        f"{table(head, rows)}\n\nAt equal entropy both arms have the seeds needed in {there} of {len(pairs)} "
        f"comparisons, and {sure} are decided."
    )


def sizes(found: Comparisons, by_group: Groups) -> str:
    """Every size, the change per tenfold of the parameters, and a size that was not run."""
    scaling = found.sizes.values()
    rows = []
    for place, name in enumerate(SIZES):
        runs, values = by_group[name], [format_interval(one.points[place].value) for one in scaling]
        size, ends = runs[0].config.size, mean(values_of(runs, last_of("val_acc")))
        rows.append((str(size.width), f"{parameters(size):,}", str(len(runs)), ends, *values))
    changes = (f"{signed(one.slope)}, {direction(one.slope)}" for one in scaling)
    rows.append(("per tenfold of parameters", "", "", "", *changes))
    ahead = (format_interval(one.predicted[0].value) for one in scaling)
    rows.append((f"{NOT_RUN.width}, predicted", f"{parameters(NOT_RUN):,}", "0", "", *ahead))
    names = ["H at the start" if name == "entropy_first" else name for name in found.sizes]
    return table(("width", "parameters", "runs", "accuracy at the end", *names), rows)


def supervised(found: Comparisons) -> str:
    """Changes over every stage, and whether it narrows or widens the policy."""
    rows: dict[tuple[str, str], list[str]] = {}
    for _, reward, quantity in CHANGES:
        for one in (one for one in found.stages[reward] if (one.quantity, one.domain) == (quantity, "")):
            start = [f"`{one.arm}`", f"`{one.stage}`", str(one.seeds)]
            rows.setdefault((one.arm, one.stage), start).append(signed(one.change))
    for said in (finding.values for finding in breadth(found.stages["val_acc"])):
        rows[str(said["arm"]), str(said["stage"])].append(str(said["says"]))
    head = ("arm", "stage", "seeds", *(name for name, _, _ in CHANGES), "the stage")
    return table(head, [*rows.values()])


def orders(found: Comparisons) -> str:
    """Accuracy on both domains after every stage with its change, and backward transfer."""
    rows = []
    for one in found.orders:
        for stage, rewards in zip(one.stages, one.reward, strict=True):
            after = dict(zip(one.domains, rewards, strict=True))
            changes = (each for each in found.changes if (each.arm, each.stage) == (one.arm, stage))
            change = {each.domain: each.change for each in changes if each.quantity == "reward"}
            cells = [f"{_number(after[name])} ({_number(change[name], '+')})" for name in ("free", "school")]
            last = _number(one.backward, "+") if stage == one.stages[-1] else ""
            rows.append((f"`{one.arm}`", f"`{stage}`", *cells, last))
    return table(("order", "after stage", "free (change)", "school (change)", "backward transfer"), rows)


def _over(low: float, high: float) -> str:
    """``0.09–0.17``."""
    return f"{low:.2f}" + f"–{high:.2f}" * (high > low)


def _number(estimate: Estimate, sign: str = "") -> str:
    return MISSING if estimate.value is None else f"{estimate.value:{sign}.3f}"
