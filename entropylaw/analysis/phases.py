"""Two phases: is there a boundary in a curve of entropy, where, and which curve's comes first."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from entropylaw.analysis.law import checked_level
from entropylaw.analysis.phasecautions import FEWEST, blocked, phase_cautions
from entropylaw.analysis.phaseresults import Boundary, CurvePhases, PhaseFit
from entropylaw.analysis.validity import lag1
from entropylaw.engine.bends import Bends, bend_posterior
from entropylaw.engine.grid import FloatArray
from entropylaw.engine.kinks import FIRST, LAST, Kinks, Null, bend, bend_grid, likely_decays
from entropylaw.errors import FitError
from entropylaw.results import Estimate

DRAWS = 399
"""Simulated runs without a boundary, and as many from these."""

DRAWS_RISE = 99
RISES = 7
"""Simulated runs a rise, and rises tried, for the smallest one that would be seen."""

POWER = 0.8
"""Share of runs in which that rise is found."""

BEND_PLACES = 81
HALF_WIDTHS = (0.0, 0.04, 0.08, 0.15, 0.25, 0.4)
"""Grid of the boundary's place, and of half of the transition's width, as a share of the run."""

WHOLE = 0.6
"""Share of the run from which on an interval of the boundary says nothing of its place."""

METHOD = "bent cable on a decay, drift + noise integrated out"


def fit_phases(
    step: Any,
    planning: Any = None,
    execution: Any = None,
    *,
    aggregate: Any = None,
    planning_share: Any = None,
    length: Any = None,
    level: float = 0.95,
    run: str = "run",
) -> PhaseFit:
    """Look for a phase boundary in the entropies of planning and of execution tokens.

    Parameters
    ----------
    step
        Shape (n,), strictly increasing.
    planning, execution
        Shape (n,), entropies in nats, nan where a step has none. Any quantity that decays may stand for
        either: the semantic entropy of plans, say.
    aggregate
        Shape (n,): entropy of all tokens. With the two others it gives their share of the tokens; alone it is
        fitted as one curve, which cannot be taken apart.
    planning_share
        Shape (n,): share of planning tokens among all, where it is known.
    length
        Shape (n,): mean response length. A jump of it is a caution.
    level
        Coverage of every interval; the test is at 1 − level.
    run
        A name, carried along.

    Returns
    -------
    PhaseFit

    Raises
    ------
    FitError
        ``too-few-points``, ``steps-not-increasing``, ``lengths-differ``, ``entropy-negative``,
        ``entropy-constant``, ``no-phase-curve``.
    UsageError
        ``bad-level``.

    Notes
    -----
    *The test.* One smooth decay to a floor (exponential, of the root, power) against the same with a hinge,
    drift and noise integrated out. The statistic is the log of the evidence for a hinge, averaged over its
    place; its distribution without one is simulated from the fitted decay, with covariances drawn by their
    probability given a hinge, and the p-value corrected by one more simulation from each (fast double
    bootstrap, Davidson & MacKinnon 2007, doi:10.1016/j.csda.2006.04.001). A straight line as null would find
    a boundary in every decay. The seed is that of the data.

    *The boundary.* Given that there is one: its probability over places and widths with flat priors, the
    bend's coefficient flat. Points beyond :data:`MOST` are averaged in blocks.

    *The order* takes the two curves as independent given their own fits.
    """
    level = checked_level(level)
    s = np.asarray(step, dtype=float).ravel()
    columns = {"planning": planning, "execution": execution, "aggregate": aggregate}
    given = {name: _column(name, values, s) for name, values in columns.items() if values is not None}
    if not given:
        raise FitError("no-phase-curve", "no curve of entropy was given, expected at least one", "give one")
    # Beside either class the curve of all tokens only tells their shares.
    chosen = [name for name in given if name != "aggregate" or len(given) == 1]
    curves = {name: fit_curve(s, given[name], name=name, level=level) for name in chosen}
    both = "planning" in curves and "execution" in curves
    delta, later, why = _order(curves, level) if both else (None, None, _one_curve(tuple(curves)))
    share, reason = _planning_share(given, curves, planning_share, level)
    missing = {name: int(np.isnan(given[name]).sum()) for name in chosen}
    return PhaseFit(
        run=run,
        planning=curves.get("planning"),
        execution=curves.get("execution"),
        aggregate=curves.get("aggregate"),
        delta=delta,
        later=later,
        verdict=_verdict(curves, delta) if both else None,
        share_planning=share,
        level=level,
        cautions=tuple(phase_cautions(s, given, curves, length)),
        notes=tuple(note for note in (why, reason) if note),
        dropped={f"no entropy of {name} at that step": lost for name, lost in missing.items() if lost},
    )


def fit_curve(step: FloatArray, entropy: FloatArray, *, name: str, level: float) -> CurvePhases:
    """One curve: the test, the boundary, the slopes; steps (n,) and entropies (n,) with nan where missing."""
    there = np.isfinite(entropy)
    s, y = blocked(step[there], entropy[there])
    if s.size < FEWEST:
        raise FitError(
            "too-few-points",
            f"{s.size} entropies of {name}, expected at least {FEWEST}",
            "log the entropy of either class at every step",
        )
    if np.ptp(y) <= 1e-12 * np.abs(y).max():
        raise FitError(
            "entropy-constant",
            f"the entropy of {name} is {y[0]:g} at all {y.size} steps, expected one that moves",
            "check the logger, or name another column",
        )
    kinks = Kinks(s, likely_decays(s, y))
    null = kinks.null(y[:, None])
    mean = kinks.means(null)
    rng = np.random.default_rng(zlib.crc32(np.concatenate([s, y]).tobytes()))
    p_value, critical = decay_test(kinks, null, mean, rng, level)
    told = Told(step=s, entropy=y, level=level)
    found = bend_posterior(kinks, null, y, *bend_columns(kinks.time))
    left = y - mean[:, 0]
    return CurvePhases(
        name=name,
        n=s.size,
        p_value=p_value,
        found=p_value <= 1.0 - level + 1e-12,
        boundary=told.boundary(found),
        **told.slopes(found),
        detectable=_detectable(kinks, null, mean, critical, rng),
        lag1=lag1(left),
        noise=float(np.sqrt(left @ left / kinks.free)),
        step=s,
        entropy=y,
        decay=mean[:, 0],
    )


def bend_columns(time: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Columns of the boundary's grid, with place and half-width of each, in time from 0 to 1."""
    places = np.linspace(FIRST, LAST, BEND_PLACES)
    grid = np.array([(place, half) for place in places for half in HALF_WIDTHS])
    return bend_grid(time, places, HALF_WIDTHS), grid[:, 0], grid[:, 1]


