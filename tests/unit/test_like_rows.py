"""Runs of an index and a table: columns and units of rewards are named, and unlike ones not compared."""

import csv
import io
import re

import pytest

from entropylaw.logs.readers.console.text import recognises
from entropylaw.logs.sources.content import Content
from entropylaw.report import pages
from tests.pages import Page
from tests.typed import assert_says, typed
from tests.unit.test_gate_units import COLUMN, write
from tests.unit.test_report_index import named


def measured(name, *, column="val/sums_acc", unit="rate"):
    """A row of a reward."""
    return named(name, "good", reward_column=column, unit=unit)


RATE = measured("wide")
PERCENT = measured("narrow", unit="percent")
OTHER = measured("other", column="val/maps_acc")


def summary(rows):
    """What the index says of all runs."""
    return Page(pages.index_page(rows)).text.replace("\u00a0", " ")


def test_what_the_rewards_are_is_said():
    assert "reward: val/sums_acc, a rate" in summary([RATE, measured("second")])
    assert "reward: val/sums_acc, in several units" in summary([RATE, PERCENT])
    assert "reward: of several columns, which are not compared" in summary([RATE, OTHER])


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
    typed("report", *files, "-o", "pages", "--figures", "none", "--jobs", "1", "-q", cwd=folder, code=0)
    return {name: (folder / "pages" / name).read_text() for name in ("report.md", "report.csv", "index.html")}


def test_a_table_of_unlike_units_names_each(fitted):
    made = report(fitted, *LOGS)
    text = made["report.md"].replace("\\", "")
    for name, unit in (("a_rate", "rate"), ("b_percent", "%"), ("c_raw", "own unit")):
        assert re.search(rf"\| {name} \| {COLUMN}, {unit} \|", text)
    assert f"reward: {COLUMN}, in several units" in text
    rows = list(csv.DictReader(io.StringIO(made["report.csv"])))
    assert {(one["reward_column"], one["unit"]) for one in rows} == {
        (COLUMN, unit) for unit in ("rate", "percent", "raw")
    }


def test_the_text_of_unlike_units_is_no_log(fitted):
    # More runs than are described one by one.
    names = [f"{name}.csv" for name in LOGS] + [write(fitted / "f_rate.csv", "rate", 0.6)]
    assert typed("fit", *names, "-q", "-o", "all.txt", cwd=fitted).returncode == 0
    text = (fitted / "all.txt").read_text()
    assert text.split()[:5] == ["run", "reward", "so", "far", "now"]
    (fitted / "all.log").write_text(text)
    assert not recognises(Content(str(fitted / "all.log")))


def test_a_table_of_percentages_has_the_unit_in_its_heads(fitted):
    text = (fitted / "b_percent.fit.json").read_text()
    (fitted / "again.fit.json").write_text(text.replace('"b_percent', '"d_percent'))
    text = report(fitted, "b_percent", "again")["report.md"].replace("\\", "")
    assert_says(
        text,
        "| run | so far | now, % | by step 585, % | state | keep | law |",
        f"reward: {COLUMN}, in percent",
    )


def test_a_page_of_like_rewards_names_the_reward(fitted):
    (fitted / "e.fit.json").write_text((fitted / "a_rate.fit.json").read_text().replace('"a_rate', '"e_rate'))
    made = report(fitted, "a_rate", "e")
    assert f"reward: {COLUMN}, a rate" in Page(made["index.html"]).text
