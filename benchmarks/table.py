"""What the engine's table covers and costs.

python -m benchmarks.table --seeds aside --runs 40 --jobs 2    all cells, and docs/benchmarks/table.md
python -m benchmarks.table --only quadrature                   cells of that name, printed, of the tuned seeds

It needs numpy, scipy, msgspec and threadpoolctl.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, toeplitz
from scipy.signal import lfilter
from threadpoolctl import threadpool_limits

import entropylaw
from benchmarks.docs import markdown_table, write_block
from benchmarks.foreign_worlds import drawn, exponential, fractional, mixed
from entropylaw.arrays import FloatArray
from entropylaw.engine.constants import PRIOR
from entropylaw.engine.levels import smoothed_entropy
from entropylaw.engine.reads import Reads
from entropylaw.engine.table import table_of
from entropylaw.results.fit import Fit
from entropylaw.results.result import has

Rng = np.random.Generator

SEEDS = {"tuned": 1, "aside": 2}
SIZES = (12, 60, 200, 400)

RESIDUALS: dict[str, Callable[[int], FloatArray]] = {
    "white": mixed((1.0, None)),
    "OU 3": exponential(3.0),
    "OU 8 + white": mixed((0.5, exponential(8.0)), (0.5, None)),
    "OU 25 + white": mixed((0.6, exponential(25.0)), (0.4, None)),
    "three OU": mixed(*((1 / 3, exponential(length)) for length in (1.0, 8.0, 60.0))),
    "ARFIMA(.35) + white": mixed((0.7, fractional(0.35)), (0.3, None)),
}
"""Residuals by their autocorrelation; two more are drawn otherwise."""

KINDS = (*RESIDUALS, "t, 4 d.f.", "shrinking")


def path(n: int, rng: Rng) -> FloatArray:
    """Entropy of a run in nats, one of five shapes."""
    t = np.arange(n) / (n - 1)
    start, end = rng.uniform(0.6, 2.0), rng.uniform(0.03, 0.25)
    falls = (
        np.exp(-rng.uniform(2.0, 7.0) * t),
        1.0 / (1.0 + rng.uniform(3.0, 14.0) * t),
        1.0 / (1.0 + np.exp((t - rng.uniform(0.25, 0.5)) * rng.uniform(6.0, 12.0))),
        (1.0 - t) ** rng.uniform(1.0, 2.0),
        np.exp(-5.0 * t) + 0.15 * t,
    )
    return end + (start - end) * falls[int(rng.integers(len(falls)))]


FORMS: dict[str, Callable[[FloatArray, FloatArray, Rng], FloatArray]] = {
    "law": lambda h, t, rng: -np.expm1(h),
    "line": lambda h, t, rng: -h,
    "square": lambda h, t, rng: -(h**2),
    "rate": lambda h, t, rng: -np.sign(k := float(rng.choice([-3.0, -1.5, 2.0, 3.0]))) * np.expm1(k * h),
    "power": lambda h, t, rng: -(h ** float(rng.choice([0.35, 0.5, 2.0, 3.0]))),
    "constant": lambda h, t, rng: 0.0 * h,
}
OUTSIDE = {
    "S in H": lambda h, t, rng: -1.0 / (1.0 + np.exp((0.45 - h / h.max()) * 12.0)),
    "two lines": lambda h, t, rng: -np.maximum(h / h.max() - 0.4, 0.0) - 0.15 * h / h.max(),
    "lagged + S in step": lambda h, t, rng: (
        standard(-np.expm1(lagged(h, 0.12))) + 0.5 * standard(1.0 / (1.0 + np.exp((0.5 - t) * 10.0)))
    ),
}


def standard(column: FloatArray) -> FloatArray:
    """Mean 0 and sd 1."""
    spread = float(np.std(column))
    return (column - column.mean()) / spread if spread else column * 0.0


def lagged(h: FloatArray, lag: float) -> FloatArray:
    """Exponential mean of an entropy."""
    weight = 1.0 / max(lag * h.size, 1.0)
    return np.asarray(lfilter([weight], [1.0, weight - 1.0], h, zi=[(1.0 - weight) * h[0]])[0])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Run:
    """A run with its truth: entropy, ceiling at the last step, a, and reward now without noise.

    ``oracle`` is the width of an interval that is given the residual's ``covariance``; nan of some kinds.
    """

    entropy: FloatArray
    reward: FloatArray
    path: FloatArray
    covariance: FloatArray
    ceiling: float
    a: float
    now: float
    oracle: float


def draw(truth: Callable[..., FloatArray], kind: str, n: int, rng: Rng, term: str = "") -> Run:
    """A run whose reward has sd .07 and follows a truth, with R² between .7 and .98."""
    h = path(n, rng)
    t = np.arange(n) / (n - 1)
    # The curve at H = 0 is the last of its values.
    curve = truth(np.append(h, 1e-12), np.append(t, 1.0), rng)
    spread = float(np.std(curve[:-1])) or 1.0
    clean = 0.07 * curve[:-1] / spread
    at_0 = 0.07 * float(curve[-1]) / spread
    if term:
        column = t if term == "step" else np.log1p(t * (n - 1))
        clean = clean + 0.04 * standard(column) - 0.04 * standard(column)[-1]
    share = float(rng.choice([0.7, 0.8, 0.9, 0.95, 0.98]))
    sd = 0.07 * np.sqrt(1.0 / share - 1.0)
    slow, noise, covariance = _residual(kind, n, sd, h, rng)
    logged = np.maximum(h * (1.0 + rng.choice([0.0, 0.01, 0.03]) * rng.standard_normal(n)), 1e-4)
    oracle = np.nan
    if kind in RESIDUALS:
        x = np.column_stack([np.ones(n), -np.expm1(h)])
        oracle = 2.0 * 1.96 * np.sqrt(np.linalg.inv(x.T @ cho_solve(cho_factor(covariance), x))[0, 0])
    column = np.expm1(h)
    return Run(
        entropy=logged,
        reward=0.5 + clean + slow + noise,
        path=h,
        covariance=covariance,
        ceiling=0.5 + at_0,
        a=0.07 / (float(np.std(column)) or 1.0),
        now=float(0.5 + clean[-1] + slow[-1]),
        oracle=float(oracle),
    )


def _residual(
    kind: str, n: int, sd: float, h: FloatArray, rng: Rng
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Drift, noise, and the covariance of both."""
    if kind == "t, 4 d.f.":
        return np.zeros(n), sd / np.sqrt(2.0) * rng.standard_t(4, n), sd**2 * np.eye(n)
    if kind == "shrinking":
        scale, slow = 1.6 * sd * np.exp(1.4 * (h - h.max()) / np.ptp(h)), 0.5 * toeplitz(exponential(8.0)(n))
        drift, noise = drawn(slow, rng), np.sqrt(0.5) * rng.standard_normal(n)
        return scale * drift, scale * noise, (slow + 0.5 * np.eye(n)) * np.outer(scale, scale)
    covariance = sd**2 * toeplitz(RESIDUALS[kind](n))
    white = {"white": 1.0, "OU 8 + white": 0.5, "OU 25 + white": 0.4, "ARFIMA(.35) + white": 0.3}.get(
        kind, 0.0
    )
    noise = white * sd**2 * np.eye(n)
    slow = drawn(covariance - noise, rng) if white < 1.0 else np.zeros(n)
    return slow, np.sqrt(white) * sd * rng.standard_normal(n), covariance + 1e-12 * np.eye(n)


