"""How names and cells from strangers' files stand in our sentences."""

from __future__ import annotations


def shown(value: object, longest: int = 80) -> str:
    """Quote a name or a cell so that it stays on one line and cannot drive a terminal.

    Control characters appear as escapes; what is longer than ``longest`` ends in an ellipsis.
    """
    text = str(value)
    if len(text) > longest:
        text = text[: longest - 1] + "…"
    safe = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
    return f"'{safe}'"
