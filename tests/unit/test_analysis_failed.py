"""An exception in the analysis of one run refuses that run; the others go on."""

import pytest

from entropylaw.cli import report, running
from entropylaw.documents.loading import load
from entropylaw.pipeline import answers, pages
from entropylaw.pipeline.steps import Fit
from tests.typed import assert_error, typed, write_csv

CALLS = {
    "fit": (("fit", "logs", "--no-save"), 0),
    "report": (("report", "logs", "-o", "out", "--figures", "none"), 0),
    "phases": (("phases", "logs"), 0),
    "compare": (("compare", "x=logs/[ab].csv", "y=logs/[cd].csv"), 0),
    "check": (("check", "logs", "--fail-if", "ceiling<0"), 5),
    "predict": (("predict", "logs"), 0),
}


@pytest.fixture
def broken(tmp_path, monkeypatch):
    """Four logs, and a step that raises for the second of them."""
    monkeypatch.chdir(tmp_path)
    # What is replaced here is as it was in other processes.
    for module in (running, report):
        monkeypatch.setattr(module, "cores", lambda: 1)
    (tmp_path / "logs").mkdir()
    for longer, name in enumerate("abcd"):
        write_csv(tmp_path / "logs" / f"{name}.csv", n=30 + longer)

    def broken_step(step):
        real = answers.COMPUTED[step]

        def raising(run, *rest):
            if getattr(run, "name", "") == "b" or getattr(run, "run", "") == "b":
                raise ZeroDivisionError("made up")
            return real(run, *rest)

        monkeypatch.setitem(answers.COMPUTED, step, raising)

    return broken_step


@pytest.mark.parametrize("call", CALLS)
def test_an_exception_refuses_its_run_alone(broken, call):
    arguments, code = CALLS[call]
    # Arms are compared in the law of each run alone.
    broken({"compare": "law"}.get(call, call if call in answers.COMPUTED else "fit"))
    done = typed(*arguments)
    assert done.returncode == code, done.stderr
    message = "its analysis ended in an unexpected ZeroDivisionError: made up"
    # `check` prints the reason of an unknown gate, and what it is called on standard error.
    assert "error[analysis-failed]" in done.stderr
    assert message in (done.stdout if call == "check" else done.stderr)
    assert "error[bug]" not in done.stderr


def test_a_run_that_is_the_only_one(broken, monkeypatch):
    broken("fit")
    assert_error(typed("fit", "logs/b.csv"), "analysis-failed", 4)
    monkeypatch.setenv("ENTROPYLAW_DEBUG", "1")
    assert "ZeroDivisionError: made up" in typed("fit", "logs/b.csv").stderr.splitlines()[-1]


def test_a_bug_in_the_choice_of_columns_refuses_its_run_alone(broken, monkeypatch):
    real = Fit.choose

    def choose(self, run):
        return 1 // (run.name != "b") and real(self, run)

    monkeypatch.setattr(Fit, "choose", choose)
    done = typed("fit", "logs", "--no-save", code=0)
    assert done.stderr.count("error[analysis-failed]") == 1
    assert "unexpected ZeroDivisionError" in done.stderr


def test_a_page_that_cannot_be_drawn_refuses_its_run_alone(broken, monkeypatch, tmp_path):
    real = pages._drawn

    def drawn(task, reports):
        return 1 // (task.name != "b" or reports[0].fit.result is None) and real(task, reports)

    monkeypatch.setattr(pages, "_drawn", drawn)
    done = typed("report", "logs", "-o", "out", "--figures", "none", code=0)
    assert done.stderr.count("error[analysis-failed]") == 1
    refused = [name for name in "abcd" if load(tmp_path / f"out/runs/{name}.json", "report").runs[0].refusal]
    assert refused == ["b"]


def test_a_bug_in_the_phases_of_a_run_leaves_its_fit(broken, monkeypatch, tmp_path):
    monkeypatch.setattr(pages, "phase_series", lambda run: 1 // 0)
    typed("report", "logs", "-o", "out", "--figures", "none", code=0)
    (report,) = load(tmp_path / "out/runs/b.json", "report").reports
    assert report.fit.result is not None
    assert report.phases.refusal.slug == "analysis-failed"
