"""What is said of arms: the answer first, one line per arm, every line with what it rests on."""

from __future__ import annotations

import csv
import io

import pytest

from entropylaw.escaping import COLUMNS, WIDTH
from entropylaw.report.blocks import Table, Verdict
from entropylaw.report.describe import describe
from entropylaw.report.pages import single_page
from entropylaw.report.render import rendered
from entropylaw.results.arms import Decision
from tests import arms
from tests.pages import Page


def verdicts(result):
    return [block for block in describe(result) if isinstance(block, Verdict)]


@pytest.mark.parametrize("decision", Decision)
def test_only_a_decided_difference_has_a_colour(decision):
    pair = arms.pair("clip_cov", decision=decision)
    (found,) = verdicts(arms.comparison("clip_cov", pairs=(pair,)))
    assert found.ok == {Decision.above: True, Decision.below: False}.get(decision)


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


def test_a_given_spread_is_repeated_on_every_line():
    said = "between-seed sd 0.02 as given"
    for verdict in verdicts(arms.comparison(between_sd=0.02)):
        assert said in verdict.text
    assert not any(said in verdict.text for verdict in verdicts(arms.comparison()))
    text = " ".join(rendered(arms.comparison(between_sd=0.02), "text").split())
    # Two verdicts, two lines of final reward, two of curves.
    assert text.count(said) == 6
    many = arms.comparison(*arms.MANY, between_sd=0.02)
    tables = [block for block in describe(many) if isinstance(block, Table)]
    repeated = [table for table in tables if table.columns[-1].key == "between_sd"]
    assert [len(table.rows) for table in repeated] == [6, 6, 30]
    few = [block for block in describe(arms.comparison(between_sd=0.02)) if isinstance(block, Table)]
    assert sum(table.columns[-1].key == "between_sd" for table in few) == 2
    assert all(row[-1] == "0.02 as given" for table in repeated for row in table.rows)
    rows = csv.DictReader(io.StringIO(rendered(many, "csv")))
    assert {row["between_sd"] for row in rows} == {"0.02"}


def test_the_page_has_the_answer_the_figures_and_every_run():
    page = Page(single_page(arms.complete()))
    assert page.tags.count("figure") == 2
    places = [
        page.text.index(word)
        for word in ("2 arms against grpo", "higher", "Curves and differences", "Arms and runs")
    ]
    assert places == sorted(places)
    for arm in arms.complete().arms:
        assert all(run.run in page.text for run in arm.runs)


def test_a_frame_is_the_table():
    frame = arms.comparison().to_frame()
    assert frame.shape[0] == 16
    assert list(frame.columns[9:12]) == ["difference", "difference_low", "difference_high"]
