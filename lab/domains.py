"""Demonstrations and grades of every domain."""

from __future__ import annotations

import numpy as np

from lab import chains, task
from lab.task import Domain, Grades, Tokens


def demonstrations(
    domain: Domain, n: int, random: np.random.Generator, wrong_plan: float = 0.0, wrong_execution: float = 0.0
) -> Tokens:
    """As :func:`lab.task.demonstrations`, with the answers of the domain."""
    write = chains.write_answers if domain == "chain" else task.write_answers
    return task.demonstrations(domain, n, random, wrong_plan, wrong_execution, write)


def grade(prompts: Tokens, responses: Tokens) -> Grades:
    """Grade n responses, PAD after their end, to their prompts, all of chains or none."""
    return chains.grade(prompts, responses) if chains.is_chain(prompts) else task.grade(prompts, responses)
