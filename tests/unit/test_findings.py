"""Every code has one sentence, which the details of a fit have once."""

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import entropylaw
from entropylaw.report.findings import SENTENCES, sentence
from entropylaw.report.render import rendered
from entropylaw.results import result
from entropylaw.results.result import replace
from tests.findings import caution, note
from tests.laws import fit_arrays

PACKAGE = Path(entropylaw.__file__).parent


def codes() -> Iterator[tuple[str, str]]:
    """The file and the code of every finding that the package makes."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Name) and called.id in ("reason", "caution", "note"):
                assert isinstance(node, ast.Call)
                (code,) = node.args
                if isinstance(code, ast.Name):
                    yield path.name, getattr(result, code.id)
                else:
                    assert isinstance(code, ast.Constant), f"{path.name}:{node.lineno} has no literal code"
                    yield path.name, code.value


def test_every_code_has_a_sentence_and_every_sentence_a_code() -> None:
    assert {code for _, code in codes()} == SENTENCES.keys()


def test_a_code_of_a_later_version_is_its_own_sentence() -> None:
    assert sentence(note("something-new", n=3)) == "something-new"


def test_a_screen_counts_what_its_details_say_once() -> None:
    step = np.arange(80.0)
    entropy = np.concatenate([np.linspace(1.0, 0.1, 60), np.linspace(0.1, 0.6, 20)])
    fit = fit_arrays(entropy, 0.55 - 0.2 * np.expm1(entropy) + 0.004 * np.sin(step**2), step)
    lag = caution("reward-lags", evaluations=2, probability=0.9)
    outlier = note(
        "gross-outlier", column="r", value=9.0, step=3.0, distance=20.0, low=0.1, high=0.2, limit=8.0
    )
    fit = replace(fit, findings=(*fit.findings, lag, outlier))
    assert [finding.code for finding in fit.findings] == ["entropy-rebounds", "reward-lags", "gross-outlier"]
    screen = " ".join(rendered(fit, "text").split())
    assert "2 cautions" in screen
    details = " ".join(rendered(fit, "details").split())
    for finding in fit.findings:
        assert details.count(finding.sentence) == 1
        assert finding.sentence not in screen
