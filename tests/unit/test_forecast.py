"""Forecasts and backtests of simulated runs whose future is known, and refusals."""

import csv
import hashlib
import io
import itertools
import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from entropylaw.analysis.backtest import backtest, backtest_run, scalerl, skills
from entropylaw.analysis.ensemble import entropy_path, outlook, path_record, reward_record
from entropylaw.analysis.forecast import blocked, forecast, saturation_forecast
from entropylaw.analysis.forecast_prior import Band, Rule, learned, path_features, reward_features
from entropylaw.analysis.members import PATH_FORMULAS, REWARD_FORMULAS, decay, path_members, reward_members
from entropylaw.documents.codec import encode
from entropylaw.errors import FitError, UsageError
from entropylaw.report.render import rendered
from tests.conftest import LAB


def a_run(n=60, noise=0.003, seed=5):
    """The law holds: ceiling 0.6, a = 0.5, entropy from 0.8 to a floor of 0.05."""
    rng = np.random.default_rng(seed)
    step = 10.0 * np.arange(n)
    entropy = 0.05 + 0.75 * np.exp(-3.0 * step / step[-1])
    reward = 0.6 - 0.5 * np.expm1(entropy) + rng.normal(0, noise, n)
    return step, entropy, reward


def early(run, k):
    return tuple(column[:k] for column in run)


def test_given_the_entropy_the_law_is_continued():
    run = a_run()
    later = [30, 45, 59]
    found = forecast(*early(run, 24), at_step=run[0][later], entropy_path=run[1][later])
    truth = 0.6 - 0.5 * np.expm1(run[1][later])
    error = np.array([each.value for each in found.reward]) - truth
    assert np.abs(error).max() < 0.3 * np.abs(run[2][23] - truth).max()
    assert all(each.low < value < each.high for each, value in zip(found.reward, truth, strict=True))
    weight = {member.name: member.weight for member in found.members}
    assert sum(weight.values()) == pytest.approx(1)
    assert weight["law"] + weight["law, least squares"] > 0.5 > 0.01 > weight["last"]
    assert (found.blind, found.path_members) == (False, {})
    assert (found.entropy[0].low, found.entropy[0].note) == (None, "given")


def test_blind_the_entropy_is_forecast_and_its_uncertainty_is_in_the_reward():
    run = a_run()
    given = forecast(*early(run, 30), at_step=run[0][50], entropy_path=run[1][50])
    blind = forecast(*early(run, 30), at_step=run[0][50])
    assert blind.blind
    assert sum(blind.path_members.values()) == pytest.approx(1)
    entropy, reward = blind.entropy[0], blind.reward[0]
    assert entropy.low < run[1][50] < entropy.high
    assert reward.low < run[2][50] < reward.high
    assert reward.high - reward.low > given.reward[0].high - given.reward[0].low


def test_bands_grow_with_the_horizon():
    run = a_run(noise=0.02)
    found = forecast(*early(run, 30), at_step=[300, 400, 590], entropy_path=run[1][[30, 40, 59]])
    widths = [each.high - each.low for each in found.reward]
    assert widths[0] < widths[1] < widths[2]
    wide = forecast(*early(run, 30), at_step=300, entropy_path=run[1][30], level=0.99).reward[0]
    assert wide.high - wide.low > widths[0]
    assert wide.level == 0.99


def test_a_run_that_only_wanders_is_forecast_to_stay():
    rng = np.random.default_rng(2)
    step = np.arange(40.0)
    reward = 0.5 + np.cumsum(rng.normal(0, 0.01, 40))
    entropy = 0.5 + 0.1 * rng.normal(0, 1, 40)
    found = forecast(step, entropy, reward, at_step=45, entropy_path=0.5)
    assert found.reward[0].value == pytest.approx(reward[-1], abs=0.03)


