"""The options and the help of every command; what a command does is in a module of its own.

Nothing heavy is imported: help, completion and settings read these classes, and run no command.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar

from entropylaw.documents.kinds import KINDS
from entropylaw.errors import UsageError
from entropylaw.kinds import GAIN, GATE, JUNIT, LEVEL, NUMBER, PATH, SUFFIXES, SWITCH, TEXT, Kind, one_of
from entropylaw.option import ADVANCED, INTERVALS, OUTPUT, option, switch
from entropylaw.options import (
    FOLDER,
    PICTURES,
    WRITE,
    ClassColumns,
    ColumnOptions,
    Command,
    CompareOptions,
    Coverage,
    FitOptions,
    Gained,
    LawOptions,
    Logs,
    Parallel,
    PhaseOptions,
    Quiet,
    ResidualOption,
    Styled,
    Written,
    formats,
    outputs,
)
from entropylaw.report.figures import FIGURES
from entropylaw.tokens.options import TokenOptions

SUMMARY = "GITHUB_STEP_SUMMARY"
"""The variable in which GitHub names the file of a step's summary."""

GATES, TARGETS = "Gates", "Targets"

CHECK_FORMATS = (*SUFFIXES, *JUNIT)

# Of one run, without the tokens' sums, which no log and no document holds.
DRAWN = {entry.name: entry for entry in FIGURES if entry.needs in ("law", "forecast", "phases")}

WIDTHS = {"single": 3.4, "double": 6.9}
"""Inches of the columns of a paper."""


def width_text(text: str) -> str:
    """A width, if it is one."""
    if text not in WIDTHS and not 2.5 <= float(text) <= 20.0:
        raise ValueError(text)
    return text


def figure_kinds(text: str) -> tuple[str, ...]:
    """The formats in a text."""
    named, choices = [name.strip().lower() for name in text.split(",")], ", ".join(PICTURES)
    unknown = [name for name in named if name not in PICTURES]
    if unknown and named != ["none"]:
        message = f"--figures {text!r} names {unknown[0]!r}, expected some of {choices}, or none"
        raise UsageError("bad-figures", message, "give svg, or svg,png,pdf")
    return tuple(kind for kind in PICTURES if kind in named)


def regular_expression(text: str) -> str:
    """A regular expression, as it is."""
    try:
        re.compile(text)
    except re.error as error:
        message = f"--arms {text[:40]!r} is no regular expression: {error}"
        hint = "correct it, or leave --arms out: names that differ by a seed are then one arm"
        raise UsageError("bad-option", message, hint) from None
    return text


