"""Runs of an index and a table: rewards of unlike columns or units are in no one order, statement or axis."""

import csv
import io

import pytest
from entropylaw.report.figures.ceilings import ceilings_figure

from entropylaw.documents.codec import as_stored, encode
from entropylaw.logs.readers.console.text import recognises
from entropylaw.logs.sources.content import Content
from entropylaw.report import pages
from entropylaw.report.blocks import Figure
from entropylaw.report.describe.index import ceilings
from entropylaw.report.describe.runs import like_rewards
from entropylaw.results.result import replace
from tests.pages import Page
from tests.typed import typed
from tests.unit.test_gate_units import COLUMN, write
from tests.unit.test_report_index import row, with_ceiling


def measured(name, ceiling, left, *, column="val/sums_acc", unit="rate", **changes):
    """A run with a ceiling and a gain that is certainly left, of a reward."""
    made = with_ceiling(name, ceiling, 0.99 * ceiling, 1.01 * ceiling)
    gain = replace(made.headroom, value=left, low=0.9 * left, high=1.1 * left)
    choice = replace(made.rewarded, column=column, unit=unit, **changes)
    return replace(made, headroom=gain, reward_column=column, unit=unit, rewarded=choice)


RATE = measured("wide", 0.9, 0.05)
PERCENT = measured("narrow", 62.0, 3.0, unit="percent")
UNLIKE = {
    "column": measured("other", 0.8, 0.3, column="val/maps_acc"),
    "unit": measured("points", 40.0, 9.0, unit="raw"),
    "sort": measured("long", 0.8, 0.3, sort="length"),
    "mean": measured("averaged", 0.8, 0.3, parts=("a", "b")),
}


def orders(text):
    return [key for key in pages.ORDERS if f'value="{key}"' in text]


def summary(rows):
    """What the index says of all runs."""
    return Page(pages.index_page(rows)).text.replace("\u00a0", " ")


def test_the_most_left_is_found_between_a_rate_and_a_percentage():
    first = replace(RATE, run="a")
    assert "the most in a: 0.0500 [0.0450, 0.0550]." in summary([first, PERCENT])
    more = measured("narrow", 62.0, 7.0, unit="percent")
    assert "the most in narrow: 7.00 [6.30, 7.70] %." in summary([more, replace(PERCENT, run="third")])
    assert "the most in narrow: 0.0700 [0.0630, 0.0770]." in summary([first, more])


@pytest.mark.parametrize("unlike", UNLIKE)
def test_unlike_rewards_have_no_common_most_order_or_axis(unlike):
    rows = [RATE, UNLIKE[unlike]]
    unlike_rewards = "A gain is left in 2 of 2 runs; their rewards are unlike, and are not compared."
    assert unlike_rewards in summary(rows)
    assert [[one.run for one in group] for group in like_rewards(rows)] == [["wide"], [UNLIKE[unlike].run]]
    text = pages.index_page(rows)
    assert orders(text) == ["name"]
    assert "the most in" not in Page(text).text
    (figure,) = (block for block in ceilings(rows) if isinstance(block, Figure))
    assert len(ceilings_figure(figure.part).axes) == 2


def test_like_rewards_have_all_orders_and_one_axis():
    rows = [RATE, measured("second", 0.8, 0.1)]
    assert orders(pages.index_page(rows)) == list(pages.ORDERS)
    (figure,) = (block for block in ceilings(rows) if isinstance(block, Figure))
    (axes,) = ceilings_figure(figure.part).axes
    assert axes.get_xlabel() == "val/sums_acc"


def test_a_rate_and_a_percentage_are_drawn_in_one_unit_and_not_ordered_by_their_numbers():
    ((first, second),) = like_rewards([RATE, PERCENT])
    assert second.ceiling.value == pytest.approx(0.62)
    assert second.headroom.low == pytest.approx(0.027)
    assert (first.unit, second.unit) == ("rate", "rate")
    assert second.p_headroom == PERCENT.p_headroom
    assert orders(pages.index_page([RATE, PERCENT])) == ["name"]


@pytest.mark.parametrize("unknown", [None, ""])
def test_runs_that_do_not_say_their_unit_are_not_compared(unknown):
    bare = replace(RATE, rewarded=None if unknown is None else replace(RATE.rewarded, unit=""))
    assert len(like_rewards([bare, bare, RATE])) == 3
    assert "are not compared" in summary([bare, bare])


def test_a_row_keeps_its_reward():
    assert as_stored(PERCENT).rewarded == PERCENT.rewarded
    assert encode(row("good"))["rewarded"]["unit"] == "rate"


LOGS = {"a_rate": ("rate", 0.48), "b_percent": ("percent", 0.83), "c_raw": ("raw", 0.5)}


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """Fits of one column in three units, and what `fit` says of two and of all."""
    folder = tmp_path_factory.mktemp("units")
    for name, (unit, ceiling) in LOGS.items():
        write(folder / f"{name}.csv", unit, ceiling)
    for name in LOGS:
        assert typed("fit", f"{name}.csv", "-q", "-o", f"{name}.fit.json", cwd=folder).returncode == 0
    return folder


def report(folder, *names):
    files = [f"{name}.fit.json" for name in names]
    done = typed("report", *files, "-o", "pages", "--figures", "none", "--jobs", "1", "-q", cwd=folder)
    assert done.returncode == 0, done.stderr
    return {name: (folder / "pages" / name).read_text() for name in ("report.md", "report.csv", "index.html")}


def test_a_table_of_unlike_units_names_each(fitted):
    made = report(fitted, *LOGS)
    text = made["report.md"].replace("\\", "")
    for name, unit in (("a_rate", "rate"), ("b_percent", "%"), ("c_raw", "own unit")):
        assert f"| {name} | {COLUMN}, {unit} |" in text
    assert f"reward: {COLUMN}, in several units" in text
    assert "the most in" not in text
    assert orders(made["index.html"]) == ["name"]
    rows = list(csv.DictReader(io.StringIO(made["report.csv"])))
    assert {(one["reward_column"], one["unit"]) for one in rows} == {
        (COLUMN, unit) for unit in ("rate", "percent", "raw")
    }


def test_the_text_of_unlike_units_is_no_log(fitted):
    # More runs than are described one by one.
    names = [f"{name}.csv" for name in LOGS] + [write(fitted / "f_rate.csv", "rate", 0.6)]
    assert typed("fit", *names, "-q", "-o", "all.txt", cwd=fitted).returncode == 0
    text = (fitted / "all.txt").read_text()
    assert text.split()[:3] == ["run", "reward", "now"]
    (fitted / "all.log").write_text(text)
    assert not recognises(Content(str(fitted / "all.log")))


def test_a_table_of_percentages_has_the_unit_in_its_heads(fitted):
    text = (fitted / "b_percent.fit.json").read_text()
    (fitted / "again.fit.json").write_text(text.replace('"b_percent', '"d_percent'))
    text = report(fitted, "b_percent", "again")["report.md"].replace("\\", "")
    assert "| run | now, % | by step 585, % |" in text
    assert "ceiling at H = 0, % |" in text
    assert f"reward: {COLUMN}, in percent" in text


def test_a_page_of_like_rewards_names_the_reward(fitted):
    (fitted / "e.fit.json").write_text((fitted / "a_rate.fit.json").read_text().replace('"a_rate', '"e_rate'))
    made = report(fitted, "a_rate", "e")
    assert f"The reward is {COLUMN}, a rate." in Page(made["index.html"]).text
    assert orders(made["index.html"]) == list(pages.ORDERS)
