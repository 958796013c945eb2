"""The queries: tokens counted and summed by step, class, correctness and bin, as Ibis expressions.

They are written once and run on every engine. A float's sum depends on the order in which it is made, and so
on shards, threads and engines. Entropies are therefore summed as integers, ``q = round(H · 2^27)``, and q² in
two halves of 31 bits: exact, and the same bytes in whatever pieces they were summed.

The bins are equally wide in the fourth root of H: ``k = floor(128 · H^(1/4))``. IEEE 754 fixes square roots,
not logarithms, to the last bit, so that every engine finds the same bin. A bin is 3.4 % wide at 0.672 nats,
10 % at 0.01, 31 % at 1e-4; as its mean and standard deviation are known, what is read off it is far finer.
Two more edges lie at 0.01 and 0.672 nats exactly, the thresholds of arXiv:2506.01939.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from entropylaw.results.tokens import FORK, LOW

if TYPE_CHECKING:
    import ibis.expr.types as ir

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

FINENESS, TOP = 128, 247
"""Bins to a unit of the fourth root of H, and all of them."""
LIMIT = (TOP / FINENESS) ** 4
"""13.87 nats: nothing at or above it is a token's entropy; a choice among a million tokens has 13.82."""

POINT = 1 << 27
"""One nat in fixed point: a token's entropy is off by at most 3.7e-9 nats.

A cell holds at most 2^32 tokens: q < 13.87 · 2^27 < 2^31, so that Σq < 2^63; q² < 2^62, each half of it
below 2^31, so that their sums are below 2^63 too. Beyond that both engines raise an error, none wraps.
"""

HALF = 31
"""Bits of the lower half of q²."""
EDGES: FloatArray = np.union1d((np.arange(TOP + 1) / FINENESS) ** 4, [LOW, FORK])
"""Edges of the bins in nats, ascending; bin i is [EDGES[i], EDGES[i + 1])."""

BINS = len(EDGES) - 1

PLANNING, EXECUTION, UNCLASSED, UNKNOWN_CLASS = 1, 0, -1, -2
CORRECT, WRONG, UNJUDGED, NOT_BINARY = 1, 0, -1, -2

MISSING, NOT_FINITE, NEGATIVE, TOO_HIGH, ROUNDED, MASKED, NO_MASK, MASK_UNKNOWN = range(-1, -9, -1)
"""In place of a bin, what is no entropy: null, nan or infinite, negative, above LIMIT, masked.

ROUNDED lies between −1e-6 and 0: rounding of a zero, and counted as one. NO_MASK has a mask that is null,
MASK_UNKNOWN one that is neither 0 nor 1.
"""

ROUNDING = 1e-6
LEAST_LOGPROB = -1024.0
LOGPROB_POINT = 1 << 20
"""Log-probabilities lie between −2^10 and 1, so within 2^30 in fixed point, and 2^32 of them below 2^63."""

SUM_SHIFT = 17
"""A response's Σq counts in the spread of responses with this many bits less: 2^10 to the nat."""
MEAN_POINT = 1 << 34
"""One nat in the fixed point of a response's mean: 2^38 at most, and 2^25 responses a step below 2^63."""

YES, NO = ("true", "1", "1.0"), ("false", "0", "0.0")

WHOLE = r"^\s*[+-]?[0-9]{1,15}(\.0*)?\s*$"
"""Text that is a whole number."""

HIGH, HIGH_POINT = 8.0, 1 << 14
"""Nats that only padding is likely to have (2,981 equally likely tokens), compared in 1/HIGH_POINT nats."""

