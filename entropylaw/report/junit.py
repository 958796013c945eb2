"""A check as JUnit XML, which GitLab, Jenkins and GitHub's reporters read: a test case a run × gate."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from entropylaw.documents.check import CheckDocument
from entropylaw.gates.decide import GateCase, Outcome
from entropylaw.report.printable import one_line

NAME = "entropylaw check"


def render(document: CheckDocument) -> str:
    """A suite a run; what tripped is a failure, what is unknown an error.

    No times and no host: the same check has the same bytes. Control characters, which XML 1.0 has no way to
    hold, are written out as in a terminal.
    """
    suites: dict[str, list[GateCase]] = {}
    for case in document.cases:
        suites.setdefault(case.run, []).append(case)
    root = ET.Element("testsuites", {"name": NAME, **_counts(document.cases)})
    for run, cases in suites.items():
        suite = ET.SubElement(root, "testsuite", {"name": _text(run), **_counts(cases)})
        for case in cases:
            _add(suite, case)
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _add(suite: ET.Element, case: GateCase) -> None:
    test = ET.SubElement(suite, "testcase", {"classname": _text(case.run), "name": _text(case.gate)})
    sentence = _text(case.sentence)
    if case.failed:
        tag = "error" if case.outcome == Outcome.unknown.value else "failure"
        told = ET.SubElement(test, tag, {"message": sentence, "type": case.outcome})
        told.text = f"{_text(case.run)}: {_text(case.gate)}: {sentence}"
    else:
        ET.SubElement(test, "system-out").text = f"{case.outcome}: {sentence}"


def _counts(cases: Sequence[GateCase]) -> dict[str, str]:
    failed = [case.outcome == Outcome.unknown.value for case in cases if case.failed]
    return {
        "tests": str(len(cases)),
        "failures": str(failed.count(False)),
        "errors": str(failed.count(True)),
    }


def _text(text: str) -> str:
    r"""``text`` that XML 1.0 can hold: what cannot be printed is written out, as ``\x00``."""
    return one_line(text)
