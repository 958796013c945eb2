"""Tables of the pages, and where they stand: between two markers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

PAGES = Path(__file__).parent.parent / "docs" / "benchmarks"


def write_block(name: str, text: str) -> None:
    """Rewrite the page of a benchmark with ``text`` between the markers of its block."""
    page = PAGES / f"{name}.md"
    page.write_text(with_block(page.read_text(encoding="utf-8"), name, text), encoding="utf-8")


def with_block(content: str, name: str, text: str) -> str:
    """``content`` with ``text`` between ``<!-- name:begin -->`` and ``<!-- name:end -->``."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    if content.count(begin) != 1 or content.count(end) != 1:
        raise SystemExit(f"the page needs the markers {begin} and {end} exactly once each")
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    return pattern.sub(lambda _: f"{begin}\n\n{text}\n\n{end}", content)


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose first column is text, and the others numbers."""
    rule = ["---", *["---:"] * (len(columns) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (columns, rule, *rows))
