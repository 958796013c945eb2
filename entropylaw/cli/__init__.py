"""The command line: parse, call, render. No statistics here, and nothing heavy is imported for --help."""

from __future__ import annotations

import os
import sys
import traceback

import typer

from entropylaw.cli.command import Commands, SettingsFile
from entropylaw.cli.streams import print_result, show_error
from entropylaw.errors import EntropyLawError
from entropylaw.paths import forget_inputs
from entropylaw.version import __version__

app = typer.Typer(
    name="entropylaw",
    cls=Commands,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"max_content_width": 100, "help_option_names": ["--help", "-h"]},
    epilog="Start with:  entropylaw demo     Then:  entropylaw fit LOG",
)


def _version(value: bool) -> None:
    if value:
        print_result(f"entropylaw {__version__}\n")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and stop."
    ),
    config_file: str | None = typer.Option(
        None,
        "--config",
        metavar="FILE",
        help="TOML file of settings, with names of flags as keys. [default: entropylaw.toml, or "
        "tool.entropylaw in pyproject.toml, of the current folder]",
    ),
    no_config: bool = typer.Option(False, "--no-config", help="Read no settings from any file."),
) -> None:
    """Read logs of reinforcement learning runs: state, forecast, and the entropy law R = -a·exp(H) + b.

    First what the reward has done so far, what comes next and which step to keep; then whether the law holds.

    Exit codes: 0 fine, 1 a bug, 2 usage, 3 input unreadable or output unwritable, 4 nothing could be
    fitted, 5 a gate tripped or was unknown, 130 interrupted.
    """
    forget_inputs()
    context.obj = SettingsFile(config_file, no_config)


def main() -> None:
    """Run a command, and report every error in two lines and by its exit code."""
    try:
        app(prog_name="entropylaw", standalone_mode=True)
    except Exception as error:  # a bug, too, is reported in two lines
        if os.environ.get("ENTROPYLAW_DEBUG"):
            raise
        if isinstance(error, BrokenPipeError):
            # The reader (head, less) has ended, which is not an error. Nothing more can be flushed to it.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(0)
        if isinstance(error, EntropyLawError):
            reported = error
        elif isinstance(error, MemoryError):
            hint = "fit fewer or smaller logs at a time"
            reported = EntropyLawError("out-of-memory", "memory ran out", hint)
        else:
            frames = [frame.f_code.co_name for frame, _ in traceback.walk_tb(error.__traceback__)]
            where = f" in {frames[-1]}" if frames else ""
            hint = "this is a bug in entropylaw; ENTROPYLAW_DEBUG=1 shows the traceback to report"
            reported = EntropyLawError("bug", f"{type(error).__name__}{where}: {error}", hint)
        show_error(reported)
        sys.exit(reported.exit_code)
