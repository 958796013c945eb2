"""Paths of the entropy and of the reward: what each member says of later steps, and how they are mixed.

No single form is trusted. Members are weighed by how each would have forecast from earlier origins inside
the fitted part (Tashman 2000, doi:10.1016/S0169-2070(00)00065-0), and the band is that of their mixture,
times the factor that those earlier forecasts call for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from entropylaw.analysis.forms import design, law_column
from entropylaw.analysis.law import HIGHEST_ENTROPY
from entropylaw.engine.grid import FloatArray
from entropylaw.engine.walk import fit_walk, walk_grid
from entropylaw.results.mixture import Mixture

SHARPNESS = 4.0
"""Weights go with the mean squared error to this power, once origins are many: for the entropy, whose
decays differ widely, and for a reward that is forecast with it."""

RESOLUTION = 1e-3
"""Errors below this share of the fitted range are no better than each other."""

RATES = np.geomspace(0.1, 10.0, 21)
"""Decay times of the curves in step, in spans of the fitted part."""

LADDER = 7
"""Paths that stand for the distribution of the entropy's future, at equal probabilities."""

REWARD_FORMULAS = {
    "last": "R(last)",
    "mean of three": "mean of the last three R",
    "walk": "c + random walk",
    "law": "c − a(exp(H) − 1) + random walk",
    "line": "c − a·H + random walk",
    "root": "c − a·√H + random walk",
    "law, least squares": "c − a(exp(H) − 1)",
    "line, least squares": "c − a·H",
    "step curve": "c − d·exp(−s/τ)",
}
"""The members and their formulas; the walk and its noise are integrated out."""

Members = Mapping[str, Mixture]
"""What each member says of the same m future points."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Band:
    """A mixture over m points whose distances from the median are multiplied by ``factor``."""

    mixture: Mixture
    factor: float

    def quantile(self, probability: float) -> FloatArray:
        """Quantile at each point, shape (m,)."""
        median = self.mixture.quantile(0.5)
        return np.asarray(median + self.factor * (self.mixture.quantile(probability) - median))

    def exceeds(self, value: FloatArray) -> FloatArray:
        """Probability of more than ``value`` (m,) at each point, shape (m,)."""
        median = self.mixture.quantile(0.5)
        return np.asarray(1.0 - self.mixture.cdf(median + (value - median) / self.factor))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EntropyPath:
    """Forecast of the entropy at m later steps.

    Attributes
    ----------
    step
        Shape (m,).
    weight
        Member → weight; they add up to 1.
    band
        Distribution of the entropy at each step, noise of a new measurement included.
    origin_paths
        Origin (number of evaluations fitted) → the path that would have been forecast from there for the
        rest of the fitted part.
    positive
        Whether the entropies so far are never negative; then the path is kept at or above 0.
    """

    step: FloatArray
    weight: Mapping[str, float]
    band: Band
    origin_paths: Mapping[int, FloatArray]
    positive: bool

    def quantile(self, probability: float) -> FloatArray:
        """The entropy that is undercut with ``probability``, shape (m,); at most ``HIGHEST_ENTROPY``."""
        value = self.band.quantile(probability)
        return np.clip(value, 0.0 if self.positive else -HIGHEST_ENTROPY, HIGHEST_ENTROPY)

    def ladder(self) -> list[FloatArray]:
        """Equally probable paths of shape (m,), from low to high."""
        return [self.quantile((i + 0.5) / LADDER) for i in range(LADDER)]


def entropy_path(step: FloatArray, entropy: FloatArray, at: FloatArray) -> EntropyPath:
    """Forecast the entropy at the steps ``at`` from (step, entropy) of shape (n,), n ≥ 8.

    Decays are least-squares curves with their decay time on a grid (Golub & Pereyra 1973 call this
    variable projection, doi:10.1137/0710036); the width of every member is that of a random walk.
    """
    errors: dict[int, Mapping[str, FloatArray]] = {}
    trials: list[tuple[Members, FloatArray]] = []
    paths: dict[int, FloatArray] = {}
    spread, positive = float(np.ptp(entropy)), bool(entropy.min() >= 0)
    for origin in origins(step.size):
        trials.append((_members(step[:origin], entropy[:origin], step[origin:]), entropy[origin:]))
        told = locations(trials[-1][0])
        # From an origin only what lay before it is known: the errors of earlier origins up to here.
        known = [{name: x[: origin - first] for name, x in each.items()} for first, each in errors.items()]
        weight = weigh(known, list(told), spread)
        path = np.sum([weight[name] * value for name, value in told.items()], axis=0)
        paths[origin] = np.maximum(path, 0.0) if positive else np.asarray(path)
        errors[origin] = {name: value - entropy[origin:] for name, value in told.items()}
    members = _members(step, entropy, at)
    weight = weigh(list(errors.values()), list(members), spread)
    return EntropyPath(
        step=at,
        weight=weight,
        band=Band(mixture=blend(members, weight), factor=widening(trials, weight, spread)),
        origin_paths=paths,
        positive=positive,
    )


def _members(step: FloatArray, entropy: FloatArray, at: FloatArray) -> dict[str, Mixture]:
    """Every member's distribution at the steps ``at``."""
    x, new = spans(step, at)
    floor = 0.0 if entropy.min() >= 0 else -np.inf
    falls = [(c, t) for c in (0.0, 0.25, 0.5, 0.75, 1.0, 1.5) for t in (0.1, 0.2, 0.4, 0.8)]
    logistic = [[1 / (1 + np.exp(np.clip((z - c) / t, -50, 50))) for z in (x, new)] for c, t in falls]
    curves = {
        "walk": _centre(level_walk(step, entropy, at)),
        "stays": np.full(at.size, entropy[-1]),
        "mean of three": np.full(at.size, entropy[-3:].mean()),
        "exponential": decay(entropy, [(np.exp(-x / t), np.exp(-new / t)) for t in RATES], floor),
        "power": decay(entropy, [(1 / (1 + x / t), 1 / (1 + new / t)) for t in RATES], floor),
        "logistic": decay(entropy, logistic, floor),
    }
    return with_width(curves, step, entropy, at)


