"""Fitting the law to one run: refusals, covariances, posteriors, and every number read off them."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entropylaw.analysis.course import course_for
from entropylaw.analysis.estimate import estimates
from entropylaw.analysis.forms import FORMS, design, law_column
from entropylaw.analysis.influence import strongest_influence
from entropylaw.analysis.law import (
    HIGHEST_ENTROPY,
    SMALLEST_ENTROPY,
    checked_level,
    law_numbers,
    memory,
    predict_at,
    spent_entropy,
)
from entropylaw.analysis.outliers import gross_outliers
from entropylaw.analysis.propagate import infer_run
from entropylaw.analysis.residual import checked_sd, covariances
from entropylaw.analysis.residual_models import ResidualModel, residual_model
from entropylaw.analysis.rivals import PLAUSIBLE, FormFits, fit_forms, posterior_mean, range_over, rivals_of
from entropylaw.analysis.validity import judge, lag1
from entropylaw.arguments import as_floats
from entropylaw.engine.grid import FloatArray
from entropylaw.errors import FitError
from entropylaw.results import Curve, Residuals, Validity
from entropylaw.results.fields import replace
from entropylaw.results.law import LawFit
from entropylaw.results.posterior import Posterior

FEWEST_EVALUATIONS = 5
"""Below this nothing is fitted: two coefficients and a residual need at least as many."""

LARGEST = 1e100
"""Rewards and steps beyond it, or that differ by less than its inverse, are nobody's measurement."""

ROUNDING = 1e-13
"""Relative differences that are rounding, not change."""


def fit_law(
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
) -> LawFit:
    """Fit R = −a·exp(H) + b to one run.

    Parameters
    ----------
    entropy
        Shape (n,), policy entropy in nats per token; any array-like.
    reward
        Shape (n,), the score that the law is about, preferably validation accuracy.
    step
        Shape (n,), the trainer's step, strictly increasing; evenly spaced evaluations where not given.
    level
        Coverage of every interval.
    interval
        ``"drift"``: residuals are a slow drift plus white noise, both integrated out, and the law is
        fitted to the smoothed entropy. ``"walk"``: the same with a drift that returns to no level; the
        ceiling, b and every prediction then are relative to the last evaluation. ``"odr"``: orthogonal
        distance regression, for independent residuals and entropies with known noise. ``"ols"``: ordinary
        least squares on the entropy as logged, for independent residuals and exact entropies only.
    eval_size
        Number of independent samples behind each reward, where the reward is a rate: the noise is then
        at least the binomial R(1 − R)/eval_size.
    entropy_sd
        Standard deviation of the noise with which each entropy was logged, in nats: a number, or shape (n,).
        With ``"drift"`` and ``"walk"`` it is estimated where it is not given.
    keep_outliers
        Fit evaluations with a gross error, too. By default the few that
        :func:`entropylaw.analysis.outliers.gross_outliers` names are left out, each with a sentence in
        ``LawFit.dropped``; with ``"odr"`` and ``"ols"`` none is.
    run
        A name, carried along.

    Raises
    ------
    FitError
        ``too-few-evaluations``, ``entropy-constant``, ``reward-constant``, ``entropy-not-a-mean``,
        ``steps-not-increasing``, ``lengths-differ``, ``out-of-scale``,
        ``eval-size-needs-a-rate``: the data cannot answer.
    UsageError
        ``bad-level``, ``bad-interval``, ``bad-eval-size``, ``bad-entropy-sd``.

    Notes
    -----
    The law is linear in (c, a) with c = b − a, so that for given residual covariance the fit is
    generalised least squares in closed form. Estimates are medians, intervals equal-tailed quantiles.
    A pair with a missing value is left out and counted in ``LawFit.dropped``. Errors in the entropy are in
    the law's posterior; the forms are compared with what they add to the law's residual, all alike.

    References
    ----------
    The law: Cui et al. 2025, arXiv:2505.22617, Eq. 6; they fit by least squares without intervals.
    """
    level, model = checked_level(level), residual_model(interval)
    known = usable(entropy, reward, step, entropy_sd, model, keep_outliers=keep_outliers)
    return _law_fit(run, known, model, level=level, eval_size=eval_size)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evaluations:
    """Evaluations that can be fitted, each array of shape (n,), and why how many others were left out."""

    step: FloatArray
    entropy: FloatArray
    reward: FloatArray
    entropy_sd: FloatArray | None = None
    dropped: dict[str, int]

    def only(self, kept: NDArray[np.bool_] | slice, dropped: dict[str, int]) -> Evaluations:
        """Some of them, and why the others are left out."""
        sd = self.entropy_sd
        return Evaluations(
            step=self.step[kept],
            entropy=self.entropy[kept],
            reward=self.reward[kept],
            entropy_sd=sd if sd is None else sd[kept],
            dropped=self.dropped | dropped,
        )


