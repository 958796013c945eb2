"""When a run is over: no gain is expected, it is broken, or its entropy has exploded."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from entropylaw.analysis.forecast import FARTHEST, FEWEST, forecast_of, usual_step
from entropylaw.analysis.law.evaluations import Evaluations
from entropylaw.arrays import BoolArray, FloatArray
from entropylaw.errors import FitError
from entropylaw.results.forecast import Forecast
from entropylaw.results.state import State
from entropylaw.results.stop import Says, StopLine

LOW = 0.1
"""Probability of a gain below which a look counts towards a stop."""

LOOKS = 3
"""Looks in a row that make a stop, and evaluations in a row that make an explosion."""

NOTHING = 20
"""Evaluations that are all 0 that make a stop: there is no forecast of a reward that never moved."""

PARTS = 16
"""A look comes a sixteenth of the evaluations so far after the last one: nearer ones say much the same."""

EXPLODED = 2.0
"""Times its lowest level above which an entropy has exploded."""

SURE = 0.99
"""Probability that the reward is below its best from which on such an entropy is a failure."""


def stop_line(
    used: Evaluations,
    state: State | None,
    forecast: Forecast | None = None,
    *,
    steps: float | None = None,
    gain: float | None = None,
    cost_per_step: float | None = None,
    max_reward: float | None = None,
    label: str = "reward",
    is_score: bool = True,
    level: float = 0.95,
) -> StopLine:
    """The stop line of a run, so far.

    Parameters
    ----------
    used
        Evaluations with a reward, whose entropy may be nan.
    state
        Its state; None of too few evaluations.
    forecast
        That for the planned end, where it is known already.
    steps
        The planned end; by default half as many steps again at each look.
    gain, max_reward
        As for :func:`entropylaw.forecast`.
    cost_per_step, label
        What a step costs, and the name of the reward.
    is_score
        Whether the reward is a score: by any other number no run is over.
    level
        Coverage of the interval of the reward ahead.
    """
    n = used.step.size
    now = float(used.step[-1]) if n else 0.0
    look = partial(_look, gain=gain, max_reward=max_reward, level=level)
    ahead, why_none = (forecast, "") if forecast is not None else look(used.first(n), steps)
    if not is_score and not why_none:
        why_none = "no run is over by a number that is no score"
    low_looks = 0
    if is_score and ahead is not None and not why_none:
        low_looks = _low_looks(used, ahead, partial(look, steps=steps))
    exploded = exploded_since(used.step, used.entropy)
    is_finished = steps is not None and steps <= now
    end = now if ahead is None else ahead.step[0]
    steps_left = max((end if steps is None else steps) - now, 0.0)
    return StopLine(
        says=_word(
            state,
            is_score=is_score,
            is_stop=low_looks == LOOKS or (n >= NOTHING and not used.reward.any()),
            is_exploded=exploded is not None and _is_below_best(state),
            is_finished=is_finished,
            is_known=not why_none,
        ),
        reward=label,
        is_score=is_score,
        step=now,
        evaluations=n,
        state=state,
        low_looks=low_looks,
        steps_left=steps_left,
        cost=None if cost_per_step is None else steps_left * cost_per_step,
        exploded_since=exploded,
        why_none=why_none,
        at_step=None if ahead is None else ahead.step[0],
        expected=None if ahead is None else ahead.rewards[0],
        p_gain=None if ahead is None else ahead.p_gains[0],
        p_ever=None if ahead is None else ahead.p_ever,
        gain=None if ahead is None else ahead.gain,
    )


def _word(
    state: State | None,
    *,
    is_score: bool,
    is_stop: bool,
    is_exploded: bool,
    is_finished: bool,
    is_known: bool,
) -> Says:
    """What a stop line says: the first that holds, of any other number than a score only its end."""
    if state is not None and state.word == "broken":
        return "broken"
    if is_score and is_stop:
        return "stop"
    if is_score and is_exploded:
        return "exploded"
    if is_finished:
        return "finished"
    return "go on" if is_known else "not known"


def _is_below_best(state: State | None) -> bool:
    """Whether the reward is below its best for certain."""
    return state is not None and state.keep is not None and state.keep.p_better >= SURE


def _low_looks(
    used: Evaluations, ahead: Forecast, look: Callable[[Evaluations], tuple[Forecast | None, str]]
) -> int:
    """How many looks in a row, the last one first, gave a gain a low probability; at most :data:`LOOKS`.

    A look whose forecast does not reach the planned end does not count.
    """
    low = 0
    latest: Forecast | None = ahead
    why_none = ""
    while latest is not None and not why_none and latest.p_gains[0] < LOW:
        low += 1
        if low == LOOKS:
            break
        until = used.step.size - low * -(-used.step.size // PARTS)
        latest, why_none = look(used.first(until))
    return low


def _look(
    used: Evaluations,
    steps: float | None,
    *,
    gain: float | None,
    max_reward: float | None,
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
        )
    except FitError as error:
        return None, error.message
    return ahead, too_far


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
