"""Writes the queries that count tokens and sum their entropies, in DuckDB's SQL, for columns by role.

The queries are written once: DuckDB runs them as they are, and Ibis translates them for Spark. A sum of
floats depends on the order of its terms, and so on shards, threads and engines. Entropies are therefore
summed as integers, ``q = round(H · 2^27)`` in 64 bits and q² in 128: exact, and the same bytes however the
rows are split.

The bins are equally wide in the fourth root of H: ``k = floor(128 · H^(1/4))``. IEEE 754 fixes square roots,
but not logarithms, to the last bit, so that every engine finds the same bin. A bin is 3.4 % wide at 0.672
nats, 10 % at 0.01, 31 % at 1e-4; with its mean and standard deviation, percentiles are far finer. Two more
edges are at 0.01 and 0.672 nats exactly, the thresholds of arXiv:2506.01939.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from entropylaw.arrays import FloatArray
from entropylaw.tokens.files import is_number
from entropylaw.units import FORK, LOW

FINENESS = 128
"""Bins per unit of the fourth root of H."""

TOP = 247
"""Bins in total, but for the two more edges."""

LIMIT = (TOP / FINENESS) ** 4
"""13.87 nats: no token's entropy reaches it; a uniform choice among a million tokens has 13.82."""

POINT = 1 << 27
"""One nat in fixed point: a token's entropy is off by at most 3.7e-9 nats.

A cell holds at most 2^32 tokens: q < 13.87 · 2^27 < 2^31, so that Σq < 2^63. Beyond that both engines raise
an error and do not wrap. Then Σq² < 2^31 Σq < 2^94, of which the upper bits without the last 31 fit, too.
"""

HALF = 31
"""Bits of the lower half of Σq²."""

WIDE = "HUGEINT"
"""DuckDB's integer of 128 bits, in which it sums faster than in a decimal number; other engines have none."""
EDGES: FloatArray = np.sort(np.append((np.arange(TOP + 1) / FINENESS) ** 4, [LOW, FORK]))
"""Edges of the bins in nats, ascending; bin i is [EDGES[i], EDGES[i + 1])."""

BINS = len(EDGES) - 1

PLANNING = 1
EXECUTION = 0
UNCLASSED = -1
UNKNOWN_CLASS = -2
"""Codes of the class of a token; UNKNOWN_CLASS is a value that names none."""

CORRECT = 1
WRONG = 0
NOT_BINARY = -2
"""Codes of the correctness of an answer; NOT_BINARY is a value that is no flag."""

MISSING, NOT_FINITE, NEGATIVE, TOO_HIGH, ROUNDED, MASKED, NO_MASK, MASK_UNKNOWN = range(-1, -9, -1)
"""Codes in place of a bin where no entropy is usable: null, nan or infinite, negative, above LIMIT, masked.

ROUNDED is between −1e-6 and 0: a zero with a rounding error, which counts as 0. NO_MASK has a null mask,
MASK_UNKNOWN a mask that is neither 0 nor 1.
"""

ROUNDING = 1e-6
LEAST_LOGPROB = -1024.0
LOGPROB_POINT = 1 << 20
MOST_ADVANTAGE = 1024.0
"""Log-probabilities are between −2^10 and 1, so below 2^30 in fixed point, and 2^32 of them below 2^63."""

SUM_SHIFT = 17
"""Bits that a response's Σq loses before it is squared: 2^10 per nat are left."""
MEAN_POINT = 1 << 34
"""One nat in the fixed point of a response's mean: at most 2^38, and 2^25 responses per step below 2^63."""

YES = ("true", "1", "1.0")
NO = ("false", "0", "0.0")

WHOLE = r"^\s*[+-]?[0-9]{1,15}(\.0*)?\s*$"
"""Pattern of text that is a whole number."""

HIGH = 8.0
"""Nats above which there is likely padding: 2,981 equally likely tokens."""

