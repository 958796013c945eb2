"""Names from logs, made harmless for where they are shown or become files. Run names are anybody's text."""

from __future__ import annotations

import csv
import io
import re
import textwrap
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from entropylaw.documents.fit import RunFit
    from entropylaw.documents.phases import RunPhases

WIDTH = 100
"""Columns of a terminal that are used."""

LONGEST = 80
"""Characters of a file's name before its suffix."""

_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
_NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?|-inf", re.IGNORECASE | re.ASCII)
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


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


def refusal_lines(run: RunFit | RunPhases) -> list[str]:
    """A run that could not be fitted, for a terminal: its name, its file unless that is the name, and why."""
    assert run.refusal is not None
    title = one_line(run.run) if run.run == run.path else f"{one_line(run.run)} · {one_line(run.path)}"
    return [title, *labelled_lines("NOT FITTED", f"{run.refusal.message} [{run.refusal.slug}]")]


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """A table as CSV, with a head; what a row does not have is an empty cell. Texts are made harmless."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, restval="", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({k: spreadsheet_cell(v) if isinstance(v, str) else v for k, v in row.items()})
    return buffer.getvalue()


def safe_name(name: str, taken: set[str]) -> str:
    """A file name for ``name`` on any system, different from all ``taken``; it is added to them.

    Only ASCII letters, digits, dot, underscore and hyphen are left; no name starts with a dot or is one
    that Windows keeps for itself. Two names that differ only in case count as the same.
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode("ascii")
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", plain)
    slug = re.sub(r"\.{2,}", ".", slug)
    slug = re.sub(r"-{2,}", "-", slug).strip("-._")[:LONGEST].rstrip("-._") or "run"
    if _RESERVED.fullmatch(slug):
        slug = f"run-{slug}"
    unique, count = slug, 2
    while unique.casefold() in taken:
        unique, count = f"{slug}-{count}", count + 1
    taken.add(unique.casefold())
    return unique
