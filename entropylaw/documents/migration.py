"""Documents of version 1, which held sentences, as those of version 2, which hold findings."""

from __future__ import annotations

from typing import Any

_SENTENCES: dict[str, dict[str, str]] = {
    "contradicted": {"reasons": "reason", "cautions": "caution"},
    "share_planning": {"cautions": "caution", "notes": "note"},
    "planning_column": {"cautions": "caution"},
    "path_members": {"notes": "note"},
    "share_both": {"notes": "note"},
}
"""A field by which an object is known → the fields that held its sentences, each with their severity."""

_OF_SEGMENTS = ("no seam found: ", "no law by segment: ")
"""How the notes of a run began that were not about reading it."""


def upgraded(data: dict[str, Any]) -> dict[str, Any]:
    """The values of a document of version 1 in the form of version 2; its sentences stay as they were.

    What is not as version 1 had it is left alone: whoever decodes it says what is wrong.
    """
    return {**_upgraded(data), "schema": data["schema"].removesuffix("/1") + "/2"}


def _upgraded(value: Any) -> Any:
    # Lists of numbers are long, and hold nothing of this.
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [_upgraded(item) for item in value]
    if not isinstance(value, dict):
        return value
    found = {name: _upgraded(inner) for name, inner in value.items()}
    held = next((fields for mark, fields in _SENTENCES.items() if mark in found), None)
    if held is not None:
        findings = [_stated(severity, found.pop(name, [])) for name, severity in held.items()]
        found["findings"] = [finding for each in findings for finding in each]
    elif {"seams", "same", "note"} <= found.keys():
        note = found.pop("note")
        found["findings"] = _stated("note", [] if note is None else [note])
    elif {"reward_column", "law", "notes"} <= found.keys() and isinstance(found["notes"], list):
        notes = found.pop("notes")
        of_segments = [note for note in notes if isinstance(note, str) and note.startswith(_OF_SEGMENTS)]
        found["read_notes"] = [note for note in notes if note not in of_segments]
        found["findings"] = _stated("note", of_segments)
    return found


def _stated(severity: str, said: Any) -> list[Any]:
    """Findings whose only value is the sentence that a document held; what is none is left as it is."""
    return [
        {"code": "stated", "severity": severity, "values": {"sentence": each}}
        if isinstance(each, str)
        else each
        for each in (said if isinstance(said, list) else [said])
    ]
