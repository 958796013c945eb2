"""Estimates from posteriors: the law's numbers, predictions at an entropy, entropies for a target reward."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from entropylaw.analysis.forms import design, law_column
from entropylaw.analysis.law.evaluations import HIGHEST_ENTROPY
from entropylaw.analysis.law.residual_models import residual_model
from entropylaw.arguments import as_floats, as_number
from entropylaw.arrays import FloatArray
from entropylaw.errors import UsageError
from entropylaw.results import EntropySet, Estimate, Prediction
from entropylaw.results.mixture import Mixture, t_cdf
from entropylaw.results.posterior import Posterior
from entropylaw.results.result import replace

if TYPE_CHECKING:
    from entropylaw.results.law import LawFit

BELIEVED = 1e-4
"""Least probability of a ceiling below the largest reward from which weights change."""

_FARTHEST_ABOVE = 30.0
"""Widths above the largest reward from which a component has no digits below it, and is moved there."""


def tails(level: float) -> tuple[float, float, float]:
    """Probabilities below the low end, the median and the high end of an equal-tailed interval."""
    tail = (1.0 - level) / 2.0
    return tail, 0.5, 1.0 - tail


def unknown(why: str, *, level: float, method: str) -> Estimate:
    """No number and no interval, and the reason."""
    return Estimate(value=None, low=None, high=None, level=level, method=method, note=why)


def headroom(difference: Estimate) -> Estimate:
    """What a run may still gain, from ceiling − reward now: of each draw what is above 0, and else 0.

    That is increasing in the difference, so that quantiles of the one are those of the other. A rounding
    error of the difference is 0.
    """
    if difference.low is None or difference.low >= 0:
        return difference
    least, known = 1e-9 * (difference.width or 0.0), ("low", "value", "high")
    ends = {name: end if (end := getattr(difference, name)) > least else 0.0 for name in known}
    return replace(difference, **ends, std_error=None)


def from_mixture(mixture: Mixture, *, level: float, method: str) -> Estimate:
    """Median and equal-tailed interval of the first number of ``mixture``."""
    return estimates(mixture, level=level, method=method)[0]


def estimates(mixture: Mixture, *, level: float, method: str) -> list[Estimate]:
    """Median and equal-tailed interval of every number of ``mixture``."""
    # One component: the textbook standard error, not the standard deviation of its t.
    single = mixture.location.shape[1] == 1
    spread = mixture.scale[:, 0] if single else mixture.standard_deviation()
    # Quantiles of a mixture as narrow as rounding may be out of order by a bit.
    rows = np.vstack([np.sort(mixture.quantiles(tails(level)), axis=0), spread])
    return [
        Estimate(
            value=value,
            low=low,
            high=high,
            level=level,
            method=method,
            std_error=error if np.isfinite(error) else None,
        )
        for low, value, high, error in rows.T.tolist()
    ]


def estimates_of_each(mixtures: Sequence[Mixture], *, level: float, method: str) -> list[list[Estimate]]:
    """:func:`estimates` of each; those with the same degrees of freedom and several components together."""
    found: list[list[Estimate]] = [[] for _ in mixtures]
    groups: dict[tuple[float, bool], list[int]] = {}
    for i, one in enumerate(mixtures):
        if one.location.shape[1] == 1:
            found[i] = estimates(one, level=level, method=method)
        else:
            groups.setdefault((float(one.df), one.upper is None), []).append(i)
    for group in groups.values():
        several = estimates(Mixture.stacked([mixtures[i] for i in group]), level=level, method=method)
        for i in group:
            count = len(mixtures[i].location)
            found[i], several = several[:count], several[count:]
    return found


def spent_entropy(now: float, share: float) -> float:
    """Entropy at which ``share`` of exp(now) − 1 is spent; 0 where the entropy is not above 0."""
    return float(np.log1p((1.0 - share) * np.expm1(max(now, 0.0))))


def law_numbers(law: Posterior, entropy_now: FloatArray) -> Mixture:
    """Ceiling, a, b, reward at the last step and headroom, in this order; of each of several runs in turn.

    ``entropy_now`` is the last entropy, one for each run.
    """
    now = design(law_column(entropy_now))
    ceiling, a, b = (np.broadcast_to(row, now.shape) for row in ([1.0, 0.0], [0.0, 1.0], [1.0, 1.0]))
    rows = np.stack([ceiling, a, b, now, ceiling - now], axis=-2)
    return law.functional(rows, np.array([0.0, 0.0, 0.0, 1.0, -1.0]))


def p_below(posterior: Posterior, ceiling: FloatArray, most: float) -> FloatArray:
    """Probability of each component that the ceiling, ``ceiling @ β``, is at most ``most``."""
    numbers = posterior.functional(ceiling)
    with np.errstate(over="ignore"):  # far away is infinitely far
        below = t_cdf(float(posterior.df), (most - numbers.location) / numbers.scale)
    return np.asarray(below).reshape(posterior.weight.shape)


def cut_off(mixture: Mixture, most: float | FloatArray) -> Mixture:
    """The mixture given that every number is at most ``most``, one bound or (m, g)."""
    if np.all(np.isinf(most)):
        return mixture
    upper = np.broadcast_to(most, mixture.location.shape)
    location = np.minimum(mixture.location, upper + _FARTHEST_ABOVE * mixture.scale)
    return replace(mixture, location=location, upper=upper)


def at_most(number: Mixture, most: float) -> Mixture:
    """The mixture of one number given that it is at most ``most``; hardly anything there, it ends there."""
    bounded = cut_off(number, most)
    if bounded.upper is None:
        return number
    weight = bounded.weight * bounded.kept[0]
    total = float(weight.sum())
    return bounded if total < BELIEVED else replace(bounded, weight=weight / total)


def possible(law: LawFit) -> Posterior:
    """The law's posterior given that its ceiling is possible; as it is where hardly any of it is."""
    if law.max_reward is None:
        return law.posterior
    weight = law.posterior.weight * p_below(law.posterior, np.array([[1.0, 0.0]]), law.max_reward)
    total = float(weight.sum())
    return law.posterior if total < BELIEVED else replace(law.posterior, weight=weight / total)


