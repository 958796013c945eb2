"""The colours of figures and pages, and SVG as part of a page.

A colour has one name, on white paper and on a dark card.

Blue, vermilion and green are Okabe and Ito's; brown and purple differ from them in lightness too. On the
dark card they are lighter, so that a figure in a page follows the reader's setting. Some colours of lines are
too light for letters: ``…-text`` is the same for words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from html import escape
from typing import NamedTuple


class Colour(NamedTuple):
    """A colour on white, and on the dark card."""

    light: str
    dark: str


PALETTE: dict[str, Colour] = {
    # The page.
    "paper": Colour("#fdfdfc", "#14171a"),
    "card": Colour("#ffffff", "#1b1f23"),
    "ink": Colour("#1b1f24", "#e6e8ea"),
    "muted": Colour("#59636e", "#9aa4ae"),
    "line": Colour("#e3e6e9", "#2e343a"),
    "shade": Colour("#c3c9cf", "#4a535c"),
    "accent": Colour("#00598c", "#6cb8ea"),
    "warn": Colour("#9a3412", "#ffa382"),
    "warn-bg": Colour("#fdf1ec", "#3a2018"),
    "care": Colour("#7a5b00", "#e8c766"),
    "care-bg": Colour("#fbf5e2", "#332b14"),
    "fine": Colour("#1d6b4f", "#7fd1b0"),
    "fine-bg": Colour("#e9f5f0", "#16302a"),
    # Lines and areas of figures.
    "grid": Colour("#e9ecef", "#30363d"),
    "grey": Colour("#7d858d", "#98a1aa"),
    "blue": Colour("#0072b2", "#4aa5de"),
    "vermilion": Colour("#d55e00", "#f0803c"),
    "green": Colour("#009e73", "#2fc295"),
    "brown": Colour("#8a6d3b", "#c8a768"),
    "purple": Colour("#7b4b94", "#d2aee6"),
    # The same as words.
    "grey-text": Colour("#626a72", "#a3abb3"),
    "vermilion-text": Colour("#b04d00", "#f28d50"),
    "green-text": Colour("#007858", "#43c9a0"),
    # Points from the first step to the last: on paper the last are darkest, on the dark card brightest.
    "step-0": Colour("#bddf26", "#228b8d"),
    "step-1": Colour("#86d549", "#1f968b"),
    "step-2": Colour("#56c667", "#1fa287"),
    "step-3": Colour("#31b57b", "#27ad81"),
    "step-4": Colour("#1fa187", "#37b878"),
    "step-5": Colour("#218e8d", "#4cc26c"),
    "step-6": Colour("#297a8e", "#65cb5e"),
    "step-7": Colour("#31668e", "#81d34d"),
    "step-8": Colour("#3c508b", "#a0da39"),
    "step-9": Colour("#453882", "#c0df25"),
    "step-10": Colour("#481d6f", "#dfe318"),
    "step-11": Colour("#440154", "#fde725"),
    # The rim between a point and its neighbours.
    "ring": Colour("#ffffff", "#1b1f23"),
}
"""Name → colour on paper, colour on the dark card."""

ARM_COLOURS = ("ink", "blue", "vermilion", "green")
"""Those of the baseline, or the first arm, and of up to three others."""

LINE = 0.135
"""Inches from one small line of text in a figure to the next."""

_GLYPH = re.compile(r'<path id="(DejaVuSans[\w-]*)"[^>]*/>')
_REFERENCE = re.compile(r'href="#([^"]*)"|url\(#([^)]*)\)')

_BY_HEX = {colour.light: name for name, colour in PALETTE.items() if name != "ring"}


def themed(colour: str, *, stroke: bool = False) -> str:
    """A colour as a CSS value that follows the page, with the colour itself as the default.

    White is the card; around a point (``stroke``) it is the ring.
    """
    name = "ring" if stroke and colour == PALETTE["ring"].light else _BY_HEX.get(colour)
    return colour if name is None else f"var(--{name},{colour})"


def css() -> str:
    """The colours as custom properties; dark on screens with that setting, and never in print."""
    named = (";".join(f"--{name}:{colour[i]}" for name, colour in PALETTE.items()) for i in (0, 1))
    bright, dark = (f":root{{{colours}}}" for colours in named)
    # Points that are an image have fixed colours; inverting the lightness leaves the hues.
    dark += "figure svg image{filter:invert(1) hue-rotate(180deg)}"
    return f"{bright}\n@media screen and (prefers-color-scheme:dark){{{dark}}}\n"


def minify(svg: str) -> str:
    """The same picture without prolog, comments and extra blanks; coordinates to a hundredth of a point."""
    svg = re.sub(r"(?s)(<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->)\s*", "", svg)
    svg = re.sub(
        r'(?<=[ \n])(d|x|y|width|height)="([^"]*)"', lambda f: f'{f[1]}="{_rounded(f[2], f[1] == "d")}"', svg
    )
    return re.sub(r">\s+<", ">\n<", svg).strip() + "\n"


@lru_cache(maxsize=1024)
def _rounded(numbers: str, path: bool) -> str:
    """The numbers of an attribute to a hundredth; remembered, for the letters are the same in all figures."""
    numbers = re.sub(r"-?\d+\.\d{3,}", lambda n: f"{float(n[0]):.2f}".rstrip("0").rstrip("."), numbers)
    numbers = " ".join(numbers.split())
    if path:
        if len(numbers) > 400:
            # A tenth of a point is exact enough for a long path.
            numbers = re.sub(r"-?\d+\.\d+", lambda n: f"{float(n[0]):.1f}".removesuffix(".0"), numbers)
        numbers = re.sub(" ?([A-Za-z]) ?", r"\1", numbers).replace(" -", "-")
    return numbers


def inline(
    svg: str, prefix: str, title: str, description: str, *, letters: str = "", follow: bool = True
) -> str:
    """The output of :func:`minify` as an element of a page: unique ids, a title for screen readers.

    The shapes of letters are left out; :func:`glyphs` gives them once for the whole page, with the same
    ``letters`` before their ids. Colours ``follow`` the page's custom properties (:func:`css`), or are ours
    where it has none.
    """
    body = _GLYPH.sub("", re.sub(r"(?s)<defs>\s*<style.*?</style>\s*</defs>\s*", "", svg))
    body = re.sub(r"<defs>\s*</defs>\s*", "", body)
    used = dict.fromkeys(a or b for a, b in _REFERENCE.findall(body))
    names = {name: f"{prefix}-{i}" for i, name in enumerate(used)}

    def renamed(match: re.Match[str]) -> str:
        """A reference to a letter is kept; any other gets its short new name."""
        name = match[1] or match[2]
        return match[0] if name.startswith("DejaVuSans") else match[0].replace(f"#{name}", f"#{names[name]}")

    body = re.sub(r' id="([^"]*)"', lambda f: f' id="{names[f[1]]}"' if f[1] in names else "", body)
    body = _REFERENCE.sub(renamed, body).replace("xlink:href=", "href=")
    body = re.sub(r'style="[^"]*"', lambda f: f[0].replace("; ", ";").replace(": ", ":"), body)
    if follow:
        colour = r"(?<=[\";])(fill|stroke):(#[0-9a-f]{6})(?=[\";])"
        body = re.sub(colour, lambda f: f"{f[1]}:{themed(f[2], stroke=f[1] == 'stroke')}", body)
    body = body.replace('<use href="#DejaVuSans', f'<use href="#{letters}glyph')
    along = r'(<use href="#[^"]*glyph[^"]*") transform="translate\((-?[\d.]+) 0\)"'
    body = re.sub(along, lambda f: f'{f[1]} x="{float(f[2]):.1f}"', body)
    head, _, body = body.partition(">")
    size = re.search(r'viewBox="[\d. ]+"', head)
    view = size[0] if size else ""
    about = f'<title id="{prefix}-title">{escape(title)}</title>\n<desc id="{prefix}-desc">'
    label = f'role="img" aria-labelledby="{prefix}-title {prefix}-desc"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {view} {label}>'
    return f"{head}\n{about}{escape(description)}</desc>{body}".strip()


def glyphs(svgs: Iterable[str], letters: str = "", hidden: str = 'class="glyphs"') -> str:
    """The letters of all figures of a page, each once, in an element with the attribute ``hidden``."""
    shapes = {match[1]: match[0] for svg in svgs for match in _GLYPH.finditer(svg)}
    renamed = (shapes[name].replace(' id="DejaVuSans', f' id="{letters}glyph') for name in sorted(shapes))
    defined = "\n".join(renamed)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {hidden} aria-hidden="true">'
    return f"{head}<defs>\n{defined}\n</defs></svg>"
