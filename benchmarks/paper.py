"""What nine early evaluations can say: the numbers of arXiv:2505.22617 as a simulation study.

python -m benchmarks.paper                 print the tables
python -m benchmarks.paper --write         and put them into docs/benchmarks/paper.md
python -m benchmarks.paper --runs 2000     more runs a cell

Cui et al. (2025, arXiv:2505.22617) fit R = −a·exp(H) + b to the first 36 of 236 steps of Qwen2.5 models
(1.5B, 3B, 7B, 32B), predict the other 200 steps at the entropies that were observed, and report an RMSE of
0.9 points (mathematics, section 2.4, Fig. 5). They evaluate every 4 steps (captions of Figs. 3 and 4), which
makes 59 evaluations, 9 of them fitted; they also speak of "over 200 data points", which would be one
evaluation a step. They print no a or b, no seeds and no intervals. The five pairs here were digitised from
``figures/e2a.jpg`` of the repository PRIME-RL/Entropy-Mechanism-of-RL (Fig. 1, right: mathematics, GRPO), by
pixel colours, with the axes calibrated on the grid lines. The points in that figure lie up to about three
points off the drawn curves, with a pattern: the truths here are kinder to the law than the figure is.
Entropies are known without error.
"""

from __future__ import annotations

import argparse
import itertools
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from benchmarks.docs import write_block
from benchmarks.worlds import FloatArray
from entropylaw import fit_laws
from entropylaw.analysis.ensemble import outlook
from entropylaw.analysis.forms import design, law_column
from entropylaw.analysis.law.covariances import drift_covariances
from entropylaw.analysis.law.verdict import added_column
from entropylaw.engine.posterior import Solver, infer

SEED = 20250528

LAST_STEP, LAST_FITTED, EVERY = 236, 36, 4
"""Steps of a run, of its fitted part, and between evaluations."""

CLAIM = 0.9
"""Points of RMSE over the predicted steps, mean over :data:`CLAIMED`, as the paper prints it."""

CLAIMED = ("1.5B", "3B", "7B", "32B")
"""The models whose forecasts the paper shows; 0.5B is absent."""

PROBLEMS = 5000
"""Size of the test set: of the paper's five, Omni-MATH has 4,428 (arXiv:2410.07985) and MATH500 500 problems.
The problems are the same each time, so that the sampling noise of a real run is less than binomial."""

FALL = (0.05181137, 0.53297707)
"""Time (in runs) and power of the entropy's stretched exponential, see :func:`spent`."""

FEW, SIZE = 10, 0.05
STRONG = 20.0
"""Odds from which one of two forms is preferred."""

LABELS = {
    "law": "the law",
    "rate": "exp(H/2)",
    "line": "a line in H",
    "root": "√H",
    "stays": "the law, then R stays",
}
TRUTHS = tuple(LABELS)
RIVALS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "rate": lambda h: np.exp(h / 2),
    "line": np.asarray,
    "root": np.sqrt,
}
"""Columns of the truths that are b − a·(column)."""

