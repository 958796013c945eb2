"""``entropylaw report``: pages, tables and figures of many runs."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from entropylaw.cli import output
from entropylaw.cli.commands import ReportCommand
from entropylaw.errors import UsageError
from entropylaw.kinds import JUNIT, PAGES, SUFFIXES
from entropylaw.options import PICTURES
from entropylaw.paths import check_targets, is_file, note_input

OTHERS = (
    *(*SUFFIXES.values(), *JUNIT.values(), *(f".{kind}" for kind in PICTURES), ".markdown", ".jsonl", ".tsv"),
    *(".parquet", ".xlsx", ".docx", ".pptx", ".ipynb", ".zip", ".jpg", ".toml"),
)
"""Suffixes of other files, which no folder should have."""


def report(options: ReportCommand) -> None:
    """Run ``entropylaw report``."""
    if "output" not in options.given:
        output.refuse_link(options.output)
    check_target(options.output, options.logs)
    # Every run would fail by a style that cannot be read.
    output.style_of(options.style, quiet=options.quiet)
    output.begin(options.logs, options.jobs, "entropylaw.pipeline.pages")
    # Not at the top: the process that workers are forked from starts before this one imports numpy.
    from entropylaw.cli.reporting import write_report

    write_report(options)


def check_target(given: str, logs: Sequence[str]) -> None:
    """Refuse a place for the report that is a file, an input among them, or is named as one of another kind.

    Raises UsageError (``output-is-input``, ``not-a-folder``, ``unknown-suffix``).
    """
    target, suffix = Path(given), Path(given).suffix.lower()
    if suffix in PAGES or target.is_dir():
        return
    folder, page = (shlex.quote(str(target.with_suffix(end))) for end in ("", ".html"))
    if is_file(target):
        for log in logs:
            note_input(log)
        check_targets([target])
        message = f"{given} is a file, and a report is written into a folder or one .html file"
        folder = shlex.quote(f"{target.with_suffix('')}-report")
        raise UsageError("not-a-folder", message, f"type -o {page} for one page, -o {folder} for a folder")
    if suffix not in OTHERS or given.endswith("/"):
        return
    message = f"-o {given} has suffix {suffix!r}, expected a folder or .html"
    hint = f"type -o {page} for one page, -o {folder} for a folder"
    commands = dict.fromkeys(SUFFIXES.values(), "fit")
    commands |= dict.fromkeys([f".{kind}" for kind in PICTURES], "plot")
    if suffix in commands:
        hint += f"; `entropylaw {commands[suffix]} LOG -o {shlex.quote(given)}` writes that file"
    raise UsageError("unknown-suffix", message, hint)
