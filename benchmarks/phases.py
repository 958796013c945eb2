"""Turns of entropy curves: false ones, power, and the coverage of the intervals.

python -m benchmarks.phases                 print the tables
python -m benchmarks.phases --write         and put them into docs/benchmarks/phases.md
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import f as f_law

from benchmarks.docs import write_block
from benchmarks.worlds import FloatArray
from entropylaw import FitError, fit_phases
from entropylaw.analysis import turning_point
from entropylaw.analysis.turning_point import Tested
from entropylaw.engine.trend import bent_cable
from entropylaw.results import Estimate
from entropylaw.results.phases import LONG_DRIFT, CurvePhases

SEED = 20261124

LEVEL = 0.05
"""Of the tests."""

WALK = 1.0
"""Correlation that stands for a random walk; its standard deviation at the end is twice the given one."""


def _bandits(time: FloatArray) -> FloatArray:
    """Mean entropy of 40 softmax bandits with 8 arms under the exact policy gradient."""
    rng = np.random.default_rng(1)
    reward, logit = rng.random((40, 8)), np.zeros((40, 8))
    found = []
    for _ in range(400):
        p = np.exp(logit - logit.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        found.append(-np.sum(p * np.log(np.maximum(p, 1e-300)), axis=1).mean())
        logit += 0.5 * p * (reward - (p * reward).sum(axis=1, keepdims=True))
    return np.interp(time, np.linspace(0.0, 1.0, 400), np.array(found))


def _xlogx(time: FloatArray) -> FloatArray:
    share = np.exp(-1.0 - 4.0 * time)
    return -0.8 * np.e * share * np.log(share)


DECAYS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "exponential": lambda t: 0.2 + 0.8 * np.exp(-6 * t),
    "fast, then flat": lambda t: 0.2 + 0.8 * np.exp(-20 * t),
    "faster, then flat": lambda t: 0.2 + 0.8 * np.exp(-50 * t),
    "three exponentials": lambda t: 0.2 + 0.4 * np.exp(-40 * t) + 0.2 * np.exp(-8 * t) + 0.2 * np.exp(-t),
    "Gompertz": lambda t: 0.2 + 0.8 * (1 - np.exp(-4 * np.exp(-8 * t))) / (1 - np.exp(-4)),
    "x·log x": _xlogx,
    "40 bandits": _bandits,
    "logistic × exponential": lambda t: 0.1 + 0.9 * np.exp(-t) / (1 + np.exp((t - 0.4) / 0.05)),
    "square root": lambda t: 1 - 0.8 * np.sqrt(t),
    "line, then flat": lambda t: 1 - 0.8 * np.minimum(t / 0.4, 1),
    "half a cosine, then flat": lambda t: np.where(t < 0.6, 0.6 + 0.4 * np.cos(np.pi * t / 0.6), 0.2),
    "warm-up peak": lambda t: 0.2 + 0.8 * (1 + 14 * t) * np.exp(-9 * t),
    "one peak": lambda t: 0.3 + 0.5 * np.exp(-(((t - 0.3) / 0.1) ** 2)),
    "rise alone": lambda t: 0.2 + 0.5 / (1 + np.exp((0.5 - t) / 0.05)),
    "flat": lambda t: 0.5 + 0.0 * t,
}
"""Curves that never rise after a fall, and have no second fall."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A curve of n points, its residual, and what it does besides its decay.

    ``sd`` is the residual's, nats; ``rho`` the correlation of neighbours' drift, or :data:`WALK`; ``white``
    the noise's share of the variance. ``rise`` is from the lowest point to the end, by a bent cable about
    ``place``, and ``drop`` that of a step there; ``half`` their half-width, shares of the run.
    """

    decay: str
    n: int
    sd: float
    rho: float
    white: float
    rise: float = 0.0
    drop: float = 0.0
    place: float = 0.5
    half: float = 0.0


ORDINARY = ((0.003, 0.0, 1.0, 150), (0.01, 0.6, 0.5, 500), (0.01, 0.9, 0.1, 150), (0.03, 0.9, 0.0, 60))
"""Residuals (sd, ρ, white share, n) of the decays above."""

LONG = tuple(itertools.product((0.95, 0.97, 0.99, WALK), (60, 150, 400)))
"""Correlations and n where the drift may be a good part of the run."""

RISING = (
    World(decay="exponential", n=150, sd=0.01, rho=0.6, white=0.0, rise=0.05),
    World(decay="exponential", n=150, sd=0.01, rho=0.6, white=0.0, rise=0.1),
    World(decay="exponential", n=150, sd=0.01, rho=0.6, white=0.0, rise=0.3),
    World(decay="three exponentials", n=150, sd=0.01, rho=0.6, white=0.3, rise=0.1, place=0.4, half=0.1),
    World(decay="x·log x", n=60, sd=0.01, rho=0.6, white=0.3, rise=0.1),
    World(decay="logistic × exponential", n=400, sd=0.03, rho=0.0, white=1.0, rise=0.1, place=0.6),
    World(decay="exponential", n=150, sd=0.03, rho=0.6, white=0.3, rise=0.1, place=0.4),
    World(decay="fast, then flat", n=150, sd=0.03, rho=0.6, white=0.3, rise=0.1, place=0.3),
    World(decay="Gompertz", n=60, sd=0.03, rho=0.6, white=0.3, rise=0.3, half=0.1),
    World(decay="40 bandits", n=400, sd=0.03, rho=0.8, white=0.1, rise=0.3, place=0.6, half=0.04),
    World(decay="exponential", n=150, sd=0.01, rho=0.9, white=0.1, rise=0.3),
)

DROPPING = (
    World(decay="exponential", n=150, sd=0.01, rho=0.6, white=0.0, drop=0.1, place=0.6),
    World(decay="fast, then flat", n=150, sd=0.01, rho=0.6, white=0.3, drop=0.1, place=0.6, half=0.04),
    World(decay="three exponentials", n=150, sd=0.01, rho=0.9, white=0.0, drop=0.1, place=0.6),
    World(decay="exponential", n=60, sd=0.01, rho=0.9, white=0.0, drop=0.1, place=0.6),
    World(decay="exponential", n=150, sd=0.01, rho=0.6, white=0.3, drop=0.1, place=0.6, half=0.04),
)

PAIRS = tuple(itertools.product((0.0, 0.1, 0.25, 0.4), ((0.01, 0.6), (0.03, 0.6), (0.01, 0.9)), (0.0, 0.7)))
"""Δ in runs; sd and ρ; correlation of the two curves' residuals."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200, help="simulated curves per cell")
    parser.add_argument("--jobs", type=int, help="processes, one per core where not given")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks/phases.md")
    arguments = parser.parse_args()
    with ProcessPoolExecutor(arguments.jobs) as pool:
        text = tables(pool.map, arguments.runs)
    print(text)
    if arguments.write:
        write_block("phases", text)


