"""Every code has one sentence, and the weightiest caution is in the first lines."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import entropylaw
from entropylaw.report.findings import SENTENCES, sentence
from entropylaw.report.render import rendered
from entropylaw.report.words import short_words
from entropylaw.results.result import replace
from tests.findings import caution, note
from tests.unit.test_report_samples import by_hand

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


KEYS = [*SENTENCES]
OF_A_FIT = KEYS[KEYS.index("curves-pass-largest") : KEYS.index("entropy-exploded")]


def test_the_weightiest_caution_is_in_the_first_lines() -> None:
    lag = caution("reward-lags", evaluations=2, probability=0.9)
    outlier = caution(
        "gross-outlier", column="r", value=9.0, step=3.0, distance=20.0, low=0.1, high=0.2, limit=8.0
    )
    rest = {"dropped": 3, "probability": 0.9, "step": 24.0}
    first = caution("rests-on-first", **rest, value=0.8, low=0.7, high=0.9)
    lost = caution("reward-lost", first=0.5, best=0.75, last=0.0123)
    fit = replace(by_hand(), findings=(lag, outlier, lost, first))
    text = rendered(fit, "text")
    (rests_on,) = (line for line in text.splitlines() if line.split()[:2] == ["rests", "on"])
    assert "; first points decide" in rests_on
    assert text.splitlines()[1].split()[0] == "lost"
    assert "4 cautions" in text
    details = rendered(fit, "details")
    assert "--details" not in details
    for words in ("are off the curve", "gross outlier"):
        assert details.count(words) == 1
    # A lost reward comes first, and is not the caution.
    assert "; reward lost" not in rendered(replace(fit, findings=(lost,)), "text")


@pytest.mark.parametrize("code", OF_A_FIT)
def test_a_caution_leaves_room_for_the_rest_of_its_line(code: str) -> None:
    assert len(short_words(caution(code))) <= 22
