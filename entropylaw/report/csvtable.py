"""One row per run, numbers as in the document, for spreadsheets and scripts.

Segments, jumps and coefficients in common have rows of their own, where they were asked for: ``part`` says
what a row is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from entropylaw.documents.fit import FitDocument, RunFit
from entropylaw.documents.report import ReportDocument
from entropylaw.report.index_rows import IndexRow, SegmentRow, index_row, segment_rows
from entropylaw.report.printable import csv_text
from entropylaw.report.slugs import safe_name
from entropylaw.results import Estimate
from entropylaw.results.groups import SharedFit

_LAW = ("a", "b", "ceiling")
ESTIMATES = (*_LAW, "reward_now", "headroom")

_PROGRESS = ("used", "drop_per_100_steps")
_AHEAD = ("forecast", "spent_by_step")

_WHOLE = "run"
"""The part that is a whole run."""

COLUMNS = (
    "run",
    "path",
    "part",
    "n",
    "valid",
    *(f"{name}{end}" for name in (*ESTIMATES, *_PROGRESS) for end in ("", "_low", "_high")),
    "law_weight",
    "best_rival",
    "best_rival_weight",
    "level",
    "method",
    "first_step",
    "last_step",
    *(f"jump{end}" for end in ("", "_low", "_high")),
    "p_value",
    "refusal",
)

REPORT_COLUMNS = (
    *COLUMNS[:-1],
    "forecast_step",
    *(f"{name}{end}" for name in _AHEAD for end in ("", "_low", "_high")),
    "phases",
    "refusal",
)


def render(document: FitDocument | ReportDocument) -> str:
    """The table. Empty cells are numbers that are not known; ``refusal`` holds the error's slug.

    That of a report has its forecast and its phases, too.
    """
    shared = (document.shared,) if document.shared is not None else ()
    if isinstance(document, FitDocument):
        runs = (
            cells for run in document.runs for cells in (_fit_cells(run), *_parts(run, segment_rows(run)))
        )
        return csv_text(COLUMNS, (*runs, *_common(shared)))
    taken: set[str] = set()
    return render_rows((index_row(report, safe_name(report.run, taken)) for report in document.runs), shared)


def render_rows(rows: Iterable[IndexRow], shared: Sequence[SharedFit] = ()) -> str:
    """The table of a report, from the rows of its index."""
    runs = (cells for row in rows for cells in (_row_cells(row), *_parts(row, row.segments)))
    return csv_text(REPORT_COLUMNS, (*runs, *_common(shared)))


def _parts(run: RunFit | IndexRow, segments: Sequence[SegmentRow]) -> Iterator[dict[str, str]]:
    """The jumps of a run, and its segments; the test that they are alike stands beside the first of them."""
    base = _named(run.run, run.path, None)
    for seam in run.seams:
        steps = {"first_step": repr(seam.after), "last_step": repr(seam.step), "p_value": repr(seam.p_value)}
        yield base | steps | {"part": f"jump of {seam.series}"} | _cells("jump", seam.jump)
    for i, segment in enumerate(segments):
        yield base | {
            "part": f"segment {i + 1}",
            "n": str(segment.n),
            "valid": "" if segment.valid is None else str(segment.valid).lower(),
            **{key: cell for name in _LAW for key, cell in _cells(name, getattr(segment, name)).items()},
            "first_step": repr(segment.first_step),
            "last_step": repr(segment.last_step),
            "p_value": "" if segment.p_value is None else repr(segment.p_value),
            "refusal": segment.refusal or "",
        }


def _common(shared: Sequence[SharedFit]) -> Iterator[dict[str, str]]:
    """The coefficients that runs have in common, each run beside them, and the recipe over its seeds."""
    for fit in shared:
        named = {"level": repr(fit.level), "method": fit.a.method, "p_value": repr(fit.same.p_value)}
        yield named | _coefficients("in common", {name: getattr(fit, name) for name in _LAW})
        for run in fit.runs:
            base = {"run": run.run, "n": str(run.n), "valid": str(run.valid).lower()}
            yield base | _coefficients("alone", run.own)
            yield base | _coefficients("with those in common", run.together)
            yield base | _coefficients("less the other runs'", run.deviation)
        for part, field in (
            ("mean over seeds", "answer"),
            ("a new seed", "new_seed"),
            ("sd of seeds", "tau"),
        ):
            yield _coefficients(part, {one.coefficient: getattr(one, field) for one in fit.spread})


def _coefficients(part: str, numbers: Mapping[str, Estimate]) -> dict[str, str]:
    return {"part": part} | {
        key: cell for name, estimate in numbers.items() for key, cell in _cells(name, estimate).items()
    }


def _fit_cells(run: RunFit) -> dict[str, str]:
    cells = _named(run.run, run.path, run.refusal.slug if run.refusal is not None else None)
    cells["part"] = _WHOLE
    law = run.law
    if law is None:
        return cells
    for name in ESTIMATES:
        cells |= _cells(name, getattr(law, name))
    for name in _PROGRESS:
        cells |= _cells(name, getattr(run, name))
    best = law.rivals[0] if law.rivals else None
    return cells | {
        "n": str(law.n),
        "valid": "true" if law.validity.ok else "false",
        **_weights(law.law_weight, best.form if best else None, best.weight if best else None),
        "level": repr(law.level),
        "method": law.ceiling.method,
    }


def _row_cells(row: IndexRow) -> dict[str, str]:
    cells = _named(row.run, row.path, row.refusal) | {"part": _WHOLE, "phases": row.phases or ""}
    if row.ahead is not None:
        cells["forecast_step"] = repr(row.ahead.step)
        cells |= _cells("forecast", row.ahead.reward) | _cells("spent_by_step", row.ahead.spent)
    law = row.law
    if law is None:
        return cells
    for name in (*ESTIMATES, *_PROGRESS):
        cells |= _cells(name, getattr(law, name))
    return cells | {
        "n": str(law.n),
        "valid": "true" if row.readable else "false",
        **_weights(law.law_weight, law.best_rival, law.best_rival_weight),
        "level": repr(law.level),
        "method": law.ceiling.method,
    }


def _named(run: str, path: str, refusal: str | None) -> dict[str, str]:
    cells = {"run": run, "path": path}
    return cells if refusal is None else cells | {"refusal": refusal}


def _weights(law: float, form: str | None, weight: float | None) -> dict[str, str]:
    cells = {"law_weight": repr(law)}
    if form is None or weight is None:
        return cells
    return cells | {"best_rival": form, "best_rival_weight": repr(weight)}


def _cells(name: str, estimate: Estimate | None) -> dict[str, str]:
    if estimate is None:
        return {}
    ends = {"": estimate.value, "_low": estimate.low, "_high": estimate.high}
    return {name + end: "" if number is None else repr(float(number)) for end, number in ends.items()}
