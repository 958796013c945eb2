"""The index over all runs, and its figure: from rows alone, complete without a script, nothing cut off."""

import json
import re
from functools import cache

import numpy as np
import pytest
from entropylaw.report.figures.ceilings import MOST_RUNS, ceilings_figure
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes

from entropylaw import Estimate, FitError, StopLine, Why
from entropylaw.documents.codec import DocumentMismatchError, as_stored, decode, encode
from entropylaw.documents.document import Entry
from entropylaw.documents.summary import RunSummary
from entropylaw.report import pages
from entropylaw.report.describe.runs import MOST_POINTS, by_name, index_row
from entropylaw.report.words import stop_notes
from entropylaw.results.result import replace
from tests.laws import phases_of
from tests.made import run_report
from tests.pages import Page
from tests.unit.test_phase_report import column
from tests.unit.test_report_samples import estimate, falling, refused, synthetic


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
    }
    return index_row(made[kind](), kind)


def rows() -> list[RunSummary]:
    return [row(kind) for kind in ("good", "failing", "refused", "short")]


def with_ceiling(name: str, value: float, low: float | None, high: float | None) -> RunSummary:
    """The good run with another ceiling."""
    made = estimate(value, low, high)
    return replace(row("good"), run=name, slug=name, ceiling=made, headroom=made)


def values(text: str, key: str) -> dict[str, float]:
    """Run → the number by which the script orders it, for runs that have one."""
    found = re.findall(r'<tr><th scope="row"><a href="runs/([^"]*)\.html">.*?</tr>', text, re.DOTALL)
    cells = re.findall(
        rf'<a href="runs/([^"]*)\.html">(?:(?!</tr>).)*?<td class="{key}"[^>]* data-value="([^"]*)"', text
    )
    assert {name for name, _ in cells} <= set(found)
    return {name: float(value) for name, value in cells}


def test_row_comes_back_from_json() -> None:
    for one in rows():
        body = json.loads(json.dumps(encode(one)))
        assert decode(RunSummary, body) == as_stored(one)
        assert encode(decode(RunSummary, body)) == body
    with pytest.raises(DocumentMismatchError, match="verdict"):
        decode(RunSummary, {**encode(row("good")), "verdict": 7})


def test_spark_keeps_ends_and_means() -> None:
    law = synthetic("long", n=200).result.law
    series = index_row(run_report(synthetic("long", n=200)), "long").series
    assert series is not None
    assert len(series.step) == len(series.reward) == MOST_POINTS
    assert series.entropy[0] == pytest.approx(law.entropy[:5].mean())
    assert series.entropy_ends == (law.entropy[0], law.entropy[-1])
    few = row("good").series
    assert few is not None
    assert few.step == tuple(synthetic().result.law.step)


def test_names_are_ordered_as_people_do() -> None:
    named = [replace(row("good"), run=name) for name in ("run-10", "Run-9", "run-2", "a")]
    assert [one.run for one in by_name(named)] == ["a", "run-2", "Run-9", "run-10"]


def test_endless_names_are_cut() -> None:
    text = pages.index_page([replace(row("good"), run="x" * 5000)])
    assert "x" * 119 + "…" in text
    assert "x" * 120 not in text


def failed(name: str, value: float, why: Why) -> RunSummary:
    """A run that fails, with a ceiling."""
    made = with_ceiling(name, value, value - 1, value + 1)
    if why is Why.no_relation:
        made = replace(made, no_ceiling=why.value)
    return replace(made, verdict="fails", why=why)


def test_what_is_not_to_be_read_has_no_place_in_an_order() -> None:
    many = [
        with_ceiling("low", 0.5, 0.4, 0.6),
        with_ceiling("high", 0.9, 0.8, 1.0),
        failed("line", 3.0, Why.another_curve),
        failed("none", 4.0, Why.no_relation),
        row("refused"),
    ]
    text = pages.index_page(many)
    assert values(text, "ceiling") == values(text, "headroom") == {"low": 0.5, "high": 0.9, "line": 3.0}


def groups(text: str) -> list[tuple[str, bool]]:
    """The summary of each group of runs, and whether it is open."""
    found = re.findall(
        r'<details class="group"( open)?><summary>(.*?)</summary>\s*<table class="runs" aria-label',
        text,
        re.DOTALL,
    )
    return [(" ".join(Page(words).text.split()), bool(opened)) for opened, words in found]


def test_groups_are_by_verdict_with_counts_and_reasons() -> None:
    few = [*rows(), failed("line", 0.7, Why.another_curve)]
    assert groups(pages.index_page(few)) == [
        ("holds 1 run", True),
        ("undecided 1 run", True),
        ("fails 2 runs 1 another curve, 1 no relation", True),
        ("refused 1 run 1 too-few-evaluations", True),
    ]


