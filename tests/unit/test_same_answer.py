"""A run has the same words and numbers in every medium, and a report passes its gates as its fits do."""

import csv
import io
import json
import re
from xml.etree import ElementTree as ET

import pytest

from entropylaw import Fit
from entropylaw.documents.codec import dumps
from entropylaw.report import words
from entropylaw.report.numbers import format_interval, format_number
from entropylaw.results import Verdict, Why
from entropylaw.results.result import replace
from entropylaw.results.state import WORDS
from tests.pages import Page
from tests.unit.test_report_samples import (
    by_hand,
    document,
    estimate,
    lost_by_hand,
    refused,
    run_by_hand,
    state_by_hand,
    without_entropy,
)

pytestmark = pytest.mark.usefixtures("undrawn")

GATES = ("state==broken", "fails", "refused", "now<0.5", "ceiling<0.1", "p_gain<0.5", "keep_step<50", "n<3")


def answers() -> dict[str, Fit]:
    """An answer of every kind, by a name without spaces."""
    unknown = estimate(None, None, None, "the entropy hardly moved")
    fits = {word: by_hand(state=state_by_hand(word)) for word in WORDS if word != "broken"}
    fits |= {
        "broken": replace(by_hand(state=lost_by_hand()), forecast=None, no_forecast="none of a broken run"),
        "no entropy": without_entropy().result,
        "fails": by_hand(verdict=Verdict.fails, why=Why.step),
        "undecided": by_hand(verdict=Verdict.undecided, why=Why.line),
        "no a": by_hand(
            verdict=Verdict.undecided, why=Why.narrow, law={"a": unknown, "b": unknown, "ceiling": unknown}
        ),
        "no state": replace(by_hand(), state=None, no_state="it needs 8 evaluations", gain=None),
    }
    return {name.replace(" ", "-"): fit for name, fit in fits.items()}


@pytest.fixture
def report(run, tmp_path):
    """The fits of every kind of run in a file, and the report of that."""
    entries = [replace(run_by_hand(fit, name), path=f"logs/{name}.csv") for name, fit in answers().items()]
    kinds = ("fails", "cannot-tell", "rising")
    entries += [replace(run_by_hand(answers()[kind], "several"), reward=kind) for kind in kinds]
    (tmp_path / "fits.fit.json").write_text(dumps(document(*entries, refused("metrics")).to_json()))
    assert run("report", "fits.fit.json", "-o", "rep", "--figures", "svg", "--jobs", "1").returncode == 0
    return tmp_path / "rep"


def cases(run, source, form="json"):
    flags = [part for gate in GATES for part in ("--fail-if", gate)]
    written = ("--junit", "-") if form == "junit" else ("--format", form)
    return run("check", source, *flags, *written).stdout


def test_a_report_has_the_outcomes_of_its_fits(run, report):
    (report / "figures").mkdir(exist_ok=True)
    (report / "figures" / "metrics-law.png").write_bytes(b"\x89PNG\r\n\x1a\n\0")
    found = [
        {
            (case["run"], case["gate"]): (case["outcome"], case["sentence"])
            for case in json.loads(text)["cases"]
        }
        for text in (cases(run, source) for source in ("fits.fit.json", "rep", "rep/report.json"))
    ]
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == len(GATES) * (len(answers()) + 4)


def test_junit_has_the_lines_of_the_text(run, report):
    lines = [" ".join(line.split()) for line in cases(run, "rep", "text").splitlines()]
    root = ET.fromstring(cases(run, "rep", "junit"))
    written = [str(outcome.text) for case in root.iter("testcase") for outcome in case]
    assert sorted(written) == sorted(line for line in lines[:-1] if line)


def test_text_page_index_and_table_say_the_same(run, report):
    index = (report / "index.html").read_text()
    rows = {row["run"]: row for row in csv.DictReader(io.StringIO((report / "report.csv").read_text()))}
    gates = {(case["run"], case["gate"]): case["outcome"] for case in json.loads(cases(run, "rep"))["cases"]}
    for name, fit in answers().items():
        page = " ".join(Page((report / f"runs/{name}.html").read_text()).text.split())
        group, _, row = index.partition(f'<a href="runs/{name}.html">')
        row = " ".join(re.sub("<[^>]*>", " ", row.partition("</tr>")[0]).split())
        text = " ".join(str(run_by_hand(fit)).split())
        for said in words.answers(fit):
            assert " ".join(said.text.split()) in text, name
            assert all(part.replace("-", "−") in page for part in (said.value, *said.about)), name
        assert rows[name]["law"] == fit.verdict
        state = fit.state
        assert rows[name]["state"] == ("" if state is None else state.word)
        if state is not None:
            group = group.rpartition('<tbody id="state-')[2].partition('"')[0]
            assert group == state.word.replace(" ", "-")
            # Nothing is said of a broken run but that it is broken.
            assert (f" {format_number(state.now.value)} " in row) != fit.is_broken
            assert fit.is_broken or format_interval(fit.forecast.reward) in row
            assert float(rows[name]["now"]) == pytest.approx(state.now.value, rel=1e-11)
            assert float(rows[name]["keep_step"]) == state.keep.step
        broken = gates[name, "state==broken"]
        assert broken == ("unknown" if state is None else "tripped" if fit.is_broken else "passed")
        has_ceiling = fit.law is not None and fit.law.ceiling.value is not None
        assert (rows[name]["ceiling"] != "") == has_ceiling
        assert (gates[name, "ceiling<0.1"] == "passed") <= has_ceiling


def test_figures_that_a_report_no_longer_has_are_removed(run, report):
    (report / "figures").mkdir(exist_ok=True)
    for name in ("rising-law.png", "several-fails-law.svg", "mine.png", "other-law.png"):
        (report / "figures" / name).write_bytes(b"")
    assert run("report", "fits.fit.json", "-o", "rep", "--figures", "none", "--jobs", "1").returncode == 0
    assert sorted(path.name for path in (report / "figures").iterdir()) == ["mine.png", "other-law.png"]
