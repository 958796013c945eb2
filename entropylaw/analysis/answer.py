"""The answer for one run: the law and its rivals fitted, the law tested, the numbers averaged over forms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from entropylaw.analysis.forecast import forecast_of, usual_step
from entropylaw.analysis.law.diagnostics import (
    cautions_of,
    entropy_ended,
    lost_reward,
    reasons_of,
    why_lost,
)
from entropylaw.analysis.law.estimates import checked_gain, usual_gain
from entropylaw.analysis.law.evaluations import Evaluations, check_rewards, checked_shifts, usable
from entropylaw.analysis.law.verdict import law_probability, law_tests, rule
from entropylaw.analysis.numbers import Averaged, averaged_numbers, law_of_run, median_crossing
from entropylaw.arguments import checked_level
from entropylaw.engine.reads import Reads
from entropylaw.engine.table import table_of
from entropylaw.engine.threads import one_thread
from entropylaw.errors import FitError, UsageError
from entropylaw.results import Estimate, Verdict
from entropylaw.results.fit import Fit, LevelShift
from entropylaw.results.forecast import Forecast
from entropylaw.results.law import LawFit
from entropylaw.results.result import NO_SCORE, Finding, caution, has, replace
from entropylaw.results.stop import StopLine

CONTROLLED = "entropy-controlled"
"""The finding that voids the test: entropy is set, and not an outcome of the training."""


def fit_law(
    entropy: Any,
    reward: Any,
    step: Any = None,
    *,
    entropy_sd: Any = None,
    keep_outliers: bool = False,
    run: str = "run",
    level: float = 0.95,
    gain: float | None = None,
    steps: float | None = None,
    max_reward: float | None = None,
    starts: Sequence[float] = (),
) -> Fit:
    """Fit R = −a·exp(H) + b and its rivals to one run, test the law, and average what is left over the forms.

    Parameters
    ----------
    entropy
        Shape (n,), policy entropy in nats per token; any array-like.
    reward
        Shape (n,), the score that the law is about, preferably validation accuracy.
    step
        Shape (n,), the trainer's step, strictly increasing; evenly spaced evaluations where not given.
    entropy_sd
        Standard deviation of the noise with which each entropy was logged, in nats: a number, or shape (n,).
        It is estimated where it is not given.
    keep_outliers
        Fit evaluations with a gross error, too. By default those of
        :func:`entropylaw.analysis.law.evaluations.gross_outliers` are left out, each with a sentence in
        ``LawFit.dropped``.
    run, level
        Name of the run in the result, and coverage of every interval.
    gain
        Reward: ``p_headroom``, and the probability of the forecast, are of at least this; where not given, a
        hundredth of ``max_reward``; where that is not known, of 1 if all rewards are between 0 and 1 and are
        scores, else of their range so far.
    steps
        The step at which the training is planned to end, for the forecast; where not given, half as many
        steps again.
    max_reward
        The largest reward that is possible, 1 for a rate: no ceiling, curve and prediction is above it.
    starts
        Steps from which the reward has another level, as after a change of the data: numbers are those of the
        last part.

    Raises
    ------
    FitError
        ``too-few-evaluations``, ``entropy-constant``, ``reward-constant``, ``entropy-not-a-mean``,
        ``steps-not-increasing``, ``lengths-differ``, ``out-of-scale``,
        ``reward-above-max``: the data do not determine a fit.
    UsageError
        ``bad-level``, ``bad-entropy-sd``, ``bad-gain``, ``bad-seam``, ``bad-argument``.

    Notes
    -----
    Every candidate, a curve with a residual covariance and perhaps a term in the step, is one row of a table
    (:mod:`entropylaw.engine.table`), and every number a read of it. Estimates are medians, intervals
    equal-tailed quantiles. A pair with a missing value is left out and counted in ``LawFit.dropped``.

    References
    ----------
    The law: Cui et al. 2025, arXiv:2505.22617, Eq. 6; they fit by least squares without intervals.
    """
    fitted = fit_evaluations(
        usable(entropy, reward, step, entropy_sd, keep_outliers=keep_outliers),
        run=run,
        level=level,
        gain=gain,
        max_reward=max_reward,
        starts=starts,
    )
    forecast, no_forecast = forecast_after(fitted, steps)
    return answer_of(fitted, forecast=forecast, no_forecast=no_forecast)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fitted:
    """The law and its rivals fitted to the evaluations of a run, from which the answer follows.

    ``every`` are the evaluations with those that have no entropy, ``findings`` what is known of the columns,
    and ``lost`` says that the run lost its reward, None where it did not.
    """

    evaluations: Evaluations
    every: Evaluations
    reads: Reads
    law: LawFit
    averaged: Averaged
    gain: float
    findings: Sequence[Finding]
    lost: Finding | None

    @property
    def is_score(self) -> bool:
        """Whether more of the reward is better."""
        return not has(self.findings, NO_SCORE)


@one_thread
def fit_evaluations(
    used: Evaluations,
    *,
    run: str,
    level: float,
    gain: float | None,
    max_reward: float | None,
    starts: Sequence[float],
    findings: Sequence[Finding] = (),
) -> Fitted:
    """The law and its rivals fitted to some evaluations; parameters and errors as :func:`fit_law`.

    ``starts`` are the steps from which the reward has another level.
    """
    level = checked_level(level)
    check_rewards(used.reward, max_reward)
    every = used.all_rewards()
    is_score = not has(findings, NO_SCORE)
    if gain is None:
        gain = usual_gain(every.reward, max_reward, is_score=is_score)
    gain = checked_gain(gain)
    shifts = checked_shifts(starts, used.step)
    smoothed = used.smoothed()
    lost = lost_reward(every.reward) if is_score else None
    table = table_of(used.step, smoothed.entropy, used.reward, shifts=shifts)
    reads = Reads(table, np.inf if max_reward is None else float(max_reward), no_ceiling=why_lost(lost))
    law = law_of_run(used, smoothed, reads, run=run, level=level, max_reward=max_reward, shifts=shifts)
    return Fitted(
        evaluations=used,
        every=every,
        reads=reads,
        law=law,
        averaged=averaged_numbers(law, reads, gain=gain),
        gain=gain,
        findings=findings,
        lost=lost,
    )


def forecast_after(fitted: Fitted, steps: float | None) -> tuple[Forecast | None, str | None]:
    """The forecast for a step, the usual one where none is given; or None, and the reason."""
    every = fitted.every
    at = usual_step(every.step) if steps is None else steps
    try:
        forecast = forecast_of(
            every,
            at_step=at,
            gain=fitted.gain,
            level=fitted.law.level,
            max_reward=fitted.law.max_reward,
            run=fitted.law.run,
            is_score=fitted.is_score,
        )
    except (FitError, UsageError) as error:
        return None, error.message
    return forecast, None


@one_thread
def answer_of(
    fitted: Fitted,
    *,
    forecast: Forecast | None = None,
    no_forecast: str | None = None,
    level_shifts: tuple[LevelShift, ...] = (),
    drop_per_100_steps: Estimate | None = None,
    stop_line: StopLine | None = None,
) -> Fit:
    """The law tested, unless its entropy is controlled, with the numbers and findings of a run."""
    law = fitted.law
    averaged = fitted.averaged
    tests = law_tests(fitted.reads)
    controlled = [
        replace(finding, severity="reason") for finding in fitted.findings if finding.code == CONTROLLED
    ]
    verdict, why = Verdict.undecided, None
    if not controlled:
        span = float(np.ptp(law.smoothed_entropy))
        verdict, why = rule(tests, law.a, n=law.n, span=span, r_squared=law.r_squared)
    findings = controlled or list(reasons_of(tests, verdict, why, law, averaged.forms))
    findings += _of_rewards(fitted)
    findings += cautions_of(law, averaged, fitted.reads, is_score=fitted.is_score)
    findings += [finding for finding in fitted.findings if finding.code != CONTROLLED]
    return Fit(
        run=law.run,
        verdict=verdict,
        why=why,
        findings=tuple(findings),
        tests=tests,
        p_law=law_probability(tests),
        ceiling=averaged.ceiling,
        headroom=averaged.headroom,
        reward_now=averaged.reward_now,
        gain=fitted.gain,
        p_headroom=averaged.p_headroom,
        forms=averaged.forms,
        skipped=averaged.skipped,
        p_term=averaged.p_term,
        p_first=averaged.p_first,
        p_no_curve=averaged.p_no_curve,
        level_shifts=level_shifts,
        drop_per_100_steps=drop_per_100_steps,
        forecast=forecast,
        no_forecast=no_forecast,
        stop_line=stop_line,
        unpaired=fitted.evaluations.unpaired,
        law=law,
    )


def _of_rewards(fitted: Fitted) -> Iterator[Finding]:
    """That the reward was lost, that evaluations go on after the last entropy, or curves pass the largest."""
    if fitted.lost is not None:
        yield fitted.lost
    yield from entropy_ended(fitted.every.step, float(fitted.law.step[-1]))
    reads = fitted.reads
    if reads.passed and fitted.lost is None:
        at = median_crossing(reads, reads.averaged, reads.top, fitted.law.entropy_now)
        if at is not None:
            yield caution("curves-pass-largest", most=fitted.law.max_reward, entropy=at)
