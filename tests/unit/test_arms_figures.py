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


def points_of(axes):
    """The dots by their row: the value, and the line through it."""
    dots = {line.get_ydata()[0]: line for line in axes.lines if line.get_marker() == "o"}
    whiskers = {
        line.get_ydata()[0]: list(line.get_xdata()) for line in axes.lines if len(line.get_xdata()) == 2
    }
    return {row: (dot.get_xdata()[0], whiskers[row], dot) for row, dot in dots.items()}


def test_many_arms_have_a_row_each_with_both_differences_and_what_is_decided():
    result = arms.complete(*arms.MANY)
    end, equal = arms_figure(result).axes
    assert [label.get_text() for label in end.get_yticklabels()][:2] == ["clip_cov †", "kl_cov †"]
    for axes, quantity in ((end, "living_reward"), (equal, "reward_at_entropy")):
        points = points_of(axes)
        assert sorted(points) == list(range(len(arms.MANY)))
        for row, pair in enumerate(result.pairs):
            value, ends, dot = points[row]
            estimate = pair[quantity].estimate
            assert (value, ends) == (estimate.value, [estimate.low, estimate.high])
            is_open = dot.get_markerfacecolor() != dot.get_markeredgecolor()
            assert is_open == (pair[quantity].decision == "not decided")
    colours = {row: point[2].get_markeredgecolor() for row, point in points_of(equal).items()}
    # Higher, lower, same, not decided, and from the beginning.
    assert len({colours[row] for row in range(4)}) == 4
    assert (colours[0], colours[1]) == (colours[4], colours[5])


def test_a_difference_that_is_not_known_has_no_dot():
    unknown = arms.difference("last_reward", 0.0, estimate=arms.unknown("every run failed"), p_adjusted=None)
    pairs = tuple(arms.pair(name, differences=(unknown,)) for name in arms.MANY)
    assert not any(points_of(axes) for axes in arms_figure(arms.comparison(*arms.MANY, pairs=pairs)).axes)


def test_of_more_comparisons_than_fit_those_with_the_smallest_p_values_are_drawn_and_counted():
    far = arms.difference("last_reward", 0.5, p_value=0.001)
    pairs = [arms.pair(f"treatment_{place}") for place in range(45)]
    pairs[44] = arms.pair("treatment_44", differences=(far,))
    result = arms.comparison(*(pair["arm"] for pair in pairs), pairs=tuple(pairs))
    rows = [label.get_text() for label in arms_figure(result).axes[0].get_yticklabels()]
    assert rows[0] == "treatment_44 †"
    assert len(rows) == 40
    assert "40 of 45 comparisons" in NAMED["arms"].caption(result)


def test_names_that_differ_in_their_ends_stay_different():
    names = [f"a_long_name_of_a_treatment_{place}" for place in range(5)]
    labels = arms_figure(arms.comparison(*names)).axes[0].get_yticklabels()
    assert len({label.get_text() for label in labels}) == 5


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
    assert caption.startswith("Differences with 95 % intervals" if len(names) > 3 else "Reward against")
    assert ("†" in caption) == (len(names) > 3)


def test_a_band_is_in_the_caption_where_there_is_one():
    one_run_each = arms.comparison("a", pairs=(arms.pair("a", band=None),))
    assert "Below" not in NAMED["arms"].caption(one_run_each)
    assert "Below, the differences with the simultaneous 95 % band" in NAMED["arms"].caption(
        arms.comparison("a")
    )


def test_one_exploded_run_does_not_scale_the_axes_and_is_marked():
    result = arms.complete("clip_cov")
    first, *others = result.arms
    far = replace(first.runs[0], run="far", along=(0.1, 0.5, 1e4), reward=(0.8, 0.7, -300.0))
    figure = arms_figure(replace(result, arms=(replace(first, runs=(*first.runs, far)), *others)))
    assert figure.axes[0].get_xlim()[1] < 2.0
    assert figure.axes[0].get_ylim()[0] > -1.0
    assert {line.get_marker() for line in figure.axes[0].lines} >= {">", "v"}
