"""Estimates averaged over the functional forms by their posterior probability.

Which form is true is one more unknown: the posterior of a number is the mixture of its posteriors under all
forms, and the ends of its interval are quantiles of that mixture (Hoeting et al. 1999,
doi:10.1214/ss/1009212519).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from entropylaw.analysis.forms import FORMS
from entropylaw.analysis.law.estimates import as_predictions, checked_entropies, checked_level, estimates
from entropylaw.analysis.law.residual_models import residual_model
from entropylaw.analysis.rivals import FormFit, FormFits, fit_forms
from entropylaw.arguments import as_number, of_kind
from entropylaw.errors import UsageError
from entropylaw.results import Prediction
from entropylaw.results.arrays import FloatArray
from entropylaw.results.law import Averaged, FormAnswer, LawFit
from entropylaw.results.mixture import Mixture
from entropylaw.results.posterior import Posterior

AVERAGED = (*(name for name, kind in FORMS.items() if kind.core), "power")
"""The forms that are averaged: those of every fit, and the power of H."""

GAIN = 0.01
"""Reward: the smallest gain that counts, one point of a score between 0 and 1."""

_NEGLIGIBLE = 1e-7
"""Probability of components that are left out, together."""


def average_forms(law: LawFit, *, gain: float = GAIN) -> Averaged:
    """The ceiling, the headroom and the reward now, averaged over the functional forms.

    Parameters
    ----------
    law
        A fit of :func:`entropylaw.fit_law`, whose smoothed entropy, residual model and level are used.
    gain
        Reward: ``p_headroom`` is the probability that the headroom is at least this.

    Raises
    ------
    UsageError
        ``bad-gain`` for a gain that is not above 0.

    Notes
    -----
    The forms are those of :data:`AVERAGED` that can be fitted to the run, with equal prior probabilities and
    the prior of :func:`entropylaw.analysis.rivals.fit_forms`. None is left out for a small probability.
    """
    law, gain = of_kind(law, LawFit, "law"), as_number(gain, "gain")
    if not gain > 0:
        raise UsageError("bad-gain", f"gain {gain:g}, expected a reward above 0", "give 0.01 for one point")
    fits = _fits(law)
    level, method = law.level, f"averaged over forms; {residual_model(law.interval).method}"
    each = {name: _now_and_ceiling(fit) for name, fit in fits.fits.items()}
    together = _averaged(each, fits.probability)
    ceiling, headroom, now = estimates(together, level=level, method=method)
    own = {name: estimates(part.pruned(), level=level, method=method) for name, part in each.items()}
    answers = (
        FormAnswer(
            form=name,
            formula=fit.form.formula,
            probability=fits.probability[name],
            ceiling=own[name][0],
            headroom=own[name][1],
        )
        for name, fit in fits.fits.items()
    )
    result = Averaged(
        run=law.run,
        forms=tuple(sorted(answers, key=lambda one: (-float(f"{one.probability:.9g}"), one.form))),
        skipped=fits.skipped,
        ceiling=ceiling,
        headroom=headroom,
        reward_now=now,
        gain=gain,
        p_headroom=float(1.0 - together.cdf(np.full(3, gain))[1]),
        entropy_now=law.entropy_now,
        lowest_entropy=float(law.smoothed_entropy.min()),
        level=level,
    )
    vars(result)["basis"] = law, fits
    return result


def predict(averaged: Averaged, entropy: Any, level: float | None) -> Prediction | tuple[Prediction, ...]:
    """:meth:`Averaged.predict <entropylaw.results.law.Averaged.predict>`."""
    level = averaged.level if level is None else checked_level(level)
    values, (law, fits) = checked_entropies(entropy), averaged.basis
    fresh = np.repeat([0.0, 1.0], values.size)
    each = {}
    for name, fit in fits.fits.items():
        rows = fit.form.designs(fit.form.onward(values), fit.shape)
        each[name] = _mixture(fit, np.tile(rows, (1, 2, 1)), fresh=fresh, floor=law.noise_floor)
    numbers, method = _averaged(each, fits.probability), averaged.ceiling.method
    predictions = as_predictions(numbers, law.smoothed_entropy, values, level=level, method=method)
    return predictions[0] if np.ndim(entropy) == 0 else predictions


def _fits(law: LawFit) -> FormFits:
    """Every form on the law's evaluations; of the law itself the posterior of the fit."""
    fits = fit_forms(law.step, law.smoothed_entropy, law.reward, law.residual_covariances, AVERAGED)
    known = replace(fits.fits["law"], posteriors=Posterior.joined([law.posterior]))
    return replace(fits, fits={**fits.fits, "law": known})


def _now_and_ceiling(fit: FormFit) -> Mixture:
    """Ceiling, headroom and reward now by one form; the reward now includes the drift at the last step."""
    ceiling = fit.form.ceiling_row(fit.shape)
    now = fit.form.designs(fit.form.inputs, fit.shape)[:, -1:, :]
    rows = np.concatenate([ceiling, ceiling - now, now], axis=1)
    return _mixture(fit, rows, drift_now=np.array([0.0, -1.0, 1.0]))


def _mixture(
    fit: FormFit,
    rows: FloatArray,
    *,
    drift_now: FloatArray | float = 0.0,
    fresh: FloatArray | float = 0.0,
    floor: float = 0.0,
) -> Mixture:
    """The k numbers ``rows`` (shapes, k, p) @ β of a form, over its shapes and covariances."""
    some = np.flatnonzero(fit.weight > _NEGLIGIBLE)
    posteriors = fit.posteriors[some]
    each = posteriors.functional(rows[some], drift_now, fresh, floor=floor)
    shapes, k = len(some), rows.shape[1]

    def by_number(values: FloatArray) -> FloatArray:
        return values.reshape(shapes, k, -1).swapaxes(0, 1).reshape(k, -1)

    weight = (fit.weight[some, None] / fit.weight[some].sum() * posteriors.weight).ravel()
    scale, location = by_number(each.scale), by_number(each.location)
    return Mixture(weight=weight, location=location, scale=scale, df=each.df)


def _averaged(each: dict[str, Mixture], probability: dict[str, float]) -> Mixture:
    """The mixture of several, by the probability of each."""
    df = np.concatenate([np.full(part.weight.size, part.df) for part in each.values()])
    return Mixture(
        weight=np.concatenate([probability[name] * part.weight for name, part in each.items()]),
        location=np.concatenate([part.location for part in each.values()], axis=1),
        scale=np.concatenate([part.scale for part in each.values()], axis=1),
        df=df,
    ).pruned(_NEGLIGIBLE)
