"""The table: one row per candidate, with its weight and the location and scale of every linear number.

A candidate is a curve with one shape, a term in the step or none, a level of the first evaluations or none,
and a residual covariance. Given these the reward is a linear regression with normal priors of slopes and
1/σ of the residual's sd: its marginal likelihood, and Student's t for every linear functional, are closed
forms (O'Hagan & Forster 2004, Kendall's Advanced Theory of Statistics 2B, ch. 11). Whitened cross products of
all columns are computed once; the intercept and terms are solved together for each covariance, and each curve
is added by its Schur complement, so that no small system is solved one at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from entropylaw.arrays import BoolArray, FloatArray, IntArray
from entropylaw.engine.blocks import FORMS, Block, Blocks, Functional, that_matter
from entropylaw.engine.candidates import Candidates, candidates
from entropylaw.engine.constants import (
    FLAT,
    FREE,
    LARGEST_GROUPED,
    LAW,
    NODES,
    PRIOR,
    STEP,
    Prior,
)
from entropylaw.engine.residuals import (
    Whitened,
    covariances,
    narrowed,
    scale_profiles,
    spacings,
    whitened,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """The rows of one run, in the order of the blocks.

    Attributes
    ----------
    candidates, whitened, blocks, prior
        What the rows are made of.
    time
        Shape (n,): steps in mean spacings from the first evaluation, after neighbours were joined.
    entropy, reward
        Shape (n,): smoothed entropy, and reward, as fitted.
    group, noise
        Evaluations that one of these is a mean of, and known variance of the white noise of one.
    form, term, first, covariance, df
        Shape (rows,): codes.
    shape, log_weight, variance
        Shape (rows,): the curve's shape, weight, and residual variance in units of the reward's variance.
    """

    candidates: Candidates
    whitened: Whitened
    blocks: tuple[Block, ...]
    prior: Prior
    time: FloatArray
    entropy: FloatArray
    reward: FloatArray
    group: int
    noise: float
    form: IntArray
    term: IntArray
    first: IntArray
    covariance: IntArray
    df: FloatArray
    shape: FloatArray
    log_weight: FloatArray
    variance: FloatArray

    def numbers(self, functional: Functional, rows: BoolArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Location and scale of F numbers in every row, shapes (F, rows), in the reward's units.

        Locations leave out the reward's mean, which a level has and a difference has not. Blocks without any
        of some ``rows`` are left out: there both are 0.
        """
        count, unit = len(functional.row), self.candidates.unit
        location, squared = np.zeros((count, self.form.size)), np.zeros((count, self.form.size))
        for block, span in self.parts():
            if rows is None or rows[span].any():
                location[:, span], squared[:, span] = block.numbers(functional)
        return location * unit, np.sqrt(np.maximum(squared, 0.0)) * unit

    def parts(self) -> Iterator[tuple[Block, slice]]:
        """Every block with its rows."""
        start = 0
        for block in self.blocks:
            end = start + block.log_weight.size
            yield block, slice(start, end)
            start = end

    def residual_covariance(self, row: int) -> tuple[FloatArray, FloatArray]:
        """The drift's covariance (n, n) and the white variance (n,) of a row, in units of its variance."""
        gap = spacings(self.time, self.entropy)
        single, sums = covariances(gap.tobytes(), self.prior)
        models = single.white.size + sums.white.size
        scale, number = divmod(int(self.whitened.number[self.covariance[row]]), models)
        group, index = (single, number) if number < single.white.size else (sums, number - single.white.size)
        # Nothing of a drift remains over a reload.
        drift, white = group.matrix(np.concatenate([[0.0], np.cumsum(gap)]), index)
        profile = scale_profiles(self.entropy, self.prior)[scale]
        return profile[:, None] * drift * profile, white * profile**2

    def is_form(self, *names: str) -> BoolArray:
        """Rows of some curves."""
        chosen = np.zeros(len(FORMS), dtype=bool)
        chosen[[FORMS.index(name) for name in names]] = True
        return np.asarray(chosen[self.form])


