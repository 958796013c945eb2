"""What is said of arms: the answer first, one line per arm, every line with what it is from."""

import re

import pytest

from entropylaw.escaping import COLUMNS
from entropylaw.report.blocks import Notes
from entropylaw.report.describe import describe
from entropylaw.report.pages import single_page
from entropylaw.report.render import rendered
from tests import arms
from tests.pages import Page


def lines(result):
    """The sentences without a label: the answer, then the findings."""
    notes = [note for block in describe(result) if isinstance(block, Notes) for note in block.notes]
    return [note.text for note in notes if not note.label]


def test_the_first_line_is_the_answer():
    below = arms.difference("last_reward", -0.03, "lower")
    above = arms.difference("reward_at_entropy", 0.006, "higher")
    pair = arms.pair("a", differences=(below, above))
    assert lines(arms.comparison("a", pairs=(pair,)))[0] == (
        "a ends 0.030 lower; at equal entropy 0.006 higher; 1 of 6 runs failed"
    )
    open_ = (arms.difference("last_reward", -0.03), arms.difference("reward_at_entropy", 0.006))
    pair = arms.pair("a", differences=open_)
    assert lines(arms.comparison("a", pairs=(pair,)))[0] == "nothing is decided; 1 of 6 runs failed"
    pair = arms.pair("a", differences=(below, open_[1]))
    answer = "a ends 0.030 lower; at equal entropy nothing is decided; 1 of 6 runs failed"
    assert lines(arms.comparison("a", pairs=(pair,)))[0] == answer


def test_the_answer_counts_many_arms_and_names_few():
    assert lines(arms.comparison(*arms.MANY))[0] == (
        "6 end lower; at equal entropy 2 are higher, 2 are lower, 1 is the same; 6 of 21 runs failed"
    )
    assert lines(arms.comparison(*arms.MANY, p_arms=0.0123))[0].endswith(
        "1 is the same; a test of all 7 arms at the end: p = 0.012; 6 of 21 runs failed"
    )
    assert lines(arms.comparison())[0] == (
        "clip_cov and rloo end lower; at equal entropy clip_cov is higher, rloo is lower; 2 of 9 runs failed"
    )


def test_a_quantity_is_a_table_with_a_row_per_comparison():
    small = arms.difference("last_reward", 0.005, "same")
    equal = arms.difference("reward_at_entropy", 0.01, smallest=0.021, seeds_needed=28)
    pair = arms.pair("a", differences=(small, equal), band=arms.band(-0.02))
    token = COLUMNS.set(140)
    try:
        text = rendered(arms.comparison("a", pairs=(pair,)), "text")
    finally:
        COLUMNS.reset(token)
    rows = [re.sub(r" {2,}", " | ", line.strip()) for line in text.splitlines()]
    assert rows[-8:-2] == [
        "final reward | at | difference, 95 % interval | adjusted p | decision | detectable",
        "a | step 400 | 0.005 [-0.009, 0.019] | 0.16 | same within ±0.012 | 0.0210",
        "reward at equal entropy | at | difference, 95 % interval | adjusted p | decision | detectable",
        "a | 0.10–0.50 nats | 0.010 [-0.004, 0.024] | 0.16 | not decided | 0.0210",
        "curves, largest difference | at | difference, 95 % interval | decision",
        "a | 0.10–0.39 nats | -0.024 [-0.036, -0.012] | lower",
    ]


@pytest.mark.parametrize(
    ("names", "width"),
    [(("clip_cov",), 80), (("clip_cov", "entropy_bonus_0.02"), 80), (("clip_cov",), 100), (arms.MANY, 100)],
)
def test_lines_fit_a_terminal(names, width):
    token = COLUMNS.set(width)
    try:
        shown = rendered(arms.comparison(*names), "text").splitlines()
    finally:
        COLUMNS.reset(token)
    # The title is a line of its own.
    assert max(map(len, shown[1:])) <= width
    assert max(map(len, rendered(arms.complete(*names), "details").splitlines()[1:])) <= 100


def test_the_page_has_the_answer_the_figure_and_every_run():
    page = Page(single_page(arms.complete()))
    assert page.tags.count("figure") == 2
    words = (
        "2 arms against grpo",
        "Thin lines are runs",
        "clip_cov and rloo end lower",
        "final entropy, nats",
    )
    places = [page.text.index(word) for word in words]
    assert places == sorted(places)
    for arm in arms.complete().arms:
        assert all(run.run in page.text for run in arm.runs)


def test_five_quantities_are_printed_and_all_others_are_in_the_frame():
    result = arms.comparison("clip_cov")
    page = " ".join(rendered(result, "markdown").split())
    for words in (
        "final reward",
        "reward at equal entropy",
        "failure rate",
        "final entropy",
        "failed",
    ):
        assert words in page
    for words in ("shift of the curve", "entropy lost per 100 steps", "sd between seeds"):
        assert words not in page
    frame = result.to_frame()
    assert {"shift", "entropy_loss", "last_reward"} < set(frame["quantity"])
    assert {"between", "p_welch", "smallest", "seeds_needed"} < set(frame.columns)


def test_a_frame_is_the_table():
    frame = arms.comparison().to_frame()
    assert frame.shape[0] == 14
    assert list(frame.columns[12:15]) == ["difference", "difference_low", "difference_high"]
