"""The index over all runs: from rows alone, ordered without a script, and nothing cut off in silence."""

from __future__ import annotations

import json
import re
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entropylaw.analysis.phases import fit_phases
from entropylaw.documents.codec import DocumentMismatchError, as_stored, decode, encode
from entropylaw.documents.document import RunPhases
from entropylaw.errors import FitError
from entropylaw.report import pages
from entropylaw.report.describe.runs import MOST_POINTS, NO_CURVES, IndexRow, block_means, by_name, index_row
from entropylaw.results import Estimate, Why
from entropylaw.results.columns import TOKEN, PhaseColumn
from entropylaw.results.result import replace
from tests.made import run_report
from tests.pages import Page
from tests.unit.test_report_samples import (
    HOSTILE,
    estimate,
    falling,
    refused,
    synthetic,
)


@cache
def phases() -> RunPhases:
    """Execution falls and then rises from step 100, planning only falls."""
    step, random = np.arange(0.0, 400.0, 8.0), np.random.default_rng(3)
    noise = 0.004 * random.standard_normal((2, step.size))
    planning = 0.2 + np.exp(-step / 80) + noise[0]
    execution = 0.1 + 0.5 * np.exp(-step / 30) + 0.001 * np.maximum(step - 100, 0) + noise[1]
    found = fit_phases(step, planning, execution, run="sample")
    nothing = RunPhases.refused(
        "logs/sample.csv", None, FitError("none", "stands for phases that are put here", "none")
    )
    columns = (PhaseColumn(column=name, what=TOKEN, why="by its name", usable=50) for name in ("plan", "act"))
    one, other = columns
    return replace(nothing, refusal=None, planning_column=one, execution_column=other, phases=found)


def phases_refused() -> RunPhases:
    """Too few points."""
    error = FitError("too-few-points", "6 entropies of planning, expected at least 20", "log more often")
    return RunPhases.refused("logs/sample.csv", None, error)


@cache
def row(kind: str) -> IndexRow:
    """A row of each kind, forecasts and all."""
    made = {
        "good": lambda: run_report(synthetic(), phases()),
        "failing": lambda: run_report(falling()),
        "refused": lambda: run_report(refused()),
        "short": lambda: run_report(synthetic("few", n=7), phases_refused()),
    }
    return index_row(made[kind](), kind)


def rows() -> list[IndexRow]:
    return [row(kind) for kind in ("good", "failing", "refused", "short")]


def with_ceiling(name: str, value: float, low: float | None, high: float | None) -> IndexRow:
    """The good run with another ceiling."""
    numbers = {"ceiling": estimate(value, low, high), "headroom": estimate(value, low, high)}
    return with_cells(replace(row("good"), run=name, slug=name), **numbers)


def with_cells(one: IndexRow, **cells: Estimate) -> IndexRow:
    """A row with other cells."""
    return replace(one, cells={**one.cells, **cells})


def orders(text: str) -> dict[str, dict[str, int]]:
    """Run → its place in each order, as the page says it."""
    found = re.findall(r'style="([^"]*)">\s*<div role="rowheader"><a href="runs/([^"]*)\.html"', text)
    return {name: {k: int(v) for k, v in re.findall(r"--(\w):(\d+)", style)} for style, name in found}


def test_row_comes_back_from_json() -> None:
    for one in rows():
        body = json.loads(json.dumps(encode(one)))
        assert decode(IndexRow, body) == as_stored(one)
        assert encode(decode(IndexRow, body)) == body
    with pytest.raises(DocumentMismatchError, match="verdict"):
        decode(IndexRow, {**encode(row("good")), "verdict": 7})


