"""A check for a terminal: a line a run × gate, what failed last, then how many of each."""

from __future__ import annotations

from collections.abc import Iterator

from entropylaw.documents.check import CheckDocument
from entropylaw.gates.decide import GateCase, Outcome
from entropylaw.report.printable import one_line

ORDER = (Outcome.passed, Outcome.open, Outcome.tripped, Outcome.unknown)
"""How cases are listed; nothing that failed comes before something that did not."""


def render(document: CheckDocument) -> str:
    """The whole check."""
    return "\n".join([*_lines(document), summary(document)]) + "\n"


def summary(document: CheckDocument) -> str:
    """``FAILED: 3 gates on 2 runs: 4 passed, 1 not excluded, 1 tripped``."""
    counts = document.counts
    told = ", ".join(f"{counts[outcome]} {outcome.value}" for outcome in ORDER if outcome.value in counts)
    verdict = "FAILED" if document.failed else "PASSED"
    strict = " (--strict: what is not excluded fails)" if document.strict else ""
    asked = f"{_counted(len(document.gates), 'gate')} on {_counted(document.runs, 'run')}"
    return f"{verdict}: {asked}: {told}{strict}"


def ordered(document: CheckDocument) -> list[GateCase]:
    """The cases, failures last, otherwise as they stand."""
    places = {outcome.value: place for place, outcome in enumerate(ORDER)}
    return sorted(document.cases, key=lambda case: (case.failed, places[case.outcome]))


def _lines(document: CheckDocument) -> Iterator[str]:
    for case in ordered(document):
        mark = case.outcome.upper() if case.failed else case.outcome
        yield f"{mark:<12}  {one_line(case.run)}  {one_line(case.gate)}  {one_line(case.sentence)}"


def _counted(number: int, one: str) -> str:
    return f"{number} {one if number == 1 else one + 's'}"
