"""Findings for tests: made of sentences, and read back as sentences from the JSON of a result."""

from typing import Any, TypeVar

import msgspec

from entropylaw.results.result import Finding

T = TypeVar("T")


def made(kind: type[T], **fields: Any) -> T:
    """A result from the fields that its document has; those that are results may be made, or fields again."""
    listed = {name: value.tolist() if hasattr(value, "tolist") else value for name, value in fields.items()}
    return msgspec.convert(listed, kind, dec_hook=lambda _, value: value)


def reason(code: str, **values: Any) -> Finding:
    """A reason for a verdict, from what is measured."""
    return Finding(code=code, severity="reason", values=values)


def caution(code: str, **values: Any) -> Finding:
    """What weighs against an answer."""
    return Finding(code=code, severity="caution", values=values)


def note(code: str, **values: Any) -> Finding:
    """What is good to know."""
    return Finding(code=code, severity="note", values=values)


def stated(severity: Any, *said: str) -> tuple[Finding, ...]:
    """Findings that say just this: a code that no version knows is its own sentence."""
    return tuple(Finding(code=text, severity=severity, values={}) for text in said)


def said(result: dict[str, Any], severity: str) -> list[str]:
    """The sentences of one severity of a result in a JSON document."""
    findings = msgspec.convert(result["findings"], tuple[Finding, ...])
    return [finding.sentence for finding in findings if finding.severity == severity]
