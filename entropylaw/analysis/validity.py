"""May the numbers be read as they stand? Each check is a sentence with the value and the threshold."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from entropylaw.analysis.forms import form_label, nests_law
from entropylaw.analysis.residual_models import residual_model
from entropylaw.analysis.rivals import PLAUSIBLE
from entropylaw.engine.grid import FloatArray
from entropylaw.results import Estimate, Validity
from entropylaw.results.law import LawFit

ROUNDING = 1e-6
"""Nats below 0 that a sampled entropy of a collapsed policy may show by rounding."""

FEWEST = 8
"""Evaluations below which no fit is called valid."""

SPAN = 0.15
"""Nats of entropy that a run must span before a and b can be told apart."""

A_CHANGE = 0.5
"""Relative change of a, on leaving out one evaluation, from which the law rests on that evaluation."""

RISE = 0.3
"""Share of the entropy's range by which a run may end higher than it began."""

REBOUND = 0.3
"""Share of the entropy's fall that may come back before the run counts as fall-then-rise."""

LONG_MEMORY = 0.3
"""Probability of a drift as long as half the run from which drift and trend count as inseparable."""

SMOOTH = 0.3
"""Lag-1 autocorrelation of locally centred differences above which a column looks smoothed: white
noise gives −0.5, a random walk about −0.1, an exponential average of a random walk +0.3 and more. (An
average of pure noise looks like a drift, and is not told from one here.)"""

SMOOTH_WINDOW = 9

NOISE_RATIO = 1.5
"""Ratio of the scatter to the noise that was given for it, from which the two do not fit."""


def judge(law: LawFit, reward_sd: float | None) -> Validity:
    """Run every check on a fit whose validity is not known yet.

    ``reward_sd`` is the least noise that the reward should have, a root mean square, where it is known.
    """
    against, lacking = tuple(_contradictions(law)), tuple(_gaps(law))
    return Validity(
        ok=not against + lacking,
        contradicted=bool(against),
        reasons=against + lacking,
        cautions=(
            *_run_cautions(law),
            *_form_cautions(law),
            *_residual_cautions(law, reward_sd),
            *_reward_cautions(law),
        ),
    )


def _contradictions(law: LawFit) -> Iterator[str]:
    """What speaks against the law itself."""
    if law.entropy.min() < -ROUNDING and law.entropy.max() > 0:
        yield (
            f"entropy runs from {law.entropy.min():.3g} to {law.entropy.max():.3g}; "
            "an entropy over a vocabulary is never negative"
        )
    if law.a.high is not None and law.a.high < 0:
        yield f"reward falls as entropy is spent: {_a_words(law.a)}"
    ceiling = law.ceiling
    if _bounded(law.reward) and ceiling.low is not None and ceiling.low > 1:
        yield (
            f"the ceiling {ceiling.value:.3g} [{ceiling.low:.3g}, {ceiling.high:.3g}] lies above 1, "
            "and every reward of the run lies between 0 and 1"
        )
    rise = _net_rise(law.course)
    if rise > RISE:
        yield (
            f"entropy ends higher than it began, by {rise:.2f} of its range (limit {RISE}); "
            "the law is stated for runs that spend it"
        )
    if law.law_weight < PLAUSIBLE:
        yield (
            f"{form_label(law.rivals[0].form)} describes the run better; the law keeps a weight of "
            f"{law.law_weight:.2g} among the forms, and below {PLAUSIBLE} it is ruled out"
        )


def _gaps(law: LawFit) -> Iterator[str]:
    """What the run would need before it could answer."""
    n, span = law.reward.size, float(np.ptp(law.course))
    if n < FEWEST:
        yield too_few(n)
    if span < SPAN:
        yield f"entropy spans {span:.2g} nats; {SPAN} are needed to tell a from b"
    if law.a.low is not None and law.a.high is not None and law.a.low <= 0 <= law.a.high:
        yield f"reward does not clearly rise as entropy is spent: {_a_words(law.a)}"
    elif abs(1.0 - law.influence.a_ratio) >= A_CHANGE:
        yield (
            f"the fit rests on one evaluation: without step {law.influence.step:g} "
            f"least squares give {law.influence.a_ratio:.2f} times the a"
        )


def too_few(n: int) -> str:
    """The reason of a run with fewer than :data:`FEWEST` evaluations."""
    return f"{n} evaluations; {FEWEST} are needed before residuals say anything about drift"


def _a_words(a: Estimate) -> str:
    return f"a = {a.value:.3g} [{a.low:.3g}, {a.high:.3g}], and the law needs a > 0"


