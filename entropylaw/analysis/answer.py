"""The answer about one run: its state, the law where there is an entropy, and what follows from both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from entropylaw.analysis.forecast import forecast_of, usual_step
from entropylaw.analysis.law.diagnostics import cautions_of, entropy_ended, reasons_of
from entropylaw.analysis.law.estimates import checked_gain
from entropylaw.analysis.law.evaluations import (
    Evaluations,
    check_evaluations,
    check_rewards,
    usable,
    why_no_law,
)
from entropylaw.analysis.numbers import law_of_run, law_reads
from entropylaw.analysis.state import FEWEST as FEWEST_OF_STATE
from entropylaw.analysis.state import state_of
from entropylaw.engine.threads import one_thread
from entropylaw.errors import FitError, UsageError
from entropylaw.options import FitOptions
from entropylaw.results.columns import Refusal
from entropylaw.results.fit import Fit
from entropylaw.results.forecast import Forecast
from entropylaw.results.law import LawFit
from entropylaw.results.result import NO_SCORE, Finding, has, replace
from entropylaw.results.state import State

CONTROLLED = "entropy-controlled"
"""The finding that voids the test: entropy is set, and not an outcome of the training."""

NO_ENTROPY = Refusal(
    slug="no-entropy",
    message="no entropy was given",
    hint="give the policy entropy of every evaluation, in nats per token",
)
"""Why arrays without an entropy have no law."""


def fit_law(entropy: Any, reward: Any, step: Any, options: FitOptions, *, run: str) -> Fit:
    """Say what one run does and what comes next; fit R = −a·exp(H) + b and its rivals, and test the law.

    Parameters
    ----------
    entropy
        Shape (n,), policy entropy in nats per token; any array-like. None for a run without one: it has a
        state and a forecast, and no law.
    reward
        Shape (n,), the score, preferably validation accuracy.
    step
        Shape (n,), the trainer's step, strictly increasing; evenly spaced evaluations where it is None.
    options
        Level, gain, planned end and largest reward; whether evaluations with a gross error, those of
        :func:`entropylaw.analysis.law.evaluations.gross_outliers`, are fitted, too. By default each is left
        out with a sentence in ``LawFit.dropped``.
    run
        Name of the run in the result.

    Raises
    ------
    FitError
        ``too-few-evaluations``, ``steps-not-increasing``, ``lengths-differ``, ``out-of-scale``,
        ``reward-above-max``: there is neither a state nor a law. Why there is no law alone is in
        ``Fit.no_law``: ``entropy-constant``, ``reward-constant``, ``entropy-not-a-mean``, ``no-entropy``,
        ``too-few-evaluations``.
    UsageError
        ``bad-gain``, ``bad-argument``.

    Notes
    -----
    Every candidate, a curve with a residual covariance and perhaps a term in the step, is one row of a table
    (:mod:`entropylaw.engine.table`), and every number a read of it. Estimates are medians, intervals
    equal-tailed quantiles. A pair with a missing value is left out and counted in ``LawFit.dropped``.

    References
    ----------
    The law: Cui et al. 2025, arXiv:2505.22617, Eq. 6; they fit by least squares without intervals.
    """
    used = usable(entropy, reward, step, keep_outliers=options.keep_outliers)
    return fit_evaluations(
        used,
        options,
        run=run,
        max_reward=largest_reward(options, None),
        no_entropy=NO_ENTROPY if entropy is None else None,
    )


def largest_reward(options: FitOptions, of_column: float | None) -> float | None:
    """The largest reward that is possible: as given, or else by the column; None where it is not known."""
    if options.max_reward is None:
        return of_column
    return None if isinstance(options.max_reward, str) else options.max_reward


@one_thread
def fit_evaluations(
    used: Evaluations,
    options: FitOptions,
    *,
    run: str,
    max_reward: float | None,
    findings: Sequence[Finding] = (),
    no_entropy: Refusal | None = None,
    is_ahead: bool = True,
) -> Fit:
    """The state of a run, what comes next, and the law with its rivals; method and errors as :func:`fit_law`.

    Parameters
    ----------
    used, options, run, max_reward
        The evaluations, how they are fitted, the run's name, and the largest reward that is possible.
    findings
        What is known of the columns.
    no_entropy
        Why the log has no entropy.
    is_ahead
        Whether the result has a forecast.
    """
    level = options.level
    if options.gain is not None:
        checked_gain(options.gain)
    every = used.all_rewards()
    check_evaluations(every)
    check_rewards(every.reward, max_reward)
    state = state_of(
        every.step,
        every.reward,
        end=used.end,
        max_reward=max_reward,
        gain=options.gain,
        is_score=not has(findings, NO_SCORE),
        level=level,
    )
    gain = options.gain if state is None else state.gain
    no_law = no_entropy or why_no_law(used)
    if state is None and no_law is not None:
        # Of a run without an entropy what is missing are evaluations.
        if no_entropy is not None:
            check_evaluations(every, fewest=FEWEST_OF_STATE)
        raise FitError(no_law.slug, no_law.message, no_law.hint)
    law: LawFit | None = None
    of_law: list[Finding] = []
    if no_law is None:
        law, of_law = _law_with_findings(used, every, findings, run=run, level=level, max_reward=max_reward)
    forecast: Forecast | None = None
    no_forecast: str | None = None
    if is_ahead:
        forecast, no_forecast = _forecast(every, state, options, run=run, gain=gain, max_reward=max_reward)
    return Fit(
        run=run,
        level=level,
        max_reward=max_reward,
        state=state,
        no_state="" if state is not None else f"it needs {FEWEST_OF_STATE} evaluations",
        gain=gain,
        forecast=forecast,
        no_forecast=no_forecast,
        law=law,
        no_law=no_law,
        findings=(*of_law, *(finding for finding in findings if finding.code != CONTROLLED)),
        unpaired=(every.step, every.reward) if law is None else used.unpaired,
    )


def _forecast(
    every: Evaluations,
    state: State | None,
    options: FitOptions,
    *,
    run: str,
    gain: float | None,
    max_reward: float | None,
) -> tuple[Forecast | None, str | None]:
    """The forecast for the planned end, or the usual one; or None, and the reason."""
    if state is not None and state.has_ended:
        return None, f"the log goes on after step {every.step[-1]:g}, without a reward"
    at_step = usual_step(every.step) if options.steps is None else options.steps
    try:
        forecast = forecast_of(
            every, at_step=at_step, gain=gain, level=options.level, max_reward=max_reward, run=run
        )
    except (FitError, UsageError) as error:
        return None, error.message
    return forecast, None


def _law_with_findings(
    used: Evaluations,
    every: Evaluations,
    findings: Sequence[Finding],
    *,
    run: str,
    level: float,
    max_reward: float | None,
) -> tuple[LawFit, list[Finding]]:
    """The law; and why it does not hold, limits of its numbers, and of the entropies behind them."""
    controlled = [finding for finding in findings if finding.code == CONTROLLED]
    smoothed = used.smoothed()
    reads = law_reads(used.step, used.reward, smoothed, max_reward)
    law = law_of_run(
        used, smoothed, reads, is_controlled=bool(controlled), run=run, level=level, max_reward=max_reward
    )
    reasons = [replace(controlled[0], severity="reason")] if controlled else reasons_of(law)
    ended = entropy_ended(every.step, float(law.step[-1]))
    return law, [*reasons, *ended, *cautions_of(law, reads)]
