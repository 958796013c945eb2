"""The study of the paper's protocol: its worlds are what it says, its shortcuts are what the package says."""

import numpy as np
import pytest

from benchmarks import paper
from benchmarks.docs import with_block
from benchmarks.paper import Cell, all_cells, entropies, mean_reward, simulate, steps
from entropylaw import compare_forms, forecast
from entropylaw.analysis.law.fitting import law_of_run
from tests.laws import own_law

SEVEN = paper.MODELS[3]
CELL = Cell(model=SEVEN, truth="law", residual=paper.MIDDLE)


@pytest.fixture(scope="module")
def study():
    """Every cell with few runs."""
    return [paper.run_cell(cell, runs=3) for cell in all_cells()]


def test_the_entropy_is_spent_as_early_as_the_paper_says():
    assert paper.spent(np.array([0.0, 1 / 12, 1 / 3, 1.0])) == pytest.approx([0.0, 0.73, 0.94, 1.0], abs=1e-6)


def test_the_protocol_has_nine_evaluations_and_fifty():
    step = steps(4)
    assert ((step <= 36).sum(), (step > 36).sum(), step[-1]) == (9, 50, 236)
    for model in paper.MODELS:
        entropy = entropies(model, step)
        assert (entropy[0], entropy[-1]) == pytest.approx((model.first, model.last))
        assert np.all(np.diff(entropy) < 0)


def test_every_true_reward_is_a_rate():
    for cell in all_cells():
        step = steps(cell.every)
        reward = mean_reward(cell, step, entropies(cell.model, step))
        assert reward.min() > 0
        assert reward.max() < 1


@pytest.mark.parametrize("truth", paper.RIVALS)
def test_a_rival_is_the_least_squares_match_of_the_law(truth):
    step = steps(4)
    entropy = entropies(SEVEN, step)
    rival = mean_reward(Cell(model=SEVEN, truth=truth, residual=paper.MIDDLE), step, entropy)
    column = paper.RIVALS[truth](entropy)
    slope, level = np.polyfit(column[:9], SEVEN.b - SEVEN.a * np.exp(entropy[:9]), 1)
    assert rival == pytest.approx(level + slope * column, abs=1e-12)


def test_the_reward_that_stays_is_the_law_as_far_as_it_is_fitted():
    step = steps(4)
    law, stays = (
        mean_reward(Cell(model=SEVEN, truth=truth, residual=paper.MIDDLE), step, entropies(SEVEN, step))
        for truth in ("law", "stays")
    )
    assert np.array_equal(stays[:9], law[:9])
    assert np.all(stays[9:] == law[8])


@pytest.mark.parametrize("residual", paper.RESIDUALS)
def test_the_residual_is_the_drift_and_the_noise_of_the_test_set(residual):
    cell = Cell(model=SEVEN, truth="law", residual=residual)
    step, entropy, rewards = simulate(cell, 4000)
    mean = mean_reward(cell, step, entropy)
    left = 100 * (rewards - mean)
    noise = 1e4 * mean * (1 - mean) / paper.PROBLEMS
    assert left.mean(axis=0) == pytest.approx(0.0, abs=5 * np.sqrt((noise.max() + residual.drift**2) / 4000))
    # The standard error of a variance over 4,000 runs is 2.2 % of it.
    assert left.var(axis=0) == pytest.approx(noise + residual.drift**2, rel=0.12)
    beside = np.mean(left[:, 1:] * left[:, :-1])
    assert beside == pytest.approx(residual.rho * residual.drift**2, abs=0.02)


def test_runs_are_the_same_each_time_and_differ_between_cells():
    rewards = simulate(CELL, 5)[2]
    assert np.array_equal(rewards, simulate(CELL, 5)[2])
    other = Cell(model=paper.MODELS[4], truth="law", residual=paper.MIDDLE)
    assert not np.array_equal(rewards, simulate(other, 5)[2])


