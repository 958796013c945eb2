"""The other residual models: known noise of reward or entropy, a random walk, orthogonal distances."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.worlds import CEILING, SD, A, FloatArray, Sample, World, oracle_width, simulate
from entropylaw.analysis.forms import design, law_column
from entropylaw.analysis.law.inference import SmoothedEntropy, infer_run, smooth_entropies
from entropylaw.analysis.law.residual_models import residual_model
from entropylaw.engine.posterior import infer
from entropylaw.engine.prior import Grid
from entropylaw.results.posterior import Posterior
from entropylaw.results.result import replace

SEED = 20261121

NUMBERS = ("a", "ceiling", "fresh")

_ROWS = np.array([[0.0, 1.0], [1.0, 0.0]])


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Options of ``fit_law``: interval, whether the sample size and the entropy's noise are given."""

    name: str
    interval: str = "drift"
    eval_size: bool = False
    entropy_sd: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """Worlds of one kind, and the choices that are compared in them."""

    name: str
    worlds: tuple[World, ...]
    choices: tuple[Choice, ...]


DRIFT = Choice(name="drift")
OLS = Choice(name="ols", interval="ols")

STUDIES = (
    Study(
        name="binomial noise of known size",
        worlds=tuple(
            World(path=path, n=n, rho=rho, noise=noise, residual="binomial")
            for path in ("exponential", "plateau")
            for n in (30, 60, 150)
            for rho, noise in ((0.5, 1.0), (0.9, 1.0), (0.9, 4.0), (0.97, 2.0))
        ),
        choices=(DRIFT, Choice(name="drift, eval_size", eval_size=True)),
    ),
    Study(
        name="noise of .03 nats in the entropy, drift",
        worlds=tuple(
            World(path=path, n=n, rho=rho, noise=1.0, entropy_noise=0.03)
            for path in ("exponential", "power", "rebound")
            for n in (30, 60, 150)
            for rho in (0.5, 0.9)
        ),
        choices=(DRIFT, Choice(name="drift, entropy_sd", entropy_sd=True), OLS),
    ),
    Study(
        name="noise of .1 nats in the entropy, drift",
        worlds=tuple(
            World(path=path, n=n, rho=rho, noise=1.0, entropy_noise=0.1)
            for path in ("exponential", "power", "rebound")
            for n in (60, 150)
            for rho in (0.5, 0.9)
        ),
        choices=(DRIFT, Choice(name="drift, entropy_sd", entropy_sd=True), OLS),
    ),
    Study(
        name="noise of .1 nats in the entropy, no drift",
        worlds=tuple(
            World(path=path, n=n, rho=0.0, noise=0.0, entropy_noise=0.1)
            for path in ("exponential", "power", "rebound")
            for n in (30, 60, 150)
        ),
        choices=(
            DRIFT,
            Choice(name="odr, entropy_sd", interval="odr", entropy_sd=True),
            OLS,
        ),
    ),
    Study(
        name="long memory (ρ .97 and .99)",
        worlds=tuple(
            World(path=path, n=n, rho=rho, noise=noise)
            for path in ("exponential", "plateau")
            for n in (30, 60, 150)
            for rho in (0.97, 0.99)
            for noise in (0.0, 1.0)
        ),
        choices=(DRIFT, Choice(name="walk", interval="walk")),
    ),
    Study(
        name="long memory (ρ .97 and .99), noise of .03 nats in the entropy",
        worlds=tuple(
            World(path=path, n=n, rho=rho, noise=1.0, entropy_noise=0.03)
            for path in ("exponential", "power")
            for n in (60, 150)
            for rho in (0.97, 0.99)
        ),
        choices=(DRIFT, Choice(name="walk", interval="walk")),
    ),
    Study(
        name="short memory (ρ .5)",
        worlds=tuple(
            World(path=path, n=n, rho=0.5, noise=noise)
            for path in ("exponential", "plateau")
            for n in (30, 60, 150)
            for noise in (0.0, 1.0)
        ),
        choices=(DRIFT, Choice(name="walk", interval="walk")),
    ),
)


