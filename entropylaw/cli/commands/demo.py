"""The options and the help of ``entropylaw demo``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from entropylaw.kinds import PATH
from entropylaw.option import option
from entropylaw.options import Command


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DemoCommand(Command):
    """Write example logs, and print commands for them.

    Three logs of small language models that learned to multiply two numbers, a table of the tokens of one
    of them, and a notebook. The examples of `--help` and the commands of the guide use these files. A
    file that was changed is not replaced.
    """

    example: ClassVar[str] = "entropylaw demo"

    folder: str = option("FOLDER", "Folder to write into.", PATH, default="demo")
