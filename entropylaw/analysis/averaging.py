"""Numbers averaged over the functional forms by their posterior probability.

Which form is true is one more unknown: the posterior of a number is the mixture of its posteriors under all
forms, and the ends of its interval are quantiles of that mixture (Hoeting et al. 1999,
doi:10.1214/ss/1009212519).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtri

from entropylaw.analysis.conditions import at_most, if_short
from entropylaw.analysis.forms import FORMS
from entropylaw.analysis.law.estimates import (
    above_all,
    as_predictions,
    checked_entropies,
    checked_level,
    checked_reward,
    compatible_entropies,
    cut_off,
    estimates,
    estimates_of_each,
    from_mixture,
    headroom,
    largest,
    law_at_most,
    tails,
    unknown,
    upper_ends,
)
from entropylaw.analysis.law.evaluations import HIGHEST_ENTROPY
from entropylaw.analysis.law.residual_models import residual_model
from entropylaw.analysis.law.verdict import step_terms
from entropylaw.analysis.rivals import (
    FormFit,
    FormFits,
    described,
    fit_forms,
    most_probable_first,
    posterior_mean,
)
from entropylaw.arrays import FloatArray
from entropylaw.results import Curve, EntropySet, Estimate, LawTests, Prediction
from entropylaw.results.fit import Fit, FormAnswer, ShortMemory
from entropylaw.results.law import LawFit
from entropylaw.results.mixture import Mixture
from entropylaw.results.posterior import LONG, Posterior
from entropylaw.results.result import replace

_NEGLIGIBLE = 1e-5
"""Probability of components that are left out, together."""

_ROUNDING = 1e-14
"""Probability up to which a gain has none: the rounding error of a sum of weights."""

_ROUGH = 1e-4
"""The same where many numbers are needed at once: bands of a figure, and inverted bands."""


def basis(fit: Fit) -> FormFits:
    """The posteriors of the forms from which a fit's averaged numbers are read, inferred again."""
    return averaged_forms(fit.law, fit.tests if fit.present_stage else None, most=fit.max_reward)


def averaged_forms(
    law: LawFit, beside: LawTests | None = None, fits: FormFits | None = None, *, most: float | None = None
) -> FormFits:
    """Every form on the law's evaluations; of the law itself the posterior of its fit.

    With ``beside``, the tests of a law beside which a term in the step is needed, each form has that term.
    ``fits`` are the forms without it where they are known. ``most`` is the largest reward that is possible,
    where that is known.
    """
    term = None if beside is None else needed_term(law.step, beside)
    if fits is None or term is not None:
        fits = fit_forms(law.step, law.smoothed_entropy, law.reward, law.residual_covariances, term=term)
    if term is None:
        # Errors in the entropy are in the law's own posterior.
        known = replace(fits.fits["law"], posteriors=Posterior.joined([law.posterior]))
        fits = replace(fits, fits={**fits.fits, "law": known})
    return at_most(fits, most)


def needed_term(step: FloatArray, tests: LawTests) -> FloatArray | None:
    """The step or its logarithm, whichever is more probable beside the law; None where neither helps."""
    odds = (tests.odds_step or 0.0, tests.odds_log_step or 0.0)
    return step_terms(step)[int(odds[1] > odds[0])] if max(odds) >= 1.0 else None


def averaged_numbers(law: LawFit, fits: FormFits, *, level: float, gain: float) -> dict[str, Any]:
    """The fields of a :class:`~entropylaw.results.fit.Fit` that are averaged, and its forms."""
    method = _method(law)
    each = _now_and_ceiling(fits)
    together = _averaged(each, fits.probability)
    ceiling, left, now = estimates(together, level=level, method=method)
    alone = residual_model(law.interval).method
    first = np.arange(2)
    numbers = [part.pruned(1e-5).rows(first) for part in each.values()]
    own = dict(zip(each, estimates_of_each(numbers, level=level, method=alone), strict=True))
    answers = (
        FormAnswer(
            **described(fit, fits.probability[name], law.reward, level),
            ceiling=own[name][0],
            headroom=headroom(own[name][1]),
        )
        for name, fit in fits.fits.items()
    )
    return {
        "if_short": _short_memory(law, fits, level),
        "ceiling": ceiling,
        "headroom": headroom(left),
        "reward_now": now,
        "used": _used(law, fits, level),
        "gain": gain,
        "p_headroom": _p_gain(together, gain),
        "forms": tuple(sorted(answers, key=most_probable_first)),
        "skipped": fits.skipped,
    }