def decay_test(
    kinks: Kinks, null: Null, mean: FloatArray, rng: np.random.Generator, level: float, draws: int = DRAWS
) -> tuple[float, float]:
    """The p-value of one smooth decay, and the statistic from which on it is rejected at 1 − level.

    ``null`` and ``mean`` (n, 1) are of one series.
    """
    first = kinks.null(kinks.draws(null, mean, rng, draws))
    second = kinks.null(kinks.draws(first, kinks.means(first), rng, 1))
    once = np.sort(first.statistic)
    told = _adjusted(once, second.statistic, once)
    rejected = once[told <= 1.0 - level]
    critical = float(rejected.min()) if rejected.size else float("inf")
    return float(_adjusted(once, second.statistic, null.statistic)[0]), critical


def _adjusted(once: FloatArray, twice: FloatArray, statistic: FloatArray) -> FloatArray:
    """p-values of statistics, corrected by a second simulation; ``once`` is sorted.

    The p-value by the first simulation is compared with what it would be for series without a bend, which
    the second tells. Beyond all of the first there is nothing to correct by.
    """
    size = once.size + 1.0
    plain = (1.0 + once.size - np.searchsorted(once, statistic)) / size
    limit = np.quantile(twice, 1.0 - plain)
    corrected = (1.0 + once.size - np.searchsorted(once, limit)) / size
    return np.where(statistic > once[-1], plain, corrected)


