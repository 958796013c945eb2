"""The short answers at the top of ``docs/lab.md``, each with its numbers."""

from __future__ import annotations

from collections.abc import Sequence

from entropylaw.report.describe.arms import signed
from entropylaw.report.describe.scaling import direction
from entropylaw.report.numbers import format_probability
from entropylaw.results import Verdict
from lab.boundaries import boundary_counts
from lab.comparisons import (
    ALGORITHMS,
    CLEAN,
    INTERVENTIONS,
    PLAIN,
    SIZES,
    Comparisons,
    Groups,
    at_equal_entropy,
    in_bold,
    in_words,
)
from lab.findings import Made, cooled_reward, first_of, half_fall, reward_at, values_of
from lab.markdown import listed, mean
from lab.page import Cooling, present, span


def short_answers(by_group: Groups, found: Comparisons, cooling: Cooling) -> str:
    """One line per question."""
    lines = [
        ("Does the law hold?", holds(by_group)),
        ("How much of R(H) is learning?", learned(by_group, cooling)),
        ("The same a and b across algorithms?", same(by_group, found)),
        ("Do they move with size?", moves(by_group, found)),
        ("Does it survive what keeps entropy up?", survives(by_group, found)),
        ("Planning and execution?", phases(by_group)),
        ("Does supervised training expand?", expands(by_group, found)),
    ]
    return "\n".join(f"- **{question}** {answer}" for question, answer in lines)


def holds(by_group: Groups) -> str:
    """The number of runs in which the law fails."""
    clean = [run for name in present(by_group, CLEAN) for run in by_group[name]]
    weights = [run.law.probability for run in clean]
    return (
        f"From the start with planted mistakes, plain GRPO: the law fails in {failing(by_group[PLAIN])}. "
        f"From the start without, all three algorithms: the law fails in {failing(clean)}, where its "
        f"posterior probability is {format_probability(min(weights))} to {format_probability(max(weights))}: "
        "not shown either."
    )


def failing(runs: Sequence[Made]) -> str:
    """``3 of 4 runs``: those in which the law fails."""
    return f"{sum(run.answer.verdict is Verdict.fails for run in runs)} of {len(runs)} runs"


def learned(by_group: Groups, cooling: Cooling) -> str:
    """Accuracy at H = 0.1, less that of the start at a lower temperature."""
    at = reward_at(0.1)
    parts = []
    for run, name, words in (("grpo_s0", PLAIN, "with"), ("clean_start_s0", "clean_start", "without")):
        gain = float(values_of(by_group[name], at).mean()) - cooled_reward(cooling[run], 0.1)
        parts.append(f"{gain:+.3f} from the start {words} planted mistakes")
    start = "the start that is only sampled at a lower temperature"
    return f"At H = 0.1, GRPO less {start}: {listed(parts)} (no interval)."


def same(by_group: Groups, found: Comparisons) -> str:
    """RLOO and REINFORCE against GRPO, from both starts."""
    pairs = [pair for pair in (*found.plain.pairs, *found.clean.pairs) if pair.arm in (*ALGORITHMS, *CLEAN)]
    parts = []
    for pair in pairs:
        said = [f"{name} {in_bold(pair[name])}, {in_words(pair[name], pair)}" for name in ("a", "b")]
        parts.append(f"{pair.arm} − {pair.baseline}: {'; '.join(said)}")
    return (
        f"{'. '.join(parts)}. {moot(by_group, (*ALGORITHMS, *CLEAN))} Accuracy at equal entropy: "
        f"{at_equal_entropy(pairs)}."
    )


def moves(by_group: Groups, found: Comparisons) -> str:
    """Slopes of a and b on the number of parameters."""
    slopes = {name: found.sizes[name].slope for name in ("a", "b")}
    parts = [f"{name} {signed(slope)} ({direction(slope)})" for name, slope in slopes.items()]
    over = f"over {len(SIZES)} sizes of one start each"
    return f"Per tenfold of the parameters: {listed(parts)}, {over}. {moot(by_group, SIZES)}"


def moot(by_group: Groups, names: Sequence[str]) -> str:
    """The number of these runs in which the law fails."""
    runs = [run for name in present(by_group, names) for run in by_group[name]]
    return f"The law fails in {failing(runs)} behind these a and b."


def survives(by_group: Groups, found: Comparisons) -> str:
    """Verdicts, and accuracy at equal entropy."""
    runs = [run for name in present(by_group, INTERVENTIONS) for run in by_group[name]]
    pairs = [pair for pair in found.plain.pairs if pair.arm in INTERVENTIONS]
    above = [
        pair.arm
        for pair in pairs
        if pair.band is not None and any(side == "above" for side, _, _ in pair.band.outside)
    ]
    return (
        f"The law fails in {failing(runs)}, and in {failing(by_group[PLAIN])} of plain GRPO from the same "
        f"start: there was no law to survive. Accuracy at equal entropy less GRPO's: "
        f"{at_equal_entropy(pairs)}. At some entropies the simultaneous band is above 0 for "
        f"{listed(above or ['none'])}."
    )


def phases(by_group: Groups) -> str:
    """The steps at which half of each entropy's fall is over in plain GRPO."""
    found = []
    for kind in ("planning", "execution", "semantic"):
        steps = [half_fall(run, f"entropy_{kind}") for run in by_group[PLAIN]]
        found.append(f"of {kind} entropy at step {span([step for step in steps if step is not None])}")
    return f"{boundary_counts(by_group)}. In plain GRPO half of the fall is over {listed(found)}."


def expands(by_group: Groups, found: Comparisons) -> str:
    """Distinct right plans and accuracy: their changes over every stage."""
    column = "val_distinct_correct"
    parts = []
    for plans, accuracy in zip(found.stages[column], found.stages["val_acc"], strict=True):
        if plans.quantity == "reward":
            change = f"{signed(plans.change)} (accuracy {signed(accuracy.change)})"
            parts.append(f"{change} in stage `{plans.stage}` of `{plans.arm}`")
    start = mean(values_of(by_group[PLAIN], first_of(column)), 2)
    return f"Distinct right plans among 16 answers, {start} at the start, change by {listed(parts)}."
