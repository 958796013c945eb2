"""``entropylaw compare``: arms of an experiment, the seed as the unit."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from entropylaw.cli import output
from entropylaw.cli.commands import CompareCommand
from entropylaw.cli.running import answered
from entropylaw.cli.streams import say
from entropylaw.errors import UsageError
from entropylaw.escaping import one_line
from entropylaw.kinds import SUFFIXES
from entropylaw.option import part
from entropylaw.options import CompareOptions, LawOptions
from entropylaw.pipeline import steps
from entropylaw.pipeline.arm_series import ENTROPY, along_of
from entropylaw.pipeline.arms import Grouping, grouped
from entropylaw.pipeline.compare import baseline_of, by_arm, compared, fitted_runs, gather_arms
from entropylaw.results.result import replace

if TYPE_CHECKING:
    from entropylaw.pipeline.inputs import Inputs

MOST_NAMED = 8
"""Runs without an arm that are named; the others are counted."""


def compare(options: CompareCommand) -> None:
    """Run ``entropylaw compare``."""
    choices = (*SUFFIXES, "html")
    formats = output.destinations(options.output, output.format_with_details(options), choices)
    if options.domain is not None and options.stage is None:
        raise UsageError(
            "domain-without-stage",
            f"--domain {options.domain} divides the stages of training, and no --stage names them",
            "add --stage COLUMN",
        )
    settings = part(options, CompareOptions)
    inputs, grouping = arms_of(options, settings)
    fit = partial(answered, steps.Law(inputs.settings), jobs=options.jobs)
    runs = fitted_runs(grouping.arms, settings, fit)
    fitted = any(run.fit is not None for run in runs)
    arms_compared: set[str] = set()
    if fitted or along_of(runs, settings).column != ENTROPY:
        document = replace(compared(grouping, runs, settings, inputs), config=options.config)
        arms_compared = set(grouping.arms)
        if settings.stage is None:
            arms_compared = {arm.arm for arm in document.comparison.arms if any(run.n for run in arm.runs)}
        output.deliver(document, formats, quiet=options.quiet)
    # An arm without a fitted run is an error, whatever the other arms are.
    lacking = [run for run in runs if run.arm not in arms_compared]
    if lacking or fitted:
        output.finish_fits([run.entry for run in lacking or runs if run.entry is not None])


def arms_of(options: CompareCommand, settings: CompareOptions) -> tuple[Inputs, Grouping]:
    """The inputs and their arms, which are printed."""
    arms = by_arm(options.logs, options.arms)
    fixed = options.flags_given(LawOptions)
    if "pair" in options.given and options.pair != "seed":
        fixed.append("--pair")
    inputs = gather_arms(arms, settings, fixed, output.joining(options))
    output.say_skipped(inputs.warnings, quiet=options.quiet)
    grouping = grouped(inputs.entries, options.arms, fewest=2 if options.stage is None else 1)
    baseline_of(list(grouping.arms), settings)
    for line in grouping_lines(grouping):
        say(line, quiet=options.quiet)
    return inputs, grouping


def grouping_lines(grouping: Grouping) -> Iterator[str]:
    """What was grouped."""
    by = ", ".join(dict.fromkeys(grouping.by.values()))
    yield one_line(f"arms by {by}:" if by != "as given" else "arms as given:")
    for arm in grouping.grouped:
        yield one_line(f"  {arm.sentence}")
    names_by_reason: dict[str, list[str]] = {}
    for run in grouping.left_out:
        names_by_reason.setdefault(run.why, []).append(run.run)
    for reason, names in names_by_reason.items():
        rest = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        yield one_line(f"  in no arm: {', '.join(names[:MOST_NAMED])}{rest} ({reason})")
