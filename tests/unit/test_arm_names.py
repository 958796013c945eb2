"""Which runs are an arm: by their names, a column, a group at W&B, a configuration."""

import json

import numpy as np
import pytest

from entropylaw import EntropyLawError, Run
from entropylaw.logs.load import read_all
from entropylaw.logs.source import Source
from entropylaw.pipeline.arms import config_of, grouped
from entropylaw.pipeline.compare import by_arm
from entropylaw.pipeline.inputs import Input
from entropylaw.run_names import arm_by_seed, split_arm
from tests.hostile import refused
from tests.typed import write_csv
from tests.unit.test_ingest_wandb import about, log, row


@pytest.mark.parametrize(
    ("name", "path", "arm"),
    [
        ("grpo_s0", "", "grpo"),
        ("grpo-seed1", "", "grpo"),
        ("grpo seed=3", "", "grpo"),
        ("grpo_seed_2", "", "grpo"),
        ("grpo, seed=3", "", "grpo"),
        ("grpo/s1", "", "grpo"),
        ("grpo.seed0", "", "grpo"),
        ("Grpo_S3", "", "Grpo"),
        ("s1_grpo", "", "grpo"),
        ("random_seed_3-grpo", "", "grpo"),
        ("grpo-seed1-lr3", "", "grpo-lr3"),
        ("lr1e-6_s12_v2", "", "lr1e-6_v2"),
        ("entropy_bonus_0.1_s1", "", "entropy_bonus_0.1"),
        ("gsm8k_s0", "", "gsm8k"),
        ("grpo_s0#2", "", "grpo"),
        ("seed3", "runs/grpo/seed3/metrics.csv", "grpo"),
        ("s0 (clip)", "clip/s0/m.csv", "clip"),
        ("s0", "/data/clip/s0/logs/m.csv", "clip"),
        ("s0", "runs/clip_s0/s0/m.csv", "clip"),
        ("s0", "/s0/m.csv", None),
        ("run (grpo/seed_1)", "grpo/seed_1/run/m.csv", "run (grpo)"),
        ("seed3", "seed3.csv", None),
        ("diverging", "grpo/s1/diverging.csv", None),
        ("qwen2.5-3s1", "", None),
        ("class_s3x", "", None),
        ("ppo_seeds", "", None),
        ("steps100", "", None),
        ("Qwen2.5-0.5B-bsz256", "", None),
    ],
)
def test_an_arm_is_a_name_or_a_folder_without_its_seed(name, path, arm):
    assert arm_by_seed(name, path) == arm


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("grpo=logs", ("grpo", "logs")),
        ("clip higher=a b.csv", ("clip higher", "a b.csv")),
        ("grpo=out/lr=1/m.csv", ("grpo", "out/lr=1/m.csv")),
        ("out/lr=1/m.csv", ("", "out/lr=1/m.csv")),
        ("wandb://e/p/r?x=1", ("", "wandb://e/p/r?x=1")),
        ("logs", ("", "logs")),
        ("=logs", ("", "=logs")),
        ("grpo=", ("", "grpo=")),
    ],
)
def test_an_argument_is_a_path_or_an_arm_and_a_path(text, parts):
    assert split_arm(text) == parts


def test_a_file_with_an_equals_sign_is_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lr=1.csv").touch()
    assert split_arm("lr=1.csv") == ("", "lr=1.csv")


def test_arms_add_up_and_patterns_and_commas_are_expanded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("b_s1.csv", "b_s0.csv", "a.csv", "x,y.csv"):
        (tmp_path / name).touch()
    found = by_arm(["b=b_s*.csv", "a=a.csv", "b=x,y.csv", "c=a.csv,b_s0.csv"], None)
    assert found == {"b": ["b_s0.csv", "b_s1.csv", "x,y.csv"], "a": ["a.csv"], "c": ["a.csv", "b_s0.csv"]}
    assert by_arm(["a.csv", "b_s0.csv"], "(.)") == {"": ["a.csv", "b_s0.csv"]}


@pytest.mark.parametrize(
    ("arguments", "arms", "slug"),
    [
        (("a=no/*.csv",), None, "arm-without-logs"),
        (("a=x.csv", "y.csv"), None, "arm-missing"),
        (("a=x.csv", "b=y.csv"), "(.)", "arms-named-twice"),
    ],
)
def test_arguments_that_name_no_arms(arguments, arms, slug):
    refused(slug, by_arm, arguments, arms, kind=EntropyLawError)


def member(name: str, config=None, columns=None, words=None, path: str = "log.csv") -> Input:
    run = Run(
        name=name,
        source=Source(path=path, format="csv", sha256="", rows=3),
        step=np.arange(3.0),
        columns=columns or {},
        config=config or {},
        words=words or {},
    )
    return Input(name=name, path=path, run=run)


def names(members, how=None):
    found = grouped(members, how)
    return {one.arm: one.runs for one in found.grouped}, [one.run for one in found.left_out]


def test_names_are_grouped_in_their_order_and_a_run_without_an_arm_is_named():
    members = [member(name) for name in ("rloo_s0", "grpo_s0", "diverging", "grpo_s1")]
    assert names(members) == ({"rloo": ("rloo_s0",), "grpo": ("grpo_s0", "grpo_s1")}, ["diverging"])
    found = grouped(members)
    assert found.left_out[0].why.startswith("no seed in its name")
    assert [one.sentence for one in found.grouped] == [
        "rloo: 1 run (rloo_s0)",
        "grpo: 2 runs (grpo_s0, grpo_s1)",
    ]


