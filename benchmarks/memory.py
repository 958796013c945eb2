"""How often the residuals of real runs have long memory: the odds that they allow.

python -m benchmarks.memory                    print the table
python -m benchmarks.memory --write            and put it into docs/benchmarks/memory.md

A run says nothing certain about its memory. Together runs bound the share p of them whose memory is long:
their likelihood is the product of p · (evidence of a ladder) + (1 − p) · (evidence of a drift of one length).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.answers import PLACES, runs_below
from benchmarks.docs import write_block
from entropylaw import EntropyLawError, fit_run
from entropylaw.engine.posterior import infer
from entropylaw.engine.prior import drift_grid
from entropylaw.engine.residual_prior import P_LONG, long_memory_grid
from entropylaw.results.law import LawFit

FEWEST = 12
DROP = 1.353
"""Fall of the log likelihood to its 95 % limit on one side: half the 90 % quantile of χ² with 1 d.f."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Evaluations of a run, and log odds of long against short memory, beside two curves."""

    place: str
    n: int
    law: float
    flexible: float


def log_odds(law: LawFit, *, flexible: bool) -> float | None:
    """Log evidence of a ladder less that of a drift of one length, both of constant scale.

    The curve is the law, or a combination of exp(H), H, H², the step and its logarithm: what no curve in H
    and the step explains is the residual.
    """
    h, number = law.smoothed_entropy, np.arange(1.0, law.n + 1.0)
    more = (h, h**2, number, np.log(number)) if flexible else ()
    x = np.column_stack([np.ones(law.n), np.expm1(h), *more])
    scaled = (x - np.append(0.0, x[:, 1:].mean(axis=0))) / np.linalg.norm(x, axis=0)
    if law.n < max(FEWEST, x.shape[1] + 6) or np.abs(np.diag(np.linalg.qr(scaled)[1])).min() < 1e-7:
        return None
    grids = long_memory_grid(law.step), drift_grid(law.step)
    long, short = (infer(law.step, scaled[None], law.reward[None], grid)[0].log_evidence for grid in grids)
    return float(long - short)


def memories(place: str) -> list[Memory]:
    """Of every run of a place that can be fitted."""
    found = []
    for run in runs_below(PLACES[place]) if PLACES[place].is_dir() else ():
        try:
            law = fit_run(run).law
        except EntropyLawError:
            continue
        each = log_odds(law, flexible=False), log_odds(law, flexible=True)
        if each[0] is not None and each[1] is not None:
            found.append(Memory(place=place, n=law.n, law=each[0], flexible=each[1]))
    return found


def odds_allowed(log_odds: NDArray[np.float64]) -> tuple[float, float]:
    """Most likely odds of long memory among runs with these, and the largest that they allow at 95 %."""
    odds = np.geomspace(1e-3, 1e3, 6001)
    share = odds / (1.0 + odds)
    likelihood = np.logaddexp(np.log(share)[:, None] + log_odds, np.log1p(-share)[:, None]).sum(axis=1)
    return float(odds[likelihood.argmax()]), float(odds[likelihood > likelihood.max() - DROP].max())


def rows(found: Sequence[Memory]) -> list[str]:
    """A row per place and for all."""
    lines = [
        "| runs | of | with 150 evaluations or more | curve | odds of long memory | at most (95 %) |",
        "| ---: | --- | ---: | --- | ---: | ---: |",
    ]
    for place in (*dict.fromkeys(one.place for one in found), "all"):
        some = [one for one in found if place in (one.place, "all")]
        long = sum(one.n >= 150 for one in some)
        for curve in ("law", "flexible"):
            best, most = odds_allowed(np.array([getattr(one, curve) for one in some]))
            shown = [f"{value:.2g}" if value > 1.01e-3 else "0" for value in (best, most)]
            lines.append(f"| {len(some)} | {place} | {long} | {curve} | {shown[0]} | {shown[1]} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    found = [one for place in PLACES for one in memories(place)]
    lines = [*rows(found), "", f"The engine takes odds of {P_LONG / (1.0 - P_LONG):.2g}."]
    print("\n".join(lines))
    if options.write:
        write_block("memory", "\n".join(lines))


if __name__ == "__main__":
    main()
