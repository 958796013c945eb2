"""The index over all runs: from rows alone, by state, complete without a script, nothing cut off."""

import json
import re
from functools import cache

import numpy as np
import pytest

from entropylaw import Estimate, FitError
from entropylaw.documents.codec import DocumentMismatchError, as_stored, decode, encode
from entropylaw.documents.document import Entry
from entropylaw.documents.summary import RunSummary
from entropylaw.report import pages
from entropylaw.report.describe.runs import index_row
from entropylaw.report.words import stop_notes
from entropylaw.results.result import replace
from entropylaw.results.stop import StopLine
from tests.laws import phases_of
from tests.made import run_report
from tests.pages import Page
from tests.unit.test_phase_report import column
from tests.unit.test_report_samples import (
    by_hand,
    falling,
    lost_by_hand,
    refused,
    run_by_hand,
    synthetic,
    without_entropy,
)


@cache
def phases() -> Entry:
    """Execution falls and then rises from step 100, planning only falls."""
    step, random = np.arange(0.0, 400.0, 8.0), np.random.default_rng(3)
    noise = 0.004 * random.standard_normal((2, step.size))
    planning = 0.2 + np.exp(-step / 80) + noise[0]
    execution = 0.1 + 0.5 * np.exp(-step / 30) + 0.001 * np.maximum(step - 100, 0) + noise[1]
    found = phases_of(step, planning, execution, name="sample")
    columns = {"planning": column("plan"), "execution": column("act")}
    return replace(Entry.of("logs/sample.csv", None, result=found), columns=columns)


def phases_refused() -> Entry:
    """Too few points."""
    error = FitError("too-few-points", "6 entropies of planning, expected at least 20", "log more often")
    return Entry.of("logs/sample.csv", None, error=error)


@cache
def row(kind: str) -> RunSummary:
    """A row of each kind, forecasts and all."""
    made = {
        "good": lambda: run_report(synthetic(), phases()),
        "failing": lambda: run_report(falling()),
        "refused": lambda: run_report(refused()),
        "short": lambda: run_report(synthetic("few", n=7), phases_refused()),
        "broken": lambda: run_report(run_by_hand(by_hand(state=lost_by_hand()), "broken")),
        "bare": lambda: run_report(without_entropy()),
    }
    return index_row(made[kind](), kind)


def rows() -> list[RunSummary]:
    return [row(kind) for kind in ("good", "failing", "refused", "short")]


def named(name: str, kind: str, **changed: object) -> RunSummary:
    """A row of a kind under another name."""
    return replace(row(kind), run=name, slug=name, **changed)


def ahead(text: str) -> list[str]:
    """The runs that have a forecast."""
    return re.findall(
        r'<a href="runs/([^"]*)\.html">(?:(?!</tr>).)*?<td class="forecast"[^>]*><b>[0-9.]+</b>', text
    )


def cells(text: str, name: str) -> list[str]:
    """The text of each cell of a run."""
    (found,) = re.findall(rf'<tr[^>]*><th scope="row"><a href="runs/{name}\.html">.*?</tr>', text, re.DOTALL)
    return [" ".join(Page(cell).text.split()) for cell in re.findall(r"<td.*?</td>", found, re.DOTALL)]


def test_row_comes_back_from_json() -> None:
    for one in rows():
        body = json.loads(json.dumps(encode(one)))
        assert decode(RunSummary, body) == as_stored(one)
        assert encode(decode(RunSummary, body)) == body
    with pytest.raises(DocumentMismatchError, match="state"):
        decode(RunSummary, {**encode(row("good")), "state": 7})


def test_a_curve_has_means_of_neighbours() -> None:
    series = index_row(run_report(synthetic("long", n=200)), "long").series
    assert series is not None
    assert len(series.step) == len(series.reward) == 40
    rewards = synthetic("long", n=200).result.evaluations[2]
    assert series.reward[0] == pytest.approx(rewards[:5].mean())
    few = row("good").series
    assert few is not None
    assert few.step == tuple(synthetic().result.law.step)


def test_endless_names_are_cut() -> None:
    text = pages.index_page([replace(row("good"), run="x" * 5000)])
    assert "x" * 119 + "…" in text
    assert "x" * 120 not in text


def test_of_a_broken_run_nothing_is_said_but_that_it_is_broken() -> None:
    text = pages.index_page([named("good", "good"), named("lost", "broken"), row("refused")])
    assert ahead(text) == ["good"]
    assert cells(text, "lost") == ["", "broken", "", "", "", ""]
    assert 'title="broken since step 70"' in text
    assert text.count('<rect class="lost"') == 1
    # The fan of the other one.
    assert text.count("<polygon") == 1


def test_a_run_without_an_entropy_has_its_state_and_its_forecast() -> None:
    text = pages.index_page([named("bare", "bare"), named("short", "short")])
    assert ahead(text) == ["bare"]
    assert cells(text, "bare")[-1] == "no law"
    assert counts(text) == "1 rising · 1 no state"


