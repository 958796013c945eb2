"""Validity of a fit: checks with findings, and the influence of single evaluations."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter

import numpy as np

from entropylaw.analysis.forms import design, form_label, law_column
from entropylaw.analysis.law.inference import covariances
from entropylaw.analysis.law.residual_models import check_fixed_level, residual_model
from entropylaw.analysis.rivals import PLAUSIBLE
from entropylaw.arguments import of_kind
from entropylaw.engine.prior import TIED, first_best
from entropylaw.errors import UsageError
from entropylaw.results import Influence, Validity
from entropylaw.results.arrays import FloatArray
from entropylaw.results.law import Influences, LawFit
from entropylaw.results.result import Finding, caution, reason

ROUNDING = 1e-6
"""Nats below 0 that rounding may give the sampled entropy of a collapsed policy."""

FEWEST = 8
"""Fewest evaluations of a valid fit."""

SPAN = 0.15
"""Nats of entropy that a run must span for a and b to be identified."""

A_CHANGE = 0.5
"""Relative change of a, on leaving out one evaluation, from which the law depends on that evaluation."""

RISE = 0.3
"""Share of the entropy's range by which a run may end higher than it began."""

REBOUND = 0.3
"""Share of the entropy's fall that may be reversed before the run counts as fall-then-rise."""

LONG_MEMORY = 0.3
"""Probability of a drift as long as half the run from which drift and trend are not separable."""

SMOOTH = 0.3
"""Lag-1 autocorrelation of locally centred differences above which a column looks smoothed: white
noise gives −0.5, a random walk about −0.1, an exponential average of a random walk +0.3 and more. (An
average of pure noise looks like a drift, and is not detected here.)"""

SMOOTH_WINDOW = 9

NOISE_RATIO = 1.5
"""Ratio of the scatter to the given noise from which the two disagree."""


def judge(law: LawFit, reward_sd: float) -> Validity:
    """Run every check on a fit.

    ``reward_sd`` is the least noise that the reward should have, a root mean square; 0 where unknown.
    """
    against, lacking = tuple(_contradictions(law)), tuple(_gaps(law))
    cautions = (*_form_cautions(law), *_residual_cautions(law, reward_sd), *_reward_cautions(law))
    return Validity(
        ok=not against + lacking, contradicted=bool(against), findings=against + lacking + cautions
    )


def _contradictions(law: LawFit) -> Iterator[Finding]:
    """Evidence against the law itself."""
    lowest, highest = float(law.entropy.min()), float(law.entropy.max())
    if lowest < -ROUNDING and highest > 0:
        yield reason("entropy-both-signs", lowest=lowest, highest=highest)
    if law.a.high is not None and law.a.high < 0:
        yield reason("reward-falls", a=law.a.value, low=law.a.low, high=law.a.high)
    ceiling = law.ceiling
    if _bounded(law.reward) and ceiling.low is not None and ceiling.low > 1:
        yield reason("ceiling-impossible", ceiling=ceiling.value, low=ceiling.low, high=ceiling.high)
    rise = _net_rise(law.smoothed_entropy)
    if rise > RISE:
        yield reason("entropy-rises", rise=rise, limit=RISE)
    if law.law_probability < PLAUSIBLE:
        form = law.rivals[0].form
        better = {"form": form, "label": form_label(form)}
        yield reason("law-ruled-out", **better, law_weight=law.law_probability, limit=PLAUSIBLE)


def _gaps(law: LawFit) -> Iterator[Finding]:
    """What the run lacks for a valid fit."""
    n, span = law.reward.size, float(np.ptp(law.smoothed_entropy))
    if n < FEWEST:
        yield reason("too-few-evaluations", n=n, needed=FEWEST)
    if span < SPAN:
        yield reason("entropy-range-narrow", span=span, needed=SPAN)
    if law.a.low is not None and law.a.high is not None and law.a.low <= 0 <= law.a.high:
        yield reason("slope-unclear", a=law.a.value, low=law.a.low, high=law.a.high)
    elif abs(1.0 - law.influence.a_ratio) >= A_CHANGE:
        yield reason("one-evaluation-decides", step=law.influence.step, a_ratio=law.influence.a_ratio)


