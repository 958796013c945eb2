"""What is drawn of phases: words apart and on the paper, change points as distributions, the same bytes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from matplotlib.collections import FillBetweenPolyCollection
from matplotlib.text import Text

from entropylaw.report.figures import plotting
from entropylaw.report.figures.phases import phase_figure, token_figure
from entropylaw.report.figures.plotting import figure_bytes
from entropylaw.results.columns import TokenHistogram
from entropylaw.results.result import replace
from entropylaw.tokens.query import EDGES
from tests.findings import stated
from tests.unit.test_phase_report import NAMES, RUNS, curve, fit, neither, ordered, refused, run_of


def drawn_words(figure):
    with plotting.style():
        figure.canvas.draw()
    labels = {
        label for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) for label in axis.get_ticklabels()
    }
    return [t for t in figure.findobj(Text) if t.get_text().strip() and t.get_visible() and t not in labels]


def histogram(steps: int = 120) -> TokenHistogram:
    edges = np.append(EDGES[:-1:6], EDGES[-1])
    step = np.arange(float(steps)) * 5
    middle = 0.5 * (edges[1:] + edges[:-1])
    share = np.exp(-middle / (0.05 + np.exp(-np.arange(steps) / 40))[:, None])
    share /= share.sum(axis=1, keepdims=True)
    falls = np.linspace(0.5, 0.8, steps)
    return TokenHistogram(step=step, edges=edges, share=share, top20=falls, low=falls[::-1] / 2)


FIGURES = {
    **{name: lambda run=run: phase_figure(run) for name, run in zip(NAMES, RUNS, strict=True)},
    "tokens": lambda: token_figure(histogram()),
    "tokens of one step": lambda: token_figure(histogram(1)),
}


@pytest.mark.parametrize("name", FIGURES)
def test_words_are_on_the_paper_large_enough_and_apart(name):
    figure = FIGURES[name]()
    assert figure.get_size_inches()[0] == plotting.WIDTH
    words = drawn_words(figure)
    boxes = [(word.get_text(), word.get_window_extent()) for word in words]
    for word, (text, box) in zip(words, boxes, strict=True):
        assert float(word.get_fontsize()) >= 7.0
        assert figure.bbox.x0 - 1 <= box.x0, text
        assert box.x1 <= figure.bbox.x1 + 1, text
        assert figure.bbox.y0 - 1 <= box.y0, text
        assert box.y1 <= figure.bbox.y1 + 1, text
    for (one, a), (other, b) in combinations(boxes, 2):
        assert not a.padded(-1.5).overlaps(b.padded(-1.5)), (one, other)


@pytest.mark.parametrize("name", FIGURES)
def test_the_same_bytes(name):
    for kind in ("svg", "png", "pdf"):
        assert figure_bytes(FIGURES[name](), kind, "x") == figure_bytes(FIGURES[name](), kind, "x")


def test_the_title_is_the_verdict():
    words = " ".join(word.get_text() for word in drawn_words(phase_figure(ordered())))
    assert "execution first: execution turns to rise" in words
    assert words.count("no change point") == 0
    none = " ".join(word.get_text() for word in drawn_words(phase_figure(neither())))
    assert none.count("no change point (") == 2


def test_the_boundary_is_a_distribution_and_only_where_one_was_found():
    found = phase_figure(ordered())
    # Curves, the same less the decay, and a strip a curve.
    assert len(found.axes) == 4
    filled = [
        c for axes in found.axes[2:] for c in axes.collections if isinstance(c, FillBetweenPolyCollection)
    ]
    peaks = []
    for shape in filled:
        corners = shape.get_paths()[0].vertices
        peaks.append(float(corners[np.argmax(corners[:, 1]), 0]))
    assert peaks == pytest.approx([126.0, 40.0], abs=2.0)
    for axes in phase_figure(neither()).axes[2:]:
        assert not [c for c in axes.collections if isinstance(c, FillBetweenPolyCollection)]


def test_a_run_without_phases_has_no_figure():
    with pytest.raises(ValueError, match="no figure"):
        phase_figure(refused())


def test_strips_have_one_scale_and_an_uncertain_place_does_not_fill_its_own():
    places = np.linspace(20.0, 180.0, 81)
    vague = replace(
        curve("planning").change_point,
        places=places,
        density=np.full(81, 1 / 81),
        intervals=((20.0, 180.0),),
        whole=True,
    )
    for planning in (curve("planning"), curve("planning", change_point=vague)):
        strip = phase_figure(run_of(fit(planning, curve("execution", found=False)))).axes[2]
        (shape,) = [c for c in strip.collections if isinstance(c, FillBetweenPolyCollection)]
        height = shape.get_paths()[0].vertices[:, 1].max()
        assert height == pytest.approx(1.0) if not planning.change_point.whole else height < 0.2
    words = " ".join(word.get_text() for word in drawn_words(phase_figure(ordered())))
    assert "95 % in 26 steps" in words


def test_without_a_boundary_the_decay_is_the_line():
    for run, dashed in ((neither(), 0), (ordered(), 2)):
        axes = phase_figure(run).axes[0]
        assert sum(line.get_linestyle() == "--" for line in axes.lines) == dashed
        bands = [c for c in axes.collections if isinstance(c, FillBetweenPolyCollection)]
        assert len(bands) == dashed
        planning = run.phases.planning
        solid = [line for line in axes.lines if line.get_linestyle() == "-"]
        expected = planning.fitted if dashed else planning.decay
        assert any(np.array_equal(line.get_ydata(), expected) for line in solid)
        low, high = axes.get_ylim()
        assert low <= planning.decay.min() <= planning.decay.max() <= high


def test_the_title_counts_cautions():
    words = " ".join(
        word.get_text().replace("\n", " ")
        for word in drawn_words(phase_figure(replace(ordered(), findings=stated("caution", "one", "two"))))
    )
    assert "(2 cautions)" in words
