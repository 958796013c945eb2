"""One registry of forms: an entry there is all that a new form needs, wherever it is shown."""

from __future__ import annotations

import json

import numpy as np
import pytest

from entropylaw.analysis.forms import FORMS, FormKind, design
from entropylaw.analysis.lmfit_model import to_lmfit
from entropylaw.analysis.rivals import compare_forms
from entropylaw.documents.loading import load_fit
from entropylaw.pipeline import pool
from entropylaw.report.figures import law as law_figure
from entropylaw.report.figures.palette import PALETTE
from tests.pages import Page
from tests.typed import typed

NAME, LABEL, FORMULA = "wave", "a wave in H", "c − a(1 − cos(12H))"


@pytest.fixture
def wave(monkeypatch, tmp_path):
    """A form that only the registry knows, and a log that it describes far better than any other form."""
    kind = FormKind(
        label=LABEL,
        formula=FORMULA,
        coefficients=("ceiling", "a"),
        design=lambda x, _: design(1 - np.cos(12 * x["entropy"])),
        prepare=lambda entropy: ({"entropy": entropy}, ()),
        core=True,
        colour="purple",
    )
    monkeypatch.setitem(FORMS, NAME, kind)
    # Other processes do not have this form, also where an earlier test started some.
    monkeypatch.setattr(pool, "_STARTED", [])
    entropy = np.linspace(1.2, 0.1, 60)
    reward = 0.6 - 0.1 * (1 - np.cos(12 * entropy)) + 0.004 * np.random.default_rng(0).standard_normal(60)
    rows = [
        f"{10 * i},{h!r},{r!r}"
        for i, (h, r) in enumerate(zip(entropy.tolist(), reward.tolist(), strict=True))
    ]
    (tmp_path / "log.csv").write_text("\n".join(["step,entropy,val_acc", *rows]) + "\n")
    return tmp_path


def test_a_form_of_the_registry_alone_wins_in_every_renderer(wave):
    outputs = [f"fit.{suffix}" for suffix in ("json", "csv", "md", "txt")]
    done = typed(
        "fit", "log.csv", *(word for name in outputs for word in ("-o", name)), "--details", cwd=wave
    )
    assert done.returncode == 0, done.stderr
    fit = load_fit(wave / "fit.json").runs[0].answer
    assert fit.best.form == NAME
    assert fit.best.probability > 0.9
    assert NAME in fit.curve.forms
    assert any(LABEL in reason for reason in fit.reasons)
    assert f",{NAME}," in (wave / "fit.csv").read_text()
    assert LABEL in (wave / "fit.md").read_text()
    assert FORMULA in " ".join((wave / "fit.txt").read_text().split())

    for source in ("log.csv", "fit.json"):
        done = typed("report", source, "-o", "out", "--figures", "none", cwd=wave)
        assert done.returncode == 0, done.stderr
        (document,) = (wave / "out" / "runs").glob("*.json")
        page = Page(document.with_suffix(".html").read_text())
        assert LABEL in page.text
        assert FORMULA in page.text
        assert LABEL in (wave / "out" / "report.md").read_text()
        assert f",{NAME}," in (wave / "out" / "report.csv").read_text()
        (row,) = json.loads((wave / "out" / "report.json").read_text())["rows"]
        assert row["cells"]["best_form"] == NAME
    # The law fails: what it says is not known, and the gate fails; the average rests on the new form.
    assert typed("check", "fit.json", "--fail-if", "law.ceiling<-1", cwd=wave).returncode == 5
    assert typed("check", "fit.json", "--fail-if", "ceiling<0.55", cwd=wave).returncode == 0


def test_a_form_of_the_registry_alone_is_drawn_in_its_colour(wave):
    assert typed("fit", "log.csv", "-o", "fit.json", cwd=wave).returncode == 0
    fit = load_fit(wave / "fit.json").runs[0].answer
    figure = law_figure.law_figure(fit)
    (axes,) = figure.axes[:1]
    (line,) = [line for line in axes.lines if line.get_color() == PALETTE["purple"].light]
    assert line.get_ydata() == pytest.approx(fit.curve.forms[NAME])
    assert line.get_label() == f"{NAME}, P = 1"
    assert line.get_label() in [text.get_text() for text in figure.legends[0].get_texts()]
    assert typed("plot", "law", "fit.json", "-o", "law.svg", cwd=wave).returncode == 0


def test_a_form_of_the_registry_alone_is_compared_and_handed_to_lmfit(wave):
    assert typed("fit", "log.csv", "-o", "fit.json", cwd=wave).returncode == 0
    run = load_fit(wave / "fit.json").runs[0]
    first = compare_forms(run.law).forms[0]
    assert (first.form, first.formula) == (NAME, FORMULA)
    assert first.probability > 0.9
    assert first.ceiling.value == pytest.approx(0.6, abs=0.01)
    model = to_lmfit(NAME, run.law)
    assert model.fit(run.law.reward, **model.inputs).params["a"].value == pytest.approx(0.1, abs=0.01)


def test_a_form_that_this_version_does_not_know_is_shown_by_its_name(wave, monkeypatch):
    assert typed("fit", "log.csv", "-o", "fit.json", cwd=wave).returncode == 0
    monkeypatch.delitem(FORMS, NAME)
    for suffix in ("json", "csv", "md"):
        done = typed("report", "fit.json", "-o", "out", "--figures", "none", cwd=wave)
        assert done.returncode == 0, done.stderr
        assert (wave / "out" / f"report.{suffix}").exists()
    assert NAME in (wave / "out" / "report.md").read_text()
