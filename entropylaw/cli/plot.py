"""``entropylaw plot``: one figure of one run, of arms or of samples, for a paper or a slide."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from entropylaw.cli.output import format_of, gather
from entropylaw.cli.plot_command import DRAWN, WIDTHS, PlotCommand
from entropylaw.cli.running import result_of
from entropylaw.cli.streams import say
from entropylaw.documents.document import Entry, RunReport
from entropylaw.documents.loading import load
from entropylaw.errors import FitError, UsageError
from entropylaw.escaping import listing, nearest, safe_name, shown
from entropylaw.files import write_atomically
from entropylaw.option import part
from entropylaw.options import FitOptions, PhaseOptions
from entropylaw.pipeline.steps import Fit, Phases
from entropylaw.report.figures import plotting
from entropylaw.report.figures.drawings import files

if TYPE_CHECKING:
    from entropylaw.results.fit import Fit as FitResult
    from entropylaw.results.phases import PhaseFit

# Names of runs or rewards that a message lists.
MOST_NAMED = 8

HINTS = {
    "pass_at_k": "give `entropylaw samples` tables with two samples of a problem or more",
    "distinct_right": "give `entropylaw samples` two steps or more, with a column of answers",
}
"""What to do where a figure of samples cannot be drawn."""


def plot(options: PlotCommand) -> None:
    """Run ``entropylaw plot``."""
    picture: Any = format_of(options.output, ("pdf", "svg", "png"))
    figure = DRAWN[options.figure]
    content, run = _content_and_name(options)
    width = WIDTHS.get(options.width) or float(options.width)
    with plotting.style(), plotting.layout(width, titles=options.title):
        try:
            contents = files(figure.name, content, [picture], f"{safe_name(run, set())}-{figure.name}")
        except ValueError as error:
            hint = HINTS.get(figure.name, "wait for more evaluations, or draw another figure")
            raise _nothing_to_draw(run, figure.name, str(error), hint) from None
    write_atomically(options.output, contents[picture])
    say(f"wrote {options.output}", quiet=options.quiet)


def _content_and_name(options: PlotCommand) -> tuple[Any, str]:
    """What the figure is drawn from, and the name of its run or comparison."""
    needs = DRAWN[options.figure].needs
    if needs == "arms":
        comparison = load(options.source, "comparison").comparison
        return comparison, " ".join(arm.arm for arm in comparison.arms)
    if needs in ("samples", "samples_pair"):
        document = load(options.source, "samples")
        name = document.tables[0].name
        if needs == "samples":
            return document, name
        if not document.against:
            hint = "write the document with `entropylaw samples TABLES --against BASE -o FILE.json`"
            raise _nothing_to_draw(name, options.figure, "it is of one table alone", hint)
        names = [pair.now for pair in document.against]
        return document.against[_chosen(names, options, "comparison")], name
    entry = _entry_of_run(options)
    if entry.refusal is not None:
        raise _nothing_to_draw(entry.run, options.figure, entry.refusal.message, entry.refusal.hint)
    return entry, entry.run


def _nothing_to_draw(run: str, figure: str, reason: str, hint: str) -> FitError:
    return FitError("nothing-to-draw", f"{run} has no figure of its {figure}: {reason}", hint)


def _entry_of_run(options: PlotCommand) -> Entry[FitResult] | Entry[PhaseFit]:
    """The entry of the run that is drawn: its fit, or its phases where the figure needs them.

    Raises as :func:`entropylaw.pipeline.inputs.gather`; FitError ``nothing-to-draw``; UsageError
    (``which-run``, ``unknown-run``).
    """
    needs = DRAWN[options.figure].needs
    kind, family, step = ("fit", FitOptions, Fit) if needs != "phases" else ("phases", PhaseOptions, Phases)
    # --run names the run here, and no column.
    fresh: Any = part(options, family, run=None)
    inputs = gather([options.source], options, fresh, kinds=(kind, "report", "index"))
    readable = [entry for entry in inputs.entries if entry.error is None]
    if not readable:
        raise inputs.errors[0]
    run = readable[_chosen([entry.name for entry in readable], options, "run")]
    results: list[Any] = result_of(step(inputs.settings), [run])
    # A stored report of a run holds its fit and its phases.
    fits = [result.fit if isinstance(result, RunReport) else result for result in results]
    if len(fits) > 1:
        rest = listing([entry.reward for entry in fits[1:]], MOST_NAMED)
        another = "`entropylaw fit --reward` names another"
        say(f"{fits[0].reward} is drawn; {another}: {rest}", quiet=options.quiet)
    if needs == "phases":
        phases = results[0].phases if isinstance(results[0], RunReport) else results[0]
        if phases is None:
            reason = "the log had no entropies of planning or execution tokens"
            hint = "`entropylaw tokens` makes them of token-level logs"
            raise _nothing_to_draw(fits[0].run, needs, reason, hint)
        return phases
    fit: Entry[FitResult] = fits[0]
    if needs == "law" and fit.result is not None and fit.result.no_law is not None:
        lacking = fit.result.no_law
        raise _nothing_to_draw(fit.run, needs, lacking.message, lacking.hint)
    return fit


def _chosen(names: Sequence[str], options: PlotCommand, kind: str) -> int:
    """The place of the run or comparison of the name that is an option, or of the only one.

    Raises UsageError (``which-run``, ``unknown-run``).
    """
    if options.run is None and len(names) == 1:
        return 0
    if options.run in names:
        return names.index(options.run)
    there = listing(names, MOST_NAMED)
    if options.run is None:
        raise UsageError(
            "which-run",
            f"{options.source} holds {len(names)} {kind}s, and a figure shows one: {there}",
            f"add --run NAME, such as --run {shlex.quote(names[0])}",
        )
    near = nearest([options.run], names, 1)
    raise UsageError(
        "unknown-run",
        f"{options.source} holds no {kind} {shown(options.run)}, but {there}",
        f"did you mean {near[0]}?" if near else "give one of these names, as it is written there",
    )
