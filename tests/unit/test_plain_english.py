"""No text that a user reads has a phrase at which a native reader stops."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PHRASES = re.compile(
    r"would it publish|holds? up\b|\breferee|still improving|\bso many\b|\bbut for\b|\bbeside\b|\bfor ever\b"
    r"|\bof ours\b|, too\b(?=[.,;:)]|$)|carry the information of|\berrs? least\b|no usual number of seeds"
    r"|by the curve a run|movement is \d|a good part of the run|at 1 of 1 steps",
    re.IGNORECASE,
)


MADE = ("words.md", "cli.md", "lab.md")
"""A list of words, and pages that are made from strings of the package or of the lab."""


def strings(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of every string of a module that is not a docstring."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.lineno, node.value


def texts() -> Iterator[tuple[str, str]]:
    """Place and text of everything that the package prints, and of its documentation."""
    for path in sorted((ROOT / "entropylaw").rglob("*.py")):
        for line, text in strings(path):
            yield f"{path.relative_to(ROOT)}:{line}", text
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "entropylaw").rglob("*.j2")]
    for path in sorted(pages):
        if path.name not in MADE:
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
                # A class of the style sheet is not read.
                yield f"{path.relative_to(ROOT)}:{number}", re.sub(r'class="[^"]*"', "", line)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Would it publish? Yes", True), ("it is fitted, too.", True), ("too few", False), ("besides", False)],
)
def test_phrases_are_found(text: str, expected: bool) -> None:
    assert bool(PHRASES.search(text)) == expected


def test_no_text_has_such_a_phrase() -> None:
    places = [f"{place}: {text[:90]}" for place, text in texts() if PHRASES.search(text)]
    assert not places, "\n" + "\n".join(places)
