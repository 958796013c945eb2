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
    log: Annotated[str, typer.Argument(metavar="LOG", help=options.LOGS_HELP, show_default=False)],
    entropy: options.Entropy = None,
    reward: options.Reward = None,
    step: options.Step = None,
    run: options.RunColumn = None,
    pair: options.PairOption = None,
    format: Annotated[
        ColumnFormat, typer.Option("--format", help="Format on standard output.")
    ] = ColumnFormat.text,
) -> None:
    """Show what was found in a log, which columns would be used, and why. Fits nothing."""
    from entropylaw.cli.output import print_result
    from entropylaw.documents.columns import columns_document
    from entropylaw.documents.store import dumps
    from entropylaw.ingest import explain, read_runs
    from entropylaw.report import columntext

    reports = [
        explain(each, entropy=entropy, reward=reward, pair=pair.value if pair else None)
        for each in read_runs(log, step=step, run=run, columns=[name for name in (entropy, reward) if name])
    ]
    if format is ColumnFormat.json:
        print_result(dumps(columns_document(reports)))
    else:
        print_result("\n".join(columntext.render(report) for report in reports))
