"""One row a step: means, spread, quantiles and shares, from exact sums."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from entropylaw.tokens.expression import (
    CORRECT,
    EXECUTION,
    LOGPROB_POINT,
    MASKED,
    MEAN_POINT,
    MISSING,
    NO_MASK,
    NOT_FINITE,
    PLANNING,
    ROUNDED,
    SUM_SHIFT,
    WRONG,
)
from entropylaw.tokens.grid import BINS, LOW, PERCENTS, POINT, Cells, IntArray, together
from entropylaw.tokens.responses import Responses
from entropylaw.tokens.sums import Sums

if TYPE_CHECKING:
    import pyarrow as pa

Value = float | int | None

CLASSES = {"planning": PLANNING, "execution": EXECUTION}
JUDGED = {"correct": CORRECT, "wrong": WRONG}
_NONE = Responses(number=0, mean_total=0, tokens=0, entropy=0, tt=0, tn=0, nn=0)


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
        A row a step, by step; null is a number that is not known. Entropies in nats.

        ``tokens, entropy, entropy_sd, entropy_se``: number, mean, standard deviation (n − 1), sd/√n.
        The last takes tokens for independent, and those of one response are not.
        ``entropy_p05`` to ``entropy_p99``: the ⌈p·n/100⌉-th smallest entropy, known to its bin.
        ``share_below_0.01``: share of tokens below 0.01 nats. ``share_top20``: share of all entropy in the
        fifth of tokens that has most of it.
        ``…_planning, …_execution, …_correct, …_wrong``: the same within these tokens, where they are known;
        ``planning_share`` of the tokens with a class, ``planning_entropy_share`` of their entropy.
        ``responses, response_length``: number and mean of tokens; ``entropy_response_mean``: mean of the
        responses' means, where ``entropy`` weighs a response by its length. ``entropy_se_responses``:
        standard error of ``entropy`` with responses, not tokens, as independent, by the ratio estimator
        (Cochran 1977, *Sampling Techniques*, eq. 6.13) :math:`\sqrt{m/(m-1)\sum_i(s_i-Hn_i)^2}/\sum_i n_i`
        with s the sum of entropies and n the tokens of a response. Responses to one prompt are taken as
        independent. ``prompts, entropy_se_prompts``: the same with prompts in place of responses, where a
        column names them: the larger of the two is the noise of ``entropy``.
        ``logprob``: mean log-probability of the tokens that were drawn. ``tokens_masked``,
        ``tokens_without_entropy`` (null, nan, infinite): rows that count nowhere else. What has no mask
        counts as masked.

    """
    import pyarrow as pa

    rows = list(_rows(sums, cuts))
    names = list(dict.fromkeys(name for row in rows for name in row))
    arrays = {}
    for name in names:
        values = [row.get(name) for row in rows]
        counted = name in ("step", "responses", "prompts") or name.startswith("tokens")
        arrays[name] = pa.array(values, pa.int64() if counted else pa.float64())
    return pa.table(arrays)


def _rows(sums: Sums, cuts: dict[int, float] | None) -> Iterator[dict[str, Value]]:
    cells = sums.cells
    steps, starts = np.unique(cells["step"], return_index=True)
    stops = [*starts[1:].tolist(), len(cells["step"])]
    found = {name: bool((cells["planning"] == code).any()) for name, code in CLASSES.items()}
    judged = bool(np.isin(cells["correct"], list(JUDGED.values())).any())
    for step, start, stop in zip(steps.tolist(), starts.tolist(), stops, strict=True):
        part = {name: values[start:stop] for name, values in cells.items()}
        row = _row(part, classed=any(found.values()), judged=judged)
        if sums.has_logprob:
            here = (part["bin"] >= 0) | (part["bin"] == ROUNDED)
            number = int(part["logprobs"][here].sum())
            total = int(part["logprob_total"][here].sum())
            row["logprob"] = total / (number * LOGPROB_POINT) if number else None
        if sums.responses is not None:
            row |= _of_responses(sums.responses.get(step, _NONE))
        if sums.prompts is not None:
            row |= _of_prompts(sums.prompts.get(step, _NONE))
        if cuts is not None:
            row["class_cut"] = cuts[step]
        for name, codes in (("masked", [MASKED, NO_MASK]), ("without_entropy", [MISSING, NOT_FINITE])):
            row[f"tokens_{name}"] = int(part["tokens"][np.isin(part["bin"], codes)].sum())
        yield {"step": step, **row}


