"""``entropylaw columns``: what a log holds, what would be used, and why."""

from __future__ import annotations

from dataclasses import dataclass

from entropylaw.cli.command import takes
from entropylaw.options import ColumnOptions, Command, Logs, formats


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ColumnsCommand(ColumnOptions, Logs, Command):
    """``entropylaw columns``."""

    format: str = formats()


@takes(ColumnsCommand, example="entropylaw columns data/lab/grpo_s0/metrics.parquet")
def columns(options: ColumnsCommand) -> None:
    """Show what was found in logs, which columns would be used, and why. Fits nothing."""
    from entropylaw.cli.output import print_result, show_error, shown
    from entropylaw.cli.reading import read_shown
    from entropylaw.documents.columns import columns_document
    from entropylaw.ingest.select import explain

    entropy, reward = options.entropy, options.reward
    reading = read_shown(options.logs, options, [name for name in (entropy, reward) if name])
    if not reading.runs:
        raise reading.failures[0].error
    for failure in reading.failures:
        show_error(failure.error)
    reports = [explain(run, entropy=entropy, reward=reward, pair=options.pair) for run in reading.runs]
    print_result(shown(columns_document(reports), options.format))
