"""What makes a table of tokens no table of entropies, and what deserves a word beside the numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from entropylaw.errors import InputError
from entropylaw.tokens.expression import (
    HIGH,
    LEAST_LOGPROB,
    MASK_UNKNOWN,
    MASKED,
    MISSING,
    NEGATIVE,
    NO_MASK,
    NOT_BINARY,
    NOT_FINITE,
    ROUNDED,
    TOO_HIGH,
    UNCLASSED,
    UNKNOWN_CLASS,
    TokenColumns,
)
from entropylaw.tokens.grid import BINS, EDGES, LIMIT, POINT
from entropylaw.tokens.sums import Sums

_FEWEST_PADDED = 3
_SHARE_PADDED = 0.2
"""Share of the tokens above HIGH that padding has: of many nearly uniform choices a few agree by chance."""
_NO_TOKENS = {"tokens": 0, "total": 0, "first": 0}


def check(sums: Sums, columns: TokenColumns, strange: Sequence[str] = ()) -> None:
    """Refuse what is no entropy.

    Parameters
    ----------
    sums
        Sums over all tokens.
    columns
        The columns they were made from.
    strange
        Values of the class column that name no class.

    Raises
    ------
    InputError
        ``no-records``, ``mask-not-binary``, ``entropy-negative``, ``entropy-too-high``, ``all-masked``,
        ``entropy-missing``, ``class-unknown``, ``correct-not-binary``.

    """
    counts = sums.counts()
    rows = sum(counts.values())
    if not rows:
        raise InputError(
            "no-records", "the table has columns and no rows", "check that the run has logged something"
        )
    name = columns.entropy
    if counts.get(MASK_UNKNOWN):
        raise InputError(
            "mask-not-binary",
            f"{counts[MASK_UNKNOWN]:,} of {rows:,} values of '{columns.mask}' are neither 0 nor 1 "
            f"({_where(sums, MASK_UNKNOWN)})",
            "a mask is 1 (or true) for the tokens that count; name another with --mask, or --mask ''",
        )
    if counts.get(NEGATIVE):
        raise InputError(
            "entropy-negative",
            f"{counts[NEGATIVE]:,} of {rows:,} values of '{name}' are negative "
            f"({_where(sums, NEGATIVE)}), and an entropy is 0 or more",
            "negated entropies and log-probabilities are negative: name the entropies with --entropy",
        )
    _check_high(sums, columns, counts.get(TOO_HIGH, 0), rows)
    usable = rows - sum(counts.get(code, 0) for code in (MISSING, NOT_FINITE, MASKED, NO_MASK))
    if not usable and counts.get(MASKED, 0) + counts.get(NO_MASK, 0) == rows:
        raise InputError(
            "all-masked",
            f"'{columns.mask}' leaves out every one of {rows:,} rows",
            "a mask is 1 (or true) for the tokens that count; name another with --mask, or --mask ''",
        )
    if not usable:
        raise InputError(
            "entropy-missing",
            f"'{name}' has no number in any of {rows:,} rows",
            "name the column of entropies with --entropy",
        )
    _check_codes(sums, columns, strange)


def _check_high(sums: Sums, columns: TokenColumns, high: int, rows: int) -> None:
    if high:
        raise InputError(
            "entropy-too-high",
            f"{high:,} of {rows:,} values of '{columns.entropy}' are {LIMIT:.4g} nats or more "
            f"({_where(sums, TOO_HIGH)}), and a choice among a million tokens has at most 13.82",
            "entropies are per token and in nats: divide bits by 1.4427, and sums by their tokens",
        )


def above(sums: Sums) -> int:
    """Tokens so high that padding could be among them."""
    cells = sums.cells
    here = cells["bin"] >= int(np.searchsorted(EDGES, HIGH, side="right")) - 1
    return int(cells["tokens"][here].sum())


def check_padding(values: Sequence[dict[str, int]], above: int, rows: int, columns: TokenColumns) -> None:
    """Refuse high entropies that are one and the same, to rounding.

    Parameters
    ----------
    values
        The commonest of them, from the query ``high``.
    above
        Number of all of them.
    rows
        Number of all rows.
    columns
        The columns.

    Raises
    ------
    InputError
        ``entropy-padding``.

    """
    # What is rounded two ways can lie on both sides of a boundary between two values.
    counted = {row["value"]: row for row in values}
    groups = [[row, counted.get(value + 1, _NO_TOKENS)] for value, row in counted.items()]
    group = max(groups, key=lambda rows: sum(row["tokens"] for row in rows), default=[_NO_TOKENS])
    count, total, first = (sum(row[name] for row in group) for name in ("tokens", "total", "first"))
    if count < max(_FEWEST_PADDED, _SHARE_PADDED * above):
        return
    nats = total / count / POINT
    where = f", {first:,} of them at position 0" if first else ""
    raise InputError(
        "entropy-padding",
        f"{count:,} of {rows:,} values of '{columns.entropy}' are one and the same, {nats:.4f} nats = "
        f"log({round(math.exp(nats)):,}){where}: a uniform choice from a vocabulary, as padding has",
        "prime-rl pads position 0 so; name the mask of the tokens that count with --mask, or drop them",
    )


def _check_codes(sums: Sums, columns: TokenColumns, strange: Sequence[str]) -> None:
    unknown = sums.cells["planning"] == UNKNOWN_CLASS
    if unknown.any():
        raise InputError(
            "class-unknown",
            f"{int(sums.cells['tokens'][unknown].sum()):,} values of '{columns.planning}' name no class"
            + (f", such as {', '.join(repr(value) for value in strange)}" if strange else ""),
            "a class is planning or execution (or true and false, 1 and 0); name its column with --class, "
            "or --class '' for none",
        )
    broken = sums.cells["correct"] == NOT_BINARY
    if broken.any():
        raise InputError(
            "correct-not-binary",
            f"{int(sums.cells['tokens'][broken].sum()):,} values of '{columns.correct}' are neither 0 nor 1",
            "correctness is true or false, 1 or 0; name its column with --correct, or --correct '' for none",
        )


def _where(sums: Sums, code: int) -> str:
    steps = np.unique(sums.cells["step"][sums.cells["bin"] == code])
    return f"step {steps[0]}" if len(steps) == 1 else f"in {len(steps)} steps, first {steps[0]}"


def notes(sums: Sums) -> list[str]:
    """What was left out, and what the table does not say; a sentence each."""
    counts = sums.counts()
    told = []
    for code, words in (
        (MASKED, "masked"),
        (NO_MASK, "their mask is null, neither 0 nor 1"),
        (MISSING, "without a value"),
        (NOT_FINITE, "nan or infinite"),
    ):
        if counts.get(code):
            told.append(f"{counts[code]:,} of {sum(counts.values()):,} tokens left out: {words}")
    if counts.get(ROUNDED):
        told.append(f"{counts[ROUNDED]:,} entropies between -1e-6 and 0 count as 0")
    here = (sums.cells["bin"] >= 0) | (sums.cells["bin"] == ROUNDED)
    lost = int((sums.cells["tokens"] - sums.cells["logprobs"])[here].sum())
    if sums.has_logprob and lost:
        told.append(f"{lost:,} tokens have no log-probability between {LEAST_LOGPROB:g} and 1")
    classes = set(np.unique(sums.cells["planning"][sums.cells["bin"] >= 0]).tolist())
    if classes in ({1}, {0}, {1, UNCLASSED}, {0, UNCLASSED}):
        told.append(
            f"every token with a class is {'planning' if 1 in classes else 'execution'}: the other is empty"
        )
    elif UNCLASSED in classes and len(classes) > 1:
        rows = (sums.cells["planning"] == UNCLASSED) & (sums.cells["bin"] >= 0)
        told.append(
            f"{int(sums.cells['tokens'][rows].sum()):,} tokens have no class: they count overall only"
        )
    return told


assert EDGES[BINS] == LIMIT
