"""Responses of each step: one by one where they are not too many, and what they sum to.

With its keys' hash beside each response, shards join exactly even where a response has tokens in two of them.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from entropylaw.tokens.query import HALF, MEAN_POINT, POINT, ROW, SUM_SHIFT, IntArray, TokenColumns

KeyArray = NDArray[np.uint64]
Columns = dict[str, NDArray[Any]]

MOST = 1_000_000
"""Responses that are kept one by one, 32 bytes each; of more only their sums by step are known."""

_FIELDS = ("key", "prompt", "tokens", "total")
LISTS = ("response_key", "response_prompt", "response_tokens", "response_entropy")
ROW_KEY = np.uint64(0)
"""The key of a response that is a row of its own."""


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
        """Standard error of H = Σs/Σn in nats; Σ(s − Hn)² as integers, exactly until the root."""
        m, n, s = self.number, self.tokens, self.entropy
        if m < 2 or not n:
            return None
        spread = self.tt * n * n - 2 * s * n * self.tn + s * s * self.nn
        return math.sqrt(max(spread, 0) * m / (m - 1)) / n / n / (POINT >> SUM_SHIFT)


ByStep = dict[int, Responses | None]
"""Step → the sums over its responses; None where they cannot be known."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Each:
    """Responses one by one, all (m,), by step and key.

    ``key`` is a hash of the columns that tell responses apart, :data:`ROW_KEY` where each row is one;
    ``prompt`` is a hash of the prompt's column (0 where there is none), ``tokens`` the number n of tokens,
    ``total`` Σq.
    """

    step: IntArray
    key: KeyArray
    prompt: KeyArray
    tokens: IntArray
    total: IntArray

    def by_step(self) -> ByStep:
        """What the responses of each step sum to: the same numbers as the engine's query gives."""
        found: ByStep = {}
        for rows in np.split(np.arange(len(self.step)), np.flatnonzero(changes(self.step)))[1:]:
            n, s = self.tokens[rows], self.total[rows]
            mean = np.floor(s.astype(float) / n.astype(float) * (MEAN_POINT // POINT) + 0.5).astype(np.int64)
            # Python's integers: not every square fits into 63 bits.
            wide, t = n.astype(object), ((s + (1 << (SUM_SHIFT - 1))) >> SUM_SHIFT).astype(object)
            sums = (int(mean.sum()), sum(wide), sum(t), t @ t, t @ wide, wide @ wide)
            found[int(self.step[rows[0]])] = Responses(len(n), *sums)
        return found


def each_of(table: pa.Table, columns: TokenColumns) -> Each:
    """Responses from the rows of the query."""
    # No key is kept that is a row's number: nothing written may depend on it, and no row is in two shards.
    hashes = {name: _hashed(table.column(f"key_{i}")) for i, name in enumerate(columns.response)}
    nothing = np.full(table.num_rows, ROW_KEY, dtype=np.uint64)
    key = nothing if ROW in hashes else reduce(lambda all_, one: _mixed(all_ ^ one), hashes.values(), nothing)
    prompt = nothing if columns.prompt is None else _mixed(hashes[columns.prompt])
    step, tokens, total = (table.column(name).to_numpy().astype(np.int64) for name in ("step", "n", "s"))
    return joined([Each(step=step, key=key, prompt=prompt, tokens=tokens, total=total)])


def _hashed(column: pa.ChunkedArray) -> KeyArray:
    """A number for each value, the same on every engine: whole numbers themselves, text by its hash."""
    array = column.combine_chunks()
    if pa.types.is_integer(array.type):
        known = array.cast(pa.uint64() if pa.types.is_uint64(array.type) else pa.int64())
        numbers = known.fill_null(0).to_numpy(zero_copy_only=False).astype(np.uint64, casting="unsafe")
    elif pa.types.is_floating(array.type):
        # Whole numbers beside a null are floats in pandas' tables, and name the same responses.
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
    # A null differs from zero by bits that a mixed number has at random.
    return np.asarray(np.where(absent, np.uint64(0x9E3779B97F4A7C15), _mixed(numbers)))


def _mixed(numbers: KeyArray) -> KeyArray:
    """The finaliser of splitmix64, one to one over 64 bits."""
    with np.errstate(over="ignore"):
        mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def joined(parts: Sequence[Each]) -> Each:
    """Responses of shards, by step and key; what has both in common is one response, unless each row is."""
    names = [one.name for one in fields(Each)]
    columns = [{name: getattr(part, name) for name in names} for part in parts]
    return Each(**added(columns, names[:2], ("tokens", "total"), then=names[2:]))


def changes(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Where a sorted column (n,) has another value than before, its first row included."""
    return np.append(np.ones(len(column[:1]), dtype=bool), column[1:] != column[:-1])


def added(
    parts: Sequence[Columns], keys: Sequence[str], summed: Sequence[str], then: Sequence[str] = ()
) -> Columns:
    """Add up rows of the same ``keys``, in their order and ``then`` others'; what is not summed is the first.

    Rows with :data:`ROW_KEY` stay apart.
    """
    columns = dict(parts[0])
    # One column at a time: with hundreds of bins in each of thousands of steps, copies of all are large.
    if len(parts) > 1:
        columns = {name: np.concatenate([part[name] for part in parts]) for name in columns}
    order = np.lexsort([columns[name] for name in reversed((*keys, *then))])
    for name in columns:
        columns[name] = columns[name][order]
    new = np.any([changes(columns[name]) for name in keys], axis=0)
    if "key" in columns:
        new |= columns["key"] == ROW_KEY
    starts = np.flatnonzero(new)
    for name, values in columns.items() if not new.all() else ():
        columns[name] = np.add.reduceat(values, starts) if name in summed else values[starts]
    return columns


def by_step_of(table: pa.Table) -> ByStep:
    """Sums over responses by step, from the result of the query that adds them up."""
    found: ByStep = {}
    for row in table.to_pylist():
        products = ((row[f"{name}_high"] << HALF) + row[f"{name}_low"] for name in ("tt", "tn", "nn"))
        sums = (row[name] for name in ("responses", "mean_total", "n", "t"))
        found[int(row["step"])] = Responses(*sums, *products)
    return found


def joined_by_step(parts: Sequence[ByStep]) -> ByStep:
    """Sums of shards whose responses are not kept: None for a step that lies in several of them."""
    known = Counter(step for part in parts for step in part)
    return {step: sums if known[step] == 1 else None for part in parts for step, sums in part.items()}


def to_facts(sums: ByStep | None) -> dict[str, list[str] | None] | None:
    """Sums as JSON: integers beyond 2^63 are text, which every reader takes for what they are."""
    if sums is None:
        return None
    return {str(step): None if one is None else list(map(str, one)) for step, one in sorted(sums.items())}


def from_facts(listed: Mapping[str, Sequence[str] | None] | None) -> ByStep | None:
    """Sums from what :func:`to_facts` made."""
    if listed is None:
        return None
    return {int(step): None if one is None else Responses(*map(int, one)) for step, one in listed.items()}


def to_lists(each: Each, steps: IntArray) -> dict[str, pa.Array]:
    """Columns of lists beside sorted ``steps`` (m,): a step's responses in its first row, null elsewhere."""
    firsts = changes(steps)
    here, stop = (np.where(firsts, np.searchsorted(each.step, steps, end), 0) for end in ("left", "right"))
    offsets, mask = pa.array(np.append(0, np.cumsum(stop - here)).astype(np.int64)), pa.array(~firsts)
    return {
        name: pa.LargeListArray.from_arrays(offsets, pa.array(getattr(each, field)), mask=mask)
        for name, field in zip(LISTS, _FIELDS, strict=True)
    }


def from_lists(table: pa.Table) -> Each | None:
    """The responses that :func:`to_lists` stored; None where a file has none."""
    if not {*LISTS} <= {*table.column_names}:
        return None
    lists = [table.column(name).combine_chunks() for name in LISTS]
    lengths = lists[0].value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    step = np.repeat(table.column("step").to_numpy().astype(np.int64), lengths)
    values = (one.flatten().to_numpy(zero_copy_only=False) for one in lists)
    arrays = (one.astype(kind) for one, kind in zip(values, ("u8", "u8", "i8", "i8"), strict=True))
    return joined([Each(step=step, **dict(zip(_FIELDS, arrays, strict=True)))])
