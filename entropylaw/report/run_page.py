"""The page of one run: words first, then figure and numbers, how far to trust them, and what was read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from entropylaw.documents.document import InputFile
from entropylaw.documents.report import ReportDocument, RunReport
from entropylaw.report import phasetext, reportwords
from entropylaw.report.html import compact, environment, figure_markup
from entropylaw.report.printable import one_line
from entropylaw.report.svg import glyphs

FIGURES = ("law", "forecast", "phases", "tokens", "residuals")
"""The figures that a page has room for, in its order; others are named by the links to their files."""

INDEX = "../index.html"

_CAPTIONS = {
    "forecast": "The reward and the entropy so far, and their forecasts with their bands.",
    "phases": "The curves with their bands, one smooth decay dashed, and below where each boundary may be.",
    "tokens": "Entropy of the tokens at every step: how many lie where, and what the highest fifth holds.",
    "residuals": "What the law leaves over, between ±1 standard deviation.",
}


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
        Name (of :data:`FIGURES`) → SVG as text; those that are not there are left out.
    links
        Name of a figure → addresses of its files, relative to the page.
    previous, following
        The neighbours in the index; None at an end, or where they are not known.
    index
        Address of the index, relative to the page.
    """
    shown = {name: figures[name] for name in FIGURES if name in figures}
    name = one_line(run.run)
    return (
        environment()
        .get_template("run_page.html.j2")
        .render(
            document=document,
            report=run,
            name=name,
            figures={key: _inlined(key, svg, run) for key, svg in shown.items()},
            glyphs=Markup(compact(glyphs(shown.values()))),
            links=links or {},
            others={name: found for name, found in (links or {}).items() if name not in shown},
            inputs=files_of(document, run),
            previous=previous,
            following=following,
            index=index,
            **_WORDS,
        )
    )


def files_of(document: ReportDocument, run: RunReport) -> tuple[InputFile, ...]:
    """The files of a document that a run was read from; a run may be joined from several in a folder."""
    if len(document.runs) == 1:
        return document.inputs
    path = run.fit.path
    exact = tuple(file for file in document.inputs if file.path == path)
    return exact or tuple(file for file in document.inputs if file.path.startswith(f"{path}/"))


def _inlined(kind: str, svg: str, run: RunReport) -> Markup:
    """A figure with a title and a description for those who listen."""
    name, law = one_line(run.run), run.fit.law
    points = f"{law.n} evaluations over the steps. " if law is not None else ""
    titles = {
        "law": f"The law on {name}",
        "forecast": f"Forecast of {name}",
        "phases": f"Phases of {name}",
        "tokens": f"Entropy of the tokens of {name}",
        "residuals": f"Residuals of {name}",
    }
    if kind == "law":
        words = " ".join(reportwords.opening(run))
    elif kind == "phases" and run.phases is not None and run.phases.phases is not None:
        words = reportwords.phases_sentence(run.phases)
    else:
        words = points + _CAPTIONS.get(kind, "")
    return figure_markup(svg, kind[0], titles[kind], one_line(words))


_WORDS: dict[str, Any] = {
    "figure_words": _CAPTIONS,
    "opening": reportwords.opening,
    "forecast_notes": reportwords.forecast_notes,
    "no_phases": reportwords.no_phases,
    "phases_sentence": reportwords.phases_sentence,
    "curves_of": phasetext.curves_of,
    "table_rows": phasetext.table_rows,
    "share_words": phasetext.share_words,
    "phase_cautions": phasetext.all_cautions,
    "phase_columns": phasetext.read_words,
    "phase_drops": phasetext.dropped_words,
}
