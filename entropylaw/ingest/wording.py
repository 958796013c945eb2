"""How names and cells from strangers' files appear in our sentences: quoted, escaped, short."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

from entropylaw.escaping import shown as shown
from entropylaw.paths import hostless

_NEARLY_A_NUMBER = re.compile(r"[\d\s.,:/%e+-]{1,24}", re.ASCII | re.IGNORECASE)


def shown_cell(cell: object) -> str:
    """Quote a cell that is nearly a number, such as ``'2.28%'``; of other text give the length."""
    text = str(cell)
    return shown(text) if _NEARLY_A_NUMBER.fullmatch(text) else f"text of {counted(len(text), 'character')}"


def sqlite_cause(problem: Exception) -> str:
    """Name an error of SQLite, whose message quotes the statement that a damaged file holds."""
    return getattr(problem, "sqlite_errorname", type(problem).__name__)


def shown_path(path: str) -> str:
    """Quote a path as :func:`shown`, in full as far as anybody's paths go."""
    return shown(hostless(path), 400)


def listing(names: Sequence[str], most: int = 12) -> str:
    """Join quoted names with commas; beyond ``most`` of them only the number of the others."""
    text = ", ".join(map(shown, names[:most])) or "none"
    return text if len(names) <= most else f"{text} and {len(names) - most} more"


def nearest(wanted: Iterable[str], names: Sequence[str], most: int = 12) -> list[str]:
    """Names that resemble one of ``wanted``, best first."""
    matcher = difflib.SequenceMatcher()
    scores: dict[str, float] = {}
    goals = [goal.casefold() for goal in wanted]
    # Comparing names takes time; a table with more columns is none that a person named.
    for name in names[:2000]:
        matcher.set_seq2(name.casefold()[:200])
        for goal in goals:
            matcher.set_seq1(goal)
            if matcher.real_quick_ratio() > 0.7 and matcher.quick_ratio() > 0.7:
                scores[name] = max(scores.get(name, 0.0), matcher.ratio())
    close = [name for name, score in scores.items() if score >= 0.7]
    return sorted(close, key=lambda name: (-scores[name], name))[:most]


def counted(number: int, one: str, many: str | None = None) -> str:
    """``counted(1, "row")`` is "1 row", ``counted(2, "row")`` "2 rows"."""
    return f"{number} {one if number == 1 else many or one + 's'}"
