"""The table for spreadsheets: full precision, and no formulas from names."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

from entropylaw.report import csvtable
from tests.unit.test_report_samples import HOSTILE, by_hand, document, falling, refused, run_by_hand


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_numbers_are_exact() -> None:
    (row,) = rows(csvtable.render(document(run_by_hand(by_hand()))))
    assert row["a"] == "0.30012"
    assert (row["ceiling"], row["ceiling_low"], row["ceiling_high"]) == ("0.8001", "0.7712", "0.8291")
    assert (row["n"], row["valid"], row["level"]) == ("10", "true", "0.95")
    assert (row["best_rival"], row["best_rival_weight"], row["refusal"]) == ("line", "0.08", "")


def test_round_trip_of_a_fitted_run() -> None:
    run = falling()
    assert run.law is not None
    (row,) = rows(csvtable.render(document(run)))
    assert row["valid"] == "false"
    assert float(row["a"]) == run.law.a.value
    assert row["a"].startswith("-")


def test_names_are_no_formulas() -> None:
    for name in ("=1+1", "+1", "-1", "@SUM(A1)"):
        (row,) = rows(csvtable.render(document(replace(refused(), run=name))))
        assert row["run"] == "'" + name
        assert row["refusal"] == "too-few-evaluations"
        assert row["a"] == ""


def test_hostile_name_is_one_cell() -> None:
    (row,) = rows(csvtable.render(document(refused(HOSTILE))))
    assert row["run"] == HOSTILE
