"""Phases: what the entropy curves of a run do, in which order, what may look like a rise; and over runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from entropylaw.analysis.between_seeds import random_effects, share_interval
from entropylaw.analysis.law.evaluations import check_scale, check_steps
from entropylaw.analysis.rise import WIDER, Fitted, fit_curve, level_findings, of_draws
from entropylaw.arguments import as_floats, checked_level, of_kind, several
from entropylaw.arrays import FloatArray, IntArray
from entropylaw.engine.threads import one_thread
from entropylaw.engine.windows import DRAWS
from entropylaw.errors import FitError, UsageError
from entropylaw.results import VERDICTS, WORDS, Estimate
from entropylaw.results.phases import (
    CURVES,
    POOLED,
    CurvePhases,
    CurveSummary,
    PhaseFit,
    PhasesAcross,
    PhaseSummary,
    PooledCurve,
    gaps,
)
from entropylaw.results.result import Finding, caution, note

FEWEST_RUNS = 3
"""Fewest runs for a mean over them."""

MOST_NAMED = 3
"""Largest number of outliers, and of gaps, listed in a caution."""

REVERSE = 2.0
"""Factor of the margin for planning that rises first: beside a long drift an onset is placed too early, and
the end of a fall too late."""


@one_thread
def fit_phases(
    step: Any,
    planning: Any = None,
    execution: Any = None,
    *,
    semantic: Any = None,
    aggregate: Any = None,
    level: float = 0.95,
    run: str = "run",
    findings: Sequence[Finding] = (),
) -> PhaseFit:
    """Find what the entropies of planning and execution tokens, of plans and of all tokens do.

    Parameters
    ----------
    step
        Shape (n,), strictly increasing.
    planning, execution, semantic, aggregate
        Shape (n,): entropies of planning and of execution tokens, of whole plans, and of all tokens, in nats,
        nan where a step has none. At least one.
    level
        Coverage of every interval; the tests are at 1 − level.
    run
        Name of the run in the result.
    findings
        What is known of the columns.

    Raises
    ------
    FitError
        ``too-few-points``, ``steps-not-increasing``, ``lengths-differ``, ``entropy-negative``,
        ``entropy-constant``, ``no-phase-curve``; of several curves those that cannot be fitted are left out,
        with a note.
    UsageError
        ``bad-level``.

    Notes
    -----
    *A curve rises* where a window at its end is above an earlier one, significantly among all pairs, and its
    end is at least :data:`entropylaw.results.phases.MATERIAL` times the lowest level. The null hypothesis is
    every curve that never rises (:mod:`entropylaw.engine.windows`). Otherwise rises are added to it, and it
    is fitted anew: it *does not rise* where one that doubles the lowest level, or of a tenth of its range,
    would have been found; else nothing is said. Drift and noise are integrated out
    (:mod:`entropylaw.engine.trend`). Points beyond :data:`entropylaw.analysis.rise.MOST_POINTS` are averaged
    in blocks.

    *The order* compares draws of the onset of planning's rise and of the step at which execution has settled.

    *Entropy now* is the level at the last step (:mod:`entropylaw.engine.levels`), not a value of the fitted
    curve.
    """
    run = of_kind(run, str, "run")
    level = checked_level(level)
    least = 1.0 / (DRAWS + 1)
    if 1.0 - level < least - 1e-12:
        raise UsageError(
            "bad-level",
            f"level {level:g}; the test has no p-value below {least:g}, "
            f"expected a level of at most {1.0 - least:g}",
            "give 0.95 or 0.99",
        )
    s = as_floats(step, "step")
    columns = {"planning": planning, "execution": execution, "semantic": semantic, "aggregate": aggregate}
    logged = {
        name: _checked_column(s, values, name) for name, values in columns.items() if values is not None
    }
    fitted, refusals = _fit_curves(s, logged, level)
    curves = {name: fit.curve for name, fit in fitted.items()}
    cautions = phase_cautions(s, logged, curves)
    cautions += [note("curve-left-out", why=error.message) for error in refusals]
    order = _order_of(fitted, level)
    if order.verdict is None:
        cautions.append(note("classes-not-separable") if set(fitted) == {"aggregate"} else note("no-order"))
    missing = {name: int(np.isnan(logged[name]).sum()) for name in curves}
    return PhaseFit(
        run=run,
        planning=curves.get("planning"),
        execution=curves.get("execution"),
        semantic=curves.get("semantic"),
        aggregate=curves.get("aggregate"),
        delta=order.delta,
        later=order.later,
        verdict=order.verdict,
        level=level,
        findings=(*cautions, *findings),
        dropped={
            f"no entropy of {CURVES[name]} at that step": number for name, number in missing.items() if number
        },
    )


def _fit_curves(
    step: FloatArray, logged: Mapping[str, FloatArray], level: float
) -> tuple[dict[str, Fitted], list[FitError]]:
    """The curves that can be fitted, and the errors of the others; a FitError where there is none."""
    fitted: dict[str, Fitted] = {}
    refusals: list[FitError] = []
    for name in filter(logged.__contains__, CURVES):
        try:
            fitted[name] = fit_curve(step, logged[name], name, level)
        except FitError as error:
            refusals.append(error)
    if refusals and not fitted:
        raise refusals[0]
    if not fitted:
        raise FitError("no-phase-curve", "no curve of entropy was given, expected at least one", "give one")
    return fitted, refusals


def _checked_column(step: FloatArray, values: Any, name: str) -> FloatArray:
    """A checked column as floats: an entropy of one of :data:`CURVES`."""
    column = as_floats(values, name)
    quantity = f"entropies of {CURVES[name]}"
    if column.size != step.size:
        raise FitError(
            "lengths-differ",
            f"{column.size} values of {quantity} and {step.size} steps, expected one of each",
            "pass arrays of the same length",
        )
    finite = np.isfinite(column)
    check_scale(quantity, column[finite])
    check_steps(step)
    least = float(column[finite].min(initial=0.0))
    if least < -1e-6:
        raise FitError(
            "entropy-negative",
            f"the entropy of {CURVES[name]} goes down to {least:.3g}, expected none below 0",
            "an entropy over a vocabulary is never negative: check the sign, or name another column",
        )
    return np.where(finite, column, np.nan)


class _Order(NamedTuple):
    """The order of planning's rise and the end of execution's fall: fields of :class:`PhaseFit`."""

    verdict: str | None = None
    delta: Estimate | None = None
    later: float | None = None


def _order_of(fitted: dict[str, Fitted], level: float) -> _Order:
    """The order of the two in the curves of a run; no verdict where one of them is missing."""
    plans = [fitted[name] for name in ("planning", "semantic") if name in fitted]
    if not plans or "execution" not in fitted:
        return _Order()
    if all(plan.curve.rises is False for plan in plans):
        return _Order(verdict=WORDS[1])
    # Planning, unless only the plans rise.
    plan = max(plans, key=lambda plan: plan.curve.rises is True)
    execution = fitted["execution"]
    if not plan.curve.rises or not execution.settled.size:
        return _Order(verdict=WORDS[2])
    apart = plan.onset - execution.settled
    reach = WIDER * (plan.curve.last_step - plan.curve.first_step)
    verdict, reverse, overlapping = VERDICTS[:3]
    if np.mean(apart > reach) < level:
        verdict = reverse if np.mean(apart < -REVERSE * reach) >= level else overlapping
    return _Order(
        verdict=verdict,
        delta=of_draws(apart, level, reach),
        later=float(np.mean(apart > 0) + 0.5 * np.mean(apart == 0)),
    )


def combine_phases(fits: Sequence[PhaseFit], *, level: float | None = None) -> PhasesAcross:
    """Phases over several runs.

    Parameters
    ----------
    fits
        At least one.
    level
        Coverage of the intervals; the first fit's where not given.

    Raises
    ------
    FitError
        ``no-phase-curve`` where there is none.

    Notes
    -----
    Rises, onsets and curves are means of :func:`entropylaw.analysis.between_seeds.random_effects`. A run in
    which it is not known whether a curve rises counts neither as one nor as the other; shares of the others
    have the interval of Clopper & Pearson.
    """
    fits = several(fits, PhaseFit, "fits")
    if not fits:
        raise FitError("no-phase-curve", "no run was given, expected at least one", "give the phases of runs")
    return combine_summaries([fit.summary for fit in fits], level=fits[0].level if level is None else level)


def combine_summaries(summaries: Sequence[PhaseSummary], *, level: float) -> PhasesAcross:
    """As :func:`combine_phases`, from the summaries of runs."""
    level = checked_level(level)
    deltas = [summary.delta for summary in summaries]
    return PhasesAcross(
        runs=len(summaries),
        curves=tuple(curve for name in CURVES if (curve := pooled(summaries, name, level)) is not None),
        orders=dict(sorted(Counter(summary.verdict for summary in summaries if summary.verdict).items())),
        delta=mean_of(deltas, level),
        each=tuple(summaries),
        findings=(note("too-few-orders", needed=FEWEST_RUNS),) if mean_of(deltas, level) is None else (),
    )


def pooled(summaries: Sequence[PhaseSummary], name: str, level: float) -> PooledCurve | None:
    """One curve over runs, or None where no run has it."""
    curves = [curve for summary in summaries for curve in summary.curves if curve.name == name]
    if not curves:
        return None
    rising, falling = (sum(curve.verdict == word for curve in curves) for word in WORDS[:2])
    share, decided = None, rising + falling
    if decided:
        low, high = share_interval(rising, decided, level)
        method = "Clopper & Pearson's interval"
        share = Estimate(value=rising / decided, low=low, high=high, level=level, method=method)
    at, middle, least, most = _mean_curve(curves, level)
    return PooledCurve(
        name=name,
        runs=len(curves),
        rising=rising,
        not_rising=falling,
        share=share,
        rise=mean_of([curve.rise for curve in curves], level),
        onset=mean_of([curve.onset for curve in curves], level, least=0.0, most=1.0),
        settled=mean_of([curve.settled for curve in curves], level, least=0.0, most=1.0),
        at=at,
        mean=middle,
        low=least,
        high=most,
    )


def _mean_curve(curves: Sequence[CurveSummary], level: float) -> FloatArray:
    """Shape (4, m): shares of the run, 0–1, and the mean over runs there in nats with its interval's ends.

    Shares that fewer than :data:`FEWEST_RUNS` curves have are left out.
    """
    rows = list[list[float]]()
    for share in np.linspace(0.0, 1.0, POOLED).tolist():
        inside = [np.abs(curve.at - share) < 1e-9 for curve in curves]
        means = np.concatenate([curve.mean[there] for curve, there in zip(curves, inside, strict=True)])
        errors = np.concatenate([curve.error[there] for curve, there in zip(curves, inside, strict=True)])
        if means.size >= FEWEST_RUNS:
            mean = random_effects(means, np.maximum(errors**2, 1e-12), level=level)
            rows.append([share, *(max(end or 0.0, 0.0) for end in (mean.value, mean.low, mean.high))])
    return np.reshape(np.array(rows), (-1, 4)).T


def mean_of(
    estimates: Sequence[Estimate | None], level: float, *, least: float = -np.inf, most: float = np.inf
) -> Estimate | None:
    """The random-effects mean of those that are known, inside of what is possible.

    None of fewer than :data:`FEWEST_RUNS`.
    """
    present = [estimate for estimate in estimates if estimate is not None and estimate.value is not None]
    if len(present) < FEWEST_RUNS:
        return None
    value, error = np.array([(estimate.value, estimate.std_error or 0.0) for estimate in present]).T
    return random_effects(value, np.maximum(error**2, 1e-12), level=level).within(least, most)


def phase_cautions(
    step: FloatArray, logged: dict[str, FloatArray], curves: dict[str, CurvePhases]
) -> list[Finding]:
    """Explosions, eruptions, and what may look like a rise; ``logged`` are the columns."""
    findings: list[Finding] = []
    for name, curve in curves.items():
        there = np.isfinite(logged[name])
        findings += level_findings(curve)
        findings += _point_cautions(CURVES[name], step[there], logged[name][there])
    if {"planning", "execution"} <= curves.keys():
        both = np.isfinite(logged["planning"]) & np.isfinite(logged["execution"])
        if both.any() and np.array_equal(logged["planning"][both], logged["execution"][both]):
            findings.append(caution("curves-equal"))
    return findings


def _point_cautions(name: str, step: FloatArray, entropy: FloatArray) -> Iterator[Finding]:
    """Outliers and gaps of one curve, columns (n,) without missing values; ``name`` as in the sentence."""
    outliers, before_gap = far_off(entropy), np.flatnonzero(gaps(step))
    if outliers.size:
        yield caution(
            "points-far-off",
            curve=name,
            values=tuple(entropy[outliers[:MOST_NAMED]].tolist()),
            steps=tuple(step[outliers[:MOST_NAMED]].tolist()),
            others=max(outliers.size - MOST_NAMED, 0),
            vocabulary=bool(entropy[outliers].max() > 9.5),  # ln(13 000)
        )
    if before_gap.size:
        named = before_gap[:MOST_NAMED]
        yield caution(
            "no-values-between",
            curve=name,
            after=tuple(step[named].tolist()),
            until=tuple(step[named + 1].tolist()),
            others=max(before_gap.size - MOST_NAMED, 0),
        )


def far_off(values: FloatArray) -> IntArray:
    """Indices of the single values that are far from their neighbours.

    A value is compared with the 8 nearest to it, half on either side where there are as many. It is far off
    if its distance from their median is more than 3 times their range (8 times for the first and the last
    value, because a decay may start steeply), and more than each of: 10 robust standard deviations of that
    distance over the whole run (1.4826 times its median); 0.05 of the run's range, from the 5th to the 95th
    percentile; 5 times the smallest difference of two values, which in a log with two decimals is its last
    digit.
    """
    n = values.size
    if n <= 8:
        return np.empty(0, dtype=np.int64)
    nearest = np.clip(np.arange(n) - 4, 0, n - 9)[:, None] + np.arange(8)
    nearest += nearest >= np.arange(n)[:, None]
    neighbours = values[nearest]
    distance = np.abs(values - np.median(neighbours, axis=1))
    low, high = np.quantile(values, (0.05, 0.95))
    unit = float(np.diff(np.unique(values)).min(initial=np.ptp(values)))
    scale = max(10.0 * 1.4826 * float(np.median(distance)), 0.05 * float(high - low), 5.0 * unit)
    times = np.full(n, 3.0)
    times[[0, -1]] = 8.0
    return np.flatnonzero((distance > times * np.ptp(neighbours, axis=1)) & (distance > scale))
