"""Text from logs in sentences, terminals, tables and file names: escaped, quoted and short.

Names of runs and columns are written by other programs, and may hold control characters, markup or formulas.
"""

from __future__ import annotations

import difflib
import re
import shlex
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from contextvars import ContextVar

from entropylaw.paths import hostless

WIDTH = 100
"""Characters of the longest lines of sentences."""

COLUMNS: ContextVar[int] = ContextVar("COLUMNS", default=WIDTH)
"""Characters of the lines that are written: of a file :data:`WIDTH`, of a terminal as many as it has."""

_NEARLY_A_NUMBER = re.compile(r"[\d\s.,:/%e+-]{1,24}", re.ASCII | re.IGNORECASE)


def shown(value: object, longest: int = 80) -> str:
    """Quote a name or a cell on one line, with control characters as escapes.

    Text that is longer than ``longest`` ends in an ellipsis.
    """
    text = str(value)
    if len(text) > longest:
        text = text[: longest - 1] + "…"
    safe = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
    return f"'{safe}'"


def shown_cell(cell: object) -> str:
    """Quote a cell that is nearly a number, such as ``'2.28%'``; of other text give the length."""
    text = str(cell)
    return shown(text) if _NEARLY_A_NUMBER.fullmatch(text) else f"text of {counted(len(text), 'character')}"


def quoted_path(path: str) -> str:
    """Quote a path as :func:`shown`, without its host and nearly always in full."""
    return shown(hostless(path), 400)


def in_shell(text: str) -> str:
    r"""``text`` as a word of a command on one line; with control characters as bash has it: ``$'a\x0d'``."""
    if text.isprintable():
        return shlex.quote(text)
    plain = text.replace("\\", "\\\\").replace("'", "\\'")
    escapes = (f"\\x{ord(c):02x}" if c.isascii() else f"\\U{ord(c):08x}" for c in plain)
    letters = (c if c.isprintable() else escape for c, escape in zip(plain, escapes, strict=True))
    return f"$'{''.join(letters)}'"


def listing(names: Sequence[str], most: int = 12) -> str:
    """Join quoted names with commas; beyond ``most`` of them only the number of the others."""
    text = ", ".join(map(shown, names[:most])) or "none"
    return text if len(names) <= most else f"{text} and {len(names) - most} more"


def counted(number: int, one: str, many: str | None = None) -> str:
    """``counted(1, "row")`` is "1 row", ``counted(2, "row")`` "2 rows"."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def places(word: str, numbers: Sequence[float], most: int = 3) -> str:
    """``places("line", [12])`` is "line 12"; of more than ``most`` the others are counted. Empty for none."""
    if not numbers:
        return ""
    noun = word if len(numbers) == 1 else f"{word}s"
    text = f"{noun} {', '.join(f'{number:g}' for number in numbers[:most])}"
    return text if len(numbers) <= most else f"{text} and {len(numbers) - most} more"


def nearest(names: Iterable[str], known: Sequence[str], most: int = 12) -> list[str]:
    """Return those of the ``known`` names that resemble one of ``names``, best first."""
    matcher = difflib.SequenceMatcher()
    scores: dict[str, float] = {}
    goals = [name.casefold() for name in names]
    # Comparing names takes time; a table with more columns has generated names.
    for name in known[:2000]:
        matcher.set_seq2(name.casefold()[:200])
        for goal in goals:
            matcher.set_seq1(goal)
            if matcher.real_quick_ratio() > 0.7 and matcher.quick_ratio() > 0.7:
                scores[name] = max(scores.get(name, 0.0), matcher.ratio())
    close = [name for name, score in scores.items() if score >= 0.7]
    return sorted(close, key=lambda name: (-scores[name], name))[:most]


def sqlite_cause(problem: Exception) -> str:
    """Name an error of SQLite, whose message quotes the statement that a damaged file holds."""
    return getattr(problem, "sqlite_errorname", type(problem).__name__)


def one_line(text: str) -> str:
    r"""``text`` with control characters written out (``\n``), for a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def in_ascii(text: str) -> str:
    """``text`` in ASCII: a dot between parts and a minus as similar signs, any other letter as an escape."""
    plain = text.translate(str.maketrans("·−", "|-"))
    return plain.encode("ascii", "backslashreplace").decode("ascii")


def markdown_cell(text: str, special: str = "\\`*_{}[]()#|!~$") -> str:
    """``text`` for a Markdown table cell or heading, every ``special`` character escaped."""
    escaped = "".join("\\" + c if c in special else c for c in one_line(text))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def spreadsheet_cell(text: str) -> str:
    """``text`` on one line, without control characters, that no spreadsheet takes for a formula."""
    text = one_line(text)
    number = re.fullmatch(r"-?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?|-inf", text, re.IGNORECASE | re.ASCII)
    return f"'{text}" if text.startswith(tuple("=+-@＝＋－＠")) and not number else text


def wrapped(text: str, width: int, *, whole: bool = False) -> list[str]:
    """``text`` in lines that do not break inside ``p = 0.05`` or ``[30, 55 or after]``, nor before those.

    A word that is wider than a line is broken, unless ``whole`` is set.
    """
    text = one_line(text)
    if 0 < len(text) <= width and text == text.strip():
        return [text]
    joined = re.sub(r"\[[^][]*\]", lambda interval: interval.group().replace(" ", "\xa0"), text)
    joined = re.sub(r" (?=[=≤<>] )|(?<=[=≤<>]) | (?=\[)|(?<=\d) (?=%|cautions?\b)", "\xa0", joined)
    lines = textwrap.wrap(joined, width, break_on_hyphens=False, break_long_words=not whole)
    return [line.replace("\xa0", " ") for line in lines]


def safe_name(name: str, taken: set[str]) -> str:
    """A file name for ``name`` on any system, different from all ``taken``; it is added to them.

    Only ASCII letters, digits, dot, underscore and hyphen are left, at most 80 of them; no name starts with a
    dot or is reserved by Windows. Two names that differ only in case count as the same.
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode("ascii")
    slug = re.sub(r"\.{2,}", ".", re.sub(r"[^A-Za-z0-9._-]+", "-", plain))
    slug = re.sub(r"-{2,}", "-", slug).strip("-._")[:80].rstrip("-._") or "run"
    if re.fullmatch(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", slug, re.IGNORECASE):
        slug = f"run-{slug}"
    unique = slug
    count = 2
    while unique.casefold() in taken:
        unique = f"{slug}-{count}"
        count = count + 1
    taken.add(unique.casefold())
    return unique
