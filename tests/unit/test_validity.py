"""Each reason and each caution, provoked once, and absent where it does not apply."""

import numpy as np
import pytest

from entropylaw import fit_law


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
FORMAT_LEARNED = np.concatenate([[1.2], falling(40, 0.30)])
NOISY = falling(200) + noise(200, 0.01, 5)
DRIFTING = law(NOISY, sd=0.0)[1] + np.cumsum(noise(200, 0.01))


def smoothed(reward):
    """An exponential average, as a tracker's chart draws it."""
    smooth = [reward[0]]
    for value in reward[1:]:
        smooth.append(0.9 * smooth[-1] + 0.1 * value)
    return np.array(smooth)


def with_long_drift():
    rng, drift = np.random.default_rng(8), np.zeros(40)
    for i in range(1, 40):
        drift[i] = 0.98 * drift[i - 1] + 0.01 * rng.standard_normal()
    return falling(40), law(falling(40), sd=0.0)[1] + drift


REASONS = {
    "too-few-evaluations": law(falling(6)),
    "entropy-range-narrow": law(0.30 + 0.04 * falling(40, 1.0, 0.0)),
    "reward-falls": (FALL, 0.3 + 0.2 * np.expm1(FALL) + noise(60)),
    "slope-unclear": (FALL, 0.4 + noise(60, 0.02)),
    "ceiling-impossible": (HIGH, np.clip(law(HIGH, 0.4, 1.25, 0.002)[1], 0, 1)),
    "entropy-rises": law(FALL[::-1]),
    "law-ruled-out": (LINE, 0.9 - 0.3 * LINE + noise(100)),
    # No relation, except for a first evaluation before the answer format is learned.
    "one-evaluation-decides": (FORMAT_LEARNED, np.concatenate([[0.0], 0.5 + noise(40, 0.01)])),
    "entropy-both-signs": law(FALL - 0.3),
}
CAUTIONS = {
    "forms-as-good": law(falling(60, 0.4)),
    "entropy-rebounds": law(np.concatenate([FALL, np.linspace(0.07, 0.6, 20)])),
    "reward-smoothed": (NOISY, smoothed(DRIFTING)),
    "residuals-drift": with_long_drift(),
}
VALUES = {
    "too-few-evaluations": {"n": 6, "needed": 8},
    "entropy-range-narrow": {"span": pytest.approx(0.039, abs=5e-4), "needed": 0.15},
    "one-evaluation-decides": {"step": 0.0},
    "law-ruled-out": {"label": "a straight line in H"},
}
"""Some values of the findings."""


@pytest.mark.parametrize("code", REASONS | CAUTIONS)
def test_what_is_wrong_is_a_finding(code):
    validity = fit_law(*(REASONS | CAUTIONS)[code]).validity
    (finding,) = [finding for finding in validity.findings if finding.code == code]
    assert finding.severity == ("reason" if code in REASONS else "caution")
    assert finding.sentence in (*validity.reasons, *validity.cautions)
    assert {name: finding.values[name] for name in VALUES.get(code, ())} == VALUES.get(code, {})
    if code in REASONS:
        assert not validity.ok
    if code == "reward-falls":
        assert validity.contradicted
    if code == "too-few-evaluations":
        # A run that is too short is no evidence against the law.
        assert not validity.contradicted
    if code == "forms-as-good":
        assert validity.ok
        assert "a straight line in H" in finding.values["labels"]


@pytest.mark.parametrize(
    ("run", "code"),
    [
        (law(HIGH, 4, 12.5, 0.02), "ceiling-impossible"),
        ((NOISY, DRIFTING), "reward-smoothed"),
        (law(falling(100) + noise(100, 0.02, 5)), "reward-smoothed"),
    ],
    ids=["rewards beyond 1", "raw reward with drift", "raw reward"],
)
def test_what_is_not_wrong_is_no_finding(run, code):
    assert code not in [finding.code for finding in fit_law(*run).validity.findings]


def test_a_clean_run_is_valid_without_reasons():
    validity = fit_law(*law(FALL)).validity
    assert validity.ok
    assert validity.reasons == ()
