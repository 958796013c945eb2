"""What the runs say to the questions of ``docs/lab.md``: numbers with intervals, no words.

The unit of comparison is the seed. Runs that differ in nothing but the seed share one spread, pooled over all
such groups (equal spread is assumed); an interval for a difference of means is Student's t on it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy import stats

from entropylaw import LawFit, fit_law
from entropylaw.documents.fit import RunFit
from entropylaw.workflow import fit_logs
from lab.config import Config, read_config

FloatArray = NDArray[np.float64]
LEVEL = 0.95


@dataclass(frozen=True)
class Made:
    """A finished run: its settings, its logged columns (nan where null), and what ``entropylaw fit`` says."""

    config: Config
    columns: Mapping[str, FloatArray]
    fit: RunFit

    @property
    def name(self) -> str:
        """The run's name."""
        return self.config.run

    @property
    def law(self) -> LawFit:
        """The fitted law, whether it holds or not."""
        if self.fit.law is None:
            raise ValueError(f"{self.name} could not be fitted: {self.fit.refusal}")
        return self.fit.law

    def evaluated(self, column: str) -> FloatArray:
        """A column at the steps that were evaluated."""
        return self.columns[column][~np.isnan(self.columns["val_acc"])]

    def ends(self, column: str, n: int = 3) -> tuple[float, float]:
        """First and last value of a column; the last is a mean over ``n`` evaluations, the first is one."""
        values = self.evaluated(column)
        return float(values[0]), float(np.mean(values[-n:]))


def load(folder: Path) -> dict[str, Made]:
    """Every run below a folder, fitted with the defaults of ``entropylaw fit``, by name."""
    made = {}
    for path in sorted(folder.glob("*/config.json")):
        log = path.with_name("metrics.parquet")
        config, table = read_config(path), pq.read_table(log)
        columns = {
            name: np.array(table[name].to_pylist(), dtype=float)
            for name in table.column_names
            if name != "stage"
        }
        made[config.run] = Made(config, columns, fit_logs([log]).runs[0])
    return made


def group_of(name: str) -> str:
    """A run's name without its seed."""
    return re.sub(r"_s\d+$", "", name)


def groups(made: Mapping[str, Made]) -> dict[str, list[Made]]:
    """Runs that differ in nothing but the seed, in the order of their first."""
    found: dict[str, list[Made]] = {}
    for run in made.values():
        found.setdefault(group_of(run.name), []).append(run)
    return found


Quantity = Callable[[Made], float]


def coefficient(name: str) -> Quantity:
    """The value of ``a``, ``b``, ``ceiling`` or ``reward_now`` in a run's fit."""

    def value(run: Made) -> float:
        estimate = getattr(run.law, name).value
        return float("nan") if estimate is None else float(estimate)

    return value


def reward_at(entropy: float, nearest: int = 6) -> Quantity:
    """Validation accuracy where a run passes an entropy, whatever the form.

    A straight line through the evaluations whose entropies (their course, as the fit has it) are nearest;
    nan where the run never comes there.
    """

    def value(run: Made) -> float:
        course, reward = run.law.course, run.law.reward
        if not course.min() <= entropy <= course.max():
            return float("nan")
        near = np.argsort(np.abs(course - entropy), kind="stable")[:nearest]
        slope, level = np.polyfit(course[near] - entropy, reward[near], 1)
        del slope
        return float(level)

    return value


@dataclass(frozen=True)
class Spread:
    """Standard deviation between seeds, pooled over groups, with its degrees of freedom."""

    sd: float
    df: int


@dataclass(frozen=True)
class Difference:
    """A group's mean less another's, with Student's t-interval at 95 %; None where the spread is unknown."""

    value: float
    half: float | None

    @property
    def decided(self) -> bool:
        """Whether the interval excludes 0."""
        return self.half is not None and abs(self.value) > self.half


def values_of(runs: Sequence[Made], quantity: Quantity) -> FloatArray:
    """A quantity of every run that has it."""
    values = np.array([quantity(run) for run in runs], dtype=np.float64)
    known: FloatArray = values[~np.isnan(values)]
    return known


def pooled(members: Sequence[Sequence[Made]], quantity: Quantity) -> Spread:
    """The spread between seeds over all groups with at least two."""
    squares, df = 0.0, 0
    for runs in members:
        values = values_of(runs, quantity)
        if len(values) > 1:
            squares += float(((values - values.mean()) ** 2).sum())
            df += len(values) - 1
    return Spread(float(np.sqrt(squares / df)) if df else float("nan"), df)


