"""The verdict on the law: its tests against textbook ones, and its rule."""

import numpy as np
import pytest
from scipy.special import stdtr

from entropylaw import Estimate, Verdict, Why
from entropylaw.analysis.law.verdict import ODDS, law_probability, law_tests, rule, spearman
from entropylaw.engine.constants import FAILS, HOLDS, PRIOR
from entropylaw.results import LawTests
from entropylaw.results.result import replace
from tests.laws import WHITE, own_law, reads_under

N = 80
STEP = 10.0 * np.arange(N)
TIME = np.linspace(0.0, 1.0, N)
ENTROPY = 0.1 + 1.6 * np.exp(-4 * TIME)

A = Estimate(value=0.1, low=0.08, high=0.12, level=0.95, method="test")
CLEAR = LawTests(
    p_step=0.5, p_log_step=0.5, spearman=-0.95, odds_lagged=0.0, **{f"odds_{name}": 0.02 for name in ODDS}
)
ENOUGH = {"n": 60, "span": 1.0, "r_squared": 0.9}


def noisy(reward, sd=0.01, seed=3):
    return reward + sd * np.random.default_rng(seed).standard_normal(reward.size)


def judged(entropy, reward, step=STEP):
    """Tests, verdict and reason of a run."""
    fit = own_law(entropy, reward, step)
    tests = law_tests(fit.reads)
    span = float(np.ptp(fit.smoothed_entropy))
    verdict, why = rule(tests, fit.a, n=fit.n, span=span, r_squared=fit.r_squared)
    return tests, verdict, why


def test_p_values_are_those_of_regression_with_the_priors_as_observations():
    import statsmodels.api as sm

    """A normal prior is one more observation of its coefficient (Theil & Goldberger 1961)."""
    reward = noisy(0.6 - 0.1 * np.expm1(ENTROPY), 0.05)
    y = (reward - reward.mean()) / reward.std()
    law, *terms = (
        (column - column.mean()) / column.std() for column in (np.expm1(ENTROPY), STEP, np.log1p(STEP / 10))
    )
    scatter = sm.OLS(y, np.column_stack([np.ones(N), law, terms[0]])).fit().ssr / (N - 3)
    root = np.sqrt(scatter) / PRIOR.slope_spread
    tests = law_tests(reads_under(replace(WHITE, firsts=((0.0, 1.0),)), ENTROPY, reward))
    for name, term in zip(("p_step", "p_log_step"), terms, strict=True):
        rows = np.column_stack([np.ones(N), law, term])
        priors = np.array([[0.0, root, 0.0], [0.0, 0.0, root]])
        both = np.append(y, [-PRIOR.slope * root, 0.0])
        design = np.vstack([rows, priors])
        beta = np.linalg.lstsq(design, both, rcond=None)[0]
        squares = np.sum((both - design @ beta) ** 2) / (N - 3)
        error = np.sqrt(squares * np.linalg.inv(design.T @ design)[2, 2])
        expected = 2.0 * stdtr(N - 3, -abs(beta[2]) / error)
        assert getattr(tests, name) == pytest.approx(expected, rel=1e-4)


def test_rank_correlation_is_scipys_with_ties_too():
    from scipy.stats import spearmanr

    rng = np.random.default_rng(0)
    one, other = rng.integers(0, 9, 50).astype(float), rng.standard_normal(50)
    assert spearman(one, other) == pytest.approx(spearmanr(one, other).statistic, abs=1e-12)
    assert spearman(np.ones(5), np.arange(5.0)) is None


def test_the_probability_counts_every_curve_that_could_be_fitted():
    assert law_probability(CLEAR) == pytest.approx(1 / (1 + 0.02 * len(ODDS)))
    assert law_probability(replace(CLEAR, odds_step=None)) == pytest.approx(1 / (1 + 0.02 * (len(ODDS) - 1)))
    assert FAILS < HOLDS


@pytest.mark.parametrize(
    "change",
    [
        {"odds_line": 1.1},
        {"odds_step": 1.1},
        {"odds_log_step": 1.1},
        {"odds_saturation": 1.1},
        {"odds_constant": 0.1},
        {"odds_square": 2.5},
        {"odds_rate": 1.2, "odds_power": 1.2},
    ],
)
def test_a_rival_that_is_nearly_as_good_leaves_it_undecided(change):
    assert rule(CLEAR, A, **ENOUGH) == (Verdict.holds, None)
    assert rule(replace(CLEAR, **change), A, **ENOUGH) == (Verdict.undecided, None)


