"""The verdict on the law: holds, undecided or fails, and why; the tests that it rests on.

A law that the data do not contradict need not hold: a straight line, saturation in the step, or anything
that moves with the step may fit the same evaluations. The verdict rests on the posterior probability of the
law among its rivals, terms in the step included, each as probable as the law before the data; the limits were
chosen on simulated runs (``docs/benchmarks/table.md``).
"""

from __future__ import annotations

import numpy as np
from scipy.special import stdtr

from entropylaw.arrays import FloatArray
from entropylaw.engine import constants
from entropylaw.engine.reads import Reads, heavier
from entropylaw.results import Estimate, LawTests, Verdict, Why
from entropylaw.results.result import Finding, note

IN_ENTROPY = ("line", "rate", "power", "square")
"""Curves in the entropy alone that are compared with the law."""

IN_STEP = ("saturation", "step", "log_step")
"""Curves that need more than the entropy."""

OF_ENTROPY = (*IN_ENTROPY, "constant")
"""Curves that need no more than the entropy."""

ODDS = (*OF_ENTROPY, *IN_STEP)
"""All curves that are compared with the law."""

_LARGEST = 1e300


def law_tests(reads: Reads) -> LawTests:
    """The evidence of a table: p-values of terms in the step beside the law, and odds of its rivals.

    A p-value is twice the posterior tail probability of the sign of the term's coefficient beside the law.
    The logarithm is of one plus the step from the first evaluation in mean spacings, so that the step's unit
    has no effect.
    """
    table, (p_step, p_log_step) = reads.table, _p_steps(reads)
    of_rivals = {f"odds_{name}": min(value, _LARGEST) for name, value in odds_of(reads).items()}
    return LawTests(
        p_step=p_step, p_log_step=p_log_step, **of_rivals, spearman=spearman(table.entropy, table.reward)
    )


def odds_of(reads: Reads) -> dict[str, float]:
    """Marginal likelihood of each rival over the law's, levels of the first evaluations averaged."""
    table = reads.table

    def total(name: str, term: str = "none") -> float:
        number = [other for other, _ in table.prior.terms].index(term)
        return float(reads.evidence[table.is_form(name) & (table.term == number)].sum())

    rivals = {name: total(name) for name in (*constants.LISTED, "saturation", "lagged") if name != "law"}
    rivals |= {term: total("law", term) for term in ("step", "log_step")}
    return {name: value / max(total("law"), 1e-300) for name, value in rivals.items()}


def _p_steps(reads: Reads) -> tuple[float | None, float | None]:
    """Two-sided p-values of the step and of its logarithm beside the law."""
    table, values = reads.table, list[float | None]()
    for number, (name, _) in enumerate(table.prior.terms[1:], start=1):
        weight = reads.evidence * (table.is_form("law") & (table.term == number))
        if not weight.any() or not table.candidates.of(name):
            values.append(None)
            continue
        location, scale = table.numbers(table.coefficient_of(table.candidates.of(name)), rows=weight > 0)
        heavy = heavier(weight)
        z = location[0, heavy] / np.maximum(scale[0, heavy], 1e-300)
        # Both tails: one minus the larger would lose all digits of a small one.
        tails = [float(weight[heavy] @ stdtr(table.df[heavy], side * z)) for side in (-1.0, 1.0)]
        values.append(min(1.0, 2.0 * min(tails) / float(weight[heavy].sum())))
    first, second = values
    return first, second


def spearman(one: FloatArray, other: FloatArray) -> float | None:
    """Rank correlation of two columns (n,), ties at their mean rank; None where one is constant."""
    ranks = []
    for column in (one, other):
        _, number, count = np.unique(column, return_inverse=True, return_counts=True)
        ranks.append((np.cumsum(count) - 0.5 * (count - 1))[number])
    if min(np.ptp(rank) for rank in ranks) == 0:
        return None
    return float(np.corrcoef(ranks)[0, 1])


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
        "divergence",
        name=name,
        best=best,
        r_squared=explained[best],
        other=other,
        other_r_squared=explained[other],
        law=law,
    )


