"""The figures, one entry each.

Every entry of :data:`FIGURES` is drawn for every run that has the part it needs: on its page, in the
Markdown, as files with the pages, and by the command line. Nothing heavy is imported before it is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from entropylaw.files import write_atomically
from entropylaw.report.blocks import Block
from entropylaw.report.blocks import Figure as FigureBlock
from entropylaw.report.numbers import format_percent
from entropylaw.results import Verdict
from entropylaw.results.result import has

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from entropylaw.documents.document import RunFit, RunReport
    from entropylaw.report.figures.plotting import Kind
    from entropylaw.results.arms import ArmComparison
    from entropylaw.results.fit import Fit
    from entropylaw.results.tokens import TokenHistogram

Need = Literal["law", "forecast", "phases", "tokens", "across", "arms", "rows"]
"""The part that a figure is drawn from: a ``RunFit`` with its law, a ``RunFit`` with its forecast, a
``RunPhases``, a ``TokenHistogram``, the ``PhasesAcross`` of several runs, an
``ArmComparison``, or the rows of an index by arm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureEntry:
    """One figure.

    Attributes
    ----------
    name
        As a user types it; also the end of its files' names, and the beginning of its ids on a page.
    needs, maker
        The part, and ``module:function`` of this package from the part to the figure; it raises ValueError
        with the reason where the part is not enough.
    about, label, title, caption
        Its content, for a list of the figures; its link; its title on a page, before the name of the run;
        and the sentence below it, from the part.
    onto
        ``module:function`` that draws it on given axes, from these and the part; empty where it takes more
        than one pair of axes.
    section
        Its section of a description, where that is not named as the part that it ``needs``.
    """

    name: str
    needs: Need
    maker: str
    about: str
    label: str
    title: str
    caption: Callable[[Any], str]
    onto: str = ""
    section: str = ""

    def draw(self, part: Any) -> Figure:
        """The figure of a run's part; ValueError says why there is nothing to draw."""
        figure: Figure = _function(self.maker)(part)
        return figure

    def draw_onto(self, axes: Axes, part: Any) -> None:
        """The same on given axes, for a figure with one pair of axes."""
        _function(self.onto)(axes, part)

    def files(self, part: Any, kinds: Iterable[Kind], name: str = "") -> dict[Kind, bytes]:
        """The figure as the content of files; the ids in an SVG follow from its ``name``."""
        from entropylaw.report.figures.plotting import figure_bytes

        figure = self.draw(part)
        return {kind: figure_bytes(figure, kind, name or self.name) for kind in kinds}


def _function(path: str) -> Any:
    """A function of this package by ``module:function``."""
    module, _, name = path.partition(":")
    return getattr(import_module(f"entropylaw.report.figures.{module}"), name)


def law_caption(part: RunFit | Fit) -> str:
    """What is drawn of a law: points, the averaged line, the forms, the ceiling and the reward now."""
    from entropylaw.report.figures.law import answer_of, reward_label

    fit = answer_of(part)
    stage = " at the present stage" if fit.present_stage else ""
    marks = "The square is the ceiling at H = 0, the diamond the reward now, each with its interval."
    if fit.lost:
        marks = "The diamond is the reward now with its interval."
    if has(fit.findings, "rests-on-first"):
        marks += " The evaluations in rings are off the curve of the others."
    return (
        f"{reward_label(part).capitalize()} against entropy. Points are evaluations, coloured by step. The "
        f"thick line is averaged over the functional forms{stage}, with the {format_percent(fit.level)} "
        "interval of its mean (darker) and the prediction interval (lighter); dashed are the forms, each "
        f"with its probability P. {marks}"
    )


def series_caption(part: RunFit | Fit) -> str:
    """What is drawn over the steps."""
    from entropylaw.report.figures.law import answer_of

    law = "" if answer_of(part).verdict is Verdict.fails else ", with the law's reward"
    return f"Entropy and reward over the steps{law}."


def arms_caption(part: ArmComparison) -> str:
    """What is drawn of arms, in one pair of axes or in a panel each."""
    from entropylaw.report.figures.arms import is_overlay

    level = format_percent(part.level)
    if is_overlay(part):
        return (
            "Reward against entropy. Thin lines are runs, thick ones the means of the arms with their "
            f"{level} intervals. Below, the difference of the curves with the simultaneous band."
        )
    return (
        "Reward against entropy, a panel per arm: in grey what it is compared with, in blue its runs (thin) "
        f"and their mean with its {level} interval. Bars are the entropies at which the simultaneous band "
        "of the difference excludes 0: at the top where it is above, at the bottom where it is below."
    )


