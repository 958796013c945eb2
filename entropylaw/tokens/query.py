"""The columns of a token table by role, and the queries: tokens counted and summed, as Ibis expressions.

The queries are written once and run on every engine. A sum of floats depends on the order of its terms, and
so on shards, threads and engines. Entropies are therefore summed as integers, ``q = round(H · 2^27)``, and q²
in two halves of 31 bits: exact, and the same bytes however the rows are split.

The bins are equally wide in the fourth root of H: ``k = floor(128 · H^(1/4))``. IEEE 754 fixes square roots,
but not logarithms, to the last bit, so that every engine finds the same bin. A bin is 3.4 % wide at 0.672
nats, 10 % at 0.01, 31 % at 1e-4; with its mean and standard deviation, percentiles are far finer. Two more
edges are at 0.01 and 0.672 nats exactly, the thresholds of arXiv:2506.01939.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from entropylaw.errors import InputError
from entropylaw.escaping import listing, nearest, shown
from entropylaw.options import TokenOptions
from entropylaw.results.arrays import FloatArray
from entropylaw.results.columns import FORK, LOW
from entropylaw.tokens.files import TokenFile, element_type

if TYPE_CHECKING:
    import ibis.expr.types as ir

IntArray = NDArray[np.int64]

FINENESS, TOP = 128, 247
"""Bins per unit of the fourth root of H, and in total."""
LIMIT = (TOP / FINENESS) ** 4
"""13.87 nats: no token's entropy reaches it; a uniform choice among a million tokens has 13.82."""

POINT = 1 << 27
"""One nat in fixed point: a token's entropy is off by at most 3.7e-9 nats.

A cell holds at most 2^32 tokens: q < 13.87 · 2^27 < 2^31, so that Σq < 2^63; q² < 2^62, each half of it
below 2^31, so that their sums are below 2^63 too. Beyond that both engines raise an error and do not wrap.
"""

HALF = 31
"""Bits of the lower half of q²."""
EDGES: FloatArray = np.union1d((np.arange(TOP + 1) / FINENESS) ** 4, [LOW, FORK])
"""Edges of the bins in nats, ascending; bin i is [EDGES[i], EDGES[i + 1])."""

BINS = len(EDGES) - 1

PLANNING, EXECUTION, UNCLASSED, UNKNOWN_CLASS = 1, 0, -1, -2
CORRECT, WRONG, NOT_BINARY = 1, 0, -2

MISSING, NOT_FINITE, NEGATIVE, TOO_HIGH, ROUNDED, MASKED, NO_MASK, MASK_UNKNOWN = range(-1, -9, -1)
"""Codes in place of a bin where no entropy is usable: null, nan or infinite, negative, above LIMIT, masked.

ROUNDED is between −1e-6 and 0: a zero with a rounding error, which counts as 0. NO_MASK has a null mask,
MASK_UNKNOWN a mask that is neither 0 nor 1.
"""

ROUNDING = 1e-6
LEAST_LOGPROB = -1024.0
LOGPROB_POINT = 1 << 20
"""Log-probabilities are between −2^10 and 1, so below 2^30 in fixed point, and 2^32 of them below 2^63."""

SUM_SHIFT = 17
"""Bits that a response's Σq loses before it is squared: 2^10 per nat are left."""
MEAN_POINT = 1 << 34
"""One nat in the fixed point of a response's mean: at most 2^38, and 2^25 responses per step below 2^63."""

YES, NO = ("true", "1", "1.0"), ("false", "0", "0.0")

WHOLE = r"^\s*[+-]?[0-9]{1,15}(\.0*)?\s*$"
"""Pattern of text that is a whole number."""

HIGH, HIGH_POINT = 8.0, 1 << 14
"""Nats above which there is likely padding (2,981 equally likely tokens); compared in 1/HIGH_POINT nats."""

ROW = "entropylaw_row"
"""Column with a different number in each row, where no other column identifies responses."""


NAMES: dict[str, tuple[str, ...]] = {
    "step": ("step", "global_step", "training_step", "train_step", "trainer_step", "export_step", "_step"),
    "entropy": ("entropy", "token_entropy", "entropies", "policy_entropy"),
    "planning": ("is_planning", "token_class", "class"),
    "mask": ("loss_mask", "response_mask", "completion_mask", "action_mask", "token_mask", "mask"),
    "logprob": ("logprob", "log_prob", "trainer_logprobs", "logprobs", "old_log_prob"),
    "correct": ("correct", "is_correct"),
    "position": ("position", "pos", "token_position", "position_ids"),
    "token": ("token", "text", "token_text", "token_str"),
    "prompt": ("prompt_id", "prompt_idx", "problem_id", "group_id", "example_id"),
}
"""Names of columns by role, best first, in any case."""

