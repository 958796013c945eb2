"""What other runs did next: how a forecast weighs its members, and how far such forecasts were wrong.

Two things are learned from finished runs, each fitted up to a step and compared with what followed: the
weight of every member, given what a run has done so far and the member's errors inside that run; and the
half-width of the band. The numbers are in ``forecast_prior.json``, which ``python -m benchmarks.prior
--write`` makes; ``docs/benchmarks/forecasts.md`` has what they achieve on runs that they were not learned
from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

import msgspec
import numpy as np
from scipy.special import ndtr, ndtri

from entropylaw.analysis.forms import design, law_column
from entropylaw.analysis.members import PATH_FORMULAS, REWARD_FORMULAS
from entropylaw.arrays import FloatArray
from entropylaw.engine.local_level import fit_local_level

FILE = "forecast_prior.json"

REWARD_GROUPS = {
    "entropy": ("law", "line", "root"),
    "least squares": ("law, least squares", "line, least squares"),
    "step": ("step curve",),
}
"""Members of the reward whose weights depend on what the run has done, together; the others' do not."""

PATH_GROUPS = {
    "falls to a level": ("exponential", "power", "logistic"),
    "goes on": ("power goes on", "decay slows", "decay goes on"),
}
"""The same of the entropy."""

RULES: Mapping[str, tuple[Mapping[str, str], Mapping[str, tuple[str, ...]]]] = {
    "entropy": (PATH_FORMULAS, PATH_GROUPS),
    "observed": (REWARD_FORMULAS, REWARD_GROUPS),
    "blind": (REWARD_FORMULAS, REWARD_GROUPS),
}
"""The members and the groups of each rule."""

SIZE = 2
"""Position of ln(n/8) in the features: the power of the run's own errors depends on it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rule:
    """How K members are weighed, and how wide the band is.

    With features φ of the run and root mean squared errors e of the members inside it, about as far ahead, in
    ranges,

        weight ∝ exp(bias + slope · φ − exp(power[0] + power[1]·ln(n/8)) · ln e).

    ``bias`` has shape (K,), ``slope`` (K, f). The half-widths of the band are ``up`` and ``down`` (t,) times
    the terms of :func:`band_terms`, times exp(stretch · φ), times the ``errors`` (2, k): normal deviates, and
    the errors that past forecasts had there, in half-widths.
    """

    bias: FloatArray
    slope: FloatArray
    power: FloatArray
    up: FloatArray
    down: FloatArray
    stretch: FloatArray
    errors: FloatArray

    def weights(self, features: FloatArray, log_error: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Weights (K, m) at each of m points, and the share (m,) of them that the run's own errors moved.

        ``log_error`` (K, m) is nan for members that this run does not have.
        """
        known = np.isfinite(log_error)
        prior = np.where(known, (self.bias + self.slope @ features)[:, None], -np.inf)
        power = np.exp(self.power[0] + self.power[1] * features[SIZE])
        weight, other = (_softmax(each) for each in (prior - power * np.where(known, log_error, 0.0), prior))
        return weight, np.asarray(0.5 * np.abs(weight - other).sum(axis=0))

    def band(
        self, value: FloatArray, terms: FloatArray, features: FloatArray, limits: tuple[float, float]
    ) -> Band:
        """The band about forecasts (m,) with these terms (t, m), inside the limits; features of the run."""
        stretch = np.exp(self.stretch @ features)
        return Band(
            value=np.clip(value, *limits),
            up=stretch * (self.up @ terms),
            down=stretch * (self.down @ terms),
            errors=self.errors,
            limits=limits,
        )


