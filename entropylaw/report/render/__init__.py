"""Renderers, one per medium: each takes every block, and so every result. CSV takes tables.

Those of tables are here, CSV and LaTeX, and that of a check: JUnit XML for GitLab, Jenkins and GitHub's
reporters.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from itertools import chain, compress
from typing import Any

from entropylaw.escaping import one_line, spreadsheet_cell
from entropylaw.kinds import DETAILS
from entropylaw.report.blocks import Block, Cell, Heading, Notes, Table, Verdict, by_run
from entropylaw.report.describe import describe, table
from entropylaw.report.numbers import row_text, with_minus
from entropylaw.report.render import text


def rendered(result: Any, medium: str) -> str:
    """A result or document as text for a terminal, details, Markdown, CSV or LaTeX; a check also as JUnit."""
    if medium == "csv":
        return csv_text(table(result))
    if medium == "latex":
        return _latex_text(result)
    if medium == "junit":
        return _junit_text(describe(result))
    if medium == "markdown":
        # It imports the figures, for their captions.
        from entropylaw.report.render import markdown

        return markdown.render(describe(result))
    topics = (topic for topic, details in DETAILS.items() if details == medium)
    return text.render(describe(result), next(topics, ""))


def csv_text(table: Table) -> str:
    """A table as CSV: numbers as in the document, an empty cell for an unknown one.

    Texts are made safe for spreadsheets.
    """

    def written(cell: Cell) -> str:
        if cell is None or isinstance(cell, bool):
            return "" if cell is None else str(cell).lower()
        return spreadsheet_cell(cell) if isinstance(cell, str) else repr(cell)

    buffer = io.StringIO()
    names, rows = flat(table)
    csv.writer(buffer, lineterminator="\n").writerows([names, *(map(written, row) for row in rows)])
    return buffer.getvalue()


def flat(table: Table) -> tuple[list[str], list[list[Cell]]]:
    """Names and rows of plain cells: an estimate is a value and the two ends of its interval."""
    columns = list(zip(*table.rows, strict=True)) or [()] * len(table.columns)
    names: list[str] = []
    cells: list[Sequence[Cell]] = []
    for column, values in zip(table.columns, columns, strict=True):
        names.append(column.key)
        if not column.estimate:
            cells.append(values)
            continue
        names += [f"{column.key}_low", f"{column.key}_high"]
        cells += [[getattr(value, end, None) for value in values] for end in ("value", "low", "high")]
    return names, [list(row) for row in zip(*cells, strict=True)]


def _latex_text(result: Any) -> str:
    r"""The tables of a result by pandas, for ``\\input``; a comment names what each is about.

    Numbers have the digits of other texts. A result without tables has that of its CSV.
    """
    tex = "% \\usepackage{booktabs}, and an engine that reads UTF-8\n"
    blocks = describe(result)
    if not any(isinstance(block, Table) for block in blocks):
        blocks.append(table(result))
    for block in blocks:
        match block:
            case Heading():
                tex += f"\n% {one_line(block.text)}\n"
            case Table():
                # LaTeX has no letters for a line of bars.
                letters = [column.unit != "trace" for column in block.columns]
                cells = [list(compress(row_text(block, row), letters)) for row in block.rows]
                head = list(compress((column.label for column in block.columns), letters))
                tex += _tabular(head, cells, block.words)
    return tex


def _tabular(head: Sequence[str], rows: Sequence[Sequence[str]], words: int) -> str:
    """A LaTeX table; the first ``words`` columns hold names."""
    import pandas

    columns, *cells = ([with_minus(one_line(text)) for text in row] for row in (head, *rows))
    frame = pandas.DataFrame(cells, columns=columns, dtype=str)
    aligned = "l" * words + "r" * (len(columns) - words)
    return str(frame.to_latex(index=False, escape=True, column_format=aligned))


def _junit_text(blocks: Sequence[Block]) -> str:
    """A suite per run and a case per gate: one that fails is a failure, an undecided one an error.

    No times and no host: the same result has the same bytes. Control characters, which XML 1.0 excludes, are
    written out as in a terminal.
    """
    from xml.etree import ElementTree as ET

    tags = {True: "system-out", False: "failure", None: "error"}
    head, *runs = by_run(blocks)
    titles = (block.text for block in head if isinstance(block, Heading) and block.level == 1)
    notes = [note for block in head if isinstance(block, Notes) for note in block.notes if note.label]
    suites: dict[str, list[Verdict]] = {}
    for heading, *blocks_of_run in runs:
        assert isinstance(heading, Heading)
        if verdicts := [block for block in blocks_of_run if isinstance(block, Verdict)]:
            suites.setdefault(one_line(heading.text), []).extend(verdicts)
    every = list(chain.from_iterable(suites.values()))
    root = ET.Element("testsuites", {"name": one_line(next(titles, "entropylaw")), **_counts(every)})
    for run, verdicts in suites.items():
        suite = ET.SubElement(root, "testsuite", {"name": run, **_counts(verdicts)})
        properties = ET.SubElement(suite, "properties") if notes else suite
        for note in notes:
            ET.SubElement(properties, "property", {"name": note.label, "value": one_line(note.text)})
        for verdict in verdicts:
            gate = one_line(verdict.name)
            reason = one_line(verdict.text)
            case = ET.SubElement(suite, "testcase", {"classname": run, "name": gate})
            outcome = ET.SubElement(case, tags[verdict.ok])
            # GitLab shows the text alone, and Jenkins the message first: both have the reason.
            outcome.text = f"{verdict.badge} {run} {gate} {reason}"
            if not verdict.ok:
                outcome.attrib.update(message=reason, type=verdict.badge.lower())
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _counts(verdicts: Sequence[Verdict]) -> dict[str, str]:
    outcomes = [verdict.ok for verdict in verdicts]
    failures = str(outcomes.count(False))
    errors = str(outcomes.count(None))
    return {"tests": str(len(outcomes)), "failures": failures, "errors": errors}
