"""Two phases: is there a boundary in a curve of entropy, where, and which curve's comes first."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from scipy.special import ndtri

from entropylaw.analysis.estimate import from_mixture
from entropylaw.analysis.fitting import check_scale, check_steps
from entropylaw.analysis.inverse import SMALLEST_ENTROPY
from entropylaw.analysis.law import checked_level
from entropylaw.analysis.phasecautions import FEWEST, TOLD, blocked, phase_cautions
from entropylaw.analysis.phaseplaces import (
    METHOD,
    boundary_of,
    closest,
    difference,
    of_points,
    places_of,
    weighted_points,
)
from entropylaw.analysis.phasetest import checked_test_level, decay_test, smallest_rise
from entropylaw.analysis.validity import lag1
from entropylaw.arguments import as_floats
from entropylaw.engine.bends import Bends
from entropylaw.engine.decays import fallen, likely_decays
from entropylaw.engine.grid import FloatArray
from entropylaw.engine.kinks import Kinks
from entropylaw.engine.mixture import Mixture
from entropylaw.engine.walk import fit_walk, walk_grid
from entropylaw.errors import FitError
from entropylaw.results import Estimate
from entropylaw.results.phases import KINDS, UNKNOWN_SHARE, CurvePhases, PhaseFit

SETTLED = 0.95
"""Share of its fall after which a decay counts as settled."""

NOW, SHAPE = "random walk + noise", "shape of the decay, drift + noise integrated out"
_SHARE_POINTS = 101


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
    *The test.* One smooth decay to a floor (:data:`entropylaw.engine.decays.FAMILIES`) against the same with
    a hinge, drift and noise integrated out. The statistic is the log of the evidence for a hinge, averaged
    over its place; its distribution without one is simulated from the fitted decay, with covariances drawn by
    their probability over both answers, and the p-value corrected by one more simulation from each (fast
    double bootstrap, Davidson & MacKinnon 2007, doi:10.1016/j.csda.2006.04.001). A straight line as null
    would find a boundary in every decay. The seed is that of the data.

    *The boundary.* Given that there is one: its probability over places and widths with flat priors, the
    bend's coefficient flat; the interval is its most probable steps. Points beyond
    :data:`entropylaw.analysis.phasecautions.MOST` are averaged in blocks.

    *The order* takes the two curves as independent given their own fits. A decay that levels off smoothly has
    no boundary; ``after_fall`` asks whether planning's comes after 95 % of execution's fall.

    *Entropy now*, and planning's share of it, are the levels of a random walk at the last step, not cut from
    either fitted curve.
    """
    level = checked_test_level(checked_level(level))
    s = as_floats(step, "step")
    columns = {"planning": planning, "execution": execution, "aggregate": aggregate}
    given = {name: _column(name, values, s) for name, values in columns.items() if values is not None}
    if not given:
        raise FitError("no-phase-curve", "no curve of entropy was given, expected at least one", "give one")
    beside = {"planning_share": planning_share, "length": length}
    share_column, length_column = (
        None if values is None else _of_length(as_floats(values, name), s, name)
        for name, values in beside.items()
    )
    # Beside either class the curve of all tokens only tells their shares.
    chosen = [name for name in given if name != "aggregate" or len(given) == 1]
    fitted = {name: _fitted(s, given[name], name, level) for name in chosen}
    curves = {name: curve for name, (curve, _) in fitted.items()}
    both = "planning" in curves and "execution" in curves
    delta, later, why = _order(curves, level) if both else (None, None, _one_curve(tuple(curves)))
    share, reason = _planning_share(given, curves, share_column, level)
    after = _after_fall(curves, fitted["execution"][1], level) if both else None
    missing = {name: int(np.isnan(given[name]).sum()) for name in chosen}
    return PhaseFit(
        run=run,
        planning=curves.get("planning"),
        execution=curves.get("execution"),
        aggregate=curves.get("aggregate"),
        delta=delta,
        later=later,
        after_fall=after,
        verdict=_verdict(curves, delta) if both else None,
        share_planning=share,
        level=level,
        cautions=tuple(phase_cautions(s, given, curves, length_column)),
        notes=tuple(note for note in (why, reason) if note),
        dropped={f"no entropy of {TOLD[name]} at that step": lost for name, lost in missing.items() if lost},
    )