def difference(
    runs: Sequence[Made], reference: Sequence[Made], quantity: Quantity, spread: Spread
) -> Difference | None:
    """Mean of ``runs`` less mean of ``reference``; None where one of them has no value."""
    ours, theirs = values_of(runs, quantity), values_of(reference, quantity)
    if not len(ours) or not len(theirs):
        return None
    scale = spread.sd * np.sqrt(1 / len(ours) + 1 / len(theirs))
    half = float(stats.t.ppf((1 + LEVEL) / 2, spread.df) * scale) if spread.df else None
    return Difference(float(ours.mean() - theirs.mean()), half)


def same_mean(members: Sequence[Sequence[Made]], quantity: Quantity) -> float | None:
    """The p-value of "all groups have one mean" (one-way analysis of variance over seeds)."""
    values = [values_of(runs, quantity) for runs in members]
    if min(map(len, values)) < 1 or sum(map(len, values)) <= len(values):
        return None
    return float(stats.f_oneway(*values).pvalue)


@dataclass(frozen=True)
class Slope:
    """Change of a quantity for every tenfold of the parameters: least squares over runs, t-interval."""

    value: float
    half: float
    n: int


def slope(runs: Sequence[Made], size: Callable[[Made], float], quantity: Quantity) -> Slope:
    """A straight line of a quantity on log10 of a size. Runs are the points, so n − 2 degrees of freedom."""
    x, y = np.log10([size(run) for run in runs]), np.array([quantity(run) for run in runs])
    line = stats.linregress(x, y)
    half = stats.t.ppf((1 + LEVEL) / 2, len(x) - 2) * line.stderr
    return Slope(float(line.slope), float(half), len(x))


@dataclass(frozen=True)
class Foresight:
    """What the law, fitted to the beginning of a run, said of its end: at the entropy that came to be."""

    seen: int
    entropy: float
    low: float
    high: float
    value: float
    reward: float

    @property
    def held(self) -> bool:
        """Whether the reward lies in the interval."""
        return self.low <= self.reward <= self.high


def foresight(run: Made, share: float) -> Foresight | None:
    """Fit the first ``share`` of the evaluations, predict the last three at their mean course."""
    law, n = run.law, round(share * run.law.n)
    early = fit_law(law.entropy[:n], law.reward[:n], law.step[:n], run=run.name)
    entropy = float(law.course[-3:].mean())
    said = early.predict(entropy).observation
    if said.value is None or said.low is None or said.high is None:
        return None
    return Foresight(n, entropy, said.low, said.high, said.value, float(law.reward[-3:].mean()))


@dataclass(frozen=True)
class SeedCheck:
    """Intervals from within single runs beside the spread between runs that differ in the seed alone."""

    between: float
    within: float
    covered: int
    n: int


def refit(run: Made, entropy: str, reward: str) -> LawFit:
    """The law between two other columns of a run, at the steps that were evaluated."""
    columns = [run.evaluated(name) for name in (entropy, reward, "step")]
    return fit_law(*columns, run=run.name)


def seed_check(runs: Sequence[Made], name: str) -> SeedCheck:
    """How far apart the seeds are, how wide the intervals say they might be, and how many cover the others.

    ``within`` is the mean half-width over 1.96. An interval covers if it holds the mean of the *other* runs.
    """
    estimates = [getattr(run.law, name) for run in runs]
    values = np.array([estimate.value for estimate in estimates], dtype=float)
    low = np.array([estimate.low for estimate in estimates], dtype=float)
    high = np.array([estimate.high for estimate in estimates], dtype=float)
    others = (values.sum() - values) / (len(values) - 1)
    return SeedCheck(
        between=float(values.std(ddof=1)),
        within=float((high - low).mean() / 2 / 1.96),
        covered=int(((low <= others) & (others <= high)).sum()),
        n=len(values),
    )


def half_fall(run: Made, column: str, window: int = 9) -> int:
    """First step at which a column's running median has lost half of what it loses until its minimum."""
    values = run.columns[column]
    smooth = np.array(
        [np.nanmedian(values[max(0, i - window // 2) : i + window // 2 + 1]) for i in range(len(values))]
    )
    middle = (smooth[0] + smooth.min()) / 2
    return int(np.argmax(smooth <= middle))
