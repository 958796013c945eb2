"""The answer for one run: the law and its rivals fitted, the law tested, the numbers averaged over forms."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from entropylaw.analysis.forecast import forecast, usual_step
from entropylaw.analysis.law.diagnostics import (
    cautions_of,
    entropy_ended,
    lost_reward,
    reasons_of,
    why_lost,
)
from entropylaw.analysis.law.estimates import checked_gain, checked_level, usual_gain
from entropylaw.analysis.law.evaluations import check_rewards, checked_shifts, usable
from entropylaw.analysis.law.verdict import law_probability, law_tests, rule
from entropylaw.analysis.numbers import averaged_numbers, law_of_run, median_crossing
from entropylaw.arguments import as_flag, as_number, of_kind, several, type_of, with_unpaired
from entropylaw.arrays import FloatArray
from entropylaw.engine.reads import Reads
from entropylaw.engine.table import table_of
from entropylaw.engine.threads import one_thread
from entropylaw.errors import FitError, UsageError
from entropylaw.escaping import listing, shown
from entropylaw.results import Verdict
from entropylaw.results.fit import Fit
from entropylaw.results.law import LawFit
from entropylaw.results.result import LOST, NO_SCORE, Finding, caution, has, replace

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
    entropy_sd: Any = None,
    keep_outliers: bool = False,
    run: str = "run",
    gain: float | None = None,
    steps: float | None = None,
    ahead: bool = True,
    max_reward: float | None = None,
    logged: tuple[Any, Any] | None = None,
    unpaired: tuple[Any, Any] | None = None,
    seams: Sequence[float] = (),
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
    entropy_sd
        Standard deviation of the noise with which each entropy was logged, in nats: a number, or shape (n,).
        It is estimated where it is not given.
    keep_outliers
        Fit evaluations with a gross error, too. By default those of
        :func:`entropylaw.analysis.law.evaluations.gross_outliers` are left out, each with a sentence in
        ``LawFit.dropped``.
    logged
        Steps and entropies of every logged step, shape (m,) each: the entropy is smoothed over all of them.
        Rows without a reward count as such, too.
    unpaired
        Steps and rewards of evaluations without an entropy, shape (m,) each, which count for the forecast and
        not for the law. Rows without an entropy count as such, too.
    seams
        Steps from which the reward has another level, as after a change of the data: numbers are those of the
        last part.
    run
        Name of the run in the result.
    gain
        Reward: ``p_headroom``, and the probability of the forecast, are of at least this; where not given, a
        hundredth of ``max_reward``; where that is not known, of 1 if all rewards are between 0 and 1 and are
        scores, else of their range so far.
    steps
        The step at which the training is planned to end, for the forecast; where not given, half as many
        steps again.
    ahead
        Whether the fit has a forecast, which takes as long as the rest.
    max_reward
        The largest reward that is possible, 1 for a rate: no ceiling, curve and prediction is above it.
    findings
        What is known of the columns. With ``entropy-controlled`` among them the test of the law is void, and
        its verdict undecided; with ``not-a-score`` the reward cannot be lost, no step of it is the best, and
        its ceiling may be above 1.

    Raises
    ------
    FitError
        ``too-few-evaluations``, ``entropy-constant``, ``reward-constant``, ``entropy-not-a-mean``,
        ``steps-not-increasing``, ``lengths-differ``, ``out-of-scale``,
        ``reward-above-max``: the data do not determine a fit.
    UsageError
        ``bad-level``, ``bad-entropy-sd``, ``bad-gain``, ``bad-seam``, ``no-such-column``, ``bad-argument``.

    Notes
    -----
    Every candidate, a curve with a residual covariance and perhaps a term in the step, is one row of a table
    (:mod:`entropylaw.engine.table`), and every number a read of it. Estimates are medians, intervals
    equal-tailed quantiles. A pair with a missing value is left out and counted in ``LawFit.dropped``.

    References
    ----------
    The law: Cui et al. 2025, arXiv:2505.22617, Eq. 6; they fit by least squares without intervals.
    """
    stated = several(findings, Finding, "findings")
    level = checked_level(level)
    run = of_kind(run, str, "run")
    ahead = as_flag(ahead, "ahead")
    if data is not None:
        entropy, reward, step = (column_of(data, name) for name in (entropy, reward, step))
    given: dict[str, Any] = {"logged": logged, "unpaired": unpaired}
    used = usable(entropy, reward, step, entropy_sd, keep_outliers=keep_outliers, **given)
    check_rewards(used.reward, max_reward)
    evaluations = with_unpaired(used.step, used.entropy, used.reward, used.unpaired)
    is_score = not has(stated, NO_SCORE)
    usual = usual_gain(evaluations[2], max_reward, is_score=is_score)
    gain = usual if gain is None else checked_gain(gain)
    shifts, smoothed = checked_shifts(seams, used.step), used.smoothed()
    lost = lost_reward(evaluations[2]) if is_score else None
    table = table_of(used.step, smoothed.entropy, used.reward, shifts=shifts)
    reads = Reads(table, np.inf if max_reward is None else float(max_reward), no_ceiling=why_lost(lost))
    law = law_of_run(used, smoothed, reads, run=run, level=level, max_reward=max_reward, shifts=shifts)
    later = _ahead(evaluations, law, steps, gain, is_score=is_score) if ahead else {}
    ended = entropy_ended(evaluations[0], float(used.step[-1]))
    cautions = [finding for finding in (lost, ended) if finding is not None]
    return _answer(law, reads, stated, cautions, gain=gain, unpaired=used.unpaired, **later)


