"""The runs of the second edition, the most useful first; settings not given are those of plain GRPO."""

from __future__ import annotations

from entropylaw.results.result import replace
from lab import chains
from lab.arms import ALGORITHMS, BOTH, CLEAN, CLEAN_ARMS, FORMATS, TOKENS_AT
from lab.config import Config, Counts, Objective, Size, Stage, Start

PLAIN_SEEDS, ALGORITHM_SEEDS, SEEDS = 8, 4, 3

NEARLY = "width_96"
"""The size at which the law nearly holds: it has one seed more."""

COUNTED_AT = (0, 40, 100, 200, 400)
LONGER_AT = {"sft_after_grpo": (*COUNTED_AT, 440, 600), "chain_collapse": (0, 40, 100, 200, 240, 300, 400)}
"""Steps of the arms that are counted in their last stage too."""

COUNTED = (
    "grpo",
    "rloo",
    "clip_cov",
    "kl_cov",
    "entropy_bonus_0.1",
    "kl_penalty",
    "sft_after_grpo",
    "steady",
    "chain",
    "chain_collapse",
)
"""Arms whose distinct answers are counted, in their first three runs."""

TOKENS: dict[str, tuple[int, ...]] = {
    "grpo_s0": TOKENS_AT,
    "kl_cov_s0": TOKENS_AT,
    "entropy_bonus_0.1_s0": TOKENS_AT,
    "sft_after_grpo_s0": (0, 400, 408, 440, 600),
}
OTHER_FORMATS = ("grpo_s0", "entropy_bonus_0.1_s0")

CAUSES: dict[str, tuple[str, Stage]] = {
    "collapse": (
        "the entropy is minimised",
        Stage(failure="entropy collapse", objective=Objective(entropy_bonus=-2.0)),
    ),
    "explosion": (
        "an entropy bonus of 1",
        Stage(failure="entropy explosion", objective=Objective(entropy_bonus=1.0)),
    ),
    "hacked": (
        "a bonus for every answer in one step, right or wrong",
        Stage(failure="hacked reward", objective=Objective(reward="unchecked")),
    ),
    "blow_up": (
        "a learning rate 500 times too high, gradients without a limit",
        Stage(failure="numerical blow-up", lr=1e-2, gradient_limit=1e9),
    ),
    "dead_groups": (
        "answers are cut after 7 tokens, and none is complete",
        Stage(failure="dead groups", objective=Objective(max_tokens=7)),
    ),
}


def runs() -> list[Config]:
    """All runs in the order in which they are made: one seed of every arm before the next seed."""
    every = [
        *(Config(f"grpo_s{seed}", "plain GRPO", seed=seed) for seed in range(PLAIN_SEEDS)),
        *(failing(name, seed) for seed in range(SEEDS) for name in CAUSES),
        *(config for seed in range(SEEDS) for config in (*algorithms(seed), steady(seed), *others(seed))),
        *(chain_collapse(seed) for seed in range(SEEDS)),
        *(config for seed in range(SEEDS, ALGORITHM_SEEDS) for config in (*algorithms(seed), steady(seed))),
        next(config for config in others(SEEDS) if config.arm == NEARLY),
    ]
    return [
        replace(
            config,
            counts=_counts(config),
            tokens_at=TOKENS.get(config.run, ()),
            also=FORMATS if config.run in OTHER_FORMATS else (),
        )
        for config in every
    ]


def _counts(config: Config) -> Counts | None:
    """The steps at which a run's distinct answers are counted."""
    if config.arm not in COUNTED or config.seed >= SEEDS:
        return None
    return Counts(at=LONGER_AT.get(config.arm, COUNTED_AT))


def failing(name: str, seed: int) -> Config:
    """Plain GRPO until a cause of failure sets in, at another step for every seed.

    Until then the run equals its healthy twin, plain GRPO with the same seed. Answers in one step become
    rare soon after the start, so that only an early hole in the verifier is found.
    """
    about, cause = CAUSES[name]
    onset = 16 + 4 * seed if name == "hacked" else 80 + 40 * seed
    return Config(
        f"{name}_s{seed}",
        f"plain GRPO, then {about}",
        seed=seed,
        stages=(Stage(onset), replace(cause, steps=400 - onset)),
        twin=f"grpo_s{seed}",
    )


