"""Names from logs, made harmless for the place where they are shown. Run names are anybody's text."""

from __future__ import annotations


def one_line(text: str) -> str:
    r"""``text`` with control characters written out (``\n``), for a terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def markdown_cell(text: str) -> str:
    """``text`` for a Markdown table cell or heading: nothing in it is markup or mathematics any more."""
    escaped = "".join("\\" + c if c in "\\`*_{}[]()#|!~$" else c for c in one_line(text))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def spreadsheet_cell(text: str) -> str:
    """``text`` that no spreadsheet takes for a formula."""
    return "'" + text if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text
