"""A check: the number of gates by outcome, and every gate on every run, those that failed first.

Nothing here imports numpy: a gate on stored fits costs little more than starting up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from entropylaw.documents.document import GateCase
from entropylaw.escaping import counted
from entropylaw.report import blocks as b

if TYPE_CHECKING:
    from entropylaw.documents.document import CheckDocument, SettingsUsed

COLUMNS = (
    *b.columns("run", "gate", "outcome", "failed", "value", "low", "high"),
    *b.columns("level", "method", "word", "limit", "unit", "column", "sentence"),
    b.Column("sources", "sources", lambda case: "; ".join(case.sources)),
)
"""A row per gate and run."""

_OUTCOMES = ("passed", "not excluded", "tripped", "unknown")


def describe(result: CheckDocument | GateCase) -> list[b.Block]:
    """The summary, then a verdict per gate of every run; runs with a gate that failed come first."""
    if isinstance(result, GateCase):
        return [b.Heading(result.run, 2), _verdict(result)]
    runs: dict[str, list[GateCase]] = {}
    for case in result.cases:
        runs.setdefault(case.run, []).append(case)
    counts = result.counts
    outcomes = ", ".join(f"{counts[outcome]} {outcome}" for outcome in _OUTCOMES if outcome in counts)
    strict = " (--strict: what is not excluded fails)" if result.strict else ""
    summary = f"{counted(len(result.gates), 'gate')} on {counted(result.runs, 'run')}: {outcomes}{strict}"
    blocks: list[b.Block] = [
        b.Heading("Entropy law check", 1),
        b.warned(result.warnings),
        b.Verdict("FAILED" if result.failed else "PASSED", summary, not result.failed),
    ]
    if result.settings:
        blocks.append(b.Notes([b.Note("settings", _settings(used)) for used in result.settings]))
    for run, cases in sorted(runs.items(), key=lambda run: not any(case.failed for case in run[1])):
        blocks += [b.Heading(run, 2), *map(_verdict, cases)]
    return blocks


def table(result: CheckDocument | GateCase) -> b.Table:
    """Every gate on every run, in the order of the document."""
    return b.table_of(COLUMNS, [result] if isinstance(result, GateCase) else result.cases)


def _settings(used: SettingsUsed) -> str:
    """The settings of some numbers that differ from the defaults, such as ``level 0.8 (logs)``."""
    named = []
    for key, value in used.values.items():
        values = value if isinstance(value, list | tuple) else [value]
        texts = [f"{item:.12g}" if isinstance(item, float) else str(item) for item in values]
        named.append(f"{key} {' '.join(texts)}")
    return f"{', '.join(named)} ({used.of})"


def _verdict(case: GateCase) -> b.Verdict:
    """A gate that fails as unknown is undecided."""
    if not case.failed:
        return b.Verdict(case.outcome, case.sentence, True, case.gate)
    ok = None if case.outcome == "unknown" else False
    return b.Verdict(case.outcome.upper(), case.sentence, ok, case.gate)