def target(flags: str, help: str, kind: Kind = NUMBER) -> Any:
    """A target of predictions."""
    return option(flags, f"{help} Repeatable.", kind, TARGETS, many=True)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FitCommand(Parallel, FitOptions, Logs, Written):
    """Fit the entropy law to every run.

    The law is R = -a·exp(H) + b, with R the reward and H the entropy. The verdict comes first, then the
    intervals, the other functional forms, and what was read and dropped. A run that the law does not
    describe is a result, not an error: the reasons are printed and the exit code is 0. Exit code 4 means
    that no run could be fitted.
    """

    example: ClassVar[str] = "entropylaw fit data/lab/grpo_s0/metrics.parquet"

    save: bool = option(
        "--save/--no-save",
        f"Store the fit of each log in {FOLDER}/NAME.fit.json, which `entropylaw predict` reads; with -o it "
        "is written there instead.",
        *(SWITCH, OUTPUT),
        key="save",
        default=True,
    )
    details: bool = switch("--details", "Every number, reason and caution of each run, as text.", OUTPUT)
    to_wandb: str | None = option(
        "--to-wandb RUN",
        "Write verdict, ceiling and what is left into the summary of a run at W&B.",
        unset="none",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PredictCommand(LawOptions, Quiet):
    """Predict reward at an entropy or a later step.

    Also the entropies that give a target reward; without a target: now, at H = 0, and half as many steps
    again. Predictions are averaged over functional forms. An entropy has two intervals: for the mean, and
    the wider prediction interval; one outside the fitted range is marked as extrapolated. A later step is
    forecast by a weighted mean of curves: the weights and the interval rest on what other runs did next, and
    on the curves' errors earlier in the same run. Options of the fit, columns included, are for logs, not
    for what `entropylaw fit` wrote.
    """

    example: ClassVar[str] = "entropylaw predict data/lab/grpo_s0/metrics.parquet --target-entropy 0.05"

    source: str | None = option("FIT|LOG", "A fit document or a log.", unset="the newest fit in reports/")
    target_entropy: tuple[str, ...] = target(
        "--target-entropy H", "Entropy in nats, or a range START:STOP:STEP.", TEXT
    )
    target_reward: tuple[float, ...] = target(
        "--target-reward R", "Reward: prints the entropies compatible with it."
    )
    saturation: bool = switch(
        "--saturation",
        "When 95 % of exp(H) − 1 is spent in the forecast: the step, and the reward there.",
        TARGETS,
    )
    at_step: tuple[float, ...] = target("--at-step N", "A later step: the reward to expect there.")
    gain: float | None = option(
        "--gain",
        "A gain of reward: probability that at least this is left, and that it is reached at --at-step.",
        GAIN,
        TARGETS,
        unset="the fit's",
    )
    level: float | None = option(
        "--level", "Coverage of the intervals.", LEVEL, INTERVALS, key="level", unset="the fit's"
    )
    format: str = formats()
    output: str | None = option("-o --output", WRITE, PATH)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ColumnsCommand(ColumnOptions, Logs, Command):
    """Show which columns of a log would be used.

    Each choice is given with its reason, and every column is listed, also those that nothing is known of.
    Where a file has no step column, its rows are counted. Nothing is fitted.
    """

    example: ClassVar[str] = "entropylaw columns data/lab/grpo_s0/metrics.parquet"

    format: str = formats()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BacktestCommand(Parallel, ResidualOption, ColumnOptions, Coverage, Logs, Written):
    """Test forecasts on finished runs.

    The first 15 % and the first third are fitted, and the rest is predicted, with observed and with
    forecast entropies; a last test, with observed entropies, fits the later two thirds and predicts the
    first third. The errors are compared with those of the last value, the law and a line by least
    squares, the averaged prediction of a fit (with the residual model of --interval), and the ScaleRL
    sigmoid; the intervals with a normal band about the last value. Exit code 4 means that no run could be
    tested.
    """

    example: ClassVar[str] = "entropylaw backtest data/lab/grpo_s0/metrics.parquet"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TokensCommand(TokenOptions, Quiet):
    """Summarise token-level logs by step.

    The entropy of all tokens and of each class, for `entropylaw phases`. Every number follows from exact
    sums, so that it does not depend on the order of the rows, on their division into files, or on the
    engine. All files are read as one table: give the shards of a run in one call.
    """

    example: ClassVar[str] = "entropylaw tokens data/lab/grpo_s0/tokens.parquet -o steps.parquet"

    tables: tuple[str, ...] = option(
        "TABLES",
        "Parquet or JSONL files, or folders of them, with a row per token or per sequence.",
        many=True,
        required=True,
    )
    format: str = formats()
    output: str | None = option(
        "-o --output",
        "Write the summary here (.parquet .csv .json), and the histograms next to it (NAME.hist.parquet), "
        "and print nothing.",
        PATH,
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PhasesCommand(Parallel, PhaseOptions, Logs, Written):
    """Test whether planning or execution turns to rise.

    For each curve that rises after its fall, its turning point and its rise are estimated, and which of the
    two comes first; and whether a curve falls a second time. The null hypothesis is any curve that never
    rises after a fall; drift and noise are integrated out. No turn is a result, and the smallest rise that
    would have been detected is reported with it. LOGS are step-level logs or what
    `entropylaw tokens` wrote. With the entropy of all tokens only, that curve is fitted alone. Exit code
    4 means that no run could be fitted.
    """

    example: ClassVar[str] = "entropylaw phases data/lab/grpo_s0/metrics.parquet --figure phases.svg"

    figure: str | None = option(
        "--figure",
        "Draw one run into FILE (.svg .png .pdf), or every run into a folder, as SVG and PNG; the "
        "folder also receives the histograms that `entropylaw tokens` wrote with a summary.",
        PATH,
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CompareCommand(Parallel, CompareOptions, Styled, Written):
    """Compare arms of an experiment over their seeds.

    Which arm gives more reward at the same entropy, and which only moves along the same curve? Every run
    is fitted first, on its own residuals; the seed is then the unit, and all runs count, failed ones too.
    How runs are grouped into arms is printed first. An arm is higher or lower where the test, adjusted for
    the number of arms, says so, and the same only where the difference is shown to be below --margin; beside
    the others is the number of seeds that would decide. Exit code 4 means that no run could be fitted.
    """

    example: ClassVar[str] = "entropylaw compare 'grpo=data/lab/grpo_s*' 'clip_cov=data/lab/clip_cov_s*'"

    logs: tuple[str, ...] = option(
        "ARM=LOGS|LOGS",
        "Logs of an arm: a file, a folder, a pattern such as 'grpo=logs/grpo_*', or what `fit` and `report` "
        "wrote; or logs alone, whose arms are recognised. An ARM may be repeated.",
        PATH,
        many=True,
        required=True,
    )
    output: tuple[str, ...] = outputs(WRITE.replace(".tex", ".tex .html"))
    details: bool = switch("--details", "Every number, run and caution of each comparison, as text.", OUTPUT)
    figure: str | None = option(
        "--figure",
        "Draw the arms, reward against entropy, into FILE (.svg .png .pdf), or every figure into a folder, "
        "as SVG and PNG.",
        PATH,
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PlotCommand(LawOptions, ClassColumns, Coverage, Styled):
    """Draw one figure of one run for a paper."""

    example: ClassVar[str] = "entropylaw plot law data/lab/grpo_s0/metrics.parquet -o law.pdf"

    figure: str = option(
        "FIGURE", f"{', '.join([*DRAWN][:-1])} or {[*DRAWN][-1]}.", one_of(*DRAWN), required=True
    )
    source: str = option("SOURCE", "A log, or a fit, report or phases document.", required=True)
    width: str = option(
        "--width WIDTH",
        "Width: single (3.4 inches) or double column (6.9), or inches, such as 5.5.",
        Kind(expected="single, double, or inches from 2.5 to 20", example="double", read=width_text),
        default="single",
    )
    title: bool = switch(
        "--title/--no-title", "The verdict as the title, on figures that have one.", default=True
    )
    run: str | None = option("--run NAME", "Name of the run to draw, if SOURCE has several.")
    output: str = option(
        "-o --output", "Write here; the suffix (.pdf .svg .png) decides the format.", PATH, required=True
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReportCommand(Parallel, FitOptions, Logs, Styled):
    """Write a report: pages, tables and figures.

    An index, a page per run, Markdown, JSON, CSV and figures, of one run or a thousand. LOGS may also be
    what `entropylaw fit` or `entropylaw report` wrote: it is rendered unchanged, and options of the fit
    are then refused. Runs are fitted in parallel; what has not changed since the last report in that
    folder is kept. A run that cannot be fitted does not stop the others.
    """

    example: ClassVar[str] = "entropylaw report data/lab/grpo_s0/metrics.parquet -o reports/lab"

    output: str = option(
        "-o --output FOLDER|FILE.html",
        "Folder to write into, or the one HTML file to write, with everything in it.",
        *(PATH, OUTPUT),
        default=FOLDER,
    )
    figures: tuple[str, ...] | None = option(
        "--figures",
        "Formats of the figures' files: svg,png,pdf or none.",
        Kind(expected="some of svg, png and pdf, or none", metavar="KINDS", read=figure_kinds),
        unset="all, beyond 50 runs svg",
    )
    arms: str | None = option(
        "--arms",
        "Runs in whose names REGEX matches the same text, or the same first group, are one arm.",
        Kind(expected="a regular expression", metavar="REGEX", read=regular_expression),
        OUTPUT,
        unset="names that differ by a seed",
    )
    phases: bool = switch(
        "--phases/--no-phases",
        "Test for a turn to rise where the log has the entropy of planning or execution tokens.",
        ADVANCED,
        default=True,
    )
    strict: bool = switch(
        "--strict", "Exit with 4 if any run could not be fitted, not only if none could.", ADVANCED
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CheckCommand(Parallel, LawOptions, Gained, Coverage, Quiet):
    """Exit with code 5 if a gate trips or is unknown.

    Every run is compared with every condition. The interval decides, not the point: a condition holds
    where the whole interval satisfies EXPR; where a part of it does, "not excluded" is printed, and only
    --strict fails. An unknown value fails, and the reason is printed: a run that was refused, an interval
    that is missing, the law's own numbers where the law fails, and the averaged ones where reward does not
    follow entropy or was lost. Whatever the reason, an unknown value exits with code 5, for one file as for
    several.
    """

    example: ClassVar[str] = (
        "entropylaw check data/lab/clean_start_s0/metrics.parquet --fail-if 'ceiling<0.4'"
    )

    sources: tuple[str, ...] = option(
        "FITS|LOGS",
        "Documents that `fit`, `report`, `phases`, `predict` or `compare` wrote; a report, by its folder or "
        "its report.json; or logs, which are fitted.",
        PATH,
        many=True,
        required=True,
    )
    fail_if: tuple[str, ...] = option(
        "--fail-if",
        "The condition: QUANTITY OP NUMBER, as ceiling<0.62 or p_headroom<0.5; \"verdict!='holds'\"; "
        "regression(BASELINE.fit.json)>1% (fall of the ceiling); fails (the law fails); undecided; lost "
        "(the reward); refused (not fitted). Repeatable.",
        GATE,
        GATES,
        key="gates",
        many=True,
    )
    strict: bool = switch(
        "--strict",
        "Fail also where the interval, or an undecided verdict, does not exclude the expression.",
        GATES,
    )
    point: bool = switch("--point", "Compare the estimate, not its interval.", GATES)
    even_if_fails: bool = switch(
        "--even-if-fails", "Compare the numbers that are unknown because the law fails, too.", GATES
    )
    format: str = formats(*CHECK_FORMATS)
    output: tuple[str, ...] = outputs(WRITE.replace(".tex", ".tex .xml"))
    github_summary: bool = switch("--github-summary", f"Append Markdown to the file that {SUMMARY} names.")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ConfigCommand(Command):
    """Print the settings in force and their sources.

    A source is a file and its key, or the default. The file is entropylaw.toml of the current folder; a
    flag wins over it. `entropylaw --config FILE config` shows another file.
    """

    example: ClassVar[str] = "entropylaw config"

    format: str = formats("text", "json")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SchemaCommand(Command):
    """Print the JSON Schema of a document.

    Documents are what `--format json` and `-o FILE.json` write. `report` is the document of one run, in
    runs/, `index` that of all runs, report.json. A document names its schema and the version of
    entropylaw that wrote it. Fields may be added to a schema; a change that breaks readers makes a new
    one.
    """

    example: ClassVar[str] = "entropylaw schema fit > fit.schema.json"

    kind: str = option("KIND", f"{', '.join(KINDS)}.", one_of(*KINDS), required=True)


PlotCommand.__doc__ = (
    f"{PlotCommand.__doc__}\n\n"
    + " ".join(f"{name}: {entry.about}." for name, entry in DRAWN.items())
    + " Options of the fit apply only if SOURCE is a log."
)

COMMANDS: dict[str, type[Command]] = {
    "fit": FitCommand,
    "predict": PredictCommand,
    "columns": ColumnsCommand,
    "backtest": BacktestCommand,
    "tokens": TokensCommand,
    "phases": PhasesCommand,
    "compare": CompareCommand,
    "plot": PlotCommand,
    "report": ReportCommand,
    "check": CheckCommand,
    "config": ConfigCommand,
    "schema": SchemaCommand,
}
"""Name of a command → its options, whose description is its help."""
