"""``entropylaw report``: a page, tables and figures that people forward."""

from __future__ import annotations

from typing import Annotated

import typer

from entropylaw.cli import options

EXAMPLE = "Example:  entropylaw report data/lab/grpo_s0/metrics.parquet -o reports/lab"

Folder = Annotated[str, typer.Option("-o", "--output", metavar="FOLDER", help="Folder to write into.")]


def report(
    logs: options.Logs,
    output: Folder = "reports",
    entropy: options.Entropy = None,
    reward: options.Reward = None,
    step: options.Step = None,
    run: options.RunColumn = None,
    pair: options.PairOption = None,
    level: options.Level = 0.95,
    interval: options.IntervalOption = options.IntervalChoice.drift,
    eval_size: options.EvalSize = None,
    entropy_sd: options.EntropySd = None,
    quiet: options.Quiet = False,
) -> None:
    """Write one self-contained HTML page, Markdown, JSON, CSV and the figures as SVG and PNG.

    LOGS may also be fit documents that `entropylaw fit` wrote: they are rendered as they are, and the
    options that say how to fit must then be left alone.
    """
    from entropylaw.cli.fit import finish, watched
    from entropylaw.cli.output import say
    from entropylaw.cli.progress import reading_shown
    from entropylaw.cli.sources import document_for, grouped
    from entropylaw.report.files import write_report
    from entropylaw.workflow import combine

    asked = options.settings(
        level=level,
        interval=interval,
        eval_size=eval_size,
        entropy_sd=entropy_sd,
        entropy=entropy,
        reward=reward,
        step=step,
        run=run,
        pair=pair,
    )
    with reading_shown():
        document = combine([document_for(group, asked) for group in watched(grouped(logs))])
    if document.fitted:
        for path in write_report(document, output):
            say(f"wrote {path}", quiet=quiet)
    else:
        say("nothing was fitted: no report was written", quiet=False)
    finish(document)
