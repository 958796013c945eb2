"""The one query: tokens counted and summed by step, class, correctness and bin, as an Ibis expression.

It is written once and runs on every engine; all that depends on the engine's arithmetic is integer sums,
comparisons, and square roots, which IEEE 754 fixes to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from entropylaw.tokens.grid import FINENESS, FORK, HALF, LIMIT, LOW, POINT

if TYPE_CHECKING:
    import ibis.expr.types as ir

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
PLANNING_NAMES = ("planning", "plan", *YES)
EXECUTION_NAMES = ("execution", "exec", "procedural", *NO)
NOTHING = ("", "nan", "null", "none")
"""What text says where a flag is unknown."""

WHOLE = r"^\s*[+-]?[0-9]{1,15}(\.0*)?\s*$"
"""Text that is a whole number."""

HIGH = 8.0
"""Nats: e^8 = 2,981 equally likely tokens; vocabularies are larger, and padding is as high as they are."""

HIGH_POINT = 1 << 14
"""One nat in the fixed point in which high entropies are compared: 7.6e-6 of 8 nats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenColumns:
    """Which column plays which part; None for what the table does not have.

    ``response`` together with the step tells one response from another; empty where responses are unknown.
    ``prompt`` is one of them, whose responses are no independent draws.
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

    @property
    def all(self) -> tuple[str, ...]:
        """Every column that is read, each once."""
        parts = (self.step, self.entropy, self.planning, self.mask, self.logprob, self.correct)
        rest = (*self.response, self.position, self.token)
        return tuple(dict.fromkeys(name for name in (*parts, *rest) if name is not None))


def cells(table: ir.Table, columns: TokenColumns) -> ir.Table:
    """Count tokens and sum their entropies in fixed point, by step, class, correctness and bin.

    Returns
    -------
    ibis.Table
        ``step, planning, correct, bin, tokens, total, square_high, square_low`` and, where there are
        log-probabilities, ``logprobs, logprob_total``; one row a group, in no order.

    """
    import ibis

    coded = _coded(table, columns)
    parts = {
        "step": coded.step,
        "planning": coded.planning,
        "correct": coded.correct,
        "bin": _bin(coded.entropy),
        "q": (coded.entropy * POINT + 0.5).floor().cast("int64"),
    }
    if columns.logprob is not None:
        known = (coded.logprob > LEAST_LOGPROB) & (coded.logprob <= 1.0)
        value = ibis.ifelse(known, coded.logprob, 0.0)
        parts["has_logprob"] = ibis.ifelse(known, 1, 0).cast("int64")
        parts["l"] = (value * LOGPROB_POINT + 0.5).floor().cast("int64")
    rows = coded.select(**parts)
    square = rows.q * rows.q
    sums = {
        "tokens": rows.count(),
        "total": rows.q.sum(),
        "square_high": (square >> HALF).sum(),
        "square_low": (square & ((1 << HALF) - 1)).sum(),
    }
    if columns.logprob is not None:
        sums |= {"logprobs": rows.has_logprob.sum(), "logprob_total": rows.l.sum()}
    grouped = rows.group_by("step", "planning", "correct", "bin").aggregate(**sums)
    keys = ("step", "planning", "correct", "bin")
    return grouped.select(*keys, **{name: _int64(grouped[name]) for name in sums})


def each_response(table: ir.Table, columns: TokenColumns, most: int) -> ir.Table:
    """One row a response: its step, its keys ``key_0`` and so on, its tokens ``n`` and Σq ``s``.

    At most ``most`` rows and one more, in no order.
    """
    rows = _usable(table, columns)
    keys = [f"key_{i}" for i in range(len(columns.response))]
    one = rows.group_by("step", *keys).aggregate(n=rows.count(), s=rows.q.sum())
    return one.select("step", *keys, n=_int64(one.n), s=_int64(one.s)).limit(most + 1)


def responses(table: ir.Table, columns: TokenColumns) -> ir.Table:
    """Sums over responses by step, from which the mean of their means and the spread of their sums follow.

    With n tokens and Σq = s in a response, and t = s in ``SUM_SHIFT`` bits less: ``responses``,
    ``mean_total`` = Σ s/n in units of 1/MEAN_POINT nats, Σn, Σt, and Σt², Σtn, Σn² in two halves each.
    """
    rows = _usable(table, columns)
    one = rows.group_by("step", *(f"key_{i}" for i in range(len(columns.response)))).aggregate(
        n=rows.count(), s=rows.q.sum()
    )
    one = one.select("step", n=_int64(one.n), s=_int64(one.s))
    scale = MEAN_POINT // POINT
    one = one.select(
        "step",
        "n",
        t=(one.s + (1 << (SUM_SHIFT - 1))) >> SUM_SHIFT,
        mean=(one.s.cast("float64") / one.n.cast("float64") * scale + 0.5).floor().cast("int64"),
    )
    sums = {"responses": one.count(), "mean_total": one["mean"].sum(), "n": one.n.sum(), "t": one.t.sum()}
    for name, product in (("tt", one.t * one.t), ("tn", one.t * one.n), ("nn", one.n * one.n)):
        sums[f"{name}_high"] = (product >> HALF).sum()
        sums[f"{name}_low"] = (product & ((1 << HALF) - 1)).sum()
    grouped = one.group_by("step").aggregate(**sums)
    return grouped.select("step", **{name: _int64(grouped[name]) for name in sums})


def _usable(table: ir.Table, columns: TokenColumns) -> ir.Table:
    """The tokens that are entropies, with the keys of their response and ``q`` in fixed point."""
    import ibis

    coded = _coded(table, columns, columns.response)
    usable = coded.filter((coded.entropy >= 0) | (coded.entropy == ROUNDED))
    entropy = ibis.ifelse(usable.entropy >= 0, usable.entropy, 0.0)
    return usable.mutate(q=(entropy * POINT + 0.5).floor().cast("int64"))


def high(table: ir.Table, columns: TokenColumns, most: int = 100) -> ir.Table:
    """The commonest entropies above ``HIGH``: ``value`` in units of 1/HIGH_POINT, their ``tokens`` and Σq.

    ``first`` counts those that are known to be at position 0.
    """
    import ibis

    position = columns.position
    known = position is not None and (table[position].type().is_numeric())
    keys = (position,) if known and position is not None else ()
    coded = _coded(table, columns, keys)
    rows = coded.filter(coded.entropy > HIGH)
    rows = rows.select(
        value=(rows.entropy * HIGH_POINT).floor().cast("int64"),
        q=(rows.entropy * POINT + 0.5).floor().cast("int64"),
        first=ibis.ifelse(rows["key_0"] == 0, 1, 0) if known else ibis.literal(0),
    )
    sums = {"tokens": rows.count(), "total": rows.q.sum(), "first": rows["first"].sum()}
    counted = rows.group_by("value").aggregate(**sums)
    counted = counted.select("value", **{name: _int64(counted[name]) for name in sums})
    return counted.order_by(ibis.desc("tokens"), "value").limit(most)


def kept(table: ir.Table, columns: TokenColumns) -> ir.Table:
    """The rows that no mask leaves out."""
    return table if columns.mask is None else table.filter(_flag(table[columns.mask])[0])


def unknown_classes(table: ir.Table, columns: TokenColumns) -> ir.Table:
    """Values of the class column that name no class, a few of them."""
    assert columns.planning is not None
    strange = table.filter(_class_code(table[columns.planning]) == UNKNOWN_CLASS)
    return (
        strange.select(value=strange[columns.planning].cast("string")).distinct().order_by("value").limit(5)
    )


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
        outside = [
            (dropped, float(MASKED)),
            (unknown, float(NO_MASK)),
            (~kept, float(MASK_UNKNOWN)),
        ]
        branches = [*outside, *branches]
    value = ibis.cases((good, entropy), *branches, else_=float(ROUNDED))
    nothing = ibis.literal(-1, "int8")
    planning = nothing if columns.planning is None else _class_code(table[columns.planning])
    correct = nothing if columns.correct is None else _correct_code(table[columns.correct])
    parts = {
        "step": step_of(table, columns),
        "entropy": value,
        "planning": planning,
        "correct": correct,
    }
    if columns.logprob is not None and not keys:
        parts["logprob"] = table[columns.logprob].cast("float64")
    return table.select(**parts, **{f"key_{i}": table[name] for i, name in enumerate(keys)})


def _int64(total: ir.Value) -> ir.Value:
    """A sum of integers in 64 bits; an error where it does not fit.

    DuckDB sums in 128 bits, which ibis takes for 64 already and so leaves alone.
    """
    return total.cast("decimal(38, 0)").cast("int64")


def _bin(entropy: ir.Value) -> ir.Value:
    import ibis

    root = (entropy.abs().sqrt().sqrt() * FINENESS).floor().cast("int16")
    above = (entropy >= LOW).cast("int16") + (entropy >= FORK).cast("int16")
    return ibis.ifelse(entropy >= 0, root + above, entropy.cast("int16")).cast("int16")


def step_of(table: ir.Table, columns: TokenColumns) -> ir.Value:
    """The step as a number; null for text that is no whole number."""
    import ibis

    step = table[columns.step]
    kind = step.type()
    if kind.is_string():
        step = ibis.ifelse(step.re_search(WHOLE), step.strip(), ibis.null("string"))
    # Unsigned numbers may not fit into signed ones: those are told apart by whole_steps.
    plain = kind.is_signed_integer()
    return step.cast("int64") if plain else step.cast("float64")


def _flag(column: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Where a column says yes, where no, and where nothing; elsewhere it is no flag."""
    kind = column.type()
    if kind.is_boolean():
        return column, ~column, column.isnull()
    if kind.is_string():
        name = column.strip().lower()
        return name.isin(YES), name.isin(NO), column.isnull() | name.isin(NOTHING)
    missing = column.isnull() | column.isnan() if kind.is_floating() else column.isnull()
    return column == 1, column == 0, missing


def _class_code(column: ir.Value) -> ir.Value:
    import ibis

    if not column.type().is_string():
        return _code(column, PLANNING, EXECUTION, UNCLASSED, UNKNOWN_CLASS)
    name = column.strip().lower()
    code = ibis.cases(
        (column.isnull(), UNCLASSED),
        (name.isin(PLANNING_NAMES), PLANNING),
        (name.isin(EXECUTION_NAMES), EXECUTION),
        else_=UNKNOWN_CLASS,
    )
    return code.cast("int8")


def _correct_code(column: ir.Value) -> ir.Value:
    return _code(column, CORRECT, WRONG, UNJUDGED, NOT_BINARY)


def _code(column: ir.Value, yes: int, no: int, unknown: int, other: int) -> ir.Value:
    """A flag as a number."""
    import ibis

    if column.type().is_boolean():
        return ibis.cases((column, yes), (~column, no), else_=unknown).cast("int8")
    is_yes, is_no, missing = _flag(column)
    return ibis.cases((missing, unknown), (is_yes, yes), (is_no, no), else_=other).cast("int8")
