"""The options and the help of every command; what a command does is in a module of its own.

Nothing heavy is imported: help, completion and settings read these classes, and run no command. They become
dataclasses one by one, in :func:`entropylaw.cli.command.command_of`: all at once take longer than the help.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from entropylaw.errors import UsageError
from entropylaw.kinds import (
    ALL,
    GAIN,
    GATE,
    LEVEL,
    NUMBER,
    PATH,
    SWITCH,
    TEXT,
    TOPICS,
    WRITTEN_REWARD,
    Kind,
    one_of,
)
from entropylaw.option import INTERVALS, OUTPUT, option, options_of, switch
from entropylaw.options import (
    FOLDER,
    PICTURES,
    WRITE,
    ColumnOptions,
    Command,
    CompareOptions,
    FitOptions,
    Joined,
    LawOptions,
    Logs,
    Parallel,
    PhaseOptions,
    Quiet,
    Strict,
    Written,
    formats,
    outputs,
)
from entropylaw.samples.options import SampleOptions
from entropylaw.tokens.options import TokenOptions


class FitCommand(Parallel, Strict, FitOptions, Joined, Logs, Written):
    """Say what each run did and what comes next.

    First what the reward has done so far: broken, falling, rising, flat, or cannot tell; the reward half as
    many steps later, or at --steps; and the step to keep. Steps and rewards are enough for these. Then, where
    the log has an entropy H, the law R = -a·exp(H) + b. A run that the law does not describe is a result, not
    an error: the reason is printed and the exit code is 0. Exit code 4 means that no run could be fitted; the
    last line on standard error names what could not be read or fitted where others could.
    """

    example: ClassVar[str] = "entropylaw fit demo/grpo_s0.csv"

    save: bool = option(
        "--save/--no-save",
        f"Store the fits in {FOLDER}/NAME.fit.json, which `entropylaw predict` reads; with -o they are "
        "written there instead.",
        kind=SWITCH,
        group=OUTPUT,
        key="save",
        default=True,
    )
    details: str | None = option(
        "--details [TOPIC]",
        "Numbers and cautions of each run: state, forecast, law or reading; without a topic all.",
        kind=one_of(*TOPICS),
        alone=ALL,
    )


FINER = ("pair", "level", "from_step", "max_reward", "keep_outliers", "cost_per_step")
"""Options of the fit that are set by `entropylaw fit` or in the settings file where many runs are fitted."""

TARGETS = "Targets"


def target(flags: str, help: str, kind: Kind = NUMBER) -> Any:
    """A target of predictions."""
    return option(flags, f"{help} Repeatable.", kind, TARGETS, many=True)


class PredictCommand(LawOptions, Written):
    """Predict reward at an entropy or a later step.

    Also the entropies that give a target reward; without a target: the entropy now, and half as many steps
    again. Predictions at an entropy are averaged over functional forms. An entropy has two intervals: for the
    mean, and the wider prediction interval; one outside the fitted range is marked as extrapolated. A later
    step is forecast from the level and the last change of the reward, and needs no entropy. A log is fitted
    as entropylaw.toml says; `entropylaw fit` has the options.
    """

    example: ClassVar[str] = "entropylaw predict demo/grpo_s0.csv --target-entropy 0.05"
    by_file: ClassVar[Sequence[str]] = tuple(options_of(LawOptions))

    source: str | None = option("FIT|LOG", "A fit document or a log.", unset="the newest fit in reports/")
    target_entropy: tuple[str, ...] = target(
        "--target-entropy H", "Entropy in nats, or a range START:STOP:STEP.", TEXT
    )
    target_reward: tuple[str, ...] = target(
        "--target-reward R",
        "Reward in its column's unit, or as 60%: the entropies compatible with it.",
        WRITTEN_REWARD,
    )
    at_step: tuple[float, ...] = target("--at-step N", "A later step: the reward to expect there.")
    gain: float | None = option(
        "--gain",
        "A gain of reward: its probability by --at-step.",
        GAIN,
        TARGETS,
        unset="the fit's",
    )
    level: float | None = option(
        "--level", "Coverage of the intervals.", LEVEL, INTERVALS, key="level", unset="the fit's"
    )


class ColumnsCommand(ColumnOptions, Logs, Command):
    """Show which columns of a log would be used.

    Each choice is given with its reason, and every column is listed, also those that nothing is known of.
    Where a file has no step column, its rows are counted. Nothing is fitted.
    """

    example: ClassVar[str] = "entropylaw columns demo/grpo_s0.csv"
    by_file: ClassVar[Sequence[str]] = ("pair",)

    format: str = formats()


class TokensCommand(TokenOptions, Quiet):
    """Summarise token-level logs by step.

    The entropy of all tokens and of each class, for `entropylaw phases`. Every number follows from exact
    sums, so that it does not depend on the order of the rows, on their division into files, or on the
    engine. All files are read as one table: give the shards of a run in one call. A file that cannot be read
    is named, and stops no other one; a copy is read once.
    """

    example: ClassVar[str] = "entropylaw tokens demo/tokens.parquet -o steps.parquet"

    tables: tuple[str, ...] = option(
        "TABLES",
        "Parquet, Arrow or JSONL, files or folders: a row per token or sequence.",
        many=True,
        required=True,
    )
    format: str = formats()
    output: str | None = option(
        "-o --output",
        "Write the summary here (.parquet .csv .json), and print nothing.",
        PATH,
    )


class SamplesCommand(SampleOptions, Quiet):
    """Summarise samples per problem by step.

    pass@k, distinct answers, what was gained and lost: a row per step, for --join of `entropylaw fit`,
    `compare` and `phases`. Rollout dumps and evaluation files are recognised by their content: verl,
    TRL, prime-rl and verifiers, inspect, lm-evaluation-harness, human-eval, EvalPlus, Qwen2.5-Math, CRUXEval;
    any other table by the names of its columns, where a.b is field b of column a. A file that cannot be read
    is named, stops no other one, and makes gates on the document unknown; a copy is read once. With `columns`
    before TABLES the columns are shown that would be used, and nothing is computed.
    """

    example: ClassVar[str] = "entropylaw samples demo/samples.parquet --against 0"

    tables: tuple[str, ...] = option(
        "TABLES",
        "Parquet, Arrow, JSON, JSONL, CSV or .eval, files or folders: a row per sample or answer.",
        many=True,
        required=True,
    )
    against: str | None = option(
        "--against",
        "Pair by problem with another table, or with another row: a STEP, or COLUMN=VALUE of --by.",
        PATH,
    )
    details: bool = switch("--details", "Every quantity of each k, as text.", OUTPUT)
    format: str = formats()
    output: tuple[str, ...] = option(
        "-o --output",
        "Write here (.parquet .csv .json .md .txt .tex .html), and print nothing. Repeatable.",
        PATH,
        many=True,
    )


class PhasesCommand(Parallel, PhaseOptions, Joined, Logs, Written):
    """Say whether entropies rise, and in which order.

    The entropies of planning and execution tokens, of plans and of all tokens, each where there are values:
    whether it rises or explodes, by how much and from which step on, or when it settles. Where it does not
    rise, the smallest rise that would show is printed; where that is large, the answer is `cannot tell`. LOGS
    are step-level logs or what `entropylaw tokens` wrote. Exit code 4 means that no run could be fitted.
    """

    example: ClassVar[str] = "entropylaw phases demo/grpo_s0.csv"
    by_file: ClassVar[Sequence[str]] = ("jobs",)


class CompareCommand(Joined, Parallel, CompareOptions, Written):
    """Compare arms of an experiment over their seeds.

    Which arm ends higher, and which gives more reward at the same entropy, or only moves along the same
    curve? The answer is the first line, then a row per arm and a table per quantity. The seed is the unit.
    An arm is higher or lower where the test, adjusted for both questions and all arms, says so, and the
    same where the difference is shown to be below --margin. Runs that broke are counted apart; a run
    without an entropy is compared in its final reward alone. Exit code 4 means that no run could be fitted.
    """

    example: ClassVar[str] = "entropylaw compare 'grpo=demo/grpo_s*' 'clip_cov=demo/clip_cov_s*'"
    by_file: ClassVar[Sequence[str]] = ("max_reward", "keep_outliers")

    logs: tuple[str, ...] = option(
        "ARM=LOGS|LOGS",
        "Logs of an arm, such as 'grpo=logs/grpo_*', or what `fit` and `report` wrote; or logs alone, whose "
        "arms are recognised.",
        PATH,
        many=True,
        required=True,
    )
    output: tuple[str, ...] = outputs(WRITE.replace(".tex", ".tex .html"))
    details: bool = switch("--details", "Every number and run of each comparison, as text.", OUTPUT)


def figure_kinds(text: str) -> tuple[str, ...]:
    """The formats in a text."""
    named, choices = [name.strip().lower() for name in text.split(",")], ", ".join(PICTURES)
    unknown = [name for name in named if name not in PICTURES]
    if unknown and named != ["none"]:
        raise UsageError(
            "bad-figures",
            f"--figures {text!r} names {unknown[0]!r}, expected some of {choices}, or none",
            "give svg, or svg,png,pdf",
        )
    return tuple(kind for kind in PICTURES if kind in named)


class ReportCommand(Parallel, Strict, FitOptions, Logs, Quiet):
    """Write a report: pages, tables and figures.

    An index, a page per run, Markdown, JSON, CSV and figures, of one run or a thousand. LOGS may also be
    what `entropylaw fit` or `entropylaw report` wrote: it is rendered unchanged, and options of the fit
    are then refused. Runs are fitted in parallel; what has not changed since the last report in that
    folder is kept. A run that cannot be fitted does not stop the others. `entropylaw fit` and
    entropylaw.toml have all options of the fit.
    """

    example: ClassVar[str] = "entropylaw report demo/grpo_s0.csv -o reports/demo"
    by_file: ClassVar[Sequence[str]] = FINER

    output: str = option(
        "-o --output FOLDER|FILE.html",
        "Folder, or one HTML file with everything in it.",
        kind=PATH,
        group=OUTPUT,
        default=FOLDER,
    )
    figures: tuple[str, ...] | None = option(
        "--figures",
        "Formats of the figures' files: svg,png,pdf or none.",
        Kind(expected="some of svg, png and pdf, or none", metavar="KINDS", read=figure_kinds),
        unset="all, beyond 50 runs svg",
    )


SUMMARY = "GITHUB_STEP_SUMMARY"
"""The variable in which GitHub names the file of a step's summary."""