def inside(low: float | None, truth: float, high: float | None) -> bool:
    """Whether an interval covers a truth."""
    return low is not None and high is not None and low <= truth <= high


# -- one run of each row -------------------------------------------------------------------------------------

Row = dict[str, float]


def under_law(kind: str, n: int, rng: Rng) -> Row:
    """Coverage of the law's numbers and of the averaged curve at H = 0, and widths, under the law."""
    run = draw(FORMS["law"], kind, n, rng)
    fit = fitted(run)
    law = fit.lawful()
    at_0 = fit.predict(0.0).mean
    return {
        "ceiling": inside(law.ceiling.low, run.ceiling, law.ceiling.high),
        "a": inside(law.a.low, run.a, law.a.high),
        "averaged": inside(at_0.low, run.ceiling, at_0.high),
        "width/oracle": (law.ceiling.width or np.nan) / run.oracle,
        "no curve": has(fit.findings, "no-curve-fits"),
    }


def fitted(run: Run) -> Fit:
    """The fit of a run."""
    return entropylaw.fit(entropy=run.entropy, reward=run.reward)


def noisy(n: int, rng: Rng) -> Row:
    """Coverage of a and the reward at H = 0 where entropies are logged with a noise of .08 nats."""
    run = draw(FORMS["law"], str(rng.choice(KINDS)), n, rng)
    logged = np.maximum(run.path + 0.08 * rng.standard_normal(n), 1e-3)
    law = entropylaw.fit(entropy=logged, reward=run.reward).lawful()
    return {
        "ceiling": inside(law.ceiling.low, run.ceiling, law.ceiling.high),
        "a": inside(law.a.low, run.a, law.a.high),
    }


