"""Verdicts as JUnit XML, for GitLab, Jenkins and GitHub's reporters: a suite per run, a case per verdict."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from entropylaw.report.blocks import Block, Heading, Verdict
from entropylaw.report.printable import one_line


def render(blocks: Sequence[Block]) -> str:
    """A verdict that fails is a failure, an open one an error. Of a run without a gate it is the run's own.

    No times and no host: the same result has the same bytes. Control characters, which XML 1.0 has no way to
    hold, are written out as in a terminal.
    """
    suites: dict[str, list[Verdict]] = {}
    title, run = "entropylaw", ""
    for block in blocks:
        if isinstance(block, Heading) and block.level == 1:
            title = one_line(block.text)
        elif isinstance(block, Heading) and block.level == 2:
            run = one_line(block.text)
        elif isinstance(block, Verdict) and run:
            suites.setdefault(run, []).append(block)
    every = [verdict for verdicts in suites.values() for verdict in verdicts]
    root = ET.Element("testsuites", {"name": title, **_counts(every)})
    for run, verdicts in suites.items():
        suite = ET.SubElement(root, "testsuite", {"name": run, **_counts(verdicts)})
        for verdict in verdicts:
            name, sentence = one_line(verdict.name or "verdict"), one_line(verdict.text)
            case = ET.SubElement(suite, "testcase", {"classname": run, "name": name})
            if verdict.ok:
                ET.SubElement(case, "system-out").text = f"{verdict.badge}: {sentence}"
                continue
            tag = "error" if verdict.ok is None else "failure"
            failure = ET.SubElement(case, tag, {"message": sentence, "type": verdict.badge.lower()})
            failure.text = f"{run}: {name}: {sentence}"
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _counts(verdicts: Sequence[Verdict]) -> dict[str, str]:
    found = [verdict.ok for verdict in verdicts]
    return {"tests": str(len(found)), "failures": str(found.count(False)), "errors": str(found.count(None))}
