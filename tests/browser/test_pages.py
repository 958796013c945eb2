"""The pages of a report in a real browser: no complaint, no request, by keyboard, at every size, in print."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from entropylaw.report import pages
from entropylaw.report.describe.runs import index_row
from entropylaw.report.figures import palette
from entropylaw.results.result import replace
from tests import arms
from tests.browser.chromium import Browser, found
from tests.drawing import contrast
from tests.made import run_report
from tests.unit.test_report_index import phases
from tests.unit.test_report_run_page import drawn, report
from tests.unit.test_report_samples import (
    HOSTILE,
    by_hand,
    falling,
    lost_by_hand,
    refused,
    run_by_hand,
    synthetic,
    without_entropy,
)

pytestmark = pytest.mark.skipif(
    found() is None, reason="no chromium here; Debian's package of that name is enough"
)

SIZES = {"phone": (390, 844), "tablet": (820, 1180), "laptop": (1280, 800)}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of six runs: three are flat, one rises and has no entropy, one broke, and one was refused."""

    folder = tmp_path_factory.mktemp("site")
    (folder / "runs").mkdir()
    runs = {
        "sample": run_report(synthetic(), phases()),
        "a": run_report(synthetic("a", h0=0.9, b=0.905)),
        "falling": run_report(falling()),
        "bare": run_report(without_entropy("bare")),
        "lost": run_report(run_by_hand(by_hand(state=lost_by_hand()), "lost")),
        "hostile": run_report(refused(HOSTILE)),
    }
    for slug, run in runs.items():
        text = pages.run_page(report(run), run, drawn(run))
        (folder / "runs" / f"{slug}.html").write_text(text, encoding="utf-8")
    index = pages.index_page([index_row(run, slug) for slug, run in runs.items()])
    (folder / "index.html").write_text(index, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as made:
        yield made


RUNS = ("sample", "falling", "bare", "lost", "hostile")
PAGES = ("index.html", *(f"runs/{name}.html" for name in RUNS))
ORDER = ["lost", "bare", "a", "falling", "sample", "hostile"]
"""The runs of an index: by state, and in a state by name."""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("page", PAGES)
def test_page_is_whole_and_quiet(
    browser: Browser, site: Path, tmp_path: Path, page: str, size: str, dark: bool
) -> None:
    width, height = SIZES[size]
    browser.open(site / page, width=width, height=height, dark=dark, phone=size == "phone")
    assert browser.complaints() == []
    assert browser.requests() == [(site / page).resolve().as_uri()]
    assert browser.value("document.documentElement.scrollWidth") <= width
    picture = browser.screenshot(tmp_path / "page.png", whole=False)
    assert picture.startswith(b"\x89PNG")
    paper = palette.PALETTE["paper"]
    assert browser.value("getComputedStyle(document.body).backgroundColor") == rgb(
        paper.dark if dark else paper.light
    )


@pytest.mark.parametrize("page", PAGES)
def test_page_prints(browser: Browser, site: Path, tmp_path: Path, page: str) -> None:
    browser.open(site / page, width=1280, dark=True)
    assert browser.pdf(tmp_path / "page.pdf").startswith(b"%PDF")
    assert browser.complaints() == []
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    gone = "e => getComputedStyle(e).display == 'none'"
    assert browser.value(f"[...document.querySelectorAll('.filter,nav,.skip')].every({gone})")


def test_a_page_with_requests_is_noticed(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text(
        "<img src='https://example.org/x.png'><script>console.error('no')</script>", encoding="utf-8"
    )
    browser.open(page, width=800)
    assert any("example.org" in address for address in browser.requests())
    assert browser.complaints()


def test_the_policy_stops_what_should_not_be_there(browser: Browser, site: Path, tmp_path: Path) -> None:
    text = (site / "index.html").read_text(encoding="utf-8")
    page = tmp_path / "index.html"
    page.write_text(text.replace("</main>", "<script>document.title='run'</script></main>"), encoding="utf-8")
    browser.open(page, width=800)
    assert browser.value("document.title").startswith("Entropy law report")
    assert any("Content Security Policy" in text for text in browser.complaints())


def shown_order(browser: Browser) -> list[str]:
    """The runs from top to bottom on the screen."""
    script = (
        f"{boxes('.runs[aria-label] tbody a')}.map((b, i) => [b.top, "
        "document.querySelectorAll('.runs[aria-label] tbody a')[i].getAttribute('href')])"
        ".sort((a, b) => a[0] - b[0]).map(e => e[1])"
    )
    return [re.sub(r"runs/|\.html", "", address) for address in browser.value(script)]


def focused(browser: Browser) -> str:
    return str(
        browser.value("document.activeElement.id || document.activeElement.getAttribute('href') || ''")
    )


def test_keyboard_reaches_the_filter_and_the_runs(browser: Browser, site: Path) -> None:
    browser.open(site / "index.html", width=1280)
    reached = []
    for _ in range(12):
        browser.press("Tab", 9)
        reached.append(focused(browser))
    states = [f"#state-{name}" for name in ("broken", "rising", "flat", "refused")]
    assert reached[:6] == ["#main", *states, "filter"]
    assert [name for name in reached[6:] if name] == [f"runs/{slug}.html" for slug in ORDER]
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert browser.value(outline) == "solid"


def test_without_its_script_a_page_is_complete(browser: Browser, site: Path) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(site / "index.html", width=1280)
        assert browser.value("getComputedStyle(document.querySelector('.filter')).display") == "none"
        assert shown_order(browser) == ORDER
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


def test_the_filter_leaves_the_runs_with_these_letters(browser: Browser, site: Path) -> None:
    browser.open(site / "index.html", width=1280)
    browser.value(
        "(e => { e.value = 'ALL'; e.dispatchEvent(new Event('input')); })(document.getElementById('filter'))"
    )
    left = "[...document.querySelectorAll('.runs[aria-label] tbody a')].filter(e => e.checkVisibility())"
    assert browser.value(f"{left}.map(e => e.textContent)") == ["falling"]


def test_rows_are_a_table_to_those_who_listen(browser: Browser, site: Path) -> None:
    browser.open(site / "index.html", width=1280)
    nodes: list[dict[str, Any]] = browser.call("Accessibility.getFullAXTree")["nodes"]
    roles = [node["role"]["value"] for node in nodes if not node.get("ignored")]
    tables = [n["name"]["value"] for n in nodes if n.get("role", {}).get("value") == "table"]
    assert tables == ["runs"]
    assert roles.count("columnheader") == 7
    assert roles.count("rowheader") == 6
    pictures = [n["name"]["value"] for n in nodes if n.get("role", {}).get("value") == "image"]
    assert all(pictures)


def boxes(selector: str) -> str:
    """The script that gives the places of elements on the screen."""
    return f"[...document.querySelectorAll('{selector}')].map(e => e.getBoundingClientRect())"


@pytest.mark.parametrize("name", ["sample", "falling", "lost"])
def test_the_first_screen_has_the_sentence_and_both_pictures(browser: Browser, site: Path, name: str) -> None:
    browser.open(site / "runs" / f"{name}.html", width=1280, height=800)
    sentences, pictures = (
        browser.value(f"{boxes(what)}.map(b => [b.top, b.bottom])") for what in (".finding", ".pair svg")
    )
    assert [len(found) for found in (sentences, pictures)] == [1, 2]
    assert sentences[0][1] <= pictures[0][0]
    assert max(bottom for _, bottom in pictures) <= 800
    # Side by side, as wide as the page.
    spans = browser.value(f"{boxes('.pair .card')}.map(b => [b.left, b.right])")
    assert spans[0][1] <= spans[1][0]
    assert spans[1][1] - spans[0][0] > 0.85 * 1280


def test_text_stands_beside_a_picture_on_a_wide_screen(browser: Browser, site: Path) -> None:
    browser.open(site / "runs/sample.html", width=1280)
    browser.value("document.querySelector('details:has(#phases)').open = true")
    figures, texts = (
        browser.value(f"{boxes(f'.beside > :{side}-child')}.map(b => [b.left, b.right, b.top])")
        for side in ("first", "last")
    )
    assert len(figures) == len(texts) == 1
    for (_, right, top), (left, end, beside) in zip(figures, texts, strict=True):
        assert right <= left
        assert end - left > 400
        assert abs(top - beside) < 40


@pytest.mark.parametrize("width", [390, 1100, 1280])
def test_the_differences_of_arms_are_whole(browser: Browser, tmp_path: Path, width: int) -> None:
    page = tmp_path / "arms.html"
    page.write_text(pages.single_page(arms.complete(*arms.MANY)), encoding="utf-8")
    browser.open(page, width=width)
    wide = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth)"
    assert browser.value(f"{wide}.length") == 0


def test_two_hundred_runs_are_read_on_six_thousand_pixels(browser: Browser, tmp_path: Path) -> None:
    made = [
        index_row(run_report(synthetic("a", h0=0.9, b=0.905)), "a"),
        index_row(run_report(falling()), "b"),
    ]
    names = [f"entropy_bonus_0.{i // 4}_s{i % 4}" for i in range(200)]
    many = [replace(made[i % 2], run=name, slug=name) for i, name in enumerate(names)]
    skipped = [f"logs/{i}.json was not read: a single record" for i in range(50)]
    page = tmp_path / "index.html"
    page.write_text(pages.index_page(many, skipped=skipped), encoding="utf-8")
    browser.open(page, width=1280)
    assert len(shown_order(browser)) == 200
    assert browser.value("document.querySelectorAll('.runs[aria-label] tbody tr')[199].checkVisibility()")
    assert browser.value("document.documentElement.scrollHeight") <= 6000
    assert browser.value("document.documentElement.scrollWidth") <= 1280


def test_a_picture_that_is_alone_is_no_wider_than_half_of_a_wide_screen(browser: Browser, site: Path) -> None:
    browser.open(site / "runs/bare.html", width=1280, height=800)
    (box,) = browser.value(f"{boxes('.pair .card')}.map(b => [b.width, b.bottom])")
    assert box[0] < 720
    assert box[1] <= 800


def test_no_badge_of_an_index_lies_on_its_neighbour(browser: Browser, site: Path) -> None:
    browser.open(site / "index.html", width=1280)
    wide = "[...document.querySelectorAll('.runs td')].filter(e => e.scrollWidth > e.clientWidth + 1)"
    assert browser.value(f"{wide}.map(e => e.textContent)") == []


def test_the_probability_of_every_form_is_seen_on_a_phone(browser: Browser, site: Path) -> None:
    width, height = SIZES["phone"]
    browser.open(site / "runs/sample.html", width=width, height=height, phone=True)
    browser.value("document.querySelector('details:has(#law)').open = true")
    right = browser.value(
        "Math.max(...[...document.querySelectorAll('details:has(#law) tr')]"
        ".map(e => e.children[1].getBoundingClientRect().right))"
    )
    assert 0 < right <= width
    wide = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth)"
    assert browser.value(f"{wide}.length") == 0


