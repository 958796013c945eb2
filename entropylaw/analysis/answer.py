"""The answer for one run: the law and its rivals fitted, the law tested, the numbers averaged over forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from entropylaw.analysis.averaging import averaged_forms, averaged_numbers, reached_at
from entropylaw.analysis.conditions import check_largest
from entropylaw.analysis.law.diagnostics import cautions_of, lost_reward, reasons_of
from entropylaw.analysis.law.estimates import hundredth, law_at_most, unknown
from entropylaw.analysis.law.fitting import law_of_run
from entropylaw.analysis.law.verdict import law_tests, rule, tests_solver
from entropylaw.analysis.rivals import FormFits
from entropylaw.analysis.stability import first_designs, off_the_curve, rests_on
from entropylaw.arguments import as_number, several
from entropylaw.engine.threads import one_thread
from entropylaw.errors import UsageError
from entropylaw.results import Verdict, Why
from entropylaw.results.fit import Fit
from entropylaw.results.law import LawFit
from entropylaw.results.result import Finding, T, caution, replace

CONTROLLED = "entropy-controlled"
"""The finding that voids the test: entropy is set, and not an outcome of the training."""


@one_thread
def fit_law(
    entropy: Any,
    reward: Any,
    step: Any = None,
    *,
    data: Any = None,
    level: float = 0.95,
    interval: str = "drift",
    eval_size: int | None = None,
    entropy_sd: Any = None,
    keep_outliers: bool = False,
    run: str = "run",
    gain: float | None = None,
    max_reward: float | None = None,
    findings: Sequence[Finding] = (),
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
    data
        A table, such as a data frame, of which ``entropy``, ``reward`` and ``step`` name columns.
    level
        Coverage of every interval.
    interval
        ``"drift"``: residuals are a slow drift plus white noise, both integrated out, and the law is
        fitted to the smoothed entropy. ``"walk"``: the same with a random-walk drift; the
        ceiling, b and every prediction then are relative to the last evaluation. ``"odr"``: orthogonal
        distance regression, for independent residuals and entropies with known noise. ``"ols"``: ordinary
        least squares on the entropy as logged, for independent residuals and exact entropies only.
    eval_size
        Number of independent samples behind each reward, where the reward is a rate: the noise is then
        at least the binomial R(1 − R)/eval_size.
    entropy_sd
        Standard deviation of the noise with which each entropy was logged, in nats: a number, or shape (n,).
        With ``"drift"`` and ``"walk"`` it is estimated where it is not given.
    keep_outliers
        Fit evaluations with a gross error, too. By default those of
        :func:`entropylaw.analysis.law.evaluations.gross_outliers` are left out, each with a sentence in
        ``LawFit.dropped``; with ``"odr"`` and ``"ols"`` none are left out.
    run
        Name of the run in the result.
    gain
        Reward: ``p_headroom`` is the probability that the headroom is at least this; where not given, a
        hundredth of ``max_reward``, or of the observed range where that is not known.
    max_reward
        The largest reward that is possible, 1 for a rate: no ceiling, curve and prediction is above it.
    findings
        What is known of the columns. With ``entropy-controlled`` among them the test of the law is void, and
        its verdict undecided.

    Raises
    ------
    FitError
        ``too-few-evaluations``, ``entropy-constant``, ``reward-constant``, ``entropy-not-a-mean``,
        ``steps-not-increasing``, ``lengths-differ``, ``out-of-scale``,
        ``eval-size-needs-a-rate``, ``reward-above-max``: the data do not determine a fit.
    UsageError
        ``bad-level``, ``bad-interval``, ``bad-eval-size``, ``bad-entropy-sd``, ``bad-gain``,
        ``no-such-column``.

    Notes
    -----
    The law is linear in (c, a) with c = b − a, so that for given residual covariance the fit is
    generalised least squares in closed form. Estimates are medians, intervals equal-tailed quantiles.
    A pair with a missing value is left out and counted in ``LawFit.dropped``. Errors in the entropy are in
    the law's posterior; all forms are compared with the covariance that they add to the law's residual.

    References
    ----------
    The law: Cui et al. 2025, arXiv:2505.22617, Eq. 6; they fit by least squares without intervals.
    """
    gain, known = None if gain is None else checked_gain(gain), several(findings, Finding, "findings")
    controlled = [finding for finding in known if finding.code == CONTROLLED]
    if data is not None:
        entropy, reward, step = (
            name if name is None else column_of(data, name) for name in (entropy, reward, step)
        )
    law, fits = law_of_run(
        entropy,
        reward,
        step,
        level=level,
        interval=interval,
        eval_size=eval_size,
        entropy_sd=entropy_sd,
        keep_outliers=keep_outliers,
        run=run,
    )
    check_largest(max_reward, law.reward)
    fit = _answer(law, fits, gain=gain, most=max_reward, void=bool(controlled))
    # After the reasons of the verdict, before what is known of the columns.
    first = (*(replace(one, severity="reason") for one in controlled), *fit.findings)
    answer = replace(fit, findings=(*first, *(one for one in known if one not in controlled)))
    vars(answer)["basis"] = fit.basis
    return answer


