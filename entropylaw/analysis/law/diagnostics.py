"""Findings about a fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from entropylaw.analysis.forms import form_label, lag1, least_squares, r_squared
from entropylaw.analysis.law.estimates import unknown
from entropylaw.analysis.law.verdict import (
    IN_ENTROPY,
    IN_STEP,
    OF_ENTROPY,
    law_probability,
    nearest_rival,
)
from entropylaw.analysis.numbers import Averaged
from entropylaw.arrays import FloatArray
from entropylaw.engine import constants
from entropylaw.engine.reads import Reads
from entropylaw.results import FEWEST_FOR_MEMORY, Estimate, FormAnswer, LawTests, Verdict, Why
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

NOISE_RATIO = 1.5
"""Ratio of the scatter to the given noise from which the two disagree."""

FIRST_SHARE, JUMP_SHARE = 0.05, 0.9
"""The first evaluations are this share of the run, or one; and share of the reward's variance, between them
and the others, from which there is a jump."""

ENDS_EARLY = 0.1
"""Share of the run's length by which the last entropy is at most before the last evaluation."""

LOST_SHARE = 0.5
"""A run has lost its reward if more than this share of the highest, and of what it had gained, is gone."""


def cautions_of(law: LawFit, averaged: Averaged, reads: Reads, *, is_score: bool) -> Iterator[Finding]:
    """Limitations of a run's numbers; of what is no score, none is possible or impossible."""
    yield from _curve_cautions(law, averaged, reads)
    yield from _entropy_cautions(law)
    yield from _residual_cautions(law)
    if is_score:
        yield from _ceiling_cautions(law, averaged.ceiling)
    yield from _smoothed_cautions(law.reward)


def reasons_of(
    tests: LawTests, verdict: Verdict, why: Why | None, law: LawFit, forms: Sequence[FormAnswer]
) -> Iterator[Finding]:
    """Why the law fails, or what is missing for it to hold."""
    jumps = 0 if verdict is Verdict.holds else _jump_at_start(law.entropy, law.reward)
    if jumps:
        yield reason("jump-at-start", first=jumps)
    is_unrelated = why is Why.no_relation and not jumps
    falls = law.a.high is not None and law.a.high < 0 and least_squares(law.entropy, law.reward)[1] < 0
    if is_unrelated and falls:
        yield reason("reward-falls", a=law.a.value, low=law.a.low, high=law.a.high)
    elif is_unrelated:
        yield reason("no-relation", odds=tests.odds_constant, spearman=tests.spearman)
    elif why is Why.more_than_entropy:
        name = max(IN_STEP, key=lambda curve: getattr(tests, f"odds_{curve}") or 0.0)
        yield reason("more-than-entropy", curve=name, odds=getattr(tests, f"odds_{name}"))
    elif why is Why.another_curve:
        yield _another_curve(tests, forms)
    elif verdict is Verdict.undecided:
        yield from _gaps(tests, law)


def _jump_at_start(entropy: FloatArray, reward: FloatArray) -> int:
    """The number of first evaluations on which all of the relation rests; 0 where it does not.

    Two levels, of these and of all others, explain :data:`JUMP_SHARE` of the variance of the rewards (n,),
    and the law by least squares explains less of the others than ``LEAST_R_SQUARED``.
    """
    n = reward.size
    for first in sorted({1, max(round(FIRST_SHARE * n), 1)}) if n >= constants.FEWEST_HOLDS else ():
        within = first * np.var(reward[:first]) + (n - first) * np.var(reward[first:])
        flat = r_squared(entropy[first:], reward[first:]) < constants.LEAST_R_SQUARED
        if flat and within <= (1.0 - JUMP_SHARE) * n * np.var(reward):
            return first
    return 0


def _another_curve(tests: LawTests, forms: Sequence[FormAnswer]) -> Finding:
    """The curve in the entropy that is clearly more probable than the law, or how the curve differs."""
    of_law = law_probability(tests, OF_ENTROPY)
    odds, form = max((getattr(tests, f"odds_{name}") or 0.0, name) for name in IN_ENTROPY)
    if odds >= constants.CLEARLY:
        probability = min(odds * of_law, 1.0)
        return reason("another-curve", form=form, label=form_label(form), probability=probability, own=of_law)
    steps = [p for p in (tests.p_step, tests.p_log_step) if p is not None]
    p_value = min(steps, default=None)
    # The form with a free rate has the law at k = 1.
    for answer in forms:
        if answer.form == "rate":
            rate = answer.shapes["k"]
            return reason("curve-differs", p_value=p_value, rate=rate.value, low=rate.low, high=rate.high)
    return reason("curve-differs", p_value=p_value, rate=None, low=None, high=None)


def _gaps(tests: LawTests, law: LawFit) -> Iterator[Finding]:
    """What keeps the law from holding in a run in which it does not fail."""
    span = float(np.ptp(law.smoothed_entropy))
    if law.n < constants.FEWEST_HOLDS:
        yield reason("too-few-evaluations", n=law.n, needed=constants.FEWEST_HOLDS)
    if span < constants.SPAN:
        logged = float(np.ptp(law.entropy))
        yield reason("entropy-range-narrow", span=span, logged=logged, needed=constants.SPAN)
    if law.a.low is not None and law.a.high is not None and law.a.low <= 0 <= law.a.high:
        yield reason("slope-unclear", a=law.a.value, low=law.a.low, high=law.a.high)
    if law.r_squared < constants.LEAST_R_SQUARED:
        yield reason("weak-relation", r_squared=law.r_squared, needed=constants.LEAST_R_SQUARED)
    nearest, odds = nearest_rival(tests)
    yield reason("curve-as-good", curve=nearest, odds=odds)


