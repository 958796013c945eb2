"""What is said and drawn of phases: names that cannot be mistaken, few lines, words that can be read."""

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import FillBetweenPolyCollection

from entropylaw import Estimate, PhaseFit
from entropylaw.analysis.phases import combine_phases
from entropylaw.documents.document import Entry, PhasesDocument
from entropylaw.escaping import wrapped
from entropylaw.options import PhaseOptions
from entropylaw.report.figures import plotting
from entropylaw.report.figures.phases import across_figure, phase_figure
from entropylaw.report.render import rendered
from entropylaw.results.columns import Choice, Refusal
from entropylaw.results.phases import CurvePhases, PhasesAcross
from entropylaw.results.result import replace
from tests.drawing import assert_words_can_be_read, drawn_words
from tests.findings import made, stated
from tests.typed import typed

SERIES = ("step", "entropy", "fitted", "low", "high")


def estimate(value: float | None, low: float | None, high: float | None, note: str | None = None) -> Estimate:
    return Estimate(value=value, low=low, high=high, level=0.95, method="by hand", note=note)


def curve(name: str, *, at: float = 40.0, rises: bool = True, **other) -> CurvePhases:
    step = np.arange(0.0, 201.0, 2.0)
    start = 1.0 if name == "planning" else 0.5
    fitted = start * np.exp(-step / 30) + (np.maximum(step - at, 0.0) * 0.001 if rises else 0.0)
    values = {
        "name": name,
        "n": step.size,
        "verdict": "rises" if rises else "does not rise",
        "p_rise": 0.005 if rises else 0.41,
        "detectable": None if rises else 0.0812,
        "lowest": 0.08,
        "lowest_step": at,
        "rise": estimate(0.12, 0.09, 0.15) if rises else estimate(-0.01, -0.02, 0.0),
        "ratio": 2.5 if rises else 0.9,
        "since": at + 40.0 if rises else None,
        "stays": True if rises else None,
        "eruptions": None,
        "onset": estimate(at, at - 12, at + 14) if rises else None,
        "settled": None if rises else estimate(88.0, 80.0, 97.0),
        "last": estimate(0.162, 0.15, 0.174),
        "noise": 0.01,
        "step": step,
        "entropy": fitted + 0.01 * np.sin(7.0 * step),
        "fitted": fitted,
        "low": fitted - 0.01,
        "high": fitted + 0.01,
        "first_step": 0.0,
        "last_step": 200.0,
    }
    return made(CurvePhases, **(values | other))


def fit(planning: CurvePhases | None, execution: CurvePhases | None, **other) -> PhaseFit:
    values = {
        "run": "made",
        "planning": planning,
        "execution": execution,
        "semantic": None,
        "aggregate": None,
        "delta": None,
        "later": None,
        "verdict": "does not rise" if planning and execution else None,
        "level": 0.95,
    }
    return PhaseFit(**(values | other))


def column(name: str, kind: str = "token entropy") -> Choice:
    meaning = {"role": "entropy", "trainer": "user", "kind": kind}
    return made(Choice, column=name, meaning=meaning, why="by its name", usable=101)


COLUMNS = {
    "planning": column("entropy_planning"),
    "execution": column("entropy_execution"),
    "aggregate": column("entropy"),
}


def run_of(phases: PhaseFit | None, **other) -> Entry:
    values = {
        "run": "made",
        "path": "logs/made.csv",
        "columns": COLUMNS,
        "dropped": {},
        "notes": (),
        "result": phases,
        "refusal": None,
    }
    return Entry(**(values | other))


def ordered() -> Entry:
    two = fit(
        curve("planning", at=126.0),
        curve("execution", rises=False, settled=estimate(40.0, 35.0, 46.0)),
        delta=estimate(86.0, 60.0, 112.0),
        later=0.9999,
        verdict="settles, then rises",
    )
    return run_of(two)


def neither() -> Entry:
    execution = curve("execution", rises=False, p_rise=0.22, detectable=0.05)
    return run_of(fit(curve("planning", rises=False), execution))


def whole_only() -> Entry:
    note = "one curve of all tokens cannot be separated"
    erupts = ({"step": 60.0, "rise": 0.8}, {"step": 120.0, "rise": 0.5})
    phases = fit(None, None, aggregate=curve("aggregate", eruptions=erupts), findings=stated("note", note))
    return run_of(phases, columns={"aggregate": COLUMNS["aggregate"]})


