"""A check: how many gates came out how, and every gate on every run, those that failed first.

Nothing here imports numpy: a gate on stored fits costs little more than starting up.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from entropylaw.report.blocks import DATA, Block, Column, Heading, Notes, Table, Verdict, labelled, table_of
from entropylaw.report.numbers import count
from entropylaw.results.check import GateCase

if TYPE_CHECKING:
    from entropylaw.documents.check import CheckDocument

OUTCOMES = ("passed", "not excluded", "tripped", "unknown")
"""In the order in which they are counted."""

_PLAIN = ("run", "gate", "outcome", "failed", "value", "low", "high", "level", "method", "word", "limit")

COLUMNS = (
    *(Column(key, key, attrgetter(key)) for key in (*_PLAIN, "sentence")),
    Column("sources", "sources", lambda case: "; ".join(case.sources)),
)
"""A row per gate and run."""


def describe(result: CheckDocument | GateCase) -> list[Block]:
    """The summary, then a verdict per gate of every run; runs with a gate that failed come first."""
    if isinstance(result, GateCase):
        return [Heading(result.run, 2), _verdict(result)]
    runs: dict[str, list[GateCase]] = {}
    for case in result.cases:
        runs.setdefault(case.run, []).append(case)
    badge = "FAILED" if result.failed else "PASSED"
    blocks: list[Block] = [
        Heading("Entropy law check", 1),
        Notes(labelled("warning", result.warnings, "")),
        Verdict(badge, _summary(result), not result.failed),
    ]
    for run, cases in sorted(runs.items(), key=lambda run: not any(case.failed for case in run[1])):
        blocks += [Heading(run, 2), *map(_verdict, cases)]
    return blocks


def table(result: CheckDocument | GateCase) -> Table:
    """Every gate on every run, in the order of the document."""
    return table_of(COLUMNS, [result] if isinstance(result, GateCase) else result.cases, DATA)


def _summary(document: CheckDocument) -> str:
    """``3 gates on 2 runs: 4 passed, 1 not excluded, 1 tripped``."""
    counts = document.counts
    outcomes = ", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES if outcome in counts)
    strict = " (--strict: what is not excluded fails)" if document.strict else ""
    return f"{count(len(document.gates), 'gate')} on {count(document.runs, 'run')}: {outcomes}{strict}"


def _verdict(case: GateCase) -> Verdict:
    """A gate that fails as unknown is no answer."""
    if not case.failed:
        return Verdict(case.outcome, case.sentence, True, case.gate)
    ok = None if case.outcome == "unknown" else False
    return Verdict(case.outcome.upper(), case.sentence, ok, case.gate)
