"""Residual models: their covariances, and the filter that whitens columns under all of them at once.

The residual is a drift plus white noise. The drift is a stationary Ornstein–Uhlenbeck process, or a sum of
several, whose variance falls as a power of their length and so has long memory (Granger 1980,
doi:10.1016/0304-4076(80)90092-5). In state space form the innovations of a Kalman filter are independent, at
a cost linear in the evaluations (Kalman 1960, doi:10.1115/1.3662552; Harvey 1989,
doi:10.1017/CBO9781107049994).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from entropylaw.arrays import BoolArray, FloatArray, IntArray
from entropylaw.engine.constants import JUMP, LEAST_JUMP, MOST_JUMPS, Prior

_BROKEN = 1e6
"""Gap, in evaluations, over which nothing of a drift remains."""

_LEAST_NOISE = 1e-10
"""Share of the variance that is always noise, so that no innovation has a variance of 0."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Covariances:
    """c covariances whose drift has d components, of total variance 1, and their filter over n evaluations.

    Attributes
    ----------
    length, part
        Shapes (c, d): correlation length of each component in evaluations, and its share of the variance.
    white, log_prior
        Shape (c,): white share, and logarithm of the prior probability.
    long
        Whether these are sums of drifts.
    retained, gain, sd
        Shapes (n, 1 or c, d), (n, c, d), (n, c): correlation of each component with its value at the
        evaluation before, gain, and standard deviation of the innovation.
    """

    length: FloatArray
    part: FloatArray
    white: FloatArray
    log_prior: FloatArray
    long: bool
    retained: FloatArray
    gain: FloatArray
    sd: FloatArray

    def whitened(self, columns: FloatArray) -> FloatArray:
        """Innovations of columns (n, q) over their sds, (c, n, q)."""
        n, c, d = self.gain.shape
        white = np.empty((c, n, columns.shape[1]))
        inverse = 1.0 / self.sd[:, :, None]
        if d == 1:
            state = np.zeros((c, columns.shape[1]))
            for i in range(n):
                state *= self.retained[i]
                innovation = columns[i] - state
                np.multiply(innovation, inverse[i], out=white[:, i])
                innovation *= self.gain[i]
                state += innovation
            return white
        states = np.zeros((c, d, columns.shape[1]))
        for i in range(n):
            states *= self.retained[i][:, :, None]
            innovation = columns[i] - states.sum(axis=1)
            white[:, i] = innovation * inverse[i]
            states += self.gain[i][:, :, None] * innovation[:, None]
        return white

    def matrix(self, time: FloatArray, index: int) -> tuple[FloatArray, FloatArray]:
        """Covariance of the drift (n, n) of one model at ``time`` (n,), and the white variance (n,)."""
        distance = np.abs(time[:, None] - time[None, :])
        components = zip(self.length[index], self.part[index], strict=True)
        drift = sum(share * np.exp(-distance / length) for length, share in components)
        return np.asarray(drift), np.full(time.size, self.white[index] + _LEAST_NOISE)


@lru_cache(maxsize=64)
def covariances(gaps: bytes, prior: Prior) -> tuple[Covariances, Covariances]:
    """The covariances with one drift (the first has none), and those with a sum of drifts.

    ``gaps`` are the n − 1 float64 gaps between evaluations, of mean 1. Gains are kept for runs with the same.
    """
    logs = np.log(np.array(prior.lengths))
    density = np.exp(-0.5 * ((logs - np.log(prior.length_middle)) / prior.length_spread) ** 2)
    density[[0, -1]] *= 0.5  # the trapezoidal rule
    shares, weight = np.array(prior.shares).T
    drifting = np.outer(density / density.sum(), weight / weight.sum()).ravel()
    of_one_drift = filtered(
        np.frombuffer(gaps),
        length=np.append(1.0, np.repeat(prior.lengths, shares.size))[:, None],
        part=np.append(0.0, np.tile(1.0 - shares, len(prior.lengths)))[:, None],
        white=np.append(1.0, np.tile(shares, len(prior.lengths))),
        prior=(1.0 - prior.long) * np.append(prior.white, (1.0 - prior.white) * drifting),
    )
    return of_one_drift, _sums(np.frombuffer(gaps), prior.long, prior.long_slopes, prior.long_shares)


def _sums(gap: FloatArray, long: float, slopes: tuple[float, ...], shares: tuple[float, ...]) -> Covariances:
    """The covariances with a sum of drifts."""
    ladder = 0.5 * 4.0 ** np.arange(7)
    ladder = ladder[ladder < max(4 * (gap.size + 1), 2.5)]
    slope, white = (axis.ravel() for axis in np.meshgrid(slopes, shares, indexing="ij"))
    falling = ladder ** -slope[:, None]
    return filtered(
        gap,
        length=np.tile(ladder, (white.size, 1)),
        part=(1.0 - white)[:, None] * falling / falling.sum(axis=1, keepdims=True),
        white=white,
        prior=np.full(white.size, long / white.size),
        long=True,
    )


