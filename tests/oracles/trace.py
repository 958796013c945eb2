"""One run that every tool writes, and what must be read from any of its files.

Numbers of full float64 precision, an evaluation every tenth step, a nan that was logged, keys with ``/``.
The keys are such that every tool takes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import entropylaw
from entropylaw import Run, read_runs
from entropylaw.results.result import replace

ENTROPY, REWARD, VALIDATION, OTHER = (
    "train/entropy",
    "train/reward",
    "validation/accuracy",
    "perf/tokens/second",
)
STEPS = 200
NAN_AT = 57


@dataclass(frozen=True, eq=False)
class Trace:
    """Steps, and columns with nan where there is no value."""

    step: np.ndarray
    columns: dict[str, np.ndarray]

    def records(self) -> Iterator[tuple[int, dict[str, float]]]:
        """Yield each step with what was logged; the nan at one step was, other missing values were not."""
        for row, step in enumerate(self.step.tolist()):
            cells = {name: float(cells[row]) for name, cells in self.columns.items()}
            yield (
                step,
                {
                    name: value
                    for name, value in cells.items()
                    if value == value or (name, step) == (REWARD, NAN_AT)
                },
            )

    def frame(self) -> dict[str, list[Any]]:
        """A table in memory, None where nothing was logged."""
        rows = [{"step": step, **record} for step, record in self.records()]
        return {name: [row.get(name) for row in rows] for name in ("step", *self.columns)}

    @cached_property
    def as_float32(self) -> Trace:
        """What is left of it in float32."""
        rounded = {name: cells.astype(np.float32).astype(np.float64) for name, cells in self.columns.items()}
        return replace(self, columns=rounded)

    @cached_property
    def law(self) -> dict[str, tuple[float, ...]]:
        """The fit to the table in memory."""
        return law(*read_runs(self.frame()))


def trace() -> Trace:
    """The run: entropy falls, the reward follows the law, with noise."""
    chance = np.random.default_rng(20)
    step = np.arange(1, STEPS + 1)
    entropy = 0.05 + 0.9 * np.exp(-step / 60) * np.exp(0.02 * chance.standard_normal(STEPS))
    reward = 0.9 - 0.25 * np.exp(entropy) + 0.01 * chance.standard_normal(STEPS)
    accuracy = 0.95 - 0.25 * np.exp(entropy) + 0.005 * chance.standard_normal(STEPS)
    reward[NAN_AT - 1] = np.nan
    accuracy[step % 10 != 0] = np.nan
    columns = {ENTROPY: entropy, REWARD: reward, VALIDATION: accuracy, OTHER: 1e4 * chance.random(STEPS) ** 9}
    return Trace(step, columns)


def assert_read(path: Any, expected: Trace) -> Run:
    """The run behind a path has these steps, these numbers to the bit, and the same law as in memory."""
    (run,) = read_runs(path)
    assert run.step.tolist() == expected.step.tolist()
    assert set(run.columns) >= set(expected.columns)
    for name, cells in expected.columns.items():
        assert run.columns[name].tobytes() == np.where(np.isnan(cells), np.nan, cells).tobytes(), name
    assert run.dropped == {}
    assert law(run) == expected.law
    return run


def law(run: Run) -> dict[str, tuple[float, ...]]:
    """The fit's numbers, of validation and of training reward."""
    found = {}
    for reward in (None, REWARD):
        law_of_run = entropylaw.fit(run, reward=reward).lawful()
        ceiling = law_of_run.ceiling
        numbers = (law_of_run.a.value, law_of_run.b.value, ceiling.value, ceiling.low, ceiling.high)
        found[reward or VALIDATION] = numbers
        assert np.isfinite(found[reward or VALIDATION]).all()
    return found
