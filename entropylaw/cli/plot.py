"""``entropylaw plot``: one figure of one run, for a paper or a slide."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer

from entropylaw.cli import options
from entropylaw.errors import FitError, UsageError
from entropylaw.report.figures import FIGURES, FigureEntry, Need

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from entropylaw.documents.fit import RunFit
    from entropylaw.documents.phases import RunPhases
    from entropylaw.documents.report import RunReport
    from entropylaw.ingest.run import Run

T = TypeVar("T")

EXAMPLE = "Example:  entropylaw plot law data/lab/grpo_s0/metrics.parquet -o law.pdf"

PICTURES = (".pdf", ".svg", ".png")

FAN = 12
"""Later steps at which a forecast is drawn that the source does not hold yet."""

MOST_NAMED = 8


# No log and no document holds the tokens' sums that some figures need.
_FIGURES = {entry.name: entry for entry in FIGURES if entry.needs != "tokens"}

if TYPE_CHECKING:
    Picture = str
else:
    Picture = StrEnum("Picture", {name: name for name in _FIGURES})

Source = Annotated[
    str,
    typer.Argument(metavar="SOURCE", help="A log, or a fit, report or phases document.", show_default=False),
]
Output = Annotated[
    str,
    typer.Option(
        "-o", "--output", metavar="FILE", help="Write here; the suffix (.pdf .svg .png) decides the format."
    ),
]
RunName = Annotated[
    str | None, typer.Option("--run", metavar="NAME", help="Which run, where SOURCE holds several.")
]
Style = Annotated[
    str | None,
    typer.Option("--style", metavar="FILE", help="A matplotlib style file, applied on top of our style."),
]


def plot(
    figure: Annotated[
        Picture,
        typer.Argument(metavar="FIGURE", help=f"{', '.join([*_FIGURES][:-1])} or {[*_FIGURES][-1]}."),
    ],
    source: Source,
    output: Output,
    run: RunName = None,
    style: Style = None,
    quiet: options.Quiet = False,
) -> None:
    """Draw one figure of one run, 3.4 inches wide: a column of a paper."""
    from entropylaw.cli.output import say, say_missing_fonts
    from entropylaw.cli.progress import reading_shown
    from entropylaw.documents.store import write_atomically
    from entropylaw.report import plotting
    from entropylaw.report.printable import safe_name

    kind = kind_of(output)
    extra = plotting.read_style(style) if style is not None else None
    if style is not None and extra is not None:
        say_missing_fonts(style, extra, quiet=quiet)
    with reading_shown():
        entry = _FIGURES[figure]
        found = _phases(source, run) if entry.needs == "phases" else _fitted(source, run, entry.needs)
    with plotting.style(extra):
        drawn = _drawn(found, entry)
        content = plotting.figure_bytes(drawn, kind, f"{safe_name(found.run, set())}-{entry.name}")
    write_atomically(output, content)
    say(f"wrote {output}", quiet=quiet)


plot.__doc__ = f"{plot.__doc__}\n\n" + " ".join(f"{name}: {entry.about}." for name, entry in _FIGURES.items())


def kind_of(output: str) -> Any:
    """The kind of picture that a file's suffix stands for.

    Raises
    ------
    UsageError
        ``unknown-suffix``.
    """
    suffix = Path(output).suffix.lower()
    if suffix not in PICTURES:
        raise UsageError(
            "unknown-suffix",
            f"-o {output} has suffix {suffix or '(none)'!r}, expected one of {', '.join(PICTURES)}",
            "the suffix decides the format; rename the file",
        )
    return suffix.removeprefix(".")


def _drawn(found: RunReport | RunPhases, figure: FigureEntry) -> Figure:
    """The figure, or why the run has none."""
    entry = found.fit if hasattr(found, "fit") else found
    if entry.refusal is not None:
        _nothing(found.run, figure.name, entry.refusal.message, entry.refusal.hint)
    try:
        return figure.draw(entry if figure.needs == "law" else found)
    except ValueError as error:
        _nothing(found.run, figure.name, str(error), "wait for more evaluations, or draw another figure")


def _nothing(run: str, figure: str, why: str, hint: str) -> NoReturn:
    raise FitError("nothing-to-draw", f"{run} has no figure of its {figure}: {why}", hint)


def _fitted(source: str, name: str | None, needs: Need) -> RunReport:
    """The run's law, with its forecast where that is what will be drawn."""
    from entropylaw.documents.fit import load_fit
    from entropylaw.documents.report import RunReport, load_report
    from entropylaw.workflow import default_settings, fit_or_refuse

    kind = _document_kind(source)
    if kind == "phases":
        raise _not_there(source, "phases document", "law", "the log, or what `entropylaw fit` wrote")
    if kind == "report":
        return _chosen(load_report(source).runs, name, source)
    if kind:
        entry = _chosen(load_fit(source).runs, name, source)
    else:
        run = _chosen(_read(source), name, source, lambda run: run.name)
        entry = fit_or_refuse(run, default_settings())
    return _ahead(entry) if needs == "forecast" else RunReport(fit=entry)


