"""The accuracy of a start that is sampled below temperature 1 and not updated.

It is the baseline for gains that are attributed to reinforcement learning at a lower entropy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import torch

from lab.config import Config
from lab.domains import grade
from lab.measure import pass_at, validation_prompts
from lab.policy import Past, Policy, entropy_of, log_probs, sample
from lab.task import is_written
from lab.train import start_of

TEMPERATURES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.45, 0.4, 0.35, 0.3, 0.25, 0.2, 0.15, 0.1)


class Cooled:
    """A policy whose logits are divided by a temperature."""

    def __init__(self, policy: Policy, temperature: float) -> None:
        self.policy, self.temperature = policy, temperature
        self.room, self.response = policy.room, policy.response

    def __call__(self, tokens: torch.Tensor, past: list[Past] | None = None, start: int = 0) -> torch.Tensor:
        """Logits, as of the policy."""
        logits: torch.Tensor = self.policy(tokens, past, start) / self.temperature
        return logits


def cool(configs: Sequence[Config], cache: Path, out: Path, say: Callable[[str], None]) -> None:
    """Write entropy and accuracy of each run's start at each temperature, a row each."""
    torch.set_num_threads(1)
    rows = []
    for config in configs:
        start = start_of(config, cache, say)
        rows += [{"run": config.run, **measured(config, start, value)} for value in TEMPERATURES]
    pq.write_table(pa.Table.from_pylist(rows), out, compression="zstd")


def measured(config: Config, start: Policy, temperature: float) -> dict[str, float]:
    """Token-mean entropy of the cooled distribution on its own answers, accuracy, and pass@16."""
    policy = Cooled(start, temperature)
    (prompts,) = validation_prompts(config).values()
    repeated = torch.as_tensor(prompts).repeat_interleave(config.val_samples, 0)
    generator = torch.Generator().manual_seed(round(1000 * temperature))
    responses = sample(policy, repeated, generator)
    with torch.no_grad():
        entropy = entropy_of(log_probs(policy, repeated, responses))
    correct = grade(repeated.numpy(), responses.numpy()).correct.reshape(-1, config.val_samples)
    return {
        "temperature": temperature,
        "entropy": float(entropy[torch.as_tensor(is_written(responses.numpy()))].mean()),
        "val_acc": float(correct.mean()),
        "val_pass16": pass_at(correct.sum(1), config.val_samples, 16),
    }
