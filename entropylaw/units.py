"""What the name of a column says of its unit: an entropy that is not in nats, a reward that is a share."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from entropylaw.arrays import FloatArray

MOST_NATS = 12.0
"""ln of 162,755: with the vocabularies of today's language models, mean entropies are below."""

RewardUnit = Literal["rate", "percent", "raw", ""]
"""The unit of a reward; empty where it is not known."""

LARGEST = {"rate": 1.0, "percent": 100.0}
"""Unit of a reward → the largest value that is possible in it; a ``raw`` one, in its own unit, has none."""

UNIT_WORDS = {
    "rate": "a rate",
    "percent": "in percent",
    "raw": "in its own unit",
    "": "in a unit that is not known",
}
"""Unit of a reward → in words, after "is"."""

CLEARLY_PERCENT = 1.5
"""A share of problems with a value above this is a percentage. At most 1 it is a rate; between the two it is
neither, since a rate is never above 1 and one value hardly above it shows no percentage."""

LOW, FORK = 0.01, 0.672
"""Nats: 50.64 % of the tokens of Qwen3-8B are below LOW, a fifth above FORK (arXiv:2506.01939, section 3)."""

# Unit of an entropy → nats in one of them, and the words of a name that say so; ``4bit`` is of weights.
_LOGARITHMS = {
    "bits": (math.log(2.0), r"(?<!\d)(?<!\d_)bits?|shannons?|(?:log|base)_?2"),
    "dits": (math.log(10.0), r"dits?|bans?|hartleys?|(?:log|base)_?10"),
}

# Words of a share of problems, 0 to 1.
_SHARE = r"acc|accuracy|pass|success|(?:re)?solved?|correct|exact_?match|em|win_?rate"

# Words of the share of tokens that are as in the labels, which supervised training logs.
_TOKEN_ACCURACY = r"token_?acc(?:uracy)?"

_PERCENT = r"%|pct|per_?cent|percentage"
# Words of a percentage, and of what is one where its values are above 1; ``solved`` may be a count then.
_RATE = r"acc|accuracy|exact_?match|(?:win|pass|solve|success)_?rate|pass_?(?:at_?)?\d+"

# Sort of a number but for scores → the words of a name that say so, the first that fits.
_SORTS = {
    "entropy": r"entropy|entropies|perplexity|ppl",
    "divergence": r"kl|kld|kl_?div\w*|divergence|kl_\w*|chi_?2|clip_?frac\w*",
    "diversity": r"distinct\w*|divers\w*|unique\w*|self_?bleu|novel\w*|std|std_?dev|variance",
    "length": r"len|lens|seq_?len|lengths?|(?:num_?)?tokens?|turns|(?:num|n)_?turns?|tool_?calls?"
    r"|(?:num_?)?words|characters|truncat\w*|clip(?:ped)?_?ratio",
    "cost": r"costs?|loss\w*|time|run_?time|seconds?|latency|price|memory|throughput|penalt\w*|errors?|cer"
    r"|wer|violat\w*|fail\w*|abort\w*|invalid\w*|norm",
    "part": r"format\w*|(?:tag|xml|syntax|structure)_?(?:count|reward|score)\w*",
}

SORTS = ("score", *_SORTS)
"""What a number is: a score, a part of one, a diversity, a cost, a length, a divergence, or an entropy."""

LOSABLE = ("score", "part")
"""The sorts that a run can lose: of these alone more is better."""

# Words of a cost, whatever it is that took the time, even the computation of a reward.
_TIMED = r"timing\w*|profiling"

# Words of a reward, whatever it is given for.
_OF_REWARD = r"rewards?|scores?|returns?|f1|bleu|rouge\w*"

# Words with which a share's name is that of a count, or of another statistic.
_NO_MEAN = r"n|num|number|count|std|max|min|total|groups|len|length"


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
    return _has_word(column, _RATE) and not (_has_word(column, _NO_MEAN) or is_token_accuracy(column))


def is_token_accuracy(column: str) -> bool:
    """Whether a name says that a number is the accuracy of tokens against labels, and no reward."""
    return _has_word(column, _TOKEN_ACCURACY)


def reward_unit(column: str, values: FloatArray) -> RewardUnit:
    """Return the unit of a reward by its column's name and all its finite ``values`` (n,).

    It is ``rate`` for a share of problems from 0 to 1, ``percent`` where such a share is a percentage, and
    ``raw`` for any other: the column's own unit.
    """
    if not values.size or values.min() < 0:
        return "raw"
    largest = float(values.max())
    named_percent = _has_word(column, _PERCENT)
    if largest <= LARGEST["rate"]:
        return "rate" if is_share(column) and not named_percent else "raw"
    # The name of a data set before the metric may have the word of a count.
    shown_percent = largest > CLEARLY_PERCENT and any(map(is_rate, column.split("/")))
    return "percent" if largest <= LARGEST["percent"] and (named_percent or shown_percent) else "raw"


def largest_reward(column: str, values: FloatArray) -> float | None:
    """Return the largest reward that is possible in a column, None where that is unknown."""
    return LARGEST.get(reward_unit(column, values))


def unit_factor(to: str, of: str) -> float | None:
    """Return what numbers in the unit ``of`` are multiplied by to be in another; None where nothing converts.

    A rate and a percentage convert into each other; a raw reward is in its column's own unit.
    """
    if to == of:
        return 1.0
    if to in LARGEST and of in LARGEST:
        return LARGEST[to] / LARGEST[of]
    return None


def reward_range(unit: str, largest: float | None) -> tuple[float, float]:
    """Return the least and the largest reward that is possible in a unit; an end is infinite where unknown.

    ``largest`` is the largest possible reward of a run, None where none is known.
    """
    return 0.0 if unit in LARGEST else -math.inf, math.inf if largest is None else largest


def range_words(low: float, high: float, *, whole: bool = False) -> str:
    """``from 0 to 1``, ``a whole number, 2 or more``."""
    ends = f"from {low:g} to {high:g}"
    if math.isinf(low) and math.isinf(high):
        return "a whole number" if whole else "any number"
    if math.isinf(high):
        ends = f"{low:g} or more"
    elif math.isinf(low):
        ends = f"at most {high:g}"
    return f"a whole number, {ends}" if whole else ends


def written_number(text: str) -> float:
    """Return a number as written; of a percentage the share, rounded once."""
    return float(Decimal(text[:-1]).scaleb(-2)) if text.endswith("%") else float(text)


def sort_of_number(column: str) -> str:
    """Return what sort of number the name of a column says it has: one of :data:`SORTS`."""
    if _has_word(column, _TIMED):
        return "cost"
    # Before the metric, a path may have the name of a data set: val/novel_math/acc is no diversity.
    parts = reversed(column.split("/"))
    metric = next((name for name in parts if is_share(name) or _sort_in(name)), column)
    sort = _sort_in(metric) or "score"
    if sort in ("score", "diversity", "part"):
        return sort
    if is_share(metric):
        return "score"
    # A reward for short responses is a part of the score, and no length.
    return "part" if _has_word(column, _OF_REWARD) else sort


def _sort_in(name: str) -> str:
    """The sort of which a name has a word; empty for a score's."""
    return next((sort for sort, words in _SORTS.items() if _has_word(name, words)), "")


def _has_word(column: str, words: str) -> bool:
    """Whether one of the ``words`` is in a name as a whole word; ``pass@1`` and ``valAcc`` have one."""
    name = re.sub(r"(?<=[a-z])(?=[A-Z])|[^\w%]", "_", column[:200]).casefold()
    return re.search(rf"(?<![a-z])(?:{words})(?![a-z])", name) is not None
