"""How results reach what is computed from them, and drawn of them, without knowing who does it."""

from importlib import import_module
from typing import Any


def late(function: str, *arguments: Any) -> Any:
    """What a function, by its dotted path in this package, makes of the arguments; imported when called."""
    module, _, name = function.rpartition(".")
    return getattr(import_module(f"entropylaw.{module}"), name)(*arguments)
