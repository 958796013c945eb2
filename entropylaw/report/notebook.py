"""Results in a notebook: pictures on axes of the user's, and small HTML tables with the verdict first.

Nothing here is imported before a result is looked at. The HTML has no script, no address and no style sheet;
names from logs are text in it, whatever they hold.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from entropylaw.documents.fit import FitDocument
from entropylaw.documents.phases import COLUMNS, RunPhases
from entropylaw.report.numbers import (
    count,
    format_estimate,
    format_interval,
    format_number,
    format_percent,
    format_step,
    format_weight,
)
from entropylaw.results.forecast import Forecast, SaturationForecast
from entropylaw.results.law import LawFit
from entropylaw.results.phases import PhaseFit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_RUNS = 50
"""Rows of a document's table; the rest are counted below it."""

MOST_FIGURES = 4
"""With more runs a document is shown without figures."""


def plot_law(law: LawFit, ax: Axes | None = None) -> Axes:
    """Draw the law, its bands, its rivals, the ceiling and where the run stands; returns the axes."""
    from entropylaw.report import law_figure, plotting, words

    axes = _axes(ax)
    law_figure.draw_on(axes, law, "reward")
    if not law.validity.ok:
        title = words.headline(law).removesuffix(".")
        axes.set_title(title, loc="left", color=plotting.WARNING, fontweight="bold", fontsize=8)
    return axes


def plot_phases(found: PhaseFit, ax: Axes | None = None) -> Axes:
    """Draw the curves, the smooth decays and the boundaries; returns the axes."""
    from entropylaw.report.phase_figure import draw_on

    draw_on(axes := _axes(ax), _run_phases(found))
    return axes


def plot_forecast(told: Forecast, ax: Axes | None = None) -> Axes:
    """Draw the fan of the reward over the later steps; returns the axes."""
    from entropylaw.report.forecast_figure import draw_on

    draw_on(axes := _axes(ax), told)
    return axes


def plot_saturation(told: SaturationForecast, ax: Axes | None = None) -> Axes:
    """Mark the step at which the entropy is spent, with its interval; returns the axes."""
    from entropylaw.report.forecast_figure import mark_spent

    mark_spent(axes := _axes(ax), told)
    return axes


def law_html(law: LawFit) -> str:
    """The verdict, the numbers with their intervals, what speaks against them, the figure."""
    from entropylaw.report import law_figure, words

    named = (("a", law.a), ("b", law.b), ("ceiling", law.ceiling), ("reward now", law.reward_now))
    return _html(
        name=law.run,
        headline=words.headline(law),
        ok=law.validity.ok,
        checks=words.labelled_checks(law),
        head=("", "value", f"{format_percent(law.level)} interval"),
        rows=[(label, *_cells(number)) for label, number in (*named, ("headroom", law.headroom))],
        foot=[
            f"{law.n} evaluations, steps {format_step(law.step[0])} to {format_step(law.step[-1])}",
            f"intervals: {law.ceiling.method}",
        ],
        figures=[_svg(lambda: law_figure.draw(law, "reward"))],
    )


def phases_html(found: PhaseFit) -> str:
    """The verdict, the curves in numbers, what may look like a boundary and is none, the figure."""
    from entropylaw.report import phasewords
    from entropylaw.report.phase_figure import phase_figure

    run = _run_phases(found)
    curves = phasewords.curves_of(run)
    rows = [(label, *cells) for label, cells in phasewords.table_rows(curves)] if curves else []
    return _html(
        name=found.run,
        headline=phasewords.headline(run) if curves else "no curve was fitted",
        ok=bool(curves),
        checks=[("caution", text) for text in found.cautions],
        head=("", *(name for _, name in curves)),
        rows=rows,
        foot=list(found.notes),
        figures=[_svg(lambda: phase_figure(run))] if curves else [],
    )


