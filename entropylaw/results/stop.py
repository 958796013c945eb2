"""The stop line: what a run is likely to gain if it goes on, what that costs, and whether it is over."""

from typing import Literal

from msgspec import Struct

from entropylaw.results import Estimate

State = Literal["go on", "stop", "lost", "exploded", "finished", "not known"]
"""What a stop line says: of several that hold ``lost`` comes first, then ``stop``, ``exploded``."""

STATES: tuple[State, ...] = ("stop", "lost", "exploded")
"""What may stop a run."""


class StopLine(Struct, frozen=True, kw_only=True):
    """The stop line of one reward at an evaluation.

    Attributes
    ----------
    says
        ``"lost"``: the reward is below a fifth of its best, at three evaluations or more; ``"stop"``: the
        probability of a gain was below 0.1 at three looks in a row, or the reward is 0 at all of 20
        evaluations or more; ``"exploded"``: the entropy is above twice its lowest level at three evaluations
        or more, and the reward is below its best with a probability of 0.99 or more; ``"finished"``: the
        planned end is reached; ``"not known"``: there is no forecast for the planned end, or no score;
        otherwise ``"go on"``.
    reward, is_score
        A short label of the reward, or its column; and whether it is a score: of any other number there is a
        forecast, and it says ``"not known"`` until the planned end.
    step, evaluations, now
        The last step, the evaluations so far, and the level of the reward, without the noise of one.
    at_step, expected
        The step for which the reward is forecast, the planned end or up to four lengths of the run ahead, and
        the reward there; None with ``why_none``.
    gain, p_gain, low_looks
        A gain of reward, the probability that the reward at that step is at least that much higher, and at
        how many looks in a row, at most three, that was below 0.1.
    best_step, best, p_better
        The step with the highest level so far, that level, and the probability that it is above the last one.
    left
        What is left on the curve down to no entropy; None where no curve was fitted.
    steps_left, cost
        Steps up to the planned end, or up to ``at_step``, and what they cost; None without a cost per step.
    lost_since, exploded_since
        The first of the last evaluations, at least three, at which the reward is that low or the entropy that
        high, whatever ``says`` is.
    why_none
        Why there is no forecast for the planned end, or nothing is said by it.
    """

    says: State
    reward: str
    is_score: bool = True
    step: float
    evaluations: int
    now: float | None = None
    at_step: float | None = None
    expected: Estimate | None = None
    gain: float | None = None
    p_gain: float | None = None
    low_looks: int = 0
    best_step: float | None = None
    best: float | None = None
    p_better: float | None = None
    left: float | None = None
    steps_left: float = 0.0
    cost: float | None = None
    lost_since: float | None = None
    exploded_since: float | None = None
    why_none: str = ""
