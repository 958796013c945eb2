"""The words about the law: entropy or step, the word with its one reason, no a, the kept word."""

import numpy as np
import pytest

import entropylaw
from entropylaw.analysis.law.verdict import rule
from entropylaw.engine.constants import BENDS, FEWEST_HOLDS, HOLDS, SPAN, SURE
from entropylaw.report.render import rendered
from entropylaw.results import LawTests, More, Verdict, Why
from entropylaw.results.result import replace
from tests.laws import fit_arrays, law_alone

N = 80
STEP = 10.0 * np.arange(N)
TIME = np.linspace(0.0, 1.0, N)
ENTROPY = 0.1 + 1.6 * np.exp(-4 * TIME)

CLEAR = LawTests(odds_entropy=20.0, odds_law=20.0, odds_line=20.0, odds_step=20.0, p_direction=0.9999)
ENOUGH = {"n": 60, "span": 1.0}


def noisy(reward, sd=0.01, seed=3):
    return reward + sd * np.random.default_rng(seed).standard_normal(reward.size)


@pytest.mark.parametrize(
    ("change", "word", "why"),
    [
        ({}, Verdict.holds, None),
        ({"odds_law": HOLDS, "odds_line": BENDS, "p_direction": SURE}, Verdict.holds, None),
        ({"odds_line": 0.99 * BENDS}, Verdict.undecided, Why.line),
        ({"odds_line": 1e-9}, Verdict.undecided, Why.line),
        ({"odds_law": 0.99 * HOLDS}, Verdict.undecided, Why.curve),
        ({"odds_law": 1.0, "odds_entropy": 2.9}, Verdict.undecided, Why.neither),
        ({"odds_law": 1.0, "odds_entropy": 0.34}, Verdict.undecided, Why.neither),
        ({"odds_law": 1.0, "odds_entropy": 0.33}, Verdict.fails, Why.step),
        ({"odds_law": 1.0, "odds_entropy": 0.33, "odds_step": 2.9}, Verdict.undecided, Why.neither),
        ({"p_direction": 0.97}, Verdict.undecided, Why.slope),
        ({"p_direction": 0.02}, Verdict.fails, Why.reverse),
        ({"p_direction": 0.02, "odds_entropy": 0.1}, Verdict.fails, Why.reverse),
    ],
)
def test_a_word_and_its_one_reason_follow_from_the_table(change, word, why):
    assert rule(replace(CLEAR, **change), **ENOUGH) == (word, why)


def test_too_little_is_undecided():
    failing = replace(CLEAR, p_direction=0.001)
    assert rule(failing, n=FEWEST_HOLDS - 1, span=1.0) == (Verdict.undecided, Why.few)
    assert rule(CLEAR, n=60, span=0.99 * SPAN) == (Verdict.undecided, Why.narrow)
    of_step = replace(CLEAR, odds_law=1.0, odds_entropy=0.1)
    assert rule(of_step, n=60, span=0.99 * SPAN) == (Verdict.undecided, Why.narrow)
    # A clear slope in the other direction needs no range of the entropy.
    assert rule(failing, n=60, span=0.99 * SPAN) == (Verdict.fails, Why.reverse)


@pytest.mark.parametrize(
    ("odds_entropy", "odds_step", "more"),
    [
        (3.0, 1.0, More.entropy),
        (2.9, 50.0, More.unknown),
        (1.0 / 3.0, 3.0, More.step),
        (1.0 / 3.0, 2.9, More.unknown),
        (0.34, 50.0, More.unknown),
    ],
)
def test_entropy_or_step_is_decided_at_3_to_1(odds_entropy, odds_step, more):
    assert replace(CLEAR, odds_entropy=odds_entropy, odds_step=odds_step).more is more


SATURATED = 0.6 - 0.2 * np.exp(-6.0 * TIME)
ERRATIC = 0.3 + 0.2 * np.sin(12.0 * TIME)


@pytest.mark.parametrize(
    ("entropy", "reward", "word", "why"),
    [
        (ENTROPY, 0.6 - 0.1 * np.expm1(ENTROPY), Verdict.holds, None),
        (ENTROPY, 0.6 - 0.2 * ENTROPY, Verdict.undecided, Why.curve),
        (ENTROPY, 0.3 + 0.05 * np.expm1(ENTROPY), Verdict.fails, Why.reverse),
        (0.5 + 0.4 * np.cos(9.0 * TIME), 0.3 + 0.3 * TIME, Verdict.fails, Why.step),
        (0.4 - 0.05 * TIME, 0.3 + 0.3 * TIME, Verdict.undecided, Why.narrow),
        (ENTROPY, 0.4 + 0.0 * TIME, Verdict.undecided, Why.slope),
    ],
)
def test_runs_of_known_truth_have_their_word(entropy, reward, word, why):
    law = law_alone(entropy, noisy(reward), STEP)
    assert (law.verdict, law.why) == (word, why)