def _short_memory(law: LawFit, fits: FormFits, level: float) -> ShortMemory | None:
    """The numbers given that the residual's memory is short; None where only one kind of memory remains."""
    short, weight = if_short(fits), law.posterior.weight * (law.posterior.kind != LONG)
    if short is None or not weight.any():
        return None
    averaged = _averaged(_now_and_ceiling(short), short.probability)
    ceiling, left, _ = estimates(averaged, level=level, method=_method(law))
    own = replace(law.posterior, weight=weight / weight.sum())
    law_ceiling, a = estimates(own.functional(np.eye(2)), level=level, method=law.a.method)
    if law.max_reward is not None:
        law_ceiling = law_at_most(replace(law, posterior=own), law.max_reward).ceiling
    return ShortMemory(ceiling=ceiling, headroom=headroom(left), law_ceiling=law_ceiling, a=a)


def reward_now(fit: Fit, level: float | None) -> Estimate:
    """The reward now of a fit, at another level where one is given."""
    if level is None or level == fit.level:
        return fit.reward_now
    fits = fit.basis
    together = _averaged(_now_and_ceiling(fits), fits.probability)
    return estimates(together, level=checked_level(level), method=_method(fit.law))[2]


def p_gain(fit: Fit, gain: float) -> float:
    """Probability that the headroom of a fit is at least a gain."""
    fits = fit.basis
    return _p_gain(_averaged(_now_and_ceiling(fits), fits.probability), gain)


def _p_gain(together: Mixture, gain: float) -> float:
    above = float(1.0 - together.rows(np.array([1])).cdf(np.array([gain]))[0])
    # Weights add up to 1 but for rounding, and what is left of 1 then is none of the distribution's digits.
    return min(1.0, above) if above > _ROUNDING else 0.0


def _method(law: LawFit) -> str:
    return f"averaged over functional forms; {residual_model(law.interval).method}"


def curve(fit: Fit) -> Curve:
    """:attr:`Fit.curve <entropylaw.results.fit.Fit.curve>`: from H = 0, or the lowest of a lost reward."""
    law, fits, lowest = fit.law, fit.basis, float(fit.law.entropy.min())
    at = np.linspace(lowest if fit.lost else min(0.0, lowest), float(law.entropy.max()), 61)
    numbers, chance = _predicted(law, fits, at).pruned(_ROUGH), tails(fit.level)
    low, mean, high = numbers.rows(np.arange(at.size)).quantiles(chance)
    new_low, new_high = numbers.rows(np.arange(at.size, 2 * at.size)).quantiles((chance[0], chance[2]))
    return Curve(
        entropy=tuple(at.tolist()),
        mean=tuple(mean.tolist()),
        low=tuple(low.tolist()),
        high=tuple(high.tolist()),
        observation_low=tuple(new_low.tolist()),
        observation_high=tuple(new_high.tolist()),
        forms={
            form: tuple(np.minimum(posterior_mean(one, one.form.onward(at)), fits.most).tolist())
            for form, one in fits.fits.items()
            if FORMS[form].colour or form == "law"
        },
    )


def predict(fit: Fit, entropy: Any, level: float | None) -> Prediction | tuple[Prediction, ...]:
    """:meth:`Fit.predict <entropylaw.results.fit.Fit.predict>`."""
    level = fit.level if level is None else checked_level(level)
    values, law = checked_entropies(entropy), fit.law
    numbers = _predicted(law, fit.basis, values)
    predictions = as_predictions(numbers, law.smoothed_entropy, values, level=level, method=_method(law))
    return predictions[0] if np.ndim(entropy) == 0 else predictions


def _predicted(law: LawFit, fits: FormFits, values: FloatArray) -> Mixture:
    """The mean at each of m entropies, then one more evaluation at each: 2m numbers."""
    fresh = np.repeat([0.0, 1.0], values.size)
    each = {}
    for name, fit in fits.fits.items():
        rows = fit.form.designs(fit.form.onward(values), fit.shape)
        numbers = _mixture(fit, np.tile(rows, (1, 2, 1)), fresh=fresh, floor=law.noise_floor)
        each[name] = cut_off(numbers, fits.most)
    return _averaged(each, fits.probability)


def reward_at(law: LawFit, fits: FormFits, entropy: FloatArray) -> FloatArray:
    """What a fit of that law predicts at entropies (m,): medians of the mean reward, reward units."""
    numbers = _predicted(law, averaged_forms(law, None, fits), entropy).pruned(_ROUGH).quantiles((0.5,))
    return np.asarray(numbers[0, : entropy.size])


def mean_curve(fit: Fit, entropy: FloatArray) -> FloatArray:
    """Mean of the curve over the whole run at entropies (m,), reward units; shape (m,).

    It has no term in the step, which would make it the curve of the present stage.
    """
    fits = averaged_forms(fit.law, most=fit.max_reward) if fit.present_stage else fit.basis
    each = (
        fits.probability[name] * np.minimum(posterior_mean(one, one.form.onward(entropy)), fits.most)
        for name, one in fits.fits.items()
    )
    return np.asarray(sum(each))


