"""Arguments of the library's functions as arrays and numbers, or an error with what was expected.

Every function raises a UsageError ``bad-argument`` for a value that it cannot convert.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from entropylaw.errors import UsageError
from entropylaw.options import Option, options_of
from entropylaw.results.arrays import FloatArray
from entropylaw.results.fit import Fit
from entropylaw.results.law import LawFit

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")
F = TypeVar("F", bound="DataclassInstance")


def as_floats(values: Any, name: str) -> FloatArray:
    """``values`` as an array of one dimension; None, a masked value and pandas' NA are nan.

    Text, flags, times, complex numbers, numbers beyond a double and several dimensions are refused.
    """
    try:
        array = np.asarray(np.ma.filled(values, np.nan) if np.ma.is_masked(values) else values)
    except (TypeError, ValueError, RuntimeError):  # ragged lists; a tensor on another device
        raise _bad(name, "one number for each evaluation", type(values).__name__) from None
    kind = array.dtype.kind
    if kind == "O" and array.ndim == 1:
        array = np.array([_cell(cell, name) for cell in array], dtype=float)
    elif kind not in "fiu":
        raise _bad(name, "numbers", f"{type(values).__name__} of {array.dtype}")
    if array.ndim > 1:
        raise _bad(name, "an array of one dimension", f"shape {array.shape}")
    with np.errstate(over="ignore"):
        return array.astype(float).reshape(-1)


def as_number(value: Any, name: str) -> float:
    """``value`` as a finite float."""
    try:
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _bad(name, "a finite number", repr(value)[:40] if isinstance(value, float) else _kind(value))
    return number


def several(values: Any, kind: type[T], name: str) -> tuple[T, ...]:
    """``values`` as a tuple of objects of one kind."""
    # An array of no dimension has no items, although it has a method for them.
    items = isinstance(values, Iterable) and getattr(values, "ndim", 1) > 0
    if not items or isinstance(values, str | bytes | dict):
        raise _bad(name, f"several objects of type {kind.__name__}", _kind(values))
    return tuple(of_kind(value, kind, name) for value in values)


def of_kind(value: Any, kind: type[T], name: str) -> T:
    """``value``, if it is an object of that kind."""
    if not isinstance(value, kind):
        raise _bad(name, f"an object of type {kind.__name__}", _kind(value))
    return value


def as_flag(value: Any, name: str) -> bool:
    """``value``, if it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise _bad(name, "True or False", _kind(value))
    return bool(value)


def checked(given: F) -> F:
    """The options of a family, each as the command line would read it.

    Raises UsageError: ``bad-argument``, or that of an option's kind.
    """
    known = options_of(type(given))
    return replace(given, **{name: checked_option(getattr(given, name), known[name], name) for name in known})


def checked_option(value: Any, known: Option, name: str) -> Any:
    """The value of one option, or the error as :func:`checked` has it."""
    if value is known.default:
        return value
    if known.many:
        one = replace(known, many=False)
        return tuple(checked_option(item, one, name) for item in several(value, object, name))
    if isinstance(value, np.generic):
        value = value.item()
    slug = "bad-argument"
    if not isinstance(value, float) or math.isfinite(value):
        try:
            return known.from_toml(value)
        except ValueError as error:
            slug = getattr(error.__cause__, "slug", slug)
    short = isinstance(value, str | float) or (isinstance(value, int) and abs(value) < 1e15)
    shown = repr(value)[:40] if short else _kind(value)
    raise _bad(name, known.kind.expected, shown, slug)


def law_of(value: Any) -> LawFit:
    """The law of a :class:`~entropylaw.results.fit.Fit`, or ``value`` where it is the law itself."""
    return of_kind(value.law if isinstance(value, Fit) else value, LawFit, "law")


def text_or_none(value: Any, name: str) -> str | None:
    """``value``, if it is text or None."""
    return None if value is None else of_kind(value, str, name)


def _cell(cell: Any, name: str) -> float:
    if cell is None or type(cell).__name__ == "NAType":
        return math.nan
    if isinstance(cell, float):
        return cell
    return as_number(cell, name)


def _kind(value: Any) -> str:
    return f"an object of type {type(value).__name__}"


def _bad(name: str, expected: str, found: str, slug: str = "bad-argument") -> UsageError:
    message = f"{name}: expected {expected}, found {found}"
    return UsageError(slug, message, "the function's docstring describes its arguments")
