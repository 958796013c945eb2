"""A fit from whatever the user points at: a fit document, a log, or nothing at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from entropylaw.errors import UsageError
from entropylaw.inputs import note_input

if TYPE_CHECKING:
    from entropylaw.documents.fit import FitDocument, Settings


def document_for(source: str, asked: Settings) -> FitDocument:
    """Load a fit document, or fit one log."""
    from entropylaw.documents.fit import load_fit
    from entropylaw.workflow import default_settings, fit_logs

    if not is_document(source):
        return fit_logs([source], asked)
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
    from entropylaw.documents.finding import find_document

    note_input(source)
    return find_document(source) is not None
