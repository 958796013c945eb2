"""Options that a Python program gives, each read as the command line would read it."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np

from entropylaw.arguments import bad_argument, several, type_of
from entropylaw.option import COLUMNS, Option, options_of
from entropylaw.results.result import replace

R = TypeVar("R")


def checked(given: R) -> R:
    """The options of a family, each as the command line would read it.

    Raises UsageError: ``bad-argument``, or that of an option's kind.
    """
    options = options_of(type(given))
    values = {name: checked_option(getattr(given, name), option, name) for name, option in options.items()}
    return replace(given, **values)


def checked_option(value: Any, option: Option, name: str) -> Any:
    """The value of one option, or the error as :func:`checked` has it."""
    if value is option.default:
        return value
    if option.many:
        single = replace(option, many=False)
        # A column alone needs no list.
        values = (
            (value,) if isinstance(value, str) and option.group == COLUMNS else several(value, object, name)
        )
        return tuple(checked_option(item, single, name) for item in values)
    if isinstance(value, np.generic):
        value = value.item()
    slug = "bad-argument"
    if not isinstance(value, float) or math.isfinite(value):
        try:
            return option.from_toml(value)
        except ValueError as error:
            slug = getattr(error.__cause__, "slug", slug)
    is_short = isinstance(value, str | float) or (isinstance(value, int) and abs(value) < 1e15)
    raise bad_argument(name, option.kind.expected, repr(value)[:40] if is_short else type_of(value), slug)
