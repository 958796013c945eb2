"""One row a run, full precision, for spreadsheets and scripts."""

from __future__ import annotations

from entropylaw.documents.fit import FitDocument, RunFit
from entropylaw.report.printable import csv_text, spreadsheet_cell
from entropylaw.results import Estimate

ESTIMATES = ("a", "b", "ceiling", "reward_now", "headroom")

COLUMNS = (
    "run",
    "path",
    "n",
    "valid",
    *(f"{name}{end}" for name in ESTIMATES for end in ("", "_low", "_high")),
    "law_weight",
    "best_rival",
    "best_rival_weight",
    "level",
    "method",
    "refusal",
)


def render(document: FitDocument) -> str:
    """The table. Empty cells are numbers that are not known; ``refusal`` holds the error's slug."""
    return csv_text(COLUMNS, map(_row, document.runs))


def _row(run: RunFit) -> dict[str, str]:
    row = {"run": spreadsheet_cell(run.run), "path": spreadsheet_cell(run.path)}
    if run.refusal is not None:
        row["refusal"] = run.refusal.slug
    law = run.law
    if law is None:
        return row
    for name in ESTIMATES:
        row |= _cells(name, getattr(law, name))
    row |= {
        "n": str(law.n),
        "valid": "true" if law.validity.ok else "false",
        "law_weight": repr(law.law_weight),
        "level": repr(law.level),
        "method": law.ceiling.method,
    }
    if law.rivals:
        row |= {"best_rival": law.rivals[0].form, "best_rival_weight": repr(law.rivals[0].weight)}
    return row


def _cells(name: str, estimate: Estimate) -> dict[str, str]:
    ends = {"": estimate.value, "_low": estimate.low, "_high": estimate.high}
    return {name + end: "" if number is None else repr(float(number)) for end, number in ends.items()}