HIGH_POINT = 1 << 14
"""One nat in the fixed point in which high entropies are compared."""

FILE = "entropylaw_file"
"""Column of a scan with the file that a row is of."""

ROW = "entropylaw_row"
"""Column with a different number in each row, where no other column identifies responses."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table that an engine has opened: its name in SQL, and the Arrow types of its columns."""

    name: str
    types: Mapping[str, pa.DataType]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenColumns:
    """The name of each role's column; None for a role that the table does not have.

    ``response`` and the step identify a response; empty where responses are unknown. ``prompt`` is one of
    these columns: responses to one prompt are not independent. ``lists`` are the columns of lists, in tables
    with one sequence per row; ``keys`` are not in the files, but in the names of their folders.
    """

    step: str
    entropy: str
    planning: str | None = None
    mask: str | None = None
    logprob: str | None = None
    advantage: str | None = None
    correct: str | None = None
    response: tuple[str, ...] = ()
    position: str | None = None
    token: str | None = None
    prompt: str | None = None
    lists: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """Every column that is read, each once."""
        by_role = (self.step, self.entropy, self.planning, self.mask, self.logprob, self.advantage)
        names = dict.fromkeys((*by_role, self.correct, *self.response, self.position, self.token))
        return tuple(name for name in names if name is not None)

    @property
    def stored(self) -> tuple[str, ...]:
        """The columns of the files."""
        return tuple(name for name in self.all if name != ROW and name not in self.keys)

    @property
    def single(self) -> tuple[str, ...]:
        """The columns without lists."""
        return tuple(name for name in self.all if name not in self.lists)

    def named(self) -> dict[str, str | list[str]]:
        """The columns by role, under the names that a summary gives the roles; without absent ones."""
        response = ["(each row)" if name == ROW else name for name in self.response]
        roles = {
            "step": self.step,
            "entropy": self.entropy,
            "class": self.planning,
            "mask": self.mask,
            "logprob": self.logprob,
            "advantage": self.advantage,
            "correct": self.correct,
            "response": response,
            "prompt": self.prompt,
        }
        return {role: name for role, name in roles.items() if name}


def cells(table: Table, columns: TokenColumns) -> str:
    """Count tokens and sum their entropies in fixed point, by step, class, correctness and bin.

    The columns are ``step, planning, correct, bin, tokens, total, square`` (of 128 bits) and, where there are
    log-probabilities, ``logprobs, logprob_total``; one row per group, in no order.
    """
    # A code in place of an entropy is below both edges.
    root = f"CAST(FLOOR(SQRT(SQRT(ABS(entropy))) * {FINENESS}) AS SMALLINT)"
    above = " + ".join(f"CAST(entropy >= {_number(edge)} AS SMALLINT)" for edge in (LOW, FORK))
    keys = ("step", "planning", "correct")
    parts = {name: name for name in keys} | {
        "bin": f"CASE WHEN entropy >= 0 THEN {root} ELSE CAST(entropy AS SMALLINT) END + {above}",
        "q": _fixed("entropy", POINT),
    }
    sums = {"tokens": "COUNT(*)", "total": _sum("q"), "square": _wide("q * q")}
    if columns.logprob is not None:
        usable = f"logprob > {_number(LEAST_LOGPROB)} AND logprob <= 1"
        parts["has_logprob"] = f"CASE WHEN {usable} THEN 1 ELSE 0 END"
        parts["l"] = _fixed(f"CASE WHEN {usable} THEN logprob ELSE 0 END", LOGPROB_POINT)
        sums |= {"logprobs": _sum("has_logprob"), "logprob_total": _sum("l")}
    grouped = _summed(_select(parts, _coded(table, columns)), (*keys, "bin"), sums)
    codes = {name: f"COALESCE(CAST({name} AS TINYINT), CAST({UNCLASSED} AS TINYINT))" for name in keys[1:]}
    return _select({name: name for name in (*keys, "bin", *sums)} | codes, f"({grouped}) AS grouped")


