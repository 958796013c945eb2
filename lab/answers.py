"""The short answers at the top of ``docs/lab.md``, each with its numbers."""

from __future__ import annotations

from collections.abc import Sequence

from entropylaw.report.numbers import format_probability
from entropylaw.results import Verdict
from lab.boundaries import boundary_counts
from lab.findings import (
    Difference,
    Made,
    Quantity,
    coefficient,
    cooled_reward,
    difference,
    half_fall,
    paired,
    pooled,
    reward_at,
    slope,
    values_of,
)
from lab.markdown import against, listed, mean
from lab.page import (
    AGAINST_PLAIN,
    CLEAN,
    INTERVENTIONS,
    PLAIN,
    SIZES,
    Cooling,
    Groups,
    parameters,
    present,
    span,
)


def short_answers(by_group: Groups, cooling: Cooling) -> str:
    """One line per question."""
    lines = [
        ("Does the law hold?", holds(by_group)),
        ("How much of R(H) is learning?", learned(by_group, cooling)),
        ("The same a and b across algorithms?", same(by_group)),
        ("Do they move with size?", moves(by_group)),
        ("Does it survive what keeps entropy up?", survives(by_group)),
        ("Planning and execution?", phases(by_group)),
        ("Does supervised training expand?", expands(by_group)),
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


def same(by_group: Groups) -> str:
    """RLOO and REINFORCE against GRPO."""
    parts = []
    for name in ("rloo", "reinforce"):
        pair = [
            in_words(versus(by_group, name, quantity)) for quantity in (coefficient("a"), coefficient("b"))
        ]
        parts.append(f"{name.upper()} − GRPO: a {pair[0]}, b {pair[1]}")
    at = reward_at(0.2)
    reinforce, grpo = (mean(values_of(by_group[name], at)) for name in ("clean_reinforce", "clean_start"))
    return (
        f"{'; '.join(parts)}. From the start without planted mistakes, where it passes H = 0.2, REINFORCE "
        f"has an accuracy of {reinforce}, and GRPO of {grpo}. {moot(by_group, (PLAIN, 'rloo', 'reinforce'))}"
    )


def versus(by_group: Groups, name: str, quantity: Quantity) -> Difference | None:
    """An arm less plain GRPO."""
    others = [paired(by_group[arm], by_group[PLAIN], quantity) for arm in present(by_group, AGAINST_PLAIN)]
    return difference(paired(by_group[name], by_group[PLAIN], quantity), pooled(others))


def in_words(found: Difference | None) -> str:
    """A difference, and whether its sign is known."""
    return against(found) + ("" if found and found.decided else " (not decided)")


def moves(by_group: Groups) -> str:
    """Slopes of a and b on the number of parameters."""
    several = [by_group[name][:2] for name in present(by_group, SIZES)]
    parts = []
    for name in ("a", "b"):
        found = slope(several, parameters, coefficient(name))
        open_ = "" if abs(found.value) > found.half else " (not decided)"
        parts.append(f"{name} {found.value:+.2f} ± {found.half:.2f}{open_}")
    over = f"over {len(several)} sizes of one start each"
    return f"For every tenfold of the parameters: {listed(parts)}, {over}. {moot(by_group, SIZES)}"


def moot(by_group: Groups, names: Sequence[str]) -> str:
    """The number of these runs in which the law fails."""
    runs = [run for name in present(by_group, names) for run in by_group[name]]
    return f"The law fails in {failing(runs)} behind these a and b."


def survives(by_group: Groups) -> str:
    """Verdicts, and arms with another accuracy at the same entropy."""
    runs = [run for name in present(by_group, INTERVENTIONS) for run in by_group[name]]
    parts = []
    for name in present(by_group, INTERVENTIONS):
        found = versus(by_group, name, reward_at(0.1))
        if found is not None and found.decided:
            parts.append(f"{name} {against(found)}")
    more = listed(parts) if parts else "none"
    return (
        f"The law fails in {failing(runs)}, and in {failing(by_group[PLAIN])} of plain GRPO from the same "
        f"start: there was no law to survive. Arms whose accuracy at H = 0.1 differs from GRPO's: {more}."
    )


def phases(by_group: Groups) -> str:
    """The steps at which half of each entropy's fall is over in plain GRPO."""
    found = []
    for kind in ("planning", "execution", "semantic"):
        steps = [half_fall(run, f"entropy_{kind}") for run in by_group[PLAIN]]
        found.append(f"of {kind} entropy at step {span([step for step in steps if step is not None])}")
    return f"{boundary_counts(by_group)}. In plain GRPO half of the fall is over {listed(found)}."


def expands(by_group: Groups) -> str:
    """Distinct right plans after GRPO, and after demonstrations."""
    column = "val_distinct_correct"
    ends = {
        name: mean(values_of(by_group[name], lambda run: run.ends(column)[1]), 2)
        for name in (PLAIN, "sft_after_grpo", "sft_instead")
    }
    start = mean(values_of(by_group[PLAIN], lambda run: run.ends(column)[0]), 2)
    accuracy = {name: mean(values_of(by_group[name], lambda run: run.ends("val_acc")[1]), 2) for name in ends}
    return (
        f"Distinct right plans among 16 answers: {start} at the start, {ends[PLAIN]} after GRPO, "
        f"{ends['sft_after_grpo']} after GRPO and then demonstrations, {ends['sft_instead']} after "
        f"demonstrations alone; accuracy {accuracy[PLAIN]}, {accuracy['sft_after_grpo']} and "
        f"{accuracy['sft_instead']} after the three."
    )