def _softmax(logit: FloatArray) -> FloatArray:
    weight = np.exp(logit - logit.max(axis=0))
    return np.asarray(weight / weight.sum(axis=0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Band:
    """Prediction intervals of m points about ``value`` (m,).

    ``up`` and ``down`` (m,) are half-widths in units of which ``errors`` (:class:`Rule`) are; quantiles stay
    between the two ``limits``.
    """

    value: FloatArray
    up: FloatArray
    down: FloatArray
    errors: FloatArray
    limits: tuple[float, float] = (-np.inf, np.inf)

    def quantile(self, probability: float) -> FloatArray:
        """Quantile at each point, shape (m,)."""
        deviate = float(ndtri(probability))
        size = _interpolated(np.array(abs(deviate)), *self.errors)
        moved = self.value + (self.up * size if deviate > 0 else -self.down * size)
        return np.clip(moved, *self.limits)

    def exceeds(self, value: FloatArray, noise: float = 0.0) -> FloatArray:
        """Probability of at least ``value`` (m,) at each point, (m,), without a measurement's ``noise``.

        ``noise`` is the standard deviation of a measurement about the level; its share of the variance is
        taken out of the half-widths.
        """
        distance = value - self.value
        unit = np.where(distance > 0, self.up, self.down)
        spread = unit * _interpolated(np.array(1.0), *self.errors)
        kept = np.sqrt(np.maximum(1.0 - (noise / spread) ** 2, 1e-3))
        deviate = np.sign(distance) * _interpolated(np.abs(distance) / (unit * kept), *self.errors[::-1])
        return np.where(value <= self.limits[1], ndtr(-deviate), 0.0)


def _interpolated(x: FloatArray, known: FloatArray, value: FloatArray) -> FloatArray:
    """Piecewise linear from (0, 0) on, and beyond the last known point in proportion."""
    inside = np.interp(x, np.concatenate([[0.0], known]), np.concatenate([[0.0], value]))
    return np.asarray(np.where(x > known[-1], value[-1] * x / known[-1], inside))


TERMS = 7
"""Number of terms of a band's half-width."""

FARTHEST = 20.0
"""Ranges of the fitted entropies beyond the last one from which on a band grows no more."""


def band_terms(
    *,
    noise: float,
    spread: FloatArray,
    moved: FloatArray,
    error: FloatArray,
    fitted: float,
    beyond: FloatArray,
    lead: FloatArray,
) -> FloatArray:
    """The terms of a band's half-width at m points, shape (7, m).

    They are the ``noise`` of a measurement, the ``spread`` between the members, how far the forecast has
    ``moved`` from the level now, the ``error`` of such forecasts inside the run, as it is and times the root
    of the ``lead`` in fitted spans, and the ``fitted`` range, once times 1 − exp(−lead²/2) for a turn that
    nothing announces, and once times how far the entropy may go ``beyond`` the last one, in fitted ranges of
    it.
    """
    far = np.minimum(beyond, FARTHEST)
    turn = 1.0 - np.exp(-0.5 * lead**2)
    level = np.full(lead.size, noise)
    return np.array([level, spread, np.abs(moved), error, error * np.sqrt(lead), fitted * turn, fitted * far])


def reward_features(step: FloatArray, entropy: FloatArray, reward: FloatArray) -> FloatArray:
    """What a run has done so far, as the weights of the reward's members depend on it, shape (5,).

    The slope a of the law in its standard errors about a random walk, from -1 to 1; the same where reward
    falls with exp(H) rising alone; ln(n/8); the slope of the reward over ln(number of the evaluation) in its
    standard errors; and how far entropy has fallen, the logarithm of its ratio, from -2 to 2.
    """
    a = -_slope_in_errors(step, law_column(entropy), reward)
    trend = _slope_in_errors(step, _log_number(step), reward)
    return np.array(
        [
            np.tanh(a / 4),
            np.tanh(max(-a, 0.0) / 2),
            np.log(step.size / 8),
            np.tanh(trend / 4),
            fallen(entropy),
        ]
    )


def path_features(step: FloatArray, entropy: FloatArray) -> FloatArray:
    """The same for the entropy's path, shape (3,): its trend, how far it has fallen, ln(n/8)."""
    trend = _slope_in_errors(step, _log_number(step), entropy)
    return np.array([np.tanh(-trend / 4), fallen(entropy), np.log(step.size / 8)])


def _log_number(step: FloatArray) -> FloatArray:
    return np.asarray(np.log(np.arange(1.0, step.size + 1.0)))


def fallen(entropy: FloatArray) -> float:
    """Logarithm of the first two entropies' mean over that of the last two, from -2 to 2."""
    first, last = (max(float(part.mean()), 1e-4) for part in (entropy[:2], entropy[-2:]))
    return float(np.clip(np.log(first / last), -2.0, 2.0))


def _slope_in_errors(step: FloatArray, column: FloatArray, values: FloatArray) -> float:
    """Slope of ``values`` over a column about a random walk, in standard deviations; 0 without one."""
    if np.ptp(column) <= 1e-9 * np.abs(column).max():
        return 0.0
    # The design has the column with its sign changed.
    fit = fit_local_level(step, design(column), values)
    (slope,), (scale,) = fit.of(np.array([[0.0, -1.0]]))
    mean = float(slope @ fit.weight)
    variance = float((scale**2 + (slope - mean) ** 2) @ fit.weight)
    return mean / np.sqrt(variance) if variance > 0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """The rules for a path of the entropy, and for the reward at given entropies and along such a path.

    ``runs`` is the number of runs of each kind that they were learned from.
    """

    entropy: Rule
    observed: Rule
    blind: Rule
    runs: Mapping[str, int]


@lru_cache(maxsize=1)
def learned() -> Prior:
    """The prior that is shipped."""
    return from_document(msgspec.json.decode(files("entropylaw.analysis").joinpath(FILE).read_bytes()))


def from_document(document: Mapping[str, Any]) -> Prior:
    """A prior from the content of its file."""
    rules = {}
    for name, (members, groups) in RULES.items():
        each, names = document[name], list(members)
        size = len(next(iter(each["slope"].values())))
        slope = np.zeros((len(names), size))
        for group, some in groups.items():
            for member in some:
                slope[names.index(member)] = each["slope"][group]
        arrays = {key: np.array(each[key]) for key in ("power", "up", "down", "stretch", "errors")}
        rules[name] = Rule(bias=np.array([each["bias"][one] for one in names]), slope=slope, **arrays)
    return Prior(**rules, runs=document["runs"])
