"""Exact sums over tokens and over responses: from the query, joined over shards, to Parquet and back.

Each response has a hash of its key: shards are joined exactly even if a response has tokens in two of them.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from entropylaw.arrow import from_codes, halves, to_arrow, to_numpy
from entropylaw.errors import InputError
from entropylaw.escaping import shown
from entropylaw.results.arrays import IntArray
from entropylaw.tokens import query
from entropylaw.tokens.files import METADATA, metadata_of
from entropylaw.tokens.query import BINS, EDGES, HALF, MEAN_POINT, POINT, ROW, SUM_SHIFT, TokenColumns

Columns = dict[str, NDArray[Any]]
"""Columns of one length by name."""

KEYS = ("step", "planning", "correct", "bin")
SUMS = ("tokens", "total", "square_high", "square_low", "logprobs", "logprob_total")
FORMAT = "entropylaw tokens 1"

MOST = 1_000_000
"""Largest number of responses that are kept one by one (32 bytes each); of more only sums are kept."""
ROW_KEY = np.uint64(0)
"""Key of a response that is one row of the table."""

_CLASSES, _CORRECT = ("execution", "planning"), (False, True)
_LISTS = {
    "response_key": ("key", "u8"),
    "response_prompt": ("prompt", "u8"),
    "response_tokens": ("tokens", "i8"),
    "response_entropy": ("total", "i8"),
}
"""List columns of the file: the column of responses and its type."""


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
    def length(self) -> float | None:
        """Mean number of tokens."""
        return self.tokens / self.number if self.number else None

    @property
    def mean(self) -> float | None:
        """Mean of the responses' means, in nats."""
        return self.mean_total / (self.number * MEAN_POINT) if self.number else None

    @property
    def error(self) -> float | None:
        """Cluster-robust standard error of H = Σt/Σn in nats.

        (Σn)²·Σ(t − Hn)² is an exact integer before the root.
        """
        m, n, s = self.number, self.tokens, self.entropy
        if m < 2 or not n:
            return None
        spread = self.tt * n * n - 2 * s * n * self.tn + s * s * self.nn
        return math.sqrt(max(spread, 0) * m / (m - 1)) / n / n / (POINT >> SUM_SHIFT)