RESPONSES: tuple[tuple[str, ...], ...] = (
    *(("prompt", "sample"), ("prompt_id", "sample_id"), ("prompt_idx", "sample_idx")),
    *(("response_id",), ("completion_id",), ("rollout_id",), ("seq_key",), ("seq_id",), ("sequence_id",)),
    *(("sequence",), ("export_sequence_idx",)),
)
"""Columns that identify a response within a step, best first; of two, the first is the prompt."""

_PER_TOKEN = ("planning", "mask", "logprob", "position", "token")


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenColumns:
    """The name of each role's column; None for a role that the table does not have.

    ``response`` and the step identify a response; empty where responses are unknown. ``prompt`` is one of
    these columns: responses to one prompt are not independent. ``lists`` are the columns of lists, in tables
    with one sequence per row.
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
        single = (self.step, self.entropy, self.planning, self.mask, self.logprob, self.correct)
        names = dict.fromkeys((*single, *self.response, self.position, self.token))
        return tuple(name for name in names if name is not None)

    @property
    def stored(self) -> tuple[str, ...]:
        """The columns of the files: all but the number of the row."""
        return tuple(name for name in self.all if name != ROW)

    def named(self) -> dict[str, str | list[str]]:
        """The columns by role, under the names that a summary gives the roles; without absent ones."""
        response = ["(each row)" if name == ROW else name for name in self.response]
        one = {"step": self.step, "entropy": self.entropy, "class": self.planning, "mask": self.mask}
        more = {"logprob": self.logprob, "correct": self.correct, "response": response, "prompt": self.prompt}
        return {role: name for role, name in (one | more).items() if name}


def names_by_role(options: TokenOptions) -> dict[str, set[str]]:
    """Possible names of each role's column, in lower case: that of the options, otherwise :data:`NAMES`."""
    given = {role: getattr(options, role) for role in NAMES}
    return {role: set(NAMES[role]) if name is None else {name.casefold()} for role, name in given.items()}


def resolve(files: Sequence[TokenFile], options: TokenOptions) -> tuple[TokenColumns, list[str]]:
    """The columns of a table, by the options or by their names, and notes on them.

    InputErrors are ``column-not-found`` for one that an option names, ``no-step-column``,
    ``no-entropy-column``, ``column-not-numeric``, ``step-not-whole``.
    """
    types, file = dict(files[0].types), files[0].name
    # Fields of JSON lines need not have a value in every file.
    for other, (name, kind) in product(files[1:], files[0].types.items()):
        if element_type(types[name]) == pa.null():
            types[name] = other.types.get(name, kind)
    columns = _columns([*types], options, file)
    _check_types(columns, types, file)
    nested = pa.types.is_list(types[columns.entropy])
    # Next to lists of entropies a column without a value holds lists, too.
    per_token = {getattr(columns, role) for role in _PER_TOKEN} if nested else set()
    empty = {name for name in per_token - {None} if types[name] == pa.null()}
    lists = tuple(name for name in columns.all if name in empty or pa.types.is_list(types[name]))
    notes = []
    if lists and not nested:
        notes.append(f"{listing(lists)} holds lists, {shown(columns.entropy)} one number per row: not used")
        unused = {role: None for role in NAMES if getattr(columns, role) in lists}
        columns, lists = replace(columns, **unused), ()  # type: ignore[arg-type]
    runs = ("run", "run_id", "run_name", "seed")
    notes += [
        f"column {shown(name)} is not used: all rows count as one run"
        for name in types
        if name.casefold() in runs and name not in columns.response
    ]
    if not columns.response:
        consequence = "no mean of responses, no error between them; see --response"
        if nested:
            consequence = "each row counts as one (--response names columns)"
        notes.append(f"no column identifies responses: {consequence}")
        columns = replace(columns, response=(ROW,)) if nested else replace(columns, prompt=None)
    if columns.prompt is not None and columns.prompt not in columns.response:
        # A response belongs to one prompt.
        columns = replace(columns, response=(columns.prompt, *columns.response))
    if (options.top_quantile, options.grams) != (None, None):
        columns = replace(columns, planning=None)
    return replace(columns, lists=tuple(name for name in lists if name in columns.all)), notes


