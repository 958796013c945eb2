"""The rivals of the law: which form wins where it is true, what is skipped, tests, structural interval."""

import subprocess
import sys
from functools import cache

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.integrate import quad
from scipy.special import gammaln

from benchmarks.worlds import World, simulate
from entropylaw.analysis.forms import FORMS, entropy_forms, law_column, risen, step_forms
from entropylaw.analysis.forms import FORMULAS as STEP_FORMULAS
from entropylaw.analysis.members import REWARD_FORMULAS, reward_members
from entropylaw.analysis.rivals import (
    FormResult,
    ceiling_of,
    compare_forms,
    fit_each,
    fit_forms,
    nested_test,
    range_over,
    shape_estimate,
)
from entropylaw.engine.prior import drift_grid, white_grid
from entropylaw.results import Estimate
from tests.conftest import clean_environment
from tests.laws import own_law

CORE = {name for name, kind in FORMS.items() if kind.core}
N = 80
STEP = 10.0 * np.arange(1, N + 1)
FALLING = 0.02 + 0.98 * np.exp(-4 * np.arange(N) / N)
RETURNING = np.concatenate([FALLING[:50], FALLING[49] + np.linspace(0.01, 0.5, N - 50)])
TRUTHS = {
    "law": lambda h: 0.55 - 0.2 * np.expm1(h),
    "line": lambda h: 0.55 - 0.3 * h,
    "constant": lambda h: np.full_like(h, 0.5),
    "rate": lambda h: 0.55 - 0.1 * np.expm1(-4 * h) / -1.0,
    "power": lambda h: 0.6 - 0.3 * h**0.35,
    "quadratic": lambda h: 0.55 + 0.3 * h - 0.6 * h**2,
    "hinge": lambda h: 0.55 - 0.1 * h - 0.6 * np.maximum(h - 0.4, 0.0),
    "branches": lambda h: 0.55 - 0.2 * np.expm1(h) + 0.3 * risen(h),
}


def noise(sd=0.003, seed=2):
    return sd * np.random.default_rng(seed).standard_normal(N)


@cache
def compared(truth="law", first=0):
    """The fit of a run of which ``truth`` is true, from evaluation ``first`` on, and its comparison."""
    entropy = RETURNING if truth == "branches" else FALLING
    fit = own_law(entropy[first:], (TRUTHS[truth](entropy) + noise())[first:], STEP[first:])
    return fit, compare_forms(fit)


def rows(comparison) -> dict[str, FormResult]:
    return {row.form: row for row in comparison.forms}


@pytest.mark.parametrize("truth", TRUTHS)
def test_the_true_form_has_the_most_weight(truth):
    entropy = RETURNING if truth == "branches" else FALLING
    fits = fit_forms(STEP, entropy, TRUTHS[truth](entropy) + noise(), drift_grid(STEP), names=FORMS)
    assert max(fits.probability, key=fits.probability.get) == truth
    assert sum(fits.probability.values()) == pytest.approx(1.0)
    assert set(fits.fits) | set(fits.skipped) == set(FORMS)


STEP_TRUTHS = {
    "step_exponential": lambda s: 0.6 - 0.4 * np.exp(-(s - s[0]) / 150),
    "step_power": lambda s: 0.7 - 0.5 * (s / s[0]) ** -0.6,
    "step_logistic": lambda s: 0.6 - 0.4 / (1 + np.exp((s - 300) / 60)),
    "scalerl": lambda s: 0.2 + 0.4 / (1 + (300 / s) ** 2.5),
}


@pytest.mark.parametrize("truth", STEP_TRUTHS)
def test_the_true_form_of_the_step_has_the_most_weight_and_its_limit_is_covered(truth):
    forms, _ = step_forms(STEP)
    fits, _ = fit_each(forms, STEP, STEP_TRUTHS[truth](STEP) + noise(0.002), drift_grid(STEP))
    assert set(fits) == set(STEP_FORMULAS)
    assert max(fits, key=lambda name: fits[name].log_evidence) == truth
    low, high = ceiling_of(fits[truth]).quantiles((0.025, 0.975))
    assert low < {"step_power": 0.7}.get(truth, 0.6) < high


