"""Findings about a fit, and the influence of single evaluations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from entropylaw.analysis.forms import form_label
from entropylaw.analysis.law.influence import lag1
from entropylaw.analysis.law.residual_models import DEFAULT_RESIDUAL, residual_model
from entropylaw.analysis.law.scatter import FACTOR, P_CHANGES
from entropylaw.analysis.law.verdict import (
    CLEARLY,
    FEWEST,
    IN_STEP,
    LEAST_R_SQUARED,
    SPAN,
    nearest_rival,
)
from entropylaw.analysis.rivals import STRONG
from entropylaw.arrays import FloatArray
from entropylaw.results import FEWEST_FOR_MEMORY, Verdict, Why
from entropylaw.results.fit import Fit
from entropylaw.results.law import LawFit
from entropylaw.results.result import Finding, caution, reason

ROUNDING = 1e-6
"""Nats below 0 that rounding may give the sampled entropy of a collapsed policy."""

A_CHANGE = 0.5
"""Relative change of a, on leaving out one evaluation, from which the law depends on that evaluation."""

RISE = 0.3
"""Share of the entropy's range by which a run may end higher than it began."""

REBOUND = 0.3
"""Share of the entropy's fall that may be reversed before the run counts as fall-then-rise."""

SMOOTH = 0.3
"""Lag-1 autocorrelation of locally centred differences above which a column looks smoothed: white
noise gives −0.5, a random walk about −0.1, an exponential average of a random walk +0.3 and more. (An
average of pure noise looks like a drift, and is not detected here.)"""

SMOOTH_WINDOW = 9

P_LONG_MEMORY = {FEWEST_FOR_MEMORY: 0.78, 400: 0.87}
"""Probability of long memory, 0.5 before the data, from which it is a caution, by the number of evaluations:
about one in ten runs with a drift of one length and noise exceeds it."""

P_LAG = 0.001
"""p-value below which a lag between entropy and reward is a caution."""

NOISE_RATIO = 1.5
"""Ratio of the scatter to the given noise from which the two disagree."""

LOST_SHARE = 0.5
"""A run has lost its reward if more than this share of the highest, and of what it had gained, is gone."""


def cautions_of(fit: Fit, reward_sd: float) -> tuple[Finding, ...]:
    """Limitations of a fit's numbers.

    ``reward_sd`` is the least noise that the reward should have, a root mean square; 0 where unknown.
    """
    law = fit.law
    return (
        *_rests_on(fit),
        *_influence_cautions(fit),
        *_entropy_cautions(law),
        *_lag_cautions(law),
        *_residual_cautions(law, reward_sd),
        *_reward_cautions(fit),
    )


def reasons_of(fit: Fit) -> tuple[Finding, ...]:
    """Why the law fails, or what is missing for it to hold."""
    return tuple(_reasons(fit))


def _reasons(fit: Fit) -> Iterator[Finding]:
    """Why the law fails, or what is missing for it to hold."""
    law, tests, best = fit.law, fit.tests, fit.best
    if fit.why is Why.no_relation:
        if law.a.high is not None and law.a.high < 0:
            yield reason("reward-falls", a=law.a.value, low=law.a.low, high=law.a.high)
        else:
            yield reason("no-relation", odds=tests.odds_constant, spearman=tests.spearman)
    elif fit.why is Why.more_than_entropy:
        name = max(IN_STEP, key=lambda one: getattr(tests, f"odds_{one}") or 0.0)
        yield reason("more-than-entropy", curve=name, odds=getattr(tests, f"odds_{name}"))
    elif fit.why is Why.another_curve:
        if best.form != "law" and best.probability >= CLEARLY * law.probability:
            label, probability = form_label(best.form), best.probability
            yield reason(
                "another-curve", form=best.form, label=label, probability=probability, own=law.probability
            )
        else:
            steps = [p for p in (tests.p_step, tests.p_log_step) if p is not None]
            yield reason("curve-differs", p_value=min(steps, default=None), **_rate(fit))
    elif fit.verdict is Verdict.undecided:
        yield from _gaps(fit)


