"""Values of options that need no conversion are passed on as they are, without loading what converts.

typer hands every value to pydantic, which takes longer to import than a gate on stored fits takes to decide.
A text for an option that takes a text, or the name of a choice, needs none of it; everything else, with
the errors of wrong values, goes typer's way.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, get_args, get_origin

from entropylaw.cli.config import Commands

_NEEDS_TYPER: Any = object()


class QuickCommands(Commands):
    """The commands, with options that load pydantic only for a value that must be converted."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The options before a command, --help among them."""
        return _quickened(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that the first argument names."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            _quickened(command.get_params(ctx))
        return name, command, rest


class _Quick:
    """Stands where typer has the converter of a parameter; it makes that one when it is needed."""

    def __init__(self, make: Callable[[], Any], annotation: Any) -> None:
        self._make, self._annotation = make, annotation

    def coerce(self, value: Any, *, param: Any, ctx: Any) -> Any:
        """The value as the command takes it."""
        plain = as_it_is(value, self._annotation, many=param.multiple or param.nargs == -1)
        return self._make().coerce(value, param=param, ctx=ctx) if plain is _NEEDS_TYPER else plain


def as_it_is(value: Any, annotation: Any, *, many: bool) -> Any:
    """``value`` for a parameter of this type, where it is of that type already; otherwise a marker."""
    if value is None:
        return () if many else None
    if many:
        items = get_args(annotation) if get_origin(annotation) is list else ()
        texts = isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)
        return list(value) if items == (str,) and texts else _NEEDS_TYPER
    if isinstance(annotation, type) and isinstance(value, annotation):
        return value
    if isinstance(annotation, type) and issubclass(annotation, Enum) and isinstance(value, str):
        return next((choice for choice in annotation if choice.value == value), _NEEDS_TYPER)
    return _NEEDS_TYPER


def _quickened(parameters: list[Any]) -> list[Any]:
    """Put a :class:`_Quick` before the converters; a typer that has none of them stays as it is."""
    for parameter in parameters:
        make = getattr(parameter, "get_runtime_param", None)
        descriptor = getattr(parameter, "type_descriptor", None)
        if make is None or descriptor is None or isinstance(make, _Made):
            continue
        info = descriptor.parameter_info
        if info.parser is None and info.min is None and info.max is None:
            parameter.get_runtime_param = _Made(_Quick(make, descriptor.annotation))
    return parameters


class _Made:
    """What returns a converter; by its type one sees that a parameter has been seen to."""

    def __init__(self, converter: _Quick) -> None:
        self._converter = converter

    def __call__(self) -> _Quick:
        return self._converter
