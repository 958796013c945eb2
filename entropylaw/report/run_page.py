"""The page of one run: words first, then figure and numbers, how far to trust them, and what was read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from entropylaw.documents.document import InputFile
from entropylaw.documents.report import ReportDocument, RunReport
from entropylaw.report.figures import FIGURES, FigureEntry
from entropylaw.report.html import compact, environment
from entropylaw.report.printable import one_line
from entropylaw.report.svg import glyphs, inline

INDEX = "../index.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """The page before this one, or after it: the run's name and its address."""

    run: str
    href: str


def render(
    document: ReportDocument,
    run: RunReport,
    slug: str,
    figures: Mapping[str, str],
    links: Mapping[str, Sequence[str]] | None = None,
    *,
    previous: Neighbour | None = None,
    following: Neighbour | None = None,
    index: str = INDEX,
) -> str:
    """The page.

    Parameters
    ----------
    document
        The report that the run is in, for its files and settings; it may hold this run alone.
    run, slug
        The run, and the name of its page.
    figures
        Name (of :data:`~entropylaw.report.figures.FIGURES`) → SVG as text; those that are not there, or that
        a page has no room for, are left out.
    links
        Name of a figure → addresses of its files, relative to the page.
    previous, following
        The neighbours in the index; None at an end, or where they are not known.
    index
        Address of the index, relative to the page.
    """
    shown = [entry for entry in FIGURES if entry.section is not None and entry.name in figures]
    names = {entry.name for entry in shown}
    name = one_line(run.run)

    def markup(entry: FigureEntry) -> Markup:
        """A figure with a title and a description for those who listen."""
        words = one_line(entry.description(run))
        # Everything from outside is escaped in inline.
        return Markup(compact(inline(figures[entry.name], entry.name, f"{entry.title} {name}", words)))

    template = environment().get_template("run_page.html.j2")
    return template.render(
        document=document,
        report=run,
        name=name,
        figures=[(entry, markup(entry)) for entry in shown],
        glyphs=Markup(compact(glyphs(figures[entry.name] for entry in shown))),
        links=links or {},
        others={name: found for name, found in (links or {}).items() if name not in names},
        inputs=files_of(document, run),
        previous=previous,
        following=following,
        index=index,
    )


def files_of(document: ReportDocument, run: RunReport) -> tuple[InputFile, ...]:
    """The files of a document that a run was read from; a run may be joined from several in a folder."""
    if len(document.runs) == 1:
        return document.inputs
    path = run.fit.path
    exact = tuple(file for file in document.inputs if file.path == path)
    return exact or tuple(file for file in document.inputs if file.path.startswith(f"{path}/"))
