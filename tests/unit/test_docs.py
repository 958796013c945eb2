"""Docs cannot rot: pages that are made from the code are fresh, every slug has a heading."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
ERRORS = {"EntropyLawError", "FitError", "InputError", "OutputError", "UsageError"}


def raised_slugs() -> set[str]:
    """First argument of every error that the package makes."""
    slugs = set()
    for path in (ROOT / "entropylaw").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = getattr(getattr(node, "func", None), "id", None)
            if name in ERRORS and isinstance(node.args[0], ast.Constant):
                slugs.add(node.args[0].value)
    # Composed of a role: see ingest/select.py.
    return slugs | {"no-entropy-column", "no-reward-column"}


def test_every_slug_has_a_heading_and_every_heading_a_slug():
    headings = re.findall(
        r"^### (\S+)$", (ROOT / "docs" / "errors.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(headings) == len(set(headings))
    assert set(headings) == raised_slugs()


def test_generated_pages_are_fresh():
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", sorted(path.name for path in (ROOT / "docs").glob("*.md")))
def test_links_between_pages_lead_somewhere(page):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (ROOT / "docs" / target).exists(), target


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


def test_the_command_page_has_every_command_and_option():
    from entropylaw.cli.command import NAMES, function_of
    from entropylaw.options import options_of

    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    for name in NAMES:
        _, _, section = page.partition(f"## `entropylaw {name}`\n")
        for known in options_of(function_of(name).options).values():
            for flag in known.flags:
                assert flag.replace("/", " / ") in section.partition("\n## ")[0], (name, flag)
