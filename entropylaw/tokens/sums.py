"""Holds the exact sums over tokens and over responses that the queries give."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from entropylaw.arrays import IntArray
from entropylaw.arrow import halves, to_numpy
from entropylaw.errors import InputError
from entropylaw.tokens import query
from entropylaw.tokens.query import BINS, EDGES, HALF, POINT, SUM_SHIFT

Columns = dict[str, NDArray[Any]]
"""Columns of one length by name."""

KEYS = ("step", "planning", "correct", "bin")
SUMS = ("tokens", "total", "square_high", "square_low", "logprobs", "logprob_total")


class Responses(NamedTuple):
    """Sums over the responses of one step: with n tokens in a response, and t its entropy in 2^−10 nats.

    ``tokens`` = Σn, ``entropy`` = Σt, ``tt`` = Σt², ``tn`` = Σtn, ``nn`` = Σn², and ``mean_total`` the sum of
    the responses' means in 2^−34 nats.
    """

    number: int
    mean_total: int
    tokens: int
    entropy: int
    tt: int
    tn: int
    nn: int

    @property
    def error(self) -> float | None:
        """Cluster-robust standard error of H = Σt/Σn in nats.

        (Σn)²·Σ(t − Hn)² is an exact integer before the root.
        """
        m = self.number
        n = self.tokens
        s = self.entropy
        if m < 2 or not n:
            return None
        spread = self.tt * n * n - 2 * s * n * self.tn + s * s * self.nn
        return math.sqrt(max(spread, 0) * m / (m - 1)) / n / n / (POINT >> SUM_SHIFT)


ByStep = dict[int, Responses]
"""Step → the sums over its responses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """Sums over tokens, and over the responses and prompts of each step where they are known.

    Attributes
    ----------
    cells
        Sorted columns (m,): :data:`KEYS` and :data:`SUMS`.
    responses, prompts
        Sums over the responses, and over the prompts; None where no column identifies them.
    covariances
        Step → covariance of log-probability and advantage over its tokens; None where either is unknown.
    """

    cells: dict[str, IntArray]
    has_logprob: bool
    responses: ByStep | None = None
    prompts: ByStep | None = None
    covariances: dict[int, float] | None = None

    @property
    def steps(self) -> list[int]:
        """Steps, ascending."""
        return [int(step) for step in steps_of(self.cells)[0]]

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Which cells (m,) are entropies; the others count tokens that are left out."""
        return np.asarray((self.cells["bin"] >= 0) | (self.cells["bin"] == query.ROUNDED))

    def rows(self, chosen: NDArray[np.bool_]) -> dict[str, IntArray]:
        """The chosen cells."""
        if chosen.all():
            return self.cells
        return {name: values[chosen] for name, values in self.cells.items()}

    def counts(self) -> dict[int, int]:
        """Number of tokens by bin, or by the code that replaces it."""
        counts = Counter[int]()
        for code, tokens in zip(self.cells["bin"].tolist(), self.cells["tokens"].tolist(), strict=True):
            counts[code] += tokens
        return counts

    @classmethod
    def from_table(cls, cells: pa.Table) -> Sums:
        """Sums without responses from the query's result; InputError ``step-missing``, ``step-not-whole``."""
        numbers = to_numpy(cells.column("step")).astype(float)
        tokens = to_numpy(cells.column("tokens"))
        missing = ~np.isfinite(numbers)
        if missing.any():
            raise InputError(
                "step-missing",
                f"{int(tokens[missing].sum()):,} of {int(tokens.sum()):,} rows have no step "
                "(null, nan, or text that is not a whole number)",
                "give every token its step, or leave these rows out",
            )
        broken = (numbers != np.floor(numbers)) | (np.abs(numbers) > 2.0**53)
        if broken.any():
            raise InputError(
                "step-not-whole",
                f"step {numbers[broken].min():g} is not a whole number below 2^53 "
                f"({int(tokens[broken].sum()):,} rows)",
                "name the step column with --step, no epoch or time",
            )
        has_logprob = "logprobs" in cells.column_names
        columns = dict.fromkeys((*KEYS, *SUMS), np.zeros(len(tokens), dtype=np.int64))
        columns["square_high"], columns["square_low"] = halves(cells.column("square"), HALF)
        cells = cells.drop_columns(["square"])
        for name in cells.column_names:
            columns[name] = to_numpy(cells.column(name)).astype(np.int64, copy=False)
            # Free each Arrow column once it is copied; the caller holds no other reference to the table.
            cells = cells.drop_columns([name])
        return cls(cells=_added(columns), has_logprob=has_logprob)

    def with_masked(self, all_tokens: Sums) -> Sums:
        """The sums, and in addition the tokens of ``all_tokens`` that a mask leaves out."""
        masked = all_tokens.rows(np.isin(all_tokens.cells["bin"], (query.MASKED, query.NO_MASK)))
        together = {name: np.append(values, masked[name]) for name, values in self.cells.items()}
        return replace(self, cells=_added(together))

    def by_quantile(self, share: float) -> tuple[Sums, dict[int, float]]:
        """Classify each step's ``share`` of tokens with the highest entropy as planning, the rest execution.

        The cut is the bin edge that comes nearest to ``share``, so that sums stay exact and shards still add
        up. Returns the sums with these classes, and the cut of each step in nats.
        """
        bins = self.cells["bin"]
        cuts = {}
        planning = np.full_like(bins, query.UNCLASSED)
        for step in self.steps:
            rows = np.flatnonzero((self.cells["step"] == step) & self.usable)
            counts = np.zeros(BINS, dtype=np.int64)
            np.add.at(counts, np.maximum(bins[rows], 0), self.cells["tokens"][rows])
            above = np.append(np.cumsum(counts[::-1])[::-1], 0)
            cut = int(np.argmin(np.abs(above - share * above[0])))
            cuts[step] = float(EDGES[cut])
            planning[rows] = np.where(bins[rows] >= cut, query.PLANNING, query.EXECUTION)
        return replace(self, cells=_added(self.cells | {"planning": planning})), cuts