def entropy_for(fit: Fit, reward: float, level: float | None) -> EntropySet:
    """:meth:`Fit.entropy_for <entropylaw.results.fit.Fit.entropy_for>`."""
    level = fit.level if level is None else checked_level(level)
    reward, fits = checked_reward(reward), fit.basis
    if reward > largest(fit.law):
        return replace(above_all(fit.law, reward, level), method=f"inverted band ({_method(fit.law)})")
    below = _share_below(fits, reward)
    value, note = _crossing(below, fit.law.entropy_now), None
    if value is None:
        note = f"the averaged curve gives a reward of {reward:g} at no entropy up to {HIGHEST_ENTROPY:g} nats"
    known = np.array([] if value is None else [value])
    intervals = compatible_entropies(below, tails(level)[0], known)
    if not intervals:
        note = f"no entropy from 0 to {HIGHEST_ENTROPY:g} nats is compatible with a reward of {reward:g}"
    return EntropySet(
        reward=reward,
        value=value,
        intervals=intervals,
        level=level,
        method=f"inverted band ({_method(fit.law)})",
        note=note,
    )


def _share_below(fits: FormFits, reward: float) -> Callable[[FloatArray], FloatArray]:
    """The probability, at entropies (m,), that the averaged curve is at most a reward.

    Of the largest reward that is 1: there the curves are taken as they were fitted.
    """
    most = np.inf if reward == fits.most else fits.most

    def below(entropy: FloatArray) -> FloatArray:
        each = {
            name: cut_off(_mixture(one, one.form.designs(one.form.onward(entropy), one.shape)), most)
            for name, one in fits.fits.items()
        }
        return _averaged(each, fits.probability).pruned(_ROUGH).cdf(np.full(entropy.size, reward))

    return below


def reached_at(law: LawFit, fits: FormFits) -> float | None:
    """The entropy at which curves that all pass the largest reward reach it; None where some stay below."""
    return _crossing(_share_below(fits, fits.most), law.entropy_now) if fits.passed else None


def _crossing(below: Callable[[FloatArray], FloatArray], now: float) -> float | None:
    """The entropy nearest to ``now`` at which the averaged curve crosses a reward; None without any."""
    grid = np.expm1(np.linspace(0.0, np.log1p(HIGHEST_ENTROPY), 241))
    for _ in range(4):
        under = below(grid) < 0.5
        crossings = np.flatnonzero(under[1:] != under[:-1])
        if not crossings.size:
            return None
        nearest = crossings[np.argmin(np.abs(grid[crossings] - now))]
        grid = np.linspace(grid[nearest], grid[nearest + 1], 33)
    return float(0.5 * (grid[0] + grid[-1]))