GATES = "Gates"


class CheckCommand(Parallel, FitOptions, Quiet):
    """Exit with code 5 if a gate trips or is unknown.

    Every run is compared with every condition. The interval decides, not the point: a condition holds
    where the whole interval satisfies EXPR; where a part of it does, "not excluded" is printed, and only
    --strict fails. An unknown value fails, and the reason is printed: a run that was refused, an interval
    that is missing, the law's numbers where the law fails or the log has no entropy, the forecast and the
    law of a broken run, fitted numbers of too few evaluations, and rewards whose units do not convert.
    Whatever the reason, an unknown value exits with code 5, for one file as for several. `entropylaw fit` and
    entropylaw.toml have all options of the fit.
    """

    example: ClassVar[str] = "entropylaw check demo/clip_cov_s0.csv --fail-if 'now<0.4'"
    by_file: ClassVar[Sequence[str]] = (*FINER, "jobs")

    sources: tuple[str, ...] = option(
        "FITS|LOGS",
        "Documents that `fit`, `report`, `phases`, `predict` or `compare` wrote, a report's folder, or logs.",
        PATH,
        many=True,
        required=True,
    )
    fail_if: tuple[str, ...] = option(
        "--fail-if",
        "The condition: state==broken (the reward was lost); refused (not fitted); QUANTITY OP NUMBER, as "
        "now<0.62, now<62% or p_gain<10%; regression(BASELINE.fit.json)>1% (fall of the reward now); fails "
        "(the law fails); undecided; \"verdict!='holds'\". Repeatable.",
        GATE,
        GATES,
        key="fail-if",
        many=True,
        default=("state==broken",),
    )
    strict: bool = switch(
        "--strict",
        "Fail also where the interval, or an undecided verdict, does not exclude EXPR.",
        GATES,
    )
    point: bool = switch("--point", "Compare the estimate, not its interval.", GATES)
    even_if_fails: bool = switch(
        "--even-if-fails", "Also compare the numbers that are unknown because the law fails.", GATES
    )
    baseline: str | None = option(
        "--baseline", "Fail also where the reward now is below that of this fit or report.", PATH, GATES
    )
    format: str = formats()
    output: tuple[str, ...] = outputs()
    junit: str | None = option("--junit", "Write JUnit XML here: a test case per run and condition.", PATH)
    github_summary: bool = switch("--github-summary", f"Append Markdown to the file that {SUMMARY} names.")


class DemoCommand(Command):
    """Write example logs, and print commands for them.

    Three logs of small language models that learned to multiply two numbers, tables of the tokens and of the
    samples of one of them, and a notebook. The examples of `--help` and the commands of the guide use these
    files. A file that was changed is not replaced.
    """

    example: ClassVar[str] = "entropylaw demo"

    folder: str = option("FOLDER", "Folder to write into.", PATH, default="demo")