def tables(spread: Callable[..., Iterable[Any]], runs: int) -> str:
    """Markdown of all tables. ``spread`` maps over the cells."""
    ordinary = [
        World(decay=decay, n=n, sd=sd, rho=rho, white=white)
        for decay, (sd, rho, white, n) in itertools.product(DECAYS, ORDINARY)
    ]
    long = [
        World(decay=decay, n=n, sd=0.02, rho=rho, white=0.0 if rho == WALK else 0.1)
        for decay, (rho, n) in itertools.product(("exponential", "faster, then flat", "flat"), LONG)
    ]
    cells = [*ordinary, *long, *RISING, *DROPPING]
    found = dict(zip(cells, spread(partial(cell, runs=runs), cells), strict=True))
    peers = dict(zip(ordinary, spread(partial(peers_of, runs=max(runs // 20, 5)), ordinary), strict=True))
    orders = list(spread(partial(order_of, runs=runs), PAIRS))
    error = 100 * np.sqrt(0.05 * 0.95 / runs)
    residuals = [f"sd {sd:g}, ρ {rho:g}, n {n}" for sd, rho, _, n in ORDINARY]
    return "\n".join(
        [
            f"{runs} simulated curves per cell (a share of 5 % has a standard error of {error:.1f} points), "
            f"a fall of 0.8 nats, seed {SEED}. False turns in per cent: turns to rise · falls a second time, "
            "at a nominal 5 %. Beside them how often a broken line is found against a straight one, by "
            "piecewise-regression's Davies test and by sup-F (on a twentieth of the curves):",
            "",
            "| curve | " + " | ".join(residuals) + " | Davies | sup-F |",
            "| --- |" + " ---: |" * (len(residuals) + 2),
            *_size_rows(found, peers),
            "",
            _worst([found[world] for world in ordinary]),
            "",
            "The same where the drift is long; in brackets the share of curves of which nothing is claimed "
            "for that reason:",
            "",
            "| curve | ρ | " + " | ".join(f"n {n}" for n in (60, 150, 400)) + " |",
            "| --- | ---: | ---: | ---: | ---: |",
            *_long_rows(found, long),
            "",
            _worst([found[world] for world in long]),
            "",
            "A true rise: how often it is found; of those, how often the interval of the rise and of the "
            "turning point covers the truth, and their median widths; how often the rise that the test "
            "says it can detect in 80 % of such runs is below the true one:",
            "",
            "| curve | n | sd | ρ | rise | from | found | rise covered | width | step covered | width, runs "
            "| detectable below |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
            *(_rise_row(world, found[world]) for world in RISING),
            "",
            "A second fall:",
            "",
            "| curve | n | sd | ρ | drop | over, runs | found |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
            *(_drop_row(world, found[world]) for world in DROPPING),
            "",
            "Two curves that turn to rise by 0.3 nats (n = 150), the second Δ later: how often both are "
            "found, and of those how often the interval of Δ covers it and an order is claimed, rightly and "
            "wrongly:",
            "",
            "| Δ, runs | sd | ρ | residuals' correlation | both found | covered | right | wrong |",
            "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
            *(_order_row(pair, found) for pair, found in zip(PAIRS, orders, strict=True)),
        ]
    )


def mean_of(world: World) -> FloatArray:
    """The curve (n,) without its residual."""
    time = np.linspace(0.0, 1.0, world.n)
    curve = DECAYS[world.decay](time)
    if world.drop:
        width = max(world.half, 0.5 / (world.n - 1))
        curve = curve - world.drop * np.clip(0.5 + (time - world.place) / (2 * width), 0.0, 1.0)
    if not world.rise:
        return curve
    ramp = bent_cable(time, world.place, world.half)
    low, high = 0.0, 10.0 / ramp[-1]
    for _ in range(60):
        middle = 0.5 * (low + high)
        rising = curve + middle * ramp
        enough = rising[-1] - rising.min() >= world.rise
        low, high = (low, middle) if enough else (middle, high)
    return np.asarray(curve + high * ramp)


def residuals_of(world: World, runs: int, rng: np.random.Generator) -> FloatArray:
    """Residuals (n, runs)."""
    fresh = rng.standard_normal((world.n, runs))
    if world.rho == WALK:
        return 2.0 * world.sd * np.cumsum(fresh, axis=0) / np.sqrt(world.n)
    place = np.arange(world.n)
    drift = np.linalg.cholesky(world.rho ** np.abs(place[:, None] - place)) @ fresh
    white = rng.standard_normal((world.n, runs))
    return world.sd * (np.sqrt(1 - world.white) * drift + np.sqrt(world.white) * white)


def curves_of(world: World, runs: int) -> FloatArray:
    """Simulated curves (n, runs)."""
    known = (world.n, world.sd, world.rho, world.white, world.rise, world.drop, world.place, world.half)
    rng = np.random.default_rng([SEED, list(DECAYS).index(world.decay), *(int(1000 * x) for x in known)])
    return mean_of(world)[:, None] + residuals_of(world, runs, rng)


def cell(world: World, runs: int) -> dict[str, float]:
    """Shares of curves that turn to rise, fall again or have a long drift; the intervals' coverage."""
    truth, step = mean_of(world), np.arange(float(world.n))
    curves = curves_of(world, runs).T
    # Without a rise there is no interval to be judged: the test is enough.
    fits = [fitted(step, curve) if world.rise else tested(step, curve) for curve in curves]
    bottom = truth.argmin()
    found = {
        "rises": float(np.mean([fit.p_rise <= LEVEL for fit in fits])),
        "falls": float(np.mean([fit.p_second_fall <= LEVEL for fit in fits])),
        "long": float(np.mean([fit.long_drift > LONG_DRIFT for fit in fits])),
        "detectable": float(
            np.mean([fit.detectable is not None and fit.detectable < world.rise for fit in fits])
        ),
    }
    rising = [fit for fit in fits if isinstance(fit, CurvePhases) and fit.rises]
    if rising:
        rises = [fit.rise for fit in rising if fit.rise is not None]
        turns = [fit.turning_point for fit in rising if fit.turning_point is not None]
        found |= {
            "rise": float(np.mean([holds(one, float(truth[-1] - truth[bottom])) for one in rises])),
            "rise width": float(np.median([one.width or 0.0 for one in rises])),
            "turn": float(np.mean([holds(one, float(step[bottom])) for one in turns])),
            "turn width": float(np.median([one.width or 0.0 for one in turns])) / step[-1],
        }
    return found


def above_zero(curve: FloatArray) -> FloatArray:
    """The curve, raised where it is below 0: an entropy never is."""
    return curve - min(0.0, float(curve.min()))


def tested(step: FloatArray, curve: FloatArray) -> Tested:
    """The one curve of a run after its tests."""
    return turning_point.tested(step, above_zero(curve), "aggregate", 1.0 - LEVEL)


def fitted(step: FloatArray, curve: FloatArray) -> CurvePhases:
    """The one curve of a run."""
    found = fit_phases(step, aggregate=above_zero(curve)).aggregate
    assert found is not None
    return found


def holds(estimate: Estimate, truth: float) -> bool:
    """Whether the interval has the truth."""
    return bool((estimate.low or 0.0) <= truth <= (estimate.high or 0.0))


def peers_of(world: World, runs: int) -> tuple[float, float]:
    """How often Davies' test and sup-F find a broken line."""
    step = np.arange(float(world.n))
    made = curves_of(world, runs).T
    davies = [davies_test(step, each) <= 0.05 for each in made] if world.n <= 150 else [np.nan]
    return float(np.mean(davies)), float(np.mean([sup_f(step, each) for each in made]))


def order_of(pair: tuple[float, tuple[float, float], float], runs: int) -> dict[str, float]:
    """Two curves: shares with both found, Δ covered, and orders claimed rightly and wrongly."""
    gap, (sd, rho), together = pair
    common: dict[str, Any] = {"n": 150, "sd": sd, "rho": rho, "white": 0.1, "rise": 0.3}
    act = World(decay="exponential", place=0.35, **common)
    plan = World(decay="three exponentials", place=0.35 + gap, **common)
    if gap == 0:
        plan = act
    rng = np.random.default_rng([SEED, int(100 * gap), int(1000 * sd), int(10 * rho), int(10 * together)])
    one, own = residuals_of(act, runs, rng), residuals_of(plan, runs, rng)
    other = together * one + np.sqrt(1 - together**2) * own
    step = np.arange(150.0)
    truth = float(mean_of(plan).argmin() - mean_of(act).argmin())
    covered, right, wrong = [], 0, 0
    for a, b in zip((mean_of(act)[:, None] + one).T, (mean_of(plan)[:, None] + other).T, strict=True):
        try:
            found = fit_phases(step, np.maximum(b, 0.0), np.maximum(a, 0.0))
        except FitError:
            continue
        if found.delta is None or found.delta.low is None or found.delta.high is None:
            continue
        covered.append(holds(found.delta, truth))
        right += found.delta.low > 0 < truth
        wrong += found.delta.high < 0 or found.delta.low > truth
    both = max(len(covered), 1)
    return {
        "both": len(covered) / runs,
        "covered": float(np.mean(covered)) if covered else float("nan"),
        "right": right / both,
        "wrong": wrong / both,
    }


def davies_test(step: FloatArray, series: FloatArray) -> float:
    """piecewise-regression's p-value of no breakpoint in a straight line (Davies 1987)."""
    from piecewise_regression.davies import davies_test as theirs

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(theirs(step, series))


def sup_f(step: FloatArray, series: FloatArray) -> bool:
    """Largest F of a broken line against a straight one, over the places of the break, and F's 5 % point."""
    time = step / step[-1]
    line = np.linalg.qr(np.stack([np.ones_like(time), time], axis=1))[0]
    left = series - line @ (line.T @ series)
    best = 0.0
    for place in np.linspace(0.1, 0.9, 41):
        column = np.maximum(time - place, 0.0)
        column = column - line @ (line.T @ column)
        gain = (column @ left) ** 2 / (column @ column)
        best = max(best, gain / ((left @ left - gain) / (step.size - 3)))
    return bool(best > f_law.ppf(0.95, 1, step.size - 3))


def _two(found: dict[str, float]) -> str:
    return f"{100 * found['rises']:.1f} · {100 * found['falls']:.1f}"


def _size_rows(
    found: dict[World, dict[str, float]], peers: dict[World, tuple[float, float]]
) -> Iterable[str]:
    for decay in DECAYS:
        worlds = [world for world in peers if world.decay == decay]
        davies, sup = 100 * np.nanmean([peers[world] for world in worlds], axis=0)
        cells = " | ".join(_two(found[world]) for world in worlds)
        yield f"| {decay} | {cells} | {davies:.0f} | {sup:.0f} |"


def _long_rows(found: dict[World, dict[str, float]], long: Sequence[World]) -> Iterable[str]:
    for decay, rho in dict.fromkeys((world.decay, world.rho) for world in long):
        worlds = [world for world in long if (world.decay, world.rho) == (decay, rho)]
        cells = " | ".join(f"{_two(found[world])} ({100 * found[world]['long']:.0f})" for world in worlds)
        yield f"| {decay} | {'random walk' if rho == WALK else f'{rho:g}'} | {cells} |"


def _worst(cells: Sequence[dict[str, float]]) -> str:
    rises, falls = (100 * np.array([cell[name] for cell in cells]) for name in ("rises", "falls"))
    return (
        f"Of {len(cells)} cells, turns to rise: mean {rises.mean():.1f} %, largest {rises.max():.1f} %, "
        f"{int((rises > 5).sum())} above 5 %; falls a second time: mean {falls.mean():.1f} %, largest "
        f"{falls.max():.1f} %, {int((falls > 5).sum())} above 5 %."
    )


def _rise_row(world: World, found: dict[str, float]) -> str:
    shown = {name: f"{100 * found[name]:.0f}" if name in found else "—" for name in ("rise", "turn")}
    widths = {name: f"{found[name]:.2g}" if name in found else "—" for name in ("rise width", "turn width")}
    return (
        f"| {world.decay} | {world.n} | {world.sd:g} | {world.rho:g} | {world.rise:g} | {world.place:g} "
        f"| {100 * found['rises']:.0f} | {shown['rise']} | {widths['rise width']} | {shown['turn']} "
        f"| {widths['turn width']} | {100 * found['detectable']:.0f} |"
    )


def _drop_row(world: World, found: dict[str, float]) -> str:
    return (
        f"| {world.decay} | {world.n} | {world.sd:g} | {world.rho:g} | {world.drop:g} | {2 * world.half:g} "
        f"| {100 * found['falls']:.0f} |"
    )


def _order_row(pair: tuple[float, tuple[float, float], float], found: dict[str, float]) -> str:
    gap, (sd, rho), together = pair
    shares = " | ".join(f"{100 * found[name]:.0f}" for name in ("both", "covered", "right", "wrong"))
    return f"| {gap:g} | {sd:g} | {rho:g} | {together:g} | {shares} |"


if __name__ == "__main__":
    main()
