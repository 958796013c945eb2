"""Fit of the law to one run: evaluations, inference of the law and its rivals, estimates, validity."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np

from entropylaw.analysis.forms import FORMS, design, law_column
from entropylaw.analysis.law.estimates import (
    checked_level,
    estimates,
    law_numbers,
    memory,
    predict_at,
    spent_entropy,
)
from entropylaw.analysis.law.evaluations import usable
from entropylaw.analysis.law.inference import covariances, entropy_for_model, infer_run
from entropylaw.analysis.law.residual_models import residual_model
from entropylaw.analysis.law.validity import judge, lag1, strongest_influence
from entropylaw.analysis.rivals import PLAUSIBLE, fit_forms, posterior_mean, range_over, rivals_of
from entropylaw.results import Curve, Residuals, Validity
from entropylaw.results.law import LawFit
from entropylaw.results.result import replace


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
        fitted to the smoothed entropy. ``"walk"``: the same with a random-walk drift; the
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
        Fit evaluations with a gross error, too. By default those of
        :func:`entropylaw.analysis.law.evaluations.gross_outliers` are left out, each with a sentence in
        ``LawFit.dropped``; with ``"odr"`` and ``"ols"`` none are left out.
    run
        Name of the run in the result.

    Raises
    ------
    FitError
        ``too-few-evaluations``, ``entropy-constant``, ``reward-constant``, ``entropy-not-a-mean``,
        ``steps-not-increasing``, ``lengths-differ``, ``out-of-scale``,
        ``eval-size-needs-a-rate``: the data do not determine a fit.
    UsageError
        ``bad-level``, ``bad-interval``, ``bad-eval-size``, ``bad-entropy-sd``.

    Notes
    -----
    The law is linear in (c, a) with c = b − a, so that for given residual covariance the fit is
    generalised least squares in closed form. Estimates are medians, intervals equal-tailed quantiles.
    A pair with a missing value is left out and counted in ``LawFit.dropped``. Errors in the entropy are in
    the law's posterior; all forms are compared with the covariance that they add to the law's residual.

    References
    ----------
    The law: Cui et al. 2025, arXiv:2505.22617, Eq. 6; they fit by least squares without intervals.
    """
    level, model = checked_level(level), residual_model(interval)
    used = usable(entropy, reward, step, entropy_sd, model, keep_outliers=keep_outliers)
    s, h, r = used.step, used.entropy, used.reward
    smoothed = entropy_for_model(model, h, s, used.entropy_sd)
    grid = covariances(s, smoothed.entropy, r, model.name, eval_size)
    for array in (s, h, r, smoothed.entropy):
        array.setflags(write=False)
    inferred = infer_run(s, smoothed, r, grid, model.name)
    grid = grid if inferred is None else inferred.with_errors(grid)
    fits = fit_forms(s, smoothed.entropy, r, grid)
    law = (fits.fits["law"] if inferred is None else inferred).posteriors[0].pruned()
    entropy_now = float(smoothed.entropy[-1])
    if inferred is not None and not model.smooths_entropy:
        # A smoothed entropy is reported as it is; a logged value is corrected by the reward.
        entropy_now = float(inferred.likely[0, -1])
    numbers = law_numbers(law, smoothed.entropy[-1])
    ceiling, a, b, reward_now, headroom = estimates(numbers, level=level, method=model.method)
    # Of a and b: the components' covariance plus the spread of their means.
    rows, centred = np.array([[0.0, 1.0], [1.0, 1.0]]), law.coefficient - law.mean()
    within = np.einsum("g,gpq->pq", law.weight, law.covariance)
    covariance = rows @ (within + (law.weight * centred.T) @ centred) @ rows.T
    fitted = design(law_column(smoothed.entropy)) @ np.array([ceiling.value, a.value])
    fitted.setflags(write=False)
    # With a random-walk drift residuals are relative to the last evaluation: remove their mean.
    residual = r - fitted - (0.0 if model.fixed_level else np.mean(r - fitted))
    probability = fits.probability["law"]
    rivals = rivals_of(fits, r, level=level, method=model.method)
    every = [("law", probability, ceiling), *((one.form, one.probability, one.ceiling) for one in rivals)]
    noise_floor = 0.0 if grid.floor is None else float(grid.floor[-1])
    drift_share, effective_n, long_memory = memory(law, s)
    # The bands of a figure from H = 0 (the ceiling) to the largest entropy: six digits are enough.
    at = np.linspace(min(0.0, float(h.min())), float(h.max()), 61)
    predictions = predict_at(law.pruned(1e-6), noise_floor, smoothed.entropy, at, level, model.name)
    read = attrgetter("mean.value", "mean.low", "mean.high", "observation.low", "observation.high")
    bands = map(tuple, np.array([*map(read, predictions)], dtype=float).T.tolist())
    fit = LawFit(
        run=run,
        n=s.size,
        validity=Validity(ok=True),
        a=a,
        b=b,
        ceiling=ceiling,
        correlation=float(covariance[0, 1] / (np.sqrt(covariance[0, 0]) * np.sqrt(covariance[1, 1]))),
        entropy_now=entropy_now,
        entropy_noise=smoothed.noise,
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
        law_probability=probability,
        law_ruled_out=probability < PLAUSIBLE,
        entropy_spent=spent_entropy(entropy_now, 0.95),
        rivals=rivals,
        ceiling_over_forms=range_over(every, level),
        r_squared=1.0 - float(np.var(r - fitted) / np.var(r)),
        step=s,
        entropy=h,
        smoothed_entropy=smoothed.entropy,
        reward=r,
        fitted=fitted,
        curve=Curve(
            entropy=tuple(at.tolist()),
            **dict(zip(("mean", "low", "high", "observation_low", "observation_high"), bands, strict=True)),
            rivals={
                form: tuple(posterior_mean(one, one.form.onward(at)).tolist())
                for form, one in fits.fits.items()
                if FORMS[form].colour
            },
        ),
        level=level,
        interval=model.name,
        eval_size=eval_size,
        dropped=used.dropped,
        posterior=law,
        noise_floor=noise_floor,
        entropy_sd=used.entropy_sd,
    )
    fit = replace(fit, validity=judge(fit, float(np.sqrt(grid.mean_floor))))
    # Kept for the comparison of forms and for lmfit, which would infer them again.
    vars(fit)["residual_covariances"] = grid
    return fit
