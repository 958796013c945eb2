"""The page of one run: its description between the links to its neighbours and the files that were read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import NamedTuple

from entropylaw.documents.document import InputFile
from entropylaw.documents.report import ReportDocument, RunReport
from entropylaw.report import words
from entropylaw.report.blocks import Block, Heading, Table, columns, paragraphs
from entropylaw.report.describe import describe, groups
from entropylaw.report.figures import figures_of
from entropylaw.report.numbers import format_percent
from entropylaw.report.printable import one_line
from entropylaw.report.render.html import environment, fragment


class Neighbour(NamedTuple):
    """The page before this one, or after it: the run's name and its address."""

    run: str
    href: str


def render(
    document: ReportDocument,
    run: RunReport,
    figures: Mapping[str, str],
    links: Mapping[str, Sequence[str]] | None = None,
    *,
    previous: Neighbour | None = None,
    following: Neighbour | None = None,
) -> str:
    """The page.

    Parameters
    ----------
    document
        The report that the run is in, for its files and settings; it may hold this run alone.
    run
        The run.
    figures
        Name (of :data:`~entropylaw.report.figures.FIGURES`) → SVG as text; others are left out.
    links
        Name of a figure → addresses of its files, relative to the page.
    previous, following
        The neighbours in the index; None at an end, or where they are not known.
    """
    blocks = describe(run)
    assert isinstance(blocks[0], Heading)
    if document.shared is not None:
        blocks += groups.shared_blocks(document.shared, 3)
    blocks += [*figures_of("tokens", None), *_provenance(document, run)]
    template = environment().get_template("run_page.html.j2")
    return template.render(
        document=document,
        name=one_line(run.run),
        about=blocks[0].about,
        badge=words.badge(run.fit),
        safe=run.fit.law is not None and run.fit.law.validity.ok,
        body=fragment(blocks, figures, links),
        previous=previous,
        following=following,
    )


def _provenance(document: ReportDocument, run: RunReport) -> list[Block]:
    """The files that were read, and the options that were given."""
    settings, default = document.settings, type(document.settings)()
    level = f"Level {format_percent(settings.level)}, interval '{settings.interval}'"
    given = {field.name: getattr(settings, field.name) for field in fields(settings)}
    options = "".join(
        f", {name.replace('_', ' ')} '{' '.join(map(str, value)) if isinstance(value, tuple) else value}'"
        for name, value in given.items()
        if name not in ("level", "interval") and value != getattr(default, name)
    )
    written = f"Written by entropylaw {document.version}; document {document.schema}."
    files = [(file.path, file.format, file.rows, file.sha256) for file in files_of(document, run)]
    table = Table(columns("file format records sha256"), files) if files else None
    return [
        Heading("Files and settings", name="inputs"),
        table or paragraphs("No file could be read."),
        paragraphs(f"{level}{options}. {written}"),
    ]


def files_of(document: ReportDocument, run: RunReport) -> tuple[InputFile, ...]:
    """The files of a document that a run was read from; a run may be joined from several in a folder."""
    if len(document.runs) == 1:
        return document.inputs
    path = run.fit.path
    exact = tuple(file for file in document.inputs if file.path == path)
    return exact or tuple(file for file in document.inputs if file.path.startswith(f"{path}/"))
