"""Names for files and anchors, made from run names that may hold anything."""

from __future__ import annotations

import re
import unicodedata

from entropylaw.documents.fit import FitDocument

LONGEST = 80

_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def safe_name(name: str, taken: set[str]) -> str:
    """A file name for ``name`` on any system, different from all ``taken``; it is added to them.

    Only ASCII letters, digits, dot, underscore and hyphen are left; no name starts with a dot or is one
    that Windows keeps for itself. Two names that differ only in case count as the same.
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode("ascii")
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", plain)
    slug = re.sub(r"\.{2,}", ".", slug)
    slug = re.sub(r"-{2,}", "-", slug).strip("-._")[:LONGEST].rstrip("-._") or "run"
    if _RESERVED.fullmatch(slug):
        slug = f"run-{slug}"
    unique, count = slug, 2
    while unique.casefold() in taken:
        unique, count = f"{slug}-{count}", count + 1
    taken.add(unique.casefold())
    return unique


def run_slugs(document: FitDocument) -> tuple[str, ...]:
    """A name for each run of a document, in its order."""
    taken: set[str] = set()
    return tuple(safe_name(run.run, taken) for run in document.runs)
