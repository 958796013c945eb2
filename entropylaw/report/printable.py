"""Names from logs, made harmless for the place where they are shown. Run names are anybody's text."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Iterable, Mapping, Sequence

WIDTH = 100
"""Columns of a terminal that are used."""


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


def labelled_lines(label: str, text: str) -> list[str]:
    """A labelled sentence for a terminal, wrapped under itself."""
    lines = textwrap.wrap(one_line(text), WIDTH - 13)
    return [f"  {label:<10} {lines[0]}"] + [" " * 13 + line for line in lines[1:]]


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """A table as CSV, with a head; what a row does not have is an empty cell."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()
