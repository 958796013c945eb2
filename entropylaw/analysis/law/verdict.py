"""The verdict on the law: holds, undecided or fails, and why; the tests that it rests on.

A law that the data do not contradict need not hold: a straight line, saturation in the step, or anything
that moves with the step may fit the same evaluations. The verdict rests on the posterior probability of the
law among ten curves, terms in the step included, each as probable as the law before the data; the limits
were chosen on simulated runs (``docs/benchmarks/verdicts.md``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from entropylaw.analysis.forms import Form, Shape, design, law_column
from entropylaw.analysis.rivals import STRONG, FormFits, fit_each, independent
from entropylaw.arrays import FloatArray
from entropylaw.engine.posterior import EVERY, Rows, Solver, least_squares, spread_rows
from entropylaw.engine.prior import Grid
from entropylaw.results import Estimate, LawTests, Verdict, Why
from entropylaw.results.posterior import Posterior

FEWEST = 8
"""Fewest evaluations of a run in which the law can hold."""

SPAN = 0.15
"""Nats of entropy that a run must span for the law to hold: a and b are identified from there."""

CLEARLY = 3.0
"""A curve is better than another from this many times its probability."""

HOLDS = 0.36
"""Probability of the law among all curves from which it can hold."""

FAILS = 0.03
"""The same below which it fails: the others together are more than 30 times as probable."""

REJECTED_STEP = 0.002
"""p-value of the step or its logarithm beside the law below which the law fails."""

UNNEEDED_STEP = 0.01
"""p-value of the step and of its logarithm beside the law from which a curve in the step alone makes no law
fail: where the entropy itself is smooth in the step, either can follow the reward better by chance."""

HALF = 0.5
"""Odds over the law of a line, or of a curve of :data:`IN_STEP`, above which the law does not hold."""

LEAST_R_SQUARED = 0.5
"""R² of least squares below which the law holds in no run."""

MONOTONE = -0.8
"""Spearman's correlation of entropy and reward up to which reward clearly follows the entropy."""

IN_ENTROPY = ("line", "rate", "power", "square")
"""Curves in the entropy alone that are compared with the law."""

IN_STEP = ("branches", "saturation", "step", "log_step")
"""Curves that need more than the entropy."""

ODDS = (*IN_ENTROPY, "constant", *IN_STEP)
"""All curves that are compared with the law."""

_LARGEST_LOG = 690.0


def law_tests(
    step: FloatArray,
    smoothed_entropy: FloatArray,
    reward: FloatArray,
    grid: Grid,
    fits: FormFits,
    bounded: FormFits | None = None,
    solver: Solver | None = None,
) -> LawTests:
    """Test the law against other curves in the entropy and against terms in the step.

    A p-value is twice the posterior tail probability of the sign of one column's coefficient beside the law:
    for one covariance that is the textbook t test. The columns are
    H·exp(H), the derivative of exp(kH) by k at the law's k = 1; the step; and log(1 + t), where t is the step
    from the first evaluation in mean spacings, so that the unit of the step has no effect. Odds are ratios
    of marginal likelihoods with the prior of :func:`entropylaw.analysis.rivals.fit_forms`.

    Parameters
    ----------
    step, smoothed_entropy, reward
        Shape (n,): steps, increasing; nats; reward.
    grid
        The residual covariances, those of errors in the entropy included
        (:attr:`entropylaw.LawFit.residual_covariances`).
    fits
        Forms on the same evaluations, of :func:`entropylaw.analysis.rivals.fit_forms`.
    bounded
        The same given the largest possible reward, where it is known: the odds between them are of these.
    solver
        Of the same step, reward and grid, where there is one: :func:`tests_solver`.
    """
    h = smoothed_entropy
    solver = solver or tests_solver(step, h, reward, grid)
    p_rate, p_step, p_log_step = added_column(solver, _beside_law(step, h))
    in_step, _ = fit_each(_in_step(step, h), step, reward, grid, solver)
    known = (fits if bounded is None else bounded).fits

    def odds(name: str) -> float | None:
        """Marginal likelihood of a form over the law's; a finite number, however large."""
        if name in fits.fits:
            log_odds = known[name].log_evidence - known["law"].log_evidence if name in known else -np.inf
        elif name in in_step:
            log_odds = in_step[name].log_evidence - fits.fits["law"].log_evidence
        else:
            return None
        return float(np.exp(np.clip(log_odds, -_LARGEST_LOG, _LARGEST_LOG)))

    return LawTests(
        p_rate=p_rate,
        p_step=p_step,
        p_log_step=p_log_step,
        **{f"odds_{name}": odds(name) for name in ODDS},
        spearman=spearman(h, reward),
    )