def test_an_entropy_outside_the_fitted_range_is_marked():
    run = a_run()
    found = forecast(*early(run, 30), at_step=[300, 310], entropy_path=[run[1][20], 0.01])
    assert found.extrapolated == (False, True)
    assert any("1 of 2 steps" in note and "extrapolated" in note for note in found.notes)


def test_the_same_data_give_the_same_bytes():
    run = early(a_run(), 20)
    one, two = (encode(forecast(*run, at_step=[250, 400])) for _ in range(2))
    assert json.dumps(one, sort_keys=True) == json.dumps(two, sort_keys=True)


def test_shift_and_scale_of_the_reward_and_units_of_steps_carry_over():
    step, entropy, reward = early(a_run(), 30)
    plain = forecast(step, entropy, reward, at_step=400).reward[0]
    scaled = forecast(7 + 16 * step, entropy, 3 + 100 * reward, at_step=7 + 16 * 400).reward[0]
    assert scaled.value == pytest.approx(3 + 100 * plain.value, rel=1e-6)
    assert scaled.low == pytest.approx(3 + 100 * plain.low, rel=1e-6)
    assert scaled.high == pytest.approx(3 + 100 * plain.high, rel=1e-6)


def test_a_long_run_is_averaged_over_blocks_and_says_so():
    run = a_run(n=1001, noise=0.05)
    found = forecast(*run, at_step=run[0][-1] + 100)
    assert (found.block, found.n) == (6, 166)
    assert any("blocks of 6" in note for note in found.notes)
    s, h, r, size = blocked(*run, most=100)
    assert (s.size, size) == (91, 11)
    assert r[-1] == pytest.approx(run[2][-11:].mean())
    assert s[-1] == pytest.approx(run[0][-11:].mean())
    assert h[0] == pytest.approx(run[1][:11].mean())
    assert blocked(*early(run, 100), most=100)[3] == 1


@pytest.mark.parametrize(
    ("change", "kind", "slug"),
    [
        ({"n": 7}, FitError, "too-few-evaluations"),
        ({"step": None}, FitError, "forecast-needs-steps"),
        ({"at_step": 290}, UsageError, "step-not-ahead"),
        ({"at_step": [400, 100]}, UsageError, "step-not-ahead"),
        ({"at_step": []}, UsageError, "step-not-ahead"),
        ({"at_step": float("nan")}, UsageError, "step-not-ahead"),
        ({"entropy_path": [0.1, 0.2]}, UsageError, "lengths-differ"),
        ({"entropy_path": float("nan")}, UsageError, "lengths-differ"),
        ({"level": 1.0}, UsageError, "bad-level"),
        ({"reward": np.ones(30)}, FitError, "reward-constant"),
        ({"max_reward": 0.3}, FitError, "reward-above-max"),
        ({"entropy": np.zeros(30)}, FitError, "entropy-constant"),
        ({"step": np.ones(30)}, FitError, "steps-not-increasing"),
    ],
)
def test_refusals(change, kind, slug):
    change = dict(change)
    columns = dict(zip(("step", "entropy", "reward"), early(a_run(), change.pop("n", 30)), strict=True))
    asked = {"at_step": 400} | columns | change
    with pytest.raises(kind) as caught:
        forecast(asked.pop("step"), asked.pop("entropy"), asked.pop("reward"), **asked)
    assert caught.value.slug == slug


def test_an_exponential_path_is_continued_to_its_floor():
    run = a_run()
    path = entropy_path(run[0][:25], run[1][:25], run[0][25:])
    assert np.abs(path.band.quantile(0.5) - run[1][25:]).max() < 0.05
    low, high = path.band.quantile(0.05), path.band.quantile(0.95)
    assert (low >= 0).all()
    assert (high > low).all()
    assert (np.diff(path.band.up) > 0).all()
    ladder = [path.band.quantile((i + 0.5) / 7) for i in range(7)]
    assert all((one <= two).all() for one, two in itertools.pairwise(ladder))


