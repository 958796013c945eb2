"""Docs cannot rot: pages that are made from the code are fresh, links lead somewhere."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from docs import generate
from entropylaw.engine.constants import FAILS, HOLDS, REJECTED_STEP
from tests.slugs import slugs

ROOT = Path(__file__).parent.parent.parent


def test_every_slug_is_words_joined_by_hyphens():
    raised = slugs()
    assert len(raised) > 100
    assert [slug for slug in raised if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", slug)] == []


@pytest.mark.usefixtures("one_cache")
def test_generated_pages_are_fresh(run, monkeypatch):
    def here(command, *, cwd, env, **_):
        assert command[:3] == [sys.executable, "-m", "entropylaw"]
        return run(*command[3:], cwd=cwd, **env)

    # A process for each of some thirty commands would take most of the time.
    monkeypatch.setattr(generate, "subprocess", SimpleNamespace(run=here))
    monkeypatch.setattr(sys, "argv", ["generate.py", "--check"])
    with pytest.raises(SystemExit) as ended:
        generate.main()
    assert ended.value.code == 0


PAGES = (*sorted(ROOT.glob("*.md")), ROOT / "data" / "README.md", *sorted((ROOT / "docs").rglob("*.md")))


def anchors(page: Path) -> set[str]:
    """Names of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    for target, anchor in re.findall(
        r"\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)", page.read_text(encoding="utf-8")
    ):
        linked = page.parent / target if target else page
        assert linked.exists(), target
        assert not anchor or anchor in anchors(linked), f"{target}#{anchor}"


def test_pages_named_in_code_exist():
    code = [
        path
        for folder in ("entropylaw", "benchmarks", "lab", "tests", "docs")
        for path in (ROOT / folder).rglob("*.py")
    ]
    named = {
        (name, path)
        for path in code
        for name in re.findall(r"docs/[\w/]+\.md", path.read_text(encoding="utf-8"))
    }
    assert not {(name, path.name) for name, path in named if not (ROOT / name).exists()}


def test_files_and_constants_named_in_the_method_exist():
    """A table of priors names the file that holds each constant, and the constants."""
    for page in (ROOT / "docs" / "method").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        for file, names in re.findall(r"`([\w/]+\.py)`((?::? ?,? ?`\w+`)*)", text):
            path = ROOT / file if file.startswith("tests/") else ROOT / "entropylaw" / file
            assert path.exists(), f"{page.name}: {file}"
            for name in re.findall(r"`(\w+)`", names):
                assert re.search(rf"\b{name}\b", path.read_text(encoding="utf-8")), (
                    f"{page.name}: {file}: {name}"
                )


@pytest.mark.parametrize("page", ["README.md", "docs/guide.md", "docs/method/verdict.md"])
def test_the_verdicts_limit_is_the_one_in_the_code(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert f"at least {HOLDS}" in text
    if page.startswith("docs/method"):
        assert f"below {FAILS};" in text
        assert f"p < {REJECTED_STEP} " in text


def test_public_api_is_a_decision():
    import entropylaw

    assert dir(entropylaw) == sorted(entropylaw.__all__)
    for name in entropylaw.__all__:
        assert getattr(entropylaw, name) is not None
    with pytest.raises(AttributeError, match="fit_everything"):
        entropylaw.fit_everything  # noqa: B018


def test_no_file_over_500_lines():
    long = {
        p.name: n for p in (ROOT / "entropylaw").rglob("*.py") if (n := len(p.read_text().splitlines())) > 500
    }
    assert not long
