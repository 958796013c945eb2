"""The pages of a report: one per run, the index over one run or a thousand, and that of a single result.

A page is blocks in one shell, ``page.html.j2``; in a report of one file, all but the index are sections of
that. The index is made from rows alone, so that no more than those are held; so is the Markdown with it. Its
rows are complete without the script that orders them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from markupsafe import Markup

from entropylaw.documents.document import InputFile, ReportDocument, RunReport
from entropylaw.documents.summary import RunSummary
from entropylaw.escaping import counted, one_line
from entropylaw.report import words
from entropylaw.report.blocks import Block, Figure, Heading, Table, columns, paragraphs
from entropylaw.report.describe import describe, index, run_table, runs
from entropylaw.report.describe.runs import by_name
from entropylaw.report.numbers import format_percent
from entropylaw.report.render.html import environment, fragment
from entropylaw.report.render.markdown import whole
from entropylaw.results.phases import PhasesAcross
from entropylaw.version import __version__


class Neighbour(NamedTuple):
    """The page before this one, or after it: the run's name and its address."""

    run: str
    href: str


class Drawn(NamedTuple):
    """One of several rewards of a run: the name of its figures, these as SVG, and the addresses of files."""

    report: RunReport
    stem: str
    figures: Mapping[str, str]
    links: Mapping[str, Sequence[str]]


def section_of(slug: str) -> str:
    """The id of the section of a run."""
    return f"run:{slug}"


@dataclass(frozen=True, kw_only=True)
class _Page:
    """A page by the names of its template; a part that it does not have is empty.

    ``section`` is its id as a section of another page.
    """

    title: str
    heading: str
    body: str
    section: str = ""
    home: str = ""
    previous: Neighbour | None = None
    following: Neighbour | None = None
    kicker: str = ""
    about: str = ""
    counts: Sequence[tuple[str, int]] = ()
    summary: Sequence[str] = ()
    warnings: Sequence[str] = ()
    table: str = ""
    reading: str = ""
    rewards: Sequence[Mapping[str, str]] = ()
    inputs: str = ""
    skipped: Sequence[str] = ()
    written: bool = True
    files: Mapping[str, str] = field(default_factory=dict)
    version: str = __version__


def _html(page: _Page, sections: Sequence[str] = ()) -> str:
    """A page in the shell, with other pages as ``sections`` below it; or the section of another page."""
    content = environment().get_template("content.html.j2").render(vars(page), prefix=_prefix(page.section))
    if page.section:
        return content
    # Each has been rendered, with all text from logs escaped.
    return (
        environment()
        .get_template("page.html.j2")
        .render(
            title=page.title,
            table=page.table,
            content=Markup(content),
            sections=[Markup(html) for html in sections],
        )
    )


def _prefix(section: str) -> str:
    """What the ids in a section begin with."""
    return f"{section}:" if section else ""


def run_page(
    document: ReportDocument,
    run: RunReport,
    figures: Mapping[str, str],
    links: Mapping[str, Sequence[str]] | None = None,
    *,
    previous: Neighbour | None = None,
    following: Neighbour | None = None,
    home: str = "../index.html",
    section: str = "",
    rewards: Sequence[Drawn] = (),
) -> str:
    """The page of a run.

    Parameters
    ----------
    document
        The report of the run, for its files and settings; it may have this run alone.
    run
        The run.
    figures
        Name (of :data:`~entropylaw.report.figures.FIGURES`) → SVG as text; others are left out.
    links
        Name of a figure → addresses of its files, relative to the page.
    previous, following
        The neighbours in the index; None at an end, or where they are unknown.
    home
        The address of the index; empty for a page without one.
    section
        The id of the page as a section of another one.
    rewards
        All rewards of a run with several: the page has a row and a panel of each, and describes each in a
        part that is folded away.
    """
    if rewards:
        reports = [reward.report for reward in rewards]
        heading, *blocks = runs.of_rewards(reports, document.settings.steps)
        name = run.fit.run
        title = f"{one_line(name)}: {counted(len(rewards), 'reward')}"
        blocks += runs.of_phases(run) if run.phases is not None else []
    else:
        heading, *blocks = describe(run)
        name = run.fit.name
        title = f"{one_line(name)}: {words.state_cell(run.fit)}"
    assert isinstance(heading, Heading)
    inputs = [Heading("Files and settings", name="inputs"), *_inputs(document, run)]
    prefix = _prefix(section)
    page = _Page(
        title=f"{title} — Entropy law report",
        heading=name,
        body=fragment([heading, *blocks], figures, links, prefix=prefix, folded=True),
        inputs=fragment(inputs, {}, prefix=prefix, folded=True),
        rewards=[_folded(reward) for reward in rewards],
        section=section,
        home=home,
        previous=previous,
        following=following,
        about=heading.about,
        warnings=document.warnings,
        written=False,
    )
    return _html(page)


