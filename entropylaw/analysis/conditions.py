"""The functional forms given what is known beside the run: the largest reward, or a short memory."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from entropylaw.analysis.law.estimates import BELIEVED, p_below
from entropylaw.analysis.rivals import FormFits
from entropylaw.arguments import as_number
from entropylaw.arrays import FloatArray
from entropylaw.engine.residual_prior import P_CONSTANT, P_LONG
from entropylaw.errors import FitError
from entropylaw.results.posterior import LONG, SHORT
from entropylaw.results.result import replace


def check_largest(most: float | None, reward: FloatArray) -> None:
    """Refuse a largest possible reward below one of the rewards (n,).

    Raises FitError (``reward-above-max``), and as :func:`entropylaw.arguments.as_number`.
    """
    if most is not None and as_number(most, "max_reward") < reward.max():
        message = f"max_reward {most:g}, and the run has a reward of {reward.max():g}"
        raise FitError(
            "reward-above-max", message, "give the largest reward that is possible, or leave it out"
        )


def at_most(fits: FormFits, most: float | None) -> FormFits:
    """The forms given that no ceiling is above the largest possible reward; as they are where it is unknown.

    Every component of a posterior is weighed by its probability of a ceiling of at most ``most``, and so is
    every form. Where hardly any component remains, all curves pass that reward: they keep their weights, and
    end there.
    """
    if most is None:
        return fits
    factors = {
        name: p_below(fit.posteriors, fit.form.ceiling_row(fit.shape), most)
        for name, fit in fits.fits.items()
    }
    remaining = _weighed(fits, factors)
    return replace(fits if remaining is None else remaining, most=most, passed=remaining is None)


def if_short(fits: FormFits) -> FormFits | None:
    """The forms given that the residual's memory is short; None where no other is among the covariances."""
    factors = {name: (fit.posteriors.kind != LONG).astype(float) for name, fit in fits.fits.items()}
    return None if all(factor.all() for factor in factors.values()) else _weighed(fits, factors)


LEAST_STEADY = 0.05
"""Posterior probability of a constant scale below which nothing is said about the memory."""


def p_long(fits: FormFits) -> float | None:
    """Probability that the residual's memory is long, 0.5 before the data, if its scale is constant.

    It is a mean over the forms of the entropy. None where the scale is not constant: drifts of several
    lengths are among the covariances with a constant scale only.
    """
    total = dict.fromkeys((SHORT, LONG), 0.0)
    for name, fit in fits.fits.items():
        for kind in total:
            of_shape = (fit.posteriors.weight * (fit.posteriors.kind == kind)).sum(axis=1)
            total[kind] += fits.probability[name] * float(fit.weight @ of_shape)
    if total[SHORT] + total[LONG] < LEAST_STEADY:
        return None
    # Given a constant scale both are equally probable before the data.
    long, short = total[LONG] / P_LONG, total[SHORT] / ((1.0 - P_LONG) * P_CONSTANT)
    return long / (long + short)


def _weighed(fits: FormFits, factors: Mapping[str, FloatArray]) -> FormFits | None:
    """The components of each form times ``factors`` (shapes, g), and the forms by what remains of them.

    None where hardly anything remains, or nothing of the law.
    """
    forms, probability = {}, {}
    for name, fit in fits.fits.items():
        weight = fit.posteriors.weight * factors[name]
        share = weight.sum(axis=1)
        if (total := float(fit.weight @ share)) > 0:
            forms[name] = replace(
                fit,
                posteriors=replace(fit.posteriors, weight=weight / np.where(share > 0, share, 1.0)[:, None]),
                weight=fit.weight * share / total,
                log_evidence=fit.log_evidence + float(np.log(total)),
            )
            probability[name] = fits.probability[name] * total
    remaining = sum(probability.values())
    if remaining < BELIEVED or "law" not in forms:
        return None
    probability = {name: remaining_share / remaining for name, remaining_share in probability.items()}
    return replace(fits, fits=forms, probability=probability)
