"""Arms: what is compared, what counts as failed, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from entropylaw import fit_law
from entropylaw.analysis.arms import compare_arms
from entropylaw.analysis.seeds import local_lines, why_failed
from entropylaw.report.render import rendered
from entropylaw.results.arms import ArmComparison, Decision
from entropylaw.results.fit import Fit

STEP = np.linspace(0.0, 400.0, 40)


def run(
    name: str, *, shift: float = 0.0, first: float = 1.0, last: float = 0.1, seed: int = 0, until: int = 40
) -> Fit:
    """A run that follows the law with a ceiling of 0.6 + shift, and noise."""
    random = np.random.default_rng([seed, int(1000 * shift), int(1000 * last)])
    entropy = last + (first - last) * np.exp(-STEP / 100.0)
    reward = 0.6 + shift - 0.2 * np.expm1(entropy) + 0.004 * random.standard_normal(40)
    return fit_law(entropy[:until], reward[:until], STEP[:until], run=name)


@pytest.fixture(scope="module")
def plain() -> list[Fit]:
    return [run(f"plain_s{seed}", seed=seed) for seed in range(3)]


@pytest.fixture(scope="module")
def comparison(plain: list[Fit]) -> ArmComparison:
    arms = {
        "plain": plain,
        "better": [run(f"better_s{seed}", shift=0.05, seed=seed) for seed in range(3)],
        "slower": [run(f"slower_s{seed}", last=0.4, seed=seed) for seed in range(3)],
    }
    return compare_arms(arms, margin=0.02)


def test_a_shift_is_found_at_equal_entropy(comparison: ArmComparison) -> None:
    pair = comparison.pair("better", "plain")
    assert pair is not None
    one = pair["reward_at_entropy"]
    assert one.decision is Decision.above
    assert one.estimate.low is not None
    assert one.estimate.high is not None
    assert one.estimate.low < 0.05 < one.estimate.high
    # The slower runs have not passed all of these entropies, and do not count in the spread there.
    assert (one.df, pair["last_reward"].df) == (4, 6)
    assert pair.band is not None
    assert min(pair.band.low) > 0
    assert pair["entropy_at_reward"].decision is Decision.above


def test_an_arm_that_only_stops_earlier_on_the_curve_is_the_same_there(comparison: ArmComparison) -> None:
    pair = comparison.pair("slower", "plain")
    assert pair is not None
    assert pair["reward_at_entropy"].decision is Decision.same
    assert pair["last_reward"].decision is Decision.below
    split = pair.split
    assert split is not None
    shift, movement = (getattr(split, name).value for name in ("shift", "movement"))
    assert pair["last_reward"].estimate.value == pytest.approx(shift + movement)
    # 0.2·(exp(H) − 1) at the last entropies of both: all of the difference is movement.
    ends = [last + (1.0 - last) * np.exp(-4.0) for last in (0.4, 0.1)]
    assert movement == pytest.approx(-0.2 * (np.expm1(ends[0]) - np.expm1(ends[1])), abs=0.01)
    assert split.share.value == pytest.approx(1.0, abs=0.15)


def test_p_values_are_adjusted_over_arms(comparison: ArmComparison) -> None:
    first, second = (pair["reward_at_entropy"] for pair in comparison.pairs)
    assert first.p_value is not None
    assert first.p_adjusted == pytest.approx(2 * first.p_value)
    assert second.p_adjusted == second.p_value


def test_no_common_entropies_are_said_with_the_runs_that_bound_them(plain: list[Fit]) -> None:
    far = [run(f"far_s{seed}", first=3.0, last=2.0, seed=seed) for seed in range(2)]
    pair = compare_arms({"plain": plain, "far": far}).pairs[0]
    assert pair.entropy_range is None
    note = pair["reward_at_entropy"].estimate.note or ""
    assert "far_s" in note
    assert "plain_s" in note
    assert pair["last_reward"].estimate.value is not None


def test_a_run_that_stops_early_counts_as_failed_with_its_last_reward(plain: list[Fit]) -> None:
    arms = {"plain": plain, "other": [run("other_s0"), run("other_s1", until=15)]}
    found = compare_arms(arms, refused={"other": [("other_s2", "no evaluations")]})
    other = found.arms[1]
    assert [bool(one.failed) for one in other.runs] == [False, True, True]
    assert other.failure_rate.value == pytest.approx(2 / 3)
    pair = found.pairs[0]
    assert pair.last_step == 400.0
    assert pair["last_reward"].estimate.value is not None
    assert [one.code for one in pair.findings] == ["left-out-of-curves"]


def ending_at(name: str, reward: float, entropy: float) -> Fit:
    """A run whose last rewards and entropies are these; the reward dies where it is 0."""
    path = entropy + (1.0 - entropy) * np.exp(-STEP / 40.0)
    rewards = reward + (0.5 - reward) * np.exp(-STEP / 40.0)
    noise = 0.001 * np.random.default_rng(len(name)).standard_normal(STEP.size)
    return fit_law(path, rewards + noise, STEP, run=name)


def test_the_final_reward_is_the_last_one_of_all_seeds() -> None:
    arms = {
        "old": [ending_at("old", 0.6, 0.1), ending_at("old_", 0.62, 0.12)],
        # Two of these do not reach the entropy at which the arms end on average: one of them is dead.
        "new": [ending_at("new", 0.8, 0.1), ending_at("new_", 0.0, 0.9), ending_at("new__", 0.7, 0.6)],
    }
    result = compare_arms(arms)
    pair = result.pairs[0]
    expected = (0.8 + 0.0 + 0.7) / 3 - (0.6 + 0.62) / 2
    assert pair["last_reward"].estimate.value == pytest.approx(expected, abs=0.003)
    assert pair["last_reward"].seeds == (3, 2)
    own = [np.mean([run.values["last_reward"] for run in arm.runs]) for arm in result.arms]
    assert pair["last_reward"].estimate.value == pytest.approx(own[1] - own[0], abs=1e-12)
    assert pair.split is not None
    assert (pair.split.movement.value, pair.split.shift.value, pair.split.share.value) == (None,) * 3
    assert "2 of 5 runs did not" in (pair.split.movement.note or "")
    for format, number in (
        ("text", "-0.1 [-1.2, 1.0]"),
        ("markdown", "-0.1 [-1.2, 1.0]"),
        ("csv", "-0.1100"),
    ):
        assert number in rendered(result, format)


def test_a_run_that_loses_its_reward_has_failed() -> None:
    fit = run("lost")
    reward = np.asarray(fit.law.reward).copy()
    lost = reward.copy()
    lost[25:] = 0.2
    entropy = np.asarray(fit.law.entropy)
    assert why_failed(fit, 400.0) is None
    assert "lost reward" in (why_failed(fit_law(entropy, lost, STEP), 400.0) or "")


def test_local_lines_reproduce_lines() -> None:
    entropy = np.array([0.1, 0.1, 0.12, 0.2, 0.25, 0.5, 0.9, 1.0, 1.0])
    at = np.linspace(0.1, 1.0, 11)
    weights = local_lines(entropy, at)
    assert weights @ (2.0 - 3.0 * entropy) == pytest.approx(2.0 - 3.0 * at)
    assert local_lines(np.full(9, 0.5), np.array([0.5])).sum() == pytest.approx(1.0)
