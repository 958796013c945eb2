"""Each finding about a fit, provoked once, and absent where it does not apply."""

import numpy as np
import pytest

from entropylaw import Verdict, Why
from tests.laws import fit_arrays


def noise(n, sd=0.004, seed=0):
    return sd * np.random.default_rng(seed).standard_normal(n)


def falling(n, start=1.0, end=0.05):
    return end + (start - end) * np.exp(-4 * np.arange(n) / n)


def law(entropy, a=0.2, ceiling=0.55, sd=0.004):
    """An entropy with the reward that the law gives, plus noise."""
    return entropy, ceiling - a * np.expm1(entropy) + noise(entropy.size, sd)


FALL = falling(60)
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

REASONS = {
    "reward-rises-with-entropy": (Why.reverse, (FALL, 0.3 + 0.2 * np.expm1(FALL) + noise(60))),
    "another-curve": (Why.curve, (LINE, 0.9 - 0.3 * LINE + noise(100))),
    "step-says-more": (Why.step, (REBOUND, 0.3 + 0.3 * TIME + noise(80))),
    "too-few-evaluations": (Why.few, law(falling(6))),
    "entropy-range-narrow": (Why.narrow, law(0.30 + 0.04 * falling(40, 1.0, 0.0), sd=0.001)),
    "slope-unclear": (Why.slope, (FALL, 0.4 + noise(60, 0.02))),
    "line-as-good": (Why.line, law(0.1 + 0.3 * (1.0 - TIME) + 0.05 * np.sin(9.0 * TIME))),
}
CAUTIONS = {
    "entropy-both-signs": law(FALL - 0.3),
    "entropy-rises": law(FALL[::-1]),
    "entropy-rebounds": law(REBOUND),
    "reward-smoothed": (NOISY, smoothed(DRIFTING)),
}
VALUES = {
    "too-few-evaluations": {"n": 6, "needed": 8},
    "entropy-range-narrow": {
        "span": pytest.approx(0.039, abs=5e-4),
        "logged": pytest.approx(0.0392, abs=1e-4),
        "needed": 0.1,
    },
    "another-curve": {"form": "line", "label": "a straight line in H"},
    "entropy-rises": {"rise": pytest.approx(0.845, abs=0.005), "limit": 0.3},
}
"""Some values of the findings."""


def found(fit, code, severity):
    """The finding of a code, of which there is one, in the sentences of its severity."""
    (finding,) = [finding for finding in fit.findings if finding.code == code]
    assert finding.severity == severity
    assert finding.sentence in (fit.reasons if severity == "reason" else fit.cautions)
    assert {name: finding.values[name] for name in VALUES.get(code, ())} == VALUES.get(code, {})
    return finding


@pytest.mark.parametrize("code", REASONS)
def test_why_the_law_does_not_hold_is_one_reason(code):
    why, run = REASONS[code]
    fit = fit_arrays(*run)
    assert fit.law.why is why
    assert fit.law.verdict is not Verdict.holds
    assert fit.reasons == (found(fit, code, "reason").sentence,)


@pytest.mark.parametrize("code", CAUTIONS)
def test_what_limits_the_numbers_is_a_caution(code):
    fit = fit_arrays(*CAUTIONS[code])
    assert found(fit, code, "caution").sentence in fit.cautions


@pytest.mark.parametrize(
    ("run", "code"),
    [
        ((NOISY, DRIFTING), "reward-smoothed"),
        (law(falling(100) + noise(100, 0.02, 5)), "reward-smoothed"),
        (law(FALL), "entropy-rebounds"),
    ],
    ids=["raw reward with drift", "raw reward", "entropy falls"],
)
def test_what_is_not_wrong_is_no_finding(run, code):
    assert code not in [finding.code for finding in fit_arrays(*run).findings]


def test_a_clean_run_holds_without_findings():
    fit = fit_arrays(*law(FALL))
    assert (fit.law.verdict, fit.law.why) == (Verdict.holds, None)
    assert fit.findings == ()


def test_the_effective_sample_size_is_at_most_the_number_of_evaluations():
    """Where the scatter shrinks with the entropy, late evaluations would count for more than one each."""
    entropy = 0.02 + 1.2 * np.exp(-5 * np.linspace(0, 1, 60))
    height = np.expm1(entropy) - np.expm1(entropy[-1])
    shrinking = np.exp(2.5 * height / height[0])
    for seed in (1, 2):
        reward = 0.9 - 0.25 * np.expm1(entropy) + 0.002 * shrinking * noise(60, 1.0, seed)
        assert fit_arrays(entropy, reward).law.residuals.effective_n == 60
