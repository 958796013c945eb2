"""Ensemble forecasts of the entropy and of the reward: members, their weights, and the band.

The weights rest on the errors of each member from earlier origins inside the fitted part (Tashman 2000,
doi:10.1016/S0169-2070(00)00065-0), and on those of the members in other runs
(:mod:`entropylaw.analysis.forecast_prior`), which also gives the width of the band.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from entropylaw.analysis.forecast_prior import (
    Band,
    Prior,
    Rule,
    band_terms,
    learned,
    path_features,
    reward_features,
)
from entropylaw.analysis.law.evaluations import HIGHEST_ENTROPY
from entropylaw.analysis.members import (
    PATH_FORMULAS,
    REWARD_FORMULAS,
    now_and_noise,
    path_members,
    reward_members,
)
from entropylaw.arrays import FloatArray

RESOLUTION = 1e-3
"""Errors of the reward below this share of the fitted range count as equal."""

PATH_RESOLUTION = 3e-3
"""The same of the entropy."""

NOISE_SHARE = 0.3
"""Errors of the members below this share of the noise count as about equal."""

ABOUT = 1.0
"""Standard deviation of the logarithm of the leads that count as about as far ahead."""

LEAST_NOISE = 2e-3
"""What a band's noise term has at least, in fitted ranges."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outlook:
    """Forecast of the entropy or the reward at m later steps.

    Attributes
    ----------
    band
        Prediction intervals at each step, noise of a new measurement included.
    curves, shares
        What is averaged, and its weights, (k, m) each: the members, blind along each path of the entropy.
    weight, error
        Member → mean over the steps of its weight; they add up to 1. Member → root mean square over the steps
        of its errors inside the run, about as far ahead.
    origins
        Numbers of evaluations from which the rest of the fitted part was forecast.
    own
        Share of the weights that the run's own errors moved away from those of other runs.
    path
        The forecast of the entropy that one of the reward used; None where the entropy was given.
    """

    band: Band
    curves: FloatArray
    shares: FloatArray
    weight: Mapping[str, float]
    error: Mapping[str, float]
    origins: tuple[int, ...]
    own: float
    path: Outlook | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Record:
    """What a run has done so far, and how K members would have forecast it.

    ``lead`` (s,) are the leads of forecasts from all origins, in spans that were fitted there; ``miss``
    (K, s) are their errors, nan where a member is missing. ``features`` are those of
    :mod:`entropylaw.analysis.forecast_prior`; ``now`` and ``noise`` the local level at the last step and the
    noise about it; ``spread`` the range of the fitted values, ``resolution`` what counts as equal.
    """

    lead: FloatArray
    miss: FloatArray
    features: FloatArray
    now: float
    noise: float
    spread: float
    resolution: float

    def errors(self, lead: FloatArray) -> FloatArray:
        """Root mean squared errors (K, m) at leads (m,), in fitted spans: those about as far ahead count."""
        return np.asarray(np.sqrt(self.miss**2 @ self._about(lead)))

    def error_together(self, weight: FloatArray, lead: FloatArray) -> FloatArray:
        """Root mean squared error (m,) of the members' mean by ``weight`` (K, m), about as far ahead."""
        together = np.where(np.isfinite(self.miss), self.miss, 0.0).T @ weight
        return np.asarray(np.sqrt((together**2 * self._about(lead)).sum(axis=0)))

    def _about(self, lead: FloatArray) -> FloatArray:
        """How much each origin's lead counts at leads (m,), shape (s, m); columns add up to 1."""
        distance = np.log(self.lead[:, None] / lead) / ABOUT
        weight = np.exp(-0.5 * (distance**2 - (distance**2).min(axis=0)))
        return np.asarray(weight / weight.sum(axis=0))

    def log_errors(self, lead: FloatArray) -> FloatArray:
        """Logarithms (K, m) of the errors in ranges; small differences vanish in the noise."""
        error = np.sqrt(self.errors(lead) ** 2 + (NOISE_SHARE * self.noise) ** 2)
        least = max(self.resolution * self.spread, np.finfo(float).tiny)
        return np.asarray(np.log(np.maximum(error, least) / (self.spread or 1.0)))

    def weights(self, rule: Rule, lead: FloatArray) -> tuple[FloatArray, FloatArray]:
        """As :meth:`Rule.weights`, at leads (m,) in fitted spans."""
        return rule.weights(self.features, self.log_errors(lead))

    def averaged(
        self,
        weight: FloatArray,
        curves: FloatArray,
        shares: FloatArray,
        lead: FloatArray,
        beyond: FloatArray,
    ) -> tuple[FloatArray, FloatArray]:
        """The mean (m,) of curves (k, m) by ``shares`` (k, m), and the terms (7, m) of its band.

        ``weight`` (K, m) is that of the members, ``beyond`` (m,) is that of :func:`band_terms`.
        """
        value = (shares * curves).sum(axis=0)
        return value, band_terms(
            noise=self.noise + (LEAST_NOISE * self.spread or np.finfo(float).tiny),
            spread=np.sqrt((shares * (curves - value) ** 2).sum(axis=0)),
            moved=value - self.now,
            error=self.error_together(weight, lead),
            fitted=self.spread,
            beyond=beyond,
            lead=lead,
        )