NUMBERS = ("a", "b", "ceiling")
METHODS: tuple[Literal["ols", "drift"], ...] = ("ols", "drift")


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A curve of the figure: coefficients, and the entropies (nats) between which it is drawn."""

    name: str
    a: float
    b: float
    first: float
    last: float

    def truth(self, number: str) -> float:
        """The true value of a, b or the ceiling."""
        return {"a": self.a, "b": self.b, "ceiling": self.b - self.a}[number]


MODELS = (
    Model(name="0.5B", a=0.043, b=0.191, first=1.41, last=0.053),
    Model(name="1.5B", a=0.095, b=0.350, first=0.93, last=0.033),
    Model(name="3B", a=0.175, b=0.478, first=0.63, last=0.025),
    Model(name="7B", a=0.210, b=0.597, first=0.55, last=0.018),
    Model(name="32B", a=0.236, b=0.690, first=0.62, last=0.013),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Residual:
    """A drift with sd ``drift`` (points) and correlation ``rho`` over 4 steps, plus the binomial noise."""

    drift: float
    rho: float

    @property
    def name(self) -> str:
        """As the tables have it."""
        return f"drift {self.drift:g}, ρ {self.rho:g}" if self.drift else "no drift"


RESIDUALS = (
    Residual(drift=0.0, rho=0.0),
    Residual(drift=0.5, rho=0.5),
    Residual(drift=1.0, rho=0.8),
)
"""With the noise of the test set their sd is about 0.6, 0.8 and 1.2 points. Public validation scores of
verl runs whose reward changes little at a time (deepseek-7b with GRPO and PPO, gemma-2-2b with PPO, on GSM8K)
scatter by 0.8 to 1.0 points about the law by least squares, with a lag-1 correlation of 0.3 to 0.5."""

MIDDLE = RESIDUALS[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One model under one truth and residual, evaluated every so many steps."""

    model: Model
    truth: str
    residual: Residual
    every: int = EVERY


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Found:
    """What came out in the r runs of a cell; arrays have shape (r,) where nothing else is said.

    ``intervals``: (method, number) → shape (2, r), whether the 95 % interval from the fitted evaluations
    holds the truth, and its width over the truth; empty where the law is not the truth. ``rmse``: forecast →
    points, over the later evaluations. ``ours``, ``held``: shape (few,), RMSE of entropylaw's forecast and
    the share of the later evaluations in its 95 % bands; empty for models that the paper does not forecast.
    ``p_value``: "fitted", "all" → p-values of the test of the law on those evaluations. ``log_odds``: log of
    the law's marginal likelihood over a line's, on the fitted ones.
    """

    cell: Cell
    intervals: dict[tuple[str, str], FloatArray]
    rmse: dict[str, FloatArray]
    ours: FloatArray
    held: FloatArray
    p_value: dict[str, FloatArray]
    log_odds: FloatArray


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=400, help="simulated runs per cell")
    parser.add_argument("--jobs", type=int, help="processes, one a core where not given")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks/paper.md")
    arguments = parser.parse_args()
    with ProcessPoolExecutor(arguments.jobs) as pool:
        found = list(pool.map(partial(run_cell, runs=arguments.runs), all_cells()))
    text = report(found)
    print(text)
    if arguments.write:
        write_block("paper", text)


def all_cells() -> list[Cell]:
    """Every truth and residual, and the law with one evaluation per step."""
    every = itertools.product(TRUTHS, RESIDUALS, MODELS)
    cells = [Cell(model=model, truth=truth, residual=residual) for truth, residual, model in every]
    return cells + [Cell(model=model, truth="law", residual=MIDDLE, every=1) for model in MODELS]


def spent(time: FloatArray) -> FloatArray:
    """Share of the entropy's fall that is over at times from 0 to 1.

    1 − exp(−(t/τ)^p), divided by its value at 1. The paper's Fig. 2 (mean of 11 runs, 2400 gradient steps)
    has 73 % of the fall in the first twelfth and 94 % in the first third: that gives τ and p.
    """
    tau, power = FALL
    return np.asarray(np.expm1(-((time / tau) ** power)) / np.expm1(-((1.0 / tau) ** power)))


def steps(every: int) -> FloatArray:
    """The evaluated steps; as in the authors' scripts there is none before training."""
    return np.arange(every, LAST_STEP + 1, every, dtype=float)


def entropies(model: Model, step: FloatArray) -> FloatArray:
    """Entropy at the evaluated steps, nats: the drawn range, from the first of them to the last.

    Nine evaluations then hold 72 % of the drawn range; by eye they hold about 75 % in the published figure.
    """
    left = 1.0 - spent(step / LAST_STEP)
    return np.asarray(model.last + (model.first - model.last) * left / left[0])


def mean_reward(cell: Cell, step: FloatArray, entropy: FloatArray) -> FloatArray:
    """The reward without residual, shape (n,).

    Each rival b − a·(column) is the one that comes closest to the law over the fitted evaluations. "stays" is
    the law up to the last fitted evaluation, and that value from there on.
    """
    law = cell.model.b - cell.model.a * np.exp(entropy)
    fitted = step <= LAST_FITTED
    if cell.truth == "law":
        return np.asarray(law)
    if cell.truth == "stays":
        return np.where(fitted, law, law[fitted][-1])
    x = design(RIVALS[cell.truth](entropy))
    return np.asarray(x @ np.linalg.lstsq(x[fitted], law[fitted], rcond=None)[0])


