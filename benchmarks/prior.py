"""Learn from finished runs how a forecast weighs its members, and how wide its band is.

python -m benchmarks.prior                 print how many runs there are, and what was learned
python -m benchmarks.prior --write         and put it into entropylaw/analysis/forecast_prior.json

Every run is cut after 8 and 12 evaluations, and after 10, 15, 22, 33, 50, 70 and 85 % of them; what follows
is forecast. The public logs are those beside the checkout; where they are absent, they are not learned from.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from entropylaw.analysis.ensemble import (
    Record,
    farthest,
    leads,
    path_record,
    reward_record,
)
from entropylaw.analysis.forecast_prior import REWARD_GROUPS, RULES, TERMS, Prior, from_document
from entropylaw.analysis.members import REWARD_FORMULAS, path_members, reward_members
from scipy.optimize import minimize
from scipy.special import ndtri

from benchmarks.finished import collected
from benchmarks.simulated import curves, policy
from benchmarks.worlds import FloatArray
from entropylaw.analysis import forecast_prior
from entropylaw.analysis.forecast import blocked

IMPORTANCE = {"public": 0.4, "lab": 0.25, "policy": 0.25, "curves": 0.1}
"""Weight of each kind of run in what is minimised."""

IMPORTANCE_BAND = {"public": 0.25, "lab": 0.2, "policy": 0.2, "curves": 0.35}
MORE = {"turns": 3.5, "late": 3.0, "walk": 1.5}
"""The same for the bands, and how many times curves of some shapes count: each has to be covered."""

SMOOTH = 0.02
"""Half-width of the rounded corner where a band ends, in fitted ranges."""

STRETCH = 1e-3
"""Penalty on the squares of the exponents by which a band depends on the features."""

PARTS = 6
"""Parts of the families: what is judged was learned without its part."""

SIMULATED = {"curves": 240, "policy": 100}
"""Numbers of simulated runs."""

SHARES = (0.1, 0.15, 0.22, 1 / 3, 0.5, 0.7, 0.85)
FEW = (8, 12)
LEAST_AHEAD, MOST_AHEAD = 4, 24
"""Points that are predicted after a cut, evenly chosen where there are more."""

WORSE = 3.0
"""Weight of the square of ln(RMSE/RMSE of the last value) where that is positive."""

JUDGED_AT = 6
"""Points after a cut at which the weights are judged."""

JUDGED = 3.0
"""How much more the cuts count at which backtests start: at 15 % and a third."""

RIDGE = {"bias": 3e-4, "slope": 1e-3, "power": 1.0, "power slope": 0.3}
"""Penalties on the squares of what is learned; of the power, on its distance from :data:`POWER`."""

POWER = {"entropy": 1.0, "observed": 3.0, "blind": 3.0}

FLOOR = (0.02, 0.3)
"""Errors count from this share of the run's range, and this share of the noise, on."""

WIDENED = 0.97
"""Bands of :data:`LEVEL` contain this share of the corpus: other runs are less like it than its own parts."""

LEVELS = (0.1, 0.25, 0.5, 0.68, 0.8, 0.9, 0.95, 0.98, 0.99)
LEVEL, SOFT = 0.95, 1.0
"""Level of the interval score whose logarithm is minimised, and what is added to it, in ranges of the run."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Source:
    """A finished run: which kind it is, and the family in which runs are near copies of each other.

    ``more`` is how many times it counts in the bands, beside others of its kind.
    """

    kind: str
    family: str
    step: FloatArray
    entropy: FloatArray
    reward: FloatArray
    more: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cut:
    """A run up to a cut, and what followed: ``truth`` and ``entropies`` (m,), members' curves (k, m).

    ``paths`` are curves of the entropy, ``observed`` of the reward at the observed entropies, and ``along``
    (paths, k, m) those along each path.
    """

    source: int
    kind: str
    family: str
    weight: float
    more: float
    lead: FloatArray
    entropies: FloatArray
    truth: FloatArray
    paths: FloatArray
    observed: FloatArray
    along: FloatArray
    of_entropy: Record
    of_reward: Record
    last: tuple[float, float]
    spread: tuple[float, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put it into entropylaw/analysis/")
    arguments = parser.parse_args()
    cuts = every_cut(sources())
    text = json.dumps(learn(cuts), indent=1) + "\n"
    print(text)
    if arguments.write:
        path = Path(forecast_prior.__file__).with_name(forecast_prior.FILE)
        path.write_text(text, encoding="utf-8")


def sources() -> list[Source]:
    """Public logs, the lab's runs and simulated ones."""
    found = []
    for entry in collected():
        one = entry.series
        kind = "public" if entry.public else "lab"
        found.append(
            Source(kind=kind, family=entry.family, step=one.step, entropy=one.entropy, reward=one.reward)
        )
    for kind, make in (("curves", curves), ("policy", policy)):
        for seed in range(SIMULATED[kind]):
            name, (step, entropy, reward) = make(seed)
            family = f"{kind} {seed % 5}" if kind == "curves" else f"{kind} {name}"
            more = float(np.prod([MORE.get(word, 1.0) for word in name.split(", ")]))
            found.append(
                Source(kind=kind, family=family, step=step, entropy=entropy, reward=reward, more=more)
            )
    return found