def _used(law: LawFit, fits: FormFits, level: float) -> Estimate:
    """Share of the reward to be gained from entropy that the run has gained by now.

    With R₀ = the curve's reward at the first entropy, R = the reward now and c the ceiling, it is

        u = (R − R₀) / (c − R₀),

    0 at the start, 1 where no gain remains, and more where the reward is above the ceiling. u ≤ s exactly
    where R − (1 − s) R₀ − s c ≤ 0 (as c > R₀), a linear combination whose distribution is a mixture: the
    interval is that of Fieller (1954, doi:10.1111/j.2517-6161.1954.tb00159.x). Where c − R₀ cannot be
    distinguished from 0 there is none.
    """
    method = f"ratio, inverted ({_method(law)})"
    if not residual_model(law.interval).fixed_level:
        why = "the ceiling is relative to the last evaluation"
        return unknown(why, level=level, method=method)
    each = {}
    for name, fit in fits.fits.items():
        first = fit.form.designs(fit.form.onward(law.smoothed_entropy[:1]), fit.shape)
        now, ceiling = (
            fit.form.designs(fit.form.at(slice(-1, None)), fit.shape),
            fit.form.ceiling_row(fit.shape),
        )
        # R − (1 − s) R₀ − s c at s = 0, ½ and 1, which fix it everywhere; and the gain c − R₀.
        combined = [now - (1.0 - s) * first - s * ceiling for s in (0.0, 0.5, 1.0)]
        drift = np.array([1.0, 1.0, 1.0, 0.0, 0.0])
        rows = np.concatenate([*combined, ceiling - first, ceiling], axis=1)
        numbers = _mixture(fit, rows, drift_now=drift)
        # A ceiling above the largest reward is that reward.
        above = np.maximum(numbers.location[4] - fits.most, 0.0) * np.array([[0.0], [0.5], [1.0], [-1.0]])
        each[name] = replace(numbers.rows(np.arange(4)), location=numbers.location[:4] + above)
    known = _averaged(each, fits.probability).pruned(_ROUGH)
    if float(known.cdf(np.zeros(4))[3]) > tails(level)[0]:
        why = "the attainable gain cannot be distinguished from 0"
        return unknown(why, level=level, method=method)
    at_0, at_half, at_1 = known.scale[:3] ** 2

    def below(shares: FloatArray) -> FloatArray:
        """Probability that the share is at most each of some, from a variance that is quadratic in it."""
        s = shares[:, None]
        location = (1.0 - s) * known.location[0] + s * known.location[2]
        square_term = 2.0 * (at_0 + at_1) - 4.0 * at_half
        variance = at_0 + s * (at_1 - at_0 - square_term) + s**2 * square_term
        scale = np.sqrt(np.maximum(variance, np.finfo(float).tiny))
        return replace(known, location=location, scale=scale).cdf(np.zeros(shares.size))

    chance = np.array(tails(level))
    shares = np.linspace(-4.0, 6.0, 11)
    place = np.searchsorted(np.maximum.accumulate(below(shares)), chance)
    outside = (place == 0) | (place == shares.size)
    place = np.clip(place, 1, shares.size - 1)
    # On the scale of normal deviates, on which the distribution is nearly a straight line.
    goal, least = ndtri(chance), np.finfo(float).eps
    found = _root(
        lambda share: ndtri(np.clip(below(share), least, 1.0 - least)) - goal,
        shares[place - 1],
        shares[place],
    )
    low, value, high = (
        None if out else one for out, one in zip(outside.tolist(), found.tolist(), strict=True)
    )
    end = "beyond -4 to 6" if None in (low, value, high) else None
    if value is None:
        low = high = None
    return Estimate(value=value, low=low, high=high, level=level, method=method, note=end)


def _root(function: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray) -> FloatArray:
    """Roots (k,) between brackets, to 10⁻⁹: the secant, halved where one end stays (the Illinois method)."""
    at_low, at_high = function(low), function(high)
    for _ in range(100):
        rise = at_high - at_low
        share = high - np.where(rise != 0, at_high * (high - low) / np.where(rise != 0, rise, 1.0), 0.0)
        found = function(share)
        crossed = found * at_high < 0
        low, at_low = np.where(crossed, high, low), np.where(crossed, at_high, 0.5 * at_low)
        moved = np.abs(share - high).max()
        high, at_high = share, found
        if moved <= 1e-9:
            break
    return high


def averaged_ceiling(fits: FormFits, *, level: float, method: str) -> Estimate:
    """The reward at H = 0, averaged over the forms."""
    return from_mixture(_averaged(_now_and_ceiling(fits), fits.probability), level=level, method=method)


def _now_and_ceiling(fits: FormFits) -> dict[str, Mixture]:
    """Ceiling, headroom and reward now by each form; the reward now includes the drift at the last step."""
    found = {}
    for name, fit in fits.fits.items():
        ceiling = fit.form.ceiling_row(fit.shape)
        now = fit.form.designs(fit.form.at(slice(-1, None)), fit.shape)
        rows = np.concatenate([ceiling, ceiling - now, now], axis=1)
        numbers = _mixture(fit, rows, drift_now=np.array([0.0, -1.0, 1.0]))
        found[name] = cut_off(numbers, upper_ends(fits.most, numbers.location[2]))
    return found


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
    shapes, k, points = len(some), rows.shape[1], posteriors.weight.shape[1]

    def by_number(values: FloatArray) -> FloatArray:
        return values.reshape(shapes, k, points).swapaxes(0, 1).reshape(k, shapes * points)

    weight = (fit.weight[some, None] / fit.weight[some].sum() * posteriors.weight).ravel()
    scale, location = by_number(each.scale), by_number(each.location)
    return Mixture(weight=weight, location=location, scale=scale, df=each.df)


def _averaged(each: dict[str, Mixture], probability: dict[str, float]) -> Mixture:
    """The mixture of several, by the probability of each; those of the same degrees of freedom together."""
    each = dict(sorted(each.items(), key=lambda item: float(item[1].df)))
    df = np.concatenate([np.full(part.weight.size, part.df) for part in each.values()])
    bounds = [part.upper for part in each.values() if part.upper is not None]
    return Mixture(
        weight=np.concatenate([probability[name] * part.weight for name, part in each.items()]),
        location=np.concatenate([part.location for part in each.values()], axis=1),
        scale=np.concatenate([part.scale for part in each.values()], axis=1),
        df=df,
        upper=np.concatenate(bounds, axis=1) if bounds else None,
    ).pruned(_NEGLIGIBLE)
