"""The sentences say what the document holds: no more, and the verdict first."""

from __future__ import annotations

import re
from typing import Any

import pytest

from entropylaw.documents.document import RunFit, RunReport
from entropylaw.report import words
from entropylaw.report.describe.runs import IndexRow, index_row, overall
from entropylaw.report.render import rendered
from entropylaw.results import Verdict, Why
from entropylaw.results.fit import Fit
from entropylaw.results.result import caution, reason, replace
from tests.findings import stated
from tests.unit.test_report_samples import (
    by_hand,
    document,
    estimate,
    falling,
    refused,
    run_by_hand,
    synthetic,
)

NARROW = (
    "apart from noise, entropy spans 0.04 nats (0.05 as logged); to estimate both a and b takes at least 0.15"
)
HALF = {"law_probability": 0.5, "line_probability": 0.48}


def undecided(*said: str, **more: Any) -> Fit:
    findings = stated("reason", *(said or (NARROW, "another")))
    return by_hand(verdict=Verdict.undecided, findings=findings, **more)


def failing(why: Why, *said: str, **more: Any) -> Fit:
    return by_hand(verdict=Verdict.fails, why=why, findings=stated("reason", *said), **more)


@pytest.mark.parametrize(
    ("fit", "expected"),
    [
        (by_hand(), "reward follows R = b − a·exp(H)"),
        (undecided(), NARROW),
        (by_hand(verdict=Verdict.undecided, findings=()), "the data do not decide"),
        (failing(Why.another_curve, "a line fits better"), "another curve fits: a line fits better"),
        (failing(Why.another_curve), "another curve fits"),
        (failing(Why.more_than_entropy, "the step helps"), "reward needs more than entropy: the step helps"),
        (failing(Why.no_relation, "a constant fits"), "reward does not follow entropy"),
    ],
)
def test_headlines(fit: Fit, expected: str) -> None:
    assert words.headline(fit) == expected


def test_reward_that_rises_with_entropy_is_named() -> None:
    found = falling().answer
    assert found is not None
    assert words.headline(found) == "reward rises with entropy"
    assert words.verdict_cell(falling()) == "fails: no relation"
    assert words.verdict_cell(synthetic()) == "holds"
    assert words.verdict_cell(refused()) == "refused"


def answers(fit: Fit) -> tuple[str, ...]:
    questions, found = zip(*words.answers(fit), strict=True)
    assert questions == ("Still improving?", "Ceiling")
    return found


def test_the_two_answers_and_the_line_of_the_law() -> None:
    left, ceiling = answers(by_hand())
    assert left == "Yes: 0.034 [0.012, 0.091] of reward left (P = 0.98 that at least 0.01 is)"
    assert ceiling == (
        "0.803 [0.771, 0.866] over all plausible curves; now 0.768 at H = 0.100; extrapolated over 0.10 nats"
    )
    assert words.law_line(by_hand()).endswith(
        " (95 % intervals); R² 0.98, P = 0.90 among 4 curves, effective sample size 8 of 10"
    )


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        (0.95, "Yes: "),
        (0.94, "Probably: "),
        (0.5, "Probably: "),
        (0.49, "Probably not: "),
        (0.051, "Probably not: "),
        (0.05, "Less than 0.01 of reward left: "),
    ],
)
def test_whether_a_gain_is_left_by_its_probability(p: float, expected: str) -> None:
    assert answers(by_hand(p_headroom=p))[0].startswith(expected + "0.034 [")


def test_a_gain_that_is_certain_and_too_small_is_called_less_than_what_counts() -> None:
    assert answers(replace(by_hand(p_headroom=0.0), gain=5.0))[0] == (
        "Less than 5 of reward left: 0.034 [0.012, 0.091] (P = 0 that at least 5 is)"
    )
    nothing = by_hand(p_headroom=0.0, headroom=estimate(0.01, -0.02, 0.03))
    assert answers(nothing)[0].startswith("No measurable gain left: 0.010 [-0.020,")


