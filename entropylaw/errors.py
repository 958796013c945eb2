"""Errors that a user can act on: what happened, the value found, what was expected, what to do.

Every error has a slug. The exit code belongs to the class,
so that a caller can distinguish "could not be read" from "could not be fitted" without parsing text.
"""

from __future__ import annotations

import re
from typing import ClassVar

_VERSION = re.compile(r"\d+(?:\.\w{1,12}){1,4}|entropylaw/\w{1,20}/\d{1,6}(?:\.\d{1,6})?", re.ASCII)


class EntropyLawError(Exception):
    """Base of every error that entropylaw raises on purpose.

    Parameters
    ----------
    slug
        Short name of the problem, e.g. ``"no-entropy-column"``: words joined by hyphens.
    message
        What happened, the value found and what was expected, in one sentence.
    hint
        What to do about it, in one line.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, slug: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.slug = slug
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"error[{self.slug}]: {self.message}"

    def __reduce__(self) -> tuple[type[EntropyLawError], tuple[str, str, str]]:
        """Pickled by its parts, from a worker to the main process."""
        return type(self), (self.slug, self.message, self.hint)


class UsageError(EntropyLawError):
    """The call itself is wrong: an option's value, or two options that exclude each other."""

    exit_code = 2


class InputError(EntropyLawError):
    """A file cannot be read, or does not hold the columns that are needed."""

    exit_code = 3


class OutputError(EntropyLawError):
    """A result cannot be written. An earlier file at its place is unchanged."""

    exit_code = 3


class FitError(EntropyLawError):
    """The data were read, but give no result: constant reward, too few evaluations and the like."""

    exit_code = 4


def described(value: object) -> str:
    """Describe a value of a stranger's document: a number or a flag by its value, others by their kind."""
    if value is None or isinstance(value, bool | int | float):
        return repr(value)[:40]
    if isinstance(value, str):
        return "a text"
    return "a list" if isinstance(value, list) else "an object"


def known_form(value: object) -> str:
    """Quote a text with the form of a version or a schema of ours; any other is unknown."""
    return repr(value) if isinstance(value, str) and _VERSION.fullmatch(value) else "unknown"
