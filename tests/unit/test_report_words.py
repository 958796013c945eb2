"""The sentences say what the document holds: no more, and the verdict first."""

from __future__ import annotations

import re

import pytest

from entropylaw.documents.fit import RunFit
from entropylaw.report import words
from entropylaw.report.index_rows import IndexRow, index_row, overall
from entropylaw.report.render import rendered
from entropylaw.results import Estimate, Validity
from entropylaw.results.fields import replace
from tests.findings import stated
from tests.made import run_report
from tests.unit.test_report_samples import (
    by_hand,
    document,
    estimate,
    falling,
    refused,
    run_by_hand,
    synthetic,
)

INVALID = Validity(
    ok=False,
    findings=stated("reason", "entropy spans 0.04 nats; 0.15 are needed to tell a from b", "another"),
)


@pytest.mark.parametrize(
    ("law", "line", "expected"),
    [
        (0.95, 0.04, "The law describes this run."),
        (0.60, 0.38, "The law fits this run, and so does a straight line in H."),
        (0.30, 0.60, "The law fits this run, and so does a straight line in H."),
        (0.07, 0.83, "The law fits this run, but a straight line in H fits it better."),
    ],
)
def test_headline_follows_the_weights(law: float, line: float, expected: str) -> None:
    assert words.headline(by_hand(law_weight=law, line_weight=line)) == expected


def test_headline_of_an_invalid_fit() -> None:
    assert words.headline(by_hand(validity=INVALID)) == "This run cannot tell whether the law holds."
    contradicted = Validity(ok=False, contradicted=True, findings=stated("reason", "a is negative"))
    assert words.headline(by_hand(validity=contradicted)) == "The law does not describe this run."


def test_summary_of_an_invalid_run_says_so_first() -> None:
    first, second, third = words.proviso(
        run_by_hand(by_hand(validity=INVALID, law_weight=0.02, line_weight=0.95))
    )
    assert first == (
        "This run cannot tell whether the law holds: entropy spans 0.04 nats; "
        "0.15 are needed to tell a from b "
        "(1 more reason below)."
    )
    assert second.startswith("Of the forms, a straight line in H does best (weight 0.95 against 0.02)")
    assert third.startswith("Whoever reads the numbers of the law anyway finds a reward of 0.768")


def test_summary_of_a_refused_run_says_why_and_what_to_do() -> None:
    assert words.proviso(refused()) == (
        "The run could not be fitted: 3 usable evaluations, expected at least 5.",
        "Evaluate more often.",
    )
    assert words.badge(refused()) == "refused"
    assert words.run_headline(refused()) == "This run could not be fitted."


@pytest.mark.parametrize(
    "run", [synthetic(), falling(), refused(), run_by_hand(by_hand())], ids=lambda run: run.run
)
def test_vocabulary(run: RunFit) -> None:
    text = rendered(document(run), "markdown")
    for word in (
        "model",
        "alpha",
        "sigma",
        "uncertainty",
        "bits",
        "experiment",
        "asymptote",
        "nan",
        "None",
    ):
        assert not re.search(rf"\b{word}s?\b", text, re.IGNORECASE), word


def test_badges_are_words() -> None:
    assert words.badge(synthetic()) in ("valid", "with cautions")
    assert words.badge(falling()) == "law fails"


def hand_row(name: str = "by hand", **other: object) -> IndexRow:
    """A row of the law made by hand; what is left to the engine is its forecast alone."""
    return index_row(run_report(run_by_hand(by_hand(**other), name)), name)  # type: ignore[arg-type]


def used(one: IndexRow, value: float | None, low: float | None, high: float | None) -> IndexRow:
    share = estimate(value, low, high, None if value else "cannot be told")
    return replace(one, cells={**one.cells, "used": share})


def test_a_page_opens_with_what_is_used_what_is_left_and_how_sure_that_is() -> None:
    first, second, third = words.opening(run_report(run_by_hand(by_hand())))
    assert first == (
        "This run has used 87.3 % [81.2, 93.4] of the reward that its entropy can buy: the reward stands at "
        "0.768 [0.757, 0.779], and the ceiling at 0.800 [0.771, 0.829] (95 % intervals; drift + noise, "
        "integrated out)."
    )
    assert second.startswith(
        "Spending the last of its entropy would bring 0.032 [0.012, 0.051] more; the forecast of"
    )
    assert third.endswith(
        "over all forms that are not ruled out, the ceiling lies anywhere from 0.771 to 0.866."
    )


