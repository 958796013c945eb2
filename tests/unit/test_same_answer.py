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
from entropylaw.results.result import replace
from tests.golden.by_hand import fits
from tests.pages import Page
from tests.unit.test_report_samples import by_hand, document, estimate, refused, run_by_hand

pytestmark = pytest.mark.usefixtures("undrawn")

GATES = ("state==broken", "now<0.1", "gained<0", "keep_step<50", "fails", "refused", "ceiling<0.1", "n<3")


def answers() -> dict[str, Fit]:
    """An answer of every kind, by a name without spaces."""
    made = fits() | {
        "a wide interval at H = 0": by_hand(law={"ceiling": estimate(0.5, -9.0, 9.0)}),
    }
    return {re.sub(r"[^\w.]+", "-", name): fit for name, fit in made.items()}


@pytest.fixture
def report(run, tmp_path):
    """The fits of every kind of run in a file, and the report of that."""
    entries = [replace(run_by_hand(fit, name), path=f"logs/{name}.csv") for name, fit in answers().items()]
    kinds = ("lost", "no-entropy", "rising")
    entries += [replace(run_by_hand(answers()[kind], "several"), reward=kind) for kind in kinds]
    (tmp_path / "fits.fit.json").write_text(dumps(document(*entries, refused("metrics")).to_json()))
    assert run("report", "fits.fit.json", "-o", "rep", "--figures", "svg", "--jobs", "1").returncode == 0
    return tmp_path / "rep"


def cases(run, source, form="json"):
    flags = [part for gate in GATES for part in ("--fail-if", gate)]
    return run("check", source, *flags, "--format", form).stdout


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
        above = index[: index.index(f'runs/{name}.html"')]
        group = above.rpartition('<table class="runs" aria-label="')[2].partition('"')[0]
        word = "" if fit.state is None else fit.state.word
        assert rows[name]["state"] == word
        assert group == (word or "no state"), name
        assert rows[name]["law"] == fit.verdict
        assert (gates[name, "state==broken"] == "tripped") is fit.is_broken
        assert (gates[name, "now<0.1"] == "unknown") is (fit.state is None)
        without = fit.law is None or fit.law.ceiling.value is None or fit.verdict == "fails"
        assert (gates[name, "ceiling<0.1"] == "unknown") is without, (name, gates[name, "ceiling<0.1"])
        printed = " ".join(str(run_by_hand(fit)).split())
        for said in words.answers(fit):
            assert all(text.replace("-", "−") in page for text in (said.value, *said.about)), (name, said)
            assert said.text in printed


def test_figures_that_a_report_no_longer_has_are_removed(run, report):
    (report / "figures").mkdir(exist_ok=True)
    for name in ("rising-law.png", "several-lost-law.svg", "mine.png", "other-law.png"):
        (report / "figures" / name).write_bytes(b"")
    assert run("report", "fits.fit.json", "-o", "rep", "--figures", "none", "--jobs", "1").returncode == 0
    assert sorted(path.name for path in (report / "figures").iterdir()) == ["mine.png", "other-law.png"]