def every_cut(every: Sequence[Source]) -> list[Cut]:
    with ProcessPoolExecutor() as pool:
        return [cut for some in pool.map(cuts_of, range(len(every)), every) for cut in some]


def cuts_of(number: int, source: Source) -> list[Cut]:
    """All cuts of one run: to its end, and as far again as was fitted."""
    step, entropy, reward, _ = blocked(source.step, source.entropy, source.reward)
    n = step.size
    judged = {min(max(FEW[0], round(share * n)), n - LEAST_AHEAD) for share in (0.15, 1 / 3)}
    places = {*FEW, *(round(share * n) for share in SHARES), *judged}
    found = []
    for first in sorted(at for at in places if FEW[0] <= at <= n - LEAST_AHEAD):
        if not np.ptp(entropy[:first]) or not np.ptp(reward[:first]):
            continue
        for stop in sorted({n, min(n, 2 * first)}):
            if stop - first >= LEAST_AHEAD:
                weight = JUDGED if first in judged and stop == n else 1.0
                found.append(cut(number, source, (step, entropy, reward), first, stop, weight))
    return found


def cut(number: int, source: Source, run: Sequence[FloatArray], first: int, stop: int, weight: float) -> Cut:
    step, entropy, reward = (column[:first] for column in run)
    some = first + np.unique(
        np.linspace(0, stop - first - 1, min(stop - first, MOST_AHEAD)).round().astype(int)
    )
    at, entropies, truth = (column[some] for column in run)
    paths = path_members(step, entropy, at)
    return Cut(
        source=number,
        kind=source.kind,
        family=source.family,
        weight=weight,
        more=source.more,
        lead=leads(step, at),
        entropies=entropies,
        truth=truth,
        paths=paths,
        observed=reward_members(step, entropy, reward, at, entropies),
        along=np.array([reward_members(step, entropy, reward, at, path) for path in paths]),
        of_entropy=path_record(step, entropy),
        of_reward=reward_record(step, entropy, reward),
        last=(float(entropy[-1]), float(reward[-1])),
        spread=(float(np.ptp(run[1])), float(np.ptp(run[2]))),
    )


def importance(cuts: Sequence[Cut]) -> FloatArray:
    """Weight of every cut (c,): each kind by :data:`IMPORTANCE`, each of its runs equally."""
    runs = {kind: len({cut.source for cut in cuts if cut.kind == kind}) for kind in IMPORTANCE}
    return np.array(
        [
            IMPORTANCE[one.kind] / runs[one.kind] * share
            for one, share in zip(cuts, _within(cuts), strict=True)
        ]
    )


def importance_of_band(cuts: Sequence[Cut]) -> FloatArray:
    """The same by :data:`IMPORTANCE_BAND`, each run as many times as its ``more`` says."""
    total: Counter[str] = Counter()
    for kind, _, more in {(one.kind, one.source, one.more) for one in cuts}:
        total[kind] += more  # type: ignore[assignment]
    return np.array(
        [
            IMPORTANCE_BAND[one.kind] / total[one.kind] * one.more * share
            for one, share in zip(cuts, _within(cuts), strict=True)
        ]
    )


