"""The sentences say what the document holds: no more, and the verdict first."""

from __future__ import annotations

import re

import pytest

from entropylaw.documents.document import RunFit
from entropylaw.report import words
from entropylaw.report.describe.runs import IndexRow, index_row, overall
from entropylaw.report.render import rendered
from entropylaw.results import Estimate, Validity
from entropylaw.results.law import LawFit
from entropylaw.results.result import replace
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

NARROW = "entropy spans 0.04 nats; 0.15 are needed to estimate both a and b"
UNDECIDED = Validity(ok=False, findings=stated("reason", NARROW, "another"))
CONTRADICTED = Validity(ok=False, contradicted=True, findings=stated("reason", "a is negative"))
NO_INFORMATION = "This run carries too little information to test the law."


@pytest.mark.parametrize(
    ("law", "expected"),
    [
        (by_hand(law_probability=0.95, line_weight=0.04), "The law describes this run."),
        (
            by_hand(law_probability=0.60, line_weight=0.38),
            "The law fits this run, and so does a straight line in H.",
        ),
        (
            by_hand(law_probability=0.30, line_weight=0.60),
            "The law fits this run, and so does a straight line in H.",
        ),
        (
            by_hand(law_probability=0.07, line_weight=0.83),
            "The law fits this run, but a straight line in H fits it better.",
        ),
        (by_hand(validity=UNDECIDED), NO_INFORMATION),
        (by_hand(validity=CONTRADICTED), "The law does not describe this run."),
    ],
)
def test_headlines(law: LawFit, expected: str) -> None:
    assert words.headline(law) == expected


def opening(law: LawFit) -> tuple[str, ...]:
    return words.opening(run_report(run_by_hand(law)))


def test_an_undecided_run_says_so_first() -> None:
    first, second, third = opening(by_hand(validity=UNDECIDED, law_probability=0.02, line_weight=0.95))
    assert first == f"{NO_INFORMATION.removesuffix('.')}: {NARROW} (1 more reason below)."
    assert second.startswith(
        "The most probable functional form is a straight line in H (probability 0.95; the law 0.02), with "
    )
    assert third.startswith("For reference only: by the law the reward is 0.768")


def test_a_refused_run_says_why_and_what_to_do() -> None:
    assert words.opening(run_report(refused())) == (
        "The run could not be fitted: 3 usable evaluations, expected at least 5.",
        "Evaluate more often.",
    )
    assert words.badge(refused()) == "refused"
    assert words.run_headline(refused()) == "This run could not be fitted."


NEVER = "model alpha sigma uncertainty bits experiment asymptote nan None"


@pytest.mark.parametrize(
    "run", [synthetic(), falling(), refused(), run_by_hand(by_hand())], ids=lambda run: run.run
)
def test_vocabulary(run: RunFit) -> None:
    text = rendered(document(run), "markdown")
    for word in NEVER.split():
        assert not re.search(rf"\b{word}s?\b", text, re.IGNORECASE), word


def test_badges_are_words() -> None:
    assert words.badge(synthetic()) in ("valid", "with cautions")
    assert words.badge(falling()) == "law fails"


def test_a_page_opens_with_the_gain_reached_the_headroom_and_how_sure_that_is() -> None:
    first, second, third = opening(by_hand())
    assert first == (
        "This run has reached 87.3 % [81.2, 93.4] of the attainable gain; the reward is 0.768 [0.757, 0.779] "
        "now, the ceiling 0.800 [0.771, 0.829] (95 % intervals; drift + noise, integrated out)."
    )
    assert second.startswith(
        "At zero entropy the reward would be 0.032 [0.012, 0.051] higher; the forecast of"
    )
    assert third.endswith(
        "over all functional forms that are not ruled out, "
        "the interval of the ceiling reaches from 0.771 to 0.866."
    )
    better = opening(by_hand(law_probability=0.07, line_weight=0.83))[0]
    assert better.startswith(
        "Under the law (but a straight line in H fits better), this run has reached 87.3"
    )


def test_an_unknown_share_says_why() -> None:
    report = run_report(run_by_hand(by_hand()))
    nothing = estimate(None, None, None, "the attainable gain is not above zero")
    first = words.opening(replace(report, fit=replace(report.fit, used=nothing)))[0]
    assert first.startswith(
        "The share of the attainable gain reached is unknown (the attainable gain is not above zero); the "
        "reward is 0.768"
    )


@pytest.mark.parametrize(
    ("headroom", "expected"),
    [
        (estimate(0.011, -0.054, 0.056), "No measurable headroom: 0.011 [-0.054, 0.056];"),
        (estimate(-0.05, -0.08, -0.02), "The reward is above the law's ceiling: headroom -0.050"),
        (estimate(0.03, None, None, "no spread"), "The headroom is 0.0300, without interval (no spread);"),
    ],
)
def test_headroom_by_its_interval(headroom: Estimate, expected: str) -> None:
    assert opening(by_hand(headroom=headroom))[1].startswith(expected)


def hand_row(
    name: str, headroom: tuple[float, ...], *share: float | None, validity: Validity | None = None
) -> IndexRow:
    """A row of the law made by hand, with a headroom and a share of the gain."""
    law = by_hand(headroom=estimate(*headroom), validity=validity)
    row = index_row(run_report(run_by_hand(law, name)), name)
    used = estimate(*share, None if share[0] else "unknown")  # type: ignore[misc, arg-type]
    return replace(row, cells={**row.cells, "used": used})


def test_over_all_runs() -> None:
    assert overall([]) == ("There are no runs.",)
    none, some = (0.2, -0.1, 0.5), (0.1, 0.05, 0.15)
    many = [
        hand_row("one", none, 0.97, 0.95, 0.99),
        hand_row("two", some, 0.5, 0.4, 0.6),
        hand_row("three", none, 0.9, 0.8, 0.95),
        hand_row("four", none, None, None, None),
        hand_row("five", none, 0.9, 0.8, 0.95, validity=UNDECIDED),
        index_row(run_report(falling()), "falling"),
        index_row(run_report(refused()), "short"),
    ]
    assert overall(many) == (
        "Of 7 runs the law holds in 4 (all 4 with cautions), fails in 1, is undecided in 1 and 1 could not "
        "be fitted.",
        "Where the law holds, headroom is above zero in 1 of 4; it is largest in two: 0.100 [0.050, 0.150].",
        "Share of the attainable gain reached: above 90 % in 1, below 90 % in 1, unclear in 1, without "
        "interval in 1.",
    )
    said = overall(many[-2:])
    assert said[0] == "Of 2 runs the law holds in 0, fails in 1 and 1 could not be fitted."
    assert "there are no ceilings" in said[1]
    assert said[2] == "1 run has a forecast, which is averaged over several curves."
    assert not re.search(r"\d\.\d", " ".join(said))


def test_one_run() -> None:
    one = overall([hand_row("one", (0.0316, 0.0121, 0.0511), 0.873, 0.812, 0.934)])
    reached = "share of the attainable gain reached: 87.3 % [81.2, 93.4]"
    assert one[1] == f"By the law, {reached}; headroom: 0.032 [0.012, 0.051]."
    (first, _) = overall([index_row(run_report(refused()), "b")])
    assert first == "One run. This run could not be fitted: 3 usable evaluations, expected at least 5."


def test_an_unknown_step_is_not_a_number() -> None:
    note = "the entropy stays above 0.1 nats"
    assert (
        words.earliest(estimate(None, 590.2, None, note))
        == f" (the interval of that step begins at step 590; {note})"
    )
    assert words.step_words(estimate(520.4, 480.0, None, note)) == f"520 [480, not known] ({note})"
