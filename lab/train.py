"""A run from its config: the supervised start, then the stages, one row per step; deterministic.

Row ``step = t`` is the policy *before* update t, for entropy and accuracy alike; the last row has no update.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from lab.config import Config, Counts, Objective, Stage, known
from lab.domains import demonstrations, grade
from lab.measure import (
    Floats,
    Row,
    batch_row,
    covariance,
    domain_rows,
    evaluate,
    score,
    validation_prompts,
)
from lab.objectives import Batch, advantages_of, divergence, loss_of
from lab.policy import Policy, chosen, log_probs, sample
from lab.task import (
    PAD,
    PROMPT,
    STRATEGIES,
    Domain,
    Grades,
    Mask,
    Tokens,
    is_written,
    numbers,
)
from lab.task import prompts_of as task_prompts


@dataclass(frozen=True)
class Answers:
    """Answers to fixed prompts, ``samples`` in a row to each; entropy and log-probability of shape (n, T)."""

    prompts: Tokens
    responses: Tokens
    entropy: Floats
    logp: Floats
    samples: int


@dataclass
class Log:
    """The log of a run: a row per step, and answers to fixed prompts at the steps that the config names.

    ``counted`` has the prompts and the responses whose distinct answers are counted.
    """

    rows: list[Row] = field(default_factory=list)
    answers: dict[int, Answers] = field(default_factory=dict)
    counted: dict[int, tuple[Tokens, Tokens]] = field(default_factory=dict)


def start_file(config: Config, cache: Path) -> Path:
    """Where the start of a run is kept."""
    settings = json.dumps(known([asdict(config.start), asdict(config.size)]), sort_keys=True)
    name = "_".join([*config.start.domains, f"width{config.size.width}"])
    return cache / f"{name}_{hashlib.sha256(settings.encode()).hexdigest()[:8]}.pt"


def start_of(config: Config, cache: Path, say: Callable[[str], None]) -> Policy:
    """The policy after its supervised start; runs with the same start share the one in ``cache``.

    It is kept with the runs: trained again on another kind of processor it is another policy, since rounding
    differs in the last digit and two thousand updates amplify that.
    """
    torch.manual_seed(config.start.seed)
    policy = Policy(config.size)
    kept = start_file(config, cache)
    if kept.exists():
        policy.load_state_dict(torch.load(kept, weights_only=True))
        return policy
    start, random = config.start, np.random.default_rng(config.start.seed)
    optimizer = adamw(policy, start.lr)
    for step in range(start.steps):
        warm, left = min(1.0, (step + 1) / 100), (1 + np.cos(np.pi * step / start.steps)) / 2
        optimizer.param_groups[0]["lr"] = start.lr * warm * (0.05 + 0.95 * left)
        share = start.batch // len(start.domains)
        shown = [
            demonstrations(domain, share, random, start.wrong_plan, start.wrong_execution)
            for domain in start.domains
        ]
        loss = imitate(policy, optimizer, torch.as_tensor(np.concatenate(shown)), 1.0)[0]
        if step % 500 == 0:
            say(f"start {step}/{start.steps}: loss {loss:.3f}")
    kept.parent.mkdir(parents=True, exist_ok=True)
    # Written to another file and moved, so that a run in parallel never reads an incomplete file.
    temporary = kept.with_suffix(f".{os.getpid()}")
    torch.save(policy.state_dict(), temporary)
    temporary.replace(kept)
    return policy


def adamw(policy: Policy, lr: float) -> torch.optim.AdamW:
    """The optimiser of every phase."""
    return torch.optim.AdamW(policy.parameters(), lr=lr, betas=(0.9, 0.99), weight_decay=0.01)


def imitate(
    policy: Policy, optimizer: torch.optim.Optimizer, shown: Tensor, limit: float
) -> tuple[float, float]:
    """One update towards demonstrations: the loss (nats per token) and the norm of its gradient."""
    prompts, answers = shown[:, :PROMPT], shown[:, PROMPT:]
    logp = chosen(log_probs(policy, prompts, answers), answers)
    loss = -logp[answers != PAD].mean()
    return float(loss.detach()), update(policy, optimizer, loss, limit)


def update(policy: Policy, optimizer: torch.optim.Optimizer, loss: Tensor, limit: float) -> float:
    """One optimiser step; returns the gradient's norm before clipping."""
    optimizer.zero_grad()
    torch.autograd.backward(loss)
    norm = torch.nn.utils.clip_grad_norm_(policy.parameters(), limit)
    optimizer.step()
    return float(norm)


