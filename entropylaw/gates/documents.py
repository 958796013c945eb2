"""Stored documents for gates: read once, as plain JSON, without numpy."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from entropylaw.documents.check import CheckedFile
from entropylaw.documents.finding import Stored
from entropylaw.documents.kinds import KINDS
from entropylaw.documents.loading import load_json
from entropylaw.errors import InputError, known_form
from entropylaw.gates.expression import Gate
from entropylaw.gates.subjects import Subject, read_document, subjects_of, unread
from entropylaw.inputs import note_input
from entropylaw.paths import is_file, shown_path


def checked_file(document: Stored) -> CheckedFile:
    """A document's entry among the files that were read."""
    note_input(document.path)
    schema = "damaged" if document.data is None else document.data["schema"]
    digest = hashlib.sha256(document.content).hexdigest()
    return CheckedFile(path=shown_path(document.path), sha256=digest, format=schema)


def subjects_in(document: Stored) -> list[Subject]:
    """The runs of a document; one that cannot be used, as one without runs, is a refused run."""
    shown = shown_path(document.path)
    try:
        if document.data is None:
            raise document.damaged(shown)
        return subjects_of(read_document(document.data, shown), shown)
    except InputError as error:
        return [unread(shown, error)]


def missing_pages(index: Stored) -> list[Subject]:
    """The runs that the index of a report names, and whose documents do not lie beside it."""
    rows = index.data.get("rows")
    slugs = [row.get("slug") for row in (rows if isinstance(rows, list) else []) if isinstance(row, dict)]
    found = []
    for slug in slugs:
        place = Path(index.path).parent / "runs" / f"{slug}.json"
        if isinstance(slug, str) and not is_file(place):
            shown = shown_path(str(place))
            message = f"there is no {shown}, which the index of the report names"
            found.append(unread(shown, InputError("file-not-found", message, "make the report again")))
    return found


def baselines(gates: Sequence[Gate]) -> dict[str, list[Subject]]:
    """The documents that regressions are measured against, each read once.

    InputErrors are those of :func:`load_json` and :func:`read_document`.
    """
    found: dict[str, list[Subject]] = {}
    for path in dict.fromkeys(gate.baseline for gate in gates if gate.baseline is not None):
        note_input(path)
        data, shown = load_json(path), shown_path(path)
        document = read_document(data, shown)
        if document.schema not in (KINDS["fit"].schema, KINDS["report"].schema):
            message = f"the baseline {shown} has schema {known_form(data['schema'])}, which holds no law"
            hint = "give what `entropylaw fit` or `entropylaw report` wrote"
            raise InputError("not-a-document", message, hint)
        found[path] = subjects_of(document, shown)
    return found
