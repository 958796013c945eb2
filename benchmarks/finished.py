"""The finished runs that state, forecasts and stop line are tested on: public logs and the lab's runs.

Public logs are split by repository, by a hash of its name: one half is for tuning. The other half was looked
at several times, and is no longer unseen (``docs/benchmarks/forecasts.md``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from entropylaw.arrays import FloatArray
from entropylaw.errors import EntropyLawError
from entropylaw.logs import catalog
from entropylaw.logs.load import read_all
from entropylaw.logs.runs import Run
from entropylaw.roles.choose import choose_entropy
from entropylaw.units import largest_reward

ROOT = Path(__file__).parent.parent
LAB = ROOT / "data" / "lab2"
LAB_REWARDS = ("val_acc", "reward_mean")
PUBLIC = ROOT.parent / "shared" / "logs"

FEWEST = 12
"""Fewest evaluations of a run that is used."""

REPOSITORIES = {
    "alexchilton__cas_nlp_module4_grpo": "alexchilton/CAS_NLP_MODULE4_GRPO",
    "trl-tfevents-eval": "alexchilton/CAS_NLP_MODULE4_GRPO",
    "trl-tfevents-multirun-dir": "alexchilton/CAS_NLP_MODULE4_GRPO",
    "trl-trainer-state": "alexchilton/CAS_NLP_MODULE4_GRPO",
    "trl-trainer-state/sparse_reward_trainer_state.json": "aaravarora01/agent-memory-redteam",
    "custom-jsonl-countdown": "beibeizzz/countdown_post_train",
    "fortitudelucifer__illustrated-grpo": "fortitudelucifer/Illustrated-GRPO",
    "garg-aayush__building-from-scratch": "garg-aayush/building-from-scratch",
    "katop1234__softmaxed_rewards": "katop1234/softmaxed_rewards",
    "neg-axiom-csv": "Prem01-cyber/AxiomForgeAI",
    "neg-telelogs-state": "joshsalako/telelogs",
    "neg-wandb-history-csv": "oraby8/research_tts",
    "neg-wandb-ui-csv": "HanlardResearch/HeteroRL_GEPO",
    "sb3-tfevents-negative-entropy": "SiddharajShirke/OPENENV_RL",
    "tinker-metrics-jsonl": "arvindcr4/tinker-rl-lab",
    "trl-console-tqdm": "Sunshine535/nips-grpo-dynamics",
    "verl-agentgym-alfworld": "HappynessI/verl-for-AgentGym",
    "verl-agentgym-babyai": "HappynessI/verl-for-AgentGym",
    "verl-agentgym-textcraft": "HappynessI/verl-for-AgentGym",
    "verl-game24-long-csv": "memoryoffish/nlp_grpo",
    "verl-gsm8k-ppo": "eric-haibin-lin/verl-data",
    "verl-qwen2-7b-math": "diqiuzhuanzhuan/verldata",
    "xiaoman654__warmgigpo-webshop": "xiaoman654/WarmGiGPO-WebShop",
}
"""A folder of public logs, or a file in it, and its repository; any other folder is one of its own."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Finished:
    """A reward of a finished run; ``entropy`` (n,) is None where none is logged.

    ``group`` is the repository, ``lab``, or what a simulation is of, and ``arm`` a part of it whose runs are
    near copies of each other. ``end`` is the last step of its log, where that is known.
    """

    group: str
    arm: str
    run: str
    step: FloatArray
    reward: FloatArray
    entropy: FloatArray | None
    most: float | None
    end: float | None = None


def public(folder: Path = PUBLIC) -> list[Finished]:
    """Every reward of the public logs, each content once."""
    runs: dict[bytes, Finished] = {}
    for path in sorted(folder.glob("*/*")):
        home = path.parent.name
        group = REPOSITORIES.get(f"{home}/{path.name}", REPOSITORIES.get(home, home))
        try:
            read = read_all([str(path)]).runs
        except EntropyLawError:
            continue
        for run in read:
            columns = [match.column for match in catalog.found(run, "validation", "training")]
            for finished in _rewards(run, columns, group, group):
                runs.setdefault(finished.step.tobytes() + finished.reward.tobytes(), finished)
    return list(runs.values())


def lab(folder: Path = LAB) -> list[Finished]:
    """Validation and training rewards of the lab's runs."""
    found: list[Finished] = []
    for path in sorted(folder.glob("*/metrics.parquet")):
        arm = path.parent.name.rpartition("_s")[0]
        for run in read_all([str(path)]).runs:
            found += _rewards(run, LAB_REWARDS, "lab", arm)
    return found


def _rewards(run: Run, columns: list[str] | tuple[str, ...], group: str, arm: str) -> Iterator[Finished]:
    try:
        logged = choose_entropy(run).values
    except EntropyLawError:
        logged = np.full(run.step.size, np.nan)
    there = np.isfinite(logged)
    for column in columns:
        values = run.columns.get(column)
        if values is None or values.dtype.kind not in "fi":
            continue
        usable = np.isfinite(values)
        step, reward = run.step[usable], values[usable].astype(float)
        if step.size >= FEWEST and np.ptp(reward) > 0:
            entropy = np.interp(step, run.step[there], logged[there]) if there.sum() >= FEWEST else None
            yield Finished(
                group=group,
                arm=arm,
                run=f"{run.name}, {column}",
                step=step,
                reward=reward,
                entropy=entropy,
                most=largest_reward(column, reward),
                end=float(run.step[-1]),
            )


def for_tuning(group: str) -> bool:
    """Whether a repository is in the half for tuning, by a hash of its name."""
    return int(hashlib.sha256(group.lower().encode()).hexdigest(), 16) % 2 == 0
