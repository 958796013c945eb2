"""Lines that a terminal has folded, as in text that was copied out of one: full ones go on in the next."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

# Of a text so much shows how wide its terminal was.
_SAMPLE = 1 << 20
_NARROWEST = 40
# Fewer full lines may be so long by chance.
_FEWEST_FULL = 3
_OPENING = 6
# A line that many lines open like is one in a twenty of those behind a short one.
_ONE_IN_FREQUENT = 20
# So many ways in which full lines go on are not those of a format.
_MANY_OPENINGS = 5
_BOX_ENDS = (*"│┃║|┐┓╮┘┛╯┤┨╡━─═", "--", "==", "-+", "  ")
# What goes on in a number, in a word, or in what stands behind one.
_WITHIN = re.compile(r"[\d.]{2}|[^\W\d][a-z_/]|\S[,:;)\]}=]|. (?=\S)|[,:=] ?\S", re.DOTALL)


def unfolded(text: str) -> tuple[str, int]:
    """The text with its full lines joined with the next, and how wide these are; 0 where none are."""
    width, openings = _fold(text[:_SAMPLE].split("\n")[:-1])
    if not width or re.search(f"[^\n]{{{width + 1}}}", text):
        return text, 0
    whole: list[str] = []
    before = ""
    for line in text.split("\n"):
        if len(before) == width and _opening(line) not in openings:
            whole[-1] += line
        else:
            whole.append(line)
        before = line
    return "\n".join(whole), width


def _fold(lines: Sequence[str]) -> tuple[int, frozenset[str]]:
    """How wide full lines are, 0 where none are folded, and how lines often open that begin something.

    What follows a shorter line begins something. Full lines of a fixed format are followed by the same, and
    those of a box end with its side.
    """
    width = max(map(len, lines), default=0)
    begun = Counter(_opening(after) for line, after in pairwise(lines) if len(line) < width)
    frequent = frozenset(opening for opening, n in begun.items() if n * _ONE_IN_FREQUENT >= begun.total())
    full = [pair for pair in pairwise(lines) if len(pair[0]) == width and not pair[0].endswith(_BOX_ENDS)]
    behind = Counter(_opening(after) for _, after in full)
    begin = sum(behind[opening] for opening in frequent)
    if width < _NARROWEST or len(full) < _FEWEST_FULL or not frequent or begin * 2 >= len(full):
        return 0, frequent
    # Within a dict, a number or a word.
    broken = sum(
        line.count("{") > line.count("}") or _WITHIN.match(line[-1] + after[:2]) is not None
        for line, after in full
    )
    folds = len(behind) >= _MANY_OPENINGS or broken * 2 >= len(full)
    return width if folds else 0, frequent


def _opening(line: str) -> str:
    return re.sub(r"\d", "0", line[:_OPENING])
