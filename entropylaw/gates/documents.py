"""Stored documents for gates: read once, as plain JSON, without numpy."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entropylaw.documents.check import CheckedFile
from entropylaw.errors import InputError
from entropylaw.gates.expression import Gate
from entropylaw.gates.subjects import Subject, document_kind, subjects_of
from entropylaw.paths import is_file, is_folder, shown_path


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A document of entropylaw: what it holds, and the file that it came from."""

    data: Any
    file: CheckedFile

    def subjects(self) -> list[Subject]:
        """Its runs.

        Raises
        ------
        InputError
            As :func:`entropylaw.gates.subjects.subjects_of`.
        """
        return subjects_of(self.data, self.file.path)


def unfolded(sources: Sequence[str]) -> list[str]:
    """A folder that holds stored fits and nothing else stands for them, as for `entropylaw report`."""
    found: list[str] = []
    for source in sources:
        inside = _visible(source)
        fits = inside and all(path.name.endswith(".fit.json") for path in inside)
        found += map(str, inside) if fits else [source]
    return found


def _visible(folder: str) -> list[Path]:
    """What a folder holds, hidden files apart; nothing where it is no folder."""
    if folder == "-" or not is_folder(folder):
        return []
    return sorted(path for path in Path(folder).iterdir() if not path.name.startswith("."))


def stored(source: str) -> Stored | None:
    """The document at ``source``; None where there is something else, or nothing."""
    path = Path(source)
    if path.suffix != ".json" or not is_file(path):
        return None
    try:
        content = path.read_bytes()
        data = json.loads(content)
    except (OSError, ValueError, RecursionError):
        return None
    schema = data.get("schema") if isinstance(data, dict) else None
    if not isinstance(schema, str) or not schema.startswith("entropylaw/"):
        return None
    digest = hashlib.sha256(content).hexdigest()
    return Stored(data=data, file=CheckedFile(path=shown_path(source), sha256=digest, format=schema))


def baselines(gates: Sequence[Gate]) -> dict[str, list[Subject]]:
    """The documents that regressions are measured against, each read once.

    Raises
    ------
    InputError
        ``file-not-found``, ``file-unreadable``, ``not-a-document``, ``other-document-version``,
        ``damaged-document``.
    """
    paths = dict.fromkeys(gate.baseline for gate in gates if gate.baseline is not None)
    if not paths:
        return {}
    # It writes files, too, with modules that a gate without a baseline has no use for.
    from entropylaw.documents.store import load_json

    found: dict[str, list[Subject]] = {}
    for path in paths:
        data, shown = load_json(path), shown_path(path)
        if document_kind(data, shown) not in ("fit", "report"):
            raise InputError(
                "not-a-document",
                f"the baseline {shown} has schema {data['schema']!r}, which holds no law",
                "give what `entropylaw fit` or `entropylaw report` wrote",
            )
        found[path] = subjects_of(data, shown)
    return found