def _detectable(
    kinks: Kinks, null: Null, mean: FloatArray, critical: float, rng: np.random.Generator
) -> float | None:
    """The smallest rise to the end, from a hinge in the middle, that is found in :data:`POWER` of runs."""
    if not np.isfinite(critical):
        return None
    ramp = bend(kinks.time, 0.5, 0.0)
    ramp = ramp / ramp[-1]
    plain = kinks.draws(null, mean, rng, DRAWS_RISE)
    spread = float(np.std(plain - mean))
    rises = spread * np.geomspace(0.25, 16.0, RISES)
    tried = np.concatenate([plain + rise * ramp[:, None] for rise in rises], axis=1)
    found = (kinks.null(tried).statistic >= critical).reshape(RISES, DRAWS_RISE).mean(axis=1)
    if found[-1] < POWER:
        return None
    first = int(np.argmax(found >= POWER))
    if first == 0:
        return float(rises[0])
    # Between two of them, along the logarithm of the rise.
    return float(np.exp(np.interp(POWER, found[first - 1 : first + 1], np.log(rises[first - 1 : first + 1]))))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Told:
    """Reads numbers off a posterior of bends, in the run's own steps."""

    step: FloatArray
    entropy: FloatArray
    level: float

    @property
    def span(self) -> float:
        """Steps from the first to the last point."""
        return float(self.step[-1] - self.step[0])

    def boundary(self, found: Bends) -> Boundary:
        """Place and width."""
        places, weight = _marginal(found.place, found.weight)
        steps = self.step[0] + self.span * places
        intervals = _most_probable(steps, weight, self.level)
        widths, mass = _marginal(2.0 * found.half, found.weight)
        return Boundary(
            step=_quantiles(steps, weight, self.level),
            intervals=intervals,
            whole=sum(high - low for low, high in intervals) >= WHOLE * self.span,
            width=_quantiles(self.span * widths, mass, self.level),
            places=steps,
            density=weight,
        )

    def slopes(self, found: Bends) -> dict[str, Any]:
        """What the curve does before and behind the boundary, and the curve itself with its band."""
        tail = (1.0 - self.level) / 2.0
        before, after, rise, last = (
            _mixed(found.number(row), self.level)
            for row in (found.before, found.after, found.rise, found.last)
        )
        middle, sd = found.curve()
        half = -float(ndtri(tail)) * sd
        scaled = [_scaled(each, self.span) for each in (before, after)]
        return {
            "slope_before": scaled[0],
            "slope_after": scaled[1],
            "rise": rise,
            "last": last,
            "fitted": middle,
            "low": middle - half,
            "high": middle + half,
        }


def _mixed(number: Any, level: float) -> Estimate:
    tail = (1.0 - level) / 2.0
    low, value, high = (float(q) for q in number.quantiles((tail, 0.5, 1.0 - tail))[:, 0])
    return Estimate(value=value, low=low, high=high, level=level, method=METHOD)


def _scaled(estimate: Estimate, span: float) -> Estimate:
    """From nats per run to nats per step."""
    assert estimate.value is not None
    assert estimate.low is not None
    assert estimate.high is not None
    return Estimate(
        value=estimate.value / span,
        low=estimate.low / span,
        high=estimate.high / span,
        level=estimate.level,
        method=estimate.method,
    )


def _marginal(values: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Distinct values and the probability of each."""
    points, place = np.unique(np.round(values, 12), return_inverse=True)
    mass = np.bincount(place.ravel(), weights=weight)
    return points, mass / mass.sum()


def _quantiles(points: FloatArray, weight: FloatArray, level: float) -> Estimate:
    """Median and equal-tailed interval of a distribution over points, whole points at the ends."""
    below = np.cumsum(weight)
    tail = (1.0 - level) / 2.0
    low, value, high = (
        float(points[min(int(np.searchsorted(below, q)), points.size - 1)]) for q in (tail, 0.5, 1.0 - tail)
    )
    return Estimate(value=value, low=low, high=high, level=level, method=METHOD)


def _most_probable(points: FloatArray, weight: FloatArray, level: float) -> tuple[tuple[float, float], ...]:
    """The fewest points that have the level's probability, as intervals; each point stands for its cell."""
    order = np.argsort(-weight, kind="stable")
    count = int(np.searchsorted(np.cumsum(weight[order]), level)) + 1
    inside = np.zeros(points.size, dtype=bool)
    inside[order[:count]] = True
    edges = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]]).astype(int)))
    half = 0.5 * float(points[1] - points[0])
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return tuple((float(points[a]) - half, float(points[b - 1]) + half) for a, b in pairs)


