"""A run against the run of the same name in an older document: by what share a quantity fell."""

from __future__ import annotations

import math
from collections.abc import Sequence

from entropylaw.gates.quantities import Part, Unknown, Value
from entropylaw.gates.subjects import Subject
from entropylaw.reproducible import rounded
from entropylaw.results import Estimate

METHOD = "MOVER-R, from the two intervals as independent"


def regression(subject: Subject, measured: str, baseline: Sequence[Subject], *, any_law: bool) -> Value:
    """Share by which ``measured`` fell since the baseline; ``any_law``: of one that does not hold, too."""
    runs = [run for run in baseline if run.run == subject.run and Part.law in run.parts]
    if len(runs) != 1:
        count = "no run" if not runs else f"{len(runs)} runs"
        return Unknown(reason=f"the baseline has {count} of the name {subject.run!r}")
    (before,) = runs
    if before.refusal is not None:
        return Unknown(reason=f"the baseline's run was refused: {before.refusal.message}")
    if before.reasons and not any_law:
        return Unknown(reason=f"the baseline's law is not valid: {before.reasons[0]}")
    values = (run.values.get(measured) for run in (subject, before))
    now, then = (value if isinstance(value, Estimate) else None for value in values)
    return share_fallen(now, then, measured)


def share_fallen(now: Estimate | None, before: Estimate | None, measured: str) -> Value:
    """1 − now/before with its interval, of estimates as documents hold them.

    It is Unknown where an end of an interval is missing, the levels differ, or the interval of ``before``
    does not lie above 0, so that a share of it means nothing. ``measured`` names the quantity in reasons.

    MOVER recovers variances from the ends of given intervals: Zou & Donner (2008, doi:10.1002/sim.3095) for
    a difference. For a ratio its limits of now − r·before are set to 0, which gives a quadratic in r
    (MOVER-R; Newcombe 2016, doi:10.1177/0962280213502144, for a numerator of any sign). The two runs are
    taken as independent; for two fits of the same evaluations the interval is wider than it need be.
    """
    if now is None or before is None:
        return Unknown(reason=f"{'this run' if now is None else 'the baseline'} has no {measured}")
    given = (now.value, now.low, now.high, before.value, before.low, before.high)
    ends = [end for end in given if end is not None]
    if len(ends) < len(given):
        return Unknown(reason=f"the interval of {measured} has an open end here or in the baseline")
    if now.level != before.level:
        return Unknown(reason=f"the levels differ: {now.level:g} here, {before.level:g} in the baseline")
    if ends[4] <= 0:
        reason = f"the baseline's {measured} may be 0 or less: its interval begins at {ends[4]:.3g}"
        return Unknown(reason=reason)
    # In units of the baseline, whose square is then a number.
    top, top_low, top_high, unit, unit_low, unit_high = ends
    try:
        above, below = unit_high / unit - 1.0, 1.0 - unit_low / unit
        share, least, most = top / unit, top_low / unit, top_high / unit
        # r·bottom lies in the other direction where r is negative, and then its other half counts.
        low = _limit(share, share - least, above if least >= 0 else below, 1.0)
        high = _limit(share, most - share, below if most >= 0 else above, -1.0)
    except (ZeroDivisionError, OverflowError):
        low = high = share = math.inf
    if not all(map(math.isfinite, (low, high, share))):
        return Unknown(reason=f"{measured} is not on one scale here and in the baseline")
    value, low, high = (rounded(1.0 - ratio) for ratio in (share, high, low))
    return Estimate(value=value, low=low, high=high, level=now.level, method=METHOD)


def _limit(top: float, top_half: float, bottom_half: float, side: float) -> float:
    """Solve top − r = side·√(top_half² + r²·bottom_half²) for r."""
    square, rest = 1.0 - bottom_half**2, top**2 - top_half**2
    root = math.sqrt(max(top**2 - square * rest, 0.0))
    # Of the two forms of the root the one that subtracts nothing.
    if top * side >= 0:
        stable = top + side * root
        return rest / stable if stable else 0.0
    return (top - side * root) / square