FIGURES = (
    FigureEntry(
        name="law",
        needs="law",
        maker="law:law_figure",
        about="reward against entropy",
        label="the law",
        title="The law on",
        caption=law_caption,
        onto="law:draw_on",
    ),
    FigureEntry(
        name="series",
        needs="law",
        maker="law:series_figure",
        about="both over the steps",
        label="entropy and reward",
        title="Entropy and reward of",
        caption=series_caption,
    ),
    FigureEntry(
        name="residuals",
        needs="law",
        maker="law:residual_figure",
        section="trust",
        about="residuals of the law",
        label="residuals",
        title="Residuals of",
        caption=lambda _: "Residuals of the law, with ±1 standard deviation.",
    ),
    FigureEntry(
        name="forecast",
        needs="forecast",
        maker="forecast:forecast_figure",
        about="reward and entropy ahead, and the best step so far",
        label="forecast",
        title="Forecast of",
        caption=lambda _: (
            "The reward and the entropy so far, the best step (diamond), and both ahead with their intervals."
        ),
        onto="forecast:draw_on",
    ),
    FigureEntry(
        name="phases",
        needs="phases",
        maker="phases:phase_figure",
        about="entropies of planning and execution, and their turning points",
        label="phases",
        title="Phases of",
        caption=lambda _: (
            "The curves with their intervals, and below the turning point of each that turns to rise, or the "
            "rise that would have been detected."
        ),
        onto="phases:draw_on",
    ),
    FigureEntry(
        name="tokens",
        needs="tokens",
        maker="phases:token_figure",
        about="a heat map of the tokens' entropies",
        label="entropy of the tokens",
        title="Entropy of the tokens of",
        caption=lambda _: (
            "Entropy of the tokens at every step: their distribution, and the share of the highest fifth."
        ),
    ),
    FigureEntry(
        name="turns",
        needs="across",
        maker="phases:turns_figure",
        about="turning points of several runs",
        label="turning points",
        title="Turning points of",
        caption=lambda _: (
            "The turning points of planning and execution in the runs where one turns to rise, with their "
            "intervals, as shares of each run."
        ),
    ),
    FigureEntry(
        name="ceilings",
        needs="rows",
        maker="ceilings:ceilings_figure",
        about="ceilings of several runs",
        label="ceilings",
        title="Ceilings:",
        caption=lambda _: (
            "The ceilings of the runs, those of an arm below one another: the dot is the reward at H = 0, "
            "the line its interval, and the vertical bar the reward now; an arrow marks a value beyond the "
            "axis."
        ),
    ),
    FigureEntry(
        name="arms",
        needs="arms",
        maker="arms:arms_figure",
        about="reward against entropy of the arms",
        label="the arms",
        title="Arms:",
        caption=arms_caption,
        onto="arms:draw_on",
    ),
    FigureEntry(
        name="differences",
        needs="arms",
        maker="differences:differences_figure",
        about="differences of the arms with their intervals",
        label="differences",
        title="Differences:",
        caption=lambda part: (
            "Differences of the arms with their intervals: reward at equal entropy; final reward (squares) "
            "and its parts, movement along the curve and a shift of the curve; and the ceiling. The shaded "
            f"band is the margin of ±{part.margin:g}, filled squares are decided, and arrows are beyond the "
            "axes."
        ),
    ),
)
"""In the order in which they are listed, drawn and linked."""

NAMED = {entry.name: entry for entry in FIGURES}


def figures_of(section: str, part: Any, described: str = "") -> list[Block]:
    """The figures of a section of a description, drawn from a part; ``described`` as in a block."""
    names = [entry.name for entry in FIGURES if (entry.section or entry.needs) == section]
    return [FigureBlock(name, part, "" if i else described) for i, name in enumerate(names)]


def drawn(blocks: Iterable[Block], name: str = "") -> dict[str, str]:
    """The figures of a description that have something to draw, as SVG by name."""
    from entropylaw.report.figures.plotting import style

    svgs = {}
    with style():
        for block in blocks:
            if isinstance(block, FigureBlock):
                # The maker raises where the part is not enough.
                with suppress(ValueError):
                    svgs[block.name] = NAMED[block.name].files(block.part, ["svg"], name)["svg"].decode()
    return svgs


def write(
    parts: Mapping[Need, Any],
    target: str,
    picture: str = "",
    stem: str = "",
    extra: Mapping[str, Any] | None = None,
) -> Iterator[str]:
    """Write the figures of some parts into a folder, or the first as one ``picture`` of that kind.

    The files in a folder are called ``STEM-NAME.svg`` and ``STEM-NAME.png``; ``extra`` is a style of the
    user. Yields the paths. Raises ValueError: the picture has nothing to draw.
    """
    from entropylaw.report.figures.plotting import style

    kinds: tuple[Any, ...] = (picture,) if picture else ("svg", "png")
    entries = [entry for entry in FIGURES if entry.needs in parts]
    for entry in entries[:1] if picture else entries:
        name = f"{stem}-{entry.name}" if stem else entry.name
        try:
            with style(extra):
                contents = entry.files(parts[entry.needs], kinds, name)
        except ValueError:
            if picture:
                raise
            continue
        for kind, content in contents.items():
            path = target if picture else str(Path(target) / f"{name}.{kind}")
            write_atomically(path, content)
            yield path


def parts(report: RunReport, tokens: TokenHistogram | None = None) -> dict[Need, Any]:
    """The parts of a run that figures can be drawn from."""
    law, phases = report.fit.law, report.phases
    has_forecast = getattr(report.fit.answer, "forecast", None) is not None
    drawable: dict[Need, Any] = {
        "law": report.fit if law is not None else None,
        "forecast": report.fit if has_forecast else None,
        "phases": phases if phases is not None and phases.phases is not None else None,
        "tokens": tokens,
    }
    return {need: result for need, result in drawable.items() if result is not None}
