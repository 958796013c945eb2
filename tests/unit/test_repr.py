"""The ``repr`` of every public result fits on half a screen."""

from __future__ import annotations

from typing import Any

import pytest

import entropylaw
from tests.conftest import ROOT
from tests.unit import test_notebook as samples
from tests.unit.test_report_samples import document, synthetic

pytestmark = pytest.mark.usefixtures("one_cache")

LOG = ROOT / "data/lab/grpo_s0/metrics.parquet"


def results() -> dict[str, Any]:
    """Class → one of it."""
    run = entropylaw.read_runs(LOG)[0]
    fit = entropylaw.fit(LOG)
    phases = samples.ordered()
    every = (
        run,
        entropylaw.select(run),
        fit,
        fit.law,
        fit.curve,
        fit.ceiling,
        fit.predict(0.1),
        fit.entropy_for(0.8),
        fit.forecast,
        entropylaw.backtest([entropylaw.select(run)]),
        phases.result,
        entropylaw.combine_phases([phases.result] * 3),
        document(*(synthetic() for _ in range(30))),
    )
    return {type(result).__name__: result for result in every}


def test_no_repr_is_longer_than_twelve_lines() -> None:
    for name, result in results().items():
        lines = repr(result).splitlines()
        assert len(lines) <= 12, name
        assert max(map(len, lines)) < 1000, name


def test_a_reading_is_shown_in_a_few_lines() -> None:
    shown = repr(entropylaw.read_runs(LOG))
    assert len(shown) < 300
    assert all(
        words in shown for words in ("'grpo_s0'", "401 rows", "30 columns", "metrics.parquet' (parquet)")
    )
    (run,) = entropylaw.read_runs(LOG)
    assert repr(entropylaw.select(run)) == "<Series 'grpo_s0': 51 pairs of 'entropy' and 'val_acc'>"
