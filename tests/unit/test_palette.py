"""The colours: readable on paper and on the dark card, told apart by all eyes, one list for all."""

import re
from itertools import combinations

import matplotlib as mpl
import numpy as np
import pytest

from entropylaw.report.figures import palette, plotting
from tests.drawing import contrast

TEXTS = ("ink", "muted", "accent", "warn", "care", "fine", "blue", "brown", "purple")
TEXTS += tuple(name for name in palette.PALETTE if name.endswith("-text"))
LINES = ("grey", "blue", "vermilion", "green", "brown", "purple")

MACHADO = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}
"""Machado, Oliveira and Fernandes 2009, doi:10.1109/TVCG.2009.113, full severity, on linear RGB."""

XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(colour: str, eye: str) -> np.ndarray:
    """CIELAB of a colour as an eye sees it."""
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    x = XYZ @ np.clip(MACHADO[eye] @ linear, 0, 1) / np.array([0.9505, 1.0, 1.089])
    f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_contrast_is_that_of_wcag() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#ffffff", "#000000") == pytest.approx(21.0)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.005)


@pytest.mark.parametrize("side", ["light", "dark"])
@pytest.mark.parametrize("name", TEXTS)
def test_words_can_be_read(name: str, side: str) -> None:
    assert contrast(getattr(palette.PALETTE[name], side), getattr(palette.PALETTE["card"], side)) >= 4.5


@pytest.mark.parametrize("side", ["light", "dark"])
@pytest.mark.parametrize("name", LINES)
def test_lines_can_be_seen(name: str, side: str) -> None:
    assert contrast(getattr(palette.PALETTE[name], side), getattr(palette.PALETTE["card"], side)) >= 3.0


@pytest.mark.parametrize("side", ["light", "dark"])
@pytest.mark.parametrize("eye", MACHADO)
def test_lines_of_one_figure_are_told_apart(eye: str, side: str) -> None:
    for figure in (("blue", "vermilion", "green", "brown"), ("vermilion", "blue", "purple")):
        seen = {name: lab(getattr(palette.PALETTE[name], side), eye) for name in figure}
        for one, other in combinations(seen, 2):
            assert np.linalg.norm(seen[one] - seen[other]) > 10, (one, other)


def test_later_steps_stand_out_more_on_either_card() -> None:
    steps = [colour for name, colour in palette.PALETTE.items() if name.startswith("step-")]
    for side in ("light", "dark"):
        found = [contrast(getattr(colour, side), getattr(palette.PALETTE["card"], side)) for colour in steps]
        assert found == sorted(found)


@pytest.mark.parametrize(("paper", "side"), [("white", 0), ("#202020", 1), ("none", 0)])
def test_a_word_takes_the_shade_for_words_and_a_colour_that_needs_none_stays(paper: str, side: int) -> None:
    with mpl.rc_context({"figure.facecolor": paper}):
        assert plotting.colour("green", words=True) == palette.PALETTE["green-text"][side]
        assert plotting.colour("green") == palette.PALETTE["green"][side]
        assert plotting.colour("ink", words=True) == palette.PALETTE["ink"][side]


def test_the_page_s_properties_have_every_colour_on_both_sides() -> None:
    css = palette.css()
    first, dark = css.split("@media screen and (prefers-color-scheme:dark)")
    for name, colour in palette.PALETTE.items():
        assert re.search(rf"--{name}:{colour.light}[;}}]", first)
        assert re.search(rf"--{name}:{colour.dark}[;}}]", dark)
    assert css.count("{") == css.count("}")


def test_a_colour_follows_the_page_and_keeps_its_own_where_there_is_none() -> None:
    assert palette.themed("#1b1f24") == "var(--ink,#1b1f24)"
    assert palette.themed("#ffffff") == "var(--card,#ffffff)"
    assert palette.themed("#ffffff", stroke=True) == "var(--ring,#ffffff)"
    assert palette.themed("#123456") == "#123456"


def test_no_two_names_have_one_light_colour() -> None:
    shades = [colour.light for name, colour in palette.PALETTE.items() if name != "ring"]
    assert len(shades) == len(set(shades))
