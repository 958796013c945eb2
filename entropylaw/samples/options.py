"""The options of a summary of samples: its columns, what counts as right, and what it is compared with."""

from __future__ import annotations

from dataclasses import dataclass

from entropylaw.kinds import COUNT, LEVEL, NUMBER, TEXT, one_of
from entropylaw.option import COLUMNS, INTERVALS, option
from entropylaw.tokens.options import EngineOptions, table_column


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SampleOptions(EngineOptions):
    """Family: the columns of a table of samples ('' for none of that role), what is right, the other side."""

    problem: tuple[str, ...] = table_column(
        "problem", "Column that identifies the problem. Repeatable.", many=True
    )
    right: str | None = table_column("right", "Column with the verdict on a sample.")
    answer: str | None = table_column("answer", "Answer that was extracted from a sample.")
    step: str | None = table_column("step", "Step column.")
    sample: str | None = table_column("sample", "Column that distinguishes the samples of a problem.")
    label: str | None = table_column("label", "Label of a sample, such as its format or strategy.")
    tokens: str | None = table_column("tokens", "Number of tokens of a sample.")
    count: str | None = table_column("count", "Number of equal samples that a row stands for.")
    by: tuple[str, ...] = table_column(
        "by",
        "Column that divides the rows; else run is the file or its folder, and KEY that of folders "
        "KEY=value. '' for none. Repeatable.",
        many=True,
    )
    right_when: str | None = option(
        "--right-when CONDITION", "What is right where the verdict is a score: 'score>=0.5'.", TEXT, COLUMNS
    )
    only: tuple[str, ...] = option(
        "--only COLUMN=VALUE",
        "Read only these rows, such as filter=strict-match. Repeatable.",
        kind=TEXT,
        group=COLUMNS,
        many=True,
    )
    missing: str = option(
        "--missing", "What a sample without a verdict is.", one_of("drop", "wrong"), COLUMNS, default="drop"
    )
    k: tuple[int, ...] = option(
        "--k", "A number of samples for pass@k. Repeatable.", COUNT, INTERVALS, many=True, unset="1, 2, 4 … n"
    )
    solved: float = option(
        "--solved P",
        "A problem is solved where a sample is right with more than this probability.",
        kind=NUMBER,
        group=INTERVALS,
        default=0.01,
    )
    level: float = option("--level", "Coverage of the intervals.", LEVEL, INTERVALS, default=0.95)
