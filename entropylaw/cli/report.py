"""``entropylaw report``: pages, tables and figures of many runs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from entropylaw import options as opt
from entropylaw.cli import output
from entropylaw.cli.command import takes
from entropylaw.cli.progress import reading_shown
from entropylaw.errors import FitError, UsageError
from entropylaw.escaping import counted
from entropylaw.kinds import PATH, Kind
from entropylaw.paths import check_targets, is_file, note_input

if TYPE_CHECKING:
    from entropylaw.pipeline.site import Outcome

LISTED = 20
"""Failures that are printed one by one; the others are counted, and on their pages."""

PAGES = (".html", ".htm")
"""Suffixes of a report as one page."""

OTHERS = (
    *opt.SUFFIXES.values(),
    *opt.JUNIT.values(),
    *(f".{kind}" for kind in opt.PICTURES),
    ".markdown",
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
"""Suffixes of other files, which no folder should have."""


def figure_kinds(text: str) -> tuple[str, ...]:
    """The formats in a text."""
    named, choices = [name.strip().lower() for name in text.split(",")], ", ".join(opt.PICTURES)
    unknown = [name for name in named if name not in opt.PICTURES]
    if unknown and named != ["none"]:
        message = f"--figures {text!r} names {unknown[0]!r}, expected some of {choices}, or none"
        raise UsageError("bad-figures", message, "give svg, or svg,png,pdf")
    return tuple(kind for kind in opt.PICTURES if kind in named)


def regular_expression(text: str) -> str:
    """A regular expression, as it is."""
    try:
        re.compile(text)
    except re.error as error:
        message = f"--arms {text[:40]!r} is not a regular expression: {error}"
        hint = "correct it, or leave --arms out: names that differ by a seed are then one arm"
        raise UsageError("bad-option", message, hint) from None
    return text


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReportCommand(opt.Parallel, opt.FitOptions, opt.Logs, opt.Styled):
    """``entropylaw report``."""

    output: str = opt.option(
        "-o --output FOLDER|FILE.html",
        "Folder to write into, or the one HTML file to write, with everything in it.",
        *(PATH, opt.OUTPUT),
        default=opt.FOLDER,
    )
    figures: tuple[str, ...] | None = opt.option(
        "--figures",
        "Formats of the figures' files: svg,png,pdf or none.",
        Kind(expected="some of svg, png and pdf, or none", metavar="KINDS", read=figure_kinds),
        unset="all, beyond 50 runs svg",
    )
    arms: str | None = opt.option(
        "--arms",
        "Runs in whose names REGEX matches the same text, or the same first group, are one arm.",
        Kind(expected="a regular expression", metavar="REGEX", read=regular_expression),
        opt.OUTPUT,
        unset="names that differ by a seed",
    )
    phases: bool = opt.switch(
        "--phases/--no-phases",
        "Test for a turn to rise where the log has the entropy of planning or execution tokens.",
        opt.ADVANCED,
        default=True,
    )
    strict: bool = opt.switch(
        "--strict", "Exit with 4 if any run could not be fitted, not only if none could.", opt.ADVANCED
    )


@takes(ReportCommand, example="entropylaw report data/lab/grpo_s0/metrics.parquet -o reports/lab")
def report(options: ReportCommand) -> None:
    """Write a report: pages, tables and figures.

    An index, a page per run, Markdown, JSON, CSV and figures, of one run or a thousand. LOGS may also be
    what `entropylaw fit` or `entropylaw report` wrote: it is rendered unchanged, and options of the fit
    are then refused. Runs are fitted in parallel; what has not changed since the last report in that
    folder is kept. A run that cannot be fitted does not stop the others.
    """
    if "output" not in options.given:
        output.refuse_link(options.output)
    check_target(options.output, options.logs)
    # Every run would fail by a style that cannot be read.
    output.style_of(options.style, quiet=options.quiet)
    output.begin(options.logs, options.jobs, "entropylaw.pipeline.pages")
    from entropylaw.pipeline.cache import user_cache
    from entropylaw.pipeline.one_page import one_page
    from entropylaw.pipeline.pages import Making
    from entropylaw.pipeline.pool import cores
    from entropylaw.pipeline.site import report_logs

    target = Path(options.output)
    single = target.suffix.lower() in PAGES and not target.is_dir()
    if single and options.figures:
        message = f"--figures makes files, and -o {options.output} is one file with the figures in it"
        raise UsageError("bad-figures", message, "leave --figures out, or give a folder with -o")
    making = Making(
        folder=target,
        settings=opt.part(options, opt.FitOptions),
        kinds=() if single else options.figures,
        phases=options.phases,
        style=options.style,
        arms=options.arms,
        config=options.config,
        cache=user_cache(),
    )
    fixed, jobs = options.flags_given(opt.FitOptions), options.jobs or cores()
    with reading_shown(), output.runs_shown("runs", quiet=options.quiet) as progress:

        def made(folder: Path) -> Outcome:
            into = replace(making, folder=folder)
            return report_logs(options.logs, into, jobs=jobs, fixed=fixed, progress=progress)

        outcome = one_page(target, made) if single else made(target)
    unwritten = f"{options.output} was not written" if single else "no index was written"
    finish(outcome, unwritten, strict=options.strict, quiet=options.quiet)


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
    commands = dict.fromkeys(opt.SUFFIXES.values(), "fit")
    commands |= dict.fromkeys([f".{kind}" for kind in opt.PICTURES], "plot")
    if suffix in commands:
        hint += f"; `entropylaw {commands[suffix]} LOG -o {shlex.quote(given)}` writes that file"
    raise UsageError("unknown-suffix", message, hint)


def finish(outcome: Outcome, unwritten: str, *, strict: bool, quiet: bool) -> None:
    """Say what was written, or what was not, and what failed, and exit with the code for it."""
    output.say_skipped(outcome.warnings, quiet=quiet)
    same = f", {outcome.unchanged} of them as before" if outcome.unchanged else ""
    failures, runs = outcome.failures, counted(len(outcome.done), "run")
    output.say(f"{runs}, {len(outcome.done) - len(failures)} fitted{same}", quiet=quiet)
    for path in outcome.written:
        output.say(f"wrote {path}", quiet=quiet)
    if not outcome.written:
        output.say(f"nothing was fitted: {unwritten}", quiet=False)
    for run in failures[:LISTED]:
        output.show_error(output.refused(run.row.run, run.refusal))
    if len(failures) > LISTED:
        rest = counted(len(failures) - LISTED, "more run")
        output.say(f"{rest} could not be fitted; the report has them all", quiet=False)
    if outcome.unfinished:
        missing = counted(outcome.unfinished, "run")
        output.say(f"interrupted before {missing}; the same command finishes the report", quiet=False)
        raise typer.Exit(130)
    output.finish((), answered=outcome.answered, read=any(run.read for run in failures))
    if strict and failures:
        raise typer.Exit(FitError.exit_code)
