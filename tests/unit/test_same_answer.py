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
from entropylaw.report.numbers import format_interval
from entropylaw.results.result import replace
from tests.golden.by_hand import fits
from tests.pages import Page
from tests.unit.test_lost_reward import lost
from tests.unit.test_report_samples import by_hand, document, estimate, refused, run_by_hand

pytestmark = pytest.mark.usefixtures("undrawn")

GATES = ("lost", "fails", "refused", "ceiling<0.1", "headroom<0.1", "p_headroom<0.5", "n<3")


def answers() -> dict[str, Fit]:
    """An answer of every kind, by a name without spaces."""
    made = fits() | {
        "lost in the lab": lost(),
        "cannot tell": replace(by_hand(), ceiling=estimate(0.5, -9.0, 9.0)),
    }
    return {re.sub(r"[^\w.]+", "-", name): fit for name, fit in made.items()}


@pytest.fixture
def report(run, tmp_path):
    """The fits of every kind of run in a file, and the report of that."""
    entries = [replace(run_by_hand(fit, name), path=f"logs/{name}.csv") for name, fit in answers().items()]
    kinds = ("no-relation", "cannot-tell", "holds")
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
    gates = {
        case["run"]: case for case in json.loads(cases(run, "rep"))["cases"] if case["gate"] == "ceiling<0.1"
    }
    for name, fit in answers().items():
        page = " ".join(Page((report / f"runs/{name}.html").read_text()).text.split())
        row = index[index.index(f"runs/{name}.html") :].partition("</tr>")[0]
        said = fit.no_ceiling or format_interval(fit.ceiling)
        assert rows[name]["no_ceiling"] == fit.no_ceiling
        assert said.replace("-", "−") in re.sub("<[^>]*>", "", row).replace("&#39;", "'"), name
        assert (gates[name]["outcome"] == "unknown") is (fit.no_ceiling in ("lost reward", "no relation"))
        if not fit.lost:
            left = next(row for row in words.answers(fit) if row.label == "left on the curve")
            assert said in left.text
            assert all(text.replace("-", "−") in page for text in (left.value, *left.about)), name
            assert left.text in " ".join(str(run_by_hand(fit)).split())


def test_figures_that_a_report_no_longer_has_are_removed(run, report):
    (report / "figures").mkdir(exist_ok=True)
    for name in ("holds-law.png", "several-no-relation-law.svg", "mine.png", "other-law.png"):
        (report / "figures" / name).write_bytes(b"")
    assert run("report", "fits.fit.json", "-o", "rep", "--figures", "none", "--jobs", "1").returncode == 0
    assert sorted(path.name for path in (report / "figures").iterdir()) == ["mine.png", "other-law.png"]
