"""The logged measurements: of every batch before its update, and of fixed validation prompts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import comb

from lab.config import Config
from lab.domains import grade
from lab.objectives import covariances
from lab.policy import Policy, chosen, entropy_of, log_probs, sample
from lab.task import (
    DOMAINS,
    Domain,
    Grades,
    Mask,
    Tokens,
    distinct_pairs,
    is_planning,
    is_written,
    numbers,
    prompts_of,
)

Floats = NDArray[np.float32]
Row = dict[str, float | int | str | None]


def batch_row(responses: Tokens, entropy: Floats, logp: Floats, grades: Grades) -> Row:
    """Entropies, lengths and verdicts of one batch; entropies in nats, means over written tokens.

    ``entropy_response_mean`` averages within every answer first. ``entropy_semantic`` is the entropy of the
    strategies' frequencies in the batch, over the answers whose plan gives b: at most ln 6.
    """
    written, planning = is_written(responses), is_planning(responses)
    row: Row = {
        "entropy": _mean(entropy[written]),
        "entropy_response_mean": _mean((entropy * written).sum(1) / written.sum(1)),
        "entropy_planning": _mean(entropy[written & planning]),
        "entropy_execution": _mean(entropy[written & ~planning]),
        "entropy_semantic": frequency_entropy(grades.strategy[grades.strategy >= 0]),
        "entropy_token_sd": float(entropy[written].std()),
        "logp": _mean(logp[written]),
        "accuracy": _mean(grades.correct),
        "plan_right": _mean(grades.plan_right),
        "execution_right": _mean(grades.execution_right),
        "response_length": _mean(written.sum(1)),
        "tokens": int(written.sum()),
    }
    for i, strategy in enumerate(grades.strategies):
        row[f"share_{strategy.replace(' ', '_')}"] = _mean(grades.strategy == i)
    return row


def domain_rows(
    domains: tuple[Domain, ...], prompts: Tokens, responses: Tokens, entropy: Floats, grades: Grades
) -> Row:
    """Entropy and accuracy of every domain, if there are several."""
    row: Row = {}
    for domain in domains if len(domains) > 1 else ():
        of = prompts[:, 0] == DOMAINS[domain]
        written = is_written(responses) & of[:, None]
        row[f"entropy_{domain}"] = _mean(entropy[written])
        row[f"accuracy_{domain}"] = _mean(grades.correct[of])
    return row


def frequency_entropy(labels: Tokens) -> float | None:
    """H = -Σ p log p of the labels' frequencies, in nats; None without labels."""
    if len(labels) == 0:
        return None
    share = np.unique(labels, return_counts=True)[1] / len(labels)
    return float(-(share * np.log(share)).sum() + 0.0)


def covariance(logp: torch.Tensor, advantages: torch.Tensor, written: torch.Tensor) -> float:
    """Mean over the written tokens of (log π - mean)(A - mean)."""
    return float(covariances(logp, advantages, written)[written].mean())


def validation_prompts(config: Config) -> dict[Domain, Tokens]:
    """The fixed prompts of every domain: the same pairs in every run, not used in training.

    In the first edition pairs are drawn with replacement from the 793 that are held out, so that some prompts
    repeat.
    """
    random = np.random.default_rng(20_260_101)
    if config.edition == 1:
        pairs = numbers(config.val_prompts, random, validation=True)
    else:
        pairs = distinct_pairs(config.val_prompts, random)
    return {domain: prompts_of(domain, pairs) for domain in config.domains}


def evaluate(policy: Policy, fixed: Mapping[Domain, Tokens], samples: int, generator: torch.Generator) -> Row:
    """Accuracy over ``samples`` answers to every fixed prompt, pass@k, greedy accuracy, distinct right plans.

    ``val_entropy`` is the token-mean entropy over four of the answers to every prompt.
    """
    row: Row = {}
    results = {domain: _evaluate(policy, prompts, samples, generator) for domain, prompts in fixed.items()}
    for name in next(iter(results.values())):
        row[name] = _mean([result[name] for result in results.values()])
    if len(results) > 1:
        for domain, result in results.items():
            row |= {f"{name}_{domain}": value for name, value in result.items()}
    return row


def _evaluate(policy: Policy, prompts: Tokens, samples: int, generator: torch.Generator) -> dict[str, float]:
    repeated = torch.as_tensor(prompts).repeat_interleave(samples, 0)
    responses = sample(policy, repeated, generator)
    grades = grade(repeated.numpy(), responses.numpy())
    correct = grades.correct.reshape(-1, samples)
    plans = np.where(grades.correct, grades.plan, -1).reshape(-1, samples)
    few = np.flatnonzero(np.arange(len(repeated)) % samples < 4)
    entropy = score(policy, repeated[few], responses[few])[2].numpy()
    greedy = sample(policy, torch.as_tensor(prompts), generator, greedy=True)
    return {
        "val_acc": float(correct.mean()),
        "val_entropy": float(entropy[is_written(responses[few].numpy())].mean()),
        "val_greedy_acc": float(grade(prompts, greedy.numpy()).correct.mean()),
        **{f"val_pass{k}": pass_at(correct.sum(1), samples, k) for k in (1, 8, 16) if k <= samples},
        "val_distinct_correct": float(np.mean([len(set(plan[plan >= 0])) for plan in plans])),
    }


def pass_at(right: NDArray[np.int_], n: int, k: int) -> float:
    """Mean of 1 - C(n - c, k) / C(n, k) over prompts with c right answers of n (arXiv:2107.03374 eq. 1)."""
    return float(np.mean(1 - comb(n - right, k) / comb(n, k)))


def score(policy: Policy, prompts: torch.Tensor, responses: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Log-probabilities over the vocabulary and of what was written, and the entropy at every position."""
    with torch.no_grad():
        logp = log_probs(policy, prompts, responses)
        return logp, chosen(logp, responses), entropy_of(logp)


def _mean(values: Mask | Floats | Tokens | list[int] | list[float]) -> float | None:
    """The mean; None if there are no values."""
    return float(np.mean(values)) if len(values) else None