def _answer(law: LawFit, fits: FormFits, *, gain: float | None, most: float | None, void: bool) -> Fit:
    """The law tested, and the numbers averaged over the forms; where ``void`` nothing is said of the law."""
    grid = law.residual_covariances
    averaged = averaged_forms(law, None, fits, most=most)
    law = replace(law_at_most(law, most), probability=averaged.probability["law"])
    # Kept for the comparison of forms and for lmfit, which would infer them again.
    vars(law)["residual_covariances"] = grid
    run = law.step, law.smoothed_entropy, law.reward, grid
    solver = tests_solver(*run, *first_designs(law))
    tests = law_tests(*run, fits, averaged, solver)
    span = float(np.ptp(law.smoothed_entropy))
    known = {"r_squared": law.r_squared, "among_forms": law.probability}
    verdict, why = (Verdict.undecided, None) if void else rule(tests, law.a, n=law.n, span=span, **known)
    cuts = rests_on(law, fits, most=most) if off_the_curve(law, solver) else ()
    if void:
        cuts = tuple(replace(cut, verdict=verdict, why=None) for cut in cuts)
    if why is Why.more_than_entropy:
        averaged = averaged_forms(law, tests, fits, most=most)
    fit = Fit(
        run=law.run,
        verdict=verdict,
        why=why,
        findings=(),
        tests=tests,
        cuts=cuts,
        law=law,
        **averaged_numbers(law, averaged, level=law.level, gain=gain or hundredth(law)),
    )
    lost, at, cautions = lost_reward(law.reward), reached_at(law, averaged), list[Finding]()
    if lost is not None:
        fit = without_ceiling(
            fit, "the run lost its reward: from {best:.3g} to {last:.3g}".format_map(lost.values)
        )
        cautions.append(lost)
    elif at is not None:
        cautions.append(caution("curves-pass-largest", most=most, entropy=at))
    reasons = () if void else reasons_of(fit)
    cautions += cautions_of(fit, float(np.sqrt(grid.mean_floor)))
    fit = replace(fit, findings=(*reasons, *cautions))
    # Kept for predictions, which would infer them again.
    vars(fit)["basis"] = averaged
    return fit


def without_ceiling(fit: Fit, why: str) -> Fit:
    """A fit whose curve says what the reward was, and not what the run may gain."""

    def without(part: T, *names: str) -> T:
        known = ((name, getattr(part, name)) for name in names)
        return replace(
            part, **{name: unknown(why, level=one.level, method=one.method) for name, one in known}
        )

    law, short = without(fit.law, "ceiling", "headroom"), fit.if_short
    vars(law).update(vars(fit.law))
    return replace(
        without(fit, "ceiling", "headroom", "used"),
        p_headroom=None,
        forms=tuple(without(one, "ceiling", "headroom") for one in fit.forms),
        cuts=tuple(without(one, "ceiling") for one in fit.cuts),
        if_short=None if short is None else without(short, "ceiling", "headroom", "law_ceiling"),
        law=law,
    )


def column_of(data: Any, name: Any) -> Any:
    """A column of a table by its name, or a :class:`UsageError` ``no-such-column``."""
    try:
        return data[name]
    except (KeyError, IndexError, TypeError, ValueError):
        names = list(map(str, getattr(data, "columns", data if isinstance(data, dict) else ())))
        message = f"data has no column {name!r}; its columns are {', '.join(names[:20]) or 'not named'}"
        raise UsageError("no-such-column", message, "name columns of the table") from None


def checked_gain(gain: float) -> float:
    """A gain of reward above 0, or a :class:`UsageError`."""
    number = as_number(gain, "gain")
    if not number > 0:
        raise UsageError("bad-gain", f"gain {number:g}, expected a reward above 0", "give 0.01 for one point")
    return number
