"""The figures, one entry each.

What has an entry in :data:`FIGURES` is drawn for every run that has what it needs: on its page, in the
Markdown, as files beside the pages, and by the command line. Nothing heavy is imported before it is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from entropylaw.documents.report import RunReport
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
    needs
        What it is made from: a key of :func:`parts`.
    maker
        ``module:function`` of this package, from that part to the figure. It raises ValueError with the
        reason where the part is not enough.
    about
        What it shows, for a list of the figures.
    label
        What it is called where it stands as a link.
    title
        Its title on a page, before the name of the run.
    section
        The section of a page that it stands in; None where a page has no room for it.
    caption
        The sentence below it on a page; it may be markup.
    described
        What those who do not see it hear; by default the caption, after the number of evaluations.
    """

    name: str
    needs: Need
    maker: str
    about: str
    label: str
    title: str
    section: Literal["law", "forecast", "phases", "tokens", "trust"] | None
    caption: Callable[[RunReport], str]
    described: Callable[[RunReport], str | None] = lambda _: None

    def draw(self, part: Any) -> Figure:
        """The figure of a run's part.

        Raises
        ------
        ValueError
            There is nothing to draw; the message says why.
        """
        module, _, function = self.maker.partition(":")
        figure: Figure = getattr(import_module(f"entropylaw.report.{module}"), function)(part)
        return figure

    def description(self, report: RunReport) -> str:
        """What those who do not see the figure hear of it."""
        law, words = report.fit.law, self.described(report)
        return words or (f"{law.n} evaluations over the steps. " if law else "") + self.caption(report)


def _law_caption(report: RunReport) -> str:
    from markupsafe import Markup

    from entropylaw.report.html import typeset
    from entropylaw.report.numbers import format_percent
    from entropylaw.report.words import run_headline

    run, law = report.fit, report.fit.law
    assert law is not None
    kind = run.reward_column.meaning.kind if run.reward_column else None
    words = Markup(
        "{} against entropy.\n"
        "Points are evaluations, coloured by step. The thick line is the law with the {} band of its mean "
        "(darker) and of a new evaluation (lighter); dashed lines are its rivals, with their weights.\n"
        "The square is the ceiling at H = 0, the diamond the run now, each with its interval."
    ).format(f"{kind} reward".capitalize() if kind else "Reward", typeset(format_percent(law.level)))
    return words + ("" if law.validity.ok else Markup(" <strong>{}</strong>").format(run_headline(run)))


def _law_described(report: RunReport) -> str:
    from entropylaw.report.reportwords import opening

    return " ".join(opening(report))


def _phases_described(report: RunReport) -> str | None:
    from entropylaw.report.reportwords import phases_sentence

    return phases_sentence(report.phases) if report.phases and report.phases.phases else None


FIGURES = (
    FigureEntry(
        name="law",
        needs="law",
        maker="law_figure:law_figure",
        about="reward against entropy",
        label="the law",
        title="The law on",
        section="law",
        caption=_law_caption,
        described=_law_described,
    ),
    FigureEntry(
        name="series",
        needs="law",
        maker="series_figure:series_figure",
        about="both over the steps",
        label="entropy and reward",
        title="Entropy and reward of",
        section=None,
        caption=lambda _: "Entropy and reward over the steps, with the law's reward.",
    ),
    FigureEntry(
        name="residuals",
        needs="law",
        maker="series_figure:residual_figure",
        about="what the law leaves over",
        label="residuals",
        title="Residuals of",
        section="trust",
        caption=lambda _: "What the law leaves over, between ±1 standard deviation.",
    ),
    FigureEntry(
        name="forecast",
        needs="forecast",
        maker="forecast_figure:forecast_figure",
        about="where both go from here",
        label="forecast",
        title="Forecast of",
        section="forecast",
        caption=lambda _: "The reward and the entropy so far, and their forecasts with their bands.",
    ),
    FigureEntry(
        name="phases",
        needs="phases",
        maker="phase_figure:phase_figure",
        about="entropies of planning and execution, and where their boundaries may be",
        label="phases",
        title="Phases of",
        section="phases",
        caption=lambda _: (
            "The curves with their bands, one smooth decay dashed, and below where each boundary may be."
        ),
        described=_phases_described,
    ),
    FigureEntry(
        name="tokens",
        needs="tokens",
        maker="token_figure:token_figure",
        about="a heat map of the tokens' entropies",
        label="entropy of the tokens",
        title="Entropy of the tokens of",
        section="tokens",
        caption=lambda _: (
            "Entropy of the tokens at every step: how many lie where, and what the highest fifth holds."
        ),
    ),
)
"""In the order in which they are listed, drawn and linked."""


def parts(report: RunReport, tokens: TokenHistogram | None = None) -> dict[Need, Any]:
    """What figures of a run can be made from."""
    found: dict[Need, Any] = {}
    if report.fit.law is not None:
        found["law"] = report.fit
        if report.forecast is not None or report.spending is not None:
            found["forecast"] = report
    if report.phases is not None and report.phases.phases is not None:
        found["phases"] = report.phases
    if tokens is not None:
        found["tokens"] = tokens
    return found
