"""Summaries as files and on standard output."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from entropylaw.errors import OutputError, UsageError
from entropylaw.ingest.wording import shown_path
from entropylaw.inputs import check_targets, note_input
from entropylaw.reproducible import rounded
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


def written_to(path: str) -> tuple[str, str]:
    """Where the histograms go, and where the summary."""
    return str(Path(path).with_suffix(SUMMARY_SUFFIX)), path


def check_apart(output: str | None, files: Sequence[Path]) -> None:
    """Note the files that are read, and refuse an output that would be written over one of them.

    Raises
    ------
    UsageError
        ``output-is-input``.

    """
    for file in files:
        note_input(file)
    if output is not None:
        check_targets(written_to(output))


def write(summary: Summary, path: str, kind: str) -> tuple[str, str]:
    """Write the histograms and the summary, both or neither; returns their paths.

    Raises
    ------
    OutputError
        ``cannot-write``: what stood there is as it was.

    """
    paths = written_to(path)
    content = to_parquet(summary.steps) if kind == "parquet" else rendered(summary, kind)
    data = content.encode("utf-8") if isinstance(content, str) else content
    write_together(dict(zip(paths, (to_parquet(summary.histogram), data), strict=True)))
    return paths


def write_together(files: Mapping[str, bytes]) -> None:
    """Write several files so that a reader finds all of the old ones or, but for an instant, all new ones.

    All are written beside their targets before the first takes its place; where one cannot take it, those
    before it are put back.

    Raises
    ------
    OutputError
        ``cannot-write``.

    """
    from entropylaw.documents.store import TEMPORARY, write_atomically

    check_targets(files)
    targets = [Path(name) for name in files]
    kept: dict[Path, Path | None] = {}
    with ExitStack() as stack:
        staged: list[tuple[Path, Path]] = []
        for target, data in zip(targets, files.values(), strict=True):
            if target.is_dir():
                raise _unwritable(target, "it is a folder")
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                # A folder of our own: no name in it can be somebody's file.
                place = stack.enter_context(TemporaryDirectory(dir=target.parent, prefix=TEMPORARY))
                write_atomically(Path(place) / "new", data)
            except (OSError, OutputError) as error:
                cause = error.__cause__ or error
                raise _unwritable(target, getattr(cause, "strerror", None) or str(cause)) from error
            staged.append((target, Path(place)))
        # Whatever stops it half-way, the files that were replaced come back.
        stack.callback(_put_back, kept)
        for target, folder in staged:
            _take_place(target, folder, kept)
        kept.clear()


def _put_back(kept: Mapping[Path, Path | None]) -> None:
    for target, old in kept.items():
        target.unlink(missing_ok=True) if old is None else old.replace(target)


def _take_place(target: Path, place: Path, kept: dict[Path, Path | None]) -> None:
    """Move a new file to its place, and keep what stood there."""
    old = place / "old"
    try:
        if target.exists():
            try:
                os.link(target, old)
            except OSError:  # a file system without links: for an instant there is no file
                target.replace(old)
            kept[target] = old
        else:
            kept[target] = None
        (place / "new").replace(target)
    except OSError as error:
        raise _unwritable(target, error.strerror or str(error)) from error


def _unwritable(target: Path, reason: str) -> OutputError:
    return OutputError(
        "cannot-write",
        f"{shown_path(str(target))} could not be written ({reason}); what stood there is unchanged",
        "check the folder's permissions and the space left, or choose another place with -o",
    )


def belong_together(summary: Path, histogram: Path) -> bool | None:
    """Whether a summary and a file of histograms are of the same tokens; None where one does not say."""
    from entropylaw.tokens.columntypes import own_facts

    here, there = own_facts(summary).get("sums"), own_facts(histogram).get("sums")
    return None if here is None or there is None else bool(here == there)


def histogram_of(summary: Path) -> tuple[Path | None, str]:
    """The histograms beside a summary, and a warning where a file of that name is of other tokens."""
    beside = summary.with_suffix(SUMMARY_SUFFIX)
    if not beside.is_file():
        return None, ""
    if belong_together(summary, beside) is False:
        return None, f"{beside.name} is of other tokens than {summary.name}: it is not drawn"
    return beside, ""


def to_parquet(table: pa.Table) -> bytes:
    """A table as Parquet: the same bytes for the same table."""
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def rendered(summary: Summary, kind: str) -> str:
    """A summary as ``text``, ``csv`` or ``json``."""
    rows = [
        {name: rounded(cell) if isinstance(cell, float) else cell for name, cell in row.items()}
        for row in summary.steps.to_pylist()
    ]
    if kind == "csv":
        from entropylaw.report.printable import csv_text

        return csv_text(summary.steps.column_names, rows)
    if kind == "json":
        from entropylaw.documents.store import dumps

        return dumps({**summary.about, "notes": list(summary.notes), "steps": rows})
    from entropylaw.tokens.text import render

    return render(summary.steps, summary.about)
