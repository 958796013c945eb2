"""What a gate finds of a run."""

from msgspec import Struct


class GateCase(Struct, frozen=True, kw_only=True):
    """One gate on one run.

    Attributes
    ----------
    run, sources
        Its name, with the document's where several runs have that name, and what it was read from.
    gate, outcome, failed
        The expression; ``passed``, ``not excluded``, ``tripped`` or ``unknown``; and whether that fails.
    value, low, high, level, method
        The number and its interval; None where there is none.
    word
        The value of a quantity that is a word.
    limit
        What it was compared with; a percentage as a share.
    sentence
        What was found, in words.
    """

    run: str
    sources: tuple[str, ...]
    gate: str
    outcome: str
    failed: bool
    sentence: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    method: str | None = None
    word: str | None = None
    limit: float | None = None
