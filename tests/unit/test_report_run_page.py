"""The pages of a report: safe, small, whole, and what is missing is said."""

import hashlib
import re
from base64 import b64encode
from collections.abc import Sequence
from functools import cache

import pytest

from entropylaw.documents.document import Entry, ReportDocument, RunReport
from entropylaw.report import pages
from entropylaw.report.figures import FIGURES, parts
from entropylaw.report.figures.drawings import files
from entropylaw.results.result import replace
from tests.findings import stated
from tests.made import of_reports, run_report
from tests.pages import Page
from tests.typed import assert_says
from tests.unit.test_report_index import phases, phases_refused, row, rows
from tests.unit.test_report_samples import (
    HOSTILE,
    by_hand,
    document,
    falling,
    lost_by_hand,
    refused,
    run_by_hand,
    synthetic,
    without_entropy,
)

pytestmark = pytest.mark.usefixtures("one_cache")


def report(*runs: RunReport) -> ReportDocument:
    return of_reports(document(*(run.fit for run in runs)), runs)


def drawn(run: RunReport) -> dict[str, str]:
    """Every figure that a page can hold."""
    found = parts(run)
    return {
        entry.name: files(entry.name, found[entry.needs], ["svg"])["svg"].decode()
        for entry in FIGURES
        if entry.needs in found
    }


def page(fit: Entry, found: Entry | None = None, links: dict[str, Sequence[str]] | None = None) -> str:
    run = run_report(fit, found)
    return pages.run_page(report(run), run, drawn(run), links)