def _ahead(entry: RunFit) -> RunReport:
    """The forecast of a report at more steps, so that its fan is smooth."""
    from dataclasses import replace

    import numpy as np

    from entropylaw.analysis.forecast import forecast
    from entropylaw.reporting import AHEAD, run_report

    report = run_report(entry)
    law = entry.law
    if law is None or report.forecast is None:
        return report
    last, reach = float(law.step[-1]), max(AHEAD) * float(law.step[-1] - law.step[0])
    later = np.linspace(last, last + reach, FAN + 1)[1:]
    whole = np.unique(np.ceil(later)) if (law.step % 1 == 0).all() else later
    told = forecast(law.step, law.entropy, law.reward, at_step=whole, level=law.level, run=law.run)
    return replace(report, forecast=told)


def _phases(source: str, name: str | None) -> RunPhases:
    """The run's phases."""
    from entropylaw.documents.phases import PhaseSettings, load_phases
    from entropylaw.documents.report import load_report
    from entropylaw.ingest.phasecolumns import candidates
    from entropylaw.reporting import phases_of

    kind = _document_kind(source)
    if kind == "phases":
        return _chosen(load_phases(source).runs, name, source)
    if kind == "report":
        report = _chosen(load_report(source).runs, name, source)
        if report.phases is None:
            why = "the log had no entropies of planning or execution tokens"
            _nothing(report.run, "phases", why, "`entropylaw tokens` makes them of token-level logs")
        return report.phases
    if kind:
        raise _not_there(source, f"{kind} document", "phases", "the log, or what `entropylaw phases` wrote")
    run = _chosen(_read(source, candidates()), name, source, lambda run: run.name)
    return phases_of(run, PhaseSettings(level=0.95))[0]


def _document_kind(source: str) -> str:
    """``fit``, ``report``, ``phases`` or another kind of document of ours; empty for a log."""
    from entropylaw.documents.finding import find_document

    document = find_document(source)
    return "" if document is None else document.kind or "fit"


def _read(source: str, columns: Sequence[str] = ()) -> Sequence[Run]:
    """The runs of a log; where there is none, the reason is raised."""
    from entropylaw.workflow import read_logs

    reading = read_logs([source], step=None, run=None, columns=list(columns))
    if not reading.runs:
        for failure in reading.failures:
            raise failure.error
    return reading.runs


def _chosen(
    runs: Sequence[T],
    name: str | None,
    source: str,
    called: Callable[[T], str] = lambda run: run.run,  # type: ignore[attr-defined]
) -> T:
    """The run of that name, or the only one."""
    names = [called(run) for run in runs]
    if name is None and len(runs) == 1:
        return runs[0]
    if name in names:
        return runs[names.index(name)]
    there = ", ".join(names[:MOST_NAMED]) + (
        f" and {len(names) - MOST_NAMED} more" if names[MOST_NAMED:] else ""
    )
    if name is None:
        raise UsageError(
            "which-run",
            f"{source} holds {len(names)} runs, and a figure shows one: {there}",
            "add --run NAME",
        )
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]}?" if near else "give one of these names, as it is written there"
    raise UsageError("unknown-run", f"{source} holds no run {name!r}, but {there}", hint)


def _not_there(source: str, what: str, missing: str, give: str) -> UsageError:
    return UsageError(
        "figure-not-in-source", f"{source} is a {what}, which holds no {missing}", f"give {give}"
    )