def largest(law: LawFit) -> float:
    """The largest reward that is possible, infinite where it is not known."""
    return np.inf if law.max_reward is None else law.max_reward


def hundredth(law: LawFit) -> float:
    """A gain that counts in the reward's units: a hundredth of the largest, or else of the observed range."""
    most, observed = law.max_reward, float(np.ptp(law.reward))
    return 0.01 * (most if most is not None and most > 0 and law.reward.min() >= 0 else observed)


def law_at_most(law: LawFit, most: float | None) -> LawFit:
    """The law with its ceiling, headroom, reward now and curve at most the largest reward.

    Its coefficients are not conditioned: b is no reward that a run can have.
    """
    if most is None:
        return law
    law = replace(law, max_reward=most, fitted=np.minimum(law.fitted, most))
    law.fitted.setflags(write=False)
    numbers = law_numbers(possible(law), law.smoothed_entropy[-1]).rows(np.array([0, 3, 4]))
    bounded = cut_off(numbers, upper_ends(most, numbers.location[1])[[0, 2, 1]])
    ceiling, now, left = estimates(bounded, level=law.level, method=law.ceiling.method)
    return replace(law, ceiling=ceiling, reward_now=now, headroom=headroom(left))


def upper_ends(most: float, now: FloatArray) -> FloatArray:
    """The largest ceiling, headroom and reward now, (3, g): no more is left than above the reward ``now``."""
    return np.array([np.full_like(now, most), np.maximum(most - now, 0.0), np.full_like(now, most)])


def memory(law: Posterior) -> FloatArray:
    """Drift's share of the residual variance, and effective sample size: posterior means."""
    each = (law.drift_share, law.effective_n)
    return np.array([(law.weight * one).sum(axis=-1) for one in each])


def checked_level(level: float) -> float:
    """``level`` as a float between 0 and 1, or a :class:`UsageError`."""
    number = level if isinstance(level, float) else as_number(level, "level")
    if not 0 < number < 1:
        raise UsageError(
            "bad-level", f"level {number:g}, expected a coverage between 0 and 1", "for 95 % give 0.95"
        )
    return float(number)


def predict(law: LawFit, entropy: Any, level: float | None) -> Prediction | tuple[Prediction, ...]:
    """:meth:`LawFit.predict <entropylaw.LawFit.predict>`."""
    level = law.level if level is None else checked_level(level)
    values = checked_entropies(entropy)
    rows, fresh = np.tile(design(law_column(values)), (2, 1)), np.repeat([0.0, 1.0], len(values))
    numbers = cut_off(possible(law).functional(rows, fresh=fresh, floor=law.noise_floor), largest(law))
    method = residual_model(law.interval).method
    predictions = as_predictions(numbers, law.smoothed_entropy, values, level=level, method=method)
    return predictions[0] if np.ndim(entropy) == 0 else predictions


def checked_entropies(entropy: Any) -> FloatArray:
    """One entropy or several, nats, as an array (m,); UsageError ``bad-entropy`` as :func:`predict`."""
    values = as_floats(entropy, "entropy")
    bad = values[~((values >= 0) & (values <= HIGHEST_ENTROPY))]
    if bad.size:
        raise UsageError(
            "bad-entropy",
            f"entropy {bad[0]:g} nats, expected a number from 0 to {HIGHEST_ENTROPY:g}",
            "give the target entropy in nats per token",
        )
    return values


def as_predictions(
    numbers: Mixture, fitted: FloatArray, values: FloatArray, *, level: float, method: str
) -> tuple[Prediction, ...]:
    """Predictions at ``values`` (m,) from 2m numbers: the means, then new evaluations."""
    found = estimates(numbers, level=level, method=method)
    lowest, highest = float(fitted.min()), float(fitted.max())
    each = zip(values.tolist(), found[: len(values)], found[len(values) :], strict=True)
    return tuple(
        Prediction(entropy=at, mean=mean, observation=new, extrapolated=not lowest <= at <= highest)
        for at, mean, new in each
    )


