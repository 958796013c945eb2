"""One self-contained HTML page: no script, no outside address, figures inside."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from entropylaw.documents.fit import FitDocument, RunFit
from entropylaw.ingest.run import Choice
from entropylaw.report import words
from entropylaw.report.numbers import (
    format_estimate,
    format_interval,
    format_number,
    format_percent,
    format_step,
    format_weight,
)
from entropylaw.report.printable import one_line
from entropylaw.report.slugs import run_slugs
from entropylaw.report.svg import glyphs, inline

MOST_FULL_RUNS = 12
"""With more runs than this the page shows the law figure of each, and the others stay in their files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureSet:
    """The figures of a run as SVG text."""

    law: str
    series: str
    residuals: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _RunView:
    """What the template needs of a run besides the run itself."""

    run: RunFit
    slug: str
    name: str
    law_figure: Markup | None
    series_figure: Markup | None
    residual_figure: Markup | None


def render(document: FitDocument, figures: Mapping[str, FigureSet]) -> str:
    """The page.

    ``figures`` maps the slug of each fitted run (:func:`~entropylaw.report.slugs.run_slugs`) to its SVGs.
    """
    slugs = run_slugs(document)
    full = len(document.runs) <= MOST_FULL_RUNS
    views = [
        _view(f"r{i}", run, slug, figures.get(slug), full)
        for i, (run, slug) in enumerate(zip(document.runs, slugs, strict=True), start=1)
    ]
    shown = [svg for slug in slugs if slug in figures for svg in _shown(figures[slug], full)]
    page = _environment().get_template("report.html.j2")
    return page.render(document=document, views=views, full=full, glyphs=Markup(glyphs(shown)))


def _shown(figures: FigureSet, full: bool) -> list[str]:
    return [figures.law, figures.series, figures.residuals] if full else [figures.law]


def _view(prefix: str, run: RunFit, slug: str, figures: FigureSet | None, full: bool) -> _RunView:
    name = one_line(run.run)
    law = series = residuals = None
    if figures is not None and run.law is not None:
        law = _figure(figures.law, f"{prefix}-law", f"The law on {name}", " ".join(words.summary(run)))
    if figures is not None and run.law is not None and full:
        steps = f"{run.law.n} evaluations over the steps"
        series = _figure(figures.series, f"{prefix}-series", f"Entropy and reward of {name}", steps)
        left = f"Reward minus the law, {steps}"
        residuals = _figure(figures.residuals, f"{prefix}-residuals", f"Residuals of {name}", left)
    return _RunView(
        run=run, slug=slug, name=name, law_figure=law, series_figure=series, residual_figure=residuals
    )


def _figure(svg: str, prefix: str, title: str, description: str) -> Markup:
    """An SVG of ours as safe markup: everything from outside is escaped in :func:`inline`."""
    return Markup(inline(svg, prefix, title, description))


@lru_cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("entropylaw.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "estimate": format_estimate,
        "interval": format_interval,
        "number": format_number,
        "percent": format_percent,
        "step": format_step,
        "weight": format_weight,
        "typeset": _typeset,
        "one_line": one_line,
        "meaning": _meaning,
    }
    environment.globals |= {
        "summary": words.summary,
        "headline": words.run_headline,
        "badge": words.badge,
        "drops": words.drops,
        "form_name": words.form_name,
        "influence": words.influence,
        "ceiling_words": words.ceiling_words,
        "residual_words": words.residual_words,
        "interval_words": words.interval_words,
    }
    return environment


def _typeset(text: str) -> str:
    """Minus signs before numbers (exponents such as 1e-7 stay), and per cent signs that keep to theirs."""
    return re.sub(r"(?<![\w.)-])-(?=\d)", "−", text).replace(" %", "\u00a0%")


def _meaning(choice: Choice) -> str:
    return words.meaning(choice.meaning)
