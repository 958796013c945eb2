"""Many forms of one run from a few whitened columns.

Forms of one curve with another shape have columns that are combinations of a few, up to rounding. Only
those are whitened, once, and every form is solved from their cross products.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import qr

from entropylaw.engine.grid import FloatArray, Grid
from entropylaw.engine.posterior import infer, solve
from entropylaw.engine.whiten import Products, cross_products
from entropylaw.results.posterior import Posterior

_SHARP = 1e-6
"""Reward left over by the basis, relative to its spread, below which the basis is not used: the columns'
rounding must stay far below the residual."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Span:
    """An orthonormal basis (n, m), the reward's coordinates (m,), and what is left of it (n,)."""

    basis: FloatArray
    target: FloatArray
    rest: FloatArray

    def coordinates(self, columns: FloatArray) -> FloatArray | None:
        """Coordinates (m, c) of columns (n, c), or None where one of them lies outside."""
        found = self.basis.T @ columns
        outside = np.linalg.norm(columns - self.basis @ found, axis=0)
        return found if (outside <= 1e-10 * np.linalg.norm(columns, axis=0)).all() else None


def common_span(designs: Sequence[FloatArray], reward: FloatArray) -> Span | None:
    """A basis of few columns that all designs, each (n, p), are combinations of, if there is one.

    None where that saves no work, or where the reward (n,) lies so close to the basis that the columns'
    rounding would be seen in what is left.
    """
    columns = np.concatenate(designs, axis=1)
    if len(designs) < 4:
        return None
    # The first form's columns are in the basis as they are, and lose no digit.
    p = designs[0].shape[1]
    first = np.linalg.qr(designs[0])[0]
    left = columns[:, p:] - first @ (first.T @ columns[:, p:])
    left /= np.linalg.norm(columns[:, p:], axis=0)
    ortho, triangle, _ = qr(left, mode="economic", pivoting=True, check_finite=False)
    # What is left of the other columns is relative to their lengths.
    more = ortho[:, np.abs(np.diag(triangle)) > 1e-12]
    # Once more, against rounding: what is left of a column is small beside it.
    more = np.linalg.qr(more - first @ (first.T @ more))[0]
    basis = np.concatenate([first, more], axis=1)
    if basis.shape[1] + 1 > (columns.shape[1] + len(designs)) / 2:
        return None
    target = basis.T @ reward
    rest = reward - basis @ target
    centred = reward - reward.mean()
    if np.sqrt(rest @ rest) < _SHARP * np.sqrt(centred @ centred):
        return None
    return Span(basis=basis, target=target, rest=rest)


class Solver:
    """Posteriors of any number of forms of one reward; step and reward have shape (n,)."""

    def __init__(self, step: FloatArray, reward: FloatArray, grid: Grid) -> None:
        self._step, self._reward, self._grid = step, reward, grid
        self._span: Span | None = None
        self._products: Products | None = None

    def posteriors(self, designs: Sequence[FloatArray]) -> list[Posterior]:
        """Posterior of each form; a design has shape (n, p), full column rank, the first column constant."""
        columns = np.concatenate(designs, axis=1)
        coordinates = self._span.coordinates(columns) if self._span else None
        if coordinates is None and (found := common_span(designs, self._reward)) is not None:
            few = np.concatenate([found.basis, found.rest[:, None]], axis=1)
            self._span, coordinates = found, found.coordinates(columns)
            self._products = cross_products(self._step, few[None], self._grid)
        widths = [design.shape[1] for design in designs]
        starts = np.cumsum([0, *widths])
        answers: dict[int, Posterior] = {}
        for width in sorted(set(widths)):
            chosen = np.flatnonzero(np.array(widths) == width).tolist()
            if coordinates is None:
                some = np.array([designs[i] for i in chosen])
                rewards = np.broadcast_to(self._reward, some.shape[:2])
                many = infer(self._step, some, rewards, self._grid)
            else:
                places = starts[chosen][:, None] + np.arange(width)
                many = self._within(coordinates[:, places].transpose(1, 0, 2))
            answers |= dict(zip(chosen, many, strict=True))
        return [answers[i] for i in range(len(designs))]

    def _within(self, coordinates: FloatArray) -> Posterior:
        """Posteriors of f forms whose designs have ``coordinates`` (f, m, p)."""
        assert self._span is not None
        assert self._products is not None
        target, products = self._span.target, self._products
        ortho, triangle = np.linalg.qr(coordinates)
        start = np.einsum("fmp,m->fp", ortho, target)
        left = target - np.einsum("fmp,fp->fm", ortho, start)
        forms, width, p = ortho.shape
        turn = np.zeros((forms, width + 1, p + 1))
        turn[:, :width, :p], turn[:, :width, p], turn[:, width, p] = ortho, left, 1.0
        flat = turn.transpose(1, 0, 2).reshape(width + 1, forms * (p + 1))
        half = (products.gram[0] @ flat).reshape(-1, width + 1, forms, p + 1).transpose(2, 0, 1, 3)
        gram = turn.transpose(0, 2, 1)[:, None] @ half
        last = (products.last[0] @ flat).reshape(-1, forms, p + 1).transpose(1, 0, 2)
        turned = replace(products, gram=gram, last=last)
        return solve(turned, self._grid, start, triangle, self._step.size)