def test_the_words_depend_on_no_unit():
    reward = noisy(0.6 - 0.1 * np.expm1(ENTROPY))
    one = law_alone(ENTROPY, reward, STEP)
    other = law_alone(ENTROPY, 100.0 * reward - 7.0, 3.0 * STEP + 5.0)
    assert (one.verdict, one.why) == (other.verdict, other.why)
    for name in ("odds_entropy", "odds_law", "odds_line", "odds_step", "p_direction"):
        assert getattr(one.tests, name) == pytest.approx(getattr(other.tests, name), rel=1e-4)


def test_a_run_says_one_reason_and_no_other():
    for reward in (0.6 - 0.1 * np.expm1(ENTROPY), 0.6 - 0.2 * ENTROPY, SATURATED, ERRATIC):
        fit = fit_arrays(ENTROPY, noisy(reward), STEP)
        law = fit.law
        assert law is not None
        assert len(fit.reasons) == (law.verdict is not Verdict.holds)


# -- numbers -------------------------------------------------------------------------------------------------


def test_an_entropy_of_noise_has_no_a():
    rng = np.random.default_rng(1)
    law = law_alone(0.5 + 0.1 * rng.standard_normal(N), noisy(0.3 + 0.2 * TIME), STEP)
    assert (law.a.value, law.b.value, law.ceiling.value) == (None, None, None)
    assert "keeps" in (law.a.note or "")
    assert law.verdict is not Verdict.holds


def test_the_reward_at_0_is_one_number():
    fit = fit_arrays(ENTROPY, noisy(0.6 - 0.1 * np.expm1(ENTROPY)), STEP)
    assert fit.law is not None
    assert fit.law.ceiling.value == pytest.approx(float(fit.law.b) - float(fit.law.a), abs=0.005)
    assert not {"headroom", "p_headroom", "ceiling", "reward_now"} & set(fit.__struct_fields__)


def test_the_error_of_a_noisy_entropy_counts():
    """Intervals of a cover the truth also where the entropy is logged with much noise."""
    covered = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        reward = 0.6 - 0.2 * np.expm1(ENTROPY) + 0.01 * rng.standard_normal(N)
        law = law_alone(np.maximum(ENTROPY + 0.08 * rng.standard_normal(N), 1e-3), reward)
        assert law.a.low is not None
        assert law.a.high is not None
        covered.append(law.a.low <= 0.2 <= law.a.high)
    # Without columns for the error it is 34 of 40.
    assert sum(covered) >= 36


def test_a_stored_law_predicts_as_it_was_fitted():
    rng = np.random.default_rng(5)
    entropy = np.maximum(ENTROPY + 0.08 * rng.standard_normal(N), 1e-3)
    law = law_alone(entropy, noisy(0.6 - 0.2 * np.expm1(ENTROPY)), STEP)
    at_0 = law.predict(0.0).mean
    assert at_0.value == pytest.approx(law.ceiling.value, rel=1e-9)
    assert at_0.low == pytest.approx(law.ceiling.low, rel=1e-9)


# -- kept word -----------------------------------------------------------------------------------------------


def test_the_law_of_two_thirds_is_read_on_the_last_third():
    entropy = 1.0 - 0.9 * TIME
    law = law_alone(entropy, noisy(0.6 - 0.2 * np.expm1(entropy), 0.005), STEP)
    kept = law.kept_word
    assert kept is not None
    assert kept.fitted == 53
    assert kept.law < 0.03 < kept.level
    # The law's change from where it begins, and the level there: more of it shows the larger the fall.
    expected = np.sqrt(np.mean((0.2 * (np.expm1(entropy[53:]) - np.expm1(entropy[52]))) ** 2))
    assert kept.level == pytest.approx(expected, abs=0.01)


def test_a_short_run_has_no_kept_word():
    law = law_alone(ENTROPY[::11], noisy(0.6 - 0.1 * np.expm1(ENTROPY))[::11])
    assert law.n == 8
    assert law.kept_word is None


def test_details_say_the_kept_word_and_nothing_else_does():
    fit = entropylaw.fit(entropy=ENTROPY, reward=noisy(0.6 - 0.1 * np.expm1(ENTROPY)), step=STEP)
    sentence = "would have missed by"
    assert sentence in " ".join(rendered(fit, "details").split())
    for medium in ("text", "markdown", "csv"):
        assert sentence not in " ".join(rendered(fit, medium).split())
