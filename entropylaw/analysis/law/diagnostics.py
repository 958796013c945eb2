"""Findings about a fit."""

from __future__ import annotations

from collections.abc import Iterator

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
from entropylaw.arrays import FloatArray
from entropylaw.engine import constants
from entropylaw.engine.reads import Reads
from entropylaw.results import FEWEST_FOR_MEMORY, Verdict, Why
from entropylaw.results.fit import Fit
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


def cautions_of(fit: Fit, reads: Reads, *, is_score: bool) -> tuple[Finding, ...]:
    """Limitations of a fit's numbers; of what is no score, none is possible or impossible."""
    law = fit.law
    return (
        *_curve_cautions(fit, reads),
        *_entropy_cautions(law),
        *_residual_cautions(law),
        *(_ceiling_cautions(fit) if is_score else ()),
        *_smoothed_cautions(fit.law.reward),
    )


def reasons_of(fit: Fit) -> Iterator[Finding]:
    """Why the law fails, or what is missing for it to hold."""
    tests = fit.tests
    jumps = fit.verdict is not Verdict.holds and jump_at_start(fit.law.entropy, fit.law.reward)
    if jumps:
        yield reason("jump-at-start", first=jumps)
    if fit.why is Why.no_relation and not jumps:
        yield no_relation(fit)
    elif fit.why is Why.more_than_entropy:
        name = max(IN_STEP, key=lambda curve: getattr(tests, f"odds_{curve}") or 0.0)
        yield reason("more-than-entropy", curve=name, odds=getattr(tests, f"odds_{name}"))
    elif fit.why is Why.another_curve:
        yield another_curve(fit)
    elif fit.verdict is Verdict.undecided:
        yield from _gaps(fit)


def jump_at_start(entropy: FloatArray, reward: FloatArray) -> int:
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


def no_relation(fit: Fit) -> Finding:
    """Whether reward falls as entropy does, or does not follow it."""
    a, tests = fit.law.a, fit.tests
    rises = least_squares(fit.law.entropy, fit.law.reward)[1] < 0
    if rises and a.high is not None and a.high < 0:
        return reason("reward-falls", a=a.value, low=a.low, high=a.high)
    return reason("no-relation", odds=tests.odds_constant, spearman=tests.spearman)


def another_curve(fit: Fit) -> Finding:
    """The curve in the entropy that is clearly more probable than the law, or how the curve differs."""
    tests = fit.tests
    of_law = law_probability(tests, OF_ENTROPY)
    odds, form = max((getattr(tests, f"odds_{name}") or 0.0, name) for name in IN_ENTROPY)
    if odds >= constants.CLEARLY:
        values = {"probability": min(odds * of_law, 1.0), "own": of_law}
        return reason("another-curve", form=form, label=form_label(form), **values)
    steps = [p for p in (tests.p_step, tests.p_log_step) if p is not None]
    # The form with a free rate has the law at k = 1.
    rates = [form.shapes["k"] for form in fit.forms if form.form == "rate"]
    rate = rates[0] if rates else unknown("", level=fit.level, method="")
    ends = {"rate": rate.value, "low": rate.low, "high": rate.high}
    return reason("curve-differs", p_value=min(steps, default=None), **ends)


def _gaps(fit: Fit) -> Iterator[Finding]:
    """What keeps the law from holding in a run in which it does not fail."""
    law, tests = fit.law, fit.tests
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


def _curve_cautions(fit: Fit, reads: Reads) -> Iterator[Finding]:
    """Whether no curve fits, first evaluations are off it, or reward follows a past entropy."""
    if fit.p_no_curve > constants.NO_CURVE and fit.n >= constants.FEWEST_NO_CURVE:
        yield caution("no-curve-fits", probability=fit.p_no_curve, limit=constants.NO_CURVE)
    if fit.p_first > constants.RESTS_ON_FIRST:
        yield rests_on_first(fit, reads)
    lagged = reads.probability()["lagged"]
    if lagged > LAGS:
        (lag,) = (form.shapes["lag"].value for form in fit.forms if form.form == "lagged")
        yield caution("reward-lags", evaluations=round((lag or 0.0) * fit.n), probability=lagged)


def rests_on_first(fit: Fit, reads: Reads) -> Finding:
    """How many first evaluations are off the curve of the others, and the ceiling if they are not."""
    table, values = reads.table, {"value": None, "low": None, "high": None}
    first = max(range(1, len(table.prior.firsts)), key=lambda i: reads.share(table.first == i))
    dropped = max(round(table.prior.firsts[first][0] * table.time.size), 1) * table.group
    weight, step = reads.averaged * (table.first == 0), float(fit.law.step[min(dropped, fit.n - 1)])
    # On rewards without noise, curves through all evaluations can have a probability of exactly 0.
    if weight.any():
        with_them = reads.cells(0, weight, reads.top).estimate(level=fit.level, method="")
        values = {name: getattr(with_them, name) for name in values}
    return caution("rests-on-first", dropped=dropped, step=step, probability=fit.p_first, **values)


def _entropy_cautions(law: LawFit) -> Iterator[Finding]:
    """Whether the entropy is one, and falls."""
    lowest, highest = float(law.entropy.min()), float(law.entropy.max())
    if lowest < -ROUNDING and highest > 0:
        yield caution("entropy-both-signs", lowest=lowest, highest=highest)
    n, width = law.smoothed_entropy.size, max(3, law.smoothed_entropy.size // 10)
    # Mean over the last tenth of the run less that over the first, as a share of the range.
    tenth, span = max(1, n // 10), float(np.ptp(law.smoothed_entropy))
    change = float(law.smoothed_entropy[-tenth:].mean() - law.smoothed_entropy[:tenth].mean())
    rise = change / span if span > 0 else 0.0
    if rise > RISE:
        yield caution("entropy-rises", rise=rise, limit=RISE)
    elif n >= 3 * width:
        # Medians over a tenth of the run (three evaluations at least): one noisy value is no turn.
        starts = range(0, n - width + 1, width // 2)
        levels = np.array([np.median(law.smoothed_entropy[i : i + width]) for i in starts])
        fall, back = float(levels[0] - levels.min()), float(levels[-1] - levels.min())
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
        values = {"noise": law.entropy_noise, "given": expected, "ratio": ratio, "factor": NOISE_RATIO}
        yield caution("entropy-noise-differs", **values)


def _ceiling_cautions(fit: Fit) -> Iterator[Finding]:
    """Whether the ceiling is above what a rate can be."""
    law = fit.law
    low, value = np.array([fit.ceiling.low, fit.ceiling.value], dtype=float)
    if law.reward.min() >= 0 and law.reward.max() <= 1 and value > 1:
        ends = {"ceiling": fit.ceiling.value, "low": fit.ceiling.low, "high": fit.ceiling.high}
        impossible = caution("ceiling-impossible", **ends)
        yield impossible if low > 1 else caution("ceiling-above-one", **ends)


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


def entropy_ended(step: FloatArray, last: float) -> Finding | None:
    """That the ``last`` step with an entropy is long before that of the last evaluation; None where not."""
    early = step[-1] - last > ENDS_EARLY * np.ptp(step)
    return caution("entropy-ends-early", last=last, end=float(step[-1])) if early else None


def why_lost(lost: Finding | None) -> str:
    """Why a run that lost its reward has no ceiling: its curve says what the reward was, not what is left."""
    words = "the run lost its reward: from {best:.3g} to {last:.3g}"
    return "" if lost is None else words.format_map(lost.values)