def test_of_many_runs_those_that_fail_are_folded_unless_all_do() -> None:
    failing = [failed(f"f{i}", 0.7, Why.another_curve) for i in range(30)]
    assert groups(pages.index_page([*failing, row("good")])) == [
        ("holds 1 run", True),
        ("fails 30 runs 30 another curve", False),
    ]
    assert groups(pages.index_page(failing)) == [("fails 30 runs 30 another curve", True)]


def test_skipped_files_stand_at_the_end_and_warnings_at_the_top() -> None:
    text = pages.index_page(
        rows(), warnings=("interrupted before 3 runs",), skipped=["a.json was not read"] * 3
    )
    assert text.index("interrupted before") < text.index('<main id="main"')
    assert text.index("3 files skipped") > text.index('id="reading"')
    assert text.count('<p class="warning"') == 1


def test_numbers_that_are_not_known_are_not_shown_as_numbers() -> None:
    nothing = Estimate(value=None, low=None, high=None, level=0.95, method="none", note="cannot be told")
    unknown = replace(row("good"), ceiling=nothing, headroom=nothing)
    parsed = Page(pages.index_page([unknown]))
    assert parsed.text.count("—") >= 2
    assert not re.search(r"\bnan\b|\bNone\b|\binf\b", parsed.text)


def test_same_bytes_whatever_the_order() -> None:
    assert pages.index_page(rows()) == pages.index_page(reversed(rows()))


def test_no_runs_at_all() -> None:
    assert "There are no runs." in Page(pages.index_page([])).text


def test_a_thousand_runs_stay_below_three_megabytes() -> None:
    base = index_row(run_report(synthetic("long", n=200, noise=0.02), phases()), "long")
    worst = index_row(run_report(synthetic("wrong", n=200, a=-0.2, b=0.3, noise=0.03), phases()), "wrong")
    many = [
        replace(one, run=f"entropy_bonus_0.1_seed_{i}", slug=f"entropy_bonus_0.1_seed_{i}")
        for i, one in enumerate([base, worst] * 500)
    ]
    size = len(pages.index_page(many).encode())
    assert size < 3_000_000


@pytest.mark.parametrize(
    ("best", "p_better", "text"),
    [(390.0, 0.0, "390 (last)"), (380.0, 0.6, "like now"), (380.0, 0.97, "380 (P = 0.97)")],
)
def test_the_best_step_is_the_last_of_the_reward_and_not_of_the_law(best, p_better, text):
    made = replace(row("good"), best_step=best, p_better=p_better, last_step=380.0)
    assert text in Page(pages.index_page([made])).text


def test_stop_lines_are_said_and_the_rest_of_a_run_is_counted_once():
    stop = StopLine(
        says="not known",
        reward="r",
        step=320.0,
        evaluations=9,
        steps_left=80.0,
        cost=40.0,
        why_none="too few evaluations",
    )
    good = replace(row("good"), run="a", stop_line=stop)
    rewards = [replace(good, label=label) for label in "uvwxyz"]
    texts = [note.text for note in stop_notes(rewards, lambda one: str(one.label), 400.0)]
    assert texts[:5] == [*(f"{label}: not known: too few evaluations" for label in "uvwx"), "+2 more"]
    assert texts[5:] == ["80 steps to step 400, which cost 40.0"]
    going = replace(stop, says="go on", cost=None)
    others = [replace(good, run=name, stop_line=going) for name in "ab"]
    assert stop_notes(others, lambda one: one.run) == []
    texts = [note.text for note in stop_notes(others, lambda one: one.run, 400.0)]
    assert texts == ["160 steps in 2 runs to step 400"]


def axes_of(arms: dict[str, list[RunSummary]]) -> Axes:
    return ceilings_figure([arms]).axes[0]


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
    far = replace(replace(near[0], reward_now=estimate(700.0, 690.0, 710.0)), run="far", slug="far")
    axes = axes_of({one.run: [one] for one in (*near, wild, far)})
    low, high = axes.get_xlim()
    assert -5 < low < 0.45
    assert 0.79 < high < 5
    dots = marks(axes, "o")
    assert [y for _, y in marks(axes, "<")] == [dots[30][1]]
    assert [y for _, y in marks(axes, ">")] == [dots[30][1], dots[31][1]]


def test_more_runs_than_there_is_room_for_are_counted() -> None:
    many = {f"r{i}": [replace(row("good"), run=f"r{i}")] for i in range(MOST_RUNS + 5)}
    figure = ceilings_figure([many])
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
