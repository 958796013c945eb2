"""Cautions for dead groups and dynamic batches, KL to the reference, and entropies that are not the same."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.typed import typed


def write(folder, seed=0, config="", **columns):
    """A log of a run with a configuration."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(seed)
    entropy = 0.05 + 0.5 * np.exp(-np.arange(40) / 10)
    values = {"entropy": entropy, "val_acc": 0.9 - 0.6 * entropy + 0.005 * rng.standard_normal(40)}
    values |= {name.replace("__", "/"): np.broadcast_to(cells, 40) for name, cells in columns.items()}
    lines = [
        json.dumps({"step": 5 * row, **{name: float(v[row]) for name, v in values.items()}})
        for row in range(40)
    ]
    (folder / "log.jsonl").write_text("\n".join(lines) + "\n")
    if config:
        (folder / "config.yaml").write_text(config)


def findings(folder, log):
    done = typed("fit", log, "--format", "json", "--no-save", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["runs"][0]["result"]["findings"]
    return {finding["code"]: finding["values"] for finding in found}


def test_groups_without_gradient_and_batches_of_a_changing_size(tmp_path):
    dead = np.where(np.arange(40) < 20, 0.3, 1.0)
    config = "actor_rollout_ref:\n  actor:\n    use_dynamic_bsz: true\n"
    write(tmp_path / "a", frac_reward_zero_std=dead, config=config)
    found = findings(tmp_path, "a/log.jsonl")
    assert found["dead-groups"] == {"name": "frac_reward_zero_std", "share": 1.0}
    assert found["dynamic-batches"] == {"name": "actor_rollout_ref/actor/use_dynamic_bsz"}
    write(tmp_path / "b", frac_reward_zero_std=0.6, config=config.replace("true", "false"))
    assert not {"dead-groups", "dynamic-batches"} & findings(tmp_path, "b/log.jsonl").keys()


def test_the_divergence_is_that_from_the_reference_only(tmp_path):
    kl = np.linspace(0.0, 0.4, 40)
    write(tmp_path / "a", actor__kl_loss=kl)
    found = findings(tmp_path, "a/log.jsonl")["divergence"]
    rewards = [json.loads(line)["val_acc"] for line in (tmp_path / "a/log.jsonl").read_text().splitlines()]
    root, plain = (float(np.corrcoef(column, rewards)[0, 1]) ** 2 for column in (np.sqrt(kl), kl))
    assert (found["name"], found["best"], found["other"]) == ("actor/kl_loss", "√KL", "KL")
    assert (found["r_squared"], found["other_r_squared"]) == pytest.approx((root, plain))
    write(tmp_path / "b", actor__ppo_kl=kl)
    assert "divergence" not in findings(tmp_path, "b/log.jsonl")


def test_entropies_at_other_temperatures_are_not_the_same_quantity(tmp_path):
    for arm, temperature, first in (("warm", 1.0, 0), ("cold", 0.6, 10)):
        for seed in range(2):
            write(tmp_path / f"{arm}_s{seed}", first + seed, config=f"temperature: {temperature}\n")
    done = typed("compare", "warm=warm_*", "cold=cold_*", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "the entropies are not the same quantity" in text
    assert "sampled at temperature 1, that of 'cold_s0' sampled at temperature 0.6" in text
    same = typed("compare", "a=warm_s0", "b=warm_s1", cwd=tmp_path).stdout
    assert "not the same quantity" not in same