def _columns(names: Sequence[str], options: TokenOptions, file: str) -> TokenColumns:
    """The columns that the options name, and by their own names those without an option."""
    folded = {name.casefold(): name for name in reversed(names)}
    columns: dict[str, str | None] = {}
    for role, candidates in NAMES.items():
        columns[role] = next(filter(None, map(folded.get, candidates)), None)
        if (given := getattr(options, role)) is not None:
            columns[role] = _exactly(given, names) if given else None
    for role, hint in {"step": "--step", "entropy": "--entropy; in nats, per token"}.items():
        if columns[role] is None:
            such, similar = listing(NAMES[role], 3), _similar(NAMES[role], names, "its columns are")
            message = f"{shown(file)} has no {role} column by name, such as {such}; {similar}"
            raise InputError(f"no-{role}-column", message, f"name it with {hint}")
    responses = tuple(_exactly(name, names) for name in options.response)
    if not responses and (key := next((key for key in RESPONSES if folded.keys() >= {*key}), None)):
        # In each rank and run the numbers of responses start again.
        responses = tuple(folded[name] for name in ("rank", "run_id", *key) if name in folded)
    if options.prompt is None:
        # The other names of a prompt are found in any case.
        given = next((name for name in responses if name.casefold() == "prompt"), None)
        columns["prompt"] = columns["prompt"] or given
    return TokenColumns(**columns, response=responses)  # type: ignore[arg-type]


def _exactly(name: str, names: Sequence[str]) -> str:
    if name in names:
        return name
    message = f"there is no column {shown(name)}; {_similar([name], names, 'the columns are')}"
    raise InputError("column-not-found", message, "name one of the table's columns")


def _similar(names: Sequence[str], columns: Sequence[str], otherwise: str) -> str:
    """The columns with similar names, or all of them."""
    close = nearest(names, columns)
    return f"similar: {listing(close)}" if close else f"{otherwise} {listing(columns)}"


def _check_types(columns: TokenColumns, types: Mapping[str, pa.DataType], file: str) -> None:
    """Refuse columns of other types than numbers here, where the error can name the column."""
    numeric = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)
    needed = {"step": "whole numbers", "entropy": "entropies", "logprob": "log-probabilities"}
    others = {"step": {pa.string()}, "entropy": set(), "logprob": set()}
    # The roles that are not here may have any type, or are checked where they are used.
    for role in ("step", "entropy", "planning", "mask", "logprob", "correct"):
        kind = element_type(types.get(name := getattr(columns, role), pa.null()))
        if kind in others.get(role, {pa.bool_(), pa.string()}) or any(is_of(kind) for is_of in numeric):
            continue
        slug = "step-not-whole" if role == "step" else "column-not-numeric"
        message = f"column {shown(name)} of {shown(file)} holds {kind}, expected "
        option = "--class" if role == "planning" else f"--{role}"
        hint = f"name the column with {option}" + (
            "" if role in ("step", "entropy") else f", or {option} '' for none"
        )
        raise InputError(slug, message + needed.get(role, "0 and 1"), hint)


def cells(table: ir.Table, columns: TokenColumns) -> ir.Table:
    """Count tokens and sum their entropies in fixed point, by step, class, correctness and bin.

    The columns are ``step, planning, correct, bin, tokens, total, square_high, square_low`` and, where there
    are log-probabilities, ``logprobs, logprob_total``; one row per group, in no order.
    """
    coded = _coded(table, columns)
    h = coded.entropy
    root = (h.abs().sqrt().sqrt() * FINENESS).floor().cast("int16")
    above = (h >= LOW).cast("int16") + (h >= FORK).cast("int16")
    # A code in place of an entropy is below both edges.
    parts = {"bin": (h >= 0).ifelse(root, h.cast("int16")).cast("int16") + above, "q": _fixed(h, POINT)}
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
    """One row per response, in no order: its step, keys ``key_0`` and so on, tokens ``n`` and Σq ``s``."""
    coded = _coded(table, columns, columns.response)
    usable = coded.filter((coded.entropy >= 0) | (coded.entropy == ROUNDED))
    rows = usable.mutate(q=_fixed((usable.entropy >= 0).ifelse(usable.entropy, 0.0), POINT))
    keys = (f"key_{i}" for i in range(len(columns.response)))
    return _summed(rows, ("step", *keys), {"n": rows.count(), "s": rows.q.sum()})