def usable(
    entropy: Any, reward: Any, step: Any, sd: Any, model: ResidualModel, *, keep_outliers: bool
) -> Evaluations:
    """The evaluations that a residual model can be fitted to; raises as :func:`fit_law`."""
    found = _present(entropy, reward, step, sd, model)
    refuse(found.step, found.entropy, found.reward)
    if keep_outliers or not model.drops_outliers:
        return found
    outliers = gross_outliers(found.step, found.entropy, found.reward)
    if outliers:
        kept = ~np.isin(found.step, np.array([outlier.values["step"] for outlier in outliers], dtype=float))
        found = found.only(kept, {outlier.sentence: 1 for outlier in outliers})
        refuse(found.step, found.entropy, found.reward)
    return found


def complete(
    entropy: Any, reward: Any, step: Any
) -> tuple[FloatArray, FloatArray, FloatArray, dict[str, int]]:
    """Steps, entropies and rewards without missing values, and how many pairs that cost.

    Raises :class:`FitError` ``lengths-differ`` and :class:`UsageError` ``bad-argument``.
    """
    found = _present(entropy, reward, step)
    return found.step, found.entropy, found.reward, found.dropped


def _present(
    entropy: Any, reward: Any, step: Any, sd: Any = None, model: ResidualModel | None = None
) -> Evaluations:
    """Arrays of equal length, of the evaluations with all of entropy, reward and step."""
    h, r = as_floats(entropy, "entropy"), as_floats(reward, "reward")
    s = np.arange(h.size, dtype=float) if step is None else as_floats(step, "step")
    if not h.size == r.size == s.size:
        raise FitError(
            "lengths-differ",
            f"{h.size} entropies, {r.size} rewards and {s.size} steps, expected one of each per evaluation",
            "pass arrays of the same length",
        )
    noise = None if model is None else checked_sd(sd, s.size, model)
    every = Evaluations(step=s, entropy=h, reward=r, entropy_sd=noise, dropped={})
    keep = np.isfinite(h) & np.isfinite(r) & np.isfinite(s)
    lost = int((~keep).sum())
    return every.only(keep, {"a value is missing or not finite": lost} if lost else {})


def refuse(step: FloatArray, entropy: FloatArray, reward: FloatArray) -> None:
    """Raise where no fit can mean anything."""
    if step.size < FEWEST_EVALUATIONS:
        raise FitError(
            "too-few-evaluations",
            f"{step.size} usable evaluations, expected at least {FEWEST_EVALUATIONS}",
            "evaluate more often, or fit the training reward with --reward",
        )
    check_steps(step)
    check_scale("reward", reward)
    if np.abs(entropy).max() > HIGHEST_ENTROPY:
        largest = entropy[np.abs(entropy).argmax()]
        raise FitError(
            "entropy-not-a-mean",
            f"entropy reaches {largest:.4g}, expected nats per token, at most {HIGHEST_ENTROPY:g}",
            "this looks like a sum over tokens: divide it by the response length",
        )
    check_scale("entropy", entropy, SMALLEST_ENTROPY)
    if np.ptp(entropy) <= ROUNDING * np.abs(entropy).max():
        raise FitError(
            "entropy-constant",
            f"entropy is {entropy[0]:g} in all {entropy.size} evaluations, expected one that moves",
            "check the logger (some write 0.0 where entropy is not computed), or name another column",
        )
    if np.ptp(reward) <= ROUNDING * np.abs(reward).max():
        raise FitError(
            "reward-constant",
            f"reward is {reward[0]:g} in all {reward.size} evaluations, expected one that moves",
            "check the reward function, or name another column with --reward",
        )


def check_steps(step: FloatArray) -> None:
    """Raise where steps do not increase, or squares of them cannot be added up."""
    check_scale("step", step)
    if not np.all(np.diff(step) > 0):
        at = int(np.flatnonzero(~(np.diff(step) > 0))[0])
        raise FitError(
            "steps-not-increasing",
            f"step {step[at + 1]:g} follows step {step[at]:g}, expected increasing steps",
            "sort the run by step and keep one evaluation a step",
        )


def check_scale(name: str, values: FloatArray, least: float = 1 / LARGEST) -> None:
    """Raise where finite values are too large, or lie too close together, for sums of their squares."""
    if values.size and (np.abs(values).max() > LARGEST or 0 < np.ptp(values) < least):
        raise FitError(
            "out-of-scale",
            f"{name} runs from {values.min():.3g} to {values.max():.3g}, "
            "expected a scale on which squares can be added up",
            f"rescale the {name}",
        )


