"""Arguments of the library's functions as arrays and numbers, or an error with what was expected.

Every function raises a UsageError ``bad-argument`` for a value that it cannot convert, whatever error the
value's own methods raise.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from numbers import Real
from typing import Any, TypeVar

import numpy as np

from entropylaw.arrays import FloatArray
from entropylaw.errors import UsageError

T = TypeVar("T")


def as_floats(values: Any, name: str) -> FloatArray:
    """``values`` as an array of one dimension; None, a masked value and pandas' NA are nan.

    Text, flags, times, complex numbers, numbers beyond a double and several dimensions are refused.
    """
    try:
        array = np.asarray(np.ma.filled(values, np.nan) if np.ma.is_masked(values) else values)
    except Exception:  # ragged lists; a tensor on another device
        raise bad_argument(name, "one number for each evaluation", type(values).__name__) from None
    kind = array.dtype.kind
    if kind == "O" and array.ndim == 1:
        array = np.array([as_cell(cell, name) for cell in array], dtype=float)
    elif kind not in "fiu":
        raise bad_argument(name, "numbers", f"{type(values).__name__} of {array.dtype}")
    if array.ndim > 1:
        raise bad_argument(name, "an array of one dimension", f"shape {array.shape}")
    with np.errstate(over="ignore"):
        return array.astype(float).reshape(-1)


def with_unpaired(
    step: FloatArray,
    entropy: FloatArray,
    reward: FloatArray,
    unpaired: tuple[FloatArray, FloatArray] | None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """All evaluations by step: pairs (n,), and steps and rewards without an entropy, for which it is nan."""
    if unpaired is None:
        return step, entropy, reward
    every = np.concatenate([step, unpaired[0]])
    # Of a step that is there twice the pair is taken.
    every, first = np.unique(every, return_index=True)
    entropies = np.concatenate([entropy, np.full(unpaired[0].size, np.nan)])
    return every, entropies[first], np.concatenate([reward, unpaired[1]])[first]


def as_number(value: Any, name: str) -> float:
    """``value`` as a finite float."""
    number = math.nan
    if isinstance(value, Real) and not isinstance(value, bool):
        with suppress(Exception):
            number = float(value)
    if not math.isfinite(number):
        found = repr(number) if isinstance(value, float) else type_of(value)
        raise bad_argument(name, "a finite number", found)
    return number


def checked_level(level: float) -> float:
    """``level`` as a float between 0 and 1, or a :class:`UsageError`."""
    number = level if isinstance(level, float) else as_number(level, "level")
    if not 0 < number < 1:
        raise UsageError(
            "bad-level", f"level {number:g}, expected a coverage between 0 and 1", "for 95 % give 0.95"
        )
    return float(number)


def as_positive(value: Any, name: str) -> float | None:
    """``value`` as a finite float above 0, if it is not None."""
    if value is None:
        return None
    number = as_number(value, name)
    if number <= 0:
        raise bad_argument(name, "a number above 0", f"{number:g}")
    return number


def as_cell(value: Any, name: str) -> float:
    """A value of an array of objects as a float; None and pandas' NA are nan."""
    if value is None or type(value).__name__ == "NAType":
        return math.nan
    return value if isinstance(value, float) else as_number(value, name)


def several(values: Any, kind: type[T], name: str) -> tuple[T, ...]:
    """``values`` as a tuple of objects of one kind."""
    items: tuple[Any, ...] | None = None
    if isinstance(values, Iterable) and not isinstance(values, str | bytes | dict):
        # An array of no dimension has no items, although it has a method for them.
        with suppress(Exception):
            items = tuple(values)
    if items is None:
        raise bad_argument(name, f"several objects of type {kind.__name__}", type_of(values))
    return tuple(of_kind(value, kind, name) for value in items)


def as_items(value: Any, name: str) -> tuple[tuple[Any, Any], ...]:
    """The keys of ``value`` with what they map to, if it is a mapping."""
    if isinstance(value, Mapping):
        with suppress(Exception):
            return tuple(value.items())
    raise bad_argument(name, "a mapping", type_of(value))


def of_kind(value: Any, kind: type[T], name: str) -> T:
    """``value``, if it is an object of that kind."""
    if not isinstance(value, kind):
        raise bad_argument(name, f"an object of type {kind.__name__}", type_of(value))
    return value


def as_flag(value: Any, name: str) -> bool:
    """``value``, if it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise bad_argument(name, "True or False", type_of(value))
    return bool(value)


def text_or_none(value: Any, name: str) -> str | None:
    """``value``, if it is text or None."""
    return None if value is None else of_kind(value, str, name)


def as_path(value: Any, name: str) -> str:
    """``value``, if it is a path, as text."""
    if isinstance(value, str | os.PathLike):
        with suppress(Exception):
            return os.fsdecode(value)
    raise bad_argument(name, "a path", type_of(value))


def as_callable(value: Any, name: str) -> Callable[..., object]:
    """``value``, if it can be called."""
    if not callable(value):
        raise bad_argument(name, "a function", type_of(value))
    return value  # type: ignore[no-any-return]


def texts(value: Any, name: str) -> tuple[str, ...]:
    """``value`` as texts, if it is text, several of them, or None."""
    if isinstance(value, list | tuple):
        return several(value, str, name)
    return () if value is None else (of_kind(value, str, name),)


def type_of(value: Any) -> str:
    """The type of a value, in an error."""
    return f"an object of type {type(value).__name__}"


def bad_argument(name: str, expected: str, found: str, slug: str = "bad-argument") -> UsageError:
    """The error for an argument that is not as expected."""
    message = f"{name}: expected {expected}, found {found}"
    hint = "the function's docstring describes its arguments"
    if found.startswith("str"):
        hint = "to name columns: entropylaw.fit(log, entropy=..., reward=..., step=...)"
    return UsageError(slug, message, hint)