def _curve_cautions(law: LawFit, averaged: Averaged, reads: Reads) -> Iterator[Finding]:
    """Whether no curve fits, first evaluations are off it, or reward follows a past entropy."""
    if averaged.p_no_curve > constants.NO_CURVE and law.n >= constants.FEWEST_NO_CURVE:
        yield caution("no-curve-fits", probability=averaged.p_no_curve, limit=constants.NO_CURVE)
    if averaged.p_first > constants.RESTS_ON_FIRST:
        yield _rests_on_first(law, averaged.p_first, reads)
    lagged = reads.probability()["lagged"]
    if lagged > LAGS:
        (lag,) = (form.shapes["lag"].value for form in averaged.forms if form.form == "lagged")
        yield caution("reward-lags", evaluations=round((lag or 0.0) * law.n), probability=lagged)


def _rests_on_first(law: LawFit, probability: float, reads: Reads) -> Finding:
    """How many first evaluations are off the curve of the others, and the ceiling if they are not."""
    table = reads.table
    first = max(range(1, len(table.prior.firsts)), key=lambda i: reads.share(table.first == i))
    dropped = max(round(table.prior.firsts[first][0] * table.time.size), 1) * table.group
    ceiling = unknown("", level=law.level, method="")
    weight = reads.averaged * (table.first == 0)
    # On rewards without noise, curves through all evaluations can have a probability of exactly 0.
    if weight.any():
        ceiling = reads.cells(0, weight, reads.top).estimate(level=law.level, method="")
    return caution(
        "rests-on-first",
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


def _residual_cautions(law: LawFit) -> Iterator[Finding]:
    """Whether memory is long, and the entropy scatters by its given noise."""
    if law.n >= FEWEST_FOR_MEMORY and law.residuals.long_memory > LONG_MEMORY:
        yield caution("long-memory", probability=law.residuals.long_memory)
    if law.entropy_noise is None or law.entropy_sd is None:
        return
    expected = float(np.sqrt(np.mean(law.entropy_sd**2)))
    ratio = law.entropy_noise / expected
    if not 1.0 / NOISE_RATIO <= ratio <= NOISE_RATIO:
        yield caution(
            "entropy-noise-differs",
            noise=law.entropy_noise,
            given=expected,
            ratio=ratio,
            factor=NOISE_RATIO,
        )


def _ceiling_cautions(law: LawFit, ceiling: Estimate) -> Iterator[Finding]:
    """Whether the ceiling is above what a rate can be."""
    if ceiling.value is None or ceiling.value <= 1 or law.reward.min() < 0 or law.reward.max() > 1:
        return
    if ceiling.low is not None and ceiling.low > 1:
        yield caution("ceiling-impossible", ceiling=ceiling.value, low=ceiling.low, high=ceiling.high)
    else:
        yield caution("ceiling-above-one", ceiling=ceiling.value, low=ceiling.low, high=ceiling.high)


def _smoothed_cautions(reward: FloatArray) -> Iterator[Finding]:
    """Whether rewards (n,) look smoothed."""
    change, edge = np.diff(reward), SMOOTH_WINDOW // 2
    if change.size >= 2 * SMOOTH_WINDOW:
        # Less their moving average: the trend is gone.
        average = np.convolve(change, np.full(SMOOTH_WINDOW, 1.0 / SMOOTH_WINDOW), mode="valid")
        if (smooth := lag1(change[edge:-edge] - average) or 0.0) > SMOOTH:
            yield caution("reward-smoothed", lag1=smooth, limit=SMOOTH)


def lost_reward(reward: FloatArray, share: float = LOST_SHARE) -> Finding | None:
    """The first, highest and last reward of a run that lost it; None where it did not.

    More than a ``share`` of its highest reward, and of what it had gained, by a moving median of five; a loss
    within four standard deviations of the noise of a reward is none. The gain alone is no measure: what a
    flat reward seems to gain, and to lose again, is drift. Where every later evaluation has lost that much of
    the first, the first counts as it is: a run can lose its reward within one evaluation.
    """
    width = min(5, reward.size)
    smooth = np.median(np.lib.stride_tricks.sliding_window_view(reward, width), axis=1)
    first, best, last = float(smooth[0]), float(smooth.max()), float(smooth[-1])
    if np.all(reward[0] - reward[1:] > share * abs(reward[0])):
        first = best = float(reward[0])
    noise = float(np.median(np.abs(np.diff(reward)))) / 0.6745 / np.sqrt(2.0)
    least = max(share * abs(best), share * (best - first), 4.0 * noise)
    return caution("reward-lost", first=first, best=best, last=last) if best - last > least else None


def entropy_ended(step: FloatArray, last: float) -> Iterator[Finding]:
    """Whether the ``last`` step with an entropy is long before that of the last evaluation."""
    if step[-1] - last > ENDS_EARLY * np.ptp(step):
        yield caution("entropy-ends-early", last=last, end=float(step[-1]))


def why_lost(lost: Finding | None) -> str:
    """Why a run that lost its reward has no ceiling: its curve says what the reward was, not what is left."""
    words = "the run lost its reward: from {best:.3g} to {last:.3g}"
    return "" if lost is None else words.format_map(lost.values)
