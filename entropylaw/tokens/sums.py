"""Exact sums over tokens: what the query returns, merged with that of other shards, on disk and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from entropylaw.errors import InputError
from entropylaw.ingest.wording import shown
from entropylaw.tokens.expression import MASKED
from entropylaw.tokens.grid import EDGES, HALF, POINT, IntArray

if TYPE_CHECKING:
    import pyarrow as pa

KEYS = ("step", "planning", "correct", "bin")
SUMS = ("tokens", "total", "square_high", "square_low", "logprobs", "logprob_total")
METADATA = b"entropylaw"
FORMAT = "entropylaw tokens 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Responses:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """Sorted cells (m,): by step, class, correctness and bin; and the responses of each step, if known.

    ``has_logprob`` says whether the table had log-probabilities. Two ``Sums`` add up by :func:`merged`.
    """

    cells: dict[str, IntArray]
    responses: dict[int, Responses] | None
    has_logprob: bool

    @property
    def steps(self) -> list[int]:
        """Steps, ascending."""
        return [int(step) for step in np.unique(self.cells["step"])]

    def counts(self) -> dict[int, int]:
        """Tokens by bin, or by the code that stands in its place."""
        bins, where = np.unique(self.cells["bin"], return_inverse=True)
        totals = np.zeros(len(bins), dtype=np.int64)
        np.add.at(totals, where, self.cells["tokens"])
        return {int(code): int(n) for code, n in zip(bins, totals, strict=True)}


def from_table(cells: pa.Table) -> Sums:
    """Sums from the result of the query, whose rows come in any order; responses are not known yet.

    Raises
    ------
    InputError
        ``step-missing`` or ``step-not-whole``.

    """
    steps = whole_steps(cells)
    has_logprob = "logprobs" in cells.column_names
    columns = {"step": steps}
    for name in (*KEYS[1:], *SUMS):
        present = name in cells.column_names
        values = cells.column(name).to_numpy() if present else np.zeros(len(steps))
        columns[name] = values.astype(np.int64, copy=False)
        # Each column is in memory once: the caller keeps no other hold of the table.
        cells = cells.drop_columns([name]) if present else cells
    return Sums(cells=added([columns]), responses=None, has_logprob=has_logprob)


def responses_of(table: pa.Table) -> dict[int, Responses]:
    """Sums over responses by step, from the result of the second query."""
    return {
        int(row["step"]): Responses(
            number=row["responses"],
            mean_total=row["mean_total"],
            tokens=row["n"],
            entropy=row["t"],
            tt=(row["tt_high"] << HALF) + row["tt_low"],
            tn=(row["tn_high"] << HALF) + row["tn_low"],
            nn=(row["nn_high"] << HALF) + row["nn_low"],
        )
        for row in table.to_pylist()
    }


def whole_steps(cells: pa.Table) -> IntArray:
    """Steps as integers; an error where one is missing or no whole number."""
    column = cells.column("step")
    tokens = cells.column("tokens").to_numpy()
    numbers = column.cast("float64").to_numpy() if len(column) else np.zeros(0)
    missing = ~np.isfinite(numbers)
    if missing.any():
        raise InputError(
            "step-missing",
            f"{int(tokens[missing].sum()):,} of {int(tokens.sum()):,} rows have no step (null or nan)",
            "give every token its step, or leave these rows out",
        )
    broken = numbers != np.floor(numbers)
    if broken.any():
        raise InputError(
            "step-not-whole",
            f"step {numbers[broken].min():g} is no whole number ({int(tokens[broken].sum()):,} rows)",
            "name the column of steps with --step; an epoch or a time is none",
        )
    steps: IntArray = column.to_numpy().astype(np.int64, copy=False)
    return steps


def merged(parts: Sequence[Sums]) -> Sums:
    """The sums of several shards: exactly those of all their tokens, read at once.

    A response whose tokens lie in two shards counts as two; responses are known only where they are in all.
    """
    responses: dict[int, Responses] | None = None
    if all(part.responses is not None for part in parts):
        responses = {}
        for part in parts:
            for step, sums in (part.responses or {}).items():
                responses[step] = _joined(responses[step], sums) if step in responses else sums
    return Sums(
        cells=added([part.cells for part in parts]),
        responses=responses,
        has_logprob=all(part.has_logprob for part in parts),
    )


def masked_only(sums: Sums) -> Sums:
    """Only the tokens that a mask leaves out."""
    here = sums.cells["bin"] == MASKED
    return Sums(
        cells={name: values[here] for name, values in sums.cells.items()},
        responses=None,
        has_logprob=sums.has_logprob,
    )


def _joined(one: Responses, other: Responses) -> Responses:
    return Responses(
        **{each.name: getattr(one, each.name) + getattr(other, each.name) for each in fields(one)}
    )


def added(parts: Sequence[dict[str, IntArray]]) -> dict[str, IntArray]:
    """Add up rows of the same key; the result is in the order of the keys."""
    # One column at a time: with hundreds of bins in each of thousands of steps, copies of all are large.
    columns = {name: _concatenated([part[name] for part in parts]) for name in (*KEYS, *SUMS)}
    order = np.lexsort([columns[name] for name in reversed(KEYS)])
    for name in columns:
        columns[name] = columns[name][order]
    change = np.ones(len(order), dtype=bool)
    change[1:] = False
    for name in KEYS:
        change[1:] |= columns[name][1:] != columns[name][:-1]
    if change.all():
        return columns
    starts = np.flatnonzero(change)
    for name in KEYS:
        columns[name] = columns[name][starts]
    for name in SUMS:
        columns[name] = np.add.reduceat(columns[name], starts)
    return columns


def _concatenated(arrays: Sequence[IntArray]) -> IntArray:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def to_arrow(sums: Sums, about: dict[str, Any]) -> pa.Table:
    """The sums as a table that a heat map can be drawn from, and that :func:`from_arrow` reads back.

    A row is a bin of one step, class and correctness: its edges ``low`` and ``high`` in nats, its ``tokens``,
    their ``entropy`` summed (nats). Rows without edges count what is no entropy; ``bin`` says what.
    """
    import pyarrow as pa

    cells = sums.cells
    regular = cells["bin"] >= 0
    at = np.maximum(cells["bin"], 0)
    columns = {
        "step": pa.array(cells["step"]),
        "class": _named(cells["planning"], {1: "planning", 0: "execution"}),
        "correct": _named(cells["correct"], {1: True, 0: False}),
        "low": pa.array(EDGES[at], mask=~regular),
        "high": pa.array(EDGES[at + 1], mask=~regular),
        "tokens": pa.array(cells["tokens"]),
        "entropy": pa.array(cells["total"] / POINT, mask=~regular),
        "bin": pa.array(cells["bin"].astype(np.int16)),
        **{name: pa.array(cells[name]) for name in SUMS[1:]},
    }
    # Integers beyond 2^63 are text in JSON, which every reader takes for what they are.
    responses = (
        None
        if sums.responses is None
        else {
            str(step): [str(value) for value in astuple(each)]
            for step, each in sorted(sums.responses.items())
        }
    )
    facts = {"format": FORMAT, "has_logprob": sums.has_logprob, "responses": responses, **about}
    return pa.table(columns).replace_schema_metadata({METADATA: json.dumps(facts, sort_keys=True).encode()})


def _named(codes: IntArray, names: dict[int, Any]) -> pa.Array:
    import pyarrow as pa

    values = [names.get(code) for code in range(-2, 2)]
    kind = pa.bool_() if isinstance(values[-1], bool) else pa.string()
    return pa.array(values, kind).take(pa.array(codes + 2))


def read(path: Path) -> tuple[Sums, dict[str, Any]]:
    """Read sums that :func:`to_arrow` made, and what stands beside them.

    Raises
    ------
    InputError
        ``not-token-sums``, ``file-corrupt``.

    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError, ValueError) as problem:
        raise InputError(
            "file-corrupt",
            f"{shown(path.name)} cannot be read as Parquet: {shown(str(problem).splitlines()[0])}",
            "write it again with entropylaw tokens",
        ) from None
    facts = _facts(table)
    if facts.get("format") != FORMAT or "bin" not in table.column_names:
        raise InputError(
            "not-token-sums",
            f"{shown(path.name)} is named like sums of tokens and holds format "
            f"{shown(str(facts.get('format', 'none')))}, expected {shown(FORMAT)}",
            "give the tokens themselves, or a .hist.parquet that entropylaw tokens wrote",
        )
    try:
        return _sums(table, facts)
    except (pa.ArrowException, KeyError, TypeError, ValueError, AttributeError) as problem:
        raise InputError(
            "file-corrupt",
            f"{shown(path.name)} says that it holds sums of tokens, and they are damaged: "
            f"{type(problem).__name__} {shown(str(problem), 100)}",
            "write it again with entropylaw tokens",
        ) from None


