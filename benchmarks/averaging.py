"""How often the averaged ceiling covers the truth, whichever form is true, and how wide it is.

python -m benchmarks.averaging               print the table
python -m benchmarks.averaging --write       and put it into docs/benchmarks/averaging.md

The worlds are drawn at random: no constant of the engine was chosen on them. Entropy falls along one of four
paths from 0.4–1.6 nats to 3–30 % of that; the residual is white noise, or with an AR(1) part of correlation
0.5, 0.8 or 0.9 per hundredth of the run; R² is 0.7 to 0.98; entropy is logged with noise of 0, 1 or 3 %. In
a second table the residual is of a family that the engine does not have: three Ornstein–Uhlenbeck processes,
ARFIMA(0, 0.35, 0) and white noise, or white noise whose scale falls by a factor of 7 along exp(H).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import toeplitz

from benchmarks.docs import write_block
from benchmarks.foreign_worlds import SHRINKS, STATIONARY, drawn
from entropylaw import EntropyLawError, fit_law

FloatArray = NDArray[np.float64]
SIZES = (30, 60, 150, 500)
CEILING, SD = 0.5, 0.07
"""Reward at H = 0, and standard deviation of the reward over a run without its residual."""

TRUTHS: dict[str, tuple[str, Callable[[FloatArray], FloatArray]]] = {
    "the law": ("law", np.expm1),
    "a line": ("line", lambda h: h),
    "rate k = 3": ("rate", lambda h: np.expm1(3 * h) / 3),
    "rate k = −3": ("rate", lambda h: -np.expm1(-3 * h) / 3),
    "power p = 1/2": ("power", np.sqrt),
    "H²": ("power", np.square),
}
"""Name → the form that is true, and g(H) in R = c − a·g(H)."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=120, help="runs per truth and number of evaluations")
    parser.add_argument("--write", action="store_true", help="put it into docs/benchmarks/averaging.md")
    arguments = parser.parse_args()
    with ProcessPoolExecutor() as pool:
        text = "\n\n".join(table(pool.map, arguments.runs, foreign) for foreign in (False, True))
    print(text)
    if arguments.write:
        write_block("averaging", text)


def table(mapping: Callable[..., Iterable[Any]], runs: int, foreign: bool) -> str:
    """Markdown: coverage and relative width for every truth and number of evaluations."""
    jobs = [(truth, n, runs, foreign) for truth in TRUTHS for n in SIZES]
    found = dict(zip(jobs, mapping(covered, *zip(*jobs, strict=True)), strict=True))
    lines = [
        f"{'Foreign residuals, ' if foreign else ''}{runs} runs per cell: per cent of runs in which the "
        "95 % interval of the averaged ceiling covers the truth, and its median width over that of the "
        "interval by the form that is true (whose shape is fitted, too). A run that cannot be fitted is "
        "counted as not covered.",
        "",
        "| truth | " + " | ".join(f"n = {n}" for n in SIZES) + " | all |",
        "| --- |" + " ---: |" * (len(SIZES) + 1),
    ]
    everything: list[tuple[bool, float]] = []
    for truth in TRUTHS:
        cells = [found[truth, n, runs, foreign] for n in SIZES]
        together = [one for cell in cells for one in cell]
        everything += together
        lines.append(f"| {truth} | " + " | ".join(map(_cell, [*cells, together])) + " |")
    sizes = [[one for truth in TRUTHS for one in found[truth, n, runs, foreign]] for n in SIZES]
    lines.append("| all | " + " | ".join(map(_cell, [*sizes, everything])) + " |")
    return "\n".join(lines)


def _cell(runs: list[tuple[bool, float]]) -> str:
    inside, width = zip(*runs, strict=True)
    return f"{100 * float(np.mean(inside)):.1f} % · {float(np.nanmedian(width)):.2f}"


def covered(truth: str, n: int, runs: int, foreign: bool) -> list[tuple[bool, float]]:
    """Of each run whether the averaged ceiling covers the truth, and its width over the true form's."""
    form, shape = TRUTHS[truth]
    rng = np.random.default_rng([43 if foreign else 41, n, list(TRUTHS).index(truth)])
    found = []
    for _ in range(runs):
        entropy, reward = simulate(shape, n, rng, foreign)
        try:
            answer = fit_law(entropy, reward)
        except EntropyLawError:
            found.append((False, np.nan))
            continue
        low, high = answer.ceiling.low, answer.ceiling.high
        own = next((one.ceiling.width for one in answer.forms if one.form == form), None)
        assert low is not None and high is not None  # noqa: PT018
        found.append((low <= CEILING <= high, (high - low) / own if own else np.nan))
    return found


def simulate(
    shape: Callable[[FloatArray], FloatArray], n: int, rng: np.random.Generator, foreign: bool
) -> tuple[FloatArray, FloatArray]:
    """A run: the logged entropy and the reward, each of shape (n,)."""
    time = np.linspace(0.0, 1.0, n)
    start = rng.uniform(0.4, 1.6)
    end = start * rng.uniform(0.03, 0.3)
    falls = (
        np.exp(-rng.uniform(2, 8) * time),
        1 / (1 + rng.uniform(3, 15) * time),
        1 / (1 + np.exp((time - rng.uniform(0.3, 0.6)) * rng.uniform(6, 14))),
        (1 - time) ** rng.uniform(1, 2.5),
    )
    entropy = end + (start - end) * falls[rng.integers(4)]
    gained = shape(entropy)
    reward = CEILING - SD * gained / np.std(gained)
    r_squared, correlation = rng.choice([0.7, 0.8, 0.9, 0.95, 0.98]), rng.choice([0.0, 0.5, 0.8, 0.9])
    noise = rng.standard_normal(n)
    if correlation > 0:
        share = rng.uniform(0.2, 0.8)
        per_evaluation = correlation ** (100 / n)
        drift = np.empty(n)
        drift[0] = rng.standard_normal()
        for i in range(1, n):
            fresh = np.sqrt(1 - per_evaluation**2) * rng.standard_normal()
            drift[i] = per_evaluation * drift[i - 1] + fresh
        noise = np.sqrt(share) * drift + np.sqrt(1 - share) * noise
    if foreign:
        noise = foreign_residual(entropy, rng)
    logged = entropy * (1 + rng.choice([0.0, 0.01, 0.03]) * rng.standard_normal(n))
    return np.maximum(logged, 1e-4), reward + SD * np.sqrt((1 - r_squared) / r_squared) * noise


def foreign_residual(entropy: FloatArray, rng: np.random.Generator) -> FloatArray:
    """A residual (n,) of variance 1 of one of three families that the engine does not have."""
    kind = int(rng.integers(3))
    if kind < 2:
        known = STATIONARY[("three OU", "ARFIMA(0.35) + white")[kind]]
        return drawn(toeplitz(known(entropy.size)), rng)
    high = (np.exp(entropy) - np.exp(entropy).min()) / np.ptp(np.exp(entropy))
    scale = SHRINKS ** (high - 1.0)
    return np.asarray(scale / np.sqrt(np.mean(scale**2)) * rng.standard_normal(entropy.size))


if __name__ == "__main__":
    main()
