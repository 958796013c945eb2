"""Results in a notebook: pictures on anybody's axes, safe tables with the verdict first, a short ``repr``."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

import entropylaw
from entropylaw.analysis.phases import combine_phases
from entropylaw.report.blocks import Table
from entropylaw.report.describe import describe
from entropylaw.results.result import replace
from entropylaw.roles.select import select
from tests.conftest import ROOT, clean_environment
from tests.pages import Page
from tests.typed import assert_says
from tests.unit.test_phase_report import neither, ordered
from tests.unit.test_report_samples import document, falling, refused, synthetic, without_entropy

pytestmark = pytest.mark.usefixtures("one_cache")


def ahead(name: str = "sample") -> entropylaw.Forecast:
    law = synthetic(name).result.law
    assert law is not None
    steps = [400.0, 450.0, 500.0]
    return entropylaw.forecast(law.step, law.entropy, law.reward, at_step=steps, run=name)


RESULTS: dict[str, Callable[[], Any]] = {
    "law": lambda: synthetic().result,
    "law that fails": lambda: falling().result,
    "no law": lambda: without_entropy().result,
    "phases": lambda: ordered().result,
    "no turn": lambda: neither().result,
    "forecast": ahead,
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_picture_is_drawn_on_the_axes_given_and_these_are_returned(name: str) -> None:
    axes = Figure().add_subplot()
    settings = dict(mpl.rcParams)
    assert RESULTS[name]().plot(axes) is axes
    assert dict(mpl.rcParams) == settings
    assert axes.has_data() or axes.patches
    assert axes.get_xlabel()
    axes.figure.canvas.draw()


@pytest.mark.parametrize("name", RESULTS)
def test_without_axes_pyplot_makes_some(name: str) -> None:
    with mpl.rc_context({"backend": "agg"}):
        from matplotlib import pyplot

        axes = RESULTS[name]().plot()
        assert axes is pyplot.gca()
        pyplot.close(axes.figure)


def test_a_forecast_goes_on_top_of_what_is_there() -> None:
    axes = Figure().add_subplot()
    axes.plot(np.arange(390.0), np.zeros(390))
    ahead().plot(axes)
    assert axes.get_xlim()[0] <= 0
    assert axes.get_xlim()[1] >= 500


def test_a_law_that_fails_says_so_on_the_axes() -> None:
    axes = Figure().add_subplot()
    falling().result.plot(axes)  # type: ignore[union-attr]
    assert axes.get_title(loc="left") == "reward rises with entropy, R² 0.97"


@pytest.mark.parametrize("name", RESULTS)
def test_a_table_has_figures_of_fixed_colours(name: str) -> None:
    assert "<svg" in RESULTS[name]()._repr_html_()
    assert "var(" not in RESULTS[name]()._repr_html_()


def test_many_runs_have_one_table() -> None:
    """Of many runs a notebook and a terminal show the same table in place of a description of each."""
    many = document(*(replace(synthetic(), run=f"run {i}") for i in range(9)))
    assert sum(isinstance(block, Table) and block.overview for block in describe(many)) == 1
    assert Page(many._repr_html_()).tags.count("table") == 1  # type: ignore[attr-defined]


def test_a_run_without_a_law_has_its_reward_on_the_axes() -> None:
    axes = Figure().add_subplot()
    result = without_entropy().result
    result.plot(axes)  # type: ignore[union-attr]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("step", "reward")
    assert axes.get_title(loc="left") == f"rising: {result.state.now.value:.3f} at step 390"  # type: ignore[union-attr]
    assert axes.get_xlim()[1] > result.forecast.step[-1]  # type: ignore[union-attr]


def test_a_forecast_has_every_step_and_the_chance_of_any() -> None:
    html = ahead()._repr_html_()  # type: ignore[attr-defined]
    for step in ("400", "450", "500"):
        assert f'<th scope="row">{step}</th>' in html
    assert "such runs, the level is that high at some step until then" in html


def test_the_frame_of_a_forecast_has_the_probability_of_the_gain() -> None:
    found = ahead()
    frame = found.to_frame()
    assert frame["p_gain"].tolist() == list(found.p_gains)
    assert frame["reward_low"].tolist() == [reward.low for reward in found.rewards]


def test_a_document_has_a_row_for_every_run_and_figures_for_a_few() -> None:
    page = Page(document(synthetic(), falling(), refused("short"))._repr_html_())  # type: ignore[attr-defined]
    assert_says(page.text, "fails", "3 usable evaluations, expected at least 5")
    many = document(*(replace(synthetic(), run=f"run {i}") for i in range(60)))
    page = Page(many._repr_html_())  # type: ignore[attr-defined]
    assert "svg" not in page.tags
    assert page.tags.count("tr") == 60 + 1


def test_a_result_has_its_methods_however_it_was_imported() -> None:
    code = (
        "import sys, entropylaw.results.result as module\n"
        "assert module.note('not-one', n=3).sentence == 'not-one'\n"
        "assert 'numpy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=clean_environment(), check=True)


def test_matplotlib_is_loaded_when_a_result_is_looked_at_and_not_before() -> None:
    code = (
        "import sys, entropylaw, numpy as n\n"
        "fit = entropylaw.fit(entropy=n.linspace(1, 0.1, 20), reward=n.linspace(0, 1, 20) ** 2)\n"
        "assert 'matplotlib' not in sys.modules and 'jinja2' not in sys.modules\n"
        "fit._repr_html_()\n"
        "assert 'matplotlib' in sys.modules and 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=clean_environment(), check=True)


LOG = ROOT / "data/lab/grpo_s0/metrics.parquet"


def results() -> dict[str, Any]:
    """Class → one of it."""
    run = entropylaw.read_runs(LOG)[0]
    fit = entropylaw.fit(LOG)
    phases = ordered()
    every = (
        run,
        select(run),
        fit,
        fit.law,
        fit.curve,
        fit.state,
        fit.law.ceiling,
        fit.predict(0.1),
        fit.entropy_for(0.8),
        fit.forecast,
        phases.result,
        combine_phases([phases.result] * 3),
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
    assert repr(select(run)) == "<Series 'grpo_s0': 51 pairs of 'entropy' and 'val_acc'>"