def responses(table: ir.Table, columns: TokenColumns) -> ir.Table:
    """Sums by step over responses with n tokens and Σq = s; t is s without its last ``SUM_SHIFT`` bits.

    ``responses``, ``mean_total`` = Σ s/n in 1/MEAN_POINT nats, Σn, Σt, and in two halves Σt², Σtn, Σn².
    """
    one = each_response(table, columns)
    # DuckDB sums in 128 bits; ibis takes these for 64 bits, so that a cast to int64 alone would do nothing.
    one = one.mutate(s=one.s.cast("decimal(38, 0)").cast("int64"))
    mean = _fixed(one.s.cast("float64") / one.n.cast("float64"), MEAN_POINT // POINT)
    one = one.select("step", "n", t=(one.s + (1 << (SUM_SHIFT - 1))) >> SUM_SHIFT, mean=mean)
    sums = {"responses": one.count(), "mean_total": one["mean"].sum(), "n": one.n.sum(), "t": one.t.sum()}
    for name, value in (("tt", one.t * one.t), ("tn", one.t * one.n), ("nn", one.n * one.n)):
        sums |= _halves(name, value)
    return _summed(one, ("step",), sums)


def high(table: ir.Table, columns: TokenColumns) -> ir.Table:
    """The most frequent entropies above ``HIGH``: ``value`` in 1/HIGH_POINT, ``tokens``, Σq.

    ``first`` is the number of tokens at position 0.
    """
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
    """The tokens that no mask leaves out, sorted by step, response and position; only the used columns."""
    kept = table if columns.mask is None else table.filter(_flag(table[columns.mask])[0])
    keys = dict.fromkeys((columns.step, *columns.response, columns.position))
    return kept.select(*columns.all).order_by(*filter(None, keys))


def unknown_classes(table: ir.Table, columns: TokenColumns) -> ir.Table:
    """Up to five values of the class column that are not the name of a class."""
    assert columns.planning is not None
    unknown = table.filter(_class_code(table[columns.planning]) == UNKNOWN_CLASS)
    values = unknown.select(value=unknown[columns.planning].cast("string"))
    return values.distinct().order_by("value").limit(5)


def unrolled(table: ir.Table, columns: TokenColumns) -> ir.Table:
    """One row per token from one row per sequence: lists unnested (null as empty), single values repeated."""
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
    """One row: the number of sequences, and of lists that are null, empty, or of another length.

    ``rows``, ``empty`` (no entropies), ``no_i`` (list i is null), and for each list but the entropies
    ``other_i`` (another length than theirs) with ``step_i``, the first such step.
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
    """The step, codes for class and correctness, and entropies; an entropy below 0 is a code."""
    import ibis

    entropy = table[columns.entropy].cast("float64")
    good = (entropy >= 0) & (entropy < LIMIT)
    branches = [
        # nan first: on Spark, ibis takes nan for null.
        (entropy.isnan() | entropy.isinf(), float(NOT_FINITE)),
        (entropy.isnull(), float(MISSING)),
        (entropy > LOW, float(TOO_HIGH)),
        (entropy < -ROUNDING, float(NEGATIVE)),
    ]
    if columns.mask is not None:
        kept, dropped, unknown = _flag(table[columns.mask])
        # The common case comes first, so that a usable entropy needs no other comparison.
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
        correct=nothing if columns.correct is None else _flag_code(table[columns.correct]),
        **parts,
    )


def _fixed(value: ir.Value, point: int) -> ir.Value:
    """A number in units of 1/``point``, rounded."""
    return (value * point + 0.5).floor().cast("int64")


def _halves(name: str, product: ir.Value) -> dict[str, ir.Value]:
    """Sums of a product's upper and lower bits: the sum of the product would not fit into 64 bits."""
    return {f"{name}_high": (product >> HALF).sum(), f"{name}_low": (product & ((1 << HALF) - 1)).sum()}


def _summed(rows: ir.Table, keys: Sequence[str], sums: dict[str, ir.Value]) -> ir.Table:
    """Sums of integers by ``keys``; where one does not fit into 64 bits, the engine raises an error."""
    return rows.group_by(*keys).aggregate(**sums)


def _step(step: ir.Value) -> ir.Value:
    """The step as a number; null for text that is not a whole number."""
    kind = step.type()
    if kind.is_string():
        step = step.re_search(WHOLE).ifelse(step.strip(), None)
    # Unsigned numbers need not fit into signed ones; Sums.from_table refuses those above 2^53.
    return step.cast("int64") if kind.is_signed_integer() else step.cast("float64")


def _flag(column: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Where a flag column is true, false, and null; where it is none of these, it is not a flag."""
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
        return _flag_code(column)
    name = column.strip().lower()
    planning = name.isin(("planning", "plan", *YES))
    return _code(planning, name.isin(("execution", "exec", "procedural", *NO)), column.isnull())


def _flag_code(column: ir.Value) -> ir.Value:
    if column.type().is_boolean():
        # The same codes as below, without a comparison per token.
        return column.cast("int8").fill_null(UNCLASSED)
    return _code(*_flag(column))


def _code(yes: ir.Value, no: ir.Value, unknown: ir.Value) -> ir.Value:
    """A flag as a number: 1, 0, -1 where it is null, -2 where it is not a flag."""
    import ibis

    code = ibis.cases((unknown, UNCLASSED), (yes, PLANNING), (no, EXECUTION), else_=UNKNOWN_CLASS)
    return code.cast("int8")