def choices_table(spread: Callable[..., Iterable[Any]], runs: int) -> str:
    """Markdown, a row for each study and choice. ``spread`` maps over the worlds, as a pool's ``map``."""
    lines = [
        f"Other residual models, {runs} runs per world: coverage in per cent in the median (worst) world, "
        "and median width of the ceiling's interval over the oracle's. With `walk` the ceiling is relative "
        "to the drift at the last evaluation, and there is no prediction interval.",
        "",
        "| residual and entropy | worlds | interval | a | ceiling | prediction interval | width |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    pairs = [
        (study, choice, world) for study in STUDIES for choice in study.choices for world in study.worlds
    ]
    found = list(spread(partial(_cell, runs=runs), [c for _, c, _ in pairs], [w for _, _, w in pairs]))
    for study in STUDIES:
        for choice in study.choices:
            cells = [cell for (s, c, _), cell in zip(pairs, found, strict=True) if s is study and c is choice]
            shown = [_shown([cell[name] for cell in cells]) for name in NUMBERS]
            width = float(np.median([cell["width"] for cell in cells]))
            lines.append(
                f"| {study.name} | {len(cells)} | {choice.name} | {' | '.join(shown)} | {width:.2f} |"
            )
    return "\n".join(lines)


def _shown(shares: Sequence[float]) -> str:
    if np.isnan(shares).any():
        return "—"
    return f"{100 * np.median(shares):.0f} ({100 * min(shares):.0f})"


def _cell(choice: Choice, world: World, runs: int) -> dict[str, float]:
    """Coverage of each number in one world, and the width of the ceiling's interval over the oracle's."""
    sample = simulate(world, runs, SEED)
    low, high = intervals(choice, world, sample)
    here = sample.true[:, -1] - (CEILING - A * np.expm1(sample.path[-1]))
    ceiling = CEILING + (here if choice.interval == "walk" else np.zeros(runs))
    truth = np.stack([np.full(runs, A), ceiling, sample.fresh], axis=1)
    held = ((low <= truth) & (truth <= high)).mean(axis=0)
    if choice.interval == "walk":
        held[2] = np.nan
    width = float(np.median(high[:, 1] - low[:, 1])) / oracle_width(sample.path, sample.covariance)
    return {**dict(zip(NUMBERS, held.tolist(), strict=True)), "width": width}


def intervals(choice: Choice, world: World, sample: Sample) -> tuple[FloatArray, FloatArray]:
    """Ends of the 95 % intervals of a, ceiling and a further evaluation, each of shape (runs, 3)."""
    size = eval_size(world) if choice.eval_size else None
    sd = np.full(sample.entropy.shape, world.entropy_noise) if choice.entropy_sd else None
    smoothed_runs = _smoothed(choice, sample, sd)
    at = design(law_column(np.array(sample.at)))
    rows = np.stack([_ROWS[0], _ROWS[1], at])[None]
    fresh = np.array([0.0, 0.0, 1.0])
    ends = np.empty((2, *sample.rewards.shape[:1], 3))
    for i, reward in enumerate(sample.rewards):
        entropy, root = smoothed_runs.entropy[i], smoothed_runs.root[i]
        smoothed = SmoothedEntropy(entropy=entropy, root=root, noise=None)
        grid, inference = infer_run(sample.step, smoothed, reward, choice.interval, size)
        many = inference.posteriors if inference else plain(sample.step, entropy, reward, grid)
        mixture = many.functional(rows, np.zeros(3), fresh)
        if grid.floor is not None:
            # A further evaluation has the known noise, too.
            extra = np.array([[0.0], [0.0], [float(grid.floor[-1])]])
            mixture = replace(mixture, scale=np.sqrt(mixture.scale**2 + extra))
        ends[:, i] = mixture.quantiles((0.025, 0.975))
    return ends[0], ends[1]


def plain(step: FloatArray, entropy: FloatArray, reward: FloatArray, grid: Grid) -> Posterior:
    """The law in one run whose entropies are as good as exact."""
    return infer(step, design(law_column(entropy))[None], reward[None], grid)


def _smoothed(choice: Choice, sample: Sample, sd: FloatArray | None) -> SmoothedEntropy:
    if residual_model(choice.interval).smooths_entropy:
        return smooth_entropies(sample.entropy, sample.step, sd)
    root = np.empty((*sample.entropy.shape, 0))
    if sd is not None:
        root = sd[:, :, None] * np.eye(sample.entropy.shape[1])
    return SmoothedEntropy(entropy=sample.entropy, root=root)


def eval_size(world: World) -> int:
    """Samples behind each reward of a binomial world."""
    variance = SD**2 * (world.noise if world.rho > 0 else 1.0 + world.noise)
    return round(0.25 / variance)
