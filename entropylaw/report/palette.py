"""The colours of figures and pages: one name each, on white paper and on a dark card.

Blue, vermilion and green are Okabe and Ito's; brown and purple stand apart from them in lightness too. On
the dark card they are lighter, with the same names, so that a figure inside a page follows the reader's
setting. A colour that is fine for a line can be too light for letters: ``…-text`` is the same for words.
"""

from __future__ import annotations

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
    # What parts a point from its neighbours.
    "ring": Colour("#ffffff", "#1b1f23"),
}
"""Name → colour on paper, colour on the dark card."""

_BY_HEX = {colour.light: name for name, colour in PALETTE.items() if name != "ring"}


def themed(colour: str, *, stroke: bool = False) -> str:
    """A colour of ours as a CSS value that follows the page, and is itself where the page has no say.

    White is the card; around a point (``stroke``) it is the ring.
    """
    name = "ring" if stroke and colour == PALETTE["ring"].light else _BY_HEX.get(colour)
    return colour if name is None else f"var(--{name},{colour})"


def css() -> str:
    """The colours as custom properties; dark on screens whose reader asks for it, and never in print."""
    named = (";".join(f"--{name}:{colour[i]}" for name, colour in PALETTE.items()) for i in (0, 1))
    bright, dark = (f":root{{{colours}}}" for colours in named)
    # Points that are an image have their colours in it; turning lightness over leaves the hues.
    dark += "figure svg image{filter:invert(1) hue-rotate(180deg)}"
    return f"{bright}\n@media screen and (prefers-color-scheme:dark){{{dark}}}\n"


def contrast(one: str, other: str) -> float:
    """Contrast of two colours by WCAG 2: 1 for the same, 21 for black on white."""

    def luminance(colour: str) -> float:
        parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05

    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return bright / dark