def filtered(
    gap: FloatArray,
    *,
    length: FloatArray,
    part: FloatArray,
    white: FloatArray,
    prior: FloatArray,
    long: bool = False,
) -> Covariances:
    """Gains of the stationary Kalman filter over gaps (n − 1,); other shapes as in :class:`Covariances`."""
    gap = np.concatenate([[0.0], gap])
    n = gap.size
    c, d = part.shape
    # Sums of drifts all have the same lengths.
    rows = length[:1] if long else length
    retained = np.exp(-np.minimum(gap[:, None, None] / rows, 700.0))
    variance = part[:, :, None] * np.eye(d)
    diagonal = np.arange(d)
    gain = np.empty((n, c, d))
    sd = np.empty((n, c))
    for i in range(n):
        if i:
            decay = retained[i]
            variance = variance * decay[:, :, None] * decay[:, None, :]
            variance[:, diagonal, diagonal] += (1.0 - decay**2) * part
        with_sum = variance.sum(axis=2)
        total = with_sum.sum(axis=1) + white + _LEAST_NOISE
        gain[i] = with_sum / total[:, None]
        sd[i] = np.sqrt(total)
        variance = variance - gain[i][:, :, None] * with_sum[:, None, :]
    return Covariances(
        length=length,
        part=part,
        white=white,
        log_prior=np.log(np.maximum(prior, 1e-300)),
        long=long,
        retained=retained,
        gain=gain,
        sd=sd,
    )


def spacings(step: FloatArray, entropy: FloatArray) -> FloatArray:
    """Gaps (n − 1,) between evaluations, of mean 1; unbounded where the entropy jumps up.

    A reload of a checkpoint or a restart throws the policy back, and its drift starts anew. Even gaps are
    exactly 1, so that runs share their gains.
    """
    gap: FloatArray = np.diff(step) * ((step.size - 1) / (step[-1] - step[0]))
    if np.ptp(gap) < 1e-9 * step.size:
        gap = np.ones(gap.size)
    gap[_reloads(entropy)] = _BROKEN
    return gap


def _reloads(entropy: FloatArray) -> IntArray:
    """Numbers of the gaps over which the entropy (n,) jumps up, past the first tenth of the run."""
    change = np.diff(entropy)
    rise = change - np.median(change)
    least = max(JUMP * 1.4826 * float(np.median(np.abs(rise))), LEAST_JUMP * float(np.ptp(entropy)))
    at = np.flatnonzero(rise > least)
    if at.size > MOST_JUMPS:
        return at[:0]
    return at[(at > entropy.size // 10) & (at < entropy.size - 4)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Whitened:
    """Cross products of m columns whitened by K covariances (every model at every scale).

    Attributes
    ----------
    product
        Shape (K, m, m).
    log_det, log_prior
        Shape (K,): log determinant of the covariance, and logarithm of its prior probability.
    white, length, long
        Shape (K,): white share of the variance, mean length of the drift in evaluations (0 without one), and
        whether memory is long.
    mean_square, last_square
        Shape (K,): variance, which is 1 at the largest entropy, on average and at the last evaluation.
    number
        Shape (K,): number of the covariance among all.
    """

    product: FloatArray
    log_det: FloatArray
    log_prior: FloatArray
    white: FloatArray
    length: FloatArray
    long: BoolArray
    mean_square: FloatArray
    last_square: FloatArray
    number: IntArray

    def only(self, chosen: IntArray) -> Whitened:
        """The same under some of the covariances."""
        return Whitened(
            product=self.product[chosen],
            log_det=self.log_det[chosen],
            log_prior=self.log_prior[chosen],
            white=self.white[chosen],
            length=self.length[chosen],
            long=self.long[chosen],
            mean_square=self.mean_square[chosen],
            last_square=self.last_square[chosen],
            number=self.number[chosen],
        )


def scale_profiles(entropy: FloatArray, prior: Prior) -> FloatArray:
    """The residual's sd along the run, (scales, n): 1 at the largest entropy, falling with exp(H)."""
    column = np.expm1(entropy)
    height = (column - column.min()) / max(float(np.ptp(column)), 1e-300)
    return np.exp(np.outer([ratio for ratio, _ in prior.scales], height - 1.0))


def whitened(columns: FloatArray, step: FloatArray, entropy: FloatArray, prior: Prior) -> Whitened:
    """The columns (n, m) of a run under all residual models: scale by scale, one drift first.

    The filter runs over the columns at all scales at once.
    """
    profiles = scale_profiles(entropy, prior)
    wide = np.concatenate([columns / profile[:, None] for profile in profiles], axis=1)
    groups = covariances(spacings(step, entropy).tobytes(), prior)
    filtered = [group.whitened(wide) for group in groups]
    whitened_groups: list[Whitened] = []
    for i, (profile, (_, probability)) in enumerate(zip(profiles, prior.scales, strict=True)):
        span = slice(i * columns.shape[1], (i + 1) * columns.shape[1])
        last = float(profile[-1])
        for group, innovations in zip(groups, filtered, strict=True):
            white = innovations[:, :, span]
            start = sum(earlier.number.size for earlier in whitened_groups)
            count = group.white.size
            weight = np.maximum(group.part.sum(axis=1), 1e-300)
            whitened_groups.append(
                Whitened(
                    product=white.transpose(0, 2, 1) @ white,
                    log_det=2.0 * np.log(group.sd).sum(axis=0) + 2.0 * np.log(profile).sum(),
                    log_prior=group.log_prior + np.log(probability),
                    white=group.white,
                    length=(group.part * group.length).sum(axis=1) / weight,
                    long=np.full(count, group.long),
                    mean_square=np.full(count, np.mean(profile**2)),
                    last_square=np.full(count, last**2),
                    number=start + np.arange(count),
                )
            )
    arrays = {}
    for name in Whitened.__slots__:
        arrays[name] = np.concatenate([getattr(group, name) for group in whitened_groups])
    return Whitened(**arrays)
