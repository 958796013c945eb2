"""``entropylaw predict``: reward at an entropy or a later step, entropy for a reward, saturation."""

from __future__ import annotations

from typing import Annotated

import typer

from entropylaw.cli import options
from entropylaw.cli.options import Format

EXAMPLE = "Example:  entropylaw predict data/lab/grpo_s0/metrics.parquet --target-entropy 0.05"

Source = Annotated[
    str | None,
    typer.Argument(
        metavar="[FIT|LOG]",
        help="A fit document or a log. [default: the newest fit in reports/]",
        show_default=False,
    ),
]
TargetEntropy = Annotated[
    list[str] | None,
    typer.Option(
        "--target-entropy", metavar="H", help="Entropy in nats, or a range START:STOP:STEP. Repeatable."
    ),
]
TargetReward = Annotated[
    list[float] | None,
    typer.Option(
        "--target-reward", metavar="R", help="Reward: prints the entropies compatible with it. Repeatable."
    ),
]
SaturationFlag = Annotated[
    bool,
    typer.Option(
        "--saturation",
        help="Entropy at which 95 % of what the law still promises is spent, the reward there, and when.",
    ),
]
AtStep = Annotated[
    list[float] | None,
    typer.Option("--at-step", metavar="N", help="A later step: the reward to expect there. Repeatable."),
]
Gain = Annotated[
    list[float] | None,
    typer.Option(
        "--gain", metavar="X", help="Probability that an evaluation gains X or more of reward. Repeatable."
    ),
]
Output = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Write here; the suffix (.json .csv .md .txt) decides the format.",
    ),
]


def predict(
    source: Source = None,
    target_entropy: TargetEntropy = None,
    target_reward: TargetReward = None,
    saturation: SaturationFlag = False,
    at_step: AtStep = None,
    gain: Gain = None,
    level: Annotated[
        float | None, typer.Option("--level", help="Coverage of the intervals. [default: the fit's]")
    ] = None,
    format: options.FormatOption = Format.text,
    output: Output = None,
    quiet: options.Quiet = False,
) -> None:
    """Predict reward at target entropies, or the entropies for a target reward, with intervals.

    Two intervals at an entropy: for the law's mean, and the wider one for a new evaluation there.
    An entropy outside the fitted range is marked as extrapolated. A later step is forecast by several
    forms, weighed by how each would have done from earlier in the same run.
    """
    from entropylaw.cli.fit import FOLDER, finish
    from entropylaw.cli.output import format_of, say, write_out
    from entropylaw.cli.sources import document_for, newest_fit
    from entropylaw.cli.targets import parse_entropies
    from entropylaw.documents.prediction import predict_runs
    from entropylaw.errors import UsageError
    from entropylaw.report.prediction import render
    from entropylaw.workflow import default_settings

    entropies = parse_entropies(target_entropy or [])
    if not (entropies or target_reward or saturation or at_step or gain):
        raise UsageError(
            "nothing-to-predict",
            "no target was given",
            "add --target-entropy H, --target-reward R, --at-step N, --gain X or --saturation",
        )
    if gain and not at_step:
        raise UsageError(
            "gain-needs-a-step",
            "--gain asks how probable a gain is, and no step says by when",
            "add --at-step N",
        )
    if source is None:
        source = newest_fit(FOLDER)
        say(f"reading {source}", quiet=quiet)
    kind = format_of(output) if output not in (None, "-") else format
    fits = document_for(source, default_settings())
    if fits.fitted:
        document = predict_runs(
            fits,
            entropies=entropies,
            rewards=target_reward or [],
            saturation=saturation,
            at_step=at_step or [],
            gains=gain or [],
            level=level,
        )
        content = render(document, kind.value)
        if output in (None, "-"):
            write_out({}, content, quiet=quiet)
        else:
            write_out({output: content}, None, quiet=quiet)
    finish(fits)
