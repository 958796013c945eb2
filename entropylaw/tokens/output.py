"""Summaries as files and on standard output."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from entropylaw.errors import UsageError
from entropylaw.tokens.files import SUMMARY_SUFFIX

if TYPE_CHECKING:
    import pyarrow as pa

    from entropylaw.tokens.run import Summary

_SUFFIXES = {".parquet": "parquet", ".csv": "csv", ".json": "json"}


def kind_of(path: str | None) -> str | None:
    """The format that a file's suffix stands for; None for no file.

    Raises
    ------
    UsageError
        ``unknown-suffix``.

    """
    if path is None or path == "-":
        return None
    suffix = Path(path).suffix.lower()
    if suffix not in _SUFFIXES or path.lower().endswith(SUMMARY_SUFFIX):
        raise UsageError(
            "unknown-suffix",
            f"-o {path} has suffix {suffix or '(none)'!r}, expected one of {', '.join(_SUFFIXES)}",
            "the suffix decides the format; .hist.parquet is for the histograms beside it",
        )
    return _SUFFIXES[suffix]


def files(summary: Summary, path: str, kind: str) -> Iterator[tuple[str, str | bytes]]:
    """Each file with its content: the histograms first, so that a summary never stands without them."""
    yield str(Path(path).with_suffix(SUMMARY_SUFFIX)), to_parquet(summary.histogram)
    yield path, to_parquet(summary.steps) if kind == "parquet" else rendered(summary, kind)


def to_parquet(table: pa.Table) -> bytes:
    """A table as Parquet: the same bytes for the same table."""
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def rendered(summary: Summary, kind: str) -> str:
    """A summary as ``text``, ``csv`` or ``json``."""
    rows = summary.steps.to_pylist()
    if kind == "csv":
        buffer = io.StringIO()
        writer = csv.DictWriter(buffer, summary.steps.column_names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return buffer.getvalue()
    if kind == "json":
        from entropylaw.documents.store import dumps

        return dumps({**summary.about, "notes": list(summary.notes), "steps": rows})
    from entropylaw.tokens.text import render

    return render(summary.steps, summary.about)
