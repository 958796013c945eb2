"""Classes of tokens that no column names: by the entropy itself, or by strategic n-grams in the text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from entropylaw.errors import InputError
from entropylaw.tokens.expression import EXECUTION, PLANNING, ROUNDED, UNCLASSED, TokenColumns, kept
from entropylaw.tokens.grid import BINS, EDGES, IntArray
from entropylaw.tokens.sums import Sums, added

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from entropylaw.tokens.grams import GramList
    from entropylaw.tokens.gramscan import GramScan


def by_quantile(sums: Sums, share: float) -> tuple[Sums, dict[int, float]]:
    """Call the ``share`` of each step's tokens with most entropy planning, the rest execution.

    The cut is the edge of a bin, the one that comes nearest to ``share``, so that sums stay exact and
    shards still add up; the share that it leaves above is in the summary.

    Returns
    -------
    Sums, dict
        The sums with these classes; the cut of each step in nats.

    """
    cells = {name: values.copy() for name, values in sums.cells.items()}
    cuts = {}
    for step in sums.steps:
        rows = np.flatnonzero(cells["step"] == step)
        bins = cells["bin"][rows]
        counts = np.zeros(BINS, dtype=np.int64)
        np.add.at(counts, np.maximum(bins, 0), cells["tokens"][rows] * ((bins >= 0) | (bins == ROUNDED)))
        cut = _cut(counts, share)
        cuts[step] = float(EDGES[cut])
        code = np.where(bins >= cut, PLANNING, EXECUTION)
        cells["planning"][rows] = np.where((bins >= 0) | (bins == ROUNDED), code, UNCLASSED)
    return replace(sums, cells=added([cells])), cuts


def _cut(counts: IntArray, share: float) -> int:
    """First bin of the upper class: the edge above which the share of tokens is nearest to ``share``."""
    above = np.append(np.cumsum(counts[::-1])[::-1], 0)
    return int(np.argmin(np.abs(above - share * above[0])))


def check_text(columns: TokenColumns) -> None:
    """Notice that grams cannot be looked for.

    Raises
    ------
    InputError
        ``grams-need-text``.

    """
    needed = {"--token": columns.token, "--response": columns.response, "--position": columns.position}
    missing = [option for option, found in needed.items() if not found]
    if missing:
        raise InputError(
            "grams-need-text",
            "grams are matched in the text of each response, and no column was found for "
            f"{', '.join(option.removeprefix('--') for option in missing)}",
            f"name it with {', '.join(missing)}; token ids need the tokenizer and are no text",
        )


def mark(ordered: Path, columns: TokenColumns, grams: GramList, target: Path) -> GramScan:
    """Write a token table with its classes by n-grams to ``target``, a Parquet file.

    ``ordered`` is one too, by step, response and position (:func:`in_order`), and is read piece by piece.
    Beside the columns that a summary needs, the new one has ``gramscan.PLANNING`` and ``PLANNING_LONG``:
    part of any gram, and part of one of more than two words. Returns what the grams themselves amount to.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from entropylaw.tokens.gramscan import GramColumns, GramScan

    assert columns.position is not None
    assert columns.token is not None
    scan = GramScan(
        grams,
        GramColumns(
            step=columns.step, response=columns.response, position=columns.position, token=columns.token
        ),
    )
    writer: Any = None
    try:
        for batch in scan.batches(pq.ParquetFile(ordered).iter_batches()):
            dropped = [name for name in (columns.token, columns.position) if name in batch.schema.names]
            marked = pa.Table.from_batches([batch]).drop_columns(dropped)
            writer = writer or pq.ParquetWriter(target, marked.schema)
            writer.write_table(marked)
        if writer is None:
            raise InputError(
                "no-records", "no row is left to look for grams in", "check the table and its mask"
            )
    finally:
        if writer is not None:
            writer.close()
    return scan


def in_order(table: ir.Table, columns: TokenColumns) -> ir.Table:
    """The columns that are needed of the tokens that count, by step, response and position."""
    names = dict.fromkeys((columns.step, *columns.response, columns.position))
    rows = kept(table, columns).select(*columns.all)
    return rows.order_by(*(name for name in names if name is not None))