@cache
def good() -> str:
    return page(
        synthetic(),
        phases(),
        {"law": ["../figures/slug-law.svg"], "forecast": ["../figures/slug-forecast.svg"]},
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


@cache
def index() -> str:
    warning = ("<img src=x> was empty",)
    hostile = replace(row("good"), run=HOSTILE, headline=HOSTILE)
    return pages.index_page([*rows(), hostile], warnings=warning, skipped=warning)


ALL = [good, failing, short, none, index]


@pytest.mark.parametrize("made", ALL)
def test_nothing_runs_and_nothing_is_fetched(made) -> None:
    text = made()
    parsed = Page(text)
    assert not parsed.open
    assert not {"iframe", "object", "embed", "link", "img", "form", "base"} & set(parsed.tags)
    scripts = re.findall(r"(?s)<script>(.*?)</script>", text)
    assert parsed.tags.count("script") == len(scripts)
    assert all(len(script.splitlines()) <= 25 for script in scripts)
    assert not [name for name, _ in parsed.attributes if name.startswith("on")]
    outside = re.sub(r'xmlns(:\w+)?="[^"]*"', "", text).replace("[b](http://c.example)", "")
    assert not re.search(r"https?://", outside)
    assert not re.search(r"@import|url\((?!#)", outside)
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    # A page has at most our own script, which the policy knows by its digest.
    digests = [b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    policy += "".join(f"; script-src 'sha256-{digest}'" for digest in digests)
    assert ("content", policy) in parsed.attributes
    assert text.index("Content-Security-Policy") < text.index("<style>")


@pytest.mark.parametrize("made", ALL)
def test_ids_references_headings_tables(made) -> None:
    parsed = Page(made())
    assert len(parsed.ids) == len(set(parsed.ids))
    naming = ("aria-labelledby", "aria-describedby", "for")
    names = [word for name, value in parsed.attributes if name in naming for word in value.split()]
    assert {*parsed.references, *names} <= set(parsed.ids)
    headings = [int(level) for level in re.findall(r"<h(\d)", made())]
    assert headings[0] == 1
    # An index has one table, and no sections.
    assert set(headings[1:]) == (set() if made is index else {2})
    assert len(re.findall(r"<th[ >]", made())) == len(re.findall(r'<th[^>]* scope="(?:col|row)"', made()))
    assert made().count("<tr") == made().count("</tr>")


def sentence(text: str) -> str:
    """The sentence with which the page of a run begins."""
    (found,) = re.findall(r'<p class="finding">(.*?)</p>', text, re.DOTALL)
    return " ".join(Page(found).text.split())


def sections(text: str) -> list[str]:
    """What is read of the sections that are folded away."""
    found = re.findall(r"<details class=part[^>]*>\s*<summary>(.*?)</summary>", text, re.DOTALL)
    return [" ".join(Page(words).text.split()) for words in found]


def test_a_page_is_a_sentence_two_figures_and_sections_that_open() -> None:
    text = failing()
    assert re.fullmatch(r"flat .* now: .*; next .* such runs; keep step .*\.", sentence(text))
    assert "law" not in sentence(text)
    assert text.index('class="finding"') < text.index('id="forecast-title"') < text.index('id="law-title"')
    assert text.index('id="law-title"') < text.index("<details")
    found = sections(text)
    names = ["State", "Forecast", "The law", "Phases", "Read and dropped", "Files and settings"]
    assert [name for part, name in zip(found, names, strict=True) if part.startswith(name)] == names
    assert found[2].startswith("The law fails: reward rises with entropy; R = b − a·exp(H): a ")


def test_cautions_are_open_and_a_refusal_is_not_folded() -> None:
    text = page(run_by_hand(by_hand(findings=stated("caution", "one", "two"))))
    (opened,) = re.findall(r"<details class=part open>(.*?)</details>", text, re.DOTALL)
    assert_says(Page(opened).text, "one", "two")
    assert none().index("This run could not be fitted.") < none().index("<details")
    assert none().index("<dt>why</dt>") < none().index("<details")


def test_the_page_of_a_broken_run_says_that_and_no_more() -> None:
    text = page(run_by_hand(by_hand(state=lost_by_hand())))
    assert sentence(text) == "broken 0.0123 now; lost since step 70; keep step 40: 0.751."
    assert "There is no forecast: the run is broken." in Page(text).text
    assert "H = 0" not in Page(text).text


def test_the_page_of_a_run_without_an_entropy_has_all_but_the_law() -> None:
    text = page(without_entropy())
    assert re.fullmatch(r"rising .*; next .*; keep .*\.", sentence(text))
    assert "The law none: no entropy was given" in sections(text)
    assert text.count("<figure") == 1
    assert "There is no law. No entropy was given." in Page(text).text
    tables = "".join(re.findall(r"<table.*?</table>", text, re.DOTALL))
    assert "0.8" in Page(tables).text
    assert "—" not in Page(tables).text


def test_what_is_not_there_is_said() -> None:
    few = Page(short()).text
    assert_says(
        few,
        "There is no forecast: 7 usable evaluations, a forecast needs at least 8.",
        "The phases could not be fitted: 6 entropies of planning, expected at least 20.",
    )
    assert "The log has no entropy of planning or of execution tokens." in Page(failing()).text


def test_files_of_a_figure_that_is_not_drawn_are_named() -> None:
    run = run_report(synthetic())
    text = pages.run_page(report(run), run, {}, {"forecast": ["../figures/slug-forecast.svg"]})
    assert "Not drawn here: forecast." in Page(text).text


def test_files_are_those_of_the_run() -> None:
    one, other = run_report(synthetic()), run_report(refused())
    both = report(one, other)
    assert [file.path for file in pages.files_of(both, other)] == ["logs/short.csv"]
    joined = replace(other, fit=replace(other.fit, path="logs"))
    assert len(pages.files_of(both, joined)) == 2
    assert pages.files_of(report(joined), joined) == report(joined).inputs
    unread = replace(other, fit=replace(other.fit, path="elsewhere"))
    assert pages.files_of(both, unread) == ()


@pytest.mark.parametrize("n", [300, 2500])
def test_size_of_a_page(n: int) -> None:
    run = run_report(synthetic(n=n, noise=0.03), phases())
    assert len(pages.run_page(report(run), run, drawn(run)).encode()) < 300_000


def test_no_machine_in_it() -> None:
    for made in ALL:
        assert not re.search(r"/(work|tmp|home|root|usr)/|matplotlib|DejaVu", made())


@pytest.mark.parametrize("word", ["model", "alpha", "sigma", "nan", "None"])
def test_vocabulary(word: str) -> None:
    for made in (good, failing, short):
        assert not re.search(rf"\b{word}\b", Page(made()).text), word