def semantic() -> Entry:
    run = ordered()
    plans = curve("semantic", at=100.0, stays=False)
    found = replace(run.result, planning=curve("planning", rises=False), semantic=plans)
    columns = COLUMNS | {"semantic": column("entropy_semantic", "semantic entropy")}
    return replace(run, columns=columns, result=found)


def refused() -> Entry:
    refusal = Refusal(
        slug="too-few-points", message="6 entropies of planning, expected at least 20", hint="log"
    )
    return run_of(None, refusal=refusal)


def document(*runs: Entry, **other) -> PhasesDocument:
    file = {"path": "logs/made.csv", "sha256": "ab" * 32, "format": "csv", "rows": 101}
    return made(PhasesDocument, inputs=(file,), settings=PhaseOptions(), runs=runs, **other)


def across() -> PhasesAcross:
    runs = [replace(entry.result, run=f"run {i}") for i, entry in enumerate([ordered()] * 3 + [neither()])]
    return combine_phases(runs)


RUNS = {"ordered": ordered, "neither": neither, "whole": whole_only, "semantic": semantic}


def lines_of(run: Entry) -> list[str]:
    return rendered(document(run), "text").splitlines()


def both(planning=None, execution=None, **other) -> Entry:
    return run_of(
        fit(curve("planning", **(planning or {})), curve("execution", **(execution or {})), **other)
    )


def test_what_is_known_is_said_first():
    blind = curve("planning", rises=False, verdict="cannot tell", detectable=None)
    rising = curve("aggregate")
    for run in (
        fit(blind, curve("execution", rises=False), verdict="cannot tell", aggregate=rising),
        fit(blind, None, aggregate=rising),
        fit(blind, curve("execution"), verdict="cannot tell"),
    ):
        text = " ".join(" ".join(lines_of(run_of(run))).split())
        # The end of the curve that rises is 2.5 times its lowest level.
        assert run.answer == "rises"
        assert text.index("explodes") < text.index("planning tokens cannot tell")
    assert fit(blind, None, verdict="cannot tell").answer == "cannot tell"


def test_bands_are_in_tables_of_points():
    frame = ordered().result.planning.to_frame()
    assert list(frame.columns) == ["step", "entropy", "fitted", "low", "high"]
    assert len(frame) == 101
    assert list(across().curves[0].to_frame().columns) == ["at", "mean", "low", "high"]


def test_bands_are_in_csv():
    run = ordered()
    rows = list(csv.DictReader(io.StringIO(rendered(document(run, refused()), "csv"))))
    for row, each in zip(rows, run.result.curves, strict=False):
        for name in ("step", "fitted", "low", "high"):
            values = [float(number) for number in row[f"curve_{name}"].split(":")]
            assert values == pytest.approx(getattr(each, name), rel=1e-5)
    assert [row["curve_low"] for row in rows[2:]] == [""]


@pytest.mark.parametrize("made", [*RUNS.values(), refused])
def test_few_lines_of_a_hundred_columns(made):
    run = made()
    long = (
        "something happened to the run, and it takes many words to say what it was and why that matters. " * 2
    )
    found = run.result and replace(run.result, findings=stated("caution", *[long] * 6))
    dropped = {f"reason {i}": i + 1 for i in range(40)}
    crowded = replace(run, result=found, notes=(long,) * 4, dropped=dropped)
    assert len(lines_of(run)) <= 20
    for each in (run, crowded):
        assert max(map(len, lines_of(each))) <= 100
    if crowded.result is not None:
        # No option would show what is left out: nothing is.
        text = " ".join(" ".join(lines_of(crowded)).split())
        assert text.count(" ".join(long.split())) >= 6 + 4
        dropped = len(re.findall(r"reason \d+ \(\d+\)", text))
        assert dropped + int(re.search(r"(\d+) more in the JSON", text)[1]) == 40
        assert any(line.split()[:2] == ["caution", "something"] for line in lines_of(crowded))