ByStep = dict[int, Responses | None]
"""Step → the sums over its responses; None where they are unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """Sums over tokens, and over the responses and prompts of each step where they are known.

    Attributes
    ----------
    cells
        Sorted columns (m,): :data:`KEYS` and :data:`SUMS`.
    each_response
        Columns (r,), sorted by step and key; None where there are more than :data:`MOST`. ``key`` is a hash
        of the columns that identify a response, ``prompt`` a hash of the prompt column (0 without one),
        ``tokens`` the number of tokens, ``total`` Σq, the sum of their entropies q in units of 2^−27 nats.
    responses, prompts
        Sums over the responses, and over the prompts; None where no column identifies them.
    """

    cells: dict[str, IntArray]
    has_logprob: bool
    responses: ByStep | None = None
    prompts: ByStep | None = None
    each_response: Columns | None = None

    @property
    def number(self) -> int:
        """Number of responses over all steps in which they are known."""
        return sum(sums.number for sums in (self.responses or {}).values() if sums)

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
        totals = add_rows([{name: self.cells[name] for name in ("bin", "tokens")}], ("bin",), ("tokens",))
        return dict(zip(totals["bin"].tolist(), totals["tokens"].tolist(), strict=True))

    def identity(self) -> str:
        """A hash of the sums, which a summary and its histograms share."""
        digest = hashlib.blake2b(digest_size=12)
        for name in (*KEYS, *SUMS):
            digest.update(np.ascontiguousarray(self.cells[name]).data)
        digest.update(json.dumps([to_json(sums) for sums in (self.responses, self.prompts)]).encode())
        return digest.hexdigest()

    @classmethod
    def from_table(cls, cells: pa.Table) -> Sums:
        """Sums without responses from the query's result; InputError ``step-missing``, ``step-not-whole``."""
        numbers = to_numpy(cells.column("step")).astype(float)
        tokens = to_numpy(cells.column("tokens"))
        missing = ~np.isfinite(numbers)
        if missing.any():
            message = f"{int(tokens[missing].sum()):,} of {int(tokens.sum()):,} rows have no step "
            message += "(null, nan, or text that is not a whole number)"
            raise InputError("step-missing", message, "give every token its step, or leave these rows out")
        broken = (numbers != np.floor(numbers)) | (np.abs(numbers) > 2.0**53)
        if broken.any():
            message = f"step {numbers[broken].min():g} is not a whole number below 2^53 "
            message += f"({int(tokens[broken].sum()):,} rows)"
            hint = "name the step column with --step; an epoch or a time is not a step"
            raise InputError("step-not-whole", message, hint)
        has_logprob = "logprobs" in cells.column_names
        columns = dict.fromkeys((*KEYS, *SUMS), np.zeros(len(tokens), dtype=np.int64))
        columns["square_high"], columns["square_low"] = halves(cells.column("square"), HALF)
        cells = cells.drop_columns(["square"])
        for name in cells.column_names:
            columns[name] = to_numpy(cells.column(name)).astype(np.int64, copy=False)
            # Free each Arrow column once it is copied; the caller holds no other reference to the table.
            cells = cells.drop_columns([name])
        return cls(cells=_add_cells([columns]), has_logprob=has_logprob)

    def with_responses(self, each: Columns, *, prompts: bool) -> Sums:
        """The sums with their responses, one by one and by step."""
        # All responses to one prompt form one cluster.
        clusters = sum_by_step(join_responses([each | {"key": each["prompt"]}])) if prompts else None
        return replace(self, each_response=each, responses=sum_by_step(each), prompts=clusters)

    @classmethod
    def merged(cls, parts: Sequence[Sums]) -> Sums:
        """The sums of several shards, equal to those of all their tokens read at once.

        Responses are known only if they are known in all shards, and so are prompts. If a shard does not keep
        its responses one by one, they are unknown in steps of several shards: some may have tokens in two.
        """
        has_logprob = all(part.has_logprob for part in parts)
        sums = cls(cells=_add_cells([part.cells for part in parts]), has_logprob=has_logprob)
        known, clusters, kept = (
            [value for part in parts if (value := getattr(part, name)) is not None]
            for name in ("responses", "prompts", "each_response")
        )
        if len(known) < len(parts):
            return sums
        prompts = len(clusters) == len(parts)
        if len(kept) == len(parts):
            sums = sums.with_responses(each := join_responses(kept), prompts=prompts)
            return sums if len(each["step"]) <= MOST else replace(sums, each_response=None)
        by_prompt = _join_by_step(clusters) if prompts else None
        return replace(sums, responses=_join_by_step(known), prompts=by_prompt)

    def with_masked(self, all_tokens: Sums) -> Sums:
        """The sums, and in addition the tokens of ``all_tokens`` that a mask leaves out."""
        masked = all_tokens.rows(np.isin(all_tokens.cells["bin"], (query.MASKED, query.NO_MASK)))
        return replace(self, cells=_add_cells([self.cells, masked]))

    def by_quantile(self, share: float) -> tuple[Sums, dict[int, float]]:
        """Classify each step's ``share`` of tokens with the highest entropy as planning, the rest execution.

        The cut is the bin edge that comes nearest to ``share``, so that sums stay exact and shards still add
        up. Returns the sums with these classes, and the cut of each step in nats.
        """
        bins, cuts = self.cells["bin"], {}
        planning = np.full_like(bins, query.UNCLASSED)
        for step in self.steps:
            rows = np.flatnonzero((self.cells["step"] == step) & self.usable)
            counts = np.zeros(BINS, dtype=np.int64)
            np.add.at(counts, np.maximum(bins[rows], 0), self.cells["tokens"][rows])
            above = np.append(np.cumsum(counts[::-1])[::-1], 0)
            cut = int(np.argmin(np.abs(above - share * above[0])))
            cuts[step] = float(EDGES[cut])
            planning[rows] = np.where(bins[rows] >= cut, query.PLANNING, query.EXECUTION)
        return replace(self, cells=_add_cells([self.cells | {"planning": planning}])), cuts

    def to_arrow(self, about: dict[str, Any]) -> pa.Table:
        """The sums as a table for histograms, which :meth:`read` reads back; ``about`` goes to its metadata.

        A row is a bin of one step, class and correctness: its edges ``low`` and ``high`` in nats, its
        ``tokens``, their summed ``entropy`` (nats). Rows without edges count tokens without a usable entropy;
        ``bin`` gives the reason. The first row of each step has the lists of its responses, if they are kept.
        """
        cells = self.cells
        irregular, at = cells["bin"] < 0, np.maximum(cells["bin"], 0)
        planning, correct = (cells[name].astype(np.int8) for name in ("planning", "correct"))
        columns = {
            "step": to_arrow(cells["step"]),
            "class": from_codes(planning, _CLASSES),
            "correct": to_arrow(correct == query.CORRECT, correct < 0),
            "low": to_arrow(EDGES[at], irregular),
            "high": to_arrow(EDGES[at + 1], irregular),
            "tokens": to_arrow(cells["tokens"]),
            "entropy": to_arrow(cells["total"] / POINT, irregular),
            "bin": to_arrow(cells["bin"].astype(np.int16)),
            **{name: to_arrow(cells[name]) for name in SUMS[1:]},
        }
        if (each := self.each_response) is not None:
            first, step = _changes(cells["step"]), cells["step"]
            start, stop = (
                np.where(first, np.searchsorted(each["step"], step, side), 0) for side in ("left", "right")
            )
            offsets, mask = to_arrow(np.append(0, np.cumsum(stop - start)).astype(np.int64)), to_arrow(~first)
            for name, (field, _) in _LISTS.items():
                columns[name] = pa.LargeListArray.from_arrays(offsets, to_arrow(each[field]), mask=mask)
        by_step = {name: to_json(getattr(self, name)) for name in ("responses", "prompts")}
        metadata = {"format": FORMAT, "has_logprob": self.has_logprob, **by_step, **about}
        stored = {METADATA: json.dumps(metadata, sort_keys=True).encode()}
        return pa.table(columns).replace_schema_metadata(stored)

    @classmethod
    def read(cls, path: Path) -> tuple[Sums, dict[str, Any]]:
        """Sums of :meth:`to_arrow` and their ``about``; InputError ``not-token-sums``, ``file-corrupt``."""
        import pyarrow.compute as pc

        hint = "write it again with entropylaw tokens"
        try:
            table = pq.read_table(path)
        except (pa.ArrowException, OSError, ValueError) as problem:
            message = f"{shown(path.name)} cannot be read as Parquet: {shown(str(problem).splitlines()[0])}"
            raise InputError("file-corrupt", message, hint) from None
        metadata = metadata_of(table.schema.metadata)
        if metadata.get("format") != FORMAT or "bin" not in table.column_names:
            known = f"format {shown(str(metadata.get('format', 'none')))}, expected {shown(FORMAT)}"
            message = f"{shown(path.name)} has the name of a file of token sums, but holds {known}"
            hint = "give the tokens themselves, or a .hist.parquet that entropylaw tokens wrote"
            raise InputError("not-token-sums", message, hint)
        try:
            cells = {name: table.column(name).to_numpy().astype(np.int64) for name in ("step", "bin", *SUMS)}
            for name, column, values in (("planning", "class", _CLASSES), ("correct", "correct", _CORRECT)):
                codes = pa.array(values)
                index = pc.index_in(table.column(column).cast(codes.type), codes).fill_null(-1)
                cells[name] = np.asarray(index, dtype=np.int64)
            each = None
            if {*_LISTS} <= {*table.column_names}:
                lengths = pc.list_value_length(table.column("response_key")).fill_null(0).to_numpy()
                each = {"step": np.repeat(cells["step"], lengths)}
                for name, (field, kind) in _LISTS.items():
                    each[field] = pc.list_flatten(table.column(name)).to_numpy().astype(kind)
                each = join_responses([each])
            return cls(
                cells=_add_cells([cells]),
                has_logprob=metadata.pop("has_logprob"),
                responses=_from_json(metadata.pop("responses")),
                # An earlier version had no prompts and kept no responses one by one.
                prompts=_from_json(metadata.pop("prompts", None)),
                each_response=each,
            ), metadata
        except (pa.ArrowException, KeyError, TypeError, ValueError, AttributeError) as problem:
            message = f"{shown(path.name)} is a damaged file of token sums: {type(problem).__name__}"
            raise InputError("file-corrupt", message, hint) from None


