"""Fit of the law: to one run with the other functional forms, and to many runs in one call.

Runs with the same steps share the filter's gains, and every quantile of a thousand runs is found at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entropylaw.analysis.conditions import p_long
from entropylaw.analysis.forms import design, law_column
from entropylaw.analysis.law.covariances import GRIDS
from entropylaw.analysis.law.diagnostics import lost_reward
from entropylaw.analysis.law.estimates import (
    checked_level,
    estimates,
    headroom,
    law_numbers,
    memory,
    tails,
)
from entropylaw.analysis.law.evaluations import Evaluations, usable
from entropylaw.analysis.law.inference import (
    FEWEST,
    entropy_for_model,
    infer_law,
    infer_run,
    relevant_errors,
    smooth_entropies,
)
from entropylaw.analysis.law.influence import lag1, strongest_influence
from entropylaw.analysis.law.lag import lag_of
from entropylaw.analysis.law.residual_models import ResidualModel, residual_model
from entropylaw.analysis.law.scatter import likeliest, scatter_of_thirds
from entropylaw.analysis.law.verdict import r_squared
from entropylaw.analysis.rivals import FormFits, fit_forms
from entropylaw.arguments import several
from entropylaw.arrays import FloatArray
from entropylaw.engine.threads import one_thread
from entropylaw.errors import EntropyLawError, FitError
from entropylaw.results import Residuals
from entropylaw.results.law import LawFit


def law_of_run(
    entropy: Any,
    reward: Any,
    step: Any = None,
    *,
    level: float = 0.95,
    interval: str = "drift",
    eval_size: int | None = None,
    entropy_sd: Any = None,
    keep_outliers: bool = False,
    run: str = "run",
) -> tuple[LawFit, FormFits]:
    """The law's own numbers, and the functional forms on the same evaluations.

    Arguments, errors and notes are those of :func:`entropylaw.fit_law`.
    """
    level, model = checked_level(level), residual_model(interval)
    used = usable(entropy, reward, step, entropy_sd, model, keep_outliers=keep_outliers)
    s, h, r = used.step, used.entropy, used.reward
    smoothed = entropy_for_model(model, h, s, used.entropy_sd)
    grid, inferred = infer_run(s, smoothed, r, model.name, eval_size)
    # The root is in the covariances, as far as it matters; of a long run it is as large as all else.
    smoothed = replace(smoothed, root=np.empty((0, 0)))
    for array in (s, h, r, smoothed.entropy):
        array.setflags(write=False)
    fits = fit_forms(s, smoothed.entropy, r, grid)
    law = (fits.fits["law"] if inferred is None else inferred).posteriors[0].pruned()
    entropy_now = float(smoothed.entropy[-1])
    if inferred is not None and not model.smooths_entropy:
        # A smoothed entropy is reported as it is; a logged value is corrected by the reward.
        entropy_now = float(inferred.likely[0, -1])
    numbers = law_numbers(law, smoothed.entropy[-1])
    ceiling, a, b, reward_now, left = estimates(numbers, level=level, method=model.method)
    # Of a and b: the components' covariance plus the spread of their means.
    rows, centred = np.array([[0.0, 1.0], [1.0, 1.0]]), law.coefficient - law.mean()
    within = np.einsum("g,gpq->pq", law.weight, law.covariance)
    covariance = rows @ (within + (law.weight * centred.T) @ centred) @ rows.T
    fitted = design(law_column(smoothed.entropy)) @ np.array([ceiling.value, a.value])
    fitted.setflags(write=False)
    # With a random-walk drift residuals are relative to the last evaluation: remove their mean.
    residual = r - fitted - (0.0 if model.fixed_level else np.mean(r - fitted))
    drift_share, effective_n = memory(law)
    thirds, p_thirds = scatter_of_thirds(s, r, grid, fits) or (None, None)
    fit = LawFit(
        run=run,
        n=s.size,
        a=a,
        b=b,
        ceiling=ceiling,
        correlation=float(covariance[0, 1] / (np.sqrt(covariance[0, 0]) * np.sqrt(covariance[1, 1]))),
        entropy_now=entropy_now,
        entropy_noise=smoothed.noise,
        reward_now=reward_now,
        headroom=headroom(left),
        residuals=Residuals(
            sd=float(np.sqrt(residual @ residual / (residual.size - 2))),
            lag1=lag1(residual),
            effective_n=float(effective_n),
            drift_share=float(drift_share),
            long_memory=None if grid.rungs is None else p_long(fits),
            thirds=thirds,
            p_thirds=p_thirds,
        ),
        influence=strongest_influence(s, h, r),
        lag=lag_of(s, h, smoothed.entropy, r, likeliest(grid, fits)) if model.smooths_entropy else None,
        probability=fits.probability["law"],
        r_squared=r_squared(h, r),
        step=s,
        entropy=h,
        smoothed_entropy=smoothed.entropy,
        reward=r,
        fitted=fitted,
        level=level,
        interval=model.name,
        eval_size=eval_size,
        dropped=used.dropped,
        posterior=law,
        noise_floor=0.0 if grid.floor is None else float(grid.floor[-1]),
        entropy_sd=used.entropy_sd,
    )
    # Kept for the comparison of forms and for lmfit, which would infer them again.
    vars(fit)["residual_covariances"] = grid
    return fit, fits


_NUMBERS = ("ceiling", "a", "b", "reward_now", "headroom")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
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
    interval: str = "drift",
    keep_outliers: bool = False,
) -> LawBatch:
    """Fit R = −a·exp(H) + b to many runs, each separately, in one call.

    Rivals, verdict and averaged numbers are left out: for one run call :func:`fit_law`.

    Parameters
    ----------
    entropy, reward
        Shape (runs, n), or a sequence of arrays, one per run: as for :func:`fit_law`.
    step
        Shape (n,), the steps of all runs, or a sequence with one array per run; evenly spaced evaluations
        where not given.
    level, interval, keep_outliers
        As for :func:`fit_law`.

    Returns
    -------
    The same numbers as a call of :func:`fit_law` for each run. One that cannot be fitted is in ``refused``.

    Raises
    ------
    FitError
        ``lengths-differ``: not one reward series, and one series of steps, for each entropy series.
    UsageError
        ``bad-level``, ``bad-interval``.
    """
    level, model = checked_level(level), residual_model(interval)
    entropy, reward = several(entropy, object, "entropy"), several(reward, object, "reward")
    runs = len(entropy)
    steps: list[Any] = [None] * runs if step is None else list(several(step, object, "step"))
    if steps and np.ndim(steps[0]) == 0:
        steps = [step] * runs
    if not len(reward) == len(steps) == runs:
        raise FitError(
            "lengths-differ",
            f"{runs} runs of entropies, {len(reward)} of rewards and {len(steps)} of steps",
            "pass one series of each for every run",
        )
    table, about = np.full((len(_NUMBERS), 4, runs), np.nan), np.full((2, runs), np.nan)
    n = np.zeros(runs, dtype=np.intp)
    refused: dict[int, EntropyLawError] = {}
    lost: list[int] = []
    groups: dict[bytes, list[tuple[int, Evaluations]]] = {}
    for i in range(runs):
        try:
            found = usable(entropy[i], reward[i], steps[i], None, model, keep_outliers=keep_outliers)
        except FitError as error:
            refused[i] = error
        else:
            n[i] = found.step.size
            if lost_reward(found.reward) is not None:
                lost.append(i)
            groups.setdefault(found.step.tobytes(), []).append((i, found))
    for group in groups.values():
        # Posteriors of fifty runs are held at once.
        for start in range(0, len(group), 50):
            members, some = zip(*group[start : start + 50], strict=True)
            table[:, :, members], about[:, members] = _numbers(some, level, model)
    left = table[_NUMBERS.index("headroom")]
    left[3, left[1] < 0] = np.nan  # a draw below 0 is none
    left[:3] = np.where(left[:3] <= 1e-9 * (left[2] - left[1]), 0.0, left[:3])
    for name in ("ceiling", "headroom"):
        table[_NUMBERS.index(name), :, lost] = np.nan
    parts = ("value", "low", "high", "std_error")
    numbers = (Numbers(**dict(zip(parts, rows, strict=True))) for rows in table)
    return LawBatch(
        n=n,
        **dict(zip(_NUMBERS, numbers, strict=True)),
        drift_share=about[0],
        effective_n=about[1],
        level=level,
        method=model.method,
        refused=refused,
    )


def _numbers(
    runs: Sequence[Evaluations], level: float, model: ResidualModel
) -> tuple[FloatArray, FloatArray]:
    """Numbers of m runs with the same steps, shape (5, 4, m), and :func:`memory` of their drift, (2, m)."""
    step = runs[0].step
    entropy, reward = np.array([run.entropy for run in runs]), np.array([run.reward for run in runs])
    smooth, root = entropy, np.empty((*entropy.shape, 0))
    if model.smooths_entropy and step.size >= FEWEST:
        found = smooth_entropies(entropy, step)
        flat = np.ptp(found.entropy, axis=1) == 0
        smooth = np.where(flat[:, None], entropy, found.entropy)
        root = np.where(flat[:, None, None], 0.0, found.root)
    errors = relevant_errors(smooth, root, reward)
    tables, about = [], []
    for one in np.arange(len(runs))[:, None]:
        grid = GRIDS[model.name](step, smooth[one[0]], reward[one[0]])
        law = infer_law(step, smooth[one], errors[one], reward[one], grid).posteriors
        mixture = law_numbers(law.pruned(), smooth[one, -1])
        low, value, high = mixture.quantiles(tails(level))
        spread = mixture.scale[:, 0] if grid.length.size == 1 else mixture.standard_deviation()
        tables.append(np.array([value, low, high, spread]).T)
        about.append(memory(law)[:, 0])
    return np.stack(tables, axis=-1), np.array(about).T