ROW = "entropylaw_row"
"""Column that numbers the rows, each with a number of its own, where nothing else tells responses apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenColumns:
    """Which column plays which part; None for what the table does not have.

    ``response`` together with the step tells one response from another; empty where responses are unknown.
    ``prompt`` is one of them, whose responses are no independent draws. ``lists`` are those that hold lists,
    with one sequence a row.
    """

    step: str
    entropy: str
    planning: str | None = None
    mask: str | None = None
    logprob: str | None = None
    correct: str | None = None
    response: tuple[str, ...] = ()
    position: str | None = None
    token: str | None = None
    prompt: str | None = None
    lists: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """Every column that is read, each once."""
        one = (self.step, self.entropy, self.planning, self.mask, self.logprob, self.correct)
        parts = dict.fromkeys((*one, *self.response, self.position, self.token))
        return tuple(name for name in parts if name is not None)

    @property
    def stored(self) -> tuple[str, ...]:
        """The columns that the files have: all but the number of the row."""
        return tuple(name for name in self.all if name != ROW)

    def named(self) -> dict[str, str | list[str]]:
        """The columns by role as a summary names them, without those that are not there."""
        response = ["(each row)" if name == ROW else name for name in self.response]
        one = {"step": self.step, "entropy": self.entropy, "class": self.planning, "mask": self.mask}
        more = {"logprob": self.logprob, "correct": self.correct, "response": response, "prompt": self.prompt}
        return {role: name for role, name in (one | more).items() if name}


def cells(table: ir.Table, columns: TokenColumns) -> ir.Table:
    """Count tokens and sum their entropies in fixed point, by step, class, correctness and bin.

    The columns are ``step, planning, correct, bin, tokens, total, square_high, square_low`` and, where there
    are log-probabilities, ``logprobs, logprob_total``; one row per group, in no order.
    """
    coded = _coded(table, columns)
    h = coded.entropy
    root = (h.abs().sqrt().sqrt() * FINENESS).floor().cast("int16")
    above = (h >= LOW).cast("int16") + (h >= FORK).cast("int16")
    parts = {"bin": (h >= 0).ifelse(root + above, h.cast("int16")).cast("int16"), "q": _fixed(h, POINT)}
    if columns.logprob is not None:
        known = (coded.logprob > LEAST_LOGPROB) & (coded.logprob <= 1.0)
        parts["has_logprob"] = known.ifelse(1, 0).cast("int64")
        parts["l"] = _fixed(known.ifelse(coded.logprob, 0.0), LOGPROB_POINT)
    rows = coded.select("step", "planning", "correct", **parts)
    sums = {"tokens": rows.count(), "total": rows.q.sum(), **_halves("square", rows.q * rows.q)}
    if columns.logprob is not None:
        sums |= {"logprobs": rows.has_logprob.sum(), "logprob_total": rows.l.sum()}
    return _summed(rows, ("step", "planning", "correct", "bin"), sums)


def each_response(table: ir.Table, columns: TokenColumns) -> ir.Table:
    """One row a response, in no order: its step, its keys ``key_0`` and so on, its tokens ``n``, Σq ``s``."""
    coded = _coded(table, columns, columns.response)
    usable = coded.filter((coded.entropy >= 0) | (coded.entropy == ROUNDED))
    rows = usable.mutate(q=_fixed((usable.entropy >= 0).ifelse(usable.entropy, 0.0), POINT))
    keys = (f"key_{i}" for i in range(len(columns.response)))
    return _summed(rows, ("step", *keys), {"n": rows.count(), "s": rows.q.sum()})


def responses(table: ir.Table, columns: TokenColumns) -> ir.Table:
    """Sums over responses by step, of n tokens with Σq = s, and t = s in ``SUM_SHIFT`` bits less.

    ``responses``, ``mean_total`` = Σ s/n in 1/MEAN_POINT nats, Σn, Σt, and in two halves Σt², Σtn, Σn².
    """
    one = each_response(table, columns)
    mean = _fixed(one.s.cast("float64") / one.n.cast("float64"), MEAN_POINT // POINT)
    one = one.select("step", "n", t=(one.s + (1 << (SUM_SHIFT - 1))) >> SUM_SHIFT, mean=mean)
    sums = {"responses": one.count(), "mean_total": one["mean"].sum(), "n": one.n.sum(), "t": one.t.sum()}
    for name, product in (("tt", one.t * one.t), ("tn", one.t * one.n), ("nn", one.n * one.n)):
        sums |= _halves(name, product)
    return _summed(one, ("step",), sums)


def high(table: ir.Table, columns: TokenColumns) -> ir.Table:
    """The commonest ``value`` above ``HIGH`` in 1/HIGH_POINT, ``tokens``, Σq, and ``first`` at position 0."""
    import ibis

    position = columns.position
    keys = (position,) if position is not None and table[position].type().is_numeric() else ()
    coded = _coded(table, columns, keys)
    rows = coded.filter(coded.entropy > HIGH)
    rows = rows.select(
        value=(rows.entropy * HIGH_POINT).floor().cast("int64"),
        q=_fixed(rows.entropy, POINT),
        first=ibis.ifelse(rows["key_0"] == 0, 1, 0) if keys else ibis.literal(0),
    )
    sums = {"tokens": rows.count(), "total": rows.q.sum(), "first": rows["first"].sum()}
    return _summed(rows, ("value",), sums).order_by(ibis.desc("tokens"), "value").limit(100)


def in_order(table: ir.Table, columns: TokenColumns) -> ir.Table:
    """The columns that are needed of the tokens that no mask leaves out, by step, response and position."""
    kept = table if columns.mask is None else table.filter(_flag(table[columns.mask])[0])
    keys = dict.fromkeys((columns.step, *columns.response, columns.position))
    return kept.select(*columns.all).order_by(*filter(None, keys))


def unknown_classes(table: ir.Table, columns: TokenColumns) -> ir.Table:
    """Values of the class column that name no class, a few of them."""
    assert columns.planning is not None
    strange = table.filter(_class_code(table[columns.planning]) == UNKNOWN_CLASS)
    values = strange.select(value=strange[columns.planning].cast("string"))
    return values.distinct().order_by("value").limit(5)


def unrolled(table: ir.Table, columns: TokenColumns) -> ir.Table:
    """One row a token from one row a sequence: lists unrolled (null is empty), single values repeated."""
    import ibis

    lists, scalars = columns.lists, [name for name in columns.all if name not in columns.lists]
    filled = {name: table[name].fill_null(ibis.literal([], type=table[name].type())) for name in lists}
    known = table.select(*scalars, **filled)
    first, *others = (known[name] for name in lists)
    if not others:
        return known.select(*scalars, **{lists[0]: first.unnest()})
    rows = known.select(*scalars, _token=first.zip(*others).unnest())
    fields = {name: rows["_token"][f"f{index}"] for index, name in enumerate(lists, start=1)}
    return rows.select(*scalars, **fields)


def inspected(table: ir.Table, columns: TokenColumns) -> ir.Table:
    """One row: how many sequences there are, how many lists are null, empty, or as long as no other.

    ``rows``, ``empty`` (no entropies), ``no_i`` (list i is null), and for each list but the entropies
    ``other_i`` (its length is not theirs) with ``step_i``, the least such step.
    """
    length = table[columns.entropy].length()
    sums = {"rows": table.count(), "empty": (length == 0).fill_null(False).sum()}
    for number, name in enumerate(columns.lists):
        sums[f"no_{number}"] = table[name].isnull().sum()
        if name != columns.entropy:
            other = (table[name].length() != length).fill_null(False)
            sums[f"other_{number}"] = other.sum()
            sums[f"step_{number}"] = _step(table[columns.step]).min(where=other)
    return table.aggregate(**sums)


def _coded(table: ir.Table, columns: TokenColumns, keys: Sequence[str] = ()) -> ir.Table:
    """The step, codes for class and correctness, and entropies, which are codes where they are below 0."""
    import ibis

    entropy = table[columns.entropy].cast("float64")
    good = (entropy >= 0) & (entropy < LIMIT)
    branches = [
        # In this order: ibis takes nan for null on Spark.
        (entropy.isnan() | entropy.isinf(), float(NOT_FINITE)),
        (entropy.isnull(), float(MISSING)),
        (entropy > LOW, float(TOO_HIGH)),
        (entropy < -ROUNDING, float(NEGATIVE)),
    ]
    if columns.mask is not None:
        kept, dropped, unknown = _flag(table[columns.mask])
        # The common case comes first: a row that is an entropy is compared with nothing else.
        good = kept & good
        outside = [(dropped, float(MASKED)), (unknown, float(NO_MASK)), (~kept, float(MASK_UNKNOWN))]
        branches = [*outside, *branches]
    nothing = ibis.literal(-1, "int8")
    parts = {f"key_{i}": table[name] for i, name in enumerate(keys)}
    if columns.logprob is not None and not keys:
        parts["logprob"] = table[columns.logprob].cast("float64")
    return table.select(
        step=_step(table[columns.step]),
        entropy=ibis.cases((good, entropy), *branches, else_=float(ROUNDED)),
        planning=nothing if columns.planning is None else _class_code(table[columns.planning]),
        correct=nothing if columns.correct is None else _code(*_flag(table[columns.correct])),
        **parts,
    )


def _fixed(value: ir.Value, point: int) -> ir.Value:
    """A number in units of 1/``point``, rounded."""
    return (value * point + 0.5).floor().cast("int64")


def _halves(name: str, product: ir.Value) -> dict[str, ir.Value]:
    """Sums of a product's upper and lower bits: that of the whole would not fit into 64."""
    return {f"{name}_high": (product >> HALF).sum(), f"{name}_low": (product & ((1 << HALF) - 1)).sum()}