def simulate(cell: Cell, runs: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Steps (n,), entropies (n,) and rewards (runs, n). Rates below 0, which a drift can give, count as 0."""
    key = f"{cell.model.name} {cell.truth} {cell.residual.name} {cell.every}"
    rng = np.random.default_rng([SEED, zlib.crc32(key.encode())])
    step = steps(cell.every)
    entropy = entropies(cell.model, step)
    rate = np.tile(mean_reward(cell, step, entropy), (runs, 1))
    if cell.residual.drift:
        lag = np.abs(step[:, None] - step[None, :]) / EVERY
        root = np.linalg.cholesky(cell.residual.rho**lag)
        rate += cell.residual.drift / 100.0 * (rng.standard_normal((runs, step.size)) @ root.T)
    return step, entropy, rng.binomial(PROBLEMS, np.clip(rate, 0.0, 1.0)) / PROBLEMS


def run_cell(cell: Cell, runs: int) -> Found:
    """Everything of one cell; entropylaw's forecast, 18 ms per run, for one run in :data:`FEW`."""
    step, entropy, rewards = simulate(cell, runs)
    first = int((step <= LAST_FITTED).sum())
    s, h, r = step[:first], entropy[:first], rewards[:, :first]
    few = max(runs // FEW, 1) if cell.model.name in CLAIMED and cell.every == EVERY else 0
    ours, held = our_forecasts(step, entropy, rewards[:few], first)
    return Found(
        cell=cell,
        intervals=intervals(cell.model, s, h, r) if cell.truth == "law" else {},
        rmse=forecasts(entropy, rewards, first),
        ours=ours,
        held=held,
        p_value={"fitted": law_test(s, h, r), "all": law_test(step, entropy, rewards)},
        log_odds=log_odds(s, h, r),
    )


def intervals(
    model: Model, step: FloatArray, entropy: FloatArray, rewards: FloatArray
) -> dict[tuple[str, str], FloatArray]:
    """Whether 95 % intervals hold the truth, and their widths over it, by (method, number)."""
    found = {}
    for method in METHODS:
        batch = fit_laws(np.tile(entropy, (len(rewards), 1)), rewards, step, interval=method)
        for error in batch.refused.values():
            raise error
        for number in NUMBERS:
            ends, truth = getattr(batch, number), model.truth(number)
            held = (ends.low <= truth) & (truth <= ends.high)
            found[str(method), number] = np.array([held, (ends.high - ends.low) / truth])
    return found


def forecasts(entropy: FloatArray, rewards: FloatArray, first: int) -> dict[str, FloatArray]:
    """RMSE in points of the law and of a line by least squares, and of the last value; each shape (runs,)."""
    predicted = {"last": np.broadcast_to(rewards[:, first - 1, None], rewards[:, first:].shape)}
    for name, column in (("law", law_column(entropy)), ("line", entropy)):
        x = design(column)
        predicted[name] = rewards[:, :first] @ np.linalg.pinv(x[:first]).T @ x[first:].T
    return {name: rmse(value, rewards[:, first:]) for name, value in predicted.items()}


def rmse(predicted: FloatArray, truth: FloatArray) -> FloatArray:
    """Points, over the last axis."""
    return np.asarray(100.0 * np.sqrt(np.mean((predicted - truth) ** 2, axis=-1)))


def our_forecasts(
    step: FloatArray, entropy: FloatArray, rewards: FloatArray, first: int
) -> tuple[FloatArray, FloatArray]:
    """RMSE in points of what ``entropylaw.forecast`` says, and the share of evaluations in its bands."""
    errors, held = [], []
    for reward in rewards:
        seen = outlook(step[:first], entropy[:first], reward[:first], step[first:], entropy[first:])
        later = reward[first:]
        errors.append(float(rmse(seen.band.quantile(0.5), later)))
        low, high = seen.band.quantile(0.025), seen.band.quantile(0.975)
        held.append(float(np.mean((low <= later) & (later <= high))))
    return np.array(errors), np.array(held)


def law_test(step: FloatArray, entropy: FloatArray, rewards: FloatArray) -> FloatArray:
    """p-values of ``compare_forms(...).law_test`` for many runs at the same entropies (a test compares)."""
    x = [design(law_column(entropy), entropy * np.exp(entropy)).__getitem__]
    solvers = (Solver(step, reward, drift_covariances(step, entropy, reward)) for reward in rewards)
    return np.array([added_column(solver, x)[0] for solver in solvers], dtype=float)


def log_odds(step: FloatArray, entropy: FloatArray, rewards: FloatArray) -> FloatArray:
    """Log of the law's weight over the line's in ``fit_law`` (a test compares): their priors are the same."""
    both = np.array([design(law_column(entropy)), design(entropy)])
    grids = (drift_covariances(step, entropy, reward) for reward in rewards)
    each = zip(rewards, grids, strict=True)
    evidence = np.array([infer(step, both, np.array([r, r]), grid).log_evidence for r, grid in each])
    return np.asarray(evidence[:, 0] - evidence[:, 1])


def of(found: Sequence[Found], truth: str, residual: Residual, every: int = EVERY) -> list[Found]:
    """The cells of a truth and a residual, of all models."""
    key = (truth, residual, every)
    return [one for one in found if (one.cell.truth, one.cell.residual, one.cell.every) == key]


def averages(found: Sequence[Found], forecast: str, truth: str, residual: Residual) -> FloatArray:
    """The paper's figure, once for each study: RMSE averaged over one run of each model that it shows."""
    group = [one for one in of(found, truth, residual) if one.cell.model.name in CLAIMED]
    return np.asarray(np.mean([one.ours if forecast == "ours" else one.rmse[forecast] for one in group], 0))


def claimed(found: Sequence[Found], truth: str, residual: Residual) -> float:
    """Per cent of studies in which the law's forecast has an average that prints as the paper's or less."""
    return 100.0 * float(np.mean(averages(found, "law", truth, residual) < CLAIM + 0.05))


def before_line(found: Sequence[Found], truth: str, residual: Residual) -> float:
    """Per cent of studies in which the law's forecast has a smaller average than the line's."""
    law, line = (averages(found, name, truth, residual) for name in ("law", "line"))
    return 100.0 * float(np.mean(law < line))


def report(found: Sequence[Found]) -> str:
    """Markdown: what nine evaluations determine, what they forecast and tell apart, and the sentences."""
    nine, later = LAST_FITTED // EVERY, (LAST_STEP - LAST_FITTED) // EVERY
    said = (_intervals_said(found, nine), _gaps_said(nine), _tests_said(found, nine), _forecasts_said(found))
    return "\n".join(
        [
            f"{found[0].log_odds.size} simulated runs of each of the five models of arXiv:2505.22617 per row "
            f"({max(one.ours.size for one in found)} of them for entropylaw's forecast); seed {SEED}. (a, b) "
            f"as digitised from the published figure; evaluated every {EVERY} steps, the first {nine} "
            f"evaluations fitted, the other {later} forecast at their entropies. Noise: binomial, "
            f"{PROBLEMS:,} problems; drift in points, with its correlation over {EVERY} steps. Widths are "
            "medians, in per cent of the true value.",
            "",
            *_determined(found),
            "",
            f"Forecasts: RMSE in points; a study is one run of each of the {len(CLAIMED)} models that the "
            "paper shows, averaged (median over studies; for the law with 5 and 95 % points); law and line "
            "by least squares. A true rival has the parameters closest to the law over the fitted "
            f"evaluations. Law rejected: its test at {100 * SIZE:.0f} %, on the fitted and on all "
            f"evaluations of five models. Odds between law and line above {STRONG:g} "
            "either way, on the fitted ones.",
            "",
            *_forecast(found),
            "",
            " ".join(said),
        ]
    )


def _determined(found: Sequence[Found]) -> list[str]:
    """Coverage and width of a, b and the ceiling from the fitted evaluations, the law being true."""
    lines = [
        "| model | residual | fitted | H fitted | least squares: covered, a / b / ceiling | width "
        "| entropylaw: covered | width |",
        "| --- | --- | ---: | --- | --- | --- | --- | --- |",
    ]
    lines += [_determined_row("all five", of(found, "law", residual)) for residual in RESIDUALS]
    lines += [_determined_row(one.cell.model.name, [one]) for one in of(found, "law", MIDDLE)]
    return [*lines, _determined_row("all, one evaluation per step", of(found, "law", MIDDLE, every=1))]


def _determined_row(name: str, group: Sequence[Found]) -> str:
    cell = group[0].cell
    step = steps(cell.every)
    fitted = entropies(cell.model, step[step <= LAST_FITTED])
    span = f"{fitted[0]:.2f}–{fitted[-1]:.2f}" if len(group) == 1 else "—"
    shown = [
        " / ".join(f"{seen(group, method, number)[i]:.0f}" for number in NUMBERS)
        for method in METHODS
        for i in (0, 1)
    ]
    return f"| {name} | {cell.residual.name} | {fitted.size} | {span} | " + " | ".join(shown) + " |"


def seen(group: Sequence[Found], method: str, number: str) -> tuple[float, float]:
    """Coverage, and median width over the true value, over the runs of these cells; both in per cent."""
    held, width = np.hstack([one.intervals[method, number] for one in group])
    return 100.0 * float(held.mean()), 100.0 * float(np.median(width))


def _forecast(found: Sequence[Found]) -> list[str]:
    """RMSE by truth and residual, and how often the first evaluations tell the law from a line."""
    lines = [
        f"| truth | residual | law | prints as {CLAIM} or less | line | law before line | last value "
        "| entropylaw (in its 95 % bands) | law rejected, fitted / all | odds for law / line |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for truth, residual in itertools.product(TRUTHS, RESIDUALS):
        low, middle, high = np.quantile(averages(found, "law", truth, residual), (0.05, 0.5, 0.95))
        line, last, ours = (
            np.median(averages(found, name, truth, residual)) for name in ("line", "last", "ours")
        )
        group = of(found, truth, residual)
        held = 100 * np.mean([one.held for one in group if one.cell.model.name in CLAIMED])
        odds = np.array([one.log_odds for one in group]) / np.log(STRONG)
        lines.append(
            f"| {LABELS[truth]} | {residual.name} | {middle:.1f} ({low:.1f}–{high:.1f}) "
            f"| {claimed(found, truth, residual):.0f} % | {line:.1f} "
            f"| {before_line(found, truth, residual):.0f} % | {last:.1f} | {ours:.1f} ({held:.0f} %) "
            f"| {rejected(found, 'fitted', truth, residual):.0f} / "
            f"{rejected(found, 'all', truth, residual):.0f} % "
            f"| {100 * np.mean(odds > 1):.0f} / {100 * np.mean(odds < -1):.0f} % |"
        )
    return lines


def rejected(found: Sequence[Found], which: str, truth: str, residual: Residual) -> float:
    """Per cent of the runs in which the test rejects the law, on the "fitted" or on "all" evaluations."""
    values = [one.p_value[which] for one in of(found, truth, residual)]
    return 100.0 * float(np.mean(np.array(values) < SIZE))


def _intervals_said(found: Sequence[Found], nine: int) -> str:
    """How wide the intervals are, and how often they hold, over the residuals."""
    groups, said = [of(found, "law", residual) for residual in RESIDUALS], []
    for method in METHODS:
        wide = [_range([seen(g, method, number)[1] for g in groups]) for number in NUMBERS]
        held = _range([seen(g, method, number)[0] for g in groups for number in NUMBERS])
        shown = f"{wide[0]} % of a, {wide[1]} % of b and {wide[2]} % of the ceiling"
        said.append(f"{shown} and contain the truth in {held} %")
    return (
        f"From {nine} evaluations 95 % intervals by least squares are as wide as {said[0]} (range over the "
        f"residuals); those of entropylaw are as wide as {said[1]}."
    )


def _gaps_said(nine: int) -> str:
    """How close the rivals come to the law where it is fitted, and how far they are at the end."""
    step, said = steps(EVERY), []
    for truth in RIVALS:
        near, end = [], []
        for model in MODELS:
            entropy = entropies(model, step)
            law, other = (
                100 * mean_reward(Cell(model=model, truth=name, residual=MIDDLE), step, entropy)
                for name in ("law", truth)
            )
            near.append(float(np.abs(other - law)[:nine].max()))
            end.append(float(other[-1] - law[-1]))
        said.append(f"{LABELS[truth]} to {max(near):.1f} points ({min(end):+.1f} to {max(end):+.1f})")
    return (
        f"On those {nine}, the law is matched by {', by '.join(said)}; in brackets how much more reward the "
        "rival then gives at the last evaluation."
    )


def _tests_said(found: Sequence[Found], nine: int) -> str:
    """How often the law is rejected, by what is true."""
    truths = ("law", *RIVALS)
    fitted, every = (_by_truth(truths, partial(rejected, found, which)) for which in ("fitted", "all"))
    return (
        f"At {100 * SIZE:.0f} %, the test on {nine} evaluations rejects the law in {fitted} of runs, by what "
        f"is true; on all evaluations in {every}."
    )


def _forecasts_said(found: Sequence[Found]) -> str:
    """How often the paper's RMSE comes out under each truth, and how often a line forecasts worse."""
    low = _by_truth(TRUTHS, partial(claimed, found))
    beaten = _by_truth(TRUTHS, partial(before_line, found))
    return (
        f"An average RMSE that prints as {CLAIM} or less, as in the paper, comes in {low} of studies (range "
        f"over the residuals). A line through the same evaluations forecasts worse than the law in {beaten}."
    )


def _by_truth(truths: Sequence[str], share: Callable[[str, Residual], float]) -> str:
    """A share in per cent for each truth, from the smallest to the largest over the residuals."""
    return ", ".join(
        f"{_range([share(truth, residual) for residual in RESIDUALS])} % ({LABELS[truth]})"
        for truth in truths
    )


def _range(values: Sequence[float]) -> str:
    low, high = f"{min(values):.0f}", f"{max(values):.0f}"
    return low if low == high else f"{low}–{high}"


if __name__ == "__main__":
    main()
