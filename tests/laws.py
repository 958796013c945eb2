"""The law's own numbers, without its verdict and its averages; and draws from posteriors, for averages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from entropylaw.analysis.law.fitting import law_of_run
from entropylaw.analysis.rivals import FormFit, FormFits
from entropylaw.results.law import LawFit


def own_law(*series: Any, **options: Any) -> LawFit:
    """The law of a run; arguments as for ``fit_law``."""
    return law_of_run(*series, **options)[0]


def draws(fits: FormFits, count: int, seed: int = 0) -> Iterator[tuple[FormFit, int, Any, Any]]:
    """Some ``count`` draws of a form, a shape, a covariance and its t: coefficients, and the drift now.

    Yields a form with the number of one of its shapes, the coefficients drawn for it, (k, p), and the drift
    at the last step, (k,).
    """
    rng = np.random.default_rng(seed)
    for fit, number in zip(
        fits.fits.values(),
        rng.multinomial(count, [fits.probability[name] for name in fits.fits]),
        strict=True,
    ):
        shapes = rng.multinomial(number, fit.weight / fit.weight.sum())
        for i in np.flatnonzero(shapes):
            p = fit.posteriors[int(i)]
            which = rng.choice(p.weight.size, size=shapes[i], p=p.weight / p.weight.sum())
            chi = np.sqrt(p.df / rng.chisquare(p.df, shapes[i]))
            root = np.linalg.cholesky(p.covariance)[which]
            normal = rng.standard_normal((shapes[i], p.coefficient.shape[-1], 1))
            beta = p.coefficient[which] + chi[:, None] * (root @ normal)[..., 0]
            drift = p.now_offset[which] - (beta * p.now_slope[which]).sum(axis=1)
            drift += chi * np.sqrt(p.now_variance[which]) * rng.standard_normal(shapes[i])
            yield fit, int(i), beta, drift
