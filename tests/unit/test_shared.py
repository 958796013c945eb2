"""Several runs: what is common, what is not, and the spread between seeds."""

import math

import numpy as np
import pytest

from entropylaw import fit_law
from entropylaw.analysis.groups import fit_shared, share
from entropylaw.documents.codec import decode, encode
from entropylaw.errors import FitError, UsageError
from entropylaw.report.render import MEDIA, rendered


def run(seed, *, ceiling=0.55, a=0.2, n=40, name=None):
    rng = np.random.default_rng(seed)
    entropy = 0.05 + 0.95 * np.exp(-4 * np.arange(n) / n)
    reward = ceiling - a * np.expm1(entropy) + 0.005 * rng.standard_normal(n)
    return entropy, reward, 10.0 * np.arange(n), name or f"seed {seed}"


@pytest.fixture(scope="module")
def alike():
    return fit_shared([run(i) for i in range(4)])


@pytest.fixture(scope="module")
def unlike():
    return fit_shared([run(i, ceiling=0.55 + 0.05 * i) for i in range(4)])


def width(estimate):
    return estimate.high - estimate.low


def test_common_values_lie_where_the_truth_is_and_are_narrower_than_any_run(alike):
    for name, truth in (("a", 0.2), ("b", 0.75), ("ceiling", 0.55)):
        common = getattr(alike, name)
        assert common.low < truth < common.high
        assert all(width(common) < width(one.own[name]) for one in alike.runs)
    assert alike.ceiling.value == pytest.approx(alike.b.value - alike.a.value, abs=0.002)


def test_alike_seeds_are_not_told_apart(alike):
    assert alike.same.p_value > 0.05
    assert alike.cautions == ()
    for one in alike.runs:
        assert all(d.low < 0 < d.high for d in one.deviation.values())


def test_unlike_seeds_are_told_apart_and_the_spread_between_them_is_the_answer(unlike):
    assert unlike.same.p_value < 1e-6
    ceiling = next(one for one in unlike.spread if one.coefficient == "ceiling")
    assert ceiling.answer == ceiling.between
    assert ceiling.tau.low > 0
    # Ceilings 0.55, 0.60, 0.65 and 0.70 have a standard deviation of 0.065.
    assert ceiling.tau.value == pytest.approx(0.0645, abs=0.005)
    assert width(ceiling.new_seed) > width(ceiling.between)
    assert any("differ by more" in sentence for sentence in unlike.cautions)
    first, last = unlike.runs[0].deviation["ceiling"], unlike.runs[-1].deviation["ceiling"]
    assert first.high < 0 < last.low


def test_one_shared_coefficient_leaves_the_others_to_the_runs():
    fit = fit_shared([run(1, ceiling=0.5), run(2, ceiling=0.6)], shared=["a"])
    assert fit.shared == ("a",)
    assert (fit.b.value, fit.ceiling.value) == (None, None)
    assert "own" in fit.ceiling.note
    low, high = (one.together["ceiling"] for one in fit.runs)
    assert (low.low < 0.5 < low.high, high.low < 0.6 < high.high) == (True, True)
    assert all(one.together["a"] == fit.a for one in fit.runs)
    assert all(list(one.deviation) == ["a"] for one in fit.runs)
    assert fit.same.p_value > 0.05


def test_two_coefficients_fix_the_third(alike):
    fits = [fit_law(h, r, s, run=name) for h, r, s, name in (run(i) for i in range(4))]
    for shared in (("a", "b"), ("b", "ceiling"), ("a", "ceiling")):
        assert share(fits, shared=shared) == alike


def test_order_of_runs_does_not_matter(alike):
    other = fit_shared([run(i) for i in (2, 0, 3, 1)])
    assert other.ceiling.value == pytest.approx(alike.ceiling.value, abs=1e-6)
    assert other.same.p_value == pytest.approx(alike.same.p_value, rel=1e-6)


def test_two_runs_have_no_spread_between_seeds():
    fit = fit_shared([run(1), run(2)])
    for one in fit.spread:
        assert one.between.value is None
        assert one.tau.low is None
        assert "2 runs; at least 3 are needed" in one.between.note
        assert one.answer == one.within


def test_the_wider_interval_answers(alike, unlike):
    for fit in (alike, unlike):
        for one in fit.spread:
            assert width(one.answer) == max(width(one.within), width(one.between))
            assert one.answer == max((one.within, one.between), key=lambda each: each.width or 0.0)


def test_seeds_closer_than_their_intervals_have_no_upper_end_of_tau():
    fit = fit_shared([run(0, name=f"copy {i}") for i in range(5)])
    tau = fit.spread[0].tau
    assert (tau.value, tau.low, tau.high) == (0.0, 0.0, None)
    assert "differ less than their standard errors" in tau.note


def test_known_noise_floor_has_normal_components():
    fit = fit_shared([run(i, n=20) for i in range(3)], eval_size=1000)
    assert fit.same.df2 == 1e9
    assert fit.ceiling.low < fit.ceiling.value < fit.ceiling.high


def test_refusals():
    with pytest.raises(UsageError, match="shared slope, expected names among"):
        fit_shared([run(0), run(1)], shared=["slope"])
    with pytest.raises(UsageError, match="shared nothing"):
        fit_shared([run(0), run(1)], shared=[])
    with pytest.raises(FitError, match="1 fitted run"):
        fit_shared([run(0)])
    fits = [fit_law(*run(i)[:3], level=level) for i, level in enumerate((0.9, 0.95))]
    with pytest.raises(UsageError, match="different levels"):
        share(fits)


def test_document_and_text(alike):
    assert encode(decode(type(alike), encode(alike))) == encode(alike)
    for medium in MEDIA:
        text = rendered(alike, medium)
        assert "nan" not in text
        assert "None" not in text
        if medium != "junit":
            assert all(one.run in text.replace("\\", "") for one in alike.runs)


def test_numbers_are_finite_in_short_runs():
    fit = fit_shared([run(i, n=5) for i in range(3)])
    ends = [
        end for name in ("a", "b", "ceiling") for end in (getattr(fit, name).low, getattr(fit, name).high)
    ]
    assert all(math.isfinite(end) for end in ends)
