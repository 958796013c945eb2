"""The files over all runs, made from one small row a run: page, Markdown, CSV and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entropylaw._version import __version__
from entropylaw.documents.codec import encode
from entropylaw.documents.document import InputFile
from entropylaw.documents.kinds import KINDS
from entropylaw.documents.report import load_report
from entropylaw.documents.store import dumps, write_atomically
from entropylaw.options import FitOptions
from entropylaw.report import index_page
from entropylaw.report.describe.report import index_table
from entropylaw.report.figures import FIGURES
from entropylaw.report.index_rows import IndexRow
from entropylaw.report.render import csv
from entropylaw.results.groups import SharedFit


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexDocument:
    """One row a run; ``runs/SLUG.json`` has the whole document of each.

    ``shared`` has what the runs of each stored document have in common. ``unfinished`` runs were left by an
    interrupt: writing the report again makes them, and only them.
    """

    inputs: tuple[InputFile, ...]
    settings: FitOptions
    rows: tuple[IndexRow, ...]
    unfinished: int
    warnings: tuple[str, ...]
    shared: tuple[SharedFit, ...] = ()
    version: str = __version__
    schema: str = KINDS["index"].schema
    seed: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return encode(self)  # type: ignore[no-any-return]


def write_index(
    folder: Path, document: IndexDocument, files: Mapping[str, Iterable[str]]
) -> tuple[Path, ...]:
    """Write the page and the tables over all runs; returns the paths, the page last.

    ``files`` maps a run's slug to its files in the folder, among which are the figures that Markdown shows.
    """
    sections = (
        (load_report(folder / "runs" / f"{row.slug}.json").runs[0], row.slug) for row in document.rows
    )
    figures: dict[str, dict[str, str]] = {}
    for slug, names in files.items():
        paths = {entry.name: f"figures/{slug}-{entry.name}.svg" for entry in FIGURES}
        figures[slug] = {name: path for name, path in paths.items() if path in set(names)}
    rows, warnings, shared = document.rows, document.warnings, document.shared
    contents = {
        "report.md": index_page.markdown(
            rows, sections, warnings=warnings, figures=figures, shared=shared
        ),
        "report.csv": csv.render(index_table(rows, shared)),
        "report.json": dumps(document.to_json()),
        PAGE: index_page.render(rows, warnings=warnings, files=FILES, shared=shared),
    }
    for name, content in contents.items():
        write_atomically(folder / name, content)
    return tuple(folder / name for name in contents)


PAGE = "index.html"
FILES = {"Markdown": "report.md", "CSV": "report.csv", "JSON": "report.json"}
