"""The rule by which claims are confirmed or contradicted, and the worlds in which it is tried."""

import numpy as np
import pytest

from benchmarks.evidence.__main__ import PAGE, alarms, claims
from benchmarks.evidence.claims import CLAIMS, halved, pass_at, tallies
from benchmarks.evidence.logs import fitted_in
from benchmarks.evidence.planted import WORLDS, World, rates
from benchmarks.evidence.rule import Answer, Claim, Made, ask, decide, mean_of, share_of
from tests.conftest import ROOT
from tests.typed import assert_says

ASKED = [claim for claim in CLAIMS if claim.effect is not None]


@pytest.mark.parametrize("claim", ASKED, ids=lambda claim: claim.statement[:40])
def test_a_planted_claim_is_confirmed_and_its_opposite_contradicted(claim):
    confirmed, contradicted, wrong = rates(claim, draws=10)
    assert min(confirmed, contradicted) == 1.0
    assert wrong <= 0.2


def test_every_tested_claim_has_its_worlds():
    assert {claim.statement for claim in ASKED} == set(WORLDS)
    assert all(claim.missing for claim in CLAIMS if claim.effect is None)


def test_one_seed_decides_nothing():
    claim = ASKED[0]
    runs = World(WORLDS[claim.statement][0], np.random.default_rng(0))
    assert ask(claim, {arm: runs[arm][:1] for arm in ("grpo",)})[0] is Answer.not_decided
    assert ask(claim, {})[0] is Answer.not_decided


def test_a_mean_has_the_interval_of_student():
    # Gosset 1908, the effect of hyoscyamine: mean 0.75, sd 1.78901 of ten.
    sleep = np.array([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0])
    number = mean_of(sleep)
    assert (number.value, number.units) == (pytest.approx(0.75), 10)
    assert (number.low, number.high) == (pytest.approx(-0.52978, abs=1e-5), pytest.approx(2.02978, abs=1e-5))


def test_a_share_has_the_interval_of_clopper_and_pearson():
    # Clopper & Pearson 1934: 3 of 10.
    number = share_of(3, 10)
    assert (number.low, number.high) == (pytest.approx(0.06674, abs=1e-5), pytest.approx(0.65245, abs=1e-5))
    assert (share_of(0, 4).low, share_of(4, 4).high) == (0.0, 1.0)


def test_a_claim_of_no_difference_is_contradicted_outside_its_margin():
    claim = Claim(statement="", source="", published="", within=0.1)
    wide, outside, across = (mean_of(np.array(x)) for x in ([0.0, 0.05], [0.9, 0.91], [0.0, 0.2]))
    assert [decide(claim, number) for number in (wide, outside, across)] == [
        Answer.not_decided,
        Answer.contradicted,
        Answer.not_decided,
    ]
    assert decide(claim, mean_of(np.array([0.01, 0.011]))) is Answer.confirmed


def test_pass_at_k_is_that_of_the_definition():
    counts = {
        "step": np.zeros(3),
        "prompt": np.array([0.0, 0.0, 1.0]),
        "n": np.array([3.0, 1.0, 4.0]),
        "correct": np.array([0.0, 1.0, 0.0]),
    }
    run = Made(seed=0, columns={}, counts=counts)
    assert tallies(run, 0)[0].tolist() == [1, 0]
    right, distinct = halved(run, 0, np.random.default_rng(0))
    assert right[0] in (0, 1)
    assert (distinct >= 1).all()
    assert (distinct <= [2, 1]).all()
    # 1 − C(3, 2)/C(4, 2) = 1/2 for the first problem, 0 for the second.
    assert pass_at(run, 0, 2) == pytest.approx(0.25)
    assert pass_at(run, 0, 4) == pytest.approx(0.5)


def test_a_row_shows_the_number_that_its_answer_follows_from():
    claim = ASKED[0]
    text = claims(World(WORLDS[claim.statement][0], np.random.default_rng(0)))
    (row,) = [line for line in text.splitlines() if claim.statement in line]
    assert_says(row, "**confirmed**", "4 seeds; limit 0.5")


def test_the_law_is_counted_of_rewards_that_have_one(tmp_path):
    with_entropy = ROOT / "entropylaw" / "demo" / "grpo_s0.csv"
    rows = [row.split(",") for row in with_entropy.read_text(encoding="utf-8").splitlines()]
    plain = tmp_path / "plain.csv"
    plain.write_text("\n".join(f"{row[0]},{row[-1]}" for row in rows), encoding="utf-8")
    (reward,) = fitted_in(with_entropy, "one")
    assert reward.law.step.size == 51
    assert list(fitted_in(plain, "one")) == []


def test_the_page_has_the_alarms_of_the_replay():
    assert alarms() in PAGE.read_text(encoding="utf-8")
    assert alarms().count("| the stop line, `broken` |") == 1