def counts(text: str) -> str:
    """The line of counts of an index."""
    (found,) = re.findall(r'<p class="counts">(.*?)</p>', text, re.DOTALL)
    return " ".join(Page(found).text.split())


def test_the_runs_are_one_table_by_state_below_a_line_of_counts() -> None:
    text = pages.index_page([*rows(), named("lost", "broken")])
    assert counts(text) == "1 broken · 2 flat · 1 no state · 1 refused"
    states = re.findall(r'<tbody id="state-([^"]*)">', text)
    assert states == ["broken", "flat", "no-state", "refused"]
    assert text.count('<table class="runs"') == 1
    assert re.findall(r'class="[^"]*" href="#state-([^"]*)"', text) == states
    refusal = row("refused").headline
    assert cells(text, "refused")[-1] == refusal


def test_a_row_has_its_numbers_under_the_pointer() -> None:
    (title,) = re.findall(r'<tr title="(.*?)">', pages.index_page([row("good")]))
    for text in (" in all", "such runs", "R² 0.9", "at H = 0"):
        assert text in title


def test_the_curve_goes_on_with_the_forecast_inside_of_its_box() -> None:
    text = pages.index_page([row("good")])
    drawn = re.findall(r'points="([^"]*)"', text)
    assert len(drawn) == 3
    for points in drawn:
        for point in points.split(" "):
            x, y = map(float, point.split(","))
            assert 2 <= x <= 118
            assert 2 <= y <= 22


def test_skipped_files_stand_at_the_end_and_warnings_at_the_top() -> None:
    text = pages.index_page(
        rows(), warnings=("interrupted before 3 runs",), skipped=["a.json was not read"] * 3
    )
    assert text.index("interrupted before") < text.index('<main id="main"')
    assert text.index("3 files skipped") > text.index('id="reading"')
    assert text.count('<p class="warning"') == 1


def test_numbers_that_are_not_known_are_not_shown_as_numbers() -> None:
    nothing = Estimate(value=None, low=None, high=None, level=0.95, method="none", note="cannot be told")
    unknown = replace(row("good"), ceiling=nothing, forecast=nothing, p_gain=None)
    text = pages.index_page([unknown])
    assert cells(text, "good")[3] == "—"
    assert not re.search(r"\bnan\b|\bNone\b|\binf\b", Page(text).text)
    assert ahead(text) == []


def test_names_are_ordered_as_people_do() -> None:
    text = pages.index_page([named(name, "good") for name in ("run-10", "Run-9", "run-2", "a")])
    assert re.findall(r'<a href="runs/(.*?)\.html">', text) == ["a", "run-2", "Run-9", "run-10"]


def test_same_bytes_whatever_the_order() -> None:
    assert pages.index_page(rows()) == pages.index_page(reversed(rows()))


def test_no_runs_at_all() -> None:
    assert "<h1>0 runs</h1>" in pages.index_page([])


def test_a_thousand_runs_stay_below_three_megabytes() -> None:
    base = index_row(run_report(synthetic("long", n=200, noise=0.02), phases()), "long")
    worst = index_row(run_report(synthetic("wrong", n=200, a=-0.2, b=0.3, noise=0.03), phases()), "wrong")
    many = [
        replace(one, run=f"entropy_bonus_0.1_seed_{i}", slug=f"entropy_bonus_0.1_seed_{i}")
        for i, one in enumerate([base, worst] * 500)
    ]
    size = len(pages.index_page(many).encode())
    assert size < 3_000_000


def test_the_step_to_keep_is_the_last_or_a_better_one():
    for step, text in ((390.0, "last"), (380.0, "380")):
        made = replace(row("good"), keep_step=step)
        (kept,) = re.findall(r'data-label="keep">(.*?)</td>', pages.index_page([made]))
        assert kept == text


def test_stop_lines_are_said_and_the_rest_of_a_run_is_counted_once():
    stop = StopLine(
        says="stop",
        reward="r",
        step=320.0,
        evaluations=9,
        best_step=80.0,
        p_ever=0.25,
        steps_left=80.0,
        cost=40.0,
    )
    good = replace(row("good"), run="a", stop_line=stop)
    rewards = [replace(good, label=label) for label in "uvwxyz"]
    texts = [note.text for note in stop_notes(rewards, lambda one: str(one.label), 400.0)]
    assert texts[:5] == [*(f"{label}: stop (no new best since step 80)" for label in "uvwx"), "+2 more"]
    assert texts[5:] == ["80 steps to step 400, which cost 40.0"]
    # What the state says is not said again.
    for says in ("go on", "not known", "broken"):
        said = replace(stop, says=says, cost=None)
        others = [replace(good, run=name, stop_line=said) for name in "ab"]
        assert stop_notes(others, lambda one: one.run) == []
        texts = [note.text for note in stop_notes(others, lambda one: one.run, 400.0)]
        assert texts == ["160 steps in 2 runs to step 400"]
