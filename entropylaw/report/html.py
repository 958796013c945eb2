"""What every page shares: templates, filters, sentences, and figures as markup."""

from __future__ import annotations

import re
from functools import lru_cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from entropylaw.analysis.forms import FORMS, form_label
from entropylaw.report import numbers, palette, phasewords, reportwords, shared, words
from entropylaw.report.printable import one_line

_CURVE = 400
_PATH = re.compile(r'\sd="([^"]*)"')


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
        "estimate": numbers.format_estimate,
        "interval": numbers.format_interval,
        "share": numbers.format_share,
        "in_percent": numbers.in_percent,
        "number": numbers.format_number,
        "percent": numbers.format_percent,
        "step": numbers.format_step,
        "weight": numbers.format_weight,
        "typeset": typeset,
        "one_line": one_line,
        "meaning": lambda choice: words.meaning(choice.meaning),
    }
    made.globals |= {
        "colours": Markup(palette.css()),
        "form_label": form_label,
        "law_formula": FORMS["law"].formula,
        "words": words,
        "groups": shared,
        "phasewords": phasewords,
        "reportwords": reportwords,
    }
    return made


def typeset(text: str) -> str:
    """Minus signs before numbers (exponents such as 1e-7 stay), and per cent signs that keep to theirs."""
    return re.sub(r"(?<![\w.)-])-(?=\d)", "−", text).replace(" %", "\u00a0%")
