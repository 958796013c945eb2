"""Turns results into plain JSON values and text, and back again, by the same type hints.

Floats have 12 significant digits. A float that is not finite is an error of this package, except in a field
that is annotated :class:`~entropylaw.arrays.Unbounded`, where ``null`` is infinity. The same result
gives the same bytes, which are written whole or not at all.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from entropylaw.arrays import Unbounded, held
from entropylaw.errors import described
from entropylaw.reproducible import rounded
from entropylaw.results.result import field_names

T = TypeVar("T")

_PLAIN = (float, str, type(None), bool, int)


class DocumentMismatchError(Exception):
    """A value that the document does not allow at its JSON path, such as ``$.runs[0].result.n``."""

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"at {where}: {problem}")


def encode(value: Any) -> Any:
    """A result as JSON values. Arrays become lists; floats have 12 significant digits."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} in a document; a missing number is None with a reason")
        return rounded(value)
    if isinstance(value, tuple | list):
        return [encode(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return encode(value.tolist())
    members = _members(value)
    return {key: encode(inner) for key, inner in members} if members else value


def parse(content: bytes) -> Any:
    """The JSON values of a document.

    Raises DocumentMismatchError: a key occurs twice in one object, or a number is not finite or beyond a
    double; ValueError and RecursionError: the content is no JSON.
    """
    return json.loads(content, object_pairs_hook=_unique, parse_float=_finite, parse_constant=_finite)


def _unique(members: list[tuple[str, object]]) -> dict[str, object]:
    """The members of an object, each key once."""
    unique = dict(members)
    if len(unique) < len(members):
        raise DocumentMismatchError("$", "expected each key once, found one twice")
    return unique


def _finite(text: str) -> float:
    """A number that is finite."""
    if not math.isfinite(number := float(text)):
        raise DocumentMismatchError("$", f"expected a finite number, found {number!r}")
    return number


def decode(kind: type[T], data: Any) -> T:
    """JSON values as a result of type ``kind``, whose arrays are made when they are first read.

    Raises DocumentMismatchError for the first value that is missing, is not of its type, or disagrees with
    others.
    """
    try:
        result = msgspec.convert(data, kind, dec_hook=_unbounded)
    except msgspec.ValidationError as error:
        # Of msgspec's "Expected `int`, got `str` - at `$.runs[0].result.n`" the problem and the place.
        problem, _, where = str(error).partition(" - at `")
        problem = problem[:1].lower() + problem[1:]
        raise DocumentMismatchError(where.rstrip("`") or "$", problem) from None
    # Options with a default are required in documents.
    settings = getattr(result, "settings", None)
    required = getattr(settings, "ALWAYS", None) or frozenset[str]()
    missing = sorted(required.difference(data["settings"])) if required else []
    if missing:
        raise DocumentMismatchError("$.settings", f"object missing required field `{missing[0]}`")
    flaw = _flaw(result)
    if flaw is not None:
        path, expected = flaw
        raise DocumentMismatchError(f"${path}", f"expected {expected}")
    return result


def _members(value: object) -> list[tuple[str, Any]]:
    """The key in JSON and the value of every field of a result, None where it is without a bound.

    Nothing for other values.
    """
    names = field_names(value)
    keys = getattr(value, "__struct_encode_fields__", names)
    types = getattr(type(value), "__annotations__", {})
    members: list[tuple[str, Any]] = []
    for key, name in zip(keys, names, strict=True):
        inner = held(value, name)
        if types.get(name) is Unbounded and inner == math.inf:
            inner = None
        members.append((key, inner))
    return members


def as_stored(value: T) -> T:
    """A result as it is read from its document, so that a fresh one gives the same output as a stored one."""
    return decode(type(value), encode(value))


def _unbounded(_: type, value: Any) -> float:
    """A value of :class:`Unbounded`."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise ValueError(f"expected a number or null, found {described(value)}")
    return math.inf if value is None else float(value)


def _flaw(value: Any) -> tuple[str, str] | None:
    """The place of the first part of a result whose ``flaw`` is not empty, and that flaw."""
    if hasattr(value, "flaw") and (expected := value.flaw()):
        return "", expected
    if isinstance(value, tuple):
        members = [(f"[{i}]", member) for i, member in enumerate(value)]
    else:
        pairs = value.items() if isinstance(value, dict) else _members(value)
        members = [(f".{key}", member) for key, member in pairs]
    for key, member in members:
        if type(member) in _PLAIN:
            continue
        flaw = _flaw(member)
        if flaw is not None:
            path, expected = flaw
            return key + path, expected
    return None


def dumps(value: Any) -> str:
    """JSON text of what :func:`encode` made: sorted keys, one line per list of plain values."""
    return _lines(value, "") + "\n"


def _lines(value: Any, indent: str) -> str:
    """JSON text of a value, whose further lines are indented by more than ``indent``."""
    inner = indent + " "
    if isinstance(value, dict) and value:
        items = (f"{inner}{json.dumps(key)}: {_lines(value[key], inner)}" for key in sorted(value))
        return "{\n" + ",\n".join(items) + "\n" + indent + "}"
    if isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        return "[\n" + ",\n".join(inner + _lines(item, inner) for item in value) + "\n" + indent + "]"
    return json.dumps(value, allow_nan=False)
