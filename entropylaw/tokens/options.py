"""States the options of a summary of tokens: its columns, its classes, and where it is computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from entropylaw.kinds import COLUMN_OR_NONE, NUMBER, PATH, TEXT, one_of
from entropylaw.option import ADVANCED, COLUMNS, option


def table_column(name: str, help: str, *, many: bool = False) -> Any:
    """The name of a column of tables of tokens or samples, or of ``many``, which no settings file has."""
    return option(f"--{name}", help, COLUMN_OR_NONE, COLUMNS, unset="by name", many=many)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class EngineOptions:
    """Family: what runs the queries over tables of tokens or samples."""

    backend: str = option(
        "--backend", "Where the query runs.", one_of("duckdb", "spark"), ADVANCED, default="duckdb"
    )
    master: str | None = option("--master URL", "Spark master: spark://HOST:7077, local[4].", TEXT, ADVANCED)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TokenOptions(EngineOptions):
    """Family: the columns of a table of tokens ('' for none of that role), its classes, the engine."""

    step: str | None = table_column("step", "Step column.")
    entropy: str | None = table_column("entropy", "Entropy column, nats.")
    planning: str | None = table_column("class", "Class column, planning or execution; '' for none.")
    mask: str | None = table_column("mask", "Column that is 1 where a token counts; '' for none.")
    logprob: str | None = table_column("logprob", "Log-probability column.")
    advantage: str | None = table_column("advantage", "Advantage column; '' for none.")
    correct: str | None = table_column("correct", "Correctness of the answer, 0 or 1.")
    response: tuple[str, ...] = table_column(
        "response", "Column that distinguishes the responses of a step. Repeatable.", many=True
    )
    position: str | None = table_column("position", "Position of the token in its response.")
    token: str | None = table_column("token", "Text of the token.")
    prompt: str | None = table_column("prompt", "Column of the prompt that responses answer; '' for none.")
    top_quantile: float | None = option(
        "--top-quantile Q",
        "Planning is the share Q of each step's tokens with the highest entropy, such as 0.2: a convention.",
        NUMBER,
        ADVANCED,
    )
    grams: str | None = option(
        "--grams",
        "Planning is tokens of strategic n-grams: a file with one per line, or 'default', a short list.",
        PATH,
        ADVANCED,
    )
