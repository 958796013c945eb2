"""What makes a table of tokens no table of entropies, and what deserves a word beside the numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from entropylaw.errors import InputError
from entropylaw.tokens.expression import (
    LEAST_LOGPROB,
    MASKED,
    MISSING,
    NEGATIVE,
    NOT_BINARY,
    NOT_FINITE,
    ROUNDED,
    TOO_HIGH,
    UNCLASSED,
    UNKNOWN_CLASS,
    TokenColumns,
)
from entropylaw.tokens.grid import BINS, EDGES, HALF, LIMIT, POINT
from entropylaw.tokens.sums import Sums

_PADDING_FROM = 8.0
"""Nats: e^8 = 2,981 equally likely tokens; vocabularies are larger, and no policy is there twice exactly."""

_FEWEST_PADDED = 3
BITS = 1 / math.log(2)
_UNIT_TOLERANCE = 0.05
_UNIT_PERCENTS = (50, 80, 90, 95, 99)


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
        ``no-records``, ``entropy-negative``, ``entropy-too-high``, ``entropy-padding``, ``all-masked``,
        ``entropy-missing``, ``class-unknown``, ``correct-not-binary``.

    """
    counts = sums.counts()
    rows = sum(counts.values())
    if not rows:
        raise InputError(
            "no-records", "the table has columns and no rows", "check that the run has logged something"
        )
    name = columns.entropy
    if counts.get(NEGATIVE):
        raise InputError(
            "entropy-negative",
            f"{counts[NEGATIVE]:,} of {rows:,} values of '{name}' are negative "
            f"({_where(sums, NEGATIVE)}), and an entropy is 0 or more",
            "negated entropies and log-probabilities are negative: name the entropies with --entropy",
        )
    _check_high(sums, columns, counts.get(TOO_HIGH, 0), rows)
    usable = rows - sum(counts.get(code, 0) for code in (MISSING, NOT_FINITE, MASKED))
    if not usable and counts.get(MASKED, 0) == rows:
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
    padding = _padding(sums)
    if padding is not None:
        value, count = padding
        raise InputError(
            "entropy-padding",
            f"{count:,} of {rows:,} values of '{columns.entropy}' are one and the same, {value:.4f} nats = "
            f"log({round(math.exp(value)):,}): a uniform choice from a vocabulary, as padding has",
            "prime-rl pads position 0 so; name the mask of the tokens that count with --mask, or drop them",
        )


def _padding(sums: Sums) -> tuple[float, int] | None:
    """A value beyond any entropy that several tokens have exactly, the greatest of all."""
    cells = sums.cells
    top = int(cells["bin"].max())
    if top < 0 or EDGES[top] < _PADDING_FROM:
        return None
    here = cells["bin"] == top
    n, total = int(cells["tokens"][here].sum()), int(cells["total"][here].sum())
    high, low = int(cells["square_high"][here].sum()), int(cells["square_low"][here].sum())
    same = n * ((high << HALF) + low) == total * total
    return (total / n / POINT, n) if same and n >= _FEWEST_PADDED else None


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
        (MISSING, "without a value"),
        (NOT_FINITE, "nan or infinite"),
    ):
        if counts.get(code):
            told.append(f"{counts[code]:,} of {sum(counts.values()):,} tokens left out: {words}")
    if counts.get(ROUNDED):
        told.append(f"{counts[ROUNDED]:,} entropies between -1e-6 and 0 count as 0")
    lost = int((sums.cells["tokens"] - sums.cells["logprobs"])[sums.cells["bin"] >= 0].sum())
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


def unit_cautions(steps: Sequence[int], percentiles: dict[int, Sequence[float | None]]) -> list[str]:
    """Steps at which every percentile jumps by the factor between nats and bits.

    Parameters
    ----------
    steps
        Steps, ascending.
    percentiles
        Values in nats by per cent, one a step.

    Returns
    -------
    list of str
        A sentence for each jump. It is a suspicion: a policy can move by 1.44 at all percentiles at once.

    """
    told = []
    for at in range(1, len(steps)):
        ratios = []
        for percent in _UNIT_PERCENTS:
            before, after = percentiles[percent][at - 1], percentiles[percent][at]
            # In the lowest bins a percentile is known to a tenth of itself, which shows no such factor.
            if before is not None and after is not None and min(before, after) > 0.01:
                ratios.append(after / before)
        if len(ratios) < 3:
            continue
        for factor, words in ((BITS, "from nats to bits"), (1 / BITS, "from bits to nats")):
            if all(abs(ratio / factor - 1) < _UNIT_TOLERANCE for ratio in ratios):
                told.append(
                    f"from step {steps[at - 1]} to {steps[at]} every percentile changes by the factor "
                    f"{factor:.2f}, as {words}: are the units the same throughout?"
                )
    return told


assert EDGES[BINS] == LIMIT
