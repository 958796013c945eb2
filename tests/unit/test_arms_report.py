"""What is said of arms: the answer first, one line per arm, every line with what it rests on."""

from __future__ import annotations

import csv
import io

import pytest

from entropylaw.escaping import COLUMNS, WIDTH
from entropylaw.report.blocks import Notes, Table
from entropylaw.report.describe import describe
from entropylaw.report.pages import single_page
from entropylaw.report.render import rendered
from entropylaw.results.arms import Decision
from tests import arms
from tests.pages import Page


def sentences(result):
    return next(block for block in describe(result) if isinstance(block, Notes)).notes


def test_every_comparison_has_a_sentence_and_only_the_family_decision_words():
    result = arms.comparison(*arms.MANY)
    found = sentences(result)
    assert [note.text.partition(": ")[0] for note in found] == list(arms.MANY)
    for note, pair in zip(found, result.pairs, strict=True):
        decision = pair["reward_at_entropy"].decision
        words = {
            Decision.above: "0.012 higher",
            Decision.below: "0.012 lower",
            Decision.same: "the same within",
        }
        assert words.get(decision, "+0.012 [-0.002, 0.026] (not decided") in note.text
    exploratory = next(block for block in describe(result) if isinstance(block, Table) and block.detail)
    assert not {"higher", "lower", "same"} & {str(cell) for row in exploratory.rows for cell in row}


def test_the_interval_that_shows_the_same_is_beside_it():
    pair = arms.pair("a", decision=Decision.same)
    assert "90 % interval [0.001, 0.023]" in rendered(arms.comparison("a", pairs=(pair,)), "markdown")


def test_an_interval_has_the_sign_of_the_word_beside_it():
    below = arms.difference("reward_at_entropy", -0.03, Decision.below)
    small = arms.difference("last_reward", 0.005, Decision.above, estimate=arms.estimate(0.005, 0.002))
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
    whole = rendered(arms.complete(*names, between_sd=None), "details").splitlines()
    assert max(map(len, whole[1:])) <= WIDTH


def test_where_the_band_excludes_0_is_in_the_sentence_and_the_table():
    result = arms.comparison("clip_cov")
    found = "from 0.10 to 0.39 nats"
    assert f"{found} it is higher, by up to 0.024 [0.012, 0.036] (simultaneous band)" in {
        note.text for note in sentences(result)
    }
    (row,) = (
        row for block in describe(result) for row in getattr(block, "rows", ()) if f"largest {found}" in row
    )
    assert row[-2:] == ("band", "higher")
    assert "simultaneous band)" not in rendered(
        arms.comparison("a", pairs=(arms.pair("a", band=None),)), "text"
    )


def test_a_given_spread_is_repeated_on_every_line():
    said = "between-seed sd 0.02 as given"
    assert all(said in note.text for note in sentences(arms.comparison(between_sd=0.02)))
    assert not any(said in note.text for note in sentences(arms.comparison()))
    tables = [block for block in describe(arms.comparison(between_sd=0.02)) if isinstance(block, Table)]
    repeated = [table for table in tables if table.columns[-1].key == "between_sd"]
    assert [len(table.rows) for table in repeated] == [8]
    assert all(row[-1] == "0.02 as given" for table in repeated for row in table.rows)
    rows = csv.DictReader(io.StringIO(rendered(arms.comparison(between_sd=0.02), "csv")))
    assert {row["between_sd"] for row in rows} == {"0.02"}


def test_the_page_has_the_answer_the_figures_and_every_run():
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