def _fitted(
    step: FloatArray, entropy: FloatArray, name: str, level: float
) -> tuple[CurvePhases, FloatArray | None]:
    """One curve, and equally probable steps by which its decay has settled; None where it does not fall."""
    there = np.isfinite(entropy)
    if np.count_nonzero(there) < FEWEST:
        raise FitError(
            "too-few-points",
            f"{np.count_nonzero(there)} entropies of {TOLD[name]}, expected at least {FEWEST}",
            "log the entropy of either class at every step",
        )
    check_scale(f"the entropy of {TOLD[name]}", entropy[there], SMALLEST_ENTROPY)
    s, y = blocked(step[there], entropy[there])
    if np.ptp(y) <= 1e-12 * np.abs(y).max():
        raise FitError(
            "entropy-constant",
            f"the entropy of {TOLD[name]} is {y[0]:g} at all {y.size} steps, expected one that moves",
            "check the logger, or name another column",
        )
    decays = likely_decays(s, y)
    kinks = Kinks(s, decays)
    null = kinks.null(y[:, None])
    mean = kinks.means(null)
    rng = np.random.default_rng(zlib.crc32(np.concatenate([s, y]).tobytes()))
    p_value, critical = decay_test(kinks, null, mean, rng, level)
    found = p_value <= 1.0 - level + 1e-12
    beside, bent, bends = closest(kinks, null, y)
    before, after, rise = _slopes(bends, float(s[-1] - s[0]), level)
    middle, low, high = _band(bends, level)
    left = y - mean[:, 0]
    shapes = (beside, bent.bent_weight) if found else (kinks, null.weight)
    settled = _settled(*shapes) if mean[0, 0] > mean[-1, 0] else None
    curve = CurvePhases(
        name=name,
        n=s.size,
        p_value=p_value,
        found=found,
        kind=_kind(before, after, rise) if found else None,
        boundary=boundary_of(bends, float(s[0]), float(s[-1] - s[0]), level),
        slope_before=before,
        slope_after=after,
        rise=rise,
        fitted=middle,
        low=low,
        high=high,
        last=_now(s, y, level),
        settled=None if settled is None else of_points(settled, level, SHAPE),
        detectable=smallest_rise(kinks, null, mean, critical, rng),
        lag1=lag1(left),
        noise=float(np.sqrt(left @ left / kinks.free)),
        step=s,
        entropy=y,
        decay=mean[:, 0],
        first_step=float(step[there][0]),
        last_step=float(step[there][-1]),
    )
    return curve, settled


def _slopes(bends: Bends, span: float, level: float) -> tuple[Estimate, Estimate, Estimate]:
    """Mean slopes before and behind the boundary, nats per step, and how much higher the bend ends, nats."""
    rows = (bends.before / span, bends.after / span, bends.rise)
    before, after, rise = (from_mixture(bends.number(row), level=level, method=METHOD) for row in rows)
    return before, after, rise


