"""What is found of a result beside its numbers: codes and values, of which reports make sentences.

The sentence of every code stands in :mod:`entropylaw.report.findings`, and nowhere else.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct

from entropylaw.late import late

Plain = float | int | str | bool | None
Severity = Literal["reason", "caution", "note"]


class Finding(Struct, frozen=True, kw_only=True):
    """One thing that a reader should know of a result.

    ``code`` is in kebab-case, e.g. ``"too-few-evaluations"``, and stays the same over versions. A
    ``"reason"`` forbids to read the numbers as they stand; a ``"caution"`` belongs beside them; a ``"note"``
    says what was decided, or why something is missing. ``values`` are what the sentence names: the numbers
    found, their limits, and columns and settings as logged.
    """

    code: str
    severity: Severity
    values: Mapping[str, Plain | tuple[Plain, ...]]

    @property
    def sentence(self) -> str:
        """What it says, in words."""
        return late("report.findings.sentence", self)  # type: ignore[no-any-return]


def reason(code: str, /, **values: Plain | tuple[Plain, ...]) -> Finding:
    """A finding that forbids to read the numbers as they stand."""
    return Finding(code=code, severity="reason", values=values)


def caution(code: str, /, **values: Plain | tuple[Plain, ...]) -> Finding:
    """A finding that belongs beside the numbers."""
    return Finding(code=code, severity="caution", values=values)


def note(code: str, /, **values: Plain | tuple[Plain, ...]) -> Finding:
    """A finding of what was decided, or why something is missing."""
    return Finding(code=code, severity="note", values=values)


def sentences(findings: Iterable[Finding], severity: Severity) -> tuple[str, ...]:
    """The sentences of the findings of one severity, in their order."""
    return tuple(finding.sentence for finding in findings if finding.severity == severity)
