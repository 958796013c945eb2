"""The page: self-contained, safe, and honest about what it shows."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import pytest

from entropylaw.documents.fit import FitDocument, RunFit
from entropylaw.report.files import render_report
from tests.unit.test_report_samples import (
    HOSTILE,
    by_hand,
    document,
    falling,
    refused,
    run_by_hand,
    synthetic,
)

VOID = {"meta", "br", "link", "img", "hr", "input"}


class Page(HTMLParser):
    """Tags, ids, references and text of a page; every element must be closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.references: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            self.attributes.append((name, value or ""))
            if name == "id":
                self.ids.append(value or "")
            self.references += re.findall(r"url\(#([^)]*)\)", value or "")
            if name == "href" and (value or "").startswith("#"):
                self.references.append((value or "")[1:])

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.remove(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def hostile_document() -> FitDocument:
    hostile = replace(synthetic(), run=HOSTILE, path="logs/<b>'\".csv")
    twins = (synthetic(), synthetic())
    return document(
        *twins, hostile, falling(), refused(HOSTILE), warnings=("<img src=x onerror=y> was empty",)
    )


def page(*runs: RunFit) -> str:
    if not runs:
        return hostile_page()
    text = render_report(document(*runs))["index.html"]
    assert isinstance(text, str)
    return text


@cache
def hostile_page() -> str:
    text = render_report(hostile_document())["index.html"]
    assert isinstance(text, str)
    return text


def test_nothing_runs_and_nothing_is_fetched() -> None:
    parsed = Page(page())
    assert not parsed.open
    assert not {"script", "iframe", "object", "embed", "link", "img", "form", "base"} & set(parsed.tags)
    assert not [name for name, _ in parsed.attributes if name.startswith("on")]
    outside = re.sub(r'xmlns(:\w+)?="[^"]*"', "", page()).replace("[b](http://c.example)", "")
    assert not re.search(r"https?://", outside)
    assert not re.search(r"@import|url\((?!#)", outside)
    assert not [
        value for name, value in parsed.attributes if name in ("href", "src") and value[:1] not in ("#",)
    ]


def test_ids_are_unique_and_every_reference_is_there() -> None:
    parsed = Page(page())
    assert len(parsed.ids) == len(set(parsed.ids))
    assert set(parsed.references) <= set(parsed.ids)


def test_hostile_names_are_text() -> None:
    assert "<script" not in page()
    assert "<img" not in page()
    assert HOSTILE.replace("\n", "\\n") in Page(page()).text


def test_every_figure_has_a_title_and_a_description() -> None:
    parsed = Page(page(synthetic()))
    labels = [value.split() for name, value in parsed.attributes if name == "aria-labelledby"]
    assert sum(name == "role" and value == "img" for name, value in parsed.attributes) == 3
    assert {label for pair in labels for label in pair} <= set(parsed.ids)


def test_order_verdict_figure_numbers_rivals_trust_read() -> None:
    text = page(synthetic())
    marks = [
        'class="headline"',
        'class="summary"',
        'class="card law"',
        "Numbers",
        "Rivals",
        "How far",
        "Read and",
    ]
    places = [text.index(mark, text.index("<body>")) for mark in marks]
    assert places == sorted(places)


def test_invalid_run_says_so_in_words() -> None:
    text = Page(page(falling())).text
    assert "law fails" in text
    assert "The law does not describe this run." in text
    assert "reward falls as entropy is spent" in text
    assert "not for use" in text


def test_refused_run_says_why() -> None:
    text = Page(page(refused())).text
    assert "too-few-evaluations" in text
    assert "3 usable evaluations, expected at least 5." in text
    assert "Evaluate more often." in text


def test_no_machine_in_it() -> None:
    assert not re.search(r"/(work|tmp|home|root|usr)/|matplotlib|DejaVu", page())
    assert "0.300" in page(run_by_hand(by_hand()))


def test_size_of_a_run_page() -> None:
    assert len(page(synthetic()).encode()) < 150_000
    for n in (300, 2500):
        assert len(page(synthetic(n=n, noise=0.03)).encode()) < 300_000


def test_fifty_runs_fit_into_two_megabytes() -> None:
    from entropylaw.report import figures, html
    from entropylaw.report.slugs import run_slugs

    law = figures.figure_bytes(figures.law_figure(synthetic()), "svg", "x").decode()
    many = document(*(replace(synthetic(), run=f"run {i}") for i in range(50)))
    sets = {slug: html.FigureSet(law=law, series=law, residuals=law) for slug in run_slugs(many)}
    text = html.render(many, sets)
    assert len(text.encode()) < 2_000_000
    assert "figures/run-7-residuals.svg" in text


@pytest.mark.parametrize("word", ["model", "alpha", "sigma"])
def test_vocabulary(word: str) -> None:
    assert not re.search(rf"\b{word}\b", Page(page()).text, re.IGNORECASE)
