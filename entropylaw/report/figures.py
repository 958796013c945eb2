"""The figures, one entry each.

What has an entry in :data:`FIGURES` is drawn for every run that has what it needs: on its page, in the
Markdown, as files beside the pages, and by the command line. Nothing heavy is imported before it is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from entropylaw.report.blocks import Block
from entropylaw.report.blocks import Figure as FigureBlock

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from entropylaw.documents.fit import RunFit
    from entropylaw.documents.report import RunReport
    from entropylaw.results.law import LawFit
    from entropylaw.results.tokens import TokenHistogram

Need = Literal["law", "forecast", "phases", "tokens"]
"""The part of a run that a figure is made from: a ``RunFit`` with its law, a ``RunReport`` with its forecast,
a ``RunPhases``, or a ``TokenHistogram``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureEntry:
    """One figure.

    Attributes
    ----------
    name
        As a user types it; the end of its files' names, and the beginning of its ids on a page.
    needs, maker
        What it is made from, and ``module:function`` of this package, from that to the figure; it raises
        ValueError with the reason where the part is not enough.
    about, label, title, caption
        What it shows, for a list of the figures; as a link; as a title on a page, before the name of the
        run; and the sentence below it, from the part.
    onto
        ``module:function`` that draws it on axes of anybody's, from the axes and the part; empty where it
        takes more than one pair of axes.
    section
        The section of a description that it stands in, where that is not the one of what it ``needs``.
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
        module, _, function = self.maker.partition(":")
        figure: Figure = getattr(import_module(f"entropylaw.report.{module}"), function)(part)
        return figure


def _law_caption(part: RunFit | LawFit) -> str:
    from entropylaw.report.law_figure import law_of, reward_label
    from entropylaw.report.numbers import format_percent
    from entropylaw.report.words import headline

    law = law_of(part)
    reward, level = reward_label(part).capitalize(), format_percent(law.level)
    caption = (
        f"{reward} against entropy. Points are evaluations, coloured by step. The thick line is the law with "
        f"the {level} band of its mean (darker) and of a new evaluation (lighter); dashed lines are its "
        "rivals, with their probabilities. The square is the ceiling at H = 0, the diamond the run now, each "
        "with its interval."
    )
    return caption if law.validity.ok else f"{caption} {headline(law)}"


FIGURES = (
    FigureEntry(
        name="law",
        needs="law",
        maker="law_figure:law_figure",
        about="reward against entropy",
        label="the law",
        title="The law on",
        caption=_law_caption,
        onto="law_figure:draw_on",
    ),
    FigureEntry(
        name="series",
        needs="law",
        maker="law_figure:series_figure",
        about="both over the steps",
        label="entropy and reward",
        title="Entropy and reward of",
        caption=lambda _: "Entropy and reward over the steps, with the law's reward.",
    ),
    FigureEntry(
        name="residuals",
        needs="law",
        maker="law_figure:residual_figure",
        section="trust",
        about="what the law leaves over",
        label="residuals",
        title="Residuals of",
        caption=lambda _: "What the law leaves over, between ±1 standard deviation.",
    ),
    FigureEntry(
        name="forecast",
        needs="forecast",
        maker="forecast_figure:forecast_figure",
        about="where both go from here",
        label="forecast",
        title="Forecast of",
        caption=lambda _: "The reward and the entropy so far, and their forecasts with their bands.",
        onto="forecast_figure:draw_on",
    ),
    FigureEntry(
        name="phases",
        needs="phases",
        maker="phase_figure:phase_figure",
        about="entropies of planning and execution, and where their boundaries may be",
        label="phases",
        title="Phases of",
        caption=lambda _: (
            "The curves with their bands, one smooth decay dashed, and below where each boundary may be."
        ),
        onto="phase_figure:draw_on",
    ),
    FigureEntry(
        name="tokens",
        needs="tokens",
        maker="token_figure:token_figure",
        about="a heat map of the tokens' entropies",
        label="entropy of the tokens",
        title="Entropy of the tokens of",
        caption=lambda _: (
            "Entropy of the tokens at every step: how many lie where, and what the highest fifth holds."
        ),
    ),
)
"""In the order in which they are listed, drawn and linked."""

NAMED = {entry.name: entry for entry in FIGURES}


def figures_of(section: str, part: Any, described: str = "") -> list[Block]:
    """The figures of a section of a description, drawn from a part; ``described`` as in a block."""
    names = [entry.name for entry in FIGURES if (entry.section or entry.needs) == section]
    return [FigureBlock(name, part, "" if place else described) for place, name in enumerate(names)]


def parts(report: RunReport, tokens: TokenHistogram | None = None) -> dict[Need, Any]:
    """What figures of a run can be made from."""
    law, phases = report.fit.law, report.phases
    forecast = law is not None and (report.forecast is not None or report.spending is not None)
    found: dict[Need, Any] = {
        "law": report.fit if law is not None else None,
        "forecast": report if forecast else None,
        "phases": phases if phases is not None and phases.phases is not None else None,
        "tokens": tokens,
    }
    return {need: part for need, part in found.items() if part is not None}
