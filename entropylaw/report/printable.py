"""Names from logs, made harmless for the place where they are shown. Run names are anybody's text."""

from __future__ import annotations

import csv
import io
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence

WIDTH = 100
"""Columns of a terminal that are used."""


_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
_NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?|-inf", re.IGNORECASE | re.ASCII)


def one_line(text: str) -> str:
    r"""``text`` with control characters written out (``\n``), for a terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def markdown_cell(text: str) -> str:
    """``text`` for a Markdown table cell or heading: nothing in it is markup or mathematics any more."""
    escaped = "".join("\\" + c if c in "\\`*_{}[]()#|!~$" else c for c in one_line(text))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def spreadsheet_cell(text: str) -> str:
    """``text`` on one line, without control characters, that no spreadsheet takes for a formula."""
    text = one_line(text)
    return "'" + text if text.startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text


def labelled_lines(label: str, text: str) -> list[str]:
    """A labelled sentence for a terminal, wrapped under itself."""
    lines = textwrap.wrap(one_line(text), WIDTH - 13)
    return [f"  {label:<10} {lines[0]}"] + [" " * 13 + line for line in lines[1:]]


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """A table as CSV, with a head; what a row does not have is an empty cell. Texts are made harmless."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, restval="", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({k: spreadsheet_cell(v) if isinstance(v, str) else v for k, v in row.items()})
    return buffer.getvalue()
