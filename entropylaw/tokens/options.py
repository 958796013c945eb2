"""The options of a summary of tokens: its columns, its classes, and where it is computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from entropylaw.kinds import COLUMN, NUMBER, PATH, TEXT, one_of
from entropylaw.option import ADVANCED, COLUMNS, option, switch


def _column(name: str, help: str, **more: Any) -> Any:
    """The name of a column of token tables, which no settings file has."""
    return option(f"--{name}", help, COLUMN, COLUMNS, unset="by name", **more)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TokenOptions:
    """Family: the columns of a table of tokens ('' for none of that role), its classes, the engine."""

    step: str | None = _column("step", "Step column.")
    entropy: str | None = _column("entropy", "Entropy column, nats.")
    planning: str | None = _column("class", "Class column, planning or execution; '' for none.")
    mask: str | None = _column("mask", "Column that is 1 where a token counts; '' for none.")
    logprob: str | None = _column("logprob", "Log-probability column.")
    advantage: str | None = _column("advantage", "Advantage column; '' for none.")
    correct: str | None = _column("correct", "Correctness of the answer, 0 or 1.")
    response: tuple[str, ...] = _column(
        "response", "Column that distinguishes the responses of a step. Repeatable.", many=True
    )
    position: str | None = _column("position", "Position of the token in its response.")
    token: str | None = _column("token", "Text of the token.")
    prompt: str | None = _column("prompt", "Column of the prompt that responses answer; '' for none.")
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
