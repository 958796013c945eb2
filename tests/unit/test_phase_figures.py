"""What is drawn of phases: words apart and on the paper, onsets and intervals, the same bytes."""

import numpy as np
import pytest
from matplotlib.collections import FillBetweenPolyCollection

from entropylaw import combine_phases
from entropylaw.report.figures import plotting
from entropylaw.report.figures.phases import across_figure, phase_figure, token_figure
from entropylaw.results.result import replace
from entropylaw.results.tokens import TokenHistogram
from entropylaw.tokens.query import EDGES
from tests.drawing import assert_words_can_be_read, drawn_words
from tests.findings import stated
from tests.unit.test_phase_report import NAMES, RUNS, across, neither, ordered, refused, whole_only


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
    "across": lambda: across_figure(across()),
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
    assert "settles, then rises: planning rises by" in " ".join(words.split())
    none = " ".join(word.get_text() for word in drawn_words(phase_figure(neither())))
    assert "planning does not rise execution does not rise" in none


def test_a_strip_has_the_onset_or_the_step_of_settling_with_its_interval():
    found = phase_figure(ordered())
    # The curves, and a strip per curve.
    assert len(found.axes) == 3
    ends = [axes.lines[0].get_xdata().tolist() for axes in found.axes[1:]]
    assert ends == [[114.0, 140.0], [35.0, 46.0]]
    assert [float(axes.lines[1].get_xdata()[0]) for axes in found.axes[1:]] == [126.0, 40.0]
    (strip,) = phase_figure(whole_only()).axes[1:]
    assert [float(line.get_xdata()[0]) for line in strip.lines[:2]] == [60.0, 120.0]


def test_a_run_without_phases_has_no_figure():
    with pytest.raises(ValueError, match="no figure"):
        phase_figure(refused())


def test_several_runs_are_thin_lines_below_their_means():
    for runs, points in ((across(), 41), (combine_phases([ordered().result] * 2), 0)):
        lines = across_figure(runs).axes[0].lines
        assert len(lines) == 2 * runs.runs + 2
        assert [len(line.get_xdata()) for line in lines[-2:]] == [points, points]


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
    words = " ".join(
        word.get_text().replace("\n", " ")
        for word in drawn_words(
            phase_figure(
                replace(ordered(), result=replace(ordered().result, findings=stated("caution", "one", "two")))
            )
        )
    )
    assert "(2 cautions)" in words
