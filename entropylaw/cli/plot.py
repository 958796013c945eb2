"""``entropylaw plot``: one figure of one run, of arms or of samples, for a paper or a slide."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from entropylaw.cli.output import format_of, gather
from entropylaw.cli.plot_command import DRAWN, WIDTHS, PlotCommand
from entropylaw.cli.running import result_of
from entropylaw.cli.streams import say
from entropylaw.documents.document import Entry, RunReport
from entropylaw.documents.loading import load_document
from entropylaw.errors import FitError, UsageError
from entropylaw.escaping import listing, safe_name
from entropylaw.files import write_atomically
from entropylaw.option import part
from entropylaw.options import FitOptions, PhaseOptions
from entropylaw.pipeline.inputs import RUNS
from entropylaw.pipeline.steps import Fit, Phases
from entropylaw.report.figures import plotting
from entropylaw.report.figures.drawings import files

if TYPE_CHECKING:
    from entropylaw.pipeline.inputs import Input
    from entropylaw.results.phases import PhaseFit

MOST_NAMED = 8


def plot(options: PlotCommand) -> None:
    """Run ``entropylaw plot``."""
    output = options.output
    quiet = options.quiet
    kind: Any = format_of(output, ("pdf", "svg", "png"))
    figure = DRAWN[options.figure]
    content, run = drawn_part(options)
    width = WIDTHS.get(options.width) or float(options.width)
    with plotting.style(), plotting.layout(width, titles=options.title):
        try:
            contents = files(figure.name, content, [kind], f"{safe_name(run, set())}-{figure.name}")
        except ValueError as error:
            _nothing(run, figure.name, str(error), "wait for more evaluations, or draw another figure")
    write_atomically(output, contents[kind])
    say(f"wrote {output}", quiet=quiet)


def drawn_part(options: PlotCommand) -> tuple[Any, str]:
    """What the figure is drawn from, and the name of its run or comparison."""
    needs = DRAWN[options.figure].needs
    if needs == "arms":
        comparison = load_document("comparison", options.source).comparison
        return comparison, " ".join(arm.arm for arm in comparison.arms)
    if needs in ("samples", "samples_pair"):
        document = load_document("samples", options.source)
        name = document.tables[0].name
        if needs == "samples":
            return document, name
        if document.against is None:
            hint = "write the document with `entropylaw samples TABLES --against BASE -o FILE.json`"
            _nothing(name, options.figure, "it is of one table alone", hint)
        return document.against, name
    result = _result(options)
    entry: Any = result.fit if isinstance(result, RunReport) else result
    if entry.refusal is not None:
        _nothing(result.run, options.figure, entry.refusal.message, entry.refusal.hint)
    return entry, result.run


def _nothing(run: str, figure: str, reason: str, hint: str) -> NoReturn:
    raise FitError("nothing-to-draw", f"{run} has no figure of its {figure}: {reason}", hint)


def _result(options: PlotCommand) -> RunReport | Entry[PhaseFit]:
    """What is drawn: the run's law with its forecast, or its phases."""
    phases = DRAWN[options.figure].needs == "phases"
    # --run names the run here, and no column.
    fresh: Any = part(options, PhaseOptions if phases else FitOptions, run=None)
    fixed = options.flags_given(FitOptions, PhaseOptions)
    inputs = gather([options.source], options, fresh, kinds=(*RUNS, "phases"), fixed=fixed)
    held = [entry for entry in inputs.entries if entry.error is None]
    if not held:
        raise inputs.errors[0]
    other = "fit" if phases else "phases"
    if held[0].kind == other:
        lacking = "phases" if phases else "law"
        command = "phases" if phases else "fit"
        raise UsageError(
            "figure-not-in-source",
            f"{options.source} is a {other} document, which holds no {lacking}",
            f"give the log, or what `entropylaw {command}` wrote",
        )
    step: Any = Phases(inputs.settings) if phases else Fit(inputs.settings)
    chosen = _chosen(held, options)
    result, *others = result_of(step, [chosen])
    labels = [getattr(entry, "fit", entry).reward for entry in (result, *others)]
    if others:
        # A document is fixed: of another reward it is its log that is drawn.
        flag = "of its log --reward" if chosen.entries else "--reward"
        rest = listing(labels[1:], MOST_NAMED)
        say(f"{labels[0]} is drawn; {flag} names another: {rest}", quiet=options.quiet)
    if phases:
        return _phases(result) if isinstance(result, RunReport) else result
    return result if isinstance(result, RunReport) else RunReport(fit=result)


def _phases(report: RunReport) -> Entry[PhaseFit]:
    if report.phases is None:
        reason = "the log had no entropies of planning or execution tokens"
        _nothing(report.run, "phases", reason, "`entropylaw tokens` makes them of token-level logs")
    return report.phases


def _chosen(runs: Sequence[Input], options: PlotCommand) -> Input:
    """The run of the name that is an option, or the only one."""
    source = options.source
    name = options.run
    if name is None and len(runs) == 1:
        return runs[0]
    names = [run.name for run in runs]
    if name in names:
        return runs[names.index(name)]
    there = ", ".join(names[:MOST_NAMED])
    if names[MOST_NAMED:]:
        there += f" and {len(names) - MOST_NAMED} more"
    if name is None:
        raise UsageError(
            "which-run",
            f"{source} holds {len(names)} runs, and a figure shows one: {there}",
            "add --run NAME",
        )
    near = difflib.get_close_matches(name, names, n=1)
    raise UsageError(
        "unknown-run",
        f"{source} holds no run {name!r}, but {there}",
        f"did you mean {near[0]}?" if near else "give one of these names, as it is written there",
    )
