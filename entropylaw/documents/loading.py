"""Stored documents back as results: of the right kind, of a version that is read here, and undamaged."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from entropylaw.documents.codec import DocumentMismatchError, decode, parse
from entropylaw.documents.kinds import KINDS, Kind
from entropylaw.documents.migration import upgraded
from entropylaw.errors import InputError, known_form
from entropylaw.paths import shown_path


def load_document(name: str, path: str | os.PathLike[str]) -> Any:
    """Read a document of the kind of that name in :data:`~entropylaw.documents.kinds.KINDS`.

    Raises InputError (``file-not-found``, ``file-unreadable``, ``not-a-document`` for no JSON or that of
    another kind, ``other-document-version``, ``damaged-document`` for a value that does not fit, with its
    JSON path).
    """
    from entropylaw.arguments import of_kind

    path = path if isinstance(path, str) else os.fspath(of_kind(path, os.PathLike, "path"))  # type: ignore[type-abstract]
    kind, data, shown = KINDS[name], load_json(path), shown_path(path)
    schema = data.get("schema") if isinstance(data, dict) else None
    if not isinstance(schema, str) or not schema.startswith(f"entropylaw/{name}/"):
        message = f"{shown} is JSON, but no document with schema {kind.schema!r}"
        hint = f"give a file that `{kind.command}` wrote, or the log itself"
        raise InputError("not-a-document", message, hint)
    return as_document(kind, data, shown)


def as_document(kind: Kind, data: Any, shown: str, *, arrays: bool = True) -> Any:
    """The values of a document of a kind as results; ``shown`` is how sentences call it.

    Without ``arrays`` they stay lists, and numpy is not imported.

    Raises InputError (``other-document-version``, ``damaged-document``).
    """
    if kind.version == 2 and data["schema"] == f"entropylaw/{kind.name}/1":
        data = upgraded(data)
    if data["schema"] != kind.schema:
        raise InputError(
            "other-document-version",
            f"{shown} has schema {known_form(data['schema'])}, of version {known_form(data.get('version'))}; "
            f"{kind.schema!r} is read here",
            "fit the log again, or use the version that wrote the document",
        )
    try:
        return decode(kind.type, data, arrays=arrays)
    except DocumentMismatchError as error:
        raise damaged(shown, str(error)) from error


def damaged(shown: str, problem: str) -> InputError:
    """Make the error for a document that cannot be used."""
    message = f"{shown} is damaged {problem}"
    return InputError("damaged-document", message, "make the document again from the log")


def load_json(path: str | os.PathLike[str]) -> Any:
    """The values of a JSON file.

    Raises InputError (``file-not-found``, ``file-unreadable``, ``not-a-document``, ``damaged-document`` (see
    :func:`~entropylaw.documents.codec.parse`)).
    """
    source, shown = Path(path), shown_path(os.fspath(path))
    try:
        if source.exists() and not source.is_file():
            raise InputError("file-unreadable", f"{shown} is no file", "name a document")
        return parse(source.read_bytes())
    except FileNotFoundError:
        raise InputError("file-not-found", f"{shown} does not exist", "check the path") from None
    except OSError as error:
        hint = "check its permissions"
        raise InputError("file-unreadable", f"{shown} could not be read ({error.strerror})", hint) from error
    except DocumentMismatchError as error:
        raise damaged(shown, str(error)) from error
    except (ValueError, RecursionError) as error:
        message = f"{shown} is no JSON document ({error})"
        raise InputError("not-a-document", message, "give a file that `entropylaw fit` wrote") from error