def test_row_says_what_is_missing_and_why() -> None:
    good, failing, none, few = rows()
    assert good.readable
    assert good.phases_words.startswith(str(good.cells["phases"]))
    assert good.no_phases is None
    assert failing.headline == "reward rises with entropy"
    assert not failing.readable
    assert failing.no_phases == NO_CURVES
    assert not none.fitted
    assert "forecast" not in none.cells
    assert none.headline == "3 usable evaluations, expected at least 5"
    assert none.refusal == "too-few-evaluations"
    assert none.no_forecast == "the run has no fit"
    assert "forecast" not in few.cells
    assert few.no_forecast == "7 usable evaluations, a forecast needs at least 8"
    assert few.no_phases == "6 entropies of planning, expected at least 20"


def test_forecast_goes_half_a_run_beyond_the_end() -> None:
    ahead = run_report(synthetic()).forecast
    assert ahead is not None
    assert ahead.step == (439.0, 488.0, 537.0, 585.0)
    good = row("good")
    assert (good.cells["last_step"], good.cells["forecast_step"]) == (390.0, 585.0)


def test_spark_keeps_ends_and_means() -> None:
    thin = block_means(np.arange(1000.0))
    assert len(thin) == MOST_POINTS
    assert thin[0] == 12.0
    assert block_means(np.arange(7.0)) == tuple(range(7))
    law, series = synthetic().law, row("good").series
    assert law is not None
    assert series is not None
    assert series.entropy == (law.entropy[0], law.entropy[-1])


def test_names_are_ordered_as_people_do() -> None:
    named = [replace(row("good"), run=name) for name in ("run-10", "Run-9", "run-2", "a")]
    assert [one.run for one in by_name(named)] == ["a", "run-2", "Run-9", "run-10"]


def test_nothing_runs_and_nothing_is_fetched() -> None:
    warning = ("<img src=x> was empty",)
    hostile = replace(row("good"), run=HOSTILE, headline=HOSTILE)
    text = pages.index_page([*rows(), hostile], warnings=warning, skipped=warning)
    parsed = Page(text)
    assert not parsed.open
    assert not {"script", "iframe", "object", "embed", "link", "img", "form", "base"} & set(parsed.tags)
    assert not [name for name, _ in parsed.attributes if name.startswith("on")]
    assert not re.search(r"https?://(?!c\.example)", text)
    assert not re.search(r"@import|url\(", text)
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert ("content", policy) in parsed.attributes
    assert text.index("Content-Security-Policy") < text.index("<style>")
    assert "<img" not in text


def test_ids_are_unique_and_every_reference_is_there() -> None:
    parsed = Page(pages.index_page(rows()))
    assert len(parsed.ids) == len(set(parsed.ids))
    named = [
        value for name, value in parsed.attributes if name in ("for", "aria-describedby", "aria-labelledby")
    ]
    assert {*parsed.references, *named} <= set(parsed.ids)
    assert parsed.tags.count("label") == parsed.tags.count("input") == 4


def test_hostile_and_endless_names_are_text() -> None:
    endless = replace(row("good"), run="x" * 5000)
    text = pages.index_page([replace(row("refused"), run=HOSTILE), endless])
    assert "<script" not in text
    assert HOSTILE.replace("\n", "\\n") in Page(text).text
    assert "x" * 119 + "…" in text
    assert "x" * 120 not in text


def failed(name: str, value: float, why: Why) -> IndexRow:
    """A run that fails, with a ceiling."""
    return replace(with_ceiling(name, value, value - 1, value + 1), verdict="fails", why=why, chip=why.value)


def test_order_puts_what_is_not_to_be_read_behind() -> None:
    many = [
        with_ceiling("low", 0.5, 0.4, 0.6),
        with_ceiling("high", 0.9, 0.8, 1.0),
        failed("line", 3.0, Why.another_curve),
        failed("none", 4.0, Why.no_relation),
        row("refused"),
    ]
    found = orders(pages.index_page(many))
    for key in ("c", "h"):
        by_place = sorted(found, key=lambda name: found[name][key])
        assert by_place == ["line", "high", "low", "none", "refused"]


