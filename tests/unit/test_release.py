"""What a release says of itself: metadata, workflows, templates; ``nox -s release`` builds and tries it."""

from __future__ import annotations

import re
import sys
import tomllib
from types import ModuleType

import pytest
import yaml

from entropylaw.version import __version__
from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.fixture
def for_index(monkeypatch):
    """The function of hatch_build.py, which is imported where hatchling is not."""
    interface = ModuleType("hatchling.metadata.plugin.interface")
    interface.MetadataHookInterface = object
    for name in ("hatchling", "hatchling.metadata", "hatchling.metadata.plugin"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    monkeypatch.syspath_prepend(ROOT)
    return __import__("hatch_build").for_index


def test_the_readme_of_an_index_has_no_relative_link(for_index):
    text = (ROOT / "README.md").read_text("utf-8")
    for repository, linked in (("https://repository.example/x", 0), ("https://forge.test/x", 10)):
        shown = for_index(text, repository)
        assert re.findall(r"\]\((?!https://)", shown) == []
        assert shown.count(f"]({repository}/blob/main/") >= linked
        assert "![" not in shown
        assert "<!--" not in shown
        assert "(docs/" not in shown


def test_the_citation_is_of_this_version_and_names_no_person():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert (citation["version"], citation["license"]) == (__version__, PROJECT["license"])
    assert citation["authors"] == PROJECT["authors"]
    assert not {"doi", "url", "repository-code"} & citation.keys()


@pytest.mark.parametrize("path", [*WORKFLOWS, ROOT / "action.yml"], ids=lambda path: path.name)
def test_actions_are_pinned_by_hash(path):
    used = re.findall(r"uses: (\S+)(.*)", path.read_text("utf-8"))
    assert used
    for action, comment in used:
        pinned = re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action) and re.fullmatch(r" # v[\d.]+", comment)
        assert pinned or action == "./.github/workflows/tests.yml", action


def test_a_release_waits_for_all_tests_and_stores_no_token():
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    assert (jobs["build"]["needs"], jobs["publish"]["needs"]) == ("tests", "build")
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert "secrets." not in text
    called = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text("utf-8"))
    assert "workflow_call" in called[True]  # YAML 1.1 reads "on" as true


def test_every_page_is_on_the_site():
    site = tomllib.loads((ROOT / "zensical.toml").read_text("utf-8"))["project"]

    def pages(entries):
        for entry in entries:
            for target in entry.values():
                yield from [target] if isinstance(target, str) else pages(target)

    listed = set(pages(site["nav"]))
    others = {"index.md", "api.md", "CONTRIBUTING.md", "CHANGELOG.md"}
    docs = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert listed - docs == others
    assert {page for page in docs - listed if not page.startswith("benchmarks/")} == set()