def covariances(table: Table, columns: TokenColumns) -> str:
    """Sums by step over tokens with a log-probability and an advantage: ``n``, Σl, Σa and Σla.

    ``logprobs``, ``advantages`` and ``products`` are in 1/LOGPROB_POINT.
    """
    usable = f"(entropy >= 0 OR entropy = {ROUNDED}) AND logprob > {_number(LEAST_LOGPROB)} AND logprob <= 1"
    rows = f"{_coded(table, columns)} WHERE {usable} AND ABS(advantage) < {_number(MOST_ADVANTAGE)}"
    values = {"l": "logprob", "a": "advantage", "p": "logprob * advantage"}
    parts = {"step": "step"} | {name: _fixed(value, LOGPROB_POINT) for name, value in values.items()}
    sums = {"n": "COUNT(*)", "logprobs": _sum("l"), "advantages": _sum("a"), "products": _sum("p")}
    return _summed(_select(parts, rows), ("step",), sums)


def each_response(table: Table, columns: TokenColumns) -> str:
    """One row per response, in no order: its step, keys ``key_0`` and so on, tokens ``n`` and Σq ``s``."""
    keys = ("step", *(f"key_{i}" for i in range(len(columns.response))))
    parts = {name: name for name in keys}
    parts["q"] = _fixed("CASE WHEN entropy >= 0 THEN entropy ELSE 0 END", POINT)
    usable = f"{_coded(table, columns, columns.response)} WHERE entropy >= 0 OR entropy = {ROUNDED}"
    return _summed(_select(parts, usable), keys, {"n": "COUNT(*)", "s": _sum("q")})


