"""Level shifts of a run."""

from msgspec import Struct

from entropylaw.results import Estimate


class LevelShift(Struct, frozen=True, kw_only=True):
    """A level shift of one ``series``, ``"reward"`` or ``"entropy"``.

    ``step`` and ``after`` are the first evaluation after the shift and the last one before it; ``jump`` is
    its size in reward units or nats, with an interval given the step; ``p_value`` the probability of one this
    clear anywhere in a run that only drifts (Bonferroni), or at that step where it was given.
    """

    series: str
    step: float
    after: float
    jump: Estimate
    p_value: float
