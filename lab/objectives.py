"""From rewards to a loss: advantages, surrogates and terms that decrease or increase entropy.

Shapes: answers n, written positions T, vocabulary V. Every mean over tokens is over the written positions
of the minibatch, so that a long answer has more weight than a short one.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from lab.config import Objective
from lab.policy import chosen, entropy_of


@dataclass(frozen=True)
class Batch:
    """Answers with all data of an update."""

    prompts: Tensor  # (n, PROMPT)
    responses: Tensor  # (n, T)
    written: Tensor  # (n, T), bool
    advantages: Tensor  # (n,)
    old_logp: Tensor  # (n, T): log-probabilities under the policy that wrote them
    start_logp: Tensor  # (n, T, V): under the policy that the run started from

    def __getitem__(self, rows: Tensor) -> Batch:
        return Batch(
            self.prompts[rows],
            self.responses[rows],
            self.written[rows],
            self.advantages[rows],
            self.old_logp[rows],
            self.start_logp[rows],
        )


def advantages_of(rewards: Tensor, samples: int, kind: str) -> Tensor:
    """Advantages of n rewards, of which ``samples`` in a row answer one prompt.

    group: (r - mean) / (sd + 1e-6), both of the group, 0 where all rewards of a group agree;
    leave-one-out: r - mean of the group's other rewards; batch: r - mean of the batch.
    """
    groups = rewards.view(-1, samples)
    centred = groups - groups.mean(1, keepdim=True)
    if kind == "group":
        centred = centred / (groups.std(1, keepdim=True) + 1e-6)
    elif kind == "leave-one-out":
        centred = centred * samples / (samples - 1)
    else:
        centred = groups - rewards.mean()
    return centred.reshape(-1)


def covariances(logp: Tensor, advantages: Tensor, written: Tensor) -> Tensor:
    """Every token's share of the covariance of log-probability and advantage, shape (n, T); 0 if not written.

    (log π - its mean) · (A - its mean) over the written tokens, arXiv:2505.22617 eq. 10.
    """
    spread = advantages.unsqueeze(1).expand_as(logp)
    products = (logp - logp[written].mean()) * (spread - spread[written].mean())
    return torch.where(written, products, 0.0)


def loss_of(
    objective: Objective, batch: Batch, logp_all: Tensor, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """The loss of a minibatch, and the share of its tokens whose ratio is outside the clip range."""
    logp = chosen(logp_all, batch.responses)
    advantages = batch.advantages.unsqueeze(1).expand_as(logp)
    ratio = (logp - batch.old_logp).exp()
    low, high = 1 - objective.clip_low, 1 + objective.clip_high
    outside = ((ratio > high) & (advantages > 0)) | ((ratio < low) & (advantages < 0))
    if objective.surrogate == "gradient":
        gain = logp * advantages
    elif objective.surrogate == "preserve":
        bound = ratio.detach().clamp(low, high)
        gain = torch.where(outside, bound * ratio / ratio.detach(), ratio) * advantages
    elif objective.kl_cov:
        gain = ratio * advantages - held_back(objective, batch, logp)
    else:
        gain = torch.minimum(ratio * advantages, ratio.clamp(low, high) * advantages)
        if objective.clip_cov:
            gain = gain * kept(objective, batch, logp, outside, generator)
    written = batch.written
    loss = -gain[written].mean()
    if objective.entropy_bonus:
        loss = loss - objective.entropy_bonus * entropy_of(logp_all)[written].mean()
    if objective.kl_penalty:
        loss = loss + objective.kl_penalty * divergence(logp_all, batch.start_logp)[written].mean()
    return loss, outside[written].float().mean()


def kept(
    objective: Objective, batch: Batch, logp: Tensor, outside: Tensor, generator: torch.Generator
) -> Tensor:
    """Clip-Cov: 0 for tokens that the update leaves out, 1 for the others, shape (n, T).

    At most a share ``clip_cov`` of all tokens, at random among those in the band whose ratio is not clipped.
    The paper's share is 2e-4 of batches of 10⁶ tokens; a minibatch has about 1,200.
    """
    covariance = covariances(logp.detach(), batch.advantages, batch.written)
    low, high = objective.clip_cov_band
    within = torch.nonzero((covariance > low) & (covariance < high) & batch.written & ~outside)
    n = min(len(within), round(objective.clip_cov * int(batch.written.sum())))
    rows, positions = within[torch.randperm(len(within), generator=generator)[:n]].T
    keep = torch.ones_like(logp)
    keep[rows, positions] = 0.0
    return keep


def held_back(objective: Objective, batch: Batch, logp: Tensor) -> Tensor:
    """KL-Cov: weight · abs(log π - log π_old) at the share ``kl_cov`` with the largest covariance, else 0.

    The ratio is not clipped in this arm, as in the paper's code. The share is 2e-3 at most there.
    """
    covariance = covariances(logp.detach(), batch.advantages, batch.written)
    n = max(1, round(objective.kl_cov * int(batch.written.sum())))
    threshold = covariance[batch.written].topk(n).values[-1]
    held = batch.written & (covariance >= threshold)
    return torch.where(held, objective.kl_cov_weight * (logp - batch.old_logp).abs(), 0.0)


def divergence(logp: Tensor, other: Tensor) -> Tensor:
    """KL(π ‖ other) = Σ π (log π - log other) over the vocabulary, in nats, for the last axis."""
    return (logp.exp() * (logp - other)).sum(-1)
