"""``entropylaw tokens``: token-level logs to one row a step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from entropylaw.cli.command import takes
from entropylaw.options import (
    ADVANCED,
    COLUMN,
    COLUMNS,
    NUMBER,
    PATH,
    TEXT,
    Quiet,
    formats,
    one_of,
    option,
    options_of,
    switch,
)

if TYPE_CHECKING:
    from entropylaw.tokens.run import OpenBackend


def _column(name: str, help: str) -> Any:
    """The name of a column of token tables, which no settings file has."""
    return option(f"--{name}", help, COLUMN, COLUMNS, unset="by name")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TokensCommand(Quiet):
    """``entropylaw tokens``."""

    tables: tuple[str, ...] = option(
        "TABLES",
        "Parquet or JSONL files, or folders of them, with a row a token or a sequence a row; or the "
        ".hist.parquet files of shards, to join them.",
        many=True,
        required=True,
    )
    step: str | None = _column("step", "Step column.")
    entropy: str | None = _column("entropy", "Entropy column, nats.")
    planning: str | None = _column("class", "Class column, planning or execution; '' for none.")
    mask: str | None = _column("mask", "Column that is 1 where a token counts; '' for none.")
    logprob: str | None = _column("logprob", "Log-probability column.")
    correct: str | None = _column("correct", "Correctness of the answer, 0 or 1.")
    response: tuple[str, ...] = option(
        "--response",
        "Column that tells responses of a step apart. Repeatable.",
        COLUMN,
        COLUMNS,
        unset="by name",
        many=True,
    )
    position: str | None = _column("position", "Place of the token in its response.")
    token: str | None = _column("token", "Text of the token.")
    prompt: str | None = _column("prompt", "Column of the prompt that responses answer; '' for none.")
    top_quantile: float | None = option(
        "--top-quantile Q",
        "Call the share Q of each step's tokens with most entropy planning, such as 0.2: a choice, no "
        "finding.",
        NUMBER,
        ADVANCED,
    )
    grams: str | None = option(
        "--grams",
        "Call tokens planning that are part of a strategic n-gram: one a line; 'default' is a short list of "
        "our own.",
        PATH,
        ADVANCED,
    )
    backend: str = option(
        "--backend", "Where the query runs.", one_of("duckdb", "spark"), ADVANCED, default="duckdb"
    )
    master: str | None = option("--master URL", "Spark master: spark://HOST:7077, local[4].", TEXT, ADVANCED)
    allow_missing: bool = switch(
        "--allow-missing", "Go on where a file of a sharded set is missing.", ADVANCED
    )
    format: str = formats("text", "json", "csv")
    output: str | None = option(
        "-o --output",
        "Write the summary here (.parquet .csv .json), and beside it the histograms (NAME.hist.parquet). '-' "
        "prints only.",
        PATH,
    )


@takes(TokensCommand, example="entropylaw tokens data/lab/grpo_s0/tokens.parquet -o steps.parquet")
def tokens(options: TokensCommand) -> None:
    """Summarise token-level logs: entropy by step, overall and by class, for the two-phase curves.

    Every number follows from exact sums, so that it does not depend on the order of the rows, on how they
    are spread over files, or on the engine. That holds for joined shards, too: a response with tokens in two
    of them is one response, unless there are more than a million; what is then unknown is left empty.
    """
    from entropylaw.cli.output import print_result, say
    from entropylaw.cli.reading import share_shown
    from entropylaw.report.printable import one_line
    from entropylaw.tokens import run as written
    from entropylaw.tokens.run import Asked, summarise_tokens

    output, quiet = options.output, options.quiet
    kind = written.kind_of(output)
    roles = [name for name, known in options_of(TokensCommand).items() if known.kind is COLUMN]
    asked = Asked(
        columns={role: getattr(options, role) for role in roles if role != "response"},
        response=options.response,
        top_quantile=options.top_quantile,
        grams=options.grams,
        allow_missing=options.allow_missing,
        output=output if kind is not None else None,
    )
    with share_shown("summing tokens") as progress:
        summary = summarise_tokens(options.tables, asked, _engine(options, progress))
    used = ", ".join(
        f"{role} {name if isinstance(name, str) else ' + '.join(name)}"
        for role, name in summary.about["columns"].items()
    )
    say(one_line(f"columns: {used}"), quiet=quiet)
    for note in summary.notes:
        say(one_line(f"note: {note}"), quiet=quiet)
    if output is not None and kind is not None:
        for path in written.write(summary, output, kind):
            say(one_line(f"wrote {path}"), quiet=quiet)
    print_result(written.rendered(summary, options.format))


def _engine(options: TokensCommand, progress: Callable[[float], None] | None) -> OpenBackend:
    from entropylaw.errors import UsageError
    from entropylaw.tokens.backends import duckdb_backend, spark_backend

    if options.backend == "spark":
        return partial(spark_backend, options.master, console=progress is not None)
    if options.master is not None:
        raise UsageError(
            "master-needs-spark", f"--master {options.master} names a Spark cluster", "add --backend spark"
        )
    return partial(duckdb_backend, progress)
