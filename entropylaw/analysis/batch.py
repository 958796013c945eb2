"""The law alone in many runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entropylaw.analysis.law.diagnostics import lost_reward, why_lost
from entropylaw.analysis.law.estimates import checked_level
from entropylaw.analysis.law.evaluations import usable
from entropylaw.analysis.numbers import OWN, law_numbers
from entropylaw.arguments import several
from entropylaw.arrays import FloatArray
from entropylaw.engine.constants import LAW_ALONE, PRIOR
from entropylaw.engine.reads import Reads
from entropylaw.engine.table import table_of
from entropylaw.engine.threads import one_thread
from entropylaw.errors import EntropyLawError, FitError

_NUMBERS = ("ceiling", "a", "b", "reward_now", "headroom")


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """One number of every run with its interval: each array has shape (runs,), nan where a run was refused.

    ``value`` is the median, ``low`` and ``high`` the equal-tailed interval, ``std_error`` the standard
    error, as in :class:`~entropylaw.results.Estimate`.
    """

    value: FloatArray
    low: FloatArray
    high: FloatArray
    std_error: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LawBatch:
    """The law fitted to many runs; every array has shape (runs,), in the order given.

    Attributes
    ----------
    n
        Evaluations used of each run; 0 where it was refused before they were counted.
    a, b, ceiling, reward_now, headroom, drift_share, effective_n
        As in :class:`~entropylaw.results.law.LawFit` and :class:`~entropylaw.results.Residuals`; of a run
        that lost its reward, ceiling and headroom are nan.
    level, method
        Of every interval.
    refused
        Number of a run → why it was not fitted; its numbers are nan.
    """

    n: NDArray[np.intp]
    a: Numbers
    b: Numbers
    ceiling: Numbers
    reward_now: Numbers
    headroom: Numbers
    drift_share: FloatArray
    effective_n: FloatArray
    level: float
    method: str
    refused: Mapping[int, EntropyLawError]


@one_thread
def fit_laws(
    entropy: Sequence[Any] | FloatArray,
    reward: Sequence[Any] | FloatArray,
    step: Any = None,
    *,
    level: float = 0.95,
    keep_outliers: bool = False,
) -> LawBatch:
    """Fit R = −a·exp(H) + b to many runs, each separately, in one call.

    Rivals, verdict and averaged numbers are left out: for one run call :func:`entropylaw.fit_law`.

    Parameters
    ----------
    entropy, reward
        Shape (runs, n), or a sequence of arrays, one per run: as for :func:`entropylaw.fit_law`.
    step
        Shape (n,), the steps of all runs, or a sequence with one array per run; evenly spaced evaluations
        where not given.
    level, keep_outliers
        As for :func:`entropylaw.fit_law`.

    Returns
    -------
    The same numbers as a call of :func:`entropylaw.fit_law` for each run. One that cannot be fitted is in
    ``refused``.

    Raises
    ------
    FitError
        ``lengths-differ``: not one reward series, and one series of steps, for each entropy series.
    UsageError
        ``bad-level``.
    """
    level = checked_level(level)
    entropy, reward = several(entropy, object, "entropy"), several(reward, object, "reward")
    runs = len(entropy)
    steps = steps_by_run(step, runs)
    if not len(reward) == len(steps) == runs:
        raise FitError(
            "lengths-differ",
            f"{runs} runs of entropies, {len(reward)} of rewards and {len(steps)} of steps",
            "pass one series of each for every run",
        )
    numbers, memory = np.full((len(_NUMBERS), 4, runs), np.nan), np.full((2, runs), np.nan)
    n, prior = np.zeros(runs, dtype=np.intp), replace(PRIOR, **LAW_ALONE)
    refused: dict[int, EntropyLawError] = {}
    for i in range(runs):
        try:
            used = usable(entropy[i], reward[i], steps[i], keep_outliers=keep_outliers)
        except FitError as error:
            refused[i] = error
            continue
        n[i] = used.step.size
        table = table_of(used.step, used.smoothed().entropy, used.reward, prior=prior)
        reads = Reads(table, no_ceiling=why_lost(lost_reward(used.reward)))
        law, (share, effective) = law_numbers(reads, level), reads.memory()
        numbers[:, :, i] = [[getattr(law[name], end) for end in Numbers.__slots__] for name in _NUMBERS]
        memory[:, i] = share, min(effective * table.group, used.step.size)
    arrays = {name: Numbers(*values) for name, values in zip(_NUMBERS, numbers, strict=True)}
    return LawBatch(
        n=n, **arrays, drift_share=memory[0], effective_n=memory[1], level=level, method=OWN, refused=refused
    )


def steps_by_run(step: Any, runs: int) -> list[Any]:
    """The steps of each run: an array (n,) is that of all, of several each is that of one, None has none."""
    if step is None:
        return [None] * runs
    steps: list[Any] = list(several(step, object, "step"))
    return [step] * runs if steps and np.ndim(steps[0]) == 0 else steps
