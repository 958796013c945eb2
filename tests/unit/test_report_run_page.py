"""The page of one run: words first, honest, safe, small, and the same from a stored document."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache

import pytest

from entropylaw.documents.codec import decode
from entropylaw.documents.document import ReportDocument, RunFit, RunPhases, RunReport, from_fits
from entropylaw.report import pages
from entropylaw.report.figures import FIGURES, parts
from entropylaw.report.figures.plotting import figure_bytes
from entropylaw.report.numbers import format_estimate
from entropylaw.report.pages import Neighbour
from entropylaw.results import Verdict, Why
from entropylaw.results.result import Finding, replace
from tests.made import run_report
from tests.pages import Page
from tests.unit.test_report_index import phases, phases_refused
from tests.unit.test_report_samples import (
    HOSTILE,
    by_hand,
    document,
    falling,
    refused,
    run_by_hand,
    synthetic,
)

pytestmark = pytest.mark.usefixtures("one_cache")


def report(*runs: RunReport) -> ReportDocument:
    return from_fits(document(*(run.fit for run in runs)), runs)


def drawn(run: RunReport) -> dict[str, str]:
    """Every figure that a page can hold."""
    found = parts(run)
    return {
        entry.name: figure_bytes(entry.draw(found[entry.needs]), "svg", entry.name).decode()
        for entry in FIGURES
        if entry.needs in found
    }


def page(fit: RunFit, found: RunPhases | None = None, links: dict[str, Sequence[str]] | None = None) -> str:
    run = run_report(fit, found)
    return pages.run_page(report(run), run, drawn(run), links)


@cache
def good() -> str:
    return page(
        synthetic(), phases(), {"law": ["../figures/slug-law.svg"], "series": ["../figures/slug-series.svg"]}
    )


@cache
def failing() -> str:
    return page(falling())


@cache
def short() -> str:
    return page(synthetic("few", n=7), phases_refused())


@cache
def none() -> str:
    return page(refused(HOSTILE))


ALL = [good, failing, short, none]


@pytest.mark.parametrize("made", ALL)
def test_nothing_runs_and_nothing_is_fetched(made) -> None:
    text = made()
    parsed = Page(text)
    assert not parsed.open
    assert not {"script", "iframe", "object", "embed", "link", "img", "form", "base"} & set(parsed.tags)
    assert not [name for name, _ in parsed.attributes if name.startswith("on")]
    outside = re.sub(r'xmlns(:\w+)?="[^"]*"', "", text).replace("[b](http://c.example)", "")
    assert not re.search(r"https?://", outside)
    assert not re.search(r"@import|url\((?!#)", outside)
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert ("content", policy) in parsed.attributes


@pytest.mark.parametrize("made", ALL)
def test_ids_references_headings_tables(made) -> None:
    parsed = Page(made())
    assert len(parsed.ids) == len(set(parsed.ids))
    labels = [v for name, value in parsed.attributes if name == "aria-labelledby" for v in value.split()]
    assert {*parsed.references, *labels} <= set(parsed.ids)
    headings = [int(level) for level in re.findall(r"<h(\d)", made())]
    assert headings[0] == 1
    assert set(headings[1:]) == {2}
    assert len(re.findall(r"<th[ >]", made())) == len(re.findall(r'<th[^>]* scope="(?:col|row)"', made()))
    assert made().count("<tr") == made().count("</tr>")


def test_order_of_the_page() -> None:
    found = re.findall(r'<h2 id="(\w+)"', good())
    assert found == ["numbers", "rivals", "law", "forecast", "phases", "trust", "paper", "read", "inputs"]
    text = good()
    marks = [
        'class="tiles"',
        'class="answers"',
        'aria-labelledby="series-',
        'aria-labelledby="law-',
        'id="numbers"',
    ]
    places = [text.index(mark, text.index("<body>")) for mark in marks]
    assert places == sorted(places)


def tiles(text: str) -> list[str]:
    """The text of each tile of a page."""
    listed = re.search(r'<ul class="tiles">(.*?)</ul>', text, re.DOTALL)
    found = re.findall(r"<li.*?</li>", listed[1], re.DOTALL) if listed else []
    return [" ".join(Page(re.sub(r"(?s)<svg.*?</svg>", "", tile)).text.split()) for tile in found]


def test_tiles_have_the_verdict_and_the_numbers() -> None:
    run = run_report(synthetic(), phases())
    fit = run.fit.answer
    assert fit is not None
    assert run.forecast is not None
    verdict, now, ceiling, left, forecast = tiles(good())
    assert verdict == "Verdict on the law holds reward follows R = b − a·exp(H)"
    for tile, one in ((now, fit.reward_now), (ceiling, fit.ceiling), (left, fit.headroom)):
        text = format_estimate(one)
        assert f"{text.value} {text.interval}".replace("-", "−") in tile
    chance = f"P(≥ {fit.gain:.3g})"
    assert f"{chance} = " in left or f"{chance} > " in left
    assert "at step 585" in forecast
    assert tiles(none()) == []
    assert len(tiles(short())) == 4


@pytest.mark.parametrize("made", [good, failing, short])
def test_the_verdict_stands_on_a_page_once(made) -> None:
    body = made()[made().index("<body>") :]
    assert len(re.findall(r"<strong>(?:holds|undecided|fails)</strong>", body)) == 1
    assert "figure-title" not in body
    assert not re.search(r">(?:holds|undecided|fails): ", body)


def test_a_run_without_a_relation_has_its_numbers_for_reference() -> None:
    verdict, now, ceiling, left, _ = tiles(failing())
    assert verdict == "Verdict on the law fails reward rises with entropy"
    assert "for reference only" not in now
    assert "for reference only" in ceiling
    assert "for reference only" in left
    assert "The forecast averages several curves" in Page(failing()).text


def test_another_curve_is_named_with_its_ceiling() -> None:
    values = {"form": "line", "label": "a straight line in H", "probability": 0.95, "own": 0.02}
    better = Finding(code="another-curve", severity="reason", values=values)
    fit = by_hand(
        verdict=Verdict.fails,
        why=Why.another_curve,
        findings=(better,),
        law_probability=0.02,
        line_probability=0.95,
    )
    # Without the engine's posteriors there is no forecast.
    run = RunReport(fit=run_by_hand(fit), no_forecast="none here")
    text = pages.run_page(report(run), run, {})
    verdict, _, ceiling, _ = tiles(text)
    assert verdict == "Verdict on the law fails another curve"
    assert "0.803 [0.771, 0.866]" in ceiling
    assert "by a straight line in H" in Page(text).text
    assert "numbers are for reference only" in Page(text).text


def test_what_is_not_there_is_said() -> None:
    few = Page(short()).text
    assert "There is no forecast: 7 usable evaluations, a forecast needs at least 8." in few
    assert "The phases could not be fitted: 6 entropies of planning, expected at least 20." in few
    assert "The log has no entropy of planning or of execution tokens." in Page(failing()).text


def test_refused_run_has_a_page_with_the_reason() -> None:
    text = Page(none()).text
    assert "3 usable evaluations, expected at least 5 [too-few-evaluations]" in text
    assert "too-few-evaluations" in text
    assert HOSTILE.replace("\n", "\\n") in text
    assert "<script" not in none()
    assert 'id="numbers"' not in none()


def test_figures_are_named_and_their_files_linked() -> None:
    parsed = Page(good())
    assert sum(name == "role" and value == "img" for name, value in parsed.attributes) == 5
    assert parsed.tags.count("desc") == 5
    links = [value for name, value in parsed.attributes if name == "href" and value.startswith("../figures/")]
    assert links == ["../figures/slug-series.svg", "../figures/slug-law.svg"]
    for name in ("law", "series", "forecast", "phases", "residuals"):
        assert f'aria-labelledby="{name}-title {name}-desc"' in good()


def test_files_of_a_figure_that_is_not_drawn_are_named() -> None:
    run = run_report(synthetic())
    text = pages.run_page(report(run), run, {}, {"series": ["../figures/slug-series.svg"]})
    assert "Not drawn here: series." in Page(text).text


def test_neighbours_and_the_way_back() -> None:
    run = run_report(refused())
    before = Neighbour(run="a <b>", href="a.html")
    text = pages.run_page(report(run), run, {}, previous=before)
    assert '<a href="../index.html">All runs</a>' in text
    assert '<a href="a.html" rel="prev">' in text
    assert "Previous: a &lt;b&gt;" in text
    assert "Next:" not in text


def test_files_are_those_of_the_run() -> None:
    one, other = run_report(synthetic()), run_report(refused())
    both = report(one, other)
    assert [file.path for file in pages.files_of(both, other)] == ["logs/short.csv"]
    joined = replace(other, fit=replace(other.fit, path="logs"))
    assert len(pages.files_of(both, joined)) == 2
    assert pages.files_of(report(joined), joined) == report(joined).inputs
    unread = replace(other, fit=replace(other.fit, path="elsewhere"))
    assert pages.files_of(both, unread) == ()


def test_same_bytes_from_a_stored_document() -> None:
    run = run_report(synthetic(), phases())
    fresh = report(run)
    stored = decode(ReportDocument, json.loads(json.dumps(fresh.to_json())))
    shown = {"law": drawn(run)["law"]}
    text = pages.run_page(fresh, run, shown)
    assert pages.run_page(stored, stored.runs[0], shown) == text


@pytest.mark.parametrize("n", [40, 300, 2500])
def test_size_of_a_page(n: int) -> None:
    run = run_report(synthetic(n=n, noise=0.03), phases())
    assert len(pages.run_page(report(run), run, drawn(run)).encode()) < 300_000


def test_compact_figures_are_the_same_picture() -> None:
    from entropylaw.report.figures.palette import minify

    assert minify('<path d="M 1 -2 L 3.25 4 z"/>') == '<path d="M1-2L3.25 4z"/>\n'


def test_no_machine_in_it() -> None:
    for made in ALL:
        assert not re.search(r"/(work|tmp|home|root|usr)/|matplotlib|DejaVu", made())


@pytest.mark.parametrize("word", ["model", "alpha", "sigma", "nan", "None"])
def test_vocabulary(word: str) -> None:
    for made in (good, failing, short):
        assert not re.search(rf"\b{word}\b", Page(made()).text), word