def test_entropies_go_on_falling():
    """Of an exponential decay to 0 every member that goes on is below the present level, and above 0."""
    step = 10.0 * np.arange(12)
    entropy = np.exp(-step / 200)
    curves = dict(zip(PATH_FORMULAS, path_members(step, entropy, np.array([200.0, 400.0])), strict=True))
    assert curves["decay goes on"][1] == pytest.approx(
        curves["walk"][1] * np.exp(-3 * 0.55 * (1 - np.exp(-(290 / 110) / 3))), rel=1e-3
    )
    for name in ("power goes on", "decay slows", "decay goes on"):
        assert 0 < curves[name][1] < curves[name][0] < entropy[-1]


def test_an_entropy_that_has_not_begun_to_fall_is_noted():
    step, _, reward = early(a_run(), 20)
    level = 0.8 - 0.02 * step / step[-1]
    (found,) = (one for one in forecast(step, level, reward, at_step=400).findings if "fallen" in one.code)
    assert found.code == "entropy-has-not-fallen"
    assert not any("fallen" in one.code for one in forecast(*early(a_run(), 20), at_step=400).findings)
    rises = forecast(step, 0.8 + 0.2 * step / step[-1], reward, at_step=400)
    assert any("it has risen by 24%" in note for note in rises.notes)


def test_a_share_stays_between_0_and_the_largest_reward():
    step, entropy, reward = early(a_run(noise=0.02), 12)
    reward = reward + 0.1
    free, bounded = (
        forecast(step, entropy, reward, at_step=590, level=0.99, max_reward=most).reward[0]
        for most in (None, 0.7)
    )
    assert free.high > 0.7 >= bounded.high
    assert free.low < 0.0
    assert bounded.low >= 0.0
    below = forecast(step, entropy, reward - 1.0, at_step=590, level=0.99, max_reward=0.6).reward[0]
    assert below.low < 0.0


def test_decay_recovers_a_curve_and_keeps_its_floor():
    x = np.linspace(0, 1, 20)
    new = np.array([1.5, 4.0])
    shapes = [(np.exp(-x / t), np.exp(-new / t)) for t in (0.2, 0.5, 1.0)]
    np.testing.assert_allclose(decay(0.3 + 2 * np.exp(-x / 0.5), shapes), 0.3 + 2 * np.exp(-new / 0.5))
    below = decay(2 * np.exp(-x / 0.5) - 0.5, shapes, floor=0.0)
    assert (below >= 0).all()


def rule(bias=(0.0, 0.0), power=(0.0, 0.0)):
    numbers = np.array([0.6745, 1.96])
    return Rule(
        bias=np.array(bias),
        slope=np.zeros((2, 3)),
        power=np.array(power),
        up=np.ones(7),
        down=np.ones(7),
        stretch=np.array([0.0, 0.0, 0.5]),
        errors=np.array([numbers, numbers]),
    )


def column(*values):
    return np.array(values)[:, None]


def test_weights_rest_on_other_runs_and_on_the_errors_of_this_one():
    weight, moved = rule().weights(np.zeros(3), np.log(column(0.01, 0.02)))
    np.testing.assert_allclose(weight, column(2 / 3, 1 / 3))
    assert moved == pytest.approx(1 / 6)
    weight, moved = rule(bias=np.log([1.0, 3.0])).weights(np.zeros(3), np.log(column(0.01, 0.01)))
    np.testing.assert_allclose(weight, column(1 / 4, 3 / 4))
    assert moved == pytest.approx(0.0)
    sharp, _ = rule(power=(np.log(3.0), 0.0)).weights(np.zeros(3), np.log(column(0.01, 0.02)))
    np.testing.assert_allclose(sharp, column(8 / 9, 1 / 9))
    alone, _ = rule().weights(np.zeros(3), column(np.nan, -1.0))
    np.testing.assert_array_equal(alone, column(0.0, 1.0))