def farthest(last: float, spread: float, futures: FloatArray, lead: FloatArray) -> FloatArray:
    """Largest distance (m,) of futures of the entropy (k, m) from the last one, in fitted ranges ``spread``.

    A fall by half in 1.4 spans is among them: nothing announces a fall that has not begun.
    """
    late = last * np.exp(-0.5 * lead)
    return np.asarray(np.abs(np.vstack([futures, late]) - last).max(axis=0) / (spread or 1.0))


def leads(step: FloatArray, at: FloatArray) -> FloatArray:
    """How far ``at`` is after the last of the steps, in spans of the steps."""
    return np.asarray((at - step[-1]) / (step[-1] - step[0]))


def path_record(step: FloatArray, entropy: FloatArray) -> Record:
    """The record of the members of the entropy's path; arrays (n,), n ≥ 8."""
    return _path_record(step.tobytes(), entropy.tobytes())


def reward_record(step: FloatArray, entropy: FloatArray, reward: FloatArray) -> Record:
    """The record of the members of the reward, at the observed entropies; arrays (n,), n ≥ 8."""
    return _reward_record(step.tobytes(), entropy.tobytes(), reward.tobytes())


# A report, a prediction and a backtest ask several questions of one run.
@lru_cache(maxsize=2)
def _path_record(*columns: bytes) -> Record:
    step, entropy = map(np.frombuffer, columns)
    features = path_features(step, entropy)
    return _record(
        step, entropy, features, PATH_RESOLUTION, lambda i: path_members(step[:i], entropy[:i], step[i:])
    )


@lru_cache(maxsize=2)
def _reward_record(*columns: bytes) -> Record:
    step, entropy, reward = map(np.frombuffer, columns)

    def members(i: int) -> FloatArray:
        return reward_members(step[:i], entropy[:i], reward[:i], step[i:], entropy[i:])

    return _record(step, reward, reward_features(step, entropy, reward), RESOLUTION, members)


def _record(
    step: FloatArray,
    values: FloatArray,
    features: FloatArray,
    resolution: float,
    members: Callable[[int], FloatArray],
) -> Record:
    now, noise = now_and_noise(step, values)
    each = origins(step.size)
    return Record(
        lead=np.concatenate([leads(step[:i], step[i:]) for i in each]),
        miss=np.concatenate([members(i) - values[i:] for i in each], axis=1),
        features=features,
        now=now,
        noise=noise,
        spread=float(np.ptp(values)),
        resolution=resolution,
    )


