"""Finished runs in benchmarks: where they are cut, simple forecasts, and replays of the stop line."""

from functools import partial

import numpy as np
import pytest

from benchmarks.cuts import cuts_of, peers, scalerl, three_lines
from benchmarks.finished import Finished
from benchmarks.looks import replay
from benchmarks.replay import outcome_of, played, said, without_best
from tests.laws import stop_line_of
from tests.unit.test_stop import STEP, climbing, peaked, run


def test_cuts_are_before_what_is_predicted():
    step = np.arange(100.0)
    cuts = list(cuts_of(step))
    assert len({until for until, _, _ in cuts}) > 1
    for until, at, nearest in cuts:
        assert step[until - 1] < at
        assert nearest.min() >= until
        assert np.abs(step[nearest] - at).max() <= 2.5


def test_scalerl_continues_a_sigmoid():
    step = np.arange(1.0, 41.0)
    curve = 0.8 - 0.6 / (1 + (step / 15) ** 2)
    assert scalerl(step[:25], curve[:25], step[37]) == pytest.approx(curve[37], abs=0.03)


def test_three_lines_shrink_a_slope_that_is_not_there():
    rng = np.random.default_rng(0)
    entropy = np.linspace(1, 0.2, 30)
    noise = rng.normal(0, 0.01, 30)
    clear = three_lines(entropy, 0.5 - 0.4 * entropy + noise, np.array([0.0]))
    unclear = three_lines(entropy, 0.5 + 10 * noise, np.array([0.0]))
    assert clear == pytest.approx(0.5, abs=0.03)
    assert abs(unclear - (0.5 + 10 * noise[-3:].mean())) < 0.05


def test_without_entropies_only_the_sigmoid_says_something():
    step, entropy, reward = run(climbing(25))
    said = peers(step, np.full(25, np.nan), reward, 300.0, np.array([np.nan]))
    assert [name for name, value in said.items() if value is not None] == ["scalerl"]
    assert None not in peers(step, entropy, reward, 300.0, np.array([0.1, 0.2])).values()


def test_a_replay_says_what_was_said_at_each_part():
    values = run(climbing())
    looks = replay(*values)
    assert [look.until for look in looks][:3] == [9, 11, 13]
    assert looks[-1].until == 48
    for look in looks[::6]:
        assert look.line == stop_line_of(*(value[: look.until] for value in values), steps=float(STEP[-1]))


def test_a_stop_after_a_peak_costs_nothing_and_one_before_a_climb_does():
    flat = run(peaked())
    late = run(np.concatenate([[0.25, 0.25], np.full(38, 0.2), 0.2 + 0.06 * np.arange(10)]))
    outcomes = []
    for step, entropy, reward in (flat, late):
        finished = Finished(group="g", arm="a", run="r", step=step, reward=reward, entropy=entropy, most=1.0)
        outcomes.append(outcome_of(partial(said, word="stop"), [played(finished)]))
    assert [each.stops for each in outcomes] == [1, 1]
    assert [each.losing for each in outcomes] == [0, 1]
    assert outcomes[0].regret < 0.2 < 0.5 < outcomes[1].regret
    assert min(each.saved for each in outcomes) > 0.1


def test_patience_counts_from_the_best_reward():
    step, entropy, _ = run(np.full(50, 0.5))
    reward = np.where(np.arange(50) == 5, 1.0, 0.5)
    finished = Finished(group="g", arm="a", run="r", step=step, reward=reward, entropy=entropy, most=1.0)
    play = played(finished)
    assert without_best(play, share=0.2) == 16
    assert without_best(play, share=0.5) == 31
    assert without_best(play, share=0.95) is None