def test_the_shortcuts_give_what_the_package_gives():
    step, entropy, rewards = simulate(CELL, 3)
    s, h = step[:9], entropy[:9]
    many = paper.intervals(SEVEN, s, h, rewards[:, :9])
    p_values, odds = paper.law_test(s, h, rewards[:, :9]), paper.log_odds(s, h, rewards[:, :9])
    for i, reward in enumerate(rewards[:, :9]):
        for method in paper.METHODS:
            law = own_law(h, reward, s, interval=method)
            for number in paper.NUMBERS:
                estimate, truth = getattr(law, number), SEVEN.truth(number)
                held, width = many[method, number][:, i]
                assert held == (estimate.low <= truth <= estimate.high)
                assert width == pytest.approx((estimate.high - estimate.low) / truth, rel=1e-6)
        law, forms = law_of_run(h, reward, s)
        expected = np.log(forms.probability["law"] / forms.probability["line"])
        assert odds[i] == pytest.approx(expected, rel=1e-6)
        assert p_values[i] == pytest.approx(compare_forms(law).law_test.p_value, rel=1e-6)


def test_forecasts_are_those_of_a_straight_line_through_the_first_nine():
    _, entropy, rewards = simulate(CELL, 2)
    found = paper.forecasts(entropy, rewards, 9)
    for i, reward in enumerate(rewards):
        later = reward[9:]
        expected = {"last": np.full(50, reward[8])}
        for name, x in (("law", np.exp(entropy)), ("line", entropy)):
            expected[name] = np.polyval(np.polyfit(x[:9], reward[:9], 1), x[9:])
        for name, value in expected.items():
            assert found[name][i] == pytest.approx(100 * np.sqrt(np.mean((value - later) ** 2)))


def test_our_forecast_is_the_package_s():
    step, entropy, rewards = simulate(CELL, 1)
    errors, held = paper.our_forecasts(step, entropy, rewards, 9)
    expected = forecast(step[:9], entropy[:9], rewards[0, :9], at_step=step[9:], entropy_path=entropy[9:])
    value, low, high = (
        np.array([getattr(r, end) for r in expected.reward]) for end in ("value", "low", "high")
    )
    later = rewards[0, 9:]
    assert errors[0] == pytest.approx(100 * np.sqrt(np.mean((value - later) ** 2)))
    assert held[0] == np.mean((low <= later) & (later <= high))


def made_up(name, law, line, p_value):
    """A cell whose numbers are given."""
    model = next(model for model in paper.MODELS if model.name == name)
    return paper.Found(
        cell=Cell(model=model, truth="law", residual=paper.MIDDLE),
        intervals={},
        rmse={"law": np.array(law), "line": np.array(line)},
        ours=np.empty(0),
        held=np.empty(0),
        p_value={"fitted": np.array(p_value)},
        log_odds=np.empty(0),
    )


def test_a_study_averages_the_four_models_that_the_paper_shows():
    found = [made_up(name, [0.9, 1.0], [1.0, 0.5], [0.2, 0.04]) for name in paper.CLAIMED]
    found.append(made_up("0.5B", [50.0, 50.0], [0.0, 0.0], [0.01, 0.01]))
    assert paper.averages(found, "law", "law", paper.MIDDLE) == pytest.approx([0.9, 1.0])
    # 0.9 prints as 0.9, 1.0 does not; the law is before the line in the first study alone.
    assert paper.claimed(found, "law", paper.MIDDLE) == 50.0
    assert paper.before_line(found, "law", paper.MIDDLE) == 50.0
    # The test is over all five models: 4 + 2 of 10 runs.
    assert paper.rejected(found, "fitted", "law", paper.MIDDLE) == pytest.approx(60.0)


def test_the_report_has_a_row_for_everything_and_fits_into_the_page(study):
    text = paper.report(study)
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    headings, residuals = 2 * 2, len(paper.RESIDUALS)
    assert len(rows) == headings + residuals + len(paper.MODELS) + 1 + len(paper.TRUTHS) * residuals
    assert len({row.count("|") for row in rows}) == 2
    assert "nan" not in text
    page = with_block("<!-- paper:begin -->\n<!-- paper:end -->", "paper", text)
    assert page.count(text) == 1


def test_nine_evaluations_leave_wider_intervals_than_thirty_six(study):
    width = {
        one.cell.every: np.median(one.intervals["drift", "a"][1])
        for one in study
        if one.cell.truth == "law" and one.cell.model == SEVEN and one.cell.residual == paper.MIDDLE
    }
    assert width[4] > width[1]
