"""Frozen dataclasses ⇄ plain JSON values, both from the same type hints.

Floats have 12 significant digits. Not-a-number has no place in a document, so that a float that is neither
finite nor None is an error of ours; the one exception is a field that is annotated
:class:`~entropylaw.results.arrays.Unbounded`, in which ``null`` stands for infinity.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from entropylaw.errors import described
from entropylaw.reproducible import rounded
from entropylaw.results.arrays import Unbounded
from entropylaw.results.fields import field_names

T = TypeVar("T")

_KEY = re.compile(rb'"\s*:')
_PLAIN = (float, str, type(None), bool, int)


class DocumentMismatchError(Exception):
    """A value is not what the document needs at its place, a JSON path such as ``$.runs[0].law.n``."""

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
    if names := field_names(value):
        types = type(value).__annotations__
        return {
            name: None if types.get(name) is Unbounded and inner == math.inf else encode(inner)
            for name, inner in ((name, getattr(value, name)) for name in names)
        }
    return encode(value.tolist()) if hasattr(value, "tolist") else value


def parse(content: bytes) -> Any:
    """The JSON values of a document.

    Raises DocumentMismatchError: a key occurs twice in one object, or a number is not finite or beyond a
    double; ValueError and RecursionError: the content is no JSON.
    """
    try:
        data = msgspec.json.decode(content)
        # As many keys as in the text: none occurred twice. A value that holds '":' counts, too, and the
        # content is then read again.
        if _keys(data) == len(_KEY.findall(content)):
            return data
    except msgspec.DecodeError:
        # Python's module reads more: NaN, 1e999, halves of surrogates, a byte order mark.
        pass
    data = json.loads(content, object_pairs_hook=_Pairs)
    for where, problem in _oddities(data, "$"):
        raise DocumentMismatchError(where, problem)
    return data


def decode(kind: type[T], data: Any, *, arrays: bool = True) -> T:
    """JSON values as a result of type ``kind``; without ``arrays`` its arrays stay lists that nobody checks.

    Raises DocumentMismatchError: a value is missing, is not of its type, or does not agree with others: the
    first that was found.
    """
    try:
        found = msgspec.convert(data, kind, dec_hook=_with_arrays if arrays else _with_lists)
    except msgspec.ValidationError as error:
        # Of msgspec's "Expected `int`, got `str` - at `$.runs[0].law.n`" the problem and the place.
        problem, _, where = str(error).partition(" - at `")
        problem = problem[:1].lower() + problem[1:]
        raise DocumentMismatchError(where.rstrip("`") or "$", problem) from None
    # What has a default as an option is nevertheless in every document.
    settings = getattr(found, "settings", None)
    lacking = sorted(getattr(settings, "ALWAYS", frozenset()) - {*(data["settings"] if settings else ())})
    if lacking:
        raise DocumentMismatchError("$.settings", f"object missing required field `{lacking[0]}`")
    if (flaw := _flaw(found)) is not None:
        raise DocumentMismatchError(f"${flaw[0]}", f"expected {flaw[1]}")
    return found


def as_stored(value: T) -> T:
    """A result as a reader of its document gets it, so that all that is made of either is the same."""
    return decode(type(value), encode(value))


class _Pairs(dict[str, Any]):
    """An object of a document; ``twice`` says whether a key occurred more than once."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.twice = len(self) < len(pairs)


def _keys(data: Any) -> int:
    """The keys of all objects; of a list those that begin with an object or a list."""
    if isinstance(data, dict):
        return len(data) + sum(_keys(item) for item in data.values())
    holds = isinstance(data, list) and data and isinstance(data[0], dict | list)
    return sum(map(_keys, data)) if holds else 0


def _oddities(data: Any, where: str) -> Iterator[tuple[str, str]]:
    """Keys that occur twice and numbers that are not finite, each with its place."""
    if isinstance(data, _Pairs):
        if data.twice:
            yield where, "expected each key once, found one twice"
        for name, item in data.items():
            yield from _oddities(item, f"{where}.{name}")
    elif isinstance(data, list):
        for i, item in enumerate(data):
            yield from _oddities(item, f"{where}[{i}]")
    elif isinstance(data, float) and not math.isfinite(data):
        yield where, f"expected a finite number, found {data!r}"


def _with_lists(kind: type, value: Any) -> Any:
    """A value of a type that only results know, without numpy."""
    if kind is Unbounded:
        if value is None:
            return math.inf
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"expected a number or null, found {described(value)}")
    elif not isinstance(value, list):
        raise ValueError(f"expected an array of numbers, found {described(value)}")
    return value


def _with_arrays(kind: type, value: Any) -> Any:
    value = _with_lists(kind, value)
    if kind is Unbounded:
        return float(value)
    import numpy as np

    try:
        array = np.array(value)
    except ValueError:
        raise ValueError("expected an array of numbers, found lists of several lengths") from None
    # Text that spells numbers is none, and neither are whole numbers beyond a double.
    if array.dtype.kind not in "fiu":
        raise ValueError("expected an array of finite numbers")
    return array.astype(float, copy=False)


def _flaw(value: Any) -> tuple[str, str] | None:
    """The place of the first part of a result whose own ``flaw`` is not empty, and what that says."""
    if hasattr(value, "flaw") and (expected := value.flaw()):
        return "", expected
    parts: Iterable[tuple[str, Any]]
    if isinstance(value, tuple) and value and type(value[0]) not in _PLAIN:
        parts = ((f"[{i}]", item) for i, item in enumerate(value))
    elif isinstance(value, dict):
        parts = ((f".{name}", item) for name, item in value.items())
    else:
        parts = ((f".{name}", getattr(value, name)) for name in field_names(value))
    for place, part in parts:
        if type(part) not in _PLAIN and (found := _flaw(part)) is not None:
            return place + found[0], found[1]
    return None
