"""Findings for tests: made of sentences, and read back as sentences from the JSON of a result."""

from typing import Any, TypeVar

import msgspec

from entropylaw.results.result import Finding, Severity, sentences

T = TypeVar("T")


def made(kind: type[T], **fields: Any) -> T:
    """A result from the fields that its document has; those that are results may be made, or fields again."""
    return msgspec.convert(fields, kind, dec_hook=lambda _, value: value)


def stated(severity: Severity, *said: str) -> tuple[Finding, ...]:
    """Findings that say just this: a code that no version knows is its own sentence."""
    return tuple(Finding(code=text, severity=severity, values={}) for text in said)


def said(result: dict[str, Any], severity: Severity) -> list[str]:
    """The sentences of one severity of a result in a JSON document."""
    return list(sentences(msgspec.convert(result["findings"], tuple[Finding, ...]), severity))