def test_a_share_that_is_not_known_says_why() -> None:
    report = run_report(run_by_hand(by_hand()))
    nothing = estimate(None, None, None, "what entropy can buy in this run cannot be told from nothing")
    first = words.opening(replace(report, fit=replace(report.fit, used=nothing)))[0]
    assert first.startswith(
        "What share of the reward that its entropy can buy this run has used is not known: what entropy can "
        "buy in this run cannot be told from nothing; the reward stands at 0.768"
    )


def test_a_better_rival_is_in_the_first_sentence() -> None:
    first = words.opening(run_report(run_by_hand(by_hand(law_weight=0.07, line_weight=0.83))))[0]
    assert first.startswith("By the law, though a straight line in H fits better, this run has used 87.3 %")


@pytest.mark.parametrize(
    ("headroom", "expected"),
    [
        (estimate(0.011, -0.054, 0.056), "No headroom can be told from zero: 0.011 [-0.054, 0.056];"),
        (estimate(-0.05, -0.08, -0.02), "It stands above what the law gives at H = 0: headroom -0.050"),
        (estimate(0.03, None, None, "no spread"), "The headroom is 0.0300, without interval (no spread);"),
    ],
)
def test_headroom_is_told_by_its_interval(headroom: Estimate, expected: str) -> None:
    assert words.opening(run_report(run_by_hand(by_hand(headroom=headroom))))[1].startswith(expected)


def test_an_invalid_or_refused_run_opens_as_its_fit_does() -> None:
    for run in (run_by_hand(by_hand(validity=INVALID)), refused()):
        assert words.opening(run_report(run)) == words.proviso(run)


def test_over_all_runs() -> None:
    least, most = estimate(0.2, -0.1, 0.5), estimate(0.1, 0.05, 0.15)
    many = [
        used(hand_row("one", headroom=least), 0.97, 0.95, 0.99),
        used(hand_row("two", headroom=most), 0.5, 0.4, 0.6),
        used(hand_row("three", headroom=least), 0.9, 0.8, 0.95),
        used(hand_row("four", headroom=least), None, None, None),
        hand_row("five", validity=INVALID),
        index_row(run_report(falling()), "falling"),
        index_row(run_report(refused()), "short"),
    ]
    assert overall(many) == (
        "Of 7 runs the law holds in 4 (all 4 with cautions), fails in 1, cannot be told in 1 and 1 could not "
        "be fitted.",
        "Where the law holds, headroom can be told from zero in 1 of 4; the most is left in two: 0.100 "
        "[0.050, 0.150].",
        "More than 90 % of the reward that entropy can buy is used in 1, less in 1, and in 1 the interval "
        "holds 90 %. In 1 that share has no interval.",
    )


def test_where_no_law_holds_nothing_is_said_of_its_numbers() -> None:
    told = overall([index_row(run_report(falling()), "a"), index_row(run_report(refused()), "b")])
    assert told[0] == "Of 2 runs the law holds in 0, fails in 1 and 1 could not be fitted."
    assert "nothing is said here of ceilings" in told[1]
    assert told[2] == "1 run has a forecast, which does not rest on the law alone."
    assert not re.search(r"\d\.\d", " ".join(told))


def test_one_run_or_none() -> None:
    assert overall([]) == ("There are no runs.",)
    one = overall([hand_row()])
    assert one[1] == (
        "By the law it has used 87.3 % [81.2, 93.4] of the reward that its entropy can buy; its headroom is "
        "0.032 [0.012, 0.051]."
    )
    (first, _) = overall([index_row(run_report(refused()), "b")])
    assert first == "One run. This run could not be fitted: 3 usable evaluations, expected at least 5."


def test_a_step_that_is_not_foreseen_is_not_a_number() -> None:
    note = "the entropy's path stays above 0.1 nats within 10 spans of the run"
    assert words.spent_words(estimate(None, 590.2, None, note)) == (
        f"no step is forecast by which its entropy is spent (the interval begins at step 590; {note})"
    )
    assert words.spent_words(estimate(520.4, 480.0, None, note)) == (
        f"its entropy is forecast to be spent by step 520 [480, not known] ({note})"
    )