def _add_cells(parts: Sequence[Columns]) -> Columns:
    """Sums by bin as one table, in which the lower half of each Σq² has :data:`HALF` bits."""
    cells = add_rows(parts, KEYS, SUMS)
    high, low = cells["square_high"], cells["square_low"]
    return {**cells, "square_high": high + (low >> HALF), "square_low": low & ((1 << HALF) - 1)}


def add_rows(
    parts: Sequence[Columns], keys: Sequence[str], summed: Sequence[str], then: Sequence[str] = ()
) -> Columns:
    """Sum the rows that have the same ``keys``; a column that is not ``summed`` keeps its first value.

    Rows are sorted by ``keys`` and ``then``. Rows with :data:`ROW_KEY` stay separate.
    """
    columns = dict(parts[0])
    # One column at a time: with hundreds of bins in each of thousands of steps, copies of all are large.
    if len(parts) > 1:
        columns = {name: np.concatenate([part[name] for part in parts]) for name in columns}
    order = _order([columns[name] for name in (*keys, *then)])
    for name in columns:
        columns[name] = columns[name][order]
    new = np.any([_changes(columns[name]) for name in keys], axis=0)
    if "key" in columns:
        new |= columns["key"] == ROW_KEY
    if new.all():
        return columns
    starts = np.flatnonzero(new)
    for name, values in columns.items():
        columns[name] = np.add.reduceat(values, starts) if name in summed else values[starts]
    return columns


