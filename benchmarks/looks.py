"""Finished runs played through the stop line: what it said at each look, and what came."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.worlds import FloatArray
from entropylaw.analysis.forecast import FEWEST
from entropylaw.analysis.law.evaluations import rewarded
from entropylaw.analysis.stop import LOOKS, exploded_since, lost_since, stop_line
from entropylaw.engine.levels import MOST
from entropylaw.results.stop import State, StopLine


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What the stop line said at an evaluation of a finished run, and what came.

    ``reached`` is the highest mean of three evaluations from there to the step of the forecast, and
    ``gained`` whether that is a gain; None where there were fewer, or no forecast.
    """

    line: StopLine
    reached: float | None
    gained: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A finished run, played through the stop line: its looks, and whether it is ``improving``.

    It is where the mean of its last eighth, at least three evaluations, is a gain above that of the first.
    """

    looks: tuple[Look, ...]
    improving: bool

    def first(self, says: State) -> Look | None:
        """The first look that says so."""
        return next((look for look in self.looks if look.line.says == says), None)


def replay(
    step: FloatArray, entropy: FloatArray, reward: FloatArray, *, max_reward: float | None = None
) -> Replay:
    """Play a finished run of at least 11 evaluations, whose last step is the planned end.

    A look comes after every evaluation, of more than 64 after a 64th of those so far, and at once where the
    run begins to fail.

    Parameters
    ----------
    step, entropy, reward
        Shape (n,).
    max_reward
        As for :func:`entropylaw.forecast`.
    """
    used = rewarded(step, entropy, reward)
    s = used.step
    r = used.reward
    last = float(s[-1])
    looks: list[Look] = []
    due = FEWEST
    for until in range(LOOKS + 1, s.size):
        earlier = s[:until], used.entropy[:until], r[:until]
        if until < due and not _fails_lately(*earlier):
            continue
        line = stop_line(rewarded(*earlier), steps=last, max_reward=max_reward)
        looks.append(with_outcome(line, s, r))
        if until >= due:
            due = until + -(-until // MOST)
    eighth = max(LOOKS, s.size // 8)
    gain = next((look.line.gain for look in looks if look.line.gain is not None), 0.0)
    improving = bool(r[-eighth:].mean() >= r[:eighth].mean() + gain)
    return Replay(looks=tuple(looks), improving=improving)


def with_outcome(line: StopLine, step: FloatArray, reward: FloatArray) -> Look:
    """A stop line of a finished run, and the highest mean of three evaluations after it."""
    until = line.evaluations
    if line.now is None or line.gain is None or reward.size - until < LOOKS:
        return Look(line=line, reached=None, gained=None)
    means = np.convolve(reward[until:], np.full(LOOKS, 1.0 / LOOKS), "valid")
    inside = int(np.searchsorted(step[until + 1 : -1], line.at_step or 0.0, side="right"))
    reached = float(means[: max(1, inside)].max())
    return Look(line=line, reached=reached, gained=reached >= line.now + line.gain)


def _fails_lately(step: FloatArray, entropy: FloatArray, reward: FloatArray) -> bool:
    """Whether a reward was lost, or an entropy has exploded, at the last six evaluations or fewer."""
    earliest = step[-2 * LOOKS :][0]
    since = (lost_since(step, reward), exploded_since(step, entropy))
    return any(first is not None and first >= earliest for first in since)
