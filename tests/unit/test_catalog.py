"""The catalog: whole names, the right trainer, and a page that says the same."""

import re
import tomllib
from pathlib import Path

import pytest

from docs import reference
from entropylaw import read_runs
from entropylaw.logs import catalog
from entropylaw.roles.select import select
from tests.typed import imported

FILE = Path(catalog.__file__).with_name("trainers.toml")


@pytest.mark.parametrize(
    ("columns", "trainer"),
    [
        (["actor/entropy", "critic/score/mean"], "verl"),
        (["actor_entropy_loss", "critic_score_mean"], "verl"),
        (["val.test_score.gsm8k", "x"], "verl"),
        (["actor/entropy", "train/num_gen_batches", "critic/score/mean"], "dapo"),
        (["actor/entropy_loss", "reward/overall"], "easyr1"),
        (["actor/entropy", "batch/solve_partial"], "rllm"),
        (["actor/entropy_loss", "train_verify_score/all"], "prime"),
        (["train/entropy_loss", "rollout/ep_rew_mean"], "stable-baselines3"),
        (["train/entropy_loss", "rollout/raw_reward"], "slime"),
        (["train/entropy_loss", "train/return"], "openrlhf"),
        (["train/approx_entropy", "train/reward"], "nemo-rl"),
        (["ppo_actor/update/entropy/avg"], "areal"),
        (["critic/entropy/mean", "critic/score/mean"], "roll"),
        (["entropy/all/mean"], "prime-rl"),
        (["policy/entropy_avg", "objective/verifiable_reward"], "open-instruct"),
        (["policy/entropy_avg", "objective/rlhf_reward"], "trl-ppo"),
        (["policy/policy_entropy"], "skyrl"),
        (["optim/entropy", "env/all/reward/total"], "tinker"),
        (["loss/entropy", "train/reward"], "art"),
        (["entropy/mean", "global_step/max_steps"], "ms-swift"),
        (["entropy", "reward", "completions/mean_length"], "trl"),
        (["train/entropy", "train/reward", "train/rewards/accuracy/mean"], "trl"),
        (["entropy", "reward"], "generic"),
        ([], "generic"),
    ],
)
def test_detection(columns, trainer):
    assert catalog.detect(columns).trainer.name == trainer


@pytest.mark.parametrize(
    "name",
    [
        *("entropy_coef", "entropy_coeff", "actor/entropy_coeff", "target_entropy", "entropy_threshold"),
        *("cross_entropy", "teacher/entropy", "kl_ent_ratio/mean", "timing_s/old_log_prob_entropy"),
        "profiling/Time taken: GRPOTrainer._get_per_token_logps_and_entropies",
        *("my_actor/entropy", "actor/entropy/max", "xentropy", "entropy2"),
    ],
)
def test_decoys_are_no_entropy(name):
    assert not catalog.is_metric(name)
    assert not catalog.matches("entropy", [name], catalog.trainers()[-1])
    assert catalog.decoy(name)


@pytest.mark.parametrize(
    "name",
    [
        *("reward_std", "frac_reward_zero_std", "critic/advantages/mean", "critic/returns/mean"),
        *("critic/values/mean", "rollout/rewards", "objective/non_score_reward", "val/ratio", "eval/loss"),
        *("val/num_eos_tokens", "accuracy", "val-core/x/acc/std@4", "ppo_actor/final_reward/avg"),
    ],
)
def test_what_is_no_reward(name):
    assert not any(
        catalog.matches(role, [name], trainer)
        for trainer in catalog.trainers()
        for role in ("validation", "training")
    )


@pytest.mark.parametrize(
    "name",
    [
        "val-core/openai/gsm8k/acc/mean@1",
        "val-core_openai_gsm8k_acc_mean@1",
        "val-core.openai.gsm8k.acc.mean@16",
        "val-core/openai/gsm8k/acc/mean_at_1",
        "VAL-CORE/x/acc/mean@1",
    ],
)
def test_flattened_spellings_of_one_key(name):
    (match,) = catalog.matches("validation", [name], catalog.detect(["actor/entropy"]).trainer)
    assert match.key.template == "val-core/<data>/acc/mean@<n>"
    assert match.key.pair == "next"


def test_a_trainers_own_key_comes_first():
    verl = catalog.detect(["actor/entropy"]).trainer
    columns = ["entropy", "actor/entropy_loss", "actor/entropy"]
    best = min(catalog.matches("entropy", columns, verl), key=lambda match: match.rank)
    assert best.column == "actor/entropy"
    assert best.key.meaning.timing == "before the update"


