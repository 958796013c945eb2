"""What the name of a column says of its unit: an entropy that is not in nats, a reward that is a share."""

from __future__ import annotations

import math
import re

import numpy as np

from entropylaw.arrays import FloatArray

MOST_NATS = 12.0
"""ln of 162,755: with the vocabularies of today's language models, mean entropies are below."""

PERCENT = 100.0
"""The largest reward that is a percentage."""

LOW, FORK = 0.01, 0.672
"""Nats: 50.64 % of the tokens of Qwen3-8B are below LOW, a fifth above FORK (arXiv:2506.01939, section 3)."""

_LOGARITHMS = {
    "bits": (math.log(2.0), r"(?<!\d)(?<!\d_)bits?|shannons?|(?:log|base)_?2"),
    "dits": (math.log(10.0), r"dits?|bans?|hartleys?|(?:log|base)_?10"),
}
"""Unit of an entropy → nats in one of them, and the words of a name that say so; ``4bit`` is of weights."""

_SHARE = r"acc|accuracy|pass|success|(?:re)?solved?|correct|exact_?match|em|win_?rate"
"""Words of a share of problems, 0 to 1."""

_PERCENT = r"%|pct|per_?cent|percentage"
_RATE = r"acc|accuracy|exact_?match|(?:win|pass|solve|success)_?rate|pass_?(?:at_?)?\d+"
"""Words of a percentage, and of what is one where its values are above 1; ``solved`` may be a count then."""

_NO_MEAN = r"n|num|number|count|std|max|min|total|groups|len|length"
"""Words with which a share's name is that of a count, or of another statistic."""


def nats_per_unit(column: str) -> tuple[float, str]:
    """Return how many nats an entropy of 1 in a column is, and the column's unit."""
    name, named = named_unit(column)
    for unit, (nats, words) in _LOGARITHMS.items():
        if named == unit or (not named and _has_word(name, words)):
            return nats, unit
    return 1.0, "nats"


def named_unit(column: str) -> tuple[str, str]:
    """Split ``acc:percent`` into the column and the unit that the user gives it; empty for none."""
    name, _, unit = column.rpartition(":")
    return (name, unit) if name and unit in (*_LOGARITHMS, "nats", "percent", "rate") else (column, "")


def is_perplexity(column: str) -> bool:
    """Whether a name says that a column is the exponential of an entropy."""
    return _has_word(column, "perplexity|ppl")


def is_share(column: str) -> bool:
    """Whether a name says that a reward is a share of problems."""
    return _has_word(column, _SHARE)


def is_rate(column: str) -> bool:
    """Whether a name says that a reward is a rate, such as a win rate or pass@k."""
    return _has_word(column, _RATE) and not _has_word(column, _NO_MEAN)


def largest_reward(column: str, values: FloatArray) -> float | None:
    """Return the largest reward that is possible by a column's name and all its finite ``values``.

    That is 1 for a share of problems, 100 where such a share is a percentage, and None where it is unknown.
    """
    if not values.size or np.min(values) < 0:
        return None
    most, percent = float(np.max(values)), _has_word(column, _PERCENT)
    if most <= 1:
        return 1.0 if is_share(column) and not percent else None
    return PERCENT if most <= 100 and (percent or _has_word(column, _RATE)) else None


def _has_word(column: str, words: str) -> bool:
    """Whether one of the ``words`` is in a name as a whole word; ``pass@1`` and ``valAcc`` have one."""
    name = re.sub(r"(?<=[a-z])(?=[A-Z])|[^\w%]", "_", column[:200]).casefold()
    return re.search(rf"(?<![a-z])(?:{words})(?![a-z])", name) is not None
