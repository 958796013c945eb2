"""What is drawn of arms: words apart and on the paper, every run and comparison, the same bytes."""

from itertools import combinations

import pytest
from matplotlib.collections import FillBetweenPolyCollection
from matplotlib.figure import Figure

from entropylaw.report.figures import NAMED, plotting
from entropylaw.report.figures.arms import arms_figure
from entropylaw.results.result import replace
from tests import arms
from tests.drawing import assert_words_can_be_read

TWENTY = tuple(f"a_treatment_{place}" for place in range(19))


RESULTS = {
    "one pair": lambda: arms.complete("clip_cov"),
    "two pairs": arms.complete,
    "four arms": lambda: arms.complete(*arms.MANY[:3]),
    "all pairs": lambda: arms.complete(*arms.MANY[:2], baseline=None),
    "all pairs of many": lambda: arms.complete(*arms.MANY, baseline=None),
    "seven arms": lambda: arms.complete(*arms.MANY),
    "twenty arms": lambda: arms.complete(*TWENTY),
}


@pytest.mark.parametrize("name", RESULTS)
def test_words_are_on_the_paper_large_enough_and_apart(name):
    figure = arms_figure(RESULTS[name]())
    assert figure.get_size_inches()[0] == plotting.WIDTH
    assert figure.get_size_inches()[1] < 9.0
    assert_words_can_be_read(figure)
    numbers_of_an_axis_are_apart(figure)


def numbers_of_an_axis_are_apart(figure):
    with plotting.style():
        figure.canvas.draw()
    for axes in figure.axes:
        labels = [label for label in axes.get_xticklabels() if label.get_text() and axes.get_visible()]
        boxes = [label.get_window_extent() for label in labels if label.get_visible()]
        for a, b in combinations(boxes, 2):
            assert not a.overlaps(b), [label.get_text() for label in labels]


def test_few_arms_share_their_axes_and_every_comparison_has_a_band():
    result = arms.complete()
    axes, *below = arms_figure(result).axes
    drawn = [list(line.get_ydata()) for line in axes.lines]
    for arm in result.arms:
        assert list(arm.mean) in drawn
        for run in arm.runs:
            assert (list(run.reward) in drawn) or not run.reward
    assert len(below) == len(result.pairs)
    for lower, pair in zip(below, result.pairs, strict=True):
        (band,) = [c for c in lower.collections if isinstance(c, FillBetweenPolyCollection)]
        ends = band.get_paths()[0].get_extents()
        assert ends.y0 == pytest.approx(min(pair.band.low))
        assert ends.y1 == pytest.approx(max(pair.band.high))
        assert any(list(line.get_ydata()) == list(pair.band.mean) for line in lower.lines)


def test_many_arms_have_a_panel_each_with_the_baseline_and_where_the_band_excludes_0():
    result = arms.complete(*arms.MANY)
    panels = [axes for axes in arms_figure(result).axes if axes.get_visible()]
    assert [axes.get_title(loc="left") for axes in panels[:4]] == list(arms.MANY[:4])
    baseline = list(result.arms[0].mean)
    for axes, arm, pair in zip(panels, result.arms[1:], result.pairs, strict=True):
        drawn = [list(line.get_ydata()) for line in axes.lines]
        assert baseline in drawn
        assert list(arm.mean) in drawn
        above = pair.band.low[0] > 0
        assert ([0.94, 0.94] in drawn, [0.06, 0.06] in drawn) == (above, not above)


def test_names_that_differ_in_their_ends_stay_different():
    names = [f"a_long_name_of_a_treatment_{place}" for place in range(5)]
    titles = [axes.get_title(loc="left") for axes in arms_figure(arms.comparison(*names)).axes]
    assert len({*titles} - {""}) == 5


def test_nothing_to_draw_is_said():
    nothing = arms.arm("grpo", seeds=1)
    empty = nothing | {"runs": (arms.lost("grpo_s0"),), "along": (), "mean": ()}
    with pytest.raises(ValueError, match="no run of these arms"):
        arms_figure(arms.comparison("a", arms=(empty, empty | {"arm": "a"})))


@pytest.mark.parametrize("names", [("clip_cov",), arms.MANY])
def test_a_plot_on_given_axes(names):
    axes = Figure().add_subplot()
    assert arms.comparison(*names).plot(axes) is axes
    assert axes.get_xlabel() == "entropy H (nats per token)"
    assert len(axes.lines) > len(names)


@pytest.mark.parametrize("names", [("clip_cov",), arms.MANY])
def test_captions_are_of_what_is_drawn(names):
    result = arms.complete(*names)
    caption = NAMED["arms"].caption(result)
    assert ("a panel per arm" in caption) == (len(names) > 3)
    assert "95 %" in caption


def test_one_exploded_run_does_not_scale_the_axes_and_is_marked():
    result = arms.complete("clip_cov")
    first, *others = result.arms
    far = replace(first.runs[0], run="far", along=(0.1, 0.5, 1e4), reward=(0.8, 0.7, -300.0))
    figure = arms_figure(replace(result, arms=(replace(first, runs=(*first.runs, far)), *others)))
    assert figure.axes[0].get_xlim()[1] < 2.0
    assert figure.axes[0].get_ylim()[0] > -1.0
    assert {line.get_marker() for line in figure.axes[0].lines} >= {">", "v"}
