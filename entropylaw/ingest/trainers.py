"""What each trainer's keys mean: data, read from the trainers' sources at the versions in docs/formats.md.

Templates match whole names. ``<word>`` stands for any text, ``@<n>`` for a number; ``/`` matches ``_`` and
``.`` as well, as spreadsheets and exporters flatten it. Within a trainer, the first key wins.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from entropylaw.results.columns import Meaning


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key that a trainer logs.

    Attributes
    ----------
    template
        The key, with placeholders where data sets and the like stand.
    meaning
        What its values are.
    pair
        Which entropy a reward belongs with: ``"same"`` step, or the ``"next"`` one, where the row holds the
        entropy from before the update and the evaluation from after it.
    but_not
        Names that the template would match and that are something else.
    initial
        A prefix that is missing where the policy was evaluated before training: such values belong with
        the entropy of their own step.

    """

    template: str
    meaning: Meaning
    pair: str = "same"
    but_not: tuple[str, ...] = ()
    initial: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trainer:
    """A trainer: one of its ``telltales`` among the columns identifies it.

    ``title`` is its name for people; ``absent`` says why its logs may lack the entropy; ``halves`` whether
    entropy and reward are logged by two processes, into two files.
    """

    name: str
    title: str
    telltales: tuple[str, ...]
    entropy: tuple[Key, ...]
    training: tuple[Key, ...]
    validation: tuple[Key, ...]
    absent: str | None = None
    halves: bool = False


def _entropy(
    *templates: str,
    aggregation: str | None = "token mean",
    estimator: str | None = "exact",
    temperature: str | None = "scaled by the sampling temperature",
    timing: str | None = "during the update",
    sign: int = 1,
    note: str | None = None,
) -> tuple[Key, ...]:
    meaning = Meaning(
        role="entropy",
        trainer="",
        unit="nats",
        aggregation=aggregation,
        estimator=estimator,
        temperature=temperature,
        timing=timing,
        sign=sign,
        note=note,
    )
    return tuple(Key(template=template, meaning=meaning) for template in templates)


def _training(*templates: str, note: str | None = None) -> tuple[Key, ...]:
    meaning = Meaning(
        role="reward",
        trainer="",
        kind="training",
        timing="before the update, on that step's rollouts",
        note=note,
    )
    return tuple(Key(template=template, meaning=meaning) for template in templates)


def _validation(
    *templates: str,
    after: bool = False,
    but_not: tuple[str, ...] = (),
    initial: str | None = None,
    note: str | None = None,
) -> tuple[Key, ...]:
    meaning = Meaning(
        role="reward",
        trainer="",
        kind="validation",
        timing="after the update" if after else None,
        note=note,
    )
    pair = "next" if after else "same"
    return tuple(
        Key(template=template, meaning=meaning, pair=pair, but_not=but_not, initial=initial)
        for template in templates
    )


def _trainer(
    name: str,
    title: str,
    telltales: tuple[str, ...],
    *,
    entropy: tuple[Key, ...] = (),
    training: tuple[Key, ...] = (),
    validation: tuple[Key, ...] = (),
    absent: str | None = None,
    halves: bool = False,
) -> Trainer:
    def own(keys: tuple[Key, ...]) -> tuple[Key, ...]:
        return tuple(replace(key, meaning=replace(key.meaning, trainer=name)) for key in keys)

    return Trainer(
        name=name,
        title=title,
        telltales=telltales,
        entropy=own(entropy),
        training=own(training),
        validation=own(validation),
        absent=absent,
        halves=halves,
    )


def _trained(*names: str) -> tuple[str, ...]:
    """Names as a Hugging Face Trainer logs them, and as its trackers get them: with ``train/`` before."""
    return (*names, *(f"train/{name}" for name in names))