def test_errors_about_as_far_ahead_count():
    """Of a rise that slows down the last value is the worse, the farther ahead."""
    step = np.arange(30.0)
    reward = 1.0 - np.exp(-step / 12)
    record = reward_record(step, np.cos(step), reward)
    lead = np.array([0.05, 0.5, 1.5])
    error = dict(zip(REWARD_FORMULAS, record.errors(lead), strict=True))
    assert (np.diff(error["last"]) > 0).all()
    far, near = record.errors(lead[[2]]), record.errors(lead[[0]])
    # Each point is by itself, whatever else is asked.
    np.testing.assert_allclose(far[:, 0], record.errors(lead)[:, 2])
    np.testing.assert_allclose(near[:, 0], record.errors(lead)[:, 0])


def test_a_forecast_does_not_depend_on_the_other_steps():
    run = early(a_run(noise=0.02), 30)
    alone = forecast(*run, at_step=400).reward[0]
    beside = forecast(*run, at_step=[310, 400, 1200]).reward[1]
    assert (beside.value, beside.low) == (pytest.approx(alone.value), pytest.approx(alone.low))


def test_a_band_of_normal_errors_is_a_normal_distribution():
    at = np.array([1.0, 2.0])
    unit = np.array([0.5, 1.0])
    band = Band(value=at, up=unit, down=2 * unit, errors=rule().errors)
    np.testing.assert_allclose(band.quantile(0.975), at + 1.96 * unit, rtol=1e-4)
    np.testing.assert_allclose(band.quantile(0.025), at - 2 * 1.96 * unit, rtol=1e-4)
    np.testing.assert_allclose(band.quantile(0.5), at)
    np.testing.assert_allclose(band.exceeds(band.quantile(0.9)), 0.1, rtol=1e-6)
    np.testing.assert_allclose(band.exceeds(band.quantile(0.01)), 0.99, rtol=1e-6)
    assert (band.exceeds(at + unit, noise=0.4) < band.exceeds(at + unit)).all()
    cut = Band(value=at, up=unit, down=unit, errors=rule().errors, limits=(0.0, 2.0))
    np.testing.assert_allclose(cut.quantile(0.999), 2.0)


def test_a_band_is_stretched_by_what_the_run_has_done():
    terms = np.ones((7, 1))
    plain, wide = (rule().band(np.zeros(1), terms, np.array([0, 0, x]), (-9.0, 9.0)) for x in (0.0, 2.0))
    np.testing.assert_allclose(plain.up, 7.0)
    np.testing.assert_allclose(wide.down, 7.0 * np.e)


def test_features_are_positive_where_reward_rises_as_the_entropy_falls():
    step, entropy, reward = a_run(noise=0.01)
    a, reverse, _, trend, fall = reward_features(step, entropy, reward)
    assert min(a, trend, fall) > 0.5
    assert reverse == 0.0
    assert reward_features(step, entropy, -reward)[1] > 0.5
    assert path_features(step, entropy)[0] > 0.5


def test_a_band_grows_with_the_entropy_where_a_fall_has_not_begun():
    """The reward was seen at one entropy alone: how far it moves with the next is not known."""
    step = np.arange(30.0)
    rng = np.random.default_rng(5)
    entropy, reward = 1.0 + rng.normal(0, 0.01, 30), 0.4 + rng.normal(0, 0.01, 30)
    near, far = (outlook(step, entropy, reward, np.array([45.0]), np.array([h])).band for h in (1.0, 0.5))
    assert far.up[0] > 3 * near.up[0]
    blind = outlook(step, entropy, reward, np.array([45.0]), None)
    assert blind.path.band.quantile(0.025)[0] < 0.9
    assert blind.band.up[0] > near.up[0]


def test_together_members_err_less_than_apart():
    """Errors of opposite sign cancel in the mean."""
    record = path_record(np.arange(12.0), np.linspace(1.0, 0.5, 12))
    miss = np.tile([[0.1], [-0.1]], (1, record.lead.size))
    record, lead, half = replace(record, miss=miss), np.array([0.2, 1.0]), np.full((2, 2), 0.5)
    np.testing.assert_allclose(record.errors(lead), 0.1)
    np.testing.assert_allclose(record.error_together(half, lead), 0.0, atol=1e-12)


