"""Each finding about a fit, provoked once, and absent where it does not apply."""

import numpy as np
import pytest

from entropylaw import Verdict, Why
from entropylaw.analysis.law.diagnostics import lost_reward, reasons_of
from entropylaw.analysis.law.verdict import IN_ENTROPY, IN_STEP
from entropylaw.results.result import replace
from tests.laws import fit_arrays


def noise(n, sd=0.004, seed=0):
    return sd * np.random.default_rng(seed).standard_normal(n)


def falling(n, start=1.0, end=0.05):
    return end + (start - end) * np.exp(-4 * np.arange(n) / n)


def law(entropy, a=0.2, ceiling=0.55, sd=0.004):
    """An entropy with the reward that the law gives, plus noise."""
    return entropy, ceiling - a * np.expm1(entropy) + noise(entropy.size, sd)


FALL = falling(60)
HIGH = 0.5 + falling(60, 1.0, 0.0)
LINE = falling(100, 2.0)
NOISY = falling(200) + noise(200, 0.01, 5)
DRIFTING = law(NOISY, sd=0.0)[1] + np.cumsum(noise(200, 0.01))


def smoothed(reward):
    """An exponential average, as a tracker's chart draws it."""
    smooth = [reward[0]]
    for value in reward[1:]:
        smooth.append(0.9 * smooth[-1] + 0.1 * value)
    return np.array(smooth)


REBOUND = np.concatenate([FALL, np.linspace(0.07, 0.6, 20)])
TIME = np.linspace(0.0, 1.0, 80)
SHIFTED = FALL + 0.3

FAILS = {
    "reward-falls": (Why.no_relation, (FALL, 0.3 + 0.2 * np.expm1(FALL) + noise(60))),
    "another-curve": (Why.another_curve, (LINE, 0.9 - 0.3 * LINE + noise(100))),
    "more-than-entropy": (Why.more_than_entropy, (REBOUND, 0.3 + 0.3 * TIME + noise(80))),
}
UNDECIDED = {
    "too-few-evaluations": law(falling(6)),
    "entropy-range-narrow": law(0.30 + 0.04 * falling(40, 1.0, 0.0)),
    "slope-unclear": (FALL, 0.4 + noise(60, 0.02)),
    "weak-relation": (FALL, 0.4 + noise(60, 0.02)),
    "curve-as-good": law(falling(60, 0.4)),
}
CAUTIONS = {
    # No relation, except for a first evaluation before the answer format is learned.
    "entropy-both-signs": law(FALL - 0.3),
    "entropy-rises": law(FALL[::-1]),
    "entropy-rebounds": law(REBOUND),
    "ceiling-impossible": (HIGH, np.clip(law(HIGH, 0.4, 1.25, 0.002)[1], 0, 1)),
    "ceiling-above-one": (SHIFTED, np.clip(law(SHIFTED, 0.3, 1.02, 0.03)[1], 0, 1)),
    "reward-smoothed": (NOISY, smoothed(DRIFTING)),
    "reward-lost": (REBOUND, np.concatenate([law(FALL)[1], 0.02 + noise(20)])),
}
VALUES = {
    "too-few-evaluations": {"n": 6, "needed": 8},
    "entropy-range-narrow": {
        "span": pytest.approx(0.039, abs=5e-4),
        "logged": pytest.approx(0.0392, abs=1e-4),
        "needed": 0.15,
    },
    "weak-relation": {"r_squared": pytest.approx(0.01, abs=0.01), "needed": 0.5},
    "curve-as-good": {"curve": "line"},
    "another-curve": {"form": "line", "label": "a straight line in H"},
    "more-than-entropy": {"curve": "step"},
    "entropy-rises": {"rise": pytest.approx(0.845, abs=0.005), "limit": 0.3},
    "reward-lost": {
        "first": pytest.approx(0.27, abs=0.01),
        "best": pytest.approx(0.54, abs=0.01),
        "last": pytest.approx(0.02, abs=0.01),
    },
}
"""Some values of the findings."""


def found(fit, code, severity):
    """The finding of a code, of which there is one, in the sentences of its severity."""
    (finding,) = [finding for finding in fit.findings if finding.code == code]
    assert finding.severity == severity
    assert finding.sentence in (fit.reasons if severity == "reason" else fit.cautions)
    assert {name: finding.values[name] for name in VALUES.get(code, ())} == VALUES.get(code, {})
    return finding