def _band(bends: Bends, level: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The curve with its boundary, and the ends of its pointwise interval."""
    middle, sd = bends.curve()
    half = float(ndtri(0.5 + level / 2.0)) * sd
    return middle, middle - half, middle + half


def _kind(before: Estimate, after: Estimate, rise: Estimate) -> str:
    """What the curve does at its boundary, as far as the intervals tell."""
    ends = (before.low, before.high, after.low, after.high, rise.low, rise.high)
    from_low, from_high, to_low, to_high, low, high = (0.0 if end is None else end for end in ends)
    rise_, fall, up, down, other = KINDS
    if to_low > 0 and from_low <= 0:
        return rise_
    if to_high < 0 and from_high >= 0 and from_low > 0:
        return fall
    return up if low > 0 else down if high < 0 else other


def _now(step: FloatArray, entropy: FloatArray, level: float) -> Estimate:
    """The level at the last step; an entropy is never below 0, and neither is its interval."""
    told = from_mixture(_level(step, entropy), level=level, method=NOW)
    ends = (told.value, told.low, told.high)
    value, low, high = (None if end is None else max(end, 0.0) for end in ends)
    return Estimate(value=value, low=low, high=high, level=level, method=NOW)


def _level(step: FloatArray, entropy: FloatArray) -> Mixture:
    one = np.ones((step.size, 1))
    return fit_walk(step, one, entropy, walk_grid()).now(one[:1])


def _settled(kinks: Kinks, weights: FloatArray) -> FloatArray:
    """Equally probable steps by which the decay has made most of its fall: a matter of its shape alone.

    ``weights`` (g, m, 1) are those of covariances and decays, with a boundary those beside it.
    """
    weight = weights[:, :, 0].sum(axis=0)
    times = fallen(kinks.time, kinks.decays, SETTLED)
    span = kinks.step[-1] - kinks.step[0]
    return np.asarray(kinks.step[0] + span * weighted_points(times, weight))


def _order(curves: dict[str, CurvePhases], level: float) -> tuple[Estimate | None, float | None, str | None]:
    """Planning's boundary less execution's, the probability that it is later, or why neither is told."""
    lacking = [name for name in ("planning", "execution") if not curves[name].found]
    if lacking:
        return None, None, f"no order is told: no boundary was found in {' and in '.join(lacking)}"
    plan, act = (places_of(curves[name].boundary).points() for name in ("planning", "execution"))
    return *difference(plan, act, level), None


def _after_fall(curves: dict[str, CurvePhases], settled: FloatArray | None, level: float) -> Estimate | None:
    """Planning's boundary less the step by which execution has settled."""
    if settled is None or not curves["planning"].found:
        return None
    return difference(places_of(curves["planning"].boundary).points(), settled, level)[0]


def _verdict(curves: dict[str, CurvePhases], delta: Estimate | None) -> str:
    if delta is None or delta.low is None or delta.high is None:
        return "one boundary" if any(curve.found for curve in curves.values()) else "no boundary"
    if delta.low > 0:
        return "execution first"
    return "planning first" if delta.high < 0 else "overlapping"


def _planning_share(
    given: dict[str, FloatArray], curves: dict[str, CurvePhases], tokens: FloatArray | None, level: float
) -> tuple[Estimate | None, str | None]:
    """Planning's share of all entropy now, or why it is not known."""
    if not {"planning", "execution"} <= set(curves):
        return None, None
    share, why = _token_share(given, tokens)
    if share is None:
        return None, f"{UNKNOWN_SHARE}: {why}"
    points = ((np.arange(_SHARE_POINTS) + 0.5) / _SHARE_POINTS).tolist()
    plan, act = (
        np.maximum(_level(curves[name].step, curves[name].entropy).quantiles(points)[:, 0], 0.0)
        for name in ("planning", "execution")
    )
    ours, others = share * plan[:, None], (1.0 - share) * act
    with np.errstate(invalid="ignore"):
        shares = (ours / (ours + others)).ravel()
    if not np.isfinite(shares).all():
        return None, f"{UNKNOWN_SHARE}: neither class has any"
    return of_points(shares, level, f"both levels now, {NOW}"), None


def _token_share(given: dict[str, FloatArray], tokens: FloatArray | None) -> tuple[float | None, str]:
    """Planning's share of the tokens over the last tenth of the run, or why it is not known."""
    if tokens is not None:
        share = _latest(tokens)
        return (share, "") if share is not None else (None, "no share of planning tokens was logged")
    if "aggregate" not in given:
        return None, "the log has no share of planning tokens"
    # H is the mean over both classes' tokens, so that the share of tokens follows from the three.
    apart = given["planning"] - given["execution"]
    with np.errstate(all="ignore"):
        ratio = (given["aggregate"] - given["execution"]) / apart
    share = _latest(np.where(np.abs(apart) > 1e-3, ratio, np.nan))
    if share is None:
        return None, "the two classes have the same entropy, so that no share of the tokens follows from it"
    if not 0 <= share <= 1:
        return None, "the entropy of all tokens does not lie between those of the two classes"
    return share, ""


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


def _of_length(values: FloatArray, step: FloatArray, name: str) -> FloatArray:
    if values.size != step.size:
        raise FitError(
            "lengths-differ",
            f"{values.size} values of {name} and {step.size} steps, expected one of each",
            "pass arrays of the same length",
        )
    check_scale(name, values[np.isfinite(values)])
    return values


def _column(name: str, values: Any, step: FloatArray) -> FloatArray:
    column = _of_length(as_floats(values, name), step, f"entropies of {TOLD[name]}")
    check_steps(step)
    least = float(np.nanmin(column)) if np.isfinite(column).any() else 0.0
    if least < -1e-6:
        raise FitError(
            "entropy-negative",
            f"the entropy of {TOLD[name]} goes down to {least:.3g}, expected none below 0",
            "an entropy over a vocabulary is never negative: check the sign, or name another column",
        )
    return np.where(np.isfinite(column), column, np.nan)
