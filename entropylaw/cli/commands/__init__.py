"""The options and the help of every command; what a command does is in a module of its own.

Nothing heavy is imported: help, completion and settings read these classes, and run no command.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from entropylaw.options import Command


def command_of(name: str) -> type[Command]:
    """The options of a command, whose description is its help."""
    module = import_module(f"entropylaw.cli.commands.{name}")
    return getattr(module, f"{name.title()}Command")  # type: ignore[no-any-return]