def test_more_than_three_runs_of_an_arm_are_named_by_the_first_and_the_last():
    members = [member(f"{arm}_s{seed}") for arm in ("grpo", "rloo") for seed in range(4)]
    assert grouped(members).grouped[0].sentence == "grpo: 4 runs (grpo_s0 … grpo_s3)"


def test_groups_at_wandb_are_arms_where_names_have_no_seed():
    members = [member("sunny-3", {"wandb_group": "grpo"}), member("dry-7", {"wandb_group": "rloo"})]
    assert names(members) == ({"grpo": ("sunny-3",), "rloo": ("dry-7",)}, [])
    assert set(grouped(members).by.values()) == {"groups at W&B"}


def test_runs_that_only_their_configurations_tell_apart_need_a_key():
    members = [member(f"run {place}", {"seed": place, "algo": "grpo"}) for place in range(2)]
    error = refused("no-arm-recognised", grouped, members, kind=EntropyLawError)
    assert "'run 0', 'run 1'" in error.message
    assert "config:KEY" in error.hint


def test_arms_by_a_pattern_its_first_group_or_all_of_it():
    members = [member(name) for name in ("lr3-a", "lr3-b", "lr1-a", "none")]
    assert names(members, r"lr(\d)") == ({"3": ("lr3-a", "lr3-b"), "1": ("lr1-a",)}, ["none"])
    assert names(members, r"lr\d") == ({"lr3": ("lr3-a", "lr3-b"), "lr1": ("lr1-a",)}, ["none"])


def test_arms_by_a_column_or_a_key():
    words = [{"algo": ("grpo", "", "grpo")}, {"algo": ("rloo",) * 3}, {}]
    members = [member(f"r{place}", words=one) for place, one in enumerate(words)]
    assert names(members, "algo") == ({"grpo": ("r0",), "rloo": ("r1",)}, ["r2"])
    members = [
        member(f"r{place}", columns={"lr": np.array([np.nan, x, x])}) for place, x in enumerate((1, 2.5))
    ]
    assert names(members, "lr") == ({"lr=1": ("r0",), "lr=2.5": ("r1",)}, [])
    members = [member("a", {"actor/lr": 1e-6}), member("b", {"actor/lr": 1e-5}), member("c")]
    for key in ("config:actor/lr", "config:lr"):
        assert names(members, key) == ({"lr=1e-06": ("a",), "lr=1e-05": ("b",)}, ["c"])


@pytest.mark.parametrize(
    ("how", "slug", "words"),
    [
        ("zzz", "no-such-arm", "'grpo_s0'"),
        ("(zz", "bad-option", "not a regular expression"),
        ("config:lrr", "no-such-key", "config:lrr"),
        ("stage", "arm-varies", "'rl', 'sft'"),
        ("grpo", "too-few-arms", "grpo: 2 runs (grpo_s0, grpo_s1); in no arm: 'rloo_s0'"),
    ],
)
def test_a_wrong_way_to_group_is_an_error_with_what_was_found(how, slug, words):
    members = [
        member("grpo_s0", {"actor/lr": 1.0}, words={"stage": ("rl", "rl", "sft")}),
        *map(member, ("grpo_s1", "rloo_s0")),
    ]
    error = refused(slug, grouped, members, how, kind=EntropyLawError)
    assert words in error.message
    assert error.hint


def test_what_is_read_of_a_run_for_its_arm(tmp_path):
    log = write_csv(tmp_path / "log.csv", n=4)
    lines = log.read_text().splitlines()
    cells = ["algo,note", *(f"{algo},x" for algo in ("grpo", "grpo", "", "grpo"))]
    log.write_text("\n".join(map(",".join, zip(lines, cells, strict=True))) + "\n")
    (tmp_path / "config.json").write_text(json.dumps({"seed": 3, "stages": [{"kind": "rl"}]}))
    (run,) = read_all([str(log)], columns=["algo"]).runs
    assert run.words == {"algo": ("grpo", "grpo", "", "grpo")}
    assert config_of(Input(name=run.name, path=str(log), run=run)) == {"seed": 3, "stages/0/kind": "rl"}
    assert read_all([str(log)]).runs[0].words == {}


def test_the_group_of_a_run_at_wandb_is_read(tmp_path):
    for number, group in enumerate(("grpo", "grpo", "rloo")):
        records = [about(run_id=f"id{number}", display_name=f"sunny-{number}", group=group)]
        records += [row(step, **{"actor/entropy": 0.5 - step / 10, "reward": 0.5}) for step in range(3)]
        (tmp_path / f"run-id{number}.wandb").write_bytes(log(records)[0])
    runs = read_all([str(tmp_path)]).runs
    assert [run.settings for run in runs] == [{}] * 3
    found, _ = names([Input(name=run.name, path=run.source.path, run=run) for run in runs])
    assert found == {"grpo": ("sunny-0", "sunny-1"), "rloo": ("sunny-2",)}


def test_runs_of_one_table_keep_the_text_of_their_own_rows(tmp_path):
    rows = ["arm,seed,step,actor/entropy,critic/score/mean"]
    rows += [f"{arm},{seed},{step},0.{step + 1},0.5" for arm in "ab" for seed in (0, 1) for step in range(4)]
    log = tmp_path / "all.csv"
    log.write_text("\n".join(rows) + "\n")
    runs = read_all([str(log)], columns=["arm"]).runs
    assert [run.words["arm"] for run in runs] == [("a",) * 4] * 2 + [("b",) * 4] * 2
    found, _ = names([Input(name=run.name, path=str(log), run=run) for run in runs])
    assert found == {"a": ("a, seed=0", "a, seed=1"), "b": ("b, seed=0", "b, seed=1")}
