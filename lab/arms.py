"""The runs of the first edition; settings that are not given here are those of plain GRPO."""

from __future__ import annotations

from entropylaw.results.result import replace
from lab.config import Config, Objective, Size, Stage, Start

FORMATS = ("verl", "console", "trl", "wandb", "tensorboard", "clearml", "ui")
TOKENS_AT = (0, 8, 24, 64, 160, 400)
BOTH = Start(domains=("free", "school"))
CLEAN = Start(wrong_plan=0.0, wrong_execution=0.0, steps=1500)

ALGORITHMS: dict[str, tuple[str, Objective]] = {
    "rloo": ("RLOO: each answer against the mean of the others", Objective(advantage="leave-one-out")),
    "reinforce": (
        "REINFORCE with the batch mean as baseline, no ratio",
        Objective(advantage="batch", surrogate="gradient"),
    ),
    "clip_cov": ("GRPO with Clip-Cov, at most 2 % of tokens", Objective(clip_cov=0.02)),
    "kl_cov": ("GRPO with KL-Cov, 2 % of tokens, weight 1", Objective(kl_cov=0.02)),
    "gppo": ("GRPO, clipping that keeps the gradient (GPPO)", Objective(surrogate="preserve")),
    "clip_higher": ("GRPO with the upper clip at 0.15", Objective(clip_high=0.15)),
    "entropy_bonus_0.02": ("GRPO with an entropy bonus of 0.02", Objective(entropy_bonus=0.02)),
    "entropy_bonus_0.1": ("GRPO with an entropy bonus of 0.1", Objective(entropy_bonus=0.1)),
    "kl_penalty": ("GRPO with a KL penalty of 0.3 to the start", Objective(kl_penalty=0.3)),
}

CLEAN_ARMS: dict[str, tuple[str, Objective]] = {
    "clean_start": ("plain GRPO", Objective()),
    "clean_rloo": ("RLOO", Objective(advantage="leave-one-out")),
    "clean_reinforce": ("REINFORCE", Objective(advantage="batch", surrogate="gradient")),
}


def runs() -> list[Config]:
    """All runs: the plain ones first."""
    plain = [Config(f"grpo_s{seed}", "plain GRPO", seed=seed) for seed in range(4)]
    plain[0] = replace(plain[0], tokens_at=TOKENS_AT, also=FORMATS)
    every = [*plain, *algorithms(), *controls(), *sizes(), *stages(), *starts()]
    return [replace(config, edition=1, val_prompts=320) for config in every]


def algorithms() -> list[Config]:
    """Other estimators of the gradient, and methods that are claimed to preserve entropy."""
    kept = {"kl_cov", "entropy_bonus_0.1"}
    once = {"gppo", "clip_higher", "entropy_bonus_0.02"}
    return [
        Config(
            f"{name}_s{seed}",
            about,
            seed=seed,
            objective=objective,
            tokens_at=TOKENS_AT if name in kept and seed == 0 else (),
            also=FORMATS if name == "entropy_bonus_0.1" and seed == 0 else (),
        )
        for seed in range(2)
        for name, (about, objective) in ALGORITHMS.items()
        if seed == 0 or name not in once
    ]


def controls() -> list[Config]:
    """Negative controls: the reward cannot be learned from, or training fails."""
    nothing = Objective(reward="none", entropy_bonus=-0.1)
    return [
        Config("entropy_minimised", "entropy minimised, no reward at all", objective=nothing),
        Config("random_reward", "reward by a fair coin", objective=Objective(reward="random")),
        Config(
            "diverging",
            "a learning rate 500 times too high, nothing clipped",
            objective=Objective(advantage="batch", surrogate="gradient"),
            lr=1e-2,
            gradient_limit=1e9,
        ),
        Config(
            "too_hard",
            "only splits into two rough parts count",
            start=Start(domains=("rough",)),
            stages=(Stage(domains=("rough",)),),
        ),
    ]


def sizes() -> list[Config]:
    """Narrower and wider policies, each with its own start; the others have width 48."""
    return [
        Config(f"width_{width}_s{seed}", f"plain GRPO, width {width}", seed=seed, size=Size(width=width))
        for seed in range(2)
        for width in (32, 64, 96)
    ]


def stages() -> list[Config]:
    """Supervised training after and instead of reinforcement, and two domains in every order."""
    sft = Stage(200, "sft")
    after = [
        Config(
            f"sft_after_grpo_s{seed}",
            "plain GRPO, then 200 steps on diverse demonstrations",
            seed=seed,
            stages=(Stage(), sft),
            tokens_at=(0, 400, 408, 440, 600) if seed == 0 else (),
        )
        for seed in range(2)
    ]
    instead = [
        Config(
            f"sft_instead_s{seed}",
            "diverse demonstrations instead of GRPO",
            seed=seed,
            stages=(Stage(400, "sft"),),
        )
        for seed in range(2)
    ]
    free, school = Stage(200, domains=("free",)), Stage(200, domains=("school",))
    both = Stage(400, domains=("free", "school"))
    return [
        *after,
        *instead,
        Config("free_and_school", "GRPO on both domains together", start=BOTH, stages=(both,)),
        Config("free_then_school", "GRPO on many answers, then on one", start=BOTH, stages=(free, school)),
        Config("school_then_free", "GRPO on one answer, then on many", start=BOTH, stages=(school, free)),
    ]


def starts() -> list[Config]:
    """The three algorithms from demonstrations without planted mistakes."""
    return [
        Config(
            f"{name}_s{seed}",
            f"{about}, no planted mistakes in the start",
            seed=seed,
            start=CLEAN,
            objective=objective,
        )
        for name, (about, objective) in CLEAN_ARMS.items()
        for seed in range(2)
    ]
