"""Findings about a fit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from entropylaw.analysis.forms import form_label, lag1
from entropylaw.analysis.law.estimates import unknown
from entropylaw.arrays import FloatArray
from entropylaw.engine import constants
from entropylaw.engine.reads import Reads
from entropylaw.results import FEWEST_FOR_MEMORY, Why
from entropylaw.results.law import LawFit
from entropylaw.results.result import Finding, caution, reason

ROUNDING = 1e-6
"""Nats below 0 that rounding may give the sampled entropy of a collapsed policy; and the share of the
reward's range below which a residual is rounding."""

RISE = 0.3
"""Share of the entropy's range by which a run may end higher than it began."""

REBOUND = 0.3
"""Share of the entropy's fall that may be reversed before the run counts as fall-then-rise."""

SMOOTH = 0.3
"""Lag-1 autocorrelation of locally centred differences above which a column looks smoothed: white
noise gives −0.5, a random walk about −0.1, an exponential average of a random walk +0.3 and more. (An
average of pure noise looks like a drift, and is not detected here.)"""

SMOOTH_WINDOW = 9

LONG_MEMORY = 0.5
"""Probability of long memory from which it is a caution."""

LAGS = 0.5
"""Probability of the law of an earlier entropy from which it is a caution."""

ENDS_EARLY = 0.1
"""Share of the run's length by which the last entropy is at most before the last evaluation."""


def cautions_of(law: LawFit, reads: Reads) -> Iterator[Finding]:
    """Limitations of a run's numbers."""
    yield from _curve_cautions(law, reads)
    yield from _entropy_cautions(law)
    if law.n >= FEWEST_FOR_MEMORY and law.residuals.long_memory > LONG_MEMORY:
        yield caution("long-memory", probability=law.residuals.long_memory)
    yield from _smoothed_cautions(law.reward)


def reasons_of(law: LawFit) -> Iterator[Finding]:
    """The one reason why the law does not hold, with its numbers."""
    tests = law.tests
    if law.why is Why.few:
        yield reason("too-few-evaluations", n=law.n, needed=constants.FEWEST_HOLDS)
    elif law.why is Why.reverse:
        yield reason("reward-rises-with-entropy", probability=1.0 - tests.p_direction)
    elif law.why is Why.step:
        yield reason("step-says-more", odds=1.0 / tests.odds_entropy)
    elif law.why is Why.narrow:
        span = float(np.ptp(law.smoothed_entropy))
        logged = float(np.ptp(law.entropy))
        yield reason("entropy-range-narrow", span=span, logged=logged, needed=constants.SPAN)
    elif law.why is Why.slope:
        yield reason("slope-unclear", probability=tests.p_direction)
    elif law.why is Why.line:
        yield reason("line-as-good", odds_law=tests.odds_law, odds_line=tests.odds_line)
    elif law.why is Why.curve:
        form = max(law.forms, key=lambda answer: answer.probability).form
        yield reason("another-curve", form=form, label=form_label(form), odds=tests.odds_entropy)
    elif law.why is Why.neither:
        yield reason("neither-says-more", odds=tests.odds_entropy)


def _curve_cautions(law: LawFit, reads: Reads) -> Iterator[Finding]:
    """Whether no curve fits, first evaluations are off it, or reward follows a past entropy."""
    if law.p_no_curve > constants.NO_CURVE and law.n >= constants.FEWEST_NO_CURVE:
        yield caution("no-curve-fits", probability=law.p_no_curve, limit=constants.NO_CURVE)
    if law.p_first > constants.FIRST_OFF_CURVE:
        yield _first_off_curve(law, law.p_first, reads)
    lagged = reads.probability()["lagged"]
    if lagged > LAGS:
        (lag,) = (form.shapes["lag"].value for form in law.forms if form.form == "lagged")
        yield caution("reward-lags", evaluations=round((lag or 0.0) * law.n), probability=lagged)


def _first_off_curve(law: LawFit, probability: float, reads: Reads) -> Finding:
    """How many first evaluations are off the curve of the others, and the ceiling if they are not."""
    table = reads.table
    first = max(range(1, len(table.prior.firsts)), key=lambda i: reads.share(table.first == i))
    dropped = max(round(table.prior.firsts[first][0] * table.time.size), 1) * table.group
    ceiling = unknown("", level=law.level, method="")
    weight = reads.averaged * (table.first == 0)
    # On rewards without noise, curves through all evaluations can have a probability of exactly 0.
    if weight.any():
        ceiling = reads.ceiling(weight, reads.top).estimate(level=law.level, method="")
    return caution(
        "first-off-curve",
        dropped=dropped,
        step=float(law.step[min(dropped, law.n - 1)]),
        probability=probability,
        value=ceiling.value,
        low=ceiling.low,
        high=ceiling.high,
    )


def _entropy_cautions(law: LawFit) -> Iterator[Finding]:
    """Whether the entropy is one, and falls."""
    lowest = float(law.entropy.min())
    highest = float(law.entropy.max())
    if lowest < -ROUNDING and highest > 0:
        yield caution("entropy-both-signs", lowest=lowest, highest=highest)
    n = law.smoothed_entropy.size
    width = max(3, n // 10)
    # Mean over the last tenth of the run less that over the first, as a share of the range.
    tenth = max(1, n // 10)
    span = float(np.ptp(law.smoothed_entropy))
    change = float(law.smoothed_entropy[-tenth:].mean() - law.smoothed_entropy[:tenth].mean())
    rise = change / span if span > 0 else 0.0
    if rise > RISE:
        yield caution("entropy-rises", rise=rise, limit=RISE)
    elif n >= 3 * width:
        # Medians over a tenth of the run (three evaluations at least): one noisy value is no turn.
        starts = range(0, n - width + 1, width // 2)
        levels = np.array([np.median(law.smoothed_entropy[i : i + width]) for i in starts])
        fall = float(levels[0] - levels.min())
        back = float(levels[-1] - levels.min())
        if back > REBOUND * fall > 0:
            yield caution("entropy-rebounds", fall=fall, rise=back)


def _smoothed_cautions(reward: FloatArray) -> Iterator[Finding]:
    """Whether rewards (n,) look smoothed."""
    if (smooth := persistence(reward) or 0.0) > SMOOTH:
        yield caution("reward-smoothed", lag1=smooth, limit=SMOOTH)


def persistence(reward: FloatArray) -> float | None:
    """Lag-1 autocorrelation of the changes of rewards (n,) less their moving average: the trend is gone.

    It is −½ for white noise; None of too few rewards.
    """
    change = np.diff(reward)
    edge = SMOOTH_WINDOW // 2
    if change.size < 2 * SMOOTH_WINDOW:
        return None
    average = np.convolve(change, np.full(SMOOTH_WINDOW, 1.0 / SMOOTH_WINDOW), mode="valid")
    return lag1(change[edge:-edge] - average)


def entropy_ended(step: FloatArray, last: float) -> Iterator[Finding]:
    """Whether the ``last`` step with an entropy is long before that of the last evaluation."""
    if step[-1] - last > ENDS_EARLY * np.ptp(step):
        yield caution("entropy-ends-early", last=last, end=float(step[-1]))