_VERL_ENTROPY = (
    *_entropy(
        "actor/entropy",
        timing="before the update",
        note="aggregated as actor.loss_agg_mode says; token-mean is the default",
    ),
    *_entropy(
        "actor/entropy_loss",
        timing=None,
        note="positive, in spite of its name; up to 0.4.0 the only entropy; from 0.7.1 on measured again in "
        "the update, where global normalisation makes it a sum",
    ),
)
_VERL_SCORES = (
    *_training("critic/score/mean"),
    *_training("critic/rewards/mean", note="after the KL penalty, where one is in the reward"),
)
_FILTERED = "over prompts with mixed outcomes only, which pulls it to the middle"
_VERL_VALIDATION = (
    *_validation("val-core/<data>/acc/mean@<n>", after=True),
    *_validation("val-core/<data>/<score>/mean@<n>", after=True),
    *_validation("val/test_score/<data>", after=True, initial="val/"),
    *_validation("val/score-all", after=True),
    *_validation("val-core/<data>/<score>/maj@<n>/mean", after=True, note="majority vote"),
    *_validation("val-core/<data>/<score>/best@<n>/mean", after=True, note="best of n"),
    *_validation("val-aux/<data>/acc/mean@<n>", "val-aux/<data>/reward/mean@<n>", after=True),
)
_EVAL_NOT = (
    *("eval/loss", "eval/runtime", "eval/entropy", "eval/step", "eval/steps", "eval/epoch"),
    *("eval/<data>/response_len/<part>", "eval/<data>/truncated_ratio", "eval/<data>/repetition_frac"),
    *("eval/<data>/zero_std/<part>", "eval/<data>-truncated_ratio", "eval/<data>-aborted_ratio"),
)

