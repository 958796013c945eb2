"""What bounds the verdict: the engine beside an oracle that is given the residual's covariance.

python -m benchmarks.bound --runs 40 --jobs 2    a block of docs/benchmarks/table.md
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.docs import write_block
from benchmarks.table import FORMS, KINDS, OTHERS, SIZES, Run, draw, markdown, standard
from entropylaw.analysis.answer import fit_law
from entropylaw.analysis.forms import r_squared
from entropylaw.analysis.law.verdict import law_probability, rule
from entropylaw.engine.constants import PRIOR
from entropylaw.results import Estimate, LawTests

FloatArray = NDArray[np.float64]

SEED, FALSE = 3, 0.03
"""Seed of the runs, and the share of runs under other forms at which both are compared."""

Answers = tuple[bool, float, bool, float]
"""Whether the engine says "holds", and its probability of the law where it may; the same of the oracle."""


def evidence(run: Run, columns: Sequence[FloatArray], slopes: Sequence[float]) -> float:
    """Log marginal likelihood of slopes of columns (n,), in sds of the reward, with the engine's prior."""
    unit, n = float(np.std(run.reward)), run.reward.size
    x = np.column_stack([np.ones(n), *columns])
    prior = np.diag([0.0, *([PRIOR.slope_spread**-2] * len(columns))])
    y = (run.reward - run.reward.mean()) / unit - x @ np.array([0.0, *slopes])
    root = np.linalg.cholesky(run.covariance / unit**2)
    white, target = np.linalg.solve(root, x), np.linalg.solve(root, y)
    product, along = white.T @ white + prior, white.T @ target
    left = target @ target - along @ np.linalg.solve(product, along)
    size = np.linalg.slogdet(product)[1] + 2.0 * len(columns) * np.log(PRIOR.slope_spread)
    return float(-0.5 * (left + size))


def oracle(run: Run) -> tuple[bool, float]:
    """Verdict by the engine's rule, and the probability of the law where reward falls with the entropy."""
    h, n = run.path, run.reward.size
    share, law = np.arange(n) / (n - 1), standard(np.expm1(run.path))

    def alone(curves: Sequence[FloatArray], slope: float = -PRIOR.slope) -> float:
        logs = [evidence(run, [standard(curve)], [slope]) for curve in curves]
        return float(np.logaddexp.reduce(logs) - np.log(len(logs)))

    logs = {
        "line": alone([h]),
        "square": alone([h**2]),
        "rate": alone([np.sign(k) * np.expm1(k / h.max() * h) for k in PRIOR.rates]),
        "power": alone([h**p for p in PRIOR.powers]),
        "constant": evidence(run, [], []),
        "saturation": alone([np.exp(-rate * share) for rate in PRIOR.saturations], 0.0),
        "step": evidence(run, [law, standard(share)], [-PRIOR.slope, 0.0]),
        "log_step": evidence(run, [law, standard(np.log1p(share * (n - 1)))], [-PRIOR.slope, 0.0]),
    }
    of_law = alone([np.expm1(h)])
    odds = {f"odds_{name}": float(np.exp(min(log - of_law, 500.0))) for name, log in logs.items()}
    tests = LawTests(**odds, odds_lagged=None, p_step=None, p_log_step=None, spearman=None)
    white = np.linalg.solve(np.linalg.cholesky(run.covariance), np.column_stack([np.ones(n), -np.expm1(h)]))
    target = np.linalg.solve(np.linalg.cholesky(run.covariance), run.reward)
    inverse = np.linalg.inv(white.T @ white)
    value, reach = float((inverse @ white.T @ target)[1]), 1.96 * float(np.sqrt(inverse[1, 1]))
    a = Estimate(value=value, low=value - reach, high=value + reach, level=0.95, method="")
    explained, span = r_squared(h, run.reward), float(np.ptp(h))
    verdict, _ = rule(tests, a, n=n, span=span, r_squared=explained)
    possible = value > reach and explained >= 0.5 and span >= 0.15
    return verdict.value == "holds", law_probability(tests) * possible


def both(truth: str, kind: str, n: int, numbers: range) -> list[Answers]:
    """What engine and oracle say of some runs; under another form the residual is of any kind."""
    answers = []
    key = int.from_bytes(f"{truth} {kind} {n}".encode(), "little") % 2**32
    with threadpool_limits(1):
        for number in numbers:
            rng = np.random.default_rng([SEED, key, number])
            curve = FORMS["law"] if truth == "law" else OTHERS[truth]
            run = draw(curve, kind or str(rng.choice(KINDS)), n, rng)
            fit = fit_law(run.entropy, run.reward)
            law = fit.law
            possible = (law.a.low or 0.0) > 0 and law.r_squared >= 0.5 and fit.verdict.value != "fails"
            answers.append((fit.verdict.value == "holds", fit.p_law * possible, *oracle(run)))
    return answers


def page(law: NDArray[np.float64], long: NDArray[np.bool_], other: NDArray[np.float64]) -> str:
    """The table: ``law`` (r, 4) and ``other`` (s, 4) are answers, ``long`` (r,) is n ≥ 60."""
    lines = []
    for name, holds, chance in (("engine", 0, 1), ("oracle", 2, 3)):
        limit = np.quantile(other[:, chance], 1.0 - FALSE)
        shares = [law[:, holds], law[long, holds], other[:, holds]]
        shares += [law[:, chance] > limit, law[long, chance] > limit]
        lines.append([name, *(f"{100 * float(np.mean(share)):.1f}" for share in shares)])
    names = ["under the law", "n ≥ 60", "under another form"]
    names += [f"{name} at {100 * FALSE:.0f} % of other forms" for name in names[:2]]
    return markdown(["`holds`, %", *names], lines)


def main() -> None:
    """Write the block of the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=40, help="runs per cell")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    given = parser.parse_args()
    cells = [("law", kind, n) for kind in KINDS for n in SIZES]
    cells += [(name, "", n) for name in OTHERS for n in (60, 200)]
    with ProcessPoolExecutor(given.jobs) as pool:
        jobs = [pool.submit(both, *cell, range(given.runs)) for cell in cells]
        answers = np.array([job.result() for job in jobs], dtype=float)
    laws = len(KINDS) * len(SIZES)
    long = np.repeat([n >= 60 for _, _, n in cells[:laws]], given.runs)
    text = page(answers[:laws].reshape(-1, 4), long, answers[laws:].reshape(-1, 4))
    command = f"python -m benchmarks.bound --runs {given.runs} --jobs {given.jobs}"
    block = (
        f"{given.runs} runs per cell of the first and the fourth table.\n\n```sh\n{command}\n```\n\n{text}"
    )
    write_block("table", block, block="bound")


if __name__ == "__main__":
    main()