def _law_fit(
    run: str, known: Evaluations, model: ResidualModel, *, level: float, eval_size: int | None
) -> LawFit:
    """Infer the law and its rivals, and read every number off the posteriors."""
    s, h, r = known.step, known.entropy, known.reward
    course = course_for(model, h, s, known.entropy_sd)
    grid = covariances(s, course.entropy, r, model.name, eval_size)
    for array in (s, h, r, course.entropy):
        array.setflags(write=False)
    told = infer_run(s, course, r, grid, model.name)
    fits = fit_forms(s, course.entropy, r, grid if told is None else told.blurred(grid))
    law = (fits.fits["law"] if told is None else told).posteriors[0].pruned()
    # A smoothed entropy is what the log says; a logged value is corrected by the reward.
    entropy_now = float(course.entropy[-1] if told is None or model.smooths_entropy else told.likely[0, -1])
    numbers = law_numbers(law, course.entropy[-1])
    ceiling, a, b, reward_now, headroom = estimates(numbers, level=level, method=model.method)
    # Of a and b: the components' covariance plus the spread of their means.
    rows, centred = np.array([[0.0, 1.0], [1.0, 1.0]]), law.coefficient - law.mean()
    within = np.einsum("g,gpq->pq", law.weight, law.covariance)
    covariance = rows @ (within + (law.weight * centred.T) @ centred) @ rows.T
    fitted = design(law_column(course.entropy)) @ np.array([ceiling.value, a.value])
    fitted.setflags(write=False)
    # Where the law is relative to the last evaluation, its residuals have a mean of their own.
    residual = r - fitted - (0.0 if model.fixed_level else np.mean(r - fitted))
    weight = fits.weight["law"]
    rivals = rivals_of(fits, r, level=level, method=model.method)
    # What the choice of form adds: every form that is not ruled out.
    kept = [("law", weight, ceiling), *((one.form, one.weight, one.ceiling) for one in rivals)]
    noise_floor = 0.0 if grid.floor is None else float(grid.floor[-1])
    drift_share, effective_n, long_memory = memory(law, s)
    fit = LawFit(
        run=run,
        n=s.size,
        validity=Validity(ok=True),
        a=a,
        b=b,
        ceiling=ceiling,
        correlation=float(covariance[0, 1] / (np.sqrt(covariance[0, 0]) * np.sqrt(covariance[1, 1]))),
        entropy_now=entropy_now,
        entropy_noise=course.noise,
        reward_now=reward_now,
        headroom=headroom,
        residuals=Residuals(
            sd=float(np.sqrt(residual @ residual / (residual.size - 2))),
            lag1=lag1(residual),
            effective_n=float(effective_n),
            drift_share=float(drift_share),
            long_memory=float(long_memory),
        ),
        influence=strongest_influence(s, h, r),
        law_weight=weight,
        law_ruled_out=weight < PLAUSIBLE,
        entropy_spent=spent_entropy(entropy_now, 0.95),
        rivals=rivals,
        ceiling_over_forms=range_over([one for one in kept if one[1] >= PLAUSIBLE], level),
        r_squared=1.0 - float(np.var(r - fitted) / np.var(r)),
        step=s,
        entropy=h,
        course=course.entropy,
        reward=r,
        fitted=fitted,
        # What is drawn need not be exact to nine digits.
        curve=_curve(law.pruned(1e-6), noise_floor, course.entropy, h, fits, level, model.name),
        level=level,
        interval=model.name,
        eval_size=eval_size,
        dropped=known.dropped,
        posterior=law,
        noise_floor=noise_floor,
        entropy_sd=known.entropy_sd,
    )
    return replace(fit, validity=judge(fit, None if grid.floor is None else float(np.sqrt(grid.mean_floor))))


def _curve(
    law: Posterior,
    floor: float,
    course: FloatArray,
    h: FloatArray,
    fits: FormFits,
    level: float,
    interval: str,
) -> Curve:
    """Bands of the law from H = 0 (the ceiling) to the largest entropy, and the rivals' means."""
    entropies = np.linspace(min(0.0, float(h.min())), float(h.max()), 61)
    drawn = predict_at(law, floor, course, entropies, level, interval)
    read = attrgetter("mean.value", "mean.low", "mean.high", "observation.low", "observation.high")
    bands = map(tuple, np.array([*map(read, drawn)], dtype=float).T.tolist())
    return Curve(
        entropy=tuple(entropies.tolist()),
        **dict(zip(("mean", "low", "high", "observation_low", "observation_high"), bands, strict=True)),
        rivals={
            form: tuple(posterior_mean(one, one.form.onward(entropies)).tolist())
            for form, one in fits.fits.items()
            if FORMS[form].colour
        },
    )