@pytest.mark.parametrize(("form", "truth", "widest"), [("power", 0.35, np.inf), ("hinge", 0.4, 0.1)])
def test_shape_parameters_are_found(form, truth, widest):
    reward = TRUTHS[form](FALLING) + noise(0.001)
    shape = shape_estimate(fit_forms(STEP, FALLING, reward, drift_grid(STEP), [form]).fits[form], 0, 0.95)
    assert shape.low < truth < shape.high
    assert shape.high - shape.low < widest


def test_a_fit_has_the_four_forms_of_every_fit_and_branches_where_entropy_turns():
    fits = fit_forms(STEP, FALLING, TRUTHS["law"](FALLING) + noise(), drift_grid(STEP))
    assert set(fits.fits) == CORE - {"branches"}
    turning = np.concatenate([FALLING[::2], FALLING[::-2]])[: STEP.size]
    fits = fit_forms(STEP, turning, TRUTHS["law"](turning) + noise(), drift_grid(STEP))
    assert set(fits.fits) == CORE


def test_log_evidence_of_linear_forms_is_the_closed_form():
    """White residuals: flat level, uniform slope density, 1/σ² integrated out, written by hand."""
    reward = TRUTHS["law"](FALLING) + noise(0.05)
    fits = fit_forms(STEP, FALLING, reward, white_grid(), names=FORMS)
    density = 1.0 / (2.0 * np.std(reward))
    for name, columns in {
        "constant": (),
        "law": (np.expm1(FALLING),),
        "line": (FALLING,),
        "quadratic": (FALLING, FALLING**2),
    }.items():
        design = np.stack([np.ones(N), *columns], axis=1)
        residual = reward - design @ np.linalg.lstsq(design, reward, rcond=None)[0]
        free, slopes = N - len(columns) - 1, len(columns)
        by_hand = gammaln(free / 2) - free / 2 * np.log(np.pi * (residual @ residual))
        # A slope is flat per standard deviation of its (orthogonalised) column, which has norm sd·√n.
        by_hand += slopes * np.log(density / np.sqrt(N))
        assert fits.fits[name].log_evidence == pytest.approx(by_hand, rel=1e-10)


