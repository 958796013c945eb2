"""Finds documents by their content, and reads them back as results."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entropylaw.documents.codec import DocumentMismatchError, decode, parse
from entropylaw.documents.kinds import KINDS
from entropylaw.errors import InputError, known_form
from entropylaw.paths import LARGEST, SCHEMA, note_input, read_regular, shown_path, walk

FITS = ".fit.json"
"""How the names of stored fits end, but for what is added to a copy's name."""


def load(path: str | os.PathLike[str], kind: str | None = None) -> Any:
    """Read a document that entropylaw wrote: of any kind, or of one of :data:`KINDS`.

    >>> entropylaw.load("reports/grpo_s0.fit.json").fitted  # doctest: +SKIP

    Raises InputError (``file-not-found``, ``file-unreadable``, ``not-a-document`` for no JSON or that of
    another kind, ``other-document-version``, ``damaged-document`` for a value that does not fit, with its
    JSON path); UsageError ``bad-argument``.
    """
    from entropylaw.arguments import as_path, bad_argument, text_or_none

    path = as_path(path, "path")
    if text_or_none(kind, "kind") not in (None, *KINDS):
        raise bad_argument("kind", f"one of {', '.join(KINDS)}", repr(kind)[:40])
    expected = tuple(KINDS) if kind is None else (kind,)
    return as_document(load_json(path, expected), expected, shown_path(path))


def as_document(data: Any, kinds: Sequence[str], shown: str, *, or_log: bool = False) -> Any:
    """The values of a document of one of some kinds as results; ``shown`` is its name in messages.

    ``or_log`` says whether its log can be given instead.

    Raises InputError (``not-a-document``, ``other-document-version``, ``damaged-document``).
    """
    schema = _schema_of(data)
    kind = KINDS.get(schema.split("/")[1]) if schema.startswith("entropylaw/") else None
    if kind is None or kind.name not in kinds:
        expected = " or ".join(KINDS[name].schema for name in kinds)
        message = f"{shown} has schema {known_form(schema)}, expected {expected}"
        hint = _written_by(kinds)
        if or_log:
            hint += ", or the log itself"
        raise InputError("not-a-document", message, hint)
    if schema != kind.schema:
        raise InputError(
            "other-document-version",
            f"{shown} has schema {known_form(schema)}, of version {known_form(data.get('version'))}; "
            f"{kind.schema!r} is read here",
            "fit the log again, or use the version that wrote the document",
        )
    try:
        return decode(kind.type, data)
    except DocumentMismatchError as error:
        raise damaged(shown, str(error)) from error


def _written_by(kinds: Sequence[str]) -> str:
    """What to give where a document of one of some kinds was expected."""
    commands = dict.fromkeys(f"`{KINDS[name].command}`" for name in kinds)
    return f"give a file that {' or '.join(commands)} wrote"


def damaged(shown: str, problem: str) -> InputError:
    """Make the error for a document that cannot be used."""
    return InputError(
        "damaged-document",
        f"{shown} is damaged {problem}",
        "make the document again from the log",
    )


def load_json(path: str | os.PathLike[str], kinds: Sequence[str]) -> Any:
    """The values of a JSON file, which should be a document of one of some kinds.

    Raises InputError (``file-not-found``, ``file-unreadable``, ``not-a-document``, ``damaged-document`` (see
    :func:`~entropylaw.documents.codec.parse`)).
    """
    source = Path(path)
    # A message has at most 400 characters of a path.
    name = shown_path(os.fspath(path))[:400]
    try:
        if source.exists() and not source.is_file():
            raise InputError("file-unreadable", f"{name} is not a file", "name a document")
        return parse(read_regular(source, LARGEST))
    except FileNotFoundError:
        raise InputError("file-not-found", f"{name} does not exist", "check the path") from None
    except OSError as error:
        raise InputError(
            "file-unreadable",
            f"{name} could not be read ({error.strerror})",
            "check its permissions",
        ) from error
    except DocumentMismatchError as error:
        raise damaged(name, str(error)) from error
    except (ValueError, RecursionError) as error:
        raise InputError(
            "not-a-document",
            f"{name} is not a JSON document ({error})",
            _written_by(kinds),
        ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A document of entropylaw; ``data`` is None where it cannot be read, and ``flaw`` says why."""

    path: str
    content: bytes
    data: Any
    flaw: str = ""

    @property
    def kind(self) -> str:
        """``fit``, ``report`` and so on; empty for a damaged one."""
        return "" if self.data is None else str(self.data["schema"]).split("/")[1]

    def load(self, kinds: Sequence[str]) -> Any:
        """The results in it, if it is of one of some kinds.

        Raises InputError as :func:`as_document`.
        """
        name = shown_path(self.path)
        if self.data is None:
            size = len(self.content)
            raise damaged(name, self.flaw or f": its {size} bytes are no JSON object with a schema")
        note_input(self.path)
        return as_document(self.data, kinds, name, or_log=True)


def find_document(path: str) -> Stored | None:
    """Read the document at ``path``; None where there is something else, or nothing."""
    file = Path(path)
    named = FITS in file.name.casefold()
    if not named and file.suffix.lower() != ".json":
        return None
    try:
        content = read_regular(file, LARGEST)
    except (OSError, ValueError):
        return None
    if not named and b"entropylaw" not in content:
        return None  # a log: parsing it would take many times its size
    data = None
    flaw = ""
    try:
        data = parse(content)
    except DocumentMismatchError as error:
        flaw = str(error)
    except (ValueError, RecursionError):
        # It is no JSON, of which there is no more to say.
        pass
    if _schema_of(data).startswith("entropylaw/"):
        return Stored(path=path, content=content, data=data)
    named = named or (data is None and SCHEMA.search(content) is not None)
    return Stored(path=path, content=content, data=None, flaw=flaw) if named else None


def _schema_of(data: Any) -> str:
    """The ``schema`` of JSON values; empty where they have none that is a text."""
    schema = data.get("schema") if isinstance(data, dict) else None
    return schema if isinstance(schema, str) else ""


def documents_in(folder: str) -> tuple[list[Stored], bool]:
    """The documents below a folder, and whether there is anything else, such as an unreadable folder."""
    documents: list[Stored] = []
    has_others = False
    for visit in walk(folder):
        if isinstance(visit, OSError):
            has_others = True
            continue
        where, _, names = visit
        for name in names:
            document = find_document(str(Path(where) / name))
            if document is None:
                has_others = True
            else:
                documents.append(document)
    return documents, has_others
