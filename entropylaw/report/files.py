"""A whole report in a folder: rendered in memory first, then written file by file, each in one move."""

from __future__ import annotations

import os
from pathlib import Path

from entropylaw.documents.fit import FitDocument, RunFit
from entropylaw.documents.store import dumps, write_atomically
from entropylaw.report import csvtable, html, markdown
from entropylaw.report.slugs import run_slugs, safe_name

__all__ = ["render_report", "safe_name", "write_report"]

_NAMES = {"law": "the law", "series": "entropy and reward", "residuals": "residuals"}


def write_report(document: FitDocument, folder: str | os.PathLike[str]) -> list[Path]:
    """Write the report and return the paths in the order of writing.

    Raises
    ------
    OutputError
        ``cannot-write``: what stood at that path before stands there still.
    """
    written = []
    for name, content in render_report(document).items():
        path = Path(folder) / name
        write_atomically(path, content)
        written.append(path)
    return written


def render_report(document: FitDocument) -> dict[str, str | bytes]:
    """Every file of the report, by its name relative to the folder; the page last but for nothing.

    Figures come first, so that no text ever points at a figure that is not there yet.
    """
    files: dict[str, str | bytes] = {}
    inlined: dict[str, html.FigureSet] = {}
    links: dict[str, dict[str, str]] = {}
    for run, slug in zip(document.runs, run_slugs(document), strict=True):
        if run.law is None:
            continue
        drawn = _figures(run, slug)
        files |= {f"figures/{slug}-{name}.{kind}": data for (name, kind), data in drawn.items()}
        svg = {name: data.decode("utf-8") for (name, kind), data in drawn.items() if kind == "svg"}
        inlined[slug] = html.FigureSet(**svg)
        links[slug] = {_NAMES[name]: f"figures/{slug}-{name}.svg" for name in svg}
    pages: dict[str, str | bytes] = {
        "index.html": html.render(document, inlined),
        "report.md": markdown.render(document, links),
        "report.json": dumps(document.to_json()),
        "report.csv": csvtable.render(document),
    }
    return files | pages


def _figures(run: RunFit, slug: str) -> dict[tuple[str, str], bytes]:
    """The three figures of a run, as SVG and as PNG."""
    from entropylaw.report import figures

    makers = {
        "law": figures.law_figure,
        "series": figures.series_figure,
        "residuals": figures.residual_figure,
    }
    drawn: dict[tuple[str, str], bytes] = {}
    for name, make in makers.items():
        figure = make(run)
        drawn[name, "svg"] = figures.figure_bytes(figure, "svg", f"{slug}-{name}")
        drawn[name, "png"] = figures.figure_bytes(figure, "png", f"{slug}-{name}")
    return drawn
