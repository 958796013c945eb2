"""Every code has one sentence, documents hold findings, and those of older versions are refused."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import entropylaw
from entropylaw.documents.codec import dumps
from entropylaw.documents.kinds import KINDS
from entropylaw.documents.loading import load_fit, load_phases, load_report
from entropylaw.report.findings import SENTENCES, sentence
from entropylaw.results.result import Finding, note
from tests.conftest import ROOT

pytestmark = pytest.mark.usefixtures("one_cache", "undrawn")

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


LAB = ROOT / "data" / "lab"
SEAMS = ("--find-seams",)


def stored_findings(path: Path) -> list[dict[str, Any]]:
    """Every finding in a document."""

    def inside(value: Any) -> Iterator[dict[str, Any]]:
        for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from inside(item)
        if isinstance(value, dict):
            yield from value.get("findings", ())

    return [*inside(json.loads(path.read_text("utf-8")))]


def test_findings_of_a_stored_fit_have_the_sentences_of_the_fresh_one(run, tmp_path):
    runs = (str(LAB / name) for name in ("grpo_s0", "school_then_free", "clean_start_s0"))
    done = run("fit", *runs, *SEAMS, "-o", "fit.json", "-o", "all.txt", "--details")
    assert done.returncode == 0, done.stderr
    found = [msgspec.convert(one, Finding) for one in stored_findings(tmp_path / "fit.json")]
    assert {one.severity for one in found} == {"reason", "caution", "note"}
    read = load_fit(tmp_path / "fit.json")
    text = " ".join((tmp_path / "all.txt").read_text().split())
    for fit in read.fitted:
        for said in (*fit.reasons, *fit.cautions):
            assert " ".join(said.split()) in text
    assert all(one.code in SENTENCES and one.code not in one.sentence.split() for one in found)


def test_a_damaged_finding_is_named_by_its_place(run, tmp_path):
    done = run("fit", str(LAB / "grpo_s0"), "-o", "fit.json")
    assert done.returncode == 0, done.stderr
    body = json.loads((tmp_path / "fit.json").read_text())
    assert body["runs"][0]["answer"]["findings"] != []
    body["runs"][0]["answer"]["findings"][0] = 3
    (tmp_path / "fit.json").write_text(dumps(body))
    with pytest.raises(entropylaw.EntropyLawError, match=r"\$\.runs\[0\]\.answer\.findings\[0\]") as caught:
        load_fit(tmp_path / "fit.json")
    assert caught.value.slug == "damaged-document"


@pytest.mark.parametrize("kind", ["fit", "phases", "report"])
def test_a_document_of_an_older_version_is_refused_and_not_read_in_part(run, tmp_path, kind):
    arguments = {
        "fit": ("-o", "x.json"),
        "phases": ("-o", "x.json"),
        "report": ("-o", "out", "--figures", "none"),
    }
    done = run(kind, str(LAB / "grpo_s0"), *arguments[kind])
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "out" / "runs").glob("*.json") if kind == "report" else [tmp_path / "x.json"]
    body = json.loads(path.read_text())
    assert body["schema"] == KINDS[kind].schema
    body["schema"] = f"entropylaw/{kind}/1"
    path.write_text(dumps(body))
    with pytest.raises(entropylaw.EntropyLawError) as caught:
        {"fit": load_fit, "phases": load_phases, "report": load_report}[kind](path)
    assert caught.value.slug == "other-document-version"
    done = run("check", str(path), "--fail-if", "refused")
    assert done.returncode == 5
    assert "error[other-document-version]" in done.stderr
