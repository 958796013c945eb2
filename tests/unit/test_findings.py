"""Every code has one sentence."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import entropylaw
from entropylaw.report.findings import SENTENCES, sentence
from entropylaw.results.result import note

PACKAGE = Path(entropylaw.__file__).parent


def codes() -> Iterator[tuple[str, str]]:
    """The file and the code of every finding that the package makes."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Name) and called.id in ("reason", "caution", "note"):
                assert isinstance(node, ast.Call)
                (code,) = node.args
                assert isinstance(code, ast.Constant), f"{path.name}:{node.lineno} has no literal code"
                yield path.name, code.value


def test_every_code_has_a_sentence_and_every_sentence_a_code() -> None:
    assert {code for _, code in codes()} == SENTENCES.keys()


def test_a_code_of_a_later_version_is_its_own_sentence() -> None:
    assert sentence(note("something-new", n=3)) == "something-new"
