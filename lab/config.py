"""The complete settings of a run, which its ``config.json`` stores."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from lab.task import Domain


@dataclass(frozen=True)
class Size:
    """Width, layers and heads of the policy, and the most tokens of a response; None: 19."""

    width: int = 48
    layers: int = 3
    heads: int = 4
    response: int | None = None


@dataclass(frozen=True)
class Start:
    """The supervised start: demonstrations with planted mistakes, from scratch."""

    steps: int = 2000
    batch: int = 128
    lr: float = 4e-3
    seed: int = 0
    wrong_plan: float = 0.30
    wrong_execution: float = 0.15
    domains: tuple[Domain, ...] = ("free",)


@dataclass(frozen=True)
class Objective:
    """The objective of an update; the defaults are plain GRPO.

    Attributes
    ----------
    advantage
        ``group``: reward less its group's mean, over the group's standard deviation (GRPO, arXiv:2402.03300);
        ``leave-one-out``: less the mean of the other answers (RLOO, arXiv:2402.14740);
        ``batch``: less the mean of the batch (REINFORCE with a baseline).
    surrogate
        ``clip``: the clipped ratio of PPO (arXiv:1707.06347); ``gradient``: advantage times log-probability;
        ``preserve``: clipped in value but not in gradient (GPPO, arXiv:2508.07629).
    reward
        ``verified``; ``random``: a fair coin, independent of the answer; ``none``: always 0;
        ``unchecked``: as verified, but every answer in one step gets 2, right or wrong, as if a bonus for
        short answers were paid without a check.
    max_tokens
        Answers with more tokens get no reward, as if they were cut there; None: no limit.
    clip_cov, kl_cov
        Share of a minibatch's tokens that Clip-Cov leaves out or KL-Cov penalises (arXiv:2505.22617 §4).
    entropy_bonus
        Weight of the exact token-mean entropy; below 0 the entropy is minimised.
    kl_penalty
        Weight of the exact KL divergence from the policy to its start.
    """

    advantage: Literal["group", "leave-one-out", "batch"] = "group"
    surrogate: Literal["clip", "gradient", "preserve"] = "clip"
    reward: Literal["verified", "random", "none", "unchecked"] = "verified"
    clip_low: float = 0.05
    clip_high: float = 0.05
    clip_cov: float = 0.0
    clip_cov_band: tuple[float, float] = (1.0, 5.0)
    kl_cov: float = 0.0
    kl_cov_weight: float = 1.0
    entropy_bonus: float = 0.0
    kl_penalty: float = 0.0
    max_tokens: int | None = None


@dataclass(frozen=True)
class Stage:
    """Some steps of one kind: ``rl``, or ``sft`` on diverse demonstrations without mistakes.

    Attributes
    ----------
    objective, lr, gradient_limit
        In this stage, in place of the run's; None: the run's.
    failure
        The name of the failure that these settings cause; None: no failure is caused.
    """

    steps: int = 400
    kind: Literal["rl", "sft"] = "rl"
    domains: tuple[Domain, ...] = ("free",)
    objective: Objective | None = None
    lr: float | None = None
    gradient_limit: float | None = None
    failure: str | None = None


@dataclass(frozen=True)
class Counts:
    """At each of the steps ``at``, ``samples`` answers to each of the first ``prompts`` fixed prompts."""

    at: tuple[int, ...]
    prompts: int = 100
    samples: int = 64


@dataclass(frozen=True)
class Config:
    """One run.

    Attributes
    ----------
    prompts, samples, minibatches
        Every step samples ``samples`` answers to each of ``prompts`` prompts and updates once per minibatch.
    val_prompts, val_samples, val_every
        Evaluations: fixed prompts that training does not use, answers to each, steps between evaluations.
    tokens_at
        Steps at which answers to the first of the fixed prompts are kept, token by token.
    counts
        Distinct answers that are counted at some steps; None: none.
    twin
        The healthy run with the same settings but for the cause of the failure.
    edition
        1: validation prompts with repetitions, and one column for stage and domains. The second has 400
        distinct prompts, two columns, and the share of groups without a gradient.
    also
        Formats of other tools in which ``python -m lab formats`` writes the run, see ``lab/formats.py``.
    """

    run: str
    about: str
    seed: int = 0
    size: Size = field(default_factory=Size)
    start: Start = field(default_factory=Start)
    stages: tuple[Stage, ...] = (Stage(),)
    objective: Objective = field(default_factory=Objective)
    prompts: int = 64
    samples: int = 8
    minibatches: int = 8
    lr: float = 2e-5
    gradient_limit: float = 1.0
    val_prompts: int = 400
    val_samples: int = 16
    val_every: int = 8
    tokens_at: tuple[int, ...] = ()
    also: tuple[str, ...] = ()
    counts: Counts | None = None
    twin: str | None = None
    edition: int = 2

    @property
    def steps(self) -> int:
        """Total number of updates."""
        return sum(stage.steps for stage in self.stages)

    @property
    def arm(self) -> str:
        """The run's name without its seed."""
        return re.sub(r"_s\d+$", "", self.run)

    @property
    def failure(self) -> str | None:
        """The failure that a stage causes."""
        return next((stage.failure for stage in self.stages if stage.failure), None)

    @property
    def lost_at(self) -> int | None:
        """The first step whose update has the cause of the failure; None in a run without one."""
        before = 0
        for stage in self.stages:
            if stage.failure:
                return before
            before += stage.steps
        return None

    @property
    def domains(self) -> tuple[Domain, ...]:
        """Every domain that a stage trains on, in the order of their first stage."""
        return tuple(dict.fromkeys(domain for stage in self.stages for domain in stage.domains))


def read_config(path: Path) -> Config:
    """The run that a ``config.json`` describes."""
    data = json.loads(path.read_text(encoding="utf-8"))
    data.pop("made_with", None)
    data["size"] = Size(**data["size"])
    data["start"] = Start(**_tuples(data["start"]))
    data["stages"] = tuple(_stage(stage) for stage in data["stages"])
    data["objective"] = Objective(**_tuples(data["objective"]))
    if "counts" in data:
        data["counts"] = Counts(**_tuples(data["counts"]))
    return Config(**{"edition": 1, **_tuples(data)})


def write_config(config: Config, made_with: dict[str, str], path: Path) -> None:
    """Every setting that is not None, and the versions that made the run."""
    data = {**known(asdict(config)), "made_with": made_with}
    if config.edition == 1:
        del data["edition"]  # which the first edition did not have
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def known(data: Any) -> Any:
    """The same data without the keys whose value is None."""
    if isinstance(data, dict):
        return {key: known(value) for key, value in data.items() if value is not None}
    return [known(value) for value in data] if isinstance(data, list | tuple) else data


def _stage(data: dict[str, Any]) -> Stage:
    if "objective" in data:
        data = {**data, "objective": Objective(**_tuples(data["objective"]))}
    return Stage(**_tuples(data))


def _tuples(data: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}