def _rate(fit: Fit) -> dict[str, float | None]:
    """The rate k of the form that has the law at k = 1, with its interval."""
    rates = (one.shapes["k"] for one in fit.forms if one.form == "rate")
    rate = next(rates, None)
    return (
        {"rate": None, "low": None, "high": None}
        if rate is None
        else {"rate": rate.value, "low": rate.low, "high": rate.high}
    )


def _gaps(fit: Fit) -> Iterator[Finding]:
    """What keeps the law from holding in a run in which it does not fail."""
    law, tests = fit.law, fit.tests
    span = float(np.ptp(law.smoothed_entropy))
    if law.n < FEWEST:
        yield reason("too-few-evaluations", n=law.n, needed=FEWEST)
    if span < SPAN:
        logged = float(np.ptp(law.entropy))
        yield reason("entropy-range-narrow", span=span, logged=logged, needed=SPAN)
    if law.a.low is not None and law.a.high is not None and law.a.low <= 0 <= law.a.high:
        yield reason("slope-unclear", a=law.a.value, low=law.a.low, high=law.a.high)
    if law.r_squared < LEAST_R_SQUARED:
        yield reason("weak-relation", r_squared=law.r_squared, needed=LEAST_R_SQUARED)
    nearest, odds = nearest_rival(tests)
    yield reason("curve-as-good", curve=nearest, odds=odds)


def _rests_on(fit: Fit) -> Iterator[Finding]:
    """Whether the answer rests on the first evaluations; the fewest that are off the curve."""
    cut = next((cut for cut in fit.cuts if cut.changed), None)
    if cut is not None:
        ceiling = {"value": cut.ceiling.value, "low": cut.ceiling.low, "high": cut.ceiling.high}
        why = None if cut.why is None else cut.why.value
        yield caution(
            "rests-on-first",
            dropped=cut.dropped,
            step=cut.first_step,
            verdict=cut.verdict.value,
            why=why,
            p_value=cut.p_first,
            **ceiling,
        )


def _influence_cautions(fit: Fit) -> Iterator[Finding]:
    """Whether one evaluation decides on a, and whether the ceiling rests on one."""
    law = fit.law
    if abs(1.0 - law.influence.a_ratio) >= A_CHANGE:
        yield caution("one-evaluation-decides", step=law.influence.step, a_ratio=law.influence.a_ratio)
    # A ceiling relative to the last evaluation is another quantity than that of least squares.
    width, shift = fit.ceiling.width, law.influence.ceiling_shift
    if residual_model(law.interval).fixed_level and 2.0 * abs(shift) >= (width or np.inf):
        yield caution("one-evaluation-moves-ceiling", step=law.influence.step, shift=shift)


