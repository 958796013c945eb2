"""A fit from whatever the user points at: a fit document, a log, or nothing at all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from entropylaw.errors import UsageError
from entropylaw.paths import is_file

if TYPE_CHECKING:
    from entropylaw.documents.fit import FitDocument, Settings


def grouped(sources: Sequence[str]) -> list[list[str]]:
    """Group files that are one log, such as charts with one metric each; documents stay alone."""
    from entropylaw.ingest.load import together

    documents = [[source] for source in sources if is_document(source)]
    groups = together([source for source in sources if not is_document(source)])
    return sorted([*documents, *groups], key=lambda group: sources.index(group[0]))


def document_for(sources: str | list[str], asked: Settings) -> FitDocument:
    """Load a fit document, or fit one log, which several files may be."""
    from entropylaw.documents.fit import load_fit
    from entropylaw.workflow import default_settings, fit_logs

    source, *others = [sources] if isinstance(sources, str) else sources
    if others or not is_document(source):
        return fit_logs([source, *others], asked)
    if asked != default_settings():
        raise UsageError(
            "fit-is-fixed",
            f"{source} is a stored fit, and options that say how to fit were given",
            "give the log itself to fit it anew",
        )
    return load_fit(source)


def newest_fit(folder: str) -> str:
    """The fit document in ``folder`` that was written last."""
    found = (path for path in Path(folder).glob("*.fit.json") if path.is_file())
    fits = sorted(found, key=lambda path: (path.stat().st_mtime_ns, path.name))
    if not fits:
        raise UsageError(
            "no-fit-yet",
            f"no FIT was given and {folder}/ holds no *.fit.json",
            "run `entropylaw fit LOG` first, or name a log or a fit document",
        )
    return str(fits[-1])


def is_document(source: str) -> bool:
    """Whether a file is one of our documents, of whatever kind or version."""
    path = Path(source)
    if path.suffix != ".json" or not is_file(path):
        return False
    try:
        data = json.loads(path.read_bytes())
    except (ValueError, OSError, RecursionError):
        return False
    return isinstance(data, dict) and str(data.get("schema", "")).startswith("entropylaw/")
