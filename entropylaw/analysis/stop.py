"""When a run is over: no gain is expected, the reward is lost, or the entropy has exploded."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from msgspec import structs

from entropylaw.analysis.forecast import FARTHEST, FEWEST, forecast, usual_step
from entropylaw.analysis.law.diagnostics import lost_reward
from entropylaw.analysis.law.evaluations import complete
from entropylaw.arrays import BoolArray, FloatArray
from entropylaw.errors import FitError
from entropylaw.results.forecast import Forecast
from entropylaw.results.stop import State, StopLine

LOW = 0.1
"""Probability of a gain below which a look counts towards a stop."""

LOOKS = 3
"""Looks in a row that make a stop, and evaluations in a row that make a loss or an explosion."""

NOTHING = 20
"""Evaluations that are all 0 that make a stop: there is no forecast of a reward that never moved."""

PARTS = 16
"""A look comes a sixteenth of the evaluations so far after the last one: nearer ones say much the same."""

LOST = 0.2
"""Share of its best below which a reward is lost."""

EXPLODED = 2.0
"""Times its lowest level above which an entropy has exploded."""

SURE = 0.99
"""Probability that the reward is below its best from which on such an entropy is a failure."""


def stop_line(
    step: Any,
    entropy: Any,
    reward: Any,
    *,
    steps: float | None = None,
    gain: float | None = None,
    cost_per_step: float | None = None,
    max_reward: float | None = None,
    left: float | None = None,
    label: str = "reward",
    is_score: bool = True,
) -> StopLine:
    """The stop line of a run, so far.

    Parameters
    ----------
    step, entropy, reward
        Shape (n,), as for :func:`entropylaw.forecast`; the entropy may be None, or nan where there is none.
    steps
        The planned end; by default half as many steps again at each look.
    gain, max_reward
        As for :func:`entropylaw.forecast`.
    cost_per_step, left, label
        What a step costs, what is left on a fitted curve, and the name of the reward.
    is_score
        Whether the reward is a score: by any other number no run is over.
    """
    used = complete(entropy, reward, step, law=False)
    s, r, n = used.step, used.reward, used.step.size
    now = end = float(s[-1]) if n else 0.0
    look = partial(_look, gain=gain, max_reward=max_reward, is_score=is_score)
    ahead, why_none = look(s, r, steps)
    if not is_score and not why_none:
        why_none = "no run is over by a number that is no score"
    fields: dict[str, Any] = {"why_none": why_none}
    # The best step so far needs no later one.
    finished = steps is not None and steps <= now
    latest = look(s, r, None)[0] if finished else ahead
    if latest is not None:
        fields["now"] = latest.now
    best = None if latest is None else latest.best_so_far
    if best is not None:
        fields |= {"best_step": best.step, "best": best.level, "p_better": best.p_better}
    if ahead is not None:
        end = ahead.step[0]
        fields |= {"at_step": end, "expected": ahead.rewards[0], "gain": ahead.gain}
        fields["p_gain"] = ahead.p_gains[0]
    low, earlier = 0, ahead if is_score else None
    while earlier is not None and earlier.p_gains[0] < LOW:
        low += 1
        if low == LOOKS:
            break
        until = n - low * -(-n // PARTS)
        earlier, _ = look(s[:until], r[:until], steps)
    steps_left = max((end if steps is None else steps) - now, 0.0)
    line = StopLine(
        says="go on",
        reward=label,
        step=now,
        evaluations=n,
        left=left,
        low_looks=low,
        steps_left=steps_left,
        cost=None if cost_per_step is None else steps_left * cost_per_step,
        lost_since=lost_since(s, r) if is_score else None,
        is_score=is_score,
        exploded_since=exploded_since(s, used.entropy),
        **fields,
    )
    return structs.replace(line, says=_state(line, r, latest, finished))


def _state(line: StopLine, reward: FloatArray, latest: Forecast | None, finished: bool) -> State:
    """What a stop line says, by its numbers and the latest forecast, also beyond the planned end."""
    if not line.is_score:
        return "finished" if finished else "not known"
    if line.lost_since is not None:
        return "lost"
    if line.low_looks == LOOKS or (reward.size >= NOTHING and not reward.any()):
        return "stop"
    best = None if latest is None else latest.best_so_far
    below_best = best is not None and best.p_better >= SURE
    if line.exploded_since is not None and below_best:
        return "exploded"
    if finished:
        return "finished"
    return "not known" if line.why_none else "go on"


def _look(
    step: FloatArray, reward: FloatArray, steps: float | None, **how: Any
) -> tuple[Forecast | None, str]:
    """The forecast at the end of some evaluations, and why there is none for the planned end."""
    if step.size < FEWEST:
        return None, f"it needs {FEWEST} evaluations"
    last = float(step[-1])
    if steps is not None and steps <= last:
        words = "is reached" if steps == last else f"was passed (the log is at step {last:g})"
        return None, f"the planned end, step {steps:g}, {words}"
    at, farthest = usual_step(step) if steps is None else steps, last + FARTHEST * float(last - step[0])
    too_far = f"step {at:g} is more than {FARTHEST:g} lengths of the run ahead" if at > farthest else ""
    try:
        return forecast(step, None, reward, at_step=min(at, farthest), **how), too_far
    except FitError as error:
        return None, error.message


def lost_since(step: FloatArray, reward: FloatArray) -> float | None:
    """The step from which a reward is below a fifth of its best; None where it is not.

    At three evaluations or more, of eight or more, where the reward is lost as a fit says it, and by more
    than four standard deviations of the noise before.
    """
    lost = lost_reward(reward, 1.0 - LOST) if reward.size >= FEWEST else None
    if lost is None:
        return None
    best = lost.values["best"]
    assert isinstance(best, float)
    first = _first_of_last(reward < best - (1.0 - LOST) * abs(best))
    if first is None:
        return None
    # A median says nothing of the noise of a reward that is mostly 0.
    noise = float(np.std(np.diff(reward[:first]))) / np.sqrt(2.0) if first > 1 else 0.0
    return float(step[first]) if best - float(reward[first:].mean()) > 4.0 * noise else None


def exploded_since(step: FloatArray, entropy: FloatArray) -> float | None:
    """The step from which an entropy is above twice its lowest, at three evaluations or more; or None.

    An entropy of 0, or of nan, is none that was measured.
    """
    measured = np.isfinite(entropy)
    step, entropy = step[measured], entropy[measured]
    low = entropy.min(initial=np.inf, where=entropy > 0)
    first = _first_of_last(entropy > EXPLODED * low)
    return None if first is None else float(step[first])


def _first_of_last(marked: BoolArray) -> int | None:
    """The first of the last values that are all marked; None of fewer than three."""
    unmarked = np.flatnonzero(~marked)
    first = int(unmarked[-1]) + 1 if unmarked.size else 0
    return first if marked.size - first >= LOOKS else None
