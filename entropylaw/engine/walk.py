"""Drift that does not come home: a random walk seen through white noise, its share integrated out.

A stationary drift pulls a forecast back to the fitted line; a random walk (the local-level model,
Harvey 1989, doi:10.1017/CBO9781107049994) starts a forecast where the run stands and widens it with
the square root of the horizon:

    R(s) = X(s)·β + level(s) + noise(s),    level(s) − level(s') ~ N(0, σ²·(1 − f)·|s − s'| / spacing)
    noise ~ N(0, σ²·f)

with unknown β and σ² and noise share f; ``spacing`` is the mean gap between evaluations, so that f = 1/2
means a walk whose step between neighbours is as large as the noise. Given f, the answer is generalised
least squares in closed form (flat priors on β and 1/σ² on σ²); f is summed over a grid, weighted by the
restricted marginal likelihood (Harville 1974, doi:10.1093/biomet/61.2.383). Steps may be uneven.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from entropylaw.engine.grid import FloatArray, Grid
from entropylaw.engine.posterior import infer
from entropylaw.results.mixture import Mixture
from entropylaw.results.posterior import Posterior

SHARES = 9
"""Grid points of the noise share between 0 and 1, at equal probabilities of the law Beta(1/2, 1/2)."""

PURE_MASS = 0.1
"""Prior probability of a pure walk (f = 0), and the same of no walk at all (f = 1, least squares)."""

FAR_HOME = 1e3
"""Correlation length, in spans, of a stationary drift that moves within the run as a walk does: its steps are
independent, and of one size, to a thousandth."""


def walk_grid() -> Grid:
    """Pure walk, no walk, and the arcsine law of f between them; the unit of steps is their mean gap."""
    share = np.concatenate([[0.0], np.sin(np.pi * (np.arange(SHARES) + 0.5) / (2 * SHARES)) ** 2, [1.0]])
    prior = np.full(share.size, (1.0 - 2.0 * PURE_MASS) / SHARES)
    prior[[0, -1]] = PURE_MASS
    return Grid(
        length=np.full(share.size, np.inf),
        drift=1.0 - share,
        noise=share,
        log_prior=np.log(prior),
        scaled=True,
    )


def local_level_grid(step: FloatArray) -> Grid:
    """The same model as a stationary drift, for forms of which a fit reports the residual; steps (n,).

    A walk is the limit of a stationary drift whose length and variance grow together; :data:`FAR_HOME` is how
    far it is gone to. The constant of the design is the level at the last step, where it means something.
    """
    walk = walk_grid()
    # What a drift of variance 1 moves from one evaluation to the next.
    moves = -2.0 * np.expm1(-1.0 / ((step.size - 1) * FAR_HOME))
    # noise / (noise + drift · moves) is the share, and drift + noise = 1.
    noise = walk.noise * moves / (walk.noise * moves + 1.0 - walk.noise)
    length = np.full(noise.size, FAR_HOME * float(step[-1] - step[0]))
    return replace(walk, length=length, drift=1.0 - noise, noise=noise, homeless=True)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WalkFit:
    """Posterior of β and of the level at the last step, over g noise shares.

    In ``posterior`` the level is the drift, and 1 − f its share. The constant cannot be told from the level
    at the first step, so that its own variance means nothing; predictions do. ``spacing`` is the mean gap
    between evaluations, in steps.
    """

    posterior: Posterior
    spacing: float

    def now(self, rows: FloatArray) -> Mixture:
        """Distribution of ``rows @ β`` plus the level at the last step, without noise; rows (m, p)."""
        return self.posterior.functional(rows, drift_now=1.0)

    def predict(self, rows: FloatArray, lead: FloatArray) -> Mixture:
        """Distribution of new evaluations, ``lead`` (m,) steps after the last; rows (m, p) are X there."""
        now, walk = self.now(rows), self.posterior.drift_share
        extra = self.posterior.variance * (walk * (lead[:, None] / self.spacing) + 1.0 - walk)
        return replace(now, scale=np.sqrt(now.scale**2 + extra))


def fit_walk(step: FloatArray, design: FloatArray, reward: FloatArray, grid: Grid) -> WalkFit:
    """Fit the local-level model with regressors.

    Parameters
    ----------
    step, reward
        Shape (n,), steps strictly increasing.
    design
        Shape (n, p), full column rank, n > p; the first column is constant.
    grid
        Noise shares to sum over, as :func:`walk_grid` has them.

    Raises numpy.linalg.LinAlgError: the columns of ``design`` are not independent.
    """
    spacing = float(step[-1] - step[0]) / (step.size - 1)
    # In units of the largest residual from the mean.
    least = max(1e-24 * float(np.max(np.abs(reward - reward.mean()))) ** 2, np.finfo(float).tiny)
    (posterior,) = infer((step - step[0]) / spacing, design[None], reward[None], grid, least=least)
    return WalkFit(posterior=posterior, spacing=spacing)
