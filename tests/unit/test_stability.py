"""What the answer rests on: the fit again without its first evaluations."""

import numpy as np
import pytest
import statsmodels.api as sm

from entropylaw import fit_law
from entropylaw.analysis.averaging import averaged_ceiling
from entropylaw.analysis.law.fitting import law_of_run
from entropylaw.analysis.stability import first_evaluations, rests_on
from entropylaw.results import Verdict

N = 80
STEP = 10.0 * np.arange(N)
ENTROPY = np.append(np.full(4, 1.7), 0.1 + 1.6 * np.exp(-4 * np.linspace(0.0, 1.0, N - 4)))
LAW = 0.6 - 0.1 * np.expm1(ENTROPY)


def fitted(reward, entropy=ENTROPY, step=STEP, sd=0.01, seed=2, **options):
    noise = sd * np.random.default_rng(seed).standard_normal(reward.size)
    return law_of_run(entropy, reward + noise, step, **options)


def test_the_cuts_leave_out_5_10_and_20_per_cent():
    cuts = rests_on(*fitted(LAW))
    assert [(cut.share, cut.dropped, cut.first_step) for cut in cuts] == [
        (0.05, 4, 40.0),
        (0.1, 8, 80.0),
        (0.2, 16, 160.0),
    ]


@pytest.mark.parametrize(("n", "dropped"), [(30, [2, 3, 6]), (16, [1, 2, 4]), (15, [1, 2]), (12, [])])
def test_at_least_1_2_and_4_are_left_out_and_12_remain(n, dropped):
    some = np.linspace(0, N - 1, n).astype(int)
    cuts = rests_on(*fitted(LAW[some], ENTROPY[some], STEP[some]))
    # After the first on which the answer rests there is no other.
    kept = next((i for i, cut in enumerate(cuts) if cut.changed), len(dropped)) + 1
    assert [cut.dropped for cut in cuts] == dropped[:kept]


def test_without_a_burn_in_nothing_rests_on_the_first_evaluations():
    cuts = rests_on(*fitted(LAW))
    assert not any(cut.changed for cut in cuts)
    assert all(cut.verdict is not Verdict.fails for cut in cuts)
    assert all(cut.ceiling.low < 0.6 < cut.ceiling.high for cut in cuts)


@pytest.mark.parametrize("shape", ["level", "ramp"])
def test_a_burn_in_is_found_and_the_answer_without_it_is_that_of_the_curve(shape):
    jump = np.where(np.arange(N) < 4, 1.0 if shape == "level" else 1.0 - np.arange(N) / 4, 0.0)
    fit, fits = fitted(LAW - 0.2 * jump)
    cuts = rests_on(fit, fits)
    assert cuts[0].changed
    assert cuts[0].p_first < 1e-3
    alone = fitted(LAW)
    assert cuts[0].ceiling.value == pytest.approx(rests_on(*alone)[0].ceiling.value, abs=0.01)
    assert cuts[0].verdict is rests_on(*alone)[0].verdict


def test_the_p_value_is_that_of_least_squares_where_one_curve_has_all_probability():
    """Beside the law and beside the cubic the larger, of a level and a ramp the smaller."""
    fit, fits = fitted(LAW, interval="ols")
    number, h = np.arange(N), ENTROPY
    expected = []
    for column in ((number < 8).astype(float), np.maximum(1 - number / 8, 0)):
        curves = ([np.exp(h)], [h, h**2, h**3])
        designs = (np.column_stack([np.ones(N), *curve, column]) for curve in curves)
        expected.append(max(sm.OLS(fit.reward, x).fit().pvalues[-1] for x in designs))
    assert first_evaluations(fit, fits, {"law": 1.0}, 8) == pytest.approx(min(expected), rel=1e-6)


def test_the_averaged_ceiling_is_that_of_the_answer():
    fit, fits = fitted(LAW)
    own = fit_law(fit.entropy, fit.reward, fit.step).ceiling
    found = averaged_ceiling(fits, level=0.95, method=own.method)
    # The law's own posterior has the errors in the entropy in it; here they are in the covariance.
    assert [found.low, found.value, found.high] == pytest.approx(
        [own.low, own.value, own.high], abs=0.1 * own.width
    )


def test_a_known_noise_and_noisy_entropies_are_cut_too():
    entropy = ENTROPY * (1 + 0.03 * np.random.default_rng(0).standard_normal(N))
    fit, fits = fitted(LAW[::6], entropy[::6], STEP[::6], eval_size=400)
    assert fit.residual_covariances.floor is not None
    assert [cut.dropped for cut in rests_on(fit, fits)] == [1, 2]
    fit, fits = fitted(LAW, entropy)
    assert fit.residual_covariances.errors is not None
    assert len(rests_on(fit, fits)) == 3


def test_the_same_run_gives_the_same_cuts():
    assert rests_on(*fitted(LAW)) == rests_on(*fitted(LAW))


def test_the_fit_says_what_its_answer_rests_on():
    jump = np.where(np.arange(N) < 4, 0.2, 0.0)
    reward = LAW - jump + 0.01 * np.random.default_rng(2).standard_normal(N)
    fit = fit_law(ENTROPY, reward, STEP)
    (found,) = (one for one in fit.findings if one.code == "rests-on-first")
    assert fit.cuts[-1].changed
    assert found.values["dropped"] == fit.cuts[-1].dropped == 4
    assert "(--from-step 40)" in found.sentence
    assert not any(
        one.code == "rests-on-first" for one in fit_law(ENTROPY, LAW + reward * 0.01, STEP).findings
    )
