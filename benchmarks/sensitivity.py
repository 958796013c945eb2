"""The answers for real runs with every prior halved and doubled.

python -m benchmarks.sensitivity               print the table
python -m benchmarks.sensitivity --write       and put it into docs/benchmarks/sensitivity.md
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.answers import PLACES, runs_below
from benchmarks.docs import write_block
from entropylaw import EntropyLawError, Fit, fit_run
from entropylaw.analysis import forms, rivals
from entropylaw.engine import prior, residual_prior
from entropylaw.logs.runs import Run

Change = Callable[[Any, float], Any]


def _times(value: float, factor: float) -> float:
    return value * factor


def _stretched(ends: tuple[float, float], factor: float) -> tuple[float, float]:
    """A range of a positive parameter, its logarithm stretched about 1."""
    return ends[0] ** factor, ends[1] ** factor


def _odds(probability: float, factor: float) -> float:
    odds = factor * probability / (1.0 - probability)
    return odds / (1.0 + odds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """A constant of a prior: its meaning, where it stands, and how a factor changes it."""

    meaning: str
    module: ModuleType
    name: str
    change: Change = _times


PRIORS = (
    Prior(meaning="typical correlation length ℓ", module=prior, name="TYPICAL_LENGTH"),
    Prior(meaning="standard deviation of log ℓ", module=prior, name="LENGTH_SPREAD"),
    Prior(meaning="longest ℓ", module=prior, name="LONGEST_LENGTH"),
    Prior(meaning="odds of long memory", module=residual_prior, name="P_LONG", change=_odds),
    Prior(meaning="odds of a constant scale", module=residual_prior, name="P_CONSTANT", change=_odds),
    Prior(meaning="change of the scale γ", module=residual_prior, name="CHANGE"),
    Prior(meaning="odds of no drift", module=prior, name="NO_DRIFT_MASS", change=_odds),
    Prior(meaning="odds of drift without noise", module=prior, name="NO_NOISE_MASS", change=_odds),
    Prior(meaning="width of the coefficients' priors", module=rivals, name="COEFFICIENT"),
    Prior(meaning="range of the rate k", module=forms, name="RATE_REACH"),
    Prior(meaning="range of log p of the power", module=forms, name="POWERS", change=_stretched),
)


@contextmanager
def changed(one: Prior, factor: float) -> Iterator[None]:
    """The constant with another value, for the duration of a block."""
    before = getattr(one.module, one.name)
    setattr(one.module, one.name, one.change(before, factor))
    try:
        yield
    finally:
        setattr(one.module, one.name, before)


def answers(runs: Sequence[Run]) -> list[Fit | None]:
    """The answer for every run, None where it cannot be fitted."""
    found: list[Fit | None] = []
    for run in runs:
        try:
            found.append(fit_run(run))
        except EntropyLawError:
            found.append(None)
    return found


def compared(before: Sequence[Fit | None], after: Sequence[Fit | None]) -> str:
    """Verdicts that differ; changes of the ceiling and of its interval's width, and of P(law)."""
    pairs = [(one, other) for one, other in zip(before, after, strict=True) if one and other]
    other_verdict = sum(one.verdict != other.verdict for one, other in pairs)
    known = [(a.ceiling, b.ceiling) for a, b in pairs if a.ceiling.width and b.ceiling.width]
    shift = [abs(float(b) - float(a)) / float(a.width or np.nan) for a, b in known]
    width = [float(b.width or np.nan) / float(a.width or np.nan) for a, b in known]
    law = max(abs(a.law.probability - b.law.probability) for a, b in pairs)
    low, high = np.quantile(width, [0.05, 0.95])
    return (
        f"{other_verdict} | {np.median(shift):.2f} · {np.quantile(shift, 0.95):.2f} | "
        f"{np.median(width):.2f} [{low:.2f}, {high:.2f}] | {law:.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--write", action="store_true", help="put it into docs/benchmarks/sensitivity.md")
    options = parser.parse_args()
    runs = [run for folder in PLACES.values() if folder.is_dir() for run in runs_below(folder)]
    before = answers(runs)
    lines = [
        f"{sum(fit is not None for fit in before)} runs of {' and '.join(PLACES)}. Verdicts that differ; "
        "change of the averaged ceiling over the width of its interval, median · 95th percentile over runs; "
        "ratio of the widths, median [5th, 95th percentile]; largest change of the law's probability.",
        "",
        "| prior | factor | other verdicts | ceiling moves by | its interval | P(law) |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for one in PRIORS:
        for factor in (0.5, 2.0):
            with changed(one, factor):
                lines.append(f"| {one.meaning} | {factor:g} | {compared(before, answers(runs))} |")
    print("\n".join(lines))
    if options.write:
        write_block("sensitivity", "\n".join(lines))


if __name__ == "__main__":
    main()
