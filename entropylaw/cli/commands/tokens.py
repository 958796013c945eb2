"""The options and the help of ``entropylaw tokens``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from entropylaw.kinds import PATH
from entropylaw.option import option
from entropylaw.options import Quiet, formats
from entropylaw.tokens.options import TokenOptions


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TokensCommand(TokenOptions, Quiet):
    """Summarise token-level logs by step.

    The entropy of all tokens and of each class, for `entropylaw phases`. Every number follows from exact
    sums, so that it does not depend on the order of the rows, on their division into files, or on the
    engine. All files are read as one table: give the shards of a run in one call.
    """

    example: ClassVar[str] = "entropylaw tokens demo/tokens.parquet -o steps.parquet"

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