def test_a_run_that_has_lost_its_reward_has_nothing_left_whatever_the_curve_says() -> None:
    none = estimate(None, None, None, "the run lost its reward: from 0.75 to 0.0123")
    lost = caution("reward-lost", first=0.5, best=0.75, last=0.0123)
    fit = replace(by_hand(headroom=none), ceiling=none, p_headroom=None, findings=(lost,))
    said = ("No: the run lost its reward: from 0.75 to 0.0123", "Unknown; now 0.768 at H = 0.100")
    assert answers(fit) == said
    assert answers(replace(fit, verdict=Verdict.fails, why=Why.no_relation)) == said


def test_where_the_ceiling_is_below_the_reward_now_nothing_is_left() -> None:
    nothing = by_hand(p_headroom=0.0, headroom=estimate(0.0, 0.0, 0.0))
    assert answers(nothing)[0].startswith("No measurable gain left: the reward at H = 0 is below the reward ")
    rises = replace(nothing, verdict=Verdict.fails, why=Why.no_relation)
    rises = replace(rises, findings=(reason("reward-falls", a=-1.0, low=-1.2, high=-0.9),))
    assert answers(rises)[0] == "Not on the curve: reward rises with entropy, and falls as entropy falls"


def test_the_weightiest_caution_is_in_the_first_lines() -> None:
    lag = caution("reward-lags", evaluations=2, odds=30.0, p_value=0.001)
    outlier = caution(
        "gross-outlier", column="r", value=9.0, step=3.0, distance=20.0, low=0.1, high=0.2, limit=8.0
    )
    rest = {"verdict": "undecided", "why": None, "dropped": 3, "p_value": 0.001, "step": 24.0}
    first = caution("rests-on-first", **rest, value=0.8, low=0.7, high=0.9)
    lost = caution("reward-lost", first=0.5, best=0.75, last=0.0123)
    fit = replace(by_hand(), findings=(lag, outlier, lost, first))
    lines = rendered(fit, "text").splitlines()
    cautions = [line for line in lines if line.split()[:1] == ["caution"]]
    assert [line.split(maxsplit=1)[1] for line in cautions] == [
        "the answer rests on the first 3 evaluations, which are off the curve of the"
    ]
    assert lines.index(cautions[0]) < next(
        i for i, line in enumerate(lines) if "R = b" in line and line.startswith("  R")
    )
    assert "  +3 cautions: --details" in lines
    details = rendered(fit, "details")
    assert "--details" not in details
    assert [len(re.findall(rf"\b{word}", details)) for word in ("rests on the first", "gross outlier")] == [
        1,
        1,
    ]
    assert "caution: --details" not in rendered(replace(fit, findings=(first,)), "text")
    # What the first answer says is not said twice.
    assert "+1 caution: --details" in rendered(replace(fit, findings=(lost,)), "text")


def test_the_ceiling_names_over_what_it_is_averaged() -> None:
    def ceiling(**changes: Any) -> str:
        return answers(by_hand(**changes))[1]

    assert "0.866] by the law;" in ceiling(law_probability=0.96, line_probability=0.02)
    assert "0.866] over all plausible curves;" in ceiling(**HALF)
    assert ", at most 1;" in ceiling(max_reward=1.0)
    assert ", relative to the current level;" in ceiling(interval="walk")
    staged = answers(failing(Why.more_than_entropy, "the step helps"))
    assert " left at the present stage (" in staged[0]
    assert " beside a term in the step;" in staged[1]


def test_where_reward_does_not_follow_entropy_the_ceiling_is_for_reference_only() -> None:
    left, ceiling = answers(failing(Why.no_relation, "a constant fits"))
    assert left == "Unknown: reward does not follow entropy"
    assert ceiling.startswith("For reference only: 0.803 [")


def test_a_refused_run_says_why_and_what_to_do() -> None:
    assert words.summary(refused()) == ("3 usable evaluations, expected at least 5.", "Evaluate more often.")


