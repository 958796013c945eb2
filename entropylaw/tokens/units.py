"""Whether entropies are in nats throughout: a suspicion, by their jumps and by the log-probabilities.

A change of units moves every percentile by the one factor 1.4427 from one step to the next, where a policy
moves gradually and its percentiles differently. A mixture of units within the steps leaves no such trace.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from entropylaw.tokens.expression import LOGPROB_POINT, ROUNDED
from entropylaw.tokens.grid import BINS, PERCENTS, POINT, Cells, FloatArray, IntArray
from entropylaw.tokens.sums import Sums

BITS = 1 / math.log(2)
_SHIFT = math.log(BITS)
_MOST_STEPS = 5
_TOKENS = 2000
"""Tokens on either side of a change, from as many steps as that takes, five at most."""

_NEAR_MEAN = 0.15
_UNUSUAL = 6.0
"""How many times the median of all changes: a policy that moves fast anyway shows no change of units."""

_TOLERANCE, _ERRORS = 0.04, 2.0
_LARGEST_ERROR = 0.1
_LOWEST = 0.01
"""Nats; in the bins below a percentile is known to a tenth of itself, which shows no such factor."""

_CLUSTERED = 1.5
"""Tokens of one response are alike: the error of a percentile is about this much more."""

_APART, _SURE, _FEWEST_STEPS, _FEWEST_TOKENS = 0.1, 4.0, 3, 1000


def cautions(sums: Sums) -> list[str]:
    """A sentence for each step at which the unit seems to change, and on log-probabilities that disagree."""
    return [*_jumps(sums), *_beside_logprobs(sums)]


def _jumps(sums: Sums) -> Iterator[str]:
    """Steps at which all percentiles move by the factor between nats and bits, and by far more than usual."""
    here = sums.cells["bin"] >= 0
    cells = {name: values[here] for name, values in sums.cells.items()}
    steps, starts = np.unique(cells["step"], return_index=True)
    if len(steps) < _FEWEST_STEPS:
        return
    rows = np.append(starts, len(cells["step"]))
    tokens = np.add.reduceat(cells["tokens"], starts)
    width = math.ceil(_TOKENS / float(np.median(tokens)))
    if width > _MOST_STEPS:
        return
    change = _changes(tokens, np.add.reduceat(cells["total"].astype(float), starts), width)
    steep = np.abs(change) > _UNUSUAL * np.median(np.abs(change))
    found: list[tuple[int, float, float]] = []
    near = np.abs(np.abs(change) - _SHIFT) < _NEAR_MEAN
    for at in (1 + np.flatnonzero(steep & near)).tolist():
        before = _window(cells, rows[max(at - width, 0)], rows[at])
        after = _window(cells, rows[at], rows[min(at + width, len(steps))])
        moved = _moved(before, after)
        if moved is not None:
            found.append((at, *moved))
    for at in _best(found):
        rise = change[at - 1] > 0
        words = "from nats to bits" if rise else "from bits to nats"
        factor = BITS if rise else 1 / BITS
        yield (
            f"from step {steps[at - 1]} to {steps[at]} every percentile changes by the factor {factor:.2f}, "
            f"as {words}: are the units the same throughout?"
        )


def _changes(tokens: IntArray, total: FloatArray, width: int) -> FloatArray:
    """Logarithm of the mean of the next ``width`` steps over that of the last, from the second step on."""
    n, q = np.append(0, np.cumsum(tokens)), np.append(0.0, np.cumsum(total))
    at = np.arange(1, len(tokens))
    low, high = np.maximum(at - width, 0), np.minimum(at + width, len(tokens))
    after, before = ((q[b] - q[a]) / (n[b] - n[a]) for a, b in ((at, high), (low, at)))
    return np.asarray(np.log(np.maximum(after, 1.0)) - np.log(np.maximum(before, 1.0)))


def _window(cells: dict[str, IntArray], start: int, stop: int) -> Cells:
    """The tokens of neighbouring steps by bin."""
    at = np.maximum(cells["bin"][start:stop], 0)
    arrays = {}
    for name in ("tokens", "total", "square_high", "square_low"):
        arrays[name] = np.zeros(BINS, dtype=np.int64)
        np.add.at(arrays[name], at, cells[name][start:stop])
    return Cells(**arrays)


def _moved(before: Cells, after: Cells) -> tuple[float, float] | None:
    """The mean logarithm of the percentiles' ratios, and its distance from a change of units; None if far."""
    old, old_error = _logs(before)
    new, new_error = _logs(after)
    error = np.hypot(old_error, new_error)
    usable = (np.minimum(old, new) > math.log(_LOWEST)) & (error < _LARGEST_ERROR)
    if usable.sum() < 3:
        return None
    shift = (new - old)[usable]
    allowed = np.maximum(_TOLERANCE, _ERRORS * error[usable])
    mean = float(shift.mean())
    off = np.abs(shift - math.copysign(_SHIFT, mean))
    return None if np.any(off > allowed) else (mean, float(off.mean()))


def _logs(cells: Cells) -> tuple[FloatArray, FloatArray]:
    """Logarithms of the percentiles, and their standard errors by the density between their neighbours."""
    share = np.array(PERCENTS) / 100
    values = np.array([max(value or 0.0, 1e-9) for value in cells.percentiles()])
    slope = np.gradient(np.log(values), share)
    error = _CLUSTERED * np.abs(slope) * np.sqrt(share * (1 - share) / cells.n)
    # The density beyond the last percentile is not known, and with it the error of the last.
    return np.log(values)[:-1], error[:-1]


def _best(found: list[tuple[int, float, float]]) -> Iterator[int]:
    """Of steps near each other the one that comes nearest to the factor."""
    left = sorted(found, key=lambda one: one[2])
    while left:
        at = left[0][0]
        yield at
        left = [one for one in left if abs(one[0] - at) > _MOST_STEPS]


def _beside_logprobs(sums: Sums) -> Iterator[str]:
    """A token drawn from the policy has minus its log-probability as its entropy, on average."""
    cells = sums.cells
    here = (cells["bin"] >= 0) | (cells["bin"] == ROUNDED)
    tokens, known = int(cells["tokens"][here].sum()), int(cells["logprobs"][here].sum())
    if not sums.has_logprob or known < max(_FEWEST_TOKENS, 0.99 * tokens):
        return
    steps, where = np.unique(cells["step"][here], return_inverse=True)
    surprise, entropy = np.zeros(len(steps)), np.zeros(len(steps))
    np.add.at(surprise, where, -cells["logprob_total"][here] / LOGPROB_POINT)
    np.add.at(entropy, where, cells["total"][here] * (cells["bin"][here] >= 0) / POINT)
    if len(steps) < _FEWEST_STEPS or surprise.sum() <= 0 or entropy.sum() <= 0:
        return
    ratio = surprise.sum() / entropy.sum()
    m = len(steps)
    error = math.sqrt(m / (m - 1) * ((surprise - ratio * entropy) ** 2).sum()) / surprise.sum()
    if abs(math.log(ratio)) < max(_APART, _SURE * error):
        return
    unit = " (the factor between nats and bits)" if abs(abs(math.log(ratio)) - _SHIFT) < _TOLERANCE else ""
    yield (
        f"minus the mean log-probability is {ratio:.2f} of the mean entropy{unit}, and tokens drawn from the "
        "policy itself have 1: other units, a sampling temperature, or tokens of another policy?"
    )