def test_the_page_holds_every_key_of_the_file():
    sections = dict(re.findall(r"## (.+)\n\n((?:- .+\n?)+)", reference.trainer_sections()))
    assert list(sections) == [trainer.title for trainer in catalog.trainers()]
    for trainer in tomllib.loads(FILE.read_text(encoding="utf-8"))["trainer"]:
        for role, word in (
            ("entropy", "entropy"),
            ("validation", "validation"),
            ("training", "training reward"),
        ):
            lines = " ".join(re.findall(rf"^- {word} (.+)", sections[trainer["title"]], re.MULTILINE))
            for key in (key for entry in trainer.get(role, []) for key in entry.get("keys", [])):
                assert f"`{key}`" in lines, (trainer["name"], key)
    for trainer in catalog.trainers():
        keys = len(trainer.entropy) + len(trainer.validation) + len(trainer.training)
        assert re.sub(r"[^`]", "", sections[trainer.title]).count("`") >= 2 * keys


@pytest.mark.parametrize(
    ("before", "after", "error", "problem"),
    [
        ('title = "verl"', 'titel = "verl"', TypeError, "titel"),
        ('title = "verl"', "", TypeError, "title"),
        ("halves = true", "halfs = true", TypeError, "halfs"),
        ("sign = -1", 'sign = "-1"', ValueError, "Expected `int`, got `str` - at `$.sign`"),
        ('like = "verl"', 'like = "verll"', KeyError, "verll"),
        ('keys = ["actor/entropy"]', "key = []", ValueError, "trainer 'dapo': entropy has no field 'key'"),
        ('initial = "val/"', 'initials = "val/"', ValueError, "validation has no field 'initials'"),
    ],
)
def test_an_error_in_the_file_names_what_is_wrong(before, after, error, problem):
    text = FILE.read_text(encoding="utf-8")
    assert before in text
    with pytest.raises(error, match=re.escape(problem)):
        catalog.parse(text.replace(before, after, 1))


def test_help_does_not_read_the_file(tmp_path):
    assert imported(["--help"], ("entropylaw.logs.catalog", "numpy"), tmp_path) == []


@pytest.mark.parametrize(
    ("entropy", "reward", "expected"),
    [
        ("optim/entropy", "env/all/reward/total", ("sampled", "before the update")),
        ("actor/entropy", "critic/score/mean", ("exact", "before the update")),
    ],
)
def test_a_series_says_which_entropy_it_is(entropy, reward, expected):
    (run,) = read_runs({"step": range(9), entropy: [1 - i / 9 for i in range(9)], reward: range(9)})
    meaning = select(run).entropy_choice.meaning
    assert (meaning.estimator, meaning.timing) == expected


@pytest.mark.parametrize(
    ("trainer", "logged", "role", "column"),
    [
        ("slime", "rollout/raw_reward", "entropy", "rollout/entropy"),
        ("art", "loss/kl_policy_ref", "entropy", "loss/entropy"),
        ("art", "loss/entropy", "validation", "val/reward"),
        ("skyrl", "policy/policy_entropy", "validation", "eval/aime24/avg_score"),
        ("skyrl", "policy/policy_entropy", "validation", "eval/aime24/pass_at_4"),
        ("tinker", "optim/entropy", "validation", "eval/gsm8k/score"),
        ("nemo-rl", "train/approx_entropy", "validation", "validation/pass_k"),
        ("open-instruct", "objective/verifiable_reward", "validation", "eval/pass_at_8_unbiased"),
        ("roll", "critic/entropy/mean", "validation", "val_score/all/mean"),
        ("rllm", "batch/solve_partial", "validation", "val/avg_reward"),
    ],
)
def test_keys_of_each_trainer(trainer, logged, role, column):
    found = catalog.detect([logged, column]).trainer
    assert found.name == trainer
    assert [match.column for match in catalog.matches(role, [column], found)] == [column]


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        *(("kl", name) for name in ("policy/policy_kl", "train/kl_penalty", "loss/kl_avg", "kl_policy_base")),
        *(("dead_groups", name) for name in ("all_correct_groups_ratio", "by_group/frac_all_good")),
        ("prompt_filter", "dynamic_filtering_pass_rate"),
        *(("further", name) for name in ("batch/solve_none", "response_length/clip_ratio", "grad_norm")),
    ],
)
def test_other_numbers_are_kept_and_no_reward(kind, column):
    assert column in catalog.names(kind)
    assert catalog.is_useful(column)
    assert not catalog.matches("training", [column], catalog.trainers()[-1])
