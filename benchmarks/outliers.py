"""Which evaluations are left out as gross outliers: of honest runs, and of runs with slips of the logger.

python -m benchmarks.outliers                       print the tables, 400 runs per cell
python -m benchmarks.outliers --write               and put them into docs/benchmarks/outliers.md
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmarks.docs import write_block
from entropylaw.analysis.law.evaluations import gross_outliers, usable
from entropylaw.arrays import FloatArray
from entropylaw.engine.constants import PRIOR
from entropylaw.engine.reads import Reads
from entropylaw.engine.table import table_of

SIZES = (30, 150)

TRUE_A = 0.12

Rng = np.random.Generator
Noise = Callable[[FloatArray, Rng], FloatArray]


def _exact(h: FloatArray, rng: Rng) -> FloatArray:
    return h + 0.005 * rng.standard_normal(h.size)


def _share(sd: float, heavy: bool = False) -> Noise:
    """Scatter of the logarithm of the entropy, normal or Student t with 4 degrees of freedom."""

    def scattered(h: FloatArray, rng: Rng) -> FloatArray:
        deviates = rng.standard_t(4, h.size) / np.sqrt(2) if heavy else rng.standard_normal(h.size)
        return np.asarray(h * np.exp(sd * deviates))

    return scattered


def _linear(h: FloatArray, rng: Rng) -> FloatArray:
    return np.asarray(np.maximum(h * (1.0 + 0.15 * rng.standard_normal(h.size)), 1e-3))


def _white(r: FloatArray, rng: Rng) -> FloatArray:
    return r + 0.01 * rng.standard_normal(r.size)


def _shrinks(r: FloatArray, rng: Rng) -> FloatArray:
    return np.asarray(r + 0.04 * np.exp(-2.0 * np.arange(r.size) / r.size) * rng.standard_normal(r.size))


def _grows(r: FloatArray, rng: Rng) -> FloatArray:
    return np.asarray(r + 0.005 * np.exp(2.0 * np.arange(r.size) / r.size) * rng.standard_normal(r.size))


def _student(r: FloatArray, rng: Rng) -> FloatArray:
    return np.asarray(r + 0.01 * rng.standard_t(4, r.size) / np.sqrt(2))


def _laplace(r: FloatArray, rng: Rng) -> FloatArray:
    return r + rng.laplace(0.0, 0.008, r.size)


def _binomial(r: FloatArray, rng: Rng) -> FloatArray:
    return np.asarray(rng.binomial(100, np.clip(r, 0, 1)) / 100.0)


def _clipped(r: FloatArray, rng: Rng) -> FloatArray:
    return np.clip(r + 0.27 + 0.03 * rng.standard_normal(r.size), 0.0, 1.0)


WORLDS: dict[str, tuple[Noise, Noise]] = {
    "even noise": (_exact, _white),
    "scatter of H 15 %, log-normal": (_share(0.15), _white),
    "scatter of H 15 %, normal": (_linear, _white),
    "scatter of H 15 %, t with 4 d.f.": (_share(0.15, heavy=True), _white),
    "reward noise shrinks 7 ×": (_exact, _shrinks),
    "reward noise t with 4 d.f.": (_exact, _student),
    "binomial, 100 questions": (_exact, _binomial),
    "clipped at 1": (_exact, _clipped),
}

SET_ASIDE: dict[str, tuple[Noise, Noise]] = {
    "scatter of H 25 %, noise shrinks": (_share(0.25), _shrinks),
    "reward noise grows 7 ×": (_exact, _grows),
    "reward noise Laplace": (_share(0.05), _laplace),
}
"""Looked at once, after the limits were chosen."""


def drawn(world: tuple[Noise, Noise], n: int, rng: Rng) -> tuple[FloatArray, FloatArray]:
    """Entropy as logged and reward, (n,) each; in half of the runs reward follows the scatter, too."""
    true = 0.05 + rng.uniform(1.0, 2.0) * np.exp(-rng.uniform(2.0, 6.0) * np.arange(n) / n)
    scatter, noise = world
    logged = scatter(true, rng)
    followed = logged if rng.random() < 0.5 else true
    return logged, noise(0.95 - TRUE_A * np.exp(followed), rng)


def slipped(entropy: FloatArray, reward: FloatArray, rng: Rng) -> tuple[FloatArray, FloatArray, set[int]]:
    """One to three gross slips: an entropy of 0, times 10, or of 5 to 9 nats; a reward of 0 or 0.6 off."""
    h, r = entropy.copy(), reward.copy()
    places = rng.choice(np.arange(1, h.size - 1), rng.integers(1, 4), replace=False)
    for i in places:
        match int(rng.integers(0, 5)):
            case 0:
                h[i] = 0.0
            case 1:
                h[i] = min(10.0 * h[i], 11.0)
            case 2:
                h[i] = rng.uniform(5.0, 9.0)
            case 3:
                r[i] = 0.0 if r[i] > 0.3 else 1.0
            case _:
                r[i] += 0.6 if r[i] < 0.4 else -0.6
    return h, r, set(places.tolist())


def measured(world: tuple[Noise, Noise], n: int, runs: int, seed: int) -> tuple[float, float, float, float]:
    """Per cent: honest runs that lose one, slips found, runs with a slip that lose another, a within 10 %.

    The last is a of the run with slips against a of the same run without them.
    """
    rng = np.random.default_rng([seed, n])
    step = np.arange(float(n))
    honest = []
    spoilt = []
    lost = 0
    found = 0
    planted = 0
    others = 0
    for _ in range(runs):
        h, r = drawn(world, n, rng)
        honest.append((h, r))
        lost += bool(gross_outliers(step, h, r))
        h, r, places = slipped(h, r, rng)
        spoilt.append((h, r))
        left_out = {int(str(one.values["step"]).split(".")[0]) for one in gross_outliers(step, h, r)}
        found += len(left_out & places)
        planted += len(places)
        others += bool(left_out - places)
    before = np.array([slope(step, h, r) for h, r in honest])
    after = np.array([slope(step, h, r) for h, r in spoilt])
    near = float(np.mean(np.abs(after / before - 1.0) <= 0.1))
    return 100 * lost / runs, 100 * found / planted, 100 * others / runs, 100 * near


def slope(step: FloatArray, entropy: FloatArray, reward: FloatArray) -> float:
    """The law's a, from a table of the law alone: a whole fit takes five times as long."""
    used = usable(entropy, reward, step, keep_outliers=False)
    law_alone = replace(
        PRIOR,
        rates=(),
        powers=(),
        saturations=(),
        lags=(),
        terms=(("none", 1.0),),
        firsts=((0.0, 1.0),),
    )
    reads = Reads(table_of(used.step, used.smoothed().entropy, used.reward, prior=law_alone))
    a, _ = reads.coefficients
    (value,) = a.quantiles([0.5])
    return float(value)


def table(worlds: dict[str, tuple[Noise, Noise]], runs: int, seed: int) -> list[str]:
    """A row per world: four numbers at each number of evaluations."""
    lines = [
        "| noise | " + " | ".join(f"n = {n}" for n in SIZES) + " |",
        "| --- |" + " ---: |" * len(SIZES),
    ]
    for i, (name, world) in enumerate(worlds.items()):
        cells = (measured(world, n, runs, seed + i) for n in SIZES)
        lines.append(
            f"| {name} | " + " | ".join(" · ".join(f"{x:.1f}" for x in cell) for cell in cells) + " |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    lines = [
        f"{options.runs} runs per cell, in per cent: honest runs that lose an evaluation · slips that are "
        "left out · runs with slips that lose another evaluation · runs whose a is within 10 % of that "
        "without the slips. A run has one to three slips.",
        "",
        *table(WORLDS, options.runs, 1),
        "",
        "Looked at once, after the limits were chosen:",
        "",
        *table(SET_ASIDE, options.runs, 101),
    ]
    print("\n".join(lines))
    if options.write:
        write_block("outliers", "\n".join(lines))


if __name__ == "__main__":
    main()
