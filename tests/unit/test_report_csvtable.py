"""The table for spreadsheets: full precision, and no formulas from names."""

from __future__ import annotations

import csv
import io

from entropylaw.report.describe.report import index_table
from entropylaw.report.index_rows import index_row
from entropylaw.report.printable import one_line
from entropylaw.report.render import csv as table
from entropylaw.report.render import rendered
from entropylaw.results.fields import replace
from tests.made import report_runs, run_report
from tests.unit.test_report_samples import (
    HOSTILE,
    by_hand,
    document,
    falling,
    refused,
    report_csv,
    run_by_hand,
    synthetic,
)


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_numbers_are_exact() -> None:
    (row,) = rows(rendered(document(run_by_hand(by_hand())), "csv"))
    assert row["a"] == "0.30012"
    assert (row["ceiling"], row["ceiling_low"], row["ceiling_high"]) == ("0.8001", "0.7712", "0.8291")
    assert (row["n"], row["valid"], row["level"]) == ("10", "true", "0.95")
    assert (row["best_rival"], row["best_rival_weight"], row["refusal"]) == ("line", "0.08", "")


def test_round_trip_of_a_fitted_run() -> None:
    run = falling()
    assert run.law is not None
    (row,) = rows(rendered(document(run), "csv"))
    assert row["valid"] == "false"
    assert float(row["a"]) == run.law.a.value
    assert row["a"].startswith("-")


def test_names_are_no_formulas() -> None:
    for name in ("=1+1", "+1", "-1+cmd", "@SUM(A1)"):
        (row,) = rows(rendered(document(replace(refused(), run=name)), "csv"))
        assert row["run"] == "'" + name
        assert row["refusal"] == "too-few-evaluations"
        assert row["a"] == ""


def test_hostile_name_is_one_cell() -> None:
    (row,) = rows(rendered(document(refused(HOSTILE)), "csv"))
    assert row["run"] == one_line(HOSTILE)


def test_what_is_used_and_lost_is_there() -> None:
    (row,) = rows(rendered(document(run_by_hand(by_hand())), "csv"))
    assert (row["used"], row["used_low"], row["used_high"]) == ("0.873", "0.812", "0.934")
    assert row["drop_per_100_steps"] == "0.41"
    assert "forecast" not in row


def test_a_report_adds_forecast_and_phases_to_the_columns_of_a_fit() -> None:
    made = document(synthetic(), refused(), run_by_hand(by_hand()))
    told = report_runs(made)
    found = rows(report_csv(told))
    plain = rows(rendered(made, "csv"))
    assert [{name: row[name] for name in plain[0]} for row in found] == plain
    good, none, _ = found
    assert told.runs[0].forecast is not None
    last = told.runs[0].forecast.reward[-1]
    assert (good["forecast_step"], float(good["forecast"])) == ("585.0", last.value)
    assert (good["spent_by_step"], good["spent_by_step_low"]) == ("", "429.0")
    assert (none["forecast"], none["refusal"]) == ("", "too-few-evaluations")


def test_rows_are_enough() -> None:
    runs = [run_report(synthetic()), run_report(falling())]
    made = table.render(index_table((index_row(run, run.run) for run in runs), ()))
    assert made == report_csv(report_runs(document(synthetic(), falling())))