def decay(values: FloatArray, shapes: Sequence[Sequence[FloatArray]], floor: float = -np.inf) -> FloatArray:
    """The least-squares curve ``level + drop · shape`` over a list of shapes, continued.

    Parameters
    ----------
    values
        Shape (n,).
    shapes
        Pairs of the shape at the n fitted and at the m new points; shapes tend to 0.
    floor
        Least level that is allowed; where the best one lies below, the level is put there.
    """
    best, curve = np.inf, np.empty(0)
    for fitted, new in shapes:
        spread = fitted - fitted.mean()
        drop = float(spread @ values) / max(float(spread @ spread), np.finfo(float).tiny)
        level = float(values.mean() - drop * fitted.mean())
        if level < floor:
            level, drop = floor, float(fitted @ (values - floor)) / float(fitted @ fitted)
        misfit = float(np.sum((values - level - drop * fitted) ** 2))
        if misfit < best:
            best, curve = misfit, level + drop * new
    return curve


def spans(step: FloatArray, at: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Fitted and new steps from the first one on, in spans of the fitted part."""
    span = step[-1] - step[0]
    return (step - step[0]) / span, (at - step[0]) / span


def level_walk(step: FloatArray, values: FloatArray, at: FloatArray) -> Mixture:
    """A random walk seen through noise, without a trend."""
    walk = fit_walk(step, np.ones((step.size, 1)), values, walk_grid())
    return walk.predict(np.ones((at.size, 1)), at - step[-1])


def level_now(step: FloatArray, values: FloatArray) -> Mixture:
    """The level of such a walk at the last step, its noise taken out."""
    one = np.ones((step.size, 1))
    return fit_walk(step, one, values, walk_grid()).now(one[:1])


def _centre(mixture: Mixture) -> FloatArray:
    """Mean of a mixture over m points, shape (m,)."""
    return np.asarray(mixture.location @ mixture.weight)


def with_width(
    curves: Mapping[str, FloatArray], step: FloatArray, values: FloatArray, at: FloatArray
) -> dict[str, Mixture]:
    """Every curve of shape (m,) with the width of a random walk fitted to the last 70 % of the run.

    The early part is left out of the width because runs begin steeply, and a walk that has to explain the
    beginning is too wide for the rest. A form's own uncertainty is in the spread between the members.
    Where the later part stands still the width is ``RESOLUTION`` of the whole range.
    """
    first = step.size - max(4, int(np.ceil(0.7 * step.size)))
    walk = level_walk(step[first:], values[first:], at)
    scale = np.maximum(walk.scale, RESOLUTION * float(np.ptp(values)) + np.finfo(float).tiny)
    return {
        name: replace(walk, location=np.broadcast_to(curve[:, None], walk.location.shape), scale=scale)
        for name, curve in curves.items()
    }


def origins(n: int) -> list[int]:
    """Numbers of evaluations, at most 8, from which the rest of the fitted part is forecast.

    The earliest is 0.35 of the ``n`` fitted ones, and never fewer than four.
    """
    first = max(4, int(np.ceil(0.35 * n)))
    last = max(first, n - max(2, round(0.15 * n)))
    return sorted({round(float(x)) for x in np.linspace(first, last, 8)})


def locations(members: Members) -> dict[str, FloatArray]:
    """Mean of each member, shape (m,)."""
    return {name: _centre(mixture) for name, mixture in members.items()}


def weigh(
    errors: Sequence[Mapping[str, FloatArray]],
    names: Sequence[str],
    spread: float,
    sharpness: float = SHARPNESS,
) -> dict[str, float]:
    """Weights by rolling-origin score: the mean over origins of the mean squared error, to a power.

    Parameters
    ----------
    errors
        For each origin, member → forecast minus truth over the rest of the fitted part. A member that
        an origin lacks has no weight.
    names
        The members to weigh.
    spread
        Range of the fitted values.
    sharpness
        The power for very many origins.
    """
    least = (RESOLUTION * spread) ** 2 + np.finfo(float).tiny
    # One origin has half the power: with few of them weights stay closer to equal.
    power = sharpness * len(errors) / (len(errors) + 1.0)
    usable = [name for name in names if all(name in each for each in errors)]
    if not errors:
        return dict.fromkeys(names, 1.0 / len(names))
    score = np.array([np.mean([np.mean(each[name] ** 2) for each in errors]) + least for name in usable])
    weight = (score / score.min()) ** -power
    return dict.fromkeys(names, 0.0) | dict(zip(usable, (weight / weight.sum()).tolist(), strict=True))


def blend(members: Members, weight: Mapping[str, float]) -> Mixture:
    """One mixture of the members' mixtures; its tails are those of the fewest degrees of freedom."""
    kept = [(weight[name], mixture) for name, mixture in members.items() if weight[name] > 0]
    whole = np.concatenate([share * mixture.weight for share, mixture in kept])
    return _joined([mixture for _, mixture in kept], whole).pruned()


def _joined(mixtures: Sequence[Mixture], weight: FloatArray) -> Mixture:
    """Mixtures as one, with the ``weight`` of every component of all."""
    return Mixture(
        weight=weight,
        location=np.concatenate([one.location for one in mixtures], axis=1),
        scale=np.concatenate([one.scale for one in mixtures], axis=1),
        df=min(one.df for one in mixtures),
    )


def widening(
    trials: Sequence[tuple[Members, FloatArray]], weight: Mapping[str, float], spread: float
) -> float:
    """By how much a 95 % band must be widened, or may be narrowed, for this run.

    ``trials`` holds, for each origin, the members' forecasts of the rest of the fitted part and the truth.
    The random walk sees one size of step in the whole run; where a run is steep first and flat later its
    band is much too wide, and where no member has the right form too narrow. Both show at the origins.
    ``spread`` is the range of the fitted values; widths below ``RESOLUTION`` of it count as that. The factor
    is 1.7 times the square root of the ratio of those errors to their bands (a power of 0 would leave the
    bands as the walk has them), and no ratio below 0.02 is believed.
    """
    # Where nothing moved, nothing was missed: any width will do that is not 0.
    found, least = [], RESOLUTION * spread or 1.0
    for members, truth in trials:
        mixture = blend(members, {name: weight[name] for name in members})
        low, middle, high = (mixture.quantile(p) for p in (0.025, 0.5, 0.975))
        half = np.maximum(np.where(truth > middle, high - middle, middle - low), least)
        found.append(float(np.mean(((truth - middle) / half) ** 2)))
    # Twice the root mean square stands for the 95 % point of the errors.
    return float(1.7 * max(2.0 * np.sqrt(np.mean(found)), 0.02) ** 0.5)


# An entropy that a logger makes negative has the root of 0.
_COLUMNS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "law": law_column,
    "line": np.asarray,
    "root": lambda entropy: np.sqrt(np.maximum(entropy, 0.0)),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outlook:
    """The forecast as a distribution: what :class:`Forecast` is read from. Arrays in, arrays out."""

    band: Band
    weight: Mapping[str, float]
    error: Mapping[str, float]
    origins: tuple[int, ...]
    path: EntropyPath | None


def outlook(
    step: FloatArray, entropy: FloatArray, reward: FloatArray, at: FloatArray, entropy_at: FloatArray | None
) -> Outlook:
    """Forecast the reward at ``at`` (m,), blind where ``entropy_at`` is None; checked arrays only."""
    path: EntropyPath | None = None
    if entropy_at is None:
        path = entropy_path(step, entropy, at)
        futures, sharpness = path.ladder(), SHARPNESS
    else:
        # At given entropies the members are closer to each other.
        futures, sharpness = [entropy_at], 2.0
    errors: list[dict[str, FloatArray]] = []
    trials: list[tuple[Members, FloatArray]] = []
    for origin in origins(step.size):
        later = entropy[origin:] if path is None else path.origin_paths[origin]
        told = reward_members(step[:origin], entropy[:origin], reward[:origin], step[origin:], later)
        trials.append((told, reward[origin:]))
        errors.append({name: value - reward[origin:] for name, value in locations(told).items()})
    each = [reward_members(step, entropy, reward, at, future) for future in futures]
    weight = weigh(errors, list(each[0]), float(np.ptp(reward)), sharpness)
    # The futures of the entropy are equally probable.
    mixed = [blend(members, weight) for members in each]
    whole = np.concatenate([one.weight for one in mixed]) / len(mixed)
    return Outlook(
        band=Band(mixture=_joined(mixed, whole), factor=widening(trials, weight, float(np.ptp(reward)))),
        weight=weight,
        error={
            name: float(np.sqrt(np.mean([np.mean(found[name] ** 2) for found in errors])))
            for name in set(weight).intersection(*errors)
        },
        origins=tuple(origins(step.size)),
        path=path,
    )


def reward_members(
    step: FloatArray, entropy: FloatArray, reward: FloatArray, at: FloatArray, entropy_at: FloatArray
) -> dict[str, Mixture]:
    """What each member says of new evaluations at ``at`` (m,) with entropies ``entropy_at`` (m,).

    A member whose column does not move in the fitted part says nothing and is left out.
    """
    x, new = spans(step, at)
    curves = {
        "last": np.full(at.size, reward[-1]),
        "mean of three": np.full(at.size, reward[-3:].mean()),
        "walk": _centre(level_walk(step, reward, at)),
        "step curve": decay(reward, [(np.exp(-x / t), np.exp(-new / t)) for t in RATES]),
    }
    for name, column in _COLUMNS.items():
        columns, rows = design(column(entropy)), design(column(entropy_at))
        if np.ptp(columns[:, 1]) <= 1e-9 * np.abs(columns).max():
            continue
        curves[name] = _centre(fit_walk(step, columns, reward, walk_grid()).predict(rows, at - step[-1]))
        if f"{name}, least squares" in REWARD_FORMULAS:
            curves[f"{name}, least squares"] = rows @ np.linalg.lstsq(columns, reward, rcond=None)[0]
    return with_width(curves, step, reward, at)