def test_evidence_over_shapes_is_the_integral():
    """The free rate and the power against adaptive quadrature of the same integrand."""
    reward = TRUTHS["law"](FALLING) + noise(0.03)
    forms, _ = entropy_forms(FALLING)
    for form in forms:
        if form.name not in ("rate", "power"):
            continue
        fits, _ = fit_each([form], STEP, reward, white_grid())
        (shape,) = form.shapes

        def evidence(at, form=form, shape=shape, scale=1.0):
            column = form.design(form.inputs, np.array([float(shape.value(np.array(at)))]))
            residual = reward - column @ np.linalg.lstsq(column, reward, rcond=None)[0]
            return (residual @ residual) ** (-(N - 2) / 2) / scale

        axis = shape.axis()
        scale = evidence(axis[axis.size // 2])
        total, _ = quad(
            lambda at, scale=scale: evidence(at, scale=scale),
            axis[0],
            axis[-1],
            limit=400,
            points=list(axis[1:-1]),
        )
        constant = gammaln((N - 2) / 2) - (N - 2) / 2 * np.log(np.pi) + np.log(scale)
        by_hand = constant + np.log(total / np.ptp(axis)) - np.log(2.0 * np.std(reward) * np.sqrt(N))
        # One per cent of a weight.
        assert fits[form.name].log_evidence == pytest.approx(by_hand, abs=0.01)


def test_rise_counts_real_turns_only():
    assert risen(FALLING) is None
    assert risen(FALLING[::-1]) is None
    jitter = FALLING + 0.01 * np.random.default_rng(0).standard_normal(N)
    assert risen(jitter) is None
    rise = risen(RETURNING)
    assert np.all(rise[:50] == 0)
    assert rise[-1] == pytest.approx(law_column(RETURNING)[-1] - law_column(RETURNING)[49])
    assert np.all(np.diff(rise[49:]) > 0)


def test_two_rises_add_up():
    corners = [1.0, 0.2, 0.8, 0.1, 0.6]
    rise = risen(np.interp(np.arange(81), 20 * np.arange(5), corners))
    x = np.exp(corners)
    assert rise[-1] == pytest.approx((x[2] - x[1]) + (x[4] - x[3]))


def test_a_run_that_gives_nothing_back_has_its_ceiling_from_where_it_is():
    """Reward stays where entropy comes back: the law alone would halve what is still to be won."""
    reward = 0.55 - 0.2 * (law_column(RETURNING) - risen(RETURNING)) + noise()
    comparison = compare_forms(own_law(RETURNING, reward, STEP))
    found = rows(comparison)["branches"]
    assert found.probability > 0.9
    assert found.ceiling.low < 0.55 + 0.2 * risen(RETURNING)[-1] < found.ceiling.high
    assert comparison.branch_test.p_value < 1e-6


def test_what_a_run_cannot_show_is_named():
    forms, skipped = entropy_forms(np.linspace(0.5, -0.1, 30))
    assert "reaches -0.1" in skipped["power"]
    assert "does not both fall and rise" in skipped["branches"]
    assert {form.name for form in forms}.isdisjoint(skipped)
    fits = fit_forms(STEP[:5], FALLING[:5], noise()[:5], white_grid(), names=FORMS)
    assert fits.skipped["hinge"].startswith(("5 evaluations", "a break needs"))
    assert step_forms(STEP - 100.0)[1] == {"scalerl": "steps begin at -90, and the sigmoid counts from 0"}


def test_columns_that_cannot_be_told_apart_are_skipped():
    two_levels = np.where(np.arange(30) < 15, 0.8, 0.2)
    reward = 0.5 - 0.2 * two_levels + noise()[:30]
    fits = fit_forms(STEP[:30], two_levels, reward, white_grid(), names=FORMS)
    assert fits.skipped["quadratic"] == "its columns are not independent on this run"
    assert {"law", "line", "rate", "power"} <= set(fits.fits)
    # Two levels cannot tell the law from the line: neither can the weights.
    assert fits.probability["law"] == pytest.approx(fits.probability["line"])
    comparison = compare_forms(own_law(two_levels, reward, STEP[:30], interval="ols"))
    assert comparison.law_test.p_value is None
    assert "not independent" in comparison.law_test.note


def test_nested_test_is_the_t_test_without_drift():
    reward = TRUTHS["law"](FALLING) + noise(0.01)
    columns = (law_column(FALLING), FALLING * np.exp(FALLING))
    test = nested_test("law", "rate", columns, STEP, reward, white_grid())
    reference = sm.OLS(reward, np.stack([np.ones(N), *columns], axis=1)).fit()
    assert test.p_value == pytest.approx(reference.pvalues[2], rel=1e-8)


RUNS = 300


@pytest.mark.parametrize(
    ("rho", "grid", "least", "most"),
    [
        (0.0, "white", 0.02, 0.0877),
        (0.0, "drift", 0.0, 0.0877),
        (0.6, "drift", 0.0, 0.0877),
        # A test that ignores drift does not keep its size: the others can fail.
        (0.6, "white", 0.12, 1.0),
    ],
)
def test_nested_test_keeps_its_size(rho, grid, least, most):
    """Runs of which the law is true: a test at 5 % rejects in no more of them, but for three errors."""
    world = simulate(World(path="exponential", n=50, rho=rho, noise=0.0 if rho else 1.0), RUNS, seed=31)
    entropy = world.entropy[0]
    columns = (law_column(entropy), entropy * np.exp(entropy))
    covariances = white_grid() if grid == "white" else drift_grid(world.step)
    tests = [nested_test("law", "rate", columns, world.step, r, covariances) for r in world.rewards]
    assert least <= np.mean([test.p_value < 0.05 for test in tests]) <= most


def test_nested_test_sees_a_line():
    _, comparison = compared("line")
    assert comparison.law_test.p_value < 1e-3 < 0.05 < comparison.line_test.p_value
    assert comparison.rate_tail < 1e-3


def test_weights_are_within_a_kind_and_odds_across():
    _, comparison = compared()
    found = rows(comparison)
    assert set(STEP_FORMULAS) <= set(found)
    for variable in ("entropy", "step"):
        each = [row.probability for row in comparison.forms if row.variable == variable]
        assert sum(each) == pytest.approx(1.0)
        assert each == sorted(each, reverse=True)
    assert found["law"].log_odds == 0
    ratio = np.log(found["line"].probability / found["law"].probability)
    assert found["line"].log_odds == pytest.approx(ratio)
    assert set(comparison.alike) == {
        row.form for row in comparison.forms if row.form != "law" and abs(row.log_odds) <= np.log(20)
    }


@pytest.mark.parametrize("first", [0, 40])
def test_structural_intervals_span_the_forms_that_are_left(first):
    """The limit in steps joins the reward at H = 0 only where entropy is spent: not in the last half."""
    _, comparison = compared(first=first)
    for name, variable in (("ceiling", "entropy"), ("limit", "step")):
        kept = [row.ceiling for row in comparison.forms if row.variable == variable and not row.ruled_out]
        assert len(kept) > (3 if first and variable == "entropy" else 0)
        for end, extreme in (("low", min), ("high", max)):
            ends = [getattr(one, end) for one in kept]
            assert getattr(getattr(comparison, name), end) == (None if None in ends else extreme(ends))
    if first:
        assert comparison.reach is None
        assert "not the reward at H = 0" in comparison.reach_note
    else:
        assert comparison.reach_note is None
        assert comparison.reach.low == min(comparison.ceiling.low, comparison.limit.low)
        assert comparison.reach.high == max(comparison.ceiling.high, comparison.limit.high)


def test_an_open_end_opens_the_range():
    def estimate(low, high):
        return Estimate(value=0.5, low=low, high=high, level=0.95, method="m")

    wide = range_over([("a", 0.5, estimate(0.4, 0.6)), ("b", 0.5, estimate(None, 0.7))], 0.95)
    assert (wide.low, wide.high) == (None, 0.7)
    assert "b" in wide.note


def test_a_reward_of_the_other_sign_changes_no_odds():
    _, one = compared("power")
    other = compare_forms(own_law(FALLING, 3.0 - 40.0 * (TRUTHS["power"](FALLING) + noise()), STEP))
    for form, row in rows(one).items():
        assert rows(other)[form].log_odds == pytest.approx(row.log_odds, abs=1e-5)
    assert other.law_test.p_value == pytest.approx(one.law_test.p_value, rel=1e-6)


@pytest.mark.parametrize("settings", [{"interval": "ols"}, {"eval_size": 400}, {}])
def test_the_comparison_uses_the_residual_model_of_the_fit(settings):
    fit = own_law(FALLING, TRUTHS["law"](FALLING) + noise(), STEP, **settings)
    own = fit_forms(STEP, fit.smoothed_entropy, fit.reward, fit.residual_covariances)
    assert own.probability["law"] == pytest.approx(fit.probability, rel=1e-9)
    if "eval_size" in settings:  # The comparison of all forms takes seconds there.
        return
    found = rows(compare_forms(fit) if settings else compared()[1])
    odds = np.log(own.probability["line"] / own.probability["law"])
    assert found["law"].ceiling.low == pytest.approx(fit.ceiling.low, rel=1e-9)
    assert found["line"].log_odds == pytest.approx(odds, abs=1e-6)


def test_baselines():
    """Forecasts of every later reward that need no form."""
    step, entropy = np.arange(4.0), np.array([1.0, 0.8, 0.6, 0.5])
    every = reward_members(step, entropy, np.array([0.1, 0.2, 0.3, 0.7]), np.array([9.0]), np.array([0.4]))
    members = dict(zip(REWARD_FORMULAS, every[:, 0].tolist(), strict=True))
    assert members["last"] == 0.7
    assert members["mean of three"] == pytest.approx(0.4)
    assert members["mean of half"] == pytest.approx(0.5)
    assert members["mean of all"] == pytest.approx(0.325)
    assert np.nanmax(every) <= 1.0


def test_a_fit_imports_no_lmfit(tmp_path):
    log = tmp_path / "run.csv"
    lines = [f"{s:g},{h!r},{r!r}" for s, h, r in zip(STEP, FALLING.tolist(), noise().tolist(), strict=True)]
    log.write_text("step,entropy,reward\n" + "\n".join(lines) + "\n")
    code = (
        "import sys; from entropylaw import fit_logs; import entropylaw.analysis.lmfit_model; "
        f"assert fit_logs([{str(log)!r}]).runs[0].law is not None; "
        "assert 'lmfit' not in sys.modules, 'imported'"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=clean_environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