def _entropy_cautions(law: LawFit) -> Iterator[Finding]:
    """Whether the entropy is one, and falls."""
    lowest, highest = float(law.entropy.min()), float(law.entropy.max())
    if lowest < -ROUNDING and highest > 0:
        yield caution("entropy-both-signs", lowest=lowest, highest=highest)
    n, width = law.smoothed_entropy.size, max(3, law.smoothed_entropy.size // 10)
    rise = _net_rise(law.smoothed_entropy)
    if rise > RISE:
        yield caution("entropy-rises", rise=rise, limit=RISE)
    elif n >= 3 * width:
        # Medians over a tenth of the run (three evaluations at least): one noisy value is no turn.
        starts = range(0, n - width + 1, width // 2)
        levels = np.array([np.median(law.smoothed_entropy[i : i + width]) for i in starts])
        fall, back = float(levels[0] - levels.min()), float(levels[-1] - levels.min())
        if back > REBOUND * fall > 0:
            yield caution("entropy-rebounds", fall=fall, rise=back)


def _lag_cautions(law: LawFit) -> Iterator[Finding]:
    """Whether the reward follows the entropy of other evaluations."""
    lag = law.lag
    if lag is not None and lag.evaluations and lag.p_value < P_LAG and lag.odds >= STRONG:
        values = {"evaluations": abs(lag.evaluations), "odds": lag.odds, "p_value": lag.p_value}
        yield caution("reward-lags", **values) if lag.evaluations > 0 else caution("reward-leads", **values)


def _residual_cautions(law: LawFit, reward_sd: float) -> Iterator[Finding]:
    """Whether entropy and reward scatter by their given noise."""
    thirds, p_thirds = law.residuals.thirds, law.residuals.p_thirds
    if thirds is not None and p_thirds is not None and p_thirds < P_CHANGES:
        ratio = thirds[2] / thirds[0]
        if not 1.0 / FACTOR < ratio < FACTOR:
            values = {"first": thirds[0], "last": thirds[2], "ratio": ratio, "p_value": p_thirds}
            allowed = law.interval == DEFAULT_RESIDUAL and law.eval_size is None and ratio < 1
            yield caution("scatter-changes", **values, allowed=allowed)
    if has_long_memory(law):
        yield caution("long-memory", probability=law.residuals.long_memory, limit=long_memory_limit(law.n))
    if law.residuals.sd * NOISE_RATIO < reward_sd:
        yield caution("residuals-below-noise", sd=law.residuals.sd, noise=reward_sd, factor=NOISE_RATIO)
    if law.entropy_noise is None or law.entropy_sd is None:
        return
    given = float(np.sqrt(np.mean(law.entropy_sd**2)))
    ratio = law.entropy_noise / given
    if not 1.0 / NOISE_RATIO <= ratio <= NOISE_RATIO:
        values = {"noise": law.entropy_noise, "given": given, "ratio": ratio, "factor": NOISE_RATIO}
        yield caution("entropy-noise-differs", **values)


def long_memory_limit(n: int) -> float:
    """:data:`P_LONG_MEMORY` at n evaluations, linear in log n, and constant outside."""
    return float(np.interp(np.log(n), np.log(list(P_LONG_MEMORY)), list(P_LONG_MEMORY.values())))


def has_long_memory(law: LawFit) -> bool:
    """Whether long memory is a caution: never below :data:`~entropylaw.results.FEWEST_FOR_MEMORY`."""
    long = law.residuals.long_memory
    return long is not None and law.n >= FEWEST_FOR_MEMORY and long >= long_memory_limit(law.n)


def _reward_cautions(fit: Fit) -> Iterator[Finding]:
    """Whether the ceiling is above what a rate can be, and rewards look smoothed."""
    law = fit.law
    low, value = np.array([fit.ceiling.low, fit.ceiling.value], dtype=float)
    if _bounded(law.reward) and value > 1:
        known = {"ceiling": fit.ceiling.value, "low": fit.ceiling.low, "high": fit.ceiling.high}
        impossible = caution("ceiling-impossible", **known)
        yield impossible if low > 1 else caution("ceiling-above-one", **known)
    change, edge = np.diff(law.reward), SMOOTH_WINDOW // 2
    if change.size >= 2 * SMOOTH_WINDOW:
        # Less their moving average: the trend is gone.
        average = np.convolve(change, np.full(SMOOTH_WINDOW, 1.0 / SMOOTH_WINDOW), mode="valid")
        if (smooth := lag1(change[edge:-edge] - average) or 0.0) > SMOOTH:
            yield caution("reward-smoothed", lag1=smooth, limit=SMOOTH)


def lost_reward(reward: FloatArray) -> Finding | None:
    """The first, highest and last reward of a run that lost it; None where it did not.

    More than half of its highest reward, and of what it had gained, by a moving median of five; a loss within
    four standard deviations of the noise of a reward is none. The gain alone is no measure: what a flat
    reward seems to gain, and to lose again, is drift.
    """
    width = min(5, reward.size)
    smooth = np.median(np.lib.stride_tricks.sliding_window_view(reward, width), axis=1)
    first, best, last = float(smooth[0]), float(smooth.max()), float(smooth[-1])
    noise = float(np.median(np.abs(np.diff(reward)))) / 0.6745 / np.sqrt(2.0)
    least = max(LOST_SHARE * abs(best), LOST_SHARE * (best - first), 4.0 * noise)
    return caution("reward-lost", first=first, best=best, last=last) if best - last > least else None


def _bounded(reward: FloatArray) -> bool:
    """Whether the reward looks like a rate: every value in [0, 1]."""
    return bool(reward.min() >= 0 and reward.max() <= 1)


def _net_rise(entropy: FloatArray) -> float:
    """Mean over the last tenth of the run less that over the first, as a share of the range."""
    width, span = max(1, entropy.size // 10), float(np.ptp(entropy))
    return float(entropy[-width:].mean() - entropy[:width].mean()) / span if span > 0 else 0.0