def _summed(rows: ir.Table, keys: Sequence[str], sums: dict[str, ir.Value]) -> ir.Table:
    """Sums of integers by ``keys`` in 64 bits; an error where one does not fit."""
    grouped = rows.group_by(*keys).aggregate(**sums)
    # DuckDB sums in 128 bits, which ibis takes for 64 already and so leaves alone.
    return grouped.select(
        *keys, **{name: grouped[name].cast("decimal(38, 0)").cast("int64") for name in sums}
    )


def _step(step: ir.Value) -> ir.Value:
    """The step as a number; null for text that is no whole number."""
    kind = step.type()
    if kind.is_string():
        step = step.re_search(WHOLE).ifelse(step.strip(), None)
    # Unsigned numbers may not fit into signed ones: whole_steps finds those.
    return step.cast("int64") if kind.is_signed_integer() else step.cast("float64")


def _flag(column: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Where a column says yes, where no, and where nothing; elsewhere it is no flag."""
    kind = column.type()
    if kind.is_boolean():
        return column, ~column, column.isnull()
    if kind.is_string():
        name = column.strip().lower()
        return name.isin(YES), name.isin(NO), column.isnull() | name.isin(("", "nan", "null", "none"))
    missing = column.isnull() | column.isnan() if kind.is_floating() else column.isnull()
    return column == 1, column == 0, missing


def _class_code(column: ir.Value) -> ir.Value:
    if not column.type().is_string():
        return _code(*_flag(column))
    name = column.strip().lower()
    planning = name.isin(("planning", "plan", *YES))
    return _code(planning, name.isin(("execution", "exec", "procedural", *NO)), column.isnull())


def _code(yes: ir.Value, no: ir.Value, unknown: ir.Value) -> ir.Value:
    """A flag as a number: 1, 0, -1 where it is unknown, -2 where it is no flag."""
    import ibis

    code = ibis.cases((unknown, UNCLASSED), (yes, PLANNING), (no, EXECUTION), else_=UNKNOWN_CLASS)
    return code.cast("int8")
