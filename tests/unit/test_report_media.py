"""Markdown and tables of reports: hostile names, limits of length, full precision."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

import numpy as np
import pytest

from entropylaw import fit_law
from entropylaw.documents.document import FitDocument, RunFit
from entropylaw.escaping import one_line
from entropylaw.options import FitOptions
from entropylaw.pipeline.answers import predict_runs
from entropylaw.report import pages, words
from entropylaw.report.describe.runs import index_row, index_table
from entropylaw.report.numbers import sparkline
from entropylaw.report.render import csv_text, rendered
from entropylaw.results.result import replace
from tests.made import report_runs, run_report
from tests.unit.test_report_samples import (
    HOSTILE,
    by_hand,
    document,
    falling,
    refused,
    report_csv,
    report_markdown,
    run_by_hand,
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
    (head,) = [line for line in text.splitlines() if line.startswith("| run |")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {len(head.split("|")) - 1}


def test_a_law_that_fails_says_so_before_any_number() -> None:
    text = rendered(document(falling()), "markdown")
    assert text.index("**reward rises with entropy** (fails)") < text.index("### Estimates")
    assert "- **reason**: reward rises with entropy: a = -0.19" in text


def test_where_entropy_and_reward_rise_no_sentence_has_entropy_fall_and_no_gain_contradicts_another() -> None:
    step = np.arange(60.0)
    entropy = 0.2 + 0.5 * (1 - np.exp(-step / 20)) + 0.01 * np.random.default_rng(1).standard_normal(60)
    run = run_by_hand(fit_law(entropy, 0.1 + 0.4 * np.expm1(entropy), step))
    fits = FitDocument(inputs=(), settings=FitOptions(), runs=(run,))
    text = rendered(run, "text")
    assert "FAILS: reward rises with entropy" in text
    assert "Not on the curve: reward rises with entropy" in " ".join(text.split())
    ahead = " ".join(rendered(predict_runs(fits, at_step=[90], saturation=True), "text").split())
    assert "on the curve unknown: reward rises with entropy" in ahead
    assert "probability 0 " not in ahead
    assert not re.search("entropy is spent|falls as entropy falls:", text + ahead)


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
    assert "The law holds in 1 of 3 runs, fails in 1, undecided in 0; 1 could not be fitted." in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    head = rows[0].strip("| ").split(" | ")
    assert head[:6] == ["run", "verdict", "why", "entropy", "reward", "ceiling"]
    assert head[6:9] == ["left", "P\\(gain left\\)", "share reached"]
    assert head[9:] == ["R²", "drop per 100 steps", "forecast for step", "forecast"]
    (sample,) = [row for row in rows if row.startswith("| sample |")]
    assert "| █" in sample
    used, drop = (synthetic().answer.used, synthetic().drop_per_100_steps)  # type: ignore[union-attr]
    assert f"| {100 * used.value:.1f} % [{100 * used.low:.1f}, {100 * used.high:.1f}] |" in sample
    assert f"| {drop.value:.3f} [{drop.low:.3f}, {drop.high:.3f}] |" in sample
    assert "| 585 |" in sample
    assert re.search(r"\n## sample\n", text)
    assert (
        text.index("### Estimates")
        < text.index("### Forecast")
        < text.index("### Phases")
        < text.index("### Diagnostics")
    )
    for answer in words.answers(synthetic().answer):  # type: ignore[arg-type]
        assert f"- {' '.join(answer)}" in text.replace("Ceiling:", "Ceiling")
    assert "<script" not in text


def test_report_of_a_thousand_runs_says_what_it_leaves_out() -> None:
    good = index_row(run_report(synthetic()), "x")
    many = [replace(good, run=f"run {i}", slug=f"run-{i}") for i in range(1000)]

    def sections() -> Iterator[object]:
        raise AssertionError("no document is to be read where there is no room for it")
        yield

    text = pages.markdown(many, sections(), warnings=["w" * 50] * 300)
    assert len(text.encode()) <= 60_000
    shown = len(re.findall(r"^\| run ", text, re.MULTILINE)) - 1
    assert 100 < shown < 1000
    assert f"*Left out of this text: {1000 - shown} rows;" in text
    assert "*Left out of this text: 1000 more runs; see their pages.*" in text
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

    text = pages.markdown(rows, sections())
    shown = text.count("### Estimates")
    assert 3 < shown < 40
    assert len(taken) == shown + 1
    assert len(text.encode()) <= 60_000
    assert f"*Left out of this text: {100 - shown} more runs; see their pages.*" in text


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_numbers_of_the_table_are_exact() -> None:
    (row,) = rows(rendered(document(run_by_hand(by_hand())), "csv"))
    assert row["a"] == "0.30012"
    assert (row["ceiling"], row["ceiling_low"], row["ceiling_high"]) == ("0.8027", "0.7712", "0.8661")
    assert (row["law_ceiling"], row["law_ceiling_high"]) == ("0.8001", "0.8291")
    assert (row["n"], row["verdict"], row["why"], row["level"]) == ("10", "holds", "", "0.95")
    assert (row["best_form"], row["best_probability"], row["refusal"]) == ("law", "0.9", "")
    assert (row["p_headroom"], row["gain"], row["law_probability"]) == ("0.981", "0.01", "0.9")
    assert (row["used"], row["used_low"], row["used_high"]) == ("0.873", "0.812", "0.934")
    assert row["drop_per_100_steps"] == "0.41"
    assert "forecast" not in row
    run = falling()
    assert run.law is not None
    (row,) = rows(rendered(document(run), "csv"))
    assert (row["verdict"], row["why"]) == ("fails", "no relation")
    assert float(row["a"]) == run.law.a.value
    assert row["a"].startswith("-")


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1+cmd", "@SUM(A1)", HOSTILE])
def test_names_are_one_cell_and_no_formula(name: str) -> None:
    (row,) = rows(rendered(document(replace(refused(), run=name)), "csv"))
    assert row["run"] == (one_line(HOSTILE) if name == HOSTILE else f"'{name}")
    assert (row["refusal"], row["a"]) == ("too-few-evaluations", "")


def test_a_report_adds_forecast_and_phases_to_the_columns_of_a_fit() -> None:
    made = document(synthetic(), refused(), run_by_hand(by_hand()))
    reports = report_runs(made)
    found = rows(report_csv(reports))
    plain = rows(rendered(made, "csv"))
    assert [{name: row[name] for name in plain[0]} for row in found] == plain
    good, none, _ = found
    assert reports.runs[0].forecast is not None
    last = reports.runs[0].forecast.reward[-1]
    assert (good["forecast_step"], float(good["forecast"])) == ("585.0", last.value)
    spent = reports.runs[0].spending.step
    assert (float(good["spent_by_step"]), float(good["spent_by_step_low"])) == (spent.value, spent.low)
    assert (none["forecast"], none["refusal"]) == ("", "too-few-evaluations")


def test_rows_are_enough() -> None:
    runs = [run_report(synthetic()), run_report(falling())]
    made = csv_text(index_table(index_row(run, run.run) for run in runs))
    assert made == report_csv(report_runs(document(synthetic(), falling())))


NEVER = "model alpha sigma uncertainty bits experiment asymptote nan None"


@pytest.mark.parametrize(
    "run", [synthetic(), falling(), refused(), run_by_hand(by_hand())], ids=lambda run: run.run
)
def test_vocabulary(run: RunFit) -> None:
    # Titles of papers have words of their own.
    text = re.sub(r"title = .*", "", rendered(document(run), "markdown"))
    for word in NEVER.split():
        assert not re.search(rf"\b{word}s?\b", text, re.IGNORECASE), word
