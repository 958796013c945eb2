"""The options of every command, each described in one place, without importing anything heavy.

A family is a frozen dataclass, and the options of a command are one that inherits from some families. A
field's metadata hold an option's flags, help, values and key in a settings file. Flags, ``entropylaw.toml``,
``entropylaw config``, ``docs/config.md`` and the settings in documents are made from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, TypeVar

from entropylaw.errors import UsageError
from entropylaw.kinds import (
    COLUMN,
    COUNT,
    GAIN,
    LEVEL,
    MOST,
    NOISE,
    NUMBER,
    PATH,
    SAMPLES,
    SPREAD,
    SWITCH,
    TEXT,
    Kind,
    one_of,
)

T = TypeVar("T")

HUNDREDTH = "0.01 of an accuracy, else by its range"

COLUMNS, INTERVALS, OUTPUT, GENERAL, ADVANCED = "Columns", "Intervals", "Output", "General", "Advanced"
ARMS = "Arms"
GROUPS = ("Targets", "Gates", ARMS, COLUMNS, INTERVALS, OUTPUT, GENERAL, ADVANCED)
"""The headings of a command's help, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """The description of an option, in the metadata of a field as ``option``.

    ``flags`` is empty for an argument, and ``key`` for an option that no settings file has. ``unset`` is the
    behaviour without a value, in words. ``many`` values are a tuple.
    """

    flags: tuple[str, ...]
    help: str
    kind: Kind
    group: str
    metavar: str
    key: str = ""
    unset: str = "none"
    default: Any = None
    many: bool = False
    required: bool = False

    @property
    def label(self) -> str:
        """Its name in messages: the longest flag, or the argument's name."""
        return max(self.flags, key=len).partition("/")[0] if self.flags else self.metavar

    @property
    def flag(self) -> str:
        """The flag for tables: with a metavar that distinguishes it from another of the same name."""
        name = self.flags[0].partition("/")[0] if self.flags else self.metavar
        return f"{name} {self.metavar}" if self.metavar in ("COLUMN", "FILE", "FOLDER") else name

    @property
    def help_with_default(self) -> str:
        """The help, and the default."""
        default = self.unset if self.default in (None, ()) else str(self.default)
        if self.kind is SWITCH:
            default = self.label.lstrip("-") if self.default else ""
        return f"{self.help} [default: {default}]" if default not in ("", "none") else self.help

    @property
    def expected(self) -> str:
        """The values in a settings file, in words."""
        return f"a list of {self.kind.several}" if self.many else self.kind.expected

    @property
    def usage(self) -> str:
        """Its name in the help: its flags, or the argument and whether it may be left out or repeated."""
        if self.flags:
            return f"{', '.join(self.flags).replace('/', ' / ')} {self.metavar}".rstrip()
        name = self.metavar if self.required else f"[{self.metavar}]"
        return f"{name}..." if self.many else name

    def parsed(self, text: Any) -> Any:
        """The value from the command line: of a text, several, or whether a flag is there.

        Any other text is a UsageError ``bad-option``, or an error of the option's kind.
        """
        if isinstance(text, list | tuple):
            return tuple(map(self.parsed, text))
        if self.kind is SWITCH:
            return text
        try:
            return self.kind.read(text)
        except ValueError:
            typed = f"{self.label} {self.kind.example}" if self.flags else self.kind.example
            message = f"{self.label} {text[:40]!r}, expected {self.kind.expected}"
            raise UsageError("bad-option", message, f"give {typed}; --help says what it means") from None

    def from_toml(self, value: Any) -> Any:
        """The value from a settings file; ValueError where it is of another kind."""
        if self.many:
            if not isinstance(value, list):
                raise ValueError(value)
            return tuple(map(replace(self, many=False).from_toml, value))
        # A bool is an int in Python, but not here.
        of_kind = isinstance(value, self.kind.types) and isinstance(value, bool) is (self.kind is SWITCH)
        if not of_kind or not str(value).strip():
            raise ValueError(value)
        try:
            return value if self.kind is SWITCH else self.kind.read(str(value))
        except UsageError as error:
            raise ValueError(value) from error


def option(flags: str, help: str, kind: Kind = TEXT, group: str = OUTPUT, **more: Any) -> Any:
    """A field that is an option; ``more`` are fields of :class:`Option`.

    ``flags`` are separated by spaces, with a metavar after them where it is not that of the kind: ``"-o
    --output FOLDER"``. A metavar alone makes an argument.
    """
    if more.get("many"):
        more.setdefault("default", ())
    words = flags.split()
    names = tuple(word for word in words if word.startswith("-"))
    metavar = kind.metavar if words[-1] in names else words[-1]
    known = Option(flags=names, help=help, kind=kind, group=group, metavar=metavar, **more)
    return field(metadata={"option": known}, **({} if known.required else {"default": known.default}))