def grouped(*columns: FloatArray) -> tuple[int, list[FloatArray]]:
    """Columns (n,) as means of neighbours, at most :data:`LARGEST_GROUPED`; and how many each mean is of."""
    size = -(-columns[0].size // LARGEST_GROUPED)
    if size == 1:
        return 1, list(columns)
    starts = np.arange(0, columns[0].size, size)
    counts = np.diff([*starts, columns[0].size])
    return size, [np.add.reduceat(column, starts) / counts for column in columns]


def table_of(
    step: FloatArray,
    entropy: FloatArray,
    reward: FloatArray,
    *,
    eval_size: int | None = None,
    **options: Any,
) -> Table:
    """The table of a run, of rates over ``eval_size`` samples where given; parameters as :func:`tables_of`.

    The noise of a rate is then R(1 − R)/size in the mean, at the least-squares law's rewards R.
    """
    if eval_size is not None:
        design = np.column_stack([np.ones(entropy.size), np.expm1(entropy)])
        fitted = design @ np.linalg.lstsq(design, reward, rcond=None)[0]
        # Never 0 or 1: at least half a success and half a failure are expected.
        rate = np.clip(fitted, 0.5 / eval_size, 1.0 - 0.5 / eval_size)
        options["noise"] = float(np.mean(rate * (1.0 - rate))) / eval_size
    (table,) = tables_of(step, [entropy], [reward], **options)
    return table


def tables_of(
    step: FloatArray,
    entropies: Sequence[FloatArray],
    rewards: Sequence[FloatArray],
    *,
    shifts: tuple[float, ...] = (),
    noise: float = 0.0,
    prior: Prior = PRIOR,
) -> list[Table]:
    """The tables of runs with the same steps, whose columns are whitened together.

    Runs whose entropy jumps up, so that the drift starts anew, are whitened alone.

    Parameters
    ----------
    step, entropies, rewards
        Shape (n,): steps, increasing; and of each run smoothed entropy in nats, and reward.
    shifts
        Steps from which the reward has a new level.
    noise
        Known variance of the white noise of each evaluation, at least: 0 where nothing is known.
    """
    runs = [grouped(step, *pair) for pair in zip(entropies, rewards, strict=True)]
    columns, gaps, profiles = list[Candidates](), list[FloatArray](), list[FloatArray]()
    for _, (steps, entropy, reward) in runs:
        time = (steps - steps[0]) / (steps[-1] - steps[0])
        starts = [int(i) for i in np.searchsorted(steps, np.array(shifts)) if 0 < i < steps.size]
        columns.append(candidates(entropy, time, reward, prior, starts))
        gaps.append(spacings(steps, entropy))
        profiles.append(scale_profiles(entropy, prior))

    def under(chosen: Sequence[Candidates], priors: Sequence[Prior]) -> list[Whitened]:
        arrays = [run.columns for run in chosen]
        return whitened(list(zip(arrays, profiles, gaps, priors, strict=True)))

    priors = [prior] * len(runs)
    nodes = max((count for fewest, count in NODES if gaps[0].size >= fewest - 1), default=0)
    # A prior of one covariance, or with a finer grid, is taken as it is.
    if 1 < min(len(prior.lengths), len(prior.shares)) < nodes:
        few = [run.only("one", "shift", STEP, LAW, FLAT, FREE, "reward") for run in columns]
        priors = [_narrowed(*pair, prior, nodes) for pair in zip(few, under(few, priors), strict=True)]
    rows = zip(columns, under(columns, priors), runs, priors, strict=True)
    return [_table(*parts, noise) for parts in rows]


def _narrowed(columns: Candidates, products: Whitened, prior: Prior, nodes: int) -> Prior:
    """The prior with its nodes where the posterior of the law, or of a free curve, is."""
    likely = np.zeros((len(prior.lengths), len(prior.shares)))
    alone = replace(prior, terms=prior.terms[:1], firsts=prior.firsts[:1])
    for block in Blocks(columns, products, alone, 0.0).all():
        for form, log_weight in zip(block.forms, block.log_weight.T, strict=True):
            if FORMS[form] in (FLAT, FREE) and np.isfinite(log_weight.max()):
                weight = np.exp(log_weight - log_weight.max()).reshape(len(prior.scales), -1).sum(axis=0)
                of_drifts = weight[1 : likely.size + 1].reshape(likely.shape) / weight.sum()
                likely = np.maximum(likely, of_drifts)
    return narrowed(prior, likely, nodes)


def _table(
    columns: Candidates, products: Whitened, run: tuple[int, list[FloatArray]], prior: Prior, noise: float
) -> Table:
    """The rows of one run from its whitened columns."""
    size, (step, entropy, reward) = run
    every = Blocks(columns, products, prior, noise / size / columns.unit**2).all()
    chosen, blocks = that_matter(every)
    # One row for each covariance and each curve of a block, in this order.
    sizes = [block.log_weight.size for block in blocks]
    return Table(
        candidates=columns,
        whitened=products.only(chosen),
        blocks=tuple(blocks),
        prior=prior,
        time=(step - step[0]) * ((step.size - 1) / (step[-1] - step[0])),
        entropy=entropy,
        reward=reward,
        group=size,
        noise=noise,
        form=np.concatenate([np.tile(block.forms, chosen.size) for block in blocks]),
        term=np.repeat([block.term for block in blocks], sizes),
        first=np.repeat([block.first for block in blocks], sizes),
        covariance=np.concatenate([np.repeat(np.arange(chosen.size), block.forms.size) for block in blocks]),
        df=np.repeat([float(block.df) for block in blocks], sizes),
        shape=np.concatenate([np.tile(block.shapes, chosen.size) for block in blocks]),
        log_weight=np.concatenate([block.log_weight.ravel() for block in blocks]),
        variance=np.concatenate([block.variance.ravel() for block in blocks]),
    )
