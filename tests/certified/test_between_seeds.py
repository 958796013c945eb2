"""Differences between arms against scipy and statsmodels, on numbers whose answers are known there."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import bartlett, t, ttest_ind
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestIndPower
from statsmodels.stats.proportion import proportion_confint

from entropylaw.analysis.between_seeds import (
    Contrast,
    alike,
    band_reach,
    contrast,
    fieller,
    holm,
    parts,
    seeds_needed,
    share_interval,
    spread,
)

ARM = np.array([0, 0, 0, 1, 1, 1, 1])
VALUE = np.array([0.61, 0.65, 0.60, 0.71, 0.68, 0.70, 0.74])
NONE = np.zeros(7)


def test_two_arms_are_the_pooled_t_test() -> None:
    known = spread(VALUE, NONE, ARM)
    assert known is not None
    found, theirs = contrast(VALUE, ARM, 1, 0, known), ttest_ind(VALUE[3:], VALUE[:3])
    assert known.like.all()
    assert found.p_value == pytest.approx(theirs.pvalue, rel=1e-10)
    ends = theirs.confidence_interval(0.95)
    assert found.interval(0.95) == pytest.approx((ends.low, ends.high), rel=1e-10)


def test_a_third_arm_adds_degrees_of_freedom_and_no_mean() -> None:
    value, arm = np.append(VALUE, [0.2, 0.22, 0.26]), np.append(ARM, [2, 2, 2])
    known = spread(value, np.zeros(10), arm)
    assert known is not None
    assert known.df == 7
    within = sum(((value[arm == i] - value[arm == i].mean()) ** 2).sum() for i in range(3))
    assert known.variance == pytest.approx(within / 7)
    assert contrast(value, arm, 1, 0, known).value == pytest.approx(VALUE[3:].mean() - VALUE[:3].mean())


def test_unlike_arms_are_welch() -> None:
    value = np.append(VALUE[:3], [0.1, 0.9, 0.4, 1.3])
    known = spread(value, NONE, ARM)
    assert known is not None
    theirs = bartlett(value[:3], value[3:])
    assert alike(known.alone, known.seeds - 1.0, np.ones(2, dtype=bool)) == pytest.approx(theirs.pvalue)
    assert theirs.pvalue < 0.05
    assert known.like.sum() == 1
    found, theirs = contrast(value, ARM, 1, 0, known), ttest_ind(value[3:], value[:3], equal_var=False)
    assert (found.df, found.p_value) == pytest.approx((theirs.df, theirs.pvalue), rel=1e-10)


def test_an_unlike_arm_leaves_the_others_pooled() -> None:
    value, arm = np.append(VALUE, [0.1, 0.9, 0.4, 1.3]), np.append(ARM, [2, 2, 2, 2])
    known = spread(value, np.zeros(11), arm)
    assert known is not None
    assert known.like.tolist() == [True, True, False]
    assert contrast(value, arm, 1, 0, known).p_value == pytest.approx(ttest_ind(VALUE[3:], VALUE[:3]).pvalue)
    # Welch's test, with the variance of the pool, and its 5 degrees of freedom, for the arm in it.
    own, pooled = value[7:].var(ddof=1) / 4, known.variance / 3
    found = contrast(value, arm, 2, 0, known)
    assert found.error == pytest.approx(np.sqrt(own + pooled))
    assert found.df == pytest.approx((own + pooled) ** 2 / (own**2 / 3 + pooled**2 / 5))


def test_an_arm_with_one_seed_has_the_spread_of_the_pool_and_an_unlike_baseline_its_own() -> None:
    value = np.concatenate([VALUE, [0.1, 0.9, 0.4, 1.3], [0.66]])
    arm = np.append(ARM, [2, 2, 2, 2, 3])
    known = spread(value, np.zeros(12), arm)
    assert known is not None
    assert known.like.tolist() == [True, True, False, True]
    assert contrast(value, arm, 3, 2, known).error == pytest.approx(
        np.sqrt(known.variance + value[7:11].var(ddof=1) / 4)
    )


def test_parts_of_unlike_arms_add_up() -> None:
    whole = np.append(VALUE[:3], [0.1, 0.9, 0.4, 1.3])
    part = np.array([0.3, 0.31, 0.35, 0.2, 0.4, 0.1, 0.5])
    known = spread(whole, NONE, ARM)
    assert known is not None
    total, one, other = parts(np.array([whole, part, whole - part]), ARM, 1, 0, known)
    assert total.value == pytest.approx(one.value + other.value)
    theirs = ttest_ind(part[3:], part[:3], equal_var=False)
    assert one.value / one.error == pytest.approx(theirs.statistic)
    assert one.df == total.df


def test_one_seed_per_arm_has_no_spread_unless_it_is_given() -> None:
    arm, value = np.array([0, 1]), np.array([0.5, 0.6])
    assert spread(value, np.zeros(2), arm) is None
    known = spread(value, np.full(2, 0.0009), arm, between_sd=0.04)
    assert known is not None
    assert contrast(value, arm, 1, 0, known).error == pytest.approx(np.sqrt(2) * 0.05)


def test_holm_is_that_of_statsmodels() -> None:
    p_values = [0.04, 0.001, 0.3, 0.011, 0.04]
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])


@pytest.mark.parametrize(("count", "of"), [(0, 4), (1, 7), (8, 33), (5, 5)])
def test_a_share_is_that_of_statsmodels(count: int, of: int) -> None:
    theirs = proportion_confint(count, of, method="beta")
    assert share_interval(count, of, 0.95) == pytest.approx(tuple(map(float, theirs)), abs=1e-12)


@pytest.mark.parametrize(("sd", "margin"), [(0.02, 0.03), (0.01, 0.01), (0.05, 0.01)])
def test_seeds_needed_are_those_of_statsmodels(sd: float, margin: float) -> None:
    theirs = TTestIndPower().solve_power(effect_size=margin / sd, power=0.8, alpha=0.05)
    assert seeds_needed(sd, margin, 0.95) == int(np.ceil(theirs))


def test_equivalence_is_two_one_sided_tests() -> None:
    one = Contrast(value=0.004, error=0.003, df=10, p_value=0.2)
    # t of 10 degrees of freedom at 0.95 is 1.812: 0.004 + 0.00544 is within 0.01, and not within 0.009.
    assert one.within(0.01, 0.95)
    assert not one.within(0.009, 0.95)


def test_fieller_is_the_set_of_ratios_that_are_not_rejected() -> None:
    part = Contrast(value=0.4, error=0.1, df=8, p_value=0.0)
    total = Contrast(value=1.0, error=0.2, df=8, p_value=0.0)
    _, low, high = fieller(part, total, 0.005, 0.95)
    for ratio in (low, high):
        assert ratio is not None
        away = part.value - ratio * total.value
        error = np.sqrt(part.error**2 - 2 * ratio * 0.005 + ratio**2 * total.error**2)
        assert abs(away / error) == pytest.approx(2.306004, abs=1e-5)
    assert fieller(part, Contrast(value=0.1, error=0.2, df=8, p_value=0.6), 0.0, 0.95)[1:] == (None, None)


def test_a_band_of_one_way_to_differ_is_at_least_pointwise() -> None:
    level = np.outer([-1.0, 0.5, 0.5, -0.4, 0.4], np.ones(21))
    assert 3.18 < band_reach(level, 3.0, 0.95) < 12.0
    assert 1.96 < band_reach(level, np.inf, 0.95) < 3.0


def test_of_two_unlike_arms_the_one_with_more_seeds_is_the_spread_of_an_arm_with_one_seed() -> None:
    healthy = np.array([0.80, 0.82, 0.83, 0.81, 0.84, 0.80, 0.82, 0.83])
    value = np.concatenate([healthy, [0.0, 0.0], [0.87]])  # two seeds of a dead arm do not differ
    arm = np.repeat([0, 1, 2], [8, 2, 1])
    known = spread(value, np.zeros(11), arm)
    assert known.like.tolist() == [True, False, True]
    assert (known.variance, known.df) == (pytest.approx(healthy.var(ddof=1)), 7.0)
    low, high = contrast(value, arm, 2, 0, known).interval(0.95)
    assert high - low == pytest.approx(2 * t.ppf(0.975, 7) * healthy.std(ddof=1) * np.sqrt(1 + 1 / 8))
