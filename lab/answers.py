"""The short answers at the top of ``docs/lab.md``."""

from __future__ import annotations

from entropylaw.escaping import counted
from entropylaw.report.describe.arm_tables import decided
from lab.boundaries import curves_of, groups_of
from lab.comparisons import (
    ALGORITHMS,
    CLEAN,
    INTERVENTIONS,
    ORDERS,
    PLAIN,
    SIZES,
    SUPERVISED,
    Edition,
    at_equal_entropy,
    final,
    in_bold,
    not_made,
    signed,
)
from lab.config import Config, Objective
from lab.findings import cooled_reward, first_of, last_of, values_of
from lab.markdown import listed, mean
from lab.overview import other_starts
from lab.page import COOLED, EARLY, Cooling, fitted, held, trained, verdict_counts
from lab.second import NEARLY
from lab.stages import direction

STEADY, MINIMISED = "steady", "entropy_minimised"


def short_answers(found: Edition, cooling: Cooling) -> str:
    """One line per question."""
    lines = [
        ("Does the law hold?", holds(found)),
        ("Does it predict the end of a run?", predicts(found)),
        ("How much of R(H) is learning?", learned(found, cooling)),
        ("Do GRPO, RLOO and REINFORCE share one curve?", same(found)),
        ("Do methods that keep entropy up give a better curve?", better(found)),
        ("Do a and b change with size?", moves(found)),
        ("What do failures look like?", fails(found)),
        ("Do entropies rise again?", turns(found)),
        ("Does supervised training restore diversity?", restores(found)),
        ("Is the first domain forgotten?", forgets(found)),
    ]
    if other := other_starts(run for runs in found.by_arm.values() for run in runs):
        lines.append(
            (
                "Caution.",
                f"{counted(len(other), 'run')} began from another copy of the start, so that differences of "
                "arms are not of the treatment alone ([which](#the-runs)).",
            )
        )
    return "\n".join(f"- **{question}** {answer}" for question, answer in lines)


def holds(found: Edition) -> str:
    """The number of runs in which the law fails, and where it holds nearly."""
    parts = [f"In plain GRPO it {verdict_counts(found.of(PLAIN))} runs."] if PLAIN in found.by_arm else []
    for name in found.present((STEADY, NEARLY)):
        runs = found.of(name)
        least = min(run.law.r_squared for run in fitted(runs))
        sampled, greedy = (
            " → ".join(mean(values_of(runs, end(column))) for end in (first_of, last_of))
            for column in ("val_acc", "val_greedy_acc")
        )
        parts.append(
            f"In `{name}` it {verdict_counts(runs)} (R² at least {least:.3f}); sampled "
            f"accuracy goes {sampled}, greedy {greedy}."
        )
    return " ".join(filter(None, (*parts, not_made(found, (PLAIN, STEADY, NEARLY)))))


def predicts(found: Edition) -> str:
    """How many of the law's intervals contain the end."""
    names = [name for name, runs in found.by_arm.items() if is_simple(runs[0].config)]
    early = zip(EARLY, ("a quarter", "half"), strict=True)
    counts = ["{} of {} times after {}".format(*held(found.by_arm, share, names), x) for share, x in early]
    return (
        "At the entropy reached, its interval contains the reward at the end "
        f"{listed(counts)} of a run (runs of one stage and one domain with the right reward)."
    )


def is_simple(config: Config) -> bool:
    """Whether a run is reinforcement on one domain by the right reward, from its start to its end."""
    (kind, *more), domains = [stage.kind for stage in config.stages], config.domains
    rewarded = config.objective.reward == Objective().reward and config.failure is None
    return kind == "rl" and not more and len(domains) == 1 and rewarded


