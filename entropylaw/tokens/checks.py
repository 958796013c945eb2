"""What makes a table of tokens no table of entropies, and notes on what it may mean.

Whether entropies are in nats throughout is a suspicion only. A change of units moves every percentile by the
factor 1.4427 from one step to the next, where a policy moves gradually and its percentiles differently.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from entropylaw.errors import InputError
from entropylaw.ingest.wording import counted, shown
from entropylaw.tokens import query
from entropylaw.tokens.query import EDGES, HIGH, POINT, FloatArray, TokenColumns
from entropylaw.tokens.summary import PERCENTS, Cells
from entropylaw.tokens.sums import Sums

BITS = 1 / math.log(2)
_SHIFT = math.log(BITS)
_MOST_STEPS, _FEWEST_STEPS, _TOLERANCE = 5, 3, 0.04


def check(sums: Sums, columns: TokenColumns, strange: Sequence[str] = ()) -> None:
    """Refuse what is no entropy: sums over all tokens of ``columns``.

    ``strange`` are values of the class column that name no class. What is refused is an InputError
    ``no-records``, ``mask-not-binary``, ``entropy-negative``, ``entropy-too-high``, ``all-masked``,
    ``entropy-missing``, ``class-unknown`` or ``correct-not-binary``.
    """
    counts, name = Counter(sums.counts()), columns.entropy
    rows, tokens = counts.total(), sums.cells["tokens"]
    if not rows:
        hint = "check that the run has logged something"
        raise InputError("no-records", "the table has columns and no rows", hint)
    masks = "a mask is 1 (or true) for the tokens that count; name another with --mask, or --mask ''"

    def such(code: int, column: str | None, what: str) -> str:
        steps = np.unique(sums.cells["step"][sums.cells["bin"] == code])
        where = f"step {steps[0]}" if len(steps) == 1 else f"in {len(steps)} steps, first {steps[0]}"
        return f"{counts[code]:,} of {rows:,} values of '{column}' are {what} ({where})"

    if counts[query.MASK_UNKNOWN]:
        message = such(query.MASK_UNKNOWN, columns.mask, "neither 0 nor 1")
        raise InputError("mask-not-binary", message, masks)
    if counts[query.NEGATIVE]:
        message = f"{such(query.NEGATIVE, name, 'negative')}, and an entropy is 0 or more"
        hint = "negated entropies and log-probabilities are negative: name the entropies with --entropy"
        raise InputError("entropy-negative", message, hint)
    if counts[query.TOO_HIGH]:
        message = such(query.TOO_HIGH, name, f"{query.LIMIT:.4g} nats or more")
        message += ", and a choice among a million tokens has at most 13.82"
        hint = "entropies are per token and in nats: divide bits by 1.4427, and sums by their tokens"
        raise InputError("entropy-too-high", message, hint)
    masked = counts[query.MASKED] + counts[query.NO_MASK]
    if masked == rows:
        raise InputError("all-masked", f"'{columns.mask}' leaves out every one of {rows:,} rows", masks)
    if masked + counts[query.MISSING] + counts[query.NOT_FINITE] == rows:
        message = f"'{name}' has no number in any of {rows:,} rows"
        raise InputError("entropy-missing", message, "name the column of entropies with --entropy")
    if classless := int(tokens[sums.cells["planning"] == query.UNKNOWN_CLASS].sum()):
        message = f"{classless:,} values of '{columns.planning}' name no class"
        message += f", such as {', '.join(map(repr, strange))}" if strange else ""
        hint = "a class is planning or execution (or true and false, 1 and 0); "
        hint += "name its column with --class, or --class '' for none"
        raise InputError("class-unknown", message, hint)
    if unjudged := int(tokens[sums.cells["correct"] == query.NOT_BINARY].sum()):
        message = f"{unjudged:,} values of '{columns.correct}' are neither 0 nor 1"
        hint = "correctness is true or false, 1 or 0; "
        hint += "name its column with --correct, or --correct '' for none"
        raise InputError("correct-not-binary", message, hint)


def above(sums: Sums) -> int:
    """Tokens so high that padding could be among them."""
    here = sums.cells["bin"] >= int(np.searchsorted(EDGES, HIGH, side="right")) - 1
    return int(sums.cells["tokens"][here].sum())


def check_padding(values: Sequence[dict[str, int]], sums: Sums, columns: TokenColumns) -> None:
    """Refuse high entropies (``values`` of query ``high``) that are one, to rounding: ``entropy-padding``."""
    # What is rounded two ways can lie on both sides of a boundary between two values.
    rows = {row["value"]: np.array([row[name] for name in ("tokens", "total", "first")]) for row in values}
    groups = (row + rows.get(value + 1, 0) for value, row in rows.items())
    count, total, first = max(groups, key=lambda group: group[0], default=np.zeros(3)).tolist()
    # Padding is a fifth of the tokens above HIGH: of many nearly uniform choices a few agree by chance.
    if count < max(3, 0.2 * above(sums)):
        return
    nats, rows_read = total / count / POINT, sum(sums.counts().values())
    where = f", {first:,} of them at position 0" if first else ""
    message = (
        f"{count:,} of {rows_read:,} values of '{columns.entropy}' are one and the same, {nats:.4f} nats"
    )
    message += f" = log({round(math.exp(nats)):,}){where}: a uniform choice from a vocabulary, as padding has"
    hint = "prime-rl pads position 0 so; name the mask of the tokens that count with --mask, or drop them"
    raise InputError("entropy-padding", message, hint)


def check_text(columns: TokenColumns) -> None:
    """Refuse to look for grams where a column is missing (``grams-need-text``)."""
    missing = [role for role in ("token", "response", "position") if not getattr(columns, role)]
    if missing:
        message = "grams are matched in the text of each response, and no column was found for "
        message += ", ".join(missing)
        hint = f"name it with --{', --'.join(missing)}; token ids need the tokenizer and are no text"
        raise InputError("grams-need-text", message, hint)


def check_lists(found: dict[str, Any], columns: TokenColumns) -> list[str]:
    """Notes on null or empty lists from the row of :func:`inspected`; InputError ``lists-differ``."""
    entropy, rows, notes = columns.entropy, found["rows"], []
    sequences = counted(rows, "sequence")
    for number, name in enumerate(columns.lists):
        unlike, absent = found.get(f"other_{number}"), found[f"no_{number}"]
        if unlike:
            message = f"{shown(name)} has another length than {shown(entropy)} in {unlike:,} of {rows:,} "
            message += (
                f"sequences, first at step {found[f'step_{number}']:g}: no token can be told from the next"
            )
            hint = f"write lists of one length, one value a token, or leave {shown(name)} out"
            raise InputError("lists-differ", message, hint)
        if absent:
            lost = "their tokens have no entropy" if name == entropy else "its values are unknown there"
            notes.append(f"{absent:,} of {sequences} have no list {shown(name)}: {lost}")
    if found["empty"]:
        notes.append(f"{found['empty']:,} of {sequences} have an empty list {shown(entropy)}")
    return notes


def notes(sums: Sums) -> list[str]:
    """What was left out, and what the table does not say; a sentence each."""
    counts, cells = sums.counts(), sums.cells
    left_out = {
        query.MASKED: "masked",
        query.NO_MASK: "their mask is null, neither 0 nor 1",
        query.MISSING: "without a value",
        query.NOT_FINITE: "nan or infinite",
    }
    known = ((counts[code], why) for code, why in left_out.items() if code in counts)
    found = [f"{number:,} of {sum(counts.values()):,} tokens left out: {why}" for number, why in known]
    if counts.get(query.ROUNDED):
        found.append(f"{counts[query.ROUNDED]:,} entropies between -1e-6 and 0 count as 0")
    lost = int((cells["tokens"] - cells["logprobs"])[sums.usable].sum())
    if sums.has_logprob and lost:
        found.append(f"{lost:,} tokens have no log-probability between {query.LEAST_LOGPROB:g} and 1")
    regular = cells["bin"] >= 0
    classes = np.unique(cells["planning"][regular]).tolist()
    if len(classes) - (query.UNCLASSED in classes) == 1:
        only = ("execution", "planning")[max(classes)]
        found.append(f"every token with a class is {only}: the other is empty")
    elif len(classes) > 1 and query.UNCLASSED in classes:
        tokens = int(cells["tokens"][(cells["planning"] == query.UNCLASSED) & regular].sum())
        found.append(f"{tokens:,} tokens have no class: they count overall only")
    return found


def unit_changes(sums: Sums) -> Iterator[str]:
    """A sentence for each step at which all percentiles move by nats over bits, far more than usual."""
    here = sums.cells["bin"] >= 0
    cells = {name: values[here] for name, values in sums.cells.items()}
    steps, starts = np.unique(cells["step"], return_index=True)
    if len(steps) < _FEWEST_STEPS:
        return
    rows = np.append(starts, len(cells["step"]))
    tokens, total = np.add.reduceat(cells["tokens"], starts), np.add.reduceat(cells["total"], starts)
    # As many steps on either side of a change as 2000 tokens take, five at most.
    width = math.ceil(2000 / float(np.median(tokens)))
    if width > _MOST_STEPS:
        return
    # Logarithm of the mean of the next ``width`` steps over that of the last, from the second step on.
    n, q = np.append(0, np.cumsum(tokens)), np.append(0.0, np.cumsum(total))
    row = np.arange(1, len(tokens))
    low, high = np.maximum(row - width, 0), np.minimum(row + width, len(tokens))
    means = (np.maximum((q[b] - q[a]) / (n[b] - n[a]), 1.0) for a, b in ((row, high), (low, row)))
    change = np.subtract(*map(np.log, means))
    # Six times the median of all changes: a policy that moves fast anyway shows no change of units.
    steep = np.abs(change) > 6.0 * np.median(np.abs(change))
    near = np.abs(np.abs(change) - _SHIFT) < 0.15
    found: dict[int, float] = {}
    for at in (1 + np.flatnonzero(steep & near)).tolist():
        sides = (slice(rows[low[at - 1]], rows[at]), slice(rows[at], rows[high[at - 1]]))
        if (off := _off(*(Cells.of(cells, side) for side in sides))) is not None:
            found[at] = off
    while found:
        # Of steps near each other the one that comes nearest to the factor.
        at = min(found, key=found.__getitem__)
        found = {other: off for other, off in found.items() if abs(other - at) > _MOST_STEPS}
        to_bits, to_nats = ("from nats to bits", BITS), ("from bits to nats", 1 / BITS)
        words, factor = to_bits if change[at - 1] > 0 else to_nats
        yield (
            f"from step {steps[at - 1]} to {steps[at]} every percentile changes by the factor {factor:.2f}, "
            f"as {words}: are the units the same throughout?"
        )


def _off(before: Cells, after: Cells) -> float | None:
    """Mean distance of the percentiles' log-ratios from a change of units; None where one is far from it."""
    (old, old_error), (new, new_error) = _logs(before), _logs(after)
    error = np.hypot(old_error, new_error)
    # In the bins below 0.01 nats a percentile is known to a tenth of itself, which shows no such factor.
    usable = (np.minimum(old, new) > math.log(0.01)) & (error < 0.1)
    if usable.sum() < 3:
        return None
    shift = (new - old)[usable]
    off = np.abs(shift - math.copysign(_SHIFT, float(shift.mean())))
    return None if np.any(off > np.maximum(_TOLERANCE, 2.0 * error[usable])) else float(off.mean())


