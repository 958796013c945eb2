"""Every code has one sentence, and documents of version 1, which held sentences, are read as before."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import entropylaw
from entropylaw.documents.codec import dumps
from entropylaw.documents.loading import load_fit, load_phases, load_report
from entropylaw.report.findings import SENTENCES, sentence
from entropylaw.results.result import Finding, note
from tests.conftest import ROOT

pytestmark = pytest.mark.usefixtures("one_cache")

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
    assert {code for _, code in codes()} == SENTENCES.keys() - {"stated"}


def test_a_code_of_a_later_version_is_its_own_sentence() -> None:
    assert sentence(note("something-new", n=3)) == "something-new"


def older(value: Any) -> Any:
    """A document in the form of version 1: sentences where findings are."""
    if isinstance(value, list):
        return [older(item) for item in value]
    if not isinstance(value, dict):
        return value
    body = {name: older(item) for name, item in value.items() if name != "findings"}
    if "schema" in body:
        body["schema"] = body["schema"].replace("/2", "/1")
    said: dict[str, list[str]] = {"reason": [], "caution": [], "note": []}
    for each in value.get("findings", ()):
        said[each["severity"]].append(sentence(Finding(**each)))
    if "contradicted" in body:
        return body | {"reasons": said["reason"], "cautions": said["caution"]}
    if "share_planning" in body:
        return body | {"cautions": said["caution"], "notes": said["note"]}
    if "planning_column" in body:
        return body | {"cautions": said["caution"]}
    if "read_notes" in body:
        return body | {"notes": body.pop("read_notes") + said["note"]}
    if {"seams", "same"} <= body.keys():
        return body | {"note": "; ".join(said["note"]) or None}
    return body | {"notes": said["note"]} if "findings" in value else body


@pytest.fixture
def stored(run, tmp_path):
    """A function: both versions of what a command writes, as paths."""

    def both(*arguments: str) -> tuple[Path, Path]:
        new, old = tmp_path / "new.json", tmp_path / "old.json"
        done = run(*arguments, "-o", str(new))
        assert done.returncode == 0, done.stderr
        old.write_text(dumps(older(json.loads(new.read_text()))))
        assert old.read_text().count("/1") > 0
        assert '"findings"' not in old.read_text()
        return new, old

    return both


LAB = ROOT / "data" / "lab"
SEAMS = ("--find-seams", "--shared", "a,b")


def test_a_fit_of_version_1_has_the_same_sentences(run, stored, tmp_path):
    runs = (str(LAB / name) for name in ("grpo_s0", "school_then_free", "clean_start_s0"))
    new, old = stored("fit", *runs, *SEAMS)
    fresh, read = load_fit(new), load_fit(old)
    assert read.schema == "entropylaw/fit/2"
    for one, other in zip(fresh.runs, read.runs, strict=True):
        assert one.law.validity.reasons == other.law.validity.reasons
        assert one.law.validity.cautions == other.law.validity.cautions
        assert one.law.verdict == other.law.verdict
        assert one.notes == other.notes
        assert (one.segments and one.segments.note) == (other.segments and other.segments.note)
    assert any(run.law.validity.cautions for run in read.runs)
    assert {found.code for run in read.runs for found in run.law.validity.findings} == {"stated"}
    assert fresh.shared.cautions == read.shared.cautions != ()


def test_gates_and_predictions_read_version_1(run, stored):
    paths = stored("fit", str(LAB / "grpo_s0"), str(LAB / "clean_start_s0"))
    gates = [("--fail-if", gate) for gate in ("invalid", "cautions>0", "ceiling<0.9", "verdict=='valid'")]
    for gate in gates:
        new, old = (run("check", str(path), *gate) for path in paths)
        assert new.stdout.replace("new.json", "old.json") == old.stdout
        assert new.returncode == old.returncode
    new, old = (run("predict", str(path), "--at-step", "900") for path in paths)
    assert new.stdout == old.stdout
    assert new.returncode == old.returncode == 0
    body = json.loads(paths[1].read_text())
    body["runs"][0]["law"]["validity"]["reasons"] = [3]
    paths[1].write_text(dumps(body))
    with pytest.raises(
        entropylaw.EntropyLawError, match=r"\$\.runs\[0\]\.law\.validity\.findings\[0\]"
    ) as caught:
        load_fit(paths[1])
    assert caught.value.slug == "damaged-document"


def test_phases_of_version_1(run, stored):
    new, old = stored("phases", str(LAB / "grpo_s0"), str(LAB / "grpo_s1"))
    fresh, read = load_phases(new), load_phases(old)
    for one, other in zip(fresh.runs, read.runs, strict=True):
        assert one.phases.cautions == other.phases.cautions
        assert one.phases.notes == other.phases.notes
        assert one.cautions == other.cautions
    assert fresh.across.notes == read.across.notes != ()
    texts = [run("check", str(path), "--fail-if", "boundary_planning>3").stdout for path in (new, old)]
    assert texts[0].replace("new.json", "old.json") == texts[1]


def test_a_report_of_version_1(run, tmp_path):
    done = run("report", str(LAB / "grpo_s0"), "-o", "out", "--figures", "none")
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "out" / "runs").glob("*.json")
    fresh = load_report(path)
    path.write_text(dumps(older(json.loads(path.read_text()))))
    (read,) = load_report(path).runs
    assert read.forecast.notes == fresh.runs[0].forecast.notes != ()
    assert read.phases.phases.cautions == fresh.runs[0].phases.phases.cautions != ()