def checked_reward(reward: float) -> float:
    """A target reward as a finite float, or a :class:`UsageError`."""
    if isinstance(reward, float) and not np.isfinite(reward):
        raise UsageError("bad-reward", f"target reward {reward!r}, expected a finite number", "give a number")
    return as_number(reward, "reward")


def entropy_for(law: LawFit, reward: float, level: float | None) -> EntropySet:
    """:meth:`LawFit.entropy_for <entropylaw.LawFit.entropy_for>`."""
    level, reward = law.level if level is None else checked_level(level), checked_reward(reward)
    # Of the curve as it was fitted, which may pass the largest reward.
    ceiling, a = float(law.posterior.functional(np.array([[1.0, 0.0]])).quantile(0.5)[0]), law.a.value
    value, note = None, None
    if reward > largest(law):
        return above_all(law, reward, level)
    if not a:
        note = "the fitted law is flat"
    elif (ratio := (ceiling - reward) / a) >= 0:
        value = float(np.log1p(ratio))
    else:
        below = "below the reward at H = 0, and the fitted law rises with entropy"
        side = f"{'above the ceiling' if a > 0 else below} ({ceiling:.4g})"
        note = f"the target {reward:g} is {side}: no entropy gives it under the fitted law"
    intervals = fieller_set(law, reward, tails(level)[0], value)
    if not intervals:
        note = f"no entropy from 0 to {HIGHEST_ENTROPY:g} nats is compatible with a reward of {reward:g}"
    elif intervals[-1][1] is None:
        open_end = "the set has no upper end: the data do not settle how fast reward falls with entropy"
        note = "; ".join(filter(None, (note, open_end)))
    return EntropySet(
        reward=reward,
        value=value,
        intervals=intervals,
        level=level,
        method=f"inverted band ({residual_model(law.interval).method})",
        note=note,
    )


def above_all(law: LawFit, reward: float, level: float) -> EntropySet:
    """No entropy: the target is above the largest reward."""
    note = f"a reward of {reward:g} is above {law.max_reward:g}, the largest that is possible"
    method = f"inverted band ({residual_model(law.interval).method})"
    return EntropySet(reward=reward, value=None, intervals=(), level=level, method=method, note=note)


def fieller_set(
    fit: LawFit, reward: float, tail: float, hint: float | None
) -> tuple[tuple[float, float | None], ...]:
    """Entropies at which a target reward is between two quantiles of the law's mean.

    They are those at which the probability that the mean is at most the target is in [tail, 1 − tail]: the
    inversion of Fieller (1954, doi:10.1111/j.2517-6161.1954.tb00159.x). The set can be narrower than any
    fixed grid, so that the search includes ``hint`` and where each component's law gives the target.
    """
    law, most = possible(fit), largest(fit)
    # Of the largest reward itself everything is below: there the curves as they were fitted are searched.
    most = np.inf if reward == most else most
    ceiling, a = law.coefficient[:, 0], law.coefficient[:, 1]
    ratio = np.divide(ceiling - reward, a, out=np.full_like(a, np.nan), where=a != 0)
    near = np.append(np.log1p(np.where(ratio > -1, ratio, np.nan)), np.array(hint, dtype=float))

    def below(entropy: FloatArray) -> FloatArray:
        numbers = cut_off(law.functional(design(law_column(entropy))), most)
        return numbers.cdf(np.full(entropy.size, reward))

    return compatible_entropies(below, tail, near)


def compatible_entropies(
    below: Callable[[FloatArray], FloatArray], tail: float, near: FloatArray
) -> tuple[tuple[float, float | None], ...]:
    """Disjoint intervals of the entropy, nats, in which ``below`` is in [tail, 1 − tail].

    ``below`` gives the probability that the mean at entropies is at most the target; the search includes the
    entropies ``near``, of which some may be nan. None as upper end is the largest entropy of a vocabulary.
    """
    # Uniform in log1p(H), which resolves both ends.
    grid = np.expm1(np.linspace(0.0, np.log1p(HIGHEST_ENTROPY), 241))
    grid = np.union1d(grid, near[np.isfinite(near) & (near > 0) & (near < HIGHEST_ENTROPY)])

    def covered(entropy: FloatArray) -> Any:
        probability = below(entropy)
        return np.minimum(probability - tail, 1.0 - tail - probability) >= 0

    inside = covered(grid)
    starts = [0.0] if inside[0] else []
    ends: list[float | None] = []
    for i in np.flatnonzero(inside[1:] != inside[:-1]):
        low, high, entering = float(grid[i]), float(grid[i + 1]), bool(inside[i + 1])
        for _ in range(60):
            middle = 0.5 * (low + high)
            past = bool(covered(np.array([middle]))[0]) == entering
            low, high = (low, middle) if past else (middle, high)
        (starts if entering else ends).append(0.5 * (low + high))
    if inside[-1]:
        ends.append(None)
    return tuple(zip(starts, ends, strict=True))