def tests_solver(
    step: FloatArray,
    smoothed_entropy: FloatArray,
    reward: FloatArray,
    grid: Grid,
    *others: Columns,
) -> Solver:
    """Posteriors for :func:`law_tests`, and for other designs, from columns that are whitened once."""
    solver = Solver(step, reward, grid, spread_rows(smoothed_entropy))
    saturation = _in_step(step, smoothed_entropy)[0]
    rates = saturation.shapes[0].value(saturation.shapes[0].axis())[:, None]
    linear = [*_beside_law(step, smoothed_entropy), *others]
    known = (
        [each(solver.rows) for each in linear],
        list(saturation.designs(saturation.at(solver.rows), rates)),
    )
    whole = (
        lambda i: linear[i](EVERY),
        lambda i: saturation.designs(saturation.inputs, rates[[i]])[0],
    )
    thin = not isinstance(solver.rows, slice)
    solver.share(*((each, every if thin else None) for each, every in zip(known, whole, strict=True)))
    return solver


Columns = Callable[[Rows], FloatArray]
"""A design (r, p) at some rows of a run."""


def _beside_law(step: FloatArray, entropy: FloatArray) -> list[Columns]:
    """The law with one more column: that of its rate, the step, and its logarithm."""
    time, log_time = step_terms(step)
    return [
        lambda rows: design(law_column(entropy[rows]), entropy[rows] * np.exp(entropy[rows])),
        lambda rows: design(law_column(entropy[rows]), time[rows]),
        lambda rows: design(law_column(entropy[rows]), log_time[rows]),
    ]