def test_the_shipped_prior_has_every_member_and_widens_with_the_level():
    prior = learned()
    for one, names in ((prior.entropy, PATH_FORMULAS), (prior.observed, REWARD_FORMULAS)):
        assert one.bias.size == len(names)
        assert one.slope.shape[0] == len(names)
        assert (np.diff(one.errors) > 0).all()
        assert (one.up > 0).all()
        assert (one.down > 0).all()
    assert set(prior.runs) == {"curves", "lab", "policy", "public"}


def test_a_member_without_a_moving_column_is_left_out():
    step, _, reward = early(a_run(), 20)
    every = reward_members(step, np.full(20, 0.3), reward, np.array([300.0]), np.array([0.3]))
    members = dict(zip(REWARD_FORMULAS, every[:, 0], strict=True))
    assert np.isnan(members["law"])
    assert members["last"] == reward[-1]


def test_a_run_at_a_standstill_keeps_a_band():
    reward = np.concatenate([np.linspace(0.2, 0.0, 6), np.zeros(14)])
    step, entropy, _ = early(a_run(), 20)
    band = outlook(step, entropy, reward, np.array([250.0]), np.array([0.1])).band
    low, high = band.quantile(0.025)[0], band.quantile(0.975)[0]
    assert low < 0 < high
    assert high - low < 0.2


def test_saturation_is_found_where_the_entropy_goes_to_zero():
    step = 10.0 * np.arange(40)
    entropy = 0.8 * np.exp(-step / 150)
    rng = np.random.default_rng(1)
    reward = 0.6 - 0.5 * np.expm1(entropy) + rng.normal(0, 0.002, 40)
    found = saturation_forecast(step, entropy, reward, gains=[0.01, 0.2], at_step=900)
    expected = -150 * np.log(found.entropy / 0.8)
    assert found.share == 0.95
    assert found.step.value == pytest.approx(expected, rel=0.15)
    assert found.reward.low < 0.6 < found.reward.high
    small, large = found.gains
    assert large.by_step < small.by_step


def test_no_saturation_is_no_number():
    step, _, reward = early(a_run(), 40)
    entropy = 0.3 + 0.5 * np.exp(-step / 60)
    found = saturation_forecast(step, entropy, reward, gains=[0.05])
    assert found.step.value is None
    assert "stays above" in found.step.note
    assert found.reward.value is None
    assert found.reward.note
    assert found.gains == ()
    assert "The forecast entropy stays above" in rendered(found, "text")


def test_missing_values_are_counted_and_the_text_names_the_members():
    step, entropy, reward = early(a_run(), 30)
    reward = reward.copy()
    reward[4] = np.nan
    found = forecast(step, entropy, reward, at_step=[400, 500], run="one")
    assert (found.n, sum(found.dropped.values())) == (29, 1)
    text = rendered(found, "text")
    heaviest = max(found.members, key=lambda member: member.weight)
    assert heaviest.name in text
    assert len(text.splitlines()) <= 12


@pytest.fixture(scope="module")
def tested():
    return backtest_run(*a_run(), run="good")


def test_a_backtest_scores_what_was_not_fitted(tested):
    (_, entropy, reward), found = a_run(), tested
    third = found.scores[2]
    assert (third.protocol, third.blind, third.fitted, third.predicted) == ("first third", False, 20, 40)
    assert third.last_value == pytest.approx(np.sqrt(np.mean((reward[20:] - reward[19]) ** 2)))
    columns = np.column_stack([np.ones(60), -np.expm1(entropy)])
    fitted = columns @ np.linalg.lstsq(columns[:20], reward[:20], rcond=None)[0]
    assert third.law == pytest.approx(np.sqrt(np.mean((reward - fitted)[20:] ** 2)))
    assert third.rmse < 0.2 * third.last_value
    assert found.scores[1].blind
    assert found.scores[4].protocol == "later two thirds"
    assert found.scores[4].predicted == 20


