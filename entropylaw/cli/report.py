"""``entropylaw report``: pages, tables and figures of many runs."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import typer

from entropylaw.cli import output
from entropylaw.cli.commands import ReportCommand
from entropylaw.cli.streams import say, show_error
from entropylaw.errors import FitError, UsageError
from entropylaw.escaping import counted
from entropylaw.kinds import PAGES, SUFFIXES
from entropylaw.option import part
from entropylaw.options import PICTURES, FitOptions
from entropylaw.paths import check_targets, is_file, note_input
from entropylaw.pipeline.cache import user_cache
from entropylaw.pipeline.pages import Making
from entropylaw.pipeline.pool import cores
from entropylaw.pipeline.site import Outcome, report_logs

MOST_LISTED = 20
"""Failures that are printed one by one; the others are counted, and on their pages."""

PICTURE_SUFFIXES = tuple(f".{kind}" for kind in PICTURES)

SUFFIXES_OF_FILES = (
    *SUFFIXES.values(),
    *PICTURE_SUFFIXES,
    ".markdown",
    ".xml",
    ".jsonl",
    ".tsv",
    ".parquet",
    ".xlsx",
    ".docx",
    ".pptx",
    ".ipynb",
    ".zip",
    ".jpg",
    ".toml",
)
"""An output with one of these is a file of another kind that was expected, and no folder of pages."""


def report(options: ReportCommand) -> None:
    """Run ``entropylaw report``."""
    if "output" not in options.given:
        output.check_is_no_link(options.output)
    check_target(options.output, options.logs)
    target = Path(options.output)
    single = target.suffix.lower() in PAGES and not target.is_dir()
    if single and options.figures:
        raise UsageError(
            "bad-figures",
            f"--figures makes files, and -o {options.output} is one file with the figures in it",
            "leave --figures out, or give a folder with -o",
        )
    making = Making(
        folder=None if single else target,
        settings=part(options, FitOptions),
        kinds=() if single else options.figures,
        config=options.config,
        cache=user_cache(),
    )
    with output.runs_shown("runs") as progress:
        outcome = report_logs(
            options.logs,
            making,
            jobs=options.jobs or cores(),
            fixed=options.flags_given(FitOptions),
            progress=progress,
            target=target,
        )
    unwritten = f"{options.output} was not written" if single else "no index was written"
    finish(outcome, unwritten, strict=options.strict, quiet=options.quiet)


def check_target(given: str, logs: Sequence[str]) -> None:
    """Raise where the report would be written over a file, or where its name is that of another kind of file.

    Raises UsageError (``output-is-input``, ``not-a-folder``, ``unknown-suffix``).
    """
    target = Path(given)
    suffix = Path(given).suffix.lower()
    if suffix in PAGES or target.is_dir():
        return
    page = shlex.quote(str(target.with_suffix(".html")))
    if is_file(target):
        for log in logs:
            note_input(log)
        check_targets([target])
        message = f"{given} is a file, and a report is written into a folder or one .html file"
        folder = shlex.quote(f"{target.with_suffix('')}-report")
        raise UsageError("not-a-folder", message, f"type -o {page} for one page, -o {folder} for a folder")
    if suffix not in SUFFIXES_OF_FILES or given.endswith("/"):
        return
    message = f"-o {given} has suffix {suffix!r}, expected a folder or .html"
    folder = shlex.quote(str(target.with_suffix("")))
    hint = f"type -o {page} for one page, -o {folder} for a folder"
    commands = dict.fromkeys(SUFFIXES.values(), "fit")
    commands |= dict.fromkeys(PICTURE_SUFFIXES, "plot")
    if suffix in commands:
        hint += f"; `entropylaw {commands[suffix]} LOG -o {shlex.quote(given)}` writes that file"
    raise UsageError("unknown-suffix", message, hint)


def finish(outcome: Outcome, unwritten: str, *, strict: bool, quiet: bool) -> None:
    """Say what was written, or what was not, and what failed, and exit with the code for it."""
    output.say_skipped(outcome.warnings, quiet=quiet)
    same = f", {outcome.unchanged} of them as before" if outcome.unchanged else ""
    failures = outcome.failures
    runs = counted(len(outcome.done), "run")
    say(f"{runs}, {sum(run.fitted for run in outcome.done)} fitted{same}", quiet=quiet)
    for path in outcome.written:
        say(f"wrote {path}", quiet=quiet)
    if not outcome.written:
        say(f"nothing was fitted: {unwritten}", quiet=False)
    refused = list(chain.from_iterable(run.refused for run in failures))
    for name, refusal in refused[:MOST_LISTED]:
        show_error(output.error_of_refusal(name, refusal))
    if len(refused) > MOST_LISTED:
        rest = counted(len(refused) - MOST_LISTED, "more run")
        say(f"{rest} could not be fitted; the report has them all", quiet=False)
    if outcome.unfinished:
        say(outcome.interrupted[0], quiet=False)
        raise typer.Exit(130)
    output.finish((), answered=outcome.answered, read=any(run.read for run in failures))
    if not failures:
        return
    if strict:
        raise typer.Exit(FitError.exit_code)
    whole = " for every reward" if any(run.fitted for run in failures) else ""
    unused = f"{len(failures)} of {runs} could not be used{whole}"
    say(f"{unused}; --strict makes this an error", quiet=False)
