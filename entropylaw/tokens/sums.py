"""Exact sums over tokens: what the query returns, merged with that of other shards, on disk and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from entropylaw.errors import InputError
from entropylaw.ingest.wording import shown
from entropylaw.tokens import query, responses
from entropylaw.tokens.files import METADATA, facts_of
from entropylaw.tokens.query import BINS, EDGES, POINT, IntArray
from entropylaw.tokens.responses import ByStep, Each, added

KEYS = ("step", "planning", "correct", "bin")
SUMS = ("tokens", "total", "square_high", "square_low", "logprobs", "logprob_total")
FORMAT = "entropylaw tokens 1"

_CLASSES, _ANSWERS = ("execution", "planning"), (False, True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """Sorted cells (m,): by step, class, correctness and bin; and the responses of each step, if known.

    ``each`` are the responses one by one, None where they were too many to keep; ``responses`` and
    ``prompts`` what responses and prompts sum to, None where no column tells them apart.
    """

    cells: dict[str, IntArray]
    has_logprob: bool
    responses: ByStep | None = None
    prompts: ByStep | None = None
    each: Each | None = None

    @property
    def number(self) -> int:
        """Responses of all steps in which they are known."""
        return sum(one.number for one in (self.responses or {}).values() if one)

    @property
    def steps(self) -> list[int]:
        """Steps, ascending."""
        return [int(step) for step in np.unique(self.cells["step"])]

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Which cells (m,) are entropies, and not tokens that are left out."""
        return np.asarray((self.cells["bin"] >= 0) | (self.cells["bin"] == query.ROUNDED))

    def counts(self) -> dict[int, int]:
        """Tokens by bin, or by the code that stands in its place."""
        totals = added([{name: self.cells[name] for name in ("bin", "tokens")}], ("bin",), ("tokens",))
        return dict(zip(totals["bin"].tolist(), totals["tokens"].tolist(), strict=True))

    def identity(self) -> str:
        """A hash of the sums: a summary and the histograms beside it name the same one."""
        digest = hashlib.blake2b(digest_size=12)
        for name in (*KEYS, *SUMS):
            digest.update(np.ascontiguousarray(self.cells[name]).tobytes())
        digest.update(json.dumps([responses.to_facts(x) for x in (self.responses, self.prompts)]).encode())
        return digest.hexdigest()

    @classmethod
    def from_table(cls, cells: pa.Table) -> Sums:
        """Sums without responses from the query's result; InputError ``step-missing``, ``step-not-whole``."""
        column, tokens = cells.column("step"), cells.column("tokens").to_numpy()
        numbers = column.cast("float64").to_numpy() if len(column) else np.zeros(0)
        missing = ~np.isfinite(numbers)
        if missing.any():
            message = f"{int(tokens[missing].sum()):,} of {int(tokens.sum()):,} rows have no step "
            message += "(null, nan, or text that is no whole number)"
            raise InputError("step-missing", message, "give every token its step, or leave these rows out")
        broken = (numbers != np.floor(numbers)) | (np.abs(numbers) > 2.0**53)
        if broken.any():
            message = f"step {numbers[broken].min():g} is no whole number below 2^53 "
            message += f"({int(tokens[broken].sum()):,} rows)"
            hint = "name the column of steps with --step; an epoch or a time is none"
            raise InputError("step-not-whole", message, hint)
        has_logprob = "logprobs" in cells.column_names
        columns = dict.fromkeys((*KEYS, *SUMS), np.zeros(len(tokens), dtype=np.int64))
        for name in cells.column_names:
            columns[name] = cells.column(name).to_numpy().astype(np.int64, copy=False)
            # Each column is in memory once: the caller keeps no other hold of the table.
            cells = cells.drop_columns([name])
        return cls(cells=added([columns], KEYS, SUMS), has_logprob=has_logprob)

    def with_responses(self, each: Each, *, prompts: bool) -> Sums:
        """The sums with their responses, one by one and by step."""
        # Prompts in place of responses: the tokens of all responses to one are one cluster.
        clusters = responses.joined([replace(each, key=each.prompt)]).by_step() if prompts else None
        return replace(self, each=each, responses=each.by_step(), prompts=clusters)

    @classmethod
    def merged(cls, parts: Sequence[Sums]) -> Sums:
        """The sums of several shards: exactly those of all their tokens, read at once.

        Responses are known only where they are in all shards, prompts likewise. Where those of a shard are
        not kept, they are unknown in steps of several shards: some may have tokens in two.
        """
        has_logprob = all(part.has_logprob for part in parts)
        sums = cls(cells=added([part.cells for part in parts], KEYS, SUMS), has_logprob=has_logprob)
        known, clusters, kept = (
            [found for part in parts if (found := getattr(part, name)) is not None]
            for name in ("responses", "prompts", "each")
        )
        if len(known) < len(parts):
            return sums
        prompts = len(clusters) == len(parts)
        if len(kept) == len(parts):
            sums = sums.with_responses(each := responses.joined(kept), prompts=prompts)
            return sums if len(each.step) <= responses.MOST else replace(sums, each=None)
        by_prompt = responses.joined_by_step(clusters) if prompts else None
        return replace(sums, responses=responses.joined_by_step(known), prompts=by_prompt)

    def with_masked(self, everything: Sums) -> Sums:
        """The sums, and beside them the tokens of ``everything`` that a mask leaves out."""
        here = np.isin(everything.cells["bin"], (query.MASKED, query.NO_MASK))
        masked = {name: values[here] for name, values in everything.cells.items()}
        return replace(self, cells=added([self.cells, masked], KEYS, SUMS))

    def by_quantile(self, share: float) -> tuple[Sums, dict[int, float]]:
        """Call the ``share`` of each step's tokens with most entropy planning, the rest execution.

        The cut is the edge of a bin, the one that comes nearest to ``share``, so that sums stay exact and
        shards still add up. Returns the sums with these classes, and the cut of each step in nats.
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
        return replace(self, cells=added([self.cells | {"planning": planning}], KEYS, SUMS)), cuts

    def to_arrow(self, about: dict[str, Any]) -> pa.Table:
        """The sums as a table that a heat map can be drawn from, and that :meth:`read` reads back.

        A row is a bin of one step, class and correctness: its edges ``low`` and ``high`` in nats, its
        ``tokens``, their ``entropy`` summed (nats). Rows without edges count what is no entropy; ``bin`` says
        what. Each step's first row has the lists of its responses, unless they are too many.
        """
        cells = self.cells
        regular, at = cells["bin"] >= 0, np.maximum(cells["bin"], 0)
        columns = {
            "step": pa.array(cells["step"]),
            "class": pa.array([None, None, *_CLASSES]).take(pa.array(cells["planning"] + 2)),
            "correct": pa.array([None, None, *_ANSWERS]).take(pa.array(cells["correct"] + 2)),
            "low": pa.array(EDGES[at], mask=~regular),
            "high": pa.array(EDGES[at + 1], mask=~regular),
            "tokens": pa.array(cells["tokens"]),
            "entropy": pa.array(cells["total"] / POINT, mask=~regular),
            "bin": pa.array(cells["bin"].astype(np.int16)),
            **{name: pa.array(cells[name]) for name in SUMS[1:]},
        }
        if self.each is not None:
            columns |= responses.to_lists(self.each, cells["step"])
        by_step = {name: responses.to_facts(getattr(self, name)) for name in ("responses", "prompts")}
        facts = {"format": FORMAT, "has_logprob": self.has_logprob, **by_step, **about}
        stored = {METADATA: json.dumps(facts, sort_keys=True).encode()}
        return pa.table(columns).replace_schema_metadata(stored)

    @classmethod
    def read(cls, path: Path) -> tuple[Sums, dict[str, Any]]:
        """Sums of :meth:`to_arrow` and what is beside; InputError ``not-token-sums``, ``file-corrupt``."""
        hint = "write it again with entropylaw tokens"
        try:
            table = pq.read_table(path)
        except (pa.ArrowException, OSError, ValueError) as problem:
            message = f"{shown(path.name)} cannot be read as Parquet: {shown(str(problem).splitlines()[0])}"
            raise InputError("file-corrupt", message, hint) from None
        facts = facts_of(table.schema.metadata)
        if facts.get("format") != FORMAT or "bin" not in table.column_names:
            found = f"format {shown(str(facts.get('format', 'none')))}, expected {shown(FORMAT)}"
            message = f"{shown(path.name)} is named like sums of tokens and holds {found}"
            hint = "give the tokens themselves, or a .hist.parquet that entropylaw tokens wrote"
            raise InputError("not-token-sums", message, hint)
        try:
            cells = {name: table.column(name).to_numpy().astype(np.int64) for name in ("step", "bin", *SUMS)}
            cells["planning"] = _codes(table.column("class"), _CLASSES)
            cells["correct"] = _codes(table.column("correct"), _ANSWERS)
            return cls(
                cells=added([cells], KEYS, SUMS),
                has_logprob=facts.pop("has_logprob"),
                responses=responses.from_facts(facts.pop("responses")),
                # An earlier version knew no prompts and kept no responses one by one.
                prompts=responses.from_facts(facts.pop("prompts", None)),
                each=responses.from_lists(table),
            ), facts
        except (pa.ArrowException, KeyError, TypeError, ValueError, AttributeError) as problem:
            message = f"{shown(path.name)} says that it holds sums of tokens, and they are damaged: "
            raise InputError("file-corrupt", message + type(problem).__name__, hint) from None


def _codes(column: pa.ChunkedArray, names: Sequence[Any]) -> IntArray:
    """The place of each value among ``names``, -1 for any other."""
    values = pa.array(names)
    return np.asarray(pc.index_in(column.cast(values.type), values).fill_null(-1), dtype=np.int64)