def _run_cautions(law: LawFit) -> Iterator[str]:
    """Whether the entropy falls and then comes back."""
    n, width = law.course.size, max(3, law.course.size // 10)
    if n < 3 * width:
        return
    # Medians over a tenth of the run (three evaluations at least): one noisy value makes no turn.
    starts = range(0, n - width + 1, width // 2)
    levels = np.array([np.median(law.course[i : i + width]) for i in starts])
    fall, back = float(levels[0] - levels.min()), float(levels[-1] - levels.min())
    if _net_rise(law.course) <= RISE and fall > 0 and back > REBOUND * fall:
        yield (
            f"entropy falls by {fall:.2g} nats and then rises by {back:.2g}; "
            "the law is stated for runs without such an intervention"
        )


def _form_cautions(law: LawFit) -> Iterator[str]:
    """Whether the exponential form itself is what the data show."""
    if law.law_weight < PLAUSIBLE:
        return
    same = [rival for rival in law.rivals if rival.weight >= PLAUSIBLE and not nests_law(rival.form)]
    if same:
        names = " and ".join(f"{form_label(rival.form)} (weight {rival.weight:.2f})" for rival in same)
        yield f"the run cannot tell the law (weight {law.law_weight:.2f}) from {names}"
    for rate in (rival.rate for rival in law.rivals if rival.rate is not None):
        if rate.value is not None and not _holds(rate, 1.0):
            yield f"a free rate k = {rate.value:.2g} excludes the law's k = 1 at level {rate.level:g}"


def _residual_cautions(law: LawFit, reward_sd: float | None) -> Iterator[str]:
    """Whether drift can be told from trend, and entropy and reward scatter as they were said to."""
    # Without a level to return to a drift remembers all by assumption.
    if residual_model(law.interval).fixed_level and law.residuals.long_memory > LONG_MEMORY:
        yield (
            "the residual may drift over half of the run or more "
            f"(probability {law.residuals.long_memory:.2f}): drift and trend cannot be told apart, "
            "and the intervals are wide for that reason (interval 'walk' tells the ceiling from where the "
            "run stands)"
        )

    if reward_sd is not None and law.residuals.sd * NOISE_RATIO < reward_sd:
        yield (
            f"the residual's sd {law.residuals.sd:.2g} is less than the binomial noise {reward_sd:.2g} of "
            f"the sample size that was given (by more than a factor of {NOISE_RATIO}): check what was given"
        )
    if law.entropy_noise is None or law.entropy_sd is None:
        return
    given = float(np.sqrt(np.mean(law.entropy_sd**2)))
    ratio = law.entropy_noise / given
    if not 1.0 / NOISE_RATIO <= ratio <= NOISE_RATIO:
        yield (
            f"entropy scatters by {law.entropy_noise:.2g} nats about its course, {ratio:.2g} times the "
            f"{given:.2g} that was given (limits {1 / NOISE_RATIO:.2g} and {NOISE_RATIO}): "
            "check what was given"
        )


def _reward_cautions(law: LawFit) -> Iterator[str]:
    """Whether one evaluation carries the ceiling, it lies where no reward can, and rewards look smoothed."""
    ceiling, shift = law.ceiling, law.influence.ceiling_shift
    half = (ceiling.width or 0.0) / 2
    # A ceiling relative to the last evaluation is another quantity than that of least squares.
    if half and residual_model(law.interval).fixed_level and abs(shift) >= half:
        yield (
            f"step {law.influence.step:g} alone moves the least-squares ceiling by "
            f"{shift:+.2g}, more than half of its interval"
        )
    if _bounded(law.reward) and ceiling.value is not None and ceiling.value > 1 >= (ceiling.low or 0):
        yield f"the ceiling {ceiling.value:.3g} lies above 1, the largest reward that the run could log"
    change, edge, smooth = np.diff(law.reward), SMOOTH_WINDOW // 2, None
    if change.size >= 2 * SMOOTH_WINDOW:
        # Less their moving average: the trend is gone.
        average = np.convolve(change, np.full(SMOOTH_WINDOW, 1.0 / SMOOTH_WINDOW), mode="valid")
        smooth = lag1(change[edge:-edge] - average)
    if smooth is not None and smooth > SMOOTH:
        yield (
            f"reward looks smoothed (its changes have lag-1 autocorrelation {smooth:.2f}, raw logs have "
            f"none or less; {SMOOTH} is the limit): intervals from smoothed input are too narrow"
        )


def _holds(estimate: Estimate, value: float) -> bool:
    """Whether a value lies in the interval; an open end excludes nothing."""
    above = estimate.low is None or estimate.low <= value
    return above and (estimate.high is None or estimate.high >= value)


def lag1(values: FloatArray) -> float | None:
    """Lag-1 autocorrelation; None below three values or where they do not vary."""
    if values.size < 3:
        return None
    centred = values - values.mean()
    total = float(centred @ centred)
    return float(centred[1:] @ centred[:-1]) / total if total > 0 else None


def _bounded(reward: FloatArray) -> bool:
    """Whether the reward looks like a rate: every value in [0, 1]."""
    return bool(reward.min() >= 0 and reward.max() <= 1)


def _net_rise(course: FloatArray) -> float:
    """Mean over the last tenth of the run less that over the first, as a share of the range."""
    width, span = max(1, course.size // 10), float(np.ptp(course))
    return float(course[-width:].mean() - course[:width].mean()) / span if span > 0 else 0.0