def _within(cuts: Sequence[Cut]) -> list[float]:
    """Share of each cut in its run."""
    total: Counter[int] = Counter()
    for one in cuts:
        total[one.source] += one.weight  # type: ignore[assignment]
    return [one.weight / total[one.source] for one in cuts]


def learn(cuts: Sequence[Cut]) -> dict[str, Any]:
    """The content of the prior's file; the bands from errors of weights learned without a run's part."""
    weights = without_each(cuts)
    judged = [judge(one, from_document(with_bands(weights[part(one.family)], {}))) for one in cuts]
    kinds = Counter(kind for kind, _ in {(one.kind, one.source) for one in cuts})
    return with_bands(weights_of(cuts), bands_of(judged, cuts)) | {"runs": dict(sorted(kinds.items()))}


def left_out(cuts: Sequence[Cut]) -> dict[int, Prior]:
    """For each part of the families, the prior that is learned from the others."""
    weights, found = without_each(cuts), {}
    judged = [judge(one, from_document(with_bands(weights[part(one.family)], {}))) for one in cuts]
    for number in weights:
        others = [i for i, one in enumerate(cuts) if part(one.family) != number]
        bands = bands_of([judged[i] for i in others], [cuts[i] for i in others])
        found[number] = from_document(with_bands(weights[number], bands))
    return found


def part(family: str) -> int:
    """The part of the corpus that a family belongs to, by another hash than that of the two halves."""
    return int(hashlib.sha256(f"x{family}".encode()).hexdigest(), 16) % PARTS


def without_each(cuts: Sequence[Cut]) -> dict[int, dict[str, Any]]:
    """For each part the weights that are learned from the others."""
    numbers = sorted({part(one.family) for one in cuts})
    return {number: weights_of([one for one in cuts if part(one.family) != number]) for number in numbers}


def bands_of(judged: Sequence[Mapping[str, Judged]], cuts: Sequence[Cut]) -> dict[str, Any]:
    return {name: band_of([each[name] for each in judged], cuts) for name in RULES}


def with_bands(weights: Mapping[str, Any], bands: Mapping[str, Any]) -> dict[str, Any]:
    ones = [1.0] * TERMS
    found = {}
    for name, each in weights.items():
        flat = [0.0] * len(next(iter(each["slope"].values())))
        none = {"up": ones, "down": ones, "stretch": flat, "errors": [[1.0], [1.0]]}
        found[name] = dict(each) | bands.get(name, none)
    return {"runs": {}} | found


def weights_of(cuts: Sequence[Cut]) -> dict[str, Any]:
    """Biases, slopes and powers of the three rules."""
    found: dict[str, Any] = {"entropy": fit_rule("entropy", cuts, [one.paths for one in cuts])}
    paths = from_document(
        with_bands({"entropy": found["entropy"], "observed": _flat(), "blind": _flat()}, {})
    ).entropy
    found["observed"] = fit_rule("observed", cuts, [one.observed for one in cuts])
    chance = [one.of_entropy.weights(paths, one.lead)[0] for one in cuts]
    blind = [np.einsum("jm,jkm->km", w, one.along) for w, one in zip(chance, cuts, strict=True)]
    found["blind"] = fit_rule("blind", cuts, blind)
    return found


def _flat() -> dict[str, Any]:
    slope = {group: [0.0] * 5 for group in REWARD_GROUPS}
    return {"bias": dict.fromkeys(REWARD_FORMULAS, 0.0), "slope": slope, "power": [0.0, 0.0]}