def law_probability(tests: LawTests, among: tuple[str, ...] = ODDS, *, lagged: bool = False) -> float:
    """Posterior probability of the law among it and some rivals; ``lagged``: of an earlier entropy, too."""
    law = 1.0 + constants.LAGGED_WEIGHT * (tests.odds_lagged or 0.0) * lagged
    rivals = sum(odds for name, odds in _rival_odds(tests).items() if name in among)
    return law / (law + rivals)


def _rival_odds(tests: LawTests) -> dict[str, float]:
    """The odds over the law that are known, by curve."""
    every = {name: getattr(tests, f"odds_{name}") for name in ODDS}
    return {name: odds for name, odds in every.items() if odds is not None}


def rule(
    tests: LawTests, a: Estimate, *, n: int, span: float, r_squared: float
) -> tuple[Verdict, Why | None]:
    """The verdict, and why the law fails where it does.

    The law fails where a is below 0, where its probability is below ``FAILS``, that of a lagged entropy
    included, or where a term in the step is needed beside it; saturation in the step counts only where such a
    term has some evidence. It holds where a is above 0, its probability is at least ``HOLDS``, a line and
    each curve of :data:`IN_STEP` are at most as probable, and a constant a 20th.

    Parameters
    ----------
    tests, a
        Of the run.
    n, span, r_squared
        Number of evaluations, range of the smoothed entropy in nats, and :func:`r_squared`. With fewer than
        8 evaluations nothing is decided; with less than 0.15 nats or an R² below .5 the law holds in no run.
    """
    if n < constants.FEWEST_HOLDS:
        return Verdict.undecided, None
    falls = a.high is not None and a.high < 0
    if falls or _refuted(tests):
        return Verdict.fails, _why(tests, falls=falls)
    seen = span >= constants.SPAN and r_squared >= constants.LEAST_R_SQUARED
    odds = _rival_odds(tests)
    is_probable = (
        law_probability(tests) >= constants.HOLDS
        and all(odds.get(name, 0.0) <= 1.0 for name in ("line", *IN_STEP))
        and odds.get("constant", 0.0) <= 1.0 / constants.CONSTANT_LIMIT
    )
    if seen and a.low is not None and a.low > 0 and is_probable:
        return Verdict.holds, None
    return Verdict.undecided, None


def _refuted(tests: LawTests) -> bool:
    """Whether the law is too improbable, or a term in the step is needed beside it."""
    least_p = min((p for p in (tests.p_step, tests.p_log_step) if p is not None), default=1.0)
    counted: tuple[str, ...] = ODDS
    if least_p >= constants.UNNEEDED_STEP:
        counted = tuple(name for name in ODDS if name != "saturation")
    remaining = min(law_probability(tests, among, lagged=True) for among in (counted, OF_ENTROPY))
    return remaining < constants.FAILS or least_p < constants.REJECTED_STEP


def _why(tests: LawTests, *, falls: bool) -> Why:
    """Why the law fails.

    Without a clearly monotone relation: reward rises with entropy, or a constant is 20 times as
    probable as the law. Else what is needed beside the entropy has to be clearly more probable than every
    curve in the entropy.
    """
    odds = _rival_odds(tests)
    monotone = tests.spearman is not None and tests.spearman <= constants.MONOTONE
    if (falls or odds.get("constant", 0.0) >= constants.CONSTANT_LIMIT) and not monotone:
        return Why.no_relation
    curve = max(1.0, *(odds.get(name, 0.0) for name in IN_ENTROPY))
    beyond = max(odds.get(name, 0.0) for name in IN_STEP)
    return Why.more_than_entropy if beyond >= constants.CLEARLY * curve else Why.another_curve


def nearest_rival(tests: LawTests) -> tuple[str, float]:
    """The curve with the largest odds over the law, and these odds; the line where none is known."""
    odds = _rival_odds(tests)
    # Rounding: curves that are the same on a run differ in the last digits.
    name = max(odds, key=lambda rival: (float(f"{odds[rival]:.9g}"), rival), default="line")
    return name, odds.get(name, 0.0)
