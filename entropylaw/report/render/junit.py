"""Verdicts as JUnit XML, for GitLab, Jenkins and GitHub's reporters: a suite per run, a case per verdict."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from xml.etree import ElementTree as ET

from entropylaw.escaping import one_line
from entropylaw.report.blocks import Block, Heading, Verdict, by_run

_TAGS = {True: "system-out", False: "failure", None: "error"}


def render(blocks: Sequence[Block]) -> str:
    """A verdict that fails is a failure, an undecided one an error; without gates it is the run's verdict.

    No times and no host: the same result has the same bytes. Control characters, which XML 1.0 excludes, are
    written out as in a terminal.
    """
    head, *runs = by_run(blocks)
    titles = (block.text for block in head if isinstance(block, Heading) and block.level == 1)
    suites: dict[str, list[Verdict]] = {}
    for heading, *part in runs:
        assert isinstance(heading, Heading)
        if verdicts := [block for block in part if isinstance(block, Verdict)]:
            suites.setdefault(one_line(heading.text), []).extend(verdicts)
    every = list(chain.from_iterable(suites.values()))
    root = ET.Element("testsuites", {"name": one_line(next(titles, "entropylaw")), **_counts(every)})
    for run, verdicts in suites.items():
        suite = ET.SubElement(root, "testsuite", {"name": run, **_counts(verdicts)})
        for verdict in verdicts:
            name, sentence = one_line(verdict.name or "verdict"), one_line(verdict.text)
            case = ET.SubElement(suite, "testcase", {"classname": run, "name": name})
            outcome = ET.SubElement(case, _TAGS[verdict.ok])
            outcome.text = f"{verdict.badge}: {sentence}"
            if not verdict.ok:
                outcome.attrib.update(message=sentence, type=verdict.badge.lower())
                outcome.text = f"{run}: {name}: {sentence}"
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _counts(verdicts: Sequence[Verdict]) -> dict[str, str]:
    found = [verdict.ok for verdict in verdicts]
    return {"tests": str(len(found)), "failures": str(found.count(False)), "errors": str(found.count(None))}