def in_list(n: int, rng: Rng) -> Row:
    """Coverage of the averaged curve at H = 0 where a curve of the list is true."""
    name = str(rng.choice(list(FORMS)))
    term = str(rng.choice(["", "", "step", "log_step"]))
    run = draw(FORMS[name], str(rng.choice(KINDS)), n, rng, term)
    fit = fitted(run)
    at_0 = fit.predict(0.0).mean
    return {
        "covered": inside(at_0.low, run.ceiling, at_0.high),
        "no curve": has(fit.findings, "no-curve-fits"),
    }


def out_of_list(name: str, n: int, rng: Rng) -> Row:
    """Coverage of the averaged curve at H = 0 where no curve of the list is true."""
    run = draw(OUTSIDE[name], str(rng.choice(KINDS)), n, rng)
    fit = fitted(run)
    at_0 = fit.predict(0.0).mean
    covered = inside(at_0.low, run.ceiling, at_0.high)
    said = has(fit.findings, "no-curve-fits")
    return {"covered or said": covered or said, "covered": covered, "said": said}


def one_less(n: int, rng: Rng) -> Row:
    """Whether an evaluation less moves the averaged curve at H = 0 by more than half its width."""
    run = draw(FORMS[str(rng.choice(list(FORMS)))], str(rng.choice(KINDS)), n, rng)
    keep = np.arange(n) != int(rng.integers(n))
    whole = fitted(run).predict(0.0).mean
    fit = entropylaw.fit(entropy=run.entropy[keep], reward=run.reward[keep], step=np.arange(n)[keep])
    part = fit.predict(0.0).mean
    moved = abs((whole.value or 0.0) - (part.value or 0.0)) > 0.5 * (whole.width or np.inf)
    return {"moved": moved}


def quadrature(n: int, rng: Rng) -> Row:
    """Differences to a grid of 16 lengths and 30 shares, in widths."""
    run = draw(FORMS[str(rng.choice(list(FORMS)))], str(rng.choice(KINDS)), n, rng)
    step = np.arange(n, dtype=float)
    entropy = smoothed_entropy(step, run.entropy, step).entropy
    fine = dense()
    row = {}
    both = [Reads(table_of(step, entropy, run.reward, prior=prior)) for prior in (PRIOR, fine)]
    for name, pick in (("averaged", lambda r: r.averaged), ("law", lambda r: r.law)):
        ends = [reads.ceiling(pick(reads)).quantiles((0.025, 0.5, 0.975)) for reads in both]
        off = np.abs(ends[0] - ends[1]) / (ends[1][2] - ends[1][0])
        row |= {f"{name} within 1 %": float(np.mean(off < 0.01)), f"{name} off": float(off.max())}
    return row


