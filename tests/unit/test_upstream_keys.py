"""The keys that trainers log: those of a table by hand, and nightly those in installed sources."""

import ast
import importlib.util
import re
from pathlib import Path

import pytest

from entropylaw.logs import catalog
from entropylaw.logs.runs.step_column import STEP_NAMES
from tests.conftest import nightly

#: Trainer, role, and what it logs there.
ROLES = {
    ("slime", "entropy"): ["rollout/entropy"],
    ("art", "entropy"): ["loss/entropy"],
    ("art", "validation"): ["val/reward"],
    ("skyrl", "validation"): ["eval/gsm8k/avg_score", "eval/gsm8k/pass_at_8"],
    ("tinker", "validation"): ["eval/aime/score"],
    ("nemo-rl", "validation"): ["validation/pass_k"],
    ("open-instruct", "validation"): ["eval/pass_at_4", "eval/pass_at_4_unbiased"],
    ("roll", "validation"): ["val_score/all/mean"],
    ("rllm", "validation"): ["val/avg_reward"],
}
#: What a number means beside these, and its names.
NAMES = {
    "kl": [
        *("policy/policy_kl", "train/kl_penalty", "loss/kl_avg", "loss/kl_policy_ref", "kl_policy_base"),
        *("actor/kl_penalty", "actor/kl_loss@sum"),
    ],
    "dead_groups": ["by_group/frac_all_good", "by_group/frac_all_bad", "all_correct_groups_ratio"],
    "prompt_filter": ["dynamic_filtering_pass_rate", "training/filter_groups/filtered_reward_counts"],
    "further": [
        *("baseline_reward/pct_0", "baseline_reward/pct_1", "baseline_reward/pct_mixed"),
        *("solved_none", "solved_all", "batch/solve_none", "batch/solve_all"),
        *("response_length/mean", "completions/mean_length", "clipped_ratio", "response_length/clip_ratio"),
        "grad_norm",
    ],
}


@pytest.mark.parametrize(("trainer", "role"), ROLES, ids=map(" ".join, ROLES))
def test_a_trainers_key_has_its_role(trainer, role):
    (logger,) = (known for known in catalog.trainers() if known.name == trainer)
    for key in ROLES[trainer, role]:
        assert [match.key.meaning.trainer for match in catalog.matches(role, [key], logger)] == [trainer]


@pytest.mark.parametrize("meaning", NAMES)
def test_a_name_has_its_meaning_and_no_role(meaning):
    assert set(NAMES[meaning]) <= set(catalog.names(meaning))
    assert not any(map(catalog.is_metric, NAMES[meaning]))


def test_names_that_end_in_a_reward_or_a_reason_are_kept():
    for name in ("rollout/zero_std/count_1.0", "rollout/dynamic_filter/drop_zero_std_0.0"):
        assert catalog.is_useful(name)
        assert not catalog.is_metric(name)


def test_steps_of_art_are_known():
    assert "training_step" in STEP_NAMES


WORDS = re.compile("entropy|reward|score|acc|pass|kl|zero_std|solve|length|clip")
#: A key of a tracker: parts of a path.
KEY = re.compile(r"[A-Za-z]\w*(?:/[\w@.-]+)+")
#: What is neither an entropy, nor the reward of a run, nor a number beside them, and why.
OTHERS = {
    r".*(?:_|/)(?:min|max|std)|.*_(?:min|max)_.*|.*/(?:min|max|std)_.*": "no mean",
    r".*_s(?:/\w+)?|.*queue.*|agent_loop/.*|.*spec_accept.*": "durations, and how samples are made",
    r".*clip_?frac.*|clip_ratio/.*|actor/ppo_kl|approx_kl.*": "how far one update goes",
    r"prompt_length/.*|.*non_aborted/.*|completions/\w+_(?:mean_)?length": "other lengths",
    r"rewards/\w+(?:/mean)?|\w*rewards/(?:chosen|rejected|margins|accuracies)": "parts, and pairs of DPO",
    r"objective/(?:non_score_reward|scores_margin)": "terms of what is maximised",
    r"self_distillation/.*|teacher_\w+/.*": "of a teacher",
    r".*coeff?": "coefficients",
}


def logged_keys(source: str) -> set[str]:
    """The keys of dicts and the subscripts in a program that may be those of a tracker."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        nodes = [node.slice] if isinstance(node, ast.Subscript) else getattr(node, "keys", [])
        for key in nodes:
            parts = key.values if isinstance(key, ast.JoinedStr) else [key]
            texts = [str(part.value) if isinstance(part, ast.Constant) else "x" for part in parts if part]
            found.add("".join(texts))
    return {key for key in found if KEY.fullmatch(key) and WORDS.search(key)}


def unclassed(keys: set[str]) -> list[str]:
    """The keys that neither the catalog nor the list of others has."""
    others = re.compile("|".join(OTHERS))
    return sorted(key for key in keys if not catalog.is_useful(key) and not others.fullmatch(key))


def test_keys_are_found_in_a_program():
    source = 'log = {"actor/entropy": 1, f"eval/{name}/avg_score": 2}\nlog["made/up_reward"] = log["loss"]\n'
    keys = logged_keys(source)
    assert keys == {"actor/entropy", "eval/x/avg_score", "made/up_reward"}
    assert unclassed(keys) == ["made/up_reward"]


PACKAGES = ("trl", "verl", "openrlhf", "skyrl", "nemo_rl", "slime", "tinker_cookbook", "roll", "rllm", "art")


@nightly
@pytest.mark.parametrize("package", PACKAGES)
def test_every_key_of_an_installed_trainer_is_classed(package):
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        pytest.skip(f"{package} is not installed")
    files = Path(found.submodule_search_locations[0]).rglob("*.py")
    keys = set().union(*(logged_keys(file.read_text("utf-8")) for file in files))
    assert keys, f"{package} logs nothing: its sources are elsewhere"
    assert unclassed(keys) == []
