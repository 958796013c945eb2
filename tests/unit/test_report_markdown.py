"""Markdown against hostile names, and within its limits of length."""

from __future__ import annotations

import re
from collections.abc import Iterator

from entropylaw.report import index_page
from entropylaw.report.index_rows import index_row
from entropylaw.report.numbers import sparkline
from entropylaw.report.render import rendered
from entropylaw.results.fields import replace
from tests.made import report_runs, run_report
from tests.unit.test_report_samples import (
    HOSTILE,
    document,
    falling,
    refused,
    report_markdown,
    synthetic,
)


def test_hostile_name_is_text() -> None:
    run = replace(synthetic(), run=HOSTILE)
    text = rendered(document(run, refused(HOSTILE)), "markdown")
    assert "<script" not in text
    assert not re.search(r"(?<!\\)\]\(http", text)
    assert not any(line.startswith("# ") and "report" not in line for line in text.splitlines())
    rows = [line for line in text.splitlines() if line.startswith("| ") and "etc/" in line]
    assert len(rows) == 2
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 9 for row in rows)


def test_invalid_run_says_so_before_any_number() -> None:
    text = rendered(document(falling()), "markdown")
    assert text.index("The law does not describe this run") < text.index("### Numbers")
    assert "**reason**: reward falls as entropy is spent" in text


def test_many_runs_stay_below_the_limit_of_a_comment() -> None:
    text = rendered(document(*(replace(synthetic(), run=f"run {i}") for i in range(60))), "markdown")
    assert len(text.encode()) < 64_000
    assert re.search(r"\*Left out of this text: \d+ more runs", text)


def test_sparkline_goes_from_least_to_largest() -> None:
    assert sparkline([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]) == "▁▂▃▄▅▆▇█"
    assert sparkline([float(i) for i in range(1000)]) == "▁▂▂▃▄▄▅▅▆▇▇█"
    assert sparkline([3.0, 3.0]) == "▁▁"


def test_report_has_words_then_all_runs_then_each() -> None:
    text = report_markdown(report_runs(document(synthetic(), falling(), refused(HOSTILE))))
    assert "Of 3 runs the law holds in 1, fails in 1 and 1 could not be fitted." in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    head = rows[0].strip("| ").split(" | ")
    assert head[:5] == ["run", "verdict", "entropy", "reward", "ceiling"]
    assert head[5:] == ["headroom", "used", "drop per 100 steps", "forecast for step", "forecast"]
    (sample,) = [row for row in rows if row.startswith("| sample |")]
    assert "| █" in sample
    assert "| 97.2 % [95.9, 98.2] | 0.080 [0.064, 0.100] |" in sample
    assert "| 585 |" in sample
    assert re.search(r"\n## sample\n", text)
    assert (
        text.index("### Numbers")
        < text.index("### Forecast")
        < text.index("### Phases")
        < text.index("### How")
    )
    assert "This run has used 97.2 % [95.9, 98.2] of the reward that its entropy can buy" in text
    assert "<script" not in text


def test_report_of_a_thousand_runs_says_what_it_leaves_out() -> None:
    good = index_row(run_report(synthetic()), "x")
    many = [replace(good, run=f"run {i}", slug=f"run-{i}") for i in range(1000)]

    def sections() -> Iterator[object]:
        raise AssertionError("no document is to be read where there is no room for it")
        yield

    text = index_page.markdown(many, sections(), warnings=["w" * 50] * 300)
    assert len(text.encode()) <= 60_000
    shown = len(re.findall(r"^\| run ", text, re.MULTILINE)) - 1
    assert 100 < shown < 1000
    assert f"*Left out of this text: {1000 - shown} rows;" in text
    assert "*Left out of this text: 1000 more runs; their pages hold them.*" in text
    assert "Left out of this text: 280 more warnings" in text


def test_report_takes_documents_only_while_there_is_room() -> None:
    run = run_report(synthetic())
    row = index_row(run, "x")
    rows = [replace(row, run=f"run {i}", slug=f"run-{i}") for i in range(100)]
    taken = []

    def sections() -> Iterator[tuple[object, str]]:
        for i in range(100):
            taken.append(i)
            yield run, f"run-{i}"

    text = index_page.markdown(rows, sections())
    shown = text.count("### Numbers")
    assert 3 < shown < 40
    assert len(taken) == shown + 1
    assert len(text.encode()) <= 60_000
    assert f"*Left out of this text: {100 - shown} more runs; their pages hold them.*" in text
