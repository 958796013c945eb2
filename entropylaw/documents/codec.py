"""Frozen dataclasses ⇄ plain JSON values ⇄ JSON Schema, all three from the same type hints.

A field's type says everything: numbers, strings, booleans, tuples, string-keyed mappings, arrays,
other dataclasses and ``| None``. Floats have 12 significant digits. Not-a-number has no place in a document,
so that a float that is neither finite nor None is an error of ours; the one exception is a field whose
metadata names a value that ``null`` stands for.
"""

from __future__ import annotations

import math
import sys
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import lru_cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from entropylaw.errors import described
from entropylaw.reproducible import rounded

T = TypeVar("T")


class DocumentMismatchError(Exception):
    """A value is not of the type that the document needs; ``where`` is its place in the document."""

    def __init__(self, where: str, expected: str, found: object) -> None:
        super().__init__(f"at {where}: expected {expected}, found {described(found)}")


def encode(value: Any) -> Any:
    """A result as JSON values. Arrays become lists; floats have 12 significant digits."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} in a document; a missing number is None with a reason")
        return rounded(value)
    if isinstance(value, np.ndarray):
        return encode(value.tolist())
    if isinstance(value, tuple | list):
        return [encode(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: None
            if "null" in field.metadata and getattr(value, field.name) == field.metadata["null"]
            else encode(getattr(value, field.name))
            for field in fields(value)
        }
    return value


def decode(kind: type[T], data: Any, where: str = "document") -> T:
    """JSON values as a result of type ``kind``; a :class:`DocumentMismatchError` where they do not fit."""
    return _decode(kind, data, where)  # type: ignore[no-any-return]


def as_stored(value: T) -> T:
    """A result as a reader of its document gets it, so that all that is made of either is the same."""
    return decode(type(value), encode(value))


def schema_of(kind: Any) -> dict[str, Any]:
    """JSON Schema (2020-12, without ``$defs``) of a type."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return {"anyOf": [schema_of(argument) for argument in arguments]}
    if kind in _PRIMITIVES:
        return {"type": _PRIMITIVES[kind]}
    if _is_array(kind):
        return {"type": "array", "items": {"type": ["number", "array"]}}
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return {"type": "array", "items": schema_of(arguments[0])}
        return {"type": "array", "prefixItems": [schema_of(a) for a in arguments], "minItems": len(arguments)}
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": schema_of(arguments[1])}
    return _dataclass_schema(kind)


_PRIMITIVES: dict[Any, str] = {
    float: "number",
    int: "integer",
    str: "string",
    bool: "boolean",
    type(None): "null",
}


def _decode(kind: Any, data: Any, where: str) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _decode_union(arguments, data, where)
    if kind in _PRIMITIVES:
        return _decode_primitive(kind, data, where)
    if _is_array(kind):
        return _decode_array(data, where)
    if origin is tuple:
        return _decode_tuple(arguments, data, where)
    if origin in (dict, Mapping):
        _expect(isinstance(data, dict), where, "an object", data)
        return {key: _decode(arguments[1], item, f"{where}.{key}") for key, item in data.items()}
    return _decode_dataclass(kind, data, where)


def _decode_union(options: tuple[Any, ...], data: Any, where: str) -> Any:
    if data is None and type(None) in options:
        return None
    (kind,) = (option for option in options if option is not type(None))
    return _decode(kind, data, where)


def _decode_primitive(kind: Any, data: Any, where: str) -> Any:
    number = isinstance(data, int | float) and not isinstance(data, bool)
    fits = number if kind is float else type(data) is kind
    _expect(fits, where, f"a {_PRIMITIVES[kind]}", data)
    if kind is float:
        _expect(abs(data) <= sys.float_info.max, where, "a finite number", data)
    return float(data) if kind is float else data


def _decode_array(data: Any, where: str) -> Any:
    _expect(isinstance(data, list), where, "an array of numbers", data)
    try:
        array = np.array(data)
    except (TypeError, ValueError):
        raise DocumentMismatchError(where, "an array of numbers", data) from None
    # Text that spells numbers is none, and neither are numbers beyond a double.
    _expect(array.dtype.kind in "fiu", where, "an array of numbers", data)
    array = array.astype(float)
    _expect(bool(np.isfinite(array).all()), where, "an array of finite numbers", data)
    return array


def _decode_tuple(arguments: tuple[Any, ...], data: Any, where: str) -> Any:
    _expect(isinstance(data, list), where, "an array", data)
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return tuple(_decode(arguments[0], item, f"{where}[{i}]") for i, item in enumerate(data))
    _expect(len(data) == len(arguments), where, f"{len(arguments)} items", data)
    return tuple(
        _decode(kind, item, f"{where}[{i}]")
        for i, (kind, item) in enumerate(zip(arguments, data, strict=True))
    )


def _decode_dataclass(kind: Any, data: Any, where: str) -> Any:
    _expect(isinstance(data, dict), where, "an object", data)
    values: dict[str, Any] = {}
    hints = _hints(kind)
    for field in fields(kind):
        if field.name not in data:
            _expect(field.name not in _required(kind), where, f"'{field.name}'", data)
        elif data[field.name] is None and "null" in field.metadata:
            values[field.name] = field.metadata["null"]
        else:
            values[field.name] = _decode(hints[field.name], data[field.name], f"{where}.{field.name}")
    # It knows the results, which most documents that are written have no use for.
    from entropylaw.documents.flaws import flaw

    found = kind(**values)
    expected = flaw(found)
    _expect(not expected, where, expected, data)
    return found


def _dataclass_schema(kind: Any) -> dict[str, Any]:
    hints = _hints(kind)
    properties = {}
    for field in fields(kind):
        schema = schema_of(hints[field.name])
        properties[field.name] = {"anyOf": [schema, {"type": "null"}]} if "null" in field.metadata else schema
    return {"type": "object", "properties": properties, "required": sorted(_required(kind))}


@lru_cache
def _required(kind: Any) -> frozenset[str]:
    """Fields that every document has: those without a default, and what a class says itself."""
    bare = (f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING)
    return frozenset(bare) | getattr(kind, "ALWAYS", frozenset())


@lru_cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _is_array(kind: Any) -> bool:
    return get_origin(kind) is np.ndarray


def _expect(fits: bool, where: str, expected: str, found: object) -> None:
    if not fits:
        raise DocumentMismatchError(where, expected, found)
