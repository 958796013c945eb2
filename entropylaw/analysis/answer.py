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
from entropylaw.analysis.law.evaluations import (
    Evaluations,
    check_evaluations,
    check_law,
    check_rewards,
    usable,
)
from entropylaw.analysis.law.verdict import law_probability, law_tests, rule
from entropylaw.analysis.numbers import Averaged, averaged_numbers, law_of_run, median_crossing
from entropylaw.arguments import checked_level
from entropylaw.engine.reads import Reads
from entropylaw.engine.table import table_of
from entropylaw.engine.threads import one_thread
from entropylaw.errors import FitError, UsageError
from entropylaw.results import Estimate, Verdict
from entropylaw.results.fit import Fit
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

    Raises
    ------
    FitError
        ``too-few-evaluations``, ``entropy-constant``, ``reward-constant``, ``entropy-not-a-mean``,
        ``steps-not-increasing``, ``lengths-differ``, ``out-of-scale``,
        ``reward-above-max``: the data do not determine a fit.
    UsageError
        ``bad-level``, ``bad-entropy-sd``, ``bad-gain``, ``bad-argument``.

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
        usable(entropy, reward, step, keep_outliers=keep_outliers),
        run=run,
        level=level,
        gain=gain,
        max_reward=max_reward,
    )
    forecast, no_forecast = forecast_after(fitted, steps)
    return answer_of(fitted, forecast=forecast, no_forecast=no_forecast)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FittedLaw:
    """The law and its rivals fitted to the evaluations of a run that have an entropy."""

    reads: Reads
    law: LawFit
    averaged: Averaged


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fitted:
    """What was fitted to the evaluations of a run, from which its answer follows.

    ``every`` are the evaluations with those that have no entropy, and ``findings`` what is known of the
    columns. Where there is no ``state``, or no ``law``, ``no_state`` or ``no_law`` says why.
    """

    run: str
    level: float
    max_reward: float | None
    gain: float | None
    evaluations: Evaluations
    every: Evaluations
    findings: Sequence[Finding]
    state: State | None
    no_state: str
    law: FittedLaw | None
    no_law: Refusal | None

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
    findings: Sequence[Finding] = (),
    no_entropy: Refusal | None = None,
) -> Fitted:
    """The state of a run, and the law with its rivals; parameters and errors as :func:`fit_law`.

    ``no_entropy`` says why the log has no entropy. It raises only where there is neither a state nor a law.
    """
    level = checked_level(level)
    if gain is not None:
        gain = checked_gain(gain)
    every = used.all_rewards()
    check_evaluations(every)
    check_rewards(every.reward, max_reward)
    state = state_of(
        every.step,
        every.reward,
        end=used.end,
        max_reward=max_reward,
        gain=gain,
        is_score=not has(findings, NO_SCORE),
        level=level,
    )
    law: FittedLaw | None = None
    no_law = no_entropy
    if no_law is None:
        try:
            law = _law_of(used, state, run=run, level=level, max_reward=max_reward)
        except FitError as error:
            no_law = Refusal(slug=error.slug, message=error.message, hint=error.hint)
    if state is None and no_law is not None:
        raise too_few(every) if no_entropy else FitError(no_law.slug, no_law.message, no_law.hint)
    return Fitted(
        run=run,
        level=level,
        max_reward=max_reward,
        gain=gain if state is None else state.gain,
        evaluations=used,
        every=every,
        findings=findings,
        state=state,
        no_state="" if state is not None else f"it needs {FEWEST_OF_STATE} evaluations",
        law=law,
        no_law=no_law,
    )


def _law_of(
    used: Evaluations,
    state: State | None,
    *,
    run: str,
    level: float,
    max_reward: float | None,
) -> FittedLaw:
    """The law and its rivals; a FitError where the evaluations do not determine them."""
    check_law(used)
    smoothed = used.smoothed()
    table = table_of(used.step, smoothed.entropy, used.reward)
    top = np.inf if max_reward is None else float(max_reward)
    reads = Reads(table, top, no_ceiling=why_lost(state))
    law = law_of_run(used, smoothed, reads, run=run, level=level, max_reward=max_reward)
    return FittedLaw(reads=reads, law=law, averaged=averaged_numbers(law, reads))


def forecast_after(fitted: Fitted, steps: float | None) -> tuple[Forecast | None, str | None]:
    """The forecast for a step, the usual one where none is given; or None, and the reason."""
    every = fitted.every
    at = usual_step(every.step) if steps is None else steps
    try:
        forecast = forecast_of(
            every,
            at_step=at,
            gain=fitted.gain,
            level=fitted.level,
            max_reward=fitted.max_reward,
            run=fitted.run,
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
    drop_per_100_steps: Estimate | None = None,
    stop_line: StopLine | None = None,
) -> Fit:
    """The answer about a run, with the law tested, unless it has none or its entropy is controlled."""
    fields = _of_law(fitted)
    findings = [*fields.pop("findings", ())]
    findings += [finding for finding in fitted.findings if finding.code != CONTROLLED]
    return Fit(
        run=fitted.run,
        level=fitted.level,
        max_reward=fitted.max_reward,
        gain=fitted.gain,
        state=fitted.state,
        no_state=fitted.no_state,
        findings=tuple(findings),
        drop_per_100_steps=drop_per_100_steps,
        forecast=forecast,
        no_forecast=no_forecast,
        stop_line=stop_line,
        unpaired=fitted.unpaired,
        no_law=fitted.no_law,
        **fields,
    )
