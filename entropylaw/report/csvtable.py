"""One row per run, numbers as in the document, for spreadsheets and scripts."""

from __future__ import annotations

from collections.abc import Iterable

from entropylaw.documents.fit import FitDocument, RunFit
from entropylaw.documents.report import ReportDocument
from entropylaw.report.index_rows import IndexRow, index_row
from entropylaw.report.printable import csv_text
from entropylaw.report.slugs import safe_name
from entropylaw.results import Estimate

ESTIMATES = ("a", "b", "ceiling", "reward_now", "headroom")

_PROGRESS = ("used", "drop_per_100_steps")
_AHEAD = ("forecast", "spent_by_step")

COLUMNS = (
    "run",
    "path",
    "n",
    "valid",
    *(f"{name}{end}" for name in (*ESTIMATES, *_PROGRESS) for end in ("", "_low", "_high")),
    "law_weight",
    "best_rival",
    "best_rival_weight",
    "level",
    "method",
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
    if isinstance(document, FitDocument):
        return csv_text(COLUMNS, map(_fit_cells, document.runs))
    taken: set[str] = set()
    return render_rows(index_row(report, safe_name(report.run, taken)) for report in document.runs)


def render_rows(rows: Iterable[IndexRow]) -> str:
    """The table of a report, from the rows of its index."""
    return csv_text(REPORT_COLUMNS, map(_row_cells, rows))


def _fit_cells(run: RunFit) -> dict[str, str]:
    cells = _named(run.run, run.path, run.refusal.slug if run.refusal is not None else None)
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
    cells = _named(row.run, row.path, row.refusal) | {"phases": row.phases or ""}
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
