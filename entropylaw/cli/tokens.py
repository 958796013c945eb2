"""``entropylaw tokens``: token-level logs to one row a step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from entropylaw.cli import options

if TYPE_CHECKING:
    from entropylaw.tokens.run import OpenBackend, Summary

EXAMPLE = "Example:  entropylaw tokens data/lab/grpo_s0/tokens.parquet -o steps.parquet"


class Engine(StrEnum):
    """Where the query runs."""

    duckdb = "duckdb"
    spark = "spark"


class TokenFormat(StrEnum):
    """How the summary is printed."""

    text = "text"
    json = "json"
    csv = "csv"


def _column(flag: str, what: str) -> Any:
    return typer.Option(flag, metavar="COLUMN", help=what)


Tables = Annotated[
    list[str],
    typer.Argument(
        metavar="TABLES...",
        help="Parquet or JSONL files, or folders of them, with a row a token or a sequence a row; or the "
        ".hist.parquet files of shards, to join them.",
        show_default=False,
    ),
]
Output = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Write the summary here (.parquet .csv .json), and beside it the histograms "
        "(NAME.hist.parquet). '-' prints only.",
    ),
]
Response = Annotated[
    list[str] | None,
    typer.Option(
        "--response",
        metavar="COLUMN",
        help="Column that tells responses of a step apart. Repeatable. [default: by name]",
    ),
]
TopQuantile = Annotated[
    float | None,
    typer.Option(
        "--top-quantile",
        metavar="Q",
        help="Call the share Q of each step's tokens with most entropy planning, such as 0.2: "
        "a choice, no finding.",
    ),
]
Grams = Annotated[
    str | None,
    typer.Option(
        "--grams",
        metavar="FILE",
        help="Call tokens planning that are part of a strategic n-gram: one a line; 'default' is a short "
        "list of our own.",
    ),
]


def tokens(
    tables: Tables,
    output: Output = None,
    step: Annotated[str | None, _column("--step", "Step column. [default: by name]")] = None,
    entropy: Annotated[str | None, _column("--entropy", "Entropy column, nats. [default: by name]")] = None,
    planning: Annotated[
        str | None, _column("--class", "Class column, planning or execution; '' for none. [default: by name]")
    ] = None,
    mask: Annotated[
        str | None,
        _column("--mask", "Column that is 1 where a token counts; '' for none. [default: by name]"),
    ] = None,
    logprob: Annotated[str | None, _column("--logprob", "Log-probability column. [default: by name]")] = None,
    correct: Annotated[
        str | None, _column("--correct", "Correctness of the answer, 0 or 1. [default: by name]")
    ] = None,
    response: Response = None,
    position: Annotated[
        str | None, _column("--position", "Place of the token in its response. [default: by name]")
    ] = None,
    token: Annotated[str | None, _column("--token", "Text of the token. [default: by name]")] = None,
    prompt: Annotated[
        str | None,
        _column("--prompt", "Column of the prompt that responses answer; '' for none. [default: by name]"),
    ] = None,
    top_quantile: TopQuantile = None,
    grams: Grams = None,
    backend: Annotated[Engine, typer.Option("--backend", help="Where the query runs.")] = Engine.duckdb,
    master: Annotated[
        str | None,
        typer.Option("--master", metavar="URL", help="Spark master: spark://HOST:7077, local[4]."),
    ] = None,
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Go on where a file of a sharded set is missing.")
    ] = False,
    format: Annotated[
        TokenFormat, typer.Option("--format", help="Format on standard output.")
    ] = TokenFormat.text,
    quiet: options.Quiet = False,
) -> None:
    """Summarise token-level logs: entropy by step, overall and by class, for the two-phase curves.

    Every number follows from exact sums, so that it does not depend on the order of the rows, on how they
    are spread over files, or on the engine. That holds for joined shards, too: a response with tokens in two
    of them is one response, unless there are more than a million; what is then unknown is left empty.
    """
    from entropylaw.cli.output import print_result, say
    from entropylaw.report.printable import one_line
    from entropylaw.tokens import run as written
    from entropylaw.tokens.run import Asked, summarise_tokens

    kind = written.kind_of(output)
    asked = Asked(
        columns={
            "step": step,
            "entropy": entropy,
            "planning": planning,
            "mask": mask,
            "logprob": logprob,
            "correct": correct,
            "position": position,
            "token": token,
            "prompt": prompt,
        },
        response=tuple(response or ()),
        top_quantile=top_quantile,
        grams=grams,
        allow_missing=allow_missing,
        output=output if kind is not None else None,
    )
    with _shown() as progress:
        summary = summarise_tokens(tables, asked, _engine(backend, master, progress))
    _tell(summary, quiet=quiet)
    if output is not None and kind is not None:
        for path in written.write(summary, output, kind):
            say(one_line(f"wrote {path}"), quiet=quiet)
    print_result(written.rendered(summary, format.value))


def _tell(summary: Summary, *, quiet: bool) -> None:
    """Which columns were used, and the notes, on standard error."""
    from entropylaw.cli.output import say
    from entropylaw.report.printable import one_line

    columns = summary.about["columns"]
    used = (
        f"{role} {' + '.join([name] if isinstance(name, str) else name)}" for role, name in columns.items()
    )
    say(one_line(f"columns: {', '.join(used)}"), quiet=quiet)
    for note in summary.notes:
        say(one_line(f"note: {note}"), quiet=quiet)


def _engine(backend: Engine, master: str | None, progress: Callable[[float], None] | None) -> OpenBackend:
    from entropylaw.errors import UsageError
    from entropylaw.tokens.backends import duckdb_backend, spark_backend

    if backend is Engine.spark:
        return partial(spark_backend, master, console=progress is not None)
    if master is not None:
        raise UsageError(
            "master-needs-spark", f"--master {master} names a Spark cluster", "add --backend spark"
        )
    return partial(duckdb_backend, progress)


@contextmanager
def _shown() -> Iterator[Callable[[float], None] | None]:
    """A progress bar on a terminal; nothing elsewhere."""
    import sys

    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("summing tokens"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda share: bar.update(task, completed=share)
