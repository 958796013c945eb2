"""Options that several commands share, and what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from entropylaw.errors import UsageError

if TYPE_CHECKING:
    from entropylaw.documents.fit import Settings


class Format(StrEnum):
    """How results are printed."""

    text = "text"
    json = "json"
    csv = "csv"
    markdown = "markdown"


class Pair(StrEnum):
    """Which entropy belongs to the reward at step s."""

    same = "same"
    next = "next"


class IntervalChoice(StrEnum):
    """What makes the intervals."""

    drift = "drift"
    walk = "walk"
    odr = "odr"
    ols = "ols"


LOGS_HELP = (
    "Log files or folders; '-' reads standard input; NAME:csv forces a format (csv, jsonl, parquet, verl)."
)

Logs = Annotated[list[str], typer.Argument(metavar="LOGS...", help=LOGS_HELP, show_default=False)]
Entropy = Annotated[
    str | None, typer.Option("--entropy", metavar="COLUMN", help="Entropy column. [default: by catalog]")
]
Reward = Annotated[
    str | None, typer.Option("--reward", metavar="COLUMN", help="Reward column. [default: by catalog]")
]
Step = Annotated[
    str | None, typer.Option("--step", metavar="COLUMN", help="Step column. [default: by catalog]")
]
RunColumn = Annotated[
    str | None,
    typer.Option(
        "--run", metavar="COLUMN", help="Column that names the run in a log of several. [default: by catalog]"
    ),
]
PairOption = Annotated[
    Pair | None,
    typer.Option(
        "--pair",
        help="Pair the reward at step s with the entropy at s, or the next one. [default: by catalog]",
    ),
]
Level = Annotated[float, typer.Option("--level", help="Coverage of the intervals, between 0 and 1.")]
IntervalOption = Annotated[
    IntervalChoice,
    typer.Option(
        "--interval",
        help="drift: slow drift plus noise, integrated out. walk: a drift that never comes home; the ceiling "
        "is told from where the run stands. odr: independent residuals, entropies with --entropy-sd. ols: "
        "textbook, for independent residuals and exact entropies only.",
    ),
]
EvalSize = Annotated[
    str | None,
    typer.Option(
        "--eval-size",
        metavar="N",
        help="Independent samples behind each reward, or PROBLEMSxSAMPLES for a mean@k: sets the least noise "
        "that it can have.",
    ),
]
EntropySd = Annotated[
    str | None,
    typer.Option(
        "--entropy-sd",
        metavar="SD",
        help="Noise of each logged entropy: nats, or the column that holds it. [default: estimated]",
    ),
]
Seams = Annotated[
    list[float] | None,
    typer.Option(
        "--seam",
        metavar="STEP",
        help="A step at which something changed, as a new stage: the law before and after. Repeatable.",
    ),
]
FindSeams = Annotated[
    bool, typer.Option("--find-seams", help="Look for jumps of reward and entropy, and fit between them.")
]
Shared = Annotated[
    str | None,
    typer.Option(
        "--shared",
        metavar="NAMES",
        help="What the runs have in common: a, b or a,b. With three runs, also how far they differ.",
    ),
]
KeepOutliers = Annotated[
    bool,
    typer.Option("--keep-outliers", help="Fit gross outliers too; without, they are named and left out."),
]
Outputs = Annotated[
    list[str] | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Write here; the suffix (.json .csv .md .txt) decides the format. Repeatable.",
    ),
]
FormatOption = Annotated[Format, typer.Option("--format", help="Format on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing on standard error but errors.")]


def settings(
    *,
    level: float,
    interval: IntervalChoice,
    eval_size: str | None,
    entropy: str | None,
    reward: str | None,
    step: str | None,
    run: str | None,
    pair: Pair | None,
    seams: Sequence[float] = (),
    find_seams: bool = False,
    shared: str | None = None,
    keep_outliers: bool = False,
    entropy_sd: str | None = None,
) -> Settings:
    """The options as the document's settings; a wrong level is a usage error before anything is read."""
    from entropylaw.analysis.law import checked_level
    from entropylaw.documents.fit import Settings

    return Settings(
        level=checked_level(level),
        interval=interval.value,
        eval_size=None if eval_size is None else sample_count(eval_size),
        entropy=entropy,
        reward=reward,
        step=step,
        run=run,
        pair=pair.value if pair else None,
        seams=tuple(sorted(seams)),
        find_seams=find_seams,
        shared=tuple(part.strip() for part in shared.split(",")) if shared else (),
        keep_outliers=keep_outliers,
        entropy_sd=entropy_sd,
    )


def sample_count(given: str) -> int:
    """``500``, or ``30x32`` for 30 problems of 32 samples each, as a number of samples.

    Raises
    ------
    UsageError
        ``bad-eval-size``.
    """
    parts = given.lower().replace("×", "x").split("x")
    if len(parts) > 2 or not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise UsageError(
            "bad-eval-size",
            f"--eval-size {given!r}, expected a number of samples or PROBLEMSxSAMPLES",
            "give 500, or 30x32 for 30 problems with 32 samples each",
        )
    count = 1
    for part in parts:
        count *= int(part)
    return count
