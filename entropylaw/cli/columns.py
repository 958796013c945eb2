"""``entropylaw columns``: what a log holds, what would be used, and why."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from entropylaw.cli import options

EXAMPLE = "Example:  entropylaw columns data/lab/grpo_s0/metrics.parquet"


class ColumnFormat(StrEnum):
    """How the answer is printed."""

    text = "text"
    json = "json"


def columns(
    logs: options.Logs,
    entropy: options.Entropy = None,
    reward: options.Reward = None,
    step: options.Step = None,
    run: options.RunColumn = None,
    pair: options.PairOption = None,
    format: Annotated[
        ColumnFormat, typer.Option("--format", help="Format on standard output.")
    ] = ColumnFormat.text,
) -> None:
    """Show what was found in logs, which columns would be used, and why. Fits nothing."""
    from entropylaw.cli.output import print_result, show_error
    from entropylaw.cli.progress import reading_shown
    from entropylaw.documents.columns import columns_document
    from entropylaw.documents.store import dumps
    from entropylaw.ingest.load import read_all
    from entropylaw.ingest.report import explain
    from entropylaw.report import columntext

    with reading_shown():
        named = [name for name in (entropy, reward) if name]
        reading = read_all(logs, step=step, run=run, columns=named)
    if not reading.runs:
        raise reading.failures[0].error
    for failure in reading.failures:
        show_error(failure.error)
    reports = [
        explain(each, entropy=entropy, reward=reward, pair=pair.value if pair else None)
        for each in reading.runs
    ]
    if format is ColumnFormat.json:
        print_result(dumps(columns_document(reports)))
    else:
        print_result("\n".join(columntext.render(report) for report in reports))
