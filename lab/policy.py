"""The policy, a decoder-only transformer: sampling, and exact entropies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - the usual name

from lab.config import Size
from lab.task import END, PAD, PROMPT, RESPONSE, VOCABULARY

Past = tuple[Tensor, Tensor]
"""Keys and values of a layer, each of shape (batch, heads, PROMPT + T, width / heads)."""

CHUNK = 1024
"""Prompts that are sampled together: more do not fit into a processor's cache."""


class Block(nn.Module):
    """Attention and a feed-forward layer, normalised before each."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.heads = size.heads
        self.norm_attention, self.norm_forward = nn.LayerNorm(size.width), nn.LayerNorm(size.width)
        self.qkv = nn.Linear(size.width, 3 * size.width)
        self.out = nn.Linear(size.width, size.width)
        self.forward_layers = nn.Sequential(
            nn.Linear(size.width, 4 * size.width), nn.GELU(), nn.Linear(4 * size.width, size.width)
        )

    def forward(self, x: Tensor, past: Past | None, start: int) -> Tensor:
        """``past`` has room for the keys and values of all positions; those of x are written at ``start``."""
        batch, length, width = x.shape
        qkv = self.qkv(self.norm_attention(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        if past is not None:
            for kept, new in zip(past, (k, v), strict=True):
                kept[:, :, start : start + length] = new
            k, v = (kept[:, :, : start + length] for kept in past)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        y: Tensor = x + self.forward_layers(self.norm_forward(x))
        return y


class Policy(nn.Module):
    """Logits over the vocabulary for the token after each position."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.token = nn.Embedding(VOCABULARY, size.width)
        self.response = size.response or RESPONSE
        self.position = nn.Embedding(PROMPT + self.response, size.width)
        self.blocks = nn.ModuleList(Block(size) for _ in range(size.layers))
        self.norm = nn.LayerNorm(size.width)
        self.head = nn.Linear(size.width, VOCABULARY, bias=False)
        for weight in (self.token.weight, self.position.weight, self.head.weight):
            nn.init.normal_(weight, std=0.02 if weight is self.head.weight else 0.1)

    def forward(self, tokens: Tensor, past: list[Past] | None = None, start: int = 0) -> Tensor:
        """Logits of shape (batch, length, vocabulary) for tokens of shape (batch, length)."""
        x = self.token(tokens) + self.position.weight[start : start + tokens.shape[1]]
        for i, block in enumerate(self.blocks):
            x = block(x, None if past is None else past[i], start)
        logits: Tensor = self.head(self.norm(x))
        return logits

    def room(self, batch: int) -> list[Past]:
        """Space for the keys and values of ``batch`` sequences in every layer, not initialised."""
        width, length = self.token.embedding_dim, PROMPT + self.response
        heads = [block.heads for block in self.blocks]
        shapes = [(batch, own, length, width // own) for own in heads]
        return [(torch.empty(shape), torch.empty(shape)) for shape in shapes]


class Scores(Protocol):
    """A callable with logits as :class:`Policy`, and the most tokens of its responses."""

    response: int

    def __call__(self, tokens: Tensor, past: list[Past] | None = None, start: int = 0) -> Tensor:
        """Logits of shape (batch, length, vocabulary)."""
        ...

    def room(self, batch: int) -> list[Past]:
        """An empty ``past`` of every layer."""
        ...


def sample(policy: Scores, prompts: Tensor, generator: torch.Generator, *, greedy: bool = False) -> Tensor:
    """Responses at temperature 1 over the full vocabulary, PAD behind the end, shape (batch, T).

    A token is the largest of p / e with e exponential, the algorithm of torch.multinomial, which is much
    slower on many short rows. The noise is drawn position by position for all prompts, and at no position
    behind the longest response.
    """
    state = generator.get_state()
    noise = [] if greedy else [exponential(len(prompts), generator) for _ in range(policy.response)]
    chunks = torch.arange(len(prompts)).split(CHUNK)
    responses = torch.cat(
        [_sample(policy, prompts[rows], [drawn[rows] for drawn in noise]) for rows in chunks]
    )
    if not greedy:
        generator.set_state(state)
        for _ in range(int((responses != PAD).any(0).sum())):
            exponential(len(prompts), generator)
    return responses


def exponential(n: int, generator: torch.Generator) -> Tensor:
    """Exponential noise of shape (n, VOCABULARY)."""
    return torch.empty(n, VOCABULARY).exponential_(generator=generator)


def _sample(policy: Scores, prompts: Tensor, noise: Sequence[Tensor]) -> Tensor:
    """Responses to some prompts; without noise the most probable tokens."""
    past = policy.room(len(prompts))
    done = torch.zeros(len(prompts), dtype=torch.bool)
    written = torch.full((len(prompts), policy.response), PAD)
    with torch.no_grad():
        logits = policy(prompts, past)[:, -1]
        for i in range(policy.response):
            token = (logits.softmax(-1) / noise[i] if noise else logits).argmax(-1)
            written[:, i] = torch.where(done, PAD, token)
            done |= token == END
            if bool(done.all()) or i + 1 == policy.response:
                break
            logits = policy(written[:, i : i + 1], past, PROMPT + i)[:, -1]
    return written


def log_probs(policy: Scores, prompts: Tensor, responses: Tensor) -> Tensor:
    """Log-probability of every token at every written position, shape (batch, T, vocabulary)."""
    tokens = torch.cat([prompts, responses[:, :-1]], dim=1)
    return F.log_softmax(policy(tokens)[:, PROMPT - 1 :], dim=-1)


def entropy_of(logp: Tensor) -> Tensor:
    """H = −Σ p log p over the whole vocabulary, in nats, for the last axis."""
    return -(logp.exp() * logp).sum(-1)


def chosen(logp: Tensor, responses: Tensor) -> Tensor:
    """Log-probability of the tokens that were written, shape (batch, T)."""
    return logp.gather(-1, responses.unsqueeze(-1)).squeeze(-1)
