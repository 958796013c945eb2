"""Fields of results, which are msgspec's structs: their classes are made much faster than dataclasses."""

from __future__ import annotations

import dataclasses
from importlib import import_module
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


def late(function: str, *arguments: Any) -> Any:
    """Call a function of analysis or report by its dotted path; results do not import these packages."""
    module, _, name = function.rpartition(".")
    return getattr(import_module(f"entropylaw.{module}"), name)(*arguments)


def replace(value: T, /, **changes: Any) -> T:
    """A copy of a result, or of a dataclass, with other values in some fields."""
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.replace(value, **changes)
    return dataclasses.replace(value, **changes)  # type: ignore[type-var]


def field_names(value: Any) -> tuple[str, ...]:
    """The fields of a result or of a dataclass, or of their type; none of anything else."""
    if dataclasses.is_dataclass(value):
        return tuple(field.name for field in dataclasses.fields(value))
    names: tuple[str, ...] = getattr(value, "__struct_fields__", ())
    return names