def _order(curves: dict[str, CurvePhases], level: float) -> tuple[Estimate | None, float | None, str | None]:
    """Planning's boundary less execution's, the probability that it is later, or why neither is told."""
    lacking = [name for name in ("planning", "execution") if not curves[name].found]
    if lacking:
        return None, None, f"no order is told: no boundary was found in {' and in '.join(lacking)}"
    plan, act = curves["planning"].boundary, curves["execution"].boundary
    gap = plan.places[:, None] - act.places
    weight = plan.density[:, None] * act.density
    order = np.argsort(gap, axis=None)
    estimate = _quantiles(gap.ravel()[order], weight.ravel()[order], level)
    # Equal places are as likely either way.
    later = float(weight[gap > 0].sum() + 0.5 * weight[gap == 0].sum())
    return estimate, later, None


def _verdict(curves: dict[str, CurvePhases], delta: Estimate | None) -> str:
    if delta is None or delta.low is None or delta.high is None:
        return "one boundary" if any(curve.found for curve in curves.values()) else "no boundary"
    if delta.low > 0:
        return "execution first"
    return "planning first" if delta.high < 0 else "overlapping"


def _planning_share(
    given: dict[str, FloatArray], curves: dict[str, CurvePhases], tokens: Any, level: float
) -> tuple[Estimate | None, str | None]:
    """Planning's share of all entropy now, or why it is not known."""
    if not {"planning", "execution"} <= set(curves):
        return None, None
    plan, act = curves["planning"].last, curves["execution"].last
    share = None
    if tokens is not None:
        known = np.asarray(tokens, dtype=float).ravel()
        share = _latest(known)
    elif "aggregate" in given:
        # H is the mean over both classes' tokens, so that the share of tokens follows from the three.
        apart = given["planning"] - given["execution"]
        with np.errstate(all="ignore"):
            ratio = (given["aggregate"] - given["execution"]) / apart
        share = _latest(np.where(np.abs(apart) > 1e-3, ratio, np.nan))
    if share is None or not 0 <= share <= 1:
        return None, "planning's share of the entropy is not known: the log has no share of planning tokens"
    assert plan.value is not None
    assert act.value is not None
    ends = []
    for p, a in ((plan.value, act.value), (plan.low, act.high), (plan.high, act.low)):
        top = share * max(p or 0.0, 0.0)
        ends.append(top / max(top + (1.0 - share) * max(a or 0.0, 0.0), 1e-300))
    return (
        Estimate(
            value=ends[0], low=ends[1], high=ends[2], level=level, method="ends of the curves' intervals"
        ),
        None,
    )


def _latest(values: FloatArray) -> float | None:
    """Median over the last tenth of the values that there are."""
    there = values[np.isfinite(values)]
    return float(np.median(there[-max(1, there.size // 10) :])) if there.size else None


def _one_curve(names: tuple[str, ...]) -> str:
    if names == ("aggregate",):
        return (
            "one curve of all tokens cannot be taken apart into planning and execution: any fall of one with "
            "a rise of the other gives the same sum; log the entropy of either class, or summarise the "
            "tokens with `entropylaw tokens`"
        )
    return f"no order is told: there is only the curve of {names[0]}"


def _column(name: str, values: Any, step: FloatArray) -> FloatArray:
    column = np.asarray(values, dtype=float).ravel()
    if column.size != step.size:
        raise FitError(
            "lengths-differ",
            f"{column.size} entropies of {name} and {step.size} steps, expected one of each",
            "pass arrays of the same length",
        )
    if not np.all(np.diff(step) > 0):
        at = int(np.flatnonzero(~(np.diff(step) > 0))[0])
        raise FitError(
            "steps-not-increasing",
            f"step {step[at + 1]:g} follows step {step[at]:g}, expected increasing steps",
            "sort the run by step and keep one row a step",
        )
    least = float(np.nanmin(column)) if np.isfinite(column).any() else 0.0
    if least < -1e-6:
        raise FitError(
            "entropy-negative",
            f"the entropy of {name} goes down to {least:.3g}, expected none below 0",
            "an entropy over a vocabulary is never negative: check the sign, or name another column",
        )
    return np.where(np.isfinite(column), column, np.nan)