def _folded(reward: Drawn) -> dict[str, str]:
    """The part of a page that describes one of several rewards, and is folded away."""
    entry = reward.report.fit
    section = f"reward:{reward.stem}"
    return {
        "id": section,
        "name": entry.reward,
        "verdict": words.state_cell(entry),
        "about": words.why(entry) if entry.result is None else words.headline(entry.result),
        "body": fragment(describe(entry), reward.figures, reward.links, prefix=_prefix(section), folded=True),
    }


def _inputs(document: ReportDocument, run: RunReport) -> list[Block]:
    """The files that were read, and the options that were given."""
    settings = document.settings
    default = type(settings)()
    options = f"Level {format_percent(settings.level)}"
    for option in fields(settings):
        value = getattr(settings, option.name)
        if option.name == "level" or value == getattr(default, option.name):
            continue
        text = " ".join(map(str, value)) if isinstance(value, tuple) else value
        options += f", {option.name.replace('_', ' ')} '{text}'"
    written = f"Written by entropylaw {document.version}; document {document.schema}."
    files: list[tuple[str, str, int | None, str]] = [
        (file.path, file.format, file.rows, file.sha256) for file in files_of(document, run)
    ]
    if document.config is not None:
        files.append((document.config.path, "settings", None, document.config.sha256))
    inputs = Table(columns("file", "format", "records", "sha256"), files)
    return [inputs if files else paragraphs("No file could be read."), paragraphs(f"{options}. {written}")]


def files_of(document: ReportDocument, run: RunReport) -> tuple[InputFile, ...]:
    """The files of a document that a run was read from; a run may be joined from several in a folder."""
    if len(document.runs) == 1:
        return document.inputs
    path = run.fit.path
    exact = tuple(file for file in document.inputs if file.path == path)
    return exact or tuple(file for file in document.inputs if file.path.startswith(f"{path}/"))


def _with_figures(blocks: Sequence[Block]) -> str:
    """Blocks as HTML with the figures that have something to draw."""
    from entropylaw.report.figures.drawings import drawn

    return fragment(blocks, drawn(blocks))


def single_page(result: Any) -> str:
    """The page of a result; a figure that has nothing to draw is left out."""
    blocks = describe(result)
    heading = next((block.text for block in blocks if isinstance(block, Heading)), "")
    title = one_line(f"{heading} — Entropy law report")
    return _html(_Page(title=title, heading=heading, body=_with_figures(blocks)))


def index_page(
    rows: Iterable[RunSummary],
    *,
    warnings: Sequence[str] = (),
    skipped: Sequence[str] = (),
    files: Mapping[str, str] | None = None,
    version: str = __version__,
    across: PhasesAcross | None = None,
    one_file: bool = False,
    sections: Sequence[str] = (),
) -> str:
    """The index of a report.

    Parameters
    ----------
    rows
        One per run, in any order.
    warnings, skipped
        About the report, shown at its top; about files, shown at its end.
    files
        Label → address of the other files of the report, relative to the page.
    version
        The one that wrote the report.
    across
        The phases of several runs.
    one_file, sections
        Whether the other pages are sections of this one; and these pages.
    """

    def address(slug: str) -> str:
        return f"#{section_of(slug)}" if one_file else f"runs/{slug}.html"

    named = by_name(rows)
    blocks = describe(across) if across is not None else []
    count = runs.counted_rows(named)
    reward = run_table.reward_words(named)
    about = [f"reward: {reward}" if reward else "", runs.levels(named)]
    summary = [
        words.capital(f"{note.label}: {note.text}.") for note in words.stop_notes(named, lambda row: row.name)
    ]
    page = _Page(
        title=f"Entropy law report: {count}",
        heading=count,
        body=_with_figures(blocks),
        kicker="Entropy law report",
        about=" · ".join(filter(None, about)),
        counts=index.counts(named),
        summary=summary,
        warnings=warnings,
        table=fragment([index.table(named, address)], {}) if named else "",
        reading=index.READING if named else "",
        skipped=skipped,
        files=files or {},
        version=version,
    )
    return _html(page, sections)


def markdown(
    rows: Iterable[RunSummary],
    sections: Iterable[tuple[RunReport, str]] = (),
    *,
    warnings: Sequence[str] = (),
    figures: Mapping[str, Mapping[str, str]] | None = None,
    across: PhasesAcross | None = None,
) -> str:
    """The Markdown of a report whose documents need not be held.

    ``rows`` and ``warnings`` (twenty are shown) are as in :func:`index_page`; ``across`` has the phases of
    several runs; ``sections`` are runs with the names of their pages, taken one by one while there is room;
    ``figures`` maps the name of a page to the names of its figures and their addresses.
    """
    named = by_name(rows)
    listed = list(warnings[:20])
    if len(warnings) > len(listed):
        left_out = len(warnings) - len(listed)
        listed.append(f"Left out of this text: {left_out} more warnings; index.html shows them.")
    head = runs.document_head(listed, named, name=lambda row: row.shown)
    if across is not None:
        head += [block for block in describe(across) if not isinstance(block, Figure)]
    parts = ((describe(report), (figures or {}).get(slug, {})) for report, slug in sections)
    return whole(head, parts, len(named), "see their pages")
