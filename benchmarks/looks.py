"""Finished runs played through the stop line: what it said at each look."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from entropylaw.analysis.law.evaluations import rewarded
from entropylaw.analysis.state import FEWEST, state_of
from entropylaw.analysis.stop import stop_line
from entropylaw.arrays import FloatArray
from entropylaw.results.stop import StopLine

PARTS = 24
"""A look comes after each of as many parts of a run, from eight evaluations on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What the stop line said after the first ``until`` evaluations of a finished run."""

    until: int
    line: StopLine


def replay(
    step: FloatArray,
    entropy: FloatArray | None,
    reward: FloatArray,
    *,
    max_reward: float | None = None,
) -> list[Look]:
    """Play a finished run, whose last step is the planned end, before which all looks are.

    Parameters
    ----------
    step, entropy, reward
        Shape (n,).
    max_reward
        As for :func:`entropylaw.forecast`.
    """
    used = rewarded(step, entropy, reward)
    end = float(used.step[-1])
    ends = np.unique(np.ceil(used.step.size * np.arange(1, PARTS) / PARTS).astype(int))
    looks = []
    for until in ends[(ends >= FEWEST) & (ends < used.step.size)].tolist():
        so_far = used.first(until)
        state = state_of(so_far.step, so_far.reward, max_reward=max_reward)
        looks.append(Look(until=until, line=stop_line(so_far, state, steps=end, max_reward=max_reward)))
    return looks
