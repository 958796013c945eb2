"""What single runs say to the questions of ``docs/lab.md``: numbers, no words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

import entropylaw
from entropylaw import Fit
from entropylaw.documents.document import Entry
from entropylaw.pipeline.steps import fit_logs
from entropylaw.results import Verdict
from entropylaw.results.law import LawFit
from lab.config import Config, read_config

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Made:
    """A finished run: its settings, logged columns (nan where null) and the result of ``entropylaw fit``."""

    config: Config
    columns: Mapping[str, FloatArray]
    fit: Entry[Fit]

    @property
    def name(self) -> str:
        """The run's name."""
        return self.config.run

    @property
    def answer(self) -> Fit:
        """The answer for the run."""
        if self.fit.result is None:
            raise ValueError(f"{self.name} could not be fitted: {self.fit.refusal}")
        return self.fit.result

    @property
    def law(self) -> LawFit:
        """The law's numbers, also where it fails; FitError ``no-law`` of a run without one."""
        return self.answer.lawful()

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


@cache
def foresight(run: Made, share: float) -> Foresight | None:
    """Fit the first ``share`` of the evaluations; predict at the mean smoothed entropy of the last three.

    ``reward`` is the mean of the last three evaluations, ``fails`` whether the law already fails in the
    early fit. The prediction is the law's own.
    """
    law, n = run.law, round(share * run.law.n)
    early = entropylaw.fit(entropy=law.entropy[:n], reward=law.reward[:n], step=law.step[:n], name=run.name)
    predicted = early.lawful().predict(float(law.smoothed_entropy[-3:].mean())).mean
    if predicted.value is None or predicted.low is None or predicted.high is None:
        return None
    return Foresight(
        predicted.value,
        predicted.low,
        predicted.high,
        float(law.reward[-3:].mean()),
        early.lawful().verdict is Verdict.fails,
    )


def cooled_reward(cooling: Mapping[str, FloatArray], entropy: float) -> float:
    """Accuracy of a start that is cooled to an entropy: linear in log H between two temperatures."""
    order = np.argsort(cooling["entropy"])
    x, y = cooling["entropy"][order], cooling["val_acc"][order]
    return float(np.interp(np.log(entropy), np.log(x), y)) if x[0] <= entropy <= x[-1] else float("nan")
