"""Names from logs, made harmless for where they are shown or become files. Run names are anybody's text."""

from __future__ import annotations

import re
import textwrap
import unicodedata

WIDTH = 100
"""Columns of a terminal that are used."""


def one_line(text: str) -> str:
    r"""``text`` with control characters written out (``\n``), for a terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def markdown_cell(text: str, special: str = "\\`*_{}[]()#|!~$") -> str:
    """``text`` for a Markdown table cell or heading: nothing ``special`` is markup or mathematics now."""
    escaped = "".join("\\" + c if c in special else c for c in one_line(text))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def spreadsheet_cell(text: str) -> str:
    """``text`` on one line, without control characters, that no spreadsheet takes for a formula."""
    text = one_line(text)
    number = re.fullmatch(r"-?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?|-inf", text, re.IGNORECASE | re.ASCII)
    return f"'{text}" if text.startswith(tuple("=+-@＝＋－＠")) and not number else text


def wrapped(text: str, width: int, *, whole: bool = False) -> list[str]:
    """``text`` in lines that do not break inside ``p = 0.05`` or ``[30, 55 or after]``, nor before those.

    A word that is wider than a line is broken, but for ``whole`` ones.
    """
    joined = re.sub(r"\[[^][]*\]", lambda interval: interval.group().replace(" ", "\xa0"), one_line(text))
    joined = re.sub(r" (?=[=≤<>] )|(?<=[=≤<>]) | (?=\[)|(?<=\d) (?=%|cautions?\b)", "\xa0", joined)
    lines = textwrap.wrap(joined, width, break_on_hyphens=False, break_long_words=not whole)
    return [line.replace("\xa0", " ") for line in lines]


def safe_name(name: str, taken: set[str]) -> str:
    """A file name for ``name`` on any system, different from all ``taken``; it is added to them.

    Only ASCII letters, digits, dot, underscore and hyphen are left, at most 80 of them; no name starts with a
    dot or is one that Windows keeps for itself. Two names that differ only in case count as the same.
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode("ascii")
    slug = re.sub(r"\.{2,}", ".", re.sub(r"[^A-Za-z0-9._-]+", "-", plain))
    slug = re.sub(r"-{2,}", "-", slug).strip("-._")[:80].rstrip("-._") or "run"
    if re.fullmatch(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", slug, re.IGNORECASE):
        slug = f"run-{slug}"
    unique, count = slug, 2
    while unique.casefold() in taken:
        unique, count = f"{slug}-{count}", count + 1
    taken.add(unique.casefold())
    return unique
