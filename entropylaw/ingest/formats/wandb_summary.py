"""A run's ``files/wandb-summary.json``: recognised and refused, for it has the last values only."""

from __future__ import annotations

import json

from entropylaw.errors import InputError
from entropylaw.ingest.content import Content
from entropylaw.ingest.formats.wandb_export import CLOCKS, COMPLETE_HISTORY
from entropylaw.ingest.table import Table
from entropylaw.ingest.wording import shown_path

_LONGEST_SUMMARY = 1 << 25
_HEAD = 1 << 16
# int() refuses more than 4300 digits.
_DECODER = json.JSONDecoder(parse_int=float)


def recognises(content: Content) -> bool:
    """Whether it is a single JSON object with W&B's own keys, whose step is one number."""
    return content.is_text and content.extent <= _LONGEST_SUMMARY and _is_summary(_only_value(content))


def read(content: Content) -> Table:
    """Refuse.

    Raises
    ------
    InputError
        ``last-values-only``, always.

    """
    raise InputError(
        "last-values-only",
        f"{shown_path(content.path)} is a run's summary from W&B: the last value of each metric; the law "
        "needs entropy and reward over the course of the run",
        f"read the run's .wandb file, one folder up, or export its history: {COMPLETE_HISTORY}",
    )


def _only_value(content: Content) -> object:
    """Return the JSON value that the file consists of; None where it is none, or several."""
    text = content.opening
    if not text.lstrip().startswith("{"):
        return None
    # Of records, a line each, the first few are enough to tell.
    value, rest = _decoded(text[:_HEAD])
    if rest.strip():
        return None
    if len(text) > _HEAD and ('"_wandb"' in text or '"_step"' in text):
        value, rest = _decoded(text)
    return None if rest.strip() else value


def _decoded(text: str) -> tuple[object, str]:
    text = text.lstrip()
    try:
        value, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return None, ""
    return value, text[end:]


def _is_summary(value: object) -> bool:
    if not isinstance(value, dict) or isinstance(value.get("_step"), (list, dict)):
        return False
    own = value.get("_wandb")
    clocks = any(isinstance(value.get(clock), float) for clock in CLOCKS)
    if isinstance(own, dict):
        return clocks or "runtime" in own
    return clocks and isinstance(value.get("_step"), float)