def chain_collapse(seed: int) -> Config:
    """A collapsed policy within caps on tokens: ``chain`` until its entropy is minimised."""
    about, cause = CAUSES["collapse"]
    chain = next(config for config in others(seed) if config.arm == "chain")
    return replace(
        chain,
        run=f"chain_collapse_s{seed}",
        about=f"`chain`, then {about}",
        stages=(Stage(200, domains=("chain",)), replace(cause, steps=200, domains=("chain",))),
        twin=chain.run,
    )


def algorithms(seed: int) -> list[Config]:
    """Other estimators of the gradient, and methods that are claimed to preserve entropy."""
    return [
        Config(f"{name}_s{seed}", about, seed=seed, objective=objective)
        for name, (about, objective) in ALGORITHMS.items()
    ]


def steady(seed: int) -> Config:
    """Plain GRPO from a start in which the law is expected to hold nearly.

    The domain has one right plan, and the longer start executes it well, so that entropy and wrong samples
    both come from planted mistakes and the greedy answer is right before and after. With a share p of wrong
    plans and q of wrong executions R = (1 - p)(1 - q), while H grows as p log(1 / p) and q log(1 / q): R is
    concave in H if p leads, convex if q leads, and near the law's curve at the shares chosen.
    """
    return Config(
        f"steady_s{seed}",
        "plain GRPO on one answer, right but for planted mistakes",
        seed=seed,
        start=Start(domains=("school",), steps=4000, wrong_plan=0.5, wrong_execution=0.1),
        stages=(Stage(domains=("school",)),),
    )


def others(seed: int) -> list[Config]:
    """Controls, sizes, stages, domains and starts."""
    nothing = Objective(reward="none", entropy_bonus=-0.1)
    rough, sft = Start(domains=("rough",)), Stage(200, "sft")
    free, school = Stage(200, domains=("free",)), Stage(200, domains=("school",))
    both = Stage(400, domains=("free", "school"))
    around = (Stage(100, "sft"), Stage(300), sft)
    every = [
        Config("sft_after_grpo", "plain GRPO, then 200 steps on demonstrations", stages=(Stage(), sft)),
        Config("sft_instead", "diverse demonstrations instead of GRPO", stages=(Stage(400, "sft"),)),
        Config(
            "sft_grpo_sft",
            "demonstrations for 100 steps, GRPO for 300, demonstrations for 200",
            stages=around,
        ),
        Config("free_and_school", "GRPO on both domains together", start=BOTH, stages=(both,)),
        Config("free_then_school", "GRPO on many answers, then on one", start=BOTH, stages=(free, school)),
        Config("school_then_free", "GRPO on one answer, then on many", start=BOTH, stages=(school, free)),
        Config("entropy_minimised", "entropy minimised, no reward at all", objective=nothing),
        Config("random_reward", "reward by a fair coin", objective=Objective(reward="random")),
        Config(
            "too_hard",
            "only splits into two rough parts count",
            start=rough,
            stages=(Stage(domains=("rough",)),),
        ),
        Config(
            "chain",
            "plain GRPO on sums of one to six parts, whose answers have 8 to 63 tokens",
            size=Size(response=chains.RESPONSE),
            start=Start(domains=("chain",), steps=3000),
            stages=(Stage(domains=("chain",)),),
        ),
        *(
            Config(f"width_{width}", f"plain GRPO, width {width}", size=Size(width=width))
            for width in (32, 64, 96)
        ),
        *(
            Config(name, f"{about}, no planted mistakes in the start", start=CLEAN, objective=objective)
            for name, (about, objective) in CLEAN_ARMS.items()
        ),
    ]
    return [replace(config, run=f"{config.run}_s{seed}", seed=seed) for config in every]
