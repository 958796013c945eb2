"""Texts of runs and reports: few lines, limits of length, full precision, and what is left out is said."""

import csv
import io
import re
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

from entropylaw.documents.document import FitDocument
from entropylaw.escaping import COLUMNS
from entropylaw.options import FitOptions
from entropylaw.pipeline.predictions import predict_runs
from entropylaw.report import pages
from entropylaw.report.describe.runs import data_table, index_row
from entropylaw.report.render import csv_text, rendered
from entropylaw.report.words import headline
from entropylaw.results.result import replace
from entropylaw.results.state import State
from tests.laws import fit_arrays
from tests.made import report_runs, run_report
from tests.typed import assert_says
from tests.unit.test_report_samples import (
    by_hand,
    document,
    falling,
    lost_by_hand,
    run_by_hand,
    state_by_hand,
    synthetic,
)


def test_where_entropy_and_reward_rise_no_sentence_has_entropy_fall() -> None:
    step = np.arange(60.0)
    entropy = 0.2 + 0.5 * (1 - np.exp(-step / 20)) + 0.01 * np.random.default_rng(1).standard_normal(60)
    run = run_by_hand(fit_arrays(entropy, 0.1 + 0.4 * np.expm1(entropy), step))
    fits = FitDocument(inputs=(), settings=FitOptions(), runs=(run,))
    text = " ".join(rendered(run, "text").split())
    assert "R² > 0.999 fails: reward rises with entropy; 1 caution" in text
    ahead = " ".join(rendered(predict_runs(fits, at_step=[90]), "text").split())
    assert "law fails: reward rises with entropy; fitted on entropies from" in ahead
    assert not re.search("entropy is spent|falls as entropy falls:", text + ahead)


SECTION = "### The law"


def test_many_runs_stay_below_the_limit_of_a_comment() -> None:
    text = rendered(document(*(replace(synthetic(), run=f"run {i}") for i in range(60))), "markdown")
    assert len(text.encode()) < 64_000
    assert re.search(r"\*Left out of this text: \d+ more runs", text)


def test_report_of_a_thousand_runs_says_what_it_leaves_out() -> None:
    good = index_row(run_report(synthetic()), "x")
    many = [replace(good, run=f"run {i}", slug=f"run-{i}") for i in range(1000)]

    def sections() -> Iterator[object]:
        raise AssertionError("no document is to be read where there is no room for it")
        yield

    text = pages.markdown(many, sections(), warnings=["w" * 50] * 300)
    assert len(text.encode()) <= 60_000
    shown = len(re.findall(r"^\| run ", text, re.MULTILINE)) - 1
    assert 100 < shown < 1000
    assert_says(
        text,
        f"*Left out of this text: {1000 - shown} rows;",
        "*Left out of this text: 1000 more runs; see their pages.*",
        "Left out of this text: 280 more warnings",
    )


def test_report_takes_documents_only_while_there_is_room() -> None:
    run = run_report(synthetic())
    row = index_row(run, "x")
    rows = [replace(row, run=f"run {i}", slug=f"run-{i}") for i in range(100)]
    taken = []

    def sections() -> Iterator[tuple[object, str]]:
        for i in range(100):
            taken.append(i)
            yield run, f"run-{i}"

    text = pages.markdown(rows, sections())
    shown = text.count(SECTION)
    assert 3 < shown < 40
    assert len(taken) == shown + 1
    assert len(text.encode()) <= 60_000
    assert f"*Left out of this text: {100 - shown} more runs; see their pages.*" in text


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_rows_are_enough() -> None:
    runs = [run_report(synthetic()), run_report(falling())]
    made = csv_text(data_table([index_row(run, run.fit.run) for run in runs], with_phases=True))
    assert made == rendered(report_runs(document(synthetic(), falling())), "csv")


@pytest.fixture
def columns(request: pytest.FixtureRequest):
    """The width of a terminal."""
    token = COLUMNS.set(request.param)
    yield request.param
    COLUMNS.reset(token)


@pytest.mark.parametrize("state", [state_by_hand(), state_by_hand("cannot tell"), lost_by_hand()])
def test_a_run_in_a_line_is_eight_words_at_most(state: State) -> None:
    assert len(headline(by_hand(state=state)).split()) <= 8


def many() -> FitDocument:
    """Thirty runs, one of which lost its reward."""
    lost = run_by_hand(by_hand(state=lost_by_hand()), "lost")
    return document(*(synthetic(f"a-name-of-a-run-with-many-letters-{i}") for i in range(29)), lost)


@pytest.mark.parametrize("columns", [60, 80, 100], indirect=True)
def test_a_table_of_runs_is_no_wider_than_the_terminal(columns: int) -> None:
    lines = rendered(many(), "text").rstrip().split("\n")
    assert max(map(len, lines)) <= columns
    head, first, *others = (line.split() for line in lines[:31])
    assert head[:3] == ["run", "so", "far"]
    assert "state" in head
    assert "broken" in first
    assert all("flat" in row for row in others if len(row) > 2)
    assert "30 runs: 1 broken, 29 flat. The law holds in 29." in " ".join(" ".join(lines).split())


def test_a_wider_terminal_has_more_columns() -> None:
    heads = []
    for width in (60, 80, 200):
        token = COLUMNS.set(width)
        heads.append(rendered(many(), "text"))
        COLUMNS.reset(token)
    # Names of columns have the place of words here.
    columns = [text.splitlines()[0].split() for text in heads]
    assert all(set(narrow) <= set(wide) for narrow, wide in pairwise(columns))
    assert all("state" in head for head in columns)
    assert len(columns[0]) < len(columns[1]) < len(columns[2])