def _facts(table: pa.Table) -> dict[str, Any]:
    """What stands beside the sums; empty where that is nothing of ours."""
    try:
        facts = json.loads((table.schema.metadata or {}).get(METADATA, b"{}"))
    except ValueError:
        return {}
    return facts if isinstance(facts, dict) else {}


def _sums(table: pa.Table, facts: dict[str, Any]) -> tuple[Sums, dict[str, Any]]:
    cells = {name: table.column(name).to_numpy().astype(np.int64) for name in ("step", "bin", *SUMS)}
    cells["planning"] = _codes(table.column("class"), {"planning": 1, "execution": 0})
    cells["correct"] = _codes(table.column("correct"), {True: 1, False: 0})
    listed = facts.pop("responses")
    responses = listed and {
        int(step): Responses(
            **{field.name: int(value) for field, value in zip(fields(Responses), each, strict=True)}
        )
        for step, each in listed.items()
    }
    return Sums(cells=added([cells]), responses=responses, has_logprob=facts.pop("has_logprob")), facts


def _codes(column: pa.ChunkedArray, codes: dict[Any, int]) -> IntArray:
    encoded = column.combine_chunks().dictionary_encode()
    lookup = np.array(
        [codes.get(value, -1) for value in encoded.dictionary.to_pylist()] + [-1], dtype=np.int64
    )
    found: IntArray = lookup[encoded.indices.fill_null(len(lookup) - 1).to_numpy()]
    return found
