"""The sentences say what the document holds: no more, and the verdict first."""

from __future__ import annotations

import re

import pytest

from entropylaw.documents.fit import RunFit
from entropylaw.report import markdown, words
from entropylaw.results import Validity
from tests.unit.test_report_samples import (
    by_hand,
    document,
    estimate,
    falling,
    refused,
    run_by_hand,
    synthetic,
)

INVALID = Validity(ok=False, reasons=("entropy spans 0.04 nats; 0.15 are needed to tell a from b", "another"))


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
    contradicted = Validity(ok=False, contradicted=True, reasons=("a is negative",))
    assert words.headline(by_hand(validity=contradicted)) == "The law does not describe this run."


def test_summary_of_a_valid_run() -> None:
    assert words.summary(run_by_hand(by_hand())) == (
        "The law fits the run (10 evaluations, steps 0 to 90; weight 0.90 among the forms), and the data "
        "cannot tell it from a straight line in H (0.08).",
        "The reward stands at 0.768 [0.757, 0.779]; spending the last of its entropy would bring "
        "0.032 [0.012, 0.051] more, to a ceiling of 0.800 [0.771, 0.829] (95 % intervals; drift + noise, "
        "integrated out).",
        "Over all forms that are not ruled out, the ceiling lies anywhere from 0.771 to 0.866; the best "
        "rival, a straight line in H, puts it at 0.832 [0.801, 0.866].",
    )


def test_no_headroom_is_said_plainly() -> None:
    text = words.summary(run_by_hand(by_hand(headroom=estimate(0.011, -0.054, 0.056))))[1]
    assert "no headroom can be told from zero: 0.011 [-0.054, 0.056]" in text
    above = words.summary(run_by_hand(by_hand(headroom=estimate(-0.05, -0.08, -0.02))))[1]
    assert "above what the law gives at H = 0" in above
    unknown = words.summary(run_by_hand(by_hand(headroom=estimate(0.03, None, None, "no spread"))))[1]
    assert "the headroom is 0.0300, without interval (no spread)" in unknown


def test_summary_of_an_invalid_run_says_so_first() -> None:
    first, second, third = words.summary(
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
    assert words.summary(refused()) == (
        "The run could not be fitted: 3 usable evaluations, expected at least 5.",
        "Evaluate more often.",
    )
    assert words.badge(refused()) == "refused"
    assert words.run_headline(refused()) == "This run could not be fitted."


@pytest.mark.parametrize(
    "run", [synthetic(), falling(), refused(), run_by_hand(by_hand())], ids=lambda run: run.run
)
def test_vocabulary(run: RunFit) -> None:
    text = " ".join(words.summary(run)) + markdown.render(document(run))
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
