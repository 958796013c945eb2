"""Exact sums over tokens: what the query returns, merged with that of other shards, on disk and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from entropylaw.errors import InputError
from entropylaw.ingest.wording import shown
from entropylaw.tokens import responses
from entropylaw.tokens.columntypes import METADATA
from entropylaw.tokens.expression import MASKED, NO_MASK
from entropylaw.tokens.grid import EDGES, POINT, IntArray
from entropylaw.tokens.responses import ByStep, Each

if TYPE_CHECKING:
    import pyarrow as pa

KEYS = ("step", "planning", "correct", "bin")
SUMS = ("tokens", "total", "square_high", "square_low", "logprobs", "logprob_total")
FORMAT = "entropylaw tokens 1"
_LARGEST_STEP = 2.0**53


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """Sorted cells (m,): by step, class, correctness and bin; and the responses of each step, if known.

    ``each`` are the responses one by one, None where they were too many to keep; ``responses`` and
    ``prompts`` what responses and prompts sum to, None where no column tells them apart. ``has_logprob``
    says whether the table had log-probabilities. Two ``Sums`` add up by :func:`merged`.
    """

    cells: dict[str, IntArray]
    has_logprob: bool
    responses: ByStep | None = None
    prompts: ByStep | None = None
    each: Each | None = None

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
    return Sums(cells=added([columns]), has_logprob=has_logprob)


def with_responses(sums: Sums, each: Each, *, prompts: bool) -> Sums:
    """The sums with their responses, one by one and by step."""
    clusters = responses.by_step(responses.by_prompt(each)) if prompts else None
    return replace(sums, each=each, responses=responses.by_step(each), prompts=clusters)


def whole_steps(cells: pa.Table) -> IntArray:
    """Steps as integers; an error where one is missing or no whole number."""
    column = cells.column("step")
    tokens = cells.column("tokens").to_numpy()
    numbers = column.cast("float64").to_numpy() if len(column) else np.zeros(0)
    missing = ~np.isfinite(numbers)
    if missing.any():
        raise InputError(
            "step-missing",
            f"{int(tokens[missing].sum()):,} of {int(tokens.sum()):,} rows have no step (null, nan, or text "
            "that is no whole number)",
            "give every token its step, or leave these rows out",
        )
    broken = (numbers != np.floor(numbers)) | (np.abs(numbers) > _LARGEST_STEP)
    if broken.any():
        raise InputError(
            "step-not-whole",
            f"step {numbers[broken].min():g} is no whole number below 2^53 "
            f"({int(tokens[broken].sum()):,} rows)",
            "name the column of steps with --step; an epoch or a time is none",
        )
    steps: IntArray = column.to_numpy().astype(np.int64, copy=False)
    return steps


def merged(parts: Sequence[Sums]) -> Sums:
    """The sums of several shards: exactly those of all their tokens, read at once.

    Where the responses of a shard are not kept, those of a step that lies in several shards are not known:
    some may have tokens in two. Responses are known only where they are in all shards, prompts likewise.
    """
    sums = Sums(
        cells=added([part.cells for part in parts]),
        has_logprob=all(part.has_logprob for part in parts),
    )
    known = [part.responses for part in parts if part.responses is not None]
    if len(known) < len(parts):
        return sums
    clusters = [part.prompts for part in parts if part.prompts is not None]
    prompts = len(clusters) == len(parts)
    kept = [part.each for part in parts if part.each is not None]
    if len(kept) == len(parts):
        sums = with_responses(sums, responses.joined(kept), prompts=prompts)
        return sums if len(sums.each.step) <= responses.MOST else replace(sums, each=None)  # type: ignore[union-attr]
    return replace(
        sums,
        responses=responses.joined_by_step(known),
        prompts=responses.joined_by_step(clusters) if prompts else None,
    )


def with_masked(sums: Sums, everything: Sums) -> Sums:
    """The sums, and beside them the tokens of ``everything`` that a mask leaves out."""
    here = np.isin(everything.cells["bin"], (MASKED, NO_MASK))
    masked = {name: values[here] for name, values in everything.cells.items()}
    return replace(sums, cells=added([sums.cells, masked]))


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
    their ``entropy`` summed (nats). Rows without edges count what is no entropy; ``bin`` says what. Each
    step's first row has the lists of its responses, unless they are too many.
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
    if sums.each is not None:
        columns |= responses.to_lists(sums.each, cells["step"])
    facts = {
        "format": FORMAT,
        "has_logprob": sums.has_logprob,
        "responses": responses.to_facts(sums.responses),
        "prompts": responses.to_facts(sums.prompts),
        **about,
    }
    return pa.table(columns).replace_schema_metadata({METADATA: json.dumps(facts, sort_keys=True).encode()})


def identity(sums: Sums) -> str:
    """A hash of the sums: a summary and the histograms beside it name the same one."""
    digest = hashlib.blake2b(digest_size=12)
    for name in (*KEYS, *SUMS):
        digest.update(np.ascontiguousarray(sums.cells[name]).tobytes())
    digest.update(json.dumps([responses.to_facts(x) for x in (sums.responses, sums.prompts)]).encode())
    return digest.hexdigest()


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
            f"{type(problem).__name__}",
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
    return Sums(
        cells=added([cells]),
        has_logprob=facts.pop("has_logprob"),
        responses=responses.from_facts(facts.pop("responses")),
        # An earlier version knew no prompts and kept no responses one by one.
        prompts=responses.from_facts(facts.pop("prompts", None)),
        each=responses.from_lists(table),
    ), facts


def _codes(column: pa.ChunkedArray, codes: dict[Any, int]) -> IntArray:
    encoded = column.combine_chunks().dictionary_encode()
    lookup = np.array(
        [codes.get(value, -1) for value in encoded.dictionary.to_pylist()] + [-1], dtype=np.int64
    )
    found: IntArray = lookup[encoded.indices.fill_null(len(lookup) - 1).to_numpy()]
    return found
