"""Which files are documents of entropylaw: found by their content, without numpy."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entropylaw.documents.codec import DocumentMismatchError, parse
from entropylaw.documents.loading import damaged
from entropylaw.errors import InputError
from entropylaw.paths import is_file
from entropylaw.walk import walk

FITS = ".fit.json"
"""How the names of stored fits end, but for what is added to a copy's name."""

# Larger than what any number of runs makes.
_LARGEST = 1 << 30
_SCHEMA = re.compile(rb'"schema"\s*:\s*"entropylaw/')


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A document of entropylaw; ``data`` is None where nothing can be read of it, and ``flaw`` says why."""

    path: str
    content: bytes
    data: Any
    flaw: str = ""

    @property
    def kind(self) -> str:
        """``fit``, ``report`` and so on; empty for a damaged one."""
        return "" if self.data is None else str(self.data["schema"]).split("/")[1]

    def damaged(self, shown: str) -> InputError:
        """The error for a document of which nothing can be read."""
        size = len(self.content)
        return damaged(shown, self.flaw or f": its {size} bytes are no JSON object with a schema")


def find_document(path: str) -> Stored | None:
    """Read the document at ``path``; None where there is something else, or nothing."""
    file = Path(path)
    named = FITS in file.name.casefold()
    content = None
    with suppress(OSError):
        if (named or file.suffix.lower() == ".json") and is_file(file) and file.stat().st_size <= _LARGEST:
            content = file.read_bytes()
    if content is None or not (named or b"entropylaw" in content):
        return None  # a log, of which the parsed whole would be many times its size
    data, flaw = None, ""
    try:
        data = parse(content)
    except DocumentMismatchError as error:
        flaw = str(error)
    except (ValueError, RecursionError):
        pass
    schema = data.get("schema") if isinstance(data, dict) else None
    if isinstance(schema, str) and schema.startswith("entropylaw/"):
        return Stored(path=path, content=content, data=data)
    named = named or (data is None and _SCHEMA.search(content) is not None)
    return Stored(path=path, content=content, data=None, flaw=flaw) if named else None


def documents_in(folder: str) -> tuple[list[Stored], bool]:
    """The documents below a folder, and whether it holds anything else, such as a folder that is closed."""
    found: list[Stored] = []
    others = False
    for visit in walk(folder):
        where, _, names = ("", [], []) if isinstance(visit, OSError) else visit
        inside = [find_document(str(Path(where) / name)) for name in names]
        others = others or None in inside or isinstance(visit, OSError)
        found += filter(None, inside)
    return found, others
