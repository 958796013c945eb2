"""Turns of entropy curves in worlds that were set aside when the test was chosen.

python -m benchmarks.phases_aside                 print the table
python -m benchmarks.phases_aside --write         and put it into docs/benchmarks/phases.md
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

from benchmarks.docs import write_block
from benchmarks.phases import fitted, holds
from benchmarks.worlds import FloatArray

SEED = 20261125
SD = 0.01
N = 120
RISE = 0.1

DECAYS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "hyperbola": lambda t: 0.2 + 0.8 / (1 + 15 * t),
    "logarithm": lambda t: 1 - 0.8 * np.log1p(30 * t) / np.log(31),
    "late sigmoid": lambda t: 0.2 + 0.8 / (1 + np.exp((t - 0.55) / 0.08)),
}


def _ou(rng: np.random.Generator, time: FloatArray, length: float, runs: int) -> FloatArray:
    """Exponentially correlated drift (n, runs) of variance 1; ``length`` in spacings."""
    covariance = np.exp(-np.abs(time[:, None] - time) * (time.size - 1) / length)
    return np.asarray(np.linalg.cholesky(covariance) @ rng.standard_normal((time.size, runs)))


def _smooth(rng: np.random.Generator, time: FloatArray, length: float, runs: int) -> FloatArray:
    """Matérn 3/2 drift (n, runs) of variance 1."""
    away = np.sqrt(3.0) * np.abs(time[:, None] - time) * (time.size - 1) / length
    covariance = (1 + away) * np.exp(-away) + 1e-10 * np.eye(time.size)
    return np.asarray(np.linalg.cholesky(covariance) @ rng.standard_normal((time.size, runs)))


Noise = Callable[[np.random.Generator, FloatArray, int], FloatArray]

RESIDUALS: dict[str, Noise] = {
    "t with 3 d.f.": lambda rng, t, m: rng.standard_t(3, (t.size, m)) / np.sqrt(3.0),
    "noise triples": lambda rng, t, m: rng.standard_normal((t.size, m)) * (0.5 + t)[:, None],
    "drift and noise fade": lambda rng, t, m: (
        (0.7 * _ou(rng, t, 3.0, m) + 0.7 * rng.standard_normal((t.size, m))) * (1.5 - t)[:, None]
    ),
    "Matérn 3/2": lambda rng, t, m: 0.8 * _smooth(rng, t, 3.0, m) + 0.6 * rng.standard_normal((t.size, m)),
    "two drifts": lambda rng, t, m: 0.8 * _ou(rng, t, 1.5, m) + 0.6 * _ou(rng, t, 12.0, m),
    "spikes of 6 sd": lambda rng, t, m: (
        rng.standard_normal((t.size, m)) + 6.0 * (rng.random((t.size, m)) < 0.02)
    ),
}
"""Residuals (n, runs) with a standard deviation of about 1."""

EVEN, UNEVEN = "even", "uneven"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100, help="simulated curves per cell")
    parser.add_argument("--jobs", type=int, help="processes, one per core where not given")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks/phases.md")
    arguments = parser.parse_args()
    with ProcessPoolExecutor(arguments.jobs) as pool:
        text = table(pool, arguments.runs)
    print(text)
    if arguments.write:
        write_block("phases", text, block="aside")


def table(pool: ProcessPoolExecutor, runs: int) -> str:
    """Markdown: a row per residual and spacing of the steps."""
    rows = list(itertools.product(RESIDUALS, (EVEN, UNEVEN)))
    cells = [(*row, decay, rise) for row in rows for decay in DECAYS for rise in (0.0, RISE)]
    found = dict(zip(cells, pool.map(partial(cell, runs=runs), cells), strict=True))
    lines = [
        f"{runs} curves per cell, n = {N}, sd {SD:g}. False turns in per cent, turns to rise · falls a "
        f"second time; then with a rise of {RISE:g} nats: found (%), coverage of the rise · of its step:",
        "",
        "| residual | steps |" + "".join(f" {decay} | with a rise |" for decay in DECAYS),
        "| --- | --- |" + " ---: |" * (2 * len(DECAYS)),
    ]
    for row in rows:
        shown = []
        for decay in DECAYS:
            rises, falls, *_ = found[(*row, decay, 0.0)]
            power, _, rise, step = found[(*row, decay, RISE)]
            shown += [f"{rises:.0f} · {falls:.0f}", f"{power:.0f}, {rise:.0f} · {step:.0f}"]
        lines.append(f"| {row[0]} | {row[1]} | {' | '.join(shown)} |")
    flat = np.array([found[key][:2] for key in cells if key[-1] == 0.0])
    turned = np.array([found[key] for key in cells if key[-1] > 0.0])
    flat_rises, flat_falls = flat.T
    power, rise, step = turned[:, 0], turned[:, 2], turned[:, 3]
    lines += [
        "",
        f"Turns to rise: largest {flat_rises.max():.0f} %, mean {flat_rises.mean():.1f} %; falls a second "
        f"time: largest {flat_falls.max():.0f} %, mean {flat_falls.mean():.1f} %. Found: mean "
        f"{power.mean():.0f} %; the rise is covered in {np.nanmean(rise):.0f} % and its step in "
        f"{np.nanmean(step):.0f} % (lowest {np.nanmin(rise):.0f} and {np.nanmin(step):.0f} %).",
    ]
    return "\n".join(lines)


def cell(world: tuple[str, str, str, float], runs: int) -> tuple[float, float, float, float]:
    """Per cent of curves that turn to rise, that fall again, and of the former with both intervals right."""
    residual, spacing, decay, rise = world
    seed = [SEED, list(RESIDUALS).index(residual), spacing == UNEVEN, list(DECAYS).index(decay), rise > 0]
    rng = np.random.default_rng([int(part) for part in seed])
    gaps = rng.exponential(size=N - 1) + 0.2 if spacing == UNEVEN else np.ones(N - 1)
    step = np.concatenate([[0.0], np.cumsum(gaps)])
    time = step / step[-1]
    truth = with_rise(DECAYS[decay](time), time, rise)
    curves = truth[:, None] + SD * RESIDUALS[residual](rng, time, runs)
    fits = [fitted(step, curve) for curve in curves.T]
    turned = [fit for fit in fits if fit.rises and fit.rise is not None and fit.turning_point is not None]
    lowest = truth.argmin()
    height = float(truth[lowest:].max() - truth[lowest])
    covered = [
        (holds(fit.rise, height), holds(fit.turning_point, float(step[lowest])))  # type: ignore[arg-type]
        for fit in turned
    ]
    rises, falls = (100 * float(np.mean([getattr(fit, n) for fit in fits])) for n in ("rises", "falls_again"))
    ends = 100 * np.mean(covered, axis=0) if covered and rise else (np.nan, np.nan)
    return rises, falls, float(ends[0]), float(ends[1])


def with_rise(curve: FloatArray, time: FloatArray, rise: float) -> FloatArray:
    """The curve with an even slope after 70 % of the run, such that it rises by so much to the end."""
    if not rise:
        return curve
    ramp = np.maximum(time - 0.7, 0.0)
    low, high = 0.0, 100.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        risen = curve + middle * ramp
        low, high = (low, middle) if risen[-1] - risen.min() >= rise else (middle, high)
    return np.asarray(curve + high * ramp)


if __name__ == "__main__":
    main()
