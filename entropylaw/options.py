"""The options of every command, each described in one place, without importing anything heavy.

A family is a frozen dataclass, and the options of a command are one that inherits from some families. A
field's metadata hold an option's flags, help, values and key in a settings file. Flags, ``entropylaw.toml``,
``docs/config.md`` and the settings in documents are made from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from entropylaw.kinds import (
    ALL,
    COLUMN,
    COST,
    COUNT,
    GAIN,
    LEVEL,
    MOST,
    NUMBER,
    PATH,
    STEP,
    SUFFIXES,
    SWITCH,
    TEXT,
    one_of,
)
from entropylaw.option import ADVANCED, ARMS, COLUMNS, GENERAL, INTERVALS, option, options_of, setting, switch

HUNDREDTH = "0.01 of an accuracy, else by its range"


def column(name: str, help: str, unset: str = "by name", *, many: bool = False) -> Any:
    """The name of a column of the logs, or ``many`` names and shell patterns."""
    more = "Repeatable, also a shell pattern." if many else ""
    return setting(f"--{name}", f"{help} {more}".rstrip(), COLUMN, COLUMNS, unset=unset, many=many)


FOLDER, PICTURES = "reports", ("svg", "png", "pdf")
"""The folder of fits and reports, by default; the formats of figures."""

WRITE = f"Write here, and print nothing; the suffix ({' '.join(SUFFIXES.values())}) decides the format."


def formats(*choices: str) -> Any:
    """The formats that a command prints, by default those of any result; the first is its default."""
    choices = choices or tuple(SUFFIXES)
    return option("--format", "Format on standard output.", one_of(*choices), default=choices[0])


def outputs(help: str = WRITE, unset: str = "none") -> Any:
    """Files to write, whose suffix decides the format."""
    return option("-o --output", f"{help} Repeatable.", PATH, unset=unset, many=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFile:
    """The settings file in force: path as given (never absolute), sha256 of its bytes."""

    path: str
    sha256: str


# Only options in documents are compared and printed; these methods take a third of the time to make a class.
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Command:
    """The options of any command, and the fields with a value from the command line or a settings file.

    ``config`` is the settings file in force. ``example`` is a command that can be typed. The options of the
    names ``by_file`` have no flag here: `entropylaw fit` has one, or the settings file sets them.
    """

    example: ClassVar[str]
    by_file: ClassVar[Sequence[str]] = ()

    given: tuple[str, ...] = ()
    from_file: tuple[str, ...] = ()
    config: ConfigFile | None = None

    def flags_given(self, *families: type) -> list[str]:
        """The flags of some families that were given on the command line, not in a settings file."""
        of_families = [option for family in families for option in options_of(family).values()]
        options = options_of(type(self))
        return [options[name].label for name in self.given if options[name] in of_families]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Quiet(Command):
    """Commands with messages on standard error."""

    quiet: bool = switch("-q --quiet", "Print only errors on standard error.", GENERAL)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Written(Quiet):
    """Commands that print a result, and write it to files."""

    format: str = formats()
    output: tuple[str, ...] = outputs()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Parallel:
    """Commands that fit runs in several processes."""

    jobs: int | None = option(
        "--jobs", "Runs fitted in parallel.", COUNT, ADVANCED, key="jobs", unset="one per core"
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Strict:
    """Commands on many runs, one of which may be of no use."""

    strict: bool = switch("--strict", "Exit with 4 if any run could not be read or fitted.", ADVANCED)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Joined:
    """Commands that join a table to logs, with a row per step: no settings file has it."""

    join: str | None = option(
        "--join",
        "A table with a row per step, as of `entropylaw samples -o FILE.parquet`, joined at equal steps.",
        kind=PATH,
        group=COLUMNS,
    )
    join_nearest: bool = switch(
        "--join-nearest",
        "Join each row with the next step of the log.",
        COLUMNS,
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Logs:
    """Commands that read logs."""

    logs: tuple[str, ...] = option(
        "LOGS",
        "Log files or folders; '-' reads standard input; NAME:csv forces a format (csv, jsonl, parquet, "
        "verl); wandb://ENTITY/PROJECT/RUN reads a run at W&B.",
        PATH,
        many=True,
        required=True,
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LogOptions:
    """Family: the columns that order and divide the rows of any log."""

    step: str | None = column("step", "Step column; row counts the rows of a log without one.")
    run: str | None = column("run", "Column that names the run in a log of several.")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Coverage:
    """Family: intervals of a level."""

    level: float = setting("--level", "Coverage of the intervals.", LEVEL, INTERVALS, default=0.95)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ColumnOptions(LogOptions):
    """Family: which columns of a log are the entropy and the reward, and how they are paired."""

    entropy: tuple[str, ...] = column("entropy", "Entropy column.", many=True)
    reward: tuple[str, ...] = column("reward", "Reward column, or label of a reward.", many=True)
    pair: str | None = setting(
        "--pair",
        "Entropy paired with the reward at step s: same, at s; next, after s.",
        one_of("same", "next"),
        COLUMNS,
        unset="by name",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LawOptions(ColumnOptions):
    """Family: how a run is fitted."""

    from_step: float | None = setting(
        "--from-step STEP",
        "Fit from this step on.",
        kind=NUMBER,
        group=ADVANCED,
        unset="the first",
    )
    max_reward: float | Literal["none"] | None = setting(
        "--max-reward",
        "The largest reward that is possible, or none: no number is above it.",
        kind=MOST,
        group=ADVANCED,
        unset="1 for an accuracy, 100 in percent",
    )
    keep_outliers: bool = setting(
        "--keep-outliers/--no-keep-outliers",
        "Fit gross outliers; by default they are left out.",
        kind=SWITCH,
        group=ADVANCED,
        default=False,
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Gained:
    """Family: the gain of reward that counts, and when the training is to end."""

    gain: float | None = setting(
        "--gain",
        "The smallest gain of reward that counts.",
        kind=GAIN,
        group=INTERVALS,
        unset=HUNDREDTH,
    )
    steps: float | None = setting(
        "--steps N",
        "The step at which the training is planned to end, for the forecast.",
        kind=STEP,
        group=INTERVALS,
        unset="half as many again",
    )
    cost_per_step: float | None = setting(
        "--cost-per-step C",
        "What a step costs, in any unit: that of the rest is printed.",
        kind=COST,
        group=INTERVALS,
        unset="not known",
    )


@dataclass(frozen=True, kw_only=True)
class FitOptions(LawOptions, Gained, Coverage):
    """Family: the fits of some runs. The settings of a fit document."""

    ALWAYS: ClassVar = frozenset({"level", "entropy", "reward", "step", "run", "pair"})
    """Fields that every stored document has."""


@dataclass(frozen=True, kw_only=True)
class CompareOptions(LawOptions, Coverage):
    """Family: arms of an experiment. The settings of a document of comparisons."""

    ALWAYS: ClassVar = frozenset({"level", "margin"})

    arms: str | None = setting(
        "--arms REGEX|COLUMN|config:KEY",
        "What runs of one arm share: the text that REGEX (or its first group) matches in their names, a "
        "column, or a key of their configuration.",
        kind=TEXT,
        group=ARMS,
        unset="names without their seed, or the group at W&B",
    )
    baseline: str | None = setting(
        "--baseline ARM",
        f"The arm that the others are compared with; {ALL}: every two arms are compared.",
        kind=TEXT,
        group=ARMS,
        unset="vanilla, base, baseline, grpo or control; else the one with most seeds",
    )
    margin: float | None = setting(
        "--margin",
        "The smallest difference of reward that counts, in the unit that is printed.",
        kind=GAIN,
        group=INTERVALS,
        unset=HUNDREDTH,
    )
    at_equal: str | None = setting(
        "--at-equal COLUMN",
        "Compare rewards at equal values of this column, such as tokens.",
        kind=COLUMN,
        group=ARMS,
        unset="entropy, or step where no run has one",
    )
    pair: str | None = setting(
        "--pair",
        "Entropy paired with the reward at step s: same, at s; next, after s. seed: pair runs of one seed.",
        one_of("same", "next", "seed"),
        COLUMNS,
        unset="by name",
    )
    stage: str | None = column(
        "stage", "Column of the stage of training: stages are compared, paired by run.", "none"
    )
    domain: str | None = column("domain", "Column of the domain of a stage or evaluation.", "none")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ClassColumns:
    """Family: the entropies of classes of tokens."""

    planning: str | None = column(
        "planning",
        "Entropy of planning tokens, or of whole plans (entropy_semantic).",
        "by name",
    )
    execution: str | None = column("execution", "Entropy of execution tokens.", "by name")


@dataclass(frozen=True, kw_only=True)
class PhaseOptions(ClassColumns, LogOptions, Coverage):
    """Family: the phases of a run. The settings of a document of phases."""

    ALWAYS: ClassVar = frozenset({"level"})

    entropy: tuple[str, ...] = column("entropy", "Entropy of all tokens.", many=True)
