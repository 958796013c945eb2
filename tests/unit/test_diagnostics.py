"""Each finding about a fit, provoked once, and absent where it does not apply."""

import numpy as np
import pytest

from entropylaw.results import Verdict, Why
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


def long_memory(n, seed=0):
    """Noise (n,) whose memory has no end: white noise integrated .4 times."""
    lag = np.arange(1.0, n)
    weights = np.append(1.0, np.cumprod((lag - 1.0 + 0.4) / lag))
    return np.convolve(noise(2 * n, 1.0, seed), weights)[n : 2 * n]


REBOUND = np.concatenate([FALL, np.linspace(0.07, 0.6, 20)])
TIME = np.linspace(0.0, 1.0, 80)
LATE = np.concatenate([np.full(10, LINE[0]), LINE])
LONG = falling(800)

FAILS = {
    "reward-rises-with-entropy": (Why.reverse, (FALL, 0.3 + 0.2 * np.expm1(FALL) + noise(60))),
    "step-says-more": (Why.step, (REBOUND, 0.3 + 0.3 * TIME + noise(80))),
}
UNDECIDED = {
    "too-few-evaluations": (Why.few, law(falling(6))),
    "entropy-range-narrow": (Why.narrow, law(0.30 + 0.04 * falling(40, 1.0, 0.0))),
    "slope-unclear": (Why.slope, (FALL, 0.4 + noise(60, 0.02))),
    "line-as-good": (Why.line, law(falling(60, 0.4))),
    "another-curve": (Why.curve, (LINE, 0.9 - 0.3 * LINE + noise(100))),
    "neither-says-more": (Why.neither, (FALL, 0.3 + 0.3 * TIME[:60] + noise(60, 0.02))),
}
CAUTIONS = {
    "entropy-both-signs": law(FALL - 0.3),
    "entropy-rises": law(FALL[::-1]),
    "entropy-rebounds": law(REBOUND),
    "reward-smoothed": (NOISY, smoothed(DRIFTING)),
    "no-curve-fits": (LINE, 0.5 - 0.1 * np.sin(6 * LINE) + noise(100, 0.002)),
    # First evaluations before the answer format is learned.
    "first-off-curve": (FALL, law(FALL)[1] - 0.4 * (np.arange(60) < 3)),
    "reward-lags": (LINE, 0.9 - 0.1 * np.convolve(np.exp(LATE), np.ones(11) / 11, "valid") + noise(100)),
    "long-memory": (LONG, law(LONG)[1] + 0.02 * long_memory(800)),
}
VALUES = {
    "too-few-evaluations": {"n": 6, "needed": 8},
    "entropy-range-narrow": {
        "span": pytest.approx(0.039, abs=5e-4),
        "logged": pytest.approx(0.0392, abs=1e-4),
        "needed": 0.1,
    },
    "another-curve": {"form": "line", "label": "a straight line in H"},
    "slope-unclear": {"probability": pytest.approx(0.5, abs=0.4)},
    "entropy-rises": {"rise": pytest.approx(0.845, abs=0.005), "limit": 0.3},
    "first-off-curve": {"dropped": 3, "step": 3.0, "value": pytest.approx(0.54, abs=0.02)},
}
"""Some values of the findings."""


def found(fit, code, severity):
    """The finding of a code, of which there is one, in the sentences of its severity."""
    (finding,) = [finding for finding in fit.findings if finding.code == code]
    assert finding.severity == severity
    assert finding.sentence in (fit.reasons if severity == "reason" else fit.cautions)
    assert {name: finding.values[name] for name in VALUES.get(code, ())} == VALUES.get(code, {})
    return finding


@pytest.mark.parametrize("code", [*FAILS, *UNDECIDED])
def test_why_the_law_does_not_hold_is_the_one_reason(code):
    verdict = Verdict.fails if code in FAILS else Verdict.undecided
    why, run = {**FAILS, **UNDECIDED}[code]
    fit = fit_arrays(*run)
    assert (fit.law.verdict, fit.law.why) == (verdict, why)
    assert fit.reasons == (found(fit, code, "reason").sentence,)
    assert fit.findings[0].code == code


@pytest.mark.parametrize("code", CAUTIONS)
def test_what_limits_the_numbers_is_a_caution(code):
    fit = fit_arrays(*CAUTIONS[code])
    assert found(fit, code, "caution").sentence in fit.cautions


def test_rewards_far_beyond_the_last_entropy_are_a_caution():
    entropy, reward = law(FALL)
    for known, said in ((50, True), (56, False)):
        fit = fit_arrays(np.where(np.arange(60) < known, entropy, np.nan), reward)
        assert fit.law.n == known
        assert fit.n_rewards == 60
        assert ("entropy-ends-early" in [finding.code for finding in fit.findings]) == said


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
