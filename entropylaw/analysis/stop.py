"""When a run is over: no gain is expected, the reward is lost, or the entropy has exploded."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from entropylaw.analysis.forecast import FARTHEST, FEWEST, forecast_of, usual_step
from entropylaw.analysis.law.diagnostics import lost_reward
from entropylaw.analysis.law.evaluations import Evaluations
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
    used: Evaluations,
    forecast: Forecast | None = None,
    *,
    steps: float | None = None,
    gain: float | None = None,
    cost_per_step: float | None = None,
    max_reward: float | None = None,
    left: float | None = None,
    label: str = "reward",
    is_score: bool = True,
    level: float = 0.95,
) -> StopLine:
    """The stop line of a run, so far.

    Parameters
    ----------
    used
        Evaluations with a reward, whose entropy may be nan.
    forecast
        That for the planned end, where it is known already.
    steps
        The planned end; by default half as many steps again at each look.
    gain, max_reward
        As for :func:`entropylaw.forecast`.
    cost_per_step, left, label
        What a step costs, what is left on a fitted curve, and the name of the reward.
    is_score
        Whether the reward is a score: by any other number no run is over.
    level
        Coverage of the interval of the reward ahead.
    """
    n = used.step.size
    now = float(used.step[-1]) if n else 0.0
    look = partial(_look, gain=gain, max_reward=max_reward, is_score=is_score, level=level)
    ahead, why_none = (forecast, "") if forecast is not None else look(used.first(n), steps)
    if not is_score and not why_none:
        why_none = "no run is over by a number that is no score"
    # The best step so far needs no later one.
    finished = steps is not None and steps <= now
    latest = look(used.first(n), None)[0] if finished else ahead
    low_looks = _low_looks(used, ahead, partial(look, steps=steps)) if is_score else 0
    lost = lost_since(used.step, used.reward) if is_score else None
    exploded = exploded_since(used.step, used.entropy)
    end = now if ahead is None else ahead.step[0]
    steps_left = max((end if steps is None else steps) - now, 0.0)
    return StopLine(
        says=_state(
            is_score=is_score,
            is_lost=lost is not None,
            is_stop=low_looks == LOOKS or (n >= NOTHING and not used.reward.any()),
            is_exploded=exploded is not None and _is_below_best(latest),
            is_finished=finished,
            is_known=not why_none,
        ),
        reward=label,
        is_score=is_score,
        step=now,
        evaluations=n,
        low_looks=low_looks,
        left=left,
        steps_left=steps_left,
        cost=None if cost_per_step is None else steps_left * cost_per_step,
        lost_since=lost,
        exploded_since=exploded,
        why_none=why_none,
        **_numbers_of(ahead, latest),
    )


def _state(
    *, is_score: bool, is_lost: bool, is_stop: bool, is_exploded: bool, is_finished: bool, is_known: bool
) -> State:
    """What a stop line says: the first that holds, of any other number than a score only its end."""
    if is_lost:
        return "lost"
    if is_score and is_stop:
        return "stop"
    if is_score and is_exploded:
        return "exploded"
    if is_finished:
        return "finished"
    return "go on" if is_known else "not known"


def _numbers_of(ahead: Forecast | None, latest: Forecast | None) -> dict[str, Any]:
    """The fields of a stop line that the forecast for the planned end has, and the latest one."""
    numbers: dict[str, Any] = {}
    if ahead is not None:
        numbers["at_step"] = ahead.step[0]
        numbers["expected"] = ahead.rewards[0]
        numbers["gain"] = ahead.gain
        numbers["p_gain"] = ahead.p_gains[0]
    if latest is not None:
        numbers["now"] = latest.now
        best = latest.best_so_far
        if best is not None:
            numbers["best_step"] = best.step
            numbers["best"] = best.level
            numbers["p_better"] = best.p_better
    return numbers


def _is_below_best(latest: Forecast | None) -> bool:
    """Whether the reward is below its best for certain."""
    best = None if latest is None else latest.best_so_far
    return best is not None and best.p_better >= SURE


def _low_looks(
    used: Evaluations, ahead: Forecast | None, look: Callable[[Evaluations], tuple[Forecast | None, str]]
) -> int:
    """How many looks in a row, the last one first, gave a gain a low probability; at most :data:`LOOKS`."""
    low = 0
    while ahead is not None and ahead.p_gains[0] < LOW:
        low += 1
        if low == LOOKS:
            break
        until = used.step.size - low * -(-used.step.size // PARTS)
        ahead, _ = look(used.first(until))
    return low


def _look(
    used: Evaluations,
    steps: float | None,
    *,
    gain: float | None,
    max_reward: float | None,
    is_score: bool,
    level: float,
) -> tuple[Forecast | None, str]:
    """The forecast at the end of some evaluations, and why there is none for the planned end."""
    step = used.step
    if step.size < FEWEST:
        return None, f"it needs {FEWEST} evaluations"
    last = float(step[-1])
    if steps is not None and steps <= last:
        words = "is reached" if steps == last else f"was passed (the log is at step {last:g})"
        return None, f"the planned end, step {steps:g}, {words}"
    at = usual_step(step) if steps is None else steps
    farthest = last + FARTHEST * float(last - step[0])
    too_far = f"step {at:g} is more than {FARTHEST:g} lengths of the run ahead" if at > farthest else ""
    try:
        ahead = forecast_of(
            used,
            at_step=min(at, farthest),
            gain=gain,
            level=level,
            max_reward=max_reward,
            is_score=is_score,
        )
    except FitError as error:
        return None, error.message
    return ahead, too_far


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