@cache
def dense() -> Any:
    """The prior on a dense grid over the same range."""
    ends = np.log(PRIOR.lengths[0]), np.log(PRIOR.lengths[-1])
    lengths = tuple(np.exp(np.linspace(*ends, 16)).tolist())
    shares = tuple((float(share), 1.0 / 30) for share in (np.arange(30) + 0.5) / 30)
    return replace(PRIOR, lengths=lengths, shares=shares)


def timed(n: int, rng: Rng) -> Row:
    """Processor time of a fit, in ms."""
    run = draw(FORMS["law"], str(rng.choice(KINDS)), n, rng)
    entropylaw.fit(entropy=run.entropy, reward=run.reward)
    start = time.process_time()
    entropylaw.fit(entropy=run.entropy, reward=run.reward)
    return {"ms": 1e3 * (time.process_time() - start)}


def rows() -> Iterator[tuple[str, Callable[[Rng], Row]]]:
    """Every cell of the table, by name."""
    for kind in KINDS:
        for n in SIZES:
            yield f"law · {kind} · {n}", partial(under_law, kind, n)
    for n in (60, 200):
        yield f"noise · {n}", partial(noisy, n)
    for n in SIZES:
        yield f"list · {n}", partial(in_list, n)
        yield f"one less · {n}", partial(one_less, n)
        yield f"quadrature · {n}", partial(quadrature, n)
    for name in OUTSIDE:
        for n in (60, 400):
            yield f"outside · {name} · {n}", partial(out_of_list, name, n)
    for n in SIZES:
        yield f"time · {n}", partial(timed, n)


def cell(name: str, seeds: str, numbers: Sequence[int]) -> list[Row]:
    """Some runs of a cell."""
    function = dict(rows())[name]
    key = int.from_bytes(name.encode(), "little") % 2**32
    with threadpool_limits(1):
        return [function(np.random.default_rng([SEEDS[seeds], key, number])) for number in numbers]


MEDIANS = ("width/oracle", "averaged off", "law off", "ms")

Gathered = dict[str, list[Row]]


def value(found: Sequence[Row], name: str) -> float:
    """Mean of a column of some runs, or the median of what is a ratio; nan where there is none."""
    values = np.array([row[name] for row in found if name in row], dtype=float)
    if not values.size or np.isnan(values).all():
        return float("nan")
    return float(np.nanmedian(values) if name in MEDIANS else np.nanmean(values))


def summary(found: Sequence[Row]) -> str:
    """Every column of some runs, to print."""
    texts = []
    for name in dict.fromkeys(key for row in found for key in row):
        number = value(found, name)
        texts.append(f"{name} {number:.3g}" if name in MEDIANS else f"{name} {number:.1%}")
    return "  ".join(texts)


# -- the page ------------------------------------------------------------------------------------------------


def share(found: Sequence[Row], name: str) -> str:
    """A percentage."""
    return f"{100 * value(found, name):.0f}"


def ratio(found: Sequence[Row], name: str, digits: int = 2) -> str:
    """A median, or a dash."""
    number = value(found, name)
    return "–" if np.isnan(number) else f"{number:.{digits}f}"


COVERED = ("ceiling", "a", "averaged")
"""Numbers whose coverage is shown."""

NUMBERS = ("reward at H = 0 covered", "a covered", "averaged curve at H = 0 covered")
"""Their columns."""


def page(cells: Gathered, command: str) -> str:
    """The tables of the page."""
    laws = kind_of(cells, "law")
    runs = len(next(iter(laws.values())))
    return "\n\n".join(
        (
            f"{runs} runs per cell of {len(SIZES)} lengths; in brackets the length with the least coverage.",
            f"```sh\n{command}\n```",
            under_law_table(laws),
            others_table(cells),
            by_size_table(cells),
        )
    )


