"""Makes one row per step from exact sums, and the checks and notes on what they mean."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from entropylaw.arrays import FloatArray, IntArray
from entropylaw.arrow import from_values
from entropylaw.errors import InputError
from entropylaw.escaping import counted, shown
from entropylaw.tokens import query
from entropylaw.tokens.cells import PERCENTS, Cells
from entropylaw.tokens.query import EDGES, HIGH, POINT, TokenColumns
from entropylaw.tokens.sums import Responses, Sums, steps_of
from entropylaw.units import LOW

Value = float | int | None

_LEFT_OUT = {
    "tokens_masked": (query.MASKED, query.NO_MASK),
    "tokens_without_entropy": (query.MISSING, query.NOT_FINITE),
}
_SUBSETS = {
    "planning": {"planning": query.PLANNING, "execution": query.EXECUTION},
    "correct": {"correct": query.CORRECT, "wrong": query.WRONG},
}


def summarise(sums: Sums, cuts: dict[int, float] | None = None) -> pa.Table:
    r"""Summarise each step.

    Parameters
    ----------
    sums
        Exact sums by step, class, correctness and bin.
    cuts
        Where classes were made by a quantile of entropy, the cut of each step in nats.

    Returns
    -------
    pyarrow.Table
        One row per step, ascending; an unknown number is null. Entropies are in nats.

        ``tokens, entropy, entropy_sd, entropy_se``: number, mean, standard deviation (n − 1), and sd/√n, as
        if tokens of one response were independent.
        ``entropy_p05`` to ``entropy_p99``: the ⌈p·n/100⌉-th smallest entropy, interpolated in its bin.
        ``share_below_0.01``: share of tokens below 0.01 nats. ``share_top20``: share of all entropy in the
        fifth of tokens with the highest.
        ``…_planning, …_execution, …_correct, …_wrong``: the same over these tokens, where they are known;
        ``planning_share`` of the tokens with a class, ``planning_entropy_share`` of their entropy.
        ``responses, response_length``: number and mean of tokens; ``entropy_response_mean``: mean of the
        responses' means; ``entropy`` weights a response by its length instead. ``entropy_se_responses``:
        standard error of ``entropy`` with responses, not tokens, as independent, by the ratio estimator
        (Cochran 1977, *Sampling Techniques*, eq. 6.13) :math:`\sqrt{m/(m-1)\sum_i(s_i-Hn_i)^2}/\sum_i n_i`
        with s the sum of entropies and n the tokens of a response. ``prompts, entropy_se_prompts``: the same
        with prompts in place of responses, because responses to one prompt are not independent: the larger
        of the two is the noise of ``entropy``. ``logprob``: mean log-probability of the sampled tokens.
        ``cov_logp_advantage``: covariance of that and the advantage over the tokens of a step; a step of
        policy gradient changes the entropy by about −η times it (Cui et al. 2025, arXiv:2505.22617, Eq. 5).
        ``tokens_masked`` (a null mask included), ``tokens_without_entropy`` (null, nan, infinite): rows that
        no other column counts.
    """
    cells = sums.cells
    steps, step_of = steps_of(cells)
    starts = np.searchsorted(cells["step"], steps)
    columns: dict[str, list[Value]] = {"step": steps.tolist()}
    columns |= _group_columns(sums, len(steps), step_of)
    columns |= _response_columns(sums, steps.tolist(), starts)
    if cuts is not None:
        columns["class_cut"] = [cuts[step] for step in steps.tolist()]
    for name, reasons in _LEFT_OUT.items():
        columns[name] = np.add.reduceat(cells["tokens"] * np.isin(cells["bin"], reasons), starts).tolist()
    whole = re.compile("step|responses|prompts|tokens.*")
    kinds = {name: np.int64 if whole.fullmatch(name) else np.float64 for name in columns}
    return pa.table({name: from_values(columns[name], kind) for name, kind in kinds.items()})


def _group_columns(sums: Sums, steps: int, step_of: IntArray) -> dict[str, list[Value]]:
    """Columns of each step's tokens, and with the suffix of a class or correctness of those that have it.

    ``step_of`` is the number of each cell's step.
    """
    subsets = {"": sums.usable}
    for column, codes in _SUBSETS.items():
        values = sums.cells[column]
        if (values >= 0).any():
            subsets |= {f"_{name}": sums.usable & (values == code) for name, code in codes.items()}
    groups = {
        suffix: Cells.of(sums.rows(chosen), steps, step_of[chosen]) for suffix, chosen in subsets.items()
    }
    columns: dict[str, list[Value]] = {}
    for suffix, cells in groups.items():
        if suffix == "_planning":
            execution = groups["_execution"]
            columns["planning_share"] = _ratios(cells.n, cells.n + execution.n)
            columns["planning_entropy_share"] = _ratios(cells.fixed, cells.fixed + execution.fixed)
        n = cells.n.tolist()
        deviations = cells.deviations()
        errors = [None if sd is None else sd / math.sqrt(m) for m, sd in zip(n, deviations, strict=True)]
        percentiles = zip(PERCENTS, cells.percentiles().T, strict=True)
        kind: dict[str, list[Value]] = {
            "tokens": n,
            "entropy": _ratios(cells.fixed, cells.n * POINT),
            "entropy_sd": [*deviations],
            "entropy_se": [*errors],
            **{f"entropy_p{p:02d}": _or_none(column) for p, column in percentiles},
            "share_below_0.01": _ratios(cells.below(LOW), cells.n),
            "share_top20": _or_none(cells.shares_of_top()),
        }
        columns |= {name + suffix: column for name, column in kind.items()}
    return columns


def _ratios(numbers: IntArray, wholes: IntArray) -> list[Value]:
    """The parts (n,) of wholes, with None where nothing is whole."""
    # A quotient of Python integers is rounded once.
    return [
        number / whole if whole else None
        for number, whole in zip(numbers.tolist(), wholes.tolist(), strict=True)
    ]


def _or_none(values: FloatArray) -> list[Value]:
    """The values (n,), with None for nan."""
    return [None if math.isnan(value) else value for value in values.tolist()]


def _response_columns(sums: Sums, steps: list[int], starts: IntArray) -> dict[str, list[Value]]:
    """Columns of each step's log-probabilities, responses and prompts; None for unknown numbers.

    ``starts`` are the first cells of the steps.
    """
    columns: dict[str, list[Value]] = {}
    if sums.has_logprob:
        number = np.add.reduceat(sums.cells["logprobs"] * sums.usable, starts)
        total = np.add.reduceat(sums.cells["logprob_total"] * sums.usable, starts)
        columns["logprob"] = _ratios(total, number * query.LOGPROB_POINT)
    if sums.covariances is not None:
        columns["cov_logp_advantage"] = [sums.covariances.get(step) for step in steps]
    for name, by_step in (("responses", sums.responses), ("prompts", sums.prompts)):
        if by_step is None:
            continue
        groups = [by_step.get(step, Responses(0, 0, 0, 0, 0, 0, 0)) for step in steps]
        number, means, tokens = np.array(groups, dtype=object)[:, :3].T
        columns[name] = [*number]
        if name == "responses":
            columns["response_length"] = _ratios(tokens, number)
            columns["entropy_response_mean"] = _ratios(means, number * query.MEAN_POINT)
        columns[f"entropy_se_{name}"] = [group.error for group in groups]
    return columns


def check_values(sums: Sums, columns: TokenColumns, unknown_classes: Sequence[str] = ()) -> None:
    """Refuse sums over the tokens of ``columns`` whose values cannot be entropies, flags or classes.

    The InputError is ``no-records``, ``mask-not-binary``, ``entropy-negative``, ``entropy-too-high``,
    ``all-masked``, ``entropy-missing``, ``class-unknown`` or ``correct-not-binary``.
    """
    bins = sums.cells["bin"]
    tokens = sums.cells["tokens"]
    if not len(bins):
        raise InputError("no-records", "the table has columns and no rows", "check that the run has logged")

    def refuse(slug: str, here: NDArray[np.bool_], column: str | None, problem: str, hint: str) -> None:
        if here.any():
            steps = np.unique(sums.cells["step"][here])
            where = f"step {steps[0]}" if len(steps) == 1 else f"in {len(steps)} steps, first {steps[0]}"
            values = f"{tokens[here].sum():,} of {tokens.sum():,} values of '{column}'"
            raise InputError(slug, f"{values} are {problem} ({where})", hint)

    binary = "neither 0 nor 1"
    mask_hint = "a mask is 1 for tokens that count; name another with --mask, or --mask ''"
    refuse("mask-not-binary", bins == query.MASK_UNKNOWN, columns.mask, binary, mask_hint)
    refuse(
        "entropy-negative",
        bins == query.NEGATIVE,
        columns.entropy,
        "negative, and an entropy is 0 or more",
        "negated entropies and log-probabilities are negative: name the entropies with --entropy",
    )
    refuse(
        "entropy-too-high",
        bins == query.TOO_HIGH,
        columns.entropy,
        f"{query.LIMIT:.4g} nats or more, and a choice among a million tokens has at most 13.82",
        "entropies are per token and in nats: divide bits by 1.4427, and sums by their tokens",
    )
    masked = np.isin(bins, (query.MASKED, query.NO_MASK))
    refuse("all-masked", masked & masked.all(), columns.mask, "0 or null", mask_hint)
    unusable = masked | np.isin(bins, (query.MISSING, query.NOT_FINITE))
    refuse(
        "entropy-missing",
        unusable & unusable.all(),
        columns.entropy,
        "null, nan, infinite or masked",
        "name the entropy column with --entropy",
    )
    problem = "not the name of a class"
    if unknown_classes:
        problem += f", such as {', '.join(map(repr, unknown_classes))}"
    refuse(
        "class-unknown",
        sums.cells["planning"] == query.UNKNOWN_CLASS,
        columns.planning,
        problem,
        "a class is planning or execution, true or false, 1 or 0; name its column with --class, or "
        "--class ''",
    )
    refuse(
        "correct-not-binary",
        sums.cells["correct"] == query.NOT_BINARY,
        columns.correct,
        binary,
        "correctness is true or false, 1 or 0; name its column with --correct, or --correct ''",
    )


def count_high(sums: Sums) -> int:
    """Number of tokens with entropies as high as those of padding."""
    here = sums.cells["bin"] >= int(np.searchsorted(EDGES, HIGH, side="right")) - 1
    return int(sums.cells["tokens"][here].sum())


def check_padding(values: Sequence[dict[str, int]], sums: Sums, columns: TokenColumns) -> None:
    """Refuse many equal high entropies (``values`` are rows of ``query.high``): ``entropy-padding``."""
    # Equal entropies with rounding errors may be in two neighbouring values.
    names = ("tokens", "total", "first")
    rows = {row["value"]: np.array([row[name] for name in names]) for row in values}
    groups = (row + rows.get(value + 1, 0) for value, row in rows.items())
    count, total, at_start = max(groups, key=lambda group: group[0], default=np.zeros(3)).tolist()
    # A fifth of the tokens above HIGH, because a few of many nearly uniform choices agree by chance.
    if count < max(3, 0.2 * count_high(sums)):
        return
    nats = total / count / POINT
    rows_read = sum(sums.counts().values())
    where = f", {at_start:,} of them at position 0" if at_start else ""
    raise InputError(
        "entropy-padding",
        f"{count:,} of {rows_read:,} values of '{columns.entropy}' are equal, {nats:.4f} nats"
        f" = log({round(math.exp(nats)):,}){where}: a uniform choice from a vocabulary, as padding has",
        "prime-rl pads position 0 so; name the mask with --mask, or drop these tokens",
    )


def notes_on_lists(counts: dict[str, Any], columns: TokenColumns) -> list[str]:
    """Notes on null or empty lists from the row of ``query.inspected``; InputError ``lists-differ``."""
    entropy = columns.entropy
    rows = counts["rows"]
    notes = []
    sequences = counted(rows, "sequence")
    for number, name in enumerate(columns.lists):
        different = counts.get(f"other_{number}")
        absent = counts[f"no_{number}"]
        if different:
            step = counts[f"step_{number}"]
            raise InputError(
                "lists-differ",
                f"{shown(name)} has another length than {shown(entropy)} in {different:,} of {rows:,} "
                f"sequences, first at step {step:g}: values cannot be assigned to tokens",
                f"write lists of one length, one value per token, or leave {shown(name)} out",
            )
        if absent:
            lost = "their tokens have no entropy" if name == entropy else "its values are unknown there"
            notes.append(f"{absent:,} of {sequences} have no list {shown(name)}: {lost}")
    if counts["empty"]:
        notes.append(f"{counts['empty']:,} of {sequences} have an empty list {shown(entropy)}")
    return notes


def notes(sums: Sums) -> list[str]:
    """Notes on tokens that were left out, and on missing classes and log-probabilities."""
    counts = sums.counts()
    cells = sums.cells
    left_out = {
        query.MASKED: "masked",
        query.NO_MASK: "their mask is null, neither 0 nor 1",
        query.MISSING: "without a value",
        query.NOT_FINITE: "nan or infinite",
    }
    all_tokens = sum(counts.values())
    sentences = [
        f"{counts[code]:,} of {all_tokens:,} tokens left out: {reason}"
        for code, reason in left_out.items()
        if code in counts
    ]
    if counts.get(query.ROUNDED):
        sentences.append(f"{counts[query.ROUNDED]:,} entropies between -1e-6 and 0 count as 0")
    lost = int((cells["tokens"] - cells["logprobs"])[sums.usable].sum())
    if sums.has_logprob and lost:
        sentences.append(f"{lost:,} tokens have no log-probability between {query.LEAST_LOGPROB:g} and 1")
    regular = cells["bin"] >= 0
    # Codes are -2 and above.
    classes = (np.flatnonzero(np.bincount(cells["planning"][regular] + 2)) - 2).tolist()
    if len(classes) - (query.UNCLASSED in classes) == 1:
        only = ("execution", "planning")[max(classes)]
        sentences.append(f"every token with a class is {only}: the other class is empty")
    elif len(classes) > 1 and query.UNCLASSED in classes:
        tokens = int(cells["tokens"][(cells["planning"] == query.UNCLASSED) & regular].sum())
        sentences.append(f"{tokens:,} tokens have no class: they count overall only")
    return sentences


def logprob_mismatch(sums: Sums) -> Iterator[str]:
    """A note if the mean log-probability is not minus the mean entropy, as for samples of the policy."""
    cells = sums.rows(sums.usable)
    tokens = int(cells["tokens"].sum())
    if not sums.has_logprob or int(cells["logprobs"].sum()) < max(1000, 0.99 * tokens):
        return
    steps, where = np.unique(cells["step"], return_inverse=True)
    surprise = np.bincount(where, -cells["logprob_total"] / query.LOGPROB_POINT)
    entropy = np.bincount(where, cells["total"] * (cells["bin"] >= 0) / POINT)
    if len(steps) < 3 or surprise.sum() <= 0 or entropy.sum() <= 0:
        return
    ratio = surprise.sum() / entropy.sum()
    m = len(steps)
    error = math.sqrt(m / (m - 1) * ((surprise - ratio * entropy) ** 2).sum()) / surprise.sum()
    factor = abs(math.log(ratio))
    if factor < max(0.1, 4.0 * error):
        return
    unit = " (the factor between nats and bits)" if abs(factor + math.log(math.log(2))) < 0.04 else ""
    yield (
        f"minus the mean log-probability is {ratio:.2f} of the mean entropy{unit}, and 1 for the "
        f"policy's own tokens: other units, a sampling temperature, or another policy?"
    )