def responses(table: Table, columns: TokenColumns) -> str:
    """Sums by step over responses with n tokens and Σq = s; t is s without its last ``SUM_SHIFT`` bits.

    ``responses``, ``mean_total`` = Σ s/n in 1/MEAN_POINT nats, Σn, Σt, and of 128 bits Σt², Σtn, Σn².
    """
    mean = _fixed("CAST(s AS DOUBLE) / CAST(n AS DOUBLE)", MEAN_POINT // POINT)
    parts = {"step": "step", "n": "n", "t": f"(s + {1 << (SUM_SHIFT - 1)}) >> {SUM_SHIFT}", "m": mean}
    sums = {"responses": "COUNT(*)", "mean_total": _sum("m"), "n": _sum("n"), "t": _sum("t")}
    sums |= {"tt": _wide("t * t"), "tn": _wide("t * n"), "nn": _wide("n * n")}
    return _summed(_select(parts, f"({each_response(table, columns)}) AS by_response"), ("step",), sums)


def high(table: Table, columns: TokenColumns) -> str:
    """The most frequent entropies above ``HIGH``: ``value`` in 1/HIGH_POINT, ``tokens``, Σq.

    ``first`` is the number of tokens at position 0.
    """
    position = columns.position
    keys = (position,) if position is not None and is_number(table.types[position]) else ()
    parts = {"value": f"CAST(FLOOR(entropy * {HIGH_POINT}) AS BIGINT)", "q": _fixed("entropy", POINT)}
    parts["start"] = "CASE WHEN key_0 = 0 THEN 1 ELSE 0 END" if keys else "0"
    rows = _select(parts, f"{_coded(table, columns, keys)} WHERE entropy > {_number(HIGH)}")
    sums = {"tokens": "COUNT(*)", "total": _sum("q"), "first": _sum("start")}
    return f"{_summed(rows, ('value',), sums)} ORDER BY tokens DESC, value LIMIT 100"


def in_order(table: Table, columns: TokenColumns) -> str:
    """The tokens that no mask leaves out, sorted by step, response and position; only the used columns."""
    condition = f" WHERE {_flag(table, columns.mask)[0]}" if columns.mask is not None else ""
    keys = dict.fromkeys((columns.step, *columns.response, columns.position))
    order = ", ".join(quoted(name) for name in keys if name is not None)
    return f"SELECT {', '.join(map(quoted, columns.all))} FROM {table.name}{condition} ORDER BY {order}"


def unknown_classes(table: Table, columns: TokenColumns) -> str:
    """Up to five values of the class column that are not the name of a class."""
    assert columns.planning is not None
    value = f"CAST({quoted(columns.planning)} AS VARCHAR)"
    unknown = f"{_class_code(table, columns.planning)} = {UNKNOWN_CLASS}"
    return f"SELECT DISTINCT {value} AS value FROM {table.name} WHERE {unknown} ORDER BY value LIMIT 5"


def inspected(table: Table, columns: TokenColumns) -> str:
    """One row: the number of sequences, and of lists that are null, empty, or of another length.

    ``rows``, ``empty`` (no entropies), ``no_i`` (list i is null), and for each list but the entropies
    ``other_i`` (another length than theirs) with ``step_i``, the first such step.
    """
    length = f"ARRAY_LENGTH({quoted(columns.entropy)})"
    count = "COUNT(CASE WHEN {} THEN 1 END)"
    step = _step(table, columns.step)
    parts = {"rows": "COUNT(*)", "empty": count.format(f"{length} = 0")}
    for number, name in enumerate(columns.lists):
        parts[f"no_{number}"] = count.format(f"{quoted(name)} IS NULL")
        if name != columns.entropy:
            differs = f"ARRAY_LENGTH({quoted(name)}) <> {length}"
            parts[f"other_{number}"] = count.format(differs)
            parts[f"step_{number}"] = f"MIN(CASE WHEN {differs} THEN {step} END)"
    return _select(parts, table.name)


def _coded(table: Table, columns: TokenColumns, keys: Sequence[str] = ()) -> str:
    """The step, codes for class and correctness, and entropies; an entropy below 0 is a code."""
    entropy = f"CAST({quoted(columns.entropy)} AS DOUBLE)"
    usable = f"{entropy} >= 0 AND {entropy} < {_number(LIMIT)}"
    branches = [
        (f"ISNAN({entropy}) OR ABS({entropy}) = CAST('Infinity' AS DOUBLE)", NOT_FINITE),
        (f"{entropy} IS NULL", MISSING),
        (f"{entropy} > {_number(LOW)}", TOO_HIGH),
        (f"{entropy} < {_number(-ROUNDING)}", NEGATIVE),
    ]
    if columns.mask is not None:
        counts, dropped, unknown = _flag(table, columns.mask)
        # The common case comes first, so that a usable entropy needs no other comparison.
        usable = f"({counts}) AND {usable}"
        branches = [
            (dropped, MASKED),
            (unknown, NO_MASK),
            (f"NOT ({counts})", MASK_UNKNOWN),
            *branches,
        ]
    codes = " ".join(f"WHEN {condition} THEN {_number(code)}" for condition, code in branches)
    nothing = "CAST(-1 AS TINYINT)"
    parts = {
        "step": _step(table, columns.step),
        "entropy": f"CASE WHEN {usable} THEN {entropy} {codes} ELSE {_number(ROUNDED)} END",
        "planning": nothing if columns.planning is None else _class_code(table, columns.planning),
        "correct": nothing if columns.correct is None else _flag_code(table, columns.correct),
    }
    parts |= {f"key_{i}": quoted(name) for i, name in enumerate(keys)}
    if columns.logprob is not None and not keys:
        parts["logprob"] = f"CAST({quoted(columns.logprob)} AS DOUBLE)"
    if columns.advantage is not None and not keys:
        parts["advantage"] = f"CAST({quoted(columns.advantage)} AS DOUBLE)"
    return f"({_select(parts, table.name)}) AS coded"


def quoted(name: str) -> str:
    """A column's name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """Text in SQL."""
    return "'" + value.replace("'", "''") + "'"


def _number(value: float) -> str:
    """A double in SQL, exactly; without an exponent it would be a decimal number."""
    return f"{value:.16e}"


def _select(parts: Mapping[str, str], source: str) -> str:
    """The expressions by their names, from a source."""
    return f"SELECT {', '.join(f'{value} AS {name}' for name, value in parts.items())} FROM {source}"


def _fixed(value: str, point: int) -> str:
    """A number in units of 1/``point``, rounded."""
    return f"CAST(FLOOR({value} * {point} + 0.5e0) AS BIGINT)"


def _sum(value: str) -> str:
    """A sum of integers; the engine raises an error if it exceeds 64 bits (DuckDB sums in 128)."""
    return f"CAST(SUM({value}) AS BIGINT)"


def _wide(value: str) -> str:
    """A sum of integers that need not fit into 64 bits."""
    return f"SUM(CAST({value} AS {WIDE}))"


def _summed(rows: str, keys: Sequence[str], sums: Mapping[str, str]) -> str:
    """Sums of the ``rows`` of a query by ``keys``."""
    parts = {**{key: key for key in keys}, **sums}
    return f"{_select(parts, f'({rows}) AS summed')} GROUP BY {', '.join(keys)}"


def _step(table: Table, name: str) -> str:
    """The step as a number; null for text that is not a whole number."""
    kind = table.types[name]
    step = quoted(name)
    if pa.types.is_string(kind):
        step = f"CASE WHEN REGEXP_MATCHES({step}, '{WHOLE}') THEN {stripped(step)} END"
    # Unsigned numbers need not fit into signed ones; Sums.from_table refuses those above 2^53.
    return f"CAST({step} AS {'BIGINT' if pa.types.is_signed_integer(kind) else 'DOUBLE'})"


def stripped(text: str) -> str:
    """A text in SQL without white space at its ends."""
    return f"TRIM({text}, ' \t\n\r\v\f')"


def _one_of(text: str, values: Sequence[str]) -> str:
    """Whether a text is one of the ``values``, in any case, with any spaces around it."""
    return f"LOWER({stripped(text)}) IN ({', '.join(map(repr, values))})"


def _flag(table: Table, column: str) -> tuple[str, str, str]:
    """Where a flag column is true, false, and null; where it is none of these, it is not a flag."""
    kind = table.types[column]
    name = quoted(column)
    if pa.types.is_boolean(kind):
        return name, f"NOT {name}", f"{name} IS NULL"
    if pa.types.is_string(kind):
        missing = _one_of(name, ("", "nan", "null", "none"))
        return _one_of(name, YES), _one_of(name, NO), f"{name} IS NULL OR {missing}"
    missing = f"{name} IS NULL OR ISNAN({name})" if pa.types.is_floating(kind) else f"{name} IS NULL"
    return f"{name} = 1", f"{name} = 0", missing


def _class_code(table: Table, column: str) -> str:
    """The class of tokens as a number: by its name, or as :func:`_flag_code`."""
    if not pa.types.is_string(table.types[column]):
        return _flag_code(table, column)
    name = quoted(column)
    planning = _one_of(name, ("planning", "plan", *YES))
    return _code(planning, _one_of(name, ("execution", "exec", "procedural", *NO)), f"{name} IS NULL")


def _flag_code(table: Table, column: str) -> str:
    """A flag as a number, or as it is: its values become the same codes per group, not per token."""
    return quoted(column) if pa.types.is_boolean(table.types[column]) else _code(*_flag(table, column))


def _code(yes: str, no: str, unknown: str) -> str:
    """A flag as a number: 1, 0, -1 where it is null, -2 where it is not a flag."""
    cases = f"WHEN {yes} THEN {PLANNING} WHEN {no} THEN {EXECUTION}"
    return f"CAST(CASE WHEN {unknown} THEN {UNCLASSED} {cases} ELSE {UNKNOWN_CLASS} END AS TINYINT)"
