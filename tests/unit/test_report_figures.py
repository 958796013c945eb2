"""The figures: the same bytes always, nothing outside the paper, text that can be read."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import combinations

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from entropylaw.documents.fit import RunFit
from entropylaw.report import figures, plotting
from tests.unit.test_report_samples import by_hand, falling, refused, run_by_hand, synthetic

MAKERS = [figures.law_figure, figures.series_figure, figures.residual_figure]
RUNS = [
    synthetic(),
    falling(),
    synthetic("few", n=6),
    synthetic("flat", h0=0.05),
    synthetic("exact", noise=1e-6),
    synthetic("many", n=2500, noise=0.03),
    run_by_hand(by_hand()),
]


def words_of(figure: Figure) -> list[Text]:
    return [text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.run)
def test_words_are_on_the_paper_large_enough_and_apart(run: RunFit, make: Callable[[RunFit], Figure]) -> None:
    figure = make(run)
    with plotting.style():
        figure.canvas.draw()
    paper = figure.bbox
    boxes = []
    ticks = {
        label for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) for label in axis.get_ticklabels()
    }
    for text in words_of(figure):
        if text in ticks:
            continue
        assert float(text.get_fontsize()) >= 7.0
        box = text.get_window_extent()
        assert box.x0 >= paper.x0 - 1, text.get_text()
        assert box.x1 <= paper.x1 + 1, text.get_text()
        assert box.y0 >= paper.y0 - 1, text.get_text()
        assert box.y1 <= paper.y1 + 1, text.get_text()
        boxes.append((text.get_text(), box.padded(-1.5)))
    for (one, a), (other, b) in combinations(boxes, 2):
        assert not a.overlaps(b), (one, other)


@pytest.mark.parametrize("make", MAKERS)
def test_column_width(make: Callable[[RunFit], Figure]) -> None:
    assert make(synthetic()).get_size_inches()[0] == 3.4


@pytest.mark.parametrize("make", MAKERS)
def test_an_invalid_law_says_so_in_the_picture(make: Callable[[RunFit], Figure]) -> None:
    def shown(run: RunFit) -> list[str]:
        return [text.get_text() for text in words_of(make(run))]

    assert "The law does not describe this run" in shown(falling())
    assert "The law does not describe this run" not in shown(synthetic())


def test_entropy_axis_includes_zero_and_the_ceiling_is_marked() -> None:
    figure = figures.law_figure(synthetic())
    (axes,) = figure.axes
    assert axes.get_xlim()[0] < 0 < axes.get_xlim()[1]
    texts = [text.get_text() for text in words_of(figure)]
    assert any(text.startswith("ceiling 0.") for text in texts)
    assert any(text.startswith("now 0.") for text in texts)
    assert {"law", "line", "rate", "constant"} <= set(texts)
    assert "entropy H (nats per token)" in texts


def test_dropped_is_told_in_the_series() -> None:
    texts = [text.get_text() for text in words_of(figures.series_figure(synthetic()))]
    assert "dropped: no reward at that step (80)" in texts


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
@pytest.mark.parametrize("run", [synthetic(), synthetic("many", n=2500, noise=0.03)], ids=lambda run: run.run)
def test_same_bytes_whatever_the_user_s_settings(kind: figures.Kind, run: RunFit) -> None:
    first = figures.figure_bytes(figures.law_figure(run), kind, "salt")
    with mpl.rc_context({"font.size": 20, "axes.facecolor": "black", "svg.fonttype": "none"}):
        before = mpl.rcParams["font.size"]
        second = figures.figure_bytes(figures.law_figure(run), kind, "salt")
        assert mpl.rcParams["font.size"] == before
    assert first == second
    assert b"atplotlib v" not in first
    assert b"Date" not in first


def test_points_of_long_runs_become_an_image() -> None:
    svg = figures.figure_bytes(figures.law_figure(synthetic("many", n=2500, noise=0.03)), "svg", "s").decode()
    assert "data:image/png" in svg
    assert len(svg) < 200_000
    assert "<image" not in figures.figure_bytes(figures.law_figure(synthetic()), "svg", "s").decode()


def test_salt_makes_ids_its_own() -> None:
    def ids(salt: str) -> set[str]:
        svg = figures.figure_bytes(figures.law_figure(synthetic()), "svg", salt).decode()
        return set(re.findall(r'<clipPath id="([^"]*)"', svg))

    assert ids("a")
    assert not ids("a") & ids("b")


def test_standalone_svg_names_no_outside_place() -> None:
    svg = figures.figure_bytes(figures.law_figure(synthetic()), "svg", "s").decode()
    assert svg.startswith("<svg ")
    assert not re.search(r"https?://", re.sub(r'xmlns(:\w+)?="[^"]*"', "", svg))


def test_refused_run_has_no_figures() -> None:
    with pytest.raises(ValueError, match="no figures"):
        figures.law_figure(refused())


def test_spread_keeps_order_and_distance() -> None:
    assert plotting.spread([0.5, 0.5, 0.9], 0.1, 0.0, 1.0) == pytest.approx([0.5, 0.6, 0.9])
    assert plotting.spread([1.0, 1.0], 0.1, 0.0, 1.0) == pytest.approx([0.9, 1.0])


def test_strange_letters_do_not_reach_the_font() -> None:
    assert plotting.shown("a\n日 $x$ é") == "a?? $x$ é"