def _order(columns: Sequence[NDArray[Any]]) -> IntArray:
    """Rows (n,) in ascending order of integer columns, the first one above all."""
    if not len(columns[0]):
        return np.arange(0)
    ends = [(int(column.min()), int(column.max())) for column in columns]
    if math.prod(high - low + 1 for low, high in ends) >= 1 << 63:
        return np.lexsort(columns[::-1])
    # One number per row is sorted several times as fast.
    packed = np.zeros(len(columns[0]), dtype=np.int64)
    for column, (low, high) in zip(columns, ends, strict=True):
        packed = packed * (high - low + 1) + (column - column.dtype.type(low)).astype(np.int64)
    # Stable: the order of equal rows is not the processor's.
    return np.argsort(packed, kind="stable")


def _changes(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Where a sorted column (n,) has another value than in the row before; True in its first row."""
    return np.append(np.ones(len(column[:1]), dtype=bool), column[1:] != column[:-1])


def steps_of(cells: Mapping[str, IntArray]) -> tuple[IntArray, IntArray]:
    """The steps (k,) of sorted cells, ascending, and the first row of each (k,)."""
    # numpy.unique would sort again, and import numpy.ma.
    starts = np.flatnonzero(_changes(cells["step"]))
    return cells["step"][starts], starts


def responses_of(table: pa.Table, columns: TokenColumns) -> Columns:
    """Responses one by one from the rows of :func:`query.each_response`."""
    # A row's number is never a key: nothing written may depend on it, and no row is in two shards.
    hashes = {
        name: _hashes(table.column(f"key_{i}")) for i, name in enumerate(columns.response) if name != ROW
    }
    none = np.full(table.num_rows, ROW_KEY, dtype=np.uint64)
    one_row = ROW in columns.response
    key = none if one_row else reduce(lambda key, one: _mix(key ^ one), hashes.values(), none)
    prompt = none if columns.prompt is None else _mix(hashes[columns.prompt])
    step, tokens, total = (to_numpy(table.column(name)).astype(np.int64) for name in ("step", "n", "s"))
    return join_responses([{"step": step, "key": key, "prompt": prompt, "tokens": tokens, "total": total}])


def _hashes(column: pa.ChunkedArray) -> NDArray[np.uint64]:
    """A number for each value, the same on every engine: whole numbers themselves, text by its hash."""
    array = column.combine_chunks()
    if not array.null_count and pa.types.is_signed_integer(array.type):
        return _mix(to_numpy(array).astype(np.int64).astype(np.uint64))
    if pa.types.is_integer(array.type):
        known = array.cast(pa.uint64() if pa.types.is_uint64(array.type) else pa.int64())
        numbers = known.fill_null(0).to_numpy(zero_copy_only=False).astype(np.uint64, casting="unsafe")
    elif pa.types.is_floating(array.type):
        # pandas stores whole numbers as floats if one is null, and they name the same responses.
        values = array.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
        whole = (values == np.floor(values)) & (np.abs(values) < 2.0**63)
        integers = np.where(whole, values, 0.0).astype(np.int64).astype(np.uint64)
        numbers = np.where(whole, integers, values.copy().view(np.uint64))
    else:
        coded = array.cast(pa.string()).dictionary_encode()
        names = coded.dictionary.to_pylist()
        hashes = b"".join(hashlib.blake2b(name.encode(), digest_size=8).digest() for name in names)
        index = coded.indices.fill_null(len(names)).to_numpy(zero_copy_only=False)
        numbers = np.append(np.frombuffer(hashes, "<u8"), np.uint64(0))[index]
    absent = array.is_null().to_numpy(zero_copy_only=False)
    # A null differs from zero by random bits, which no value of the column is likely to have.
    return np.asarray(np.where(absent, np.uint64(0x9E3779B97F4A7C15), _mix(numbers)))


def _mix(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64, a bijection of 64 bits."""
    with np.errstate(over="ignore"):
        mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def join_responses(parts: Sequence[Columns]) -> Columns:
    """Responses of shards, by step and key; rows with equal step and key are one response."""
    return add_rows(parts, ("step", "key"), ("tokens", "total"), then=("prompt", "tokens", "total"))


def sum_by_step(each: Columns) -> ByStep:
    """Sums over the responses of each step, equal to those of :func:`query.responses`."""
    sums: ByStep = {}
    for rows in np.split(np.arange(len(each["step"])), np.flatnonzero(_changes(each["step"])))[1:]:
        n, s = each["tokens"][rows], each["total"][rows]
        mean = np.floor(s.astype(float) / n.astype(float) * (MEAN_POINT // POINT) + 0.5).astype(np.int64)
        # Python integers, because not every square fits into 63 bits.
        wide, t = n.astype(object), ((s + (1 << (SUM_SHIFT - 1))) >> SUM_SHIFT).astype(object)
        values = (int(mean.sum()), sum(wide), sum(t), t @ t, t @ wide, wide @ wide)
        sums[int(each["step"][rows[0]])] = Responses(len(n), *values)
    return sums


def sums_by_step(table: pa.Table) -> ByStep:
    """Sums over responses by step from the result of :func:`query.responses`."""
    sums: ByStep = {}
    for row in table.to_pylist():
        values = (int(row[name]) for name in ("responses", "mean_total", "n", "t", "tt", "tn", "nn"))
        sums[int(row["step"])] = Responses(*values)
    return sums


def _join_by_step(parts: Sequence[ByStep]) -> ByStep:
    """Sums of shards that do not keep each response: None for a step that several shards have."""
    shards = Counter(step for part in parts for step in part)
    return {step: sums if shards[step] == 1 else None for part in parts for step, sums in part.items()}


def to_json(by_step: ByStep | None) -> dict[str, list[str] | None] | None:
    """Sums by step as JSON; integers are text, because many readers of JSON round those beyond 2^53."""
    if by_step is None:
        return None
    return {str(step): sums and list(map(str, sums)) for step, sums in sorted(by_step.items())}


def _from_json(stored: Mapping[str, Sequence[str] | None] | None) -> ByStep | None:
    """Sums by step from the result of :func:`to_json`."""
    if stored is None:
        return None
    return {int(step): None if sums is None else Responses(*map(int, sums)) for step, sums in stored.items()}
