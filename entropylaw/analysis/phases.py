"""Two phases: is there a boundary in a curve of entropy, where, and which curve's comes first."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import ndtri

from entropylaw.analysis.changepoint import (
    METHOD,
    boundary_of,
    checked_test_level,
    closest,
    decay_test,
    difference,
    of_points,
    place_points,
    smallest_rise,
    weighted_points,
)
from entropylaw.analysis.estimate import from_mixture
from entropylaw.analysis.fitting import check_scale, check_steps
from entropylaw.analysis.law import SMALLEST_ENTROPY, checked_level
from entropylaw.analysis.paths import level_now
from entropylaw.analysis.phasecautions import FEWEST, blocked, phase_cautions
from entropylaw.analysis.randomeffects import random_effects
from entropylaw.analysis.validity import lag1
from entropylaw.arguments import as_floats, several
from entropylaw.engine.changepoint import Kinks
from entropylaw.engine.decays import fallen, likely_decays
from entropylaw.engine.grid import FloatArray
from entropylaw.errors import FitError
from entropylaw.results import Estimate
from entropylaw.results.findings import note
from entropylaw.results.phases import CURVES, KINDS, CurvePhases, PhaseFit, PhasesAcross

FEWEST_RUNS = 3
"""Boundaries below which there is no mean over runs."""

NOW = "random walk + noise"


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
    level = checked_test_level(level)
    s = as_floats(step, "step")
    columns = {"planning": planning, "execution": execution, "aggregate": aggregate}
    if all(values is None for values in columns.values()):
        raise FitError("no-phase-curve", "no curve of entropy was given, expected at least one", "give one")
    columns |= {"planning_share": planning_share, "length": length}
    given = {name: _column(s, values, name) for name, values in columns.items() if values is not None}
    # Beside either class the curve of all tokens only gives their shares.
    chosen = [name for name in given if name in ("planning", "execution")] or ["aggregate"]
    curves: dict[str, CurvePhases] = {}
    settled: dict[str, FloatArray | None] = {}
    for name in chosen:
        curves[name], settled[name] = _curve(s, given[name], name, level)
    findings = phase_cautions(s, given, curves)
    order: dict[str, Any] = dict.fromkeys(("delta", "later", "verdict", "share_planning"))
    if len(chosen) == 2:
        order |= _order(curves, settled["execution"], level)
        lacking = tuple(name for name, curve in curves.items() if not curve.found)
        findings += [note("no-boundary", curves=lacking)] if lacking else []
        order["share_planning"], unknown = _planning_share(given, curves, level)
        findings += [note("planning-share-unknown", why=unknown)] if unknown else []
    else:
        alone = "aggregate" in curves
        findings.append(note("classes-not-separable") if alone else note("one-curve", curve=chosen[0]))
    missing = {name: int(np.isnan(given[name]).sum()) for name in chosen}
    return PhaseFit(
        run=run,
        planning=curves.get("planning"),
        execution=curves.get("execution"),
        aggregate=curves.get("aggregate"),
        **order,
        level=level,
        findings=tuple(findings),
        dropped={f"no entropy of {CURVES[name]} at that step": n for name, n in missing.items() if n},
    )


def _column(step: FloatArray, values: Any, name: str) -> FloatArray:
    """A column as floats: an entropy of one of :data:`CURVES`, or what is given beside them."""
    column = as_floats(values, name)
    what = f"entropies of {CURVES[name]}" if name in CURVES else name
    if column.size != step.size:
        raise FitError(
            "lengths-differ",
            f"{column.size} values of {what} and {step.size} steps, expected one of each",
            "pass arrays of the same length",
        )
    finite = np.isfinite(column)
    check_scale(what, column[finite])
    if name not in CURVES:
        return column
    check_steps(step)
    least = float(column[finite].min(initial=0.0))
    if least < -1e-6:
        raise FitError(
            "entropy-negative",
            f"the entropy of {CURVES[name]} goes down to {least:.3g}, expected none below 0",
            "an entropy over a vocabulary is never negative: check the sign, or name another column",
        )
    return np.where(finite, column, np.nan)


def _curve(
    step: FloatArray, entropy: FloatArray, name: str, level: float
) -> tuple[CurvePhases, FloatArray | None]:
    """One curve, and equally probable steps by which its decay has settled; None where it does not fall."""
    there = np.isfinite(entropy)
    if np.count_nonzero(there) < FEWEST:
        raise FitError(
            "too-few-points",
            f"{np.count_nonzero(there)} entropies of {CURVES[name]}, expected at least {FEWEST}",
            "log the entropy of either class at every step",
        )
    check_scale(f"the entropy of {CURVES[name]}", entropy[there], SMALLEST_ENTROPY)
    s, y = blocked(step[there], entropy[there])
    if np.ptp(y) <= 1e-12 * np.abs(y).max():
        raise FitError(
            "entropy-constant",
            f"the entropy of {CURVES[name]} is {y[0]:g} at all {y.size} steps, expected one that moves",
            "check the logger, or name another column",
        )
    kinks = Kinks(s, likely_decays(s, y))
    null = kinks.null(y[:, None])
    mean = kinks.means(null)
    rng = np.random.default_rng(zlib.crc32(np.concatenate([s, y]).tobytes()))
    p_value, critical = decay_test(kinks, null, mean, rng, level)
    found = p_value <= 1.0 - level + 1e-12
    beside, bent, bends = closest(kinks, null, y)
    span = float(s[-1] - s[0])
    rows = bends.changes / np.array([span, span, 1.0])[:, None, None]
    changes = [from_mixture(bends.number(row), level=level, method=METHOD) for row in rows]
    middle, sd = bends.curve()
    half = float(ndtri(0.5 + level / 2.0)) * sd
    # An entropy is never below 0, and neither is the interval of its level at the last step.
    now = from_mixture(level_now(s, y), level=level, method=NOW)
    last, low, high = (None if end is None else max(end, 0.0) for end in (now.value, now.low, now.high))
    settled, shape = None, "shape of the decay, drift + noise integrated out"
    if mean[0, 0] > mean[-1, 0]:
        # When it settled is a matter of the decay's shape alone; with a boundary, of the shape beside it.
        with_shape, weight = (beside, bent.bent_weight) if found else (kinks, null.weight)
        times = fallen(with_shape.time, with_shape.decays, 0.95)
        settled = s[0] + (s[-1] - s[0]) * weighted_points(times, weight[:, :, 0].sum(axis=0))
    left = y - mean[:, 0]
    curve = CurvePhases(
        name=name,
        n=s.size,
        p_value=p_value,
        found=found,
        kind=_kind(changes) if found else None,
        boundary=boundary_of(bends, float(s[0]), span, level),
        **dict(zip(("slope_before", "slope_after", "rise"), changes, strict=True)),
        fitted=middle,
        low=middle - half,
        high=middle + half,
        last=Estimate(value=last, low=low, high=high, level=level, method=NOW),
        settled=None if settled is None else of_points(settled, level, shape),
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


def _kind(changes: Sequence[Estimate]) -> str:
    """What the curve does at its boundary, by the intervals of both slopes and of the rise."""
    from_low, _, to_low, to_high, low, high = (end or 0.0 for one in changes for end in (one.low, one.high))
    turns_to_rise, turns_to_fall, up, down, other = KINDS
    if to_low > 0 >= from_low:
        return turns_to_rise
    if to_high < 0 < from_low:
        return turns_to_fall
    return up if low > 0 else down if high < 0 else other


def _order(curves: dict[str, CurvePhases], settled: FloatArray | None, level: float) -> dict[str, Any]:
    """What a :class:`PhaseFit` has of the order of both boundaries.

    ``settled`` are equally probable steps by which execution has made most of its fall.
    """
    plan, act = curves["planning"], curves["execution"]
    turn, order = place_points(plan.boundary), dict[str, Any]()
    if settled is not None and plan.found:
        order["after_fall"] = difference(turn, settled, level)[0]
    if not (plan.found and act.found):
        return order | {"verdict": "one boundary" if plan.found or act.found else "no boundary"}
    delta, later = difference(turn, place_points(act.boundary), level)
    assert delta.low is not None
    assert delta.high is not None
    first = "execution first" if delta.low > 0 else "planning first" if delta.high < 0 else "overlapping"
    return order | {"delta": delta, "later": later, "verdict": first}


def _planning_share(
    given: dict[str, FloatArray], curves: dict[str, CurvePhases], level: float
) -> tuple[Estimate | None, str | None]:
    """Planning's share of all entropy now, or why it is not known.

    Its share of the tokens is the median over the last tenth of the run.
    """
    shares, why = given.get("planning_share"), "no-value"
    logged = shares is not None
    if shares is None:
        if "aggregate" not in given:
            return None, "no-column"
        # H is the mean over both classes' tokens, so that the share of tokens follows from the three.
        apart = given["planning"] - given["execution"]
        with np.errstate(all="ignore"):
            ratio = (given["aggregate"] - given["execution"]) / apart
        shares, why = np.where(np.abs(apart) > 1e-3, ratio, np.nan), "same-entropy"
    there = shares[np.isfinite(shares)]
    if not there.size:
        return None, why
    share = float(np.median(there[-max(1, there.size // 10) :]))
    if not (logged or 0 <= share <= 1):
        return None, "not-between"
    points = ((np.arange(101) + 0.5) / 101).tolist()
    plan, act = (
        np.maximum(level_now(curves[name].step, curves[name].entropy).quantiles(points)[:, 0], 0.0)
        for name in ("planning", "execution")
    )
    ours, others = share * plan[:, None], (1.0 - share) * act
    with np.errstate(invalid="ignore"):
        parts = (ours / (ours + others)).ravel()
    if not np.isfinite(parts).all():
        return None, "no-entropy"
    return of_points(parts, level, f"both levels now, {NOW}"), None


def combine_phases(fits: Sequence[PhaseFit], *, level: float | None = None) -> PhasesAcross:
    """What several runs have in common.

    Parameters
    ----------
    fits
        At least one; runs without both curves are left out, and noted.
    level
        Coverage of the intervals; the first fit's where not given.

    Raises
    ------
    FitError
        ``no-phase-curve`` where no run has both curves.

    Notes
    -----
    The share of runs with both boundaries has Wilson's interval (1927,
    doi:10.1080/01621459.1927.10502953). Places are shares of each run's span, the same for both curves, with
    the sd of their own distribution as standard error; their mean is that of
    :func:`entropylaw.analysis.randomeffects.random_effects`. Only boundaries that were found are in it.
    """
    fits = several(fits, PhaseFit, "fits")
    both = [(fit.planning, fit.execution) for fit in fits if fit.planning and fit.execution]
    if not both:
        raise FitError(
            "no-phase-curve", f"none of {len(fits)} runs has both curves, expected one at least", "name both"
        )
    level = fits[0].level if level is None else checked_level(level)
    left = len(fits) - len(both)
    findings = [note("runs-with-one-curve", left=left, runs=len(fits))] if left else []
    # Mean and variance of the place of every boundary that was found, and of their differences.
    places: dict[str, list[tuple[float, float]]] = {"planning": [], "execution": [], "delta": []}
    for curves in both:
        first = min(curve.first_step for curve in curves)
        span = max(curve.last_step for curve in curves) - first
        here = {}
        for name, curve in zip(places, curves, strict=False):
            share = (curve.boundary.places - first) / span
            mean = float(curve.boundary.density @ share)
            if curve.found:
                here[name] = mean, float(curve.boundary.density @ (share - mean) ** 2)
        if len(here) == 2:
            (plan, plan_variance), (act, act_variance) = here.values()
            here["delta"] = plan - act, plan_variance + act_variance
        for name, found in here.items():
            places[name].append(found)
    means: dict[str, Estimate | None] = dict.fromkeys(places)
    for name, each in places.items():
        if len(each) >= FEWEST_RUNS:
            value, variance = np.array(each).T
            means[name] = random_effects(value, np.maximum(variance, 1e-12), level=level)[0]
        else:
            counts = {"found": len(each), "runs": len(both), "needed": FEWEST_RUNS}
            findings.append(note("too-few-boundaries", quantity=name, **counts))
    rising = sum(fit.rises_after for fit in fits if fit.planning and fit.execution)
    return PhasesAcross(
        runs=len(both),
        both=len(places["delta"]),
        share_both=wilson(len(places["delta"]), len(both), level),
        rises_after=rising,
        share_rises_after=wilson(rising, len(both), level),
        **means,
        findings=tuple(findings),
    )


def wilson(count: int, total: int, level: float) -> Estimate:
    """A share with Wilson's score interval."""
    z = float(ndtri(0.5 + level / 2.0))
    share = count / total
    spread = z * np.sqrt(share * (1.0 - share) / total + z**2 / (4.0 * total**2))
    centre, whole = share + z**2 / (2.0 * total), 1.0 + z**2 / total
    return Estimate(
        value=share,
        low=max(float((centre - spread) / whole), 0.0) if count else 0.0,
        high=min(float((centre + spread) / whole), 1.0) if count < total else 1.0,
        level=level,
        method="Wilson's score interval",
    )
