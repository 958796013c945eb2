"""A run's ``files/wandb-summary.json``: recognised and refused, for it has the last values only."""

from __future__ import annotations

import json

from entropylaw.ingest.content import Content
from entropylaw.ingest.formats.wandb_export import CLOCKS

_LONGEST_SUMMARY = 1 << 25
_HEAD = 1 << 16
# int() refuses more than 4300 digits.
_DECODER = json.JSONDecoder(parse_int=float)


def recognises(content: Content) -> bool:
    """Whether it is a single JSON object with W&B's own keys, whose step is one number."""
    text = content.opening.lstrip() if content.is_text and content.extent <= _LONGEST_SUMMARY else ""
    value = _only_value(text) if text.startswith("{") else None
    if not isinstance(value, dict) or isinstance(value.get("_step"), (list, dict)):
        return False
    clocks = any(isinstance(value.get(clock), float) for clock in CLOCKS)
    if isinstance(own := value.get("_wandb"), dict):
        return clocks or "runtime" in own
    return clocks and isinstance(value.get("_step"), float)


def _only_value(text: str) -> object:
    """Return the JSON value that a text consists of; None where it is none, or several."""
    # Of records, a line each, the first few are enough to find out.
    value, rest = _decoded(text[:_HEAD])
    if len(text) > _HEAD and not rest.strip() and ('"_wandb"' in text or '"_step"' in text):
        value, rest = _decoded(text)
    return None if rest.strip() else value


def _decoded(text: str) -> tuple[object, str]:
    """Return the first JSON value of a text, None where there is none, and what is behind it."""
    try:
        value, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return None, ""
    return value, text[end:]
