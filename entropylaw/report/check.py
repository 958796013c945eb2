"""A check as text, Markdown and JUnit XML: a line, row or test case per run × gate, and how many of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as ET

from entropylaw.documents.check import CheckDocument
from entropylaw.gates.decide import Outcome
from entropylaw.report.markdown import paragraphs, table, title, whole
from entropylaw.report.numbers import count
from entropylaw.report.printable import markdown_cell, one_line
from entropylaw.results.check import GateCase

NAME = "entropylaw check"

ORDER = (Outcome.passed, Outcome.open, Outcome.tripped, Outcome.unknown)
"""How cases are listed; nothing that failed comes before something that did not."""


def render_text(document: CheckDocument) -> str:
    """The whole check for a terminal: failures last, then the summary."""
    places = {outcome.value: place for place, outcome in enumerate(ORDER)}
    cases = sorted(document.cases, key=lambda case: (case.failed, places[case.outcome]))
    marks = [case.outcome.upper() if case.failed else case.outcome for case in cases]
    lines = [
        f"{mark:<12}  {one_line(case.run)}  {one_line(case.gate)}  {one_line(case.sentence)}"
        for mark, case in zip(marks, cases, strict=True)
    ]
    return "\n".join([*lines, summary(document)]) + "\n"


def summary(document: CheckDocument) -> str:
    """``FAILED: 3 gates on 2 runs: 4 passed, 1 not excluded, 1 tripped``."""
    counts = document.counts
    outcomes = ", ".join(f"{counts[outcome]} {outcome.value}" for outcome in ORDER if outcome.value in counts)
    verdict = "FAILED" if document.failed else "PASSED"
    strict = " (--strict: what is not excluded fails)" if document.strict else ""
    checked = f"{count(len(document.gates), 'gate')} on {count(document.runs, 'run')}"
    return f"{verdict}: {checked}: {outcomes}{strict}"


def render_markdown(document: CheckDocument) -> str:
    """For a step summary or a merge request: a section per run as far as there is room, failures first."""

    def head() -> Iterator[str]:
        yield from title("Entropy law check", [markdown_cell(warning) for warning in document.warnings])
        yield from paragraphs(f"**{markdown_cell(summary(document))}**")

    def section(run: tuple[str, list[GateCase]]) -> Iterator[str]:
        name, cases = run
        yield from paragraphs(f"## {markdown_cell(name)}")
        rows = (
            (
                f"**{case.outcome}**" if case.failed else case.outcome,
                markdown_cell(case.gate),
                markdown_cell(case.sentence),
            )
            for case in sorted(cases, key=lambda case: not case.failed)
        )
        yield from table(("outcome", "gate", "found"), rows)

    runs = sorted(_by_run(document).items(), key=lambda run: not any(case.failed for case in run[1]))
    return whole(head(), runs, section, where="the JSON document holds them all")


def render_junit(document: CheckDocument) -> str:
    """A suite per run, for GitLab, Jenkins and GitHub's reporters.

    What tripped is a failure, what is unknown an error. No times and no host: the same check has the same
    bytes. Control characters, which XML 1.0 has no way to hold, are written out as in a terminal.
    """
    root = ET.Element("testsuites", {"name": NAME, **_counts(document.cases)})
    for run, cases in _by_run(document).items():
        suite = ET.SubElement(root, "testsuite", {"name": one_line(run), **_counts(cases)})
        for case in cases:
            gate, sentence = one_line(case.gate), one_line(case.sentence)
            test = ET.SubElement(suite, "testcase", {"classname": one_line(run), "name": gate})
            if not case.failed:
                ET.SubElement(test, "system-out").text = f"{case.outcome}: {sentence}"
                continue
            tag = "error" if case.outcome == Outcome.unknown.value else "failure"
            failure = ET.SubElement(test, tag, {"message": sentence, "type": case.outcome})
            failure.text = f"{one_line(run)}: {gate}: {sentence}"
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _by_run(document: CheckDocument) -> dict[str, list[GateCase]]:
    runs: dict[str, list[GateCase]] = {}
    for case in document.cases:
        runs.setdefault(case.run, []).append(case)
    return runs


def _counts(cases: Sequence[GateCase]) -> dict[str, str]:
    unknown = [case.outcome == Outcome.unknown.value for case in cases if case.failed]
    failures, errors = unknown.count(False), unknown.count(True)
    return {"tests": str(len(cases)), "failures": str(failures), "errors": str(errors)}