def step_terms(step: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The step from the first evaluation in mean spacings, and the logarithm of one plus that, (n,) each."""
    time = np.asarray((step - step[0]) * ((step.size - 1) / (step[-1] - step[0])))
    return time, np.log1p(time)


def _in_step(step: FloatArray, entropy: FloatArray) -> list[Form]:
    """The curves in the step that are compared with the law for the verdict alone."""
    time, log_time = step_terms(step)

    def form(name: str, term: FloatArray) -> Form:
        return Form(
            name=name,
            formula="",
            inputs={"entropy": entropy, "term": term},
            coefficients=("ceiling", "a", "d"),
            shapes=(),
            design=lambda x, shape: design(law_column(x["entropy"]), x["term"]),
        )

    saturation = replace(
        form("saturation", time / time[-1]),
        coefficients=("ceiling", "a"),
        shapes=(Shape(name="rate", low=0.5, high=30.0, points=15, log=True),),
        design=lambda x, shape: design(np.exp(-shape[..., 0, None] * x["term"])),
    )
    return [saturation, form("step", time), form("log_step", log_time)]


def added_column(solver: Solver, columns: Sequence[Columns]) -> list[float | None]:
    """Two-sided p-value of the last column of each design (n, p); None where columns are dependent."""
    found: list[float | None] = [None] * len(columns)
    designs = [each(solver.rows) for each in columns]
    usable = [i for i, one in enumerate(designs) if one.shape[0] > one.shape[1] and independent(one[None])[0]]
    if not usable:
        return found
    whole = None if isinstance(solver.rows, slice) else lambda i: columns[usable[i]](EVERY)
    posteriors = solver.posteriors([designs[i] for i in usable], whole)
    batches = {id(batch): batch for batch, _ in posteriors}
    tails = {name: tail(batch) for name, batch in batches.items()}
    for i, (batch, number) in zip(usable, posteriors, strict=True):
        found[i] = float(tails[id(batch)][number])
    return found


def tail(posterior: Posterior) -> FloatArray:
    """Twice the posterior probability of the less probable sign of the last coefficient, (b,) of a batch."""
    b, p = len(posterior.weight), posterior.coefficient.shape[-1]
    last = np.eye(p)[-1]
    # Both tails: one minus the larger would lose all digits of a small one.
    rows = np.broadcast_to([last, -last], (b, 2, p))
    both = posterior.functional(rows).cdf(np.zeros(2 * b)).reshape(b, 2)
    return np.asarray(np.minimum(1.0, 2.0 * both.min(axis=1)))


def spearman(one: FloatArray, other: FloatArray) -> float | None:
    """Rank correlation of two columns (n,), ties at their mean rank; None where one is constant."""
    ranks = []
    for column in (one, other):
        _, place, count = np.unique(column, return_inverse=True, return_counts=True)
        ranks.append((np.cumsum(count) - 0.5 * (count - 1))[place])
    if min(np.ptp(rank) for rank in ranks) == 0:
        return None
    return float(np.corrcoef(ranks)[0, 1])


def r_squared(entropy: FloatArray, reward: FloatArray) -> float:
    """Share of the reward's variance that the law explains by least squares, 0–1; columns (n,) as logged."""
    *_, residual = least_squares(design(law_column(entropy))[None], reward[None])
    total = float(np.var(reward))
    return 1.0 - float(np.mean(residual**2)) / total if total > 0 else 0.0


def law_probability(tests: LawTests, without: str = "") -> float:
    """Posterior probability of the law among it and the curves of :data:`ODDS` that could be fitted."""
    return 1.0 / (1.0 + sum(odds for name, odds in _odds(tests).items() if name != without))


def _odds(tests: LawTests) -> dict[str, float]:
    """The odds over the law that are known, by curve."""
    every = {name: getattr(tests, f"odds_{name}") for name in ODDS}
    return {name: odds for name, odds in every.items() if odds is not None}


def rule(
    tests: LawTests, a: Estimate, *, n: int, span: float, r_squared: float, among_forms: float = 1.0
) -> tuple[Verdict, Why | None]:
    """The verdict, and why the law fails where it does.

    The law fails where a is below 0, where its probability is below :data:`FAILS`, or where a term in the
    step is needed beside it; saturation in the step counts only where such a term has some evidence
    (:data:`UNNEEDED_STEP`). It holds where a is above 0, its probability is at least :data:`HOLDS`, a line
    and each curve of :data:`IN_STEP` are at most half as probable, and a constant a 20th.

    Parameters
    ----------
    tests, a
        Of the run.
    n, span, r_squared
        Number of evaluations, range of the smoothed entropy in nats, and :func:`r_squared`. With fewer than
        8 evaluations nothing is decided; with less than 0.15 nats or an R² below .5 the law holds in no run.
    among_forms
        Posterior probability of the law among the registered forms: one that is not in :data:`ODDS` counts.
    """
    odds, probability = _odds(tests), min(law_probability(tests), among_forms)
    falls = a.high is not None and a.high < 0
    steps = [p for p in (tests.p_step, tests.p_log_step) if p is not None]
    if n < FEWEST:
        return Verdict.undecided, None
    unneeded = "saturation" if min(steps, default=0.0) >= UNNEEDED_STEP else ""
    remaining = min(law_probability(tests, without=unneeded), among_forms)
    if falls or remaining < FAILS or min(steps, default=1.0) < REJECTED_STEP:
        return Verdict.fails, _why(tests, falls=falls)
    limits = {"constant": 1.0 / STRONG, **dict.fromkeys(("line", *IN_STEP), HALF)}
    passed = (
        span >= SPAN
        and r_squared >= LEAST_R_SQUARED
        and a.low is not None
        and a.low > 0
        and probability >= HOLDS
        and {"line", "constant"} <= odds.keys()
        and all(odds.get(name, 0.0) <= limit for name, limit in limits.items())
    )
    return (Verdict.holds if passed else Verdict.undecided), None


def _why(tests: LawTests, *, falls: bool) -> Why:
    """Why the law fails.

    Without a clearly monotone relation: reward rises with entropy, or a constant is 20 times as
    probable as the law. Else what is needed beside the entropy has to be clearly more probable than every
    curve in the entropy.
    """
    odds = _odds(tests)
    monotone = tests.spearman is not None and tests.spearman <= MONOTONE
    if (falls or odds.get("constant", 0.0) >= STRONG) and not monotone:
        return Why.no_relation
    curve = max(1.0, *(odds.get(name, 0.0) for name in IN_ENTROPY))
    more = max(odds.get(name, 0.0) for name in IN_STEP)
    return Why.more_than_entropy if more >= CLEARLY * curve else Why.another_curve


def nearest_rival(tests: LawTests) -> tuple[str, float]:
    """The curve with the largest odds over the law, and these odds; the line where none is known."""
    odds = _odds(tests)
    # Rounding: curves that are the same on a run differ in the last digits.
    name = max(odds, key=lambda one: (float(f"{odds[one]:.9g}"), one), default="line")
    return name, odds.get(name, 0.0)
