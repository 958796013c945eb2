"""The words about the law: whether the entropy says more than the step, and whether the law holds.

A law that the data do not contradict need not hold: where one clock drives reward and entropy, reward is a
curve in the entropy, most often nearly a straight line. So two things are compared with it: the step, and a
straight line in the entropy. ``holds`` describes the run; it never says that the entropy is the cause.
How often the words are right: ``docs/benchmarks/law_words.md``.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.special import stdtr

from entropylaw.arrays import FloatArray
from entropylaw.engine import constants
from entropylaw.engine.reads import Reads
from entropylaw.engine.table import Table
from entropylaw.results import CLEAR_ODDS, LawTests, More, Verdict, Why
from entropylaw.results.result import DIVERGENCE, Finding, note

IN_ENTROPY = ("law", "line", "square", "rate", "power", "lagged", "free")
"""Curves in the entropy."""

IN_STEP = (("constant", "step"), ("constant", "log_step"), ("saturation", "none"))
"""Curves in the step alone: a form of the table, and a term beside it."""

_LARGEST = 99.0
"""Logarithm of the largest odds that are distinguished."""


def law_tests(reads: Reads) -> LawTests:
    """The evidence of a table: odds of curves, levels of the first evaluations and covariances averaged."""
    table = reads.table
    in_entropy = _mean(_log_evidence(table, form) for form in IN_ENTROPY)
    in_step = _mean(_log_evidence(table, *curve) for curve in IN_STEP)
    law = _log_evidence(table, "law")
    return LawTests(
        odds_entropy=_odds(in_entropy, in_step),
        odds_law=_odds(law, in_step),
        odds_line=_odds(law, _log_evidence(table, "line")),
        odds_step=_odds(in_step, _log_evidence(table, "constant")),
        p_direction=_p_direction(reads),
    )


def _log_evidence(table: Table, form: str, term: str = "none") -> float:
    """Log marginal likelihood of a curve with a term beside it; minus infinity where it is not fitted."""
    number = [name for name, _ in table.prior.terms].index(term)
    rows = table.log_weight[table.is_form(form) & (table.term == number)]
    return _log_sum(rows)


def _log_sum(logs: FloatArray) -> float:
    best = logs.max(initial=-np.inf)
    return float(best + np.log(np.exp(logs - best).sum())) if np.isfinite(best) else -np.inf


def _mean(logs: Iterable[float]) -> float:
    """The logarithm of the mean of what exists."""
    known = np.array([value for value in logs if np.isfinite(value)])
    return _log_sum(known) - float(np.log(known.size)) if known.size else -np.inf


def _odds(one: float, other: float) -> float:
    """The odds of two logarithms; 1 where neither curve is fitted."""
    if one == other:
        return 1.0
    return float(np.exp(np.clip(one - other, -_LARGEST, _LARGEST)))


def _p_direction(reads: Reads) -> float:
    """Probability that the coefficient of exp(H) is below 0, without a prior of its slope."""
    table = reads.table
    column = table.candidates.of("flat")
    if not column:
        return 0.5
    location, scale = table.numbers(table.coefficient_of(column), rows=table.is_form("flat"))
    return float(reads.law @ stdtr(table.df, -location[0] / np.maximum(scale[0], 1e-300)))


def divergence_note(name: str, kl: FloatArray, reward: FloatArray, law: float) -> Finding:
    """What the divergence from the reference policy explains of the reward, beside what the ``law`` does.

    The gold reward of a policy that is optimised against a proxy is a curve in √KL: Gao, Schulman & Hilton
    2023, arXiv:2210.10760. Both columns are (n,), logged at the evaluations.
    """
    columns = {"√KL": np.sqrt(np.maximum(kl, 0.0)), "KL": kl}
    explained = {
        label: float(np.corrcoef(column, reward)[0, 1]) ** 2 if np.ptp(column) > 0 else 0.0
        for label, column in columns.items()
    }
    best, other = sorted(explained, key=lambda label: -explained[label])
    return note(
        DIVERGENCE,
        name=name,
        best=best,
        r_squared=explained[best],
        other=other,
        other_r_squared=explained[other],
        law=law,
        explains_more=explained[best] >= law + constants.MORE_EXPLAINED,
    )


def rule(tests: LawTests, *, n: int, span: float) -> tuple[Verdict, Why | None]:
    """The verdict on the law, and the one reason why it does not hold.

    Parameters
    ----------
    tests
        Of the run.
    n, span
        Number of evaluations, and range of the smoothed entropy in nats.
    """
    if n < constants.FEWEST_HOLDS:
        return Verdict.undecided, Why.few
    if tests.p_direction <= 1.0 - constants.SURE:
        return Verdict.fails, Why.reverse
    # Over a narrow range all curves in the entropy are lines, and the step may say more under the law, too.
    if span < constants.SPAN:
        return Verdict.undecided, Why.narrow
    if tests.more is More.step:
        return Verdict.fails, Why.step
    if tests.p_direction < constants.SURE:
        return Verdict.undecided, Why.slope
    if tests.odds_law >= constants.HOLDS:
        if tests.odds_line >= constants.BENDS:
            return Verdict.holds, None
        return Verdict.undecided, Why.line
    if tests.odds_entropy >= CLEAR_ODDS:
        return Verdict.undecided, Why.curve
    return Verdict.undecided, Why.neither