TRAINERS: tuple[Trainer, ...] = (
    _trainer(
        "easyr1",
        "EasyR1",
        ("reward/overall", "val/reward_score", "val/overall_reward", "actor/pg_clipfrac_higher"),
        entropy=_entropy("actor/entropy_loss", "actor/entropy", estimator="sampled"),
        training=_training("reward/accuracy", "reward/overall", "critic/score/mean"),
        validation=_validation(
            "val/accuracy_reward", "val/reward_score", "val/overall_reward", "val/<part>_reward", after=True
        ),
    ),
    _trainer(
        "prime",
        "PRIME",
        ("train_verify_score/all", "test_reward/all"),
        entropy=_VERL_ENTROPY,
        training=_training("train_verify_score/all", "critic/score/mean"),
        validation=_validation(
            "val/test_score/all", "val/test_score/<data>", "test_reward/all", after=True, initial="val/"
        ),
        absent="PRIME logs it with Megatron, not with FSDP",
    ),
    _trainer(
        "rllm",
        "rLLM",
        ("batch/solve_partial",),
        entropy=(
            *_VERL_ENTROPY,
            *_entropy("optim/entropy", "train/entropy", estimator="sampled", timing=None),
        ),
        training=_training("reward/<role>/mean", "critic/score/mean"),
        validation=_validation(
            "val/<data>/pass@1", "val/test_score/<data>", "val/<data>/pass@<n>", after=True
        ),
    ),
    _trainer(
        "dapo",
        "DAPO recipe of verl",
        ("train/num_gen_batches",),
        entropy=_entropy("actor/entropy", timing="before the update", note=_FILTERED),
        training=_training("critic/score/mean", note=_FILTERED),
        validation=_VERL_VALIDATION,
    ),
    _trainer(
        "roll",
        "ROLL",
        ("critic/entropy/mean", "val_correct/all/mean", "critic/correct/mean"),
        entropy=_entropy("critic/entropy/mean", temperature=None, timing="before the update"),
        training=_training("critic/correct/mean", "critic/score/mean", "rollout/score/mean"),
        validation=_validation(
            *("val_correct/all/mean", "val_correct/<group>/mean", "val/score/mean", "val/<group>/score/mean")
        ),
    ),
    _trainer(
        "areal",
        "AReaL",
        (
            *("ppo_actor/update/entropy/avg", "ppo_actor/task_reward/avg", "grpo_actor/entropy/avg"),
            *("grpo_actor/task_reward/avg", "eval-rollout/reward"),
        ),
        entropy=_entropy("ppo_actor/update/entropy/avg", "grpo_actor/entropy/avg", temperature=None),
        training=_training("ppo_actor/task_reward/avg", "rollout/reward", "grpo_actor/task_reward/avg"),
        validation=_validation("eval-rollout/reward", "eval-rollout/reward/avg", after=True),
    ),
    _trainer(
        "verl",
        "verl",
        (
            *("actor/entropy", "actor/entropy_loss", "critic/score/mean", "actor/pg_clipfrac"),
            *("val-core/<data>/<score>/mean@<n>", "val/test_score/<data>"),
        ),
        entropy=_VERL_ENTROPY,
        training=_VERL_SCORES,
        validation=_VERL_VALIDATION,
        absent="verl does not log it with rollout_correction in bypass mode",
    ),
    _trainer(
        "stable-baselines3",
        "Stable-Baselines3",
        ("rollout/ep_rew_mean", "rollout/ep_len_mean"),
        entropy=_entropy(
            "train/entropy_loss",
            aggregation="mean of actions",
            temperature=None,
            sign=-1,
            note="minus the entropy of the actions",
        ),
        training=_training("rollout/ep_rew_mean"),
        validation=_validation("eval/mean_reward"),
    ),
    _trainer(
        "slime",
        "slime",
        ("rollout/raw_reward",),
        entropy=_entropy("train/entropy_loss", aggregation="mean of per-response means"),
        training=_training("rollout/raw_reward"),
        # Evaluations follow the update under the rollout's number; that before training has the same 0.
        validation=_validation("eval/<data>", "eval/<data>-pass@<n>", after=True, but_not=_EVAL_NOT),
    ),
    _trainer(
        "nemo-rl",
        "NeMo-RL",
        ("train/approx_entropy", "train/probs_ratio_clamped", "train/mean_gen_tokens_per_sample"),
        entropy=_entropy("train/approx_entropy", estimator="sampled", temperature=None),
        training=_training("train/reward"),
        validation=_validation("validation/accuracy", after=True),
    ),
    _trainer(
        "prime-rl",
        "prime-rl",
        (
            *("entropy/all/mean", "mismatch_kl/all/mean", "reward/all/mean", "mismatch_kl/mean"),
            *("train/agg/all/<agent>/reward/mean", "train/agg/all/reward/mean", "batch/effective_batch_size"),
            "train/agg/effective/<agent>/reward/mean",
        ),
        entropy=_entropy("entropy/all/mean", "entropy/mean", "entropy/<env>/mean"),
        training=_training(
            *("train/agg/all/<agent>/reward/mean", "train/agg/all/reward/mean"),
            *("train/agg/effective/<agent>/reward/mean", "train/agg/effective/reward/mean"),
            *("reward/all/mean", "reward/mean"),
        ),
        validation=_validation(
            *("eval/<env>/all/<agent>/avg@<n>", "eval/<env>/avg@<n>", "eval/<env>/all/<agent>/reward/mean"),
            *("eval/<env>/reward/mean", "val_reward/mean"),
        ),
        halves=True,
    ),
    _trainer(
        "open-instruct",
        "open-instruct",
        ("objective/verifiable_reward", "objective/verifiable_correct_rate", "val/sequence_lengths"),
        entropy=_entropy("policy/entropy_avg", aggregation="mean of per-response means"),
        training=_training("objective/verifiable_correct_rate", "objective/verifiable_reward", "scores"),
        validation=_validation(
            "eval/objective/verifiable_correct_rate", "eval/objective/verifiable_reward", "eval/scores"
        ),
        absent="open-instruct logs it with record_entropy=True",
    ),
    _trainer(
        "skyrl",
        "SkyRL",
        ("policy/policy_entropy", "reward/avg_raw_reward"),
        entropy=_entropy("policy/policy_entropy"),
        training=_training("reward/avg_raw_reward", "reward/mean_positive_reward", "reward/avg_pass_at_<n>"),
        validation=_validation("eval/all/avg_score", "eval/all/pass_at_<n>", after=True),
    ),
    _trainer(
        "tinker",
        "tinker-cookbook",
        ("optim/entropy", "env/all/reward/total", "optim/kl_sample_train_v1"),
        entropy=_entropy("optim/entropy", estimator="sampled", timing="before the update"),
        training=_training("env/all/reward/total", "env/all/correct"),
        validation=_validation("test/env/all/correct", "test/env/all/reward/total"),
    ),
    _trainer(
        "openrlhf",
        "OpenRLHF",
        ("train/ppo_clip_ratio", "eval/eval_<data>_pass1", "train/return"),
        entropy=_entropy("train/entropy_loss", temperature="raw logits, not scaled"),
        training=_training("train/reward", "train/rollout/reward_mean"),
        validation=_validation("eval/eval_<data>_pass1", "eval/eval_<data>_pass<n>", after=True),
        absent="OpenRLHF logs it when --actor.entropy_coef is given; 0 only logs",
    ),
    _trainer(
        "trl-ppo",
        "TRL PPO",
        _trained("objective/rlhf_reward", "objective/non_score_reward", "objective/entropy"),
        entropy=(
            *_entropy(*_trained("policy/entropy_avg"), note="over all positions, padding included"),
            *_entropy(
                *_trained("objective/entropy"),
                aggregation="sequence sum",
                estimator="sampled",
                timing="before the update",
                note="a sum over the tokens of a response, no mean",
            ),
        ),
        training=_training(*_trained("objective/scores", "objective/rlhf_reward")),
    ),
    _trainer(
        "ms-swift",
        "ms-swift GRPO",
        ("global_step/max_steps", *_trained("entropy/threshold", "entropy/entropy_mean", "entropy/max")),
        entropy=_entropy(
            *_trained("entropy/mean", "entropy/entropy_mean"),
            aggregation="mean of per-response means",
            temperature=None,
        ),
        training=_training("reward", "train/reward"),
        # The Trainer of transformers evaluates behind the optimiser's step, under that step's number.
        validation=_validation("eval_reward", after=True),
        absent="ms-swift logs it with log_entropy",
    ),
    _trainer(
        "trl",
        "TRL GRPO and RLOO",
        (
            *("completions/mean_length", "train/completions/mean_length", "clip_ratio/region_mean"),
            *("train/clip_ratio/region_mean", "completion_length", "train/completion_length"),
            *("rewards/<function>/mean", "train/rewards/<function>/mean"),
        ),
        entropy=_entropy("entropy", "train/entropy"),
        training=_training("reward", "train/reward"),
        validation=(
            *_validation("eval_reward", after=True),
            # Several evaluation sets: each has its name before the metric's.
            *_validation("eval_<data>_reward", after=True, but_not=("eval_rewards/<function>",)),
            *_validation("eval_rewards/<function>/mean", after=True),
        ),
        absent="TRL logs it from 0.20 on, without the Liger loss; Unsloth does not log it",
    ),
)

GENERIC = _trainer(
    "generic",
    "hand-written loops",
    (),
    entropy=_entropy(
        *("entropy", "policy_entropy", "train/entropy", "actor_entropy", "policy/entropy", "mean_entropy"),
        *(
            "entropy_mean",
            "avg_entropy",
            "token_entropy",
            "mean_token_entropy",
            "entropy_loss",
            "train/entropy_loss",
        ),
        aggregation=None,
        estimator=None,
        temperature=None,
        timing=None,
    ),
    training=_training(
        *("reward", "mean_reward", "reward_mean", "avg_reward", "reward_avg", "train/reward"),
        *("train/mean_reward", "train/reward_mean", "rewards", "rewards/mean", "train/accuracy", "train/acc"),
    ),
    validation=_validation(
        *("val_acc", "val_accuracy", "validation/accuracy", "validation/acc", "eval_accuracy", "eval_acc"),
        *("val_reward", "val_score", "validation/reward", "eval_reward", "eval/mean_reward", "eval_score"),
        *("test_accuracy", "test_acc", "test_reward", "test_score"),
    ),
)
