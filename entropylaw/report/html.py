"""What every page shares: templates, filters, sentences, and figures as markup."""

from __future__ import annotations

import re
from functools import lru_cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from entropylaw.analysis.forms import FORMS, form_label
from entropylaw.report import palette, shared, words
from entropylaw.report.numbers import (
    format_estimate,
    format_interval,
    format_number,
    format_percent,
    format_share,
    format_step,
    format_weight,
    in_percent,
)
from entropylaw.report.printable import one_line
from entropylaw.report.svg import inline

_CURVE = 400
_PATH = re.compile(r'\sd="([^"]*)"')


def figure_markup(svg: str, prefix: str, title: str, description: str) -> Markup:
    """An SVG of ours as safe markup: everything from outside is escaped in :func:`inline`."""
    return Markup(compact(inline(svg, prefix, title, description)))


def compact(svg: str) -> str:
    """The same picture in fewer bytes: paths without needless blanks, long ones to a tenth of a point."""

    def shortened(found: re.Match[str]) -> str:
        path = found[1]
        if len(path) > _CURVE and "." in path:
            path = re.sub(r"-?\d+\.\d+", lambda n: f"{float(n[0]):.1f}".removesuffix(".0"), path)
        return f' d="{re.sub(r" ?([A-Za-z]) ?", chr(92) + "1", path.strip()).replace(" -", "-")}"'

    return _PATH.sub(shortened, svg)


@lru_cache
def environment() -> Environment:
    """Templates, filters and sentences that every page shares; what comes from outside is escaped."""
    made = Environment(
        loader=PackageLoader("entropylaw.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {
        "estimate": format_estimate,
        "interval": format_interval,
        "share": format_share,
        "in_percent": in_percent,
        "number": format_number,
        "percent": format_percent,
        "step": format_step,
        "weight": format_weight,
        "typeset": typeset,
        "one_line": one_line,
        "meaning": lambda choice: words.meaning(choice.meaning),
    }
    made.globals |= {
        "colours": Markup(palette.css()),
        "summary": words.summary,
        "headline": words.run_headline,
        "badge": words.badge,
        "drops": words.drops,
        "form_label": form_label,
        "law_formula": FORMS["law"].formula,
        "influence": words.influence,
        "ceiling_range": words.ceiling_range,
        "ceiling_words": words.ceiling_words,
        "law_headline": words.headline,
        "same_verdict": shared.verdict,
        "seam_words": shared.seam_words,
        "segments_title": shared.segments_title,
        "shared_cautions": shared.cautions,
        "shared_title": shared.title,
        "residual_words": words.residual_words,
        "interval_words": words.interval_words,
    }
    return made


def typeset(text: str) -> str:
    """Minus signs before numbers (exponents such as 1e-7 stay), and per cent signs that keep to theirs."""
    return re.sub(r"(?<![\w.)-])-(?=\d)", "−", text).replace(" %", "\u00a0%")
