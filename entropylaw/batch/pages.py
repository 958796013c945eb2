"""The files of one run: figures first, so that no page ever points at one that is not there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from entropylaw.batch.tasks import Task
from entropylaw.documents.report import ReportDocument, RunReport
from entropylaw.documents.store import dumps
from entropylaw.report import run_page
from entropylaw.report.run_page import Neighbour

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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


def _drawn(task: Task, report: RunReport) -> Iterator[tuple[str, str, bytes]]:
    """Each figure in each format: name, format, content. The page needs SVG, whatever is asked for."""
    from entropylaw.report import plotting
    from entropylaw.report.figures import Kind, figure_bytes

    kinds: list[Kind] = list(dict.fromkeys(("svg", *(task.making.kinds or ()))))  # type: ignore[arg-type]
    style = plotting.read_style(task.making.style) if task.making.style else None
    with plotting.style(style):
        for name, figure in _figures(task, report).items():
            for kind in kinds:
                yield name, kind, figure_bytes(figure, kind, f"{task.slug}-{name}")


def _figures(task: Task, report: RunReport) -> Mapping[str, Figure]:
    from entropylaw.report import figures, phase_figure
    from entropylaw.report.forecast_figure import forecast_figure

    made: dict[str, Figure] = {}
    if report.fit.law is not None:
        made["law"] = figures.law_figure(report.fit)
        if task.making.kinds:
            # A page has no room for it.
            made["series"] = figures.series_figure(report.fit)
        made["residuals"] = figures.residual_figure(report.fit)
        if report.forecast is not None or report.spending is not None:
            made["forecast"] = forecast_figure(report)
    if report.phases is not None and report.phases.phases is not None:
        made["phases"] = phase_figure.phase_figure(report.phases)
    if task.histogram is not None:
        from entropylaw.report.token_figure import token_figure
        from entropylaw.tokens.summary import read_histogram

        made["tokens"] = token_figure(read_histogram(task.histogram.path))
    return made