def test_the_future_is_not_looked_at(tested):
    """Other rewards after the fitted part change the scores, not the forecast."""
    step, entropy, reward = a_run()
    at, later = step[20:], entropy[20:]
    one = outlook(step[:20], entropy[:20], reward[:20], at, later).band.quantile(0.5)
    changed = reward.copy()
    changed[20:] += 1.0
    other = backtest_run(step, entropy, changed)
    assert tested.scores[2].width == other.scores[2].width
    assert tested.scores[2].rmse == pytest.approx(np.sqrt(np.mean((one - reward[20:]) ** 2)))
    assert other.scores[2].rmse == pytest.approx(np.sqrt(np.mean((one - changed[20:]) ** 2)))


def test_scalerl_continues_a_sigmoid():
    step = np.arange(1.0, 41.0)
    truth = 0.8 - 0.6 / (1 + (step / 10) ** 1.7)
    found = scalerl(step[:20], truth[:20], step[20:])
    assert np.abs(found - truth[20:]).max() < 0.02


def test_overall_skill_is_the_geometric_mean(tested):
    runs = [tested, backtest_run(*a_run(seed=1))]
    skill = skills(runs)[2]
    ratios = [run.scores[2].rmse / run.scores[2].last_value for run in runs]
    assert skill.to_last_value == pytest.approx(np.sqrt(ratios[0] * ratios[1]))
    assert skill.worst == max(ratios)
    assert skill.covered == np.mean([run.scores[2].covered for run in runs])


def test_one_bad_run_does_not_stop_the_others():
    short, good = (
        SimpleNamespace(run=name, **dict(zip(("step", "entropy", "reward"), columns, strict=True)))
        for name, columns in (("short", early(a_run(), 11)), ("good", a_run()))
    )
    found = backtest([short, good])
    ((name, reason),) = found.refused
    assert name == "short"
    assert "at least 12" in reason
    assert found.overall[0].runs == 1
    assert "not tested" in rendered(found, "text")
    rows = list(csv.DictReader(io.StringIO(rendered(found, "csv"))))
    assert len(rows) == 6
    assert rows[5]["note"] == reason
    assert float(rows[2]["rmse"]) == found.runs[0].scores[2].rmse
    assert backtest([]).overall == ()


def test_the_lab_runs_beat_their_last_value():
    """A part of the table of benchmarks/forecasts.py, on the copies that were not used for tuning."""
    from benchmarks.finished import in_development, lab_family
    from entropylaw.logs.load import read_runs
    from entropylaw.roles.select import select

    assert lab_family("rloo_s1") == lab_family("grpo_s0")
    assert lab_family("entropy_bonus_0.1_s0") != lab_family("entropy_bonus_0.02_s0")
    even = int(hashlib.sha256(b"too_hard").hexdigest(), 16) % 2 == 0
    assert in_development("too_hard") is even
    names = ["grpo_s0", "kl_cov_s0", "width_64_s0"]
    assert not any(in_development(lab_family(name)) for name in names)
    runs = [select(read_runs(LAB / name / "metrics.parquet")[0]) for name in names]
    third = backtest(runs).overall[2]
    assert third.to_last_value < 0.8
    assert third.to_law < 0.6
    assert third.covered >= 0.92


def test_a_stretch_of_equal_rewards_gives_numbers():
    """In reverse, a run that rises and is then constant has no errors for its bands."""
    step = np.arange(30.0)
    entropy = 0.1 + 0.9 * np.exp(-step / 8)
    reward = np.where(step < 10, 0.02 * step, 0.2)
    found = backtest_run(step, entropy, reward, level=0.95, run="flat")
    assert "NaN" not in json.dumps(encode(found))
