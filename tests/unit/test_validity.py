"""Each reason and each caution, provoked once, and absent where it does not apply."""

import numpy as np

from entropylaw import fit_law


def fitted(entropy, reward, step=None, **options):
    return fit_law(np.asarray(entropy), np.asarray(reward), step, **options).validity


def noise(n, sd=0.004, seed=0):
    return sd * np.random.default_rng(seed).standard_normal(n)


def falling(n, start=1.0, end=0.05):
    return end + (start - end) * np.exp(-4 * np.arange(n) / n)


def law(entropy, a=0.2, ceiling=0.55):
    return ceiling - a * np.expm1(entropy)


def one(sentences, fragment):
    found = [sentence for sentence in sentences if fragment in sentence]
    assert len(found) == 1, sentences
    return found[0]


def test_a_clean_run_is_valid_without_reasons():
    h = falling(60)
    validity = fitted(h, law(h) + noise(60))
    assert validity.ok
    assert validity.reasons == ()


def test_few_evaluations():
    """A run that is too short cannot answer; it does not contradict the law."""
    h = falling(6)
    validity = fitted(h, law(h) + noise(6))
    assert not validity.ok
    assert not validity.contradicted
    assert one(validity.reasons, "6 evaluations; 8 are needed")


def test_small_range():
    h = 0.30 + 0.04 * falling(40, 1.0, 0.0)
    assert one(fitted(h, law(h) + noise(40)).reasons, "entropy spans 0.039 nats; 0.15 are needed")


def test_reward_that_falls_with_entropy():
    h = falling(60)
    validity = fitted(h, 0.3 + 0.2 * np.expm1(h) + noise(60))
    assert one(validity.reasons, "reward falls as entropy is spent")
    assert validity.contradicted


def test_no_relation():
    h = falling(60)
    assert one(fitted(h, 0.4 + noise(60, 0.02)).reasons, "does not clearly rise")


def test_ceiling_above_one():
    h = 0.5 + falling(60, 1.0, 0.0)
    reward = np.clip(1.25 - 0.4 * np.expm1(h) + noise(60, 0.002), 0, 1)
    assert one(fitted(h, reward).reasons, "lies above 1")


def test_rewards_beyond_one_have_no_such_bound():
    h = 0.5 + falling(60, 1.0, 0.0)
    reward = 12.5 - 4 * np.expm1(h) + noise(60, 0.02)
    assert not [s for s in fitted(h, reward).reasons if "above 1" in s]


def test_rising_entropy():
    h = falling(60)[::-1]
    assert one(fitted(h, law(h) + noise(60)).reasons, "entropy ends higher than it began")


def test_a_line_that_is_told_from_the_law():
    h = falling(100, 2.0)
    validity = fitted(h, 0.9 - 0.3 * h + noise(100))
    assert one(validity.reasons, "a straight line in H describes the run better")


def test_a_short_range_cannot_tell_law_from_line():
    h = falling(60, 0.4)
    validity = fitted(h, law(h) + noise(60))
    assert validity.ok
    assert one(validity.cautions, "from a straight line in H")


def test_one_evaluation_carries_the_fit():
    """No relation at all, but for a first evaluation before the answer format is learned."""
    h = np.concatenate([[1.2], falling(40, 0.30)])
    reward = np.concatenate([[0.0], 0.5 + noise(40, 0.01)])
    assert one(fitted(h, reward).reasons, "rests on one evaluation: without step 0")


def test_fall_then_rise():
    h = np.concatenate([falling(60), np.linspace(0.07, 0.6, 20)])
    assert one(fitted(h, law(h) + noise(80)).cautions, "and then rises by")


def test_smoothed_reward():
    """An exponential average, as a tracker's chart draws it, of a drifting score."""
    h = falling(200) + noise(200, 0.01, 5)
    raw = law(h) + np.cumsum(noise(200, 0.01))
    smooth = [raw[0]]
    for value in raw[1:]:
        smooth.append(0.9 * smooth[-1] + 0.1 * value)
    assert one(fitted(h, smooth).cautions, "reward looks smoothed")
    assert not [s for s in fitted(h, raw).cautions if "smoothed" in s]


def test_raw_reward_does_not_look_smoothed():
    h = falling(100) + noise(100, 0.02, 5)
    assert not [s for s in fitted(h, law(h) + noise(100)).cautions if "smoothed" in s]


def test_entropy_of_both_signs():
    h = falling(60) - 0.3
    assert one(fitted(h, law(h) + noise(60)).reasons, "never negative")


def test_long_memory_is_owned_up_to():
    rng = np.random.default_rng(8)
    drift = np.zeros(40)
    for i in range(1, 40):
        drift[i] = 0.98 * drift[i - 1] + 0.01 * rng.standard_normal()
    h = falling(40)
    assert one(fitted(h, law(h) + drift).cautions, "drift and trend cannot be told apart")