def test_a_curve_in_the_step_alone_makes_a_law_fail_only_where_a_term_in_the_step_has_evidence():
    better = replace(CLEAR, odds_saturation=1e3, p_step=0.5, p_log_step=0.5)
    assert rule(better, A, **ENOUGH) == (Verdict.undecided, None)
    needed = replace(better, p_log_step=0.009)
    assert rule(needed, A, **ENOUGH) == (Verdict.fails, Why.more_than_entropy)
    unknown = replace(better, p_step=None, p_log_step=None)
    assert rule(unknown, A, **ENOUGH) == (Verdict.undecided, None)
    assert rule(replace(better, odds_line=1e3), A, **ENOUGH)[0] is Verdict.fails


def test_a_law_does_not_fail_for_a_delay():
    better = replace(CLEAR, odds_line=60.0)
    assert rule(better, A, **ENOUGH) == (Verdict.fails, Why.another_curve)
    assert rule(replace(better, odds_lagged=60.0), A, **ENOUGH) == (Verdict.undecided, None)
    assert rule(replace(CLEAR, odds_line=2.0, odds_lagged=60.0), A, **ENOUGH)[0] is Verdict.undecided
    # It counts a quarter: (1 + 2/4)/(1 + 2/4 + 60) is below .03.
    assert rule(replace(better, odds_lagged=2.0), A, **ENOUGH)[0] is Verdict.fails


@pytest.mark.parametrize("change", [{"n": 7}, {"span": 0.14}, {"r_squared": 0.49}])
def test_too_little_never_holds(change):
    assert rule(CLEAR, A, **{**ENOUGH, **change}) == (Verdict.undecided, None)


def test_a_that_is_not_clearly_above_0_does_not_hold():
    for low, high in ((-0.01, 0.2), (None, None)):
        assert rule(CLEAR, replace(A, low=low, high=high), **ENOUGH) == (Verdict.undecided, None)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"odds_line": 40.0}, Why.another_curve),
        ({"odds_rate": 1e200}, Why.another_curve),
        ({"odds_log_step": 40.0}, Why.more_than_entropy),
        ({"odds_log_step": 40.0, "odds_rate": 20.0}, Why.another_curve),
        ({"p_log_step": 0.001, "odds_log_step": 5.0}, Why.more_than_entropy),
        ({"odds_step": 40.0}, Why.more_than_entropy),
        ({"odds_constant": 40.0, "spearman": -0.3}, Why.no_relation),
        ({"odds_constant": 40.0, "odds_line": 50.0, "spearman": -0.9}, Why.another_curve),
    ],
)
def test_why_the_law_fails(change, why):
    assert rule(replace(CLEAR, **change), A, **ENOUGH) == (Verdict.fails, why)


def test_a_below_0_is_no_relation():
    falling = replace(A, value=-0.1, low=-0.12, high=-0.08)
    assert rule(replace(CLEAR, spearman=0.9), falling, **ENOUGH) == (Verdict.fails, Why.no_relation)


@pytest.mark.parametrize(
    ("reward", "verdict", "why"),
    [
        (0.6 - 0.1 * np.expm1(ENTROPY), Verdict.holds, None),
        (0.6 - 0.2 * ENTROPY, Verdict.fails, Why.another_curve),
        (0.6 + 0.2 * np.expm1(-3 * ENTROPY), Verdict.fails, Why.another_curve),
        (0.2 + 0.05 * np.expm1(ENTROPY), Verdict.fails, Why.no_relation),
        (np.full(N, 0.4), Verdict.undecided, None),
    ],
)
def test_runs_whose_truth_is_known(reward, verdict, why):
    assert judged(ENTROPY, noisy(reward))[1:] == (verdict, why)


def test_reward_that_goes_on_rising_while_entropy_returns_needs_more_than_entropy():
    entropy = ENTROPY + np.maximum(TIME - 0.5, 0.0)
    assert judged(entropy, noisy(0.3 + 0.3 * TIME))[1:] == (Verdict.fails, Why.more_than_entropy)


def test_no_number_is_infinite_on_an_exact_law():
    tests = judged(ENTROPY, 0.6 - 0.05 * np.expm1(ENTROPY))[0]
    numbers = [getattr(tests, name) for name in LawTests.__struct_fields__]
    assert all(one is None or np.isfinite(one) for one in numbers)


def test_few_evaluations_have_what_can_be_fitted():
    tests, verdict, _ = judged(ENTROPY[::16], noisy(0.6 - 0.1 * np.expm1(ENTROPY))[::16], STEP[::16])
    assert tests.p_step is not None
    assert verdict is Verdict.undecided
