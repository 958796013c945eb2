"""The stop line: what a run is likely to gain if it goes on, what that costs, and whether it is over."""

from typing import Literal

from msgspec import Struct

from entropylaw.results import Estimate
from entropylaw.results.axis import STEP
from entropylaw.results.state import State

Says = Literal["go on", "stop", "broken", "exploded", "finished", "not known"]
"""What a stop line says: of several that hold ``broken`` comes first, then ``exploded``, ``finished``."""

STOPPING: tuple[Says, ...] = ("stop", "broken", "exploded")
"""What may stop a run."""


class StopLine(Struct, frozen=True, kw_only=True):
    """The stop line of one reward at an evaluation.

    Attributes
    ----------
    says
        ``"broken"``: by its state; ``"exploded"``: the entropy is above twice its lowest level at the last
        three evaluations or more, and the reward is below its best with a probability of 0.99 or more;
        ``"finished"``: the planned end is reached; ``"stop"``: no reward was a new best one for half of the
        plan, and ``p_ever`` is below 0.4; ``"not known"``: there is no forecast for the planned end, or no
        score; otherwise ``"go on"``.
    reward, is_score
        A short label of the reward, or its column; and whether it is a score: of any other number there is a
        forecast, and it says ``"not known"`` until the planned end.
    step, evaluations, state
        The last step, the evaluations so far, and the state of the run; None of fewer than 8.
    best_step
        The step of the largest reward so far, with its noise.
    at_step, expected
        The step for which the reward is forecast, the planned end or up to four lengths of the run ahead, and
        the reward there; None with ``why_none``.
    gain, p_gain, p_ever
        A gain of reward, the probability that the level at that step is at least that much higher, and that
        it is so at any step until then.
    steps_left, cost
        Steps up to the planned end, or up to ``at_step``, and what they cost; None without a cost per step.
    exploded_since
        The first of the last evaluations, at least three, at which the entropy is that high, whatever
        ``says`` is.
    why_none
        Why there is no forecast for the planned end, or nothing is said by it.
    axis
        As in :class:`~entropylaw.results.fit.Fit`.
    """

    says: Says
    reward: str
    is_score: bool = True
    step: float
    evaluations: int
    state: State | None = None
    best_step: float | None = None
    at_step: float | None = None
    expected: Estimate | None = None
    gain: float | None = None
    p_gain: float | None = None
    p_ever: float | None = None
    steps_left: float = 0.0
    cost: float | None = None
    exploded_since: float | None = None
    why_none: str = ""
    axis: str = STEP
