"""``entropylaw report``: pages, tables and figures that people forward."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from entropylaw.cli import options
from entropylaw.errors import UsageError

if TYPE_CHECKING:
    from entropylaw.batch.run import Outcome

EXAMPLE = "Example:  entropylaw report data/lab/grpo_s0/metrics.parquet -o reports/lab"

LISTED = 20
"""Failures that are told one by one; the others are counted, and on their pages."""

Folder = Annotated[str, typer.Option("-o", "--output", metavar="FOLDER", help="Folder to write into.")]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", min=1, metavar="N", help="Runs fitted at a time. [default: one a core]"),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Exit with 4 if any run could not be fitted, not only if none could.")
]
Figures = Annotated[
    str | None,
    typer.Option(
        "--figures",
        metavar="KINDS",
        help="Formats of the figures' files: svg,png,pdf or none. [default: all, beyond 50 runs svg]",
    ),
]
Style = Annotated[
    str | None,
    typer.Option("--style", metavar="FILE", help="A matplotlib style file, on top of our own style."),
]
Phases = Annotated[
    bool,
    typer.Option(
        "--phases/--no-phases",
        help="Look for phase boundaries where the log has the entropy of planning or execution tokens.",
    ),
]


def report(
    context: typer.Context,
    logs: options.Logs,
    output: Folder = "reports",
    entropy: options.Entropy = None,
    reward: options.Reward = None,
    step: options.Step = None,
    run: options.RunColumn = None,
    pair: options.PairOption = None,
    level: options.Level = 0.95,
    interval: options.IntervalOption = options.IntervalChoice.drift,
    eval_size: options.EvalSize = None,
    entropy_sd: options.EntropySd = None,
    figures: Figures = None,
    style: Style = None,
    phases: Phases = True,
    jobs: Jobs = None,
    strict: Strict = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a report on one run or a thousand: an index, a page a run, Markdown, JSON, CSV and figures.

    LOGS may also be what `entropylaw fit` or `entropylaw report` wrote: it is rendered as it is, and options
    that say how to fit must then be left alone. Runs are fitted in parallel; what has not changed since the
    last report in that folder is not done again. A run that cannot be fitted stops no other.
    """
    from entropylaw.batch.pool import cores
    from entropylaw.batch.run import report_logs
    from entropylaw.batch.tasks import Making
    from entropylaw.cli.config import flags_given
    from entropylaw.cli.output import refuse_link
    from entropylaw.cli.progress import reading_shown, runs_shown

    if not flags_given(context, ["output"]):
        refuse_link(output)
    asked = options.settings(
        level=level,
        interval=interval,
        eval_size=eval_size,
        entropy_sd=entropy_sd,
        entropy=entropy,
        reward=reward,
        step=step,
        run=run,
        pair=pair,
    )
    making = Making(
        folder=Path(output),
        settings=asked,
        kinds=kinds_of(figures),
        phases=phases,
        style=readable_style(style, quiet=quiet),
    )
    with reading_shown(), runs_shown() as progress:
        told = told_how(context)
        outcome = report_logs(logs, making, jobs=jobs or cores(), told=told, progress=progress)
    finish(outcome, strict=strict, quiet=quiet)


def kinds_of(figures: str | None) -> tuple[str, ...] | None:
    """The formats that ``--figures`` names; None leaves them to the number of runs.

    Raises
    ------
    UsageError
        ``bad-figures``.
    """
    from entropylaw.batch.tasks import ALL

    if figures is None:
        return None
    named = [part.strip().lower() for part in figures.split(",")]
    if named == ["none"]:
        return ()
    unknown = [part for part in named if part not in ALL]
    if unknown:
        raise UsageError(
            "bad-figures",
            f"--figures {figures!r} names {unknown[0]!r}, expected some of {', '.join(ALL)}, or none",
            "give svg, or svg,png,pdf",
        )
    return tuple(kind for kind in ALL if kind in named)


def readable_style(style: str | None, *, quiet: bool) -> str | None:
    """The style file, once it is known that it can be read; every run would fail by it otherwise."""
    if style is not None:
        from entropylaw.cli.output import say_missing_fonts
        from entropylaw.report.plotting import read_style

        say_missing_fonts(style, read_style(style), quiet=quiet)
    return style


def told_how(context: typer.Context) -> bool:
    """Whether a flag says how to fit; what the settings file says is left alone for stored fits."""
    from entropylaw.cli.config import flags_given

    names = ("entropy", "reward", "step", "run", "pair", "level", "interval", "eval_size", "entropy_sd")
    return bool(flags_given(context, names))


def finish(outcome: Outcome, *, strict: bool, quiet: bool) -> None:
    """Say what was written and what failed, and exit as the design has it."""
    from entropylaw.cli.output import say, say_skipped, show_error
    from entropylaw.errors import FitError, InputError
    from entropylaw.report.numbers import count

    say_skipped(outcome.warnings, quiet=quiet)
    same = f", {outcome.unchanged} of them as before" if outcome.unchanged else ""
    say(f"{count(len(outcome.done), 'run')}, {outcome.fitted} fitted{same}", quiet=quiet)
    for path in outcome.written:
        say(f"wrote {path}", quiet=quiet)
    if not outcome.written:
        say("nothing was fitted: no index was written", quiet=False)
    failures = outcome.failures
    for name, failure in failures[:LISTED]:
        named = "" if name in failure.message else f"{name}: "
        show_error(FitError(failure.slug, named + failure.message, failure.hint))
    if len(failures) > LISTED:
        more = count(len(failures) - LISTED, "more run")
        say(f"{more} could not be fitted; the report has them all", quiet=False)
    if outcome.unfinished:
        missing = count(outcome.unfinished, "run")
        say(f"interrupted before {missing}; the same command finishes the report", quiet=False)
        raise typer.Exit(130)
    if not outcome.answered:
        unread = all(failure.exit_code == InputError.exit_code for _, failure in failures)
        raise typer.Exit(InputError.exit_code if unread else FitError.exit_code)
    if strict and failures:
        raise typer.Exit(FitError.exit_code)
