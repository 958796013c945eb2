"""The options and the help of ``entropylaw config``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from entropylaw.options import Command, formats


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ConfigCommand(Command):
    """Print the settings in force and their sources.

    A source is a file and its key, or the default. The file is entropylaw.toml of the current folder; a
    flag wins over it. `entropylaw --config FILE config` shows another file.
    """

    example: ClassVar[str] = "entropylaw config"

    format: str = formats("text", "json")