def test_lines_do_not_break_inside_an_interval():
    text = "planning rises from step 81.1 [77.8, 84.3 or after] and p = 0.05 after 95 % (12 cautions)"
    for width in range(35, 60):
        for line in wrapped(text, width):
            assert line.count("[") == line.count("]")
            assert not line.startswith(("[", "%", "cautions", "= "))
            assert not line.endswith(("=", " p"))


FIGURES = {
    **{name: lambda made=made: phase_figure(made()) for name, made in RUNS.items()},
    "across": lambda: across_figure(across()),
}


@pytest.mark.parametrize("name", FIGURES)
def test_words_are_on_the_paper_large_enough_and_apart(name):
    figure = FIGURES[name]()
    assert figure.get_size_inches()[0] == plotting.WIDTH
    assert_words_can_be_read(figure)


def test_the_title_is_the_verdict():
    words = " ".join(word.get_text() for word in drawn_words(phase_figure(ordered())))
    assert "settles, then rises: onset of planning 86 steps [60, 112]" in " ".join(words.split())
    none = " ".join(word.get_text() for word in drawn_words(phase_figure(neither())))
    assert "planning does not rise execution does not rise" in none


def test_a_strip_has_the_onset_or_the_step_of_settling_with_its_interval():
    # The curves, and a row per curve.
    _, strips = phase_figure(ordered()).axes
    ends = [line.get_xdata().tolist() for line in strips.lines if line.get_marker() == "None"]
    assert ends == [[114.0, 140.0], [35.0, 46.0]]
    assert [float(line.get_xdata()[0]) for line in strips.lines if line.get_marker() != "None"] == [
        126.0,
        40.0,
    ]
    (strip,) = phase_figure(whole_only()).axes[1:]
    assert [float(line.get_xdata()[0]) for line in strip.lines[:2]] == [60.0, 120.0]


def test_the_words_of_a_strip_are_on_the_side_with_more_room():
    run = ordered()
    execution = replace(run.result.execution, step=run.result.execution.step / 10.0)
    short = replace(run, result=replace(run.result, execution=execution))
    # Settled at 40 of some 150 steps, wherever the curve itself ends.
    for given in (run, short):
        (words,) = [t for t in phase_figure(given).axes[1].texts if t.get_text() == "does not rise"]
        assert words.get_ha() == "right"


def test_a_run_without_phases_has_no_figure():
    with pytest.raises(ValueError, match="no figure"):
        phase_figure(refused())


def test_several_runs_are_thin_lines_below_their_means():
    for runs, points in ((across(), 41), (combine_phases([ordered().result] * 2), 0)):
        lines = across_figure(runs).axes[0].lines
        assert len(lines) == 2 * runs.runs + 2
        assert [len(line.get_xdata()) for line in lines[-2:]] == [points, points]


def test_the_fitted_curves_have_their_bands():
    for run in (neither(), ordered()):
        axes = phase_figure(run).axes[0]
        bands = [c for c in axes.collections if isinstance(c, FillBetweenPolyCollection)]
        assert len(bands) == 2
        fitted = run.result.planning.fitted
        assert any(np.array_equal(line.get_ydata(), fitted) for line in axes.lines)
        low, high = axes.get_ylim()
        assert low <= fitted.min() <= fitted.max() <= high


def test_the_title_counts_cautions():
    words = " ".join(
        word.get_text().replace("\n", " ")
        for word in drawn_words(
            phase_figure(
                replace(ordered(), result=replace(ordered().result, findings=stated("caution", "one", "two")))
            )
        )
    )
    assert "(2 cautions)" in words


def test_means_of_shares_of_the_run_end_within_it(tmp_path: Path) -> None:
    """The demo's three runs settle so unlike that their mean's interval would go beyond the run."""
    typed("demo", cwd=tmp_path, code=0)
    typed("report", "demo", "-o", "pages", "--figures", "none", "--jobs", "1", cwd=tmp_path, code=0)
    across = json.loads((tmp_path / "pages/report.json").read_text(encoding="utf-8"))["across"]
    settled = {curve["name"]: curve["settled"] for curve in across["curves"]}
    assert (settled["semantic"]["low"], settled["semantic"]["high"]) == (0.0, 1.0)
    assert all(0.0 <= mean["low"] <= mean["value"] <= mean["high"] <= 1.0 for mean in settled.values())
