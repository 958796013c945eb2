"""Forecasts: the reward at later steps, from entropies that are given or forecast too.

No single form is trusted. The law, a line in the entropy, a step curve and "stays where it is" are
weighed by how each would have forecast from earlier origins inside the same run, and the band is that of
their mixture, widened where those earlier forecasts call for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from entropylaw.analysis.course import entropy_course
from entropylaw.analysis.estimate import from_mixture, tails, unknown
from entropylaw.analysis.fitting import LARGEST, complete, refuse
from entropylaw.analysis.law import HIGHEST_ENTROPY, checked_level, spent_entropy
from entropylaw.analysis.paths import REWARD_FORMULAS, Band, level_now, outlook
from entropylaw.analysis.paths import entropy_path as forecast_entropy
from entropylaw.arguments import as_floats, as_number
from entropylaw.engine.grid import FloatArray
from entropylaw.errors import FitError, UsageError
from entropylaw.results import Estimate
from entropylaw.results.findings import note
from entropylaw.results.forecast import SPENT, Forecast, ForecastMember, Gain, SaturationForecast

FEWEST = 8
"""Evaluations below which nothing is forecast: origins inside the run need some on either side."""

MOST = 200
"""Longer runs are averaged over blocks of equal length, to at most so many points."""

METHOD = "members weighed by rolling origin, random walk + noise"


def forecast(
    step: Any,
    entropy: Any,
    reward: Any,
    *,
    at_step: Any,
    entropy_path: Any = None,
    level: float = 0.95,
    run: str = "run",
) -> Forecast:
    """Forecast the reward at later steps.

    Parameters
    ----------
    step, entropy, reward
        Shape (n,), n ≥ 8: the trainer's step, the policy entropy in nats, the score.
    at_step
        The later step, or m of them.
    entropy_path
        The entropy at each of them, in nats. Where not given it is forecast too ("blind"), and its
        uncertainty is carried into the reward's interval.
    level, run
        Coverage of every interval, and a name, carried along.

    Raises
    ------
    FitError
        ``too-few-evaluations`` (fewer than 8), ``forecast-needs-steps``, and those of
        :func:`entropylaw.fit_law` on the data.
    UsageError
        ``step-not-ahead``, ``lengths-differ``, ``bad-level``.

    Notes
    -----
    Values are medians of the mixture, intervals equal-tailed.

    Members: the law, a line in H and c − a·√H, each with a random walk (and the first two by least
    squares too), a walk alone, an exponential in step, the last reward, the mean of the last three.
    Weights: mean squared error from up to 8 earlier origins, to a power (Bates & Granger 1969,
    doi:10.1057/jors.1969.103, have the first; we pool over horizons and do not estimate correlations).
    Runs of more than 200 evaluations are averaged over blocks, which the result says.
    """
    level = checked_level(level)
    s, h, r, dropped = _checked(step, entropy, reward)
    last, lowest, highest = float(s[-1]), float(h.min()), float(h.max())
    at, given = _targets(at_step, entropy_path, last)
    s, h, r, block = blocked(s, h, r)
    seen = outlook(s, h, r, at, given)
    there = [
        Estimate(value=value, low=None, high=None, level=level, method="given", note="given")
        for value in ([] if given is None else given.tolist())
    ]
    if seen.path:
        there = _estimates(seen.path.band, level)
    outside = [not lowest <= entropy.value <= highest for entropy in there]  # type: ignore[operator]
    findings = [note("averaged-in-blocks", block=block)] if block > 1 else []
    if any(outside):
        beyond = {"outside": sum(outside), "steps": len(outside), "low": lowest, "high": highest}
        findings.append(note("extrapolated", **beyond))
    return Forecast(
        run=run,
        n=s.size,
        block=block,
        last_step=last,
        reward_now=_now(s, r, level),
        step=tuple(at.tolist()),
        reward=tuple(_estimates(seen.band, level)),
        entropy=tuple(there),
        blind=given is None,
        extrapolated=tuple(outside),
        members=tuple(
            ForecastMember(name=name, formula=REWARD_FORMULAS[name], weight=share, error=seen.error.get(name))
            for name, share in sorted(seen.weight.items(), key=lambda item: -float(f"{item[1]:.9g}"))
        ),
        path_members=dict(seen.path.weight) if seen.path else {},
        level=level,
        factor=seen.band.factor,
        origins=seen.origins,
        dropped=dropped,
        findings=tuple(findings),
    )


def saturation_forecast(
    step: Any,
    entropy: Any,
    reward: Any,
    *,
    gains: Sequence[float] = (),
    at_step: float | None = None,
    level: float = 0.95,
    run: str = "run",
) -> SaturationForecast:
    """Forecast when 95 % of what the law still promises is spent, the reward then, and gains.

    Parameters
    ----------
    step, entropy, reward, level, run
        As :func:`forecast`.
    gains
        Numbers of points (reward units) that the run may gain.
    at_step
        The step by which; where not given, no gain is estimated.

    Raises
    ------
    FitError, UsageError
        As :func:`forecast`.
    """
    level = checked_level(level)
    s, h, r, _ = _checked(step, entropy, reward)
    last = float(s[-1])
    if at_step is not None:
        _targets(as_number(at_step, "at_step"), None, last)
    points = [as_number(gain, "gains") for gain in as_floats(gains, "gains").tolist()]
    s, h, r, _ = blocked(s, h, r)
    now, present = float(entropy_course(h, s).entropy[-1]), _now(s, r, level)
    target = spent_entropy(now, SPENT)
    # Saturation is looked for within ten spans of the run.
    ahead = last + (s[-1] - s[0]) * 10.0 * np.linspace(0, 1, 401)[1:]
    path = forecast_entropy(s, h, ahead).band
    # The first step at which the path is at or below the target; its lower end gets there first.
    below = [np.flatnonzero(path.quantile(p) <= target) for p in tails(level)]
    low, value, high = (float(ahead[at[0]]) if at.size else None for at in below)
    missing = "the entropy's path" if value is None else "its upper end" if high is None else ""
    why = f"{missing} stays above {target:.3g} nats within 10 spans of the run" if missing else None
    there = unknown("no step at which the entropy is spent was found", level=level, method=METHOD)
    if value is not None:
        there = _estimates(outlook(s, h, r, np.array([value]), None).band, level)[0]
    reachable: list[Gain] = []
    if points and at_step is not None:
        band = outlook(s, h, r, np.array([at_step]), None).band
        assert present.value is not None
        for gain in points:
            chance = float(band.exceeds(np.array([present.value + gain]))[0])
            reachable.append(Gain(points=gain, step=float(at_step), by_step=chance))
    return SaturationForecast(
        run=run,
        last_step=last,
        reward_now=present,
        share=SPENT,
        entropy_now=now,
        entropy=target,
        step=Estimate(value=value, low=low, high=high, level=level, method=METHOD, note=why),
        reward=there,
        gains=tuple(reachable),
    )


def _now(step: FloatArray, reward: FloatArray, level: float) -> Estimate:
    return from_mixture(level_now(step, reward), level=level, method="random walk + noise")


def _estimates(band: Band, level: float) -> list[Estimate]:
    """Median and equal-tailed interval at each point."""
    return [
        Estimate(value=float(value), low=float(low), high=float(high), level=level, method=METHOD)
        for low, value, high in zip(*map(band.quantile, tails(level)), strict=True)
    ]


def _checked(
    step: Any, entropy: Any, reward: Any
) -> tuple[FloatArray, FloatArray, FloatArray, dict[str, int]]:
    """Arrays that can be forecast from, or a refusal."""
    if step is None:
        raise FitError(
            "forecast-needs-steps",
            "no steps were given, a forecast says what comes at a later one",
            "pass the trainer's step of every evaluation",
        )
    s, h, r, dropped = complete(entropy, reward, step)
    if s.size < FEWEST:
        raise FitError(
            "too-few-evaluations",
            f"{s.size} usable evaluations, a forecast needs at least {FEWEST}",
            "wait for more evaluations, or forecast the training reward with --reward",
        )
    refuse(s, h, r)
    return s, h, r, dropped


def _targets(at_step: Any, entropy_path: Any, last: float) -> tuple[FloatArray, FloatArray | None]:
    """Later steps, and the entropies given for them; or a refusal."""
    at = as_floats(at_step, "at_step")
    given = None if entropy_path is None else as_floats(entropy_path, "entropy_path")
    bad = at[~((at > last) & (at <= LARGEST))]
    if bad.size or not at.size:
        shown = f"{bad[0]:g}" if at.size else "none"
        raise UsageError(
            "step-not-ahead",
            f"step {shown} was asked for, expected one after the last evaluation, which is at step {last:g}",
            "ask for a later step; what was reached so far is in the log",
        )
    if given is None:
        return at, None
    if given.size != at.size or not np.isfinite(given).all():
        raise UsageError(
            "lengths-differ",
            f"{at.size} steps and {int(np.isfinite(given).sum())} finite entropies in the path, "
            "expected one for each",
            "give one entropy for each step, or none to forecast it",
        )
    if not ((given >= 0) & (given <= HIGHEST_ENTROPY)).all():
        raise UsageError(
            "bad-entropy",
            f"the path runs from {given.min():g} to {given.max():g} nats, expected 0 to {HIGHEST_ENTROPY:g}",
            "give entropies in nats per token",
        )
    return at, given


def blocked(
    step: FloatArray, entropy: FloatArray, reward: FloatArray, most: int = MOST
) -> tuple[FloatArray, FloatArray, FloatArray, int]:
    """Means over blocks of equal length, at most ``most`` of them, and that length.

    Evaluations that fill no block are left out at the beginning, where they matter least.
    """
    size = -(-step.size // most)
    if size == 1:
        return step, entropy, reward, 1
    count = step.size // size
    s, h, r = (x[x.size - count * size :].reshape(count, size).mean(axis=1) for x in (step, entropy, reward))
    return s, h, r, size