def _answer(
    law: LawFit,
    reads: Reads,
    known: Sequence[Finding],
    cautions: list[Finding],
    *,
    gain: float,
    **later: Any,
) -> Fit:
    """The law tested, unless its entropy is controlled, and the numbers averaged over the forms."""
    controlled = [replace(finding, severity="reason") for finding in known if finding.code == CONTROLLED]
    tests, span = law_tests(reads), float(np.ptp(law.smoothed_entropy))
    verdict, why = Verdict.undecided, None
    if not controlled:
        verdict, why = rule(tests, law.a, n=law.n, span=span, r_squared=law.r_squared)
    fit = Fit(
        run=law.run,
        verdict=verdict,
        why=why,
        findings=(),
        tests=tests,
        p_law=law_probability(tests),
        law=law,
        **averaged_numbers(law, reads, level=law.level, gain=gain),
        **later,
    )
    if reads.passed and not has(cautions, LOST):
        at = median_crossing(reads, reads.averaged, reads.top, law.entropy_now)
        if at is not None:
            cautions.append(caution("curves-pass-largest", most=law.max_reward, entropy=at))
    reasons = controlled or reasons_of(fit)
    of_columns = [finding for finding in known if finding.code != CONTROLLED]
    of_fit = cautions_of(fit, reads, is_score=not has(known, NO_SCORE))
    return replace(fit, findings=(*reasons, *cautions, *of_fit, *of_columns))


def _ahead(
    evaluations: tuple[FloatArray, FloatArray, FloatArray],
    law: LawFit,
    steps: float | None,
    gain: float,
    *,
    is_score: bool,
) -> dict[str, Any]:
    """The fields of a fit on the forecast of all evaluations, or the reason why it has none."""
    at = usual_step(evaluations[0]) if steps is None else as_number(steps, "steps")
    how: dict[str, Any] = {"gain": gain, "level": law.level, "max_reward": law.max_reward, "run": law.run}
    try:
        return {"forecast": forecast(*evaluations, at_step=at, is_score=is_score, **how)}
    except (FitError, UsageError) as error:
        return {"no_forecast": error.message}


def column_of(data: Any, name: Any) -> Any:
    """A column of a table by its name, None without one; :class:`UsageError` ``no-such-column``."""
    if name is None:
        return None
    with suppress(Exception):
        return data[name]
    names: list[str] = []
    with suppress(Exception):
        names = list(map(str, getattr(data, "columns", data if isinstance(data, dict) else ())))
    column = shown(name) if isinstance(name, str) else type_of(name)
    message = f"data has no column {column}; its columns are {listing(names) if names else 'not named'}"
    raise UsageError("no-such-column", message, "name columns of the table")