def kind_of(cells: Gathered, kind: str) -> Gathered:
    """The cells of a kind, by the rest of their names."""
    begin = f"{kind} · "
    return {name.removeprefix(begin): found for name, found in cells.items() if name.startswith(begin)}


def together(cells: Gathered) -> list[Row]:
    """The runs of all cells."""
    return [row for found in cells.values() for row in found]


def under_law_table(laws: Gathered) -> str:
    """Coverage under the law by residual, all lengths together, and at the worst length."""
    kinds = {kind: kind_of(laws, kind) for kind in KINDS} | {"under the law, all": laws}
    lines = []
    for kind, cells in kinds.items():
        covered = []
        for number in COVERED:
            worst = min(value(found, number) for found in cells.values())
            covered.append(f"{share(together(cells), number)} ({100 * worst:.0f})")
        lines.append([kind, *covered, share(together(cells), "no curve")])
    return markdown_table(("under the law, residual", *NUMBERS, "no curve fits"), lines)


def others_table(cells: Gathered) -> str:
    """Coverage where the law is not true, or entropies are logged with noise."""
    outside = kind_of(cells, "outside")
    lines = [
        [f"no curve of the list, {name}", share(found, "covered or said"), share(found, "said")]
        for name, found in outside.items()
    ]
    lines += [
        [f"a curve of the list, {n}", share(found, "covered"), "–"]
        for n, found in kind_of(cells, "list").items()
    ]
    lines += [
        [f"the law, noise of .08 nats, {n}", share(found, "ceiling"), "–"]
        for n, found in kind_of(cells, "noise").items()
    ]
    columns = ("truth · n", "reward at H = 0 covered, or `no-curve-fits` said", "said")
    return markdown_table(columns, lines)


def by_size_table(cells: Gathered) -> str:
    """How steady and how near numbers are, and what a fit costs, by the number of evaluations."""
    steady = kind_of(cells, "one less")
    near = kind_of(cells, "quadrature")
    times = kind_of(cells, "time")
    lines = []
    for n in steady:
        within = [share(near[n], f"{name} within 1 %") for name in ("averaged", "law")]
        lines.append([n, share(steady[n], "moved"), *within, ratio(times[n], "ms", 0)])
    columns = (
        "n",
        "one evaluation less moves the averaged curve at H = 0 by half its width, %",
        "averaged numbers within 1 % of a width of a grid of 16 lengths and 30 shares, %",
        "the law's own, %",
        "processor time with one thread, ms",
    )
    return markdown_table(columns, lines)


def main() -> None:
    """Print the rows, and write the page where all were computed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=8, help="runs per cell")
    parser.add_argument("--seeds", choices=tuple(SEEDS), default="tuned")
    parser.add_argument("--only", default="", help="cells whose name begins with this")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    given = parser.parse_args()
    names = [name for name, _ in rows() if name.startswith(given.only)]
    cells: Gathered = {name: [] for name in names}
    # Times are taken before other processes run.
    for name in names:
        if name.startswith("time"):
            cells[name] = cell(name, given.seeds, range(min(given.runs, 40)))
    with ProcessPoolExecutor(given.jobs) as pool:
        jobs = [
            (name, pool.submit(cell, name, given.seeds, range(start, min(start + 10, given.runs))))
            for name in names
            if not name.startswith("time")
            for start in range(0, given.runs, 10)
        ]
        for name, job in jobs:
            cells[name].extend(job.result())
    for name in names:
        print(f"{name:32s} {summary(cells[name])}")
    if not given.only:
        how = f"python -m benchmarks.table --seeds {given.seeds} --runs {given.runs} --jobs {given.jobs}"
        write_block("table", page(cells, how))


if __name__ == "__main__":
    main()