def fit_rule(name: str, cuts: Sequence[Cut], forecasts: Sequence[FloatArray]) -> dict[str, Any]:
    """Weights that minimise the mean logarithm of the error over that of the last value.

    ln(RMSE/RMSE of the last value), and the square of its positive part, so that no run is much worse.
    """
    of_entropy = name == "entropy"
    records = [one.of_entropy if of_entropy else one.of_reward for one in cuts]
    truth = [one.entropies if of_entropy else one.truth for one in cuts]
    last = np.array([one.last[not of_entropy] for one in cuts])
    features = np.array([record.features for record in records])
    some = [np.linspace(0, one.lead.size - 1, JUDGED_AT).round().astype(int) for one in cuts]
    log_error = np.array(
        [record.log_errors(one.lead[at]) for record, one, at in zip(records, cuts, some, strict=True)]
    )
    values = np.array([each[:, at] for each, at in zip(forecasts, some, strict=True)])
    known = np.isfinite(log_error) & np.isfinite(values)
    log_error = np.where(known, log_error, 0.0)
    miss = (
        np.where(known, values, 0.0)
        - np.array([true[at] for true, at in zip(truth, some, strict=True)])[:, None]
    )
    spread = np.array([max(one.spread[not of_entropy], 1e-12) for one in cuts])
    floor = (FLOOR[0] * spread) ** 2 + (FLOOR[1] * np.array([record.noise for record in records])) ** 2
    of_last = np.array([np.mean((value - true) ** 2) for value, true in zip(last, truth, strict=True)])
    reference, omega = 0.5 * np.log(of_last + floor), importance(cuts)
    names, groups = list(RULES[name][0]), RULES[name][1]
    member = np.array([[one in some for some in groups.values()] for one in names], dtype=float)
    size, (k, g) = features.shape[1], member.shape
    start = np.concatenate([np.zeros(k + g * size), [np.log(POWER[name]), 0.0]])
    ridge = np.repeat(list(RIDGE.values()), [k, g * size, 1, 1])
    log_size = features[:, forecast_prior.SIZE]

    def loss(x: FloatArray) -> tuple[float, FloatArray]:
        slope, power = x[k : k + g * size].reshape(g, size), np.exp(x[-2] + x[-1] * log_size)
        prior = x[:k] + (features @ slope.T) @ member.T
        logit = np.where(known, prior[..., None] - power[:, None, None] * log_error, -np.inf)
        weight = np.exp(logit - logit.max(axis=1, keepdims=True))
        weight /= weight.sum(axis=1, keepdims=True)
        error = (weight * miss).sum(axis=1)
        square = (error**2).mean(axis=1) + floor
        ratio = 0.5 * np.log(square) - reference
        worse = np.maximum(ratio, 0.0)
        factor = omega * (1.0 + 2.0 * WORSE * worse) / square / JUDGED_AT
        pull = factor[:, None, None] * error[:, None] * miss
        by_logit = weight * (pull - (weight * pull).sum(axis=1, keepdims=True))
        by_prior = by_logit.sum(axis=2)
        by_power = -(by_logit * log_error).sum(axis=(1, 2)) * power
        gradient = [by_prior.sum(axis=0), ((by_prior @ member).T @ features).ravel()]
        gradient.append(np.array([by_power.sum(), (by_power * log_size).sum()]))
        total = (omega * (ratio + WORSE * worse**2)).sum() + (ridge * (x - start) ** 2).sum()
        return float(total), np.concatenate(gradient) + 2.0 * ridge * (x - start)

    x = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    slopes = x[k : k + g * size].reshape(g, size)
    return {
        "bias": dict(zip(names, _rounded(x[:k]), strict=True)),
        "slope": {group: _rounded(row) for group, row in zip(groups, slopes, strict=True)},
        "power": _rounded(x[-2:]),
    }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Judged:
    """Errors (m,) of one forecast and the terms (t, m) of its band, in fitted ranges; features of the run.

    ``whole`` is the range of the whole run.
    """

    error: FloatArray
    terms: FloatArray
    features: FloatArray
    whole: float


def judge(one: Cut, prior: Prior) -> dict[str, Judged]:
    """What a prior forecasts after a cut, and how far it is from the truth."""
    path, _ = one.of_entropy.weights(prior.entropy, one.lead)
    reward, _ = one.of_reward.weights(prior.observed, one.lead)
    blind, _ = one.of_reward.weights(prior.blind, one.lead)
    shape = (-1, one.truth.size)
    last, spread = one.last[0], one.of_entropy.spread
    beyond = np.abs(one.entropies - last) / (spread or 1.0), farthest(last, spread, one.paths, one.lead)
    joint = (path[:, None] * blind).reshape(shape)
    return {
        "entropy": _judged(one, 0, path, path, one.paths, beyond[1]),
        "observed": _judged(one, 1, reward, reward, one.observed, beyond[0]),
        "blind": _judged(one, 1, blind, joint, one.along.reshape(shape), beyond[1]),
    }