def test_the_orders_of_the_page_are_those_of_the_style() -> None:
    text = pages.index_page(rows())
    choices = re.findall(r'id="by-(\w+)"', text)
    assert choices == ["name", "ceiling", "headroom", "used"]
    used = dict(re.findall(r"#by-(\w+):checked\) \.body \.row\{order:var\(--(\w)\)\}", text))
    assert used == {"ceiling": "c", "headroom": "h", "used": "u"}
    assert all(set(place) == set(used.values()) for place in orders(text).values())


def groups(text: str) -> list[tuple[str, bool]]:
    """The summary of each group of runs, and whether it is open."""
    found = re.findall(
        r'<details class="group"( open)?><summary>(.*?)</summary>\s*<div class="runs"', text, re.DOTALL
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


def test_a_run_that_fails_shows_the_ceiling_of_the_curve_that_fits() -> None:
    text = pages.index_page([failed("line", 0.7, Why.another_curve), failed("none", 0.9, Why.no_relation)])
    fits, none = (
        text[text.index("runs/line.html") : text.index("runs/none.html")],
        text[text.index("runs/none.html") :],
    )
    assert "<b>0.7</b> <i>[−0.3, 1.7]</i>" in fits
    assert '<svg class="forest"' in fits
    assert "— no relation" in none
    assert '<svg class="forest"' not in none[: none.index("</details>")]
    assert "0.9<" not in none


@pytest.mark.parametrize(
    ("name", "arms", "arm"),
    [
        ("seed1", None, None),
        ("lr=3-a", r"lr=(\d)", "3"),
        ("none", r"lr=(\d)", None),
    ],
)
def test_an_arm_is_a_name_without_its_seed(name: str, arms: str | None, arm: str | None) -> None:
    assert pages.arm_of(name, arms) == arm


def test_arms_that_match_no_run_are_refused(run, lab) -> None:
    done = run("report", lab / "grpo_s0" / "metrics.parquet", "--arms", "nobody", "-o", "out")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-2].startswith("error[no-such-arm]: --arms 'nobody' matches")


def test_arms_that_are_no_regular_expression_are_refused(run, lab) -> None:
    done = run("report", lab / "grpo_s0" / "metrics.parquet", "--arms", "(", "-o", "out")
    assert done.returncode == 2
    assert done.stderr.startswith("error[bad-option]: --arms '(' is not a regular expression: missing )")


def test_arms_have_a_row_with_the_ceilings_of_their_runs() -> None:
    named = [replace(one, run=f"x_s{i}", slug=f"x_s{i}") for i, one in enumerate(rows())]
    text = pages.index_page([*named, row("good")])
    table = text[text.index('class="arms"') : text.index("All runs")]
    assert table.count('<th scope="row">') == 1
    assert "1 arm of several runs" in text
    for verdict in ("holds", "undecided", "fails", "refused"):
        assert f'<span class="badge {verdict}">1 {verdict}</span>' in table
    # One mark per ceiling that is to be read: those of the good run and of the short one.
    assert table.count("<circle") == 2
    assert 'class="arms"' not in pages.index_page(rows())
    assert "3 arms of several runs" in pages.index_page([*named, row("good"), *rows()[1:]], arms="^(x|.)")


def test_refused_run_is_a_row_with_its_reason() -> None:
    text = Page(pages.index_page(rows())).text
    assert "3 usable evaluations, expected at least 5" in text
    assert "no relation" in text


def test_skipped_files_stand_at_the_end_and_warnings_at_the_top() -> None:
    text = pages.index_page(
        rows(), warnings=("interrupted before 3 runs",), skipped=["a.json was not read"] * 3
    )
    assert text.index("interrupted before") < text.index('<main id="main"')
    assert text.index("3 files skipped") > text.index('id="reading"')
    assert text.count('class="warning"') == 1