def learned(found: Edition, cooling: Cooling) -> str:
    """Accuracy at H = 0.1, less that of the start at a lower temperature; and without any reward."""
    parts = []
    for (run, name), words in zip(COOLED.items(), ("with", "without"), strict=True):
        if (after := trained(found, name, 0.1)) is not None:
            gain = after - cooled_reward(cooling[run], 0.1)
            parts.append(f"{gain:+.3f} from the start {words} planted mistakes")
    runs, none = found.of(MINIMISED), "With entropy minimised and no reward at all"
    first_, last = (mean(values_of(runs, end("val_acc"))) for end in (first_of, last_of))
    without = f"{none} accuracy goes from {first_} to {last}." if runs else not_made(found, [MINIMISED])
    start = "At H = 0.1 GRPO less its start that is only sampled at a lower temperature"
    gains = f"{start}: {listed(parts)}." if parts else ""
    return " ".join(filter(None, (gains, not_made(found, COOLED.values()), without)))


def same(found: Edition) -> str:
    """RLOO and REINFORCE against GRPO, from both starts."""
    names = (*ALGORITHMS, *CLEAN)
    pairs = [pair for pair in map(found.pair, names) if pair is not None]
    parts = [f"At equal entropy {at_equal_entropy(pairs)}."] if pairs else []
    return " ".join(filter(None, (*parts, not_made(found, names))))


def better(found: Edition) -> str:
    """Accuracy at equal entropy, and at the end."""
    pairs = [pair for pair in map(found.pair, INTERVENTIONS) if pair is not None]
    if not pairs:
        return not_made(found, INTERVENTIONS)
    lower = [pair.arm for pair in pairs if decided(final(pair)) == "lower"]
    end = f"Final accuracy is lower with {listed(lower)}." if lower else "No final accuracy is lower."
    parts = (f"At equal entropy {at_equal_entropy(pairs)}.", end, not_made(found, INTERVENTIONS))
    return " ".join(filter(None, parts))


def moves(found: Edition) -> str:
    """Slopes of a and b on the number of parameters."""
    if not found.sizes:
        return not_made(found, SIZES)
    slopes = {name: found.sizes[name].slope for name in ("a", "b")}
    parts = [f"{name} {signed(slope)} ({direction(slope)})" for name, slope in slopes.items()]
    over = f"over {len(found.present(SIZES))} sizes of one start each"
    return " ".join(
        (f"Per tenfold of the parameters {listed(parts)}, {over}.", not_made(found, SIZES))
    ).strip()


def fails(found: Edition) -> str:
    """Final accuracy of every failure against the arm of its twins."""
    if not found.failing:
        return "Not made yet."
    said: dict[str, list[str]] = {}
    for pair in (pair for one in found.failing for pair in one.pairs):
        one = final(pair)
        said.setdefault(decided(one), []).append(f"{pair.arm} {in_bold(one)}")
    words = "; ".join(f"*{word}*: {listed(some)}" for word, some in said.items())
    return f"Final accuracy less that of the same arm without the cause: {words}."


def turns(found: Edition) -> str:
    """Curves that rise in healthy runs of one stage, in runs of several, and in failing runs."""
    counts = []
    for words, runs in groups_of(found.by_arm).items():
        curves = [curve for run in runs for curve in curves_of(run).values()]
        counts.append(f"{sum(curve.rises is True for curve in curves)} of {len(curves)} ({words})")
    return f"Planning, execution and semantic entropies that rise: {listed(counts)}."


def restores(found: Edition) -> str:
    """Distinct right plans and accuracy: their changes over every stage."""
    column, parts = "val_distinct_correct", []
    for plans, accuracy in zip(found.stages[column], found.stages["val_acc"], strict=False):
        if plans.quantity == "reward" and "sft" in plans.stage:
            change = f"{signed(plans.change)} (accuracy {signed(accuracy.change)})"
            parts.append(f"{change} in stage {plans.place} of `{plans.arm}`")
    text = (
        f"Supervised stages change the distinct right plans among 16 answers by {listed(parts)}."
        if parts
        else ""
    )
    return " ".join(filter(None, (text, not_made(found, SUPERVISED))))


def forgets(found: Edition) -> str:
    """Backward transfer of both orders."""
    parts = [f"{signed(one.backward)} in `{one.arm}`" for one in found.orders if one.arm in ORDERS[1:]]
    text = f"Backward transfer is {listed(parts)}; below 0 is forgetting." if parts else ""
    return " ".join(filter(None, (text, not_made(found, ORDERS))))