def _judged(
    one: Cut,
    which: int,
    weight: FloatArray,
    shares: FloatArray,
    forecasts: FloatArray,
    beyond: FloatArray,
) -> Judged:
    """Of the entropy (``which`` 0) or the reward (1)."""
    record, truth = ((one.of_entropy, one.entropies), (one.of_reward, one.truth))[which]
    curves = np.where(np.isfinite(forecasts), forecasts, 0.0)
    value, terms = record.averaged(weight, curves, shares, one.lead, beyond)
    return Judged(
        error=(truth - value) / record.spread,
        terms=terms / record.spread,
        features=record.features,
        whole=max(one.spread[which] / record.spread, 1.0),
    )


def band_of(judged: Sequence[Judged], cuts: Sequence[Cut]) -> dict[str, Any]:
    """Half-widths that minimise the mean logarithm of the interval score, and the errors in units of them."""
    terms, error = (
        np.concatenate([each.terms for each in judged], axis=1),
        np.concatenate([j.error for j in judged]),
    )
    number = np.repeat(np.arange(len(judged)), [each.error.size for each in judged])
    features = np.array([each.features for each in judged])
    whole = np.array([each.whole for each in judged])
    count, omega = np.bincount(number), importance_of_band(cuts)
    omega /= omega.sum()
    size, penalty = len(terms), 2.0 / (1.0 - LEVEL)

    def loss(x: FloatArray) -> tuple[float, FloatArray]:
        up, down = np.exp(x[:size]), np.exp(x[size : 2 * size])
        stretch = np.exp(features @ x[2 * size :])
        wide = stretch[number]
        high, low = wide * (up @ terms), wide * (down @ terms)
        # Smooth about the ends of the band, which the minimisation needs.
        (above, out_above), (below, out_below) = _positive(error - high), _positive(-error - low)
        score = np.bincount(number, high + low + penalty * (above + below)) / count / whole
        each = (omega / (score + SOFT) / count / whole)[number]
        pull_up, pull_down = (
            each * wide * (1.0 - penalty * out_above),
            each * wide * (1.0 - penalty * out_below),
        )
        by_up, by_down = up * (terms @ pull_up), down * (terms @ pull_down)
        by_stretch = np.bincount(number, pull_up * (up @ terms) + pull_down * (down @ terms)) @ features
        away = np.concatenate([x[: 2 * size] + 1.0, x[2 * size :]])
        ridge = np.repeat([1e-4, STRETCH], [2 * size, features.shape[1]])
        total = float((omega * np.log(score + SOFT)).sum() + (ridge * away**2).sum())
        return total, np.concatenate([by_up, by_down, by_stretch]) + 2.0 * ridge * away

    start = np.repeat([-1.5, 0.0], [2 * size, features.shape[1]])
    bounds = [(-8.0, 3.0)] * (2 * size) + [(-2.0, 2.0)] * features.shape[1]
    x = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    up, down, stretch = np.exp(x[:size]), np.exp(x[size : 2 * size]), x[2 * size :]
    wide = np.exp(features @ stretch)[number]
    in_units = np.where(error > 0, error / (up @ terms), -error / (down @ terms)) / wide
    order = np.argsort(in_units, kind="stable")
    share = np.cumsum((omega / count)[number][order])
    at = np.array([*LEVELS, WIDENED, LEVEL])
    *found, wider, plain = np.interp(at, share / share[-1], in_units[order]).tolist()
    deviate = ndtri(0.5 * (1.0 + np.array(LEVELS)))
    return {
        "up": _rounded(up),
        "down": _rounded(down),
        "stretch": _rounded(stretch),
        "errors": [_rounded(deviate), _rounded(wider / plain * np.array(found))],
    }


def _positive(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The positive part with a rounded corner, and its derivative."""
    root = np.sqrt(x**2 + SMOOTH**2)
    return np.asarray(0.5 * (x + root)), np.asarray(0.5 * (1.0 + x / root))


def _rounded(values: Iterable[float]) -> list[float]:
    return [float(f"{value:.4g}") for value in values]


if __name__ == "__main__":
    main()
