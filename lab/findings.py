"""What single runs say to the questions of ``docs/lab.md``: numbers, no words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy import stats

from entropylaw import Fit, LawFit, Verdict, fit_law
from entropylaw.documents.document import RunFit
from entropylaw.pipeline.steps import fit_logs
from lab.config import Config, read_config

FloatArray = NDArray[np.float64]
LEVEL = 0.95


@dataclass(frozen=True)
class Made:
    """A finished run: its settings, logged columns (nan where null) and the result of ``entropylaw fit``."""

    config: Config
    columns: Mapping[str, FloatArray]
    fit: RunFit

    @property
    def name(self) -> str:
        """The run's name."""
        return self.config.run

    @property
    def answer(self) -> Fit:
        """The answer for the run."""
        if self.fit.answer is None:
            raise ValueError(f"{self.name} could not be fitted: {self.fit.refusal}")
        return self.fit.answer

    @property
    def law(self) -> LawFit:
        """The law's own numbers, also where it fails."""
        return self.answer.law

    def evaluated(self, column: str) -> FloatArray:
        """A column at the steps that were evaluated."""
        return evaluated(self.columns, column)

    def ends(self, column: str, n: int = 3) -> tuple[float, float]:
        """First and last value of a column; the last is a mean over ``n`` evaluations, the first is one."""
        return ends_of(self.columns, column, n)


def evaluated(columns: Mapping[str, FloatArray], column: str) -> FloatArray:
    """A column of a run at the steps that were evaluated."""
    return columns[column][~np.isnan(columns["val_acc"])]


def ends_of(columns: Mapping[str, FloatArray], column: str, n: int = 3) -> tuple[float, float]:
    """First and last value of a column of a run; the last is a mean over ``n`` evaluations."""
    values = evaluated(columns, column)
    return float(values[0]), float(np.mean(values[-n:]))


def read_columns(log: Path) -> dict[str, FloatArray]:
    """The numeric columns of a ``metrics.parquet``, nan where null."""
    table = pq.read_table(log)
    return {
        name: np.array(table[name].to_pylist(), dtype=float)
        for name in table.column_names
        if name not in ("stage", "domain")
    }


def load(folder: Path) -> dict[str, Made]:
    """Every run below a folder, fitted with the defaults of ``entropylaw fit``, by name."""
    made = {}
    for path in sorted(folder.glob("*/config.json")):
        log = path.with_name("metrics.parquet")
        config = read_config(path)
        made[config.run] = Made(config, read_columns(log), fit_logs([log]).runs[0])
    return made


def load_cooling(path: Path) -> dict[str, dict[str, FloatArray]]:
    """The columns of ``cooling.parquet`` for every start, by the run that it belongs to."""
    table = pq.read_table(path).to_pydict()
    starts = list(dict.fromkeys(table["run"]))
    rows = {name: [i for i, run in enumerate(table["run"]) if run == name] for name in starts}
    return {
        name: {
            key: np.array([values[i] for i in rows[name]]) for key, values in table.items() if key != "run"
        }
        for name in starts
    }


def groups(made: Mapping[str, Made]) -> dict[str, list[Made]]:
    """Runs that differ in nothing but the seed, in the order of their first."""
    found: dict[str, list[Made]] = {}
    for run in made.values():
        found.setdefault(run.config.arm, []).append(run)
    return found


Quantity = Callable[[Made], float]


def reward_at(entropy: float, nearest: int = 6) -> Quantity:
    """Validation accuracy at an entropy that a run passes, independent of the functional form.

    A straight line in log H through the evaluations whose smoothed entropies are nearest; nan if the run
    does not pass this entropy.
    """

    def value(run: Made) -> float:
        if run.fit.law is None:
            return float("nan")
        smoothed, reward = run.law.smoothed_entropy, run.law.reward
        if not smoothed.min() <= entropy <= smoothed.max():
            return float("nan")
        distance = np.log(np.maximum(smoothed, 1e-6) / entropy)
        near = np.argsort(np.abs(distance), kind="stable")[:nearest]
        return float(np.polyfit(distance[near], reward[near], 1)[1])

    return value


def values_of(runs: Sequence[Made], quantity: Quantity) -> FloatArray:
    """A quantity of every run that has it."""
    values = np.array([quantity(run) for run in runs], dtype=np.float64)
    known: FloatArray = values[~np.isnan(values)]
    return known


def last_of(column: str) -> Quantity:
    """A column at the end of a run, over three evaluations."""
    return lambda run: run.ends(column)[1]


