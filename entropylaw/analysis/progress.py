"""How far a run has come: the share of its reward that is bought, and how fast it spends its entropy."""

from __future__ import annotations

import numpy as np

from entropylaw.analysis.estimate import from_mixture, tails, unknown
from entropylaw.analysis.forms import design, law_column
from entropylaw.analysis.residual_models import residual_model
from entropylaw.engine.grid import FloatArray, drift_grid
from entropylaw.engine.posterior import infer
from entropylaw.results import Estimate
from entropylaw.results.law import LawFit


def used_share(law: LawFit, *, level: float | None = None) -> Estimate:
    """Share of the reward that entropy can buy which the run has by now.

    With R₀ = the law's reward at the first entropy, R = the reward now and c the ceiling, it is

        u = (R − R₀) / (c − R₀),

    0 at the start, 1 where nothing is left, and more where the run stands above its ceiling.

    Notes
    -----
    u ≤ s exactly where R − (1 − s) R₀ − s c ≤ 0 (as c > R₀), a linear combination whose distribution is the
    engine's: the interval is that of Fieller (1954, doi:10.1111/j.2517-6161.1954.tb00159.x) for a mixture.
    Where c − R₀ cannot be distinguished from 0 there is none. With ``interval="walk"`` R is the law's own,
    and u follows from the entropies alone.
    """
    level = law.level if level is None else level
    method = f"ratio, inverted ({residual_model(law.interval).method})"
    first, now = (float(np.expm1(h)) for h in (law.course[0], law.course[-1]))
    promise = law.posterior.functional(np.array([[0.0, first]]))
    if first <= 0 or float(promise.cdf(np.zeros(1))[0]) > tails(level)[0]:
        why = "what entropy can buy in this run cannot be told from nothing"
        return unknown(why, level=level, method=method)
    if not residual_model(law.interval).fixed_level:
        note = "follows from the form of the law and the entropies alone"
        return Estimate(
            value=(first - now) / first, low=None, high=None, level=level, method=method, note=note
        )
    start, here = design(law_column(law.course[:1])), design(law_column(law.course[-1:]))

    def share_below(probability: float) -> float | None:
        """The share that is not reached with that probability; None where it is beyond −4 to 6."""
        low, high = -4.0, 6.0
        for _ in range(4):
            shares = np.linspace(low, high, 65)
            rows = here - (1.0 - shares[:, None]) * start - shares[:, None] * np.array([[1.0, 0.0]])
            below = law.posterior.functional(rows, drift_now=1.0).cdf(np.zeros(65))
            at = int(np.searchsorted(np.maximum.accumulate(below), probability))
            if at in (0, 65):
                return None
            low, high = float(shares[at - 1]), float(shares[at])
        return 0.5 * (low + high)

    low, value, high = map(share_below, tails(level))
    end = "beyond -4 to 6" if None in (low, value, high) else None
    if value is None:
        low = high = None
    return Estimate(value=value, low=low, high=high, level=level, method=method, note=end)


def entropy_drop(step: FloatArray, entropy: FloatArray, *, level: float = 0.95) -> Estimate:
    """Entropy lost per 100 steps over the last third of the run, nats; negative where it grows.

    Parameters
    ----------
    step, entropy
        Shape (n,), steps strictly increasing, nats.
    level
        Coverage of the interval.

    Notes
    -----
    The slope of a straight line with drift and noise integrated out, as for the law. None with the reason
    where the last third has fewer than six evaluations.
    """
    method = "slope of the last third, drift + noise integrated out"
    recent = step >= step[-1] - (1.0 / 3.0) * (step[-1] - step[0])
    s, h = step[recent], entropy[recent]
    if s.size < 6:
        why = f"{s.size} evaluations in the last third of the steps, expected at least 6"
        return unknown(why, level=level, method=method)
    if np.ptp(h) == 0:
        return Estimate(
            value=0.0, low=None, high=None, level=level, method=method, note="entropy is constant"
        )
    line = np.stack([np.ones(s.size), (s[-1] - s) / 100.0], axis=1)
    (posterior,) = infer(s, line[None], h[None], drift_grid(s))
    return from_mixture(posterior.functional(np.array([[0.0, 1.0]])), level=level, method=method)
