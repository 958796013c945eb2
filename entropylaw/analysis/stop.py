"""When a run is over: no new best reward and none likely, it is broken, or its entropy has exploded."""

from __future__ import annotations

import numpy as np

from entropylaw.analysis.forecast import FARTHEST, forecast_of, usual_step
from entropylaw.analysis.law.evaluations import Evaluations
from entropylaw.analysis.state import FEWEST
from entropylaw.arrays import BoolArray, FloatArray
from entropylaw.errors import FitError
from entropylaw.results.forecast import Forecast
from entropylaw.results.phases import EXPLODED
from entropylaw.results.result import replace
from entropylaw.results.state import State
from entropylaw.results.stop import Says, StopLine

PATIENCE = 0.5
"""Share of the plan without a new best reward at a stop."""

UNLIKELY = 0.4
"""Probability of a gain at any step up to the planned end below which there is a stop."""

LASTING = 3
"""Evaluations in a row that make an explosion."""

SURE = 0.99
"""Probability that the reward is below its best from which on such an entropy is a failure."""


def stop_line(
    used: Evaluations,
    state: State | None,
    forecast: Forecast | None = None,
    *,
    steps: float | None = None,
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
        Its state; None of too few evaluations. Its gain is that of the forecast.
    forecast
        That for the planned end, where it is known already.
    steps
        The planned end; by default half as many steps again.
    max_reward
        As for :func:`entropylaw.forecast`.
    cost_per_step, label
        What a step costs, and the name of the reward.
    is_score
        Whether the reward is a score: by any other number no run is over.
    level
        Coverage of the interval of the reward ahead.
    """
    now = float(used.step[-1]) if used.step.size else 0.0
    why_none = ""
    if forecast is None:
        forecast, why_none = _forecast_for(used, state, steps, max_reward=max_reward, level=level)
    if not is_score and not why_none:
        why_none = "no run is over by a number that is no score"
    end = steps
    if end is None:
        end = now if forecast is None else forecast.step[0]
    steps_left = max(end - now, 0.0)
    line = StopLine(
        says="not known" if why_none else "go on",
        reward=label,
        is_score=is_score,
        step=now,
        evaluations=used.step.size,
        state=state,
        best_step=best_step_of(used) if used.step.size else None,
        steps_left=steps_left,
        cost=None if cost_per_step is None else steps_left * cost_per_step,
        exploded_since=exploded_since(used.step, used.entropy),
        why_none=why_none,
    )
    if forecast is not None:
        line = replace(
            line,
            at_step=forecast.step[0],
            expected=forecast.rewards[0],
            p_gain=forecast.p_gains[0],
            p_ever=forecast.p_ever,
            gain=forecast.gain,
        )
    why_over = _why_over(line, used, forecast, steps)
    return line if why_over is None else replace(line, says=why_over)


def _why_over(
    line: StopLine, used: Evaluations, forecast: Forecast | None, steps: float | None
) -> Says | None:
    """What ends a run, by its state, its entropy, its plan or its forecast; None where nothing does."""
    state = line.state
    if state is not None and state.word == "broken":
        return "broken"
    if line.is_score and line.exploded_since is not None and _is_below_best(state):
        return "exploded"
    if steps is not None and steps <= line.step:
        return "finished"
    if line.is_score and state is not None and is_over(used, forecast, steps):
        return "stop"
    return None


def is_over(used: Evaluations, forecast: Forecast | None, steps: float | None) -> bool:
    """Whether no reward was a new best one for half of the plan, and a gain until its end is unlikely.

    The plan ends at ``steps``, or at the usual one. A reward that never moves has no forecast.
    """
    if forecast is not None and forecast.p_ever >= UNLIKELY:
        return False
    end = usual_step(used.step) if steps is None else steps
    return bool(used.step[-1] - best_step_of(used) >= PATIENCE * (end - used.step[0]))


def best_step_of(used: Evaluations) -> float:
    """The step of the largest reward, the first of several."""
    return float(used.step[np.argmax(used.reward)])


def _is_below_best(state: State | None) -> bool:
    """Whether the reward is below its best for certain."""
    return state is not None and state.keep is not None and state.keep.p_better >= SURE


def _forecast_for(
    used: Evaluations,
    state: State | None,
    steps: float | None,
    *,
    max_reward: float | None,
    level: float,
) -> tuple[Forecast | None, str]:
    """The forecast at the end of some evaluations, and why there is none for the planned end."""
    step = used.step
    last = float(step[-1]) if step.size else 0.0
    if steps is not None and steps <= last:
        words = "is reached" if steps == last else f"was passed (the log is at step {last:g})"
        return None, f"the planned end, step {steps:g}, {words}"
    if state is None:
        return None, f"it needs {FEWEST} evaluations"
    at = usual_step(step) if steps is None else steps
    farthest = last + FARTHEST * float(last - step[0])
    too_far = f"step {at:g} is more than {FARTHEST:g} lengths of the run ahead" if at > farthest else ""
    try:
        ahead = forecast_of(
            used,
            at_step=min(at, farthest),
            gain=state.gain,
            level=level,
            max_reward=max_reward,
        )
    except FitError as error:
        return None, error.message
    return ahead, too_far


def exploded_since(step: FloatArray, entropy: FloatArray) -> float | None:
    """The step since which an entropy is above twice its lowest, for three evaluations or more; or None.

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
    return first if marked.size - first >= LASTING else None
