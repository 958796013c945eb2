"""``entropylaw report``: pages, tables and figures that people forward."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from entropylaw.cli.command import takes
from entropylaw.errors import UsageError
from entropylaw.options import ADVANCED, PATH, FitOptions, Kind, Logs, Parallel, Styled, option, part, switch

if TYPE_CHECKING:
    from entropylaw.pipeline.site import Outcome

LISTED = 20
"""Failures that are told one by one; the others are counted, and on their pages."""


def _figures(text: str) -> tuple[str, ...]:
    """The formats that a text names."""
    from entropylaw.pipeline.site import ALL

    named = [part.strip().lower() for part in text.split(",")]
    unknown = [part for part in named if part not in ALL]
    if unknown and named != ["none"]:
        message = f"--figures {text!r} names {unknown[0]!r}, expected some of {', '.join(ALL)}, or none"
        raise UsageError("bad-figures", message, "give svg, or svg,png,pdf")
    return tuple(kind for kind in ALL if kind in named)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReportCommand(Parallel, FitOptions, Logs, Styled):
    """``entropylaw report``."""

    output: str = option("-o --output FOLDER", "Folder to write into.", PATH, key="folder", default="reports")
    figures: tuple[str, ...] | None = option(
        "--figures",
        "Formats of the figures' files: svg,png,pdf or none.",
        Kind(expected="some of svg, png and pdf, or none", metavar="KINDS", read=_figures),
        unset="all, beyond 50 runs svg",
    )
    phases: bool = switch(
        "--phases/--no-phases",
        "Look for phase boundaries where the log has the entropy of planning or execution tokens.",
        ADVANCED,
        default=True,
    )
    strict: bool = switch(
        "--strict", "Exit with 4 if any run could not be fitted, not only if none could.", ADVANCED
    )


@takes(ReportCommand, example="entropylaw report data/lab/grpo_s0/metrics.parquet -o reports/lab")
def report(options: ReportCommand) -> None:
    """Write a report on one run or a thousand: an index, a page a run, Markdown, JSON, CSV and figures.

    LOGS may also be what `entropylaw fit` or `entropylaw report` wrote: it is rendered as it is, and options
    that say how to fit must then be left alone. Runs are fitted in parallel; what has not changed since the
    last report in that folder is not done again. A run that cannot be fitted stops no other.
    """
    from entropylaw.cli.output import refuse_link, say_missing_fonts
    from entropylaw.cli.reading import begin, reading_shown, share_shown
    from entropylaw.pipeline.pool import cores

    if "output" not in options.given:
        refuse_link(options.output)
    if options.style is not None:
        from entropylaw.report.plotting import read_style

        # Every run would fail by a style that cannot be read.
        say_missing_fonts(options.style, read_style(options.style), quiet=options.quiet)
    begin(options.logs, options.jobs, "entropylaw.pipeline.pages")
    from entropylaw.pipeline.cache import user_cache
    from entropylaw.pipeline.pages import Making
    from entropylaw.pipeline.site import report_logs

    making = Making(
        folder=Path(options.output),
        settings=part(options, FitOptions),
        kinds=options.figures,
        phases=options.phases,
        style=options.style,
        cache=user_cache(),
    )
    told = bool(options.flags_given(FitOptions))
    jobs = options.jobs or cores()
    with reading_shown(), share_shown("runs") as shown:
        progress = None if shown is None else lambda done, whole: shown(done / max(whole, 1))
        outcome = report_logs(options.logs, making, jobs=jobs, told=told, progress=progress)
    finish(outcome, strict=options.strict, quiet=options.quiet)


def finish(outcome: Outcome, *, strict: bool, quiet: bool) -> None:
    """Say what was written and what failed, and exit as the design has it."""
    from entropylaw.cli.output import finish as end
    from entropylaw.cli.output import refused, say, say_skipped, show_error
    from entropylaw.errors import FitError
    from entropylaw.report.numbers import count

    say_skipped(outcome.warnings, quiet=quiet)
    same = f", {outcome.unchanged} of them as before" if outcome.unchanged else ""
    failures, runs = outcome.failures, count(len(outcome.done), "run")
    say(f"{runs}, {len(outcome.done) - len(failures)} fitted{same}", quiet=quiet)
    for path in outcome.written:
        say(f"wrote {path}", quiet=quiet)
    if not outcome.written:
        say("nothing was fitted: no index was written", quiet=False)
    for one in failures[:LISTED]:
        show_error(refused(one.row.run, one.refusal))
    if len(failures) > LISTED:
        more = count(len(failures) - LISTED, "more run")
        say(f"{more} could not be fitted; the report has them all", quiet=False)
    if outcome.unfinished:
        missing = count(outcome.unfinished, "run")
        say(f"interrupted before {missing}; the same command finishes the report", quiet=False)
        raise typer.Exit(130)
    end((), answered=outcome.answered, read=any(one.read for one in failures))
    if strict and failures:
        raise typer.Exit(FitError.exit_code)
