"""One row per step from exact sums: as a table, and as a histogram to draw."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from entropylaw.results.tokens import LOW, TokenHistogram
from entropylaw.tokens import query
from entropylaw.tokens.query import BINS, EDGES, HALF, POINT, FloatArray, IntArray
from entropylaw.tokens.responses import Responses
from entropylaw.tokens.sums import Sums

Value = float | int | None

PERCENTS = (5, 10, 20, 50, 80, 90, 95, 99)
"""Percentiles that are reported."""

_LEFT_OUT = {
    "tokens_masked": (query.MASKED, query.NO_MASK),
    "tokens_without_entropy": (query.MISSING, query.NOT_FINITE),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Tokens of one kind by bin, all (BINS,): their number, Σq, and the halves of Σq²."""

    tokens: IntArray
    total: IntArray
    square_high: IntArray
    square_low: IntArray

    @classmethod
    def of(cls, sums: dict[str, IntArray], chosen: Any) -> Cells:
        """The chosen rows of sums by bin; what was rounded up to zero is in the first."""
        at, regular = np.maximum(sums["bin"][chosen], 0), sums["bin"][chosen] >= 0
        arrays = {name: np.zeros(BINS, dtype=np.int64) for name in cls.__slots__}
        for name, array in arrays.items():
            np.add.at(array, at, sums[name][chosen] * (regular | (name == "tokens")))
        return cls(**arrays)

    @property
    def n(self) -> int:
        """Tokens."""
        return int(self.tokens.sum())

    @property
    def fixed(self) -> int:
        """Exact Σq."""
        return int(self.total.sum())

    @property
    def mean(self) -> float | None:
        """Mean entropy in nats."""
        return self.fixed / (self.n * POINT) if self.n else None

    @property
    def sd(self) -> float | None:
        """Standard deviation between tokens in nats, with n − 1; exact until the root."""
        n = self.n
        if n < 2:
            return None
        squares = (int(self.square_high.sum()) << HALF) + int(self.square_low.sum())
        return math.sqrt((n * squares - self.fixed**2) / (n * (n - 1))) / POINT

    def percentiles(self) -> list[float | None]:
        """Values at :data:`PERCENTS`, the ⌈p·n/100⌉-th smallest, in nats; within a bin by :meth:`_pieces`."""
        n = self.n
        if not n:
            return [None] * len(PERCENTS)
        ranks = np.array([max(1, -(-percent * n // 100)) for percent in PERCENTS])
        reached = np.cumsum(self.tokens)
        at = np.searchsorted(reached, ranks)
        inside = (ranks - 0.5 - (reached[at] - self.tokens[at])) / self.tokens[at]
        low, mean, high, weight = self._pieces(at)
        lower = low + (mean - low) * inside / np.maximum(weight, 1e-300)
        upper = mean + (high - mean) * (inside - weight) / np.maximum(1 - weight, 1e-300)
        return [float(x) for x in np.where(inside <= weight, lower, upper)]

    def share_of_top(self) -> float | None:
        """Share of all entropy in the fifth of tokens with most of it; None where all is 0."""
        n = self.n
        if not n or not self.fixed:
            return None
        wanted = 0.2 * n
        above = np.cumsum(self.tokens[::-1])[::-1]
        at = int(np.flatnonzero(above >= wanted)[-1])
        taken = float(above[at + 1]) if at + 1 < BINS else 0.0
        part = min(1.0, (wanted - taken) / float(self.tokens[at]))
        low, mean, high, weight = (float(x[0]) for x in self._pieces(np.array([at])))
        if part <= 1 - weight:
            rest = part * high - (high - mean) * part**2 / (2 * (1 - weight)) if part else 0.0
        else:
            left = 1 - part
            rest = mean - (left * low + ((mean - low) * left**2 / (2 * weight) if left else 0.0))
        whole = int(self.total[at + 1 :].sum()) / POINT
        return (whole + rest * int(self.tokens[at])) / (self.fixed / POINT)

    def _pieces(self, at: IntArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Two uniform pieces [low, mean], [mean, high] in bins ``at``, and the weight of the lower one.

        Their mean is the bin's. The ends are the bin's, drawn in to √3 standard deviations around the mean,
        which is where a uniform distribution ends: tokens of one value stay that value.
        """
        left, right = EDGES[at], EDGES[at + 1]
        mean = np.clip(self.total[at] / self.tokens[at].astype(float) / POINT, left, right)
        # √3 standard deviations of each bin, in integers of any size until the root.
        columns = (self.tokens, self.total, self.square_high, self.square_low)
        reach = [
            math.sqrt(3 * (count * ((high << HALF) + low) - total**2)) / (count * POINT)
            for count, total, high, low in zip(*(each[at].tolist() for each in columns), strict=True)
        ]
        start, stop = np.maximum(left, mean - reach), np.minimum(right, mean + reach)
        width = stop - start
        weight = np.where(width > 0, (stop - mean) / np.where(width > 0, width, 1), 1.0)
        return start, mean, stop, weight


def summarise(sums: Sums, cuts: dict[int, float] | None = None) -> pa.Table:
    r"""Summarise each step.

    Parameters
    ----------
    sums
        Exact sums by step, class, correctness and bin.
    cuts
        Where classes were made by a quantile of entropy, the cut of each step in nats.

    Returns
    -------
    pyarrow.Table
        A row a step, by step; null is a number that is not known. Entropies in nats.

        ``tokens, entropy, entropy_sd, entropy_se``: number, mean, standard deviation (n − 1), and sd/√n, as
        if tokens of one response were independent.
        ``entropy_p05`` to ``entropy_p99``: the ⌈p·n/100⌉-th smallest entropy, known to its bin.
        ``share_below_0.01``: share of tokens below 0.01 nats. ``share_top20``: share of all entropy in the
        fifth of tokens that has most of it.
        ``…_planning, …_execution, …_correct, …_wrong``: the same within these tokens, where they are known;
        ``planning_share`` of the tokens with a class, ``planning_entropy_share`` of their entropy.
        ``responses, response_length``: number and mean of tokens; ``entropy_response_mean``: mean of the
        responses' means, where ``entropy`` weighs a response by its length. ``entropy_se_responses``:
        standard error of ``entropy`` with responses, not tokens, as independent, by the ratio estimator
        (Cochran 1977, *Sampling Techniques*, eq. 6.13) :math:`\sqrt{m/(m-1)\sum_i(s_i-Hn_i)^2}/\sum_i n_i`
        with s the sum of entropies and n the tokens of a response. ``prompts, entropy_se_prompts``: the same
        with prompts in place of responses, which to one prompt are not independent: the larger of the two
        is the noise of ``entropy``. ``logprob``: mean log-probability of the tokens that were drawn.
        ``tokens_masked`` (a null mask included), ``tokens_without_entropy`` (null, nan, infinite): rows that
        count nowhere else.
    """
    rows = list(_rows(sums, cuts))
    whole = re.compile("step|responses|prompts|tokens.*")
    kinds = {name: pa.int64() if whole.fullmatch(name) else pa.float64() for name in (rows or [{}])[0]}
    return pa.Table.from_pylist(rows, pa.schema(kinds))


def _rows(sums: Sums, cuts: dict[int, float] | None) -> Iterator[dict[str, Value]]:
    """Each step's cells by column; all have the same columns."""
    cells = sums.cells
    entropies = sums.usable
    classed, judged = (cells["planning"] >= 0).any(), (cells["correct"] >= 0).any()
    steps, starts = np.unique(cells["step"], return_index=True)
    for step, at in zip(steps.tolist(), np.split(np.arange(len(cells["step"])), starts[1:]), strict=True):
        part = {name: values[at] for name, values in cells.items()}
        usable = entropies[at]
        row = {"step": step, **_described(Cells.of(part, usable), "")}
        if classed:
            codes = (query.PLANNING, query.EXECUTION)
            planning, execution = (Cells.of(part, usable & (part["planning"] == code)) for code in codes)
            n, fixed = planning.n + execution.n, planning.fixed + execution.fixed
            row["planning_share"] = planning.n / n if n else None
            row["planning_entropy_share"] = planning.fixed / fixed if fixed else None
            row |= _described(planning, "_planning") | _described(execution, "_execution")
        if judged:
            for name, code in (("correct", query.CORRECT), ("wrong", query.WRONG)):
                row |= _described(Cells.of(part, usable & (part["correct"] == code)), f"_{name}")
        yield row | _others(sums, step, part, usable, cuts)


def _described(cells: Cells, suffix: str) -> dict[str, Value]:
    n, sd, low = cells.n, cells.sd, int(cells.tokens[: np.searchsorted(EDGES, LOW)].sum())
    row: dict[str, Value] = {
        "tokens": n,
        "entropy": cells.mean,
        "entropy_sd": sd,
        "entropy_se": None if sd is None else sd / math.sqrt(n),
        **{f"entropy_p{p:02d}": value for p, value in zip(PERCENTS, cells.percentiles(), strict=True)},
        "share_below_0.01": low / n if n else None,
        "share_top20": cells.share_of_top(),
    }
    return {name + suffix: value for name, value in row.items()}


def _others(
    sums: Sums, step: int, part: dict[str, IntArray], usable: Any, cuts: dict[int, float] | None
) -> dict[str, Value]:
    """A step's log-probability, responses, prompts, cut, and what is left out; None for what is not known."""
    row: dict[str, Value] = {}
    if sums.has_logprob:
        number, total = (int(part[name][usable].sum()) for name in ("logprobs", "logprob_total"))
        row["logprob"] = total / (number * query.LOGPROB_POINT) if number else None
    for name, by_step in (("responses", sums.responses), ("prompts", sums.prompts)):
        one = (by_step or {}).get(step, Responses(0, 0, 0, 0, 0, 0, 0))
        if by_step is not None:
            row[name] = one and one.number
            if name == "responses":
                row |= {"response_length": one and one.length, "entropy_response_mean": one and one.mean}
            row[f"entropy_se_{name}"] = one and one.error
    if cuts is not None:
        row["class_cut"] = cuts[step]
    return row | {n: int(part["tokens"][np.isin(part["bin"], codes)].sum()) for n, codes in _LEFT_OUT.items()}


def read_histogram(path: str) -> TokenHistogram:
    """Read a ``.hist.parquet``: all classes of tokens together. Errors as :meth:`Sums.read`."""
    sums, _ = Sums.read(Path(path))
    cells, steps = sums.cells, np.array(sums.steps, dtype=float)
    counts = np.zeros((steps.size, BINS), dtype=np.int64)
    place = (np.searchsorted(steps, cells["step"]), np.maximum(cells["bin"], 0))
    np.add.at(counts, place, cells["tokens"] * sums.usable)
    # Six neighbouring bins make one band, about 10 % wide at 0.672 nats.
    starts = np.arange(0, BINS, 6)
    bands = np.add.reduceat(counts, starts, axis=1)
    summary = summarise(sums)
    return TokenHistogram(
        step=steps,
        edges=np.append(EDGES[starts], EDGES[-1]),
        share=bands / np.maximum(bands.sum(axis=1, keepdims=True), 1),
        top20=summary.column("share_top20").to_numpy().astype(float),
        low=summary.column("share_below_0.01").to_numpy().astype(float),
    )
