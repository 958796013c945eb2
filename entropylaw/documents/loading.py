"""Stored documents back as results: of the right kind, of a version that is read here, and undamaged."""

from __future__ import annotations

import os
from typing import TypeVar

from entropylaw.arguments import of_kind
from entropylaw.documents.codec import DocumentMismatchError, decode
from entropylaw.documents.store import load_json
from entropylaw.errors import InputError, known_form
from entropylaw.paths import shown_path

T = TypeVar("T")


def load_document(kind: type[T], path: str | os.PathLike[str], schema: str, *, command: str) -> T:
    """Read a document of type ``kind`` that ``command`` wrote; ``schema`` names its kind and version.

    Raises
    ------
    InputError
        ``file-not-found``, ``not-a-document`` (no JSON, or JSON of another kind),
        ``other-document-version`` (another schema version), ``damaged-document`` (a value does not fit).
    """
    path = path if isinstance(path, str) else os.fspath(of_kind(path, os.PathLike, "path"))  # type: ignore[type-abstract]
    data, name = load_json(path), shown_path(path)
    found = data.get("schema") if isinstance(data, dict) else None
    if not isinstance(found, str) or not found.startswith(f"{schema.rpartition('/')[0]}/"):
        raise InputError(
            "not-a-document",
            f"{name} is JSON, but no document with schema {schema!r}",
            f"give a file that `{command}` wrote, or the log itself",
        )
    if found != schema:
        raise InputError(
            "other-document-version",
            f"{name} has schema {known_form(found)}, of version {known_form(data.get('version'))}; "
            f"{schema!r} is read here",
            "fit the log again, or use the version that wrote the document",
        )
    try:
        return decode(kind, data)
    except DocumentMismatchError as error:
        raise InputError(
            "damaged-document",
            f"{name} is damaged {error}",
            f"fit the log again with `{command}`",
        ) from error