def first_of(column: str) -> Quantity:
    """A column at the start of a run."""
    return lambda run: run.ends(column)[0]


@dataclass(frozen=True)
class Foresight:
    """The law's prediction for the end of a run from its beginning, at the entropy that was reached."""

    value: float
    low: float
    high: float
    reward: float
    fails: bool

    @property
    def held(self) -> bool:
        """Whether the reward is in the interval."""
        return self.low <= self.reward <= self.high


def foresight(run: Made, share: float) -> Foresight | None:
    """Fit the first ``share`` of the evaluations; predict at the mean smoothed entropy of the last three.

    ``reward`` is the mean of the last three evaluations, ``fails`` whether the law already fails in the
    early fit. The prediction is the law's own.
    """
    law, n = run.law, round(share * run.law.n)
    early = fit_law(law.entropy[:n], law.reward[:n], law.step[:n], run=run.name)
    predicted = early.law.predict(float(law.smoothed_entropy[-3:].mean())).mean
    if predicted.value is None or predicted.low is None or predicted.high is None:
        return None
    return Foresight(
        predicted.value,
        predicted.low,
        predicted.high,
        float(law.reward[-3:].mean()),
        early.verdict is Verdict.fails,
    )


def refit(run: Made, entropy: str, reward: str) -> Fit:
    """The law between two other columns of a run, at the steps that were evaluated."""
    columns = [run.evaluated(name) for name in (entropy, reward, "step")]
    return fit_law(*columns, run=run.name)


@dataclass(frozen=True)
class SeedCheck:
    """Interval widths of single runs against the standard deviation between runs with different seeds.

    ``low`` and ``high`` are the 95 % interval of ``within / between``.
    """

    between: float
    within: float
    low: float
    high: float
    covered: int
    n: int


def seed_check(runs: Sequence[Made], name: str) -> SeedCheck:
    """The deviation between seeds, the half-widths and the coverage of intervals.

    ``within`` is the mean half-width over 1.96. An interval covers if the mean of the *other* runs is in it.
    The interval of the ratio is that of a normal sample's standard deviation (chi-squared).
    """
    estimates = [getattr(run.law, name) for run in runs]
    values = np.array([estimate.value for estimate in estimates], dtype=float)
    low = np.array([estimate.low for estimate in estimates], dtype=float)
    high = np.array([estimate.high for estimate in estimates], dtype=float)
    n = len(values)
    others = (values.sum() - values) / (n - 1)
    between, within = float(values.std(ddof=1)), float((high - low).mean() / 2 / 1.96)
    ends = np.sqrt(stats.chi2.ppf([(1 - LEVEL) / 2, (1 + LEVEL) / 2], n - 1) / (n - 1)) * within / between
    covered = int(((low <= others) & (others <= high)).sum())
    return SeedCheck(between, within, float(ends[0]), float(ends[1]), covered, n)


def cooled_reward(cooling: Mapping[str, FloatArray], entropy: float) -> float:
    """Accuracy of a start that is cooled to an entropy: linear in log H between two temperatures."""
    order = np.argsort(cooling["entropy"])
    x, y = cooling["entropy"][order], cooling["val_acc"][order]
    return float(np.interp(np.log(entropy), np.log(x), y)) if x[0] <= entropy <= x[-1] else float("nan")


def clustered_noise(tokens: Path, step: int) -> float:
    """Standard error of the token-mean entropy with prompts as the units, over sd / √tokens.

    The mean is a ratio of sums over prompts; its error is the spread of the prompts' summed residuals.
    """
    table = pq.read_table(tokens, columns=["prompt", "entropy"], filters=[("step", "==", step)])
    prompt, entropy = table["prompt"].to_numpy(), table["entropy"].to_numpy().astype(np.float64)
    residual = entropy - entropy.mean()
    sums = np.bincount(prompt, weights=residual)
    clustered = np.sqrt(len(sums) / (len(sums) - 1) * (sums**2).sum())
    return float(clustered / (entropy.std() * np.sqrt(len(entropy))))


def half_fall(run: Made, column: str, window: int = 9) -> int | None:
    """First step at which a column's running median has completed half of its fall to the minimum.

    None if the minimum is less than a tenth below the start.
    """
    values = run.columns[column]
    smooth = np.array(
        [np.nanmedian(values[max(0, i - window // 2) : i + window // 2 + 1]) for i in range(len(values))]
    )
    if smooth.min() > 0.9 * smooth[0]:
        return None
    middle = (smooth[0] + smooth.min()) / 2
    return int(np.argmax(smooth <= middle))
