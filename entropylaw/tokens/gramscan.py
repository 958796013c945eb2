"""Grams over a table of tokens, batch by batch: the class of every row, and the entropy of the plan by step.

The table is ordered by response and, within it, by position. It passes through once; what is kept in memory
is one chunk of whole responses and 20 bytes for every occurrence of a gram.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from entropylaw.errors import InputError, UsageError
from entropylaw.ingest.wording import listing, shown
from entropylaw.tokens.grams import (
    BoolArray,
    GramList,
    IntArray,
    Notation,
    match_tokens,
    token_bytes,
    token_notation,
)
from entropylaw.tokens.semantic import CountEntropy, columns_of, conditional_entropy, semantic_entropy

if TYPE_CHECKING:
    import pyarrow as pa

PLANNING = "planning_by_gram"
"""Column of the rows that a gram covers."""

PLANNING_LONG = "planning_by_long_gram"
"""The same without the grams of one or two words."""

CHUNK_ROWS = 65_536
"""Rows that are matched at once, and then the end of their last response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GramColumns:
    """Names of the columns: ``response`` are those that, with the step, tell one response from another.

    ``position`` must rise within a response, and a jump in it ends the text; None where there is no such
    column. ``cluster`` are the columns whose equal values make a cluster for the standard errors: the
    response where it is empty, or the prompt.
    """

    step: str = "step"
    response: tuple[str, ...] = ("response",)
    position: str | None = "position"
    token: str = "token"
    cluster: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, each once."""
        position = () if self.position is None else (self.position,)
        return tuple(dict.fromkeys((self.step, *self.response, *position, self.token, *self.cluster)))


@dataclass(frozen=True, slots=True, kw_only=True)
class GramEntropy:
    """The entropy of the plan by step, and how much text it comes from.

    ``steps``, ``tokens``, ``responses`` and ``planning`` (tokens that a gram covers) have one entry a step;
    ``unfollowed`` counts occurrences with nothing after them, which ``conditional`` leaves out.
    """

    grams: GramList
    steps: IntArray
    tokens: IntArray
    responses: IntArray
    planning: IntArray
    unfollowed: IntArray
    semantic: CountEntropy
    conditional: CountEntropy

    def table(self) -> pa.Table:
        """One row a step: ``grams``, ``gram_types``, ``entropy_semantic…``, ``entropy_conditional…``."""
        import pyarrow as pa

        return pa.table(
            {
                "step": self.steps,
                "tokens": self.tokens,
                "responses": self.responses,
                "planning_tokens": self.planning,
                "grams": self.semantic.count,
                "gram_types": self.semantic.types,
                **_floats(columns_of(self.semantic, "entropy_semantic")),
                "gram_pairs": self.conditional.count,
                "gram_contexts": self.conditional.contexts,
                "grams_unfollowed": self.unfollowed,
                **_floats(columns_of(self.conditional, "entropy_conditional")),
            }
        )


@dataclass(slots=True)
class _Tally:
    """What is kept of the rows: totals by step, and four numbers an occurrence."""

    by_step: dict[int, IntArray] = field(default_factory=dict)
    parts: list[tuple[NDArray[np.integer[Any]], ...]] = field(default_factory=list)
    followers: dict[str, int] = field(default_factory=dict)
    clusters: dict[Any, int] = field(default_factory=dict)


class GramScan:
    """One pass over a table of tokens; rows of a response stand together, which is not checked.

    Parameters
    ----------
    grams
        The list; results without its short entries come from the same pass.
    columns
        Names of the columns.
    notation
        How the tokenizer wrote the tokens; None to tell from the tokens, chunk by chunk until one has a
        leading space.
    follow
        Words that make what follows a gram, or tokens with ``follow_tokens``.

    """

    def __init__(
        self,
        grams: GramList,
        columns: GramColumns | None = None,
        *,
        notation: Notation | None = None,
        follow: int = 1,
        follow_tokens: bool = False,
        chunk_rows: int = CHUNK_ROWS,
    ) -> None:
        if follow < 1:
            raise UsageError("bad-follow", f"{follow} words follow a gram, at least 1 was expected", "pass 1")
        self.grams = grams
        self.columns = columns or GramColumns()
        self.notation = notation
        self.follow = follow
        self.follow_tokens = follow_tokens
        self.chunk_rows = chunk_rows
        self._tally = _Tally()
        self._responses = 0

    def batches(self, source: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows as they come, with two boolean columns more: see :data:`PLANNING`.

        Raises
        ------
        InputError
            ``tokens-without-column`` where a column is missing, or a step, response or position is null;
            ``tokens-without-text`` where the tokens are no text; ``tokens-unordered`` where a position does
            not rise within a response.

        """
        import pyarrow as pa

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
                waiting = table.slice(cut).to_batches()
                rows = table.num_rows - cut
                enough = max(self.chunk_rows, 2 * rows)
        if rows:
            yield from self._classified(pa.Table.from_batches(waiting).combine_chunks())

    def result(
        self, *, long_only: bool = False, common: int | None = None, common_pairs: int | None = None
    ) -> GramEntropy:
        """Return the entropy of the plan over the rows that have passed.

        ``long_only`` leaves out grams of one or two words, as if they were not in the list. ``common`` and
        ``common_pairs`` are the numbers of occurrences and of pairs to rarefy to.
        """
        tally = self._tally
        empty = tuple(np.zeros(0, dtype=np.int64) for _ in range(4))
        step, gram, cluster, follower = (
            np.concatenate(column) for column in zip(*(tally.parts or [empty]), strict=True)
        )
        chosen = self.grams.without_short() if long_only else self.grams
        if long_only:
            kept = np.isin(gram, np.flatnonzero(np.array(self.grams.words) > 2))
            step, gram, cluster, follower = (c[kept] for c in (step, gram, cluster, follower))
        steps = np.array(sorted(tally.by_step), dtype=np.int64)
        totals = np.array([tally.by_step[s] for s in steps.tolist()], dtype=np.int64).reshape(-1, 4)
        paired = follower >= 0
        semantic = semantic_entropy(step, gram, cluster=cluster, steps=steps, common=common)
        conditional = conditional_entropy(
            step[paired],
            gram[paired],
            follower[paired],
            cluster=cluster[paired],
            steps=steps,
            common=common_pairs,
        )
        return GramEntropy(
            grams=chosen,
            steps=steps,
            tokens=totals[:, 0],
            responses=totals[:, 1],
            planning=totals[:, 3 if long_only else 2],
            unfollowed=semantic.count - conditional.count,
            semantic=semantic,
            conditional=conditional,
        )

    def _starts(self, table: pa.Table) -> BoolArray:
        """Rows at which a response begins."""
        import pyarrow.compute as pc

        missing = [name for name in self.columns.names if name not in table.column_names]
        if missing:
            raise InputError(
                "tokens-without-column",
                f"the tokens have no column {listing(missing)}, found {listing(table.column_names)}",
                "name the columns of step, response, position and token",
            )
        starts = np.zeros(table.num_rows, dtype=bool)
        starts[0] = True
        for name in dict.fromkeys((self.columns.step, *self.columns.response)):
            column = _plain(table[name], name)
            starts[1:] |= np.asarray(pc.not_equal(column[1:], column[:-1]), dtype=bool)
        return starts

    def _classified(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        starts = self._starts(table)
        breaks = starts | self._jumps(table, starts)
        found = match_tokens(
            self.grams, self._texts(table), breaks, self.follow, follow_tokens=self.follow_tokens
        )
        step = _integers(table[self.columns.step], self.columns.step)
        self._count(step, starts, found.covered, found.covered_long)
        names = self._tally.followers
        follower = [-1 if f is None else names.setdefault(f, len(names)) for f in found.follower]
        cluster = self._clusters(table, starts)
        # Three of the four fit in 32 bits, and there can be millions of each.
        short = (np.asarray(c, dtype=np.int32) for c in (found.gram, cluster[found.start], follower))
        self._tally.parts.append((step[found.start], *short))
        for name, mask in ((PLANNING, found.covered), (PLANNING_LONG, found.covered_long)):
            table = table.append_column(name, pa.array(mask))
        yield from table.to_batches()

    def _texts(self, table: pa.Table) -> list[bytes]:
        import pyarrow as pa

        column = table[self.columns.token].combine_chunks()
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
            raise InputError(
                "tokens-without-text",
                f"column {shown(self.columns.token)} holds {kind}, the text of tokens was expected",
                "decode the token ids with the run's tokenizer first",
            )
        coded = column.cast(pa.string()).dictionary_encode()
        names = coded.dictionary.to_pylist()
        if self.notation is None:
            self.notation = token_notation(column.drop_null().slice(0, 100_000).cast(pa.string()).to_pylist())
        texts = [token_bytes(name, self.notation or "plain") for name in names]
        texts.append(b"\0")  # of a token that is null nothing is known: no gram reaches over it
        index = coded.indices.fill_null(len(names)).to_pylist()
        return [texts[i] for i in index]

    def _jumps(self, table: pa.Table, starts: BoolArray) -> BoolArray:
        """Rows before which positions are left out."""
        name = self.columns.position
        if name is None:
            return np.zeros(len(starts), dtype=bool)
        position = _integers(table[name], name)
        rise = np.diff(position, prepend=position[0])
        back = np.flatnonzero((rise <= 0) & ~starts)
        if len(back):
            before, here = position[back[0] - 1], position[back[0]]
            raise InputError(
                "tokens-unordered",
                f"column {shown(name)} goes from {before} to {here} within one response, "
                "it was expected to rise",
                "order the rows by step, response and position, and name every column of the response's key",
            )
        return np.asarray((rise > 1) & ~starts)

    def _count(self, step: IntArray, starts: BoolArray, covered: BoolArray, long: BoolArray) -> None:
        steps, which = np.unique(step, return_inverse=True)
        sums = [np.bincount(which, mask) for mask in (np.ones(len(step)), starts, covered, long)]
        for number, row in zip(steps.tolist(), np.stack(sums, 1).astype(np.int64), strict=True):
            self._tally.by_step[number] = self._tally.by_step.get(number, 0) + row

    def _clusters(self, table: pa.Table, starts: BoolArray) -> IntArray:
        """Cluster of every row; a response lies within one."""
        number = np.cumsum(starts) - 1
        if not self.columns.cluster:
            self._responses += int(number[-1]) + 1
            return np.asarray((number + self._responses - number[-1] - 1).astype(np.int32))
        firsts = table.select(list(self.columns.cluster)).take(np.flatnonzero(starts))
        keys = zip(*(column.to_pylist() for column in firsts.columns), strict=True)
        known = self._tally.clusters
        codes = np.array([known.setdefault(key, len(known)) for key in keys], dtype=np.int32)
        return np.asarray(codes[number])


def _plain(column: pa.ChunkedArray, name: str) -> pa.Array:
    """One array, decoded, without nulls."""
    import pyarrow as pa

    array = column.combine_chunks()
    if array.null_count:
        raise InputError(
            "tokens-without-column",
            f"column {shown(name)} is null in {array.null_count} rows",
            "leave out rows whose step, response or position is unknown",
        )
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _integers(column: pa.ChunkedArray, name: str) -> IntArray:
    import pyarrow as pa

    array = _plain(column, name)
    try:
        return np.asarray(array.cast(pa.int64()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError(
            "tokens-without-column",
            f"column {shown(name)} holds {array.type}, whole numbers were expected",
            "name the columns of step, response, position and token",
        ) from None


def _floats(columns: dict[str, Any]) -> dict[str, Any]:
    """Columns of known type, also where all entries are None."""
    import pyarrow as pa

    kinds = {"note": pa.string(), "n": pa.int64()}
    return {
        name: pa.array(values, kinds.get(name.rsplit("_", 1)[-1], pa.float64()))
        for name, values in columns.items()
    }
