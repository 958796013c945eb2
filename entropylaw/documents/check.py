"""The check document: every gate on every run, and what came of it.

``entropylaw/check/1``. It is made without numpy, so that a gate on stored fits costs little more
than starting up.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from entropylaw._version import __version__
from entropylaw.gates.decide import GateCase

SCHEMA = "entropylaw/check/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedFile:
    """A file that was read: path as given (never absolute), sha256 of its bytes, its schema or format."""

    path: str
    sha256: str
    format: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckDocument:
    """What came of some gates.

    ``cases`` are in the order of the runs; ``strict``, ``point`` and ``even_if_invalid`` are the options that
    were in force. ``failed`` says whether any case failed. ``warnings`` are about files, not runs.
    """

    inputs: tuple[CheckedFile, ...]
    gates: tuple[str, ...]
    strict: bool
    point: bool
    even_if_invalid: bool
    runs: int
    failed: bool
    cases: tuple[GateCase, ...]
    warnings: tuple[str, ...] = ()
    version: str = __version__
    schema: str = SCHEMA
    seed: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        body: dict[str, Any] = _lists(asdict(self))
        return body

    @property
    def counts(self) -> dict[str, int]:
        """Outcome → number of cases; only outcomes that there are."""
        return dict(Counter(case.outcome for case in self.cases))


def _lists(value: Any) -> Any:
    """Tuples as lists, all the way down."""
    if isinstance(value, dict):
        return {key: _lists(item) for key, item in value.items()}
    return [_lists(item) for item in value] if isinstance(value, tuple | list) else value
