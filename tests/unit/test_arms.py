"""Arms: what is compared, what counts as failed, and what is refused."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import fisher_exact

from entropylaw import ArmComparison, Fit, UsageError
from entropylaw.analysis.arms import baseline_of, compare_rewards
from entropylaw.analysis.seeds import how_broken, local_lines, series_of
from entropylaw.report.render import rendered
from entropylaw.results.arms import Along, Decision, RunSeries
from entropylaw.results.result import replace
from tests.laws import fit_arrays
from tests.typed import assert_says

STEP = np.linspace(0.0, 400.0, 40)


def run(
    name: str, *, shift: float = 0.0, first: float = 1.0, last: float = 0.1, seed: int = 0, until: int = 40
) -> Fit:
    """A run that follows the law with a ceiling of 0.6 + shift, and noise."""
    random = np.random.default_rng([seed, int(1000 * shift), int(1000 * last)])
    entropy = last + (first - last) * np.exp(-STEP / 100.0)
    reward = 0.6 + shift - 0.2 * np.expm1(entropy) + 0.004 * random.standard_normal(40)
    return fit_arrays(entropy[:until], reward[:until], STEP[:until], name=name)


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
    return compare_rewards({"": arms}, margin=0.02)[0]


def test_a_shift_is_found_in_the_family_alone(comparison: ArmComparison) -> None:
    assert (comparison.baseline, comparison.chosen) == ("plain", "the first of those with most seeds")
    pair = comparison.pair("better", "plain")
    assert pair is not None
    for name in ("last_reward", "reward_at_entropy"):
        one = pair[name]
        assert (one.decision, one.headline) == (Decision.above, True)
        assert one.estimate.low is not None
        assert one.estimate.high is not None
        assert one.estimate.low < 0.05 < one.estimate.high
    assert pair.band is not None
    assert min(pair.band.low) > 0
    # Whatever their intervals are, other quantities are exploratory.
    others = [one for one in pair.differences if not one.headline]
    assert {one.decision for one in others} == {Decision.undecided}
    assert {one.p_adjusted for one in others if one.quantity != "failure_rate"} == {None}


def test_an_arm_that_only_stops_earlier_on_the_curve_is_the_same_there(comparison: ArmComparison) -> None:
    pair = comparison.pair("slower", "plain")
    assert pair is not None
    equal = pair["reward_at_entropy"]
    assert equal.decision is Decision.same
    # 90 % over two comparisons.
    assert equal.inner is not None
    assert equal.inner.level == pytest.approx(0.95)
    assert -0.02 < equal.inner.low < equal.inner.high < 0.02  # type: ignore[operator]
    assert pair["last_reward"].decision is Decision.below
    shift, movement = pair["shift"].estimate.value, pair["movement"].estimate.value
    assert pair["last_reward"].estimate.value == pytest.approx(shift + movement)  # type: ignore[operator]
    # 0.2·(exp(H) − 1) at the last entropies of both: all of the difference is movement.
    ends = [last + (1.0 - last) * np.exp(-4.0) for last in (0.4, 0.1)]
    assert movement == pytest.approx(-0.2 * (np.expm1(ends[0]) - np.expm1(ends[1])), abs=0.01)
    assert pair["last_entropy"].estimate.value == pytest.approx(ends[0] - ends[1], abs=0.01)


def test_p_values_are_adjusted_over_arms_and_both_quantities(comparison: ArmComparison) -> None:
    from statsmodels.stats.oneway import anova_oneway

    family = [one for pair in comparison.pairs for one in pair.differences if one.headline]
    assert len(family) == 4
    # All arms at once have one test, of their final rewards; its digits are in tests/certified.
    ends = [[run.values["last_reward"] for run in arm.runs] for arm in comparison.arms]
    assert comparison.p_arms == pytest.approx(anova_oneway(ends, use_var="bf").pvalue)
    smallest = min(family, key=lambda one: one.p_value or 1.0)
    assert smallest.p_adjusted == pytest.approx(4 * (smallest.p_value or 1.0))
    assert family[0].smallest is not None


def test_no_common_entropies_are_said_with_the_runs_that_bound_them(plain: list[Fit]) -> None:
    far = [run(f"far_s{seed}", first=3.0, last=2.0, seed=seed) for seed in range(2)]
    pair = compare_rewards({"": {"plain": plain, "far": far}})[0].pairs[0]
    assert pair.common is None
    note = pair["reward_at_entropy"].estimate.note or ""
    assert_says(note, "far_s", "plain_s")
    assert pair["last_reward"].estimate.value is not None


def test_broken_runs_are_counted_apart_short_and_unread_ones_left_out(plain: list[Fit]) -> None:
    broken = run("other_s2")
    reward = np.where(STEP < 250.0, np.asarray(broken.law.reward), 0.0)
    broken = fit_arrays(np.asarray(broken.law.entropy), reward, STEP, name="other_s2")
    others = [run("other_s0"), run("other_s1", seed=4), broken, run("other_s3", until=15)]
    none = np.empty(0)
    unread = RunSeries(run="other_s4", step=none, reward=none, along=none, error=none, refused="not read")
    found = compare_rewards({"": {"plain": plain, "other": [*others, unread]}}, baseline="plain")[0]
    other = found.arms[1]
    assert [bool(one.failed) for one in other.runs] == [False, False, True, False, False]
    left_out = {one.run: one.left_out for one in other.runs if one.left_out}
    assert left_out == {
        "other_s3": "ended at step 143.59, after 36 % of the longest run",
        "other_s4": "not read",
    }
    # One that ended early has a state, and one without evaluations has none.
    assert other.failure_rate.value == 0.25
    pair = found.pairs[0]
    assert pair.last_step == 400.0
    rate = pair["failure_rate"]
    assert rate.p_value == pytest.approx(fisher_exact([[1, 3], [0, 3]])[1])
    whole, living = pair["last_reward"], pair["living_reward"]
    ends = [np.mean([run.values["last_reward"] for run in arm.runs if run.n]) for arm in found.arms]
    assert whole.estimate.value == pytest.approx(ends[1] - ends[0])
    assert (whole.estimate.low, whole.headline) == (None, False)
    assert (living.headline, living.seeds) == (True, (2, 3))
    assert pair["reward_at_entropy"].seeds == (2, 3)


@pytest.mark.parametrize(
    ("seeds", "expected"),
    [
        ({"a": 2, "GRPO": 1, "b": 3}, ("GRPO", "by its name")),
        ({"grpo": 4, "a": 2, "base": 1}, ("base", "by its name")),
        ({"a": 2, "b": 3}, ("b", "which has most seeds")),
        ({"b": 3, "vanilla_rho1.0": 2}, ("vanilla_rho1.0", "which has vanilla in its name")),
        ({"b": 3, "dapo-Base": 2}, ("dapo-Base", "which has base in its name")),
        ({"kl_control": 2, "grpo": 1}, ("grpo", "by its name")),
        ({"grpo_a": 2, "grpo_b": 3}, ("grpo_b", "which has most seeds")),
        ({"a": 3, "baselines": 2}, ("a", "which has most seeds")),
        ({"a": 3, "b": 3}, ("a", "the first of those with most seeds")),
    ],
)
def test_the_baseline_is_known_by_its_name_or_has_most_seeds(
    seeds: dict[str, int], expected: tuple[str, str]
) -> None:
    assert baseline_of(seeds) == expected


def series(name: str, reward: float, own: float = 0.0, unit: str = "") -> RunSeries:
    """A run of 40 evaluations along tokens."""
    noise = 0.002 * np.random.default_rng(len(name)).standard_normal(STEP.size)
    tokens = 1e6 * (1.0 + STEP)
    rewards = reward + own + 0.1 * np.sqrt(STEP / 400.0) + noise
    return RunSeries(run=name, step=STEP, reward=rewards, along=tokens, error=0.0 * STEP, unit=unit)


def test_seeds_that_share_their_data_are_paired() -> None:
    """Seeds .2 apart gain alike: paired the gain is decided, and unpaired it is not."""
    own = {"0": 0.0, "1": 0.2, "2": 0.4, "3": 0.3}
    arms = {
        "a": [series(f"a{unit}", 0.1, by, unit) for unit, by in own.items()],
        "b": [series(f"b{unit}", 0.12 + 0.001 * int(unit), by, unit) for unit, by in own.items()],
    }
    tokens = Along(column="tokens", unit="tokens")
    apart, paired = (
        compare_rewards({"": arms}, along=tokens, paired=paired)[0].pairs[0] for paired in ("", "seed")
    )
    assert apart["reward_at_equal"].decision is Decision.undecided
    assert paired["reward_at_equal"].decision is Decision.above
    assert paired["reward_at_equal"].seeds == (4, 4)
    assert paired["reward_at_equal"].estimate.value == pytest.approx(
        apart["reward_at_equal"].estimate.value  # type: ignore[arg-type]
    )
    assert "ceiling" not in {one.quantity for one in paired.differences}
    # The first reward of a seed is another one in either arm: nothing shows that they share their data.
    assert not compare_rewards({"": arms}, along=tokens)[0].findings
    arms["b"] = arms["a"]
    assert "--pair seed" in rendered(compare_rewards({"": arms}, along=tokens)[0], "text")
    assert not compare_rewards({"": arms}, along=tokens, paired="seed")[0].findings
    with pytest.raises(UsageError, match="no seed is in two arms"):
        compare_rewards({"": {"a": [series("a", 0.1)], "b": [series("b", 0.1)]}}, paired="seed")[0]


def test_a_decision_that_rests_on_the_spread_of_other_arms_says_so() -> None:
    chance = np.random.default_rng(3)
    arms = {
        name: [series(f"{name}{seed}", mean, 0.004 * chance.standard_normal()) for seed in range(n)]
        for name, mean, n in (("control", 0.1, 5), ("x", 0.1, 5), ("y", 0.1, 5))
    }
    # Two seeds, whose own spread is no more than an idea of it.
    arms["z"] = [series("z0", 0.15, -0.005), series("z1", 0.15, 0.005)]
    result = compare_rewards({"": arms}, along=Along(column="tokens", unit="tokens"))[0]
    pair = result.pairs[-1]
    assert pair["last_reward"].decision is Decision.above
    assert pair["last_reward"].welch_disagrees
    assert "Welch's p = 0.1" in rendered(result, "markdown")


def test_coefficients_have_no_interval_where_the_law_fails_on_other_paths() -> None:
    """One curve that is no law, walked on two paths: its a and b differ, and nothing is said of them."""

    def bent(name: str, last: float, seed: int) -> Fit:
        entropy = last + (1.0 - last) * np.exp(-STEP / 100.0)
        noise = 0.002 * np.random.default_rng(seed).standard_normal(STEP.size)
        return fit_arrays(entropy, 0.5 + 0.2 * entropy**2 + noise, STEP, name=name)

    arms = {
        "far": [bent(f"far_s{seed}", 0.05, seed) for seed in range(2)],
        "near": [bent(f"near_s{seed}", 0.45, 9 + seed) for seed in range(2)],
    }
    pair = compare_rewards({"": arms})[0].pairs[0]
    for name in ("ceiling", "a", "b"):
        assert pair[name].estimate.low is None
        assert "the law fails in" in (pair[name].estimate.note or "")


def test_a_run_that_loses_its_reward_has_failed() -> None:
    fit = run("lost")
    reward = np.asarray(fit.law.reward).copy()
    lost = reward.copy()
    lost[25:] = 0.2
    entropy = np.asarray(fit.law.entropy)
    assert how_broken(series_of(fit)) is None
    assert how_broken(series_of(fit_arrays(entropy, lost, STEP))) == "reward from 0.56 to 0.2"


def along_entropy(name: str, reward: float, first: float = 1.0, last: float = 0.1, **other: Any) -> RunSeries:
    """A run whose reward rises by 0.2 for every nat that is lost."""
    entropy = np.linspace(first, last, 40)
    noise = 0.002 * np.random.default_rng([len(name), *name.encode()]).standard_normal(40)
    rewards = reward - 0.2 * entropy + noise
    return RunSeries(run=name, step=STEP, reward=rewards, along=entropy, error=0.0 * STEP, **other)


def test_one_run_off_the_others_takes_the_common_entropies_from_no_arm() -> None:
    plain = [along_entropy(f"plain_s{seed}", 0.6 + 0.001 * seed) for seed in range(3)]
    other = [along_entropy(f"other_s{seed}", 0.65 + 0.001 * seed) for seed in range(3)]
    far = along_entropy("plain_s3", 0.6, first=2.0, last=1.2)
    (pair,) = compare_rewards({"": {"plain": [*plain, far], "other": other}})[0].pairs
    assert pair.outside == ("plain_s3",)
    assert pair.common == pytest.approx((0.1, 1.0))
    assert pair["reward_at_entropy"].seeds == (3, 3)
    assert pair["reward_at_entropy"].estimate.value == pytest.approx(0.05, abs=0.005)
    # In what needs steps alone it is compared.
    assert pair["last_reward"].seeds == (3, 4)
    text = rendered(compare_rewards({"": {"plain": [*plain, far], "other": other}})[0], "markdown")
    assert "not at equal entropy: 1 run: plain\\_s3 (outside the entropy of the others)" in text


def test_half_of_an_arm_is_not_left_out_for_a_common_range() -> None:
    plain = [along_entropy(f"plain_s{seed}", 0.6 + 0.001 * seed) for seed in range(2)]
    far = [along_entropy(f"far_s{seed}", 0.6, first=2.0, last=1.2) for seed in range(2)]
    (pair,) = compare_rewards({"": {"mixed": [*plain, *far], "other": [along_entropy("c", 0.6)]}})[0].pairs
    assert (pair.common, pair.outside) == (None, ())


def test_an_interval_of_an_accuracy_is_within_what_is_possible() -> None:
    def at(name: str, level: float, most: float | None) -> RunSeries:
        run = along_entropy(name, 0.0)
        return replace(run, reward=np.full(40, level), max_reward=most)

    def compared(most: float | None) -> ArmComparison:
        arms = {"low": [at("l0", 0.05, most), at("l1", 0.6, most)]}
        arms["high"] = [at("h0", 0.9, most), at("h1", 0.4, most)]
        return compare_rewards({"": arms}, baseline="low")[0]

    free = compared(None).pairs[0]["last_reward"]
    assert free.estimate.high is not None
    assert free.estimate.high > 1.0
    assert free.smallest is not None
    assert free.smallest > 1.0
    bounded = compared(1.0).pairs[0]["last_reward"]
    assert (bounded.estimate.high, bounded.smallest) == (1.0, None)
    assert bounded.estimate.value == free.estimate.value == pytest.approx(0.325)
    assert bounded.estimate.low == pytest.approx(max(-1.0, free.estimate.low or 0.0))
    rows = [line.split() for line in rendered(compared(1.0), "text").splitlines()]
    assert next(row for row in rows if row[1:3] == ["step", "400"])[-1] == "none"


def smoothed(series: RunSeries) -> RunSeries:
    """The exponential moving average of weight .95."""
    rewards = series.reward.copy()
    for i in range(1, rewards.size):
        rewards[i] = 0.95 * rewards[i - 1] + 0.05 * rewards[i]
    return replace(series, reward=rewards)


def noisy(name: str) -> RunSeries:
    run = along_entropy(name, 0.6)
    noise = 0.05 * np.random.default_rng(list(name.encode())).standard_normal(40)
    return replace(run, reward=run.reward + noise)


def test_arms_that_are_smoothed_unlike_have_a_caution() -> None:
    plain = [noisy(f"p{seed}") for seed in range(3)]
    other = [noisy(f"o{seed}") for seed in range(3)]
    ema = [smoothed(run) for run in other]
    (found,) = compare_rewards({"": {"plain": plain, "ema": ema}}, baseline="plain")[0].findings
    assert (found.code, found.values["smooth"], found.values["raw"]) == ("smoothed-unlike", ("ema",), "plain")
    noise = [np.median([np.median(np.abs(np.diff(run.reward, 2))) for run in arm]) for arm in (plain, ema)]
    assert found.values["times"] == pytest.approx(noise[0] / noise[1])
    assert not compare_rewards({"": {"plain": plain, "other": other}})[0].findings
    assert not compare_rewards({"": {"plain": [smoothed(run) for run in plain], "ema": ema}})[0].findings


def test_every_arm_has_its_last_step_and_every_comparison_its_own() -> None:
    plain = [along_entropy(f"plain_s{seed}", 0.6 + 0.001 * seed) for seed in range(2)]
    early = [along_entropy(f"early_s{seed}", 0.5 + 0.001 * seed) for seed in range(2)]
    early = [
        replace(run, step=run.step[:20], reward=run.reward[:20], along=run.along[:20], error=run.error[:20])
        for run in early
    ]
    late = [along_entropy(f"late_s{seed}", 0.5 + 0.001 * seed) for seed in range(2)]
    text = rendered(
        compare_rewards({"": {"plain": plain, "early": early, "late": late}}, baseline="plain")[0], "markdown"
    )
    rows = [[cell.strip() for cell in line.split("|")][1:] for line in text.splitlines()]
    steps = {row[0]: row[2] for row in rows if "of 2" in "".join(row[1:2])}
    assert steps == {"plain": "400", "early": "194.872", "late": "400"}
    places = {row[0]: row[1] for row in rows if "".join(row[1:2]).startswith("step ")}
    assert places == {"early": "step 194.872", "late": "step 400"}


def test_seeds_that_collapse_at_the_end_have_failed(plain: list[Fit]) -> None:
    """Two of three, in the last 7 % of 60 evaluations."""
    step = np.linspace(0.0, 600.0, 60)
    entropy = 0.1 + 0.9 * np.exp(-step / 150.0)

    def ended(name: str, until: int) -> Fit:
        noise = 0.01 * np.random.default_rng(until).standard_normal(60)
        reward = 0.6 - 0.2 * np.expm1(entropy) + noise
        reward[until:] = 0.0
        return fit_arrays(entropy, np.maximum(reward, 0.0), step, name=name)

    arms = {
        "plain": [ended(f"plain_s{seed}", 60) for seed in range(3)],
        "other": [ended("other_s0", 55), ended("other_s1", 56), ended("other_s2", 60)],
    }
    result = compare_rewards({"": arms}, baseline="plain")[0]
    assert [run.failed is not None for run in result.arms[1].runs] == [True, True, False]
    assert result.arms[1].failure_rate.value == pytest.approx(2 / 3)
    # One living seed decides nothing.
    assert result.pairs[0]["living_reward"].estimate.low is None


def test_local_lines_reproduce_lines() -> None:
    entropy = np.array([0.1, 0.1, 0.12, 0.2, 0.25, 0.5, 0.9, 1.0, 1.0])
    at = np.linspace(0.1, 1.0, 11)
    weights = local_lines(entropy, at, 5)
    assert weights @ (2.0 - 3.0 * entropy) == pytest.approx(2.0 - 3.0 * at)
    assert local_lines(np.full(9, 0.5), np.array([0.5]), 5).sum() == pytest.approx(1.0)