def forecast_html(told: Forecast) -> str:
    """What to mind, the reward at every step with its interval, who was mixed, the fan."""
    from entropylaw.report import forecast_figure, plotting

    def draw() -> Figure:
        figure = plotting.new_figure(1.7)
        forecast_figure.draw_on(plotting.add_axes(figure, left=0.56, right=0.1, bottom=0.4, top=0.08), told)
        plotting.make_room(figure)
        return figure

    members = ", ".join(f"{member.name} {format_weight(member.weight)}" for member in told.members[:4])
    entropies = told.entropy or (None,) * len(told.step)
    now = f"step {format_step(told.last_step)}, where the reward is {format_interval(told.reward_now)}"
    return _html(
        name=told.run,
        headline=f"Forecast from {now}",
        ok=None,
        checks=[("caution", text) for text in told.notes],
        head=("step", "reward", f"{format_percent(told.level)} interval", "entropy (nats)"),
        rows=[
            (format_step(step), *_cells(reward), _entropy(entropy) + (", extrapolated" if outside else ""))
            for step, reward, entropy, outside in zip(
                told.step, told.reward, entropies, told.extrapolated, strict=True
            )
        ],
        foot=[f"weights: {members}", f"{told.n} points fitted; a new evaluation, {told.reward[0].method}"],
        figures=[_svg(draw)],
    )


def document_html(document: FitDocument) -> str:
    """Every run with its verdict, ceiling and headroom; figures where the runs are few."""
    from entropylaw.report import law_figure, words

    shown = document.runs[:MOST_RUNS]
    left = len(document.runs) - len(shown)
    few = document.fitted if len(document.runs) <= MOST_FIGURES else ()
    valid = sum(law.validity.ok for law in document.fitted)
    of = f"{valid} of the {len(document.fitted)} fitted"
    return _html(
        name="",
        headline=f"{count(len(document.runs), 'run')}; the law holds in {of}",
        ok=valid == len(document.runs),
        checks=[("warning", text) for text in document.warnings],
        head=("run", "verdict", "ceiling", "headroom"),
        rows=[
            (run.run, words.badge(run), format_interval(run.law.ceiling), format_interval(run.law.headroom))
            if run.law is not None
            else (run.run, words.badge(run), run.refusal.message if run.refusal else "refused", "")
            for run in shown
        ],
        foot=[f"and {count(left, 'run')} more"] if left else [],
        figures=[_svg(lambda law=law: law_figure.draw(law, "reward")) for law in few],  # type: ignore[misc]
    )


def _cells(estimate: Any) -> tuple[str, str]:
    text = format_estimate(estimate)
    return text.value, text.interval + (f" ({estimate.note})" if estimate.note else "")


def _entropy(estimate: Any) -> str:
    if estimate is None:
        return "—"
    return f"{format_number(estimate.value)}, given" if estimate.low is None else format_interval(estimate)


def _run_phases(found: PhaseFit) -> RunPhases:
    """Phases without a log behind them, for the renderers."""
    empty: dict[str, Any] = dict.fromkeys((*COLUMNS, "refusal")) | {"path": "", "notes": (), "findings": ()}
    return RunPhases(run=found.run, dropped=found.dropped, phases=found, **empty)


def _axes(ax: Axes | None) -> Axes:
    """The axes given, or new ones of pyplot's, so that a notebook shows them."""
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(5.0, 3.4), layout="constrained")[1]


def _svg(make: Callable[[], Figure]) -> str:
    """A figure as an element of the notebook's page, in colours of its own: it stands on white."""
    from entropylaw.report import plotting, svg

    with plotting.style():
        drawn = plotting.figure_bytes(make(), "svg", "notebook").decode("utf-8")
    prefix = f"entropylaw-{sha256(drawn.encode()).hexdigest()[:10]}"
    letters = svg.glyphs([drawn]).replace('class="glyphs"', 'style="position:absolute;width:0;height:0"')
    return letters + svg.inline(drawn, prefix, "Figure", "The numbers are in the table above.", follow=False)


def _html(*, figures: list[str], **texts: Any) -> str:
    """The table of a result; every text in it is escaped."""
    from markupsafe import Markup

    from entropylaw.report.html import environment

    drawn = [Markup(figure) for figure in figures]
    page = environment().get_template("notebook.html.j2").render(figures=drawn, **texts)
    return page.removesuffix("\n")
