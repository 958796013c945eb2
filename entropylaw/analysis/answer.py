"""The answer about one run: its state, the law where there is an entropy, and what follows from both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from entropylaw.analysis.forecast import forecast_of, usual_step
from entropylaw.analysis.law.diagnostics import cautions_of, entropy_ended, reasons_of
from entropylaw.analysis.law.estimates import checked_gain
from entropylaw.analysis.law.evaluations import (
    Evaluations,
    check_evaluations,
    check_law,
    check_rewards,
    usable,
)
from entropylaw.analysis.numbers import law_of_run
from entropylaw.analysis.state import FEWEST as FEWEST_OF_STATE
from entropylaw.analysis.state import state_of
from entropylaw.arguments import checked_level
from entropylaw.engine.reads import Reads
from entropylaw.engine.table import table_of
from entropylaw.engine.threads import one_thread
from entropylaw.errors import FitError, UsageError
from entropylaw.results import Estimate
from entropylaw.results.columns import Refusal
from entropylaw.results.fit import Fit
from entropylaw.results.forecast import Forecast
from entropylaw.results.law import LawFit
from entropylaw.results.result import NO_SCORE, Finding, has, replace
from entropylaw.results.state import State
from entropylaw.results.stop import StopLine

CONTROLLED = "entropy-controlled"
"""The finding that voids the test: entropy is set, and not an outcome of the training."""

NO_ENTROPY = Refusal(
    slug="no-entropy",
    message="no entropy was given",
    hint="give the policy entropy of every evaluation, in nats per token",
)
"""Why arrays without an entropy have no law."""


def fit_law(
    entropy: Any,
    reward: Any,
    step: Any = None,
    *,
    keep_outliers: bool = False,
    run: str = "run",
    level: float = 0.95,
    gain: float | None = None,
    steps: float | None = None,
    max_reward: float | None = None,
) -> Fit:
    """Say what one run does and what comes next; fit R = −a·exp(H) + b and its rivals, and test the law.

    Parameters
    ----------
    entropy
        Shape (n,), policy entropy in nats per token; any array-like. None for a run without one: it has a
        state and a forecast, and no law.
    reward
        Shape (n,), the score, preferably validation accuracy.
    step
        Shape (n,), the trainer's step, strictly increasing; evenly spaced evaluations where not given.
    keep_outliers
        Fit evaluations with a gross error, too. By default those of
        :func:`entropylaw.analysis.law.evaluations.gross_outliers` are left out, each with a sentence in
        ``LawFit.dropped``.
    run, level
        Name of the run in the result, and coverage of every interval.
    gain
        The gain of reward that counts, by default :func:`entropylaw.analysis.state.gain_of`.
    steps
        The step at which the training is planned to end, for the forecast; where not given, half as many
        steps again.
    max_reward
        The largest reward that is possible, 1 for a rate: no level, curve and prediction is above it.

    Raises
    ------
    FitError
        ``too-few-evaluations``, ``steps-not-increasing``, ``lengths-differ``, ``out-of-scale``,
        ``reward-above-max``: there is neither a state nor a law. Why there is no law alone is in
        ``Fit.no_law``: ``entropy-constant``, ``reward-constant``, ``entropy-not-a-mean``, ``no-entropy``,
        ``too-few-evaluations``.
    UsageError
        ``bad-level``, ``bad-gain``, ``bad-argument``.

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
        no_entropy=NO_ENTROPY if entropy is None else None,
    )
    forecast, no_forecast = forecast_after(fitted, steps)
    return answer_of(fitted, forecast=forecast, no_forecast=no_forecast)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fitted:
    """What was fitted to the evaluations of a run, from which its answer follows.

    ``every`` are the evaluations with those that have no entropy, and ``findings`` what is known of the
    columns. ``reads`` are the table of the ``law``. Where there is no ``state``, or no ``law``, ``no_state``
    or ``no_law`` says why.
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
    law: LawFit | None
    reads: Reads | None
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
    law: LawFit | None = None
    reads: Reads | None = None
    no_law = no_entropy
    if no_law is None:
        try:
            check_law(used)
        except FitError as error:
            no_law = Refusal(slug=error.slug, message=error.message, hint=error.hint)
    if no_law is None:
        smoothed = used.smoothed()
        table = table_of(
            used.step,
            smoothed.entropy,
            used.reward,
            error_sd=smoothed.sd,
            error_length=smoothed.length,
        )
        reads = Reads(table, np.inf if max_reward is None else float(max_reward))
        law = law_of_run(
            used,
            smoothed,
            reads,
            is_controlled=has(findings, CONTROLLED),
            run=run,
            level=level,
            max_reward=max_reward,
        )
    elif state is None:
        # Of a run without an entropy what is missing are evaluations.
        if no_entropy is not None:
            check_evaluations(every, fewest=FEWEST_OF_STATE)
        raise FitError(no_law.slug, no_law.message, no_law.hint)
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
        reads=reads,
        no_law=no_law,
    )


def forecast_after(fitted: Fitted, steps: float | None) -> tuple[Forecast | None, str | None]:
    """The forecast for a step, the usual one where none is given; or None, and the reason."""
    every = fitted.every
    if fitted.state is not None and fitted.state.has_ended:
        return None, f"the log goes on after step {every.step[-1]:g}, without a reward"
    at = usual_step(every.step) if steps is None else steps
    try:
        forecast = forecast_of(
            every,
            at_step=at,
            gain=fitted.gain,
            level=fitted.level,
            max_reward=fitted.max_reward,
            run=fitted.run,
        )
    except (FitError, UsageError) as error:
        return None, error.message
    return forecast, None


def answer_of(
    fitted: Fitted,
    *,
    forecast: Forecast | None = None,
    no_forecast: str | None = None,
    drop_per_100_steps: Estimate | None = None,
    stop_line: StopLine | None = None,
) -> Fit:
    """The answer about a run, with all findings."""
    findings = list(_findings_of_law(fitted))
    findings += [finding for finding in fitted.findings if finding.code != CONTROLLED]
    return Fit(
        run=fitted.run,
        level=fitted.level,
        max_reward=fitted.max_reward,
        state=fitted.state,
        no_state=fitted.no_state,
        gain=fitted.gain,
        forecast=forecast,
        no_forecast=no_forecast,
        stop_line=stop_line,
        law=fitted.law,
        no_law=fitted.no_law,
        drop_per_100_steps=drop_per_100_steps,
        findings=tuple(findings),
        unpaired=fitted.evaluations.unpaired if fitted.law is not None else _all_of(fitted.every),
    )


def _all_of(every: Evaluations) -> tuple[Any, Any]:
    """Steps and rewards of all evaluations."""
    return every.step, every.reward


def _findings_of_law(fitted: Fitted) -> Iterator[Finding]:
    """Why the law does not hold, limits of its numbers, and of the entropies behind them."""
    law = fitted.law
    reads = fitted.reads
    if law is None or reads is None:
        return
    controlled = [finding for finding in fitted.findings if finding.code == CONTROLLED]
    if controlled:
        yield replace(controlled[0], severity="reason")
    else:
        yield from reasons_of(law)
    yield from entropy_ended(fitted.every.step, float(law.step[-1]))
    yield from cautions_of(law, reads)