def test_what_runs_out_of_the_axis_has_an_arrow_and_its_numbers() -> None:
    near = [with_ceiling(f"run {i}", 0.5 + 0.01 * i, 0.45, 0.65) for i in range(9)]
    wild = replace(with_ceiling("wild", 40.0, -30.0, 90.0), verdict="undecided")
    text = pages.index_page([*near, wild])
    row_of_wild = text[text.index("runs/wild.html") :]
    assert row_of_wild.count('class="out"') == 2
    assert "beyond the axis" in row_of_wild
    assert "[−30, 90]" in row_of_wild
    assert text[: text.index("runs/wild.html")].count('class="out"') == 0


def test_a_reward_now_beyond_the_axis_has_an_arrow_too() -> None:
    near = [with_ceiling(f"run {i}", 0.5 + 0.01 * i, 0.45, 0.65) for i in range(30)]
    far = replace(with_cells(near[0], reward_now=estimate(700.0, 690.0, 710.0)), run="far", slug="far")
    text = pages.index_page([*near, far])
    row_of_far = text[text.index("runs/far.html") : text.index("runs/run 0.html")]
    assert row_of_far.count('class="out"') == 1
    assert 'class="now"' not in row_of_far


numbers = st.floats(min_value=-1e9, max_value=1e9, allow_nan=False)


@given(st.lists(st.tuples(numbers, numbers, numbers, st.booleans()), min_size=1, max_size=6))
def test_marks_stay_in_the_picture_whatever_the_ceilings(
    found: list[tuple[float, float, float, bool]],
) -> None:
    many = []
    for i, (one, two, three, holds) in enumerate(found):
        low, value, high = sorted((one, two, three))
        made = with_ceiling(f"r{i}", value, low, high)
        many.append(made if holds else replace(made, verdict="fails", why=Why.no_relation))
    axis = pages.ceiling_axis(many)
    assert axis.low < axis.high
    assert all(0 <= float(tick.x) <= pages.WIDTH for tick in axis.ticks)
    text = pages.index_page(many)
    for picture in re.findall(r'<svg class="forest".*?</svg>', text, re.DOTALL):
        places = [float(x) for x in re.findall(r'(?:cx="|d="M|H)(-?[\d.]+)', picture)]
        assert all(0 <= x <= pages.WIDTH for x in places)
        assert places


def test_numbers_that_are_not_known_are_not_shown_as_numbers() -> None:
    nothing = Estimate(value=None, low=None, high=None, level=0.95, method="none", note="cannot be told")
    unknown = with_cells(row("good"), ceiling=nothing, headroom=nothing, used=nothing)
    parsed = Page(pages.index_page([unknown]))
    assert parsed.text.count("unknown") == 3
    assert not re.search(r"\bnan\b|\bNone\b|\binf\b", parsed.text)


def test_same_bytes_whatever_the_order() -> None:
    assert pages.index_page(rows()) == pages.index_page(reversed(rows()))


def test_no_runs_at_all() -> None:
    assert "There are no runs." in Page(pages.index_page([])).text


def test_headings_and_language() -> None:
    text = pages.index_page(rows())
    assert '<html lang="en">' in text
    assert re.findall(r"<h(\d)", text) == ["1", "2"]
    assert '<a class="skip" href="#main">' in text


def test_a_thousand_runs_stay_below_three_megabytes() -> None:
    base = index_row(run_report(synthetic("long", n=200, noise=0.02), phases()), "long")
    worst = index_row(run_report(synthetic("wrong", n=200, a=-0.2, b=0.3, noise=0.03), phases()), "wrong")
    many = [
        replace(one, run=f"entropy_bonus_0.1_seed_{i}", slug=f"entropy_bonus_0.1_seed_{i}")
        for i, one in enumerate([base, worst] * 500)
    ]
    size = len(pages.index_page(many).encode())
    assert size < 3_000_000
    assert len(encode(worst)["cells"]["entropy"]) == MOST_POINTS
