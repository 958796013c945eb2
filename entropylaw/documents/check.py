"""The check document: every gate on every run, and what came of it.

``entropylaw/check/1``. It is made without numpy, so that a gate on stored fits costs little more
than starting up.
"""

from __future__ import annotations

from collections import Counter

from msgspec import Struct

from entropylaw.documents.document import AnyDocument
from entropylaw.documents.kinds import KINDS
from entropylaw.results.check import GateCase


class CheckedFile(Struct, frozen=True, kw_only=True):
    """A file that was read: path as given (never absolute), sha256 of its bytes, its schema or format."""

    path: str
    sha256: str
    format: str


class CheckDocument(AnyDocument, frozen=True, kw_only=True):
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
    schema: str = KINDS["check"].schema
    seed: int | None = None

    @property
    def counts(self) -> dict[str, int]:
        """Outcome → number of cases; only outcomes that there are."""
        return dict(Counter(case.outcome for case in self.cases))