def _form_cautions(law: LawFit) -> Iterator[Finding]:
    """Whether the entropy falls and then rises, and the data prefer the exponential form."""
    n, width = law.smoothed_entropy.size, max(3, law.smoothed_entropy.size // 10)
    if n >= 3 * width:
        # Medians over a tenth of the run (three evaluations at least): one noisy value is no turn.
        starts = range(0, n - width + 1, width // 2)
        levels = np.array([np.median(law.smoothed_entropy[i : i + width]) for i in starts])
        fall, back = float(levels[0] - levels.min()), float(levels[-1] - levels.min())
        if _net_rise(law.smoothed_entropy) <= RISE and back > REBOUND * fall > 0:
            yield caution("entropy-rebounds", fall=fall, rise=back)
    if law.law_probability < PLAUSIBLE:
        return
    if same := law.rivals_as_good:
        forms, weights = zip(*map(attrgetter("form", "probability"), same), strict=True)
        yield caution(
            "forms-as-good",
            law_weight=law.law_probability,
            forms=forms,
            labels=tuple(map(form_label, forms)),
            weights=weights,
        )
    for rate in filter(None, map(attrgetter("rate"), law.rivals)):
        # An open end, nan here, excludes no rate.
        low, high = np.array([rate.low, rate.high], dtype=float)
        if low > 1.0 or high < 1.0:
            yield caution("rate-excludes-law", rate=rate.value, level=rate.level)


def _residual_cautions(law: LawFit, reward_sd: float) -> Iterator[Finding]:
    """Whether drift and trend are separable, and entropy and reward scatter by their given noise."""
    # A random-walk drift has an infinite memory by assumption.
    if residual_model(law.interval).fixed_level and law.residuals.long_memory > LONG_MEMORY:
        yield caution("residuals-drift", probability=law.residuals.long_memory)
    if law.residuals.sd * NOISE_RATIO < reward_sd:
        yield caution("residuals-below-noise", sd=law.residuals.sd, noise=reward_sd, factor=NOISE_RATIO)
    if law.entropy_noise is None or law.entropy_sd is None:
        return
    given = float(np.sqrt(np.mean(law.entropy_sd**2)))
    ratio = law.entropy_noise / given
    if not 1.0 / NOISE_RATIO <= ratio <= NOISE_RATIO:
        values = {"noise": law.entropy_noise, "given": given, "ratio": ratio, "factor": NOISE_RATIO}
        yield caution("entropy-noise-differs", **values)


def _reward_cautions(law: LawFit) -> Iterator[Finding]:
    """Whether one evaluation determines the ceiling, it exceeds 1, and rewards look smoothed."""
    ceiling, shift = law.ceiling, law.influence.ceiling_shift
    # A ceiling relative to the last evaluation is another quantity than that of least squares.
    if residual_model(law.interval).fixed_level and 2.0 * abs(shift) >= (ceiling.width or np.inf):
        yield caution("one-evaluation-moves-ceiling", step=law.influence.step, shift=shift)
    low, value = np.array([ceiling.low, ceiling.value], dtype=float)
    if _bounded(law.reward) and value > 1 and not low > 1:
        yield caution("ceiling-above-one", ceiling=ceiling.value)
    change, edge = np.diff(law.reward), SMOOTH_WINDOW // 2
    if change.size >= 2 * SMOOTH_WINDOW:
        # Less their moving average: the trend is gone.
        average = np.convolve(change, np.full(SMOOTH_WINDOW, 1.0 / SMOOTH_WINDOW), mode="valid")
        if (smooth := lag1(change[edge:-edge] - average) or 0.0) > SMOOTH:
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


def _net_rise(entropy: FloatArray) -> float:
    """Mean over the last tenth of the run less that over the first, as a share of the range."""
    width, span = max(1, entropy.size // 10), float(np.ptp(entropy))
    return float(entropy[-width:].mean() - entropy[:width].mean()) / span if span > 0 else 0.0


MOST = 5000
"""Most evaluations whose covariance fits in memory as one matrix."""


def strongest_influence(step: FloatArray, entropy: FloatArray, reward: FloatArray) -> Influence:
    """The evaluation whose deletion moves the least-squares law most, measured on the ceiling and a.

    Deletion formula: β without i = β − (XᵀX)⁻¹ xᵢ rᵢ / (1 − hᵢ), with leverage hᵢ (Cook 1977,
    doi:10.1080/00401706.1977.10489493). Least squares on purpose: a drift would absorb an outlier, and the
    question here is which point determines a plain reading of the curve.
    """
    x = design(law_column(entropy))
    ortho, triangle = np.linalg.qr(x)
    coefficient = np.linalg.solve(triangle, ortho.T @ reward)
    leverage = np.minimum((ortho**2).sum(axis=1), 1.0 - 1e-12)
    shift = np.linalg.solve(triangle, (ortho * ((reward - x @ coefficient) / (1.0 - leverage))[:, None]).T)
    # In standard errors (DFBETAS, up to a factor common to all): the reward's origin must not matter.
    scale = np.linalg.norm(np.linalg.inv(triangle), axis=1) + np.finfo(float).tiny
    moved = np.max(np.abs(shift) / scale[:, None], axis=0)
    most = int(first_best(moved, TIED * moved.max()))
    return Influence(
        step=float(step[most]),
        ceiling_shift=float(-shift[0, most]),
        # Where a is near 0 without the evaluation, only rounding remains.
        a_ratio=round(float(1.0 - shift[1, most] / coefficient[1]), 12) if coefficient[1] else 1.0,
    )


def influences(law: LawFit) -> Influences:
    """Leverage and influence of every evaluation, under the most probable covariance V of the residual.

    With Q = V⁻¹, r the residual and M = Q − QX(XᵀQX)⁻¹XᵀQ, leaving out evaluation i changes β by
    −(XᵀQX)⁻¹XᵀQᵢ·(Qr)ᵢ/Mᵢᵢ, exactly (Haslett 1999, doi:10.1111/1467-9868.00195); without drift that is
    Cook's formula. The smoothed entropy is taken as known.

    Parameters
    ----------
    law
        A fit of :func:`entropylaw.fit_law` with at most :data:`MOST` evaluations, for V is one matrix.

    Raises
    ------
    UsageError
        ``too-many-evaluations``; ``no-fixed-ceiling`` for ``interval="walk"``, whose ceiling is relative to
        the last evaluation.
    """
    law = of_kind(law, LawFit, "law")
    if law.n > MOST:
        raise UsageError(
            "too-many-evaluations",
            f"{law.n} evaluations, expected at most {MOST} for the influence of each",
            "take every tenth evaluation",
        )
    check_fixed_level(law.interval, "the influence of each evaluation")
    x = design(law_column(law.smoothed_entropy))
    best, posterior = int(np.argmax(law.posterior.weight)), law.posterior
    each = (posterior.drift_share, posterior.length, posterior.variance)
    share, length, variance = (float(values[best]) for values in each)
    floor = covariances(law.step, law.smoothed_entropy, law.reward, law.interval, law.eval_size).floor
    known = np.zeros(law.n) if floor is None else floor
    # The share is the drift's of the whole variance, known noise included.
    drift = share * (variance + float(known.mean()))
    gap = np.abs(law.step[:, None] - law.step)
    covariance = drift * np.exp(-gap / length) + np.diag(variance - drift + known)
    precision = np.linalg.inv(covariance)
    pull = np.linalg.inv(x.T @ precision @ x) @ x.T @ precision
    left = precision - precision @ x @ pull
    shift = pull * (left @ law.reward / np.diag(left))
    return Influences(
        step=law.step,
        leverage=np.einsum("np,pn->n", x, pull),
        ceiling_shift=-shift[0],
        a_ratio=1.0 - shift[1] / (pull @ law.reward)[1],
        length=length,
        drift_share=share,
    )
