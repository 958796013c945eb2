"""What is said of arms: the answer first, one line per arm, every line with what it rests on."""

import pytest

from entropylaw.escaping import COLUMNS
from entropylaw.report.blocks import Notes
from entropylaw.report.describe import describe
from entropylaw.report.pages import single_page
from entropylaw.report.render import rendered
from tests import arms
from tests.pages import Page


def sentences(result):
    return next(block for block in describe(result) if isinstance(block, Notes)).notes


def test_an_interval_has_the_sign_of_the_word_beside_it():
    below = arms.difference("reward_at_entropy", -0.03, "lower")
    small = arms.difference("last_reward", 0.005, "higher", estimate=arms.estimate(0.005, 0.002))
    pair = arms.pair("a", differences=(below, small), band=arms.band(-0.02))
    text = " ".join(note.text for note in sentences(arms.comparison("a", pairs=(pair,))))
    assert "0.030 lower [0.016, 0.044] (adjusted" in text
    assert "it is lower, by up to 0.024 [0.012, 0.036]" in text
    assert "0.0050 higher [0.0030, 0.0070], within the margin of 0.012 (adjusted" in text


@pytest.mark.parametrize(
    ("names", "width"),
    [(("clip_cov",), 80), (("clip_cov", "entropy_bonus_0.02"), 80), (("clip_cov",), 100), (arms.MANY, 100)],
)
def test_lines_fit_a_terminal(names, width):
    token = COLUMNS.set(width)
    try:
        lines = rendered(arms.comparison(*names), "text").splitlines()
    finally:
        COLUMNS.reset(token)
    # The title is a line of its own.
    assert max(map(len, lines[1:])) <= width
    whole = rendered(arms.complete(*names), "details").splitlines()
    assert max(map(len, whole[1:])) <= 100


def test_the_page_has_the_answer_the_figure_and_every_run():
    page = Page(single_page(arms.complete()))
    assert page.tags.count("figure") == 1
    places = [
        page.text.index(word)
        for word in ("2 arms against grpo", "higher", "H at the start", "Exploratory: not")
    ]
    assert places == sorted(places)
    for arm in arms.complete().arms:
        assert all(run.run in page.text for run in arm.runs)


def test_a_frame_is_the_table():
    frame = arms.comparison().to_frame()
    assert frame.shape[0] == 14
    assert list(frame.columns[12:15]) == ["difference", "difference_low", "difference_high"]
