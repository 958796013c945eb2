"""No word of the last column of docs/words.md is used, and no phrase at which a native reader stops."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIST = ROOT / "docs" / "words.md"

ALLOWED = {
    r"[\"'`]asked[\"'`]": "a column of the lab and the benchmarks",
}
"""Uses of a word that stay, and why."""

PER = re.compile(
    r"\b(?:an?|one|two|three|\d+) (?!where|of|that)[a-z-]+ an? "
    r"(?:run|step|command|cell|world|row|core|response|token|page|file|figure|form|series|process)\b"
)
"""A row a run, one file a command: "per" is the word."""


def words() -> list[str]:
    """The words between backticks in the last column of the list's table."""
    rows = re.findall(r"^\|[^|]*\|[^|]*\|([^|]*)\|$", LIST.read_text(encoding="utf-8"), re.MULTILINE)
    return [word for row in rows for word in re.findall(r"`([^`]+)`", row) if not PER.fullmatch(word)]


def files() -> Iterator[Path]:
    """Every text of ours that a user or a contributor reads, without the tests and the list itself."""
    for folder, endings in {
        "entropylaw": ("py", "pyi", "j2", "toml"),
        "lab": ("py",),
        "benchmarks": ("py",),
        "docs": ("md", "py"),
    }.items():
        for ending in endings:
            yield from (ROOT / folder).rglob(f"*.{ending}")
    yield from (ROOT / name for name in ("README.md", "data/README.md", "action.yml", "noxfile.py"))


def found(text: str) -> Iterator[tuple[int, str]]:
    """Line number and word of every use that is not allowed."""
    # Letters only: a word in a name such as told_at_end counts.
    banned = re.compile(rf"(?<![a-z])(?:{'|'.join(map(re.escape, words()))})(?![a-z])", re.IGNORECASE)
    for number, line in enumerate(text.splitlines(), start=1):
        for allowed in ALLOWED:
            line = re.sub(allowed, "", line)
        for match in (*banned.finditer(line), *PER.finditer(line)):
            yield number, match[0]


def test_the_list_is_read():
    assert {"told", "kink", "worth", "a new evaluation"} <= set(words())


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("the ceiling is told from here", ["told"]),
        ("told_at_the_end = 1", ["told"]),
        ("a row a run", ["a row a run"]),
        ("one row per run", []),
        ("controlled, foretold, unhinged", []),
    ],
)
def test_words_are_found_and_parts_of_words_are_not(line, expected):
    assert [word for _, word in found(line)] == expected


def test_no_private_word_is_used():
    uses = [
        f"{path.relative_to(ROOT)}:{number}: {word}"
        for path in files()
        if path != LIST
        for number, word in found(path.read_text(encoding="utf-8"))
    ]
    assert not uses, "\n".join(["docs/words.md has the words to use:", *uses])


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
