"""Grams over a table of tokens, batch by batch: the class of every row, and the entropy of the plan by step.

The table passes through once; one chunk of whole responses is in memory, and 20 bytes for every occurrence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from entropylaw.errors import InputError
from entropylaw.ingest.wording import listing, shown
from entropylaw.tokens.grams import (
    SHORT,
    BoolArray,
    GramList,
    Notation,
    match_tokens,
    token_bytes,
    token_notation,
)
from entropylaw.tokens.query import IntArray, TokenColumns
from entropylaw.tokens.semantic import semantic_entropy

PLANNING, PLANNING_LONG = "planning_by_gram", "planning_by_long_gram"
"""Columns of the rows that a gram covers, and one of more than two words."""

_NAME_THEM = "name the columns of step, response, position and token"


def mark(ordered: Path, columns: TokenColumns, grams: GramList, target: Path) -> GramScan:
    """Write a token table with :data:`PLANNING` and :data:`PLANNING_LONG`, but no text, to a Parquet file.

    ``ordered`` is one too, by step, response and position (:func:`query.in_order`), read piece by piece.
    Returns what the grams themselves amount to.
    """
    scan = GramScan(grams, columns)
    batches = scan.batches(pq.ParquetFile(ordered).iter_batches())
    tables = (pa.Table.from_batches([one]).drop_columns([columns.token, columns.position]) for one in batches)
    first = next(tables, None)
    if first is None:
        raise InputError("no-records", "no row is left to look for grams in", "check the table and its mask")
    with pq.ParquetWriter(target, first.schema) as writer:
        for table in chain([first], tables):
            writer.write_table(table)
    return scan


class GramScan:
    """One pass over a table of tokens; rows of a response stand together, which is not checked.

    Parameters
    ----------
    grams
        The list; results without its short entries come from the same pass.
    columns
        Names of the columns: ``response`` are those that, with the step, tell one response from another;
        ``position`` must rise within a response, and a jump in it ends the text.
    chunk_rows
        Rows that are matched at once, and then the end of their last response.

    How the tokenizer wrote the tokens shows in the tokens, chunk by chunk until one has a leading space.
    """

    def __init__(self, grams: GramList, columns: TokenColumns, *, chunk_rows: int = 65_536) -> None:
        assert columns.position is not None and columns.token is not None  # noqa: PT018
        self.grams, self.chunk_rows = grams, chunk_rows
        self._key = tuple(dict.fromkeys((columns.step, *columns.response)))
        self._step, self._position, self._token = columns.step, columns.position, columns.token
        self._notation: Notation | None = None
        self._responses, self._steps = 0, set[int]()
        self._followers: dict[str, int] = {}
        # Four numbers an occurrence: step, gram, response, follower.
        self._parts: list[tuple[NDArray[np.integer[Any]], ...]] = []

    def batches(self, source: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows as they come, with two boolean columns more: see :data:`PLANNING`.

        InputErrors are ``tokens-without-column`` (or a step, response or position is null),
        ``tokens-without-text``, and ``tokens-unordered`` where a position does not rise within a response.
        """
        waiting: list[pa.RecordBatch] = []
        rows, enough = 0, self.chunk_rows
        for batch in source:
            if batch.num_rows:
                waiting.append(batch)
                rows += batch.num_rows
            if rows >= enough:
                table = pa.Table.from_batches(waiting).combine_chunks()
                starts = self._starts(table)
                cut = int(np.flatnonzero(starts)[-1])
                if cut:
                    yield from self._classified(table.slice(0, cut))
                else:
                    self._jumps(table, starts)  # rather than gathering all rows where the key is no key
                waiting, rows = table.slice(cut).to_batches(), table.num_rows - cut
                enough = max(self.chunk_rows, 2 * rows)
        if rows:
            yield from self._classified(pa.Table.from_batches(waiting).combine_chunks())

    def result(self, *, long_only: bool = False) -> pa.Table:
        """Return the entropy of the plan over the rows that have passed, one row a step.

        ``step, grams, gram_types, entropy_semantic…`` of the occurrences, ``gram_pairs, gram_contexts,
        entropy_conditional…`` of those with a word after them, ``grams_unfollowed`` without; the names are
        those of :meth:`CountEntropy.columns`. ``long_only`` leaves out grams of one or two words.
        """
        parts = self._parts or [(np.zeros(0, dtype=np.int64),) * 4]
        step, gram, response, follower = map(np.concatenate, zip(*parts, strict=True))
        kept = np.array(self.grams.words)[gram] > (SHORT if long_only else 0)
        steps = np.array(sorted(self._steps), dtype=np.int64)
        plans = semantic_entropy(step[kept], gram[kept], cluster=response[kept], steps=steps)
        kept &= follower >= 0
        step, follower, gram, response = step[kept], follower[kept], gram[kept], response[kept]
        next_words = semantic_entropy(step, follower, context=gram, cluster=response, steps=steps)
        columns = {"step": steps, "grams": plans.count, "gram_types": plans.types}
        columns |= plans.columns("entropy_semantic")
        columns |= {"gram_pairs": next_words.count, "gram_contexts": next_words.contexts}
        columns |= {"grams_unfollowed": plans.count - next_words.count}
        return pa.table(columns | next_words.columns("entropy_conditional"))

    def _starts(self, table: pa.Table) -> BoolArray:
        """Rows at which a response begins."""
        missing = [n for n in (*self._key, self._position, self._token) if n not in table.column_names]
        if missing:
            message = f"the tokens have no column {listing(missing)}, found {listing(table.column_names)}"
            raise InputError("tokens-without-column", message, _NAME_THEM)
        starts: BoolArray = np.arange(table.num_rows) == 0
        for column in (_plain(table, name) for name in self._key):
            starts[1:] |= np.asarray(pc.not_equal(column[1:], column[:-1]), dtype=bool)
        return starts

    def _classified(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        starts = self._starts(table)
        breaks = starts | self._jumps(table, starts)
        found = match_tokens(self.grams, self._texts(table[self._token].combine_chunks()), breaks)
        step = _integers(table, self._step)
        self._steps.update(step.tolist())
        names = self._followers
        follower = [-1 if f is None else names.setdefault(f, len(names)) for f in found.follower]
        response = self._responses + np.cumsum(starts) - 1
        self._responses += int(starts.sum())
        # Three of the four fit in 32 bits, and there can be millions of each.
        short = (np.asarray(c, dtype=np.int32) for c in (found.gram, response[found.start], follower))
        self._parts.append((step[found.start], *short))
        table = table.append_column(PLANNING, pa.array(found.covered))
        yield from table.append_column(PLANNING_LONG, pa.array(found.covered_long)).to_batches()

    def _texts(self, column: pa.Array) -> list[bytes]:
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if kind not in (pa.string(), pa.large_string(), pa.string_view()):
            message = f"column {shown(self._token)} holds {kind}, the text of tokens was expected"
            hint = "decode the token ids with the run's tokenizer first"
            raise InputError("tokens-without-text", message, hint)
        coded = column.cast(pa.string()).dictionary_encode()
        if self._notation is None:
            self._notation = token_notation(column.drop_null()[:100_000].cast(pa.string()).to_pylist())
        texts = [token_bytes(name, self._notation or "plain") for name in coded.dictionary.to_pylist()]
        # Nothing is known of a token that is null: no gram reaches over it.
        return [b"\0" if i is None else texts[i] for i in coded.indices.to_pylist()]

    def _jumps(self, table: pa.Table, starts: BoolArray) -> BoolArray:
        """Rows before which positions are left out."""
        position = _integers(table, self._position)
        rise = np.diff(position, prepend=position[0])
        back = np.flatnonzero((rise <= 0) & ~starts)
        if len(back):
            before, here = position[back[0] - 1], position[back[0]]
            message = f"column {shown(self._position)} goes from {before} to {here} within one response, "
            message += "it was expected to rise"
            hint = "order the rows by step, response and position, "
            hint += "and name every column of the response's key"
            raise InputError("tokens-unordered", message, hint)
        return np.asarray((rise > 1) & ~starts)


def _plain(table: pa.Table, name: str) -> pa.Array:
    """A column as one array, decoded, without nulls."""
    array = table[name].combine_chunks()
    if array.null_count:
        message = f"column {shown(name)} is null in {array.null_count} rows"
        hint = "leave out rows whose step, response or position is unknown"
        raise InputError("tokens-without-column", message, hint)
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _integers(table: pa.Table, name: str) -> IntArray:
    array = _plain(table, name)
    try:
        return np.asarray(array.cast(pa.int64()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        message = f"column {shown(name)} holds {array.type}, whole numbers were expected"
        raise InputError("tokens-without-column", message, _NAME_THEM) from None
