"""What the types of a document cannot say: which of its values have to agree with one another."""

from __future__ import annotations

from collections.abc import Sized
from functools import singledispatch
from itertools import pairwise
from typing import Any

import numpy as np

from entropylaw.documents.fit import RunFit
from entropylaw.documents.phases import RunPhases
from entropylaw.results import Curve, Estimate
from entropylaw.results.forecast import Forecast
from entropylaw.results.law import LawFit
from entropylaw.results.phases import Boundary, CurvePhases
from entropylaw.results.posterior import Posterior

# Ends and values are rounded on their own.
_ROUNDING = 1e-9


@singledispatch
def flaw(value: Any) -> str:
    """Say what a part of a document should hold and does not; nothing where all agrees."""
    return ""


@flaw.register
def _(value: RunFit) -> str:
    return "" if (value.law is None) != (value.refusal is None) else "a law or a refusal, one of them"


@flaw.register
def _(value: RunPhases) -> str:
    return "" if (value.phases is None) != (value.refusal is None) else "phases or a refusal, one of them"


@flaw.register
def _(value: Estimate) -> str:
    if not 0 < value.level < 1:
        return "a level between 0 and 1"
    ends = [end for end in (value.low, value.value, value.high) if end is not None]
    slack = _ROUNDING * max(map(abs, ends), default=0.0)
    rising = all(one <= other + slack for one, other in pairwise(ends))
    return "" if rising else "a value within its own interval"


@flaw.register
def _(value: LawFit) -> str:
    known = [value.entropy_sd] if value.entropy_sd is not None else []
    columns = (value.step, value.entropy, value.course, value.reward, value.fitted, *known)
    if value.n < 2 or any(column.shape != (value.n,) for column in columns):
        return f"arrays of the length n = {value.n}, at least 2"
    if value.posterior.coefficient.shape[1] != 2:
        return "a posterior of two coefficients"
    return "" if np.all(np.diff(value.step) > 0) else "increasing steps"


@flaw.register
def _(value: Posterior) -> str:
    size = value.weight.size
    p = value.coefficient.shape[-1] if value.coefficient.ndim else 0
    of_size = (value.weight, value.variance, value.drift_share, value.length, value.now_offset)
    shapes: list[tuple[Any, tuple[int, ...]]] = [
        (array, (size,)) for array in (*of_size, value.now_variance, value.effective_n)
    ]
    shapes += [(value.coefficient, (size, p)), (value.now_slope, (size, p)), (value.covariance, (size, p, p))]
    if not size or any(array.shape != shape for array, shape in shapes):
        return "arrays of matching shapes"
    weighted = np.all(value.weight >= 0) and abs(float(value.weight.sum()) - 1.0) < 1e-6
    return "" if weighted else "weights that add up to 1"


@flaw.register
def _(value: Curve) -> str:
    bands = (value.mean, value.low, value.high, value.observation_low, value.observation_high)
    return _of_one_length(value.entropy, *bands, *value.rivals.values())


@flaw.register
def _(value: CurvePhases) -> str:
    return _of_one_length(value.step, value.entropy, value.decay, value.fitted, value.low, value.high)


@flaw.register
def _(value: Boundary) -> str:
    return _of_one_length(value.places, value.density)


@flaw.register
def _(value: Forecast) -> str:
    told = (value.entropy, value.extrapolated) if value.entropy else ()
    return _of_one_length(value.step, value.reward, *told)


def _of_one_length(first: Sized, *others: Sized) -> str:
    fits = len(first) > 0 and all(len(other) == len(first) for other in others)
    return "" if fits else "lists of one length"