def _row(part: dict[str, IntArray], *, classed: bool, judged: bool) -> dict[str, Value]:
    usable = (part["bin"] >= 0) | (part["bin"] == ROUNDED)
    whole = _cells(part, usable)
    row = _described(whole, "")
    if classed:
        kinds = {name: _cells(part, usable & (part["planning"] == code)) for name, code in CLASSES.items()}
        both = together(list(kinds.values()))
        planning = kinds["planning"]
        row["planning_share"] = planning.n / both.n if both.n else None
        row["planning_entropy_share"] = planning.fixed / both.fixed if both.fixed else None
        for name, kind in kinds.items():
            row |= _described(kind, f"_{name}")
    if judged:
        for name, code in JUDGED.items():
            row |= _described(_cells(part, usable & (part["correct"] == code)), f"_{name}")
    return row


def _cells(part: dict[str, IntArray], chosen: Any) -> Cells:
    """The chosen rows by bin; what was rounded up to zero is in the first."""
    regular = part["bin"][chosen] >= 0
    at = np.maximum(part["bin"][chosen], 0)
    arrays = {}
    for name in ("tokens", "total", "square_high", "square_low"):
        values = part[name][chosen]
        arrays[name] = np.zeros(BINS, dtype=np.int64)
        np.add.at(arrays[name], at, values if name == "tokens" else values * regular)
    return Cells(**arrays)


def _described(cells: Cells, suffix: str) -> dict[str, Value]:
    n, sd = cells.n, cells.sd
    row: dict[str, Value] = {
        "tokens": n,
        "entropy": cells.mean,
        "entropy_sd": sd,
        "entropy_se": None if sd is None else sd / math.sqrt(n),
    }
    for percent, value in zip(PERCENTS, cells.percentiles(), strict=True):
        row[f"entropy_p{percent:02d}"] = value
    row["share_below_0.01"] = cells.share_below(LOW)
    row["share_top20"] = cells.share_of_top()
    return {name + suffix: value for name, value in row.items()}


def _of_responses(sums: Responses | None) -> dict[str, Value]:
    """Numbers of a step's responses; all unknown where the sums are."""
    if sums is None or not sums.number:
        return {
            "responses": None if sums is None else 0,
            "response_length": None,
            "entropy_response_mean": None,
            "entropy_se_responses": None,
        }
    m = sums.number
    return {
        "responses": m,
        "response_length": sums.tokens / m,
        "entropy_response_mean": sums.mean_total / (m * MEAN_POINT),
        "entropy_se_responses": _ratio_error(sums),
    }


def _of_prompts(sums: Responses | None) -> dict[str, Value]:
    return {
        "prompts": None if sums is None else sums.number,
        "entropy_se_prompts": None if sums is None else _ratio_error(sums),
    }


def _ratio_error(sums: Responses) -> float | None:
    """Standard error of Σs/Σn, in nats; Σ(s − Hn)² with H = Σs/Σn as integers, exactly until the root."""
    if sums.number < 2 or not sums.tokens:
        return None
    n, s = sums.tokens, sums.entropy
    spread = sums.tt * n * n - 2 * s * n * sums.tn + s * s * sums.nn
    unit = POINT >> SUM_SHIFT
    m = sums.number
    return math.sqrt(max(spread, 0) * m / (m - 1)) / n / n / unit