def setting(flags: str, help: str, kind: Kind, group: str, **more: Any) -> Any:
    """An option of a family: a settings file may have it, by the name of its flag."""
    name = flags.split()[0].partition("/")[0].removeprefix("--")
    return option(flags, help, kind, group, key=f"columns.{name}" if group == COLUMNS else name, **more)


def switch(flags: str, help: str, group: str = OUTPUT, *, default: bool = False) -> Any:
    """An option that is there or not."""
    return option(flags, help, SWITCH, group, default=default)


def column(name: str, help: str, unset: str = "by name") -> Any:
    """The name of a column of the logs."""
    return setting(f"--{name}", help, COLUMN, COLUMNS, unset=unset)


FOLDER, PICTURES = "reports", ("svg", "png", "pdf")
"""The folder of fits and reports, by default; the formats of figures."""

SUFFIXES = {
    "text": ".txt",
    "json": ".json",
    "csv": ".csv",
    "markdown": ".md",
    "latex": ".tex",
}
"""The formats of every result → how the names of files in it end."""

JUNIT = {"junit": ".xml"}
"""The further format of a check."""

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

    ``config`` is the settings file in force, and ``settings`` are its values by command and key.
    """

    given: tuple[str, ...] = ()
    from_file: tuple[str, ...] = ()
    config: ConfigFile | None = None
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def flags_given(self, *families: type) -> list[str]:
        """The flags of some families that were given on the command line, not in a settings file."""
        theirs = [known for family in families for known in options_of(family).values()]
        own = options_of(type(self))
        return [own[name].label for name in self.given if own[name] in theirs]


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
class Styled(Quiet):
    """Commands that draw."""

    style: str | None = setting(
        "--style", "A matplotlib style file, applied after the built-in style.", PATH, ADVANCED
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Parallel:
    """Commands that fit runs in several processes."""

    jobs: int | None = option(
        "--jobs", "Runs fitted in parallel.", COUNT, ADVANCED, key="jobs", unset="one per core"
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
    """Family: which columns of a log are the law's, and how they are paired."""

    entropy: str | None = column("entropy", "Entropy column.")
    reward: str | None = column("reward", "Reward column.")
    pair: str | None = setting(
        "--pair",
        "Entropy paired with the reward at step s: same, the one at s; next, the next one after s.",
        one_of("same", "next"),
        COLUMNS,
        unset="by name",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LawOptions(ColumnOptions):
    """Family: how the law is fitted to a run."""

    eval_size: int | None = setting(
        "--eval-size",
        "Independent samples per reward, or PROBLEMSxSAMPLES for a mean@k: sets a lower bound on its noise.",
        SAMPLES,
        INTERVALS,
        unset="not known",
    )
    entropy_sd: str | None = setting(
        "--entropy-sd",
        "Noise of each logged entropy: nats, or the column that holds it.",
        NOISE,
        INTERVALS,
        unset="estimated",
    )
    from_step: float | None = setting(
        "--from-step STEP",
        "Fit from this step on; the number of evaluations before it is printed.",
        *(NUMBER, ADVANCED),
        unset="the first",
    )
    max_reward: float | Literal["none"] | None = setting(
        "--max-reward",
        "The largest reward that is possible: no ceiling, curve or prediction is above it. none: not known.",
        *(MOST, ADVANCED),
        unset="1 for an accuracy, 100 in percent",
    )
    keep_outliers: bool = setting(
        "--keep-outliers/--no-keep-outliers",
        "Fit gross outliers too; by default they are listed and left out.",
        *(SWITCH, ADVANCED),
        default=False,
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Gained:
    """Family: the gain of reward that counts."""

    gain: float | None = setting(
        "--gain",
        "The smallest gain of reward that counts; its probability is printed.",
        *(GAIN, INTERVALS),
        unset=HUNDREDTH,
    )


@dataclass(frozen=True, kw_only=True)
class FitOptions(LawOptions, Gained, Coverage):
    """Family: the laws of some runs. The settings of a fit document."""

    ALWAYS: ClassVar = frozenset({"level", "eval_size", "entropy", "reward", "step", "run", "pair"})
    """Fields that every stored document has."""

    seams: tuple[float, ...] = setting(
        "--seam STEP",
        "A step of a level shift, such as a new stage: the reward has another level from there. Repeatable.",
        *(NUMBER, ADVANCED),
        many=True,
    )
    find_seams: bool = setting(
        "--find-seams/--no-find-seams",
        "Look for level shifts of reward and entropy, and allow for them.",
        SWITCH,
        ADVANCED,
        default=False,
    )


@dataclass(frozen=True, kw_only=True)
class CompareOptions(LawOptions, Coverage):
    """Family: arms of an experiment. The settings of a document of comparisons."""

    ALWAYS: ClassVar = frozenset({"level", "margin"})

    arms: str | None = setting(
        "--arms REGEX|COLUMN|config:KEY",
        "Runs of one arm have the same text where REGEX matches their names (its first group, if there is "
        "one), in a column, or under a key of their configuration. Without it they have names or "
        "configurations that differ by a seed alone, or one group at W&B.",
        *(TEXT, ARMS),
        unset="recognised",
    )
    baseline: str | None = setting(
        "--baseline ARM", "The arm that the others are compared with.", TEXT, ARMS, unset="the first"
    )
    all_pairs: bool = setting(
        "--all-pairs/--no-all-pairs", "Compare all arms with one another.", SWITCH, ARMS, default=False
    )
    margin: float | None = setting(
        "--margin", "The smallest difference of reward that counts.", GAIN, INTERVALS, unset=HUNDREDTH
    )
    between_sd: float | None = setting(
        "--between-sd",
        "Standard deviation of the reward between seeds, known from elsewhere; every line repeats it.",
        *(SPREAD, INTERVALS),
        unset="estimated",
    )
    stage: str | None = column("stage", "Column that names the stage of training.", "none")
    domain: str | None = column("domain", "Column that names the domain of an evaluation.", "none")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ClassColumns:
    """Family: the entropies of classes of tokens."""

    planning: str | None = column(
        "planning",
        "Entropy of planning tokens, or of whole plans (entropy_semantic), which is named in the output.",
        "by name",
    )
    execution: str | None = column("execution", "Entropy of execution tokens.", "by name")


@dataclass(frozen=True, kw_only=True)
class PhaseOptions(ClassColumns, LogOptions, Coverage):
    """Family: the phases of a run. The settings of a document of phases."""

    ALWAYS: ClassVar = frozenset({"level"})

    entropy: str | None = column("entropy", "Entropy of all tokens.")


def token_column(name: str, help: str, **more: Any) -> Any:
    """The name of a column of token tables, which no settings file has."""
    return option(f"--{name}", help, COLUMN, COLUMNS, unset="by name", **more)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TokenOptions:
    """Family: the columns of a table of tokens ('' for none of that role), its classes, the engine."""

    step: str | None = token_column("step", "Step column.")
    entropy: str | None = token_column("entropy", "Entropy column, nats.")
    planning: str | None = token_column("class", "Class column, planning or execution; '' for none.")
    mask: str | None = token_column("mask", "Column that is 1 where a token counts; '' for none.")
    logprob: str | None = token_column("logprob", "Log-probability column.")
    correct: str | None = token_column("correct", "Correctness of the answer, 0 or 1.")
    response: tuple[str, ...] = token_column(
        "response", "Column that distinguishes the responses of a step. Repeatable.", many=True
    )
    position: str | None = token_column("position", "Position of the token in its response.")
    token: str | None = token_column("token", "Text of the token.")
    prompt: str | None = token_column("prompt", "Column of the prompt that responses answer; '' for none.")
    top_quantile: float | None = option(
        "--top-quantile Q",
        "Classify the share Q of each step's tokens with the highest entropy as planning, such as 0.2: a "
        "convention, not a result.",
        *(NUMBER, ADVANCED),
    )
    grams: str | None = option(
        "--grams",
        "Classify tokens of strategic n-grams as planning: a file with one per line; 'default' is a short "
        "built-in list.",
        *(PATH, ADVANCED),
    )
    backend: str = option(
        "--backend", "Where the query runs.", one_of("duckdb", "spark"), ADVANCED, default="duckdb"
    )
    master: str | None = option("--master URL", "Spark master: spark://HOST:7077, local[4].", TEXT, ADVANCED)
    allow_missing: bool = switch(
        "--allow-missing", "Continue where a file of a sharded set is missing.", ADVANCED
    )


def options_of(family: type) -> dict[str, Option]:
    """Name of a field → the option, of all options of a family or a command."""
    return {each.name: each.metadata["option"] for each in fields(family) if "option" in each.metadata}


def part(given: Any, family: type[T], **changes: Any) -> T:
    """The options of one family of a command that has more; ``changes`` win, missing ones are unset."""
    names = options_of(family)
    return family(**{name: getattr(given, name) for name in names if hasattr(given, name)} | changes)
