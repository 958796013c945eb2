"""Docs cannot rot: pages made from the code are fresh, links lead somewhere, a release says what it is."""

import re
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from benchmarks.cuts import CUTS
from docs import generate
from docs.release import LARGEST_BASE
from entropylaw import __version__
from entropylaw.engine.constants import BENDS, FEWEST_HOLDS, HOLDS, SPAN, SURE
from tests.conftest import ROOT
from tests.slugs import slugs
from tests.typed import assert_says, started


def test_every_slug_is_words_joined_by_hyphens():
    raised = slugs()
    assert len(raised) > 100
    assert [slug for slug in raised if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", slug)] == []


@pytest.mark.usefixtures("one_cache")
def test_generated_pages_are_fresh(run, monkeypatch):
    def here(command, *, cwd, env=None, **_):
        if command[0] == "sh":
            return started(*command, cwd=cwd)
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


def test_the_limits_of_the_words_are_those_in_the_code():
    text = (ROOT / "docs/method/law.md").read_text(encoding="utf-8")
    assert_says(
        text,
        f"curves in the step ≥ {HOLDS:g}, and to the straight line in H ≥ {BENDS:g}",
        f"fewer than {FEWEST_HOLDS} ",
    )
    assert f"less than {SPAN:g}".replace("0.", ".") in text
    assert f"< {SURE:g}".replace("0.", ".") in text


def test_the_readme_has_the_size_that_a_release_is_held_to():
    assert f"At most {LARGEST_BASE:g} MB on Linux" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_numbers_of_a_benchmark_are_in_what_its_command_wrote():
    """A percentage in the text around a table is one that nobody would measure anew."""
    cuts = [f"{100 * share:.0f}" for share in CUTS]
    allowed = {f"{', '.join(cuts[:-1])} and {cuts[-1]} %"}
    for page in sorted((ROOT / "docs" / "benchmarks").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        assert len(re.findall(r"<!-- \w+:begin -->", text)) == (page.name != "README.md"), page.name
        around = re.sub(r"<!-- (\w+):begin -->.*?<!-- \1:end -->", "", text, flags=re.DOTALL)
        for known in allowed:
            around = around.replace(known, "")
        assert re.findall(r"[\d.]+ %", around) == [], page.name


def test_public_api_is_a_decision():
    import entropylaw

    assert dir(entropylaw) == sorted(entropylaw.__all__)
    for name in entropylaw.__all__:
        assert getattr(entropylaw, name) is not None
    with pytest.raises(AttributeError, match="fit_everything"):
        entropylaw.fit_everything  # noqa: B018
    with pytest.raises(ImportError, match="fit_everything"):
        from entropylaw import fit_everything  # noqa: F401
    assert entropylaw.__version__ == __version__


def test_the_package_imports_nothing_heavy_until_a_name_is_used(tmp_path):
    code = (
        "import sys, entropylaw\n"
        "dir(entropylaw), entropylaw.__version__, hasattr(entropylaw, 'nothing')\n"
        "print({'numpy', 'scipy', 'pyarrow', 'matplotlib', 'msgspec'} & set(sys.modules))"
    )
    done = started(sys.executable, "-c", code, cwd=tmp_path)
    assert (done.stdout.strip(), done.stderr) == ("set()", "")


def test_no_file_over_500_lines():
    long = {
        p.name: n for p in (ROOT / "entropylaw").rglob("*.py") if (n := len(p.read_text().splitlines())) > 500
    }
    assert not long


PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT = PYPROJECT["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_the_readme_of_an_index_has_no_relative_link():
    """The build's substitutions, by which hatch-fancy-pypi-readme makes it of the README."""
    hook = PYPROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    (fragment,) = hook["fragments"]
    shown = (ROOT / fragment["path"]).read_text("utf-8")
    for one in hook["substitutions"]:
        shown = re.sub(one["pattern"], one["replacement"], shown)
    assert re.findall(r"\]\((?!https://)", shown) == []
    assert "![" not in shown
    assert "<!--" not in shown
    repository = PROJECT["urls"]["Repository"]
    # A domain that nobody can own (RFC 2606) is the address of a repository that is not public yet.
    linked = 0 if ".example/" in repository else 10
    assert shown.count(f"]({repository}/blob/main/") >= linked


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


def test_the_skill_is_in_the_package_and_where_installers_look():
    """The wheel holds the package's folder, and so the file; a link would lead nowhere from there."""
    skill = (ROOT / "entropylaw" / "SKILL.md").read_bytes()
    assert (ROOT / "skills" / "entropylaw" / "SKILL.md").read_bytes() == skill
    assert (ROOT / "docs" / "SKILL.md").read_bytes() == skill
    assert PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == ["entropylaw"]
    assert b"](" not in skill


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
