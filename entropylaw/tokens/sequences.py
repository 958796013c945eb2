"""Tables with a sequence a row: what their lists leave open, and one row a token from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from entropylaw.errors import InputError
from entropylaw.ingest.wording import counted, listing, shown

if TYPE_CHECKING:
    import ibis.expr.types as ir

ROW = "entropylaw_row"
"""Column that numbers the rows, each with a number of its own, where nothing else tells responses apart."""


def unrolled(table: ir.Table, lists: Sequence[str], scalars: Sequence[str]) -> ir.Table:
    """One row a token from one row a sequence: aligned arrays ``lists`` unrolled, ``scalars`` repeated.

    A list that is null counts as empty, so that its values are null where another list has tokens.
    """
    import ibis

    known = table.select(
        *scalars,
        **{name: table[name].fill_null(ibis.literal([], type=table[name].type())) for name in lists},
    )
    first, *others = (known[name] for name in lists)
    if not others:
        return known.select(*scalars, **{lists[0]: first.unnest()})
    rows = known.select(*scalars, _token=first.zip(*others).unnest())
    fields = {name: rows["_token"][f"f{index}"] for index, name in enumerate(lists, start=1)}
    return rows.select(*scalars, **fields)


def inspected(table: ir.Table, entropy: str, step: ir.Value, lists: Sequence[str]) -> ir.Table:
    """One row: how many sequences there are, how many lists are null, empty, or as long as no other.

    ``rows``, ``empty`` (no entropies), ``no_i`` (list i is null), and for each list but the entropies
    ``other_i`` (its length is not theirs) with ``step_i``, the least such step.
    """
    length = table[entropy].length()
    sums = {"rows": table.count(), "empty": (length == 0).fill_null(False).sum()}
    for number, name in enumerate(lists):
        sums[f"no_{number}"] = table[name].isnull().sum()
        if name != entropy:
            other = (table[name].length() != length).fill_null(False)
            sums[f"other_{number}"] = other.sum()
            sums[f"step_{number}"] = step.min(where=other)
    return table.aggregate(**sums)


def check_lists(found: dict[str, Any], entropy: str, lists: Sequence[str]) -> list[str]:
    """Notes on lists that are null or empty, from the row that :func:`inspected` gives.

    Raises
    ------
    InputError
        ``lists-differ`` where a list is not as long as that of the entropies beside it.

    """
    rows, notes = found["rows"], []
    for number, name in enumerate(lists):
        unlike = found.get(f"other_{number}")
        if unlike:
            raise InputError(
                "lists-differ",
                f"{shown(name)} has another length than {shown(entropy)} in {unlike:,} of {rows:,} "
                f"sequences, first at step {found[f'step_{number}']:g}: no token can be told from the next",
                f"write lists of one length, one value a token, or leave {shown(name)} out",
            )
    for number, name in enumerate(lists):
        absent = found[f"no_{number}"]
        if absent:
            notes.append(
                f"{absent:,} of {counted(rows, 'sequence')} have no list {shown(name)}: "
                + ("their tokens have no entropy" if name == entropy else "its values are unknown there")
            )
    if found["empty"]:
        notes.append(f"{found['empty']:,} of {counted(rows, 'sequence')} have an empty list {shown(entropy)}")
    return notes


def left_out(lists: Sequence[str], entropy: str) -> str:
    """A note on lists beside entropies that are none."""
    return f"{listing(list(lists))} holds lists, and {shown(entropy)} one number a row: not used"