def test_the_reason_on_a_chip() -> None:
    nearest = reason("curve-as-good", curve="log_step", odds=0.9)
    weak = reason("weak-relation", r_squared=0.1, needed=0.5)
    for found, expected in (
        (by_hand(), ""),
        (failing(Why.more_than_entropy, "the step helps"), "more than entropy"),
        (by_hand(verdict=Verdict.undecided, findings=(nearest,)), "log step fits, too"),
        (by_hand(verdict=Verdict.undecided, findings=(weak, nearest)), "weak relation"),
        # Of a later version of this program.
        (undecided("something-new"), "something-new"),
    ):
        assert words.short_why(run_by_hand(found)) == expected
    assert words.short_why(refused()) == "too-few-evaluations"


def test_the_summary_of_a_document_is_the_two_answers() -> None:
    run = run_by_hand(by_hand())
    assert [line.partition(": ")[2] for line in run.summary] == list(answers(by_hand()))
    assert run.summary == words.summary(run)


NEVER = "model alpha sigma uncertainty bits experiment asymptote nan None"


@pytest.mark.parametrize(
    "run", [synthetic(), falling(), refused(), run_by_hand(by_hand())], ids=lambda run: run.run
)
def test_vocabulary(run: RunFit) -> None:
    # Titles of papers have words of their own.
    text = re.sub(r"title = .*", "", rendered(document(run), "markdown"))
    for word in NEVER.split():
        assert not re.search(rf"\b{word}s?\b", text, re.IGNORECASE), word


def hand_row(
    name: str, headroom: tuple[float, float, float], *share: float | None, fit: Fit | None = None
) -> IndexRow:
    """A row of the answer made by hand, with a headroom and a share of the gain."""
    used = estimate(*share, None if share[0] else "unknown")  # type: ignore[misc, arg-type]
    known = replace(fit or by_hand(), headroom=estimate(*headroom), used=used)
    return index_row(RunReport(fit=run_by_hand(known, name)), name)


def test_over_all_runs() -> None:
    assert overall([]) == ("There are no runs.",)
    none, some = (0.2, -0.1, 0.5), (0.1, 0.05, 0.15)
    flat = failing(Why.no_relation, "a constant fits")
    many = [
        hand_row("one", none, 0.97, 0.95, 0.99),
        hand_row("two", some, 0.5, 0.4, 0.6),
        hand_row("three", none, 0.9, 0.8, 0.95),
        hand_row("four", none, None, None, None),
        hand_row("five", none, 0.9, 0.8, 0.95, fit=undecided()),
        hand_row("six", (9.0, 8.0, 10.0), 0.1, 0.0, 0.2, fit=flat),
        index_row(RunReport(fit=refused()), "short"),
    ]
    assert overall(many) == (
        "The law holds in 4 of 7 runs, fails in 1, undecided in 1; 1 could not be fitted.",
        # Without a relation to the entropy there is no ceiling to read.
        "A gain is left in 1 of 5 runs; the most in two: 0.100 [0.050, 0.150].",
        "Share of the attainable gain reached: above 90 % in 1, below 90 % in 1, unclear in 2, without "
        "interval in 1.",
    )
    said = overall(many[-2:])
    assert said == ("The law holds in 0 of 2 runs, fails in 1, undecided in 0; 1 could not be fitted.",)
    assert overall([many[0], many[0]])[1] == "A gain is left for certain in none of 2 runs."


def test_one_run() -> None:
    row = hand_row("one", (0.0316, 0.0121, 0.0511), 0.873, 0.812, 0.934)
    assert overall([row]) == row.summary
    assert row.summary[0].startswith("Still improving")
    assert "Yes: 0.032 [0.012, 0.051] of reward left" in row.summary[0]
    assert overall([index_row(RunReport(fit=refused()), "b")]) == words.summary(refused())


def test_an_unknown_step_is_not_a_number() -> None:
    note = "the entropy stays above 0.1 nats"
    assert words.earliest(estimate(None, 590.2, None, note)) == " (it may fall below that from step 590 on)"
    assert words.earliest(estimate(None, None, None, note)) == ""
    assert words.step_words(estimate(520.4, 480.0, None, note)) == f"520 [480, not known] ({note})"
