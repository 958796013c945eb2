"""The figure of the ceilings of an index: every run in its arm, and nothing outside the axis in silence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes

from entropylaw.report import pages
from entropylaw.report.describe.runs import IndexRow
from entropylaw.report.figures.ceilings import MOST_RUNS, ceilings_figure
from entropylaw.results.result import replace
from tests.pages import Page
from tests.unit.test_report_index import row, rows, with_ceiling, with_cells
from tests.unit.test_report_samples import estimate


def axes_of(arms: dict[str, list[IndexRow]]) -> Axes:
    return ceilings_figure(arms).axes[0]


def marks(axes: Axes, marker: str) -> list[tuple[float, float]]:
    """The places of all marks of a kind."""
    lines = [line for line in axes.lines if line.get_marker() == marker]
    return [(float(np.ravel(line.get_xdata())[0]), float(np.ravel(line.get_ydata())[0])) for line in lines]


def test_the_runs_of_an_arm_are_below_one_another() -> None:
    several = [with_ceiling(f"a_s{i}", 0.5 + 0.1 * i, 0.4, 0.8) for i in range(3)]
    axes = axes_of({"a": several, "b": [row("good")]})
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]
    dots = marks(axes, "o")
    assert [x for x, _ in dots[:3]] == pytest.approx([0.5, 0.6, 0.7])
    assert sorted(y for _, y in dots) == [y for _, y in dots]
    assert len(marks(axes, "|")) == 4


def test_a_page_has_it_where_there_are_two_ceilings_to_be_read() -> None:
    assert 'aria-labelledby="ceilings-title' in pages.index_page(rows())
    assert 'aria-labelledby="ceilings-title' not in pages.index_page([row("good"), row("failing")])
    assert "Ceilings" not in Page(pages.index_page([row("good")])).text


def test_what_runs_out_of_the_axis_has_an_arrow() -> None:
    near = [with_ceiling(f"run {i}", 0.5 + 0.01 * i, 0.45, 0.65) for i in range(30)]
    wild = with_ceiling("wild", 40.0, -30.0, 90.0)
    far = replace(with_cells(near[0], reward_now=estimate(700.0, 690.0, 710.0)), run="far", slug="far")
    axes = axes_of({one.run: [one] for one in (*near, wild, far)})
    low, high = axes.get_xlim()
    assert -5 < low < 0.45
    assert 0.79 < high < 5
    dots = marks(axes, "o")
    assert [y for _, y in marks(axes, "<")] == [dots[30][1]]
    assert [y for _, y in marks(axes, ">")] == [dots[30][1], dots[31][1]]


def test_more_runs_than_there_is_room_for_are_counted() -> None:
    many = {f"r{i}": [replace(row("good"), run=f"r{i}")] for i in range(MOST_RUNS + 5)}
    figure = ceilings_figure(many)
    assert len(marks(figure.axes[0], "o")) == MOST_RUNS
    assert f"the first {MOST_RUNS} of {MOST_RUNS + 5} runs" in [text.get_text() for text in figure.texts]


numbers = st.floats(min_value=-1e9, max_value=1e9, allow_nan=False)


@given(st.lists(st.tuples(numbers, numbers, numbers), min_size=2, max_size=6))
def test_the_axis_has_a_length_whatever_the_ceilings(found: list[tuple[float, float, float]]) -> None:
    made = [(f"r{i}", *sorted(ends)) for i, ends in enumerate(found)]
    axes = axes_of({name: [with_ceiling(name, value, low, high)] for name, low, value, high in made})
    low, high = axes.get_xlim()
    assert low < high
    for kind in "<>":
        assert all(low <= x <= high for x, _ in marks(axes, kind))
