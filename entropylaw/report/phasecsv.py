"""One row a curve, full precision, for spreadsheets and scripts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from entropylaw.documents.phases import PhasesDocument, RunPhases
from entropylaw.report.printable import csv_text
from entropylaw.results import Estimate
from entropylaw.results.phases import CurvePhases

ESTIMATES = ("boundary", "width", "slope_before", "slope_after", "rise", "settled", "last")
OF_THE_RUN = ("delta", "after_fall", "share_planning")

COLUMNS = (
    *("run", "path", "verdict", "curve", "entropy_of", "column", "n", "first_step", "last_step"),
    *("p_value", "found", "kind"),
    *("boundary_stretches", "boundary_whole"),
    *(f"{name}{end}" for name in ESTIMATES for end in ("", "_low", "_high")),
    *("detectable", "lag1", "noise"),
    *(f"{name}{end}" for name in OF_THE_RUN for end in ("", "_low", "_high")),
    *("later", "level", "method", "refusal"),
)


def render(document: PhasesDocument) -> str:
    """The table. Empty cells are numbers that are not known; ``refusal`` holds the error's slug.

    ``entropy_of`` says whether the curve is token entropy or semantic entropy; ``boundary_stretches`` holds
    the most probable steps, as ``30:55 120:160``, and ``boundary_low`` and ``boundary_high`` the ends of them
    all.
    """
    return csv_text(COLUMNS, chain.from_iterable(map(_rows, document.runs)))


def _rows(run: RunPhases) -> Iterator[dict[str, str]]:
    whole = {"run": run.run, "path": run.path}
    phases = run.phases
    if phases is None:
        yield whole | {"refusal": run.refusal.slug if run.refusal is not None else ""}
        return
    whole |= {"verdict": phases.verdict or "", "later": _number(phases.later), "level": repr(phases.level)}
    for name in OF_THE_RUN:
        whole |= _cells(name, getattr(phases, name))
    given = (
        (phases.planning, run.planning_column),
        (phases.execution, run.execution_column),
        (phases.aggregate, run.aggregate_column),
    )
    for curve, column in given:
        if curve is not None:
            told = {"entropy_of": column.what, "column": column.column} if column else {}
            yield whole | told | _curve(curve)


def _curve(curve: CurvePhases) -> dict[str, str]:
    boundary = curve.boundary
    row = {
        "curve": curve.name,
        "n": str(curve.n),
        "p_value": _number(curve.p_value),
        "first_step": _number(curve.first_step),
        "last_step": _number(curve.last_step),
        "found": "true" if curve.found else "false",
        "kind": curve.kind or "",
        "boundary_stretches": " ".join(f"{low:g}:{high:g}" for low, high in boundary.intervals),
        "boundary_whole": "true" if boundary.whole else "false",
        "detectable": _number(curve.detectable),
        "lag1": _number(curve.lag1),
        "noise": _number(curve.noise),
        "method": boundary.step.method,
    }
    for name in ESTIMATES:
        place = {"boundary": boundary.step, "width": boundary.width}
        row |= _cells(name, place[name] if name in place else getattr(curve, name))
    return row


def _cells(name: str, estimate: Estimate | None) -> dict[str, str]:
    if estimate is None:
        return {}
    ends = {"": estimate.value, "_low": estimate.low, "_high": estimate.high}
    return {name + end: _number(number) for end, number in ends.items()}


def _number(number: float | None) -> str:
    return "" if number is None else repr(float(number))
