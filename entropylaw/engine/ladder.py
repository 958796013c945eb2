"""Whitening where the drift is a sum of several Ornstein–Uhlenbeck processes, the rungs of a ladder.

The state is the K rungs: the same Kalman filter as in :mod:`entropylaw.engine.kalman`, with a covariance of
K × K. One evaluation costs O(K²) per grid point, its columns O(K).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from entropylaw.arrays import FloatArray, IntArray

_NARROW = 100
"""Columns times grid points up to which chunks are filtered side by side."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LadderGains:
    """Coefficients of the filter at n steps for g grid points with K rungs; independent of the data.

    ``decay`` and ``gain`` have shape (n, K, g): the rungs' decay to the step, and what of the innovation each
    rung takes up. ``inverse_sd`` (n, g) is one over the innovation's standard deviation; ``covariance``
    (K, K, g) is that of the rungs at the last step given the data.
    """

    decay: FloatArray
    gain: FloatArray
    inverse_sd: FloatArray
    covariance: FloatArray

    def rows(self, rows: slice) -> LadderGains:
        """Those of some steps; ``covariance`` remains that at the last one."""
        return replace(self, decay=self.decay[rows], gain=self.gain[rows], inverse_sd=self.inverse_sd[rows])

    def points(self, which: IntArray) -> LadderGains:
        """Those of some grid points."""
        return LadderGains(
            **{each.name: getattr(self, each.name).take(which, axis=-1) for each in fields(self)}
        )

    @property
    def log_det(self) -> FloatArray:
        """Log-determinant of the steps' covariance given the steps before, shape (g,)."""
        return np.asarray(-2.0 * np.log(self.inverse_sd).sum(axis=0))

    @property
    def last_variance(self) -> FloatArray:
        """Variance of the drift at the last step given the data, shape (g,)."""
        return np.asarray(np.maximum(self.covariance.sum(axis=(0, 1)), 0.0))

    @property
    def steady(self) -> bool:
        """Whether the gains have converged, up to rounding."""
        return bool(np.allclose(self.gain[0], self.gain[-1], rtol=1e-14, atol=0.0))

    def innovations(self, columns: FloatArray, before: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        """Innovations (n, g, c) of columns (n + 1, g or 1, c), and the rungs (K, g, c) at the last step.

        The first row, the step before, is not used: ``before`` (K, g, c) holds the rungs there; None at the
        first step.
        """
        n, rungs, points = self.decay.shape
        width = columns.shape[2]
        state = np.zeros((rungs, points, width)) if before is None else before
        found = np.empty((n, points, width))
        length = chunk_length(n)
        done = n - n % length if length > 2 and points * width <= _NARROW else 0
        if done:
            state = self._in_chunks(columns[1 : done + 1], found[:done], length, state)
        rest = self.rows(slice(done, None))
        return found, rest._run(columns[done + 1 :], found[done:], state)

    def _in_chunks(
        self, columns: FloatArray, found: FloatArray, length: int, state: FloatArray
    ) -> FloatArray:
        """As :meth:`_run`, all chunks of ``length`` steps at once.

        The innovations of a chunk are those from rungs at 0, plus its response to the rungs at its start: K
        more columns, of 0, each from one rung at 1.
        """
        n, points, width = found.shape
        count, rungs = n // length, self.decay.shape[1]
        chunks = LadderGains(
            # The chunks as further grid points: (length, K, count · g).
            decay=self._beside(self.decay[:n], length),
            gain=self._beside(self.gain[:n], length),
            inverse_sd=self.inverse_sd[:0],
            covariance=self.covariance,
        )
        wide = np.zeros((length, count * points, width + rungs))
        own = columns.reshape(count, length, -1, width).transpose(1, 0, 2, 3)
        wide[..., :width] = np.broadcast_to(own, (length, count, points, width)).reshape(length, -1, width)
        start = np.zeros((rungs, count * points, width + rungs))
        for rung in range(rungs):
            start[rung, :, width + rung] = 1.0
        innovations = np.empty_like(wide)
        end = chunks._run(wide, innovations, start).reshape(rungs, count, points, -1).transpose(1, 2, 0, 3)
        inherited = np.empty((count + 1, points, rungs, width))
        inherited[0] = state.transpose(1, 0, 2)
        for j in range(count):
            np.matmul(end[j, ..., width:], inherited[j], out=inherited[j + 1])
            np.add(inherited[j + 1], end[j, ..., :width], out=inherited[j + 1])
        # Shapes (count, g, length, ·).
        each = innovations.reshape(length, count, points, -1).transpose(1, 2, 0, 3)
        more = each[..., width:] @ inherited[:-1] + each[..., :width]
        found.reshape(count, length, points, width)[...] = more.swapaxes(1, 2)
        return np.asarray(inherited[-1].swapaxes(0, 1))

    @staticmethod
    def _beside(each: FloatArray, length: int) -> FloatArray:
        """Coefficients (n, K, g) of chunks side by side, (length, K, n/length · g)."""
        n, rungs, points = each.shape
        chunks = each.reshape(n // length, length, rungs, points)
        return chunks.transpose(1, 2, 0, 3).reshape(length, rungs, -1)

    def _run(self, columns: FloatArray, found: FloatArray, state: FloatArray) -> FloatArray:
        """Innovations of columns (n, g, c), step by step, into ``found``; the rungs (K, g, c) at the end."""
        state, scratch = state.copy(), np.empty_like(state)
        total = np.empty(state.shape[1:])
        steps = zip(self.decay[..., None], self.gain[..., None], columns, found, strict=True)
        for decay, gain, column, innovation in steps:
            np.multiply(state, decay, out=state)
            np.add.reduce(state, axis=0, out=total)
            np.subtract(column, total, out=innovation)
            np.multiply(gain, innovation, out=scratch)
            np.add(state, scratch, out=state)
        return state

    def drift(self, last: FloatArray, ended: FloatArray) -> FloatArray:
        """The drift at the last step (g, c), from the rungs there; ``last`` is not used."""
        del last
        return np.asarray(ended.sum(axis=0))


def chunk_length(n: int) -> int:
    """Length of the chunks of n steps that are filtered side by side: 2√n calls for n steps."""
    return int(np.sqrt(n))


def ladder_gains(
    gap: FloatArray, length: FloatArray, variance: FloatArray, noise: FloatArray, before: FloatArray | None
) -> LadderGains:
    """Run the covariance recursion over ``gap`` (n,), the steps since the evaluation before.

    ``length`` and ``variance`` (K, g) are those of the rungs, ``noise`` (n, g) the variance of the white
    noise. ``before`` (K, K, g) is the covariance after the evaluation before; None at the first.
    """
    n, (rungs, points) = gap.size, length.shape
    rate = -gap[:, None, None] / length
    decay, added = np.exp(rate), -variance * np.expm1(2.0 * rate)
    gain, innovation = np.empty((n, rungs, points)), np.empty((n, points))
    covariance = np.zeros((rungs, rungs, points)) if before is None else before.copy()
    if before is None:
        added[0] = variance
    own = covariance.reshape(rungs * rungs, points)[:: rungs + 1]
    total, scratch = np.empty((rungs, points)), np.empty_like(covariance)
    steps = zip(decay, added, noise, innovation, gain, strict=True)
    for factor, more, white, whole, share in steps:
        np.multiply(factor[:, None], factor, out=scratch)
        np.multiply(covariance, scratch, out=covariance)
        np.add(own, more, out=own)
        np.add.reduce(covariance, axis=0, out=total)
        np.add.reduce(total, axis=0, out=whole)
        np.add(whole, white, out=whole)
        np.divide(total, whole, out=share)
        np.multiply(share[:, None], total, out=scratch)
        np.subtract(covariance, scratch, out=covariance)
    return LadderGains(
        decay=decay,
        gain=gain,
        inverse_sd=1.0 / np.sqrt(innovation),
        covariance=covariance,
    )
