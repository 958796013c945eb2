"""The files of one run: figures first, so that no page ever points at one that is not there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from entropylaw.batch.tasks import Task
from entropylaw.documents.report import ReportDocument
from entropylaw.documents.store import dumps
from entropylaw.report import run_page
from entropylaw.report.figures import FIGURES, parts
from entropylaw.report.run_page import Neighbour

if TYPE_CHECKING:
    from entropylaw.report.plotting import Kind


def files_of(task: Task, document: ReportDocument) -> Iterator[tuple[str, str | bytes]]:
    """Every file of a run by its name in the folder; ``document`` has this run alone."""
    from entropylaw.report import plotting

    (report,) = document.runs
    kinds = task.making.kinds or ()
    # The page needs SVG, whatever is chosen.
    drawn: list[Kind] = list(dict.fromkeys(("svg", *kinds)))  # type: ignore[arg-type]
    tokens = None
    if task.histogram is not None:
        from entropylaw.tokens.summary import read_histogram

        tokens = read_histogram(task.histogram[0])
    found = parts(report, tokens)
    svgs: dict[str, str] = {}
    with plotting.style(plotting.read_style(task.making.style) if task.making.style else None):
        for entry in FIGURES:
            if entry.needs not in found:
                continue
            figure = entry.draw(found[entry.needs])
            for kind in drawn:
                data = plotting.figure_bytes(figure, kind, f"{task.slug}-{entry.name}")
                if kind == "svg":
                    svgs[entry.name] = data.decode("utf-8")
                if kind in kinds:
                    yield f"figures/{task.slug}-{entry.name}.{kind}", data
    links = {name: [f"../figures/{task.slug}-{name}.{kind}" for kind in kinds] for name in svgs}
    places = (task.before, task.after)
    before, after = (place and Neighbour(run=place[0], href=f"{place[1]}.html") for place in places)
    page = run_page.render(document, report, task.slug, svgs, links, previous=before, following=after)
    yield f"runs/{task.slug}.html", page
    yield f"runs/{task.slug}.json", dumps(document.to_json())
