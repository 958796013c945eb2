"""Which files are documents of entropylaw: found by their content, without numpy."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entropylaw.errors import InputError
from entropylaw.paths import is_file
from entropylaw.walk import walk

FITS = ".fit.json"
"""How the names of stored fits end, but for what is added to a copy's name."""

# Larger than what any number of runs makes.
_LARGEST = 1 << 30
_OURS = b"entropylaw"
_SCHEMA = re.compile(rb'"schema"\s*:\s*"entropylaw/')


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A document of entropylaw; ``data`` is None where it is damaged, so that nothing can be read of it."""

    path: str
    content: bytes
    data: Any

    @property
    def kind(self) -> str:
        """``fit``, ``report`` and so on; empty for a damaged one."""
        return "" if self.data is None else str(self.data["schema"]).split("/")[1]


def find_document(path: str) -> Stored | None:
    """Read the document at ``path``; None where there is something else, or nothing."""
    file = Path(path)
    try:
        named = FITS in file.name.casefold()
        if (
            not (named or file.suffix.lower() == ".json")
            or not is_file(file)
            or file.stat().st_size > _LARGEST
        ):
            return None
        content = file.read_bytes()
    except OSError:
        return None
    if not named and _OURS not in content:
        return None  # a log, of which the parsed whole would be many times its size
    try:
        data = json.loads(content, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        named |= _SCHEMA.search(content) is not None
        data = None
    schema = data.get("schema") if isinstance(data, dict) else None
    if isinstance(schema, str) and schema.startswith("entropylaw/"):
        return Stored(path=path, content=content, data=data)
    return Stored(path=path, content=content, data=None) if named else None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys stand once; of two, nobody knows which was meant."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def documents_in(folder: str) -> tuple[list[Stored], bool]:
    """The documents below a folder, and whether it holds anything else, such as a folder that is closed."""
    found: list[Stored] = []
    others = False
    for visit in walk(folder):
        if isinstance(visit, OSError):
            others = True
            continue
        where, _, names = visit
        for name in names:
            document = find_document(str(Path(where) / name))
            if document is None:
                others = True
            else:
                found.append(document)
    return found, others


def damaged(document: Stored, shown: str) -> InputError:
    """Make the error for a document of which nothing can be read."""
    return InputError(
        "damaged-document",
        f"{shown} is damaged: its {len(document.content)} bytes are no JSON object with a schema",
        "make the document again from the log",
    )
