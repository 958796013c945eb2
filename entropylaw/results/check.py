"""What a gate finds of a run."""

from msgspec import Struct


class GateCase(Struct, frozen=True, kw_only=True):
    """One gate on one run.

    Attributes
    ----------
    run
        Its name; with the document's where several runs have that name.
    sources
        The documents or logs that it was read from.
    gate
        The expression.
    outcome
        ``passed``, ``not excluded``, ``tripped`` or ``unknown``.
    failed
        Whether it makes the check fail.
    value, low, high
        The number and its interval; None where there is none.
    level, method
        The interval's.
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
