"""One row per run, numbers as in the document, for spreadsheets and scripts.

Segments, jumps and coefficients in common have rows of their own, where there are any: ``part`` says what a
row is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from entropylaw.documents.fit import FitDocument
from entropylaw.documents.report import RunReport
from entropylaw.report.index_rows import IndexRow, index_row
from entropylaw.report.printable import csv_text
from entropylaw.results import Estimate
from entropylaw.results.groups import SharedFit

_LAW = ("a", "b", "ceiling")
ESTIMATES = (*_LAW, "reward_now", "headroom", "used", "drop_per_100_steps")

COLUMNS = (
    *("run", "path", "part", "n", "valid"),
    *(f"{name}{end}" for name in ESTIMATES for end in ("", "_low", "_high")),
    *("law_weight", "best_rival", "best_rival_weight", "level", "method", "first_step", "last_step"),
    *(f"jump{end}" for end in ("", "_low", "_high")),
    *("p_value", "refusal"),
)

REPORT_COLUMNS = (
    *(*COLUMNS[:-1], "forecast_step"),
    *(f"{name}{end}" for name in ("forecast", "spent_by_step") for end in ("", "_low", "_high")),
    *("phases", "refusal"),
)


def render(document: FitDocument) -> str:
    """The table of fits. Empty cells are numbers that are not known; ``refusal`` holds the error's slug."""
    rows = (index_row(RunReport(fit=run), "") for run in document.runs)
    return csv_text(COLUMNS, _cells_of(rows, [document.shared] if document.shared is not None else []))


def render_rows(rows: Iterable[IndexRow], shared: Sequence[SharedFit] = ()) -> str:
    """The table of a report, from the rows of its index: the forecast and the phases, too."""
    return csv_text(REPORT_COLUMNS, _cells_of(rows, shared))


def _cells_of(rows: Iterable[IndexRow], shared: Iterable[SharedFit]) -> Iterator[dict[str, str]]:
    for row in rows:
        yield _whole(row)
        yield from _parts(row)
    for fit in shared:
        # The coefficients that runs have in common, each run beside them, and the recipe over its seeds.
        named = {"level": repr(fit.level), "method": fit.a.method, "p_value": repr(fit.same.p_value)}
        yield named | _coefficients("in common", {name: getattr(fit, name) for name in _LAW})
        for run in fit.runs:
            base = {"run": run.run, "n": str(run.n), "valid": str(run.valid).lower()}
            yield base | _coefficients("alone", run.own)
            yield base | _coefficients("with those in common", run.together)
            yield base | _coefficients("less the other runs'", run.deviation)
        for part, key in (("mean over seeds", "answer"), ("a new seed", "new_seed"), ("sd of seeds", "tau")):
            yield _coefficients(part, {one.coefficient: getattr(one, key) for one in fit.spread})


def _whole(row: IndexRow) -> dict[str, str]:
    found = {"run": row.run, "path": row.path, "part": "run"}
    found |= {"refusal": row.refusal} if row.refusal is not None else {}
    found |= {"phases": row.phases} if row.phases is not None else {}
    if row.ahead is not None:
        found["forecast_step"] = repr(row.ahead.step)
        found |= cells("forecast", row.ahead.reward) | cells("spent_by_step", row.ahead.spent)
    law = row.law
    if law is None:
        return found
    found |= _coefficients("run", {name: getattr(law, name) for name in ESTIMATES})
    return found | {
        "n": str(law.n),
        "valid": str(row.readable).lower(),
        "law_weight": repr(law.law_weight),
        "best_rival": law.best_rival or "",
        "best_rival_weight": number(law.best_rival_weight),
        "level": repr(law.level),
        "method": law.ceiling.method,
    }


def _parts(row: IndexRow) -> Iterator[dict[str, str]]:
    """The jumps of a run, and its segments; the test that they are alike stands beside the first of them."""
    base = {"run": row.run, "path": row.path}
    for seam in row.seams:
        steps = {"first_step": repr(seam.after), "last_step": repr(seam.step), "p_value": repr(seam.p_value)}
        yield base | steps | {"part": f"jump of {seam.series}"} | cells("jump", seam.jump)
    for i, segment in enumerate(row.segments, 1):
        yield base | {
            **_coefficients(f"segment {i}", {name: getattr(segment, name) for name in _LAW}),
            "n": str(segment.n),
            "valid": "" if segment.valid is None else str(segment.valid).lower(),
            "first_step": repr(segment.first_step),
            "last_step": repr(segment.last_step),
            "p_value": "" if segment.p_value is None else repr(segment.p_value),
            "refusal": segment.refusal or "",
        }


def _coefficients(part: str, numbers: Mapping[str, Estimate | None]) -> dict[str, str]:
    found = {"part": part}
    for name, estimate in numbers.items():
        found |= cells(name, estimate)
    return found


def cells(name: str, estimate: Estimate | None) -> dict[str, str]:
    """Value and interval as three cells; none where there is no estimate at all."""
    if estimate is None:
        return {}
    ends = {"": estimate.value, "_low": estimate.low, "_high": estimate.high}
    return {name + end: number(x) for end, x in ends.items()}


def number(x: float | None) -> str:
    """A number in full precision; an empty cell where it is not known."""
    return "" if x is None else repr(float(x))