class Trainer:
    """The state of a run between its steps."""

    def __init__(self, config: Config, start: Policy) -> None:
        self.config, self.start = config, start
        self.policy = copy.deepcopy(start)
        self.optimizer = adamw(self.policy, config.lr)
        self.random = np.random.default_rng(config.seed)
        self.generator = torch.Generator().manual_seed(config.seed)
        self.fixed = validation_prompts(config)
        self.log = Log()

    def run(self, say: Callable[[str], None]) -> Log:
        """Run all stages; the last row is of the final policy."""
        for step, stage in enumerate(self._schedule()):
            row = self._row(step, stage, last=step == self.config.steps)
            self.log.rows.append(row)
            if "val_acc" in row:
                say(f"step {step}/{self.config.steps}: H {row['entropy']:.3f}, val_acc {row['val_acc']:.3f}")
        return self.log

    def _schedule(self) -> Iterator[Stage]:
        for stage in self.config.stages:
            yield from [stage] * stage.steps
        yield self.config.stages[-1]

    def _row(self, step: int, stage: Stage, *, last: bool) -> Row:
        """Measure the policy at a step, then update it."""
        config = self.config
        repeated = np.repeat(self._prompts(stage.domains), config.samples, axis=0)
        prompts = torch.as_tensor(repeated)
        responses = sample(self.policy, prompts, self.generator)
        logp_all, logp, entropy = score(self.policy, prompts, responses)
        start_logp = score(self.start, prompts, responses)[0]
        written = torch.as_tensor(is_written(responses.numpy()))
        grades = grade(repeated, responses.numpy())
        objective = stage.objective or config.objective
        rewards = self._rewards(objective, grades, written.numpy())
        advantages = advantages_of(rewards, config.samples, objective.advantage)
        batch = Batch(prompts, responses, written, advantages, logp, start_logp)

        row: Row = {"step": step}
        if config.edition == 1:
            row["stage"] = "+".join([stage.kind, *stage.domains])
        else:
            row |= {"stage": stage.kind, "domain": "+".join(stage.domains)}
            row["share_groups_without_gradient"] = no_gradient(rewards, config.samples)
        row |= batch_row(responses.numpy(), entropy.numpy(), logp.numpy(), grades)
        row |= domain_rows(config.domains, repeated, responses.numpy(), entropy.numpy(), grades)
        row["reward_mean"] = float(rewards.mean())
        row["kl_to_start"] = float(divergence(logp_all, start_logp)[written].mean())
        row["cov_logp_advantage"] = covariance(logp, advantages, written)
        if step % config.val_every == 0 or last:
            row |= evaluate(self.policy, self.fixed, config.val_samples, own_generator(config, step))
        if step in config.tokens_at:
            self.log.answers[step] = self._answers(own_generator(config, step))
        if config.counts and step in config.counts.at:
            self.log.counted[step] = self._counted(config.counts, own_generator(config, step))
        norm, clipped = (None, None) if last else self._update(stage, batch)
        return row | {"grad_norm": norm, "clip_fraction": clipped}

    def _answers(self, generator: torch.Generator) -> Answers:
        """Answers to the first of the fixed prompts, as many as a step draws."""
        share = self.config.prompts // len(self.fixed)
        first = np.concatenate([prompts[:share] for prompts in self.fixed.values()])
        repeated = np.repeat(first, self.config.samples, axis=0)
        responses = sample(self.policy, torch.as_tensor(repeated), generator)
        _, logp, entropy = score(self.policy, torch.as_tensor(repeated), responses)
        return Answers(repeated, responses.numpy(), entropy.numpy(), logp.numpy(), self.config.samples)

    def _counted(self, counts: Counts, generator: torch.Generator) -> tuple[Tokens, Tokens]:
        """Responses to the first of the fixed prompts of every domain."""
        first = np.concatenate([prompts[: counts.prompts] for prompts in self.fixed.values()])
        repeated = np.repeat(first, counts.samples, axis=0)
        return repeated, sample(self.policy, torch.as_tensor(repeated), generator).numpy()

    def _prompts(self, domains: tuple[Domain, ...]) -> Tokens:
        share = self.config.prompts // len(domains)
        return np.concatenate(
            [task_prompts(domain, numbers(share, self.random, validation=False)) for domain in domains]
        )

    def _rewards(self, objective: Objective, grades: Grades, written: Mask) -> Tensor:
        n = len(written)
        if objective.reward == "random":
            return torch.as_tensor(self.random.integers(0, 2, n).astype(np.float32))
        rewards = grades.correct.astype(np.float32) * (objective.reward != "none")
        if objective.reward == "unchecked":
            rewards[grades.strategy == STRATEGIES.index("direct")] = 2.0
        if objective.max_tokens is not None:
            rewards[written.sum(1) > objective.max_tokens] = 0.0
        return torch.as_tensor(rewards)

    def _update(self, stage: Stage, batch: Batch) -> tuple[float, float | None]:
        """One update per minibatch: the mean norm of the gradient and the mean clip fraction."""
        config, n = self.config, len(batch.prompts)
        objective = stage.objective or config.objective
        limit = config.gradient_limit if stage.gradient_limit is None else stage.gradient_limit
        self.optimizer.param_groups[0]["lr"] = config.lr if stage.lr is None else stage.lr
        norms, clipped = [], []
        for rows in torch.randperm(n, generator=self.generator).chunk(config.minibatches):
            if stage.kind == "sft":
                share = len(rows) // len(stage.domains)
                shown = [demonstrations(domain, share, self.random) for domain in stage.domains]
                both = torch.as_tensor(np.concatenate(shown))
                norms.append(imitate(self.policy, self.optimizer, both, limit)[1])
                continue
            part = batch[rows]
            logp_all = log_probs(self.policy, part.prompts, part.responses)
            loss, outside = loss_of(objective, part, logp_all, self.generator)
            norms.append(update(self.policy, self.optimizer, loss, limit))
            if objective.surrogate != "gradient":
                clipped.append(float(outside))
        return float(np.mean(norms)), float(np.mean(clipped)) if clipped else None


def no_gradient(rewards: Tensor, samples: int) -> float:
    """Share of the groups of ``samples`` rewards that are all equal, from which GRPO has no gradient."""
    groups = rewards.view(-1, samples)
    return float((groups == groups[:, :1]).all(1).float().mean())


def own_generator(config: Config, step: int) -> torch.Generator:
    """A random generator for measurements, so that their number does not change the training."""
    return torch.Generator().manual_seed(1_000_003 * (config.seed + 1) + step)


def train(config: Config, cache: Path, say: Callable[[str], None]) -> Log:
    """A run from its config, on one thread, because threads change the last digits of sums."""
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    start = start_of(config, cache, say)
    return Trainer(config, start).run(say)
