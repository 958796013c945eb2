"""How results draw themselves in a notebook without knowing who draws."""

from importlib import import_module
from typing import Any


def drawn(name: str, *arguments: Any) -> Any:
    """What the function ``name`` of the notebook's module makes of the arguments."""
    return getattr(import_module("entropylaw.report.notebook"), name)(*arguments)
