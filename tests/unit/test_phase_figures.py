"""What is drawn of phases: words apart and on the paper, turning points and intervals, the same bytes."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import FillBetweenPolyCollection

from entropylaw.report.figures import plotting
from entropylaw.report.figures.phases import phase_figure, token_figure, turns_figure
from entropylaw.results.result import replace
from entropylaw.results.tokens import TokenHistogram
from entropylaw.tokens.query import EDGES
from tests.drawing import assert_words_can_be_read, drawn_words
from tests.findings import stated
from tests.unit.test_phase_report import NAMES, RUNS, across, neither, ordered, refused


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
    "turns": lambda: turns_figure(across()),
    "tokens": lambda: token_figure(histogram()),
    "tokens of one step": lambda: token_figure(histogram(1)),
}


@pytest.mark.parametrize("name", FIGURES)
def test_words_are_on_the_paper_large_enough_and_apart(name):
    figure = FIGURES[name]()
    assert figure.get_size_inches()[0] == plotting.WIDTH
    assert_words_can_be_read(figure)


def test_the_title_is_the_verdict():
    words = " ".join(word.get_text() for word in drawn_words(phase_figure(ordered())))
    assert "execution first: execution turns to rise" in words
    assert words.count("no turn to rise") == 0
    none = " ".join(word.get_text() for word in drawn_words(phase_figure(neither())))
    assert none.count("no turn to rise (detectable: ") == 2


def test_a_strip_has_the_turning_point_with_its_interval_where_there_is_one():
    found = phase_figure(ordered())
    # The curves, and a strip per curve.
    assert len(found.axes) == 3
    ends = [axes.lines[0].get_xdata().tolist() for axes in found.axes[1:]]
    assert ends == [[114.0, 140.0], [28.0, 54.0]]
    assert [float(axes.lines[1].get_xdata()[0]) for axes in found.axes[1:]] == [126.0, 40.0]
    for axes in phase_figure(neither()).axes[1:]:
        assert not axes.lines


def test_a_run_without_phases_has_no_figure():
    with pytest.raises(ValueError, match="no figure"):
        phase_figure(refused())


def test_runs_without_a_turn_have_no_figure_of_turning_points():
    (axes,) = turns_figure(across()).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["made"]
    flat = neither().result.turns
    with pytest.raises(ValueError, match="no curve turns to rise"):
        turns_figure(replace(across(), each=(flat,)))


def test_the_fitted_curves_have_their_bands():
    for run in (neither(), ordered()):
        axes = phase_figure(run).axes[0]
        bands = [c for c in axes.collections if isinstance(c, FillBetweenPolyCollection)]
        assert len(bands) == 2
        fitted = run.result.planning.fitted
        assert any(np.array_equal(line.get_ydata(), fitted) for line in axes.lines)
        low, high = axes.get_ylim()
        assert low <= fitted.min() <= fitted.max() <= high


def test_the_title_counts_cautions():
    run = ordered()
    run = replace(run, result=replace(run.result, findings=stated("caution", "one", "two")))
    words = " ".join(word.get_text().replace("\n", " ") for word in drawn_words(phase_figure(run)))
    assert "(2 cautions)" in words