def entropy_path(
    step: FloatArray, entropy: FloatArray, at: FloatArray, *, prior: Prior | None = None
) -> Outlook:
    """Forecast the entropy at the steps ``at`` (m,) from (step, entropy) of shape (n,), n ≥ 8.

    Decays are least-squares curves with their decay time on a grid (Golub & Pereyra 1973 call this
    variable projection, doi:10.1137/0710036). Where the entropies so far are never negative the path is not
    either.
    """
    rule = (learned() if prior is None else prior).entropy
    record, lead = path_record(step, entropy), leads(step, at)
    weight, own = record.weights(rule, lead)
    limits = (0.0 if entropy.min() >= 0 else -HIGHEST_ENTROPY, HIGHEST_ENTROPY)
    curves = path_members(step, entropy, at)
    beyond = farthest(float(entropy[-1]), record.spread, curves, lead)
    value, terms = record.averaged(weight, curves, weight, lead, beyond)
    band = rule.band(value, terms, record.features, limits)
    return Outlook(
        band=band, curves=curves, shares=weight, **_reported(PATH_FORMULAS, record, weight, own, lead, step)
    )


def outlook(
    step: FloatArray,
    entropy: FloatArray,
    reward: FloatArray,
    at: FloatArray,
    entropy_at: FloatArray | None,
    *,
    most: float | None = None,
    prior: Prior | None = None,
) -> Outlook:
    """Forecast the reward at ``at`` (m,), blind where ``entropy_at`` is None; checked arrays only.

    Blind, the members are continued along every member of the entropy's path. ``most`` is the largest
    possible reward, where it is known; where no reward so far is negative none is forecast then.
    """
    prior = learned() if prior is None else prior
    record, lead = reward_record(step, entropy, reward), leads(step, at)
    last, spread = float(entropy[-1]), float(np.ptp(entropy))
    if entropy_at is None:
        path, rule = entropy_path(step, entropy, at, prior=prior), prior.blind
        futures, chance = path.curves, path.shares
        beyond = farthest(last, spread, futures, lead)
    else:
        path, rule = None, prior.observed
        futures, chance = entropy_at[None], np.ones((1, at.size))
        beyond = np.abs(entropy_at - last) / (spread or 1.0)
    weight, own = record.weights(rule, lead)
    every = np.array([reward_members(step, entropy, reward, at, future) for future in futures])
    # A member that this run does not have has no weight.
    curves = np.where(np.isfinite(every), every, 0.0).reshape(-1, at.size)
    shares = (chance[:, None] * weight).reshape(-1, at.size)
    value, terms = record.averaged(weight, curves, shares, lead, beyond)
    low = 0.0 if most is not None and reward.min() >= 0 else -np.inf
    band = rule.band(value, terms, record.features, (low, np.inf if most is None else most))
    reported = _reported(REWARD_FORMULAS, record, weight, own, lead, step)
    return Outlook(band=band, curves=curves, shares=shares, path=path, **reported)


def _reported(
    names: Mapping[str, str],
    record: Record,
    weight: FloatArray,
    own: FloatArray,
    lead: FloatArray,
    step: FloatArray,
) -> dict[str, Any]:
    """The fields of an outlook that are means over its steps."""
    error = np.sqrt((record.errors(lead) ** 2).mean(axis=1))
    return {
        "weight": dict(zip(names, weight.mean(axis=1).tolist(), strict=True)),
        "error": {name: e for name, e in zip(names, error.tolist(), strict=True) if np.isfinite(e)},
        "origins": tuple(origins(step.size)),
        "own": float(own.mean()),
    }


def origins(n: int) -> list[int]:
    """Numbers of evaluations, at most 8, from which the rest of the fitted part is forecast.

    The earliest is 0.35 of the ``n`` fitted ones, and never fewer than four.
    """
    first = max(4, int(np.ceil(0.35 * n)))
    last = max(first, n - max(2, round(0.15 * n)))
    return sorted({round(float(x)) for x in np.linspace(first, last, 8)})
