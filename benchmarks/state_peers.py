"""What is said of a run by the package, and by a rule of ten lines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from entropylaw.analysis.state import state_of
from entropylaw.arrays import FloatArray
from entropylaw.results.state import State

OURS, RULE = "state_of", "ten lines"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What was said of a run: a word, whether another step is better, and the interval of what was gained."""

    word: str
    is_other_step: bool = False
    gained: tuple[float, float] | None = None


Answers = dict[str, Said]
"""By :data:`OURS` and :data:`RULE`."""


def by_thirds(reward: FloatArray, gain: float) -> Said:
    """The rule of ten lines: the mean of the last third less that of the third before.

    Its standard error is that of Newey & West (1987, doi:10.2307/1913610).
    """
    n = reward.size // 3
    before = reward[-2 * n : -n]
    last = reward[-n:]
    rest = np.concatenate([before - before.mean(), last - last.mean()])
    square = float(rest @ rest)
    lags = max(1, int(n ** (1.0 / 3.0)))
    cross = sum((1.0 - lag / (lags + 1.0)) * float(rest[lag:] @ rest[:-lag]) for lag in range(1, lags + 1))
    variance = max(square + 2.0 * cross, 0.3 * square) / (2.0 * n - 2.0)
    error = np.sqrt(2.0 * variance / n) + 1e-12
    change = last.mean() - before.mean()
    if abs(change) + 1.64 * error < gain:
        return Said(word="flat")
    if abs(change) <= 1.96 * error:
        return Said(word="cannot tell")
    return Said(word="rising" if change > 0 else "falling")


def answers_of(
    step: FloatArray,
    reward: FloatArray,
    most: float | None = None,
    end: float | None = None,
) -> tuple[Answers, State]:
    """What each says of a run of 8 evaluations or more, and our whole state."""
    state = state_of(step, reward, end=end, max_reward=most)
    if state is None:
        raise ValueError(f"a run of {step.size} evaluations has no state, 8 are needed")
    other = state.keep is not None and not state.keep.is_last
    interval = (state.gained.low or 0.0, state.gained.high or 0.0)
    answers = {
        OURS: Said(word=state.word, is_other_step=other, gained=interval),
        RULE: by_thirds(reward, state.gain),
    }
    return answers, state