def _added(cells: Columns) -> Columns:
    """Sorted cells, each once; the lower half of each Σq² has :data:`HALF` bits."""
    columns = dict(cells)
    # One column at a time: with hundreds of bins in each of thousands of steps, copies of all are large.
    order = np.lexsort([columns[name] for name in reversed(KEYS)])
    for name in columns:
        columns[name] = columns[name][order]
    starts = np.flatnonzero(np.any([_changes(columns[name]) for name in KEYS], axis=0))
    for name, values in columns.items():
        columns[name] = np.add.reduceat(values, starts) if name in SUMS else values[starts]
    low = columns["square_low"]
    columns["square_high"] += low >> HALF
    columns["square_low"] = low & ((1 << HALF) - 1)
    return columns


def _changes(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Where a sorted column (n,) has another value than in the row before; True in its first row."""
    return np.append(np.ones(len(column[:1]), dtype=bool), column[1:] != column[:-1])


def steps_of(cells: Mapping[str, IntArray]) -> tuple[IntArray, IntArray]:
    """The steps (k,) of sorted cells, ascending, and the number of each cell's step."""
    # numpy.unique would sort again, and import numpy.ma.
    new = _changes(cells["step"])
    return cells["step"][new], np.cumsum(new) - 1


def covariances_by_step(result: pa.Table) -> dict[int, float]:
    """Covariances by step from the sums of :func:`entropylaw.tokens.query.covariances`."""
    covariances: dict[int, float] = {}
    for row in result.to_pylist():
        # Python's integers are exact, and their quotient is rounded once.
        whole = row["n"] * query.LOGPROB_POINT
        difference = whole * row["products"] - row["logprobs"] * row["advantages"]
        covariances[int(row["step"])] = difference / whole**2
    return covariances
