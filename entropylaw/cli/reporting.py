"""Writing a report, and saying what was written. It imports numpy, matplotlib and the analysis."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import typer

from entropylaw.cli import output
from entropylaw.cli.commands import ReportCommand
from entropylaw.cli.streams import say, show_error
from entropylaw.errors import FitError, UsageError
from entropylaw.escaping import counted
from entropylaw.kinds import PAGES
from entropylaw.option import part
from entropylaw.options import FitOptions
from entropylaw.pipeline.cache import user_cache
from entropylaw.pipeline.pages import Making
from entropylaw.pipeline.pool import cores
from entropylaw.pipeline.site import Outcome, one_page, report_logs
from entropylaw.results.columns import Refusal

LISTED = 20
"""Failures that are printed one by one; the others are counted, and on their pages."""


def write_report(options: ReportCommand) -> None:
    """Write a report, and say what was written."""
    target = Path(options.output)
    single = target.suffix.lower() in PAGES and not target.is_dir()
    if single and options.figures:
        message = f"--figures makes files, and -o {options.output} is one file with the figures in it"
        raise UsageError("bad-figures", message, "leave --figures out, or give a folder with -o")
    making = Making(
        folder=None if single else target,
        settings=part(options, FitOptions),
        kinds=() if single else options.figures,
        phases=options.phases,
        style=options.style,
        arms=options.arms,
        config=options.config,
        cache=user_cache(),
        join=output.joining(options),
    )
    fixed, jobs = options.flags_given(FitOptions), options.jobs or cores()
    with output.runs_shown("runs", quiet=options.quiet) as progress:
        if single:
            outcome = one_page(options.logs, making, target, jobs=jobs, fixed=fixed, progress=progress)
        else:
            outcome = report_logs(options.logs, making, jobs=jobs, fixed=fixed, progress=progress)
    unwritten = f"{options.output} was not written" if single else "no index was written"
    finish(outcome, unwritten, strict=options.strict, quiet=options.quiet)


def finish(outcome: Outcome, unwritten: str, *, strict: bool, quiet: bool) -> None:
    """Say what was written, or what was not, and what failed, and exit with the code for it."""
    output.say_skipped(outcome.warnings, quiet=quiet)
    same = f", {outcome.unchanged} of them as before" if outcome.unchanged else ""
    failures, runs = outcome.failures, counted(len(outcome.done), "run")
    say(f"{runs}, {sum(run.fitted for run in outcome.done)} fitted{same}", quiet=quiet)
    for path in outcome.written:
        say(f"wrote {path}", quiet=quiet)
    if not outcome.written:
        say(f"nothing was fitted: {unwritten}", quiet=False)
    show_refused(list(chain.from_iterable(run.refused for run in failures)))
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


def show_refused(refused: Sequence[tuple[str, Refusal]]) -> None:
    """Show the errors of runs by their names, the first :data:`LISTED`, and the number of the others."""
    for name, refusal in refused[:LISTED]:
        show_error(output.refused(name, refusal))
    if len(refused) > LISTED:
        rest = counted(len(refused) - LISTED, "more run")
        say(f"{rest} could not be fitted; the report has them all", quiet=False)
