"""Worlds in which a claim is true, false, or cannot be seen: how often the rule is wrong in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.evidence.claims import CLAIMS, STRATEGIES
from benchmarks.evidence.rule import Answer, Claim, FloatArray, Made, ask

SEEDS = 4
STEPS = np.arange(0.0, 601.0, 8.0)
SPREAD = 0.004
"""Standard deviation between seeds of every end of a column; nats, shares or answers alike."""

Ends = Mapping[tuple[str, str], tuple[float, ...]]
"""(arm, column) → its values at the start, at step 400 and at the end; columns that are not named are 0.5."""

DISTINCT, PROMPTS, SAMPLES = "val_distinct_correct", 100, 64
LEADING = f"share_{STRATEGIES[0]}"

WORLDS: Mapping[str, tuple[Ends, Ends]] = {
    "Most of the entropy is spent early in a run.": (
        {("grpo", "entropy"): (1.0, 0.2, 0.2), ("grpo", "early"): (0.6,)},
        {("grpo", "entropy"): (1.0, 0.2, 0.2), ("grpo", "early"): (0.4,)},
    ),
    "Most of the reward is gained early in a run.": (
        {("grpo", "val_acc"): (0.2, 0.8, 0.8), ("grpo", "early"): (0.6,)},
        {("grpo", "val_acc"): (0.2, 0.8, 0.8), ("grpo", "early"): (0.4,)},
    ),
    "Clip-Cov and KL-Cov keep entropy up.": (
        {("clip_cov", "entropy"): (1.0, 0.55, 0.55), ("kl_cov", "entropy"): (1.0, 0.55, 0.55)},
        {("clip_cov", "entropy"): (1.0, 0.45, 0.45), ("kl_cov", "entropy"): (1.0, 0.45, 0.45)},
    ),
    "Clip-Cov and KL-Cov end at a higher reward.": (
        {("clip_cov", "val_acc"): (0.2, 0.53, 0.53), ("kl_cov", "val_acc"): (0.2, 0.53, 0.53)},
        {("clip_cov", "val_acc"): (0.2, 0.47, 0.47), ("kl_cov", "val_acc"): (0.2, 0.47, 0.47)},
    ),
    "The algorithm does not matter: RLOO ends where GRPO does.": (
        {},
        {("rloo", "val_acc"): (0.2, 0.6, 0.6)},
    ),
    "RL narrows the policy: fewer distinct right plans.": (
        {("grpo", DISTINCT): (0.6, 0.5, 0.5)},
        {("grpo", DISTINCT): (0.4, 0.5, 0.5)},
    ),
    "Supervised training on diverse demonstrations widens the policy.": (
        {("sft_after_grpo", DISTINCT): (0.5, 0.5, 0.6)},
        {("sft_after_grpo", DISTINCT): (0.5, 0.5, 0.4)},
    ),
    "Widening by demonstrations costs no accuracy.": (
        {},
        {("sft_after_grpo", "val_acc"): (0.5, 0.5, 0.4)},
    ),
    "One format takes over.": (
        {("grpo", LEADING): (0.55, 0.95, 0.95)},
        {("grpo", LEADING): (0.95, 0.55, 0.55)},
    ),
    "Training domain after domain in a good order beats joint training.": (
        {("school_then_free", "val_acc"): (0.2, 0.53, 0.53)},
        {(arm, "val_acc"): (0.2, 0.47, 0.47) for arm in ("school_then_free", "free_then_school")},
    ),
    "Imitation first and then RL beats either alone.": (
        {("sft_grpo_sft", "val_acc"): (0.2, 0.53, 0.5)},
        {("sft_grpo_sft", "val_acc"): (0.2, 0.47, 0.5)},
    ),
    "Token entropy rises while the diversity of answers falls.": (
        {("grpo", "entropy"): (0.4, 0.5, 0.5), ("grpo", "entropy_semantic"): (0.6, 0.5, 0.5)},
        {("grpo", "entropy"): (0.6, 0.5, 0.5), ("grpo", "entropy_semantic"): (0.6, 0.5, 0.5)},
    ),
    "Diversity is lost on unsolved problems, not on solved ones alone.": (
        {("chain", "wrong answers"): (20.0, 10.0)},
        {("chain", "wrong answers"): (10.0, 20.0)},
    ),
    "RL does not solve what the start cannot: with enough samples the start is ahead.": (
        {("chain", "solved"): (0.8, 0.7)},
        {("chain", "solved"): (0.7, 0.8)},
    ),
    "A collapsed policy gains less from search.": (
        {("chain_collapse", "solved"): (0.7, 0.6), ("chain", "solved"): (0.7, 0.8)},
        {("chain_collapse", "solved"): (0.7, 0.8), ("chain", "solved"): (0.7, 0.6)},
    ),
    "Execution settles, then planning entropy rises.": (
        {("grpo", "entropy_planning"): (1.0, 0.6, 0.9)},
        {("grpo", "entropy_planning"): (1.0, 0.6, 0.5)},
    ),
}
"""Claim → the ends of columns where it is true and where it is false."""

COLUMNS = (
    "val_acc", "entropy", "entropy_semantic", "entropy_planning", DISTINCT,
    *(f"share_{name}" for name in STRATEGIES),
)  # fmt: skip


class World(dict[str, list[Made]]):
    """Runs of the arms that a claim asks for, :data:`SEEDS` each, whose ends scatter by ``spread``."""

    def __init__(self, ends: Ends, random: np.random.Generator, spread: float = SPREAD) -> None:
        super().__init__()
        self.settings = (ends, random, spread)

    def __missing__(self, arm: str) -> list[Made]:
        self[arm] = [planted_run(arm, seed, *self.settings) for seed in range(SEEDS)]
        return self[arm]


def planted_run(arm: str, seed: int, ends: Ends, random: np.random.Generator, spread: float) -> Made:
    """One run: every column goes from its start over step 400 to its end, with counts of answers at both."""
    columns = {"step": STEPS}
    for name in COLUMNS:
        first, middle, last = ends.get((arm, name), (0.5, 0.5, 0.5))
        values = np.array([first, middle, last]) + spread * random.standard_normal(3)
        columns[name] = np.interp(STEPS, [0.0, 400.0, 600.0], values)
        if early := ends.get((arm, "early")):
            share = early[0] + spread * random.standard_normal()
            columns[name] = np.interp(
                STEPS, [0.0, 50.0, 600.0], [values[0], values[0] + share * (values[2] - values[0]), values[2]]
            )
    if not arm.startswith("chain"):
        return Made(seed=seed, columns=columns)
    counts = [answers(step, place, arm, ends, random, spread) for place, step in enumerate((0.0, 400.0))]
    joined = {name: np.concatenate([rows[name] for rows in counts]) for name in counts[0]}
    return Made(seed=seed, columns=columns, counts=joined)


def answers(
    step: float, place: int, arm: str, ends: Ends, random: np.random.Generator, spread: float
) -> dict[str, FloatArray]:
    """The distinct answers to all problems at a step: the last ones are solved by one sample in eight."""
    solved = ends.get((arm, "solved"), (0.5, 0.5))[place] + spread * random.standard_normal()
    wrong = ends.get((arm, "wrong answers"), (10.0, 10.0))[place]
    kinds = np.maximum(1, random.poisson(wrong * np.exp(spread * random.standard_normal()), PROMPTS)).astype(
        int
    )
    rows: list[tuple[float, float, float, float]] = []
    for prompt in range(PROMPTS):
        right = SAMPLES // 8 if prompt < round(solved * PROMPTS) else 0
        parts = np.array_split(np.arange(SAMPLES - right), kinds[prompt])
        rows += [(step, prompt, part.size, 0.0) for part in parts if part.size]
        rows += [(step, prompt, right, 1.0)] * (right > 0)
    return dict(zip(("step", "prompt", "n", "correct"), np.array(rows).T, strict=True))


def rates(claim: Claim, draws: int) -> tuple[float, float, float]:
    """Shares: confirmed where true, contradicted where false, and decided wrongly in any of the three worlds.

    In the third world the seeds scatter 25 times as much, so that little can be seen.
    """
    true, false = WORLDS[claim.statement]
    random = np.random.default_rng(CLAIMS.index(claim))
    worlds = {"true": (true, SPREAD), "false": (false, SPREAD), "weak": (true, 25 * SPREAD)}
    got = {
        name: [ask(claim, World(ends, random, spread))[0] for _ in range(draws)]
        for name, (ends, spread) in worlds.items()
    }
    wrong = [
        share(got["true"], Answer.contradicted),
        share(got["false"], Answer.confirmed),
        share(got["weak"], Answer.contradicted),
    ]
    return share(got["true"], Answer.confirmed), share(got["false"], Answer.contradicted), max(wrong)


def share(answers: Sequence[Answer], word: Answer) -> float:
    """How many of some answers are a word."""
    return sum(answer is word for answer in answers) / len(answers)
