"""``trainer_state.json``: what a Hugging Face ``Trainer``, and so TRL, leaves in every checkpoint.

From ``TrainerState.save_to_json`` in ``transformers/trainer_callback.py``: one object, whose ``log_history``
lists what ``Trainer.log`` was given, each entry with its ``step``. An evaluation has an entry of its own,
after the training entry of that step. ``global_step`` and ``max_steps`` next to the list are no entries.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from entropylaw.escaping import counted
from entropylaw.logs.readers.jsonl import numbers_of_metrics
from entropylaw.logs.runs import Table
from entropylaw.logs.runs.number_parsing import JSON_DECODER
from entropylaw.logs.sources.content import Content
from entropylaw.logs.sources.gather import Records

_OPENS = re.compile(r"\s*\{")
_HISTORY = re.compile(r'"log_history"\s*:\s*\[')
_BETWEEN = re.compile(r"[\s,]*")
_NEXT_ENTRY = re.compile(r"\}\s*,\s*(?=\{)")

BAD_ENTRY = "unreadable log entry"


def recognises(content: Content) -> bool:
    """Whether it is one object with a list called ``log_history``, complete or cut off."""
    text = content.opening
    opens = _OPENS.match(text) if content.is_text and "log_history" in text else None
    if opens is None or _HISTORY.search(text) is None:
        return False
    try:
        _, end = JSON_DECODER.raw_decode(text, opens.end() - 1)
    except (ValueError, RecursionError):
        return True
    # Where another object follows, these are the records of a JSONL file, one of which has such a list.
    return _OPENS.match(text, end) is None


def read(content: Content) -> Table:
    """Read it; raises ``no-records`` where there is no complete entry."""
    text = content.text
    history = broken = None
    bad = 0
    try:
        state = JSON_DECODER.decode(text)
        history = state.get("log_history") if isinstance(state, dict) else None
    except (ValueError, RecursionError) as error:
        broken = getattr(error, "pos", len(text))
    if not isinstance(history, list):
        history, bad = _salvaged(text)
    entries = [plain for plain in map(_plain_entry, history) if plain is not None]
    notes: tuple[str, ...] = ()
    if broken is not None:
        read = counted(len(entries), "complete entry was", "complete entries were")
        notes = (f"the file is cut off or damaged near character {broken} of {len(text)}; its {read} read",)
    bad += len(history) - len(entries)
    return replace(log_table(content, entries, bad, notes), broken=bad)


def _plain_entry(entry: object) -> dict[str, object] | None:
    """The entry without lists and objects; None where it is none, or may be that of another run."""
    if not isinstance(entry, dict):
        return None
    plain = {key: value for key, value in entry.items() if not isinstance(value, (dict, list))}
    nested = [{key: value} for key, value in entry.items() if key not in plain]
    # What has no step but numbers of metrics within an object may be another run.
    return None if entry.get("step") is None and numbers_of_metrics(nested) else plain


def log_table(
    content: Content, entries: Sequence[Mapping[str, object]], bad: int, notes: tuple[str, ...]
) -> Table:
    """Make a table of what a ``Trainer`` has logged, without the totals that close a training.

    ``bad`` counts entries that were unreadable.

    Raises ``no-records``.
    """
    # A training entry can hold train_runtime, too (include_num_input_tokens_seen), next to its loss.
    records = [entry for entry in entries if "train_runtime" not in entry or "loss" in entry]
    if not records:
        held = counted(bad, "unreadable one", "unreadable ones") if bad else "none"
        raise content.error(
            "no-records",
            f"should hold log entries of a Hugging Face Trainer, and holds {held}",
            "check that the run has logged something; the last checkpoint has the whole log",
        )
    gathered = Records()
    for record in records:
        gathered.add(record)
    if len(records) < len(entries):
        left_out = counted(len(entries) - len(records), "closing summary", "closing summaries")
        notes += (f"{left_out} (train_runtime, train_loss and the like) left out",)
    return gathered.table(content, {BAD_ENTRY: bad}, notes, rows=len(entries) + bad)


def _salvaged(text: str) -> tuple[list[object], int]:
    """Read the list entry by entry, and go on behind those that are broken, which are counted."""
    opening = _HISTORY.search(text)
    entries: list[object] = []
    bad = 0
    position = opening.end() if opening else len(text)
    while True:
        position = _BETWEEN.match(text, position).end()  # type: ignore[union-attr]
        if position == len(text) or text[position] == "]":
            return entries, bad
        try:
            value, position = JSON_DECODER.raw_decode(text, position)
            entries.append(value)
        except (ValueError, RecursionError) as error:
            bad += 1
            following = _NEXT_ENTRY.search(text, getattr(error, "pos", position))
            # Each broken entry costs a walk through the text: the decoder's error counts its lines.
            if following is None or bad == 100:
                return entries, bad
            position = following.end()