def _logs(cells: Cells) -> tuple[FloatArray, FloatArray]:
    """Logarithms of the percentiles, and their standard errors by the density between their neighbours."""
    share = np.array(PERCENTS) / 100
    values = np.array([max(value or 0.0, 1e-9) for value in cells.percentiles()])
    slope = np.gradient(np.log(values), share)
    # Tokens of one response are alike: the error of a percentile is about half as much again.
    error = 1.5 * np.abs(slope) * np.sqrt(share * (1 - share) / cells.n)
    # The density beyond the last percentile is not known, and with it the error of the last.
    return np.log(values)[:-1], error[:-1]


def beside_logprobs(sums: Sums) -> Iterator[str]:
    """A sentence on log-probabilities whose mean is not minus the mean entropy, as of the policy's own."""
    here = sums.usable
    cells = {name: values[here] for name, values in sums.cells.items()}
    tokens, known = int(cells["tokens"].sum()), int(cells["logprobs"].sum())
    if not sums.has_logprob or known < max(1000, 0.99 * tokens):
        return
    steps, where = np.unique(cells["step"], return_inverse=True)
    surprise = np.bincount(where, -cells["logprob_total"] / query.LOGPROB_POINT)
    entropy = np.bincount(where, cells["total"] * (cells["bin"] >= 0) / POINT)
    if len(steps) < _FEWEST_STEPS or surprise.sum() <= 0 or entropy.sum() <= 0:
        return
    ratio, m = surprise.sum() / entropy.sum(), len(steps)
    error = math.sqrt(m / (m - 1) * ((surprise - ratio * entropy) ** 2).sum()) / surprise.sum()
    factor = abs(math.log(ratio))
    if factor < max(0.1, 4.0 * error):
        return
    unit = " (the factor between nats and bits)" if abs(factor - _SHIFT) < _TOLERANCE else ""
    yield (
        f"minus the mean log-probability is {ratio:.2f} of the mean entropy{unit}, and tokens drawn from the "
        "policy itself have 1: other units, a sampling temperature, or tokens of another policy?"
    )
