"""How long a fit takes: against refits that one would write by hand, by its size, and by its parts.

python -m benchmarks.speed            print the tables
python -m benchmarks.speed --write    and put them into docs/benchmarks/speed.md

Whole processes are measured by :mod:`benchmarks.startup`.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

import entropylaw
from benchmarks.docs import markdown_table, write_block
from benchmarks.process import peak
from entropylaw.arrays import FloatArray

TURNS = 5
HUNDRED, THOUSAND = 100, 1000

EVALUATIONS = 200
"""Of a run that is fitted."""

SD, DRIFT = 0.01, 0.6
"""Of its residual: the standard deviation of drift and noise, and the drift's correlation of neighbours."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks/speed.md")
    arguments = parser.parse_args()
    entropy, reward = simulated(EVALUATIONS, np.random.default_rng(3))
    against = ratio(single(entropy, reward), refits(entropy, reward)) / (THOUSAND / HUNDRED)
    text = "\n".join(
        [
            f"`fit` of {EVALUATIONS} evaluations takes {against:.3g} of the processor time of 1,000 "
            "stationary-bootstrap refits of the law by arch and lmfit, which are timed as a hundred: the "
            f"median of {TURNS} turns, in which both run after each other.",
            "",
            *times_table(),
            "",
            *parts_table(),
        ]
    )
    print(text)
    if arguments.write:
        write_block("speed", text)


def simulated(n: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Entropy and reward, each (n,), of a run under the law with a drift and as much white noise."""
    step = np.arange(n, dtype=float)
    entropy = 0.05 + 0.95 * np.exp(-4.0 * step / step[-1])
    drift = np.linalg.cholesky(DRIFT ** np.abs(step[:, None] - step[None, :])) @ rng.standard_normal(n)
    return entropy, 0.55 - 0.2 * np.expm1(entropy) + SD * (drift + rng.standard_normal(n))


def single(entropy: FloatArray, reward: FloatArray) -> Callable[[], object]:
    return lambda: entropylaw.fit(entropy=entropy, reward=reward)


def refits(entropy: FloatArray, reward: FloatArray) -> Callable[[], object]:
    """A hundred fits of the law by lmfit to stationary-bootstrap samples of its residuals."""
    import lmfit
    from arch.bootstrap import StationaryBootstrap

    model = lmfit.Model(lambda h, c, a: c - a * np.expm1(h), independent_vars=["h"])
    first = model.fit(reward, h=entropy, c=0.5, a=0.1)

    def refit(residual: FloatArray) -> FloatArray:
        again = model.fit(first.best_fit + residual, h=entropy, c=0.5, a=0.1)
        return np.array([again.params["c"].value])

    return lambda: StationaryBootstrap(5.0, reward - first.best_fit, seed=7).apply(refit, HUNDRED)


def times_table() -> list[str]:
    """Time and memory of one fit, each in a process of its own: what grows with n, and how."""
    lines = [
        f"Processor time of one call after import, best of {TURNS} (of one above 100,000 evaluations), "
        "and by how much it makes the process larger. The residual is white noise:",
        "",
        "| call | evaluations | ms | MB |",
        "| --- | ---: | ---: | ---: |",
    ]
    for n in (200, 1_000, 10_000, 100_000, 1_000_000):
        command = [sys.executable, "-c", f"from benchmarks.speed import alone; alone({n})"]
        found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        lines.append(f"| `fit` | {n:,} | {float(found[0]):.0f} | {float(found[1]):.0f} |")
    return lines


PARTS = {
    "outliers": ("gross_outliers",),
    "the state": ("state_of",),
    "the smoothed entropy": ("smoothed",),
    "the table": ("table_of",),
    "the law's own numbers, words and forms": ("law_of_run",),
    "the forecast": ("forecast_of",),
    "reasons and cautions": ("reasons_of", "cautions_of"),
}
"""Parts of a fit, and the functions that they consist of, none of which calls another of them."""


def parts_table() -> list[str]:
    """Of what the time of one fit consists, by the profiler, which makes calls of Python dearer."""
    rng = np.random.default_rng(3)
    runs = [simulated(EVALUATIONS, rng) for _ in range(TURNS)]
    profile = cProfile.Profile()
    single(*runs[0])()
    for entropy, reward in runs:
        profile.runcall(single(entropy, reward))
    stats = pstats.Stats(profile)
    found: dict[str, float] = {}
    for (_, _, name), (_, _, _, cumulative, _) in stats.stats.items():  # type: ignore[attr-defined]
        found[name] = found.get(name, 0.0) + cumulative
    whole = found["fit"]
    calls = stats.total_calls / TURNS  # type: ignore[attr-defined]
    # A part whose function has another name now is an error, and no share of 0.
    shares = {part: sum(found[name] for name in names) / whole for part, names in PARTS.items()}
    shares["the rest"] = 1.0 - sum(shares.values())
    return [
        f"Shares of `fit` at {EVALUATIONS} evaluations, of {TURNS} runs by the profiler. A fit is "
        f"{calls:,.0f} calls of Python and NumPy on arrays of a few thousand numbers:",
        "",
        *markdown_table(("part", "share"), [(part, f"{share:.0%}") for part, share in shares.items()]).split(
            "\n"
        ),
    ]


def alone(n: int) -> None:
    """Milliseconds of one call for n evaluations, and megabytes by which the process grew."""
    rng = np.random.default_rng(1)
    entropy = 0.05 + 0.95 * np.exp(-4 * np.linspace(0, 1, n)) + 0.005 * rng.standard_normal(n)
    reward = 0.55 - 0.2 * np.expm1(entropy) + 0.01 * rng.standard_normal(n)
    entropylaw.fit(entropy=entropy[:50], reward=reward[:50])
    todo = single(entropy, reward)
    before = peak()
    times = [processor_seconds(todo) for _ in range(1 if n > 100_000 else TURNS)]
    print(1e3 * min(times), (peak() - before) / 1e6)


def processor_seconds(call: Callable[[], object]) -> float:
    """Processor time, which other programs on the machine change less."""
    start = time.process_time()
    call()
    return time.process_time() - start


def ratio(one: Callable[[], object], other: Callable[[], object]) -> float:
    """Median over turns of how much more processor time ``one`` takes than ``other``."""
    one()
    other()
    return statistics.median(processor_seconds(one) / processor_seconds(other) for _ in range(TURNS))


if __name__ == "__main__":
    main()
