"""Differences between arms against scipy and statsmodels, and against draws from the model."""

import numpy as np
import pytest

from entropylaw.analysis.between_seeds import (
    LOG_STEP,
    UNLIKE,
    Contrast,
    band_reach,
    contrast,
    equal_means,
    holm,
    seeds_needed,
    share_interval,
    spreads,
    welch,
)
from entropylaw.arrays import FloatArray

VALUE = np.array([0.61, 0.65, 0.60, 0.71, 0.68, 0.70, 0.74])


def test_many_like_arms_are_nearly_the_pooled_t_test() -> None:
    from scipy.stats import t

    chance = np.random.default_rng(1)
    arm = np.repeat(np.arange(12), 6)
    value = chance.standard_normal(72)
    for number in range(12):
        of_arm = value[arm == number]
        value[arm == number] = (of_arm - of_arm.mean()) / of_arm.std(ddof=1)
    found = contrast(value + 0.9 * (arm == 1), arm, [1, 0])
    assert found.reach(0.95) == pytest.approx(t.ppf(0.975, 60) * np.sqrt(1 / 3), rel=0.1)
    assert found.value == pytest.approx(0.9)


def test_spreads_are_those_of_draws_from_the_prior() -> None:
    """Importance sampling of mean and scale of log spreads over arms, and of the spreads of two arms."""
    squares, free = np.array([2.0, 9.0, 1.0]), np.array([2.0, 3.0, 2.0])
    chance, draws = np.random.default_rng(0), 400_000
    pooled = np.sqrt(squares.sum() / free.sum())

    def drawn(unlike: float) -> tuple[FloatArray, FloatArray]:
        mean = chance.uniform(-24 * LOG_STEP, 20 * LOG_STEP, draws)
        scale = np.minimum(chance.exponential(unlike, draws), 4.0)
        log = mean + scale * chance.standard_t(4.0, (3, draws)) + np.log(pooled)
        likelihood = -free[:, None] * log - 0.5 * squares[:, None] * np.exp(-2.0 * log)
        return log, np.exp(likelihood.sum(axis=0)) * (scale < 4.0)

    log, weight = drawn(UNLIKE)
    for arm in range(3):
        theirs = (weight @ log[arm]) / weight.sum()
        scale, alone = spreads(squares, free, [arm])
        assert alone @ np.log(scale) == pytest.approx(theirs, abs=0.05)
    # Of three seeds and four.
    log, weight = drawn(UNLIKE * (4.0 / 3.0) ** 3)
    scale, both = spreads(squares, free, [0, 1])
    variance = scale[:, None] ** 2 / 3.0 + scale**2 / 4.0
    theirs = weight @ np.log(np.exp(2.0 * log[0]) / 3.0 + np.exp(2.0 * log[1]) / 4.0) / weight.sum()
    assert (both * np.log(variance)).sum() == pytest.approx(theirs, abs=0.1)


def test_welch_is_that_of_scipy() -> None:
    from scipy.stats import ttest_ind

    assert welch(VALUE[3:], VALUE[:3]) == pytest.approx(
        ttest_ind(VALUE[3:], VALUE[:3], equal_var=False).pvalue
    )


@pytest.mark.parametrize("seeds", [(2, 2, 2), (3, 3, 3, 3, 3), (2, 5, 3, 8), (2,) * 12])
def test_equal_means_of_all_arms_are_tested_as_by_statsmodels(seeds: tuple[int, ...]) -> None:
    from statsmodels.stats.oneway import anova_oneway

    chance = np.random.default_rng(len(seeds))
    groups = [0.1 * place + (1 + place) * chance.standard_normal(count) for place, count in enumerate(seeds)]
    assert equal_means(*groups) == pytest.approx(anova_oneway(groups, use_var="bf").pvalue, rel=1e-9)


def test_arms_without_any_spread_differ_or_do_not() -> None:
    one = np.ones(2)
    assert equal_means(one, one, one) == 1.0
    assert equal_means(one, 2.0 * one, one) == 0.0


def test_the_interval_and_the_p_value_of_a_mixture_agree() -> None:
    one = Contrast(value=0.4, weight=np.array([0.3, 0.7]), error=np.array([0.1, 0.3]))
    level = 1.0 - one.p_value
    assert one.reach(level) == pytest.approx(0.4, rel=1e-6)
    normal = Contrast(value=0.0, weight=np.ones(1), error=np.ones(1))
    assert normal.reach(0.95) == pytest.approx(1.959964, abs=1e-6)
    assert normal.smallest(0.95, np.inf) == pytest.approx(1.959964 + 0.841621, abs=1e-5)
    assert normal.smallest(0.95, 2.8) is None


def test_holm_is_that_of_statsmodels() -> None:
    from statsmodels.stats.multitest import multipletests

    p_values = [0.04, 0.001, 0.3, 0.011, 0.04]
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])


@pytest.mark.parametrize(("count", "of"), [(0, 4), (1, 7), (8, 33), (5, 5)])
def test_a_share_is_that_of_statsmodels(count: int, of: int) -> None:
    from statsmodels.stats.proportion import proportion_confint

    theirs = proportion_confint(count, of, method="beta")
    assert share_interval(count, of, 0.95) == pytest.approx(tuple(map(float, theirs)), abs=1e-12)


@pytest.mark.parametrize(("sd", "margin"), [(0.02, 0.03), (0.01, 0.01), (0.016, 0.01)])
def test_seeds_needed_are_those_of_statsmodels(sd: float, margin: float) -> None:
    from statsmodels.stats.power import TTestIndPower

    theirs = TTestIndPower().solve_power(effect_size=margin / sd, power=0.8, alpha=0.05)
    assert seeds_needed(sd, margin, 0.95) == int(np.ceil(theirs))


def test_more_than_fifty_seeds_are_not_named() -> None:
    assert seeds_needed(0.05, 0.01, 0.95) is None


def test_a_band_of_one_way_to_differ_is_at_least_pointwise() -> None:
    level = np.outer([-1.0, 0.5, 0.5, -0.4, 0.4], np.ones(21))
    normal = Contrast(value=0.0, weight=np.ones(1), error=np.ones(1))
    assert 1.96 < band_reach(level, 40.0, normal, 0.95) < 3.0