TEXT_PAIRS = """
[...document.querySelectorAll('body *')].filter(e => [...e.childNodes].some(
  n => n.nodeType == 3 && n.textContent.trim()) && !e.closest('svg') && e.checkVisibility()).map(e => {
  let under = e, fill = 'rgba(0, 0, 0, 0)';
  const none = 'rgba(0, 0, 0, 0)';
  while (under && (fill = getComputedStyle(under).backgroundColor) == none) under = under.parentElement;
  return [getComputedStyle(e).color, fill, e.className + ': ' + e.textContent.trim().slice(0, 40)];
})
"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("page", PAGES)
def test_words_can_be_read(browser: Browser, site: Path, page: str, dark: bool) -> None:
    browser.open(site / page, width=1280, dark=dark)
    pairs = {(one, other): where for one, other, where in browser.value(TEXT_PAIRS)}
    assert len(pairs) > 2
    weak = {where: contrast(hexed(a), hexed(b)) for (a, b), where in pairs.items()}
    assert {where: ratio for where, ratio in weak.items() if ratio < 4.5} == {}


def rgb(colour: str) -> str:
    """``#rrggbb`` as a browser writes it."""
    return f"rgb({int(colour[1:3], 16)}, {int(colour[3:5], 16)}, {int(colour[5:7], 16)})"


def hexed(colour: str) -> str:
    """What a browser writes as ``#rrggbb``."""
    return "#" + "".join(f"{int(part):02x}" for part in re.findall(r"\d+", colour)[:3])
