"""The law's own numbers, without its verdict and its averages; and tables under one covariance."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import entropylaw
from entropylaw.analysis.answer import fit_evaluations
from entropylaw.analysis.law.evaluations import rewarded, usable
from entropylaw.analysis.state import state_of
from entropylaw.analysis.stop import stop_line
from entropylaw.engine.constants import PRIOR
from entropylaw.engine.reads import Reads
from entropylaw.engine.table import table_of
from entropylaw.options import FitOptions
from entropylaw.results.law import LawFit
from entropylaw.results.result import Finding, replace
from entropylaw.results.stop import StopLine

WHITE = replace(PRIOR, white=1.0, long=0.0, scales=((0.0, 1.0),))
"""Residuals are independent and of constant scale."""


def fit_arrays(entropy: Any, reward: Any, step: Any = None, **options: Any) -> entropylaw.Fit:
    """The fit of arrays."""
    return entropylaw.fit(entropy=entropy, reward=reward, step=step, **options)


def fit_with(findings: Sequence[Finding], entropy: Any, reward: Any, step: Any = None) -> entropylaw.Fit:
    """The fit of arrays of whose columns something is known."""
    used = usable(entropy, reward, step, keep_outliers=False)
    return fit_evaluations(used, FitOptions(), run="run", max_reward=None, findings=findings, is_ahead=False)


def own_law(*series: Any, **options: Any) -> LawFit:
    """The law of arrays; arguments as for :func:`fit_arrays`."""
    return fit_arrays(*series, **options).lawful()


def law_alone(entropy: Any, reward: Any, step: Any = None, max_reward: float | None = None) -> LawFit:
    """The law of arrays, without a forecast, which takes longest."""
    used = usable(entropy, reward, step, keep_outliers=False)
    fit = fit_evaluations(used, FitOptions(), run="run", max_reward=max_reward, is_ahead=False)
    return fit.lawful()


def phases_of(step: Any, planning: Any = None, execution: Any = None, **options: Any) -> entropylaw.PhaseFit:
    """The phases of arrays."""
    return entropylaw.phases(step=step, planning=planning, execution=execution, **options)


def stop_line_of(step: Any, entropy: Any, reward: Any, **options: Any) -> StopLine:
    """The stop line of arrays."""
    used = rewarded(step, entropy, reward)
    state = state_of(
        used.step,
        used.reward,
        max_reward=options.get("max_reward"),
        gain=options.pop("gain", None),
        is_score=options.get("is_score", True),
    )
    return stop_line(used, state, **options)


def fixed(length: float, white: float) -> Any:
    """Residuals are a drift of one length, in evaluations, and a white share."""
    return replace(WHITE, white=0.0, lengths=(length,), shares=((white, 1.0),))


def reads_under(prior: Any, entropy: Any, reward: Any, step: Any = None) -> Reads:
    """The reads of entropies as they are under some prior."""
    steps = np.arange(len(reward), dtype=float) if step is None else np.asarray(step, dtype=float)
    return Reads(
        table_of(steps, np.asarray(entropy, dtype=float), np.asarray(reward, dtype=float), prior=prior)
    )
