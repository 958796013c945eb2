"""A check as Markdown, for a step summary or a merge request: a section a run, what failed first."""

from __future__ import annotations

from collections.abc import Iterator

from entropylaw.documents.check import CheckDocument
from entropylaw.gates.decide import GateCase
from entropylaw.report.gatetext import summary
from entropylaw.report.markdownparts import table, title, whole
from entropylaw.report.printable import markdown_cell


def render(document: CheckDocument) -> str:
    """The summary, then every run as far as there is room."""
    runs: dict[str, list[GateCase]] = {}
    for case in document.cases:
        runs.setdefault(case.run, []).append(case)
    sections = sorted(runs.items(), key=lambda section: not any(case.failed for case in section[1]))
    return whole(
        _head(document), sections, lambda section: _run(*section), where="the JSON document holds them all"
    )


def _head(document: CheckDocument) -> Iterator[str]:
    yield from title("Entropy law check", [markdown_cell(warning) for warning in document.warnings])
    yield f"**{markdown_cell(summary(document))}**"
    yield ""


def _run(name: str, cases: list[GateCase]) -> Iterator[str]:
    yield f"## {markdown_cell(name)}"
    yield ""
    rows = (
        (_outcome(case), markdown_cell(case.gate), markdown_cell(case.sentence))
        for case in sorted(cases, key=lambda case: not case.failed)
    )
    yield from table(("outcome", "gate", "found"), rows)


def _outcome(case: GateCase) -> str:
    return f"**{case.outcome}**" if case.failed else case.outcome
