"""``entropylaw demo``: example logs from the package, and commands to try on them."""

from __future__ import annotations

import shlex
from importlib.resources import files
from pathlib import Path

from entropylaw.cli.command import command_of
from entropylaw.cli.commands import DemoCommand
from entropylaw.cli.streams import print_result
from entropylaw.errors import UsageError
from entropylaw.escaping import one_line
from entropylaw.files import write_atomically

COMMANDS = ("columns", "fit", "predict", "report", "check")
"""Commands whose examples are printed."""


def demo(options: DemoCommand) -> None:
    """Run ``entropylaw demo``.

    Raises UsageError ``demo-exists``: a file of the folder has the name of an example and other content.
    """
    folder = Path(options.folder)
    examples = {
        str(folder / file.name): file.read_bytes() for file in files("entropylaw").joinpath("demo").iterdir()
    }
    for path, content in examples.items():
        target = Path(path)
        if target.exists() and (target.is_dir() or target.read_bytes() != content):
            raise UsageError(
                "demo-exists",
                f"{path} exists and is not the example of this version",
                "name another folder: entropylaw demo FOLDER",
            )
    for path, content in examples.items():
        write_atomically(path, content)
    names = sorted(one_line(Path(path).name) for path in examples)
    lines = [f"wrote {', '.join(names)} in {one_line(str(folder))}. Try:", ""]
    for command in COMMANDS:
        lines.append("  " + command_of(command).example.replace("demo/", f"{shlex.quote(str(folder))}/"))
    print_result("\n".join(lines) + "\n")
