"""A run that lost its reward has no ceiling and nothing left to gain, in every result and medium."""

import re
from functools import cache
from typing import Any

import pytest

import entropylaw
from entropylaw import Fit, FitDocument, InputError
from entropylaw.documents.codec import encode
from entropylaw.documents.document import Entry, RunReport
from entropylaw.options import FitOptions
from entropylaw.pipeline.predictions import predict_runs
from entropylaw.report.describe.runs import index_row, overall
from entropylaw.report.render import rendered
from entropylaw.report.render.html import typeset
from entropylaw.results.result import replace
from tests.conftest import ROOT
from tests.gate_documents import case, document, fitted, refused
from tests.unit.test_report_samples import run_by_hand, synthetic

WHY = "the run lost its reward: from 0.742 to 0"
NEEDS_A_CEILING = re.compile(r"(^|[._])(ceiling|headroom)$")


@cache
def lab(name: str) -> Fit:
    return entropylaw.fit(str(ROOT / "data" / "lab2" / name / "metrics.parquet"))


def lost() -> Fit:
    """The run that blows up after 120 steps."""
    return lab("blow_up_s1")


def entry() -> Entry:
    return run_by_hand(lost())


def estimates(value: Any, path: str = "") -> dict[str, Any]:
    """Every estimate of a ceiling, of what is left, by its place."""
    found = {}
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        place = f"{path}.{key}"
        found |= estimates(part, place)
        if NEEDS_A_CEILING.search(place) and isinstance(part, dict):
            found[place] = part
    return found


def test_no_number_of_the_result_needs_a_ceiling() -> None:
    assert lost().lost
    assert lost().p_headroom is None
    known = estimates(encode(lost()))
    assert {".ceiling", ".headroom", ".law.ceiling", ".law.headroom", ".forms.0.ceiling"} <= {*known}
    assert {(one["value"], one["low"], one["high"], one["note"]) for one in known.values()} == {
        (None, None, None, WHY)
    }
    assert not synthetic().result.lost


@pytest.mark.parametrize("medium", ["text", "markdown", "csv", "html"])
def test_no_medium_names_a_gain(medium: str) -> None:
    fits = FitDocument(inputs=(), settings=FitOptions(), runs=(entry(),))
    text = rendered(fits, medium) if medium != "html" else typeset(rendered(fits, "markdown"))
    assert re.search(r"recover|publish| left \(P", text) is None
    assert medium == "csv" or WHY in text
    # What the curves say at H = 0: averaged, with its end, and the law.
    assert re.search(r"0\.94\d* \[|0\.935|\[0\.66|0\.83 \[", text) is None


@pytest.mark.parametrize("gate", ["p_headroom<0.5", "headroom<0.05", "ceiling<0.1", "law.ceiling<0.1"])
@pytest.mark.parametrize("even_if_fails", [False, True])
def test_a_gate_on_what_is_unknown_fails(gate: str, even_if_fails: bool) -> None:
    found = case(document(encode(entry())), gate, even_if_fails=even_if_fails)
    assert (found.outcome, found.failed) == ("unknown", True)
    assert WHY in found.sentence or (gate.startswith("law") and not even_if_fails)


def test_the_gate_lost_trips_on_such_a_run_alone() -> None:
    data = document(encode(entry()))
    assert case(data, "lost").sentence.startswith("reward went from 0.742 to 0, a loss of more than half")
    assert [case(one, "lost").outcome for one in (data, document(fitted()))] == ["tripped", "passed"]
    ahead = predict_runs(FitDocument(inputs=(), settings=FitOptions(), runs=(entry(),)), entropies=[0.1])
    assert case(encode(ahead), "lost").outcome == "tripped"
    assert case(document(refused()), "lost").outcome == "unknown"


def test_a_document_with_a_ceiling_of_a_lost_reward_is_refused() -> None:
    false = replace(lost(), ceiling=synthetic().result.ceiling)
    with pytest.raises(InputError, match="no ceiling of a run that lost its reward"):
        case(document(encode(run_by_hand(false))), "ceiling<0.1")


def test_such_a_run_is_not_counted_among_those_with_a_gain_left() -> None:
    rows = [index_row(RunReport(fit=one), one.run) for one in (entry(), synthetic())]
    *_, left, totals = overall(rows)
    assert totals.startswith("1 run lost the reward. The law holds in")
    assert left.startswith("A gain is left in 1 of 1 runs; the most in sample")
    assert [row.readable for row in rows] == [False, True]
    rewards = [replace(rows[0], label=label) for label in ("a", "b")]
    assert overall(rewards)[-1].startswith("2 rewards of 1 run lost the reward. The law holds in")


def test_no_curve_is_drawn_to_the_ceiling() -> None:
    assert min(lost().curve.entropy) == pytest.approx(lost().law.entropy.min())


def test_predictions_at_an_entropy_begin_with_the_caution() -> None:
    fits = FitDocument(inputs=(), settings=FitOptions(), runs=(entry(),))
    (run,) = predict_runs(fits, entropies=[0.1]).runs
    text = rendered(run, "text")
    assert text.index("a loss of more than half") < text.index("0.1  ")
    assert run.result.p_headroom is None
    assert "on the curve  unknown: the run lost its reward" in text
    # At H = 0 it would be the ceiling.
    (at_zero,) = predict_runs(fits, entropies=[0.0]).runs
    assert at_zero.result.predictions == ()
    assert "none is predicted below its entropies" in rendered(at_zero, "text")
    (now,) = predict_runs(fits).runs[0].result.predictions
    assert now.entropy == pytest.approx(lost().law.entropy_now)


def test_a_later_step_is_not_predicted_and_the_reason_is() -> None:
    fits = FitDocument(inputs=(), settings=FitOptions(), runs=(entry(),))
    for steps in ([600.0], []):
        (run,) = predict_runs(fits, at_step=steps).runs
        assert (run.result.forecast, run.result.no_forecast) == (None, "the run lost its reward")
        assert re.search("no forecast +the run lost its reward", rendered(run, "text"))


@pytest.mark.parametrize(
    ("name", "steps"), [("explosion_s0", (72, 80)), ("blow_up_s0", (80,)), ("hacked_s2", (40,))]
)
def test_the_best_so_far_is_of_the_evaluations_before_the_fall(name: str, steps: tuple[float, ...]) -> None:
    best = lab(name).forecast.best_so_far
    assert best.step in steps
    assert best.p_better > 0.99


def test_an_arm_has_the_ceilings_of_the_runs_that_kept_their_reward() -> None:
    first, second, third, fourth = (lab(f"grpo_s{seed}") for seed in range(4))
    comparison = entropylaw.compare({"one": [first, second, lost()], "other": [third, fourth]})
    (run,) = [run for arm in comparison.arms for run in arm.runs if run.run == lost().run]
    assert run.values["ceiling"] is None
    assert run.failed == "lost reward: from 0.742 to 0"
    (pair,) = comparison.pairs
    assert pair["ceiling"].estimate.value is not None
    assert pair["ceiling"].seeds == (2, 2)
