"""May the numbers be read as they stand? A check that fails gives a finding with value and limit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from entropylaw.analysis.forms import form_label, nests_law
from entropylaw.analysis.residual_models import residual_model
from entropylaw.analysis.rivals import PLAUSIBLE
from entropylaw.engine.grid import FloatArray
from entropylaw.results import Validity
from entropylaw.results.findings import Finding, caution, reason
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
    cautions = (*_form_cautions(law), *_residual_cautions(law, reward_sd), *_reward_cautions(law))
    return Validity(
        ok=not against + lacking, contradicted=bool(against), findings=against + lacking + cautions
    )


def _contradictions(law: LawFit) -> Iterator[Finding]:
    """What speaks against the law itself."""
    lowest, highest = float(law.entropy.min()), float(law.entropy.max())
    if lowest < -ROUNDING and highest > 0:
        yield reason("entropy-both-signs", lowest=lowest, highest=highest)
    if law.a.high is not None and law.a.high < 0:
        yield reason("reward-falls", a=law.a.value, low=law.a.low, high=law.a.high)
    ceiling = law.ceiling
    if _bounded(law.reward) and ceiling.low is not None and ceiling.low > 1:
        yield reason("ceiling-impossible", ceiling=ceiling.value, low=ceiling.low, high=ceiling.high)
    rise = _net_rise(law.course)
    if rise > RISE:
        yield reason("entropy-rises", rise=rise, limit=RISE)
    if law.law_weight < PLAUSIBLE:
        form = law.rivals[0].form
        better = {"form": form, "label": form_label(form)}
        yield reason("law-ruled-out", **better, law_weight=law.law_weight, limit=PLAUSIBLE)


def _gaps(law: LawFit) -> Iterator[Finding]:
    """What the run would need before it could answer."""
    n, span = law.reward.size, float(np.ptp(law.course))
    if n < FEWEST:
        yield reason("too-few-evaluations", n=n, needed=FEWEST)
    if span < SPAN:
        yield reason("entropy-range-narrow", span=span, needed=SPAN)
    if law.a.low is not None and law.a.high is not None and law.a.low <= 0 <= law.a.high:
        yield reason("slope-unclear", a=law.a.value, low=law.a.low, high=law.a.high)
    elif abs(1.0 - law.influence.a_ratio) >= A_CHANGE:
        yield reason("one-evaluation-decides", step=law.influence.step, a_ratio=law.influence.a_ratio)


def _form_cautions(law: LawFit) -> Iterator[Finding]:
    """Whether the entropy falls and then comes back, and the exponential form is what the data show."""
    n, width = law.course.size, max(3, law.course.size // 10)
    if n >= 3 * width:
        # Medians over a tenth of the run (three evaluations at least): one noisy value makes no turn.
        starts = range(0, n - width + 1, width // 2)
        levels = np.array([np.median(law.course[i : i + width]) for i in starts])
        fall, back = float(levels[0] - levels.min()), float(levels[-1] - levels.min())
        if _net_rise(law.course) <= RISE and fall > 0 and back > REBOUND * fall:
            yield caution("entropy-rebounds", fall=fall, rise=back)
    if law.law_weight < PLAUSIBLE:
        return
    same = [rival for rival in law.rivals if rival.weight >= PLAUSIBLE and not nests_law(rival.form)]
    if same:
        yield caution(
            "forms-as-good",
            law_weight=law.law_weight,
            forms=tuple(rival.form for rival in same),
            labels=tuple(form_label(rival.form) for rival in same),
            weights=tuple(rival.weight for rival in same),
        )
    for rate in (rival.rate for rival in law.rivals if rival.rate is not None):
        # An open end excludes nothing.
        low, high = (1.0 if end is None else end for end in (rate.low, rate.high))
        if rate.value is not None and not low <= 1.0 <= high:
            yield caution("rate-excludes-law", rate=rate.value, level=rate.level)


def _residual_cautions(law: LawFit, reward_sd: float | None) -> Iterator[Finding]:
    """Whether drift can be told from trend, and entropy and reward scatter as they were said to."""
    # Without a level to return to a drift remembers all by assumption.
    if residual_model(law.interval).fixed_level and law.residuals.long_memory > LONG_MEMORY:
        yield caution("residuals-drift", probability=law.residuals.long_memory)
    if reward_sd is not None and law.residuals.sd * NOISE_RATIO < reward_sd:
        yield caution("residuals-below-noise", sd=law.residuals.sd, noise=reward_sd, factor=NOISE_RATIO)
    if law.entropy_noise is None or law.entropy_sd is None:
        return
    given = float(np.sqrt(np.mean(law.entropy_sd**2)))
    ratio = law.entropy_noise / given
    if not 1.0 / NOISE_RATIO <= ratio <= NOISE_RATIO:
        found = {"noise": law.entropy_noise, "given": given, "ratio": ratio, "factor": NOISE_RATIO}
        yield caution("entropy-noise-differs", **found)


def _reward_cautions(law: LawFit) -> Iterator[Finding]:
    """Whether one evaluation carries the ceiling, it lies where no reward can, and rewards look smoothed."""
    ceiling, shift = law.ceiling, law.influence.ceiling_shift
    half = (ceiling.width or 0.0) / 2
    # A ceiling relative to the last evaluation is another quantity than that of least squares.
    if half and residual_model(law.interval).fixed_level and abs(shift) >= half:
        yield caution("one-evaluation-moves-ceiling", step=law.influence.step, shift=shift)
    if _bounded(law.reward) and ceiling.value is not None and ceiling.value > 1 >= (ceiling.low or 0):
        yield caution("ceiling-above-one", ceiling=ceiling.value)
    change, edge, smooth = np.diff(law.reward), SMOOTH_WINDOW // 2, None
    if change.size >= 2 * SMOOTH_WINDOW:
        # Less their moving average: the trend is gone.
        average = np.convolve(change, np.full(SMOOTH_WINDOW, 1.0 / SMOOTH_WINDOW), mode="valid")
        smooth = lag1(change[edge:-edge] - average)
    if smooth is not None and smooth > SMOOTH:
        yield caution("reward-smoothed", lag1=smooth, limit=SMOOTH)


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
