"""The files of one run: figures first, so that no page ever points at one that is not there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from entropylaw.batch.tasks import Task
from entropylaw.documents.report import ReportDocument, RunReport
from entropylaw.documents.store import dumps
from entropylaw.report import run_page
from entropylaw.report.figures import FIGURES, parts
from entropylaw.report.run_page import Neighbour

if TYPE_CHECKING:
    from entropylaw.report.plotting import Kind

Place = tuple[str, str]


def files_of(task: Task, document: ReportDocument) -> Iterator[tuple[str, str | bytes]]:
    """Every file of a run by its name in the folder; ``document`` has this run alone."""
    (report,) = document.runs
    kinds = task.making.kinds or ()
    svgs: dict[str, str] = {}
    for name, kind, data in _drawn(task, report):
        if kind == "svg":
            svgs[name] = data.decode("utf-8")
        if kind in kinds:
            yield f"figures/{task.slug}-{name}.{kind}", data
    links = {name: [f"../figures/{task.slug}-{name}.{kind}" for kind in kinds] for name in svgs}
    page = run_page.render(
        document,
        report,
        task.slug,
        svgs,
        links,
        previous=_neighbour(task.before),
        following=_neighbour(task.after),
    )
    yield f"runs/{task.slug}.html", page
    yield f"runs/{task.slug}.json", dumps(document.to_json())


def _neighbour(place: Place | None) -> Neighbour | None:
    return None if place is None else Neighbour(run=place[0], href=f"{place[1]}.html")


def _drawn(task: Task, report: RunReport) -> Iterator[tuple[str, Kind, bytes]]:
    """Each figure in each format: name, format, content. The page needs SVG, whatever is asked for."""
    from entropylaw.report import plotting

    asked = task.making.kinds or ()
    kinds: list[Kind] = list(dict.fromkeys(("svg", *asked)))  # type: ignore[arg-type]
    style = plotting.read_style(task.making.style) if task.making.style else None
    found = parts(report, task.histogram.path if task.histogram is not None else None)
    with plotting.style(style):
        for entry in FIGURES:
            # What no page has room for is drawn for its files alone.
            if entry.needs in found and (asked or entry.section is not None):
                figure = entry.draw(found[entry.needs])
                for kind in kinds:
                    yield entry.name, kind, plotting.figure_bytes(figure, kind, f"{task.slug}-{entry.name}")