@pytest.mark.parametrize("code", FAILS)
def test_why_the_law_fails_is_the_first_reason(code):
    why, run = FAILS[code]
    fit = fit_arrays(*run)
    assert (fit.verdict, fit.why) == (Verdict.fails, why)
    assert fit.reasons == (found(fit, code, "reason").sentence,)


def test_a_constant_that_is_far_better_is_no_relation():
    fit = fit_arrays(FALL, 0.4 + noise(60, 0.02))
    tests = replace(fit.tests, odds_constant=60.0, spearman=-0.1)
    fit = replace(fit, verdict=Verdict.fails, why=Why.no_relation, tests=tests)
    (finding,) = reasons_of(fit.tests, fit.verdict, fit.why, fit.law, fit.forms)
    assert (finding.code, finding.values["odds"]) == ("no-relation", 60.0)


@pytest.mark.parametrize("code", UNDECIDED)
def test_what_is_missing_is_a_reason(code):
    fit = fit_arrays(*UNDECIDED[code])
    assert (fit.verdict, fit.why) == (Verdict.undecided, None)
    found(fit, code, "reason")
    # What fits as well is said last.
    assert fit.findings[len(fit.reasons) - 1].code == "curve-as-good"


@pytest.mark.parametrize("code", CAUTIONS)
def test_what_limits_the_numbers_is_a_caution(code):
    fit = fit_arrays(*CAUTIONS[code])
    assert found(fit, code, "caution").sentence in fit.cautions


def test_the_best_rate_is_named_where_no_curve_is_clearly_better():
    """The step matters beside the law, and so does the curve, but neither is clearly better."""
    fit = fit_arrays(*FAILS["another-curve"][1])
    small = {f"odds_{name}": 2.0 for name in (*IN_ENTROPY, *IN_STEP)}
    fit = replace(fit, tests=replace(fit.tests, p_step=0.001, **small))
    (finding,) = reasons_of(fit.tests, fit.verdict, fit.why, fit.law, fit.forms)
    assert finding.code == "curve-differs"
    (rate,) = [one.shapes["k"] for one in fit.forms if one.form == "rate"]
    assert [finding.values[name] for name in ("rate", "low", "high")] == [rate.value, rate.low, rate.high]
    assert finding.values["p_value"] == min(fit.tests.p_step, fit.tests.p_log_step)


@pytest.mark.parametrize(
    ("run", "code"),
    [
        (law(HIGH, 4, 12.5, 0.02), "ceiling-impossible"),
        ((NOISY, DRIFTING), "reward-smoothed"),
        (law(falling(100) + noise(100, 0.02, 5)), "reward-smoothed"),
        (law(FALL), "entropy-rebounds"),
    ],
    ids=["rewards beyond 1", "raw reward with drift", "raw reward", "entropy falls"],
)
def test_what_is_not_wrong_is_no_finding(run, code):
    assert code not in [finding.code for finding in fit_arrays(*run).findings]


def test_a_clean_run_holds_without_findings():
    fit = fit_arrays(*law(FALL))
    assert (fit.verdict, fit.why) == (Verdict.holds, None)
    assert fit.findings == ()


def test_a_flat_reward_that_drifts_has_not_lost_its_reward():
    drift = 0.5 + 0.03 * np.sin(np.linspace(0, 2 * np.pi, 60)) + noise(60, 0.002)
    assert lost_reward(drift) is None
    lost = lost_reward(np.append(drift, 0.2 + noise(10, 0.002)))
    assert list(lost.values.values()) == pytest.approx([0.502, 0.53, 0.2], abs=0.01)


def test_a_reward_that_is_lost_within_one_evaluation():
    lost = lost_reward(np.append(0.2, np.zeros(50)))
    assert list(lost.values.values()) == [0.2, 0.2, 0.0]
    # One later evaluation that is as good says that the first was no level of its own.
    assert lost_reward(np.concatenate([[0.2], np.zeros(30), [0.2], np.zeros(19)])) is None


def test_the_effective_sample_size_is_at_most_the_number_of_evaluations():
    """Where the scatter shrinks with the entropy, late evaluations would count for more than one each."""
    entropy = 0.02 + 1.2 * np.exp(-5 * np.linspace(0, 1, 60))
    height = np.expm1(entropy) - np.expm1(entropy[-1])
    shrinking = np.exp(2.5 * height / height[0])
    for seed in (1, 2):
        reward = 0.9 - 0.25 * np.expm1(entropy) + 0.002 * shrinking * noise(60, 1.0, seed)
        assert fit_arrays(entropy, reward).law.residuals.effective_n == 60
