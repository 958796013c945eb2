"""What is said of phases: names that cannot be mistaken, twenty lines, documents that come back."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest

from entropylaw.documents.codec import decode, dumps
from entropylaw.documents.document import InputFile, PhaseOptions, PhasesDocument, RunPhases
from entropylaw.documents.loading import load_phases
from entropylaw.errors import InputError
from entropylaw.escaping import wrapped
from entropylaw.report.describe import phases as words
from entropylaw.report.figures.phases import phase_figure
from entropylaw.report.findings import UNKNOWN_SHARE
from entropylaw.report.render import MEDIA, rendered
from entropylaw.results import Estimate
from entropylaw.results.columns import SEMANTIC, TOKEN, PhaseColumn, Refusal
from entropylaw.results.phases import DRAWS, ChangePoint, CurvePhases, PhaseFit, PhasesAcross
from entropylaw.results.result import note, replace
from tests.findings import stated
from tests.unit.test_report_samples import HOSTILE

ROOT = Path(__file__).parents[2]
SERIES = ("step", "entropy", "decay", "fitted", "low", "high")
SCHEMA = ROOT / "entropylaw" / "documents" / "schemas" / "phases-2.json"


def estimate(value: float | None, low: float | None, high: float | None, note: str | None = None) -> Estimate:
    return Estimate(value=value, low=low, high=high, level=0.95, method="by hand", note=note)


def curve(name: str, *, at: float = 40.0, found: bool = True, **other) -> CurvePhases:
    step = np.arange(0.0, 201.0, 2.0)
    start = 1.0 if name == "planning" else 0.5
    decay = start * np.exp(-step / 30)
    fitted = decay + (np.maximum(step - at, 0.0) * 0.001 if found else 0.0)
    places = np.linspace(20.0, 180.0, 81)
    density = np.exp(-0.5 * ((places - at) / 6.0) ** 2)
    change_point = ChangePoint(
        step=estimate(at, at - 12, at + 14),
        intervals=((at - 12, at + 14),),
        whole=False,
        width=estimate(10.0, 0.0, 40.0),
        places=places,
        density=density / density.sum(),
    )
    values = {
        "name": name,
        "n": step.size,
        "p_value": 0.005 if found else 0.41,
        "found": found,
        "change_point": change_point,
        "slope_before": estimate(-0.0181, -0.02, -0.0162),
        "slope_after": estimate(0.00103, 0.0008, 0.00126),
        "rise": estimate(0.16, 0.13, 0.19),
        "detectable": 0.0812,
        "last": estimate(0.162, 0.15, 0.174),
        "lag1": 0.41,
        "noise": 0.01,
        "step": step,
        "entropy": fitted + 0.01 * np.sin(7.0 * step),
        "decay": decay,
        "fitted": fitted,
        "low": fitted - 0.01,
        "high": fitted + 0.01,
        "first_step": 0.0,
        "last_step": 200.0,
        "kind": "turns to rise" if found else None,
        "settled": estimate(88.0, 80.0, 97.0),
    }
    return CurvePhases(**(values | other))


def fit(planning: CurvePhases | None, execution: CurvePhases | None, **other) -> PhaseFit:
    values = {
        "run": "made",
        "planning": planning,
        "execution": execution,
        "aggregate": None,
        "delta": None,
        "later": None,
        "verdict": "no boundary" if planning and execution else None,
        "share_planning": estimate(0.42, 0.4, 0.44) if planning and execution else None,
        "level": 0.95,
    }
    return PhaseFit(**(values | other))


def column(name: str, what: str = TOKEN) -> PhaseColumn:
    return PhaseColumn(column=name, what=what, why="by its name", usable=101)


def run_of(phases: PhaseFit | None, **other) -> RunPhases:
    values = {
        "run": "made",
        "path": "logs/made.csv",
        "planning_column": column("entropy_planning"),
        "execution_column": column("entropy_execution"),
        "aggregate_column": column("entropy"),
        "share_column": "planning_share",
        "length_column": "response_length",
        "dropped": {},
        "notes": (),
        "findings": (),
        "phases": phases,
        "refusal": None,
    }
    return RunPhases(**(values | other))


def ordered() -> RunPhases:
    two = fit(
        curve("planning", at=126.0),
        curve("execution", at=40.0),
        delta=estimate(86.0, 60.0, 112.0),
        later=0.9999,
        verdict="execution first",
    )
    return run_of(two)


def neither() -> RunPhases:
    execution = curve("execution", found=False, p_value=0.22, detectable=0.05)
    return run_of(fit(curve("planning", found=False), execution))


def whole_only() -> RunPhases:
    note = "one curve of all tokens cannot be separated"
    phases = fit(None, None, aggregate=curve("aggregate"), findings=stated("note", note))
    return run_of(phases, planning_column=None, execution_column=None, share_column=None)


def semantic() -> RunPhases:
    run = replace(ordered(), planning_column=column("entropy_semantic", SEMANTIC), share_column=None)
    return replace(run, phases=replace(run.phases, share_planning=None))


def refused() -> RunPhases:
    refusal = Refusal(
        slug="too-few-points", message="6 entropies of planning, expected at least 20", hint="log"
    )
    return run_of(None, refusal=refusal)


def document(*runs: RunPhases, **other) -> PhasesDocument:
    file = InputFile(path="logs/made.csv", sha256="ab" * 32, format="csv", rows=101)
    return PhasesDocument(inputs=(file,), settings=PhaseOptions(), runs=runs, **other)


def across() -> PhasesAcross:
    return PhasesAcross(
        runs=3,
        both=2,
        share_both=estimate(2 / 3, 0.208, 0.939),
        rises_after=1,
        share_rises_after=estimate(1 / 3, 0.0615, 0.792),
        planning=estimate(0.63, 0.5, 0.76),
        execution=estimate(0.2, 0.1, 0.3),
        delta=None,
        findings=stated("note", "two runs have no order"),
    )


RUNS = [ordered(), neither(), whole_only(), semantic()]
NAMES = ["ordered", "neither", "whole", "semantic"]


def lines_of(run: RunPhases) -> list[str]:
    return rendered(document(run), "text").splitlines()


def both(planning=None, execution=None, **other) -> RunPhases:
    return run_of(
        fit(curve("planning", **(planning or {})), curve("execution", **(execution or {})), **other)
    )


NONE = {"found": False}


def said(*changes, **other) -> str:
    return words.headline(both(*changes, **other))


def test_the_verdict_in_one_sentence():
    order = "execution turns to rise at step 40 [28, 54], planning turns to rise 86 steps [60, 112] later"
    assert words.headline(ordered()) == f"execution first: {order}"
    assert lines_of(ordered())[1].startswith("  execution first execution turns to rise at step 40 [28, 54]")
    down, gap = {"kind": "leaves its decay downwards"}, estimate(-86.0, -112.0, -60.0)
    assert said(down, {"at": 126.0, "kind": "bends"}, delta=gap, verdict="planning first") == (
        "planning first: planning leaves its decay downwards at step 40 [28, 54], execution changes its "
        "slope 86 steps [60, 112] later"
    )
    assert said({"at": 50.0}, delta=estimate(10.0, -20.0, 40.0), later=0.74, verdict="overlapping") == (
        "overlapping: planning turns to rise at step 50 [38, 64], execution turns to rise at step 40 "
        "[28, 54]; the order is open (planning is later with probability 0.74)"
    )
    assert said(NONE) == (
        "one change point: execution turns to rise at step 40 [28, 54] (p = 0.005); no change point in "
        "planning (p = 0.41); 80 % power there to detect a rise of 0.081 nats from mid-run"
    )
    assert words.headline(neither()) == (
        "no change point: both curves are smooth decays (planning p = 0.41, execution p = 0.22); 80 % power "
        "to detect a rise of 0.081 nats from mid-run"
    )


def test_one_curve_is_not_separated():
    assert words.headline(whole_only()) == (
        "one curve, classes not separated: the token entropy of all tokens turns to rise at step 40 [28, 54] "
        "(p = 0.005)"
    )
    text = "\n".join(lines_of(whole_only()))
    assert "cannot be separated" in text.split("all tokens", 2)[2]
    assert "planning tokens" not in text


def test_a_test_without_power_says_so():
    blind = "; the test has no power here in execution: "
    assert said(NONE, NONE | {"detectable": None}).endswith(
        f"{blind}every rise that was tried would have been missed"
    )
    larger = NONE | {"detectable": 0.6}
    assert np.ptp(curve("execution").entropy) < 0.6 < np.ptp(curve("planning").entropy)
    assert f"{blind}only a rise of 0.60 nats or more would be detected" in said(NONE, larger)
    assert "80 % power" not in said(NONE, larger)
    assert "; 80 % power to detect a rise of 0.60 nats from mid-run" in said(larger, NONE)


def test_a_change_point_after_a_fall_that_has_none():
    late, fall = {"at": 126.0}, "execution has completed 95 % of its fall"
    after = estimate(38.0, 29.0, 46.0)
    assert f"; that is 38.0 steps [29.0, 46.0] after {fall};" in said(late, NONE, after_fall=after)
    before = estimate(-38.0, -46.0, -29.0)
    assert f"; that is 38.0 steps [29.0, 46.0] before {fall};" in said(late, NONE, after_fall=before)
    either = estimate(-3.0, -54.0, 89.0)
    assert f"; it is not decided whether that is before or after {fall} (-3 " in said(
        late, NONE, after_fall=either
    )
    two = run_of(replace(ordered().phases, after_fall=after))
    assert "; planning's change point is 38.0 steps" in words.headline(two)
    assert fall not in words.headline(ordered())


def test_p_values_are_not_below_the_floor_of_the_simulations():
    floor = 1.0 / (DRAWS + 1)
    assert words.p_value(curve("planning", p_value=floor)) == "p ≤ 0.0025"
    assert words.p_value(curve("planning", p_value=2 * floor)) == "p = 0.005"


def test_semantic_entropy_is_never_called_token_entropy():
    text = "\n".join(lines_of(semantic()))
    assert "semantic entropy of plans" in text
    assert "token entropy of planning tokens" not in text
    assert "token entropy of execution tokens" in text
    assert "semantic entropy turns to rise 86 steps [60, 112] later" in " ".join(text.split())
    assert "'entropy_semantic' (semantic entropy)" in text
    (row, *_) = csv.DictReader(io.StringIO(rendered(document(semantic()), "csv")))
    assert (row["curve"], row["entropy_of"]) == ("planning", "semantic entropy")
    figure = phase_figure(semantic())
    assert figure.axes[0].get_ylabel() == "entropy (nats)"
    assert phase_figure(ordered()).axes[0].get_ylabel() == "token entropy (nats)"


def test_the_place_of_a_change_point():
    def place(**known):
        return words.place(replace(curve("planning").change_point, **known))

    assert place(whole=True) == "somewhere in the run"
    assert place(intervals=((22.0, 30.0), (90.5, 140.0))) == "at step 22–30 or 90–140"
    # Half a cell beyond what was searched.
    early = {"step": estimate(30.0, 19.0, 55.0), "intervals": ((19.0, 55.0),)}
    assert place(**early) == "at step 30 [20 or before, 55]"
    late = estimate(160.0, 120.0, 181.0)
    assert place(step=late, intervals=((120.0, 181.0),)) == "at step 160 [120, 180 or after]"
    # The density may reach less far than the search: its first step is then no edge.
    assert place(**early, searched=(10.0, 190.0)) == "at step 30 [19, 55]"
    assert place(intervals=((19.0, 30.0), (90.0, 181.0))) == "at step 20 or before–30 or 90–180 or after"


def test_the_widest_transition_that_was_tried_is_an_open_end():
    known = curve("planning").change_point
    for ends, width in (
        ((10.0, 0.0, 40.0), "10 [0, 40]"),
        ((100.0, 50.0, 160.0), "100 [50, 160 or more]"),
        ((160.0, 160.0, 160.0), "160 or more"),
    ):
        run = both({"change_point": replace(known, width=estimate(*ends))})
        (line,) = [line for line in lines_of(run) if line.startswith("  its width, steps")]
        assert line.removeprefix("  its width, steps").strip().startswith(f"{width} ")


def test_without_a_change_point_its_numbers_are_not_shown():
    text = "\n".join(lines_of(neither()))
    assert "one smooth decay, p = 0.41" in text
    assert not any(name in text for name in ("change point, step", "slope before", "slope after", "rise by"))
    assert "detectable rise" in text


def test_a_curve_that_ends_early_is_not_now():
    short = curve("execution")
    short = replace(short, n=30, last_step=58.0, **{name: getattr(short, name)[:30] for name in SERIES})
    lines = lines_of(run_of(fit(curve("planning"), short)))
    assert any(
        line.startswith("  entropy now") and line.endswith("0.162 [0.150, 0.174], step 58") for line in lines
    )
    assert "at step 200; execution's curve ends at step 58" in " ".join(" ".join(lines).split())
    assert "ends at" not in "\n".join(lines_of(ordered()))


def test_the_numbers_stand_side_by_side():
    lines = lines_of(ordered())
    (slope,) = [line for line in lines if line.startswith("  slope after")]
    assert slope.split() == ["slope", "after,", "per", "step", *["0.00103", "[0.00080,", "0.00126]"] * 2]
    assert any(
        "planning tokens have 42.0 % [40.0, 44.0] of the total entropy at step 200" in line for line in lines
    )


@pytest.mark.parametrize("run", [*RUNS, refused()], ids=[*NAMES, "refused"])
def test_few_lines_of_a_hundred_columns(run):
    long = (
        "something happened to the run, and it takes many words to say what it was and why that matters. " * 2
    )
    crowded = replace(
        run,
        findings=stated("caution", *[long] * 6),
        notes=(long,) * 4,
        dropped={f"reason {i}": i + 1 for i in range(40)},
    )
    assert len(lines_of(run)) <= 20
    for each in (run, crowded):
        assert max(map(len, lines_of(each))) <= 100
    if crowded.phases is not None:
        # No option would show what is left out: nothing is.
        text = " ".join(" ".join(lines_of(crowded)).split())
        assert text.count(" ".join(long.split())) >= 6 + 4
        dropped = len(re.findall(r"reason \d+ \(\d+\)", text))
        assert dropped + int(re.search(r"(\d+) more in the JSON", text)[1]) == 40
        assert "(6 cautions)" in " ".join(" ".join(lines_of(crowded)).split())
        assert any(line.split()[:2] == ["caution", "something"] for line in lines_of(crowded))


def test_nothing_is_left_out():
    notes = ("the records are not in the order of their steps; sorted", "a note")
    share = note("planning-share-unknown", why="no-value")
    findings = (*stated("caution", "first", "second"), share)
    phases = replace(ordered().phases, share_planning=None, findings=findings)
    told = "\n".join(lines_of(run_of(phases, notes=notes)))
    assert told.index("second") < told.index("sorted") < told.index("a note") < told.index(UNKNOWN_SHARE)
    many = (*stated("caution", *(f"caution {i}" for i in range(30))), share)
    lines = lines_of(run_of(replace(phases, findings=many), notes=notes))
    shown = [line.split()[2] for line in lines if line.split()[:2] == ["caution", "caution"]]
    assert shown == list(map(str, range(30)))
    assert all(text in "\n".join(lines) for text in (*notes, UNKNOWN_SHARE))


def test_the_head_has_the_curves_own_steps_and_not_the_middles_of_blocks():
    lines = lines_of(run_of(fit(curve("planning", first_step=-1.0, last_step=201.0), curve("execution"))))
    assert lines[0] == "made · 101 block averages, steps -1–201 · logs/made.csv"


def test_several_runs_end_with_what_they_say_together():
    text = rendered(document(ordered(), neither(), across=across()), "text")
    last = text.split("\n\n")[-1]
    assert last.startswith("  3 runs together:\n")
    assert "change points in both curves in 2 of 3 runs: 67 % [21, 94] (by hand)" in last
    assert "planning turns to rise after execution's fall in 1 of 3 runs: 33 % [6, 79]" in " ".join(
        last.split()
    )
    assert last.index("planning turns to rise") < last.index("63 %") < last.index("in 3 of 8")
    assert "arXiv:2509.03646" in last
    assert "semantic entropy of strategic grams" in " ".join(last.split())
    assert "63 % [50, 76] of the run" in last
    assert "two runs have no order" in last


def test_a_document_comes_back_as_it_was_and_reads_the_same(tmp_path):
    whole = document(*RUNS, refused(), across=across(), warnings=("a.csv was not read: empty",))
    text = dumps(whole.to_json())
    back = decode(PhasesDocument, json.loads(text))
    for medium in MEDIA:
        assert rendered(back, medium) == rendered(whole, medium)
    assert dumps(back.to_json()) == text
    (tmp_path / "a.json").write_text(text)
    assert dumps(load_phases(tmp_path / "a.json").to_json()) == text


@pytest.mark.parametrize(
    ("content", "slug"),
    [
        ("{", "not-a-document"),
        ('{"schema": "entropylaw/fit/1"}', "not-a-document"),
        ('{"schema": "entropylaw/phases/3", "version": "9"}', "other-document-version"),
        ('{"schema": "entropylaw/phases/2"}', "damaged-document"),
    ],
)
def test_what_is_no_phases_document(tmp_path, content, slug):
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(InputError) as caught:
        load_phases(tmp_path / "a.json")
    assert caught.value.slug == slug


def test_documents_follow_the_schema():
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    good = document(*RUNS, refused(), across=across()).to_json()
    jsonschema.validate(good, schema)
    del good["runs"][0]["phases"]["planning"]["p_value"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(good, schema)


def test_a_row_a_curve_in_full_precision():
    rows = list(csv.DictReader(io.StringIO(rendered(document(ordered(), refused()), "csv"))))
    assert [row["curve"] for row in rows] == ["planning", "execution", ""]
    planning, execution, bad = rows
    assert float(execution["slope_after"]) == 0.00103
    assert planning["boundary_stretches"] == "114:140"
    assert float(planning["delta_low"]) == 60.0
    assert (planning["kind"], float(planning["settled_high"])) == ("turns to rise", 97.0)
    assert (float(planning["first_step"]), float(planning["last_step"])) == (0.0, 200.0)
    assert planning["after_fall_low"] == ""
    assert (bad["refusal"], bad["boundary"], bad["verdict"]) == ("too-few-points", "", "")
    known = run_of(replace(ordered().phases, after_fall=estimate(38.0, 29.0, 46.0)))
    (row, _) = csv.DictReader(io.StringIO(rendered(document(known), "csv")))
    assert [float(row[f"after_fall{end}"]) for end in ("", "_low", "_high")] == [38.0, 29.0, 46.0]


def test_names_from_logs_do_no_harm():
    run = replace(ordered(), run=HOSTILE, planning_column=column("=entropy\x1b[2J|planning"))
    text = rendered(document(run), "text")
    assert "\x1b" not in text
    assert "\x1b" not in rendered(document(run), "markdown")
    assert "<script>" not in rendered(document(run), "markdown")
    (row, *_) = csv.DictReader(io.StringIO(rendered(document(run), "csv")))
    assert row["column"].startswith("'=")
    phase_figure(run)


def test_lines_do_not_break_inside_an_interval():
    text = "planning turns to rise at step 81.1 [77.8, 84.3 or after] and p = 0.05 after 95 % (12 cautions)"
    for width in range(35, 60):
        for line in wrapped(text, width):
            assert line.count("[") == line.count("]")
            assert not line.startswith(("[", "%", "cautions", "= "))
            assert not line.endswith(("=", " p"))
