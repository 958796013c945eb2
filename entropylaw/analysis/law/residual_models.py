"""Registry of the residual models: the values of ``interval`` and their properties.

One more entry of :data:`RESIDUAL_MODELS` adds a model, with its covariances in
:data:`entropylaw.analysis.law.covariances.GRIDS`: the command line, the settings file, the fits and the
reports read its name, its help and its properties here. Importing this module imports no numpy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from entropylaw.errors import UsageError

DEFAULT_RESIDUAL = "drift"
"""The model of a fit where none is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidualModel:
    """A model of the residual of a fit.

    Attributes
    ----------
    name, method, help
        Its value of ``interval``; the method of its intervals, as in every estimate; and its assumptions, for
        the command line, after the name and a colon.
    smooths_entropy
        The law is fitted to the smoothed entropy; otherwise to the entropy as logged.
    fixed_level
        The residual returns to a level, so that the ceiling and b are properties of the whole run. Otherwise
        both are relative to the last evaluation.
    drops_outliers
        Evaluations with a gross error are left out of the fit.
    entropy_sd, most_known
        Whether the noise of the logged entropies may be given, must be, or must not, and the largest number
        of evaluations; None for any number.
    assumed
        The assumption of the intervals on the residuals, to follow "take them as"; None for a stationary
        drift, of which a report gives the share and the effective sample size instead.
    """

    name: str
    method: str
    help: str
    smooths_entropy: bool = False
    fixed_level: bool = True
    drops_outliers: bool = False
    entropy_sd: Literal["optional", "required", "refused"] = "optional"
    most_known: int | None = None
    assumed: str | None


RESIDUAL_MODELS: dict[str, ResidualModel] = {
    model.name: model
    for model in (
        ResidualModel(
            name="drift",
            method="drift + noise, integrated out",
            help="slow drift plus noise, integrated out.",
            smooths_entropy=True,
            drops_outliers=True,
            assumed=None,
        ),
        ResidualModel(
            name="walk",
            method="random walk + noise, integrated out",
            help="random-walk drift plus noise; the ceiling is relative to the last evaluation.",
            smooths_entropy=True,
            fixed_level=False,
            drops_outliers=True,
            assumed="a random walk seen through noise",
        ),
        ResidualModel(
            name="odr",
            method="orthogonal distance regression",
            help="independent residuals, entropies with --entropy-sd.",
            entropy_sd="required",
            # Each entropy has an independent error: a matrix of n by n.
            most_known=2000,
            assumed="independent",
        ),
        ResidualModel(
            name="ols",
            method="ordinary least squares",
            help="textbook, for independent residuals and exact entropies only.",
            entropy_sd="refused",
            assumed="independent",
        ),
    )
}
"""Every residual model by name, in the order in which they are offered."""


def check_fixed_level(interval: str, purpose: str, why: str = "") -> None:
    """Raise UsageError ``no-fixed-ceiling`` where the model has no ceiling of the whole run."""
    if not residual_model(interval).fixed_level:
        raise UsageError(
            "no-fixed-ceiling",
            f"a fit with interval {interval!r} has its ceiling relative to the last evaluation{why}",
            f"fit with interval {DEFAULT_RESIDUAL!r} for {purpose}",
        )


def residual_model(name: str) -> ResidualModel:
    """The model of that name.

    Raises UsageError: ``bad-interval``.
    """
    if not isinstance(name, str) or name not in RESIDUAL_MODELS:
        found = repr(name[:40]) if isinstance(name, str) else f"of type {type(name).__name__}"
        raise UsageError(
            "bad-interval",
            f"interval {found}, expected one of {', '.join(RESIDUAL_MODELS)}",
            f"use {DEFAULT_RESIDUAL!r}",
        )
    return RESIDUAL_MODELS[name]
